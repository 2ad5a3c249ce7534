/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * `malloctrace serve`: two processes. This one listens, keeps its rights, and does nothing but wait; the other one traces, and gives
 * up what it does not need. At SIGHUP the options are read again and another one takes over; whoever asks meanwhile waits.
 */
#ifndef MT_SERVE_COMMAND_H
#define MT_SERVE_COMMAND_H

#include <stdbool.h>

#include "options/opts.h"
#include "util/err.h"

/* Before anything else was started. true: this is the process that is to trace, with o. false: all is over; status or err says how. */
bool serve_command__begin(struct opts *o, int argc, char **argv, int *ret_status, int *ret_err, struct err *e);

#endif
