// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sorted function symbols of one ELF file and the choice among
 * several names of one address. Every name points to a terminated string:
 * string tables are cut at their last NUL before use.
 */
#include "elf/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elffile.h"
#include "util/sorted.h"
#include "util/stint.h"
#include "util/util.h"

#define SYMBOLS_MAX (16u << 20)
#define COMPARE_MAX 256		/* bytes of names: a file may hold megabytes without a NUL */
#define BACK_MAX 256		/* steps over symbols nested in one another; assembly has a few */

enum {				/* bits of a rank, the weightiest first */
	RANK_NOTYPE = 1 << 7,
	RANK_LOCAL = 1 << 6,
	RANK_UNDERSCORES = 1 << 4,	/* two bits */
	RANK_WEAK = 1 << 0,
};

/*
 * glibc has calloc weak and __libc_calloc global: users know the name without
 * underscores, so that counts before the binding.
 */
static uint8_t rank(const char *name, unsigned int type, unsigned int bind)
{
	size_t underscores = 0;
	uint8_t r = 0;

	while (underscores < 3 && name[underscores] == '_')
		underscores++;

	if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	if (type == STT_NOTYPE)
		r |= RANK_NOTYPE;
	if (bind == STB_LOCAL)
		r |= RANK_LOCAL;
	if (bind == STB_WEAK)
		r |= RANK_WEAK;
	return r | underscores * RANK_UNDERSCORES;
}

static struct symbol *push(struct symtab *t)
{
	if (t->n >= SYMBOLS_MAX || !holding__take(&t->holding, sizeof(*t->v) + sizeof(*t->max_end)))
		return NULL;
	return vec__grow((void **)&t->v, &t->n, &t->room, sizeof(*t->v));
}

/* $x, $d, $x.12: where code and data begin, not functions. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && (!name[2] || name[2] == '.');
}

/* Not if they lie over what was read, or are too large: libelf keeps both. */
static bool may_read(struct symtab *t, struct elf_parts *parts, const GElf_Shdr *syms, const GElf_Shdr *strs)
{
	return elf_parts__add_table(parts, syms->sh_offset, syms->sh_size, strs->sh_offset, strs->sh_size) &&
	       holding__take(&t->holding, syms->sh_size) && holding__take(&t->holding, strs->sh_size);
}

static void add_section(struct symtab *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct elf_parts *parts)
{
	Elf_Scn *str_scn = elf_getscn(elf, shdr->sh_link);
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	GElf_Shdr str_shdr, target;
	Elf_Data *syms, *strs;
	const char *last;
	size_t n;

	if (!str_scn || !gelf_getshdr(str_scn, &str_shdr) || str_shdr.sh_type != SHT_STRTAB ||
	    (str_shdr.sh_flags & SHF_COMPRESSED) || !may_read(t, parts, shdr, &str_shdr))
		return;
	syms = elf_getdata(scn, NULL);
	strs = elf_getdata(str_scn, NULL);
	if (!syms || !syms->d_buf || !entry || !strs || !strs->d_buf || !strs->d_size)
		return;
	last = memrchr(strs->d_buf, '\0', strs->d_size);
	if (!last)
		return;

	n = MIN(syms->d_size / entry, (size_t)SYMBOLS_MAX);
	for (size_t i = 1; i < n; i++) {
		const char *name;
		unsigned int type;
		struct symbol *s;
		Elf_Scn *in;
		GElf_Sym sym;

		if (stint__is_over() || !gelf_getsym(syms, i, &sym))
			return;
		type = GELF_ST_TYPE(sym.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || sym.st_shndx == SHN_COMMON)
			continue;
		if (sym.st_name > (size_t)(last - (const char *)strs->d_buf))
			continue;
		name = (const char *)strs->d_buf + sym.st_name;
		if (!*name || is_mapping_symbol(name))
			continue;

		/* SHN_XINDEX and other reserved numbers: the section is not known. */
		in = sym.st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym.st_shndx) : NULL;
		if (in && gelf_getshdr(in, &target)) {
			if (!(target.sh_flags & SHF_EXECINSTR) || sym.st_value < target.sh_addr ||
			    sym.st_value - target.sh_addr >= target.sh_size)
				continue;
		} else {
			if (type == STT_NOTYPE || !sym.st_size)
				continue;
			target.sh_addr = target.sh_size = 0;
		}
		s = push(t);
		if (!s)
			return;
		s->start = sym.st_value;
		s->sized = sym.st_size != 0;
		if (!s->sized)
			s->end = target.sh_addr + target.sh_size;
		else if (__builtin_add_overflow(sym.st_value, sym.st_size, &s->end))
			s->end = UINT64_MAX;
		s->name = name;
		s->name_len = strnlen(name, COMPARE_MAX);
		s->function = type == STT_FUNC;
		s->rank = rank(name, type, GELF_ST_BIND(sym.st_info));
	}
}

