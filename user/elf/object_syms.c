// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call: reads the symbol tables of an object, section by
 * section, through buffers bounded by what the file really holds. What is
 * handed on is always a function, or a variable, with a name that ends inside its string
 * table and an address inside an executable segment, or inside any.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "elf/apart.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "util/stint.h"
#include "util/util.h"

#define MAX_SECTIONS 65536
#define MAX_STRINGS_BYTES (512ull << 20)
#define MAX_SYMBOLS (16ull << 20)
#define MAX_HASHED (1u << 20)
#define MAX_DYNAMIC 4096
#define MAX_FDES (4u << 20)
#define MAX_NAME_BYTES 4096
#define CHUNK 1024

struct walk {
	const struct object *obj;
	bool variables;		/* else functions */
	int (*fn)(const struct object_symbol *s, void *arg);
	void *arg;
	uint64_t file_size;
	struct elf_parts parts;
	char plain[MAX_NAME_BYTES + 1];	/* a name that is not handed on as the file has it */
};

static bool in_memory(const struct object *obj, uint64_t vaddr, uint64_t size)
{
	for (size_t i = 0; i < obj->n_segments; i++)
		if (vaddr >= obj->segments[i].vaddr && vaddr - obj->segments[i].vaddr < obj->segments[i].mem_size)
			return size <= obj->segments[i].mem_size - (vaddr - obj->segments[i].vaddr);
	return false;
}

static bool is_wanted(const struct walk *w, const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	if (w->variables)
		return type == STT_OBJECT && sym->st_size && in_memory(w->obj, sym->st_value, sym->st_size);
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && object__is_code(w->obj, sym->st_value);
}

/*
 * strings ends in a NUL of our own. The version after '@' is cut off in a copy, as other names may share what is cut; and
 * so is what is too long for a name, which may be all of the file.
 */
static int pass_on(struct walk *w, const Elf64_Sym *sym, const char *strings, uint64_t strings_len)
{
	struct object_symbol s;
	const char *at;
	size_t len;

	if (sym->st_shndx == SHN_UNDEF || sym->st_name >= strings_len || !strings[sym->st_name] || !is_wanted(w, sym))
		return 0;
	s = (struct object_symbol){
		.name = strings + sym->st_name,
		.value = sym->st_value,
		.size = sym->st_size,
		.ifunc = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		.local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL,
	};
	len = strnlen(s.name, MAX_NAME_BYTES + 1);
	at = memchr(s.name + 1, '@', len - 1);
	if (at || len > MAX_NAME_BYTES) {
		len = at ? (size_t)(at - s.name) : MAX_NAME_BYTES;
		memcpy(w->plain, s.name, MIN(len, (size_t)MAX_NAME_BYTES));
		w->plain[MIN(len, (size_t)MAX_NAME_BYTES)] = '\0';
		s.name = w->plain;
	}
	return w->fn(&s, w->arg);
}

/* Fewer bytes than requested, where the file ends. */
static void clip(const struct walk *w, uint64_t file_off, uint64_t *len)
{
	*len = file_off >= w->file_size ? 0 : MIN(*len, w->file_size - file_off);
}

static int walk_table(struct walk *w, uint64_t syms_off, uint64_t n, uint64_t strings_off, uint64_t strings_len)
{
	_cleanup_free_ char *strings = NULL;
	Elf64_Sym chunk[CHUNK];
	uint64_t syms_len, i, j;

	n = MIN(n, MAX_SYMBOLS);
	syms_len = n * sizeof(Elf64_Sym);
	clip(w, syms_off, &syms_len);
	clip(w, strings_off, &strings_len);
	n = syms_len / sizeof(Elf64_Sym);
	strings_len = MIN(strings_len, MAX_STRINGS_BYTES);
	if (!n || !strings_len || !elf_parts__add_table(&w->parts, syms_off, syms_len, strings_off, strings_len))
		return 0;
	strings = malloc(strings_len + 1);
	if (!strings)
		return -ENOMEM;
	if (object__read_at(w->obj, strings_off, strings, strings_len))
		return 0;
	strings[strings_len] = 0;
	for (i = 0; i < n; i += CHUNK) {
		uint64_t here = MIN(n - i, (uint64_t)CHUNK);

		if (object__read_at(w->obj, syms_off + i * sizeof(Elf64_Sym), chunk, here * sizeof(Elf64_Sym)))
			return 0;
		for (j = 0; j < here; j++) {
			int r = stint__is_over() ? 1 : pass_on(w, &chunk[j], strings, strings_len);

			if (r)
				return r;
		}
	}
	return 0;
}

