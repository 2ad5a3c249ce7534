// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the buffers that memory of a process is read into. They are small enough to stay in a processor's own cache. */
#include <errno.h>
#include <stdio.h>

#include "heap/glibc_parts.h"
#include "heap/page_runs.h"
#include "heap/search.h"

#define WINDOW_BYTES (128u * 1024)
/* From this on it is first looked for pages that are there. */
#define LARGE_BYTES (1ull << 20)
/* What is less is read as zeros, because that is done sooner than another call of the kernel. */
#define HOLE_BYTES (16u * 1024)

int search__init(struct search *s, struct target *t, struct err *e)
{
	*s = (struct search){ .t = t };
	s->words = aligned_alloc(64, WINDOW_BYTES);
	s->found = calloc(WINDOW_BYTES / sizeof(uint64_t), sizeof(*s->found));
	if (s->words && s->found)
		return 0;
	search__done(s);
	return err_set(e, -ENOMEM, "not enough memory to read that of process %d", t->pid);
}

void search__done(struct search *s)
{
	free(s->words);
	free(s->found);
	*s = (struct search){};
}

void search__begin(struct search *s, const char *what, double part, double part_end, uint64_t of_bytes)
{
	snprintf(s->what, sizeof(s->what), "%s", what);
	s->part = part;
	s->part_end = part_end;
	s->bytes = 0;
	s->of_bytes = of_bytes;
	page_runs__begin(s->t);
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
		s->words[i] = untagged(s->words[i]) + CHUNK_HEADER;
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

/* Runs of pages that are there, together with small holes. They are read soon after they were met: who runs touches others. */
static int search_sparsely(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	struct page_runs runs = { .t = s->t, .at = start, .end = end };
	uint64_t from = start, until = start;	/* of those that were met and not read yet */
	struct page_run run;
	int found, err = 0;

	while (!err && (found = page_runs__next(&runs, &run)) > 0) {
		bool swapped = run.is == RUN_SWAPPED;

		if (!swapped && until > from && until - from < WINDOW_BYTES && run.start - until < HOLE_BYTES) {
			until = MIN(end, run.end);
			continue;
		}
		err = search_densely(s, x, from, until, fn, arg);
		s->t->swapped_bytes += swapped ? run.end - run.start : 0;
		from = MAX(start, swapped ? run.end : run.start);
		until = swapped ? from : MIN(end, run.end);
	}
	if (err || found == -EINTR)
		return err ? err : found;
	return search_densely(s, x, from, until, fn, arg);
}

int search__range(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	start = (start + 7) & ~7ull;
	end &= ~7ull;
	if (!x->n_blocks || start >= end)
		return 0;
	return (end - start < LARGE_BYTES ? search_densely : search_sparsely)(s, x, start, end, fn, arg);
}
