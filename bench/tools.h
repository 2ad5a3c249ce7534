/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What is compared: a row each, with how it is attached to a target and how its own counts are checked. */
#ifndef MT_BENCH_TOOLS_H
#define MT_BENCH_TOOLS_H

#include <stdbool.h>

#include "bench/child.h"
#include "bench/floor.h"
#include "bench/target.h"
#include "util/err.h"

struct paths {		/* absolute; owned by whoever filled it */
	char *malloctrace, *target, *lib_dir, *libc;
};

/* One tool on one target. */
struct session {
	const struct paths *paths;
	struct child target, tool;
	struct floor *floor;
};

enum tool_id {
	TOOL_BARE,
	TOOL_FLOOR,
	TOOL_USUAL,
	TOOL_USUAL_PERF,
	TOOL_MALLOCTRACE,
	TOOL_BPFTRACE,
	TOOL_BPFTRACE_LIVE,
	TOOL_HEAPTRACK,
	N_TOOLS
};

struct tool {
	const char *name;
	/* NULL, or why it cannot be measured here */
	const char *(*missing)(void);
	/* NULL, or the variables that the target starts with, NULL at the end */
	char **(*target_env)(void);
	/* Once it returns, each malloc and free of the target is seen. NULL: nothing to attach. */
	int (*attach)(struct session *s, struct err *e);
	/* Detaches. With counts: -EBADMSG with a sentence if the tool counted something else than the ledger says. */
	int (*detach)(struct session *s, const struct answer *ledger, struct err *e);
	bool counts;
};

extern const struct tool tools[N_TOOLS];

/* A fresh target that has said that it is ready, with the tool attached to it. */
int session__open(struct session *s, const struct paths *paths, const struct tool *t, char *const cpus[],
		  struct err *e);
int session__order(struct session *s, const struct order *o, struct answer *ret, struct err *e);
void session__close(struct session *s);

#endif
