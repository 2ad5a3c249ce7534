/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What changed between two moments of a trace, site by site, from the histories that a snapshot has. */
#ifndef MT_BETWEEN_H
#define MT_BETWEEN_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct change {
	const struct snap_site *site;
	uint64_t before, after;	/* its live bytes */
};

struct changes {
	struct change *v;	/* owned; what did change, the most, up or down, first */
	size_t n;
	size_t n_unknown;	/* sites without a history */
	uint64_t before, after;	/* live bytes of all processes, from their timelines */
	uint64_t off_ns;	/* the points that were taken are up to this far from their moments */
};

/* Moments since the trace's start, from_ns < to_ns; from its end on, it is the end. */
void changes__init(struct changes *c, const struct snapshot *s, uint64_t from_ns, uint64_t to_ns);
void changes__done(struct changes *c);

#endif
