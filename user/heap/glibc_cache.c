// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the free blocks that look as if they were in use: those in tcaches and in fast bins.
 *
 * What always holds: lists have an end, even those that turn into a ring while they are read. A list that was read
 * from a running process is believed only if all of it fits; steps along lists are bounded by what the heap has.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/glibc_parts.h"

#define LIST_MAX 65535		/* counts are 16 bits wide */
#define LEARN_TRIES 50
#define ROUNDS 4
#define LIST_TRIES 4
#define STEPS_MIN 100000
#define TCACHE_COUNT 7		/* of blocks in a list, unless a tunable says otherwise */

/* ---- lists */

struct list {
	uint64_t head_at;	/* where its head stands */
	uint64_t head;		/* a block */
	unsigned int bin;
	uint64_t tcache;	/* 0: a fast bin */
	uint64_t n_max;
};

/* Bins of which a list did not hold. */
struct torn {
	uint64_t n;
	bool bins[128];		/* of tcaches and fast ones */
	bool fast[FAST_BINS_MAX];
};

static bool could_be_next(struct taking *k, uint64_t addr)
{
	return !addr || (!(addr % CHUNK_ALIGN) && taking__has_block(k, addr));
}

/*
 * Links are xored with where they stand from 2.32 on: whichever way leads to chunks. A head that was taken since speaks for neither, or
 * for the wrong one: no single vote decides.
 */
static void vote_on_links(struct taking *k, const struct list *l)
{
	uint64_t word;

	if (lines__word(k->lines, l->head, &word))
		k->l->votes_for_mangled += could_be_next(k, word ^ l->head >> 12) - could_be_next(k, word);
}

uint64_t taking__link_of(const struct taking *k, uint64_t at, uint64_t word)
{
	return k->l->votes_for_mangled > 0 ? word ^ at >> 12 : word;
}

static uint64_t next_of(const struct taking *k, uint64_t block, uint64_t word, bool fast)
{
	uint64_t next = taking__link_of(k, block, word);

	/* those of fast bins lead to chunks */
	return fast && next ? next + CHUNK_HEADER : next;
}

/* All of a list, or -1: it does not hold. Brent: a list read while it changes can turn into a ring. */
static int64_t read_list(struct taking *k, const struct list *l, struct err *e)
{
	uint64_t at = l->head, kept = 0, size, word, key;
	size_t before = k->freed.n;
	uint64_t n = 0, power = 1;

	while (at) {
		bool fits;

		/* of lists that share blocks, or of which each was read many times */
		if (!k->list_steps_left--)
			return err_set(e, -EPROTO, "heap layout not recognised: the lists of its caches have more blocks than it has");
		fits = at != kept && !(at % CHUNK_ALIGN) && n < l->n_max && taking__has_block(k, at) &&
		       lines__word(k->lines, at - 8, &size) && lines__word(k->lines, at, &word) &&
		       bin__takes(l->bin, size & ~CHUNK_FLAGS) &&
		       (!l->tcache || (lines__word(k->lines, at + 8, &key) && taking__has_key(k, l->tcache, key)));

		if (!fits) {
			k->freed.n = before;
			return -1;
		}
		*vec_push(&k->freed) = at | (l->tcache ? 0 : FROM_FAST);
		if (!(n % 65536) && n && target__go_on(k->t, "reading the caches of the heap", 1))
			return err_set(e, -EINTR, "stopped");
		if (++n == power) {
			kept = at;
			power *= 2;
		}
		at = next_of(k, at, word, !l->tcache);
	}
	return n;
}

struct lists vec(struct list);

/* Which lists there are now. */
static void gather_lists(struct taking *k, struct lists *to)
{
	const struct tcache_shape *s = k->l->tcache;
	char bytes[TCACHE_BYTES_MAX];

	to->n = 0;
	for (size_t i = 0; s && i < k->tcaches.n; i++) {
		uint64_t addr = k->tcaches.v[i];

		if (memory__read_present(&k->t->memory, addr, bytes, tcache__bytes(s)) != tcache__bytes(s))
			continue;
		for (unsigned int bin = 0; bin < s->n_bins; bin++)
			if (tcache__head(bytes, s, bin))
				*vec_push(to) = (struct list){ addr + tcache__heads_off(s) + bin * 8ul, tcache__head(bytes, s, bin), bin, addr, LIST_MAX };
	}
	for (size_t i = 0; i < k->arenas.n; i++) {
		struct glibc_arena *a = &k->arenas.v[i], now = *a;

		if (!taking__reread_arena(k, &now))
			continue;
		for (unsigned int bin = 0; bin < k->l->n_fast; bin++)
			if (now.fast[bin])
				*vec_push(to) = (struct list){ a->addr + k->l->fast_off + bin * 8ul, now.fast[bin] + CHUNK_HEADER, bin, 0,
							       k->heap_bytes / CHUNK_MIN };
	}
}

