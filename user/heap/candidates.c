// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns candidates and the edges among them. They keep their numbers; those that leave are marked. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "heap/glibc_parts.h"
#include "heap/reach_parts.h"
#include "util/sorted.h"

/* ---- out of the first scan */

static uint32_t edges_end(const struct candidates *c, uint32_t i)
{
	return c->edges.first[i + 1];
}

/* Edges among them, by their own numbers: number_of[] is that of each block. */
static void take_edges(struct candidates *c, const struct mark *m, const uint32_t *number_of)
{
	for (size_t i = 0; i < c->blocks.n; i++) {
		uint32_t block = c->number.v[i];

		c->edges.first[i] = c->edges.to.n;
		for (uint32_t k = m->edges.first[block]; k < m->edges.first[block + 1]; k++) {
			uint32_t to = m->edges.to.v[k];

			if (!mark__is_reached(m, to))
				*vec_push(&c->edges.to) = number_of[to];
		}
	}
	c->edges.first[c->blocks.n] = c->edges.to.n;
}

int candidates__init(struct candidates *c, struct mark *m, struct err *e)
{
	size_t n = m->c->blocks.n;
	_cleanup_free_ uint32_t *number_of = xmalloc((n + 1) * sizeof(*number_of));
	int err;

	*c = (struct candidates){ .first = m };
	block_index__done(&m->index);
	for (size_t i = 0; i < n; i++) {
		if (mark__is_reached(m, i))
			continue;
		number_of[i] = c->blocks.n;
		*vec_push(&c->blocks) = m->c->blocks.v[i];
		*vec_push(&c->number) = i;
	}
	c->n_remain = c->blocks.n;
	c->left = xcalloc(c->blocks.n + 1, 1);
	c->edges.first = xmalloc((c->blocks.n + 1) * sizeof(*c->edges.first));
	take_edges(c, m, number_of);
	edges__done(&m->edges);
	newer__done(&m->newer);
	vec_done(&m->pending);
	vec_done(&m->hits);
	err = block_index__build(&c->index, c->blocks.v, c->blocks.n, e);
	if (err)
		candidates__done(c);
	return err;
}

void candidates__done(struct candidates *c)
{
	vec_done(&c->blocks);
	vec_done(&c->number);
	vec_done(&c->fresh);
	edges__done(&c->edges);
	block_index__done(&c->index);
	free(c->left);
	*c = (struct candidates){};
}

/* ---- leaving */

/* Of those that were candidates: the root that they are reached from; 0: not known, or not asked for. */
static uint32_t root_of(const struct candidates *c, uint32_t i)
{
	return c->first->root ? c->first->root[c->number.v[i]] : 0;
}

static void leave(struct candidates *c, uint32_t i, uint32_t root)
{
	if (c->first->root && !root_of(c, i))
		c->first->root[c->number.v[i]] = root;
	if (c->left[i])
		return;
	c->left[i] = 1;
	c->n_remain--;
	*vec_push(&c->fresh) = i;
}

/* A pointer to it was found. */
static void hit(struct candidates *c, uint32_t i, uint32_t root)
{
	c->n_hit += !c->left[i];
	leave(c, i, root);
}

COMPARATOR(by_number, uint32_t, ORDER(*a, *b))

/* What those pointed to in the first scan leaves, too; fresh is then all of them, in the order of addresses. */
static void follow_edges(struct candidates *c)
{
	for (size_t i = 0; i < c->fresh.n; i++) {
		uint32_t from = c->fresh.v[i];

		for (uint32_t k = c->edges.first[from]; k < edges_end(c, from); k++)
			leave(c, c->edges.to.v[k], root_of(c, from));
	}
	vec_sort(&c->fresh, by_number);
}

/*
 * A free chunk begins with links of glibc's lists. They lead to the headers of other free chunks, and
 * from there a link leads back. A header begins within the last word of the block in front of it: a
 * link is no pointer to that block. Blocks that were freed since the census have links, and so has
 * memory that the heap has taken since. at: the word's address; to: what it points to, in block b.
 */
