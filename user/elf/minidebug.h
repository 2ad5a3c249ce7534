/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Mini debug info: a symbol table that a stripped file carries with it, xz-compressed in .gnu_debugdata. */
#ifndef MT_MINIDEBUG_H
#define MT_MINIDEBUG_H

#include "elf/elffile.h"

/* -ENOENT without such a section, -EBADMSG if it makes no sense, -EFBIG if it holds too much. */
int minidebug__open(struct elffile *f, Elf *file);

#endif
