// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Suppressions and regular expressions. The first byte says what the rest is:
 *
 *   0   a file of suppressions, then a NUL and a name
 *   1   a pattern of a suppression, then a NUL and a name
 *   2   a regular expression, then a NUL and a name
 */
#include "model/filter.h"
#include "util/err.h"
#include "fuzz.h"

/* glibc's regular expressions are the user's own, and may take all of the memory there is. */
#define REGEX_MAX 24

static void try_filter(const char *regex, const char *file, const char *name)
{
	_cleanup_err_ struct err e = {};
	struct filter f;
	int err = filter__init(&f, regex, regex, file, &e);

	if (err > 0 || (err && !*err_msg(&e)))
		abort();
	if (err)
		return;
	filter__any(&f);
	filter__names(&f, name);
	for (size_t i = 0; i < f.suppressions.n; i++)
		suppression__matches(f.suppressions.v[i], name);
	filter__done(&f);
}

static void try_file(const char *text, const char *name)
{
	int fd = file_of((const uint8_t *)text, strlen(text));
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	try_filter(NULL, path, name);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_free_ char *text = text_of(data, len);
	const char *name;

	if (!len || !data[0] || strlen(text) == len)
		return 0;
	name = text + strlen(text) + 1;
	if (data[0] % 3 == 0)
		try_file(text + 1, name);
	else if (data[0] % 3 == 1)
		suppression__matches(text + 1, name);
	else if (strlen(text) <= REGEX_MAX)
		try_filter(text + 1, NULL, name);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char file[] = "# no leaks\nleak:foo*bar\nleak:^x$\n\0foo::bar(int)", pattern[] = "^a*b*c$\0abcbc", regex[] = "^(a|b)+c?\0abab";

	put_seed("file", 3, file, sizeof(file) - 1);
	put_seed("pattern", 1, pattern, sizeof(pattern) - 1);
	put_seed("regex", 2, regex, sizeof(regex) - 1);
	return 0;
}
