/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Faults on purpose for live tests: what fails, in whom, and how often. */
#ifndef LT_MISHAP_H
#define LT_MISHAP_H

#include "../fixtures/mishap.h"
#include "lt.h"

/* Kinds of calls: those that fail are of one of them. */
enum mishap_kind {
	MISHAP_MEMORY = 1,	/* malloc and its like: libmishap.so */
	MISHAP_KERNEL = 2,	/* bpf, perf_event_open */
	MISHAP_FILES = 4,	/* opening and reading */
	MISHAP_WRITES = 8,	/* writing, renaming: but for standard error, where the words come out */
	MISHAP_OTHERS = 16,	/* memory maps, threads, descriptors, signals, timers */
	MISHAP_COMPARES = 32,	/* kcmp: to be counted */
};

/*
 * Which calls fail, one after the other: about `some` of them, the same each time as long as the runs are alike. With MISHAPS=all each,
 * until none fails; with MISHAPS='all 51-54' those alone.
 */
struct walk {
	uint64_t at, step, last;
};
/* After a run in which none failed. */
struct walk mishap__walk(const struct mishap *m, uint64_t some);
/* Is there another one, after the run that was just made? */
bool walk__next(struct walk *w, const struct mishap *m);
/* It is over: if it was of all, says how many there were. */
void walk__tell(const struct walk *w, const char *what, enum mishap_kind kind);

/* In memory that is shared, and in a file of the test's directory. */
struct mishap *mishap__new(struct test *t);
/* The next run: the call of malloctrace's that a walk is at fails, and all after it if lasting; 0: none. */
void mishap__ask(struct test *t, struct mishap *m, uint64_t at, bool lasting);
/* It was made: failed checks say from here on which call it was. */
void mishap__has_been(struct test *t, const struct mishap *m);
/* Before child__start() and after it: s gets what it needs. mishap__begun() is for system calls, and does nothing for memory. */
void mishap__prepare(struct test *t, struct mishap *m, enum mishap_kind kind, struct spawn *s);
void mishap__begun(void);

#endif
