/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What changed between two profiles. Rows are matched by their stacks of (file
 * name of the module, function), not by address, pid or line, so that two runs,
 * two versions or two hosts compare.
 */
#ifndef MT_DIFF_H
#define MT_DIFF_H

#include "model/snapshot.h"
#include "util/util.h"

enum diff_kind { DIFF_GREW, DIFF_SHRANK, DIFF_NEW, DIFF_GONE, DIFF_SAME, DIFF_UNSURE, N_DIFF_KINDS };

struct diff_row {
	uint64_t before, after;	/* by the metric */
	double error;		/* of the change: one standard deviation; 0: both are exact */
	double before_per_s, after_per_s;	/* holds if rates are compared; NAN: not known */
	const struct snapshot *s;	/* where the stack is found: the later profile that has it */
	const struct snap_site *site;
};

struct diff {
	const struct metric *metric;
	const struct snapshot *of_before, *of_after;
	bool rates;		/* the traces did not last as long: rates are compared, where the metric has any */
	struct vec(struct diff_row) rows;	/* the largest change first */
	uint64_t before, after;	/* the sums */
	double error;		/* of the change of these */
	size_t n_of_kind[N_DIFF_KINDS];
};

/*
 * Of profiles with different --depth the one with the smaller depth has stacks that end early, and no stack of the other matches
 * them: both get that depth. Returns it; 0: nothing was done. *ret_first: it is the first one's.
 */
uint32_t snapshots__even_depth(struct snapshot *a, struct snapshot *b, bool *ret_first);
/* Both must stay as long as the diff, and know what the metric needs. */
void diff__init(struct diff *d, const struct snapshot *before, const struct snapshot *after,
	       const struct metric *metric);
void diff__done(struct diff *d);
enum diff_kind diff_row__kind(const struct diff_row *r);
/*
 * The later profile with the earlier one as its baseline: since_baseline_bytes is
 * the change of live bytes, what is gone is a site with nothing but that. Sites
 * of one row are one, processes of one name too. Both must know live bytes, and
 * stay as long as it does. name: of the earlier one.
 */
struct snapshot *diff__snapshot(const struct snapshot *before, const struct snapshot *after, const char *name);
const char *diff_kind__name(enum diff_kind kind);	/* "grew", "shrank", "new", "gone", "same", "unsure" */

#endif
