// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is known of frees that were not seen, and were not noticed by the programs.
 *
 * What always holds: what the table has, what was taken out of it here and what the programs replaced add up to what was allocated.
 * A block that a program puts into the table meanwhile stays there: while blocks are taken out, both sides claim an entry before
 * they change it (MT_CUT_DROPPING). Who finds it claimed leaves it alone, and a program then puts its block elsewhere. So an entry
 * that was claimed here and has still the birth that it was judged by is the one that was judged.
 */
#include "collect/freed.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "collect/sweep.h"
#include "util/util.h"

#define AHEAD 8		/* buckets that are fetched while one is examined */
#define BATCH 1024	/* overflow entries per call */

int freed__init(struct freed *f, const struct tables *t)
{
	*f = (struct freed){ .tables = t };
	if (t->mode != MT_MODE_LEAK)
		return 0;
	f->sites = calloc(t->n_sites, sizeof(*f->sites));
	f->since = calloc(t->n_sites, sizeof(*f->since));
	return f->sites && f->since ? 0 : -ENOMEM;
}

void freed__done(struct freed *f)
{
	free(f->sites);
	free(f->since);
	*f = (struct freed){};
}

void freed__fold(struct freed *f)
{
	for (uint32_t i = 0; f->sites && i < f->tables->n_sites; i++) {
		f->sites[i].calls += f->since[i].calls;
		f->sites[i].bytes += f->since[i].bytes;
		f->since[i] = (struct freed_site){};
	}
}

void freed__settle(const struct freed *f, struct cut_site *v, size_t n)
{
	for (size_t i = 0; i < n && f->sites; i++) {
		v[i].counts.free_calls += f->sites[v[i].site].calls;
		v[i].counts.free_bytes += f->sites[v[i].site].bytes;
	}
}

void freed__forget(struct freed *f, uint32_t site)
{
	if (f->sites)
		f->sites[site] = f->since[site] = (struct freed_site){};
}

struct dropping {
	struct freed *f;
	const struct use_calls *uses;
	uint64_t now_ns, now_units;
};

static enum block_use use_of(const struct dropping *d, uint32_t proc, uint64_t addr, uint64_t size, uint32_t chain, uint64_t born)
{
	uint64_t born_ns = d->now_ns - mt_born_ago(born, d->now_units) * d->f->tables->born_unit_ns;

	return chain & MT_CHAIN_UNSEEN ? d->uses->of(proc, addr, size, born_ns, d->uses->arg) : BLOCK_IN_USE;
}

static void note(struct dropping *d, uint32_t site, uint64_t bytes)
{
	if (site >= d->f->tables->n_sites)
		return;
	d->f->since[site].calls++;
	d->f->since[site].bytes += bytes;
}

static void take_out(struct dropping *d, uint64_t bucket, struct mt_block *b, uint64_t key, uint64_t val, uint64_t born)
{
	uint64_t was = key;

	if (!__atomic_compare_exchange_n(&b->key, &was, MT_KEY_CLAIMED, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	/* its address came again since it was judged */
	if (__atomic_load_n(&b->born, __ATOMIC_RELAXED) != born) {
		__atomic_store_n(&b->key, key, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_store_n(&b->key, 0, __ATOMIC_SEQ_CST);
	tables__note_left(d->f->tables, bucket, key >> 16, key & 0xffff);
	note(d, MT_VAL_SITE(val), MT_VAL_SIZE(val));
}

static void examine(struct dropping *d, uint64_t bucket, struct mt_block *b)
{
	uint64_t key = __atomic_load_n(&b->key, __ATOMIC_ACQUIRE), val, born;
	enum block_use use;

	if (key <= MT_KEY_CLAIMED)
		return;
	val = __atomic_load_n(&b->val, __ATOMIC_RELAXED);
	born = __atomic_load_n(&b->born, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&b->key, __ATOMIC_RELAXED) != key)
		return;
	use = use_of(d, key & 0xffff, key >> 16, MT_VAL_SIZE(val), MT_VAL_CHAIN(val), born);
	if (use == BLOCK_NOT_IN_USE)
		take_out(d, bucket, b, key, val, born);
}

/*
 * Takes it out. If its address came again since it was judged, what is there now has another birth and goes back; unless the address
 * came once more meanwhile: then that one was freed, too, and nobody else knows of it. True: *ret has left the table.
 */
static bool take_out_over(const struct tables *t, const struct mt_over_key *key, uint64_t born, struct mt_over *ret)
{
	return !bpf_map_lookup_and_delete_elem(t->overflow_fd, key, ret) &&
	       (ret->born == born || bpf_map_update_elem(t->overflow_fd, key, ret, BPF_NOEXIST));
}

static void drop_overflow(struct dropping *d)
{
	const struct tables *t = d->f->tables;
	struct mt_over_key keys[BATCH];
	struct mt_over values[BATCH];
	struct map_walk walk = {};
	bool more = t->n_over && *t->n_over;

	while (more) {
		uint32_t n = BATCH;

		more = map_walk__next(&walk, t->overflow_fd, keys, values, &n);
		for (uint32_t i = 0; i < n; i++) {
			enum block_use use = use_of(d, keys[i].proc, keys[i].addr, values[i].size, values[i].chain, values[i].born);

			struct mt_over left;

			if (use != BLOCK_NOT_IN_USE || !take_out_over(t, &keys[i], values[i].born, &left))
				continue;
			__atomic_fetch_sub(t->n_over, 1, __ATOMIC_SEQ_CST);
			if (keys[i].addr <= MT_ADDR_MAX)
				tables__note_left(t, UINT64_MAX, keys[i].addr, keys[i].proc);
			note(d, left.site, left.size);
		}
	}
}

void freed__drop(struct freed *f, const struct use_calls *uses, uint64_t now_ns)
{
	const struct tables *t = f->tables;
	struct dropping d = { f, uses, now_ns, now_ns / t->born_unit_ns };

	for (uint64_t bucket = 0; bucket < t->n_buckets; bucket++) {
		__builtin_prefetch(&t->buckets[bucket + AHEAD]);
		__builtin_prefetch(t->buckets[bucket + AHEAD].way + 2);
		for (int i = 0; i < MT_WAYS; i++)
			examine(&d, bucket, &t->buckets[bucket].way[i]);
	}
	drop_overflow(&d);
}

#define SOME_BUCKETS 512

double freed__table_fill(const struct freed *f)
{
	const struct tables *t = f->tables;
	uint64_t step = MAX(t->n_buckets / SOME_BUCKETS, 1ull), n = 0, taken = 0;

	for (uint64_t i = 0; i < t->n_buckets; i += step, n++)
		for (int k = 0; k < MT_WAYS; k++)
			taken += t->buckets[i].way[k].key != 0;
	return n ? (double)taken / (double)(n * MT_WAYS) : 0;
}
