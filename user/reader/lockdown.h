/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A child of ours that meets what is hostile: everything by which it is kept from doing harm, and from being harmed. Between fork
 * and exec it becomes a user that is nobody else, if we are root, with no descriptors but those it is given, and then a fresh
 * malloctrace that has read nothing; after the exec it becomes undumpable, gives up its capabilities, limits itself, and has the
 * kernel refuse all but a list of system calls.
 *
 * malloctrace itself, which needs most of them, has it refuse those that it has no use for.
 */
#ifndef MT_LOCKDOWN_H
#define MT_LOCKDOWN_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct lockdown_start {
	const char *exe;	/* what is executed; NULL: malloctrace itself */
	int fds[8];		/* the first of them becomes descriptor 0, and so on; all others are closed */
	size_t n_fds;		/* one that is -1 becomes /dev/null */
	char *const *argv, *const *envp;	/* envp NULL: empty */
};

/*
 * Its pid, or -errno. What it cannot give up before the exec is left to lockdown__give_up_rights() to judge. If there is no exec, its
 * status is the errno.
 */
pid_t lockdown__spawn(const struct lockdown_start *s);

/*
 * Kills such a child, and waits as long as that takes in general: one that waits for a file system dies when that answers, or with
 * us. How it ended, as of waitpid; 0: it has not yet.
 */
int lockdown__end(pid_t pid);

bool lockdown__is_stranger(void);	/* its user is one that nobody else is: limits that count by user are its own */

/* Who must not be root: a child that can open files; one that can not may, where we may not become another user. */
enum lockdown_root { ROOT_REFUSED, ROOT_POWERLESS };

/*
 * No other process of that user may trace or read it; then no capabilities, and none to come; dies with its parent. To be called
 * first, before anything is read. -EPERM: it is still root.
 */
int lockdown__give_up_rights(enum lockdown_root root);

struct lockdown_limit {
	int what;		/* RLIMIT_... */
	rlim_t most;
};

int lockdown__limit(const struct lockdown_limit *limits, size_t n);

struct lockdown_call {		/* a system call that stays possible */
	int number;
	uint8_t arg;		/* the number of an argument that must have none of these bits */
	uint32_t none_of;	/* 0: it may be anything */
};

#define LOCKDOWN_CALL(name) { .number = __NR_##name }
/* Without F_SETOWN, F_SETSIG and F_SETOWN_EX, which have that bit: with them a descriptor sends any signal to other processes. */
#define LOCKDOWN_FCNTL { .number = __NR_fcntl, .arg = 1, .none_of = F_SETOWN }

/* x86_64: what returns and entries by uprobes are made of in newer kernels; with -a our children meet our own. Not in Debian 12's headers */
#define NR_URETPROBE 335
#define NR_UPROBE 336

/* All others fail with EPERM. At most 96. */
int lockdown__allow(const struct lockdown_call *calls, size_t n);

struct lockdown_refusal {	/* a system call that is possible no more */
	int number;
	uint32_t request;	/* if it is not 0: only with this first argument */
};

/*
 * These fail with EPERM from here on, in all threads and children, and no others; of x86_64, all of x32 does. At most 96. Needs
 * no_new_privs. -EBUSY: a thread has a filter of its own, and nothing is refused.
 */
int lockdown__refuse(const struct lockdown_refusal *calls, size_t n);

#endif
