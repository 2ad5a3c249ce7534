// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. */
#include "elf/defined.h"

#include <string.h>

#include "elf/apart.h"
#include "elf/debugfile.h"
#include "elf/minidebug.h"
#include "elf/object.h"
#include "elf/symtab.h"
#include "util/stint.h"
#include "util/util.h"

static bool has_symtab(Elf *elf)
{
	struct elf_section s = {};

	while (elffile__next_section(elf, &s))
		if (s.shdr.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static int add_symbol(const struct object_symbol *sym, void *arg)
{
	if (!sym->ifunc)
		symtab__add(arg, sym->name, sym->value, sym->size);
	return 0;
}

int defined__each(struct object *obj, const char *debug_dir,
		  int (*fn)(const char *name, uint64_t vaddr, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct elffile file = {}, debug = {};	/* debug: what has the symbols that file lacks */
	struct symtab all = {};
	int r = 0;

	/* what it says now would be of other code */
	if (!obj->is_elf || object__has_names(obj) || object__look_for_change(obj) || elffile__open_fd(&file, obj->fd))
		return 0;
	symtab__add_elf(&all, file.elf);
	if (!has_symtab(file.elf)) {
		if (!debugfile__open(&debug, obj, file.elf, debug_dir ? debug_dir : DEBUG_DIR) ||
		    !minidebug__open(&debug, file.elf))
			symtab__add_elf(&all, debug.elf);
	}
	/* without section headers the dynamic segment still leads to symbols */
	if (!all.n)
		object__for_each_function(obj, add_symbol, &all, NULL);
	for (size_t i = 0; i < all.n && !r && !stint__is_over(); i++)
		if (all.v[i].function)
			r = fn(all.v[i].name, all.v[i].start, arg);
	symtab__done(&all);
	elffile__close(&debug);
	elffile__close(&file);
	return r;
}

/* Is it at the end of a string, or in front of template arguments? Linkers let a string be the end of a longer one. */
static bool bytes_name(const char *bytes, size_t len, const char *ident)
{
	size_t n = strlen(ident);
	const char *at = bytes, *end = bytes + len;

	while ((at = memmem(at, (size_t)(end - at), ident, n))) {
		if (at + n == end || at[n] == '\0' || at[n] == '<')
			return true;
		at++;
	}
	return false;
}

static bool dwarf_names(Dwarf *dwarf, const char *ident)
{
	struct elf_section s = {};

	while (elffile__next_section(dwarf_getelf(dwarf), &s)) {
		/* compressed in the old way, or names that are in other files (-gsplit-dwarf): nobody knows */
		if (!strncmp(s.name, ".zdebug_", strlen(".zdebug_")) || !strcmp(s.name, ".debug_addr"))
			return true;
		/* short names are in the entries themselves */
		const Elf_Data *d = strcmp(s.name, ".debug_str") && strcmp(s.name, ".debug_info") ? NULL :
												elf_section__bytes(&s);

		if (d && d->d_buf && bytes_name(d->d_buf, d->d_size, ident))
			return true;
	}
	return false;
}

bool defined__may_be_inlined(struct object *obj, const char *debug_dir, const char *ident)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct elffile file = {}, debug = {};
	struct elffile *with = &file;
	bool may = false;

	debug_dir = debug_dir ? debug_dir : DEBUG_DIR;
	if (!obj->is_elf || object__has_names(obj) || object__look_for_change(obj))
		return false;
	if (readers__are_apart())
		return defined_apart__may_be_inlined(obj, debug_dir, ident);
	if (elffile__open_fd(&file, obj->fd))
		return false;
	if (debugfile__open_dwarf(&file, obj, debug_dir)) {
		with = &debug;
		if (debugfile__open(&debug, obj, file.elf, debug_dir) || debugfile__open_dwarf(&debug, obj, debug_dir))
			with = NULL;
	}
	if (with)
		may = dwarf_names(with->dwarf, ident) || (with->alt_dwarf && dwarf_names(with->alt_dwarf, ident));
	elffile__close(&debug);
	elffile__close(&file);
	return may;
}
