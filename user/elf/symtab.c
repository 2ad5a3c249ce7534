// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sorted functions and variables of one ELF file, and the choice among several names of one address. Of variables what
 * begins first has the bytes, of these the longest, of equals the one with the plainest name: those that are handed on do not
 * overlap, so that sums over them hold.
 */
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/debugfile.h"
#include "elf/symtab.h"
#include "util/sorted.h"

#define SYMBOLS_MAX (16u << 20)
#define COMPARE_MAX 256		/* bytes of names: a file may hold megabytes without a NUL */
#define BACK_MAX 256		/* steps over symbols nested in one another; assembly has a few */
#define VARIABLES_MAX (4u << 20)
#define NAME_MAX_BYTES 4096
#define NAMES_MAX_BYTES (256u << 20)

/* What it says now would be of other code. */
static bool is_readable(struct object *obj)
{
	return obj->is_elf && !object__has_names(obj) && !object__look_for_change(obj);
}

/* ---- functions by address */

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

	while (underscores < 3 && name[underscores] == '_')
		underscores++;
	if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	return underscores * RANK_UNDERSCORES | (type == STT_NOTYPE ? RANK_NOTYPE : 0) | (bind == STB_LOCAL ? RANK_LOCAL : 0) |
	       (bind == STB_WEAK ? RANK_WEAK : 0);
}

struct adding {
	struct symtab *to;
	Elf *elf;
	const struct object *obj;	/* whose segments say where code is; NULL: sections do */
};

static int add_symbol(const GElf_Sym *sym, const char *name, void *arg)
{
	const struct adding *a = arg;
	unsigned int type = GELF_ST_TYPE(sym->st_info);
	/* SHN_XINDEX and other reserved numbers: the section is not known */
	Elf_Scn *in = !a->obj && sym->st_shndx < SHN_LORESERVE ? elf_getscn(a->elf, sym->st_shndx) : NULL;
	/* $x, $d, $x.12: where code and data begin, not functions */
	bool is_mapping = name[0] == '$' && name[1] && (!name[2] || name[2] == '.');
	struct symtab *t = a->to;
	GElf_Shdr target = {};
	uint64_t end;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON ||
	    is_mapping)
		return 0;
	if (in && gelf_getshdr(in, &target)) {
		if (!(target.sh_flags & SHF_EXECINSTR) || sym->st_value < target.sh_addr || sym->st_value - target.sh_addr >= target.sh_size)
			return 0;
	} else if (type == STT_NOTYPE || !sym->st_size || (a->obj && !object__is_code(a->obj, sym->st_value))) {
		return 0;
	}
	if (t->all.n == SYMBOLS_MAX || !file_memory__take(&t->held_bytes, sizeof(*t->all.v) + sizeof(*t->max_end)))
		return -EFBIG;
	if (!sym->st_size)
		end = target.sh_addr + target.sh_size;
	else if (__builtin_add_overflow(sym->st_value, sym->st_size, &end))
		end = UINT64_MAX;
	*vec_push(&t->all) = (struct symbol){
		.start = sym->st_value,
		.end = end,
		.name = name,
		.name_len = strnlen(name, COMPARE_MAX),
		.rank = rank(name, type, GELF_ST_BIND(sym->st_info)),
		.sized = sym->st_size != 0,
		.function = type == STT_FUNC,
	};
	return 0;
}

void symtab__add(struct symtab *t, struct elffile *f, const struct object *by_segments)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct adding a = { t, f->elf, by_segments };

	elffile__each_symbol(f, add_symbol, &a);
	if (by_segments && !elffile__has_type(f->elf, SHT_DYNSYM))
		object__each_dynamic_symbol(by_segments, f, add_symbol, &a);
}

COMPARATOR(by_start_and_rank, struct symbol,
	   ORDER(a->start, b->start) ?: ORDER(a->sized, b->sized) ?: ORDER(b->rank, a->rank) ?: ORDER(b->name_len, a->name_len) ?:
	   memcmp(b->name, a->name, a->name_len))

void symtab__sort(struct symtab *t)
{
	uint64_t end = 0;

	if (!t->all.n)
		return;
	vec_sort(&t->all, by_start_and_rank);
	free(t->max_end);
	t->max_end = xcalloc(t->all.n, sizeof(*t->max_end));
	for (size_t i = 0; i < t->all.n; i++) {
		if (t->all.v[i].sized)
			end = MAX(end, t->all.v[i].end);
		t->max_end[i] = end;
	}
}

