// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what the passes over the block table found. A pass visits its entries, then the blocks that a realloc
 * has in its hands. The sums by site are 32 bytes each, so that those of ten thousand sites stay in the
 * processor's second cache.
 */
#include "collect/passes.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "bpf/hash.h"
#include "probe/kernel.h"
#include "util/util.h"

/* ---- ages */

/*
 * Owns the counts of a pass, by site and class. A table of all classes of all sites
 * would be a hundred times what is in it, and would not stay in any cache: a site has
 * a list of pieces instead, of the classes that it has blocks in.
 */

void age_counts__init(struct age_counts *a, uint32_t n_sites)
{
	*a = (struct age_counts){ .first = xcalloc(n_sites, sizeof(*a->first)), .n_sites = n_sites };
}

void age_counts__done(struct age_counts *a)
{
	free(a->first);
	vec_done(&a->chunks);
	free(a->rows);
	*a = (struct age_counts){};
}

void age_counts__reset(struct age_counts *a)
{
	memset(a->first, 0, a->n_sites * sizeof(*a->first));
	a->chunks.n = 0;
	a->n_rows = 0;
}

/* After chunk last - 1 of the site; 0: it has none yet. */
static struct age_chunk *new_chunk(struct age_counts *a, uint32_t site, uint32_t last, uint32_t group)
{
	struct age_chunk *c = vec_push(&a->chunks);

	c->group = group;
	*(last ? &a->chunks.v[last - 1].next : &a->first[site]) = (uint32_t)a->chunks.n;
	return c;
}

void age_counts__add(struct age_counts *a, uint32_t site, uint64_t age_ns, double blocks, double bytes)
{
	uint32_t class = age__class(age_ns), at = a->first[site], last = 0;
	struct age_chunk *c = NULL;

	while (at && (c = &a->chunks.v[at - 1])->group != class / AGE_CHUNK) {
		last = at;
		at = c->next;
	}
	if (!at)
		c = new_chunk(a, site, last, class / AGE_CHUNK);
	c->of[class % AGE_CHUNK].blocks += blocks;
	c->of[class % AGE_CHUNK].bytes += bytes;
}

void age_counts__make_rows(struct age_counts *a, size_t n_more)
{
	size_t n = n_more;

	for (size_t i = 0; i < a->chunks.n; i++)
		for (int k = 0; k < AGE_CHUNK; k++)
			n += a->chunks.v[i].of[k].blocks > 0;
	a->n_rows = 0;
	if (n > a->row_room) {
		free(a->rows);
		a->rows = xcalloc(n, sizeof(*a->rows));
		a->row_room = n;
	}
}

static struct cut_age *put(struct age_counts *a, struct cut_age row)
{
	a->rows[a->n_rows] = row;
	return &a->rows[a->n_rows++];
}

struct cut_age *age_counts__rows(struct age_counts *a, uint32_t site, struct cut_age *list)
{
	for (uint32_t at = a->first[site]; at; at = a->chunks.v[at - 1].next) {
		const struct age_chunk *c = &a->chunks.v[at - 1];

		for (uint32_t k = 0; k < AGE_CHUNK; k++) {
			uint8_t class = (uint8_t)(c->group * AGE_CHUNK + k);

			if (c->of[k].blocks > 0)
				list = put(a, (struct cut_age){ list, (uint64_t)llround(c->of[k].blocks),
								(uint64_t)llround(c->of[k].bytes), class, class });
		}
	}
	return list;
}

struct cut_age *age_counts__range(struct age_counts *a, uint64_t youngest_ns, uint64_t oldest_ns,
				  uint64_t blocks, uint64_t bytes, struct cut_age *list)
{
	return put(a, (struct cut_age){ list, blocks, bytes, age__class(MIN(youngest_ns, oldest_ns)),
					age__class(oldest_ns) });
}

/* ---- some blocks, with their addresses */

/*
 * Owns a sample of the live blocks. Whether a block is in it depends on its address and
 * nothing else: when there is no room one bit more of the hash is required, and
 * those go that have it. So each of them stands for the same number of blocks.
 */

static uint64_t hash_of(uint32_t proc, uint64_t addr)
{
	return mt_mix(addr ^ (uint64_t)proc << 48);
}

void block_sample__done(struct block_sample *s)
{
	vec_done(&s->kind[0].blocks);
	vec_done(&s->kind[1].blocks);
	vec_done(&s->all);
}

void block_sample__reset(struct block_sample *s)
{
	for (int i = 0; i < 2; i++) {
		s->kind[i].blocks.n = 0;
		s->kind[i].mask = 0;
	}
	s->all.n = 0;
}

static void thin_out(struct block_sample *s, bool large)
{
	size_t to = 0;

	s->kind[large].mask = s->kind[large].mask << 1 | 1;
	for (size_t i = 0; i < s->kind[large].blocks.n; i++) {
		const struct cut_block *b = &s->kind[large].blocks.v[i];

		if (!(hash_of(b->proc, b->addr) & s->kind[large].mask))
			s->kind[large].blocks.v[to++] = *b;
	}
	s->kind[large].blocks.n = to;
}

void block_sample__add(struct block_sample *s, uint32_t proc, uint64_t addr, uint64_t size)
{
	bool large = size >= BLOCK_SAMPLE_LARGE;

	if (hash_of(proc, addr) & s->kind[large].mask)
		return;
	if (s->kind[large].blocks.n == BLOCK_SAMPLE_MAX) {
		thin_out(s, large);
		if (hash_of(proc, addr) & s->kind[large].mask)
			return;
	}
	*vec_push(&s->kind[large].blocks) = (struct cut_block){ .addr = addr, .size = size, .proc = proc };
}

COMPARATOR(by_place, struct cut_block, ORDER(a->proc, b->proc) ?: ORDER(a->addr, b->addr))

void block_sample__all(struct block_sample *s, const struct cut_block **ret, size_t *ret_n)
{
	s->all.n = 0;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < s->kind[k].blocks.n; i++) {
			struct cut_block *b = vec_push(&s->all);

			*b = s->kind[k].blocks.v[i];
			b->stands_for = (uint32_t)MIN(s->kind[k].mask + 1, (uint64_t)UINT32_MAX);
		}
	vec_sort(&s->all, by_place);
	*ret = s->all.v;
	*ret_n = s->all.n;
}

/* ---- a pass */

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
	uint64_t born_ns = birth_clock__ns(&s->clock, b->born);
	struct seen *row;

	/* the programs go on while the table is read: this one is the next raw snapshot's */
	if (mt_born_after(b->born, s->clock.now_units))
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

		age_counts__add(s->ages, b->site, s->clock.now_ns - born_ns, weight, weight * (double)b->size);
	}
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
	s->clock = birth_clock__at(s->tables, now_ns);
	begin(s, now_ns, now_ns > older_ns ? now_ns - older_ns : 0);
	while (step(s))
		;
	end(s);
}

void scan__some(struct scan *s, uint64_t now_ns, uint64_t budget_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + budget_ns;

	s->clock = birth_clock__at(s->tables, now_ns);
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
