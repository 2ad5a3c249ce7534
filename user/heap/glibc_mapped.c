// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns blocks that have a mapping of their own. Nothing lists them: they are found at the start of pages, and libc's
 * own count of them says whether that were all.
 *
 *	| 0 | size, mapped |	 at the start of a page; up to 2.42 the size is the mapping's
 *	| distance from there | size, mapped |	where memalign moved on to an aligned address: the first header stays behind
 */
#include <errno.h>
#include <string.h>

#include "heap/glibc_parts.h"
#include "util/sorted.h"

#define HEADERS_AT_ONCE 256
#define READS_MAX 4

struct header {
	uint64_t prev, size;
};

/* How long a mapping is by what its header says; 0: it is none. From 2.43 on a size is 16 less than that. */
static uint64_t mapping_bytes(const struct target *t, uint64_t before, uint64_t size, uint64_t *ret_less)
{
	uint64_t bytes = (size & ~CHUNK_FLAGS) + before, page = t->page_bytes;

	*ret_less = (bytes + CHUNK_HEADER) % page ? 0 : CHUNK_HEADER;
	if ((size & CHUNK_FLAGS) != CHUNK_IS_MAPPED || bytes <= before || (bytes + *ret_less) % page)
		return 0;
	return bytes + *ret_less;
}

/* A block that has a mapping of its own. */
struct found {
	uint64_t start, bytes;	/* of the mapping */
	uint64_t less;
	uint64_t chunk;
};

/* Is this the header of a block that was aligned? It alone is right then: the first one is as old as the block. */
static bool is_aligned_one(struct taking *k, struct found *f, uint64_t at, const struct header *h, uint64_t end)
{
	uint64_t bytes, less;

	if (h->prev != at - f->start)
		return false;
	bytes = mapping_bytes(k->t, h->prev, h->size, &less);
	if (!bytes || bytes > end - f->start || less != f->less)
		return false;
	f->bytes = bytes;
	f->chunk = at;
	return true;
}

/* It stands before an address that is aligned to some power of two. */
static bool find_aligned(struct taking *k, struct found *f, uint64_t end)
{
	for (uint64_t align = 2 * CHUNK_ALIGN; align < end - f->start; align *= 2) {
		uint64_t at = ((f->start + CHUNK_HEADER + align - 1) & ~(align - 1)) - CHUNK_HEADER;
		struct header h;

		if (at != f->start && at <= end - CHUNK_MIN && lines__word(k->lines, at, &h.prev) &&
		    lines__word(k->lines, at + 8, &h.size) && is_aligned_one(k, f, at, &h, end))
			return true;
	}
	return false;
}

/* Where realloc moved such a block, it is not aligned any more, but still stands at the end of a page. */
static void find_moved(struct taking *k, struct found *f, uint64_t end)
{
	struct page_runs pages = { .t = k->t, .at = f->start, .end = MIN(end, f->start + f->bytes) };
	struct header headers[HEADERS_AT_ONCE];
	uint64_t at[HEADERS_AT_ONCE];
	size_t n;

	do {
		for (n = 0; n < HEADERS_AT_ONCE && page_runs__next_page(&pages, &at[n]); n++)
			at[n] += k->t->page_bytes - CHUNK_HEADER;
		memory__read_each(&k->t->memory, at, n, headers, sizeof(*headers));
		for (size_t i = 0; i < n; i++)
			if (is_aligned_one(k, f, at[i], &headers[i], end))
				return;
	} while (n == HEADERS_AT_ONCE && !target__go_on(k->t, "looking for mapped blocks", 1));
}

static void push_mapped(struct taking *k, const struct found *f)
{
	struct heap_block *b = vec_push(&k->mapped);
	uint64_t key;

	*b = (struct heap_block){
		.addr = f->chunk + CHUNK_HEADER,
		.usable = f->start + f->bytes - f->less - f->chunk - (f->less ? 8 : CHUNK_HEADER),
		.flags = BLOCK_MAPPED,
	};
	/* in 2.43 a tcache may have them, too */
	if (f->less && lines__word(k->lines, b->addr + 8, &key) && taking__is_key(k, key))
		b->flags |= BLOCK_KEYED;
	*vec_push(&k->mapped_ranges) = (struct heap_range){ f->start, f->start + f->bytes };
	k->mapped_bytes += f->bytes;
	/* the libc that does so miscounts bytes where a block was moved: only the number is certain */
	k->mapped_less |= f->less;
}

