// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns marks and edges. A block is pushed to pending at most once, when it becomes reached and its words have been read
 * before; what is reached ahead of the reading is followed as it is read.
 *
 * Memory for each block: a byte of state, 4 for the place of its edges, 4 for pending at most, and its edges, 4 each. Of
 * these there are at most four to a block in all. If there are more, what can be followed is followed, and edges of and to
 * reached blocks are dropped. If that does not help, whatever is pointed to counts as reached: nothing is called lost then that is not.
 */
#include <errno.h>

#include "heap/glibc_parts.h"
#include "heap/reach_parts.h"
#include "util/sorted.h"

enum { IS_REACHED = 1, IS_HIT = 2, IS_TOLD = 4 /* by which root */ };

#define EDGES_PER_BLOCK 4
#define EDGES_AT_LEAST (1u << 20)
/* More words than this that hold something: the last of them stands for those that follow. */
#define MAX_ROOTS (1u << 18)
/* Gaps between blocks that are read along, as reading costs less than asking twice. */
#define GAP_BYTES 16384
/* So much of each newer block is read, and for so much CPU time in all: what they lead to beyond that is told by what else points to it. */
#define NEWER_BYTES 4096
#define MAX_NEWER_EDGES (2 * MAX_NEWER)
#define NEWER_NS (1000 * MS_NS)

int mark__init(struct mark *m, const struct census *c, bool by_root, struct err *e)
{
	size_t n = c->blocks.n, room = n + 1 + (by_root ? MAX_NEWER : 0);
	int err;

	/* they are numbered with 32 bits */
	*m = (struct mark){ .c = c, .by_root = by_root,
			    .max_edges = MIN(EDGES_AT_LEAST + (uint64_t)n * EDGES_PER_BLOCK, UINT32_MAX - 2 * (uint64_t)MAX_NEWER_EDGES) };
	err = block_index__build(&m->index, c->blocks.v, n, e);
	if (err)
		return err;
	m->state = xcalloc(room, 1);
	m->edges.first = xmalloc(room * sizeof(*m->edges.first));
	m->root = by_root ? xcalloc(n + 1, sizeof(*m->root)) : NULL;
	/* who points to the allocator's own is its own affair */
	for (size_t i = 0; i < n; i++)
		if (c->blocks.v[i].flags & BLOCK_LIBC)
			m->state[i] |= IS_REACHED | IS_TOLD;
	return 0;
}

void edges__done(struct edges *g)
{
	free(g->first);
	vec_done(&g->to);
	*g = (struct edges){};
}

void mark__done(struct mark *m)
{
	block_index__done(&m->index);
	newer__done(&m->newer);
	edges__done(&m->edges);
	vec_done(&m->pending);
	vec_done(&m->roots);
	vec_done(&m->hits);
	free(m->state);
	free(m->root);
	*m = (struct mark){};
}

bool mark__is_reached(const struct mark *m, uint32_t block)
{
	return m->state[block] & IS_REACHED;
}

/* ---- marks */

static inline void push(struct mark *m, uint32_t block)
{
	*vec_push(&m->pending) = block;
}

static inline void reach(struct mark *m, uint32_t block, uint32_t root)
{
	m->state[block] |= IS_REACHED;
	if (m->root && !m->root[block])
		m->root[block] = root;
	if (block < m->n_read)
		push(m, block);
}

static inline uint32_t edges_end(const struct mark *m, uint32_t block)
{
	return block + 1 < m->n_read ? m->edges.first[block + 1] : m->edges.to.n;
}

static void flood(struct mark *m)
{
	while (m->pending.n) {
		uint32_t block = m->pending.v[--m->pending.n], end = edges_end(m, block);
		uint32_t root = m->root ? m->root[block] : 0;

		if (m->pending.n > 4)
			__builtin_prefetch(&m->edges.first[m->pending.v[m->pending.n - 4]]);
		for (uint32_t i = m->edges.first[block]; i < end; i++)
			if (!(m->state[m->edges.to.v[i]] & IS_REACHED))
				reach(m, m->edges.to.v[i], root);
	}
}

