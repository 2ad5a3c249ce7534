// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what the passes over the block table found. A pass visits its entries, then the blocks that a realloc
 * has in its hands. The sums by site are 32 bytes each, so that those of ten thousand sites stay in the
 * processor's second cache.
 */
#include <string.h>
#include <time.h>

#include "collect/scan.h"
#include "probe/kernel.h"
#include "util/util.h"

_Static_assert(sizeof(struct seen) == 32, "two in a cache line, none in two");

void scan__init(struct scan *s, const struct tables *t)
{
	*s = (struct scan){
		.tables = t,
		.now = xcalloc(t->n_sites, sizeof(*s->now)),
		.last = xcalloc(t->n_sites, sizeof(*s->last)),
		.now_oldest = xcalloc(t->n_sites, sizeof(*s->now_oldest)),
		.last_oldest = xcalloc(t->n_sites, sizeof(*s->last_oldest)),
	};
	if (t->sample_bytes)
		s->weighed = xcalloc(t->n_sites, sizeof(*s->weighed));
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

static inline void see(const struct block *b, void *arg)
{
	struct scan *s = arg;
	uint64_t born_ns = s->now_ns - mt_born_ago(b->born, s->now_units) * s->tables->born_unit_ns;
	struct seen *row;

	/* the programs go on while the table is read: this one is the next raw snapshot's */
	if (mt_born_after(b->born, s->now_units))
		return;
	/* a mapping has no chunk, and its key is no address */
	if (s->blocks && !b->taken && !(b->addr & MT_OVER_MAPPING))
		block_sample__add(s->blocks, b->proc, b->addr, b->size);
	if (b->site >= s->tables->n_sites)
		return;
	row = &s->now[b->site];
	if (!row->oldest_born_ns || born_ns < row->oldest_born_ns)
		s->now_oldest[b->site] = (struct spotted){ b->at, b->born };
	seen__add(row, b->size, born_ns, s->older_born_ns);
	if (s->weighed)
		weighed__add(&s->weighed[b->site], b->size, s->tables->sample_bytes, born_ns <= s->older_born_ns);
	if (s->ages) {
		double weight = s->weighed ? sampler__weight_of(b->size, s->tables->sample_bytes) : 1;

		age_counts__add(s->ages, b->site, s->now_ns - born_ns, weight, weight * (double)b->size);
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
	s->walk = (struct block_walk){};
}

static void end(struct scan *s)
{
	struct spotted *last_oldest = s->last_oldest;
	struct seen *last = s->last;

	blocks__taken(s->tables, see, s);
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
	return block_walk__next(&s->walk, s->tables, NULL, see, s);
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