const struct symbol *symtab__find(const struct symtab *t, uint64_t addr)
{
	size_t n = t->max_end ? sorted__count(s, t->all.v, t->all.n, s->start <= addr) : 0;
	const struct symbol *near = n ? &t->all.v[n - 1] : NULL;

	for (size_t i = n, steps = 0; i > 0 && t->max_end[i - 1] > addr && steps < BACK_MAX; i--, steps++)
		if (t->all.v[i - 1].sized && t->all.v[i - 1].end > addr)
			return &t->all.v[i - 1];
	/* Only what begins last may reach further than it says, and only if it says nothing. */
	return near && !near->sized && near->end > addr ? near : NULL;
}

void symtab__done(struct symtab *t)
{
	vec_done(&t->all);
	free(t->max_end);
	file_memory__give_back(&t->held_bytes);
	*t = (struct symtab){ 0 };
}

/* ---- functions by name */

int defined__each(struct object *obj, const char *debug_dir, int (*fn)(const char *name, uint64_t vaddr, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile file = {}, debug = {};	/* debug: what has the symbols that file lacks */
	struct symtab t = {};
	int r = 0;

	if (!is_readable(obj) || elffile__open_fd(&file, obj->fd))
		return 0;
	symtab__add(&t, &file, NULL);
	if (!elffile__has_type(file.elf, SHT_SYMTAB) &&
	    (!debugfile__open(&debug, obj, file.elf, debug_dir) || !minidebug__open(&debug, file.elf)))
		symtab__add(&t, &debug, NULL);
	if (!t.all.n)
		symtab__add(&t, &file, obj);
	for (size_t i = 0; i < t.all.n && !r && !stint__is_over(); i++)
		if (t.all.v[i].function)
			r = fn(t.all.v[i].name, t.all.v[i].start, arg);
	symtab__done(&t);
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
		const Elf_Data *d;

		/* compressed in the old way, or names that are in other files (-gsplit-dwarf): nobody knows */
		if (!strncmp(s.name, ".zdebug_", strlen(".zdebug_")) || !strcmp(s.name, ".debug_addr"))
			return true;
		/* short names are in the entries themselves */
		if (strcmp(s.name, ".debug_str") && strcmp(s.name, ".debug_info"))
			continue;
		d = elf_section__bytes(&s);
		if (d && bytes_name(d->d_buf, d->d_size, ident))
			return true;
	}
	return false;
}

bool defined__may_be_inlined(struct object *obj, const char *debug_dir, const char *ident)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile file = {}, debug = {};
	file_answer_cleanup struct file_answer got = {};
	const struct elffile *with;

	if (!is_readable(obj))
		return false;
	if (file__asks((struct apart){ .obj = obj, .debug_dir = debug_dir }, (struct file_request){ .part = FILE_INLINED, .name = ident }, &got, NULL))
		return got.has;
	with = debugfile__with_dwarf(&file, &debug, obj, debug_dir);
	return with && (dwarf_names(with->dwarf, ident) || (with->alt && dwarf_names(with->alt->dwarf, ident)));
}

