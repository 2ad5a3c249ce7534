/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Processes that share one memory without being threads of each other (CLONE_VM without CLONE_THREAD). They have one heap,
 * and are one target.
 */
#ifndef MT_SHARERS_H
#define MT_SHARERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sharers {
	pid_t *v;		/* owned */
	size_t n;
	pid_t *runners; /* owned; of sharers__sort_in(): a thread of each that has not exited; else
			   NULL */
};

/* All others that share the memory of pid now, also children of vfork. -ENOSYS: the kernel does not say (CONFIG_KCMP). */
int sharers__find(pid_t pid, struct sharers *ret);
bool sharers__has(const struct sharers *s, pid_t pid);
/*
 * Of processes that are asked about one after the other, the first one with the memory of pid; 0: pid is the first. s, empty at
 * first, has one process of each memory, in the order that the kernel gives them.
 */
pid_t sharers__sort_in(struct sharers *s, pid_t pid);
void sharers__done(struct sharers *s);

/* What else traces a process, by ptrace. */

struct debugger {
	pid_t pid;		/* 0: there is none */
	char comm[32];		/* clean */
	bool writes;		/* it may set breakpoints; false of those that are known to set none */
};

/*
 * Does it hold every thread of the process still? Debuggers have their breakpoints out then, if
 * they stop all threads at a time.
 */
bool debugger__holds_still(pid_t pid);
/* malloctrace itself, which traces CMD, is none. */
struct debugger debugger__of(pid_t pid);

#endif
