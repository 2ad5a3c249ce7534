// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the walk from chunk to chunk. A running process changes what is read: a chain that breaks is read anew from a place
 * before, with some patience; if it still breaks, the next place is searched from which chunks follow each other again.
 *
 * What always holds: the walk only goes forward over all, so the work is bounded by what is mapped. Blocks
 * that were there when it began lie below what was top then.
 */
#include <errno.h>
#include <string.h>

#include "heap/glibc_parts.h"

#define WINDOW_BYTES (256ull << 10)
#define CHAIN_ENOUGH 64		/* chunks in a row that are no accident */
#define MARK_EVERY 64		/* chunks */
#define N_MARKS 4
#define BROKEN_MAX 8		/* of the heap, one part in so many */
#define STEPS_AT_ONCE 8192	/* until it is asked whether to go on */
/* Places where chunks do not follow each other: some under load, and no more than a heap of that size could have. */
#define BREAKS_MIN 1000
#define BREAKS_EVERY (64ull << 10)	/* bytes */

/* ---- one step */

enum step { STEP_ON, STEP_END, STEP_WRONG };

static bool size_fits(const struct segment *s, uint64_t chunk, uint64_t size)
{
	uint64_t bytes = size & ~CHUNK_FLAGS;

	return bytes >= CHUNK_MIN && !(bytes % CHUNK_ALIGN) && !(size & CHUNK_IS_MAPPED) && bytes <= s->end - chunk;
}

/*
 * What ends a segment: of the main arena's, two chunks of 16 bytes and more; of a thread's heap, one of 16 or 32 bytes
 * before one of 0, with which the heap ends.
 */
static bool is_fence(const struct segment *s, uint64_t chunk, uint64_t size, uint64_t next_size)
{
	uint64_t bytes = size & ~CHUNK_FLAGS, next_bytes = next_size & ~CHUNK_FLAGS;

	if (s->kind != SEGMENT_HEAP)
		return bytes == FENCE_BYTES && next_bytes == FENCE_BYTES;
	return (bytes == FENCE_BYTES || bytes == 2 * FENCE_BYTES) && !next_bytes && chunk + bytes + FENCE_BYTES == s->end;
}

static enum step step(struct taking *k, const struct segment *s, uint64_t chunk, uint64_t *ret_next)
{
	uint64_t size, next_size, foot, bytes;

	if (chunk == s->top)
		return STEP_END;
	if (chunk + CHUNK_HEADER > s->end || !lines__word(k->lines, chunk + 8, &size))
		return STEP_WRONG;
	bytes = size & ~CHUNK_FLAGS;
	if ((bytes != FENCE_BYTES && !size_fits(s, chunk, size)) || bytes + CHUNK_HEADER > s->end - chunk ||
	    !lines__word(k->lines, chunk + bytes + 8, &next_size))
		return STEP_WRONG;
	if (is_fence(s, chunk, size, next_size))
		return STEP_END;
	if (bytes == FENCE_BYTES)
		return STEP_WRONG;
	*ret_next = chunk + bytes;
	if (!(next_size & CHUNK_PREV_IN_USE) && (!lines__word(k->lines, chunk + bytes, &foot) || foot != bytes))
		return STEP_WRONG;
	return STEP_ON;
}

/* Do n chunks follow each other from here on, or as many as there are up to top or a fence? */
static bool chain__holds(struct taking *k, const struct segment *s, uint64_t chunk, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		switch (step(k, s, chunk, &chunk)) {
		case STEP_WRONG:
			return false;
		case STEP_END:
			return i || chunk == s->top;
		case STEP_ON:
			break;
		}
	return true;
}

/* Where a segment ends whose last chunk this is; false: beyond its mapping. */
static bool end_behind(const struct taking *k, const struct segment *s, uint64_t chunk, uint64_t *ret)
{
	/* it came as whole pages; between the last chunk and the fence may be a rest too small for one */
	uint64_t page = k->t->page_bytes, fenced = (chunk + 2 * FENCE_BYTES + page - 1) & ~(page - 1);
	uint64_t bytes = chunk == s->top ? k->arenas.v[s->arena].top_bytes : fenced - chunk;

	if (bytes < FENCE_BYTES || bytes > s->end - chunk || (chunk == s->first && chunk != s->top))
		return false;
	*ret = chunk + bytes;
	return true;
}

bool chain__ends(struct taking *k, const struct segment *s, uint64_t *ret_end)
{
	uint64_t chunk = s->first, next = chunk;

	for (unsigned int n = 1; k->chain_bytes_left >= next - chunk; n++) {
		k->chain_bytes_left -= next - chunk;
		chunk = next;
		switch (step(k, s, chunk, &next)) {
		case STEP_WRONG:
			return false;
		case STEP_END:
			return end_behind(k, s, chunk, ret_end);
		case STEP_ON:
			break;
		}
		/* who calls asks again, and ends it */
		if (!(n % STEPS_AT_ONCE) && target__go_on(k->t, "looking for the heap", 0))
			return false;
	}
	return false;
}