static bool is_link(struct target *t, const struct heap_block *b, uint64_t at, uint64_t to)
{
	struct {
		uint64_t prev_size, size, next, prev, next_larger, prev_smaller;
	} chunk;

	if (to != b->addr + b->usable - sizeof(chunk.prev_size) ||
	    b->flags & (BLOCK_MAPPED | BLOCK_FOREIGN) ||
	    memory__read_present(&t->memory, to, &chunk, sizeof(chunk)) != sizeof(chunk))
		return false;
	return chunk.prev == at - offsetof(typeof(chunk), next) ||
	       chunk.next == at - offsetof(typeof(chunk), prev) ||
	       chunk.prev_smaller == at - offsetof(typeof(chunk), next_larger) ||
	       chunk.next_larger == at - offsetof(typeof(chunk), prev_smaller);
}

/* Of a word of the window that was just read. */
static bool is_found_link(const struct search *s, const struct heap_block *blocks, uint64_t addr,
			  const struct found_pointer *p)
{
	uint64_t at = addr + p->word * sizeof(uint64_t);

	return is_link(s->t, &blocks[p->block], at, untagged(s->words[p->word]));
}

/* A word of a block that has left: who is pointed to leaves as well. */
static void see_left(uint64_t addr, const struct found_pointer *found, size_t n, void *arg)
{
	struct candidates *c = arg;

	for (size_t i = 0; i < n; i++) {
		uint32_t from = block_index__find(&c->index, addr + found[i].word * sizeof(uint64_t));

		if (from != NO_BLOCK && c->left[from] &&
		    (c->left[found[i].block] || !is_found_link(c->s, c->blocks.v, addr, &found[i])))
			leave(c, found[i].block, root_of(c, from));
	}
}

/*
 * To the end of what follows from those that left: what they pointed to, and what they point to now. Memory is read in rounds, by
 * address, as there may be millions of them.
 */
static int follow(struct candidates *c, struct search *s)
{
	_cleanup_free_ struct heap_block *round = NULL;
	int err = 0;

	while (c->fresh.n && !err) {
		size_t n;

		follow_edges(c);
		n = c->fresh.n;
		round = xrealloc(round, n * sizeof(*round));
		for (size_t i = 0; i < n; i++)
			round[i] = c->blocks.v[c->fresh.v[i]];
		c->fresh.n = 0;
		err = blocks__search(round, n, s, &c->index, see_left, c);
	}
	return err;
}

/* ---- from roots, block by block */

/* From one root word, and in all; and so much of each block. */
#define HOPS_PER_ROOT 2048
#define HOPS_AT_LEAST 65536
#define HOP_BYTES 4096
/* So many words of roots are followed as soon as they are met, and so often each that changes meanwhile. */
#define AT_ONCE_MAX 4096
#define AT_ONCE_TRIES 8
#define AT_ONCE_BYTES 65536

/* A block that a root points to, and the root. */
struct start {
	struct root_hit hit;
	uint32_t root;			/* its number; 0: it has none yet */
};

struct chase {
	struct candidates *c;
	const struct census *now;
	struct block_index index;	/* of all blocks of now */
	uint8_t *seen, *is_start;	/* owned; of each of these */
	struct vec(struct start) starts;
	struct vec(uint32_t) stack;
	struct start *from;		/* the one that is being followed */
	struct newer newer;
	unsigned int n_at_once;		/* of this round */
	uint64_t words[AT_ONCE_BYTES / sizeof(uint64_t)];
};

static int chase__init(struct chase *h, struct candidates *c, struct target *t, const struct census *now, struct err *e)
{
	int err;

	*h = (struct chase){ .c = c, .now = now };
	err = block_index__build(&h->index, now->blocks.v, now->blocks.n, e);
	if (err)
		return err;
	h->seen = xcalloc(now->blocks.n + 1, 1);
	h->is_start = xcalloc(now->blocks.n + 1, 1);
	newer__init(&h->newer, t, now, &h->index);
	return 0;
}

static void chase__done(struct chase *h)
{
	newer__done(&h->newer);
	block_index__done(&h->index);
	vec_done(&h->starts);
	vec_done(&h->stack);
	free(h->seen);
	free(h->is_start);
}

/* The root that is being followed holds this one. */
static void chase_candidate(struct chase *h, uint32_t i)
{
	struct candidates *c = h->c;

	if (c->first->root && !root_of(c, i) && !h->from->root)
		h->from->root = mark__new_root(c->first, h->from->hit.addr, h->from->hit.tid);
	hit(c, i, h->from->root);
}

