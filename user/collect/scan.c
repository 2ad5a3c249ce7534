// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what the passes over the block table found. A pass visits the buckets in
 * their order, then the overflow map, then the blocks that a realloc has in its
 * hands; however it is cut into parts, a block that is there all the time is
 * seen once.
 *
 * An entry may change under our eyes: it is read, and its key is read again;
 * what changed in between belongs to a block that came or went meanwhile.
 *
 * Four million blocks are 140 MB: the pass is made for the memory's speed. The
 * buckets come in sequence; the sums by site are 32 bytes each, so that those of
 * ten thousand sites stay in the processor's second cache.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "collect/scan.h"
#include "probe/sampler.h"
#include "util/util.h"

_Static_assert(sizeof(struct seen) == 32, "two in a cache line, none in two");

#define SLICE 512	/* buckets between two readings of the clock: 64 KiB */
#define AT_ONCE 16	/* buckets that are read together, while the next ones are fetched */
#define BATCH 1024	/* overflow entries per call */

int scan__init(struct scan *s, const struct tables *t)
{
	*s = (struct scan){
		.tables = t,
		.now = calloc(t->n_sites, sizeof(*s->now)),
		.last = calloc(t->n_sites, sizeof(*s->last)),
		.now_oldest = calloc(t->n_sites, sizeof(*s->now_oldest)),
		.last_oldest = calloc(t->n_sites, sizeof(*s->last_oldest)),
	};
	if (t->sample_bytes)
		s->weighed = calloc(t->n_sites, sizeof(*s->weighed));
	return s->now && s->last && s->now_oldest && s->last_oldest && (!t->sample_bytes || s->weighed) ? 0 : -ENOMEM;
}

void scan__done(struct scan *s)
{
	free(s->now);
	free(s->last);
	free(s->now_oldest);
	free(s->last_oldest);
	free(s->weighed);
	*s = (struct scan){};
}

void weighed__add(struct weighed *w, uint64_t size, uint64_t sample_bytes, bool older)
{
	double weight = sampler__weight_of(size, sample_bytes);

	w->blocks += weight;
	w->bytes += weight * (double)size;
	if (older) {
		w->older_blocks += weight;
		w->older_bytes += weight * (double)size;
	}
}

/* born: as in the table, MT_BORN(); at: where that is, NULL if in no bucket */
static inline void see(struct scan *s, uint32_t site, uint64_t size, uint64_t born, const struct mt_block *at)
{
	uint64_t born_ns = s->now_ns - mt_born_ago(born, s->now_units) * s->tables->born_unit_ns;
	struct seen *row;

	if (site >= s->tables->n_sites)
		return;
	row = &s->now[site];
	if (!row->oldest_born_ns || born_ns < row->oldest_born_ns)
		s->now_oldest[site] = (struct spotted){ at, born };
	seen__add(row, size, born_ns, s->older_born_ns);
	if (s->weighed)
		weighed__add(&s->weighed[site], size, s->tables->sample_bytes, born_ns <= s->older_born_ns);
	if (s->ages) {
		double weight = s->weighed ? sampler__weight_of(size, s->tables->sample_bytes) : 1;

		age_counts__add(s->ages, site, s->now_ns - born_ns, weight, weight * (double)size);
	}
}

/* Neighbours at once: a barrier makes the processor wait, and two serve them all. */
static void see_buckets(struct scan *s, const struct mt_bucket *b, size_t n)
{
	uint64_t key[AT_ONCE][MT_WAYS];
	struct {
		uint64_t val, born;
	} block[AT_ONCE][MT_WAYS];

	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MT_WAYS; k++)
			key[i][k] = __atomic_load_n(&b[i].way[k].key, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MT_WAYS; k++) {
			block[i][k].val = __atomic_load_n(&b[i].way[k].val, __ATOMIC_RELAXED);
			block[i][k].born = __atomic_load_n(&b[i].way[k].born, __ATOMIC_RELAXED);
		}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MT_WAYS; k++)
			if (key[i][k] && key[i][k] != MT_KEY_CLAIMED &&
			    __atomic_load_n(&b[i].way[k].key, __ATOMIC_RELAXED) == key[i][k]) {
				see(s, MT_VAL_SITE(block[i][k].val), MT_VAL_SIZE(block[i][k].val),
				    block[i][k].born, &b[i].way[k]);
				if (s->blocks)
					block_sample__add(s->blocks, key[i][k] & 0xffff, key[i][k] >> 16,
							  MT_VAL_SIZE(block[i][k].val));
			}
}

