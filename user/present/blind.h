/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Processes that ran, and of which no call was seen, or fewer than explain their growth (model/unexplained.h). */
#ifndef MT_BLIND_H
#define MT_BLIND_H

#include "model/snapshot.h"

#define BLIND_MAX 96

size_t blind__n(const struct snapshot *s);
/* One of them, of which there is the most to say; NULL: none. */
const struct snap_process *blind__first(const struct snapshot *s);
/* "ran for 1.20s and grew by 64.0 MiB" */
const char *blind__ran(const struct snap_process *p, char buf[static BLIND_MAX]);

#define UNEXPLAINED_MAX 192

/* The process with the most of it; NULL: none has any. */
const struct snap_process *unexplained__most(const struct snapshot *s);
/* "grew by 150.0 MiB, of which 20.0 MiB are explained by what was seen: ..." */
const char *unexplained__words(const struct snap_process *p, char buf[static UNEXPLAINED_MAX]);

#endif
