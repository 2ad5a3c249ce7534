// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the order in which a glibc heap is read, and whether what was found is told: only if it agrees with what libc
 * itself has counted.
 *
 * What always holds: blocks are by address and do not overlap. A census of a process that stood still is exact; of one that
 * ran, at most unsure_blocks of those that were neither allocated nor freed meanwhile are wrong.
 */
#include "heap/census.h"

#include <errno.h>
#include <string.h>

#include "heap/glibc_parts.h"
#include "util/sorted.h"

#define TAKES_MAX 8
#define MOVING_UNSURE 2		/* of a heap that changed: measured, 2 in 40 million */
#define PATIENCE_US 500000	/* in all */
#define GO_ON_NS 1000000	/* of one that was stopped in the wrong place: 1 ms, 2, 4, ... */

/* ---- where it is */

/* Allocators that keep nothing beside blocks, so that nothing can be read from outside. */
static const struct {
	const char *file, *name;
} others[] = {
	{ "libjemalloc", "jemalloc" },
	{ "libtcmalloc", "tcmalloc" },
	{ "libmimalloc", "mimalloc" },
	{ "ld-musl-", "musl" },
	{ "libc.musl-", "musl" },
};

const char *census__other_allocator(const struct target *t)
{
	for (size_t i = 0; i < t->maps.n; i++)
		for (size_t j = 0; j < ARRAY_SIZE(others); j++)
			if (!strncmp(path_basename(t->maps.v[i].path), others[j].file, strlen(others[j].file)))
				return others[j].name;
	return NULL;
}

static int say_none(struct target *t, struct err *e)
{
	const char *other = census__other_allocator(t);

	if (other)
		return err_set(e, -ENOENT, "no glibc heap in process %d: it allocates with %s, whose blocks cannot be told from outside; trace it instead",
			       (int)t->pid, other);
	if (glibc__has_traces(t))
		return err_set(e, -EPROTO, "heap layout not recognised: libc and memory behind the program's break are there, but not what libc keeps of its arenas; it was overwritten, or another allocator uses the break");
	return err_set(e, -ENOENT, "no glibc heap in process %d: it has not allocated yet, or has another allocator (Go and Java have their own)",
		       (int)t->pid);
}

/* Each libc has a heap of its own, and nothing tells which memory belongs to which of them. */
static int refuse_second_libc(struct target *t, size_t n, struct err *e)
{
	if (n < 2)
		return 0;
	return err_set(e, -ENOTSUP, "process %d has %zu C libraries, each with a heap of its own (dlmopen, LD_AUDIT): malloctrace reads the heap of a process that has one",
		       (int)t->pid, n);
}

/* ---- together */

static void end(struct taking *k)
{
	lines__free(k->lines);
	free(k->window.bytes);
	vec_done(&k->arenas);
	vec_done(&k->segments);
	vec_done(&k->maybe_tcaches);
	vec_done(&k->tcaches);
	vec_done(&k->maybe_empty);
	vec_done(&k->freed);
	vec_done(&k->linked);
	vec_done(&k->mapped);
	vec_done(&k->mapped_ranges);
	vec_done(&k->foreign);
	vec_done(&k->gaps);
}

static int walk_all(struct taking *k, struct err *e)
{
	int r = 0;

	k->c->arenas.n = 0;
	for (size_t i = 0; i < k->arenas.n; i++)
		vec_push(&k->c->arenas)->is = (struct snap_arena){ .main = !i, .mapped_bytes = k->arenas.v[i].system_mem };
	k->c->blocks.n = k->maybe_tcaches.n = k->foreign.n = k->gaps.n = 0;
	k->c->broken_bytes = k->c->swapped_bytes = 0;
	k->walked_bytes = k->n_breaks = 0;
	k->patience_us = PATIENCE_US;
	page_runs__begin(k->t);
	for (size_t i = 0; i < k->segments.n && !r; i++)
		r = taking__walk(k, &k->segments.v[i], e);
	return r;
}

