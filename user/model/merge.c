// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. What always holds: the order in which things are added up does
 * not matter for counts; nothing that was counted is left out of a sum.
 */
#include "model/merge.h"

#include <string.h>

#include "model/cut.h"
#include "model/schema.h"
#include "util/util.h"

void counters__add_counts(struct counters *sum, const struct counters *c)
{
	uint64_t peak_bytes = sum->peak_bytes;

	counters__add(sum, c);
	sum->peak_bytes = peak_bytes;
}

void counters__add(struct counters *sum, const struct counters *c)
{
	fields__merge(&counter_fields, sum, c);
}

struct counters counters__take(struct counters *left, const struct counters *c)
{
	struct counters ret = *c;

	for (size_t i = 0; i < counter_fields.n; i++) {
		uint64_t *from = (uint64_t *)((char *)left + counter_fields.v[i].offset);
		uint64_t *taken = (uint64_t *)((char *)&ret + counter_fields.v[i].offset);

		*taken = MIN(*taken, *from);
		*from -= *taken;
	}
	return ret;
}

#define TAKE(its_name, shift) .its_name = c->its_name,

struct counters counters__of_site(const struct mt_counts *c)
{
	return (struct counters){ MT_COUNTED(TAKE) };
}

struct counters counters__of_thread(const struct mt_thread_counts *c)
{
	return (struct counters){ MT_COUNTED(TAKE).unknown_frees = c->unknown_frees };
}

void std_error__add(struct std_error *sum, const struct std_error *e)
{
	fields__merge(&error_fields, sum, e);
}

void memory__add(struct snap_memory *sum, const struct snap_memory *m)
{
	sum->known &= m->known;
	sum->grown_known &= m->grown_known;
	fields__merge(&memory_fields, sum, m);
}

/* ---- trends */

/* The most alarming first. */
static const char *const verdicts[] = { "leak", "suspect", "growing", "steady", "draining", "new" };
#define N_ALARMS 3

static size_t alarm_of(const char *verdict)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(verdicts) && verdict && strcmp(verdicts[i], verdict))
		i++;
	return verdict ? i : ARRAY_SIZE(verdicts) + 1;
}

bool verdict__is_alarm(const char *verdict)
{
	return alarm_of(verdict) < N_ALARMS;
}

int verdict__compare(const char *a, const char *b)
{
	return (int)alarm_of(a) - (int)alarm_of(b);
}

void trend__worsen(struct trend *t, const struct trend *other)
{
	if (alarm_of(other->verdict) >= alarm_of(t->verdict))
		return;
	t->verdict = other->verdict;
	t->why = other->why;
	t->why_unreached = other->why_unreached;
}

void trend__add(struct trend *sum, const struct trend *t)
{
	trend__worsen(sum, t);
	if (t->known)
		sum->growth_bytes_per_s += t->growth_bytes_per_s;
	sum->known |= t->known;
}

/* ---- sites */

const char *trend__why_among(struct snapshot *s, const struct trend *t, size_t n_alike, size_t n)
{
	_cleanup_free_ char *why = NULL;

	if (!t->why || n < 2)
		return t->why;
	if (n_alike > 1)
		why = xasprintf("in %zu of %zu, of which one: %s", n_alike, n, t->why);
	else
		why = xasprintf("in one of %zu: %s", n, t->why);
	return snapshot__strdup(s, why);
}

void site__add(struct snap_site *sum, const struct snap_site *site)
{
	struct cut_age **ages = &sum->raw_ages;

	while (*ages)
		ages = &(*ages)->next;
	*ages = site->raw_ages;
	/* the smallest of no allocation is 0 and means nothing */
	if (site->c.alloc_calls && (!sum->c.alloc_calls || site->min_size < sum->min_size))
		sum->min_size = site->min_size;
	if (site->oldest_ns > sum->oldest_ns) {
		sum->oldest_ns = site->oldest_ns;
		sum->oldest_at_most = site->oldest_at_most;
	}
	sum->peak_at_most |= sum->c.peak_bytes && site->c.peak_bytes;
	row__merge(table__member(TABLE_SITES), sum, site, false);
	fields__merge(&variance_fields, &sum->var, &site->var);
	sum->scan_blocks += site->scan_blocks;
	sum->scan_bytes += site->scan_bytes;
	if (site->oldest_born_ns && (!sum->oldest_born_ns || site->oldest_born_ns < sum->oldest_born_ns)) {
		sum->oldest_born_ns = site->oldest_born_ns;
		sum->oldest_at_most = site->oldest_at_most;
	}
	if (site->look && (!sum->look || site->look->blocks > sum->look->blocks))
		sum->look = site->look;
	if (sum->named_tid != site->named_tid)
		sum->named_tid = 0;
	/* of one stack, two tags are two threads: what is of both is of neither */
	if (sum->tag != site->tag)
		sum->tag = 0;
	trend__add(&sum->trend, &site->trend);
	/* the same frames: if one walk came to the end of the stack, that is where it ends */
	sum->end = MIN(sum->end, site->end);
}

