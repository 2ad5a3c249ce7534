/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What tests of --mode growth share; t_growth.c has it. */
#ifndef LT_GROWTH_H
#define LT_GROWTH_H

#include "lt.h"

/* What a process grew by, at each site of its ledger; process NULL: all of the report. */
void want_grown(struct test *t, json_t *root, json_t *process, const struct ledger *l);

#endif
