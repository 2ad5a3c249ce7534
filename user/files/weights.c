// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the weights of --mode growth. What always holds: a site counts in one of the two kinds. */
#include "files/weights.h"

#include <string.h>

#include "util/util.h"

static uint64_t fault_bytes(const struct snap_site *s)
{
	return s->growth == GROWTH_FAULT ? s->c.alloc_bytes : 0;
}

static uint64_t fault_calls(const struct snap_site *s)
{
	return s->growth == GROWTH_FAULT ? s->c.alloc_calls : 0;
}

static uint64_t mapped_bytes(const struct snap_site *s)
{
	return s->growth == GROWTH_FAULT ? 0 : s->c.alloc_bytes;
}

static uint64_t mapped_calls(const struct snap_site *s)
{
	return s->growth == GROWTH_FAULT ? 0 : s->c.alloc_calls;
}

static const struct metric growth_metrics[] = {
	{ "fault-bytes", "bytes", fault_bytes, NULL, HAS_ALLOC_BYTES },
	{ "mapped-bytes", "bytes", mapped_bytes, NULL, HAS_ALLOC_BYTES },
	{ "fault-calls", "calls", fault_calls, NULL, HAS_ALLOC_CALLS },
	{ "mapped-calls", "calls", mapped_calls, NULL, HAS_ALLOC_CALLS },
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
		sum += m->of(&s->sites[i]);
	return sum;
}
