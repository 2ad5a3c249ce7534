/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* `malloctrace heap`: the heap of a process as it is, without a trace. */
#ifndef MT_HEAP_COMMAND_H
#define MT_HEAP_COMMAND_H

#include "options/opts.h"
#include "util/err.h"

/* *ret_status: EXIT_FAILED if the heap of one of them could not be read; what was found of others is shown. */
int heap_command__run(const struct opts *o, int *ret_status, struct err *e);

#endif
