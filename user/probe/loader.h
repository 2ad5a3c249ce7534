/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Where a C library loads and unloads others: the programs must know before code takes the place of
 * other code (bpf/ranges.bpf.h).
 */
#ifndef MT_LOADER_H
#define MT_LOADER_H

#include "elf/object.h"
#include "probe/spots.h"

/* The entries of dlopen and dlclose in an object; n 0: it has none. -ENOMEM */
int loader__find(const struct object *obj, struct spot_points *ret);

#endif
