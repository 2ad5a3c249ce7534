/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What this process may do: its capabilities, what each is for, and how to get
 * one that is missing. Whether a thing is permitted is found out by trying it;
 * this says why it was not, and what to do.
 */
#ifndef MT_RIGHTS_H
#define MT_RIGHTS_H

#include <stdbool.h>

#include "util/err.h"

enum right {
	RIGHT_BPF,
	RIGHT_PERFMON,
	RIGHT_SYS_PTRACE,
	RIGHT_DAC_READ_SEARCH,
	RIGHT_CHECKPOINT_RESTORE,
	RIGHT_SYS_ADMIN,
	N_RIGHTS
};

/* Sets of rights are bits. */
#define RIGHT_BIT(right) (1u << (right))

const char *right__name(enum right r);		/* "CAP_BPF" */
const char *right__without(enum right r);	/* what cannot be done without it */
bool right__held(enum right r);
unsigned int rights__lacking(unsigned int set);	/* those of set that are not held */

/* Texts of a set, the caller's to free. */
char *rights__names(unsigned int set);		/* "CAP_BPF and CAP_PERFMON" */
char *rights__mend(unsigned int set);		/* what to do to get them */

/*
 * A refusal in one line: what was refused (fmt), which of the rights that it
 * needs are missing, and what to do; if none is, what else may be the reason.
 */
int rights__refused(struct err *e, int code, unsigned int needs, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same reason alone; the caller's to free. */
char *rights__why_refused(unsigned int needs);

/*
 * For what needs no privileges: none of those that malloctrace was given remain, and below
 * sudo it goes on as the user who called that.
 * Root keeps what the files that it names may take, and nothing else.
 */
int rights__give_up(struct err *e);

/*
 * All probes are in place, and CMD has been made: from here on only what a trace may still need is held, by this thread and those
 * that it makes; no program that is executed gains any, and no core is written.
 */
int rights__settle(struct err *e);
/* What that is, of what this process has: "CAP_KILL, CAP_BPF and ..."; the caller's to free. */
char *rights__settled_names(void);

#endif
