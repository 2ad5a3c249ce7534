// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reads an object's file with libelf: segments, build id, whether it is a program; symbols, where functions begin, relocations. Owns
 * nothing beyond a call. Every function that it passes on has a terminated name and an address in an executable segment.
 *
 * The file belongs to the target: it may be garbage, and may shrink while it is read (elffile.c). malloctrace itself computes addresses
 * and copies bytes here; whatever parses the file runs in the sandbox.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/elffile.h"

#define MAX_PHDRS 4096
#define MAX_NOTES_BYTES 65536
#define MAX_NOTES 64			/* sections or segments: a file has three */
#define MAX_TLS_BYTES (1ull << 30)
#define MAX_DYNAMIC_BYTES (4096 * sizeof(Elf64_Dyn))
#define MAX_SYMBOLS (16ull << 20)
#define MAX_HASHED (1u << 20)
#define MAX_FDES (4u << 20)
#define MAX_RELA_BYTES ((4ull << 20) * sizeof(Elf64_Rela))
#define MAX_NAME_BYTES 4096

int object__read_at(const struct object *obj, uint64_t file_off, void *buf, size_t len)
{
	return elffile__read_at(obj->fd, file_off, buf, len);
}

/* ---- the dynamic section */

/* NULL: there is none. */
static Elf_Data *dynamic_of(const struct object *obj, struct elffile *f)
{
	return elffile__chunk(f, obj->dynamic.file_off, MIN(obj->dynamic.file_size, MAX_DYNAMIC_BYTES), ELF_T_DYN);
}

/* 0: the tag is not there. The last one counts, as for the dynamic loader. */
static uint64_t dynamic_value(Elf_Data *dynamic, int64_t tag)
{
	uint64_t value = 0;
	GElf_Dyn d;

	for (int i = 0; gelf_getdyn(dynamic, i, &d) && d.d_tag != DT_NULL; i++)
		if (d.d_tag == tag)
			value = d.d_un.d_val;
	return value;
}

/* ---- headers */

/* The first note with a build id counts. */
static void read_build_id(struct object *obj, struct elffile *f, uint64_t file_off, uint64_t len)
{
	Elf_Data *notes = elffile__chunk(f, file_off, MIN(len, (uint64_t)MAX_NOTES_BYTES), ELF_T_NHDR);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr n;

	while (!obj->build_id && (at = gelf_getnote(notes, at, &n, &name_at, &desc_at)) > 0) {
		const char *name = (const char *)notes->d_buf + name_at;

		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != sizeof(ELF_NOTE_GNU) || memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) ||
		    !n.n_descsz || n.n_descsz > OBJECT_MAX_BUILD_ID_BYTES)
			continue;
		obj->build_id = build_id__hex((const char *)notes->d_buf + desc_at, n.n_descsz);
		obj->build_id_off = file_off + desc_at;
	}
}

static void add_segment(struct object *obj, const GElf_Phdr *ph)
{
	/* what wraps around can hold no code, and later sums would have to mind it */
	if (ph->p_vaddr > UINT64_MAX - ph->p_memsz || ph->p_vaddr > UINT64_MAX - ph->p_filesz ||
	    ph->p_offset > UINT64_MAX - ph->p_filesz)
		return;
	obj->segments = xreallocarray(obj->segments, obj->n_segments + 1, sizeof(*obj->segments));
	obj->segments[obj->n_segments++] = (struct object_segment){
		.vaddr = ph->p_vaddr,
		.file_off = ph->p_offset,
		.file_size = ph->p_filesz,
		.mem_size = ph->p_memsz,
		.exec = ph->p_flags & PF_X,
		.write = ph->p_flags & PF_W,
	};
}

/* The first of its kind. */
static void note_part(struct object_part *part, const GElf_Phdr *ph)
{
	if (!part->file_size && ph->p_offset <= INT64_MAX)
		*part = (struct object_part){ ph->p_vaddr, ph->p_offset, ph->p_filesz };
}

