// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A process's sums as they are at this moment, and stacks of its sites, without a cut: cheap enough for some times a
 * second. Owns nothing. What always holds: figures may differ from each other by the
 * events under way, but frees are read before allocations, so no more blocks are freed than were made.
 */
#include "collect/recycle.h"
#include "probe/kernel.h"

static uint64_t sum_of(const struct collect *c, uint32_t slot, size_t offset)
{
	uint32_t n_rows = c->kernel->sizes.n_shards * 2;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n_rows; i++) {
		const __u64 *classes = (const __u64 *)((const char *)&c->tables.hists[(uint64_t)slot * n_rows + i] + offset);

		for (int k = 0; k < MT_N_CLASSES; k++)
			sum += __atomic_load_n(&classes[k], __ATOMIC_RELAXED);
	}
	return c->kernel->recording.sample_bytes ? sampler__calls(sum) : sum;
}

/* --mode leak: the programs keep no sums of what is live: those of the last cut are the last that are known. */
static void peek_at_cut(const struct collect *c, uint32_t proc, struct proc_now *ret)
{
	ret->live_bytes = 0;
	for (size_t i = 0; i < c->cut.n_sites; i++)
		if (c->cut.sites[i].proc == proc) {
			const struct counters *v = &c->cut.sites[i].c;

			ret->live_bytes += v->alloc_bytes - v->free_bytes;
			ret->live_blocks += v->alloc_calls - v->free_calls;
		}
}

bool collect__peek(const struct collect *c, uint32_t proc, bool calls, struct proc_now *ret)
{
	uint32_t slot = MT_PROC_SLOT(proc);
	const struct mt_proc *p = &c->tables.procs[slot];
	uint64_t free_calls;

	*ret = (struct proc_now){};
	if (slot >= c->kernel->sizes.n_procs || p->number != proc)
		return false;
	ret->live_bytes = __atomic_load_n(&p->live_bytes, __ATOMIC_RELAXED);
	if (c->kernel->recording.sample_bytes)
		ret->live_bytes = sampler__bytes(ret->live_bytes);
	if (c->freed.sites)
		peek_at_cut(c, proc, ret);
	if (!calls)
		return true;
	free_calls = sum_of(c, slot, offsetof(struct mt_hist, size_frees));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	ret->alloc_calls = sum_of(c, slot, offsetof(struct mt_hist, size_allocs));
	if (!c->freed.sites)
		ret->live_blocks = ret->alloc_calls > free_calls ? ret->alloc_calls - free_calls : 0;
	return true;
}

uint64_t collect__alloc_calls(const struct collect *c, uint32_t proc)
{
	uint32_t slot = MT_PROC_SLOT(proc);
	bool is_there = slot < c->kernel->sizes.n_procs && c->tables.procs[slot].number == proc;

	return is_there ? sum_of(c, slot, offsetof(struct mt_hist, size_allocs)) : 0;
}

bool collect__goes_on(const struct collect *c, uint32_t proc)
{
	const struct mt_proc *p = &c->tables.procs[MT_PROC_SLOT(proc)];

	return MT_PROC_SLOT(proc) < c->kernel->sizes.n_procs && p->number == proc && !__atomic_load_n(&p->ended, __ATOMIC_SEQ_CST);
}

bool collect__stack(const struct collect *c, uint32_t site, uint32_t proc, struct snap_site *ret)
{
	const struct mt_site *s = &c->tables.sites[site];
	uint32_t n_sites = c->kernel->sizes.n_sites;
	uint64_t stack;

	*ret = (struct snap_site){ .number = site, .proc = proc, .func = SITE_FUNC_SPARE };
	/* spare ones have no stack */
	if (site >= n_sites)
		return site - n_sites == MT_PROC_SLOT(proc);
	stack = __atomic_load_n(&s->stack, __ATOMIC_ACQUIRE);
	if (!stack || s->proc != proc)
		return false;
	ret->func = s->func;
	tables__stack(&c->tables, stack, ret);
	return true;
}
