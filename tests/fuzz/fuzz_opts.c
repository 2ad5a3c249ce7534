// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Words of a command line, with NULs between them: they are taken, or refused with a message that names one of them. */
#include <errno.h>

#include "options/opts.h"
#include "util/err.h"
#include "fuzz.h"

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_free_ char *text = text_of(data, len);
	_cleanup_err_ struct err e = {};
	char *words[WORDS_MAX + 2] = { "malloctrace" };
	int n = 1, err;
	struct opts o;

	for (char *at = text; at < text + len && n <= WORDS_MAX; at += strlen(at) + 1)
		words[n++] = at;
	err = opts__parse(&o, n, words, &e);
	if (err > 0 || (err && !*err_msg(&e)))
		abort();
	if (!err)
		opts__done(&o);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const lines[] = {
		"-p|1234|--older|5s|--json|-d|10", "-a|--by|comm|--overhead|1%|-o|x.json|-o|y.html|-n|3|-i|1s",
		"report|--view|sites|--between|1s,2s|f.json", "diff|--metric|live-bytes|--fail-over|1M|a.json|b.json",
		"heap|-p|1|--reachable|--roots", "--sample|512K|--min-size|1K|--tag|f|--within|g|--when|rss>1G|--|cmd|-x",
		"--comm|x|--cgroup|/y|-f|--filter|a.*b|--hide|[c|--suppressions|f", "doctor", "help|trace", "completion|bash",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char line[128], name[16];

		snprintf(line, sizeof(line), "%s", lines[i]);
		for (char *c = line; *c; c++)
			*c = *c == '|' ? '\0' : *c;
		snprintf(name, sizeof(name), "line-%zu", i);
		put_seed(name, -1, line, strlen(lines[i]));
	}
	return 0;
}
