/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What this kernel and user may do, what is missing, how to mend it. */
#ifndef MT_DOCTOR_H
#define MT_DOCTOR_H

#include <stdio.h>

#include "options/opts.h"

/* *ret_status: 0 if malloctrace can trace here, 1 if not. */
int doctor__run(FILE *out, const struct opts *o, int *ret_status, struct err *e);

#endif
