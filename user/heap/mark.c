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
#include <string.h>

#include "heap/mark.h"

enum { IS_REACHED = 1, IS_HIT = 2 };

#define EDGES_PER_BLOCK 4
#define EDGES_AT_LEAST (1u << 20)
/* More words than this that hold something: the last of them stands for those that follow. */
#define MAX_ROOTS (1u << 18)
/* Gaps between blocks that are read along, as reading costs less than asking twice. */
#define GAP_BYTES 16384

int mark__init(struct mark *m, const struct census *c, bool by_root, struct err *e)
{
	size_t n = c->blocks.n;
	int err;

	*m = (struct mark){ .c = c, .by_root = by_root, .max_edges = EDGES_AT_LEAST + (uint64_t)n * EDGES_PER_BLOCK };
	err = block_index__build(&m->index, c->blocks.v, n, e);
	if (err)
		return err;
	m->state = calloc(n + 1, 1);
	m->edges.first = malloc((n + 1) * sizeof(*m->edges.first));
	m->root = by_root ? calloc(n + 1, sizeof(*m->root)) : NULL;
	if (!m->state || !m->edges.first || (by_root && !m->root)) {
		mark__done(m);
		return err_set(e, -ENOMEM, "not enough memory to mark %zu blocks", n);
	}
	/* who points to the allocator's own is its own affair */
	for (size_t i = 0; i < n; i++)
		if (c->blocks.v[i].flags & BLOCK_LIBC)
			m->state[i] |= IS_REACHED;
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
	uint32_t *p = vec_push(&m->pending);

	if (p)
		*p = block;
	else
		m->no_memory = true;
}

static inline void reach(struct mark *m, uint32_t block, uint32_t root)
{
	m->state[block] |= IS_REACHED;
	if (m->root)
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
	while (m->pending.n && !m->no_memory) {
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
	struct reach_root *r = m->roots.n < MAX_ROOTS ? vec_push(&m->roots) : NULL;

	if (r)
		*r = (struct reach_root){ .addr = addr, .tid = tid };
	else if (m->roots.n < MAX_ROOTS)
		m->no_memory = true;
	return m->roots.n;
}

/* Each root takes what it reaches. From here on, what is found belongs to the root of the block that it is found in. */
static void follow_hits(struct mark *m)
{
	for (size_t i = 0; i < m->hits.n && !m->no_memory; i++) {
		const struct root_hit *h = &m->hits.v[i];

		if (m->state[h->block] & IS_REACHED)
			continue;
		reach(m, h->block, mark__new_root(m, h->addr, h->tid));
		flood(m);
	}
	m->hits.n = 0;
	m->by_root = false;
}

static void see_root(uint64_t addr, int tid, uint32_t block, void *arg)
{
	struct mark *m = arg;
	struct root_hit *p;

	if (m->state[block] & (IS_REACHED | IS_HIT))
		return;
	m->state[block] |= IS_HIT;
	if (!m->root) {
		reach(m, block, 0);
	} else if (!m->by_root) {
		reach(m, block, mark__new_root(m, addr, tid));
		flood(m);
	} else if ((p = vec_push(&m->hits))) {
		*p = (struct root_hit){ addr, tid, block };
	} else {
		m->no_memory = true;
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
	uint32_t *p;

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
	p = vec_push(&m->edges.to);
	if (p)
		*p = to;
	else
		m->no_memory = true;
}

struct reading {
	struct mark *m;
	size_t at;		/* the block that the next word may lie in */
};

static void see_heap(uint64_t addr, const struct found_pointer *found, size_t n, void *arg)
{
	struct reading *r = arg;
	struct mark *m = r->m;
	const struct heap_block *blocks = m->c->blocks.v;
	size_t n_blocks = m->c->blocks.n;

	for (size_t i = 0; i < n && !m->no_memory; i++) {
		uint64_t word = addr + found[i].word * sizeof(uint64_t);
		uint32_t to = found[i].block;

		if (i + 8 < n)
			__builtin_prefetch(&m->state[found[i + 8].block]);
		while (r->at < n_blocks && blocks[r->at].addr + blocks[r->at].usable <= word)
			r->at++;
		if (r->at == n_blocks)
			return;
		if (word < blocks[r->at].addr || to == r->at || blocks[r->at].flags & BLOCK_LIBC)
			continue;
		for (; m->n_read <= r->at; m->n_read++)
			m->edges.first[m->n_read] = m->edges.to.n;
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

int mark__run(struct mark *m, struct search *s, struct roots *r, const struct reach_opts *o, struct err *e)
{
	struct reading reading = { .m = m };
	size_t n = m->c->blocks.n;
	int err = roots__search(r, s, &m->index, see_root, m);

	if (!err)
		err = blocks__search(m->c->blocks.v, n, s, &m->index, see_heap, &reading);
	for (; m->n_read < n; m->n_read++)
		m->edges.first[m->n_read] = m->edges.to.n;
	m->edges.first[n] = m->edges.to.n;
	if (!err)
		err = roots__search_moved(r, s, &m->index, o, see_root, m);
	if (err)
		return err_set(e, err, err == -EINTR ? "interrupted" : "cannot read the memory of process %d", s->t->pid);
	if (m->by_root)
		follow_hits(m);
	flood(m);
	return m->no_memory ? err_set(e, -ENOMEM, "not enough memory for the pointers between %zu blocks", n) : 0;
}
