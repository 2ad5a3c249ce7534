/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The pointers of a range of memory, a window at a time: no more of a process's memory is ever here, and only for so
 * long. Pages that are not there cost nothing, however large the range is (before 6.7: target.c).
 */
#ifndef MT_REACH_PARTS_H
#define MT_REACH_PARTS_H

#include "heap/block_index.h"
#include "heap/census.h"
#include "heap/reach.h"
#include "heap/target.h"
#include "util/hash.h"
#include "util/ids.h"

#define SEARCH_WINDOW_BYTES (128u * 1024)

/* What a window has: addr is that of its first word. */
typedef void (*window_fn)(uint64_t addr, const struct found_pointer *found, size_t n, void *arg);

struct search {
	struct target *t;	/* not owned */
	uint64_t *words;	/* owned */
	struct found_pointer *found;	/* owned; as many */
	/* for target_calls.progress: what is being done, and where its part of all begins and ends */
	char what[48];
	double part, part_end;
	uint64_t bytes, of_bytes;	/* gone through so far, and about how many there will be */
	uint64_t present_bytes;		/* that were there, in all */
	/* of mapped files: */
	uint64_t unread_bytes;		/* in all */
	uint64_t files_left;		/* bytes that may be read through files in this scan */
	uint64_t began_ns;		/* when the program did (process__program_began_ns()) */
	char *mounts, *own_mounts;	/* owned; mountinfo of the process, and malloctrace's own; NULL: not read yet */
	/*
	 * Words that point to a glibc block's header count, too: while it is being allocated or freed, there may be no other.
	 */
	bool headers;
};

void search__init(struct search *s, struct target *t);
void search__done(struct search *s);
/* From here on it is this that is being done. */
void search__begin(struct search *s, const char *what, double part, double part_end, uint64_t of_bytes);
/* Calls fn for each window of [start, end) in which a word points into a block of x. -EINTR. */
int search__range(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg);

/* Pages of mapped files, shared memory among them, that the process has no page-table entry for. */

/*
 * Did the file of a mapping change while the program ran, so that it may hold pointers of it?
 * unknown: the answer where nobody says. A file that did not change has none.
 */
bool file_pages__are_rewritten(struct search *s, const struct mapping *m, bool unknown);
/* As search__range(), of these pages of m; those that cannot be read are added to s->unread_bytes. -EINTR */
int file_pages__search(struct search *s, const struct mapping *m, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn,
			 void *arg);

/*
 * Where pointers to blocks may lie outside of the heap: memory that can be or was written (data of modules, anonymous and shared
 * mappings, stacks with thread-local storage above them), registers, and what the kernel keeps for a process (epoll, timers, stacks for signals).
 *
 * A stack is read from its thread's stack pointer on: what lies below was left by calls that have returned, and would keep lost
 * blocks alive. That holds only as long as the thread sleeps, so the part below is kept apart, and
 * read later if the thread ran meanwhile. Where nothing tells a stack from other memory, all of it is read.
 */

/* In this order they are searched, so that a block is told by the first that holds it. */
enum root_area { AREA_MODULE, AREA_THREAD_LOCAL, AREA_MAPPING, AREA_STACK };

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
	bool async_io;			/* requests may be under way whose pointers the kernel alone has: Linux AIO, io_uring */
	bool kept_in_part;		/* some of what the kernel keeps: it is too much, or refused */
	size_t n_unread;		/* threads that they could not be read of */
};

/*
 * What they are now: mappings and registers are read anew. c: what is the heap's own. Registers that cannot be read are no failure:
 * ret->missing. -ESRCH, -EINTR.
 */
int roots__look(struct roots *ret, struct search *s, const struct census *c, const struct reach_opts *o, struct err *e);
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

/* Which parts of the mappings are roots. threads: whose stacks and stack pointers are known. locals: reach_opts.thread_locals. */
void roots__ranges(struct roots *r, const struct maps *maps, const struct census *c, const struct heap_ranges *locals);
/* The data of each descriptor, from the text of an epoll's fdinfo; or a timer's, from /proc/PID/timers. */
void roots__parse_kept(struct roots *r, const char *text, const char *key, enum root_keeper keeper);

/*
 * Blocks that a census does not have because they are newer. A list that grows at its head is held by one of them: the variable
 * points to a block that was not there yet, which leads to all that was. Without it the whole list would be told by whatever
 * else points into it, which may be a word that a function left on its stack long ago.
 *
 * They are told by the words that point to them, and numbered in the order in which these are met. Where one begins and ends,
 * glibc's own headers say. Of free memory, which stale pointers lead to, none is made.
 */

struct lines;

struct newer {
	struct target *t;	/* not owned, all three */
	const struct census *c;
	const struct block_index *index;
	struct lines *lines;	/* owned */
	struct vec(uint64_t) at;	/* where words point to */
	struct id_table numbers;	/* of these */
	struct vec(struct heap_range) grown;	/* roots.grown */
	struct hash gaps;	/* number of the block before it → struct gap */
	uint64_t n_steps;	/* from header to header, in all */
};

#define MAX_NEWER (1u << 20)

void newer__init(struct newer *n, struct target *t, const struct census *c, const struct block_index *x);
void newer__done(struct newer *n);
/* Is it the allocator's memory? */
bool newer__may_be(const struct newer *n, uint64_t addr);
/*
 * Which one an address that lies in no block belongs to, or NO_BLOCK: it is not the allocator's memory, or there are too many. Several addresses
 * in one block have several numbers.
 */
