// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode leak: one heap. Owns how it is read, and what that says of a block.
 *
 * A reading takes a while, and the target goes on meanwhile. It begins with a tick of the programs' clock, so a block that was born
 * before that tick and is not in it has been freed, and leaves the table; what was born later and is not in it may be live, and stays.
 * A heap that changed while it was read may have hidden a block from the reading: it is read twice, and what neither has is dead.
 */
#include "trace/uses_parts.h"

#include <errno.h>

#include "util/log.h"
#include "util/sorted.h"

/* ---- what is known of a block */

/* A thread that ends leaves its mark of free blocks in some that are given again, and not written to. */
static bool is_unsettled(const struct census *c, uint64_t addr)
{
	size_t i = sorted__count(a, c->unsettled.v, c->unsettled.n, *a < addr);

	return i < c->unsettled.n && c->unsettled.v[i] == addr;
}

/*
 * What libc has taken for itself is not the block that was there before, and no probe tells of that. A thread's cache is not always
 * known for one: its size is another one, while that of a block stays as it is until realloc changes it, which is another birth.
 */
static bool reading__has(const struct reading *r, uint64_t addr, uint64_t usable)
{
	uint32_t n = block_index__find(&r->index, addr);
	const struct heap_block *b = n != NO_BLOCK ? &r->census.blocks.v[n] : NULL;

	if (!b || b->addr != addr || b->flags & BLOCK_LIBC)
		return false;
	return !usable || b->usable == usable || b->flags & BLOCK_MAPPED;
}

/* of a block that is there: or it is something of libc's, which lies there since */
static bool reading__may_be_libcs(const struct reading *r, uint64_t addr)
{
	uint32_t n = block_index__find(&r->index, addr);

	return n != NO_BLOCK && r->census.blocks.v[n].flags & BLOCK_MAYBE_LIBC;
}

static enum block_use judge(const struct user_of_heap *h, uint64_t addr, uint64_t usable, uint64_t born_ns)
{
	/* the last one says it all; one before it may be right where that one missed a block, or it was freed between the two */
	for (size_t i = h->n_readings; i; i--)
		if (reading__has(&h->readings[i - 1], addr, usable))
			return i == h->n_readings && !reading__may_be_libcs(&h->readings[i - 1], addr) ? BLOCK_IN_USE : BLOCK_UNSURE;
	if (array_first(r, h->readings, h->n_readings, is_unsettled(&r->census, addr)))
		return BLOCK_UNSURE;
	/* of one that stands still all is known */
	if (born_ns >= h->born_before_ns && !h->target.stopped)
		return BLOCK_UNSURE;
	/* a block with a mapping of its own that was missed lies in none, wherever its alignment has put it */
	if (h->is_partial && array_first(r, h->readings, h->n_readings,
					 !sorted__range_of(r->census.ranges.v, r->census.ranges.n, addr)))
		return BLOCK_UNSURE;
	return BLOCK_NOT_IN_USE;
}

/* of a block that has this size in the table; 0: not known */
static uint64_t uses__usable(const struct uses *u, uint64_t size)
{
	return u->s->opts->recording.size == SIZE_USABLE ? size : 0;
}

enum block_use uses__of(uint32_t proc, uint64_t addr, uint64_t size, uint64_t born_ns, void *arg)
{
	struct user_of_heap *h = uses__find(arg, proc);
	enum block_use use = BLOCK_IN_USE;

	if (h && h->is_lost)
		use = BLOCK_UNSURE;
	else if (h && h->n_readings)
		use = judge(h, addr, uses__usable(arg, size), born_ns);
	if (use == BLOCK_UNSURE)
		h->bound++;
	return use;
}

/* ---- one heap */

void reading__done(struct reading *r)
{
	block_index__done(&r->index);
	census__done(&r->census);
	*r = (struct reading){};
}

void uses__forget_readings(struct user_of_heap *h)
{
	for (size_t i = 0; i < h->n_readings; i++)
		reading__done(&h->readings[i]);
	h->n_readings = 0;
}

/* -ENOENT: there is none. -EPROTO: it changes too fast to be read, or is not as it should be; others of census__take(). */
static int uses__read_once(struct user_of_heap *h, struct reading *to, struct err *e)
{
	int err = census__take(&h->target, &h->glibc, &to->census, e);

	if (err)
		return err;
	err = block_index__build(&to->index, to->census.blocks.v, to->census.blocks.n, e);
	if (err)
		census__done(&to->census);
	return err;
}

