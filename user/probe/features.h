/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What this kernel and this user can do: tried, not guessed from a version. */
#ifndef MT_FEATURES_H
#define MT_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct kernel;

#define ATTACH_UPROBE_MULTI 48	/* BPF_TRACE_UPROBE_MULTI, newer than Debian 12's headers */

enum feature_id {
	FEATURE_BTF,
	FEATURE_BPF,
	FEATURE_READ_KERNEL,
	FEATURE_RAW_TP,
	FEATURE_PERF_UPROBE,
	FEATURE_UPROBE_MULTI,
	FEATURE_URETPROBES,	/* that no seccomp filter sees: else they are not used */
	N_FEATURES
};

enum feature_state {
	FEATURE_OK,
	FEATURE_MISSING,	/* the kernel lacks it */
	FEATURE_DENIED,		/* this user may not use it */
};

struct feature {
	const char *name;	/* as doctor shows it */
	enum feature_state (*try)(void);
	const char *detail;	/* shown when it is there */
	const char *mend;	/* what to do when the kernel lacks it */
	unsigned int rights;	/* what this user needs to have (util/rights.h) */
	bool needed;		/* malloctrace cannot work without it */
	bool needs_no_word;	/* that it is there says nothing to most users */
};

extern const struct feature features[N_FEATURES];

/* Tried once, then remembered. */
enum feature_state feature__state(enum feature_id id);
bool feature__has(enum feature_id id);
/* One way to probe a function is enough. */
bool features__can_trace(void);

/* The rights without which this user cannot trace on this kernel. */
unsigned int features__missing_rights(void);
/* Why this user cannot trace on this kernel, in one line; 0 if nothing speaks against it. */
int features__explain(struct err *e);

/* ---- uprobe_multi links by the raw system call: libbpf has them from 1.3 on, Debian 12 has 1.1 */

struct uprobe_points {
	const uint64_t *offsets, *cookies;	/* cookies may be NULL */
	const uint64_t *counters;	/* words in the file that count tracers, each 0: none; or NULL */
	size_t n;
};

/* An fd, or -1 with errno. pid 0: every process. */
int uprobe_multi__link(int prog_fd, const char *path, const struct uprobe_points *at, bool at_return, pid_t pid);
/*
 * Without waiting for it: the kernel takes 25 to 50 ms to give a link back (6.18), and the
 * breakpoints are gone at once. Takes -1.
 */
void uprobe_multi__close(int fd);

/* ---- what a hit of a probe takes of its target's CPU time, where no budget (budget/budget.h) keeps account of it */

/* The way into a program and out of it, on probes of our own; takes about a millisecond. Unmeasured without uprobe_multi. */
void price__measure_trap(struct kernel *k);
/* Of the hits so far: that way, and the mean of what was timed of their programs. 0: not measured. */
double price__hit_ns(const struct kernel *k);

#endif
