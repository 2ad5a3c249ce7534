// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include <math.h>

#include "budget/looks.h"
#include "util/util.h"

double look__late(const struct look_seen *s)
{
	return s->rest_ns > 0 && s->late_own_ns > 0 ? s->late / s->late_own_ns : 0;
}

double look__rate(const struct look_seen *s, double *ret_doubt)
{
	double half = look__late(s) * s->rest_ns / 2;

	*ret_doubt = half / (1 + half);
	return s->own_ns > 0 ? (1 + half) / (s->own_ns + (half > 0 ? s->rest_ns : 0)) : 0;
}

#define LAST_LOOKS 32u

double looks__take(struct looks *l, double speaks_ns, double busy, double own_ns)
{
	double weight = speaks_ns * busy;

	l->spoken_ns += speaks_ns;
	/*
	 * asleep: that is no sample of what it does when it runs, and the CPU time in gaps shows
	 * how much it slept
	 */
	if (weight <= 0)
		return 0;
	l->weight += weight;
	l->squares += weight * weight;
	l->n++;
	l->own_ns += (own_ns - l->own_ns) / MIN(l->n, LAST_LOOKS);
	return weight;
}

void site_looks__add(struct site_looks *s, double weight, const double rate[N_SCALED], const double doubt[2])
{
	s->n_met += rate[CALLS] > 0;
	for (int i = 0; i < N_SCALED; i++)
		s->sum[i] += weight * rate[i];
	for (int i = 0; i < 2; i++) {
		s->squares[i] += weight * rate[i] * rate[i];
		s->heavy_squares[i] += weight * weight * rate[i] * rate[i];
		s->products[i] += weight * weight * rate[i];
		s->doubt[i] += weight * doubt[i];
		s->largest[i] = MAX(s->largest[i], rate[i]);
	}
}

static void note_late(struct late *l, double n, double own_ns)
{
	if (l->own_ns <= 0 || n / own_ns > l->n / l->own_ns)
		*l = (struct late){ n, own_ns };
}

/* Fewer may be chance; what uses up a look's money in one site has many. */
#define BURST_CALLS 32

void site_looks__note(struct site_looks *s, const struct look_seen *seen, double calls, double bytes)
{
	const double n[2] = { calls, bytes };

	for (int i = 0; i < 2; i++) {
		s->goes_on[i] = calls >= BURST_CALLS ? n[i] * look__late(seen) : 0;
		s->most[i] = MAX(s->most[i], n[i]);
		s->dense[i] = MAX(s->dense[i], seen->own_ns > 0 ? n[i] / seen->own_ns : 0);
	}
	if (look__late(seen) <= 0)
		return;
	note_late(&s->late[CALLS], calls * seen->late, seen->late_own_ns);
	note_late(&s->late[BYTES], bytes * seen->late, seen->late_own_ns);
}

void site_looks__gap(struct site_looks *s, double unseen_ns)
{
	for (int i = 0; i < 2; i++)
		s->followed[i] = MAX(s->followed[i], s->goes_on[i] * unseen_ns);
}

double looks__scale(const struct looks *l)
{
	return l->weight > 0 ? l->unseen_ns / l->weight : 0;
}

double site_looks__unseen(const struct site_looks *s, const struct looks *l, int which)
{
	return s->sum[which] * looks__scale(l);
}

/*
 * What is rare may have been missed by all looks so far: as if some more had met the most that was met by one, or
 * that one would have met where it was densest, had that gone on for some time. Three would do for
 * looks that are independent of each other: if none has met it, it is no more than what seven would
 * meet, but for one time in a thousand (exp(-4 * sqrt(3))). But looks come in rows while little is
 * met.
 */
#define SOME_MORE 6
#define GOES_ON 32

static double more_looks(const struct site_looks *s, const struct looks *l, double n, int which)
{
	const struct late *late = &s->late[which];
	double dense = late->own_ns > 0 ? late->n / late->own_ns : 0;

	/* looks that are much longer than that would have seen it end */
	if (l->own_ns > late->own_ns * GOES_ON)
		dense = late->n * GOES_ON / l->own_ns;
	/* and what most looks meet they do not miss by chance */
	if (l->n)
		dense *= 1 - (double)MIN(s->n_met, l->n) / l->n;
	/* no look has met it: one that does may meet all that was ever seen of it at once */
	if (!s->n_met)
		dense = MAX(dense, l->own_ns > 0 ? MIN(s->most[which] / l->own_ns, GOES_ON * s->dense[which]) : s->dense[which]);
	return SOME_MORE * pow(MAX(s->largest[which], dense) * l->unseen_ns / (n + 1), 2);
}

/*
 * By their own weights; and as if a thread that met something had the weight of any other: looks
 * are frequent while nothing is met, so that the first ones that meet something weigh little.
 */
static double spread_of(const struct site_looks *s, const struct looks *l, double n, int which)
{
	double scale = looks__scale(l), mean = s->sum[which] / l->weight;
	double heavy = s->heavy_squares[which] - 2 * mean * s->products[which] + mean * mean * l->squares;
	double even = (s->squares[which] / l->weight - mean * mean) * l->unseen_ns * l->unseen_ns / n;

	return MAX(MAX(heavy * scale * scale, even), 0) * l->n / (l->n - 1);
}

/*
 * There was no money for a look because much is allocated: time that no look speaks for may be
 * unlike other time, by as much again.
 */
static double broke(const struct site_looks *s, const struct looks *l, int which)
{
	double part = l->spoken_ns > 0 ? l->broke_ns / (l->spoken_ns + l->broke_ns) : 0;

	return part * site_looks__unseen(s, l, which);
}

/*
 * What was under way when money ran out may have gone on until the next look, which has seen it or
 * not. What most looks meet they have.
 */
static double followed(const struct site_looks *s, const struct looks *l, int which)
{
	return s->followed[which] * (1 - (l->n ? (double)MIN(s->n_met, l->n) / l->n : 0));
}

double site_looks__variance(const struct site_looks *s, const struct looks *l, int which)
{
	double n = l->squares > 0 ? l->weight * l->weight / l->squares : 0;

	if (l->unseen_ns <= 0)
		return 0;
	if (l->n < 2)
		return more_looks(s, l, n, which) + pow(followed(s, l, which), 2);
	return spread_of(s, l, n, which) + more_looks(s, l, n, which) +
	       pow(s->doubt[which] * looks__scale(l), 2) + pow(broke(s, l, which), 2) +
	       pow(followed(s, l, which), 2);
}