static int walk_sections(struct walk *w, const Elf64_Ehdr *eh, bool *ret_has_dynsym)
{
	_cleanup_free_ Elf64_Shdr *sh = NULL;
	uint64_t n = eh->e_shnum, i;
	Elf64_Shdr first;

	if (!eh->e_shoff || eh->e_shentsize != sizeof(first) ||
	    object__read_at(w->obj, eh->e_shoff, &first, sizeof(first)))
		return 0;
	/* more sections than fit the header are counted in the first one */
	if (!n)
		n = first.sh_size;
	n = MIN(n, (uint64_t)MAX_SECTIONS);
	n = MIN(n, (w->file_size - MIN(w->file_size, eh->e_shoff)) / sizeof(first));
	sh = calloc(n + 1, sizeof(*sh));
	if (!sh)
		return -ENOMEM;
	if (object__read_at(w->obj, eh->e_shoff, sh, n * sizeof(*sh)))
		return 0;
	for (i = 0; i < n; i++) {
		const Elf64_Shdr *str;
		int r;

		if ((sh[i].sh_type != SHT_DYNSYM && sh[i].sh_type != SHT_SYMTAB) || sh[i].sh_link >= n)
			continue;
		str = &sh[sh[i].sh_link];
		if (str->sh_type != SHT_STRTAB || sh[i].sh_entsize != sizeof(Elf64_Sym))
			continue;
		if (sh[i].sh_type == SHT_DYNSYM)
			*ret_has_dynsym = true;
		r = walk_table(w, sh[i].sh_offset, sh[i].sh_size / sizeof(Elf64_Sym), str->sh_offset, str->sh_size);
		if (r)
			return r;
	}
	return 0;
}

/* ---- without section headers: what the dynamic loader itself goes by */

static bool read_u32(const struct walk *w, uint64_t vaddr, uint32_t *ret)
{
	uint64_t off;

	return object__vaddr_to_offset(w->obj, vaddr, &off) && !object__read_at(w->obj, off, ret, sizeof(*ret));
}

/* The hash table holds only the last symbols: one more than the highest that a chain reaches. */
static uint64_t count_by_gnu_hash(const struct walk *w, uint64_t hash)
{
	uint32_t n_buckets, first, n_bloom, i, bucket, highest = 0, word;
	uint64_t buckets, chains, steps;

	if (!read_u32(w, hash, &n_buckets) || !read_u32(w, hash + 4, &first) || !read_u32(w, hash + 8, &n_bloom) ||
	    n_buckets > MAX_HASHED)
		return 0;
	buckets = hash + 16 + 8ull * n_bloom;
	chains = buckets + 4ull * n_buckets;
	for (i = 0; i < n_buckets; i++) {
		if (stint__is_over() || !read_u32(w, buckets + 4ull * i, &bucket))
			return 0;
		highest = MAX(highest, bucket);
	}
	if (highest < first)
		return first;
	for (steps = 0; steps < MAX_HASHED; steps++, highest++) {
		if (stint__is_over() || !read_u32(w, chains + 4ull * (highest - first), &word))
			return 0;
		if (word & 1)
			return (uint64_t)highest + 1;
	}
	return 0;
}

struct dynamic {		/* addresses and sizes, 0 if not there */
	uint64_t syms, strings, strings_len, hash, gnu_hash;
	uint64_t rela, rela_len, plt_rela, plt_rela_len;
};

