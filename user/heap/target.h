/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The memory of a process, read from outside: never written to, and stopped only on request. Pages that
 * are not there are not read, because reading would make them be there: pagemap is asked first.
 *
 * The process is hostile: everything that is read may be anything, and may have changed since.
 */
#ifndef MT_TARGET_H
#define MT_TARGET_H


#include "bpf/abi_registers.h"
#include "process/maps.h"
#include "process/memory.h"
#include "process/sharers.h"
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
	struct sharers sharers;	/* owned; other processes with the same memory, when it was opened or last stopped */
	struct keeping *kept;	/* not owned; NULL: it ends with its process */
	struct memory memory;	/* owned; with what was read so far */
	struct maps maps;	/* owned; as of target__refresh() */
	const struct target_calls *calls;	/* not owned; may be NULL */
	struct target_stopped *stopped;	/* owned; NULL: it runs */
	uint64_t paused_ns;	/* how long it has been stopped in all */
	uint64_t stop_max_ns;	/* how long a stop may take, set by the caller; 0: a second */
	bool stop_failed;	/* one for registers: they are not worth another one */
	uint64_t page_bytes;	/* the kernel's */
	/* target.c's: */
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

/* pid, then those of the other processes that share its memory; 0: there are no more. */
pid_t target__pid_at(const struct target *t, size_t i);

/* Stops all its threads (ptrace), and those of processes that share its memory; bounded: -ETIMEDOUT after stop_max_ns, and all go on. What has none stands still as it is. */
int target__pause(struct target *t, struct err *e);
/* Lets one that is stopped go on for so long, and stops it again. */
int target__pause_later(struct target *t, uint64_t ns, struct err *e);
void target__resume(struct target *t);

#define NO_SYSCALL (-1)
/* Registers of a thread. */
struct target_thread {
	int tid;
	uint64_t sp, tp;	/* 0: not known */
	/* of a stopped one: */
	uint64_t pc;
	int64_t syscall;	/* in which it is, or that has just returned; NO_SYSCALL: in none */
	uint64_t regs[MT_MAX_REGISTERS];
	uint32_t n_regs;	/* 0: they could not be read */
	uint64_t signal_stack;	/* the kernel's pointer to one that sigaltstack() was given; 0: none, or not known, as ptrace does not tell it */
	uint64_t switches;	/* how often it has left a processor; with sp, which is 0 of a thread that runs, tells whether it ran */
};
/* Of a stopped one, by ptrace. *ret is the caller's to free. */
int target__registers(struct target *t, struct target_thread **ret, size_t *ret_n, struct err *e);
/* Of one that runs, by a stop of its own, a short one: threads that do not stop within some tens of milliseconds are left out, and counted. */
int target__stop_for_registers(struct target *t, struct target_thread **ret, size_t *ret_n, size_t *ret_n_unread, struct err *e);

/*
 * Which pages of a process are memory, as the kernel counts it: the one way in which they are looked for. The kernel's
 * pages of zeros are none, nor are guards.
 */

/* RUN_UNSURE: a page of zeros that is nobody's, or one that is shared with a child; told by kernels from 6.7 on, or to root */
enum run { RUN_RESIDENT, RUN_SWAPPED, RUN_UNSURE };

struct page_run {		/* of whole pages */
	uint64_t start, end;
	enum run is;
};

#define PAGE_RUNS_KNOWN 64

/* The runs of a stretch of memory, by address: { .t, .at, .end }. */
struct page_runs {
	struct target *t;
	uint64_t at, end;	/* what was not told yet; who asks may move at on */
	uint64_t swapped_bytes;	/* that page_runs__next_page() has passed over */
	/* target.c's own: runs that are known, up to an address, and which is the next; pages that were met and are not there */
	struct page_run known[PAGE_RUNS_KNOWN];
	size_t n_known, next;
	uint64_t known_until, n_absent;
};

/* How they are to be found; t->memory is open. */
void page_runs__learn(struct target *t);
/* Does what was never touched cost nothing? */
bool page_runs__passes_over(const struct target *t);
/* A pass over its memory begins. Where what was never touched costs something, there is a bound on it, for each pass. */
void page_runs__begin(struct target *t);
/*
 * The next run of pages that are there or swapped. What is a device's and no memory is not told. 1: *ret is one; 0: that were
 * all; -E2BIG: what is left is too much to be looked at, and is in t->passed_over_bytes; -EINTR: t->calls says that it is over.
 */
int page_runs__next(struct page_runs *r, struct page_run *ret);
/*
 * The next page that is there, for who reads it: what is told was so a moment ago. False: there are no more, or as above; who looks for
 * much asks again whether it is over.
 */
bool page_runs__next_page(struct page_runs *r, uint64_t *ret);
/* How much of [start, end) is there, of its whole pages. */
uint64_t page_runs__resident(struct target *t, uint64_t start, uint64_t end);

#endif
