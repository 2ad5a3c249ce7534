/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --mode leak: no free is seen. A block that was freed is noticed when its address comes again, by the programs, or when somebody
 * who has read the heap knows that it is not in use (struct use_calls): then it is taken out of the table here.
 */
#ifndef MT_FREED_H
#define MT_FREED_H

#include "collect/scan.h"

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

struct freed_site {		/* that were taken out here */
	uint64_t calls, bytes;
};

struct freed {
	const struct tables *tables;	/* not owned */
	struct freed_site *sites;	/* by number; NULL: frees are seen */
	struct freed_site *since;	/* the same since the last cut of our own: a mark's may be of before, and is read later */
};

void freed__init(struct freed *f, const struct tables *t);
void freed__done(struct freed *f);
/* What was taken out so far is in the cuts from now on. Called after the flip of a cut of our own. */
void freed__fold(struct freed *f);
/* Adds it to the frees of a cut's rows. */
void freed__settle(const struct freed *f, struct snap_site *v, size_t n);
/* A site's number is given to another. */
void freed__forget(struct freed *f, uint32_t site);
/* Takes what is not in use out of the table. If all is in use, nobody has to know that it is asked. */
void freed__drop(struct freed *f, const struct use_calls *uses, uint64_t now_ns);
/* About which part of the table is taken, 0 to 1. */
double freed__table_fill(const struct freed *f);

#endif
