/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What looks like an allocator by its names, but is none that malloctrace knows: for a trace that sees nothing. */
#ifndef MT_LOOKALIKES_H
#define MT_LOOKALIKES_H

#include "elf/object.h"
#include "probe/allocators.h"

/*
 * Pairs of functions of the file, in words, each with the options that make malloctrace probe it:
 * "shop_malloc and shop_free in shopd (--prefix shop_)". The caller's; NULL: none.
 */
char *lookalikes__of(const struct object *obj, const struct alloc_funcs *funcs);

#endif
