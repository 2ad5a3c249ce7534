/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The processes that have a name. */
#ifndef MT_NAMED_H
#define MT_NAMED_H

#include <stdint.h>
#include <sys/types.h>

#include "util/util.h"

struct named {
	pid_t pid;
	bool by_comm;		/* this is its own name, not only its program's */
	uint64_t age_ns, rss_bytes;	/* 0: not known */
	char *command;		/* owned, clean: its command line */
};

struct nameds vec(struct named);

/*
 * Those that are called so, or run a program of that name; neither this process nor threads of the kernel. In the order of
 * their numbers.
 */
int nameds__find(const char *name, struct nameds *ret);
/* The name of one that may have been meant, by a slip of a finger; the caller's. NULL: none. */
char *nameds__near(const char *name);
void nameds__done(struct nameds *v);

#endif
