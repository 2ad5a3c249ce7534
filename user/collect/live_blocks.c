// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The live blocks of one process, each by itself, without a cut. Owns nothing; any thread may ask. What always holds: a block
 * that was there from the beginning of the reading to its end is listed, with its own birth; others may be or not.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "collect/recycle.h"
#include "util/radix.h"

#define BATCH 1024	/* overflow entries per call */

struct listing {
	const struct collect *c;
	uint32_t proc;
	uint64_t now_units;
	struct traced_blocks *to;
	int tid_of[1 << 16];	/* by serial number */
};

static int add(struct listing *l, uint64_t addr, uint64_t bytes, uint64_t born, uint32_t site)
{
	struct traced_block *b = vec_push(l->to);

	if (!b)
		return -ENOMEM;
	*b = (struct traced_block){ addr, bytes, (l->now_units - mt_born_ago(born, l->now_units)) * l->c->tables.born_unit_ns, site,
				  l->tid_of[MT_BORN_SERIAL(born)] };
	return 0;
}

static int read_buckets(struct listing *l)
{
	const struct tables *t = &l->c->tables;
	int err = 0;

	for (uint64_t i = 0; i < t->n_buckets && !err; i++)
		for (int k = 0; k < MT_WAYS && !err; k++) {
			const struct mt_block *b = &t->buckets[i].way[k];
			uint64_t key = __atomic_load_n(&b->key, __ATOMIC_ACQUIRE), val, born;

			if (!key || key == MT_KEY_CLAIMED || (key & 0xffff) != l->proc)
				continue;
			val = __atomic_load_n(&b->val, __ATOMIC_RELAXED);
			born = __atomic_load_n(&b->born, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			/* another one came meanwhile */
			if (__atomic_load_n(&b->key, __ATOMIC_RELAXED) == key)
				err = add(l, key >> 16, MT_VAL_SIZE(val), born, MT_VAL_SITE(val));
		}
	return err;
}

static int read_overflow(struct listing *l)
{
	const struct tables *t = &l->c->tables;
	struct mt_over_key keys[BATCH];
	struct mt_over values[BATCH];
	struct map_walk walk = {};
	bool more = t->n_over && *t->n_over;
	int err = 0;

	while (more && !err) {
		uint32_t n = BATCH;

		more = map_walk__next(&walk, t->overflow_fd, keys, values, &n);
		for (uint32_t i = 0; i < n && !err; i++)
			if (keys[i].proc == l->proc && !(keys[i].addr & MT_OVER_MAPPING))
				err = add(l, keys[i].addr, values[i].size, values[i].born, values[i].site);
	}
	return err;
}

/* Blocks that a realloc under way has taken out: they are live until it returns. */
static int read_threads(struct listing *l)
{
	const struct tables *t = &l->c->tables;
	int err = 0;

	for (uint32_t i = 0; i < t->n_threads && !err; i++) {
		const struct mt_thread *th = &t->threads[i];

		if (th->tid && th->proc == l->proc && th->sp && th->old_site)
			err = add(l, th->old, th->old_size, th->old_born, th->old_site);
	}
	return err;
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

int collect__blocks(const struct collect *c, uint32_t proc, struct traced_blocks *to, uint64_t *ret_now_ns)
{
	struct listing *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	*ret_now_ns = kernel__clock_ns(c->kernel);
	*l = (struct listing){ .c = c, .proc = proc, .now_units = *ret_now_ns / c->tables.born_unit_ns, .to = to };
	for (uint32_t i = 0; i < c->tables.n_threads; i++)
		if (c->tables.threads[i].tid && c->tables.threads[i].proc == proc)
			l->tid_of[c->tables.threads[i].serial] = (int)c->tables.threads[i].vtid;
	to->n = 0;
	err = read_threads(l) ?: read_buckets(l) ?: read_overflow(l);
	err = err ?: radix__sort(to->v, to->n, sizeof(*to->v));
	if (!err)
		drop_repeats(to);
	free(l);
	return err;
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