static void read_program_headers(struct object *obj, struct elffile *f, uint16_t type)
{
	size_t n_notes = 0, n = 0;
	bool has_interp = false;
	Elf_Data *dynamic;
	GElf_Phdr ph;

	elf_getphdrnum(f->elf, &n);
	for (size_t i = 0; i < MIN(n, MAX_PHDRS) && gelf_getphdr(f->elf, (int)i, &ph); i++) {
		if (ph.p_type == PT_LOAD)
			add_segment(obj, &ph);
		else if (ph.p_type == PT_NOTE && !obj->build_id && n_notes++ < MAX_NOTES)
			read_build_id(obj, f, ph.p_offset, ph.p_filesz);
		else if (ph.p_type == PT_INTERP)
			has_interp = true;
		else if (ph.p_type == PT_DYNAMIC)
			note_part(&obj->dynamic, &ph);
		else if (ph.p_type == PT_GNU_EH_FRAME)
			note_part(&obj->eh_frame_hdr, &ph);
		else if (ph.p_type == PT_TLS && ph.p_memsz <= MAX_TLS_BYTES && ph.p_align <= MAX_TLS_BYTES)
			obj->tls_bytes = ph.p_memsz + ph.p_align;
	}
	/* old linkers mark no PIE; then an interpreter marks a program, except in libraries that can be run, like libc */
	dynamic = dynamic_of(obj, f);
	obj->is_exec = type == ET_EXEC || (type == ET_DYN && (dynamic_value(dynamic, DT_FLAGS_1) & DF_1_PIE ||
							      (has_interp && !dynamic_value(dynamic, DT_SONAME))));
}

static void add_section(struct object *obj, const char *name)
{
	size_t n = strlen(name) + 1;

	if (n <= OBJECT_MAX_SECTION_BYTES - obj->sections.n)
		vec_append(&obj->sections, name, n);
}

/* One that there was no time for may be read later; all else that fails is a file with nothing in it. */
static int ask_for_headers(struct object *obj)
{
	struct file_answer got = { .headers = *obj };

	file__asks((struct apart){ .obj = obj, .for_probes = true }, (struct file_request){ .part = FILE_HEADERS }, &got, NULL);
	if (!got.err)
		*obj = got.headers;
	memset(&got.headers, 0, sizeof(got.headers));
	file_answer__done(&got);
	return got.err == -EINTR ? got.err : 0;
}

int object__read_headers(struct object *obj)
{
	elffile_cleanup struct elffile f = {};
	struct elf_section s = {};
	size_t n_notes = 0;
	GElf_Ehdr eh;

	if (readers__are_apart())
		return ask_for_headers(obj);
	if (elffile__open_fd(&f, obj->fd) || !gelf_getehdr(f.elf, &eh) || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	obj->machine = eh.e_machine;
	obj->is_elf = true;
	obj->is_64 = eh.e_ident[EI_CLASS] == ELFCLASS64;
	if (!obj->is_64)
		return 0;
	read_program_headers(obj, &f, eh.e_type);
	while (elffile__next_section(f.elf, &s)) {
		if (!obj->build_id && s.shdr.sh_type == SHT_NOTE && n_notes++ < MAX_NOTES)
			read_build_id(obj, &f, s.shdr.sh_offset, s.shdr.sh_size);
		add_section(obj, s.name);
	}
	return 0;
}

bool object__has_section(const struct object *obj, const char *name)
{
	size_t at = 0;

	while (at < obj->sections.n && strcmp(obj->sections.v + at, name))
		at += strlen(obj->sections.v + at) + 1;
	return at < obj->sections.n;
}

/* ---- addresses */

bool object__is_code(const struct object *obj, uint64_t vaddr)
{
	for (size_t i = 0; i < obj->n_segments; i++)
		if (obj->segments[i].exec && vaddr >= obj->segments[i].vaddr &&
		    vaddr - obj->segments[i].vaddr < obj->segments[i].mem_size)
			return true;
	return false;
}

/* The segment that holds a byte of the file; exec: of those that are executable. NULL: none. */
static const struct object_segment *segment_with(const struct object *obj, uint64_t file_off, bool exec)
{
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (s->exec >= exec && file_off >= s->file_off && file_off - s->file_off < s->file_size)
			return s;
	}
	return NULL;
}

bool object__is_code_at(const struct object *obj, uint64_t file_off)
{
	return segment_with(obj, file_off, true);
}

const struct object_segment *object__segment_at(const struct object *obj, uint64_t vaddr, bool exec)
{
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (s->exec >= exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size)
			return s;
	}
	return NULL;
}

/*
 * Segments share a file's page where one ends and the next begins, and those of a file made to deceive share addresses: what is
 * requested is nearly always code, and then it is the segment that object__read_code() reads.
 */
bool object__vaddr_to_offset(const struct object *obj, uint64_t vaddr, uint64_t *ret)
{
	const struct object_segment *s = object__segment_at(obj, vaddr, true) ?: object__segment_at(obj, vaddr, false);

	if (s)
		*ret = s->file_off + (vaddr - s->vaddr);
	return s;
}

