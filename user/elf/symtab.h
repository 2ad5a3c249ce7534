/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The function symbols of an ELF file, by address. */
#ifndef MT_SYMTAB_H
#define MT_SYMTAB_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/holding.h"

struct symbol {
	uint64_t start, end;	/* end: of the section, where the symbol has no size */
	const char *name;	/* as in the file; in its Elf, or owned by the table */
	uint16_t name_len;	/* no more than what is compared */
	uint8_t rank;		/* the lower, the better a name where several begin */
	bool sized;
	bool function;		/* its type says so: no label, and no resolver of one */
};

struct symtab {			/* all zero: empty */
	struct symbol *v;	/* by start, then from the worst name to the best */
	uint64_t *max_end;	/* of v[0..i], sized ones only */
	size_t n, room;
	char **owned;		/* names that no Elf keeps */
	size_t n_owned, room_owned;
	struct holding holding;	/* of tables that were read, and of itself */
};

/* Adds the symbols of .symtab and .dynsym; elf must outlive t. Damaged tables add what can be read. */
void symtab__add_elf(struct symtab *t, Elf *elf);
/* Adds one; the name is copied. */
void symtab__add(struct symtab *t, const char *name, uint64_t value, uint64_t size);
/* After the last addition, before the first search. */
void symtab__sort(struct symtab *t);
/* The innermost symbol that holds addr, NULL if none. */
const struct symbol *symtab__find(const struct symtab *t, uint64_t addr);
void symtab__done(struct symtab *t);

#endif
