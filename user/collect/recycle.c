// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the giving back of what processes that have ended left in the kernel's
 * tables: their blocks, their sites with the words of their stacks, their slots.
 *
 * Not before it is needed: as long as half of everything is free nothing
 * happens. Then, in this order:
 *
 *   cut       two of them have seen the process ended: no program charges anything to
 *             it any more, and both banks have been read since
 *   sweep     a pass over the block table removes its blocks, a part at a time
 *   archive   the caller copies its rows out of the next cut, which has all of them
 *   release   rows of --free-stacks that name its sites go; sites leave the index, are
 *             zeroed and given back; then the slot, with the next generation
 *
 * So a number never means two things at a time: when a site or a process number
 * is given again, no block, no thread and no row of a cut names its old owner.
 */
#include <errno.h>
#include <string.h>

#include "bpf/hash.h"
#include "collect/recycle.h"
#include "malloctrace.skel.h"

/* Processes that have ended and may stay in the tables though nothing needs the room. */
#define MANY_ENDED 256
/* The same with --overhead, which keeps some kilobytes for each of their sites, and links. */
#define MANY_ENDED_BUDGET 16
/* And so many that more come within a second than a pass in peace removes. */
#define HASTY_ENDED 768
/* So many are worth a pass before three quarters of the sites are in use. */
#define SOME_ENDED 64

/* Is more than this share of something in use? */
static bool in_use(const struct collect *c, uint64_t parts, uint64_t of)
{
	const struct table_sizes *sizes = &c->kernel->sizes;
	const struct cut *cut = &c->cut;
	uint64_t blocks = 0;

	/* weights are no entries, and where frees are not seen there are none at all */
	for (size_t i = 0; i < cut->n_sites && !c->kernel->recording.sample_bytes && recording__keeps_blocks(&c->kernel->recording); i++)
		blocks += cut->sites[i].c.alloc_calls - cut->sites[i].c.free_calls;
	return cut->n_procs * of > sizes->n_procs * parts || c->n_used_sites * of > sizes->n_sites * parts ||
	       blocks * of > sizes->max_live * parts || *c->tables.n_over * of > sizes->n_over * parts ||
	       (c->tables.n_links && *c->tables.links_used * of > c->tables.n_links * parts);
}

/*
 * Those that no program charges anything to: see above. A child that runs in its parent's memory
 * may outlive it.
 */
static void find_leaving(struct collect *c, const struct leave_calls *calls)
{
	_cleanup_free_ bool *busy = xcalloc(MT_MAX_PROCS, sizeof(*busy));
	const struct cut *cut = &c->cut;
	/* threads of one that was thrown out learn of it at their next event */
	for (size_t i = 0; i < cut->n_threads; i++)
		busy[MT_PROC_SLOT(cut->threads[i].proc)] =
			c->tables.procs[MT_PROC_SLOT(cut->threads[i].proc)].ended != MT_ENDED_DROPPED;
	c->leaving.n = 0;
	for (size_t i = 0; i < cut->n_procs; i++) {
		const struct cut_proc *row = &cut->procs[i];
		uint32_t slot = MT_PROC_SLOT(row->proc);

		if (c->procs[slot].n_ended_cuts < 2 || busy[slot] ||
		    !calls->may_leave(row->proc, row->ended,
				      cut->now_ns > row->ended_ns ? cut->now_ns - row->ended_ns : 0,
				      calls->arg))
			continue;
		*vec_push(&c->leaving) = row->proc;
	}
}

/* --overhead of processes that were named keeps an account of each for good. */
static bool is_kept(const struct collect *c)
{
	return c->kernel->sizes.n_ages > 1 && c->kernel->sizes.n_procs < MT_MAX_PROCS;
}

/* --free-stacks: from three quarters on threads are not kept apart, so room has to be there before. */
static bool links_are_short(const struct collect *c)
{
	return c->tables.n_links && *c->tables.links_used * 8 > c->tables.n_links * 5ull;
}

enum room_wanted collect__room_wanted(const struct collect *c)
{
	size_t n_ended = 0;

	if (is_kept(c))
		return ROOM_ENOUGH;
	for (size_t i = 0; i < c->cut.n_procs; i++)
		n_ended += c->cut.procs[i].ended != 0;
	if (!n_ended)
		return ROOM_ENOUGH;
	if (in_use(c, 3, 4) || links_are_short(c))
		return ROOM_AT_ONCE;
	return c->leaving.n || n_ended >= (c->kernel->sizes.n_ages > 1 ? MANY_ENDED_BUDGET : MANY_ENDED) || in_use(c, 1, 2) ? ROOM_SOON :
																	      ROOM_ENOUGH;
}

