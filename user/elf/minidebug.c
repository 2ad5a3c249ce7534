// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the unpacking of .gnu_debugdata. libelf and libdw read it only
 * within libdwfl, which would look for files by itself, so liblzma is called
 * here.
 *
 * The file is hostile: a few kilobytes of xz can hold gigabytes. What goes in,
 * what comes out and what the decoder may hold are bounded, and with them the
 * time.
 */
#include "elf/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "util/stint.h"
#include "util/util.h"

#define PACKED_MAX (32u << 20)
#define IMAGE_MAX (64u << 20)
#define DECODER_MAX (128ull << 20)	/* a dictionary of xz -9 takes 65 MiB */

static const Elf_Data *find_section(Elf *elf)
{
	struct elf_section s = {};

	while (elffile__next_section(elf, &s))
		if (!strcmp(s.name, ".gnu_debugdata") && s.shdr.sh_type == SHT_PROGBITS &&
		    !(s.shdr.sh_flags & SHF_COMPRESSED))
			return s.shdr.sh_size <= PACKED_MAX ? elf_section__bytes(&s) : NULL;
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
		r = stint__is_over() ? LZMA_DATA_ERROR : lzma_code(&xz, LZMA_FINISH);
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

int minidebug__open(struct elffile *f, Elf *file)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	const Elf_Data *packed = find_section(file);
	unsigned char *image;
	size_t len;
	int err;

	if (!packed)
		return -ENOENT;
	err = unpack(packed, &image, &len);
	return err ? err : elffile__take_image(f, image, len);
}
