// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what turns a value's text into a field of struct opts.
 *
 * What always holds: a bad value is refused with the option as it was written,
 * what was given, and what is taken; the field is untouched then.
 */
#include "options/opts_table.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "files/export.h"
#include "files/outfile.h"
#include "model/filter.h"
#include "model/marks.h"
#include "model/triggers.h"
#include "util/funcname.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

bool in_words(const char *words, const char *w, size_t len)
{
	while (words && *words) {
		size_t n = strcspn(words, " ");

		if (n == len && !memcmp(words, w, len))
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

static int bad(const struct given *g, const char *want, struct err *e)
{
	return err_set(e, -EINVAL, "%s %s: want %s", g->as, g->val, want);
}

static void *field(struct opts *o, const struct given *g)
{
	return (char *)o + g->row->field;
}

int take_flag(struct opts *o, const struct given *g, struct err *e)
{
	*(bool *)field(o, g) = true;
	return 0;
}

int take_string(struct opts *o, const struct given *g, struct err *e)
{
	if (!*g->val)
		return err_set(e, -EINVAL, "%s '': want a name", g->as);
	*(const char **)field(o, g) = g->val;
	return 0;
}

int take_list(struct opts *o, const struct given *g, struct err *e)
{
	if (!*g->val)
		return err_set(e, -EINVAL, "%s '': want a name", g->as);
	*(const char **)vec_push((struct strings *)field(o, g)) = g->val;
	return 0;
}

int take_size(struct opts *o, const struct given *g, struct err *e)
{
	if (parse_size(g->val, field(o, g)))
		return bad(g, "a number of bytes, also with K, M or G", e);
	return 0;
}

static int out_of_range(const struct given *g, const char *also, struct err *e)
{
	return err_set(e, -EINVAL, "%s %s: want a number from %" PRIu64 " to %" PRIu64 "%s",
		       g->as, g->val, g->row->min, g->row->max, also);
}

int take_room(struct opts *o, const struct given *g, struct err *e)
{
	uint64_t n;

	if (parse_size(g->val, &n) || n < g->row->min || n > g->row->max)
		return out_of_range(g, ", also with K, M or G", e);
	*(uint64_t *)field(o, g) = n;
	return 0;
}

int take_number(struct opts *o, const struct given *g, struct err *e)
{
	uint64_t n;

	if (parse_u64(g->val, g->row->min, g->row->max, &n))
		return out_of_range(g, "", e);
	*(unsigned int *)field(o, g) = (unsigned int)n;
	return 0;
}

int take_keep(struct opts *o, const struct given *g, struct err *e)
{
	struct outname_keep *keep = field(o, g);
	uint64_t n;

	*keep = (struct outname_keep){};
	if (!parse_u64(g->val, g->row->min, g->row->max, &n))
		keep->files = (unsigned int)n;
	else if (g->val[strspn(g->val, "0123456789")] && !parse_size(g->val, &n) && n)
		keep->bytes = n;
	else
		return out_of_range(g, ", or a size with K, M or G", e);
	return 0;
}

int take_age(struct opts *o, const struct given *g, struct err *e)
{
	uint64_t ns;

	if (parse_age(g->val, &ns))
		return bad(g, "a number with ns, us, ms, s, m or h", e);
	if (ns < g->row->min)
		return bad(g, "a second at least", e);
	*(uint64_t *)field(o, g) = ns;
	return 0;
}

/* The comma between two moments: a function's name may have others. NULL: there is none. */
static const char *comma_of(const char *val)
{
	for (const char *comma = strchr(val, ','); comma; comma = strchr(comma + 1, ',')) {
		_cleanup_free_ char *first = xstrndup(val, comma - val);

		if (marks__is_moment(first) && marks__is_moment(comma + 1))
			return comma;
	}
	return NULL;
}

int take_between(struct opts *o, const struct given *g, struct err *e)
{
	const char *comma = comma_of(g->val);
	_cleanup_free_ char *first = comma ? xstrndup(g->val, comma - g->val) : NULL;
	uint64_t from_ns = 0, to_ns = 0;
	bool ages = first && !parse_age(first, &from_ns) && !parse_age(comma + 1, &to_ns);

	if (!first || (ages && from_ns >= to_ns))
		return bad(g, "two ages since the start of the trace, the earlier one first, such as 10s,25s, or marks, such as mark:1,mark:2", e);
	o->between_from_ns = ages ? from_ns : 0;
	o->between_to_ns = ages ? to_ns : 0;
	o->between = g->val;
	o->between_comma = (size_t)(comma - g->val);
	return 0;
}

int take_duration(struct opts *o, const struct given *g, struct err *e)
{
	uint64_t ns;

	if (parse_duration(g->val, &ns) || !ns)
		return bad(g, "a time above 0: seconds (30, 0.5), or a number with ms, s, m or h (10m)", e);
	*(uint64_t *)field(o, g) = ns;
	return 0;
}

/* Below a thousandth, coming and going would take all of it; above a half there is no point. */
int take_percent(struct opts *o, const struct given *g, struct err *e)
{
	uint64_t billionths;

	if (parse_seconds(g->val, &billionths) || billionths < 100000000 || billionths > 50000000000)
		return bad(g, "percent from 0.1 to 50, such as 5 or 0.5", e);
	*(double *)field(o, g) = billionths / 1e9;
	return 0;
}

/* The word that may have been meant; NULL: none. */
static const char *meant_of(char *words, const char *typed)
{
	const char *w, *nearest = NULL;
	size_t best = SIZE_MAX;

	while ((w = strsep(&words, " "))) {
		size_t d = typo_distance(typed, w);

		if (d < best)
			nearest = w;
		best = MIN(best, d);
	}
	return nearest;
}

static int bad_choice(const struct given *g, const char *word, size_t len, struct err *e)
{
	_cleanup_free_ char *want = row__choices(g->row), *words = row__words(g->row), *typed = xstrndup(word, len);
	const char *meant = meant_of(words, typed);

	return meant ? err_set(e, -EINVAL, "%s %s: want %s; did you mean %s?", g->as, g->val, want, meant) : bad(g, want, e);
}

int take_enum(struct opts *o, const struct given *g, struct err *e)
{
	return choices__find(g->row->of, g->val, field(o, g)) ? 0 : bad_choice(g, g->val, strlen(g->val), e);
}

int take_choice(struct opts *o, const struct given *g, struct err *e)
{
	_cleanup_free_ char *words = row__words(g->row);

	if (!in_words(words, g->val, strlen(g->val)))
		return bad_choice(g, g->val, strlen(g->val), e);
	if (g->row->field)
		*(const char **)field(o, g) = g->val;
	return 0;
}

int take_threshold(struct opts *o, const struct given *g, struct err *e)
{
	uint64_t billionths;

	if (parse_seconds(g->val, &billionths) || billionths > 100000000000)
		return bad(g, "percent from 0 to 100, such as 1 or 0.5", e);
	*(double *)field(o, g) = billionths / 1e9;
	return 0;
}

int take_regex(struct opts *o, const struct given *g, struct err *e)
{
	return filter__check_regex(g->as, g->val, e) ?: take_string(o, g, e);
}

int take_pids(struct opts *o, const struct given *g, struct err *e)
{
	_cleanup_free_ char *list = xstrdup(g->val);
	char *rest = list, *word;
	uint64_t pid;

	while ((word = strsep(&rest, ","))) {
		/* what begins like a number is meant as one */
		if (*word && !strchr("0123456789+-", *word)) {
			*(char **)vec_push(&o->names) = xstrdup(word);
			continue;
		}
		if (parse_u64(word, 1, INT_MAX, &pid))
			return bad(g, "process ids, or names of processes, separated by commas", e);
		opts__add_pid(o, (pid_t)pid);
	}
	return 0;
}

int take_sym(struct opts *o, const struct given *g, struct err *e)
{
	const char *eq = strchr(g->val, '=');

	if (!eq || eq == g->val || !eq[1])
		return bad(g, "ROLE=NAME, such as malloc=arena_alloc", e);
	return take_list(o, g, e);
}

int take_function(struct opts *o, const struct given *g, struct err *e)
{
	struct func_ref r;

	return func_ref__parse(g->val, &r) ? take_list(o, g, e) : bad(g, "a function, as FUNC or BINARY:FUNC", e);
}

int take_tag(struct opts *o, const struct given *g, struct err *e)
{
	struct func_ref r;

	if (!func_ref__parse(g->val, &r))
		return bad(g, "a function, as FUNC or BINARY:FUNC, or the word thread", e);
	return take_list(o, g, e);
}

int take_when(struct opts *o, const struct given *g, struct err *e)
{
	_cleanup_err_ struct err why = {};
	struct condition c;

	if (condition__parse(g->val, &c, &why))
		return bad(g, err_msg(&why) + strlen("want "), e);
	return take_list(o, g, e);
}

const char *opts__output_format(const struct opts *o, const char *output)
{
	const struct export_format *f = export__find_by_path(output);

	if (!strcmp(output, "-"))
		return o->format;
	/* a suffix alone is no name */
	if (export__suffix_len(output) == strlen(output))
		return NULL;
	return f ? f->name : NULL;
}

bool opts__has_series(const struct opts *o)
{
	return vec_first(one, &o->outputs, outname__is_pattern(*one));
}

void opts__add_pid(struct opts *o, pid_t pid)
{
	if (!vec_first(had, &o->pids, *had == pid))
		*vec_push(&o->pids) = pid;
}

bool opts__has_output(const struct opts *o, const char *output)
{
	return vec_first(had, &o->outputs, !strcmp(*had, output));
}

void opts__add_output(struct opts *o, const char *output)
{
	*(const char **)vec_push(&o->outputs) = output;
}

int take_output(struct opts *o, const struct given *g, struct err *e)
{
	const char *format = opts__output_format(o, g->val);

	if (!format) {
		_cleanup_free_ char *suffixes = xstrdup(EXPORT_SUFFIXES);
		const char *dot = strrchr(path_basename(g->val), '.'), *meant = dot ? meant_of(suffixes, dot) : NULL;

		/* a suffix alone is no name */
		meant = meant && !strcmp(meant, g->val) ? NULL : meant;
		return err_set(e, -EINVAL, "%s %s: want a file name that ends in one of %s, or - for standard output%s%s%s", g->as, g->val,
			       EXPORT_SUFFIXES, meant ? "; did you mean " : "", meant ?: "", meant ? "?" : "");
	}
	if (!outname__is_well_formed(g->val))
		return err_set(e, -EINVAL, "%s %s: want %%t (time), %%p (pid), %%n (number) or %%%% after a %%", g->as, g->val);
	if (opts__has_output(o, g->val))
		return err_set(e, -EINVAL, "%s %s: given twice", g->as, g->val);
	opts__add_output(o, g->val);
	return 0;
}

int take_views(struct opts *o, const struct given *g, struct err *e)
{
	const char *word = g->val;
	unsigned int views = 0;

	for (;;) {
		size_t len = strcspn(word, ",");
		unsigned int view = view__find(word, len);

		if (!view)
			return bad_choice(g, word, len, e);
		views |= view;
		if (!word[len])
			break;
		word += len + 1;
	}
	o->views |= views;
	return 0;
}

int take_verbosity(struct opts *o, const struct given *g, struct err *e)
{
	o->verbosity = (int)g->row->min;
	return 0;
}

int take_command(struct opts *o, const struct given *g, struct err *e)
{
	o->command = (enum command)g->row->min;
	return 0;
}

int take_completion(struct opts *o, const struct given *g, struct err *e)
{
	int err = take_choice(o, g, e);

	if (!err)
		o->command = CMD_COMPLETION;
	return err;
}
