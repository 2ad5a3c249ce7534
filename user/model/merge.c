// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. What always holds: the order in which things are added up does
 * not matter for counts; nothing that was counted is left out of a sum.
 */
#include "model/merge.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "util/util.h"

void counters__add_counts(struct counters *sum, const struct counters *c)
{
	sum->alloc_calls += c->alloc_calls;
	sum->alloc_bytes += c->alloc_bytes;
	sum->free_calls += c->free_calls;
	sum->free_bytes += c->free_bytes;
	sum->live_blocks += c->live_blocks;
	sum->live_bytes += c->live_bytes;
	sum->realloc_calls += c->realloc_calls;
	sum->temp_calls += c->temp_calls;
	sum->failed_calls += c->failed_calls;
	sum->unknown_frees += c->unknown_frees;
}

void counters__add(struct counters *sum, const struct counters *c)
{
	counters__add_counts(sum, c);
	sum->peak_bytes += c->peak_bytes;
}

void std_error__add(struct std_error *sum, const struct std_error *e)
{
	sum->alloc_calls = hypot(sum->alloc_calls, e->alloc_calls);
	sum->alloc_bytes = hypot(sum->alloc_bytes, e->alloc_bytes);
	sum->live_blocks = hypot(sum->live_blocks, e->live_blocks);
	sum->live_bytes = hypot(sum->live_bytes, e->live_bytes);
	sum->peak_bytes = hypot(sum->peak_bytes, e->peak_bytes);
}

void memory__add(struct snap_memory *sum, const struct snap_memory *m)
{
	sum->known &= m->known;
	sum->seen_ns = MAX(sum->seen_ns, m->seen_ns);
	sum->rss_bytes += m->rss_bytes;
	sum->heap_estimated |= m->heap_estimated;
	sum->large_estimated |= m->large_estimated;
	sum->heap_mapped += m->heap_mapped;
	sum->heap_resident += m->heap_resident;
	sum->large_mapped += m->large_mapped;
	sum->large_resident += m->large_resident;
	sum->file_resident += m->file_resident;
	sum->stack_resident += m->stack_resident;
	sum->n_arenas += m->n_arenas;
	sum->grown_known &= m->grown_known;
	sum->heap_grown += m->heap_grown;
	sum->large_grown += m->large_grown;
	sum->file_grown += m->file_grown;
	sum->sized_blocks += m->sized_blocks;
	sum->sized_requested += m->sized_requested;
	sum->sized_usable += m->sized_usable;
	sum->sized_apart += m->sized_apart;
	sum->sized_all &= m->sized_all;
}

/* ---- trends */

/* The most alarming first. */
static const char *const verdicts[] = { "leak", "suspect", "growing", "steady", "draining", "new" };

static size_t alarm_of(const char *verdict)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(verdicts) && verdict && strcmp(verdicts[i], verdict))
		i++;
	return verdict ? i : ARRAY_SIZE(verdicts) + 1;
}

void trend__add(struct trend *sum, const struct trend *t)
{
	if (alarm_of(t->verdict) < alarm_of(sum->verdict)) {
		sum->verdict = t->verdict;
		sum->why = t->why;
	}
	if (t->known)
		sum->growth_bytes_per_s += t->growth_bytes_per_s;
	sum->known |= t->known;
}

/* ---- sites */

static void add_moves(struct snap_moves *sum, const struct snap_moves *m)
{
	sum->calls += m->calls;
	sum->moved_calls += m->moved_calls;
	sum->moved_bytes += m->moved_bytes;
	sum->grown_calls += m->grown_calls;
	sum->grown_bytes += m->grown_bytes;
	sum->shrunk_calls += m->shrunk_calls;
	sum->doubled_calls += m->doubled_calls;
	sum->longest = MAX(sum->longest, m->longest);
}

