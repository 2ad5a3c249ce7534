/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Real programs that are stopped in malloc again and again. */
#ifndef MT_ORACLE_PROGRAMS_H
#define MT_ORACLE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/err.h"

struct program {
	const char *name;
	const char *argv[12];	/* a '*' in a path is the version that is installed; DIR a directory of its own */
	const char *ready;	/* it is up when it has written this */
	const char *feed;	/* written to it again and again from then on; NULL: one newline */
	const char *load[14];	/* run beside it */
	const char *prepare[12];	/* run before it */
	const char *user;	/* NULL: as we are */
};

extern const struct program programs[];
extern const size_t n_programs;

struct running {
	pid_t pid, load, feeder;
	int in, out;
	char dir[64];
};

#define RUNNING_NONE ((struct running){ .in = -1, .out = -1 })

/* Is it on this machine? */
bool program__installed(const struct program *p);
/* Started, and waiting for its first input. */
int program__start(const struct program *p, struct running *ret, struct err *e);
/* It gets its input, or its load. */
int program__go(const struct program *p, struct running *r, struct err *e);
void program__end(struct running *r);

#endif
