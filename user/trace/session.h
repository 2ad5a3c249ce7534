/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A trace from its first check to its last report. */
#ifndef MT_SESSION_H
#define MT_SESSION_H

#include "options/opts.h"
#include "util/err.h"

/* 0 with the exit status, or -errno with a message; nothing is left attached either way. */
int session__run(const struct opts *o, int *ret_status, struct err *e);

/*
 * All probes are in place, and CMD has been made: from here on this process can do what a trace may still need, and nothing else
 * that is worth having as root. What it executes gets no more.
 */
int settle__process(struct err *e);

#endif