/* A list that changes faster than its lines are remembered: anew from its head, some times. */
static int64_t reread_list(struct taking *k, struct list l, struct err *e)
{
	int64_t n = -1;

	for (int i = 0; i < LIST_TRIES && n == -1; i++) {
		lines__forget(k->lines);
		if (!lines__word(k->lines, l.head_at, &l.head))
			return -1;
		l.head += l.head && !l.tcache ? CHUNK_HEADER : 0;
		n = read_list(k, &l, e);
	}
	return n;
}

/* Into k->freed. */
static int read_lists(struct taking *k, struct torn *ret, struct err *e)
{
	struct lists all = { 0 };
	int r = 0;

	lines__forget(k->lines);
	addresses__unite(&k->freed);
	/* each list is read some times at most, if it changes */
	k->list_steps_left = STEPS_MIN + LIST_TRIES * (k->heap_bytes / CHUNK_MIN / 4 + k->c->blocks.n);
	gather_lists(k, &all);
	for (size_t i = 0; i < all.n; i++)
		vote_on_links(k, &all.v[i]);
	*ret = (struct torn){};
	for (size_t i = 0; i < all.n && !r; i++) {
		int64_t n = read_list(k, &all.v[i], e);

		if (n == -1 && !k->t->stopped)
			n = reread_list(k, all.v[i], e);
		if (n == -1) {
			ret->n++;
			ret->bins[all.v[i].bin] = true;
			if (!all.v[i].tcache)
				ret->fast[all.v[i].bin] = true;
		}
		r = n < -1 ? (int)n : 0;
		if (!(i % 64) && !r)
			r = target__go_on(k->t, "reading the caches of the heap", 1) ? err_set(e, -EINTR, "stopped") : 0;
	}
	vec_done(&all);
	return r;
}

/* ---- both together */

/* Blocks that have the key and were in no list: they moved meanwhile, or the key is one that was left behind. */
static void gather_unlisted(struct taking *k, struct addresses *to)
{
	size_t j = 0;

	to->n = 0;
	for (size_t i = 0; i < k->c->blocks.n; i++) {
		const struct heap_block *b = &k->c->blocks.v[i];

		if (b->flags & BLOCK_KEYED && !freed__meet(k, &j, b->addr))
			*vec_push(to) = b->addr;
	}
}

static bool may_be_torn(struct taking *k, uint64_t addr, const struct torn *torn)
{
	uint64_t size, bin;

	if (!lines__word(k->lines, addr - 8, &size))
		return false;
	bin = ((size & ~CHUNK_FLAGS) - CHUNK_MIN) / CHUNK_ALIGN;
	if (bin < SMALL_BINS)
		return torn->bins[bin];
	for (bin = SMALL_BINS; bin < ARRAY_SIZE(torn->bins); bin++)
		if (torn->bins[bin])
			return true;
	return false;
}

/* Those stay that still have the key, and may be in a list that could not be read. */
static void drop_settled(struct taking *k, struct addresses *a, const struct torn *torn)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		uint64_t word;

		if (lines__word(k->lines, a->v[i] + 8, &word) && taking__is_key(k, word) && may_be_torn(k, a->v[i], torn))
			a->v[n++] = a->v[i];
	}
	a->n = n;
}

/*
 * A thread that ends leaves keys behind in blocks that are given again: the lists say what is free. Where these change
 * faster than they are read, the key does.
 */
static int settle(struct taking *k, struct torn *torn, struct err *e)
{
	struct addresses left = { 0 };
	int r = 0;

	gather_unlisted(k, &left);
	drop_settled(k, &left, torn);
	for (int i = 0; i < ROUNDS && left.n && !r; i++) {
		r = read_lists(k, torn, e);
		addresses__sort(&k->freed);
		gather_unlisted(k, &left);
		drop_settled(k, &left, torn);
	}
	k->c->unsettled.n = 0;
	for (size_t i = 0; i < left.n && !r; i++) {
		*vec_push(&k->c->unsettled) = left.v[i];
		*vec_push(&k->freed) = left.v[i];
	}
	k->n_unsettled += left.n;
	addresses__sort(&k->freed);
	vec_done(&left);
	return r;
}

/*
 * Blocks go from fast bins to bins or tcaches while nobody allocates or frees them. What was in a list before the walk or is in one after
 * it was free all the time, or has changed meanwhile.
 */
int taking__read_lists_before(struct taking *k, struct err *e)
{
	struct torn torn;

	k->freed.n = k->tcaches.n = 0;
	for (size_t i = 0; i < k->l->known_tcaches.n; i++)
		*vec_push(&k->tcaches) = k->l->known_tcaches.v[i];
	return k->t->stopped ? 0 : read_lists(k, &torn, e);
}

