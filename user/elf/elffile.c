// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the opening of ELF files for symbols, and the search for separate debug
 * files and dwz supplements.
 *
 * The object is hostile, and what it names (links, build ids) is too. So:
 * - it is read, not mapped: a process that can shorten a mapped file can end us with
 *   SIGBUS. Only big files of root are mapped, where a copy would cost memory;
 * - a path it leads to is opened without waiting (a FIFO) and must be a regular
 *   file with a size;
 * - libdw never searches by itself: a supplement is found here, or the DWARF
 *   that needs it is not used.
 */
#include "elf/elffile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "elf/object.h"
#include "util/util.h"

#define READ_MAX (64ull << 20)		/* bigger files of root are mapped */
#define COPY_MAX (1ull << 30)		/* bigger files of others are not searched for DWARF */
#define INFLATED_MAX (4ull << 30)	/* what compressed sections may claim to hold */
#define SECTIONS_MAX (1u << 20)

static bool is_program(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

static bool may_map(const struct stat *st)
{
	return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)st->st_size > READ_MAX;
}

int elffile__open_fd(struct elffile *f, int fd)
{
	struct stat st;
	Elf *elf;

	elf_version(EV_CURRENT);
	if (fstat(fd, &st))
		return -errno;
	elf = elf_begin(fd, may_map(&st) ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	if (!is_program(elf)) {
		elf_end(elf);
		return -ENOEXEC;
	}
	*f = (struct elffile){ .elf = elf, .fd = fd };
	return 0;
}

static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

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
	static unsigned char buf[64 * 1024];
	uLong crc = crc32(0, NULL, 0);
	off_t off = 0;
	ssize_t got;

	while ((got = pread(fd, buf, sizeof(buf), off)) > 0) {
		crc = crc32(crc, buf, got);
		off += got;
		if ((uint64_t)off > INFLATED_MAX)
			return -EFBIG;
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

int elffile__take_debug(struct elffile *f, int fd, const char *build_id)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	return take_fd(f, fd, build_id, NULL);
}

static int try_path(struct elffile *f, const char *path, const char *build_id, const GElf_Word *crc)
{
	int fd = open_regular(path);

	return fd < 0 ? fd : take_fd(f, fd, build_id, crc);
}

static int try_build_id(struct elffile *f, const char *debug_dir, const char *hex)
{
	_cleanup_free_ char *path = NULL;

	if (strlen(hex) < 4 || strlen(hex) > 128 || strspn(hex, "0123456789abcdef") != strlen(hex))
		return -ENOENT;
	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return try_path(f, path, hex, NULL);
}

int elffile__open_debug(struct elffile *f, const struct object *obj, Elf *main, const char *debug_dir)
{
	const char *link, *slash;
	GElf_Word crc;
	int dir_len;

	if (obj->build_id && !try_build_id(f, debug_dir, obj->build_id))
		return 0;

	link = dwelf_elf_gnu_debuglink(main, &crc);
	slash = obj->path && obj->path[0] == '/' ? strrchr(obj->path, '/') : NULL;
	if (!link || !*link || strlen(link) > NAME_MAX || strchr(link, '/') || !slash)
		return -ENOENT;
	dir_len = MIN(slash - obj->path, (ptrdiff_t)PATH_MAX);
	for (int i = 0; i < 3; i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s%.*s/%s%s", i == 2 ? debug_dir : "", dir_len, obj->path,
			     i == 1 ? ".debug/" : "", link) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		if (!try_path(f, path, obj->build_id, &crc))
			return 0;
	}
	return -ENOENT;
}

/* Whether there is DWARF, and no more of it than can be held. */
static bool has_dwarf(struct elffile *f)
{
	uint64_t inflated = 0;
	Elf_Scn *scn = NULL;
	bool has = false;
	struct stat st;
	size_t names, n = 0;

	if (fstat(f->fd, &st) || ((uint64_t)st.st_size > COPY_MAX && !may_map(&st)) ||
	    elf_getshdrstrndx(f->elf, &names))
		return false;
	while ((scn = elf_nextscn(f->elf, scn)) && n++ < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr shdr;
		GElf_Chdr chdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(f->elf, names, shdr.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			has = true;
		if ((shdr.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &chdr) &&
		    __builtin_add_overflow(inflated, chdr.ch_size, &inflated))
			return false;
		if (!strncmp(name, ".zdebug", 7)) {
			ssize_t size = dwelf_scn_gnu_compressed_size(scn);

			if (size > 0 && __builtin_add_overflow(inflated, (uint64_t)size, &inflated))
				return false;
		}
	}
	return has && inflated <= INFLATED_MAX;
}

/* libdw 0.188 reads strings of the line table over the end of a section whose last string does not end. */
static bool strings_end(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!name || (strcmp(name, ".debug_str") && strcmp(name, ".debug_line_str") &&
			      strcmp(name, ".zdebug_str") && strcmp(name, ".zdebug_line_str")))
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf || !data->d_size || ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

static Dwarf *begin_dwarf(struct elffile *f)
{
	Dwarf *dwarf = has_dwarf(f) ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;

	/* Only now: libdw has inflated compressed sections in place. */
	if (dwarf && !strings_end(f->elf)) {
		dwarf_end(dwarf);
		return NULL;
	}
	return dwarf;
}

/*
 * dwz moves what several files share into one: <debug_dir>/.dwz/..., named and with its build id in
 * .gnu_debugaltlink.
 */
static int open_alt(struct elffile *f, const char *debug_dir)
{
	_cleanup_free_ char *path = NULL;
	const unsigned char *id = NULL;
	struct elffile alt;
	const char *name = NULL, *in_dwz;
	char hex[129] = "";
	ssize_t len;

	len = dwelf_dwarf_gnu_debugaltlink(f->dwarf, &name, (const void **)&id);
	if (len == 0)
		return 0;
	if (len < 2 || len > 64)
		return -ENOENT;
	for (ssize_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	if (try_build_id(&alt, debug_dir, hex)) {
		in_dwz = strstr(name, "/.dwz/");
		if (!in_dwz || strstr(in_dwz, "/../") || strlen(in_dwz) > PATH_MAX)
			return -ENOENT;
		if (asprintf(&path, "%s%s", debug_dir, in_dwz) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		if (try_path(&alt, path, hex, NULL))
			return -ENOENT;
	}
	/* A supplement has none of its own. Were it to name one, libdw would go and look for it. */
	alt.dwarf = begin_dwarf(&alt);
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

int elffile__open_dwarf(struct elffile *f, const char *debug_dir)
{
	int err;

	f->dwarf = begin_dwarf(f);
	if (!f->dwarf)
		return -ENOENT;
	err = open_alt(f, debug_dir);
	if (err) {
		dwarf_end(f->dwarf);
		f->dwarf = NULL;
	}
	return err;
}

void elffile__close(struct elffile *f)
{
	dwarf_end(f->dwarf);
	dwarf_end(f->alt_dwarf);
	elf_end(f->elf);
	if (f->alt_elf) {
		elf_end(f->alt_elf);
		close(f->alt_fd);
	}
	if (f->own_fd)
		close(f->fd);
	*f = (struct elffile){ 0 };
}
