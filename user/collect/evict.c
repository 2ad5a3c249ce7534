// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the giving up of stacks that hold nothing, also while their process lives, so that new
 * stacks find room. What they counted goes on in a row of their process and function
 * without a stack, whose `evicted_stacks` says of how many it is the sum.
 *
 *   choose    sites of which no block is left and that were not used for a while leave the index, and what
 *             threads remember of them is void (mt_proc.gen)
 *   settle    at the next cut all programs that may have found them before are over, and nothing
 *             leads to them: no block names them. What they counted is final, and their rows become part of that
 *             of their process. One that was used at the last moment and holds something now stays as it is: if its stack
 *             comes again there are two sites of it, which a cut adds up
 *   release   when nobody knows their numbers any more, they are zeroed and given back
 *
 * What always holds: a process's sums do not change by it, and what holds memory keeps its stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/recycle.h"
#include "malloctrace.skel.h"
#include "model/merge.h"

/*
 * What was used within this time may be used again at once; where room is about to run out, within the other: in that time a
 * program that makes a site has put it into the index, however long it was kept from its CPU.
 */
#define IDLE_NS SECOND_NS
#define HASTY_IDLE_NS (SECOND_NS / 5)
/* If so few of all sites could be given up, it is not tried again for a while: the rest holds memory. */
#define FEW_PART 16
#define TRY_AGAIN_NS SECOND_NS

struct choice {
	uint64_t calls, last_ns;
	uint32_t site;
};

/* What was called least, and longest ago. */
COMPARATOR(by_worth, struct choice, ORDER(a->calls, b->calls) ?: ORDER(a->last_ns, b->last_ns))

void evict__init(struct collect *c)
{
	c->evict.rows = xcalloc(c->kernel->sizes.n_procs, sizeof(*c->evict.rows));
	c->evict.state = xcalloc(c->kernel->sizes.n_sites, sizeof(*c->evict.state));
}

void evict__done(struct collect *c)
{
	for (uint32_t i = 0; i < c->kernel->sizes.n_procs; i++)
		vec_done(&c->evict.rows[i]);
	free(c->evict.rows);
	free(c->evict.state);
	vec_done(&c->evict.sites);
	vec_done(&c->evict.procs);
}

bool collect__may_evict(const struct collect *c)
{
	/* rows of --free-stacks name pairs of sites; --overhead keeps an account of each */
	return !c->tables.n_links && c->kernel->sizes.n_ages <= 1 &&
	       c->kernel->skel->bss->mt_sites_in_use > c->kernel->sizes.max_stacks &&
	       now_ns() >= c->evict.not_before_ns;
}

bool collect__must_evict(const struct collect *c)
{
	const struct table_sizes *sizes = &c->kernel->sizes;
	uint64_t spare = sizes->n_sites - sizes->max_stacks;

	return collect__may_evict(c) && c->kernel->skel->bss->mt_sites_in_use > sizes->max_stacks + spare / 4;
}

/* Where frees are not seen nothing is known to hold anything. */
static bool holds(const struct collect *c, uint32_t site)
{
	const struct freed_site unseen = c->freed.sites ? c->freed.sites[site] : (struct freed_site){};
	const struct mt_counts *v = c->sites[site].bank;

	return recording__keeps_blocks(&c->kernel->recording) &&
	       (v[0].alloc_calls + v[1].alloc_calls != v[0].free_calls + v[1].free_calls + unseen.calls ||
		v[0].alloc_bytes + v[1].alloc_bytes != v[0].free_bytes + v[1].free_bytes + unseen.bytes);
}

/* Sites of processes that have ended go with these. */
static bool is_idle(const struct collect *c, uint32_t site, uint64_t before_ns)
{
	const struct mt_site *s = &c->tables.sites[site];
	uint32_t slot = MT_PROC_SLOT(s->proc);

	return __atomic_load_n(&s->stack, __ATOMIC_ACQUIRE) && slot < c->kernel->sizes.n_procs &&
	       !c->procs[slot].n_ended_cuts && MAX(s->last_ns, s->first_ns) < before_ns && !holds(c, site);
}

/* All that may go */
static void list_idle(struct collect *c, uint64_t idle_ns, struct choice **ret, size_t *ret_n)
{
	uint64_t used = MIN(c->kernel->skel->bss->mt_sites_used, c->kernel->sizes.n_sites - 1);
	uint64_t before_ns = c->cut.now_ns > idle_ns ? c->cut.now_ns - idle_ns : 0;
	struct choice *v = xcalloc(used + 1, sizeof(*v));
	size_t n = 0;

	for (uint32_t site = 1; site <= used; site++) {
		const struct mt_counts *bank = c->sites[site].bank;

		if (c->evict.state[site] == EVICT_NOT && is_idle(c, site, before_ns))
			v[n++] = (struct choice){ bank[0].alloc_calls + bank[1].alloc_calls, c->tables.sites[site].last_ns, site };
	}
	*ret = v;
	*ret_n = n;
}

/* What threads of their processes remember is void. */
static void void_memos(struct collect *c)
{
	_cleanup_free_ bool *done = xcalloc(c->kernel->sizes.n_procs, sizeof(*done));

	for (size_t i = 0; i < c->evict.sites.n; i++) {
		uint32_t proc = c->tables.sites[c->evict.sites.v[i]].proc, slot = MT_PROC_SLOT(proc);

		if (done[slot])
			continue;
		done[slot] = true;
		__atomic_fetch_add(&c->tables.procs[slot].gen, 1, __ATOMIC_SEQ_CST);
		*vec_push(&c->evict.procs) = proc;
	}
}