/* Has it more threads than caches of them were found? One that has ended had as many as it had last. */
static bool lacks_tcache(struct taking *k)
{
	uint64_t n = target__n_threads(k->t);

	if (n)
		k->l->n_threads = n;
	return !k->l->n_threads || k->l->n_threads > k->tcaches.n;
}

/* Free ones leave, and count where they are. */
static void drop_freed(struct taking *k)
{
	struct census *c = k->c;
	size_t n = 0, j = 0, m = 0, z = lacks_tcache(k) ? 0 : k->maybe_empty.n;

	k->linked.n = 0;
	for (size_t i = 0; i < c->blocks.n; i++) {
		struct heap_block b = c->blocks.v[i];
		struct heap_arena *a = &c->arenas.v[b.arena];
		const uint64_t *freed = freed__meet(k, &j, b.addr);
		uint64_t bytes = b.usable + 8;

		if (freed) {
			*(*freed & FROM_FAST ? &a->is.bins_bytes : &a->is.tcache_bytes) += bytes;
			a->free_resident_bytes += bytes;
			continue;
		}
		if (b.flags & BLOCK_LINKED)
			*vec_push(&k->linked) = n;
		b.flags &= ~(BLOCK_KEYED | BLOCK_LINKED);
		if (sorted__meet(one, k->tcaches.v, k->tcaches.n, &m, *one, b.addr))
			b.flags |= BLOCK_LIBC;
		if (sorted__meet(one, k->maybe_empty.v, k->maybe_empty.n, &z, *one, b.addr))
			b.flags |= BLOCK_MAYBE_LIBC;
		*(b.flags & BLOCK_MAPPED ? &c->mapped_blocks : &a->is.blocks) += 1;
		*(b.flags & BLOCK_MAPPED ? &c->mapped_bytes : &a->is.bytes) += b.usable;
		c->blocks.v[n++] = b;
	}
	c->blocks.n = n;
}

/* Both are by address: from the back, in place. */
static void merge_mapped(struct taking *k)
{
	struct census *c = k->c;
	size_t i = c->blocks.n, j = k->mapped.n, at;

	for (size_t n = 0; n < k->mapped.n; n++)
		vec_push(&c->blocks);
	for (at = c->blocks.n; j;) {
		bool take_mapped = !i || k->mapped.v[j - 1].addr > c->blocks.v[i - 1].addr;

		c->blocks.v[--at] = take_mapped ? k->mapped.v[--j] : c->blocks.v[--i];
	}
}

static void count_tops(struct taking *k)
{
	for (size_t i = 0; i < k->arenas.n; i++) {
		const struct glibc_arena *g = &k->arenas.v[i];
		struct heap_arena *a = &k->c->arenas.v[i];
		const struct segment *s = taking__segment_of(k, g->top);
		uint64_t page = k->t->page_bytes, bytes = s ? MIN(g->top_bytes, s->end - g->top) : 0, there;

		if (!s)
			continue;
		there = page_runs__resident(k->t, g->top + 1, g->top + bytes);
		a->is.top_bytes = bytes;
		a->is.largest_free_bytes = MAX(a->is.largest_free_bytes, bytes);
		a->free_resident_bytes += there + MIN(page - g->top % page, bytes);
		/* malloc_trim gives back the top of the main arena alone */
		a->is.trimmable_bytes += i ? 0 : there;
	}
}

/* The main arena's size is libc's own count, too. What others took from the break is in it, or is not. */
static int check_main(struct taking *k, struct err *e)
{
	uint64_t most = 0, least, counted = k->arenas.v[0].system_mem;

	for (size_t i = 0; i < k->segments.n; i++)
		most += k->segments.v[i].arena ? 0 : k->segments.v[i].end - k->segments.v[i].start;
	least = most;
	for (size_t i = 0; i < k->foreign.n; i++)
		least -= k->foreign.v[i].end - k->foreign.v[i].start;
	if (counted >= least && counted <= most)
		return 0;
	return err_set(e, -EPROTO, "heap layout not recognised: the main arena has %llu bytes by libc's own count, %llu were found",
		       (unsigned long long)counted, (unsigned long long)most);
}

