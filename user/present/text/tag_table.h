/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The table of tags, for reports and the live view. */
#ifndef MT_TAG_TABLE_H
#define MT_TAG_TABLE_H

#include "model/tags.h"
#include "present/columns.h"

struct tag_row {
	const char *name;
	const struct snap_tag *tag;	/* NULL: what has none */
	uint64_t entered;		/* UINT64_MAX: calls are not known */
	struct tag_sum sum;
	uint64_t weight, whole;		/* by some metric: its own, and that of all rows */
};

/* What has no tag, and each tag, from their sums (tags__add_up), in that order: n_tags + 1 rows, the caller's. NULL without memory. */
struct tag_row *tag_rows__make(const struct snapshot *s, const struct tag_sum *sums, const struct metric *key);

#endif
