/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
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
#ifndef MT_SURVIVAL_H
#define MT_SURVIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

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
double curve__at(const struct curve *c, double age_ns, double *ret_var);
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

#endif
