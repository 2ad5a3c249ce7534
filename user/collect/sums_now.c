// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A process's sums as they are at this moment, and stacks of its sites, without a cut: cheap enough for some times a
 * second. Owns nothing. What always holds: figures may differ from each other by the
 * events under way, but frees are read before allocations, so no more blocks are freed than were made.
 */
#include <bpf/bpf.h>

#include "collect/recycle.h"
#include "util/sorted.h"

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

/* ---- blocks */

/*
 * The live blocks of one process, each by itself, without a cut. Owns nothing; any thread may ask. What always holds: a block
 * that was there from the beginning of the reading to its end is listed, with its own birth; others may be or not.
 */

struct listing {
	const struct collect *c;
	uint32_t proc;
	struct birth_clock clock;
	struct traced_blocks *to;
	int tid_of[1 << 16];	/* by serial number */
};

static bool is_its(uint32_t proc, const void *arg)
{
	return proc == ((const struct listing *)arg)->proc;
}

static void add(const struct block *b, void *arg)
{
	struct listing *l = arg;
	uint64_t born_ns = birth_clock__ns(&l->clock, b->born);

	if (b->proc == l->proc && !(b->addr & MT_OVER_MAPPING))
		*vec_push(l->to) = (struct traced_block){ b->addr, b->size, born_ns, b->site, l->tid_of[MT_BORN_SERIAL(b->born)] };
}

/* One that moved while the table was read, as realloc's do, may have been met twice. */
static void drop_repeats(struct traced_blocks *v)
{
	size_t to = 0;

	for (size_t i = 0; i < v->n; i++)
		if (!to || v->v[to - 1].addr != v->v[i].addr)
			v->v[to++] = v->v[i];
		else
			v->v[to - 1] = v->v[i];
	v->n = to;
}

void collect__blocks(const struct collect *c, uint32_t proc, struct traced_blocks *to, uint64_t *ret_now_ns)
{
	struct listing *l = xcalloc(1, sizeof(*l));
	struct block_walk walk = {};

	*ret_now_ns = kernel__clock_ns(c->kernel);
	/* the same block has the same birth each time */
	*l = (struct listing){ .c = c, .proc = proc, .clock = birth_clock__at(&c->tables, *ret_now_ns - *ret_now_ns % c->tables.born_unit_ns), .to = to };
	for (uint32_t i = 0; i < c->tables.n_threads; i++)
		if (c->tables.threads[i].tid && c->tables.threads[i].proc == proc)
			l->tid_of[c->tables.threads[i].serial] = (int)MT_TID(c->tables.threads[i].named_tid);
	to->n = 0;
	blocks__taken(&c->tables, add, l);
	while (block_walk__next(&walk, &c->tables, is_its, add, l))
		;
	radix__sort(to->v, to->n, sizeof(*to->v));
	drop_repeats(to);
	free(l);
}

struct visit {
	struct birth_clock clock;
	void (*fn)(uint32_t site, uint64_t size, uint64_t born_ns, void *arg);
	void *arg;
};

static void visit_block(const struct block *b, void *arg)
{
	const struct visit *v = arg;

	v->fn(b->site, b->size, birth_clock__ns(&v->clock, b->born), v->arg);
}

void collect__each_block(const struct collect *c,
			 void (*fn)(uint32_t site, uint64_t size, uint64_t born_ns, void *arg), void *arg)
{
	struct visit v = { birth_clock__at(&c->tables, kernel__clock_ns(c->kernel)), fn, arg };
	struct block_walk walk = {};

	while (block_walk__next(&walk, &c->tables, NULL, visit_block, &v))
		;
}

const struct mt_ages *collect__ages(const struct collect *c, uint32_t site)
{
	return c && site < c->kernel->sizes.n_ages ? &c->tables.ages[site] : NULL;
}

static uint32_t site_of_part(const struct collect *c, uint32_t proc, const struct mt_part *part)
{
	struct mt_over_key key = { .addr = MT_OVER_MAPPING | part->block, .proc = proc };
	struct mt_over over;

	return bpf_map_lookup_elem(c->tables.overflow_fd, &key, &over) ? 0 : over.site;
}

#define MAX_PIECES 256

/* The kernel makes one mapping of neighbours: what several calls have mapped is charged to the one that mapped the most. */
uint32_t collect__mapping_site(const struct collect *c, uint32_t proc, uint64_t start, uint64_t end)
{
	struct {
		uint32_t site;
		uint64_t bytes;
	} sums[8] = {}, *most = &sums[0];
	uint64_t at = start;

	for (int i = 0; i < MAX_PIECES && at < end && c->tables.parts_fd > 0; i++) {
		struct mt_part_key key = { .addr = at, .proc = proc };
		struct mt_part part;
		uint32_t site;
		size_t k = 0;

		if (bpf_map_lookup_elem(c->tables.parts_fd, &key, &part) || part.other <= at)
			return 0;
		site = site_of_part(c, proc, &part);
		while (k < ARRAY_SIZE(sums) - 1 && sums[k].site && sums[k].site != site)
			k++;
		sums[k].site = site;
		sums[k].bytes += part.other - at;
		if (sums[k].bytes > most->bytes)
			most = &sums[k];
		at = part.other;
	}
	return at == end ? most->site : 0;
}