void uses__note_unstopped(struct user_of_heap *h, int err, bool is_late, const char *why)
{
	/* where it has no such heap there is nothing to stop it for; and Ctrl-C, which ended the reading, says nothing of the next one */
	if (err == -ENOENT || err == -ESRCH || (err == -EINTR && !is_late))
		return;
	/* what is too large stays so */
	h->unstopped_until_ns = err == -EINTR ? UINT64_MAX : now_ns() + UNSTOPPED_NS;
	if (!h->said_unstopped && err == -EINTR)
		say("%d was stopped for a tenth of a second, and its heap takes longer to be read: from now on it is read while it runs", (int)h->pid);
	else if (!h->said_unstopped)
		say("%d is not stopped for its heap to be read: %s", (int)h->pid, why);
	h->said_unstopped = true;
}

/* --exact: nothing changes while it is read, nor until a cut is taken (session__let_heaps_go_on()). */
static bool read_stopped(struct uses *u, struct user_of_heap *h, struct reading *to)
{
	_cleanup_err_ struct err e = {};
	uint64_t stop_by_ns;
	int err;

	h->target.stop_max_ns = STOP_NS;
	err = target__pause(&h->target, &e);
	stop_by_ns = now_ns() + STOP_NS;
	if (!err) {
		u->stop_by_ns = stop_by_ns;
		err = uses__read_once(h, to, &e);
		u->stop_by_ns = 0;
	}
	if (!err)
		return true;
	target__resume(&h->target);
	uses__note_unstopped(h, err, now_ns() > stop_by_ns, err_msg(&e));
	return false;
}

static void note_reading(struct user_of_heap *h, const struct reading *v, size_t n, uint64_t born_before_ns)
{
	h->is_partial = false;
	for (size_t i = 0; i < n; i++) {
		const struct census *c = &v[i].census;

		h->readings[i] = v[i];
		h->is_partial |= c->swapped_bytes || c->broken_bytes || c->passed_over_bytes || c->lacks_mapped;
	}
	h->n_readings = n;
	h->was_read = true;
	h->born_before_ns = born_before_ns;
}

bool uses__is_to_stop(const struct uses *u, const struct user_of_heap *h)
{
	return u->may_stop && !h->has_ended && u->began_ns >= h->unstopped_until_ns;
}

/* One that may have missed a block is none by itself. */
static int read_heap(struct uses *u, struct user_of_heap *h, uint64_t born_before_ns, struct err *e)
{
	struct reading v[MAX_READINGS] = {};
	uint64_t since_ns = now_ns(), calls = collect__alloc_calls(u->s->collect, h->proc), runs = target__runs(&h->target);
	size_t n = uses__is_to_stop(u, h) && read_stopped(u, h, &v[0]);
	int err = 0;

	while (!err && (!n || (!h->target.stopped && v[n - 1].census.unsure_blocks)) && n < MAX_READINGS) {
		err = uses__read_once(h, &v[n], e);
		n += !err;
	}
	if (err) {
		for (size_t i = 0; i < n; i++)
			reading__done(&v[i]);
		/* where glibc has no heap there is nothing that is freed unseen */
		h->has_none = err == -ENOENT;
		if (h->has_none)
			h->calls = calls;
		return err;
	}
	uses__forget_readings(h);
	note_reading(h, v, n, born_before_ns);
	h->has_none = false;
	h->was_passed = true;
	h->stood = h->target.stopped;
	h->runs = runs;
	h->calls = calls;
	h->bound = h->readings[n - 1].census.unsure_blocks;
	u->last.read_ns = now_ns();
	u->last.took_ns = u->last.read_ns - since_ns;
	return 0;
}

int uses__read(struct uses *u, struct user_of_heap *h, uint64_t born_before_ns, bool wanted, struct err *e)
{
	uint64_t until_ns = now_ns() + PATIENCE_NS;
	int err;

	do {
		err_done(e);
		*e = (struct err){};
		err = read_heap(u, h, born_before_ns, e);
	} while (err == -EPROTO && wanted && now_ns() < until_ns);
	return err;
}

/* ---- how many blocks count as live that are not */

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
