/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the files that carry plans out share. For them alone. */
#ifndef MT_ATTACH_PARTS_H
#define MT_ATTACH_PARTS_H

#include "probe/attach.h"
#include "util/util.h"

#define N_STEPS 13
/*
 * After the steps: where calls fail unseen, which is parked with them; then links that are no
 * allocator's, which stay; then the anchors, one for each object.
 */
#define REFUSALS N_STEPS
#define OTHERS (N_STEPS + 1)
#define ANCHORS (N_STEPS + 2)

struct link {
	int fd;			/* uprobe_multi */
	struct bpf_link *perf;	/* else */
	const struct object *object;
	bool often;		/* hit more than others */
};

struct refusing {
	const struct object *object;
	const struct spot_points *points;	/* not ours */
};

struct attachment {
	struct kernel *kernel;
	pid_t pid;
	struct vec(struct link) links[ANCHORS + 1];	/* by step, and those after the steps */
	/* what is probed, to probe it again */
	const struct alloc_funcs *funcs;
	struct vec(const struct plan *) plans;
	struct vec(struct refusing) refusals;
	bool parked;
};

#endif
