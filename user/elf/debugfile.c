// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the choice of separate debug files and dwz supplements; debugfind.c knows where they may be.
 *
 * What an object names (links, build ids) is as hostile as itself. So libdw never searches by itself: a supplement is
 * found here, or the DWARF that needs it is not used.
 */
#include "elf/debugfile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "elf/debugfind.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "util/stint.h"
#include "util/util.h"

#define CRC_MAX (1ull << 30)	/* bytes of a file: with a build id, which all have, nothing is summed */

static bool has_build_id(Elf *elf, const char *hex)
{
	const unsigned char *id;
	ssize_t len = dwelf_elf_gnu_build_id(elf, (const void **)&id);

	if (len <= 0 || strlen(hex) != (size_t)len * 2)
		return false;
	for (ssize_t i = 0; i < len; i++) {
		char byte[3];

		snprintf(byte, sizeof(byte), "%02x", id[i]);
		if (memcmp(byte, hex + 2 * i, 2))
			return false;
	}
	return true;
}

static int crc_of(int fd, uint32_t *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	unsigned char buf[64 * 1024];
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t off = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > CRC_MAX)
		return -EFBIG;
	while ((got = pread(fd, buf, sizeof(buf), off)) > 0) {
		crc = crc32(crc, buf, got);
		off += got;
		if (stint__is_over())
			return -ETIME;
	}
	if (got < 0)
		return -errno;
	*ret = crc;
	return 0;
}

/* The debug file wanted: of this build id (if not NULL) and this CRC (if not NULL). Takes fd. */
static int take_fd(struct elffile *f, int fd, const char *build_id, const GElf_Word *crc)
{
	struct elffile got;
	uint32_t have = 0;
	int err;

	err = elffile__open_fd(&got, fd);
	if (err) {
		close(fd);
		return err;
	}
	got.own_fd = true;
	if ((build_id && !has_build_id(got.elf, build_id)) || (crc && (crc_of(fd, &have) || have != *crc))) {
		elffile__close(&got);
		return -ENOENT;
	}
	*f = got;
	return 0;
}

int debugfile__take(struct elffile *f, int fd, const char *build_id)
{
	return take_fd(f, fd, build_id, NULL);
}

/* The same of a file that is yet to be found. */
static int try(struct elffile *f, const struct debug_wish *w, const struct object *obj, const char *debug_dir, const char *build_id,
	       const GElf_Word *crc)
{
	int fd = debugfind__open(w, obj, debug_dir, NULL);

	return fd < 0 ? fd : take_fd(f, fd, build_id, crc);
}

int debugfile__open(struct elffile *f, const struct object *obj, Elf *main, const char *debug_dir)
{
	const char *link;
	GElf_Word crc;

	if (obj->build_id && !try(f, &(struct debug_wish){ WISH_BUILD_ID, 0, obj->build_id }, obj, debug_dir, obj->build_id, NULL))
		return 0;
	link = dwelf_elf_gnu_debuglink(main, &crc);
	for (unsigned int i = 0; link && i < DEBUG_LINK_PLACES; i++)
		if (!try(f, &(struct debug_wish){ WISH_LINK, i, link }, obj, debug_dir, obj->build_id, &crc))
			return 0;
	return -ENOENT;
}

/*
 * dwz moves what several files share into one: <debug_dir>/.dwz/..., named and with its build id in
 * .gnu_debugaltlink.
 */
static int open_alt(struct elffile *f, const struct object *obj, const char *debug_dir)
{
	const unsigned char *id = NULL;
	struct elffile alt;
	const char *name = NULL;
	char hex[129] = "";
	ssize_t len;

	len = dwelf_dwarf_gnu_debugaltlink(f->dwarf, &name, (const void **)&id);
	if (len == 0)
		return 0;
	if (len < 2 || len > 64)
		return -ENOENT;
	for (ssize_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	if (try(&alt, &(struct debug_wish){ WISH_BUILD_ID, 0, hex }, obj, debug_dir, hex, NULL) &&
	    try(&alt, &(struct debug_wish){ WISH_DWZ, 0, name }, obj, debug_dir, hex, NULL))
		return -ENOENT;
	/* A supplement has none of its own. Were it to name one, libdw would go and look for it. */
	alt.dwarf = elffile__begin_dwarf(&alt);
	if (!alt.dwarf || dwelf_dwarf_gnu_debugaltlink(alt.dwarf, &name, (const void **)&id) != 0) {
		elffile__close(&alt);
		return -ENOENT;
	}
	f->alt_elf = alt.elf;
	f->alt_dwarf = alt.dwarf;
	f->alt_fd = alt.fd;
	dwarf_setalt(f->dwarf, f->alt_dwarf);
	return 0;
}

int debugfile__open_dwarf(struct elffile *f, const struct object *obj, const char *debug_dir)
{
	int err;

	f->dwarf = elffile__begin_dwarf(f);
	if (!f->dwarf)
		return -ENOENT;
	err = open_alt(f, obj, debug_dir);
	if (err) {
		dwarf_end(f->dwarf);
		f->dwarf = NULL;
	}
	return err;
}
