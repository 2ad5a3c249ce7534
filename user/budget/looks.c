// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include <math.h>

#include "budget/looks.h"
#include "util/util.h"

/* Where each zone ends: doubling, up to the second that the budget goes by, after which there is money again. */
static const double zone_ends_ns[LOOK_ZONES] = { 8e6, 16e6, 32e6, 64e6, 128e6, 256e6, 512e6, 768e6, 1024e6, INFINITY };

#define N_SOON 7		/* zones up to half a second */

static double zone_from(size_t k)
{
	return k ? zone_ends_ns[k - 1] : 0;
}

static double zone_to(size_t k)
{
	return zone_ends_ns[k];
}

size_t look_zone(double after_ns)
{
	size_t k = 0;

	while (after_ns >= zone_to(k))
		k++;
	return k;
}

#define EARLY_NS 16e6
#define FEW_EARLY 3
/* So many times as fast as the whole: it began in the middle. */
#define UNEVEN 3.0
/* So many times as fast as what is seen on average: else there is nothing to doubt. */
#define UNUSUAL 10.0

static double late_of(const struct look_seen *s)
{
	return s->late_own_ns > 0 ? s->late / s->late_own_ns : 0;
}

static double goes_on(const struct look_seen *s, const struct early *e, double all)
{
	double seen = e->seen_ns > 0 ? e->seen / e->seen_ns : 0;

	/* it began in the middle */
	if (late_of(s) * s->own_ns >= UNEVEN)
		return e->n >= FEW_EARLY ? MIN(e->rates / e->n / (late_of(s) * all), 1) : 0;
	/* it was there when the look began; but where looks that were not cut short see as much as is seen at all, clusters are short */
	if (e->n_full < FEW_EARLY || late_of(s) * all < UNUSUAL * seen)
		return 1;
	return MAX(1 - e->full_rates / e->n_full / seen, 0);
}

double look__rate(const struct look_seen *s, const struct early *e, double all)
{
	double late = late_of(s);

	if (s->own_ns <= 0)
		return 0;
	if (s->rest_ns <= 0 || late <= 0)
		return 1 / s->own_ns;
	return (1 + goes_on(s, e, all) * s->rest_ns * late) / (s->own_ns + s->rest_ns);
}

void early__learn(struct early *e, const struct look_seen *s, double after_ns, double all)
{
	if (s->own_ns <= 0)
		return;
	e->seen += all;
	e->seen_ns += s->own_ns;
	if (after_ns < 0)
		return;
	if (s->rest_ns <= 0) {
		e->full_rates += all / s->own_ns;
		e->n_full++;
	}
	if (after_ns < EARLY_NS) {
		e->rates += all * look__rate(s, e, all);
		e->n++;
	}
}

double look__late(const struct look_seen *s)
{
	return s->rest_ns > 0 ? late_of(s) : 0;
}

void looks__wait(struct looks *l, double from_ns, double to_ns, double unseen_ns)
{
	l->unseen_ns += unseen_ns;
	/* it did not run: there is nothing to speak for */
	if (unseen_ns <= 0)
		return;
	for (size_t k = 0; k < LOOK_ZONES; k++)
		l->waits_ns[k] += MAX(MIN(to_ns, zone_to(k)) - MAX(from_ns, zone_from(k)), 0);
}

double looks__take(struct looks *l, double after_ns, double busy, bool cut_short)
{
	size_t k = look_zone(after_ns);
	double weight = l->waits_ns[k] * busy;

	if (l->waits_ns[k] <= 0)
		return 0;
	/* asleep: that is no sample of what it does when it runs, and the CPU time in gaps tells how much it slept */
	l->spoken_ns[k] += l->waits_ns[k];
	l->waits_ns[k] = 0;
	if (weight <= 0)
		return 0;
	l->weight[k] += weight;
	l->squares += weight * weight;
	l->full += cut_short ? 0 : weight;
	l->n_in[k]++;
	l->n++;
	return weight;
}

void site_looks__add(struct site_looks *s, size_t zone, double weight, const double rate[N_SCALED], bool cut_short)
{
	for (int i = 0; i < 2 && !cut_short; i++)
		s->full[i] += weight * rate[i];
	for (int i = 0; i < N_SCALED; i++)
		s->sum[zone][i] += weight * rate[i];
	for (int i = 0; i < 2; i++) {
		s->squares[i] += weight * weight * rate[i] * rate[i];
		s->products[i] += weight * weight * rate[i];
	}
	for (int i = 0; i < 2; i++)
		s->largest[i] = MAX(s->largest[i], weight * rate[i]);
}

void site_looks__note(struct site_looks *s, double cpu_ns, double calls, double bytes, double late)
{
	s->seen_ns += cpu_ns;
	s->seen[CALLS] += calls;
	s->seen[BYTES] += bytes;
	s->late[CALLS] = MAX(s->late[CALLS], calls * late);
	s->late[BYTES] = MAX(s->late[BYTES], bytes * late);
}

/* Time in a zone without looks is like that of the last zone before it that has some, else of the next one. */
static size_t like_zone(const struct looks *l, size_t k)
{
	for (size_t i = k + 1; i-- > 0;)
		if (l->weight[i] > 0)
			return i;
	while (k + 1 < LOOK_ZONES && l->weight[k] <= 0)
		k++;
	return k;
}

