/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Mini debug info: a symbol table that a stripped file carries with it, xz-compressed in .gnu_debugdata. */
#ifndef MT_MINIDEBUG_H
#define MT_MINIDEBUG_H

#include <libelf.h>

struct minidebug {		/* all zero: none */
	Elf *elf;		/* in memory below */
	void *image;
};

/* -ENOENT without such a section, -EBADMSG if it makes no sense, -EFBIG if it holds too much. */
int minidebug__open(struct minidebug *m, Elf *file);
void minidebug__close(struct minidebug *m);

#endif
