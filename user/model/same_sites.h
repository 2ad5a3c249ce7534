/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which sites are the same: of one process, one function and one stack. */
#ifndef MT_SAME_SITES_H
#define MT_SAME_SITES_H

#include "model/snapshot.h"
#include "util/ids.h"

struct same_sites {
	const struct snap_site *rows;	/* each once, by its number; the caller's */
	struct id_table table;
	uint32_t n;
};

/* rows: of room for max. */
void same_sites__init(struct same_sites *same, const struct snap_site *rows, size_t max);
void same_sites__done(struct same_sites *same);
/*
 * The number of a site, as one of `process`, with the places that place_of has for those of its
 * stack; NULL: with these. A new one has the next number: the caller puts it there.
 */
void same_sites__get(struct same_sites *same, const struct snap_site *site, uint32_t process,
		     const uint32_t *place_of, uint32_t *ret, bool *ret_new);

#endif
