/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What an event adds to: the counters of its site, in the bank of this moment, the
 * histograms and the totals of its process, the peak.
 *
 * at_peak_bytes. Each new peak of a process moves its epoch. A program that is about to
 * change a site checks whether the epoch moved since the site last changed, and
 * saves what the site held, which is what it held at the peak. One comparison
 * per event, and a copy per site and peak. The epoch exists per bank, so a
 * snapshot reads the one that no program moves any more.
 */
#ifndef MT_CHARGE_BPF_H
#define MT_CHARGE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/buckets.bpf.h"
#include "bpf/budget.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/sites.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_counts);
} site_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_hist);
} proc_hists SEC(".maps");

/* Where one event is charged. */
struct charge {
	struct mt_site *site;
	struct mt_counts *counts;
	struct mt_vars *vars;	/* --sample alone */
	struct mt_proc *proc;
	struct mt_hist *hist;
	__u32 bank;
};

static __always_inline bool charge_open(struct charge *c, __u32 site, __u32 proc, __u64 cut)
{
	__u32 bank = cut & 1, shard = bpf_get_smp_processor_id() & (mt_config.n_shards - 1);
	__u32 of_site = (site * mt_config.n_shards + shard) * 2 + bank;
	__u32 of_proc = (MT_PROC_SLOT(proc) * mt_config.n_shards + shard) * 2 + bank;

	c->bank = bank;
	c->site = bpf_map_lookup_elem(&sites, &site);
	c->counts = bpf_map_lookup_elem(&site_counts, &of_site);
	c->proc = proc_at(proc);
	c->hist = bpf_map_lookup_elem(&proc_hists, &of_proc);
	c->vars = mt_config.sample_bytes ? bpf_map_lookup_elem(&site_vars, &of_site) : NULL;
	return c->site && c->counts && c->proc && c->hist && (!mt_config.sample_bytes || c->vars);
}

/* bench/bench.mk builds without the peak, to measure what it costs */
#ifndef MT_WITHOUT_PEAK
#define MT_WITHOUT_PEAK 0
#endif

static __always_inline void save_share_of_peak(struct charge *c)
{
#pragma unroll
	for (int b = 0; b < 2; b++) {
		__u32 epoch = c->proc->peak_epoch[b];

		if (c->site->peak_epoch[b] != epoch) {
			c->site->at_peak_bytes[b] = c->site->live_bytes;
			/* an exchange: the reader must not see the change below without it */
			__sync_lock_test_and_set(&c->site->peak_epoch[b], epoch);
		}
	}
}

/* What is known of an allocation even if its free will not be seen. */
static __always_inline void charge_call(struct charge *c, const struct amount *a, __u64 size, __u64 now_ns)
{
	__sync_fetch_and_add(&c->counts->alloc_calls, a->calls);
	__sync_fetch_and_add(&c->counts->alloc_bytes, a->bytes);
	__sync_fetch_and_add(&c->hist->size_allocs[log2_class(size)], a->calls);
	if (c->vars && a->var_calls) {
		__sync_fetch_and_add(&c->vars->alloc_bytes, a->var_bytes);
		__sync_fetch_and_add(&c->vars->alloc_calls, a->var_calls);
	}
	if (c->site->min_size_inv < ~size)
		atomic_max(&c->site->min_size_inv, ~size);
	if (c->site->max_size < size)
		atomic_max(&c->site->max_size, size);
	if (c->site->last_ns != now_ns)
		c->site->last_ns = now_ns;
}

static __always_inline void charge_alloc(struct charge *c, const struct amount *a, __u64 size, __u64 now_ns)
{
	__u64 live;

	charge_call(c, a, size, now_ns);
	if (MT_WITHOUT_PEAK)
		return;
	save_share_of_peak(c);
	live = __sync_fetch_and_add(&c->site->live_bytes, a->bytes) + a->bytes;
	if (live > c->site->peak_bytes)
		atomic_max(&c->site->peak_bytes, live);

	live = __sync_fetch_and_add(&c->proc->live_bytes, a->bytes) + a->bytes;
	if (live > c->proc->peak_bytes) {
		__u32 b = c->bank & 1;

		atomic_max(&c->proc->peak_bytes, live);
		atomic_max(&c->proc->peak_value[b], live);
		c->proc->peak_ns[b] = now_ns;
		__sync_fetch_and_add(&c->proc->peak_epoch[b], 1);
	}
}

