/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A trace from its first check to its last report. */
#ifndef MT_SESSION_H
#define MT_SESSION_H

#include "options/opts.h"
#include "util/err.h"

/* 0 with the exit status, or -errno with a message; nothing is left attached either way. */
int session__run(const struct opts *o, int *ret_status, struct err *e);

#endif
