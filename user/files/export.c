// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the table of formats. */
#include "files/export.h"

#include <string.h>

#include "util/util.h"

#define FORMAT(its_name, its_suffix, ...) { .name = #its_name, .suffix = its_suffix, .write = its_name##__write, __VA_ARGS__ },

static const struct export_format formats[] = { EXPORT_FORMATS(FORMAT) };

static bool ends_with(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && !strcmp(s + len - n, suffix);
}

const struct export_format *export__find_by_path(const char *path)
{
	const struct export_format *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (ends_with(path, formats[i].suffix) &&
		    (!best || strlen(formats[i].suffix) > strlen(best->suffix)))
			best = &formats[i];
	return best;
}

const struct export_format *export__find_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	return NULL;
}

size_t export__suffix_len(const char *path)
{
	const struct export_format *f = export__find_by_path(path);

	return f ? strlen(f->suffix) : 0;
}

double export__threshold_pct(const struct export_opts *o)
{
	if (!o || !o->threshold_pct)
		return EXPORT_THRESHOLD_PCT;
	return o->threshold_pct < 0 ? 0 : o->threshold_pct;
}

/* A text file is the plain report. */
int text__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	int err = report__write(out, s, &o->report);

	return err ? err_set(e, err, "cannot write the text report: %s", strerror(-err)) : 0;
}