/* The same to the thread that made it, and that it was one of realloc's to both. */
static __always_inline void charge_thread(struct charge *c, struct mt_thread *t, const struct amount *a,
					  bool is_realloc)
{
	t->counts.alloc_calls += a->calls;
	t->counts.alloc_bytes += a->bytes;
	if (is_realloc) {
		t->counts.realloc_calls += a->calls;
		__sync_fetch_and_add(&c->counts->realloc_calls, a->calls);
	}
}

/* now: on the clock of births, as below */
static __always_inline void charge_free(struct charge *c, const struct amount *a, const struct taken *b, __u64 now)
{
	__u64 lived = b->born ? in_ns(mt_born_ago(b->born, now)) : 0;

	__sync_fetch_and_add(&c->counts->free_calls, a->calls);
	__sync_fetch_and_add(&c->counts->free_bytes, a->bytes);
	/* a weight's fraction makes no difference to a mean */
	if (lived)
		__sync_fetch_and_add(&c->counts->lifetime_ns,
				     mt_config.sample_bytes ? lived * (a->calls >> MT_CALLS_SHIFT) : lived);
	if (c->vars && a->var_calls) {
		__sync_fetch_and_add(&c->vars->free_bytes, a->var_bytes);
		__sync_fetch_and_add(&c->vars->free_calls, a->var_calls);
	}
	__sync_fetch_and_add(&c->hist->size_frees[log2_class(b->size)], a->calls);
	__sync_fetch_and_add(&c->hist->lifetimes[log2_class(lived)], a->calls);
	if (MT_WITHOUT_PEAK)
		return;
	save_share_of_peak(c);
	__sync_fetch_and_add(&c->site->live_bytes, -a->bytes);
	__sync_fetch_and_add(&c->proc->live_bytes, -a->bytes);
}

/* --mode leak: a block that was freed unseen, as its address came again; by whom, and when, is not known. */
static __always_inline void charge_replaced(const struct taken *old, __u64 cut)
{
	__u32 bank = cut & 1, shard = bpf_get_smp_processor_id() & (mt_config.n_shards - 1);
	__u32 i = (old->site * mt_config.n_shards + shard) * 2 + bank;
	struct mt_counts *counts = old->site ? bpf_map_lookup_elem(&site_counts, &i) : NULL;

	if (!counts)
		return;
	__sync_fetch_and_add(&counts->free_calls, 1);
	__sync_fetch_and_add(&counts->free_bytes, old->size);
}

/* A block that left the table, or an amount of it, is charged to the site that allocated it. */
static __always_inline void end_amount(struct mt_thread *t, const struct taken *b, const struct amount *a,
				       __u64 addr, __u64 cut, __u64 now)
{
	struct charge c;

	if (!charge_open(&c, b->site, t->proc, cut))
		return;
	charge_free(&c, a, b, now);
	budget_freed(b->site, b->born, b->size, now);
	if (MT_BORN_SERIAL(b->born) != t->serial && b->born)
		__sync_fetch_and_add(&c.site->cross_frees, a->calls);
	t->counts.free_calls += a->calls;
	t->counts.free_bytes += a->bytes;
	if (t->last_block == addr) {
		t->last_block = 0;
		t->counts.temp_calls += a->calls;
		__sync_fetch_and_add(&c.counts->temp_calls, a->calls);
	}
}

static __always_inline void end_block(struct mt_thread *t, const struct taken *b, __u64 addr, __u64 cut, __u64 now)
{
	struct amount a = amount_of(b->size);

	end_amount(t, b, &a, addr, cut, now);
}

/* The same where it is rare: the verifier checks it once. */
__noinline int end_old_block(struct mt_thread *t, const struct taken *b, __u64 addr, __u64 cut, __u64 now)
{
	if (t && b)
		end_block(t, b, addr, cut, now);
	return 0;
}

static __always_inline void unknown_free(struct mt_thread *t)
{
	struct mt_proc *p = proc_at(t->proc);

	t->counts.unknown_frees++;
	if (p)
		__sync_fetch_and_add(&p->unknown_frees, 1);
}

/* One call, as an amount. */
#define ONE_CALL (mt_config.sample_bytes ? 1ULL << MT_CALLS_SHIFT : 1ULL)

static __always_inline void charge_failure(struct mt_thread *t, __u32 site, __u64 cut)
{
	struct charge c;

	/* each is recorded, also with --sample */
	t->counts.failed_calls += ONE_CALL;
	if (charge_open(&c, site, t->proc, cut))
		__sync_fetch_and_add(&c.counts->failed_calls, ONE_CALL);
}

#endif
