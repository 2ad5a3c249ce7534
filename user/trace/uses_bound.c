// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode leak: how many blocks count as live, at most, that are not. Owns that figure.
 *
 * What a heap shows is of some moment of its reading, and the target goes on: blocks that were in use then may be free when a cut is
 * taken. If nothing is allocated, no address comes again that would tell. So a heap whose process ran meanwhile is read once more,
 * after the cut. A block that was in the cut and free before it
 *
 *	- is in the table still, and this reading has it not; or
 *	- its address came again between the cut and this reading, and what is in the table there was born after the cut; or
 *	- its address was given away then, and the thread that got it is not back from malloc: one for each thread.
 *
 * What was freed between the cut and this reading counts with them, so it is a bound, and no estimate. After the end of the trace
 * births are not recorded, and calls are counted instead.
 */
#include <errno.h>

#include "trace/uses_parts.h"

static enum block_use count_unsure(uint32_t proc, uint64_t addr, uint64_t size, uint64_t born_ns, void *arg)
{
	const struct uses *u = arg;
	struct user_of_heap *h = uses__find(u, proc);

	if (h && h->has_later && (born_ns >= u->cut_ns || !reading__has(&h->later, addr, uses__usable(u, size)) || reading__may_be_libcs(&h->later, addr)))
		h->cut_bound++;
	return BLOCK_IN_USE;
}

/* Does what the last reading found hold for the last cut of ours, too? */
static bool is_settled(struct user_of_heap *h)
{
	return (h->stood && h->was_passed) || h->has_ended || (h->is_open && h->runs && target__runs(&h->target) == h->runs);
}

/* Where glibc had no heap, and another allocator is known to be there, none of its blocks came since. */
static uint64_t bound_of_none(const struct uses *u, const struct user_of_heap *h)
{
	uint64_t calls = collect__alloc_calls(u->s->collect, h->proc);

	return census__other_allocator(&h->target) ? 0 : calls - MIN(h->calls, calls);
}

static void read_later(struct user_of_heap *h)
{
	uint64_t until_ns = now_ns() + PATIENCE_NS, runs = target__runs(&h->target);
	int err;

	do {
		_cleanup_err_ struct err e = {};

		err = uses__read_once(h, &h->later, &e);
	} while (err == -EPROTO && now_ns() < until_ns);
	if (err)
		return;
	h->has_later = true;
	h->runs = runs;
	h->cut_bound = h->later.census.unsure_blocks;
	/* if all of them sleep, and slept, none is on its way */
	if (!runs || target__runs(&h->target) != runs)
		h->cut_bound += target__n_threads(&h->target);
}

static void note_cut_bound(struct uses *u, struct user_of_heap *h)
{
	h->cut_bound = h->bound;
	if (uses__is_unread(h) || is_settled(h))
		return;
	h->cut_bound = BOUND_UNKNOWN;
	if (h->has_none && h->is_open)
		h->cut_bound = bound_of_none(u, h);
	else if (h->was_passed && h->is_open)
		read_later(h);
}

bool uses__read_later(struct uses *u)
{
	struct use_calls calls = { count_unsure, u };
	bool any = false;

	for (size_t i = 0; i < u->v.n; i++) {
		note_cut_bound(u, u->v.v[i]);
		any |= u->v.v[i]->has_later;
	}
	if (!any)
		return false;
	u->unrecorded = u->s->end_ns ? kernel__n_unrecorded(u->s->kernel) : 0;
	collect__walk_unseen(u->s->collect, &calls);
	for (size_t i = 0; i < u->v.n; i++) {
		struct user_of_heap *h = u->v.v[i];

		if (!h->has_later)
			continue;
		h->bound = h->cut_bound;
		reading__done(&h->later);
		h->has_later = false;
	}
	return true;
}

bool uses__is_unread(const struct user_of_heap *h)
{
	return !h->was_read && !h->has_none;
}

uint64_t uses__bound(const struct user_of_heap *h)
{
	return uses__is_unread(h) ? h->unseen : h->cut_bound;
}

/* Who called a mark's function ran then, and what was found out since is not in its cut. */
uint64_t uses__bound_of_mark(const struct uses *u, const struct user_of_heap *h)
{
	if (uses__is_unread(h))
		return h->unseen;
	return h->has_none && h->is_open ? bound_of_none(u, h) : BOUND_UNKNOWN;
}

static enum block_use count_unseen(uint32_t proc, uint64_t addr, uint64_t size, uint64_t born_ns, void *arg)
{
	struct user_of_heap *h = uses__find(arg, proc);

	if (h)
		h->unseen++;
	return BLOCK_IN_USE;
}

void uses__count_unseen(struct uses *u)
{
	struct use_calls calls = { count_unseen, u };
	bool any = false;

	for (size_t i = 0; i < u->v.n; i++) {
		u->v.v[i]->unseen = 0;
		any |= uses__is_unread(u->v.v[i]);
	}
	if (any)
		collect__walk_unseen(u->s->collect, &calls);
}
