// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. An entry may change under our eyes: it is read, and read again;
 * what changed in between belongs to a block that came or went during the scan.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "collect/scan.h"
#include "util/util.h"

struct scan {
	struct cut *cut;
	const uint32_t *row_of_site;
	uint32_t n_sites;
	uint64_t older_ns;
};

static void see(struct scan *s, uint32_t site, uint64_t size, uint64_t born_ns)
{
	struct cut_site *row;

	if (site >= s->n_sites || !s->row_of_site[site])
		return;
	row = &s->cut->sites[s->row_of_site[site] - 1];
	row->scan_blocks++;
	row->scan_bytes += size;
	if (!row->oldest_born_ns || born_ns < row->oldest_born_ns)
		row->oldest_born_ns = born_ns;
	if (born_ns + s->older_ns <= s->cut->now_ns) {
		row->older_blocks++;
		row->older_bytes += size;
	}
}

static void see_bucket(struct scan *s, const struct mt_bucket *b)
{
	for (int i = 0; i < MT_WAYS; i++) {
		const struct mt_block *e = &b->way[i];
		uint64_t key = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE), val, born_ns;

		if (!key || key == MT_KEY_CLAIMED)
			continue;
		val = __atomic_load_n(&e->val, __ATOMIC_RELAXED);
		born_ns = __atomic_load_n(&e->born_ns, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&e->key, __ATOMIC_RELAXED) != key)
			continue;
		see(s, val & MT_SITE_MASK, val >> MT_SITE_BITS, born_ns);
	}
}

#define BATCH 1024

/* In batches: walking key by key starts over whenever the key at hand is deleted meanwhile. */
static void see_overflow(struct scan *s, int fd)
{
	struct mt_over_key keys[BATCH];
	struct mt_over values[BATCH];
	uint64_t at, next;
	bool first = true;
	int err;

	do {
		uint32_t n = BATCH;

		err = bpf_map_lookup_batch(fd, first ? NULL : &at, &next, keys, values, &n, NULL);
		if (err && errno != ENOENT)
			return;
		for (uint32_t i = 0; i < n; i++)
			see(s, values[i].site, values[i].size, values[i].born_ns);
		at = next;
		first = false;
	} while (!err);
}

/* Blocks that a realloc under way has taken out: they are live until it returns. */
static void see_taken(struct scan *s, const struct tables *t)
{
	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct mt_thread *th = &t->threads[i];

		if (th->tid && th->sp && th->old_site)
			see(s, th->old_site, th->old_size, th->old_born_ns);
	}
}

void scan__blocks(const struct tables *t, struct cut *cut, const uint32_t *row_of_site, uint32_t n_sites,
		  uint64_t older_ns)
{
	struct scan s = { cut, row_of_site, n_sites, older_ns };

	for (uint64_t i = 0; i < t->n_buckets; i++)
		see_bucket(&s, &t->buckets[i]);
	see_overflow(&s, t->overflow_fd);
	see_taken(&s, t);
}
