/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What this kernel and this user can do: tried, not guessed from a version. */
#ifndef MT_FEATURES_H
#define MT_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/err.h"

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

#endif