uint32_t newer__number(struct newer *n, uint64_t addr);
/*
 * Where the block that an address is in lies. false: none is there that is in use. Memory is read once, as n->lines has it: of addresses that
 * have a number, to be called when all numbers were given that others than these blocks lead to.
 */
bool newer__find(struct newer *n, uint64_t addr, struct heap_range *ret);

/*
 * The first scan: which blocks are reached from roots, through blocks. Memory is read once, in the order of addresses: what
 * a block that is reached already points to is reached at once; of others the pointers are kept as edges, in case they are
 * reached later. With roots, nothing is marked before all edges are known: then each root in turn takes all that it
 * reaches, so that a block is told by the first root, and a stack that looks into a cache does not take it from the
 * variable that holds it.
 *
 * With roots, blocks that are newer than the census are gone through as well: they tell who holds a block, and not
 * that it is reached. A stale pointer to what was freed may look like one to a newer block, and would keep a lost one alive.
 */

/* Blocks that point to blocks, by their numbers. */
struct edges {
	uint32_t *first;	/* owned; of each block, and one behind the last */
	struct vec(uint32_t) to;
};
void edges__done(struct edges *g);

struct root_hit {
	uint64_t addr;
	int tid;
	uint32_t block;
};

struct mark {
	const struct census *c;		/* not owned */
	struct block_index index;
	uint8_t *state;			/* owned; of each block, and then of each newer one: bits of mark.c */
	struct edges edges;
	uint64_t max_edges;
	uint32_t n_read;		/* blocks whose words were read, or of the last one some */
	struct vec(uint32_t) pending;	/* reached, and their edges not yet followed */
	bool crowded;			/* there were too many edges: who is pointed to counts as reached */
	/* with roots */
	bool by_root;
	uint32_t *root;			/* owned; of each block, index into roots + 1 */
	uint64_t n_newer_edges;
	struct newer newer;		/* zeroed: they are not looked for. Their numbers follow those of the blocks */
	const struct search *s;		/* not owned; whose words are being looked at */
	struct vec(struct reach_root) roots;
	struct vec(struct root_hit) hits;	/* to be followed in this order */
};

int mark__init(struct mark *m, const struct census *c, bool by_root, struct err *e);
void mark__done(struct mark *m);
/* All of it: roots, the heap, what follows from them. */
int mark__run(struct mark *m, struct search *s, struct roots *r, const struct reach_opts *o, struct err *e);
bool mark__is_reached(const struct mark *m, uint32_t block);
/* A root that holds something: its number, index into roots + 1. addr, tid: as of struct reach_root. */
uint32_t mark__new_root(struct mark *m, uint64_t addr, int tid);

/*
 * Calls fn for all memory that blocks lie in, in stretches: what lies between blocks that are close to each other is in them, too.
 */
int blocks__search(const struct heap_block *blocks, size_t n, struct search *s, const struct block_index *x, window_fn fn,
		   void *arg);

/*
 * Blocks that the first scan did not reach, and what later scans find out about them. A scan takes longer than a list's head stays
 * where it is, so what looks lost in one scan, or in each of several, may only have moved while it was read. The rule:
 *
 *   - nothing but what points to a candidate is asked for: from roots, before and after the heap; from every block that was
 *     ever reached; from every block that is new;
 *   - from roots, what they point to is followed at once, block by block, as far as a bound allows: where heads of lists
 *     move too fast for a scan, that is fast enough;
 *   - a candidate that is pointed to is none any more, for good. What it points to now is none either, nor what it
 *     pointed to in the first scan: it could be reached then, and so could they;
 *   - so it is with one that was freed, or has another size now: who frees a block has a pointer to it.
 *
 * What was really lost before the first scan has no pointer in any of these, and stays.
 */

struct candidates {
	struct vec(struct heap_block) blocks;	/* by address */
	struct vec(uint32_t) number;		/* of each, among the blocks of the first scan */
	struct edges edges;			/* as of the first scan */
	uint8_t *left;				/* owned; of each: it is none any more */
	uint64_t n_remain;
	uint64_t n_hit;				/* that the last scan found a pointer to */
	struct block_index index;
	struct vec(uint32_t) fresh;		/* that left, and whose pointers are still to be followed */
	struct mark *first;			/* not owned; the first scan: with roots, who holds what */
	const struct search *s;			/* not owned; of the scan: its words are looked at */
};

/* m is there as long as these are; its edges and its index are not. */
int candidates__init(struct candidates *c, struct mark *m, struct err *e);
void candidates__done(struct candidates *c);
/* One more scan. now: the blocks of this moment; the caller's. */
int candidates__scan(struct candidates *c, struct search *s, const struct census *now, const struct reach_opts *o,
		     struct reach_result *note, struct err *e);
/*
 * Of those that remain: UNREACHED or UNREACHED_INDIRECT, only pointed to by others of them. Of a circle that no other candidate points
 * into, the first one by address is direct: so each of them is reached from a direct one, and no direct one from another.
 * to: of each candidate; of those that left it is REACHED.
 */
void candidates__judge(const struct candidates *c, uint8_t *to);

#endif
