// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The arithmetic of estimates: what looks say of all the time, and how long blocks live. Owns nothing. */
#include <math.h>
#include <string.h>

#include "budget/estimate.h"
#include "util/sorted.h"
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

/* What each look's weight is multiplied by. */
static double looks__scale(const struct looks *l)
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

/* Below this it sleeps between its calls. */
#define RUNS_ALL_THE_TIME 0.95

/* likely: only what chance does not explain. */
static double excess_ns(const struct looks *l, bool likely)
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
	return excess > (likely ? error : 0) ? excess + error : 0;
}

double looks__unmet_variance(const struct looks *l, int which)
{
	bool sleeps = l->unseen_ns < RUNS_ALL_THE_TIME * l->clock_ns;

	if (which == CALLS)
		return pow(excess_ns(l, true) / QUICK_CALL_NS / 2, 2);
	/*
	 * the time that calls take bounds how many there were, and says nothing of the sizes of
	 * their blocks: a few, of which hardly anything shows, may have most of the bytes
	 */
	return excess_ns(l, !sleeps) > 0 ? INFINITY : 0;
}

/* ---- how long blocks live; times inside are relative to the first stretch */

double age_class__from(size_t k)
{
	if (!k)
		return 0;
	return ldexp(k & 1 ? 1 : 1.5, MT_AGE_MIN_BITS + (int)(k - 1) / 2);
}

double age_class__to(size_t k)
{
	return age_class__from(k + 1);
}

/* ---- births and windows */

static double square_above(double x)
{
	return x > 0 ? x * x / 2 : 0;
}

/* Of all pairs (birth in the cohort, age in the class): how many, as an area, add up to less than z. */
static double area_below(const struct cohort *c, double a0, double a1, double z)
{
	return square_above(z - c->from_ns - a0) - square_above(z - c->to_ns - a0) - square_above(z - c->from_ns - a1) +
	       square_above(z - c->to_ns - a1);
}

/* What part of a class of ages the blocks of a cohort passed between from and to. */
static void watch(struct survival *s, const struct cohort *c, double from, double to)
{
	double youngest = MAX(from - c->to_ns, 0), oldest = to - c->from_ns;

	for (size_t k = 0; k < MT_N_AGES; k++) {
		double a0 = age_class__from(k), a1 = age_class__to(k), part;

		if (a1 <= youngest)
			continue;
		if (a0 >= oldest)
			break;
		part = (area_below(c, a0, a1, to) - area_below(c, a0, a1, from)) /
		       ((c->to_ns - c->from_ns) * (a1 - a0));
		part = MIN(MAX(part, 0), 1);
		s->seen[k].blocks += part * c->born.blocks;
		s->seen[k].bytes += part * c->born.bytes;
	}
}

static void add_weight(struct weight *sum, struct weight w)
{
	sum->blocks += w.blocks;
	sum->bytes += w.bytes;
}

/* Two neighbours become one: those that are closest together, measured by their age. */
static void merge(struct survival *s, double now)
{
	size_t best = 0;
	double least = INFINITY;
	struct cohort *a, *b;

	for (size_t i = 0; i + 1 < s->n; i++) {
		double span = s->cohort[i + 1].to_ns - s->cohort[i].from_ns;
		double cost = span / (now - s->cohort[i + 1].to_ns + span);

		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	a = &s->cohort[best];
	b = a + 1;
	a->to_ns = b->to_ns;
	add_weight(&a->born, b->born);
	add_weight(&a->looked, b->looked);
	if (a->left.blocks < 0 || b->left.blocks < 0)
		a->left.blocks = -1;
	else
		add_weight(&a->left, b->left);
	memmove(b, b + 1, (s->n - best - 2) * sizeof(*b));
	s->n--;
}

void survival__add(struct survival *s, uint64_t from_ns, uint64_t to_ns, struct weight born, struct weight looked)
{
	double from, to;

	if (to_ns <= from_ns)
		return;
	if (!s->n && !s->origin_ns)
		s->origin_ns = from_ns;
	from = from_ns - s->origin_ns;
	to = to_ns - s->origin_ns;
	if (born.blocks > 0) {
		if (s->n == SURVIVAL_COHORTS)
			merge(s, to);
		s->cohort[s->n++] = (struct cohort){ from, to, born, looked, { -1, -1 } };
	}
	for (size_t i = 0; i < s->n; i++)
		watch(s, &s->cohort[i], from, to);
}

double survival__looked(const struct survival *s, bool bytes)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += bytes ? s->cohort[i].looked.bytes : s->cohort[i].looked.blocks;
	return sum;
}

