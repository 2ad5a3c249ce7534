/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How much memory a process may still take before the kernel kills in its memory cgroup. Each page of code that
 * gets a breakpoint becomes a private copy, which the kernel charges to the cgroup of the process that
 * maps it: where there is no room for it, the process is killed.
 *
 * The limits of the cgroup and of all above it count, of version 1 and 2. Page cache that the kernel can give up is
 * no use: a container that reads files always sits at its limit. Swap is not counted as room.
 */
#ifndef MT_MEMCG_H
#define MT_MEMCG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/util.h"

struct memcg {			/* the one that leaves the least room */
	char *dir;		/* owned; NULL: there is no limit, or none that can be seen */
	const char *limit_file;	/* in it; static */
	uint64_t limit_bytes;
	uint64_t used_bytes;	/* without what can be given up */
	uint64_t room_bytes;	/* UINT64_MAX: no limit */
};

/* Never fails: what cannot be read is no limit. */
void memcg__of(pid_t pid, struct memcg *ret);
/* The same by the texts of /proc/self/mountinfo and /proc/PID/cgroup, for the tests. */
void memcg__look(const char *mounts, const char *cgroups, struct memcg *ret);
void memcg__done(struct memcg *m);

/* Room for so many private copies of pages, and for what the kernel needs beside them. */
uint64_t memcg__need_bytes(size_t n_pages);

struct tight {			/* a cgroup that has no room for the probes of all its processes */
	struct memcg memcg;
	pid_t pid;		/* of one of them */
	size_t n_processes;
};

struct tights vec(struct tight);

/* All such cgroups on the machine, if each process needs n_pages. *ret is the caller's. */
void tights__find(size_t n_pages, struct tights *ret);
void tights__done(struct tights *t);

#endif
