// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Rows of a cut, from the kernel's tables. Owns nothing but what is remembered of the banks: what each said when it was last
 * at rest, which is added to what the other one says now.
 *
 * What always holds: nothing here waits, nor writes into the kernel's tables. What is in banks is of the moment of the flip;
 * what is in none, threads among it, is as it is when it is read.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "collect/recycle.h"
#include "malloctrace.skel.h"
#include "model/merge.h"
#include "probe/kernel.h"
#include "util/util.h"

/*
 * Records of counters are added word by word: by their own type, or the compiler may read them
 * before they are written.
 */
static void add_words(void *sum, const void *more, size_t bytes)
{
	__u64 *to = sum;
	const __u64 *from = more;

	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] += from[i];
}

static void weigh_proc(struct cut_proc *row)
{
	for (int i = 0; i < MT_N_CLASSES; i++) {
		row->hist.size_allocs[i] = sampler__calls(row->hist.size_allocs[i]);
		row->hist.size_frees[i] = sampler__calls(row->hist.size_frees[i]);
		row->hist.lifetimes[i] = sampler__calls(row->hist.lifetimes[i]);
	}
	row->peak_bytes = sampler__bytes(row->peak_bytes);
}

static struct counters thread_counters(const struct collect *c, struct mt_thread_counts counts)
{
	if (c->kernel->recording.sample_bytes)
		sampler__round_thread(&counts);
	return counters__of_thread(&counts);
}

void cut_rows__read_procs(struct collect *c, uint32_t bank)
{
	struct cut *cut = &c->cut;
	uint32_t used = MIN(c->kernel->skel->bss->mt_procs_used, c->kernel->sizes.n_procs - 1);
	uint32_t n_shards = c->kernel->sizes.n_shards;

	cut->n_procs = 0;
	for (uint32_t slot = 1; slot <= used; slot++) {
		const struct mt_proc *p = &c->tables.procs[slot];
		struct proc_memory *m = &c->procs[slot];
		struct cut_proc *row;

		if (!p->pid)
			continue;
		row = &cut->procs[cut->n_procs++];

		m->new_peak = p->peak_value[bank] > m->peak_bytes;
		if (m->new_peak) {
			m->peak_bytes = p->peak_value[bank];
			m->peak_ns = p->peak_ns[bank];
		}
		m->n_ended_cuts = p->ended ? m->n_ended_cuts + 1 : 0;
		row->proc = p->number;
		row->live_unknown = false;
		row->pid = p->pid;
		row->ended = p->ended;
		row->started_ns = p->started_ns;
		row->ended_ns = p->ended_ns;
		row->unknown_frees = p->unknown_frees;
		row->probe_hits = p->probe_hits;
		row->frames = p->frames;
		row->lost_blocks = p->lost_blocks;
		row->lost_stacks = p->lost_stacks;
		row->missed_frees = p->missed_frees;
		row->n_untold = p->n_untold;
		row->untold = thread_counters(c, p->untold);
		row->peak_bytes = m->peak_bytes;
		row->peak_ns = m->peak_ns;
		memset(&m->bank[bank], 0, sizeof(m->bank[bank]));
		for (uint32_t i = 0; i < n_shards; i++)
			add_words(&m->bank[bank], &c->tables.hists[((uint64_t)slot * n_shards + i) * 2 + bank],
				  sizeof(struct mt_hist));
		row->hist = m->bank[0];
		add_words(&row->hist, &m->bank[1], sizeof(row->hist));
		if (c->kernel->recording.sample_bytes)
			weigh_proc(row);
	}
}

/*
 * What the site held at the process's peak: saved at its first change since, or
 * still there. A program saves before it changes, so if the epoch is the old one
 * after live_bytes was read, live_bytes was the value at the peak.
 */
static uint64_t share_of_peak(const struct mt_site *s, const struct mt_proc *p, uint32_t bank)
{
	uint32_t epoch = p->peak_epoch[bank];
	uint64_t live;

	if (__atomic_load_n(&s->peak_epoch[bank], __ATOMIC_ACQUIRE) == epoch)
		return s->at_peak_bytes[bank];
	live = __atomic_load_n(&s->live_bytes, __ATOMIC_ACQUIRE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->peak_epoch[bank], __ATOMIC_ACQUIRE) == epoch)
		return s->at_peak_bytes[bank];
	return live;
}

