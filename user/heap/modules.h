/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The programs and libraries that a process has mapped: where they are, and their variables. */
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include <stdbool.h>

#include "elf/object.h"
#include "elf/symtab.h"
#include "heap/target.h"

struct module {
	uint64_t start, end;	/* from its first mapping to the end of its last, and of what is zeroed after it (.bss) */
	char *path;		/* owned, clean */
	struct mapping code;	/* a copy without a path: the file is found by it */
	/* by module__open(): */
	bool opened;
	struct object *obj;	/* holds a reference; NULL: it cannot be read, or is no ELF file */
	uint64_t bias;		/* address - ELF virtual address */
	bool has_variables;	/* by module__variables() */
	struct variables variables;
};

struct modules {		/* all zero: none */
	struct target *t;	/* not owned, as the next */
	struct objects *objects;
	struct vec(struct module) all;	/* by address */
};

/* Of the mappings that t has now. objects NULL: no file is read. */
void modules__init(struct modules *m, struct target *t, struct objects *objects);
void modules__done(struct modules *m);
struct module *modules__find(const struct modules *m, uint64_t addr);	/* NULL: in none */
/* Reads what its file says, the first time. False: nothing is known of it. */
bool module__open(struct modules *all, struct module *m);
const struct variables *module__variables(struct modules *all, struct module *m);

/*
 * n bytes of a module's memory. Pages that are not there are as in the file, which is read instead: a process that
 * never looked at a page does not get it because of us.
 */
bool modules__read(struct modules *m, uint64_t addr, void *to, size_t n);

#endif
