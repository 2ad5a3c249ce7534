// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Notes of a file that another process maps: what is handed on lies in the file. The first byte says what the rest is:
 *
 *   0   a .note.stapsdt, in a file made around it
 *   1   a whole file
 */
#include <elf.h>

#include "elf/object.h"
#include "fuzz.h"
#include "probe/spots.h"

#define CODE_AT 0x1000

static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

struct made {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[4];
	char names[sizeof(names)];
};

static uint8_t *wrap(const uint8_t *notes, size_t len, size_t *ret_len)
{
	struct made *m = calloc(1, CODE_AT + 64 + len);

	if (!m)
		abort();
	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_ident[EI_VERSION] = m->eh.e_version = EV_CURRENT;
	m->eh.e_type = ET_DYN;
	m->eh.e_machine = EM_AARCH64;
	m->eh.e_phoff = offsetof(struct made, ph);
	m->eh.e_phentsize = sizeof(m->ph);
	m->eh.e_phnum = 1;
	m->eh.e_shoff = offsetof(struct made, sh);
	m->eh.e_shentsize = sizeof(m->sh[0]);
	m->eh.e_shnum = ARRAY_SIZE(m->sh);
	m->eh.e_shstrndx = 3;
	m->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE_AT, .p_vaddr = CODE_AT, .p_filesz = 64, .p_memsz = 64 };
	m->sh[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = CODE_AT + 64, .sh_size = len, .sh_addralign = 4 };
	m->sh[2] = (Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = CODE_AT, .sh_offset = CODE_AT, .sh_size = 1 };
	m->sh[3] = (Elf64_Shdr){ .sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct made, names), .sh_size = sizeof(names) };
	memcpy(m->names, names, sizeof(names));
	memcpy((char *)m + CODE_AT + 64, notes, len);
	*ret_len = CODE_AT + 64 + len;
	return (uint8_t *)m;
}

static int check(const struct usdt *u, void *arg)
{
	uint64_t vaddr;

	if (!*u->provider || !*u->name || !object__offset_to_vaddr(arg, u->offset, &vaddr))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_free_ uint8_t *made = NULL;
	struct objects *objects;
	struct object *obj;

	if (len < 2)
		return 0;
	len--;
	if (*data++ & 1)
		made = NULL;
	else
		data = made = wrap(data, len, &len);
	objects = objects__new();
	if (!objects__get_image(objects, "/seed", data, len, &obj, NULL)) {
		usdt__each(obj, check, obj);
		object__put(obj);
	}
	objects__free(objects);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct {
		Elf64_Nhdr h;
		char owner[8];
		uint64_t at[3];
		char strings[16];
	} note = { { 8, 24 + 16, 3 }, "stapsdt", { CODE_AT + 4, CODE_AT, 0 }, "app\0begin\0-4@x0" };
	_cleanup_free_ uint8_t *file = NULL;
	size_t len;

	put_seed("note", 0, &note, sizeof(note));
	file = wrap((const uint8_t *)&note, sizeof(note), &len);
	put_seed("file", 1, file, len);
	return 0;
}
