// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the opening of ELF files.
 *
 * What always holds:
 * - a file is found with O_PATH first and opened for reading only if it is a
 *   regular file, so that a target that maps or names a FIFO or a device cannot
 *   make us wait or touch the device;
 * - it is read, not mapped: a process that can shorten a mapped file can end us with
 *   SIGBUS. Only big files of root are mapped, where a copy would cost memory;
 * - what sections claim to hold is summed up before libdw reads or inflates them, and
 *   bounded for the file and for all files (holding.h).
 */
#include "elf/elffile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "elf/apart.h"
#include "util/stint.h"
#include "util/util.h"

#define READ_MAX (64ull << 20)		/* bigger files of root are mapped */
#define SQUEEZED_MAX 64			/* DWARF is 3 to 10 times as large as it is compressed; zeros are a thousand times */
#define SQUEEZED_SLACK (1ull << 20)	/* small sections may be more */
#define SECTIONS_MAX (1u << 20)

/* ---- as a file */

int elffile__find(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int elffile__open_found(int path_fd)
{
	char link[64];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int elffile__open_image(const void *image, size_t len)
{
	int fd = memfd_create("malloctrace-image", MFD_CLOEXEC);
	size_t done;
	ssize_t put;

	for (done = 0; fd >= 0 && done < len; done += put) {
		put = write(fd, (const char *)image + done, len - done);
		if (put <= 0) {
			close(fd);
			return -ENOMEM;
		}
	}
	return fd < 0 ? -errno : fd;
}

int elffile__read_at(int fd, uint64_t off, void *buf, size_t len)
{
	size_t done = 0;

	if (off > INT64_MAX || len > INT64_MAX - off)
		return -EINVAL;
	while (done < len) {
		ssize_t got = pread(fd, (char *)buf + done, len - done, off + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EINVAL;
		done += got;
	}
	return 0;
}

void *elffile__map_page(int fd, uint64_t page_off)
{
	void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE, fd, page_off);

	return page == MAP_FAILED ? NULL : page;
}

void elffile__unmap_page(void *page)
{
	munmap(page, sysconf(_SC_PAGESIZE));
}

/* The kernel copies: where a page is not there any more, it says so. */
int elffile__read_mapped(int fd, uint64_t off, void *buf, size_t len)
{
	size_t at = off & (sysconf(_SC_PAGESIZE) - 1);
	char *page = elffile__map_page(fd, off - at);
	struct iovec to = { buf, len }, from = { page + at, len };
	ssize_t got;
	int err;

	if (!page)
		return -ENODEV;
	got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	err = got < 0 ? -errno : got == (ssize_t)len ? 0 : -EFAULT;
	elffile__unmap_page(page);
	return err;
}

bool elf_parts__add(struct elf_parts *p, uint64_t off, uint64_t len)
{
	uint64_t to;

	if (__builtin_add_overflow(off, len, &to))
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (off < p->v[i].to && p->v[i].from < to)
			return false;
	if (p->n == ELF_PARTS_MAX)
		return false;
	p->v[p->n].from = off;
	p->v[p->n++].to = to;
	return true;
}

bool elf_parts__add_table(struct elf_parts *p, uint64_t off, uint64_t len, uint64_t strings_off, uint64_t strings_len)
{
	/* strings come last: those of the table before */
	bool same = p->n && p->v[p->n - 1].from == strings_off && p->v[p->n - 1].to - strings_off == strings_len;

	if (same)
		p->n--;
	return elf_parts__add(p, off, len) && elf_parts__add(p, strings_off, strings_len);
}

/* ---- as libelf reads it */

static bool is_program(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

/* What a file system that a user's program serves says of a file is that user's. */
static bool may_map(int fd, const struct stat *st)
{
	struct statfs fs;

	return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)st->st_size > READ_MAX && !fstatfs(fd, &fs) &&
	       fs.f_type != FUSE_SUPER_MAGIC;
}

int elffile__open_fd(struct elffile *f, int fd)
{
	struct stat st;
	Elf *elf;

	elf_version(EV_CURRENT);
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	elf = elf_begin(fd, may_map(fd, &st) ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	if (!is_program(elf)) {
		elf_end(elf);
		return -ENOEXEC;
	}
	*f = (struct elffile){ .elf = elf, .fd = fd };
	return 0;
}

int elffile__take_image(struct elffile *f, void *image, size_t len)
{
	Elf *elf = len ? elf_memory(image, len) : NULL;
	GElf_Ehdr ehdr;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		elf_end(elf);
		free(image);
		return -EBADMSG;
	}
	*f = (struct elffile){ .elf = elf, .fd = -1, .image = image };
	return 0;
}

bool elffile__next_section(Elf *elf, struct elf_section *s)
{
	size_t names;

	while ((s->scn = elf_nextscn(elf, s->scn)) && s->n_seen++ < SECTIONS_MAX && !stint__is_over()) {
		if (!gelf_getshdr(s->scn, &s->shdr))
			continue;
		s->name = elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, s->shdr.sh_name);
		if (!s->name)
			s->name = "";
		return true;
	}
	return false;
}

Elf_Data *elf_section__bytes(const struct elf_section *s)
{
	Elf_Data *data = s->shdr.sh_type == SHT_NOBITS ? NULL : elf_rawdata(s->scn, NULL);

	return data && data->d_buf && data->d_size ? data : NULL;
}

/* ---- DWARF */

/* Bytes that a section has once it is read; UINT64_MAX: more than there can be. */
static uint64_t size_in_memory(const struct elf_section *s)
{
	uint64_t size = s->shdr.sh_size;
	GElf_Chdr chdr;

	if (s->shdr.sh_flags & SHF_COMPRESSED) {
		size = gelf_getchdr(s->scn, &chdr) ? chdr.ch_size : UINT64_MAX;
	} else if (!strncmp(s->name, ".zdebug", 7)) {
		ssize_t inflated = dwelf_scn_gnu_compressed_size(s->scn);

		size = inflated > 0 ? (uint64_t)inflated : size;
	} else {
		return size;
	}
	if (s->shdr.sh_size > (UINT64_MAX - SQUEEZED_SLACK) / SQUEEZED_MAX || size > s->shdr.sh_size * SQUEEZED_MAX + SQUEEZED_SLACK)
		return UINT64_MAX;
	return size;
}

/*
 * Whether there is DWARF, and no more of it than can be held. Sections of one file do not lie over one another: together they
 * are no larger than that is.
 */
static bool has_dwarf(struct elffile *f)
{
	uint64_t in_file = 0, in_memory = 0;
	struct elf_section s = {};
	bool has = false;
	struct stat st;

	if (fstat(f->fd, &st))
		return false;
	while (elffile__next_section(f->elf, &s)) {
		if (s.shdr.sh_type == SHT_NOBITS || (strncmp(s.name, ".debug_", 7) && strncmp(s.name, ".zdebug_", 8)))
			continue;
		if (!strcmp(s.name, ".debug_info") || !strcmp(s.name, ".zdebug_info"))
			has = true;
		if (__builtin_add_overflow(in_file, s.shdr.sh_size, &in_file) || in_file > (uint64_t)st.st_size ||
		    __builtin_add_overflow(in_memory, size_in_memory(&s), &in_memory))
			return false;
	}
	/* what is mapped takes no memory unless it is inflated */
	if (may_map(f->fd, &st))
		in_memory -= MIN(in_memory, in_file);
	return has && !stint__is_over() && holding__take(&f->holding, in_memory);
}

/* libdw 0.188 reads strings of the line table over the end of a section whose last string does not end. */
static bool strings_end(Elf *elf)
{
	static const char *const tables[] = { ".debug_str", ".debug_line_str", ".zdebug_str", ".zdebug_line_str" };
	struct elf_section s = {};

	while (elffile__next_section(elf, &s)) {
		const Elf_Data *data;
		size_t i;

		for (i = 0; i < ARRAY_SIZE(tables) && strcmp(s.name, tables[i]); i++)
			;
		if (i == ARRAY_SIZE(tables) || s.shdr.sh_type == SHT_NOBITS)
			continue;
		data = elf_section__bytes(&s);
		if (!data || ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

Dwarf *elffile__begin_dwarf(struct elffile *f)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	Dwarf *dwarf = has_dwarf(f) ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;

	/* Only now: libdw has inflated compressed sections in place. */
	if (dwarf && !strings_end(f->elf)) {
		dwarf_end(dwarf);
		return NULL;
	}
	return dwarf;
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
	free(f->image);
	if (f->own_fd)
		close(f->fd);
	holding__give_back(&f->holding);
	*f = (struct elffile){ 0 };
}

bool elffile__has_section(int fd, const char *name)
{
	struct elf_section section = {};
	struct elffile file = {};
	bool found = false;

	if (readers__are_apart())
		return object_apart__has_section(fd, name);
	if (elffile__open_fd(&file, fd))
		return false;
	while (!found && elffile__next_section(file.elf, &section))
		found = !strcmp(section.name, name);
	elffile__close(&file);
	return found;
}
