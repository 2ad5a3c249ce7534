/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Functions and variables of an ELF file, by the names that it and its debug file have for them. debug_dir is where debug files
 * are; NULL: /usr/lib/debug. A file that was written to since it was opened has no names: they would be those of other code.
 */
#ifndef MT_SYMTAB_H
#define MT_SYMTAB_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"
#include "util/util.h"

struct elffile;
struct object;

/* ---- functions by address */

struct symbol {
	uint64_t start, end;	/* end: of the section, where the symbol has no size */
	const char *name;	/* as in the file; in its Elf */
	uint16_t name_len;	/* no more than what is compared */
	uint8_t rank;		/* the lower, the better a name where several begin */
	bool sized;
	bool function;		/* its type says so: no label, and no resolver of one */
};

struct symtab {			/* all zero: empty */
	struct vec(struct symbol) all;	/* by start, then from the worst name to the best */
	uint64_t *max_end;	/* of all.v[0..i], sized ones only */
	uint64_t held_bytes;
};

/*
 * Adds the symbols of .symtab and .dynsym; the file must outlive t. Damaged tables add what can be
 * read. by_segments: of an object's own file whose section headers say nothing, sized functions
 * that lie in its segments, also of the dynamic one; else NULL.
 */
void symtab__add(struct symtab *t, struct elffile *f, const struct object *by_segments);
/* After the last addition, before the first search. */
void symtab__sort(struct symtab *t);
/* The innermost symbol that holds addr, NULL if none. */
const struct symbol *symtab__find(const struct symtab *t, uint64_t addr);
void symtab__done(struct symtab *t);

/* ---- functions by name */

/*
 * fn for each name of each function: those of .symtab and .dynsym, and, of a file that was stripped, of its separate debug file or of
 * .gnu_debugdata. Names are as in the file, valid during the call; vaddr is the ELF virtual address. fn returns non-zero to stop,
 * which is returned.
 */
int defined__each(struct object *obj, const char *debug_dir, int (*fn)(const char *name, uint64_t vaddr, void *arg), void *arg);
/*
 * May DWARF name a function of the object so, one that is inlined wherever it is called? ident is the last part of a name,
 * without namespaces and arguments. False is certain; true is not: it may be the name of anything.
 */
bool defined__may_be_inlined(struct object *obj, const char *debug_dir, const char *ident);
/*
 * fn for each range of code of each inlined call, of one call after the other; first: of a new call. Names are as in DWARF,
 * mangled or not. Otherwise as defined__each(); -E2BIG: the file took too long; -ENODATA: some are
 * in .dwo files, which are not read. 0 without DWARF.
 */
int defined__each_inlined(struct object *obj, const char *debug_dir,
			  int (*fn)(const char *name, uint64_t low, uint64_t high, bool first, void *arg), void *arg);

/* ---- variables by address */

struct variable {
	uint64_t start, end;	/* ELF virtual addresses; no two overlap */
	size_t name;		/* where in names, as in the file */
};

struct variables {		/* all zero: none */
	struct variable *v;	/* by address */
	size_t n, room;
	struct vec(char) names;
};

/* Those of .symtab and .dynsym, or of the separate debug file. */
void variables__read(struct object *obj, const char *debug_dir, struct variables *ret);
void variables__done(struct variables *v);
/* The one that holds an address; NULL: none. */
const struct variable *variables__find(const struct variables *v, uint64_t vaddr);

static inline const char *variable__name(const struct variables *all, const struct variable *v)
{
	return all->names.v + v->name;
}

/* ---- names as their authors wrote them: C++ (Itanium), Rust (legacy and v0) */

#define DEMANGLE_IN_MAX 4096	/* bytes; what is longer is cut, not demangled */
#define DEMANGLE_OUT_MAX 1024	/* bytes, with the "…" that marks a cut, without the NUL */

/*
 * Writes the readable, clean form of name into buf and returns its length.
 * C++ as c++filt prints it, with parameters; Rust without its hash. A name that
 * is not mangled, or mangled wrongly, is itself. name is read up to its NUL or
 * to DEMANGLE_IN_MAX + 1 bytes.
 */
size_t demangle(const char *name, char buf[static DEMANGLE_OUT_MAX + 1]);

/* ---- a pool of strings, for what is read of files */

struct pool {			/* equal strings are one string; freed all at once */
	struct obstack arena;
	struct hash strings;	/* by the hash of each */
};

void pool__init(struct pool *p);
void pool__done(struct pool *p);
void *pool__alloc(struct pool *p, size_t size);		/* never NULL */
const char *pool__string(struct pool *p, const char *s);	/* NULL stays NULL */

#endif
