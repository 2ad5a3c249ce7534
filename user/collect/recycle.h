/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Room that processes left behind when they ended, and that of stacks that hold nothing, is given to others. For collect/ alone. */
#ifndef MT_RECYCLE_H
#define MT_RECYCLE_H

#include "collect/collect.h"
#include "collect/passes.h"

/* What is remembered of a site between cuts. */
struct memory {
	struct mt_counts bank[2];
	struct mt_vars vars[2];
	struct mt_rare rare[2];
	uint64_t at_peak_bytes;
};

struct proc_memory {
	struct mt_hist bank[2];
	uint64_t peak_bytes, peak_ns;
	bool new_peak;		/* in the bank that has just come to rest */
	uint32_t n_ended_cuts;	/* in which it was seen to have ended */
};

/* Stacks that hold nothing give up their room: evict.c. */
enum evict_state {
	EVICT_NOT,
	EVICT_CHOSEN,	/* nothing finds it any more, but a program that found it before may still run */
	EVICT_SETTLED,	/* what it counted is in the row of its process */
};

/* The sums of a process's sites that were given up, one for each function. */
struct evicted_rows vec(struct snap_site);

struct evict {
	struct evicted_rows *rows;	/* by slot */
	uint8_t *state;		/* by site number: enum evict_state */
	struct vec(uint32_t) sites, procs;	/* that are about to go, and whose they are */
	bool settled;		/* all of them */
	uint64_t not_before_ns;	/* there was hardly anything to give up: it is not tried again before */
};

struct collect {
	struct kernel *kernel;
	struct tables tables;
	struct memory *sites;		/* by site number, spare ones after them */
	struct proc_memory *procs;	/* by slot */
	uint64_t spot_hits[2][MT_MAX_SPOTS];	/* [bank] */
	struct links links;
	bool held;			/* the next cut has been claimed */
	struct cut cut;
	size_t site_room, thread_room;
	uint32_t n_used_sites;		/* in the last cut */
	struct scan scan;
	struct sweep sweep;
	struct evict evict;
	struct freed freed;
	struct foreign {		/* losses of processes that turned out not to be selected, and whose slots are others' now */
		uint64_t blocks, stacks;
	} foreign;
	struct age_counts ages;
	struct block_sample blocks;
	struct vec(uint32_t) leaving;	/* processes that the sweep under way, or the last one, is for */
	bool all_gone;			/* the last cut was taken after their sweep */
	const struct code_calls *code;	/* the caller's */
	bool recycled;			/* some room was given to others: a stack may have two sites */
};

/*
 * repeats.c: two sites of the same process, function and stack become one row, and so do rows of
 * frees. code: addresses that are the same may mean the same, NULL: they do if hashes are.
 */
void collect__merge_repeats(struct cut *cut, const struct code_calls *code);

/*
 * cut_rows.c: the rows of the cut that is being made, of the bank that came to rest. Those of processes come first: sites go
 * by them.
 */
void cut_rows__read_procs(struct collect *c, uint32_t bank);
void cut_rows__read_spots(struct collect *c, uint32_t bank);
void cut_rows__read_sites(struct collect *c, uint32_t bank);
void cut_rows__read_threads(struct collect *c);
/* One more of a site, not zeroed. */
struct snap_site *cut_rows__new_site(struct collect *c);

/* A site whose number nobody knows is given back; or only, it is not found by its stack any more. */
void recycle__free_site(struct collect *c, uint32_t site);
void recycle__leave_index(struct collect *c, uint32_t site, uint64_t hash);

void evict__init(struct collect *c);
void evict__done(struct collect *c);
/* Of a cut whose banks have been read, before rows are joined: what goes, and rows of what is gone. */
void evict__settle(struct collect *c);

#endif
