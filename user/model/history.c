// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the courses of sites, fed once a second.
 *
 * What always holds: memory is bounded by HISTORY_MAX_SITES courses of
 * COURSE_MAX_POINTS points, beside a few words for each site number. Nothing
 * that was low is forgotten when points merge: a point knows the least and the
 * most of its time. Recent points are seconds apart, old ones hours: the time
 * that a point covers grows with its age, so that both the last minute and
 * the last three days fit.
 *
 * Which sites matter: half of the room goes to those that hold the most, a
 * quarter to those that grow the most, a quarter to those that are called the
 * most, where a slow leak hides behind what is freed. Where there is room for
 * all sites, all have a course.
 */
#include "model/history.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Of a point's beginning, not of its end: those that come ever so often would be one for good. */
#define CLOSE_NS (SECOND_NS / 10)
/*
 * Notes after which a site that ceased to matter is as good as gone; until then others lose their
 * course before it.
 */
#define PATIENCE 8
/* Seconds, about, that "of late" looks back over. */
#define SMOOTH 16.0
#define RATE_MIN_NS (500 * MS_NS)

/* ---- a course */

void course__done(struct course *c)
{
	vec_done(&c->points);
}

static void merge(struct course_point *into, const struct course_point *later)
{
	into->t_ns = later->t_ns;
	into->live_bytes = later->live_bytes;
	if (later->low_bytes < into->low_bytes) {
		into->low_bytes = later->low_bytes;
		into->low_ns = later->low_ns;
	}
	into->high_bytes = MAX(into->high_bytes, later->high_bytes);
	into->live_blocks = later->live_blocks;
	if (later->low_blocks < into->low_blocks) {
		into->low_blocks = later->low_blocks;
		into->low_blocks_ns = later->low_blocks_ns;
	}
	into->high_blocks = MAX(into->high_blocks, later->high_blocks);
	into->alloc_calls = later->alloc_calls;
}

/* Makes room for a point at now_ns: the pair goes together that covers the smallest share of its age. */
static void thin_out(struct course *c, uint64_t now_ns)
{
	struct course_point *v = c->points.v;
	size_t at = 1;
	double least = 2;

	/* the first point stays what it is: the beginning */
	for (size_t i = 1; i + 1 < c->points.n; i++) {
		double share = (double)(v[i + 1].t_ns - v[i - 1].t_ns) / (double)(now_ns - v[i - 1].t_ns);

		if (share < least) {
			least = share;
			at = i;
		}
	}
	merge(&v[at], &v[at + 1]);
	memmove(&v[at + 1], &v[at + 2], (c->points.n - at - 2) * sizeof(*v));
	c->points.n--;
}

static struct course_point point(uint64_t t_ns, uint64_t live_bytes, uint64_t live_blocks, uint64_t alloc_calls)
{
	return (struct course_point){ t_ns, live_bytes, live_bytes, live_bytes, t_ns,
				      live_blocks, live_blocks, live_blocks, t_ns, alloc_calls, t_ns };
}

void course__add(struct course *c, uint64_t t_ns, uint64_t live_bytes, uint64_t live_blocks, uint64_t alloc_calls)
{
	struct course_point p = point(t_ns, live_bytes, live_blocks, alloc_calls), *slot;
	struct course_point *last = c->points.n ? &c->points.v[c->points.n - 1] : NULL;

	if (last && t_ns < last->began_ns + CLOSE_NS) {
		p.t_ns = MAX(t_ns, last->t_ns);
		merge(last, &p);
		return;
	}
	if (c->points.n >= COURSE_MAX_POINTS)
		thin_out(c, t_ns);
	slot = vec_push(&c->points);
	*slot = p;
}

#define EVENLY 3	/* the quickest quarter rises by at most so many times what the slowest does */

bool quarters__climb(const double rates[static QUARTERS - 1])
{
	double least = INFINITY, most = 0;

	for (size_t k = 0; k < QUARTERS - 1; k++) {
		least = MIN(least, rates[k]);
		most = MAX(most, rates[k]);
	}
	return least > 0 && least * EVENLY >= most;
}

