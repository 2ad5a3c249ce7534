/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What DWARF knows of an address: the functions around it and where in the source it is. */
#ifndef MT_DWARFINFO_H
#define MT_DWARFINFO_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWARF_INLINES_MAX 64

struct dwarf_frame {
	const char *name;	/* of the file's own strings, or from the names' owner; not cleaned; NULL: none */
	bool mangled;		/* name is a linkage name */
	const char *file;	/* NULL: unknown; not cleaned */
	const char *comp_dir;	/* what file begins with where it was written without; NULL: unknown */
	uint32_t line;
	bool inlined;
	uint64_t entry;		/* where the code begins that holds the address, 0: unknown */
};

struct dwarf_frames {
	struct dwarf_frame v[DWARF_INLINES_MAX + 1];	/* innermost first */
	size_t n;
	bool c;			/* written in C, or in assembly: names are as the linker has them */
};

struct dwarfinfo;
struct pool;

/* text says whether an address can be code: ranges of functions that the linker dropped begin at 0 or nowhere. */
struct dwarfinfo *dwarfinfo__new(Dwarf *dwarf, bool (*text)(uint64_t addr, void *arg), void *arg);
void dwarfinfo__free(struct dwarfinfo *d);	/* before its Dwarf */
/* names is where names that are put together live. ret->n is 0 if DWARF knows nothing. */
void dwarfinfo__find(struct dwarfinfo *d, uint64_t addr, bool lines, struct pool *names, struct dwarf_frames *ret);

#endif