static void see_slice(struct scan *s)
{
	const struct tables *t = s->tables;
	uint64_t end = MIN(s->bucket + SLICE, t->n_buckets);

	while (s->bucket < end) {
		const struct mt_bucket *b = &t->buckets[s->bucket];
		size_t n = MIN((uint64_t)AT_ONCE, end - s->bucket);

		for (size_t i = 0; i < n; i++) {
			__builtin_prefetch(b + n + i);
			__builtin_prefetch(b[n + i].way + 2);
		}
		see_buckets(s, b, n);
		s->bucket += n;
	}
}

/* The next entries of the overflow map; false: there are no more. */
static bool see_overflow(struct scan *s)
{
	const struct tables *t = s->tables;
	struct mt_over_key keys[BATCH];
	struct mt_over values[BATCH];
	uint32_t n = BATCH;
	bool more;

	/* an empty one is large all the same */
	if (!s->over.begun && !(t->n_over && *t->n_over))
		return false;
	more = map_walk__next(&s->over, t->overflow_fd, keys, values, &n);
	for (uint32_t i = 0; i < n; i++) {
		see(s, values[i].site, values[i].size, values[i].born, NULL);
		/* a mapping has no chunk, and its key is no address */
		if (s->blocks && !(keys[i].addr & MT_OVER_MAPPING))
			block_sample__add(s->blocks, keys[i].proc, keys[i].addr, values[i].size);
	}
	return more;
}

/* Blocks that a realloc under way has taken out: they are live until it returns. */
static void see_taken(struct scan *s)
{
	const struct tables *t = s->tables;

	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct mt_thread *th = &t->threads[i];

		if (th->tid && th->sp && th->old_site)
			see(s, th->old_site, th->old_size, th->old_born, NULL);
	}
}

static void set_now(struct scan *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
	s->now_units = now_ns / s->tables->born_unit_ns;
}

static void begin(struct scan *s, uint64_t now_ns, uint64_t older_born_ns)
{
	memset(s->now, 0, s->tables->n_sites * sizeof(*s->now));
	memset(s->now_oldest, 0, s->tables->n_sites * sizeof(*s->now_oldest));
	if (s->weighed)
		memset(s->weighed, 0, s->tables->n_sites * sizeof(*s->weighed));
	s->began_ns = now_ns;
	s->older_born_ns = older_born_ns;
	s->bucket = 0;
	s->over = (struct map_walk){};
}

static void end(struct scan *s)
{
	struct spotted *last_oldest = s->last_oldest;
	struct seen *last = s->last;

	see_taken(s);
	s->last = s->now;
	s->now = last;
	s->last_oldest = s->now_oldest;
	s->now_oldest = last_oldest;
	s->last_began_ns = s->began_ns;
	s->began_ns = 0;
}

/* One slice; false: the pass has come to its end. */
static bool step(struct scan *s)
{
	if (s->bucket < s->tables->n_buckets)
		see_slice(s);
	else if (!see_overflow(s))
		return false;
	return true;
}

void scan__all(struct scan *s, uint64_t now_ns, uint64_t older_ns)
{
	set_now(s, now_ns);
	begin(s, now_ns, now_ns > older_ns ? now_ns - older_ns : 0);
	while (step(s))
		;
	end(s);
}

void scan__some(struct scan *s, uint64_t now_ns, uint64_t budget_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + budget_ns;

	set_now(s, now_ns);
	if (!s->began_ns)
		begin(s, now_ns, 0);
	do {
		if (!step(s)) {
			end(s);
			return;
		}
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns);
}

void scan__forget(struct scan *s, uint32_t site)
{
	memset(&s->now[site], 0, sizeof(s->now[site]));
	memset(&s->last[site], 0, sizeof(s->last[site]));
	memset(&s->now_oldest[site], 0, sizeof(s->now_oldest[site]));
	memset(&s->last_oldest[site], 0, sizeof(s->last_oldest[site]));
}

static bool is_there_still(const struct spotted *o, uint32_t site)
{
	uint64_t key, val, born;

	if (!o->at)
		return false;
	key = __atomic_load_n(&o->at->key, __ATOMIC_ACQUIRE);
	val = __atomic_load_n(&o->at->val, __ATOMIC_RELAXED);
	born = __atomic_load_n(&o->at->born, __ATOMIC_RELAXED);
	return key && key != MT_KEY_CLAIMED && MT_VAL_SITE(val) == site && born == o->born;
}

uint64_t scan__oldest_born_ns(const struct scan *s, uint32_t site, uint64_t first_ns, bool *ret_known)
{
	uint64_t now = s->began_ns ? s->now[site].oldest_born_ns : 0, born_ns = s->last[site].oldest_born_ns;

	*ret_known = is_there_still(&s->last_oldest[site], site);
	/* a block that was there before the last whole pass has been seen by it */
	if (!born_ns)
		born_ns = MAX(first_ns, s->last_began_ns);
	return now && now < born_ns ? now : born_ns;
}
