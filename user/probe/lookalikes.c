// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. What always holds: a pair is a function that
 * allocates and one that frees, whose names differ in these words alone; neither
 * is a row of the table, and what a C library calls so for itself is left out.
 */
#include "probe/plan.h"

#include <errno.h>
#include <string.h>

#include "reader/reader.h"
#include "util/util.h"

#define MAX_NAMES 4096
#define MAX_TOLD 4

/* A pair that --prefix knows comes before others. */
static const struct {
	const char *allocates, *frees;
	bool prefix;		/* the other functions of C have such names as well, it may be hoped */
} pairs[] = {
	{ "malloc", "free", true },
	{ "alloc", "free", false },
	{ "alloc", "dealloc", false },
	{ "Alloc", "Free", false },
	{ "Malloc", "Free", false },
	{ "allocate", "deallocate", false },
};

/* Of the C libraries and of compilers: beginnings of names. */
static const char *const internal[] = { "__", "_int_", "_dl_", "_IO_", "_Z" };

struct names {
	const struct alloc_funcs *funcs;
	struct vec(char *) v;
};

static bool ends_in(const char *name, const char *end, size_t *ret_stem)
{
	size_t len = strlen(name), n = strlen(end);

	*ret_stem = len - MIN(len, n);
	return len > n && !strcmp(name + len - n, end);
}

#define MAX_NAME 128	/* bytes */

/* It is shown, and pasted into a shell: names of a hostile file may be anything. */
static bool is_plain(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

	return n && n <= MAX_NAME && !name[n];
}

static int look_at(const struct object_symbol *sym, void *arg)
{
	struct names *n = arg;
	size_t stem;

	if (!table_first(p, pairs, ends_in(sym->name, p->allocates, &stem) || ends_in(sym->name, p->frees, &stem)) ||
	    n->v.n >= MAX_NAMES || !is_plain(sym->name) ||
	    table_first(s, internal, !strncmp(sym->name, *s, strlen(*s))) ||
	    alloc_funcs__find(n->funcs, sym->name) >= 0)
		return 0;
	*vec_push(&n->v) = xstrdup(sym->name);
	return 0;
}

COMPARATOR(by_name, char *const, strcmp(*a, *b))

static bool has(const struct names *n, const char *stem, size_t len, const char *end)
{
	_cleanup_free_ char *name = xasprintf("%.*s%s", (int)len, stem, end);

	return bsearch(&name, n->v.v, n->v.n, sizeof(*n->v.v), by_name);
}

static void print_pair(FILE *out, const struct object *obj, size_t pair, const char *stem, size_t len, size_t nth)
{
	const char *a = pairs[pair].allocates, *f = pairs[pair].frees;
	int n = (int)len;

	fprintf(out, "%s%.*s%s and %.*s%s in %s ", nth ? "; " : "", n, stem, a, n, stem, f, object__file_name(obj));
	if (pairs[pair].prefix)
		fprintf(out, "(--prefix %.*s)", n, stem);
	else
		fprintf(out, "(--sym malloc=%.*s%s --sym free=%.*s%s)", n, stem, a, n, stem, f);
}

static void print_pairs(FILE *out, const struct object *obj, const struct names *n, size_t *n_printed)
{
	for (size_t p = 0; p < ARRAY_SIZE(pairs); p++)
		for (size_t i = 0; i < n->v.n && *n_printed < MAX_TOLD; i++) {
			size_t stem;

			/* names of the static and of the dynamic table are the same */
			if (i && !strcmp(n->v.v[i], n->v.v[i - 1]))
				continue;
			/* "malloc" ends in "alloc", too, and was searched for before */
			if (!ends_in(n->v.v[i], pairs[p].allocates, &stem) ||
			    (!strcmp(pairs[p].allocates, "alloc") && n->v.v[i][stem - 1] == 'm'))
				continue;
			if (has(n, n->v.v[i], stem, pairs[p].frees))
				print_pair(out, obj, p, n->v.v[i], stem, (*n_printed)++);
		}
}

char *lookalikes__of(const struct object *obj, const struct alloc_funcs *funcs)
{
	struct names n = { .funcs = funcs };
	char *text = NULL;
	size_t size, n_printed = 0;
	FILE *out;

	if (readers__are_apart())
		return plan_apart__lookalikes(obj, funcs);
	object__for_each_function(obj, look_at, &n);
	if (n.v.n) {
		vec_sort(&n.v, by_name);
		out = text_stream__open(&text, &size);
		print_pairs(out, obj, &n, &n_printed);
		text_stream__close(out);
	}
	for (size_t i = 0; i < n.v.n; i++)
		free(n.v.v[i]);
	vec_done(&n.v);
	if (!n_printed) {
		free(text);
		text = NULL;
	}
	return text;
}
