// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what an object's ELF headers say: its segments, its build id, whether it is
 * a program; and with that, which address lies where in the file.
 *
 * Files are read with pread into bounded buffers and parsed here, not by
 * libelf: the file belongs to the target, may be garbage and may shrink while
 * it is read, which with a mapped file would be a SIGBUS.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "util/util.h"

#define MAX_PHDRS 4096
#define MAX_NOTES_BYTES 65536
#define MAX_NOTES 64			/* sections or segments: a file has three */
#define MAX_DYNAMIC 4096
#define MAX_TLS_BYTES (1ull << 30)

int object__read_at(const struct object *obj, uint64_t file_off, void *buf, size_t len)
{
	return elffile__read_at(obj->fd, file_off, buf, len);
}

/* 1: there is one */
static int build_id_in(struct object *obj, uint64_t file_off, uint64_t len)
{
	_cleanup_free_ unsigned char *notes = NULL;
	size_t at = 0;

	len = MIN(len, (uint64_t)MAX_NOTES_BYTES);
	notes = malloc(len + 1);
	if (!notes)
		return -ENOMEM;
	if (object__read_at(obj, file_off, notes, len))
		return 0;
	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name_at, desc_at;
		size_t i;

		memcpy(&n, notes + at, sizeof(n));
		name_at = at + sizeof(n);
		desc_at = name_at + (((uint64_t)n.n_namesz + 3) & ~3ull);
		if (desc_at > len || n.n_descsz > len - desc_at)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(notes + name_at, "GNU", 4) &&
		    n.n_descsz && n.n_descsz <= OBJECT_MAX_BUILD_ID_BYTES) {
			obj->build_id = malloc(n.n_descsz * 2 + 1);
			if (!obj->build_id)
				return -ENOMEM;
			for (i = 0; i < n.n_descsz; i++)
				sprintf(obj->build_id + i * 2, "%02x", notes[desc_at + i]);
			obj->build_id_off = file_off + desc_at;
			return 1;
		}
		at = MIN(desc_at + (((uint64_t)n.n_descsz + 3) & ~3ull), len);
	}
	return 0;
}

static int build_id_in_sections(struct object *obj, const Elf64_Ehdr *eh)
{
	size_t i, n_notes = 0;
	int r = 0;

	if (eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shoff > INT64_MAX)
		return 0;
	for (i = 0; i < eh->e_shnum && !r && n_notes < MAX_NOTES; i++) {
		Elf64_Shdr sh;

		if (object__read_at(obj, eh->e_shoff + i * sizeof(sh), &sh, sizeof(sh)))
			return 0;
		if (sh.sh_type != SHT_NOTE)
			continue;
		n_notes++;
		r = build_id_in(obj, sh.sh_offset, sh.sh_size);
	}
	return r;
}

/*
 * Old linkers mark no PIE; then an interpreter marks a program, except in libraries that can be
 * run, like libc.
 */
