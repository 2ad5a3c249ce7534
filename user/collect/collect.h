/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Kernel tables → a cut. */
#ifndef MT_COLLECT_H
#define MT_COLLECT_H

#include "model/cut.h"
#include "model/traced_block.h"
#include "probe/kernel.h"
#include "util/err.h"

struct collect;

enum block_use {
	BLOCK_IN_USE,
	BLOCK_UNSURE,		/* it may be in use, and counts as if it was */
	BLOCK_NOT_IN_USE,
};

struct use_calls {
	/* What is known of a block that is in the table, with the size that it has there; born_ns on the programs' clock. */
	enum block_use (*of)(uint32_t proc, uint64_t addr, uint64_t size, uint64_t born_ns, void *arg);
	void *arg;
};

struct code_calls {
	/* Was the code at an address the same at two times? */
	bool (*is_same)(uint32_t proc, uint64_t addr, uint64_t t1_ns, uint64_t t2_ns, void *arg);
	/* Do frames of that time go through code that need not have been what its file has? */
	bool (*is_written)(uint32_t proc, const uint64_t *frames, uint32_t n, uint64_t t_ns, void *arg);
	void *arg;
};

/* Sites whose stacks mean the same by code, which is the caller's, are one row, also where code came and went in between. */
int collect__new(struct kernel *k, const struct code_calls *code, struct collect **ret, struct err *e);
void collect__free(struct collect *c);

/*
 * --mode leak: what is not in use leaves the table, and counts as freed from now on. Waits for the programs that run at this moment,
 * some milliseconds.
 */
int collect__drop_unused(struct collect *c, const struct use_calls *uses, struct err *e);
/* Asks of each block in the table whose free is not seen, and changes nothing: of each the answer is BLOCK_IN_USE. */
void collect__walk_unseen(struct collect *c, const struct use_calls *uses);
/* About which part of the table is taken, 0 to 1, by blocks that are in use or not: some of it is looked at. */
double collect__table_fill(const struct collect *c);

struct cut_opts {
	bool scan;		/* exact ages: visit the whole block table, at a cost that grows with it */
	uint64_t older_ns;	/* with scan: count blocks older than this */
	bool ages;		/* with scan: count all blocks by age */
	bool blocks;		/* with scan: the addresses of some of them */
	uint64_t marked_ns;	/* the cut is a mark's, of that moment on the programs' clock; 0: it is of now */
	bool hold;		/* no mark may come before the next cut */
	void (*flipped)(void *arg);	/* called when its instant is over, and all that is still to be done is reading; NULL: nobody waits for that */
	void *arg;
	const struct site_look *looks;	/* by site number: rows have those of their process. NULL: none */
	size_t n_looks;
};

/*
 * Takes a cut. The target goes on undisturbed; this waits for the programs that
 * run at this moment, some milliseconds. Rows hold until the next cut. -EBUSY: a
 * mark has begun one, which is to be read first.
 */
int collect__cut(struct collect *c, const struct cut_opts *o, const struct cut **ret, struct err *e);
/* Heap scans that ended after the last raw snapshot go into its rows; v: by site number, it outlives them. */
void collect__put_looks(struct collect *c, const struct site_look *v, size_t n);

/* --mode leak: what the last cut has of this process's live blocks is not as it was. */
void collect__doubt_live(struct collect *c, uint32_t proc);

/* Is there such a one? */
bool collect__is_marked(const struct collect *c);

/*
 * Visits a part of the block table, for about budget_ns of our time: done now and
 * then, a cut without a scan knows the oldest blocks (scan__oldest_born_ns()).
 */
void collect__look(struct collect *c, uint64_t budget_ns);

/*
 * Without a cut (sums_now.c): a process's sums at this moment, within the events under way; the latter
 * two only if calls.
 */
struct proc_now {
	uint64_t live_bytes;
	uint64_t live_blocks, alloc_calls;
};
/* false: no such process is in the tables. */
bool collect__peek(const struct collect *c, uint32_t proc, bool calls, struct proc_now *ret);
uint64_t collect__alloc_calls(const struct collect *c, uint32_t proc);	/* the same, of these alone; 0: no such process */
/* Is this life not over yet, as far as the kernel's tables say at this moment? */
bool collect__goes_on(const struct collect *c, uint32_t proc);

/*
 * Without a cut (sums_now.c): the stack of a site of this process, as of a row of a cut; all else in
 * ret is 0. false: the number is not, or no longer, one of its sites.
 */
bool collect__stack(const struct collect *c, uint32_t site, uint32_t proc, struct snap_site *ret);

/*
 * Without a cut (sums_now.c): all of a process's, by address; *ret_now_ns is when, on the programs' clock. to is the
 * caller's, vec_done().
 */
void collect__blocks(const struct collect *c, uint32_t proc, struct traced_blocks *to, uint64_t *ret_now_ns);

/* The same of all processes, in no order and without those that a realloc has in its hands. */
void collect__each_block(const struct collect *c, void (*fn)(uint32_t site, uint64_t size, uint64_t born_ns, void *arg), void *arg);
/* --overhead: frees that were seen of a site's blocks, by age; else, or where c is NULL, NULL. */
const struct mt_ages *collect__ages(const struct collect *c, uint32_t site);

/* --mmap: the number of the site that mapped this, or most of it; 0: not all of it is known. */
uint32_t collect__mapping_site(const struct collect *c, uint32_t proc, uint64_t start, uint64_t end);

/*
 * Room for others, from processes that have ended (recycle.c). Called after a cut;
 * nothing is done as long as there is enough.
 */
enum room_wanted { ROOM_ENOUGH, ROOM_SOON, ROOM_AT_ONCE };
enum room_wanted collect__room_wanted(const struct collect *c);
/*
 * Removes blocks of processes that have ended, for about budget_ns of our time.
 * older_ns as in cut_opts. Called again after the first cut after that, it names the
 * processes: then their rows in this cut, which will never change again, are to be copied, and
 * collect__release() is to follow before the next one.
 */
struct leave_calls {
	/* Was everything that was reported about it handled? It ended ended_for_ns ago. */
	bool (*may_leave)(uint32_t proc, uint32_t how, uint64_t ended_for_ns, void *arg);
	void *arg;
};
void collect__sweep(struct collect *c, uint64_t budget_ns, uint64_t older_ns, const struct leave_calls *calls,
		    const uint32_t **ret, size_t *ret_n);
/* Their numbers, sites and slots are free. Rows of the last cut that are theirs hold no more. */
void collect__release(struct collect *c);
/*
 * Without a cut: is room for processes or sites about to run out? *ret_in_use says
 * whether anything has changed since the last call.
 */
bool collect__is_short(const struct collect *c, uint64_t *ret_in_use);
/*
 * Stacks that hold nothing, and were not used for a while, give their room to others (evict.c).
 * Called after a cut; *ret_any says that there are some, and that another cut is to follow.
 */
void collect__evict(struct collect *c, bool *ret_any);
/* Are there more than were to have room, and has it not just been found that hardly any can? */
bool collect__may_evict(const struct collect *c);
/* And is room about to run out? */
bool collect__must_evict(const struct collect *c);
/*
 * After that cut: the processes of which numbers of sites are about to be given to others. Whoever knows these by number
 * forgets them, then they are released. 0: none.
 */
const uint32_t *collect__evicted(const struct collect *c, size_t *ret_n);
size_t collect__release_evicted(struct collect *c);	/* how many stacks */
/* What the last sweep removed, and what it cost us. */
void collect__swept(const struct collect *c, uint64_t *ret_blocks, uint64_t *ret_cpu_ns);

#endif