/* Candidates leave; others are gone on from, too. Those that left before it was known from where get their root. */
static void chase_block(struct chase *h, uint32_t block)
{
	uint32_t candidate = block_index__find(&h->c->index, h->now->blocks.v[block].addr);

	if (candidate != NO_BLOCK)
		chase_candidate(h, candidate);
	if (h->seen[block] || h->now->blocks.v[block].flags & BLOCK_LIBC)
		return;
	h->seen[block] = 1;
	*vec_push(&h->stack) = block;
}

/* What a word points to: a block that is known, or newer; or nothing that is in use. */
static bool find_target(struct chase *h, uint64_t to, struct heap_range *ret)
{
	uint32_t block = block_index__find(&h->index, to);
	const struct heap_block *b = block != NO_BLOCK ? &h->now->blocks.v[block] : NULL;

	if (!b)
		return newer__find(&h->newer, to, ret);
	*ret = (struct heap_range){ b->addr, b->addr + b->usable };
	return !(b->flags & BLOCK_LIBC);
}

static void chase_words(struct chase *h, const struct heap_range *at)
{
	size_t n = MIN(at->end - at->start, AT_ONCE_BYTES) / sizeof(uint64_t);

	if (!memory__read_present(&h->newer.t->memory, at->start, h->words, n * sizeof(uint64_t)))
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = at->start + i * sizeof(uint64_t), to = untagged(h->words[i]);
		uint32_t candidate = block_index__find(&h->c->index, to);

		if (candidate != NO_BLOCK && !is_link(h->newer.t, &h->c->blocks.v[candidate], addr, to))
			chase_candidate(h, candidate);
	}
}

/*
 * What a word of a root points to may be copied and freed every few microseconds, as a vector that grows is, and then there is no time to
 * read all roots first. It is read at once, and again if the word has changed by then.
 */
static void look_at_once(struct chase *h, uint64_t addr, uint64_t to)
{
	struct start from = { .hit = { .addr = addr } };
	uint64_t word = to;

	h->from = &from;
	for (int i = 0; i < AT_ONCE_TRIES; i++) {
		struct heap_range at;

		lines__forget(h->newer.lines);
		if (find_target(h, to, &at))
			chase_words(h, &at);
		lines__forget(h->newer.lines);
		if (!lines__word(h->newer.lines, addr, &word) || untagged(word) == to)
			break;
		to = untagged(word);
	}
	h->from = NULL;
}

static void see_root(uint64_t addr, int tid, uint64_t to, uint32_t block, void *arg)
{
	struct chase *h = arg;

	/* of memory that the heap has taken since the census */
	if (addr && block != NO_BLOCK && is_link(h->newer.t, &h->now->blocks.v[block], addr, to))
		return;
	if (addr && h->c->n_remain && h->n_at_once < AT_ONCE_MAX && (block != NO_BLOCK || newer__may_be(&h->newer, to))) {
		h->n_at_once++;
		look_at_once(h, addr, to);
	}
	if (block == NO_BLOCK || h->is_start[block])
		return;
	h->is_start[block] = 1;
	*vec_push(&h->starts) = (struct start){ .hit = { .addr = addr, .tid = tid, .block = block } };
}

static void see_hop(uint64_t addr, const struct found_pointer *found, size_t n, void *arg)
{
	struct chase *h = arg;

	for (size_t i = 0; i < n; i++)
		if (found[i].block != NO_BLOCK &&
		    !is_found_link(h->c->s, h->now->blocks.v, addr, &found[i]))
			chase_block(h, found[i].block);
}

/* All that roots point to themselves, and what follows from there within the bounds. */
static int run_chase(struct chase *h, struct search *s)
{
	uint64_t left = HOPS_AT_LEAST + h->now->blocks.n / 64;
	int err = 0;

	for (size_t i = 0; i < h->starts.n && !err; i++) {
		h->from = &h->starts.v[i];
		h->stack.n = 0;
		chase_block(h, h->from->hit.block);
		for (unsigned int hops = 0; hops < HOPS_PER_ROOT && left && h->stack.n && !err; hops++, left--) {
			const struct heap_block *b = &h->now->blocks.v[h->stack.v[--h->stack.n]];

			err = search__range(s, &h->index, b->addr, b->addr + MIN(b->usable, HOP_BYTES), see_hop, h);
		}
	}
	h->starts.n = 0;
	memset(h->seen, 0, h->now->blocks.n);
	memset(h->is_start, 0, h->now->blocks.n);
	return err;
}