static void push_range(struct taking *k, uint64_t start, uint64_t end)
{
	if (start < end)
		*vec_push(&k->c->ranges) = (struct heap_range){ start, end };
}

COMPARATOR(by_start, struct heap_range, ORDER(a->start, b->start))

/* A segment without what others have in it, and without what may be blocks or not: those are searched for pointers. */
static void push_segment_ranges(struct taking *k, const struct segment *s)
{
	uint64_t from = s->start;

	for (size_t i = 0; i < k->gaps.n; i++) {
		const struct heap_range *f = &k->gaps.v[i];

		if (f->start < from || f->end > s->end)
			continue;
		push_range(k, from, f->start);
		from = f->end;
	}
	push_range(k, from, s->end);
}

static void note_ranges(struct taking *k)
{
	struct census *c = k->c;
	size_t n = 0;

	push_range(k, k->g->main_arena, k->g->main_arena + k->l->arena_bytes);
	for (size_t i = 0; i < k->segments.n; i++)
		push_segment_ranges(k, &k->segments.v[i]);
	for (size_t i = 0; i < k->mapped_ranges.n; i++)
		push_range(k, k->mapped_ranges.v[i].start, k->mapped_ranges.v[i].end);
	qsort(c->ranges.v, c->ranges.n, sizeof(*c->ranges.v), by_start);
	for (size_t i = 0; i < c->ranges.n; i++)
		if (n && c->ranges.v[i].start <= c->ranges.v[n - 1].end)
			c->ranges.v[n - 1].end = MAX(c->ranges.v[n - 1].end, c->ranges.v[i].end);
		else
			c->ranges.v[n++] = c->ranges.v[i];
	c->ranges.n = n;
}

/* Did any arena change since it was read? */
static bool has_moved(struct taking *k)
{
	for (size_t i = 0; i < k->arenas.n; i++) {
		struct glibc_arena now = k->arenas.v[i];

		if (!taking__reread_arena(k, &now) || now.hash != k->arenas.v[i].hash)
			return true;
	}
	return k->n_breaks || k->n_torn;
}

static int find_all(struct taking *k, struct err *e)
{
	int r = taking__read_arenas(k, e);

	if (!r && !taking__read_sums(k, &k->sums))
		r = err_set(e, -EPROTO, "heap layout not recognised: libc's own sums were not found");
	if (!r)
		r = taking__find_segments(k, e);
	if (!r && !k->segments.n && !k->sums.n_mmaps)
		r = say_none(k->t, e);
	return r;
}

/* Blocks of all arenas and those with a mapping of their own, and which of them are in caches. */
static int read_blocks(struct taking *k, struct err *e)
{
	int r = taking__read_lists_before(k, e);

	if (!r)
		r = walk_all(k, e);
	if (r)
		return r;
	merge_mapped(k);
	return taking__note_mapped_tcaches(k, e) ?: taking__read_caches(k, e);
}

static int take_once(struct taking *k, struct err *e)
{
	enum key_kind knew;
	int r = k->t->stopped ? taking__wait_outside(k, e) : 0;

	if (!r)
		r = find_all(k, e);
	if (r)
		return r;
	taking__learn_key(k);
	knew = k->l->key_kind;
	r = taking__find_mapped(k, e);
	if (!r)
		r = read_blocks(k, e);
	/* the key was not known yet, and without it lists that change cannot be believed */
	if (!r && knew == KEY_UNKNOWN && k->l->key_kind != KEY_UNKNOWN && has_moved(k))
		r = read_blocks(k, e);
	if (!r)
		r = check_main(k, e);
	if (!r)
		r = taking__check_chunks(k, e);
	if (r)
		return r;
	k->is_moving |= has_moved(k);
	drop_freed(k);
	taking__count_on_the_way(k);
	count_tops(k);
	note_ranges(k);
	return 0;
}

/*
 * Sums that do not agree may be of two moments, if it runs. If it is stopped, a thread may have been within the system call
 * that gives memory back, which libc counts afterwards: it goes on for some milliseconds, to another place.
 */
