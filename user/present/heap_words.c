// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns words for what a look at a process's heap found. What always holds: no word is wider than its column. */
#include "present/heap_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "present/frames.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

bool heaps__know_older(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		if (s->heaps[i].older_known)
			return true;
	return false;
}

/* ---- sizes */

/* A bound of a range: a whole number of its unit, as they are powers of two. */
static int bound(char *buf, size_t size, uint64_t bytes, const char **ret_unit)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	for (; i + 1 < ARRAY_SIZE(units) && bytes && !(bytes % 1024); i++)
		bytes /= 1024;
	*ret_unit = units[i];
	return snprintf(buf, size, "%" PRIu64, bytes);
}

char *heap__size_words(char buf[static CELL_MAX], const struct snap_class *c)
{
	const char *from_unit, *end_unit;
	char from[FMT_MAX], end[FMT_MAX];

	if (!c->below)
		return fmt_exact(buf, c->usable);
	bound(from, sizeof(from), c->usable, &from_unit);
	bound(end, sizeof(end), c->below, &end_unit);
	if (c->below == UINT64_MAX)
		snprintf(buf, CELL_MAX, "%.20s %s up", from, from_unit);
	else if (from_unit == end_unit)
		snprintf(buf, CELL_MAX, "%.20s-%.20s %s", from, end, end_unit);
	else
		snprintf(buf, CELL_MAX, "%.20s %s-%.20s %s", from, from_unit, end, end_unit);
	/* bounds that are no round numbers */
	if (strlen(buf) > HEAP_SIZE_COLS)
		snprintf(buf, CELL_MAX, "%s up", fmt_bytes(from, c->usable));
	return buf;
}

/* ---- types */

/* "98%", "<1%", ">99%": a share that is neither nothing nor all is not rounded to that. */
static void percent(char buf[static 8], double share)
{
	int n = (int)(share * 100 + 0.5);

	if (n < 1 && share > 0)
		snprintf(buf, 8, "<1%%");
	else if (n >= 100 && share < 1)
		snprintf(buf, 8, ">99%%");
	else
		snprintf(buf, 8, "%d%%", MAX(0, MIN(n, 100)));
}

/* A type is as short as it can be: what follows it keeps room. */
static size_t least_of(const struct snap_share *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += 2 + MIN(text_width(v[i].name) + 5, (size_t)HEAP_TYPE_COLS);
	return sum;
}

char *heap__types_text(const struct snap_share *v, size_t n, size_t width)
{
	char *text = NULL;
	size_t size, used = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t left = width - used - (i ? 2 : 0), rest = least_of(v + i + 1, n - i - 1);
		_cleanup_free_ char *name = NULL;
		char share[8];

		percent(share, v[i].share);
		if (i && (width < used + 2 || left < MIN(text_width(v[i].name) + 5, (size_t)HEAP_TYPE_COLS))) {
			fprintf(out, "%s", width >= used + 2 ? " …" : "");
			break;
		}
		left = left > rest + HEAP_TYPE_COLS ? left - rest : MIN(left, (size_t)HEAP_TYPE_COLS);
		name = name__shorten(v[i].name, left > strlen(share) + 1 ? left - strlen(share) - 1 : 1);
		fprintf(out, "%s%s %s", i ? ", " : "", share, name ? name : "");
		used += (i ? 2 : 0) + strlen(share) + 1 + (name ? text_width(name) : 0);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* ---- resident memory */

/* "(other data)" of a module is its other data. */
char *heap__part_text(const struct snap_part *p)
{
	const char *name = p->name ? p->name : "", *module = p->module ? path_basename(p->module) : NULL;
	size_t len = strlen(name);
	bool bare = len > 2 && name[0] == '(' && name[len - 1] == ')';
	char *text = NULL;

	/* some names say it already */
	if (!module || strstr(name, module))
		return strdup(name);
	return asprintf(&text, "%s: %.*s", module, (int)(bare ? len - 2 : len), bare ? name + 1 : name) < 0 ? NULL : text;
}

/* ---- arenas */

const char *heap__arena_words(char buf[static CELL_MAX], const struct snap_heap *h, const struct snap_arena *a)
{
	if (!a)
		return "own mappings";
	if (a->main)
		return "main";
	snprintf(buf, CELL_MAX, "arena %zu", (size_t)(a - h->arenas) + 1);
	return buf;
}
