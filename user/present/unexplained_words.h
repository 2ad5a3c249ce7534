/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The words for growth that nothing explains which was seen (model/unexplained.h). */
#ifndef MT_UNEXPLAINED_WORDS_H
#define MT_UNEXPLAINED_WORDS_H

#include "model/snapshot.h"

#define UNEXPLAINED_MAX 192

/* The process with the most of it; NULL: none has any. */
const struct snap_process *unexplained__most(const struct snapshot *s);
/* "grew by 150.0 MiB, of which 20.0 MiB are explained by what was seen: ..." */
const char *unexplained__words(const struct snap_process *p, char buf[static UNEXPLAINED_MAX]);

#endif