static bool empty(const struct mt_counts *c)
{
	return !c->alloc_calls && !c->failed_calls;
}

/* Sampled figures: whole numbers, and how far they may be off. */
static void weigh_site(struct collect *c, struct snap_site *row, uint32_t bank)
{
	double unit = (double)sampler__unit(c->kernel->recording.sample_bytes);
	double calls_unit = ldexp((double)sampler__calls_unit(c->kernel->recording.sample_bytes), -MT_CALLS_SHIFT);
	uint32_t n_shards = c->kernel->sizes.n_shards;
	struct memory *m = &c->sites[row->number];
	struct mt_vars sum;

	memset(&m->vars[bank], 0, sizeof(m->vars[bank]));
	for (uint32_t i = 0; i < n_shards; i++)
		add_words(&m->vars[bank], &c->tables.vars[((uint64_t)row->number * n_shards + i) * 2 + bank],
			  sizeof(m->vars[bank]));
	row->c.peak_bytes = sampler__bytes(row->c.peak_bytes);
	row->at_peak_bytes = sampler__bytes(row->at_peak_bytes);
	row->cross_frees = sampler__calls(row->cross_frees);
	sum = m->vars[0];
	add_words(&sum, &m->vars[1], sizeof(sum));
	row->var.alloc_bytes = (double)sum.alloc_bytes * unit * unit;
	row->var.live_bytes = (double)(sum.alloc_bytes - sum.free_bytes) * unit * unit;
	row->var.alloc_calls = (double)sum.alloc_calls * calls_unit * calls_unit;
	row->var.live_blocks = (double)(sum.alloc_calls - sum.free_calls) * calls_unit * calls_unit;
}

static void read_counts(struct collect *c, struct snap_site *row)
{
	const struct memory *m = &c->sites[row->number];
	struct mt_counts sum = m->bank[0];

	add_words(&sum, &m->bank[1], sizeof(struct mt_counts));
	if (c->kernel->recording.sample_bytes)
		sampler__round_counts(&sum);
	row->c = counters__of_site(&sum);
	row->lifetime_sum_ns = sum.lifetime_ns;
}

static void read_rare(struct collect *c, struct snap_site *row, uint32_t bank)
{
	struct memory *m = &c->sites[row->number];
	uint64_t longest;

	if (c->kernel->sizes.n_rare <= 1)
		return;
	memcpy(&m->rare[bank], &c->tables.rare[row->number * 2ull + bank], sizeof(m->rare[bank]));
	longest = MAX(m->rare[0].moves.longest, m->rare[1].moves.longest);
	row->rare = m->rare[0];
	add_words(&row->rare, &m->rare[1], sizeof(row->rare));
	row->rare.moves.longest = longest;
	/* functions whose sizes are read from the block's header have no probe that sees the requested one */
	if (c->kernel->recording.size == SIZE_USABLE)
		row->rare.zero_calls = 0;
}

struct snap_site *cut_rows__new_site(struct collect *c)
{
	struct cut *cut = &c->cut;

	if (cut->n_sites == c->site_room) {
		c->site_room = c->site_room ? c->site_room * 2 : 1024;
		cut->sites = xreallocarray(cut->sites, c->site_room, sizeof(*cut->sites));
	}
	return &cut->sites[cut->n_sites++];
}

