/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* `report` and `diff`: profiles that were written before, shown again. No BPF, no privileges. */
#ifndef MT_PROFILES_H
#define MT_PROFILES_H

#include "options/opts.h"
#include "util/err.h"

int profiles__report(const struct opts *o, int *ret_status, struct err *e);
int profiles__diff(const struct opts *o, int *ret_status, struct err *e);

#endif