bool course__climbs(const struct course_point *v, size_t n, uint64_t from_ns, double *ret_bytes, double *ret_per_s)
{
	double floor[QUARTERS] = { INFINITY, INFINITY, INFINITY, INFINITY }, t_s[QUARTERS] = {}, rates[QUARTERS - 1];
	double span_ns = (double)v[n - 1].t_ns - (double)from_ns;

	for (size_t i = 0; i < n; i++) {
		double at = ((double)v[i].t_ns - (double)from_ns) / span_ns;
		size_t k = MIN((size_t)(MAX(at, 0.0) * QUARTERS), (size_t)QUARTERS - 1);

		if (at >= 0 && (double)v[i].low_bytes < floor[k]) {
			floor[k] = (double)v[i].low_bytes;
			t_s[k] = (double)v[i].low_ns / 1e9;
		}
	}
	/* a quarter without a point is none that climbs */
	for (size_t k = 1; k < QUARTERS; k++)
		rates[k - 1] = isinf(floor[k]) || isinf(floor[k - 1]) ? 0 : (floor[k] - floor[k - 1]) / (t_s[k] - t_s[k - 1]);
	if (!quarters__climb(rates))
		return false;
	*ret_bytes = floor[QUARTERS - 1] - floor[0];
	*ret_per_s = *ret_bytes / (t_s[QUARTERS - 1] - t_s[0]);
	return true;
}

/* The timeline's points are even: so are the course's. */
void course__of_timeline(struct course *c, const struct snap_point *v, size_t n)
{
	size_t each = (n + COURSE_MAX_POINTS - 1) / COURSE_MAX_POINTS;

	for (size_t i = 0; i < n; i++) {
		struct course_point p = point(v[i].t_ns, v[i].live_bytes, v[i].live_blocks, v[i].alloc_calls);
		struct course_point *slot = c->points.n ? &c->points.v[c->points.n - 1] : NULL;

		if (i % each || (slot && p.t_ns < slot->began_ns + CLOSE_NS)) {
			p.t_ns = MAX(p.t_ns, slot->t_ns);
			merge(slot, &p);
			continue;
		}
		slot = vec_push(&c->points);
		*slot = p;
	}
}

/* ---- the sites that matter */

void history__done(struct history *h)
{
	for (size_t i = 0; i < h->sites.n; i++)
		course__done(&h->sites.v[i].course);
	vec_done(&h->sites);
	vec_done(&h->slot_of);
	vec_done(&h->base);
	vec_done(&h->keys);
	vec_done(&h->wanted);
}

static uint64_t live_bytes(const struct snap_site *s)
{
	return s->c.alloc_bytes > s->c.free_bytes ? s->c.alloc_bytes - s->c.free_bytes : 0;
}

static uint64_t live_blocks(const struct snap_site *s)
{
	return s->c.alloc_calls > s->c.free_calls ? s->c.alloc_calls - s->c.free_calls : 0;
}

static struct site_course *course_of(const struct history *h, const struct snap_site *s)
{
	uint32_t slot = s->number < h->slot_of.n ? h->slot_of.v[s->number] : 0;
	struct site_course *c = slot ? &h->sites.v[slot - 1] : NULL;

	return c && c->site == s->number && c->proc == s->proc && c->first_ns == s->first_ns ? c : NULL;
}

const struct course *history__of_site(const struct history *h, const struct snap_site *site)
{
	const struct site_course *c = course_of(h, site);

	return c ? &c->course : NULL;
}

static void make_room(struct history *h, const struct cut *cut)
{
	for (size_t i = 0; i < cut->n_sites; i++) {
		while (h->slot_of.n <= cut->sites[i].number)
			vec_push(&h->slot_of);
		while (h->base.n <= cut->sites[i].number)
			vec_push(&h->base);
	}
	while (h->keys.n < 2 * cut->n_sites)
		vec_push(&h->keys);
	while (h->wanted.n < cut->n_sites)
		vec_push(&h->wanted);
}

/* NULL: it was not seen yet. */
static struct site_base *base_of(const struct history *h, const struct snap_site *s)
{
	struct site_base *base = &h->base.v[s->number];

	return base->proc == s->proc && base->first_ns == s->first_ns ? base : NULL;
}

/*
 * Cuts may follow each other within milliseconds: calls are those of at least half a second, and of no more than a second where they
 * are fewer. A site that was called at all has at least one.
 */
