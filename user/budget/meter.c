// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns two tables in our memory and the ring of alarms. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "budget/meter.h"
#include "malloctrace.skel.h"
#include "util/util.h"

struct meter {
	struct kernel *kernel;
	struct ring_buffer *ring;
	const struct mt_ages *ages;
	const struct mt_bucket *buckets;
};

static int on_alarm(void *ctx, void *data, size_t size)
{
	return 0;
}

int meter__new(struct kernel *k, struct meter **ret, struct err *e)
{
	struct meter *m = xcalloc(1, sizeof(*m));
	int err;

	m->kernel = k;
	err = kernel__map_table(k->skel->maps.free_ages, PROT_READ, (void **)&m->ages, e);
	if (!err)
		err = kernel__map_table(k->skel->maps.blocks, PROT_READ, (void **)&m->buckets, e);
	if (!err) {
		m->ring = ring_buffer__new(bpf_map__fd(k->skel->maps.budget_alarm), on_alarm, NULL, NULL);
		if (!m->ring)
			err = err_set(e, -errno, "ring buffer: %s", strerror(errno));
	}
	if (err) {
		meter__free(m);
		return err;
	}
	*ret = m;
	return 0;
}

void meter__free(struct meter *m)
{
	if (!m)
		return;
	kernel__unmap_table(m->kernel->skel->maps.free_ages, m->ages);
	kernel__unmap_table(m->kernel->skel->maps.blocks, m->buckets);
	ring_buffer__free(m->ring);
	free(m);
}

struct spent meter__spent(const struct meter *m)
{
	const struct malloctrace_bpf__bss *bss = m->kernel->skel->bss;

	return (struct spent){
		.ns = __atomic_load_n(&bss->mt_spent_ns, __ATOMIC_RELAXED),
		.timed = __atomic_load_n(&bss->mt_timed, __ATOMIC_RELAXED),
		.timed_ns = __atomic_load_n(&bss->mt_timed_ns, __ATOMIC_RELAXED),
	};
}

void meter__gaps(const struct meter *m, struct gaps *ret)
{
	const struct malloctrace_bpf__bss *bss = m->kernel->skel->bss;

	for (size_t i = 0; i < 2 * MT_N_GAPS; i++) {
		ret->n[i / MT_N_GAPS][i % MT_N_GAPS] = bss->mt_gap_n[i];
		ret->ns[i / MT_N_GAPS][i % MT_N_GAPS] = bss->mt_gap_ns[i];
	}
}

void meter__set_trap_ns(struct meter *m, uint64_t ns)
{
	__atomic_store_n(&m->kernel->skel->bss->mt_trap_ns, ns, __ATOMIC_RELAXED);
}

void meter__set_limit(struct meter *m, uint64_t spent_ns)
{
	__atomic_store_n(&m->kernel->skel->data->mt_spend_limit, spent_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->kernel->skel->bss->mt_alarmed, 0, __ATOMIC_SEQ_CST);
}

void meter__set_mark(struct meter *m, uint64_t spent_ns)
{
	__atomic_store_n(&m->kernel->skel->bss->mt_mark_at_ns, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->kernel->skel->data->mt_mark, spent_ns, __ATOMIC_SEQ_CST);
}

bool meter__mark(const struct meter *m, struct mark *ret)
{
	ret->t_ns = __atomic_load_n(&m->kernel->skel->bss->mt_mark_at_ns, __ATOMIC_ACQUIRE);
	ret->spent_ns = __atomic_load_n(&m->kernel->skel->bss->mt_mark_spent, __ATOMIC_RELAXED);
	return ret->t_ns != 0;
}

int meter__alarm_fd(const struct meter *m)
{
	return bpf_map__fd(m->kernel->skel->maps.budget_alarm);
}

void meter__read_alarm(struct meter *m)
{
	ring_buffer__consume(m->ring);
}

bool meter__alarmed(const struct meter *m)
{
	return __atomic_load_n(&m->kernel->skel->bss->mt_alarmed, __ATOMIC_ACQUIRE);
}

void meter__next_window(struct meter *m, bool after_gap)
{
	if (after_gap)
		__atomic_store_n(&m->kernel->skel->bss->mt_gaps, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&m->kernel->skel->bss->mt_window, 1, __ATOMIC_SEQ_CST);
}

const struct mt_ages *meter__ages(const struct meter *m, uint32_t site)
{
	return m && site < m->kernel->sizes.n_ages ? &m->ages[site] : NULL;
}

/* What the table says of a birth, as a time. */
struct born_clock {
	uint64_t now_ns, unit_ns;
};

static uint64_t born_ns(const struct born_clock *c, uint64_t born)
{
	return c->now_ns - mt_born_ago(born, c->now_ns / c->unit_ns) * c->unit_ns;
}

static void visit_bucket(const struct mt_bucket *b, const struct born_clock *c, meter_block_fn fn, void *arg)
{
	for (int i = 0; i < MT_WAYS; i++) {
		const struct mt_block *e = &b->way[i];
		uint64_t key = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE), val, born;

		if (!key || key == MT_KEY_CLAIMED)
			continue;
		val = __atomic_load_n(&e->val, __ATOMIC_RELAXED);
		born = __atomic_load_n(&e->born, __ATOMIC_ACQUIRE);
		/* changed meanwhile: it came or went */
		if (__atomic_load_n(&e->key, __ATOMIC_RELAXED) == key)
			fn(MT_VAL_SITE(val), MT_VAL_SIZE(val), born_ns(c, born), arg);
	}
}

#define BATCH 1024

static void visit_overflow(const struct meter *m, const struct born_clock *c, meter_block_fn fn, void *arg)
{
	struct mt_over_key keys[BATCH];
	struct mt_over values[BATCH];
	uint64_t at, next;
	bool first = true;
	int err;

	do {
		uint32_t n = BATCH;

		err = bpf_map_lookup_batch(bpf_map__fd(m->kernel->skel->maps.overflow), first ? NULL : &at,
					   &next, keys, values, &n, NULL);
		if (err && errno != ENOENT)
			return;
		for (uint32_t i = 0; i < n; i++)
			fn(values[i].site, values[i].size, born_ns(c, values[i].born), arg);
		at = next;
		first = false;
	} while (!err);
}

void meter__blocks(const struct meter *m, meter_block_fn fn, void *arg)
{
	const struct born_clock c = { kernel__clock_ns(m->kernel), m->kernel->born_unit_ns };
	uint64_t n = (uint64_t)m->kernel->sizes.n_groups * MT_GROUP;

	for (uint64_t i = 0; i < n; i++)
		visit_bucket(&m->buckets[i], &c, fn, arg);
	visit_overflow(m, &c, fn, arg);
}
