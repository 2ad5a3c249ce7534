/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What changes how figures are to be read, in words: once for reports, the live view, pages and every file. */
#ifndef MT_CAVEATS_H
#define MT_CAVEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "util/parse.h"

/* ---- what reports, the live view and pages say of a machine as a whole, in words. Strings are the caller's; NULL: nothing is to be said. */

/* "23.5 GiB, 22.9 GiB available, 21.2 GiB free" */
char *machine__words(const struct snapshot *s);

/* --overhead of processes that come and go: "12% of the CPU time observed", "12% of the time observed" where they were named. */
const char *observed__words(const struct snapshot *s, char buf[static 3 * FMT_MAX]);
/* "31 processes were probed in turn, and the figures cover only these; 120 run now"; NULL where all are watched. */
char *watched__words(const struct snapshot *s);
/* What "?" means where an error is not known, and a figure with it; NULL: all are. Nobody's. */
const char *unmet__words(const struct snapshot *s);
/* Are estimates of live memory less than their standard error? Then rows of sites say nothing. */
bool is_noise(const struct snapshot *s);
/* "trace for about 2 min, or use --sample 64K": what makes them precise enough. The caller's. */
char *noise__advice(const struct snapshot *s);

/* What the probes take of the targets' CPU time, in parts of a hundred; 0: not known. From COST_SAID_PCT on it is worth a word. */
#define COST_SAID_PCT 5
double cost__pct(uint64_t probe_ns, uint64_t target_cpu_ns);
/* "took about 31% of its CPU time (--overhead 5 limits it)" */
char *cost__words(const struct snapshot *s);
/* Can --overhead be given with what this trace recorded? */
bool cost__can_be_bounded(const struct snapshot *s);

/* Processes that have ended, among others that run. */
struct ended {
	uint64_t n, live_blocks, live_bytes;
};
/* of: the row of a program's processes, say; NULL: all. False: none has, or all have. */
bool ended__sum(const struct snapshot *s, const struct snap_process *of, struct ended *ret);
/* "112, held 12.3 MiB when they did: cc1 9.1 MiB, awk 1.2 MiB and 14 others" */
char *ended__words(const struct snapshot *s, const struct snap_process *of);
/* "sh started 3 processes that were not traced: add -f"; the caller's; NULL: there are none. */
char *unfollowed__words(const struct snapshot *s);

/* ---- --mode leak: what the figures of live blocks go by, in words */

/*
 * "read in 17ms, 20ms before this report; up to 200 blocks that were freed since may still count as live". The caller's; NULL: it
 * is another mode.
 */
char *reading__words(const struct snapshot *s);
/* "live figures of a mark are those of the last time before it that the heap was read"; NULL: they are of the mark. */
const char *reading__mark_words(const struct snapshot *s);

/* ---- Processes that ran, and of which no call was seen, or fewer than explain their growth (model/heaps.h). */

#define BLIND_MAX 96

size_t blind__n(const struct snapshot *s);
/* One of them, of which there is the most to say; NULL: none. */
const struct snap_process *blind__first(const struct snapshot *s);
/* " in 1.20s of CPU time, in which it grew by 64.0 MiB", after "no allocation seen" */
const char *blind__ran(const struct snap_process *p, char buf[static BLIND_MAX]);
#define BLIND_RAN(p) blind__ran(p, (char[BLIND_MAX]){})

#define UNEXPLAINED_MAX 192

/* The process with the most of it; NULL: none has any. */
const struct snap_process *unexplained__most(const struct snapshot *s);
/* "grew by 150.0 MiB, of which 20.0 MiB are explained by what was seen: ..." */
const char *unexplained__words(const struct snap_process *p, char buf[static UNEXPLAINED_MAX]);
#define UNEXPLAINED(p) unexplained__words(p, (char[UNEXPLAINED_MAX]){})

/* ---- How a process ended, in words. */

#define DEATH_MAX 48

/* "ended", "ended by SIGSEGV", "killed: out of memory"; "" while it goes on */
const char *death__words(const struct snap_process *p, char buf[static DEATH_MAX]);
#define DEATH(p) death__words(p, (char[DEATH_MAX]){})
/* The same for a narrow column: "ended", "SIGSEGV", "OOM" */
const char *death__word(const struct snap_process *p, char buf[static DEATH_MAX]);

/* ---- Frames without a function's name: how many there are, whose they are, and what would name them. */

#define MISSING_FILES 3

struct missing_names {
	const char *what;	/* "frames" */
	uint64_t n_frames, n_unnamed;
	const struct snap_module *files[MISSING_FILES];	/* those with most of them first */
	size_t n_files;		/* of files */
	size_t n_more;		/* files that have some, too */
};

/*
 * Of the stacks whose names were looked up, each site's once. What every program has (the C library, allocators) says nothing about this one,
 * and what is in no file (a JIT's code) is no file's fault: they do not count. True: half of them or more have no name, and ret holds; strings are the snapshot's.
 */
bool missing_names__find(const struct snapshot *s, struct missing_names *ret);
/*
 * "72% of the program's frames have no name (nginx, libssl.so.3): install nginx-dbgsym libssl3-dbgsym, or try --debuginfod". install: what to install;
 * NULL: it is not known. debuginfod: servers were asked already. traced: names can still come, else they had to be there
 * when it was recorded. The caller's.
 */
char *missing_names__words(const struct missing_names *m, const char *install, bool debuginfod, bool traced);

/*
 * Of Python, whose names come from the running process alone: "12 of 5,794 stacks have frames of Python without a name: ...",
 * or how often there was no room for any. The caller's; NULL: all have theirs.
 */
char *missing_names__of_python(const struct snapshot *s);

/*
 * "functions inlined in shopd and 2 more files are not shown: their .dwo files (-gsplit-dwarf) are
 * not read". The caller's; NULL: there are none.
 */
char *missing_names__of_inlines(const struct snapshot *s);

#endif
