/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What is compared: a row each, with how it is attached to a target and how its own counts are checked. */
#ifndef MT_BENCH_TOOLS_H
#define MT_BENCH_TOOLS_H

#include <stdbool.h>

#include "bench/child.h"
#include "bench/floor.h"
#include "bench/target.h"
#include "util/err.h"

struct paths {		/* absolute; owned by whoever filled it; NULL: not built here */
	char *malloctrace, *without_peak;
	char *before;		/* --before: another malloctrace, to compare with */
	char *target, *sqlite;
	char *source;		/* preprocessed C, for gcc */
	char *lib_dir, *bpftrace_lib_dir;	/* copies of the libraries: one for the targets of bpftrace, one for the others */
};

/* A program that tools are attached to. */
struct subject {
	const char *library;	/* its allocator, a name in the directory of copies */
	const char *ready;	/* what it prints when it is ready; NULL: one byte, and then it takes orders */
	bool reads;		/* it prints nothing, and is ready when it waits for its standard input */
	uint64_t max_live;	/* blocks that it may have */
	bool whole;		/* it calls more than malloc and free */
};

enum tool_id {
	TOOL_BARE,
	TOOL_ONE_TRAP,
	TOOL_TWO_TRAPS,
	TOOL_THREE_TRAPS,
	TOOL_USUAL,
	TOOL_USUAL_PERF,
	TOOL_FULL,
	TOOL_WITHOUT_PEAK,
	TOOL_USABLE,
	TOOL_LEAK,
	TOOL_COUNT,
	TOOL_SAMPLE,
	TOOL_OVERHEAD,
	TOOL_GROWTH,
	/* the same of an earlier program: --before */
	TOOL_BEFORE_FULL,
	TOOL_BEFORE_USABLE,
	TOOL_BEFORE_COUNT,
	TOOL_BEFORE_SAMPLE,
	TOOL_BPFTRACE,
	TOOL_BPFTRACE_CALLS,
	TOOL_HEAPTRACK,
	N_TOOLS
};

/* One tool on one target. */
struct session {
	const struct paths *paths;
	const struct subject *subject;
	enum tool_id tool_id;
	char *library;		/* owned; the copy that the target uses */
	struct child target, tool;
	struct floor *floor;
};

/* What the target did while the tool was attached. */
struct truth {
	uint64_t n_allocs, n_frees;
	uint64_t n_bytes;	/* 0: not known */
	bool at_least;		/* it did more: only programs that keep a ledger know exactly */
	bool proof;		/* ORDER_PROOF was among its orders */
};

enum check {
	CHECK_NONE,	/* keeps no counts, or tells them elsewhere */
	CHECK_FULL,	/* calls, frees, bytes */
	CHECK_USABLE,	/* the same; bytes as the allocator sets them aside */
	CHECK_COUNT,	/* calls and bytes */
	CHECK_ESTIMATE,	/* bytes, within what chance allows */
	CHECK_BUDGET,	/* calls, within a factor: a second is too short for more */
	CHECK_ALIVE,	/* sees no calls: that it ended well */
};

struct tool {
	const char *name, *slug;
	/* NULL, or why it cannot be measured here; to be freed */
	char *(*missing)(const struct paths *paths, const struct tool *t);
	char **(*target_env)(void);	/* NULL, or what the target starts with */
	/* Once it returns, each malloc and free of the target is seen. NULL: nothing to attach. */
	int (*attach)(struct session *s, struct err *e);
	/* Detaches. -EBADMSG with a sentence if the tool counted something else than the truth. */
	int (*detach)(struct session *s, const struct truth *truth, struct err *e);
	enum check check;
	enum layout layout;	/* of empty probes */
	char *args[4];		/* malloctrace's own */
	bool long_slices;	/* what it costs is an average over seconds */
	enum tool_id now;	/* of one that was before: what it is now; else 0 */
};

extern const struct tool tools[N_TOOLS];

/* A fresh target that has said that it is ready; nothing is attached yet. argv[0]: its path; cpu: NULL, or where it runs. */
int session__open(struct session *s, const struct paths *paths, enum tool_id id, const struct subject *subject,
		  char *const argv[], const char *cpu, struct err *e);
int session__attach(struct session *s, struct err *e);
int session__order(struct session *s, const struct order *o, struct answer *ret, struct err *e);
int session__detach(struct session *s, const struct truth *truth, struct err *e);
void session__close(struct session *s);

/* bench/malloctrace.c */
char *malloctrace__missing(const struct paths *paths, const struct tool *t);
int malloctrace__attach(struct session *s, struct err *e);
int malloctrace__detach(struct session *s, const struct truth *truth, struct err *e);

#endif
