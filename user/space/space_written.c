// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing but the list itself. What always holds: pieces are in order, and there is
 * memory between any two of them. When there are too many, the two that are nearest are one:
 * more is distrusted then, never less.
 */
#include <string.h>

#include "space/space_written.h"
#include "util/util.h"

static void join_nearest(struct space_written *w)
{
	size_t at = 0;

	for (size_t i = 1; i + 1 < w->n; i++)
		if (w->v[i + 1].start - w->v[i].end < w->v[at + 1].start - w->v[at].end)
			at = i;
	w->v[at].end = w->v[at + 1].end;
	w->v[at].since_ns = MIN(w->v[at].since_ns, w->v[at + 1].since_ns);
	w->n--;
	memmove(&w->v[at + 1], &w->v[at + 2], (w->n - at - 1) * sizeof(*w->v));
}

bool space_written__add(struct space_written *w, struct written_piece p)
{
	size_t first = 0, last;

	while (first < w->n && w->v[first].end < p.start)
		first++;
	/* all that it overlaps or touches is one with it */
	for (last = first; last < w->n && w->v[last].start <= p.end; last++) {
		if (w->v[last].start <= p.start && w->v[last].end >= p.end && w->v[last].since_ns <= p.since_ns)
			return false;
		p.start = MIN(p.start, w->v[last].start);
		p.end = MAX(p.end, w->v[last].end);
		p.since_ns = MIN(p.since_ns, w->v[last].since_ns);
	}
	memmove(&w->v[first + 1], &w->v[last], (w->n - last) * sizeof(*w->v));
	w->v[first] = p;
	w->n = w->n - (last - first) + 1;
	if (w->n > SPACE_MAX_WRITTEN)
		join_nearest(w);
	return true;
}

void space_written__cut(struct space_written *w, uint64_t start, uint64_t end)
{
	const struct space_written was = *w;

	w->n = 0;
	for (size_t i = 0; i < was.n; i++) {
		struct written_piece before = was.v[i], after = was.v[i];

		before.end = MIN(before.end, start);
		after.start = MAX(after.start, end);
		if (before.start < before.end)
			space_written__add(w, before);
		if (after.start < after.end)
			space_written__add(w, after);
	}
}

bool space_written__has(const struct space_written *w, uint64_t addr, uint64_t t_ns)
{
	for (size_t i = 0; i < w->n; i++)
		if (addr >= w->v[i].start && addr < w->v[i].end)
			return t_ns >= w->v[i].since_ns;
	return false;
}