/* ---- roots */

uint32_t mark__new_root(struct mark *m, uint64_t addr, int tid)
{
	if (m->roots.n < MAX_ROOTS)
		*vec_push(&m->roots) = (struct reach_root){ .addr = addr, .tid = tid };
	return m->roots.n;
}

/* Newer ones have no root, and lead on to those that have; unless one is where a known block was. */
static void tell(struct mark *m, uint32_t block, const struct root_hit *h, uint32_t *root)
{
	uint32_t n = m->c->blocks.n, known = block < n ? block : block_index__find(&m->index, m->newer.at.v[block - n]);

	m->state[block] |= IS_TOLD;
	if (known != NO_BLOCK && !m->root[known]) {
		if (!*root)
			*root = mark__new_root(m, h->addr, h->tid);
		m->root[known] = *root;
	}
	if (block < m->n_read)
		push(m, block);
}

/* Each root takes what it leads to, by way of newer blocks, too. */
static void tell_roots(struct mark *m)
{
	for (size_t i = 0; i < m->hits.n; i++) {
		const struct root_hit *h = &m->hits.v[i];
		uint32_t root = 0;

		if (m->state[h->block] & IS_TOLD)
			continue;
		tell(m, h->block, h, &root);
		while (m->pending.n) {
			uint32_t block = m->pending.v[--m->pending.n], end = edges_end(m, block);

			if (m->pending.n > 4)
				__builtin_prefetch(&m->edges.first[m->pending.v[m->pending.n - 4]]);
			for (uint32_t k = m->edges.first[block]; k < end; k++)
				if (!(m->state[m->edges.to.v[k]] & IS_TOLD))
					tell(m, m->edges.to.v[k], h, &root);
		}
	}
}

/* From here on, what is found belongs to the root of the block that it is found in. */
static void follow_hits(struct mark *m)
{
	tell_roots(m);
	for (size_t i = 0; i < m->hits.n; i++)
		if (!(m->state[m->hits.v[i].block] & IS_REACHED))
			reach(m, m->hits.v[i].block, 0);
	flood(m);
	m->index.others = false;
	m->hits.n = 0;
	m->by_root = false;
}

/* The number of a newer block, which is reached as far as others are concerned. */
static uint32_t newer_block(struct mark *m, uint64_t addr)
{
	uint32_t number = newer__number(&m->newer, addr);

	if (number == NO_BLOCK)
		return NO_BLOCK;
	number += m->c->blocks.n;
	m->state[number] |= IS_REACHED;
	return number;
}

static void see_root(uint64_t addr, int tid, uint64_t to, uint32_t block, void *arg)
{
	struct mark *m = arg;
	bool is_newer = block == NO_BLOCK;

	if (is_newer)
		block = newer_block(m, to);
	if (block == NO_BLOCK || m->state[block] & (is_newer ? IS_HIT : IS_REACHED | IS_HIT))
		return;
	m->state[block] |= IS_HIT;
	if (!m->root) {
		reach(m, block, 0);
	} else if (!m->by_root) {
		reach(m, block, mark__new_root(m, addr, tid));
		flood(m);
	} else {
		*vec_push(&m->hits) = (struct root_hit){ addr, tid, block };
	}
}

/* ---- edges */

/* Edges that are of no use any more: from and to what is reached. */
static void drop_edges(struct mark *m)
{
	uint32_t kept = 0;

	for (uint32_t block = 0; block < m->n_read; block++) {
		uint32_t i = m->edges.first[block], end = edges_end(m, block);

		m->edges.first[block] = kept;
		for (; i < end && !(m->state[block] & IS_REACHED); i++)
			if (!(m->state[m->edges.to.v[i]] & IS_REACHED))
				m->edges.to.v[kept++] = m->edges.to.v[i];
	}
	m->edges.to.n = kept;
}