bool object__offset_to_vaddr(const struct object *obj, uint64_t file_off, uint64_t *ret)
{
	const struct object_segment *s = segment_with(obj, file_off, true) ?: segment_with(obj, file_off, false);

	if (s)
		*ret = s->vaddr + (file_off - s->file_off);
	return s;
}

int object__read_code(const struct object *obj, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size &&
		    len <= s->file_size - (vaddr - s->vaddr))
			return object__read_at(obj, s->file_off + (vaddr - s->vaddr), buf, len);
	}
	return -EINVAL;
}

int object__read_constant(const struct object *obj, uint64_t vaddr, void *buf, size_t len)
{
	const struct object_segment *s = object__segment_at(obj, vaddr, false);

	if (!s || s->write || len > s->file_size - (vaddr - s->vaddr))
		return -EINVAL;
	return object__read_at(obj, s->file_off + (vaddr - s->vaddr), buf, len);
}

/* ---- symbols */

struct walk {
	const struct object *obj;
	int (*fn)(const struct object_symbol *s, void *arg);
	void *arg;
	char plain[MAX_NAME_BYTES + 1];	/* a name that is not handed on as the file has it */
};

/*
 * The version after '@' is cut off in a copy, as other names may share what is cut; and so is what is too long for a name, which
 * may be all of the file.
 */
static int pass_on(const GElf_Sym *sym, const char *name, void *arg)
{
	struct walk *w = arg;
	unsigned int type = GELF_ST_TYPE(sym->st_info);
	struct object_symbol s = {
		.name = name,
		.value = sym->st_value,
		.size = sym->st_size,
		.ifunc = type == STT_GNU_IFUNC,
		.local = GELF_ST_BIND(sym->st_info) == STB_LOCAL,
	};
	const char *at;
	size_t len;

	if ((type != STT_FUNC && !s.ifunc) || !object__is_code(w->obj, sym->st_value))
		return 0;
	len = strnlen(name, MAX_NAME_BYTES + 1);
	at = memchr(name + 1, '@', len - 1);
	if (at || len > MAX_NAME_BYTES) {
		len = MIN(at ? (size_t)(at - name) : MAX_NAME_BYTES, (size_t)MAX_NAME_BYTES);
		memcpy(w->plain, name, len);
		w->plain[len] = '\0';
		s.name = w->plain;
	}
	return w->fn(&s, w->arg);
}

/* What the dynamic loader itself goes by: len bytes at an address. */
static Elf_Data *chunk_at(const struct object *obj, struct elffile *f, uint64_t vaddr, uint64_t len, Elf_Type type)
{
	uint64_t off;

	return vaddr && object__vaddr_to_offset(obj, vaddr, &off) ? elffile__chunk(f, off, len, type) : NULL;
}

/* False: it lies outside of the file. */
static bool read_words(const struct object *obj, uint64_t vaddr, uint32_t *words, size_t n)
{
	uint64_t off;

	return object__vaddr_to_offset(obj, vaddr, &off) && !object__read_at(obj, off, words, n * sizeof(*words));
}

/* The hash table holds only the last symbols: one more than the highest that a chain reaches. */
static uint64_t count_by_gnu_hash(const struct object *obj, struct elffile *f, uint64_t hash)
{
	uint32_t head[3], highest = 0, word;	/* buckets, the first symbol, words of the filter */
	uint64_t buckets, chains;
	Elf_Data *data;

	if (!read_words(obj, hash, head, ARRAY_SIZE(head)) || head[0] > MAX_HASHED)
		return 0;
	buckets = hash + 16 + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	data = chunk_at(obj, f, buckets, 4ull * head[0], ELF_T_WORD);
	for (uint32_t i = 0; data && i < head[0]; i++)
		highest = MAX(highest, ((const uint32_t *)data->d_buf)[i]);
	if (highest < head[1])
		return head[1];
	for (uint32_t steps = 0; steps < MAX_HASHED && !stint__is_over(); steps++, highest++) {
		if (!read_words(obj, chains + 4ull * (highest - head[1]), &word, 1))
			return 0;
		if (word & 1)
			return (uint64_t)highest + 1;
	}
	return 0;
}

