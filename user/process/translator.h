/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Programs that run other programs by translating their code, as valgrind does. A breakpoint in a
 * file that such a program maps is code to them, and ends what they run: where they are, no probe
 * may be.
 */
#ifndef MT_TRANSLATOR_H
#define MT_TRANSLATOR_H

#include <sys/types.h>

#include "util/err.h"

/* What the program of this path is called, e.g. "valgrind"; NULL: no translator. */
const char *translator__of(const char *path);
/* -EBUSY, with a sentence, if one runs on this machine. */
int translator__none_runs(struct err *e);

#endif
