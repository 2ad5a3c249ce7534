/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --events: calls as lines of text. */
#ifndef MT_CALL_LINES_H
#define MT_CALL_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "model/snapshot.h"

struct call_line {
	int64_t wall_ns;	/* since 1970 */
	pid_t pid, tid;
	const char *thread;	/* its name, clean */
	enum mt_told_kind kind;
	const char *function;	/* that was called; NULL: none was seen */
	uint64_t size;		/* MT_TOLD_UNKNOWN, MT_TOLD_UNSIZED: not known */
	uint64_t addr;		/* 0: not known */
	uint64_t lived_ns;	/* UINT64_MAX: not known, or it lives */
	const char *site;	/* call_line__site(); NULL: not known */
	const char *where;	/* the same of the free; NULL: not recorded */
};

/* All zero, but for pids: ready. */
struct call_lines {
	bool pids;		/* of several processes */
	int64_t second;		/* whose text is in `clock` */
	char clock[16];
};

void call_lines__header(const struct call_lines *l, FILE *out);
void call_lines__put(struct call_lines *l, const struct call_line *c, FILE *out);
/* In the place of so many lines: "... 1,204 events not shown: the ring was full" */
void call_lines__gap(FILE *out, uint64_t n, const char *why);

/* The frame that a site is known by, and its callers: "token_make < session_open < main". The caller's. */
char *call_line__site(const struct snapshot *s, const struct snap_site *site);
#define CALL_LINE_FRAMES 3

#endif