/* Those that the loader binds by; NULL: there are none. */
static Elf_Data *dynamic_symbols(const struct object *obj, struct elffile *f, Elf_Data *dynamic)
{
	uint64_t hash = dynamic_value(dynamic, DT_HASH), gnu_hash = dynamic_value(dynamic, DT_GNU_HASH), n = 0;
	uint32_t head[2];	/* buckets, chains: one for each symbol */

	if (hash && read_words(obj, hash, head, ARRAY_SIZE(head)))
		n = head[1];
	else if (gnu_hash)
		n = count_by_gnu_hash(obj, f, gnu_hash);
	return chunk_at(obj, f, dynamic_value(dynamic, DT_SYMTAB), MIN(n, MAX_SYMBOLS) * sizeof(Elf64_Sym), ELF_T_SYM);
}

static Elf_Data *dynamic_names(const struct object *obj, struct elffile *f, Elf_Data *dynamic)
{
	return chunk_at(obj, f, dynamic_value(dynamic, DT_STRTAB), dynamic_value(dynamic, DT_STRSZ), ELF_T_BYTE);
}

void object__each_dynamic_symbol(const struct object *obj, struct elffile *f, elf_symbol_fn *fn, void *arg)
{
	Elf_Data *dynamic = dynamic_of(obj, f);

	elf_symbols__each(dynamic_symbols(obj, f, dynamic), dynamic_names(obj, f, dynamic), fn, arg);
}

static void each_answered(const struct object *obj, const struct file_answer *got, int (*fn)(const struct object_symbol *s, void *arg), void *arg)
{
	bool stop = false;

	for (size_t i = 0; i < got->functions.n && !stop; i++) {
		const struct file_function *f = &got->functions.v[i];

		if (object__is_code(obj, f->value) && got->names.v[f->name])
			stop = fn(&(struct object_symbol){ got->names.v + f->name, f->value, f->size, f->ifunc, f->local }, arg);
	}
}

void object__for_each_function(const struct object *obj, int (*fn)(const struct object_symbol *s, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile f = {};
	file_answer_cleanup struct file_answer got = {};
	struct walk w = { .obj = obj, .fn = fn, .arg = arg };

	if (file__asks((struct apart){ .obj = obj }, (struct file_request){ .part = FILE_FUNCTIONS }, &got, NULL))
		each_answered(obj, &got, fn, arg);
	else if (obj->is_64 && !elffile__open_fd(&f, obj->fd) && !elffile__each_symbol(&f, pass_on, &w) && !elffile__has_type(f.elf, SHT_DYNSYM))
		object__each_dynamic_symbol(obj, &f, pass_on, &w);
}

/* ---- where functions begin */

struct starts vec(uint64_t);

static int add_start(const struct object_symbol *s, void *arg)
{
	struct starts *all = arg;

	*vec_push(all) = s->value;
	return 0;
}

COMPARATOR(by_value, uint64_t, ORDER(*a, *b))

/* Of the unwinder's search table only the form that linkers write is read: 32-bit pairs relative to the table. */
static void add_unwind_starts(const struct object *obj, struct starts *all)
{
	const struct {
		uint8_t version, ptr_enc, count_enc, table_enc;
		int32_t eh_frame;
		uint32_t n;
		int32_t pairs[][2];
	} *hdr;
	const struct object_part *part = &obj->eh_frame_hdr;
	elffile_cleanup struct elffile f = {};
	Elf_Data *data = NULL;

	if (!elffile__open_fd(&f, obj->fd))
		data = elffile__chunk(&f, part->file_off, MIN(part->file_size, sizeof(*hdr) + MAX_FDES * sizeof(hdr->pairs[0])), ELF_T_WORD);
	if (!data || data->d_size < sizeof(*hdr))
		return;
	hdr = data->d_buf;
	if (hdr->version != 1 || hdr->ptr_enc != 0x1b || hdr->count_enc != 0x03 || hdr->table_enc != 0x3b)
		return;
	for (size_t i = 0; i < MIN(hdr->n, (data->d_size - sizeof(*hdr)) / sizeof(hdr->pairs[0])); i++)
		*vec_push(all) = part->vaddr + (int64_t)hdr->pairs[i][0];
}

void object__function_starts(const struct object *obj, uint64_t **ret, size_t *ret_n)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	file_answer_cleanup struct file_answer got = {};
	struct starts all = { 0 };

	if (file__asks((struct apart){ .obj = obj }, (struct file_request){ .part = FILE_STARTS }, &got, NULL)) {
		*ret = got.starts.v;
		*ret_n = got.starts.n;
		got.starts.v = NULL;
		return;
	}
	object__for_each_function(obj, add_start, &all);
	add_unwind_starts(obj, &all);
	vec_sort(&all, by_value);
	*ret = all.v;
	*ret_n = all.n;
}

/* ---- relocations */