static void make_room(struct mark *m)
{
	if (m->by_root)
		follow_hits(m);
	flood(m);
	drop_edges(m);
	m->crowded |= m->edges.to.n > m->max_edges / 4 * 3;
}

static void add_edge(struct mark *m, uint32_t from, uint32_t to)
{
	if (m->edges.to.n > m->edges.first[from] && m->edges.to.v[m->edges.to.n - 1] == to)
		return;
	if (m->edges.to.n >= m->max_edges && !m->crowded) {
		make_room(m);
		if (m->state[to] & IS_REACHED)
			return;
	}
	if (m->crowded || m->state[from] & IS_REACHED) {
		reach(m, to, m->root ? m->root[from] : 0);
		return;
	}
	*vec_push(&m->edges.to) = to;
}

/* From or to a newer block: it tells roots and nothing else, and takes no room from others. */
static void add_newer_edge(struct mark *m, uint32_t from, uint32_t to)
{
	if (m->n_newer_edges == MAX_NEWER_EDGES || (m->edges.to.n > m->edges.first[from] && m->edges.to.v[m->edges.to.n - 1] == to))
		return;
	*vec_push(&m->edges.to) = to;
	m->n_newer_edges++;
	m->max_edges++;
}

/* A word of a block, known or newer, that points into no known one. */
static void see_newer(struct mark *m, uint32_t from, uint64_t addr)
{
	uint32_t to = m->by_root ? newer_block(m, addr) : NO_BLOCK;

	if (to != NO_BLOCK)
		add_newer_edge(m, from, to);
}

struct reading {
	struct mark *m;
	size_t at;		/* the block that the next word may lie in */
};

/*
 * Is a word still in the block that it was in? One that was freed and given again, smaller, has other words behind it. Its header, if
 * that was read along, says so. For roots alone: others ask again.
 */
static bool is_still_in(const struct mark *m, const struct heap_block *b, uint64_t word, uint64_t window)
{
	uint64_t header = b->addr - sizeof(uint64_t);

	if (!m->by_root || header < window || b->flags & (BLOCK_MAPPED | BLOCK_FOREIGN))
		return true;
	return word < header + (m->s->words[(header - window) / sizeof(uint64_t)] & ~7ull);
}

static void see_heap(uint64_t addr, const struct found_pointer *found, size_t n, void *arg)
{
	struct reading *r = arg;
	struct mark *m = r->m;
	const struct heap_block *blocks = m->c->blocks.v;
	size_t n_blocks = m->c->blocks.n;

	for (size_t i = 0; i < n; i++) {
		uint64_t word = addr + found[i].word * sizeof(uint64_t);
		uint32_t to = found[i].block;

		if (i + 8 < n && found[i + 8].block != NO_BLOCK)
			__builtin_prefetch(&m->state[found[i + 8].block]);
		while (r->at < n_blocks && blocks[r->at].addr + blocks[r->at].usable <= word)
			r->at++;
		if (r->at == n_blocks)
			return;
		if (word < blocks[r->at].addr || to == r->at || blocks[r->at].flags & BLOCK_LIBC ||
		    !is_still_in(m, &blocks[r->at], word, addr))
			continue;
		for (; m->n_read <= r->at; m->n_read++)
			m->edges.first[m->n_read] = m->edges.to.n;
		if (to == NO_BLOCK) {
			see_newer(m, r->at, untagged(m->s->words[found[i].word]));
			continue;
		}
		if (m->state[to] & IS_REACHED)
			continue;
		if (m->state[r->at] & IS_REACHED)
			reach(m, to, m->root ? m->root[r->at] : 0);
		else
			add_edge(m, r->at, to);
	}
}

int blocks__search(const struct heap_block *blocks, size_t n, struct search *s, const struct block_index *x, window_fn fn,
		   void *arg)
{
	int err = 0;

	for (size_t i = 0; i < n && !err;) {
		uint64_t start = blocks[i].addr, end = start + blocks[i].usable;

		for (i++; i < n && blocks[i].addr >= end && blocks[i].addr - end < GAP_BYTES; i++)
			end = blocks[i].addr + blocks[i].usable;
		err = search__range(s, x, start, end, fn, arg);
	}
	return err;
}