void collect__sweep(struct collect *c, uint64_t budget_ns, uint64_t older_ns, const struct leave_calls *calls,
		    const uint32_t **ret, size_t *ret_n)
{
	*ret_n = 0;
	if (c->leaving.n && !c->sweep.under_way) {
		*ret = c->leaving.v;
		*ret_n = c->all_gone ? c->leaving.n : 0;
		return;
	}
	if (!c->sweep.under_way) {
		find_leaving(c, calls);
		if (!c->leaving.n)
			return;
		sweep__begin(&c->sweep, c->leaving.v, c->leaving.n, c->cut.now_ns, older_ns);
	}
	sweep__some(&c->sweep, budget_ns);
}

/* ---- release */

/* A place in the index becomes one that a search passes; or ends at, if it would end after it anyway. */
void recycle__leave_index(struct collect *c, uint32_t site, uint64_t hash)
{
	const struct tables *t = &c->tables;

	for (uint32_t i = 0; i < MT_SITE_PROBES; i++) {
		uint32_t at = mt_index_of(hash, i, t->n_index);
		uint64_t gone = MT_INDEX_GONE;

		if (__atomic_load_n(&t->index[at], __ATOMIC_RELAXED) != ((hash & ~MT_SITE_MASK) | site))
			continue;
		__atomic_store_n(&t->index[at], gone, __ATOMIC_SEQ_CST);
		/* a program that has passed here may miss its own stack once: two sites, which a cut adds up */
		while (!__atomic_load_n(&t->index[(at + 1) & (t->n_index - 1)], __ATOMIC_SEQ_CST) &&
		       __atomic_compare_exchange_n(&t->index[at], &gone, 0, false, __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST)) {
			at = (at - 1) & (t->n_index - 1);
			gone = MT_INDEX_GONE;
		}
		return;
	}
}

static void zero_site(struct collect *c, uint32_t site)
{
	uint64_t n = c->kernel->sizes.n_shards * 2ull;
	struct mt_site *s = &c->tables.sites[site];

	__atomic_store_n(&s->stack, 0, __ATOMIC_SEQ_CST);
	memset(s, 0, sizeof(*s));
	memset(&c->tables.counts[site * n], 0, n * sizeof(*c->tables.counts));
	if (c->kernel->recording.sample_bytes)
		memset(&c->tables.vars[site * n], 0, n * sizeof(*c->tables.vars));
	if (c->kernel->sizes.n_rare > 1)
		memset(&c->tables.rare[site * 2ull], 0, 2 * sizeof(*c->tables.rare));
	if (c->kernel->sizes.n_ages > 1)
		memset(&c->tables.ages[site], 0, sizeof(*c->tables.ages));
	memset(&c->sites[site], 0, sizeof(c->sites[site]));
	scan__forget(&c->scan, site);
	freed__forget(&c->freed, site);
	if (c->sweep.gone)
		memset(&c->sweep.gone[site], 0, sizeof(c->sweep.gone[site]));
	if (c->scan.weighed)
		memset(&c->scan.weighed[site], 0, sizeof(c->scan.weighed[site]));
	if (c->sweep.weighed)
		memset(&c->sweep.weighed[site], 0, sizeof(c->sweep.weighed[site]));
}

/* A list that the programs take the first element from: whatever they do, the word above it moves. */
static uint64_t first_of(volatile __u64 *list)
{
	return __atomic_load_n(list, __ATOMIC_SEQ_CST);
}

