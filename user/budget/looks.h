/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What happened between windows, from the looks that windows are. Plain
 * arithmetic.
 *
 * A window that goes on until its money is spent ends where much is allocated: its
 * length depends on what it saw, and a mean over such windows is the mean of quiet
 * times. So windows are looks: when one begins is drawn at random, and how long it is to
 * be is decided before, both in time as it passes without probes. Then it does not depend on
 * what there is to see, and looks are a sample of all the time.
 *
 * What a look says is how many calls were made per CPU time that the process had for itself
 * (a rate), and it weighs as much as the process was running then: the time that
 * it speaks for, times the part of the look that was CPU time. How long it was does not
 * count: in a burst it sees little of the program's own time. All weights
 * together are scaled to the CPU time that the process had in all gaps, which is known. This is a
 * ratio estimator, and its error is the spread of the rates around their mean.
 */
#ifndef MT_LOOKS_H
#define MT_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The figures of a site that are scaled. */
enum { CALLS, BYTES, REALLOCS, TEMPS, FAILS, N_SCALED };

struct looks {			/* of one process */
	double weight;		/* of the looks: CPU time that they speak for */
	double squares;		/* of these weights */
	double own_ns;		/* that the last looks saw, on average */
	double spoken_ns, broke_ns;	/* time that they speak for, and that those do that could not be made */
	double spoken_squares;	/* of the time that each speaks for, also of those that found the process asleep */
	/* of that time * ran (see looks__ran), its squares, that time² * ran */
	double ran_ns, ran_squares, ran_products;
	double unseen_ns;	/* CPU time of its own in all gaps: known */
	double clock_ns;	/* how long the gaps were */
	unsigned int n;		/* looks that had a weight */
};

struct site_looks {		/* of one site; rates are per ns of CPU time */
	double sum[N_SCALED];	/* of weight * rate */
	double squares[2];	/* of weight * rate² */
	double heavy_squares[2], products[2];	/* of weight² * rate², weight² * rate; calls and bytes */
	double doubt[2];	/* of weight * rate, what may be so or not, the same way in all looks */
	double largest[2];	/* rate */
	unsigned int n_met;	/* looks that met it */
	double met;		/* the weights of these */
	/* in a stretch that was seen, look or not: calls and bytes, and the highest rate of them */
	double most[2], dense[2];
	struct late {
		double n, own_ns;
	} late[2];		/* where calls and bytes were densest, towards the end of what was cut short */
	double goes_on[2];	/* the rate at the end of the last stretch, if that was cut short; else 0 */
	double followed[2];	/* the most that may have followed such a stretch, until the next one began */
};

/* A stretch that was seen, perhaps one that its limit has cut short, of which calls came late. */
struct look_seen {
	double own_ns;		/* CPU time that was seen */
	double rest_ns;		/* that was to be seen, and was not; 0: it was not cut short */
	double late;		/* what part of the calls came late */
	double late_own_ns;	/* in how long */
};

/*
 * What one call of the look says of the rate. Cut short, the rest is between nothing and what it
 * saw in the end: half of that, and as much is in doubt. Few are cut short, because lengths are
 * chosen so (pace.h).
 */
double look__rate(const struct look_seen *s, double *ret_doubt);
/* Towards the end of one that was cut short; else 0. */
double look__late(const struct look_seen *s);

/* A look that speaks for so much time, busy: CPU time per time in it. Its weight, 0 if the process did not run. */
double looks__take(struct looks *l, double speaks_ns, double busy, double own_ns);
/* Of the same window: CPU time per time that it speaks for (see window__ran). */
void looks__ran(struct looks *l, double speaks_ns, double ran);
/*
 * What a window says of the CPU time in gaps, all of it CPU time per time. own: what the process had for itself in the
 * window, error: what part of that may be wrong, because the cost of the probes is subtracted. awake: threads that did
 * not sleep in it; how much of the CPU those had is up to the others on the machine. Within these bounds it is what the
 * process had just before the window, without probes and for many time slices.
 */
struct window_ran {
	double before, own, error, awake;
};
double window__ran(const struct window_ran *r);
/* doubt: of the rates of calls and bytes, how much may be wrong. */
void site_looks__add(struct site_looks *s, double weight, const double rate[N_SCALED], const double doubt[2]);
/* A stretch that was seen, look or not. */
void site_looks__note(struct site_looks *s, const struct look_seen *seen, double calls, double bytes);

/* Before the next stretch is noted: CPU time of its own in the gap before it. */
void site_looks__gap(struct site_looks *s, double unseen_ns);

/* What each look's weight is multiplied by. */
double looks__scale(const struct looks *l);
double site_looks__unseen(const struct site_looks *s, const struct looks *l, int which);
/* Of calls or bytes. */
double site_looks__variance(const struct site_looks *s, const struct looks *l, int which);
/* Of the calls of all sites together: those of bursts that no window saw, where the CPU time in gaps shows that there were some. */
double looks__unmet_variance(const struct looks *l);

#endif