int defined__each_inlined(struct object *obj, const char *debug_dir,
			  int (*fn)(const char *name, uint64_t low, uint64_t high, bool first, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile file = {}, debug = {};
	const struct elffile *with = is_readable(obj) ? debugfile__with_dwarf(&file, &debug, obj, debug_dir) : NULL;
	struct dwarfinfo *d;
	struct pool names;
	int r;

	if (!with)
		return 0;
	d = dwarfinfo__new(with->dwarf, obj);
	pool__init(&names);
	r = dwarfinfo__each_inlined(d, &names, fn, arg);
	pool__done(&names);
	dwarfinfo__free(d);
	return r;
}

/* ---- variables by address */

static bool in_memory(const struct object *obj, uint64_t vaddr, uint64_t size)
{
	for (size_t i = 0; i < obj->n_segments; i++)
		if (vaddr >= obj->segments[i].vaddr && vaddr - obj->segments[i].vaddr < obj->segments[i].mem_size)
			return size <= obj->segments[i].mem_size - (vaddr - obj->segments[i].vaddr);
	return false;
}

struct adding_variables {
	struct variables *to;
	const struct object *obj;
};

/* .data, .bss and what is read only, of a known size. Thread-local ones are none. 1: no more are taken. */
static int add_variable(const GElf_Sym *sym, const char *name, void *arg)
{
	const struct adding_variables *a = arg;
	struct variables *all = a->to;
	const char *version;
	size_t len;

	if (GELF_ST_TYPE(sym->st_info) != STT_OBJECT || !sym->st_size || !in_memory(a->obj, sym->st_value, sym->st_size))
		return 0;
	len = strnlen(name, NAME_MAX_BYTES);
	version = memchr(name + 1, '@', len - 1);
	len = version ? (size_t)(version - name) : len;
	if (all->n >= VARIABLES_MAX || len + 1 > NAMES_MAX_BYTES - all->names.n)
		return 1;
	/* its segment holds it: no sum overflows */
	*vec_push(all) = (struct variable){ sym->st_value, sym->st_value + sym->st_size, all->names.n };
	vec_append(&all->names, name, len);
	vec_append(&all->names, "", 1);
	return 0;
}

/* glibc has environ, _environ and __environ. */
static size_t plainness(const char *name)
{
	return strncmp(name, "_Z", 2) ? strspn(name, "_") : 0;
}

static int by_start(const void *pa, const void *pb, void *arg)
{
	const struct variable *a = pa, *b = pb;
	const char *names = arg, *x = names + a->name, *y = names + b->name;
	int r = ORDER(a->start, b->start) ?: ORDER(b->end, a->end) ?: ORDER(plainness(x), plainness(y));

	/* __GI_x is x, as libc's own parts call it */
	return r ?: ORDER(strlen(x), strlen(y)) ?: strcmp(x, y);
}

static void settle(struct variables *all)
{
	uint64_t taken = 0;
	size_t n = 0;

	if (all->n)
		qsort_r(all->v, all->n, sizeof(*all->v), by_start, all->names.v);
	for (size_t i = 0; i < all->n; i++) {
		struct variable v = all->v[i];

		v.start = MAX(v.start, taken);
		if (v.start >= v.end)
			continue;
		taken = v.end;
		all->v[n++] = v;
	}
	all->n = n;
}

void variables__read(struct object *obj, const char *debug_dir, struct variables *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile file = {}, debug = {};
	file_answer_cleanup struct file_answer got = {};
	struct adding_variables a = { ret, obj };

	*ret = (struct variables){};
	if (!is_readable(obj))
		return;
	if (file__asks((struct apart){ .obj = obj, .debug_dir = debug_dir }, (struct file_request){ .part = FILE_VARIABLES }, &got, NULL)) {
		*ret = got.variables;
		got.variables = (struct variables){};
		return;
	}
	if (!obj->is_64 || elffile__open_fd(&file, obj->fd))
		return;
	elffile__each_symbol(&file, add_variable, &a);
	if (!elffile__has_type(file.elf, SHT_DYNSYM))
		object__each_dynamic_symbol(obj, &file, add_variable, &a);
	/* a debug file has the addresses of the file that it was made of */
	if (!elffile__has_type(file.elf, SHT_SYMTAB) && !debugfile__open(&debug, obj, file.elf, debug_dir))
		elffile__each_symbol(&debug, add_variable, &a);
	settle(ret);
}

void variables__done(struct variables *v)
{
	vec_done(v);
	vec_done(&v->names);
}

const struct variable *variables__find(const struct variables *v, uint64_t vaddr)
{
	return sorted__range_of(v->v, v->n, vaddr);
}

/* ---- the pool of strings: nothing is ever removed from it */

/* glibc's macros align by adding to a null pointer, which sanitizers object to. */
#define ALIGNS_FROM_NULL __attribute__((no_sanitize("pointer-overflow")))

void pool__init(struct pool *p)
{
	*p = (struct pool){ 0 };
	obstack_init(&p->arena);
}

void pool__done(struct pool *p)
{
	hash__done(&p->strings);
	obstack_free(&p->arena, NULL);
}

ALIGNS_FROM_NULL
void *pool__alloc(struct pool *p, size_t size)
{
	return obstack_alloc(&p->arena, size);
}

static bool is_string(const void *value, const void *want)
{
	return !strcmp(value, want);
}

ALIGNS_FROM_NULL
const char *pool__string(struct pool *p, const char *s)
{
	const char *have;
	uint64_t hash;

	if (!s)
		return NULL;
	hash = hash__string(s);
	have = hash__find(&p->strings, hash, is_string, s);
	if (have)
		return have;
	have = obstack_copy0(&p->arena, s, strlen(s));
	hash__add(&p->strings, hash, (void *)have);
	return have;
}