/* ---- the window that moves along */

/* n bytes at addr, which end at limit at the latest. */
static const char *look(struct taking *k, uint64_t addr, size_t n, uint64_t limit)
{
	struct window *w = &k->window;

	if (addr < w->start || addr + n > w->end) {
		w->start = addr;
		w->end = MIN(limit, (addr + WINDOW_BYTES) & ~(k->t->page_bytes - 1));
		w->end = MAX(w->end, addr + n);
		memory__read_present(&k->t->memory, addr, w->bytes, w->end - addr);
	}
	return w->bytes + (addr - w->start);
}

static void look_anew(struct taking *k)
{
	k->window.end = 0;
	lines__forget(k->lines);
}

/* ---- what a chunk is */

/* A block of a tcache's size; what the window still has of it is a first look. */
static void note_maybe_tcache(struct taking *k, uint64_t chunk, uint64_t bytes)
{
	const struct tcache_shape *shape = tcache__shape_of(k->l, bytes);
	const struct window *w = &k->window;

	/* of one kind, the last list begins in the chunk behind */
	if (!shape || (chunk >= w->start && chunk + bytes + CHUNK_HEADER <= w->end &&
		       !tcache__may_be(w->bytes + (chunk - w->start) + CHUNK_HEADER, shape)))
		return;
	*vec_push(&k->maybe_tcaches) = chunk + CHUNK_HEADER;
}

/* malloc_trim leaves what the links are in, which are as long as those of large chunks. */
#define LINKS_BYTES 48

static void note_free(struct taking *k, const struct segment *s, uint64_t chunk, uint64_t bytes)
{
	struct heap_arena *a = &k->c->arenas.v[s->arena];
	uint64_t page = k->t->page_bytes, from = (chunk + LINKS_BYTES + page - 1) & ~(page - 1), until = (chunk + bytes) & ~(page - 1), there;

	a->is.bins_bytes += bytes;
	a->is.largest_free_bytes = MAX(a->is.largest_free_bytes, bytes);
	if (from >= until) {
		a->free_resident_bytes += bytes;
		return;
	}
	there = page_runs__resident(k->t, from, until);
	a->is.trimmable_bytes += there;
	a->free_resident_bytes += bytes - (until - from) + there;
}

/* ---- the walk */

struct mark {
	uint64_t at;
	size_t n_blocks, n_maybe_tcaches;
	struct heap_arena arena;
};

struct walker {
	struct taking *k;
	const struct segment *s;
	uint64_t at, prev, prev_bytes;	/* prev 0: what comes before is settled, or not known */
	unsigned int prev_flags;
	struct mark marks[N_MARKS];
	unsigned int n_marks, since_mark, n_tries;
	uint64_t broke_at;
};

static void settle_prev(struct walker *w, bool in_use)
{
	struct taking *k = w->k;

	if (!w->prev)
		return;
	if (!in_use) {
		note_free(k, w->s, w->prev, w->prev_bytes);
		return;
	}
	*vec_push(&k->c->blocks) = (struct heap_block){ .addr = w->prev + CHUNK_HEADER, .usable = w->prev_bytes - 8,
							.flags = w->prev_flags, .arena = w->s->arena };
	note_maybe_tcache(k, w->prev, w->prev_bytes);
}

/* All before w->at is settled. */
static void mark(struct walker *w)
{
	struct taking *k = w->k;

	w->since_mark = 0;
	if (w->n_marks == N_MARKS)
		memmove(w->marks, w->marks + 1, --w->n_marks * sizeof(*w->marks));
	w->marks[w->n_marks++] = (struct mark){ w->at, k->c->blocks.n, k->maybe_tcaches.n, k->c->arenas.v[w->s->arena] };
}

/* To the last mark, and further with each try. */
static void go_back(struct walker *w)
{
	struct taking *k = w->k;
	const struct mark *m;

	if (w->n_marks > 1 && w->n_tries > 1)
		w->n_marks--;
	m = &w->marks[w->n_marks - 1];
	k->c->blocks.n = m->n_blocks;
	k->maybe_tcaches.n = m->n_maybe_tcaches;
	k->c->arenas.v[w->s->arena] = m->arena;
	w->at = m->at;
	w->prev = 0;
	w->since_mark = 0;
}