static int take(struct taking *k, struct err *e)
{
	_cleanup_err_ struct err last = {};
	int r = 0;

	for (int i = 0; i < TAKES_MAX; i++) {
		err_done(&last);
		r = take_once(k, &last);
		if (r != -EPROTO || !(k->t->stopped || k->is_moving || has_moved(k)))
			break;
		r = k->t->stopped ? target__pause_later(k->t, GO_ON_NS << i, &last) : 0;
		if (!r)
			r = target__refresh(k->t, &last);
		if (r)
			break;
		r = -EPROTO;
		k->heap_bytes = 0;
	}
	if (r == -EPROTO && k->is_moving && !k->t->stopped)
		return err_set(e, r, "%s; it changes all the time, perhaps faster than it can be read: try again, or with --pause", err_msg(&last));
	return r ? err_set(e, r, "%s", err_msg(&last)) : 0;
}

/*
 * What could not be settled. A chain that broke and was mended has cost nothing, but where one breaks, another may lead past
 * some blocks without a sign: that is rarer.
 */
static uint64_t count_unsure(const struct taking *k)
{
	uint64_t least = k->is_moving && !k->t->stopped ? MOVING_UNSURE : 0;

	return least + k->n_unsettled + k->n_mapped_unsure + k->n_on_the_way + k->n_breaks + k->c->broken_bytes / CHUNK_MIN;
}

int census__take(struct target *t, struct glibc *g, struct census *ret, struct err *e)
{
	struct census c = { .began_ns = now_ns() };
	struct taking k = { .t = t, .g = g, .c = &c };
	uint64_t swapped_bytes = 0;
	int r;

	if (!g->layout)
		g->layout = xcalloc(1, sizeof(*g->layout));
	k.l = g->layout;
	k.window.bytes = xmalloc((256ull << 10) + (64ull << 10) + 64);
	k.lines = lines__new(t);
	r = target__refresh(t, e) ?: refuse_second_libc(t, glibc__count(t), e);
	if (!r) {
		r = glibc__find(t, g, e);
		if (r == -ENOENT)
			r = say_none(t, e);
	}
	if (!r) {
		r = glibc__has_another(t, g, &swapped_bytes);
		if (r == -EPROTO)
			err_set(e, r, "heap layout not recognised: what looks like the arenas of another C library leads nowhere");
		else
			r = r < 0 ? err_set(e, r, "stopped") : refuse_second_libc(t, 1 + (size_t)r, e);
	}
	if (!r)
		r = take(&k, e);
	if (r != -EINTR && memory__is_gone(&t->memory))
		r = err_set(e, -ESRCH, "process %d has ended, or become another program, while it was read", (int)t->pid);
	/* what was not looked at because of it is not told from what is not there */
	if (target__is_over(t))
		r = err_set(e, -EINTR, "stopped");
	c.unsure_blocks = count_unsure(&k);
	c.lacks_mapped = k.n_mapped_unsure || k.swapped_bytes;
	c.at_odds = (k.n_unsettled || k.n_on_the_way || k.n_breaks || c.broken_bytes) && !c.swapped_bytes;
	end(&k);
	if (r) {
		census__done(&c);
		return r;
	}
	c.tcache_key = g->tcache_key;
	c.swapped_bytes += swapped_bytes;
	c.passed_over_bytes = k.passed_over_bytes + t->passed_over_bytes;
	c.ended_ns = now_ns();
	*ret = c;
	return 0;
}

void census__done(struct census *c)
{
	vec_done(&c->blocks);
	vec_done(&c->arenas);
	vec_done(&c->ranges);
	vec_done(&c->unsettled);
	*c = (struct census){};
}

void glibc__done(struct glibc *g)
{
	if (g->layout)
		vec_done(&g->layout->known_tcaches);
	free(g->layout);
	*g = (struct glibc){};
}

const struct heap_block *census__find(const struct census *c, uint64_t addr)
{
	size_t n = sorted__count(b, c->blocks.v, c->blocks.n, b->addr <= addr);
	const struct heap_block *last = n ? &c->blocks.v[n - 1] : NULL;

	return last && addr - last->addr < MAX(last->usable, 1ull) ? last : NULL;
}