void survival__begin_scan(struct survival *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->cohort[i].left = (struct weight){ 0, 0 };
}

void survival__in_table(struct survival *s, uint64_t born_ns, uint64_t size)
{
	double t = (double)born_ns - s->origin_ns;
	size_t n = sorted__count(c, s->cohort, s->n, c->from_ns <= t);

	/* births go by ticks: one of the first stretch may seem to have been before it */
	if (s->n)
		add_weight(&s->cohort[n ? n - 1 : 0].left, (struct weight){ 1, size });
}

/* Of two neighbours, the one has more blocks in the table than were born in it, as the other misses. */
static void level(struct cohort *from, struct cohort *to)
{
	double over = from->left.blocks - from->born.blocks, room = to->born.blocks - to->left.blocks;
	double n = MIN(over, room), bytes;

	if (n <= 0 || from->left.blocks <= 0)
		return;
	bytes = from->left.bytes * n / from->left.blocks;
	add_weight(&from->left, (struct weight){ -n, -bytes });
	add_weight(&to->left, (struct weight){ n, bytes });
}

/*
 * A block may be counted in the stretch after the one that its birth falls into: counts and clocks
 * are not read at one instant. It is in no table by the name of its cohort, then, and yet it was
 * not freed.
 */
void survival__end_scan(struct survival *s)
{
	for (size_t i = 0; i + 1 < s->n; i++)
		level(&s->cohort[i], &s->cohort[i + 1]);
	for (size_t i = s->n; i-- > 1;)
		level(&s->cohort[i], &s->cohort[i - 1]);
}

/* ---- the curve */

/* Frees come in clusters where births do: what windows leave to chance is worth less than single events would be. */
#define CLUSTERS 6.0
/* A rest that is no more than this many standard errors is none. */
#define SURE 1.5

/*
 * The errors of all that was freed add up in what is left, and of a site all of
 * whose blocks are freed some blocks seem to stay for ever: for as long as the
 * trace lasts, so they would become many. What is left at the greatest age that was
 * watched counts as far as it is more than its error; the rest goes to the ages
 * at which frees were seen.
 */
static void doubt_rest(struct curve *c, size_t last)
{
	double rest = c->s[last], sd = sqrt(c->var[last]), kept;

	if (rest <= 0 || rest >= 1)
		return;
	kept = rest * MAX(0, 1 - SURE * SURE * sd * sd / (rest * rest));
	for (size_t k = 0; k <= MT_N_AGES; k++)
		c->s[k] = k < last ? kept + (c->s[k] - rest) * (1 - kept) / (1 - rest) : kept;
}

/* Has a site freed as others have, so far? One that should have freed some, and has freed none, is none that frees. */
#define ENOUGH 5.0

static double likeness(double seen_freed, double expected)
{
	return expected < ENOUGH ? MIN((seen_freed + 0.5) / (expected + 0.5), 1) : MIN(seen_freed / expected, 1);
}

void survival__curve(const struct survival *s, const __u64 freed[MT_N_AGES], bool bytes, const double prior[MT_N_AGES],
		     struct curve *ret)
{
	double unit = 1, total = 0, n = 0, seen_freed = 0, expected = 0, spread = 0;
	size_t last = 0;

	/* bytes count by the block: the mean block is one event */
	for (size_t i = 0; i < s->n; i++) {
		total += s->cohort[i].born.bytes;
		n += s->cohort[i].born.blocks;
	}
	if (bytes && n > 0 && total > 0)
		unit = total / n;
	ret->s[0] = 1;
	ret->var[0] = 0;
	for (size_t k = 0; k < MT_N_AGES; k++) {
		double seen = (bytes ? s->seen[k].bytes : s->seen[k].blocks) / unit;
		double at_risk = ret->s[k] * seen, d = (double)freed[k] / unit;
		/*
		 * others' chance, as far as this site has been like others: it only fills in where
		 * less than a block was watched
		 */
		double guess = prior ? prior[k] * likeness(seen_freed, expected) : 0;
		double weight = prior ? MAX(1 - at_risk, 0) : 0;
		double chance = at_risk + weight > 0 ? (d + weight * guess) / (at_risk + weight) : 0;
		double gone;

		seen_freed += d;
		expected += at_risk * (prior ? prior[k] : 0);
		chance = MIN(MAX(chance, 0), 1);
		ret->chance[k] = chance;
		ret->s[k + 1] = ret->s[k] * (1 - chance);
		gone = ret->s[k] - ret->s[k + 1];
		/* of the freed, n / seen of those that were; where all are seen this is the variance of a binomial */
		spread += gone * (1 + CLUSTERS * MAX(n / MAX(seen, 0.1) - 1, 0));
		ret->var[k + 1] = n > 0 ? MAX(spread - (1 - ret->s[k + 1]) * (1 - ret->s[k + 1]), 0) / n : 0;
		/* and with nothing seen to be freed, the chance is not known to be 0 */
		ret->var[k + 1] += pow(ret->s[k + 1] * 0.5 / (seen + 1), 2);
		if (seen >= 1)
			last = k + 1;
	}
	if (n > 0)
		doubt_rest(ret, last);
}

