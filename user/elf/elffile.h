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

/* ---- as a file */

int elffile__find(const char *path);		/* a descriptor that names it (O_PATH); -errno. Nothing is opened. */
/* For reading what was found; -ENOENT if that is no regular file. The caller's, as the one above. */
int elffile__open_found(int path_fd);
int elffile__open_image(const void *image, size_t len);	/* a copy, in a file in memory; -errno */
/* Copies len bytes at an offset; -EINVAL if not all of it is there. */
int elffile__read_at(int fd, uint64_t off, void *buf, size_t len);
/*
 * The page at an offset as processes have it mapped, with the probes in it; NULL: none. To be read only where a byte of
 * the file was just read: beyond its end is SIGBUS.
 */
void *elffile__map_page(int fd, uint64_t page_off);
void elffile__unmap_page(void *page);

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
