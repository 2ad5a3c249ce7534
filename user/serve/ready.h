/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The first that a child of serve says: that it can do its work, or why it cannot. */
#ifndef MT_READY_H
#define MT_READY_H

#include "util/err.h"

/* why NULL: it can. */
void ready__say(int fd, const char *why);
/* who: as messages begin. */
int ready__await(int fd, const char *who, struct err *e);

#endif
