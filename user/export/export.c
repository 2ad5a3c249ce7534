// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the table of formats. */
#include "export/export.h"

#include <string.h>

#include "util/util.h"

static const struct export_format formats[] = {
	{ "folded", ".folded", folded__write, .needs_all_names = true },
	{ "json", ".json", json__write, .needs_all_names = true, .carries_ages = true },
	{ "text", ".txt", text__write, .needs_all_names = false },
	{ "pprof", ".pb.gz", pprof__write, .needs_all_names = true },
	{ "speedscope", ".speedscope.json", speedscope__write, .needs_all_names = true },
	{ "massif", ".massif", massif__write, .needs_all_names = true, .needs = HAS_LIVE_BYTES },
	{ "callgrind", ".callgrind", callgrind__write, .needs_all_names = true },
	{ "dot", ".dot", dot__write, .needs_all_names = true },
	{ "html", ".html", html__write, .needs_all_names = true, .carries_ages = true },
};

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

static const char *listed(char *buf, size_t size, const char *(*of)(const struct export_format *f))
{
	char *to = buf;

	if (*buf)
		return buf;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		to += snprintf(to, size - (to - buf), "%s%s", to > buf ? " " : "", of(&formats[i]));
	return buf;
}

static const char *suffix_of(const struct export_format *f)
{
	return f->suffix;
}

static const char *name_of(const struct export_format *f)
{
	return f->name;
}

double export__threshold_pct(const struct export_opts *o)
{
	if (!o || !o->threshold_pct)
		return EXPORT_THRESHOLD_PCT;
	return o->threshold_pct < 0 ? 0 : o->threshold_pct;
}

const char *export__suffixes(void)
{
	static char buf[128];

	return listed(buf, sizeof(buf), suffix_of);
}

const char *export__names(void)
{
	static char buf[128];

	return listed(buf, sizeof(buf), name_of);
}
