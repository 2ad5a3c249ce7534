// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the buffers that memory of a process is read into. They are small enough to stay in a processor's own cache. */
#include <errno.h>
#include <stdio.h>

#include "heap/search.h"

#define WINDOW_BYTES (128u * 1024)
/* From this on it is first looked for pages that are there, so many at once. */
#define LARGE_BYTES (1ull << 20)
#define PAGES_AT_ONCE 16384

int search__init(struct search *s, struct target *t, struct err *e)
{
	*s = (struct search){ .t = t };
	s->words = aligned_alloc(64, WINDOW_BYTES);
	s->found = calloc(WINDOW_BYTES / sizeof(uint64_t), sizeof(*s->found));
	s->pages = malloc(PAGES_AT_ONCE);
	if (s->words && s->found && s->pages)
		return 0;
	search__done(s);
	return err_set(e, -ENOMEM, "not enough memory to read that of process %d", t->pid);
}

void search__done(struct search *s)
{
	free(s->words);
	free(s->found);
	free(s->pages);
	*s = (struct search){};
}

void search__begin(struct search *s, const char *what, double part, double part_end, uint64_t of_bytes)
{
	snprintf(s->what, sizeof(s->what), "%s", what);
	s->part = part;
	s->part_end = part_end;
	s->bytes = 0;
	s->of_bytes = of_bytes;
}

static int go_on(struct search *s, uint64_t bytes)
{
	s->bytes += bytes;
	return target__go_on(s->t, s->what,
			     s->part + (s->part_end - s->part) * (s->of_bytes ? MIN(1.0, (double)s->bytes / s->of_bytes) : 0));
}

/* The same words once more, as pointers to headers. They are not needed any more after this. */
static size_t find_headers(struct search *s, const struct block_index *x, size_t n_words)
{
	size_t n, n_kept = 0;

	for (size_t i = 0; i < n_words; i++)
		s->words[i] = untagged(s->words[i]) + HEADER_BYTES;
	n = block_index__pointers(x, s->words, n_words, s->found);
	for (size_t i = 0; i < n; i++)
		if (s->found[i].block != NO_BLOCK && x->blocks[s->found[i].block].addr == s->words[s->found[i].word])
			s->found[n_kept++] = s->found[i];
	return n_kept;
}

/* start and end are aligned to words */
static int search_densely(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	while (start < end) {
		size_t n = MIN(end - start, WINDOW_BYTES);
		int err = go_on(s, n);
		size_t n_there;

		if (err)
			return err;
		n_there = target__read_present(s->t, start, s->words, n);
		s->present_bytes += n_there;
		if (n_there) {
			size_t n_found = block_index__pointers(x, s->words, n / sizeof(uint64_t), s->found);

			if (n_found)
				fn(start, s->found, n_found, arg);
			if (s->headers && (n_found = find_headers(s, x, n / sizeof(uint64_t))))
				fn(start, s->found, n_found, arg);
		}
		start += n;
	}
	return 0;
}

/* Runs of pages that are there, together with small holes. */
static int search_sparsely(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	uint64_t page = s->t->page_bytes, lot = WINDOW_BYTES / page ?: 1;

	while (start < end) {
		uint64_t base = start / page * page, n = MIN((end - base + page - 1) / page, PAGES_AT_ONCE);
		int err;

		target__pages(s->t, base, n, s->pages);
		for (uint64_t i = 0; i < n; i += lot) {
			uint64_t n_of[] = { [PAGE_ABSENT] = 0, [PAGE_PRESENT] = 0, [PAGE_SWAPPED] = 0 };

			for (uint64_t k = i; k < MIN(i + lot, n); k++)
				n_of[s->pages[k]]++;
			if (!n_of[PAGE_PRESENT]) {
				s->t->swapped_bytes += n_of[PAGE_SWAPPED] * page;
				continue;
			}
			err = search_densely(s, x, MAX(start, base + i * page), MIN(end, base + (i + lot) * page), fn, arg);
			if (err)
				return err;
		}
		err = go_on(s, 0);
		if (err)
			return err;
		start = base + n * page;
	}
	return 0;
}

int search__range(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	start = (start + 7) & ~7ull;
	end &= ~7ull;
	if (!x->n_blocks || start >= end)
		return 0;
	return (end - start < LARGE_BYTES ? search_densely : search_sparsely)(s, x, start, end, fn, arg);
}
