/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A look at a process's heap: census, kinds, reachability and the rest of its memory → struct snap_heap. */
#ifndef MT_HEAP_H
#define MT_HEAP_H

#include "heap/census.h"
#include "heap/reach.h"
#include "model/cut.h"
#include "model/snap_heap.h"
#include "model/snapshot.h"
#include "model/traced_block.h"

struct heap_opts {
	bool reachable, roots, pause;
	bool parts;		/* the rest of resident memory, too */
	unsigned int list;	/* --view blocks: so many; 0: none */
	bool list_oldest;	/* else the largest first */
	bool keeps_census;	/* if the search for pointers is interrupted, all else is told: else nothing is */
	registers_fn registers;
	struct keeping *kept;	/* not owned; what is read instead of pid's memory, and outlives it (process/keeper.h). NULL: none */
	const struct target_calls *calls;
	struct objects *objects;
	/*
	 * In a trace: its live blocks of this process at this moment, all of them, by address, and the moment on the trace's
	 * clock. to is empty, and whoever asks owns what comes into it. NULL: there is no trace, or it leaves some out.
	 */
	void (*traced)(void *arg, struct traced_blocks *to, uint64_t *ret_now_ns);
	bool traced_all;	/* the trace records every block: what it does not have is older */
	uint64_t until_ns;	/* on the trace's clock: sites have no blocks that are younger; 0: all */
	/* Called for each site that has blocks, after the look: proc and looked_ns of it are not known here. */
	void (*on_site)(uint32_t site, const struct site_look *is, void *arg);
	void *arg;
};

/*
 * Strings and arrays go into s. 0 also where the heap is not recognised: ret->refused says why, and the rest of resident
 * memory is there. -ESRCH, -EPERM, -EINTR.
 */
int heap__look(pid_t pid, const struct heap_opts *o, struct snapshot *s, struct snap_heap *ret, struct err *e);

#endif
