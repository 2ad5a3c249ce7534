// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the opening of ELF files, and the sum of the memory taken for their contents.
 *
 * What always holds:
 * - a file is found with O_PATH first and opened for reading only if it is a
 *   regular file, so that a target that maps or names a FIFO or a device cannot
 *   make us wait or touch the device;
 * - it is read, not mapped: a process that can shorten a mapped file can end us with
 *   SIGBUS. Only big files of root are mapped, where a copy would cost memory;
 * - what sections claim to hold is summed up before libelf and libdw read or inflate
 *   them, and bounded for the file and for all files.
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

#include "util/util.h"

#define READ_MAX (64ull << 20)		/* bigger files of root are mapped */
#define SQUEEZED_MAX 64			/* DWARF is 3 to 10 times as large as it is compressed; zeros are a thousand times */
#define SQUEEZED_SLACK (1ull << 20)	/* small sections may be more */
#define SECTIONS_MAX (1u << 20)
#define SYMBOLS_MAX (16 << 20)

/* Parts of the machine's memory: malloctrace is a guest there. The largest browser's debug information has 3 GiB. */
#define ALL_PART 4
#define FILE_PART 8
#define ALL_LEAST (512ull << 20)

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
			return -ENOSPC;
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

char *build_id__hex(const void *id, size_t len)
{
	char *hex = xmalloc(2 * len + 1);

	hex[0] = '\0';
	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", ((const unsigned char *)id)[i]);
	return hex;
}

/* ---- memory */

static uint64_t held_bytes;	/* of all files, by __atomic builtins: several threads read */

static uint64_t all_max(void)
{
	static uint64_t max;

	if (!max) {
		long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

		max = MAX(pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / ALL_PART : 0, ALL_LEAST);
	}
	return max;
}

bool file_memory__take(uint64_t *held, uint64_t bytes)
{
	if (bytes > all_max() / (FILE_PART / ALL_PART) - *held)
		return false;
	if (__atomic_add_fetch(&held_bytes, bytes, __ATOMIC_RELAXED) > all_max()) {
		__atomic_fetch_sub(&held_bytes, bytes, __ATOMIC_RELAXED);
		return false;
	}
	*held += bytes;
	return true;
}

void file_memory__give_back(uint64_t *held)
{
	__atomic_fetch_sub(&held_bytes, *held, __ATOMIC_RELAXED);
	*held = 0;
}

/* ---- as libelf reads it */

/* What a file system that a user's program serves says of a file is that user's. */
static bool may_map(int fd, const struct stat *st)
{
	struct statfs fs;

	return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)st->st_size > READ_MAX && !fstatfs(fd, &fs) &&
	       fs.f_type != FUSE_SUPER_MAGIC;
}

/* Takes elf and image. */
static int take(struct elffile *f, Elf *elf, struct elffile as)
{
	GElf_Ehdr ehdr;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		elf_end(elf);
		free(as.image);
		return -ENOEXEC;
	}
	*f = as;
	f->elf = elf;
	return 0;
}

int elffile__open_fd(struct elffile *f, int fd)
{
	struct elffile as = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	as.size_bytes = (uint64_t)st.st_size;
	as.is_mapped = may_map(fd, &st);
	elf_version(EV_CURRENT);
	return take(f, elf_begin(fd, as.is_mapped ? ELF_C_READ_MMAP : ELF_C_READ, NULL), as);
}

int elffile__take_image(struct elffile *f, void *image, size_t len)
{
	return take(f, len ? elf_memory(image, len) : NULL, (struct elffile){ .fd = -1, .image = image, .size_bytes = len }) ? -EBADMSG : 0;
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

bool elffile__has_type(Elf *elf, uint32_t sh_type)
{
	struct elf_section s = {};

	while (elffile__next_section(elf, &s))
		if (s.shdr.sh_type == sh_type)
			return true;
	return false;
}

Elf_Data *elffile__chunk(struct elffile *f, uint64_t off, uint64_t len, Elf_Type type)
{
	if (off > f->size_bytes || len > f->size_bytes - off || (!f->is_mapped && !file_memory__take(&f->held_bytes, len)))
		return NULL;
	return elf_getdata_rawchunk(f->elf, (int64_t)off, len, type);
}

/* ---- symbols */

int elf_symbols__each(Elf_Data *symbols, const Elf_Data *names, elf_symbol_fn *fn, void *arg)
{
	const char *first = names ? names->d_buf : NULL;
	/* what the last NUL ends is a name, and no more */
	const char *last = first && names->d_size ? memrchr(first, '\0', names->d_size) : NULL;
	GElf_Sym sym;
	int r = 0;

	for (int i = 0; last && !r && i < SYMBOLS_MAX && gelf_getsym(symbols, i, &sym); i++) {
		if (stint__is_over())
			return -ETIME;
		if (sym.st_shndx != SHN_UNDEF && sym.st_name < (size_t)(last - first) && first[sym.st_name])
			r = fn(&sym, first + sym.st_name, arg);
	}
	return r;
}

int elffile__each_symbol(struct elffile *f, elf_symbol_fn *fn, void *arg)
{
	struct elf_section s = {};
	uint64_t in_file = 0;
	GElf_Shdr names;
	int r = 0;

	while (!r && elffile__next_section(f->elf, &s)) {
		Elf_Scn *scn = s.shdr.sh_type == SHT_SYMTAB || s.shdr.sh_type == SHT_DYNSYM ? elf_getscn(f->elf, s.shdr.sh_link) : NULL;
		uint64_t bytes;

		if (!scn || !gelf_getshdr(scn, &names) || names.sh_type != SHT_STRTAB || (s.shdr.sh_flags | names.sh_flags) & SHF_COMPRESSED ||
		    __builtin_add_overflow(s.shdr.sh_size, names.sh_size, &bytes) || bytes > f->size_bytes - in_file)
			continue;
		in_file += bytes;
		if (f->is_mapped || file_memory__take(&f->held_bytes, bytes))
			r = elf_symbols__each(elf_getdata(s.scn, NULL), elf_getdata(scn, NULL), fn, arg);
	}
	return r;
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

	while (elffile__next_section(f->elf, &s)) {
		if (s.shdr.sh_type == SHT_NOBITS || (strncmp(s.name, ".debug_", 7) && strncmp(s.name, ".zdebug_", 8)))
			continue;
		if (!strcmp(s.name, ".debug_info") || !strcmp(s.name, ".zdebug_info"))
			has = true;
		if (__builtin_add_overflow(in_file, s.shdr.sh_size, &in_file) || in_file > f->size_bytes ||
		    __builtin_add_overflow(in_memory, size_in_memory(&s), &in_memory))
			return false;
	}
	/* what is mapped takes no memory unless it is inflated */
	if (f->is_mapped)
		in_memory -= MIN(in_memory, in_file);
	return has && !stint__is_over() && file_memory__take(&f->held_bytes, in_memory);
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
	if (f->alt)
		elffile__close(f->alt);
	free(f->alt);
	elf_end(f->elf);
	free(f->image);
	if (f->own_fd)
		close(f->fd);
	file_memory__give_back(&f->held_bytes);
	*f = (struct elffile){ 0 };
}