/* ---- known blocks, as they are now */

/* Of those that a block leads to, the next known one that is another than the last. */
static uint32_t next_known(const struct mark *m, uint32_t *at, uint32_t end, uint32_t last)
{
	for (; *at < end; (*at)++)
		if (m->edges.to.v[*at] < m->c->blocks.n && m->edges.to.v[*at] != last)
			return m->edges.to.v[(*at)++];
	return NO_BLOCK;
}

/*
 * Does a block still lead to what it led to when it was read? If not, it may have been freed and given again since then, and be another one's.
 */
static bool is_as_it_was(struct mark *m, uint32_t block)
{
	const struct heap_block *b = &m->c->blocks.v[block];
	uint32_t at = m->edges.first[block], end = edges_end(m, block), last = NO_BLOCK;
	uint64_t word;

	if (b->flags & BLOCK_FOREIGN)
		return true;
	if (!lines__word(m->newer.lines, b->addr - 8, &word) || (!(b->flags & BLOCK_MAPPED) && (word & ~7ull) != b->usable + 8))
		return false;
	for (uint64_t addr = b->addr; addr + 8 <= b->addr + MIN(b->usable, NEWER_BYTES); addr += 8) {
		uint32_t to = lines__word(m->newer.lines, addr, &word) ? block_index__find(&m->index, untagged(word)) : NO_BLOCK;

		if (to == NO_BLOCK || to == block || to == last || m->state[to] & IS_REACHED)
			continue;
		if (next_known(m, &at, end, last) != to)
			return false;
		last = to;
	}
	return b->usable > NEWER_BYTES || next_known(m, &at, end, last) == NO_BLOCK;
}

/* ---- variables, once more */

/* So often a variable is read that does not stand still. */
#define TRIES 8

struct again {
	struct mark *m;
	struct search *s;
	const struct root_hit *was;	/* of variables, by address */
	size_t n_was, at;
};

static bool is_the_same(struct again *a, uint64_t addr, uint32_t block)
{
	const struct root_hit *was = sorted__meet(one, a->was, a->n_was, &a->at, one->addr, addr);

	return was && was->block == block;
}

/*
 * What a variable points to that it did not point to before: a known block that is as it was, or a newer one, or one where a known one was. It is
 * looked at at once, and if it is gone already, the variable is read again.
 */
static uint32_t what_now(struct again *a, uint64_t addr, uint64_t to, uint32_t block)
{
	struct mark *m = a->m;

	for (int i = 0; i < TRIES; i++) {
		lines__forget(m->newer.lines);
		if (i && !lines__word(m->newer.lines, addr, &to))
			return NO_BLOCK;
		to = untagged(to);
		block = block_index__find(&m->index, to);
		if (block == NO_BLOCK || is_as_it_was(m, block))
			break;
		block = NO_BLOCK;
	}
	return block != NO_BLOCK ? block : newer_block(m, to);
}

static void see_again(uint64_t addr, int tid, uint64_t to, uint32_t block, void *arg)
{
	struct again *a = arg;

	if (block == NO_BLOCK || !is_the_same(a, addr, block))
		block = what_now(a, addr, to, block);
	if (block != NO_BLOCK)
		*vec_push(&a->m->hits) = (struct root_hit){ addr, tid, block };
}

/*
 * The head of a list is another one by now. Of a queue that is what counts: from there on it is as it was when its blocks were read. So
 * hits have their turns in this order: variables as they are now, then as they were, then all others.
 */
