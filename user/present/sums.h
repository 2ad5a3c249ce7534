/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Sites that have something in common, such as the function that allocates, as one row (ROWS_SUMS of present/views.h). */
#ifndef MT_SUMS_H
#define MT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/tags.h"
#include "present/telling.h"
#include "present/views.h"

struct sum_row {
	struct sum_key key;
	struct tag_sum sum;
	int64_t since_baseline_bytes;
	struct trend trend;	/* growth added up; the worst verdict */
	const struct snap_site *oldest;	/* the one with the oldest live block; NULL: none has one */
	uint64_t total;		/* bytes of all sites that have a frame which would be of this row; live ones, where they are known */
	uint32_t number;	/* among all, by their keys */
	uint64_t weight, whole;	/* by some metric: its own, and that of all rows */
};

struct sum_rows {		/* all zero: none */
	struct sum_row *v;	/* owned; the heaviest first */
	size_t n;
	uint32_t *of;		/* owned; by site: 1 + its row; 0: it is in none */
};

/* Of the sites that the view shows; takes NULL: of all these. The order is total. Strings are the snapshot's. 0 or -ENOMEM. */
int sum_rows__init(struct sum_rows *r, const struct view *v, const struct snapshot *s, const struct tellings *t, const struct metric *key,
		   bool (*takes)(void *arg, const struct snap_site *site), void *arg);
void sum_rows__done(struct sum_rows *r);

#endif
