// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the list of --view blocks: of each site those without a pointer, then the oldest or largest, so that a view of some sites has theirs. */
#include <errno.h>
#include <string.h>

#include "heap/look.h"

#define MAX_LISTED 100000
#define LISTED_OF_SITE 100u	/* and so many at least, if there are */

struct listed {
	const struct heap_block *block;
	const struct traced_block *traced;	/* NULL: older than the trace, or there is none */
	size_t at;
	bool first;		/* no pointer was found to it: those are what somebody goes on with */
};

static uint32_t site_of(const struct listed *x)
{
	return x->traced ? x->traced->site + 1 : 0;
}

/* Births that are not known come first: those blocks are older than the trace. */
static uint64_t born(const struct listed *x)
{
	return x->traced ? x->traced->born_ns : 0;
}

static int by_size(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->first != y->first)
		return x->first ? -1 : 1;
	if (x->block->usable != y->block->usable)
		return x->block->usable > y->block->usable ? -1 : 1;
	return (x->block->addr > y->block->addr) - (x->block->addr < y->block->addr);
}

static int by_age(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->first != y->first)
		return x->first ? -1 : 1;
	return born(x) != born(y) ? (born(x) < born(y) ? -1 : 1) : by_size(a, b);
}

static int by_site_and_size(const void *a, const void *b)
{
	uint32_t x = site_of(a), y = site_of(b);

	return x != y ? (x < y ? -1 : 1) : by_size(a, b);
}

static int by_site_and_age(const void *a, const void *b)
{
	uint32_t x = site_of(a), y = site_of(b);

	return x != y ? (x < y ? -1 : 1) : by_age(a, b);
}

static size_t n_sites_of(const struct listed *v, size_t n)
{
	size_t sites = 1;

	for (size_t i = 1; i < n; i++)
		sites += site_of(&v[i]) != site_of(&v[i - 1]);
	return sites;
}

/* Of each site, the first ones. */
static size_t keep_first(struct listed *v, size_t n, size_t most)
{
	size_t to = 0, of_site = 0;

	for (size_t i = 0; i < n; i++) {
		of_site = i && site_of(&v[i]) == site_of(&v[i - 1]) ? of_site + 1 : 1;
		if (of_site <= most)
			v[to++] = v[i];
	}
	return to;
}

static int reach_of(const struct look *l, size_t at)
{
	static const int words[] = { [REACHED] = REACH_REACHED, [UNREACHED] = REACH_UNREACHED, [UNREACHED_INDIRECT] = REACH_INDIRECT };

	return l->reach.state ? words[l->reach.state[at]] : REACH_UNKNOWN;
}

struct asked {
	const struct heap_block *block;
	size_t at;		/* in the list */
};

static int by_addr(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return (x->block->addr > y->block->addr) - (x->block->addr < y->block->addr);
}

static int name_kinds(struct look *l, const struct listed *v, size_t n, struct snap_block *to)
{
	_cleanup_free_ struct asked *asked = calloc(n + 1, sizeof(*asked));
	_cleanup_free_ const struct heap_block **blocks = calloc(n + 1, sizeof(*blocks));
	_cleanup_free_ const struct kind **kinds = calloc(n + 1, sizeof(*kinds));

	if (!asked || !blocks || !kinds)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		asked[i] = (struct asked){ v[i].block, i };
	qsort(asked, n, sizeof(*asked), by_addr);
	for (size_t i = 0; i < n; i++)
		blocks[i] = asked[i].block;
	/* what cannot be read any more has no kind */
	if (l->kinds && !kinds__look(l->kinds, blocks, n, kinds, NULL))
		for (size_t i = 0; i < n; i++)
			to[asked[i].at].type = kinds[i] ? snapshot__strdup(l->s, kinds[i]->name) : NULL;
	return 0;
}

int look__list_blocks(struct look *l)
{
	const struct census *c = &l->reach.first;
	_cleanup_free_ struct listed *v = calloc(c->blocks.n + 1, sizeof(*v));
	uint64_t now = l->traced.now_ns;
	struct snap_block *to;
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < c->blocks.n; i++)
		if (!(c->blocks.v[i].flags & BLOCK_LIBC))
			v[n++] = (struct listed){ &c->blocks.v[i], traced__find(&l->traced, c->blocks.v[i].addr), i, look__is_unreached(l, i) };
	l->h->n_list_of = n;
	qsort(v, n, sizeof(*v), l->o->list_oldest ? by_site_and_age : by_site_and_size);
	/* all sites have their part of the room */
	n = keep_first(v, n, MIN(l->o->list, MAX(LISTED_OF_SITE, MAX_LISTED / n_sites_of(v, n))));
	qsort(v, n, sizeof(*v), l->o->list_oldest ? by_age : by_size);
	n = MIN(n, (size_t)MAX_LISTED);
	to = snapshot__alloc(l->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n; i++) {
		const struct traced_block *t = v[i].traced;

		to[i] = (struct snap_block){ .addr = v[i].block->addr, .bytes = v[i].block->usable, .reach = reach_of(l, v[i].at) };
		/* the trace's number of it: the caller, who knows the snapshot's, puts that there */
		to[i].site = t ? t->site + 1 : 0;
		to[i].age_ns = t && t->born_ns && t->born_ns < now ? now - t->born_ns : 0;
		to[i].tid = t ? t->tid : 0;
	}
	l->h->list = to;
	l->h->n_list = n;
	return name_kinds(l, v, n, to);
}
