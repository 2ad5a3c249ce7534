// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the weights of --mode growth. What always holds: a site counts in one of the two kinds. */
#include "files/weights.h"

#include <string.h>

#include "util/util.h"

static bool is_fault(const struct snap_site *s)
{
	return s->growth == GROWTH_FAULT;
}

static bool is_mapped(const struct snap_site *s)
{
	return s->growth != GROWTH_FAULT;
}

static const struct metric growth_metrics[] = {
	METRIC("fault-bytes", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, .takes = is_fault),
	METRIC("mapped-bytes", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, .takes = is_mapped),
	METRIC("fault-calls", "calls", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, .takes = is_fault),
	METRIC("mapped-calls", "calls", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, .takes = is_mapped),
};

size_t weights__of(const struct snapshot *s, const struct metric *first, const struct metric *ret[static WEIGHTS_MAX])
{
	const struct metric *from = recording__is_growth(&s->recording) ? growth_metrics : metrics;
	size_t n_from = recording__is_growth(&s->recording) ? ARRAY_SIZE(growth_metrics) : n_metrics, n = 0;

	/* of growth the kind of figure that was requested comes first: bytes or calls */
	if (recording__is_growth(&s->recording) && first && !strcmp(first->unit, "calls"))
		first = &growth_metrics[2];
	else if (recording__is_growth(&s->recording))
		first = &growth_metrics[0];
	else if (!first)
		first = metric__preset(s->known);
	ret[n++] = first;
	for (size_t i = 0; i < n_from && n < WEIGHTS_MAX; i++)
		if (&from[i] != first && !(from[i].needs & ~s->known))
			ret[n++] = &from[i];
	return n;
}

uint64_t weights__sum(const struct snapshot *s, const struct metric *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		sum += metric__of(m, &s->sites[i]);
	return sum;
}
