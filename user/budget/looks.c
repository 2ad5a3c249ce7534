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
	l->spoken_squares += speaks_ns * speaks_ns;
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

double window__ran(const struct window_ran *r)
{
	double least = MAX(r->own * (1 - r->error) - r->awake, 0), most = MAX(r->own * (1 + r->error), r->awake);

	return MIN(MAX(r->before, least), most);
}

void looks__ran(struct looks *l, double speaks_ns, double ran)
{
	l->ran_ns += speaks_ns * ran;
	l->ran_squares += pow(speaks_ns * ran, 2);
	l->ran_products += speaks_ns * speaks_ns * ran;
}

void site_looks__add(struct site_looks *s, double weight, const double rate[N_SCALED], const double doubt[2])
{
	s->n_met += rate[CALLS] > 0;
	s->met += rate[CALLS] > 0 ? weight : 0;
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

/* By weight: a window that others had the CPU in has met nothing, and says nothing. */
static double part_not_met(const struct site_looks *s, const struct looks *l)
{
	return l->weight > 0 ? 1 - MIN(s->met / l->weight, 1) : 1;
}

static double more_looks(const struct site_looks *s, const struct looks *l, double n, int which)
{
	const struct late *late = &s->late[which];
	double dense = late->own_ns > 0 ? late->n / late->own_ns : 0;

	/* looks that are much longer than that would have seen it end */
	if (l->own_ns > late->own_ns * GOES_ON)
		dense = late->n * GOES_ON / l->own_ns;
	/* and what most looks meet they do not miss by chance */
	dense *= part_not_met(s, l);
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
	return s->followed[which] * part_not_met(s, l);
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

/*
 * A site whose calls come in bursts has no row, and no spread, as long as no window has seen one. But bursts take CPU time: a
 * process that ran more in gaps than windows predict, by more than chance explains, did something there that they did not see.
 * As much CPU time, and what the prediction may be wrong by, filled with calls is two standard errors. Bursts of a process that
 * runs all the time, or that take less than what the prediction may be wrong by, do not show: more_looks() has what is known.
 */
#define QUICK_CALL_NS 20	/* malloc and free of a small block, with next to nothing between */

static double excess_ns(const struct looks *l)
{
	double n = l->spoken_squares > 0 ? l->spoken_ns * l->spoken_ns / l->spoken_squares : 0, part, squares, excess, error;

	/* nothing predicts it */
	if (n < 2)
		return l->unseen_ns;
	part = l->ran_ns / l->spoken_ns;
	squares = MAX(l->ran_squares - 2 * part * l->ran_products + part * part * l->spoken_squares, 0) * n / (n - 1);
	excess = l->unseen_ns - part * l->clock_ns;
	/* a spread that few windows show may be too small by chance: nearly Student's quantiles */
	error = 2 * (1 + 2 / (n - 1)) * sqrt(squares) / l->spoken_ns * l->clock_ns;
	/* nor do windows that know it no better than that */
	if (error > l->unseen_ns)
		return l->unseen_ns;
	return excess > error ? excess + error : 0;
}

double looks__unmet_variance(const struct looks *l)
{
	return pow(excess_ns(l) / QUICK_CALL_NS / 2, 2);
}
