/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How many files may be open at a time. Each probed file and each table of the programs is one. */
#ifndef MT_DESCRIPTORS_H
#define MT_DESCRIPTORS_H

#include <stdint.h>

#include "util/err.h"

/* The limit is raised as far as this user may. -EMFILE: that is too little. */
int descriptors__raise(struct err *e);
/* As it was: for CMD, which may go by it. */
void descriptors__restore(void);
/* How many files of targets may be held open; the rest is for what malloctrace itself needs. */
uint64_t descriptors__for_targets(void);

#endif