static void note_rate(struct site_base *base, const struct snap_site *s, uint64_t t_ns)
{
	uint64_t calls = s->c.alloc_calls, span_ns = t_ns - base->rate_ns;

	if (t_ns < base->rate_ns + RATE_MIN_NS)
		return;
	if (calls > base->rate_calls)
		base->most_calls_per_s = MAX(base->most_calls_per_s,
					     (uint64_t)ceil((double)(calls - base->rate_calls) * 1e9 / (double)MAX(span_ns, SECOND_NS)));
	base->rate_calls = calls;
	base->rate_ns = t_ns;
}

static void note_base(struct history *h, const struct snap_site *s, uint64_t t_ns)
{
	struct site_base *base = base_of(h, s);
	double live = (double)live_bytes(s);

	if (base) {
		base->live_bytes += (live - base->live_bytes) / SMOOTH;
	} else {
		base = &h->base.v[s->number];
		/* all of its calls came after the last note */
		*base = (struct site_base){ .proc = s->proc, .first_ns = s->first_ns, .live_bytes = live, .rate_ns = h->noted_ns };
	}
	note_rate(base, s, t_ns);
}

uint64_t history__most_calls_per_s(const struct history *h, const struct snap_site *site)
{
	const struct site_base *base = site->number < h->base.n ? base_of(h, site) : NULL;

	return base ? base->most_calls_per_s : 0;
}

/* What the three lists are ordered by. */
static uint64_t by_live(const struct history *h, const struct snap_site *s)
{
	return MAX(live_bytes(s), live_blocks(s) * BLOCK_LEAST);
}

static uint64_t by_growth(const struct history *h, const struct snap_site *s)
{
	const struct site_base *base = base_of(h, s);
	double more = (double)live_bytes(s) - (base ? base->live_bytes : 0);

	return more >= 1 ? (uint64_t)more : 0;
}

static uint64_t by_calls(const struct history *h, const struct snap_site *s)
{
	return s->c.alloc_calls;
}

static const struct list {
	uint64_t (*key)(const struct history *h, const struct snap_site *s);
	size_t room;
} lists[] = {
	{ by_live, HISTORY_MAX_SITES / 2 },
	{ by_growth, HISTORY_MAX_SITES / 4 },
	{ by_calls, HISTORY_MAX_SITES / 4 },
};

/*
 * A site that has a course is ahead by a quarter: those at the end of a list would lose it and
 * begin anew, over and over.
 */
static uint64_t key_of(const struct history *h, const struct list *list, const struct snap_site *s)
{
	uint64_t key = list->key(h, s);

	return course_of(h, s) ? key + key / 4 : key;
}

/* The nth largest of v, which is put in some other order. */
static uint64_t nth_largest(uint64_t *v, size_t n, size_t nth)
{
	size_t from = 0, to = n - 1;

	while (from < to) {
		uint64_t pivot = v[from + (to - from) / 2];
		size_t i = from, k = to;

		for (;;) {
			uint64_t swap;

			while (v[i] > pivot)
				i++;
			while (v[k] < pivot)
				k--;
			if (i >= k)
				break;
			swap = v[i];
			v[i++] = v[k];
			v[k--] = swap;
		}
		if (nth <= k)
			to = k;
		else
			from = k + 1;
	}
	return v[nth];
}

/*
 * Processes that have ended: their courses ended with them. Those whose live blocks are not known have no point now. Rows of stacks that
 * were given up have none: they hold nothing. over: by number of the process.
 */
static bool is_over(const bool *over, const struct snap_site *s)
{
	return s->evicted_stacks || s->proc >= MT_PROC_NUMBERS || over[s->proc];
}

/*
 * The sites of one list, as many as it has room for and no more: where many are alike,
 * those that have a course already, then the first that come. Nothing is on a list by 0.
 */
