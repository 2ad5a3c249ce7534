// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A profile comes from anywhere: any bytes must give a snapshot or a reason, and
 * a snapshot must be fit for every view and export, for a filter, and for being
 * joined with itself. What is written from it as JSON is read again, and is the
 * same when it is written once more.
 */
#include "files/export.h"
#include "files/json/json_read.h"
#include "model/filter.h"
#include "model/join.h"
#include "fuzz.h"

static char *written(const struct snapshot *s, const char *format, size_t *ret_len)
{
	struct export_opts o = { .report = { .older_ns = s->recording.older_ns } };
	const struct export_format *f = export__find_by_name(format);
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	if (!(f->needs & ~s->known))
		f->write(out, s, &o, NULL);
	fclose(out);
	return text;
}

static void write_all(const struct snapshot *s)
{
	static const char *const formats[] = { "text", "folded", "pprof", "speedscope", "massif", "callgrind", "dot" };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t len;

		free(written(s, formats[i], &len));
	}
}

static void filtered(const struct snapshot *s)
{
	struct snapshot *some;
	struct filter f;

	if (filter__init(&f, "a|e", "x", NULL, NULL))
		abort();
	some = snapshot__filter(s, &f);
	if (some->n_sites + some->hidden.n_sites != s->n_sites + s->hidden.n_sites)
		abort();
	write_all(some);
	snapshot__free(some);
	filter__done(&f);
}

static void joined(struct snapshot *s)
{
	struct snapshot *v[] = { s, s }, *both;
	const char *const names[] = { "a", "b" };

	if (snapshot__join(v, names, 2, &both, NULL))
		abort();
	write_all(both);
	snapshot__free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	struct snapshot *s, *again;
	size_t n_first, n_second;

	if (json_read__text((const char *)data, len, &s, NULL))
		return 0;
	write_all(s);
	filtered(s);
	joined(s);
	first = written(s, "json", &n_first);
	if (json_read__text(first, n_first, &again, NULL))
		abort();
	second = written(again, "json", &n_second);
	if (n_first != n_second || memcmp(first, second, n_first))
		abort();
	snapshot__free(s);
	snapshot__free(again);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	put_profiles();
	return 0;
}