/* ---- a scan */

struct sources {
	struct candidates *c;
	const struct census *now;
	size_t at;		/* the block of now that the next word may lie in */
};

/* The root of a block of now: it was there in the first scan, or nothing is known of it. */
static uint32_t root_of_block(const struct candidates *c, const struct heap_block *b)
{
	const struct census *then = c->first->c;
	const struct heap_block *was = c->first->root ? census__find(then, b->addr) : NULL;

	return was ? c->first->root[was - then->blocks.v] : 0;
}

/* A word of a block: of one that was reached once, or is new. Others are read when they have left. */
static void see_source(uint64_t addr, const struct found_pointer *found, size_t n, void *arg)
{
	struct sources *src = arg;
	struct candidates *c = src->c;
	const struct heap_block *blocks = src->now->blocks.v;

	for (size_t i = 0; i < n; i++) {
		uint64_t word = addr + found[i].word * sizeof(uint64_t);
		uint32_t from;

		while (src->at < src->now->blocks.n && blocks[src->at].addr + blocks[src->at].usable <= word)
			src->at++;
		if (src->at == src->now->blocks.n)
			return;
		if (word < blocks[src->at].addr || blocks[src->at].flags & BLOCK_LIBC || c->left[found[i].block])
			continue;
		from = block_index__find(&c->index, word);
		if ((from == NO_BLOCK || c->left[from]) &&
		    !is_found_link(c->s, c->blocks.v, addr, &found[i]))
			hit(c, found[i].block, root_of_block(c, &blocks[src->at]));
	}
}

/* Those that are not there any more, or not as they were. */
static void leave_changed(struct candidates *c, const struct census *now)
{
	size_t at = 0;

	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i], *is = sorted__meet(one, now->blocks.v, now->blocks.n, &at, one->addr, b->addr);

		if (!is || is->usable != b->usable)
			leave(c, i, 0);
	}
}

static int interrupted(const struct search *s, int err, struct err *e)
{
	return err ? err_set(e, err, err == -EINTR ? "interrupted" : "cannot read the memory of process %d", s->t->pid) : 0;
}

static int search_roots(struct chase *h, struct search *s, const struct reach_opts *o, struct reach_result *note, struct err *e)
{
	struct roots r = {};
	int err = roots__look(&r, s, h->now, o, e);

	if (err)
		return err;
	for (size_t i = 0; i < h->now->ranges.n; i++)
		block_index__tell_others(&h->index, &h->now->ranges.v[i]);
	h->n_at_once = 0;
	err = roots__search(&r, s, &h->index, see_root, h);
	if (!err)
		err = roots__search_moved(&r, s, &h->index, o, see_root, h);
	if (!err)
		err = run_chase(h, s);
	if (!err)
		err = follow(h->c, s);
	note->is.kept_in_part |= r.kept_in_part;
	note->registers_stopped |= r.stopped;
	note->registers_missing |= r.missing;
	note->n_unread_threads = MAX(note->n_unread_threads, r.n_unread);
	roots__done(&r);
	return interrupted(s, err, e);
}

/*
 * Tables that a program empties into each other, all at once: each is read at another moment than the others, and what was always
 * just in another one is found by none. So large blocks are read some more times, forth and back, at uneven distances.
 */
#define TABLE_BYTES (16u << 10)		/* from this on a block is one */
#define TABLES_MAX (128ull << 20)	/* bytes of one pass */
#define PASSES_MAX 8
#define QUIET_PASSES 2

struct tables vec(size_t);

static void list_tables(const struct census *now, struct tables *to)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < now->blocks.n; i++) {
		const struct heap_block *b = &now->blocks.v[i];
		if (b->usable < TABLE_BYTES || bytes + b->usable > TABLES_MAX)
			continue;
		bytes += b->usable;
		*vec_push(to) = i;
	}
}

static int search_tables(struct chase *h, struct search *s)
{
	struct candidates *c = h->c;
	struct tables tables = {};
	int err = 0;

	if (c->n_remain)
		list_tables(h->now, &tables);
	for (unsigned int pass = 0, n_quiet = 0; tables.n && pass < PASSES_MAX && n_quiet < QUIET_PASSES && c->n_remain && !err; pass++) {
		size_t remained = c->n_remain;

		nanosleep(&(struct timespec){ .tv_nsec = (long)(1 + pass * 5 % 7) * MS_NS }, NULL);
		for (size_t i = 0; i < tables.n && !err; i++) {
			size_t at = tables.v[pass % 2 ? i : tables.n - 1 - i];
			const struct heap_block *b = &h->now->blocks.v[at];
			struct sources sources = { c, h->now, at };

			err = search__range(s, &c->index, b->addr, b->addr + b->usable, see_source, &sources);
		}
		if (!err)
			err = follow(c, s);
		n_quiet = c->n_remain == remained ? n_quiet + 1 : 0;
	}
	vec_done(&tables);
	return err;
}

