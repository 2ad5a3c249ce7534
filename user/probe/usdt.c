// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reads .note.stapsdt. Owns nothing beyond a call. The file is hostile: what is
 * handed on has names that end, a place in code that is in the file, and a
 * counter in data that is in the file.
 *
 * A note holds link-time addresses. Prelinking moves code and does not know of
 * notes, so each also has the address that .stapsdt.base had, and is right by as much as
 * that section has moved.
 */
#include "probe/usdt.h"

#include <gelf.h>
#include <string.h>

#include "elf/elffile.h"
#include "util/clock.h"
#include "util/util.h"

#define NOTE_TYPE 3
#define NOTE_OWNER "stapsdt"
#define MAX_NOTES 65536
#define MAX_NOTES_BYTES (16u << 20)

struct search {
	const struct object *obj;
	int (*fn)(const struct usdt *u, void *arg);
	void *arg;
	uint64_t base;		/* where .stapsdt.base is; 0: nowhere */
	size_t n_notes;
};

static uint64_t word(const unsigned char *p)
{
	uint64_t v;

	/* the file is of this machine's architecture: so is its byte order */
	memcpy(&v, p, sizeof(v));
	return v;
}

static bool in_code(const struct object *obj, uint64_t vaddr)
{
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size)
			return true;
	}
	return false;
}

/* desc: three addresses, then provider, name and arguments as strings. */
static int read_note(struct search *s, const unsigned char *desc, size_t len)
{
	const char *provider = (const char *)desc + 24, *end = (const char *)desc + len, *name, *args;
	struct usdt u = {};
	uint64_t pc, semaphore, moved;

	if (len < 24 + 3)
		return 0;
	name = memchr(provider, '\0', (size_t)(end - provider));
	args = name && name + 1 < end ? memchr(name + 1, '\0', (size_t)(end - name - 1)) : NULL;
	if (!args || !*provider || !name[1])
		return 0;
	moved = s->base && word(desc + 8) ? s->base - word(desc + 8) : 0;
	pc = word(desc) + moved;
	semaphore = word(desc + 16);
	if (!in_code(s->obj, pc) || !object__vaddr_to_offset(s->obj, pc, &u.offset))
		return 0;
	/* a word in data that is not in the file cannot be reached by the kernel, and the probe would stay silent */
	if (semaphore && !object__vaddr_to_offset(s->obj, semaphore + moved, &u.counter))
		return 0;
	u.provider = provider;
	u.name = name + 1;
	return s->fn(&u, s->arg);
}

static int read_notes(struct search *s, Elf_Scn *scn, uint64_t size)
{
	Elf_Data *data = size <= MAX_NOTES_BYTES ? elf_getdata(scn, NULL) : NULL;
	size_t at = 0, next, name_at, desc_at;
	GElf_Nhdr note;
	int r = 0;

	while (!r && data && data->d_buf && s->n_notes < MAX_NOTES &&
	       (next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		const unsigned char *buf = data->d_buf;

		s->n_notes++;
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(buf + name_at, NOTE_OWNER, sizeof(NOTE_OWNER)))
			r = read_note(s, buf + desc_at, note.n_descsz);
		at = next;
	}
	return r;
}

int usdt__each(const struct object *obj, int (*fn)(const struct usdt *u, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct search s = { .obj = obj, .fn = fn, .arg = arg };
	struct elf_section section = {};
	struct elffile file = {};
	Elf_Scn *notes = NULL;
	uint64_t size = 0;
	int r = 0;

	if (!obj->is_elf || !obj->is_64 || elffile__open_fd(&file, obj->fd))
		return 0;
	while (elffile__next_section(file.elf, &section)) {
		if (!strcmp(section.name, ".stapsdt.base"))
			s.base = section.shdr.sh_addr;
		if (!strcmp(section.name, ".note.stapsdt") && section.shdr.sh_type == SHT_NOTE &&
		    !(section.shdr.sh_flags & SHF_COMPRESSED)) {
			notes = section.scn;
			size = section.shdr.sh_size;
		}
	}
	if (notes)
		r = read_notes(&s, notes, size);
	elffile__close(&file);
	return r;
}
