/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What happened between windows, from the looks that ended those gaps. Plain
 * arithmetic.
 *
 * A window ends when its money is spent, so it ends where much is allocated: its
 * length depends on what it saw, and a mean over windows is the mean of quiet
 * times. When a window begins does not depend on what will be seen. So the
 * first moment of a window, a look, is a sample drawn at random from the gap that it
 * ends, and speaks for that gap; the rest of the window speaks for itself alone.
 *
 * The time just after a window's end is not like other time: what ended the window
 * may go on. So gaps are divided into zones, by the time since the window's end, and
 * a look speaks for all the time in its zone since the last look there.
 *
 * What a look says is how many calls were made per CPU time that the process had for itself
 * (a rate), and it weighs as much as the process was running then: the time that
 * it speaks for, times the part of the look that was CPU time. All weights
 * together are scaled to the CPU time that the process had in all gaps, which is known. This is a
 * ratio estimator, and its error is the spread of the rates around their mean.
 */
#ifndef MT_LOOKS_H
#define MT_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOK_ZONES 10		/* by the time since a window's end */

/* The figures of a site that are scaled. */
enum { CALLS, BYTES, REALLOCS, TEMPS, FAILS, N_SCALED };

struct looks {			/* of one process */
	double waits_ns[LOOK_ZONES];	/* time in gaps that no look has spoken for */
	double spoken_ns[LOOK_ZONES];	/* and that one has */
	double weight[LOOK_ZONES];	/* of the looks: CPU time that they speak for */
	double squares;		/* of these weights */
	double full;		/* weights of those that were not cut short */
	double unseen_ns;	/* CPU time of its own in all gaps: known */
	unsigned int n_in[LOOK_ZONES], n;	/* looks that had a weight */
};

struct site_looks {		/* of one site; rates are per ns of CPU time */
	double sum[LOOK_ZONES][N_SCALED];	/* of weight * rate */
	double squares[2], products[2];	/* of weight² * rate², weight² * rate; calls and bytes */
	double largest[2];	/* of weight * rate */
	/* in all that was seen, looks or not: CPU time that the process had for itself since the site is known, calls and bytes */
	double seen_ns, seen[2];
	double late[2];		/* the highest rate towards a window's end */
	double full[2];		/* of sum, what comes from looks that were not cut short */
};

size_t look_zone(double after_ns);

/*
 * A look that was cut short: for the rest of it, what it saw towards its end may go on, or
 * not. It was a long burst or a short cluster of calls; looks soon after windows' ends tell
 * which it is in this process.
 */
struct look_seen {
	double own_ns;		/* CPU time that was seen */
	double rest_ns;		/* that was to be seen, and was not; 0: it was not cut short */
	double late;		/* what part of the calls came late */
	double late_own_ns;	/* in how long */
};

struct early {			/* what is known of that: calls of any site, or hits */
	double rates;		/* in looks soon after windows' ends: a sum */
	unsigned int n;
	double full_rates;	/* in looks that were not cut short: a sum */
	unsigned int n_full;
	double seen, seen_ns;	/* in all that was seen */
};

/* What one call of the look says of the rate. all: how many it saw. */
double look__rate(const struct look_seen *s, const struct early *e, double all);
/* A stretch that was seen, and if it was a look, how long after a window's end; else < 0. */
void early__learn(struct early *e, const struct look_seen *s, double after_ns, double all);
/* Of a stretch that was cut short, look or not: what one call says of the rate towards its end. Else 0. */
double look__late(const struct look_seen *s);

/* A part of a gap has passed, from and to since the window before it ended; unseen_ns of it the process ran. */
void looks__wait(struct looks *l, double from_ns, double to_ns, double unseen_ns);
/* A look, after_ns since that window's end, busy: CPU time per time. Its weight, 0 if the process did not run. */
double looks__take(struct looks *l, double after_ns, double busy, bool cut_short);
void site_looks__add(struct site_looks *s, size_t zone, double weight, const double rate[N_SCALED], bool cut_short);
/* A stretch that was seen, in a look or not. */
void site_looks__note(struct site_looks *s, double cpu_ns, double calls, double bytes, double late);

/* What each look's weight is multiplied by, once and for all that was unseen. */
struct look_scale {
	double zone[LOOK_ZONES];
	double all;
};

struct look_scale looks__scale(const struct looks *l);
double site_looks__unseen(const struct site_looks *s, const struct look_scale *k, int which);
/* Of calls or bytes. */
double site_looks__variance(const struct site_looks *s, const struct looks *l, const struct look_scale *k, int which);

#endif
