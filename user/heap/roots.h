/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Where pointers to blocks may lie outside of the heap: memory that can be or was written (data of modules, anonymous and shared
 * mappings, stacks with thread-local storage above them), registers, and what the kernel keeps for a process (epoll, timers, stacks for signals).
 *
 * A stack is read from its thread's stack pointer on: what lies below was left by calls that have returned, and would keep lost
 * blocks alive. That holds only as long as the thread sleeps, so the part below is kept apart, and
 * read later if the thread ran meanwhile. Where nothing tells a stack from other memory, all of it is read.
 */
#ifndef MT_ROOTS_H
#define MT_ROOTS_H

#include "heap/census.h"
#include "heap/reach.h"
#include "heap/search.h"

/* In this order they are searched, so that a block is told by the first that holds it. */
enum root_area { AREA_MODULE, AREA_MAPPING, AREA_STACK };

struct root_range {
	uint64_t start, end;
	enum root_area area;
	uint32_t thread;	/* of what lies below a stack pointer: index into threads */
};

struct root_word {
	uint64_t value;
	int tid;		/* of a register; else enum root_keeper */
};

struct roots {
	struct vec(struct root_range) ranges;	/* by area and address */
	struct vec(struct root_range) below;	/* stacks below their stack pointers */
	struct vec(struct root_word) words;
	struct vec(struct heap_range) grown;	/* where the heap may have grown to since the census; by address */
	struct target_thread *threads;	/* owned */
	size_t n_threads;
	uint64_t searched_bytes;	/* of memory that was there, by roots__search() */
	bool stopped;			/* for the registers */
	bool missing;			/* they could not be read, of no thread */
	size_t n_unread;		/* threads that they could not be read of */
};

/*
 * What they are now: mappings and registers are read anew. c: what is the heap's own. Registers that cannot be read are no failure:
 * ret->missing. -ESRCH, -ENOMEM.
 */
int roots__look(struct roots *ret, struct target *t, const struct census *c, const struct reach_opts *o, struct err *e);
void roots__done(struct roots *r);

/*
 * addr: of the word; 0: a register's, or the kernel's. to: where it points to. block: NO_BLOCK if that is none, and the index tells such
 * words.
 */
typedef void (*root_fn)(uint64_t addr, int tid, uint64_t to, uint32_t block, void *arg);

/* Calls fn for each word that points into a block of x and does not lie in one itself. -EINTR. */
int roots__search(struct roots *r, struct search *s, const struct block_index *x, root_fn fn, void *arg);
/* Those that lie in data of modules, once more. */
int roots__search_variables(struct roots *r, struct search *s, const struct block_index *x, root_fn fn, void *arg);
bool roots__is_variable(const struct roots *r, uint64_t addr);
/*
 * The stacks of threads that ran since roots__look() again, below what was their stack pointer, and the registers of now.
 * To be called when all other memory has been read.
 */
int roots__search_moved(struct roots *r, struct search *s, const struct block_index *x, const struct reach_opts *o, root_fn fn,
			void *arg);
uint64_t roots__bytes(const struct roots *r);	/* there or not */

/* ---- for the tests */

/* Which parts of the mappings are roots. threads: whose stacks and stack pointers are known. */
int roots__ranges(struct roots *r, const struct maps *maps, const struct census *c, struct err *e);
/* The data of each descriptor, from the text of an epoll's fdinfo; or a timer's, from /proc/PID/timers. */
int roots__parse_kept(struct roots *r, const char *text, const char *key, enum root_keeper keeper);

#endif
