/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How a process ended, in words. */
#ifndef MT_DEATHS_H
#define MT_DEATHS_H

#include "model/snapshot.h"

#define DEATH_MAX 48

/* "ended", "ended by SIGSEGV", "killed: out of memory"; "" while it goes on */
const char *death__words(const struct snap_process *p, char buf[static DEATH_MAX]);
/* The same for a narrow column: "ended", "SIGSEGV", "OOM" */
const char *death__word(const struct snap_process *p, char buf[static DEATH_MAX]);

#endif
