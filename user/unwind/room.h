/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Room in an array of the kernel's, given to tables and taken back: first fit. */
#ifndef MT_ROOM_H
#define MT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

struct extent {
	uint32_t at, n;
};

struct room {
	struct vec(struct extent) free;
};

void room__init(struct room *r, uint32_t n);
/* False: there is no such piece. */
bool room__take(struct room *r, uint32_t n, struct extent *ret);
void room__give_back(struct room *r, struct extent e);
void room__done(struct room *r);

#endif
