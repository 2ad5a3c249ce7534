/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef MT_SETTLE_H
#define MT_SETTLE_H

#include "util/err.h"

/*
 * All probes are in place, and CMD has been made: from here on this process can do what a trace may still need, and nothing else
 * that is worth having as root. What it executes gets no more.
 */
int settle__process(struct err *e);

#endif
