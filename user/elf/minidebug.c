// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the unpacked image of .gnu_debugdata. libelf and libdw read it only
 * within libdwfl, which would look for files by itself, so liblzma is called
 * here.
 *
 * The file is hostile: a few kilobytes of xz can hold gigabytes. What goes in,
 * what comes out and what the decoder may hold are bounded, and with them the
 * time.
 */
#include "elf/minidebug.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define PACKED_MAX (32u << 20)
#define IMAGE_MAX (64u << 20)
#define DECODER_MAX (128ull << 20)	/* a dictionary of xz -9 takes 65 MiB */
#define SECTIONS_MAX (1u << 16)

static Elf_Data *find_section(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names, n = 0;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) && n++ < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS || shdr.sh_flags & SHF_COMPRESSED)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (name && !strcmp(name, ".gnu_debugdata"))
			return shdr.sh_size <= PACKED_MAX ? elf_rawdata(scn, NULL) : NULL;
	}
	return NULL;
}

static int unpack(const Elf_Data *packed, unsigned char **ret, size_t *ret_len)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	size_t room = 0;
	unsigned char *image = NULL;
	lzma_ret r;
	int err = 0;

	if (lzma_stream_decoder(&xz, DECODER_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed->d_buf;
	xz.avail_in = packed->d_size;
	do {
		if (!xz.avail_out) {
			size_t more = room ? MIN(room, (size_t)IMAGE_MAX - room) : 256 * 1024;
			unsigned char *p = more ? realloc(image, room + more) : NULL;

			if (!p) {
				err = more ? -ENOMEM : -EFBIG;
				break;
			}
			image = p;
			xz.next_out = image + room;
			xz.avail_out = more;
			room += more;
		}
		r = lzma_code(&xz, LZMA_FINISH);
		if (r != LZMA_OK && r != LZMA_STREAM_END)
			err = r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	} while (!err && r != LZMA_STREAM_END);
	*ret_len = room - xz.avail_out;
	lzma_end(&xz);
	if (err) {
		free(image);
		return err;
	}
	*ret = image;
	return 0;
}

int minidebug__open(struct minidebug *m, Elf *file)
{
	Elf_Data *packed = find_section(file);
	unsigned char *image;
	GElf_Ehdr ehdr;
	size_t len;
	Elf *elf;
	int err;

	if (!packed || !packed->d_buf || !packed->d_size)
		return -ENOENT;
	err = unpack(packed, &image, &len);
	if (err)
		return err;
	elf = len ? elf_memory((char *)image, len) : NULL;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		elf_end(elf);
		free(image);
		return -EBADMSG;
	}
	*m = (struct minidebug){ .elf = elf, .image = image };
	return 0;
}

void minidebug__close(struct minidebug *m)
{
	elf_end(m->elf);
	free(m->image);
	*m = (struct minidebug){ 0 };
}