static int read_variables_again(struct mark *m, struct search *s, struct roots *r)
{
	struct again a = { .m = m, .s = s, .was = m->hits.v };
	size_t n = m->hits.n;
	int err;

	while (a.n_was < n && roots__is_variable(r, a.was[a.n_was].addr))
		a.n_was++;
	m->hits.v = NULL;
	vec_done(&m->hits);
	err = roots__search_variables(r, s, &m->index, see_again, &a);
	for (size_t i = 0; i < n && !err; i++)
		*vec_push(&m->hits) = a.was[i];
	free((void *)a.was);
	lines__forget(m->newer.lines);
	return err;
}

/* ---- newer blocks */

/* Words that point into no known block are told from here on. */
static void look_for_newer(struct mark *m, struct search *s, struct roots *r)
{
	newer__init(&m->newer, s->t, m->c, &m->index);
	for (size_t i = 0; i < m->c->ranges.n; i++)
		block_index__tell_others(&m->index, &m->c->ranges.v[i]);
	for (size_t i = 0; i < r->grown.n; i++)
		block_index__tell_others(&m->index, &r->grown.v[i]);
	m->newer.grown.v = r->grown.v;
	m->newer.grown.n = r->grown.n;
	m->newer.grown.room = r->grown.room;
	r->grown.v = NULL;
	vec_done(&r->grown);
}

/* One where a known block was; that itself, if there are too many. */
static uint32_t newer_or(struct mark *m, uint64_t addr, uint32_t known)
{
	uint32_t newer = newer_block(m, addr);

	return newer != NO_BLOCK ? newer : known;
}

static void read_newer(struct mark *m, uint32_t number)
{
	uint32_t from = m->c->blocks.n + number;
	struct heap_range at;

	if (!newer__find(&m->newer, m->newer.at.v[number], &at))
		return;
	for (uint64_t addr = at.start; addr < MIN(at.end, at.start + NEWER_BYTES); addr += sizeof(uint64_t)) {
		uint64_t word;
		uint32_t to;

		if (!lines__word(m->newer.lines, addr, &word))
			continue;
		to = block_index__find(&m->index, untagged(word));
		if (to == NO_BLOCK)
			see_newer(m, from, untagged(word));
		else if (!(m->state[to] & IS_REACHED))
			add_newer_edge(m, from, is_as_it_was(m, to) ? to : newer_or(m, untagged(word), to));
	}
}

/* Their words, as those of blocks. There are more of them as it goes on. */
static int read_all_newer(struct mark *m, struct search *s)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + NEWER_NS;
	uint32_t n = m->c->blocks.n;
	int err = 0;

	for (uint32_t i = 0; i < m->newer.at.n && m->by_root && !err; i++) {
		m->edges.first[n + i] = m->edges.to.n;
		m->n_read = n + i + 1;
		if (i % 256 == 0)
			err = target__go_on(s->t, s->what, s->part_end) ?: clock_ns(CLOCK_THREAD_CPUTIME_ID) > end_ns ? -ETIME : 0;
		if (!err)
			read_newer(m, i);
	}
	return err == -ETIME ? 0 : err;
}

int mark__run(struct mark *m, struct search *s, struct roots *r, const struct reach_opts *o, struct err *e)
{
	struct reading reading = { .m = m };
	size_t n = m->c->blocks.n;
	int err;

	m->s = s;
	if (m->by_root && !o->paused)
		look_for_newer(m, s, r);
	err = roots__search(r, s, &m->index, see_root, m);
	if (!err)
		err = blocks__search(m->c->blocks.v, n, s, &m->index, see_heap, &reading);
	for (; m->n_read < n; m->n_read++)
		m->edges.first[m->n_read] = m->edges.to.n;
	m->edges.first[n] = m->edges.to.n;
	if (!err && m->index.others)
		err = read_variables_again(m, s, r);
	if (!err)
		err = read_all_newer(m, s);
	/* what comes now has not been read */
	m->index.others = false;
	if (!err)
		err = roots__search_moved(r, s, &m->index, o, see_root, m);
	if (err)
		return err_set(e, err, err == -EINTR ? "interrupted" : "cannot read the memory of process %d", s->t->pid);
	if (m->by_root)
		follow_hits(m);
	flood(m);
	return 0;
}
