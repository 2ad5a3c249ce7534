/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the files that carry plans out share. For them alone. */
#ifndef MT_ATTACH_PARTS_H
#define MT_ATTACH_PARTS_H

#include "probe/attach.h"
#include "util/util.h"

#define N_STEPS 13
/* Behind the steps: links that are no allocator's; then the anchors, one for each object. */
#define OTHERS N_STEPS
#define ANCHORS (N_STEPS + 1)

struct link {
	int fd;			/* uprobe_multi */
	struct bpf_link *perf;	/* else */
	const struct object *object;
	bool often;		/* hit more than others */
};

struct attachment {
	struct kernel *kernel;
	pid_t pid;
	struct vec(struct link) links[ANCHORS + 1];	/* by step, and behind */
	/* what is probed, to probe it again */
	const struct alloc_funcs *funcs;
	struct vec(const struct plan *) plans;
	bool parked;
};

/* Sets the error of a link that could not be made. */
int attachment__explain(const struct attachment *a, struct err *e, int err, const struct object *obj);

#endif