/* All zero if there is none. */
static void read_dynamic(const struct object *obj, struct dynamic *dyn)
{
	const struct {
		int64_t tag;
		uint64_t *to;
	} wanted[] = {
		{ DT_SYMTAB, &dyn->syms },	{ DT_STRTAB, &dyn->strings },
		{ DT_STRSZ, &dyn->strings_len },	{ DT_HASH, &dyn->hash },
		{ DT_GNU_HASH, &dyn->gnu_hash },	{ DT_RELA, &dyn->rela },
		{ DT_RELASZ, &dyn->rela_len },	{ DT_JMPREL, &dyn->plt_rela },
		{ DT_PLTRELSZ, &dyn->plt_rela_len },
	};
	uint64_t i, n = MIN(obj->dynamic.file_size / sizeof(Elf64_Dyn), (uint64_t)MAX_DYNAMIC);
	size_t j;

	*dyn = (struct dynamic){ 0 };
	for (i = 0; i < n; i++) {
		Elf64_Dyn d;

		if (object__read_at(obj, obj->dynamic.file_off + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		for (j = 0; j < ARRAY_SIZE(wanted); j++)
			if (d.d_tag == wanted[j].tag)
				*wanted[j].to = d.d_un.d_val;
	}
}

static int walk_dynamic(struct walk *w)
{
	uint64_t syms_off, strings_off, n = 0;
	struct dynamic dyn;
	uint32_t n_chains;

	read_dynamic(w->obj, &dyn);
	if (!dyn.syms || !dyn.strings ||
	    !object__vaddr_to_offset(w->obj, dyn.syms, &syms_off) ||
	    !object__vaddr_to_offset(w->obj, dyn.strings, &strings_off))
		return 0;
	if (dyn.hash && read_u32(w, dyn.hash + 4, &n_chains))
		n = n_chains;
	else if (dyn.gnu_hash)
		n = count_by_gnu_hash(w, dyn.gnu_hash);
	return walk_table(w, syms_off, n, strings_off, dyn.strings_len);
}

static int for_each(struct walk w, struct err *e)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	const struct object *obj = w.obj;
	bool has_dynsym = false;
	struct stat st;
	Elf64_Ehdr eh;
	int r;

	if (!obj->is_elf || !obj->is_64)
		return 0;
	if (fstat(obj->fd, &st) < 0)
		return err_set(e, -errno, "%s: %s", obj->path, strerror(errno));
	w.file_size = st.st_size;
	if (object__read_at(obj, 0, &eh, sizeof(eh)))
		return err_set(e, -EINVAL, "%s has become shorter than an ELF header", obj->path);
	r = walk_sections(&w, &eh, &has_dynsym);
	if (!r && !has_dynsym)
		r = walk_dynamic(&w);
	if (r == -ENOMEM)
		return err_set(e, r, "no memory for the symbols of %s", obj->path);
	return MIN(r, 0);
}

int object__for_each_function(const struct object *obj, int (*fn)(const struct object_symbol *s, void *arg), void *arg,
			      struct err *e)
{
	if (readers__are_apart())
		return object_apart__each_function(obj, fn, arg);
	return for_each((struct walk){ .obj = obj, .fn = fn, .arg = arg }, e);
}

int object__for_each_variable(const struct object *obj, int (*fn)(const struct object_symbol *s, void *arg), void *arg,
			      struct err *e)
{
	return for_each((struct walk){ .obj = obj, .variables = true, .fn = fn, .arg = arg }, e);
}

/* ---- where functions begin */

struct starts vec(uint64_t);

static int add_start(const struct object_symbol *s, void *arg)
{
	struct starts *all = arg;
	uint64_t *slot;

	slot = vec_push(all);
	if (!slot)
		return -ENOMEM;
	*slot = s->value;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of the unwinder's search table only the form that linkers write is read: 32-bit pairs relative to the table. */
static int add_unwind_starts(const struct object *obj, struct starts *all)
{
	struct {
		uint8_t version, ptr_enc, count_enc, table_enc;
		int32_t eh_frame;
		uint32_t n;
	} hdr;
	const struct object_part *part = &obj->eh_frame_hdr;
	int32_t pairs[512][2];
	uint32_t i, j;

	if (!part->file_size || object__read_at(obj, part->file_off, &hdr, sizeof(hdr)) || hdr.version != 1 ||
	    hdr.ptr_enc != 0x1b || hdr.count_enc != 0x03 || hdr.table_enc != 0x3b)
		return 0;
	hdr.n = MIN(hdr.n, MAX_FDES);
	for (i = 0; i < hdr.n; i += ARRAY_SIZE(pairs)) {
		uint32_t here = MIN(hdr.n - i, (uint32_t)ARRAY_SIZE(pairs));

		if (object__read_at(obj, part->file_off + sizeof(hdr) + i * sizeof(pairs[0]), pairs,
				    here * sizeof(pairs[0])))
			return 0;
		if (stint__is_over())
			return 0;
		for (j = 0; j < here; j++) {
			uint64_t *slot = vec_push(all);

			if (!slot)
				return -ENOMEM;
			*slot = part->vaddr + (int64_t)pairs[j][0];
		}
	}
	return 0;
}

int object__function_starts(const struct object *obj, uint64_t **ret, size_t *ret_n)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct starts all = { 0 };
	int r;

	if (readers__are_apart())
		return object_apart__function_starts(obj, ret, ret_n);
	r = object__for_each_function(obj, add_start, &all, NULL);
	if (!r)
		r = add_unwind_starts(obj, &all);
	if (r) {
		vec_done(&all);
		return r;
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_value);
	*ret = all.v;
	*ret_n = all.n;
	return 0;
}

/* ---- slots of the global offset table */

#define MAX_RELAS (4ull << 20)

/* Calls fn with each relocation, until it says true. */
static bool each_rela(const struct object *obj, uint64_t table, uint64_t len, bool (*fn)(const Elf64_Rela *r, void *arg), void *arg)
{
	uint64_t off, i, j, n = MIN(len / sizeof(Elf64_Rela), MAX_RELAS);
	Elf64_Rela chunk[256];

	if (!table || !object__vaddr_to_offset(obj, table, &off))
		return false;
	for (i = 0; i < n; i += ARRAY_SIZE(chunk)) {
		uint64_t here = MIN(n - i, (uint64_t)ARRAY_SIZE(chunk));

		if (object__read_at(obj, off + i * sizeof(chunk[0]), chunk, here * sizeof(chunk[0])))
			return false;
		for (j = 0; j < here; j++) {
			if (stint__is_over())
				return false;
			if (fn(&chunk[j], arg))
				return true;
		}
	}
	return false;
}

struct slot_calls {
	uint16_t machine;
	bool (*fn)(uint64_t slot, uint32_t symbol, void *arg);
	void *arg;
};

static bool call_for_slot(const Elf64_Rela *r, void *arg)
{
	const struct slot_calls *c = arg;
	uint32_t type = ELF64_R_TYPE(r->r_info);

	return !r->r_addend &&
	       (c->machine == EM_X86_64 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT :
					  type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT) &&
	       c->fn(r->r_offset, ELF64_R_SYM(r->r_info), c->arg);
}

/* Calls fn with each slot that is filled by a symbol, until it says true. */
static bool each_slot(const struct object *obj, uint64_t table, uint64_t len,
		      bool (*fn)(uint64_t slot, uint32_t symbol, void *arg), void *arg)
{
	struct slot_calls calls = { obj->machine, fn, arg };

	return each_rela(obj, table, len, call_for_slot, &calls);
}

struct word_search {
	uint16_t machine;
	uint64_t at, word;
};

static bool is_relative_word(const Elf64_Rela *r, void *arg)
{
	struct word_search *s = arg;

	s->word = r->r_addend;
	return r->r_offset == s->at && ELF64_R_TYPE(r->r_info) == (s->machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE);
}

bool object__initial_address(const struct object *obj, uint64_t vaddr, uint64_t *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct word_search s = { obj->machine, vaddr, 0 };
	struct dynamic dyn;
	uint64_t off;

	read_dynamic(obj, &dyn);
	/* where it does not move, or all such words are listed apart (RELR), the word itself has it */
	if (!each_rela(obj, dyn.rela, dyn.rela_len, is_relative_word, &s) &&
	    (!object__vaddr_to_offset(obj, vaddr, &off) || object__read_at(obj, off, &s.word, sizeof(s.word))))
		return false;
	*ret = s.word;
	return true;
}

struct slot_search {
	uint64_t slot;
	uint32_t symbol;
};

static bool is_slot(uint64_t slot, uint32_t symbol, void *arg)
{
	struct slot_search *s = arg;

	s->symbol = symbol;
	return slot == s->slot;
}

/* The symbol that fills a slot, 0 if none */
static uint32_t slot_symbol(const struct object *obj, uint64_t table, uint64_t len, uint64_t slot)
{
	struct slot_search s = { .slot = slot };

	return each_slot(obj, table, len, is_slot, &s) ? s.symbol : 0;
}

#define SYMS_AT_ONCE 128

struct function_search {
	const struct object *obj;
	uint64_t syms_off, vaddr;
	uint32_t first, n;	/* those that were read last: slots that are neighbours have symbols that are */
	Elf64_Sym syms[SYMS_AT_ONCE];
};

/* NULL: it lies outside of the file. */
static const Elf64_Sym *symbol_at(struct function_search *f, uint32_t symbol)
{
	if (symbol >= f->first && symbol - f->first < f->n)
		return &f->syms[symbol - f->first];
	f->first = symbol - symbol % SYMS_AT_ONCE;
	f->n = SYMS_AT_ONCE;
	if (!object__read_at(f->obj, f->syms_off + f->first * sizeof(f->syms[0]), f->syms, sizeof(f->syms)))
		return &f->syms[symbol - f->first];
	/* the file may end soon after it */
	f->first = symbol;
	f->n = !object__read_at(f->obj, f->syms_off + symbol * sizeof(f->syms[0]), f->syms, sizeof(f->syms[0]));
	return f->n ? f->syms : NULL;
}

static bool is_function(uint64_t slot, uint32_t symbol, void *arg)
{
	struct function_search *f = arg;
	const Elf64_Sym *sym = symbol_at(f, symbol);

	return sym && sym->st_shndx != SHN_UNDEF && sym->st_value == f->vaddr;
}

bool object__has_slot_for(const struct object *obj, uint64_t vaddr)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct function_search f = { .obj = obj, .vaddr = vaddr };
	struct dynamic dyn;

	read_dynamic(obj, &dyn);
	if (!dyn.syms || !object__vaddr_to_offset(obj, dyn.syms, &f.syms_off))
		return false;
	return each_slot(obj, dyn.plt_rela, dyn.plt_rela_len, is_function, &f) ||
	       each_slot(obj, dyn.rela, dyn.rela_len, is_function, &f);
}

