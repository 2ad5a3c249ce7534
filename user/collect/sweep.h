/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The blocks of processes that have ended leave the table: a pass over it, a part
 * at a time. What a scan would have found of them is kept, by site.
 */
#ifndef MT_SWEEP_H
#define MT_SWEEP_H

#include "collect/scan.h"

struct sweep {
	const struct tables *tables;	/* not owned */
	uint16_t dead[MT_MAX_PROCS];	/* by slot: the process whose blocks go; 0: none */
	bool under_way;
	uint64_t now_ns, now_units;	/* when the pass began, on the programs' clock and in its unit */
	uint64_t older_born_ns;	/* blocks born then or before count as older */
	struct block_walk walk;	/* where the pass is */
	struct map_walk keys;	/* and in the map of its stage */
	unsigned int stage;	/* the block table, then --mmap's two maps */
	uint64_t n_removed, cpu_ns;	/* of this pass */
	struct seen *gone;	/* by site number: what passes have taken out; NULL before the first */
	struct weighed *weighed;	/* --sample: what that stands for */
};

void sweep__init(struct sweep *s, const struct tables *t);
void sweep__done(struct sweep *s);
/* An entry left this bucket: if that is not its home, home need not send anybody for it any more. UINT64_MAX: the overflow map. */
void tables__note_left(const struct tables *t, uint64_t bucket, uint64_t addr, uint32_t proc);
/* A pass begins, for these processes: they have ended. now_ns on the programs' clock. */
void sweep__begin(struct sweep *s, const uint32_t *procs, size_t n, uint64_t now_ns, uint64_t older_ns);
/* For about budget_ns of our time, and one slice at least; true: the pass is over. */
bool sweep__some(struct sweep *s, uint64_t budget_ns);
/* Is this number one of those that the pass is, or was, made for? */
bool sweep__is_dead(const struct sweep *s, uint32_t proc);

#endif
