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
	bool split;		/* the unit's functions are in another file (-gsplit-dwarf), which is not read */
	bool c;			/* written in C, or in assembly: names are as the linker has them */
};

struct dwarfinfo;
struct object;
struct pool;

/* Of the object's own file, or of its debug file. Both must outlive it. */
struct dwarfinfo *dwarfinfo__new(Dwarf *dwarf, const struct object *obj);
void dwarfinfo__free(struct dwarfinfo *d);	/* before its Dwarf */
/* names is where names that are put together live. ret->n is 0 if DWARF knows nothing. */
void dwarfinfo__find(struct dwarfinfo *d, uint64_t addr, bool lines, struct pool *names, struct dwarf_frames *ret);
/*
 * fn for each range of code that inlined calls have, of one call after the other; first: of a new call. Names are
 * those of their functions, as in struct dwarf_frame. fn returns non-zero to stop, which is returned. -E2BIG: the file took too long.
 */
int dwarfinfo__each_inlined(struct dwarfinfo *d, struct pool *names,
			    int (*fn)(const char *name, uint64_t low, uint64_t high, bool first, void *arg), void *arg);

#endif
