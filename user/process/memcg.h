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

struct memcg_usage {		/* of one cgroup: what it uses, what it may, and how often that was not enough */
	uint64_t current_bytes;	/* with what could be given up; UINT64_MAX: not known */
	uint64_t max_bytes;	/* UINT64_MAX: it has no limit of its own */
	/* the nearest one with a limit, itself or one above, as its path below what is mounted; owned, clean; NULL: none */
	char *limited_by;
	uint64_t limit_bytes, limit_current_bytes;
	bool has_events;
	uint64_t high, max, oom, oom_kill;
};

/* By the same texts as memcg__look. -ENOENT: no memory is accounted for there. */
int memcg_usage__look(const char *mounts, const char *cgroups, struct memcg_usage *ret);
void memcg_usage__done(struct memcg_usage *u);

/* Room for so many private copies of pages, and for what the kernel needs beside them. */
uint64_t memcg__need_bytes(size_t n_pages);

struct tight {			/* a cgroup that has no room for the probes of all its processes */
	struct memcg memcg;
	pid_t pid;		/* of one of them */
	size_t n_processes;
};

struct tights vec(struct tight);

/* All such cgroups on the machine, if each process needs n_pages. -ENOMEM; *ret is the caller's. */
int tights__find(size_t n_pages, struct tights *ret);
void tights__done(struct tights *t);

#endif
