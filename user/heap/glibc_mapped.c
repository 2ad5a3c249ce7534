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
#include "heap/target_parts.h"

#define HEADERS_AT_ONCE 256
#define READS_MAX 4

struct header {
	uint64_t prev, size;
};

/* From 2.43 on the size is that of a chunk like others: 16 less than the mapping. */
static uint64_t bytes_of(const struct target *t, const struct header *h, uint64_t *ret_less)
{
	uint64_t bytes = h->size & ~CHUNK_FLAGS, page = t->page_bytes;

	*ret_less = (bytes + CHUNK_HEADER) % page ? 0 : CHUNK_HEADER;
	if (h->prev || (h->size & CHUNK_FLAGS) != CHUNK_IS_MAPPED || !bytes || (bytes + *ret_less) % page)
		return 0;
	return bytes + *ret_less;
}

/* The header of a block that was aligned, if this one was; else ret stays. */
static void find_aligned(struct taking *k, uint64_t start, uint64_t bytes, uint64_t *ret)
{
	for (uint64_t align = 2 * CHUNK_ALIGN; align < bytes; align *= 2) {
		uint64_t at = ((start + CHUNK_HEADER + align - 1) & ~(align - 1)) - CHUNK_HEADER;
		struct header h;

		if (at == start || at - start + CHUNK_MIN > bytes)
			continue;
		if (lines__word(k->lines, at, &h.prev) && lines__word(k->lines, at + 8, &h.size) && h.prev == at - start &&
		    h.size == ((bytes - (at - start)) | CHUNK_IS_MAPPED)) {
			*ret = at;
			return;
		}
	}
}

static int push_mapped(struct taking *k, uint64_t start, uint64_t bytes, uint64_t less, struct err *e)
{
	struct heap_block *b;
	uint64_t chunk = start;

	find_aligned(k, start, bytes - less, &chunk);
	b = vec_push(&k->mapped);
	if (!b)
		return NO_MEMORY(e);
	*b = (struct heap_block){
		.addr = chunk + CHUNK_HEADER,
		.usable = start + bytes - less - chunk - (less ? 8 : CHUNK_HEADER),
		.flags = BLOCK_MAPPED,
	};
	k->mapped_bytes += bytes;
	return 0;
}

/* The next pages that are there, with what stands at their start. */
static size_t read_headers(struct taking *k, struct page_scan *scan, uint64_t *pages, struct header *headers)
{
	size_t n = 0;

	while (n < HEADERS_AT_ONCE && page_scan__next(scan, &pages[n]))
		n++;
	target__read_heads(k->t, pages, n, headers, sizeof(*headers));
	return n;
}

static int search_mapping(struct taking *k, const struct mapping *m, struct err *e)
{
	struct page_scan scan = { .t = k->t, .at = m->start, .end = m->end };
	struct header headers[HEADERS_AT_ONCE];
	uint64_t pages[HEADERS_AT_ONCE], free_from = m->start;
	size_t n;

	while ((n = read_headers(k, &scan, pages, headers)) > 0) {
		if (target__go_on(k->t, "looking for mapped blocks", 1))
			return err_set(e, -EINTR, "stopped");
		for (size_t i = 0; i < n; i++) {
			const struct segment *s = pages[i] >= free_from ? taking__segment_of(k, pages[i]) : NULL;
			uint64_t less, bytes = bytes_of(k->t, &headers[i], &less);
			int r;

			if (s)
				free_from = MAX(free_from, s->end);
			if (pages[i] < free_from || !bytes || bytes > m->end - pages[i])
				continue;
			r = push_mapped(k, pages[i], bytes, less, e);
			if (r)
				return r;
			free_from = pages[i] + bytes;
		}
		scan.at = MAX(scan.at, free_from);
	}
	k->swapped_bytes += scan.swapped_bytes;
	return 0;
}

static int search(struct taking *k, struct err *e)
{
	int r = 0;

	lines__forget(k->lines);
	k->mapped.n = 0;
	k->mapped_bytes = k->swapped_bytes = 0;
	for (size_t i = 0; i < k->t->maps.n && !r; i++)
		if (is_anon(&k->t->maps.v[i]))
			r = search_mapping(k, &k->t->maps.v[i], e);
	return r;
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
		r = before.n_mmaps ? search(k, e) : (k->mapped.n = k->mapped_bytes = 0, 0);
		if (r)
			return r;
		if (!taking__read_sums(k, &after))
			break;
		if (k->mapped.n == after.n_mmaps && k->mapped_bytes == after.mmapped_mem)
			return 0;
		/* on the disk, and not brought back for this */
		if (k->swapped_bytes && k->mapped.n < after.n_mmaps && k->mapped_bytes < after.mmapped_mem) {
			k->n_unsettled += after.n_mmaps - k->mapped.n;
			return 0;
		}
		if (memcmp(&before, &after, sizeof(before)))
			k->mapped_moving = true;
	}
	if (!k->mapped_moving)
		return err_set(e, -EPROTO, "heap layout not recognised: found %zu blocks with a mapping of their own, libc has counted %u",
			       k->mapped.n, after.n_mmaps);
	k->n_unsettled += MAX(k->mapped.n, after.n_mmaps) - MIN(k->mapped.n, after.n_mmaps) + 1;
	return 0;
}