struct relas {			/* of the procedure linkage table, and of all else */
	Elf_Data *tables[2];
	size_t table;
	int next;
};

static struct relas relas_of(const struct object *obj, struct elffile *f, Elf_Data *dynamic)
{
	static const int64_t tags[2][2] = { { DT_JMPREL, DT_PLTRELSZ }, { DT_RELA, DT_RELASZ } };
	struct relas r = {};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		r.tables[i] = chunk_at(obj, f, dynamic_value(dynamic, tags[i][0]), MIN(dynamic_value(dynamic, tags[i][1]), MAX_RELA_BYTES), ELF_T_RELA);
	return r;
}

static bool next_rela(struct relas *r, GElf_Rela *ret)
{
	for (; r->table < ARRAY_SIZE(r->tables) && !stint__is_over(); r->table++, r->next = 0)
		if (gelf_getrela(r->tables[r->table], r->next, ret)) {
			r->next++;
			return true;
		}
	return false;
}

/* The symbol whose address the loader writes there, into a slot of the global offset table; 0: none. */
static uint32_t slot_symbol(const struct object *obj, const GElf_Rela *r)
{
	uint32_t type = GELF_R_TYPE(r->r_info);
	bool is_slot = obj->machine == EM_X86_64 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT :
						   type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;

	return is_slot && !r->r_addend ? GELF_R_SYM(r->r_info) : 0;
}

bool object__initial_address(const struct object *obj, uint64_t vaddr, uint64_t *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	uint32_t relative = obj->machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
	file_answer_cleanup struct file_answer got = {};
	elffile_cleanup struct elffile f = {};
	struct relas relas;
	uint64_t off, word;
	GElf_Rela r;

	if (file__asks((struct apart){ .obj = obj }, (struct file_request){ .part = FILE_ADDRESS, .vaddr = vaddr }, &got, NULL)) {
		*ret = got.has ? got.address : *ret;
		return got.has;
	}
	if (elffile__open_fd(&f, obj->fd))
		return false;
	relas = relas_of(obj, &f, dynamic_of(obj, &f));
	while (next_rela(&relas, &r))
		if (r.r_offset == vaddr && GELF_R_TYPE(r.r_info) == relative) {
			*ret = (uint64_t)r.r_addend;
			return true;
		}
	/* where it does not move, or all such words are listed apart (RELR), the word itself has it */
	if (!object__vaddr_to_offset(obj, vaddr, &off) || object__read_at(obj, off, &word, sizeof(word)))
		return false;
	*ret = word;
	return true;
}

bool object__has_slot_for(const struct object *obj, uint64_t vaddr)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile f = {};
	Elf_Data *dynamic, *symbols;
	struct relas relas;
	GElf_Sym sym;
	GElf_Rela r;

	if (elffile__open_fd(&f, obj->fd))
		return false;
	dynamic = dynamic_of(obj, &f);
	symbols = dynamic_symbols(obj, &f, dynamic);
	relas = relas_of(obj, &f, dynamic);
	while (next_rela(&relas, &r)) {
		uint32_t n = slot_symbol(obj, &r);

		if (n && gelf_getsym(symbols, (int)n, &sym) && sym.st_shndx != SHN_UNDEF && sym.st_value == vaddr)
			return true;
	}
	return false;
}

int object__slot_function(const struct object *obj, uint64_t slot_vaddr, uint64_t *ret_vaddr, char **ret_name)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	elffile_cleanup struct elffile f = {};
	Elf_Data *dynamic, *symbols, *names;
	struct relas relas;
	const char *name;
	uint32_t n = 0;
	GElf_Sym sym;
	GElf_Rela r;

	if (elffile__open_fd(&f, obj->fd))
		return -ENOENT;
	dynamic = dynamic_of(obj, &f);
	relas = relas_of(obj, &f, dynamic);
	while (!n && next_rela(&relas, &r))
		n = r.r_offset == slot_vaddr ? slot_symbol(obj, &r) : 0;
	symbols = dynamic_symbols(obj, &f, dynamic);
	names = dynamic_names(obj, &f, dynamic);
	if (!n || !names || !gelf_getsym(symbols, (int)n, &sym) || sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
	    !object__is_code(obj, sym.st_value) || sym.st_name >= names->d_size)
		return -ENOENT;
	name = (const char *)names->d_buf + sym.st_name;
	if (!memchr(name, '\0', names->d_size - sym.st_name))
		return -ENOENT;
	*ret_name = xstrdup(name);
	*ret_vaddr = sym.st_value;
	return 0;
}
