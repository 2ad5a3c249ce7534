/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The sentence that answers first: what the process did, and which site matters. */
#ifndef MT_SENTENCE_H
#define MT_SENTENCE_H

#include <stddef.h>

#include "model/snapshot.h"

struct tellings;

#define SENTENCE_NAME_COLS 80	/* of a site's name, where no screen is narrower */

/* A second sentence begins a line of its own. name_width: of a site's name, at most. The caller's; NULL: there is nothing to say. */
char *sentence__of(const struct snapshot *s, const struct tellings *t, size_t name_width);
/* The site that it names; NULL: none. */
const struct snap_site *sentence__site(const struct snapshot *s);

/* Does resident memory grow, and live memory explains less than half of that? */
bool sentence__is_unexplained(const struct snapshot *s);

#endif
