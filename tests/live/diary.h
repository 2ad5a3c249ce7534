/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the fixture "diary" says of its blocks at the time of a snapshot (tests/fixtures/diary.h), and whether --mode leak agrees. */
#ifndef LT_DIARY_H
#define LT_DIARY_H

#include "lt.h"

struct diary;

struct bound_seen {		/* of one snapshot */
	uint64_t live, unsure;	/* as it says */
	uint64_t least, most;	/* that the program had when it was taken */
};

const struct diary *diary__map(struct test *t, const char *path);
/* Live blocks are those that the program had, or too many by no more than is said; never too few. */
struct bound_seen want_bound(struct test *t, json_t *root, json_t *process, const struct diary *d);

#endif
