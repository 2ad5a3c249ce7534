/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which processes are selected, where they come and go: -a, --comm, --cgroup and -f. */
#ifndef MT_SELECTION_H
#define MT_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "util/err.h"
#include "util/util.h"

struct selection_cgroup {
	char *hierarchy;	/* owned; the part of a line of /proc/PID/cgroup between its colons; NULL: any */
	char *path;		/* owned; without a slash at its end: "" is the root */
};

struct selection {
	enum mt_adopt adopt;	/* MT_ADOPT_NONE: only the processes that were named */
	bool follow;		/* children of those that are selected, whatever their names */
	const struct strings *comms;
	struct vec(struct selection_cgroup) cgroups;
};

/* all: whatever they are called. comms has to outlive it; what cgroups point to need not. */
void selection__init(struct selection *s, bool all, bool follow, const struct strings *comms, const struct strings *cgroups);
/* -ENOENT: a cgroup that the user named is not there. */
int selection__check(const struct selection *s, struct err *e);
void selection__done(struct selection *s);

/* Does a process have to be examined to know whether it is selected? No, if all are. */
bool selection__selects(const struct selection *s);
/*
 * comm: one of the globs, if there are any; and cgroups, the text of
 * /proc/PID/cgroup, equal to one of the paths or below it, if there are any. NULL: could not be read.
 */
bool selection__wants(const struct selection *s, const char *comm, const char *cgroups);

/* For the tests: a mount table as /proc/self/mountinfo has it. */
void selection__parse_cgroup(const char *arg, const char *mounts, struct selection_cgroup *ret);

#endif
