// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the sums by holder. How many roots there may be is bounded by reach.h. */
#include "heap/holders.h"

#include <errno.h>
#include <string.h>

#define MAX_LISTED 64

static bool is_same(const struct snap_root *a, const struct snap_root *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name) && !a->module == !b->module &&
	       (!a->module || !strcmp(a->module, b->module));
}

struct named {
	struct snap_root root;
	uint32_t at;		/* of the roots */
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = (int)x->root.kind - (int)y->root.kind;

	if (!order)
		order = strcmp(x->root.name, y->root.name);
	return order ? order : strcmp(x->root.module ? x->root.module : "", y->root.module ? y->root.module : "");
}

static int by_bytes(const void *a, const void *b)
{
	const struct snap_root *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sums, in the order of names; of_root are indexes into that. */
static int add_up(struct holders *h, const struct named *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct snap_root *last = h->v.n ? &h->v.v[h->v.n - 1] : NULL;

		if (!last || !is_same(last, &v[i].root)) {
			last = vec_push(&h->v);
			if (!last)
				return -ENOMEM;
			*last = v[i].root;
			last->blocks = last->bytes = 0;
		}
		last->blocks += v[i].root.blocks;
		last->bytes += v[i].root.bytes;
		h->of_root[v[i].at] = (uint32_t)h->v.n;
	}
	return 0;
}

/* The most bytes first; of_root follows. */
static int rank(struct holders *h, size_t n_roots)
{
	struct ranked {
		struct snap_root root;
		uint32_t was;
	};
	_cleanup_free_ struct ranked *v = calloc(h->v.n + 1, sizeof(*v));
	_cleanup_free_ uint32_t *to = calloc(h->v.n + 1, sizeof(*to));

	if (!v || !to)
		return -ENOMEM;
	for (size_t i = 0; i < h->v.n; i++)
		v[i] = (struct ranked){ h->v.v[i], (uint32_t)i };
	/* the root comes first in it */
	qsort(v, h->v.n, sizeof(*v), by_bytes);
	for (size_t i = 0; i < h->v.n; i++) {
		h->v.v[i] = v[i].root;
		to[v[i].was] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < n_roots; i++)
		if (h->of_root[i])
			h->of_root[i] = to[h->of_root[i] - 1];
	return 0;
}

int holders__make(const struct reach_result *r, struct parts *parts, struct holders *ret)
{
	size_t n = r->roots.n;
	_cleanup_free_ struct named *v = calloc(n + 1, sizeof(*v));
	int err;

	*ret = (struct holders){ .of_root = calloc(r->roots.n + 1, sizeof(*ret->of_root)) };
	if (!v || !ret->of_root)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct reach_root *root = &r->roots.v[i];

		parts__name_root(parts, root->addr, root->tid, &v[i].root);
		v[i].root.blocks = root->blocks;
		v[i].root.bytes = root->bytes;
		v[i].at = (uint32_t)i;
	}
	qsort(v, n, sizeof(*v), by_name);
	err = add_up(ret, v, n);
	return err ? err : rank(ret, r->roots.n);
}

void holders__done(struct holders *h)
{
	vec_done(&h->v);
	free(h->of_root);
	*h = (struct holders){};
}

const struct snap_root *holders__of(const struct holders *h, const struct reach_result *r, size_t block)
{
	uint32_t root = r->root && h->of_root ? r->root[block] : 0, holder = root ? h->of_root[root - 1] : 0;

	return holder ? &h->v.v[holder - 1] : NULL;
}

void holders__put(const struct holders *h, struct snapshot *s, struct snap_heap *to)
{
	size_t n = MIN(h->v.n, (size_t)MAX_LISTED);
	struct snap_root *v = snapshot__alloc(s, n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = *snap_root__copy(s, &h->v.v[i]);
	to->roots_known = true;
	to->roots = v;
	to->n_roots = n;
}
