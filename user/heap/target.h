/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The memory of a process, read from outside: never written to, and stopped only on request. Pages that
 * are not there are not read, because reading would make them be there: pagemap is asked first.
 *
 * The process is hostile: everything that is read may be anything, and may have changed since.
 */
#ifndef MT_TARGET_H
#define MT_TARGET_H

#include "process/maps.h"
#include "util/err.h"
#include "util/util.h"

struct target_calls {
	/* Asked at least every few milliseconds: true ends what is under way with -EINTR. NULL: nobody. */
	bool (*is_over)(void *arg);
	/* What is being done, and how much of it is done, from 0 to 1. NULL: nobody wants to know. */
	void (*progress)(const char *what, double part, void *arg);
	/* A file that it maps could not be read, for want of something (err_is_want()): what is in it has no names. NULL: nobody wants to know. */
	void (*unread)(const char *path, const char *why, void *arg);
	void *arg;
};

struct keeping;			/* process/keeper.h */
struct target_stopped;		/* threads that ptrace holds */

struct target {
	pid_t pid;
	pid_t runner;		/* a thread of it that runs: most of /proc is read from there. 0: that memory is nobody's, but is kept */
	struct keeping *kept;	/* not owned; NULL: it ends with its process */
	int pagemap;		/* owned */
	struct maps maps;	/* owned; as of target__refresh() */
	const struct target_calls *calls;	/* not owned; may be NULL */
	double pace;		/* reads take at most this part of the time; 0: all of it */
	struct target_stopped *stopped;	/* owned; NULL: it runs */
	/* what was done so far */
	uint64_t read_bytes, n_reads, swapped_bytes;
	uint64_t paused_ns;	/* how long it has been stopped in all */
	int failed;		/* -errno: the kernel refused what is no matter of the process's memory; what was found lacks something */
	uint64_t stop_max_ns;	/* how long a stop may take, set by the caller; 0: a second */
	bool stop_failed;	/* one for registers: they are not worth another one */
	uint64_t page_bytes;	/* the kernel's */
	uint64_t debt_ns;	/* of rest, that the pace asks for */
	/* page_runs.c's: */
	uint64_t scan_mask;	/* what the kernel tells of runs of pages; 0: it has none */
	uint64_t absent_left;	/* of what may be looked at until page_runs__begin() */
	uint64_t passed_over_bytes;	/* that were too much since then */
};

/* -EPERM, -ESRCH, with a sentence that says what to do. */
int target__open(pid_t pid, const struct target_calls *calls, struct target *ret, struct err *e);
/*
 * Memory that is kept: of a process that runs, or that has ended or become another program since; then it stands still, and has no threads.
 */
int target__open_kept(struct keeping *k, const struct target_calls *calls, struct target *ret, struct err *e);
void target__done(struct target *t);	/* lets it go on, if it is stopped */
/* Its mappings, anew. -ESRCH: it has ended, or become another program, and nobody kept its memory. */
int target__refresh(struct target *t, struct err *e);

/* All of n bytes, or false: where one of their pages is not there, too. For small things. */
bool target__read(struct target *t, uint64_t addr, void *to, size_t n);
/*
 * n bytes; those of pages that are not there (or are swapped, or go away) are 0. Returns how many were there.
 * Keeps t->pace.
 */
size_t target__read_present(struct target *t, uint64_t addr, void *to, size_t n);
/* For each page from start on, a byte of enum target_page. */
enum target_page { PAGE_ABSENT, PAGE_PRESENT, PAGE_SWAPPED };
void target__pages(struct target *t, uint64_t start, size_t n_pages, uint8_t *to);
/* What was asked of /proc was not told: for want of something (err_is_want()), and the look is none; or because it has ended, or by a rule. */
void target__note_untold(struct target *t, int err);
bool target__is_over(const struct target *t);
/* -EINTR: it is over, as t->calls says. what, part: as of target_calls.progress. */
int target__go_on(struct target *t, const char *what, double part);

/*
 * How often its threads have run. The same number twice, which is not 0: none of them ran in between. 0: one runs, or there are
 * too many to ask.
 */
uint64_t target__runs(struct target *t);

uint64_t target__n_threads(const struct target *t);	/* 0: what is read is nobody's any more */

/* Stops all its threads (ptrace); bounded: -ETIMEDOUT after stop_max_ns, and all go on. What has none stands still as it is. */
int target__pause(struct target *t, struct err *e);
/* Lets one that is stopped go on for so long, and stops it again. */
int target__pause_later(struct target *t, uint64_t ns, struct err *e);
void target__resume(struct target *t);

#define TARGET_MAX_REGISTERS 32
#define NO_SYSCALL (-1)
/* Registers of a thread. */
struct target_thread {
	int tid;
	uint64_t sp, tp;	/* 0: not known */
	/* of a stopped one: */
	uint64_t pc;
	int64_t syscall;	/* in which it is, or that has just returned; NO_SYSCALL: in none */
	uint64_t regs[TARGET_MAX_REGISTERS];
	uint32_t n_regs;	/* 0: they could not be read */
	uint64_t signal_stack;	/* the kernel's pointer to one that sigaltstack() was given; 0: none, or not known, as ptrace does not tell it */
	uint64_t switches;	/* how often it has left a processor; with sp, which is 0 of a thread that runs, tells whether it ran */
};
/* Of a stopped one, by ptrace. *ret is the caller's to free. */
int target__registers(struct target *t, struct target_thread **ret, size_t *ret_n, struct err *e);
/* Of one that runs, by a stop of its own, a short one: threads that do not stop within some tens of milliseconds are left out, and counted. */
int target__stop_for_registers(struct target *t, struct target_thread **ret, size_t *ret_n, size_t *ret_n_unread, struct err *e);

#endif