static double curve__at(const struct curve *c, double age_ns, double *ret_var)
{
	size_t low = 0, high = MT_N_AGES;
	double part;

	if (age_ns < 0)
		age_ns = 0;
	while (low + 1 < high) {
		size_t mid = (low + high) / 2;

		if (age_class__from(mid) <= age_ns)
			low = mid;
		else
			high = mid;
	}
	part = MIN((age_ns - age_class__from(low)) / (age_class__to(low) - age_class__from(low)), 1);
	if (ret_var)
		*ret_var = c->var[low] + part * (c->var[low + 1] - c->var[low]);
	return c->s[low] + part * (c->s[low + 1] - c->s[low]);
}

void curve__prior(const struct curve *c, const struct survival *s, double ret[MT_N_AGES])
{
	double below = 0;
	size_t first_gap = MT_N_AGES;

	for (size_t k = 0; k < MT_N_AGES; k++) {
		if (c->s[k] * s->seen[k].blocks < 1) {
			first_gap = MIN(first_gap, k);
			ret[k] = below;
			continue;
		}
		/* a gap in between: half way */
		for (; first_gap < k; first_gap++)
			ret[first_gap] = (below + c->chance[k]) / 2;
		first_gap = MT_N_AGES;
		below = ret[k] = c->chance[k];
	}
	/* ages that nothing has reached yet: nothing is known */
	for (; first_gap < MT_N_AGES; first_gap++)
		ret[first_gap] = 0;
}

/* ---- what is alive */

#define POINTS 4

double survival__alive(const struct survival *s, const struct curve *c, bool bytes, double factor, uint64_t now_ns,
		       double *ret_var)
{
	double now = now_ns - s->origin_ns, sum = 0, error = 0, blocks = 0, of_bytes = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct cohort *h = &s->cohort[i];
		double born = bytes ? h->born.bytes : h->born.blocks, left = bytes ? h->left.bytes : h->left.blocks;
		double stands_for = born + factor * (bytes ? h->looked.bytes : h->looked.blocks);
		double chance = 0, sd = 0, var;

		if (born <= 0)
			continue;
		blocks += h->born.blocks;
		of_bytes += h->born.bytes;
		for (int k = 0; k < POINTS; k++) {
			double t = h->from_ns + (h->to_ns - h->from_ns) * (k + 0.5) / POINTS;

			chance += curve__at(c, now - t, &var) / POINTS;
			sd += sqrt(var) / POINTS;
		}
		/* what is not in the table any more is gone, seen or not */
		if (h->left.blocks >= 0 && h->left.blocks < h->born.blocks && left < chance * born)
			chance = left / born;
		sum += stands_for * chance;
		/*
		 * of those that were not seen, each lives by chance; and the curve is the same for
		 * all, right or wrong
		 */
		error += stands_for * MIN(sd, sqrt(chance) / 2);
	}
	if (ret_var)
		*ret_var = error * error + sum * (bytes && blocks > 0 ? of_bytes / blocks : 1);
	return sum;
}

/* ---- how sure it is */

/*
 * That none lives of a few says little of all (of n, one in n may): what a uniform prior leaves of doubt, and by how much it moves
 * the mean. Blocks of one look share their fate, so looks count, too.
 */
#define FATES_OF_A_LOOK 4.0

double survival__doubt(double seen, double lives, unsigned int n_met)
{
	double most = FATES_OF_A_LOOK * MAX(n_met, 1u), n = seen > 0 ? seen * most / (seen + most) : 0, k = MIN(MAX(lives, 0), 1) * n;

	return (k + 1) * (n - k + 1) / ((n + 2) * (n + 2) * (n + 3)) + pow((k + 1) / (n + 2) - MIN(MAX(lives, 0), 1), 2);
}

double survival__error_of_calls(double var_of_calls, double live, double calls, double seen, unsigned int n_met)
{
	double lives = calls > 0 ? MIN(live / calls, 1) : 0;

	return var_of_calls * (lives * lives + survival__doubt(seen, lives, n_met));
}