int object__slot_function(const struct object *obj, uint64_t slot_vaddr, uint64_t *ret_vaddr, char **ret_name)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	uint64_t syms_off, strings_off, len;
	struct dynamic dyn;
	char name[256];
	Elf64_Sym sym;
	uint32_t n;

	read_dynamic(obj, &dyn);
	if (!dyn.syms || !object__vaddr_to_offset(obj, dyn.syms, &syms_off) ||
	    !object__vaddr_to_offset(obj, dyn.strings, &strings_off))
		return -ENOENT;
	n = slot_symbol(obj, dyn.plt_rela, dyn.plt_rela_len, slot_vaddr);
	if (!n)
		n = slot_symbol(obj, dyn.rela, dyn.rela_len, slot_vaddr);
	if (!n || object__read_at(obj, syms_off + n * sizeof(sym), &sym, sizeof(sym)) || sym.st_shndx == SHN_UNDEF ||
	    ELF64_ST_TYPE(sym.st_info) != STT_FUNC || !object__is_code(obj, sym.st_value) || sym.st_name >= dyn.strings_len)
		return -ENOENT;
	len = MIN(dyn.strings_len - sym.st_name, sizeof(name));
	if (object__read_at(obj, strings_off + sym.st_name, name, len) || !memchr(name, 0, len))
		return -ENOENT;
	*ret_name = strdup(name);
	if (!*ret_name)
		return -ENOMEM;
	*ret_vaddr = sym.st_value;
	return 0;
}