struct look_scale looks__scale(const struct looks *l)
{
	double all_ns[LOOK_ZONES] = {}, sum = 0;
	struct look_scale ret = {};

	for (size_t k = 0; k < LOOK_ZONES; k++)
		all_ns[like_zone(l, k)] += l->waits_ns[k] + l->spoken_ns[k];
	for (size_t k = 0; k < LOOK_ZONES; k++) {
		ret.zone[k] = l->weight[k] > 0 ? all_ns[k] / l->spoken_ns[k] : 0;
		sum += l->weight[k] * ret.zone[k];
	}
	ret.all = sum > 0 ? l->unseen_ns / sum : 0;
	for (size_t k = 0; k < LOOK_ZONES; k++)
		ret.zone[k] *= ret.all;
	return ret;
}

double site_looks__unseen(const struct site_looks *s, const struct look_scale *k, int which)
{
	double sum = 0;

	for (size_t i = 0; i < LOOK_ZONES; i++)
		sum += s->sum[i][which] * k->zone[i];
	return sum;
}

static double part_of_zone(const struct looks *l, size_t zone)
{
	double all = 0;

	for (size_t k = 0; k < LOOK_ZONES; k++)
		all += l->waits_ns[k] + l->spoken_ns[k];
	return all > 0 ? (l->waits_ns[zone] + l->spoken_ns[zone]) / all : 0;
}

/*
 * Where looks that were not cut short see as much as is seen at all, what ends windows are clusters that looks see whole. Else it
 * may go on after a window's end, as it was towards that: for half of the first zone, because putting probes in takes some
 * milliseconds and no look comes earlier; and in each zone, as if one more look had been half in it.
 */
static double doubt_of(const struct site_looks *s, const struct looks *l, double mean, int which)
{
	double full = l->full > 0 ? s->full[which] / l->full : 0, seen = s->seen_ns > 0 ? s->seen[which] / s->seen_ns : 0;

	return MAX(mean, seen) > 0 ? MAX(1 - full / MAX(mean, seen), 0) : 1;
}

static double blind(const struct site_looks *s, const struct looks *l, double mean, int which)
{
	double squares = pow(part_of_zone(l, 0) / 2, 2);

	for (size_t k = 0; k < N_SOON; k++)
		squares += pow(part_of_zone(l, k) / 2 / (l->n_in[k] + 1), 2);
	return doubt_of(s, l, mean, which) * sqrt(squares) * l->unseen_ns * MAX(s->late[which] - mean, 0);
}

/* The rate in some zones. */
static double rate_in(const struct site_looks *s, const struct looks *l, size_t from, size_t to, int which)
{
	double sum = 0, weight = 0;

	for (size_t k = from; k < to; k++) {
		sum += s->sum[k][which];
		weight += l->weight[k];
	}
	return weight > 0 ? sum / weight : 0;
}

/*
 * There is no money for a look because much is allocated, until the second is over that it was spent in: then it may be
 * another time. How far the late looks differ from the others, as far as they speak for such time.
 */
static double broke(const struct site_looks *s, const struct looks *l, int which)
{
	double part = 0;

	for (size_t k = N_SOON; k < LOOK_ZONES; k++)
		part += part_of_zone(l, k);
	return part * l->unseen_ns * fabs(rate_in(s, l, 0, N_SOON, which) - rate_in(s, l, N_SOON, LOOK_ZONES, which));
}

/*
 * What is rare may have been missed by all looks so far: as if some more had met the most that was met by one, or what ended windows.
 * Three: if none has met it, it is no more than what seven would meet, but for one time in a thousand (exp(-4 * sqrt(3))).
 */
#define SOME_MORE 3

static double more_looks(const struct site_looks *s, const struct looks *l, double scale, double mean, int which)
{
	double met = MAX(s->largest[which] * scale, s->seen_ns > 0 ? l->unseen_ns * s->seen[which] / s->seen_ns / (l->n + 1) : 0);
	double doubt = doubt_of(s, l, mean, which), dense = doubt * sqrt(doubt) * s->late[which] * l->unseen_ns / (l->n + 1);

	return met * met + SOME_MORE * dense * dense;
}

double site_looks__variance(const struct site_looks *s, const struct looks *l, const struct look_scale *k, int which)
{
	double weights = 0, scale, mean, spread, seen;

	if (l->unseen_ns <= 0)
		return 0;
	for (size_t i = 0; i < LOOK_ZONES; i++)
		weights += l->weight[i];
	seen = s->seen_ns > 0 ? l->unseen_ns * s->seen[which] / s->seen_ns : 0;
	mean = site_looks__unseen(s, k, which) / l->unseen_ns;
	/* no look, or one: nothing is known but that there was something */
	if (l->n < 2)
		return pow(MAX(seen, mean * l->unseen_ns), 2) + pow(blind(s, l, mean, which), 2) + more_looks(s, l, 0, mean, which);
	scale = l->unseen_ns / weights;
	spread = s->squares[which] - 2 * mean * s->products[which] + mean * mean * l->squares;
	spread = MAX(spread, 0) * scale * scale * l->n / (l->n - 1);
	return spread + more_looks(s, l, scale, mean, which) + pow(blind(s, l, mean, which), 2) + pow(broke(s, l, which), 2);
}