/* The next pages that are there, with what stands at their start. */
static size_t read_headers(struct taking *k, struct page_runs *runs, uint64_t *pages, struct header *headers)
{
	size_t n = 0;

	while (n < HEADERS_AT_ONCE && page_runs__next_page(runs, &pages[n]))
		n++;
	memory__read_each(&k->t->memory, pages, n, headers, sizeof(*headers));
	return n;
}

static int search_mapping(struct taking *k, const struct mapping *m, struct err *e)
{
	/* one that began in the mapping before may end in this one */
	const struct heap_range *last = k->mapped_ranges.n ? &k->mapped_ranges.v[k->mapped_ranges.n - 1] : NULL;
	uint64_t pages[HEADERS_AT_ONCE], free_from = last ? MAX(m->start, last->end) : m->start, end = anon_end(&k->t->maps, m);
	struct page_runs runs = { .t = k->t, .at = free_from, .end = m->end };
	struct header headers[HEADERS_AT_ONCE];
	size_t n;

	while ((n = read_headers(k, &runs, pages, headers)) > 0) {
		if (target__go_on(k->t, "looking for mapped blocks", 1))
			return err_set(e, -EINTR, "stopped");
		for (size_t i = 0; i < n; i++) {
			const struct segment *s = pages[i] >= free_from ? taking__segment_of(k, pages[i]) : NULL;
			struct found f = { .start = pages[i], .chunk = pages[i] };
			if (s)
				free_from = MAX(free_from, s->end);
			if (pages[i] < free_from || headers[i].prev)
				continue;
			f.bytes = mapping_bytes(k->t, 0, headers[i].size, &f.less);
			if (!f.bytes)
				continue;
			if (!find_aligned(k, &f, end) && k->mapped_thorough)
				find_moved(k, &f, end);
			if (f.bytes > end - f.start)
				continue;
			push_mapped(k, &f);
			free_from = f.start + f.bytes;
		}
		runs.at = MAX(runs.at, free_from);
	}
	k->swapped_bytes += runs.swapped_bytes;
	return 0;
}

/* n: that libc counts */
static int search(struct taking *k, uint32_t n, struct err *e)
{
	int r = 0;

	lines__forget(k->lines);
	k->mapped.n = k->mapped_ranges.n = 0;
	k->mapped_bytes = k->swapped_bytes = k->passed_over_bytes = 0;
	k->mapped_less = false;
	if (!n)
		return 0;
	page_runs__begin(k->t);
	/* a block may be of a program that has made it read-only */
	for (size_t i = 0; i < k->t->maps.n && !r; i++)
		if (k->t->maps.v[i].read && is_nobodys(&k->t->maps.v[i]))
			r = search_mapping(k, &k->t->maps.v[i], e);
	k->passed_over_bytes = k->t->passed_over_bytes;
	return r;
}

static bool is_edge(const struct taking *k, uint64_t start, uint64_t end)
{
	const struct mapping *first = maps__find(&k->t->maps, start), *last = maps__find(&k->t->maps, end - 1);

	return (first && first->start == start) || (last && last->end == end);
}

/* What begins or ends where a mapping does, or beside another one, is more likely to be a block than what does not. */
static bool is_inner(const struct taking *k, size_t i)
{
	const struct heap_range *r = k->mapped_ranges.v;

	if (is_edge(k, r[i].start, r[i].end) || (i && r[i - 1].end == r[i].start))
		return false;
	return i + 1 == k->mapped.n || r[i + 1].start != r[i].end || !is_edge(k, r[i + 1].start, r[i + 1].end);
}

#define MAX_TOO_MANY 16
#define MAX_CHOSEN_FROM 256
#define CHOICE_STEPS_MAX 2000000	/* some hundredths of a second: then it is the best of those that were tried */

struct choice {			/* which ones are none */
	size_t v[MAX_TOO_MANY];
	int n_inner;		/* of these; -1: no choice was found */
	uint64_t steps_left;
	bool inner[MAX_CHOSEN_FROM];
};

