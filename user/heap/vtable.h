/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* C++ classes by their vtables. */
#ifndef MT_VTABLE_H
#define MT_VTABLE_H

#include "elf/demangle.h"
#include "heap/modules.h"

/*
 * The name of the class whose objects begin with the word vp, into buf; false: that is no vtable, or nothing names it.
 * Bounded, whatever the process has there.
 */
bool vtable__class(struct modules *m, uint64_t vp, char buf[static DEMANGLE_OUT_MAX + 1]);

#endif