static void choose(struct history *h, const struct cut *cut, const bool *over, const struct list *list)
{
	size_t left = list->room;
	uint64_t least;

	for (size_t i = 0; i < cut->n_sites; i++)
		h->keys.v[i] = is_over(over, &cut->sites[i]) ? 0 : key_of(h, list, &cut->sites[i]);
	/* the search changes their order */
	memcpy(h->keys.v + cut->n_sites, h->keys.v, cut->n_sites * sizeof(*h->keys.v));
	least = MAX(1u, nth_largest(h->keys.v + cut->n_sites, cut->n_sites, list->room - 1));
	for (size_t i = 0; i < cut->n_sites; i++)
		if (h->keys.v[i] > least) {
			h->wanted.v[i] = true;
			left--;
		}
	for (int with = 1; with >= 0; with--)
		for (size_t i = 0; i < cut->n_sites && left; i++)
			if (h->keys.v[i] == least && !!course_of(h, &cut->sites[i]) == with) {
				h->wanted.v[i] = true;
				left--;
			}
}

static void choose_all(struct history *h, const struct cut *cut, const bool *over)
{
	if (cut->n_sites > HISTORY_MAX_SITES)
		memset(h->wanted.v, 0, cut->n_sites * sizeof(*h->wanted.v));
	for (size_t k = 0; k < ARRAY_SIZE(lists) && cut->n_sites > HISTORY_MAX_SITES; k++)
		choose(h, cut, over, &lists[k]);
	for (size_t i = 0; i < cut->n_sites; i++) {
		struct site_course *c;

		if (cut->n_sites <= HISTORY_MAX_SITES) {
			h->wanted.v[i] = false;
			for (size_t k = 0; k < ARRAY_SIZE(lists) && !is_over(over, &cut->sites[i]); k++)
				h->wanted.v[i] |= lists[k].key(h, &cut->sites[i]) > 0;
		}
		c = h->wanted.v[i] ? course_of(h, &cut->sites[i]) : NULL;
		if (c)
			c->wanted_at = h->n_notes;
	}
}

/*
 * The slot whose site has not mattered for the longest time; as many sites matter as there are
 * slots, so there is one.
 */
static struct site_course *least_wanted(struct history *h)
{
	struct site_course *found = NULL;

	for (size_t i = 0; i < h->sites.n; i++) {
		h->hand = (h->hand + 1) % h->sites.n;
		if (h->sites.v[h->hand].wanted_at < (found ? found->wanted_at : h->n_notes))
			found = &h->sites.v[h->hand];
		/* it will not come back: there is no need to look on */
		if (found && h->n_notes - found->wanted_at >= PATIENCE)
			break;
	}
	return found;
}

/* NULL: none is wanted less. */
static struct site_course *take_slot(struct history *h, const struct snap_site *s)
{
	struct site_course *c = NULL;

	/* of another process, which had the same number before */
	if (h->slot_of.v[s->number])
		c = &h->sites.v[h->slot_of.v[s->number] - 1];
	else
		c = h->sites.n < HISTORY_MAX_SITES ? vec_push(&h->sites) : least_wanted(h);
	if (!c)
		return NULL;
	if (h->slot_of.v[c->site] == (uint32_t)(c - h->sites.v) + 1)
		h->slot_of.v[c->site] = 0;
	c->course.points.n = 0;
	h->slot_of.v[s->number] = (uint32_t)(c - h->sites.v) + 1;
	c->site = s->number;
	c->proc = s->proc;
	c->first_ns = s->first_ns;
	c->wanted_at = h->n_notes;
	return c;
}

void history__note(struct history *h, const struct cut *cut, uint64_t t_ns)
{
	_cleanup_free_ bool *over = xcalloc(MT_PROC_NUMBERS, sizeof(*over));

	make_room(h, cut);
	h->n_notes++;
	for (size_t i = 0; i < cut->n_procs; i++)
		if ((cut->procs[i].ended || cut->procs[i].live_unknown) && cut->procs[i].proc < MT_PROC_NUMBERS)
			over[cut->procs[i].proc] = true;
	choose_all(h, cut, over);
	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct snap_site *s = &cut->sites[i];
		struct site_course *c;

		if (is_over(over, s))
			continue;
		c = course_of(h, s);
		if (!c && h->wanted.v[i])
			c = take_slot(h, s);
		if (c)
			course__add(&c->course, t_ns, live_bytes(s), live_blocks(s), s->c.alloc_calls);
	}
	for (size_t i = 0; i < cut->n_sites; i++)
		/* rows of stacks that were given up share a number */
		if (!cut->sites[i].evicted_stacks)
			note_base(h, &cut->sites[i], t_ns);
	h->noted_ns = t_ns;
}