/* Ways to leave out n of those from `from` on whose bytes are `bytes`; the one with the most inner ones is kept. */
static void choose(const struct taking *k, size_t n, size_t from, uint64_t bytes, size_t *chosen, size_t n_chosen, struct choice *best)
{
	int n_inner = 0;

	if (!n) {
		for (size_t i = 0; i < n_chosen; i++)
			n_inner += best->inner[chosen[i]];
		if (bytes || n_inner <= best->n_inner)
			return;
		memcpy(best->v, chosen, n_chosen * sizeof(*chosen));
		best->n_inner = n_inner;
		return;
	}
	for (size_t i = from; i + n <= k->mapped.n && best->steps_left; i++) {
		uint64_t own = k->mapped_ranges.v[i].end - k->mapped_ranges.v[i].start;

		best->steps_left--;
		if (own > bytes || (n == 1 && own != bytes))
			continue;
		chosen[n_chosen] = i;
		choose(k, n - 1, i + 1, bytes - own, chosen, n_chosen + 1, best);
	}
}

static void leave_out(struct taking *k, const struct choice *c, size_t n_out)
{
	size_t to = 0, out = 0;

	for (size_t i = 0; i < k->mapped.n; i++) {
		if (out < n_out && c->v[out] == i) {
			k->mapped_bytes -= k->mapped_ranges.v[i].end - k->mapped_ranges.v[i].start;
			out++;
			continue;
		}
		k->mapped.v[to] = k->mapped.v[i];
		k->mapped_ranges.v[to++] = k->mapped_ranges.v[i];
	}
	k->mapped.n = k->mapped_ranges.n = to;
}

/*
 * More than libc has: memory that others manage may have such words by chance, at the start of a page. Those are left out
 * without which number and bytes are libc's own.
 */
static void drop_strangers(struct taking *k, const struct glibc_sums *s)
{
	size_t n = k->mapped.n - s->n_mmaps, chosen[MAX_TOO_MANY];
	struct choice best = { .n_inner = -1, .steps_left = CHOICE_STEPS_MAX };

	if (n > MAX_TOO_MANY || k->mapped.n > MAX_CHOSEN_FROM || k->mapped_bytes < s->mmapped_mem)
		return;
	for (size_t i = 0; i < k->mapped.n; i++)
		best.inner[i] = is_inner(k, i);
	choose(k, n, 0, k->mapped_bytes - s->mmapped_mem, chosen, 0, &best);
	if (best.n_inner < 0)
		return;
	leave_out(k, &best, n);
	/* it may have been as many others: those are missed, and these are none */
	k->n_mapped_unsure = 2 * n;
}

static bool agrees(const struct taking *k, const struct glibc_sums *s, bool again)
{
	return k->mapped.n == s->n_mmaps && (k->mapped_bytes == s->mmapped_mem || (k->mapped_less && again));
}

bool taking__is_mapped(const struct taking *k, uint64_t addr)
{
	size_t i = sorted__count(m, k->mapped.v, k->mapped.n, m->addr < addr);

	return i < k->mapped.n && k->mapped.v[i].addr == addr;
}

int taking__find_mapped(struct taking *k, struct err *e)
{
	struct glibc_sums before, after;
	int r;

	for (int i = 0; i < READS_MAX; i++) {
		if (!taking__read_sums(k, &before))
			return err_set(e, -EPROTO, "heap layout not recognised: libc's own sums were not found");
		if (i) {
			r = target__refresh(k->t, e);
			if (r)
				return r;
		}
		/* what was there when the census began is all that counts */
		r = search(k, before.n_mmaps, e);
		if (r)
			return r;
		if (!taking__read_sums(k, &after))
			break;
		k->n_mapped_unsure = 0;
		if (k->mapped.n > after.n_mmaps)
			drop_strangers(k, &after);
		if (agrees(k, &after, i)) {
			k->passed_over_bytes = 0;
			return 0;
		}
		k->mapped_thorough = true;
		/* on the disk, and not brought back for this, or in more memory than is looked at */
		if ((k->swapped_bytes || k->passed_over_bytes) && k->mapped.n < after.n_mmaps && k->mapped_bytes < after.mmapped_mem) {
			k->n_mapped_unsure = after.n_mmaps - k->mapped.n;
			return 0;
		}
		if (before.n_mmaps != after.n_mmaps || before.mmapped_mem != after.mmapped_mem)
			k->mapped_moving = true;
	}
	if (!k->mapped_moving)
		return err_set(e, -EPROTO, "heap layout not recognised: found %zu blocks with a mapping of their own, libc has counted %u",
			       k->mapped.n, after.n_mmaps);
	k->n_mapped_unsure = MAX(k->mapped.n, after.n_mmaps) - MIN(k->mapped.n, after.n_mmaps) + 1;
	return 0;
}
