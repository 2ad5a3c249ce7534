/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * ELF files: this module alone opens, bounds, maps and closes them. What is in a file belongs to the target, and is hostile.
 */
#ifndef MT_ELFFILE_H
#define MT_ELFFILE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- as a file */

int elffile__find(const char *path);		/* a descriptor that names it (O_PATH); -errno. Nothing is opened. */
/* For reading what was found; -ENOENT if that is no regular file. The caller's, as the one above. */
int elffile__open_found(int path_fd);
int elffile__open_image(const void *image, size_t len);	/* a copy, in a file in memory; -errno */
/* Copies len bytes at an offset; -EINVAL if not all of it is there. */
int elffile__read_at(int fd, uint64_t off, void *buf, size_t len);
/*
 * The page at an offset as processes have it mapped; NULL: none. Never to be read at its address: a file that is shorter by
 * then would be SIGBUS.
 */
void *elffile__map_page(int fd, uint64_t page_off);
void elffile__unmap_page(void *page);
/* Copies bytes of it as processes see them, with the probes in them; all of them within one page. -errno, also beyond the file's end. */
int elffile__read_mapped(int fd, uint64_t off, void *buf, size_t len);

char *build_id__hex(const void *id, size_t len);	/* the caller's */

/*
 * Memory for what files contain: one of a few kilobytes may claim gigabytes, as a hole, twenty times over, or compressed. Before so many
 * bytes more are read, inflated or made of a file; false: too much for it or for all files, and nothing was taken. held: its sum so far.
 */
bool file_memory__take(uint64_t *held, uint64_t bytes);
void file_memory__give_back(uint64_t *held);

/* ---- as libelf reads it */

struct elffile {		/* all zero: none */
	Elf *elf;
	uint64_t size_bytes;
	int fd;			/* owned if own_fd */
	bool own_fd, is_mapped;
	void *image;		/* owned; NULL: it is in fd */
	Dwarf *dwarf;		/* NULL: has none, or not requested */
	struct elffile *alt;	/* owned; what dwz moved out of it; NULL: nothing */
	uint64_t held_bytes;
};

/* Over a file descriptor that stays open and the caller's; -ENOEXEC if it is no ELF file. */
int elffile__open_fd(struct elffile *f, int fd);
/* Over an image in memory; takes it, also on failure. -EBADMSG if it is no ELF file. */
int elffile__take_image(struct elffile *f, void *image, size_t len);
/* The DWARF of the file, to be ended by dwarf_end(); NULL: there is none, or more of it than can be held. */
Dwarf *elffile__begin_dwarf(struct elffile *f);
void elffile__close(struct elffile *f);
#define elffile_cleanup __attribute__((cleanup(elffile__close)))

struct elf_section {		/* all zero: before the first */
	Elf_Scn *scn;
	GElf_Shdr shdr;
	const char *name;	/* "": none that can be read */
	size_t n_seen;
};

/* The next section whose header can be read; false: there are no more. */
bool elffile__next_section(Elf *elf, struct elf_section *s);
bool elffile__has_type(Elf *elf, uint32_t sh_type);
/* Its bytes, neither inflated nor converted; NULL: it has none. */
Elf_Data *elf_section__bytes(const struct elf_section *s);
/* Bytes of the file as an array of a type, until it is closed; NULL: they lie outside of it, or are too many to be held. */
Elf_Data *elffile__chunk(struct elffile *f, uint64_t off, uint64_t len, Elf_Type type);

/*
 * fn for each defined symbol that has a name, of .symtab and .dynsym, until it returns other than 0, which is returned. Tables that
 * together are larger than the file are left out: they lie over one another. -ETIME: the file took too long.
 */
typedef int elf_symbol_fn(const GElf_Sym *sym, const char *name, void *arg);
int elffile__each_symbol(struct elffile *f, elf_symbol_fn *fn, void *arg);
/* The same of one table and its names; either may be NULL. */
int elf_symbols__each(Elf_Data *symbols, const Elf_Data *names, elf_symbol_fn *fn, void *arg);
/* Of an object's own file without section headers: those that the dynamic loader goes by. */
struct object;
void object__each_dynamic_symbol(const struct object *obj, struct elffile *f, elf_symbol_fn *fn, void *arg);

#endif