/* Blocks that may be in a fast bin of which no look could be had: nothing else tells these from blocks in use. */
static uint64_t n_maybe_fast(const struct taking *k, const bool *torn)
{
	uint64_t n = 0;
	size_t j = 0;

	for (size_t i = 0; i < k->c->blocks.n; i++) {
		const struct heap_block *b = &k->c->blocks.v[i];
		uint64_t bin = (b->usable + 8 - CHUNK_MIN) / CHUNK_ALIGN;

		n += bin < FAST_BINS_MAX && torn[bin] && !(b->flags & BLOCK_MAPPED) && !freed__meet(k, &j, b->addr);
	}
	return n;
}

/* The first block of an arena is the tcache of a thread. If it is of that size, but looks like none, what it had is not known. */
static uint64_t n_in_lost_tcache(struct taking *k, const struct segment *s)
{
	const struct tcache_shape *shape = taking__shape_at(k, s->first + CHUNK_HEADER);

	return shape && !shape->counts_room && !addresses__has(&k->tcaches, s->first + CHUNK_HEADER) ? shape->n_bins * TCACHE_COUNT : 0;
}

/* A thread's arena begins in its first heap. */
static bool has_arena(const struct taking *k, const struct segment *s)
{
	return k->arenas.v[s->arena].addr - s->start < s->end - s->start;
}

uint64_t taking__n_in_lost_tcaches(struct taking *k, bool moving)
{
	uint64_t n = moving ? k->n_lost_mapped * SMALL_BINS * TCACHE_COUNT : 0;

	for (size_t i = 0; i < k->segments.n; i++) {
		const struct segment *s = &k->segments.v[i];

		/* the main thread's stays; the others' are given to somebody else once their thread has ended */
		if (s->kind == SEGMENT_BRK || (moving && has_arena(k, s)))
			n += n_in_lost_tcache(k, s);
	}
	return n;
}

int taking__read_caches(struct taking *k, struct err *e)
{
	struct torn torn = {};
	bool fast[FAST_BINS_MAX];
	int r = taking__find_tcaches(k, e);

	/* none of them may be whole at the first look */
	for (int i = 0; i < LEARN_TRIES && !r && k->maybe_tcaches.n && k->maybe_tcaches.n < TRIED_AGAIN_MAX && !k->tcaches.n; i++) {
		lines__forget(k->lines);
		r = taking__find_tcaches(k, e);
	}
	k->n_unsettled = 0;
	if (!r) {
		taking__remember_tcaches(k);
		r = read_lists(k, &torn, e);
	}
	k->n_torn = torn.n;
	memcpy(fast, torn.fast, sizeof(fast));
	/* what was torn in one look is whole in the next one, mostly: each finds some of them */
	for (int i = 0; i < ROUNDS && !r && torn.n; i++) {
		r = read_lists(k, &torn, e);
		for (size_t j = 0; j < ARRAY_SIZE(fast); j++)
			fast[j] &= torn.fast[j];
	}
	addresses__sort(&k->freed);
	if (!r)
		r = settle(k, &torn, e);
	if (!r)
		k->n_unsettled += n_maybe_fast(k, fast);
	return r;
}

/* ---- lines of memory */

/*
 * Owns lines of a target's memory that were read lately: links between chunks lead here and there, and a call of the
 * kernel for each word would take most of the time. A line is as it was when it was read.
 */

#define LINE_BYTES 4096ull	/* no more than a page of any kernel */
#define N_LINES 4096

struct lines {
	struct target *t;
	uint64_t line_of[N_LINES];	/* address / LINE_BYTES + 1; 0: none */
	bool absent[N_LINES];
	char bytes[N_LINES][LINE_BYTES];
};

struct lines *lines__new(struct target *t)
{
	struct lines *l = xmalloc(sizeof(*l));

	l->t = t;
	lines__forget(l);
	return l;
}

void lines__free(struct lines *l)
{
	free(l);
}

void lines__forget(struct lines *l)
{
	memset(l->line_of, 0, sizeof(l->line_of));
}

static size_t line_at(struct lines *l, uint64_t addr)
{
	uint64_t line = addr / LINE_BYTES;
	size_t i = line % N_LINES;

	if (l->line_of[i] == line + 1)
		return i;
	l->absent[i] = !target__read(l->t, line * LINE_BYTES, l->bytes[i], LINE_BYTES);
	l->line_of[i] = line + 1;
	return i;
}

bool lines__word(struct lines *l, uint64_t addr, uint64_t *ret)
{
	size_t i;

	if (addr % sizeof(*ret))
		return false;
	i = line_at(l, addr);
	if (l->absent[i])
		return false;
	memcpy(ret, l->bytes[i] + addr % LINE_BYTES, sizeof(*ret));
	return true;
}