/* The next place from which chunks follow each other; the segment's end, if there is none. */
static int search_on(struct walker *w, uint64_t from, struct err *e)
{
	struct taking *k = w->k;
	uint64_t end = w->s->top ? w->s->top : w->s->end, page = k->t->page_bytes;
	uint64_t at = (from + CHUNK_ALIGN - 1) & ~(CHUNK_ALIGN - 1);
	struct page_runs pages = { .t = k->t, .at = at, .end = end };

	look_anew(k);
	w->prev = 0;
	w->n_marks = 0;
	while (at < end) {
		uint64_t there;

		if (!page_runs__next_page(&pages, &there))
			break;
		if (target__go_on(k->t, "reading the heap", (double)k->walked_bytes / (double)(k->heap_bytes + 1)))
			return err_set(e, -EINTR, "stopped");
		for (at = MAX(at, there); at < MIN(there + page, end); at += CHUNK_ALIGN)
			if (chain__holds(k, w->s, at, CHAIN_ENOUGH)) {
				k->c->swapped_bytes += pages.swapped_bytes;
				w->at = at;
				return 0;
			}
	}
	k->c->swapped_bytes += pages.swapped_bytes;
	w->at = end;
	return 0;
}

/*
 * Top has moved since: what lies across its old place is younger than the walk, or top itself. A size that was half written
 * could say so, too, and would take all blocks up to top with it: the chunk behind must be one.
 */
static bool is_across_old_top(struct walker *w, uint64_t bytes)
{
	struct taking *k = w->k;
	struct glibc_arena now = k->arenas.v[w->s->arena];
	uint64_t size, next_size, next_bytes;

	if (bytes >= CHUNK_LIMIT || !taking__reread_arena(k, &now) || now.top == w->s->top)
		return false;
	if (now.top == w->at)
		return true;
	lines__forget(k->lines);
	if (!lines__word(k->lines, w->at + 8, &size) || (size & ~CHUNK_FLAGS) != bytes || bytes % CHUNK_ALIGN ||
	    w->at + bytes > now.top || !lines__word(k->lines, w->at + bytes + 8, &next_size))
		return false;
	next_bytes = next_size & ~CHUNK_FLAGS;
	return next_bytes >= CHUNK_MIN && !(next_bytes % CHUNK_ALIGN) && !(next_size & CHUNK_IS_MAPPED) && next_bytes < CHUNK_LIMIT &&
	       (w->at + bytes == now.top || next_bytes <= now.top - w->at - bytes);
}

/* The arena has given memory back: what was the last chunk is top now, and what lies behind it is not there any more. */
static bool is_beyond_top(struct walker *w)
{
	const struct segment *s = w->s;
	struct glibc_arena now = w->k->arenas.v[s->arena];

	return s->top && taking__reread_arena(w->k, &now) && now.top != s->top && now.top >= s->first && now.top <= w->at;
}

static void note_gap(struct heap_ranges *to, uint64_t start, uint64_t end)
{
	if (start < end)
		*vec_push(to) = (struct heap_range){ start, end };
}

/* Chunks that do not follow each other are none. */
int taking__check_chunks(struct taking *k, struct err *e)
{
	if (k->n_breaks > BREAKS_MIN + k->heap_bytes / BREAKS_EVERY)
		return err_set(e, -EPROTO, "heap layout not recognised: its blocks do not follow each other in %llu places",
			       (unsigned long long)k->n_breaks);
	if (k->c->broken_bytes <= k->heap_bytes / BROKEN_MAX)
		return 0;
	return err_set(e, -EPROTO, "heap layout not recognised: no chain of blocks could be made of %llu of its %llu bytes",
		       (unsigned long long)k->c->broken_bytes, (unsigned long long)k->heap_bytes);
}

/* Chunks do not follow each other here. */
static int mend(struct walker *w, bool *ret_ended, struct err *e)
{
	static const unsigned int patience_us[] = { 0, 0, 200, 2000, 8000, 16000 };
	struct taking *k = w->k;
	uint64_t from = w->prev ? w->prev : w->at, swapped;
	int r;

	if (is_beyond_top(w)) {
		*ret_ended = true;
		return 0;
	}
	if (w->at > w->broke_at)
		w->n_tries = 0;
	w->broke_at = MAX(w->at, w->broke_at);
	k->n_breaks++;
	look_anew(k);
	if (w->n_tries < ARRAY_SIZE(patience_us) && w->n_marks) {
		/* a thread that was interrupted within malloc goes on, if it is let */
		unsigned int us = k->t->stopped ? 0 : MIN(patience_us[w->n_tries], k->patience_us);

		if (us)
			usleep(us);
		k->patience_us -= us;
		w->n_tries++;
		go_back(w);
		return 0;
	}
	swapped = k->c->swapped_bytes;
	r = search_on(w, from + CHUNK_ALIGN, e);
	k->c->broken_bytes += w->at - from - MIN(w->at - from, k->c->swapped_bytes - swapped);
	note_gap(&k->gaps, from, w->at);
	return r ? r : taking__check_chunks(k, e);
}

