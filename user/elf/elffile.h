/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * ELF files: all that opens, bounds, maps and closes one is here, for other modules to be handed it. What is in a file
 * belongs to the target, and is hostile.
 */
#ifndef MT_ELFFILE_H
#define MT_ELFFILE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/holding.h"

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

/*
 * Parts of a file that were read. In a file that makes sense none of them lies over another one, and so all of them together are
 * no larger than the file, however many headers it has.
 */
#define ELF_PARTS_MAX 16
struct elf_parts {		/* all zero: none */
	struct {
		uint64_t from, to;
	} v[ELF_PARTS_MAX];
	size_t n;
};

/* False: it lies over another one, or there are too many. */
bool elf_parts__add(struct elf_parts *p, uint64_t off, uint64_t len);
/* A symbol table and its strings, which may be those of the last one, too. */
bool elf_parts__add_table(struct elf_parts *p, uint64_t off, uint64_t len, uint64_t strings_off, uint64_t strings_len);

/* ---- as libelf reads it */

struct elffile {		/* all zero: none */
	Elf *elf;
	int fd;			/* owned if own_fd */
	bool own_fd;
	void *image;		/* owned; NULL: it is in fd */
	Dwarf *dwarf;		/* NULL: has none, or not requested */
	Elf *alt_elf;		/* what dwz moved out of it */
	Dwarf *alt_dwarf;
	int alt_fd;
	struct holding holding;	/* of its DWARF */
};

/* Over a file descriptor that stays open and the caller's; -ENOEXEC if there is no program or library in it. */
int elffile__open_fd(struct elffile *f, int fd);
/* Over an image in memory; takes it, also on failure. -EBADMSG if it is no ELF file. */
int elffile__take_image(struct elffile *f, void *image, size_t len);
/* The DWARF of the file, to be ended by dwarf_end(); NULL: there is none, or more of it than can be held. */
Dwarf *elffile__begin_dwarf(struct elffile *f);
void elffile__close(struct elffile *f);

struct elf_section {		/* all zero: before the first */
	Elf_Scn *scn;
	GElf_Shdr shdr;
	const char *name;	/* "": none that can be read */
	size_t n_seen;
};

/* The next section whose header can be read; false: there are no more. */
bool elffile__next_section(Elf *elf, struct elf_section *s);
/* Of an open file; false also for one that cannot be read. */
bool elffile__has_section(int fd, const char *name);
/* Its bytes, neither inflated nor converted; NULL: it has none. */
Elf_Data *elf_section__bytes(const struct elf_section *s);

#endif
