/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What else traces a process, by ptrace. */
#ifndef MT_DEBUGGER_H
#define MT_DEBUGGER_H

#include <stdbool.h>
#include <sys/types.h>

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