static bool put_first(volatile __u64 *list, uint64_t *head, uint32_t number)
{
	return __atomic_compare_exchange_n(list, head, ((*head >> 32) + 1) << 32 | number, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

void recycle__free_site(struct collect *c, uint32_t site)
{
	volatile __u64 *list = &c->kernel->skel->bss->mt_free_sites;
	uint64_t head = first_of(list);

	recycle__leave_index(c, site, c->tables.sites[site].hash);
	__atomic_fetch_sub(&c->tables.procs[MT_PROC_SLOT(c->tables.sites[site].proc)].n_sites, 1, __ATOMIC_SEQ_CST);
	zero_site(c, site);
	c->evict.state[site] = EVICT_NOT;
	do
		c->tables.sites[site].first_ns = (uint32_t)head;
	while (!put_first(list, &head, site));
}

static void free_slot(struct collect *c, uint32_t proc)
{
	volatile __u64 *list = &c->kernel->skel->bss->mt_free_slots;
	uint32_t slot = MT_PROC_SLOT(proc), gen;
	uint64_t n = c->kernel->sizes.n_shards * 2ull, head = first_of(list);
	struct mt_proc *p = &c->tables.procs[slot];

	if (p->ended == MT_ENDED_DROPPED) {
		c->foreign.blocks += p->lost_blocks;
		c->foreign.stacks += p->lost_stacks;
	}
	zero_site(c, c->kernel->sizes.n_sites + slot);
	memset(&c->tables.hists[slot * n], 0, n * sizeof(*c->tables.hists));
	memset(&c->procs[slot], 0, sizeof(c->procs[slot]));
	c->evict.rows[slot].n = 0;
	/*
	 * not zeroed: a process of the same number, sixteen generations later, must not believe
	 * what this one's threads noted
	 */
	gen = p->gen;
	memset(p, 0, sizeof(*p));
	p->gen = gen;
	p->number = MT_PROC_NEXT_GEN(proc);
	do
		p->next_free = (uint32_t)head;
	while (!put_first(list, &head, slot));
}

void collect__release(struct collect *c)
{
	struct malloctrace_bpf *skel = c->kernel->skel;
	uint64_t used = MIN(skel->bss->mt_sites_used, c->kernel->sizes.n_sites - 1), n_sites = 0;

	if (c->sweep.under_way || !c->leaving.n)
		return;
	links__release(&c->links, c->kernel->sizes.n_sites, &c->sweep);
	for (uint32_t site = 1; site <= used; site++) {
		if (!__atomic_load_n(&c->tables.sites[site].stack, __ATOMIC_ACQUIRE) ||
		    !sweep__is_dead(&c->sweep, c->tables.sites[site].proc))
			continue;
		recycle__free_site(c, site);
		n_sites++;
	}
	for (size_t i = 0; i < c->leaving.n; i++)
		free_slot(c, c->leaving.v[i]);
	/* processes that found no room before may find some now */
	if (skel->bss->mt_counters[MT_LOST_PROCESS_FULL])
		__atomic_fetch_add(&skel->data->mt_filter_gen, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&skel->bss->mt_lives_swept, c->leaving.n, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&skel->bss->mt_sites_in_use, n_sites, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&skel->bss->mt_slots_in_use, c->leaving.n, __ATOMIC_SEQ_CST);
	memset(c->sweep.dead, 0, sizeof(c->sweep.dead));
	c->leaving.n = 0;
	c->all_gone = false;
	c->recycled = true;
}

bool collect__is_short(const struct collect *c, uint64_t *ret_in_use)
{
	const struct malloctrace_bpf *skel = c->kernel->skel;
	const struct table_sizes *sizes = &c->kernel->sizes;
	uint64_t slots = skel->bss->mt_slots_in_use, sites = skel->bss->mt_sites_in_use;
	uint64_t n_ended = skel->bss->mt_lives_ended - skel->bss->mt_lives_swept;
	/* --mmap: no program finds room there by itself */
	uint64_t n_over = c->tables.parts_fd > 0 ? *c->tables.n_over : 0;

	/*
	 * with ends that came since: where all is full, nothing else shows that there is something
	 * to give back
	 */
	*ret_in_use = slots + sites + n_over + (c->tables.n_links ? *c->tables.links_used : 0) + skel->bss->mt_lives_ended;
	if (is_kept(c))
		return false;
	if (collect__may_evict(c))
		return true;
	/* what live processes hold cannot be given back, and a pass for one or two is expensive */
	if (!n_ended)
		return false;
	return n_ended >= HASTY_ENDED || slots * 4 > sizes->n_procs * 3ull || sites * 4 > sizes->n_sites * 3ull ||
	       n_over * 4 > sizes->n_over * 3ull || links_are_short(c) ||
	       (n_ended >= SOME_ENDED && sites * 2 > sizes->n_sites);
}

void collect__swept(const struct collect *c, uint64_t *ret_blocks, uint64_t *ret_cpu_ns)
{
	*ret_blocks = c->sweep.n_removed;
	*ret_cpu_ns = c->sweep.cpu_ns;
}
