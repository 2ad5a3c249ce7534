/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Cuts of a trace that saw part of the time → cuts of the whole. */
#ifndef MT_ESTIMATE_H
#define MT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "collect/collect.h"
#include "model/cut.h"

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

double site_looks__unseen(const struct site_looks *s, const struct looks *l, int which);
/* Of calls or bytes. */
double site_looks__variance(const struct site_looks *s, const struct looks *l, int which);
/*
 * Of the calls, or bytes, of all sites together: those of bursts that no window saw, where the CPU
 * time in gaps shows that there were some. INFINITY: not known.
 */
double looks__unmet_variance(const struct looks *l, int which);

/*
 * How long the blocks of a site live, from frees that were seen part of the
 * time, and hence how many of them are alive. Plain arithmetic.
 *
 * A block that was seen to be born at t is freed at some age. Its free is seen
 * if a window is open at t + age. For each class of ages, `seen` sums over the
 * blocks what part of the class fell into windows: that many blocks, in effect,
 * were watched while they passed through it, had they lived that long. If S of
 * all blocks reach the class, frees seen in it / (seen * S) is the chance to be
 * freed there; and so on to the next class. What went unseen is in neither of
 * the two numbers, so a block whose free fell between windows is no leak.
 *
 * Births are kept as cohorts: how many, between when and when. Old neighbours
 * are merged, so a cohort is never long compared with its age.
 */

#define SURVIVAL_COHORTS 48

struct weight {			/* of some blocks */
	double blocks, bytes;
};

struct cohort {
	double from_ns, to_ns;	/* born evenly between */
	struct weight born;	/* seen */
	struct weight looked;	/* what they stand for beside themselves, times a factor that is the same for all */
	struct weight left;	/* of the born, still in the table when it was last looked at; < 0: not looked at */
};

struct survival {
	struct cohort cohort[SURVIVAL_COHORTS];	/* oldest first */
	size_t n;
	struct weight seen[MT_N_AGES];
	double origin_ns;	/* of the cohorts' times: small numbers are exact ones */
};

/* The chance to live to the beginning of each class; [MT_N_AGES]: to the end of the last one. */
struct curve {
	double s[MT_N_AGES + 1];
	double var[MT_N_AGES + 1];
	double chance[MT_N_AGES];	/* to be freed in the class, of those that reach it */
};

/* Bounds of a class of ages, in ns. */
double age_class__from(size_t k);
double age_class__to(size_t k);

/*
 * A stretch of time that was seen, from the end of the last one or later, what was born in it
 * (nothing: 0), and looked of it.
 */
void survival__add(struct survival *s, uint64_t from_ns, uint64_t to_ns, struct weight born, struct weight looked);
/* Of all cohorts. */
double survival__looked(const struct survival *s, bool bytes);

/*
 * freed: by class of age. prior: the chances of other blocks, for ages at which
 * none of these was watched; NULL: nothing is freed unless it is seen.
 */
void survival__curve(const struct survival *s, const __u64 freed[MT_N_AGES], bool bytes, const double prior[MT_N_AGES],
		     struct curve *ret);
/* The chances of a curve, with those of unwatched classes taken from their neighbours: fit to be a prior. */
void curve__prior(const struct curve *c, const struct survival *s, double ret[MT_N_AGES]);

/* How many are alive now; factor: of `looked`. */
double survival__alive(const struct survival *s, const struct curve *c, bool bytes, double factor, uint64_t now_ns,
		       double *ret_var);

/* The table was looked at: a block of this birth is in it. First begin, then each block, then end. */
void survival__begin_scan(struct survival *s);
void survival__in_table(struct survival *s, uint64_t born_ns, uint64_t size);
void survival__end_scan(struct survival *s);

/*
 * How wrong the part that lives may be, as a variance: of `seen` blocks that were seen to be born, in n_met looks, the part `lives`
 * does.
 */
double survival__doubt(double seen, double lives, unsigned int n_met);
/*
 * What is alive is a part of what was allocated: of an uncertain number of calls an uncertain number, as a variance. The part is not
 * certain either: where calls may have been missed, some of them may have been the ones that live, also if of those that were seen
 * none does.
 */
double survival__error_of_calls(double var_of_calls, double live, double calls, double seen, unsigned int n_met);

/* ---- all sites and processes */

struct estimate;

/* n_sites: with the spare ones. */
struct estimate *estimate__new(const struct collect *c, uint32_t n_sites, uint32_t n_procs);
void estimate__free(struct estimate *es);

/* What a call that was seen says. */
struct call_rate {
	double rate;		/* calls per ns of the process's own CPU time */
	double doubt;		/* a part of that */
	struct look_seen seen;	/* what it is reckoned from */
};

struct thread_calls {
	uint32_t tid;
	struct call_rate call;
};

/* Of a process, since the last call, in ns. */
struct times {
	bool seen;		/* it had probes in the stretch; by turns, most have not */
	double unseen;		/* CPU time that was its own, in a gap */
	double gap;		/* how long that gap was */
	double speaks;		/* how much time the stretch at hand speaks for; 0: it is no look */
	double broke;		/* and how much looks were to speak for that could not be made, since the trace began */
	double busy;		/* CPU time per time in the stretch at hand */
	double ran;		/* what that says of gaps (window__ran) */
	struct call_rate call;	/* in the stretch at hand */
	const struct thread_calls *threads;	/* of those that differ; holds until the stretch is reported */
	size_t n_threads;
};

/* It leaves the tables: its number, and those of its sites, may be others' from now on. */
void estimate__forget(struct estimate *es, uint32_t proc);
void estimate__time(struct estimate *es, uint32_t proc, const struct times *t);
/* Everything in the cut that was not in the one before happened between from and to; after estimate__time. */
void estimate__stretch(struct estimate *es, uint64_t from_ns, uint64_t to_ns, const struct cut *cut);
/* Who has ended: blocks of these are freed by nobody, and may leave the table. Before the next scan. */
void estimate__note_ends(struct estimate *es, const struct cut *cut, uint64_t now_ns);
/* Looks at the block table. */
void estimate__scan(struct estimate *es);
/* The whole, as of now; holds until the next call. */
const struct cut *estimate__cut(struct estimate *es, const struct cut *cut, uint64_t now_ns);

#endif