static void read_site(struct collect *c, uint32_t site, uint32_t spare_of, uint32_t bank)
{
	const struct mt_site *s = &c->tables.sites[site];
	struct memory *m = &c->sites[site];
	uint32_t n_shards = c->kernel->sizes.n_shards, proc = spare_of ? spare_of : s->proc;
	struct snap_site *row;
	uint64_t stack = __atomic_load_n(&s->stack, __ATOMIC_ACQUIRE);

	if ((!stack && !spare_of) || MT_PROC_SLOT(proc) >= c->kernel->sizes.n_procs ||
	    (!spare_of && c->evict.state[site] == EVICT_SETTLED))
		return;
	c->n_used_sites += !spare_of;
	memset(&m->bank[bank], 0, sizeof(m->bank[bank]));
	for (uint32_t i = 0; i < n_shards; i++)
		add_words(&m->bank[bank], &c->tables.counts[((uint64_t)site * n_shards + i) * 2 + bank], sizeof(struct mt_counts));
	if (c->procs[MT_PROC_SLOT(proc)].new_peak)
		m->at_peak_bytes = share_of_peak(s, &c->tables.procs[MT_PROC_SLOT(proc)], bank);
	if (empty(&m->bank[0]) && empty(&m->bank[1]))
		return;

	row = cut_rows__new_site(c);
	memset(row, 0, sizeof(*row));
	row->number = site;
	row->proc = proc;
	row->func = spare_of ? SITE_FUNC_SPARE : s->func;
	read_counts(c, row);
	row->named_tid = s->tid;
	row->c.peak_bytes = s->peak_bytes;
	row->at_peak_bytes = m->at_peak_bytes;
	row->min_size = ~s->min_size_inv;
	row->max_size = s->max_size;
	row->first_ns = s->first_ns;
	row->last_ns = s->last_ns;
	if (!spare_of) {
		row->hash = s->hash;
		tables__stack(&c->tables, stack, row);
	}
	read_rare(c, row, bank);
	row->cross_frees = __atomic_load_n(&s->cross_frees, __ATOMIC_RELAXED);
	if (c->kernel->recording.sample_bytes)
		weigh_site(c, row, bank);
	/* not in a bank: frees since the cut are in it */
	if (recording__is_growth(&c->kernel->recording)) {
		row->guessed_calls = MIN(row->cross_frees, row->c.alloc_calls);
		row->cross_frees = 0;
	} else {
		row->cross_frees = MIN(row->cross_frees, row->c.free_calls);
	}
}

void cut_rows__read_sites(struct collect *c, uint32_t bank)
{
	const struct table_sizes *sizes = &c->kernel->sizes;
	uint64_t used = MIN(c->kernel->skel->bss->mt_sites_used, sizes->n_sites - 1);

	c->cut.n_sites = 0;
	c->n_used_sites = 0;
	for (uint32_t site = 1; site <= used; site++)
		read_site(c, site, 0, bank);
	for (size_t i = 0; i < c->cut.n_procs; i++)
		read_site(c, sizes->n_sites + MT_PROC_SLOT(c->cut.procs[i].proc), c->cut.procs[i].proc, bank);
}

void cut_rows__read_spots(struct collect *c, uint32_t bank)
{
	for (size_t i = 0; i < MT_MAX_SPOTS; i++) {
		c->spot_hits[bank][i] = c->tables.spots[i].hits[bank];
		c->cut.spot_hits[i] = c->spot_hits[0][i] + c->spot_hits[1][i];
	}
}

void cut_rows__read_threads(struct collect *c)
{
	struct cut *cut = &c->cut;

	cut->n_threads = 0;
	cut->n_inside = 0;
	for (uint32_t i = 0; i < c->tables.n_threads; i++) {
		const struct mt_thread *t = &c->tables.threads[i];
		struct cut_thread *row;

		if (!t->tid || !t->proc)
			continue;
		if (cut->n_threads == c->thread_room) {
			c->thread_room = c->thread_room ? c->thread_room * 2 : 64;
			cut->threads = xreallocarray(cut->threads, c->thread_room, sizeof(*cut->threads));
		}
		row = &cut->threads[cut->n_threads++];
		/* where only entries are seen, it is the last call, not one under way */
		if (recording__keeps_blocks(&c->kernel->recording))
			cut->n_inside += !!t->sp + t->n_outer;
		row->proc = t->proc;
		row->tid = MT_TID(t->named_tid);
		row->probe_hits = t->probe_hits;
		row->frames = t->frames;
		row->c = thread_counters(c, t->counts);
	}
}