void collect__evict(struct collect *c, bool *ret_any)
{
	const struct table_sizes *sizes = &c->kernel->sizes;
	uint64_t in_use = c->kernel->skel->bss->mt_sites_in_use, wanted;
	_cleanup_free_ struct choice *v = NULL;
	size_t n = 0;

	*ret_any = c->evict.sites.n > 0;
	if (!collect__may_evict(c) || c->evict.sites.n)
		return;
	list_idle(c, collect__must_evict(c) ? HASTY_IDLE_NS : IDLE_NS, &v, &n);
	wanted = in_use - sizes->max_stacks * 5 / 8;
	if (n > wanted)
		qsort(v, n, sizeof(*v), by_worth);
	n = MIN(n, wanted);
	if (n * FEW_PART < sizes->n_sites)
		c->evict.not_before_ns = now_ns() + TRY_AGAIN_NS;
	for (size_t i = 0; i < n; i++) {
		/* what was not chosen is there for the next time; programs that begin from here on do not find this one */
		*vec_push(&c->evict.sites) = v[i].site;
		recycle__leave_index(c, v[i].site, c->tables.sites[v[i].site].hash);
		c->evict.state[v[i].site] = EVICT_CHOSEN;
	}
	*ret_any = n > 0;
	void_memos(c);
	/* a thread may still be led to them: they stay, each found no more by its stack, and a cut adds them up */
}

/* ---- settle */

/* False: something of it is alive, and it stays. */
static bool move_row(struct collect *c, const struct snap_site *row)
{
	struct evicted_rows *rows = &c->evict.rows[MT_PROC_SLOT(row->proc)];
	struct snap_site sum = *row, *to = NULL;

	if (recording__keeps_blocks(&c->kernel->recording) &&
	    (row->c.alloc_calls != row->c.free_calls || row->c.alloc_bytes != row->c.free_bytes))
		return false;
	sum.number = c->tables.n_sites + MT_PROC_SLOT(row->proc);
	sum.named_tid = sum.n_frames = sum.end = 0;
	sum.hash = sum.met_ns = 0;
	sum.frames = NULL;
	sum.evicted_stacks++;
	/* nothing of it is alive, and these hold until the next cut only */
	sum.raw_ages = NULL;
	for (size_t i = 0; i < rows->n && !to; i++)
		to = rows->v[i].func == row->func ? &rows->v[i] : NULL;
	if (to)
		site__add(to, &sum);
	else
		*vec_push(rows) = sum;
	return true;
}

/* Rows of what goes leave the cut. */
static void take_rows(struct collect *c)
{
	struct cut *cut = &c->cut;
	size_t to = 0;

	for (size_t i = 0; i < cut->n_sites; i++) {
		struct snap_site *row = &cut->sites[i];
		uint8_t *state = row->number < c->kernel->sizes.n_sites ? &c->evict.state[row->number] : NULL;

		if (state && *state == EVICT_CHOSEN) {
			*state = move_row(c, row) ? EVICT_SETTLED : EVICT_NOT;
			if (*state == EVICT_SETTLED)
				continue;
		}
		cut->sites[to++] = *row;
	}
	cut->n_sites = to;
	/* nothing was ever counted there: two threads met one stack, or there was no room for a block */
	for (size_t i = 0; i < c->evict.sites.n; i++)
		if (c->evict.state[c->evict.sites.v[i]] == EVICT_CHOSEN)
			c->evict.state[c->evict.sites.v[i]] = EVICT_SETTLED;
}

void evict__settle(struct collect *c)
{
	if (c->evict.sites.n && !c->evict.settled) {
		take_rows(c);
		c->evict.settled = true;
	}
	for (size_t i = 0; i < c->cut.n_procs; i++) {
		const struct cut_proc *p = &c->cut.procs[i];
		struct evicted_rows *rows = &c->evict.rows[MT_PROC_SLOT(p->proc)];

		for (size_t k = 0; k < rows->n; k++) {
			struct snap_site *to = cut_rows__new_site(c);

			/* what is gone held nothing at that moment */
			if (c->procs[MT_PROC_SLOT(p->proc)].new_peak)
				rows->v[k].at_peak_bytes = 0;
			*to = rows->v[k];
			/* that of the sum is not known, but no site of a process had more than that one */
			to->c.peak_bytes = MIN(to->c.peak_bytes, p->peak_bytes);
		}
	}
}

/* ---- release */

const uint32_t *collect__evicted(const struct collect *c, size_t *ret_n)
{
	*ret_n = c->evict.settled ? c->evict.procs.n : 0;
	return c->evict.procs.v;
}

size_t collect__release_evicted(struct collect *c)
{
	size_t n = 0;

	if (!c->evict.settled)
		return 0;
	for (size_t i = 0; i < c->evict.sites.n; i++) {
		uint32_t site = c->evict.sites.v[i];

		/* its process has ended since, and was released; or it holds something now */
		if (c->evict.state[site] != EVICT_SETTLED)
			continue;
		recycle__free_site(c, site);
		n++;
	}
	__atomic_fetch_sub(&c->kernel->skel->bss->mt_sites_in_use, n, __ATOMIC_SEQ_CST);
	c->evict.sites.n = c->evict.procs.n = 0;
	c->evict.settled = false;
	c->recycled = true;
	return n;
}