static int search_all(struct chase *h, struct search *s, const struct reach_opts *o, struct reach_result *note, struct err *e)
{
	struct sources sources = { h->c, h->now, 0 };
	int err = search_roots(h, s, o, note, e);

	if (err)
		return err;
	err = blocks__search(h->now->blocks.v, h->now->blocks.n, s, &h->c->index, see_source, &sources);
	if (!err)
		err = follow(h->c, s);
	if (!err)
		err = search_tables(h, s);
	return err ? interrupted(s, err, e) : search_roots(h, s, o, note, e);
}

int candidates__scan(struct candidates *c, struct search *s, const struct census *now, const struct reach_opts *o,
		     struct reach_result *note, struct err *e)
{
	struct chase h;
	int err = chase__init(&h, c, s->t, now, e);

	c->n_hit = 0;
	c->s = s;
	if (!err) {
		leave_changed(c, now);
		err = search_all(&h, s, o, note, e);
	}
	chase__done(&h);
	if (err)
		return err;
	for (size_t i = 0; o->is_same && i < c->blocks.n; i++)
		if (!c->left[i] && !o->is_same(&c->blocks.v[i], o->arg))
			leave(c, i, 0);
	err = follow(c, s);
	return err ? interrupted(s, err, e) : 0;
}

/* ---- direct or indirect */

struct walk {
	uint32_t *stack, *next;		/* candidates that are gone through, and the next edge of each */
	uint32_t *order;		/* those that were gone through to their end */
	size_t n_stack, n_order;
};

static void walk__done(struct walk *w)
{
	free(w->stack);
	free(w->next);
	free(w->order);
}

/* Goes through what a candidate leads to and was not met before: each gets a mark, and its place in order. */
static void walk_from(const struct candidates *c, struct walk *w, uint8_t *met, uint8_t mark, uint32_t from)
{
	w->stack[0] = from;
	w->next[0] = c->edges.first[from];
	w->n_stack = 1;
	while (w->n_stack) {
		uint32_t at = w->stack[w->n_stack - 1], to;

		if (w->next[w->n_stack - 1] == edges_end(c, at)) {
			w->order[w->n_order++] = at;
			w->n_stack--;
			continue;
		}
		to = c->edges.to.v[w->next[w->n_stack - 1]++];
		if (c->left[to] || met[to] != REACHED)
			continue;
		met[to] = mark;
		w->stack[w->n_stack] = to;
		w->next[w->n_stack++] = c->edges.first[to];
	}
}

/*
 * Two walks. The first ends with those last that others do not lead to: of a circle, with the one that it was entered by. In that order
 * the second takes whoever was not met yet for direct, and all that it leads to for indirect.
 */
void candidates__judge(const struct candidates *c, uint8_t *to)
{
	__attribute__((cleanup(walk__done))) struct walk w = {};
	_cleanup_free_ uint32_t *order = NULL;
	size_t n = c->blocks.n, n_first;

	w.stack = xmalloc((n + 1) * sizeof(*w.stack));
	w.next = xmalloc((n + 1) * sizeof(*w.next));
	w.order = xmalloc((n + 1) * sizeof(*w.order));
	order = xmalloc((n + 1) * sizeof(*order));
	memset(to, REACHED, n);
	for (uint32_t i = 0; i < n; i++)
		if (!c->left[i] && to[i] == REACHED) {
			to[i] = UNREACHED;
			walk_from(c, &w, to, UNREACHED, i);
		}
	n_first = w.n_order;
	memcpy(order, w.order, n_first * sizeof(*order));
	memset(to, REACHED, n);
	for (size_t i = n_first; i--;)
		if (to[order[i]] == REACHED) {
			to[order[i]] = UNREACHED;
			w.n_order = 0;
			walk_from(c, &w, to, UNREACHED_INDIRECT, order[i]);
		}
}