void symtab__add_elf(struct symtab *t, Elf *elf)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct elf_section s = {};
	struct elf_parts parts = {};

	while (elffile__next_section(elf, &s))
		if ((s.shdr.sh_type == SHT_SYMTAB || s.shdr.sh_type == SHT_DYNSYM) && !(s.shdr.sh_flags & SHF_COMPRESSED))
			add_section(t, elf, s.scn, &s.shdr, &parts);
}

void symtab__add(struct symtab *t, const char *name, uint64_t value, uint64_t size)
{
	char *copy = *name && size ? strdup(name) : NULL;
	struct symbol *s;
	char **own;

	if (!copy)
		return;
	own = vec__grow((void **)&t->owned, &t->n_owned, &t->room_owned, sizeof(*own));
	if (!own) {
		free(copy);
		return;
	}
	*own = copy;
	s = push(t);
	if (!s)
		return;
	*s = (struct symbol){ .start = value, .name = copy, .name_len = strnlen(copy, COMPARE_MAX), .sized = true, .function = true, .rank = rank(name, STT_FUNC, STB_GLOBAL) };
	if (__builtin_add_overflow(value, size, &s->end))
		s->end = UINT64_MAX;
}

static int compare(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->sized != b->sized)
		return a->sized ? 1 : -1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? 1 : -1;
	if (a->name_len != b->name_len)
		return a->name_len < b->name_len ? 1 : -1;
	return memcmp(b->name, a->name, a->name_len);
}

void symtab__sort(struct symtab *t)
{
	uint64_t end = 0;

	if (!t->n)
		return;
	qsort(t->v, t->n, sizeof(*t->v), compare);
	free(t->max_end);
	t->max_end = calloc(t->n, sizeof(*t->max_end));
	for (size_t i = 0; t->max_end && i < t->n; i++) {
		if (t->v[i].sized)
			end = MAX(end, t->v[i].end);
		t->max_end[i] = end;
	}
}

const struct symbol *symtab__find(const struct symtab *t, uint64_t addr)
{
	const struct symbol *near;
	size_t n;

	if (!t->max_end)
		return NULL;
	n = sorted__count(s, t->v, t->n, s->start <= addr);
	if (!n)
		return NULL;
	near = &t->v[n - 1];
	for (size_t i = n, steps = 0; i > 0 && t->max_end[i - 1] > addr && steps < BACK_MAX; i--, steps++)
		if (t->v[i - 1].sized && t->v[i - 1].end > addr)
			return &t->v[i - 1];
	/* Only what begins last may reach further than it says, and only if it says nothing. */
	return !near->sized && near->end > addr ? near : NULL;
}

void symtab__done(struct symtab *t)
{
	for (size_t i = 0; i < t->n_owned; i++)
		free(t->owned[i]);
	free(t->owned);
	free(t->v);
	free(t->max_end);
	holding__give_back(&t->holding);
	*t = (struct symtab){ 0 };
}