void site__add(struct snap_site *sum, const struct snap_site *site)
{
	/* the smallest of no allocation is 0 and means nothing */
	if (site->c.alloc_calls && (!sum->c.alloc_calls || site->min_size < sum->min_size))
		sum->min_size = site->min_size;
	sum->max_size = MAX(sum->max_size, site->max_size);
	sum->first_ns = MIN(sum->first_ns, site->first_ns);
	sum->last_ns = MAX(sum->last_ns, site->last_ns);
	if (site->oldest_ns > sum->oldest_ns) {
		sum->oldest_ns = site->oldest_ns;
		sum->oldest_at_most = site->oldest_at_most;
	}
	counters__add(&sum->c, &site->c);
	std_error__add(&sum->error, &site->error);
	sum->at_peak_bytes += site->at_peak_bytes;
	sum->lifetime_sum_ns += site->lifetime_sum_ns;
	sum->older_blocks += site->older_blocks;
	sum->older_bytes += site->older_bytes;
	sum->cross_frees += site->cross_frees;
	/* of one stack, two tags are two threads: what is of both is of neither */
	if (sum->tag != site->tag)
		sum->tag = 0;
	add_moves(&sum->moves, &site->moves);
	sum->since_baseline_bytes += site->since_baseline_bytes;
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
static int add_times(uint64_t **times, size_t *n, const struct timeline *c)
{
	uint64_t *all = calloc(*n + c->n + 1, sizeof(*all));
	size_t a = 0, b = 0, to = 0;

	if (!all)
		return -ENOMEM;
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
	return 0;
}

/* Differences from moment to moment; modulo 2^64, as their sum is. */
static void add_steps(struct snap_point *steps, const uint64_t *times, size_t n, const struct timeline *c)
{
	struct snap_point last = {};
	size_t at = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct snap_point *p = &c->v[i];

		while (at + 1 < n && times[at] < p->t_ns)
			at++;
		steps[at].live_bytes += p->live_bytes - last.live_bytes;
		steps[at].live_blocks += p->live_blocks - last.live_blocks;
		steps[at].alloc_calls += p->alloc_calls - last.alloc_calls;
		steps[at].rss_bytes += p->rss_bytes - last.rss_bytes;
		last = *p;
	}
	if (c->n && c->ended && at + 1 < n)
		steps[at + 1].rss_bytes -= last.rss_bytes;
}

int timelines__add_up(struct snapshot *s, const struct timeline *v, size_t n, const struct snap_point **ret, size_t *ret_n)
{
	_cleanup_free_ uint64_t *times = NULL;
	struct snap_point *sum;
	size_t n_times = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].n && add_times(&times, &n_times, &v[i]))
			return -ENOMEM;
	if (!n_times)
		return 0;
	sum = snapshot__alloc(s, n_times, sizeof(*sum));
	for (size_t i = 0; i < n; i++)
		add_steps(sum, times, n_times, &v[i]);
	for (size_t i = 0; i < n_times; i++) {
		sum[i].t_ns = times[i];
		if (!i)
			continue;
		sum[i].live_bytes += sum[i - 1].live_bytes;
		sum[i].live_blocks += sum[i - 1].live_blocks;
		sum[i].alloc_calls += sum[i - 1].alloc_calls;
		sum[i].rss_bytes += sum[i - 1].rss_bytes;
	}
	*ret = sum;
	*ret_n = n_times;
	return 0;
}

/* ---- histograms: lists of classes, ordered by their bound */

int sizes__add_up(struct snapshot *s, const struct snap_process *const *v, size_t n, struct snap_process *to)
{
	_cleanup_free_ struct snap_size *sum = NULL;
	size_t n_sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snap_size *more = v[i]->sizes;
		struct snap_size *all = calloc(n_sum + v[i]->n_sizes + 1, sizeof(*all));
		size_t a = 0, b = 0, k = 0;

		if (!all)
			return -ENOMEM;
		while (a < n_sum || b < v[i]->n_sizes) {
			bool both = a < n_sum && b < v[i]->n_sizes && sum[a].below == more[b].below;

			if (a < n_sum && (b >= v[i]->n_sizes || sum[a].below <= more[b].below))
				all[k] = sum[a++];
			else
				all[k] = more[b++];
			if (both) {
				all[k].alloc_calls += more[b].alloc_calls;
				all[k].live_blocks += more[b++].live_blocks;
			}
			k++;
		}
		free(sum);
		sum = all;
		n_sum = k;
	}
	to->n_sizes = n_sum;
	to->sizes = n_sum ? memcpy(snapshot__alloc(s, n_sum, sizeof(*sum)), sum, n_sum * sizeof(*sum)) : NULL;
	return 0;
}

int lifetimes__add_up(struct snapshot *s, const struct snap_process *const *v, size_t n, struct snap_process *to)
{
	_cleanup_free_ struct snap_lifetime *sum = NULL;
	size_t n_sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snap_lifetime *more = v[i]->lifetimes;
		struct snap_lifetime *all = calloc(n_sum + v[i]->n_lifetimes + 1, sizeof(*all));
		size_t a = 0, b = 0, k = 0;

		if (!all)
			return -ENOMEM;
		while (a < n_sum || b < v[i]->n_lifetimes) {
			bool both = a < n_sum && b < v[i]->n_lifetimes && sum[a].below_ns == more[b].below_ns;

			if (a < n_sum && (b >= v[i]->n_lifetimes || sum[a].below_ns <= more[b].below_ns))
				all[k] = sum[a++];
			else
				all[k] = more[b++];
			if (both)
				all[k].blocks += more[b++].blocks;
			k++;
		}
		free(sum);
		sum = all;
		n_sum = k;
	}
	to->n_lifetimes = n_sum;
	to->lifetimes = n_sum ? memcpy(snapshot__alloc(s, n_sum, sizeof(*sum)), sum, n_sum * sizeof(*sum)) : NULL;
	return 0;
}
