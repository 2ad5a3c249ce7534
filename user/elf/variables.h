/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The variables of an ELF file, by address: of .symtab and .dynsym, or of its separate debug file. */
#ifndef MT_VARIABLES_H
#define MT_VARIABLES_H

#include <stddef.h>
#include <stdint.h>

struct object;

struct variable {
	uint64_t start, end;	/* ELF virtual addresses; no two overlap */
	size_t name;		/* where in names, as in the file */
};

struct variables {		/* all zero: none */
	struct variable *v;	/* by address */
	size_t n, room;
	char *names;
	size_t names_len, names_room;
};

/* A file without symbols, or one that was written over, has none. debug_dir NULL: /usr/lib/debug. -ENOMEM */
int variables__read(struct object *obj, const char *debug_dir, struct variables *ret);
void variables__done(struct variables *v);
/* The one that holds an address; NULL: none. */
const struct variable *variables__find(const struct variables *v, uint64_t vaddr);

static inline const char *variable__name(const struct variables *all, const struct variable *v)
{
	return all->names + v->name;
}

#endif