/* ---- the course of time */

/* Every second one goes, counted from the last, which stays. */
static void thin_out(uint64_t *t, size_t *n)
{
	size_t from = (*n - 1) % 2, to = 0;

	for (; from < *n; from += 2)
		t[to++] = t[from];
	*n = to;
}

/* The moments of two ordered lists in one, each once. */
static void add_times(uint64_t **times, size_t *n, const struct timeline *c)
{
	uint64_t *all = xcalloc(*n + c->n + 1, sizeof(*all));
	size_t a = 0, b = 0, to = 0;

	while (a < *n || b < c->n) {
		uint64_t t = b >= c->n || (a < *n && (*times)[a] <= c->v[b].t_ns) ? (*times)[a++] : c->v[b++].t_ns;

		if (!to || all[to - 1] < t)
			all[to++] = t;
	}
	while (to > TIMELINE_MAX)
		thin_out(all, &to);
	free(*times);
	*times = all;
	*n = to;
}

static uint64_t *figure(struct snap_point *p, const struct field *f)
{
	return (uint64_t *)((char *)p + f->offset);
}

/* One figure of each point, as differences from moment to moment; modulo 2^64, as their sum is. */
static void add_steps(struct snap_point *steps, const uint64_t *times, size_t n,
		      const struct timeline *c, const struct field *f)
{
	uint64_t last = 0;
	size_t at = 0;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t now = *(const uint64_t *)field__of(f, &c->v[i]);

		while (at + 1 < n && times[at] < c->v[i].t_ns)
			at++;
		*figure(&steps[at], f) += now - last;
		last = now;
	}
	/* what is resident goes with a process */
	if (c->n && c->ended && at + 1 < n && f->offset >= offsetof(struct snap_point, rss_bytes))
		*figure(&steps[at + 1], f) -= last;
}

void timelines__add_up(struct snapshot *s, const struct timeline *v, size_t n, const struct snap_point **ret,
		      size_t *ret_n)
{
	_cleanup_free_ uint64_t *times = NULL;
	struct snap_point *sum;
	size_t n_times = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].n)
			add_times(&times, &n_times, &v[i]);
	if (!n_times)
		return;
	sum = snapshot__alloc(s, n_times, sizeof(*sum));
	/* of each but the first, which is the time */
	for (const struct field *f = point_fields.v + 1; f < point_fields.v + point_fields.n; f++) {
		for (size_t i = 0; i < n; i++)
			add_steps(sum, times, n_times, &v[i], f);
		for (size_t i = 1; i < n_times; i++)
			*figure(&sum[i], f) += *figure(&sum[i - 1], f);
	}
	for (size_t i = 0; i < n_times; i++)
		sum[i].t_ns = times[i];
	*ret = sum;
	*ret_n = n_times;
}

/* ---- histograms: lists of classes, ordered by their bound, which comes first in each */

struct class_list {
	char *v;
	size_t n;
};

static uint64_t bound_of(const struct class_list *l, size_t i, size_t size)
{
	uint64_t bound;

	memcpy(&bound, l->v + i * size, sizeof(bound));
	return bound;
}

/* Rows of one bound become one. */
static void add_classes(struct class_list *sum, const struct class_list *more, const struct fields *fields, size_t size)
{
	struct class_list both = { .v = xcalloc(sum->n + more->n + 1, size) };
	size_t a = 0, b = 0;

	for (; a < sum->n || b < more->n; both.n++) {
		bool of_sum = a < sum->n && (b >= more->n || bound_of(sum, a, size) <= bound_of(more, b, size));
		bool of_more = b < more->n && (a >= sum->n || bound_of(more, b, size) <= bound_of(sum, a, size));
		char *to = both.v + both.n * size;

		memcpy(to, of_sum ? sum->v + a * size : more->v + b * size, size);
		if (of_sum && of_more)
			fields__merge(fields, to, more->v + b * size);
		a += of_sum;
		b += of_more;
	}
	free(sum->v);
	*sum = both;
}

void histograms__add_up(struct snapshot *s, const struct snap_process *const *v, size_t n, struct snap_process *to)
{
	struct class_list sizes = {}, lifetimes = {};

	for (size_t i = 0; i < n; i++) {
		add_classes(&sizes, &(struct class_list){ (char *)v[i]->sizes, v[i]->n_sizes }, &size_fields, sizeof(*to->sizes));
		add_classes(&lifetimes, &(struct class_list){ (char *)v[i]->lifetimes, v[i]->n_lifetimes }, &lifetime_fields, sizeof(*to->lifetimes));
	}
	to->sizes = snapshot__copy(s, sizes.v, sizes.n, sizeof(*to->sizes));
	to->n_sizes = sizes.n;
	to->lifetimes = snapshot__copy(s, lifetimes.v, lifetimes.n, sizeof(*to->lifetimes));
	to->n_lifetimes = lifetimes.n;
	free(sizes.v);
	free(lifetimes.v);
}