/* Behind a fence of the main arena there may be memory that others have from the break, and then more of it. */
static int pass_fence(struct walker *w, struct err *e)
{
	struct taking *k = w->k;
	uint64_t from = w->at + 2 * FENCE_BYTES, size;
	int r;

	look_anew(k);
	/* a rest that was too small for a chunk makes a third one */
	while (from + CHUNK_HEADER <= w->s->end && lines__word(k->lines, from + 8, &size) && (size & ~CHUNK_FLAGS) == FENCE_BYTES)
		from += FENCE_BYTES;
	r = search_on(w, from, e);
	note_gap(&k->foreign, from, w->at);
	note_gap(&k->gaps, from, w->at);
	return r;
}

enum here { HERE_CHUNK, HERE_END, HERE_FENCE, HERE_WRONG };

static enum here what_is_here(struct walker *w, const char *p, uint64_t size)
{
	const struct segment *s = w->s;
	uint64_t bytes = size & ~CHUNK_FLAGS;

	if (w->prev && !(size & CHUNK_PREV_IN_USE) && word_at(p, 0) != w->prev_bytes)
		return HERE_WRONG;
	if (w->at == s->top)
		return HERE_END;
	if (s->top && w->at < s->top && bytes > s->top - w->at)
		return is_across_old_top(w, bytes) ? HERE_END : HERE_WRONG;
	if (bytes <= 2 * FENCE_BYTES && w->at + bytes + CHUNK_HEADER <= s->end) {
		const char *next = look(w->k, w->at, bytes + CHUNK_HEADER, s->end) + bytes;

		if (is_fence(s, w->at, size, word_at(next, 8)))
			return HERE_FENCE;
	}
	return size_fits(s, w->at, size) ? HERE_CHUNK : HERE_WRONG;
}

/* By its first two words. */
static unsigned int flags_of(const struct taking *k, uint64_t chunk, uint64_t bytes, const char *words)
{
	return (taking__may_be_linked(k, chunk + CHUNK_HEADER, bytes, word_at(words, 0)) ? BLOCK_LINKED : 0) |
	       (taking__is_key(k, word_at(words, 8)) ? BLOCK_KEYED : 0);
}

static int walk_on(struct walker *w, bool *ret_ended, struct err *e)
{
	struct taking *k = w->k;
	const struct segment *s = w->s;
	/* the key of a tcache is the block's second word */
	size_t n = MIN(s->end - w->at, (uint64_t)CHUNK_HEADER + 16);
	const char *p = look(k, w->at, n, s->end);
	uint64_t size = word_at(p, 8);
	enum here here = what_is_here(w, p, size);

	if (here == HERE_WRONG)
		return mend(w, ret_ended, e);
	settle_prev(w, size & CHUNK_PREV_IN_USE);
	w->prev = 0;
	if (here == HERE_END || (here == HERE_FENCE && s->kind != SEGMENT_BRK)) {
		*ret_ended = true;
		return 0;
	}
	if (here == HERE_FENCE)
		return pass_fence(w, e);
	if (++w->since_mark == MARK_EVERY || !w->n_marks)
		mark(w);
	/* settling may have moved the window, if the chunk was looked at */
	p = look(k, w->at, n, s->end);
	w->prev = w->at;
	w->prev_bytes = size & ~CHUNK_FLAGS;
	w->prev_flags = n == CHUNK_HEADER + 16 ? flags_of(k, w->prev, w->prev_bytes, p + CHUNK_HEADER) : 0;
	w->at += w->prev_bytes;
	return 0;
}

int taking__walk(struct taking *k, const struct segment *s, struct err *e)
{
	struct walker w = { .k = k, .s = s, .at = s->first };
	bool ended = false;
	int r = 0;

	k->window.end = 0;
	while (!ended && !r && w.at + CHUNK_HEADER <= s->end && (!s->top || w.at <= s->top)) {
		bool moves = w.at >= k->window.end;

		if (moves && target__go_on(k->t, "reading the heap", (double)(k->walked_bytes + w.at - s->start) / (double)(k->heap_bytes + 1)))
			return err_set(e, -EINTR, "stopped");
		r = walk_on(&w, &ended, e);
	}
	if (!r && !ended && w.prev) {
		k->c->broken_bytes += s->end - w.prev;
		note_gap(&k->gaps, w.prev, s->end);
	}
	k->walked_bytes += s->end - s->start;
	return r;
}
