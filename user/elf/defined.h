/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The functions that an object defines, by all names that its files have for them. */
#ifndef MT_DEFINED_H
#define MT_DEFINED_H

#include <stdbool.h>
#include <stdint.h>

struct object;

/*
 * fn for each name of each function: those of .symtab and .dynsym, and, of a file
 * that was stripped, of its separate debug file or of .gnu_debugdata. Names are as in the
 * file, valid during the call; vaddr is the ELF virtual address. fn returns non-zero to stop, which is returned.
 * debug_dir NULL: /usr/lib/debug.
 */
int defined__each(struct object *obj, const char *debug_dir,
		  int (*fn)(const char *name, uint64_t vaddr, void *arg), void *arg);
/*
 * May DWARF name a function of the object so, one that is inlined wherever it is called? ident is the last part of a name,
 * without namespaces and arguments. False is certain; true is not: it may be the name of anything.
 */
bool defined__may_be_inlined(struct object *obj, const char *debug_dir, const char *ident);

#endif