static bool is_program(const struct object *obj, bool has_interp)
{
	bool has_soname = false, pie = false;
	uint64_t i, n = MIN(obj->dynamic.file_size / sizeof(Elf64_Dyn), (uint64_t)MAX_DYNAMIC);

	for (i = 0; i < n; i++) {
		Elf64_Dyn d;

		if (object__read_at(obj, obj->dynamic.file_off + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SONAME)
			has_soname = true;
		if (d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_PIE)
			pie = true;
	}
	return pie || (has_interp && !has_soname);
}

static int add_segment(struct object *obj, const Elf64_Phdr *ph)
{
	struct object_segment *s;

	/* what wraps around can hold no code, and later sums would have to mind it */
	if (ph->p_vaddr > UINT64_MAX - ph->p_memsz || ph->p_vaddr > UINT64_MAX - ph->p_filesz ||
	    ph->p_offset > UINT64_MAX - ph->p_filesz)
		return 0;
	s = reallocarray(obj->segments, obj->n_segments + 1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	obj->segments = s;
	s[obj->n_segments++] = (struct object_segment){
		.vaddr = ph->p_vaddr,
		.file_off = ph->p_offset,
		.file_size = ph->p_filesz,
		.mem_size = ph->p_memsz,
		.exec = ph->p_flags & PF_X,
		.write = ph->p_flags & PF_W,
	};
	return 0;
}

/* The first of its kind. */
static void note_part(struct object_part *part, const Elf64_Phdr *ph)
{
	if (!part->file_size && ph->p_offset <= INT64_MAX)
		*part = (struct object_part){ ph->p_vaddr, ph->p_offset, ph->p_filesz };
}

static int read_program_headers(struct object *obj, const Elf64_Ehdr *eh)
{
	size_t i, n_notes = 0, n = MIN(eh->e_phnum, MAX_PHDRS);
	_cleanup_free_ Elf64_Phdr *ph = calloc(n + 1, sizeof(*ph));
	bool has_interp = false;
	int r;

	if (!ph)
		return -ENOMEM;
	if (eh->e_phentsize != sizeof(*ph) || object__read_at(obj, eh->e_phoff, ph, n * sizeof(*ph)))
		n = 0;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD) {
			r = add_segment(obj, &ph[i]);
			if (r)
				return r;
		} else if (ph[i].p_type == PT_NOTE && !obj->build_id && n_notes++ < MAX_NOTES) {
			r = build_id_in(obj, ph[i].p_offset, ph[i].p_filesz);
			if (r < 0)
				return r;
		} else if (ph[i].p_type == PT_INTERP) {
			has_interp = true;
		} else if (ph[i].p_type == PT_DYNAMIC) {
			note_part(&obj->dynamic, &ph[i]);
		} else if (ph[i].p_type == PT_GNU_EH_FRAME) {
			note_part(&obj->eh_frame_hdr, &ph[i]);
		} else if (ph[i].p_type == PT_TLS && ph[i].p_memsz <= MAX_TLS_BYTES && ph[i].p_align <= MAX_TLS_BYTES) {
			obj->tls_bytes = ph[i].p_memsz + ph[i].p_align;
		}
	}
	obj->entry = eh->e_entry;
	obj->is_exec = eh->e_type == ET_EXEC || (eh->e_type == ET_DYN && is_program(obj, has_interp));
	return 0;
}

int object__read_headers(struct object *obj)
{
	Elf64_Ehdr eh;
	int r;

	if (readers__are_apart())
		return object_apart__read_headers(obj);
	if (object__read_at(obj, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	/* e_machine stands at the same place in both classes */
	obj->machine = eh.e_machine;
	if (eh.e_ident[EI_CLASS] == ELFCLASS32) {
		obj->is_elf = true;
		return 0;
	}
	if (eh.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	obj->is_elf = obj->is_64 = true;
	r = read_program_headers(obj, &eh);
	if (!r && !obj->build_id)
		r = build_id_in_sections(obj, &eh);
	return MIN(r, 0);
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

bool object__is_code_at(const struct object *obj, uint64_t file_off)
{
	for (size_t i = 0; i < obj->n_segments; i++)
		if (obj->segments[i].exec && file_off >= obj->segments[i].file_off &&
		    file_off - obj->segments[i].file_off < obj->segments[i].file_size)
			return true;
	return false;
}

/*
 * Segments share a file's page where one ends and the next begins, and those of a file made to deceive share addresses: what is
 * requested is nearly always code, and then it is the segment that object__read_code() reads.
 */
bool object__vaddr_to_offset(const struct object *obj, uint64_t vaddr, uint64_t *ret)
{
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < obj->n_segments; i++) {
			const struct object_segment *s = &obj->segments[i];

			if (s->exec == want_exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size) {
				*ret = s->file_off + (vaddr - s->vaddr);
				return true;
			}
		}
	}
	return false;
}

bool object__offset_to_vaddr(const struct object *obj, uint64_t file_off, uint64_t *ret)
{
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < obj->n_segments; i++) {
			const struct object_segment *s = &obj->segments[i];

			if (s->exec == want_exec && file_off >= s->file_off && file_off - s->file_off < s->file_size) {
				*ret = s->vaddr + (file_off - s->file_off);
				return true;
			}
		}
	}
	return false;
}

int object__read_code(const struct object *obj, uint64_t vaddr, void *buf, size_t len)
{
	size_t i;

	for (i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size &&
		    len <= s->file_size - (vaddr - s->vaddr))
			return object__read_at(obj, s->file_off + (vaddr - s->vaddr), buf, len);
	}
	return -EINVAL;
}
