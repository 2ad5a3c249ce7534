/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* ELF files opened for their names: the object itself, its separate debug file, its DWARF. */
#ifndef MT_ELFFILE_H
#define MT_ELFFILE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct object;

struct elffile {		/* all zero: none */
	Elf *elf;
	int fd;			/* owned if own_fd */
	bool own_fd;
	Dwarf *dwarf;		/* NULL: has none, or not requested */
	Elf *alt_elf;		/* what dwz moved out of it */
	Dwarf *alt_dwarf;
	int alt_fd;
};

/* Over a file descriptor that stays open and the caller's; -ENOEXEC if there is no program or library in it. */
int elffile__open_fd(struct elffile *f, int fd);
/*
 * The separate debug file of obj, whose own file is main: by build id, then by
 * .gnu_debuglink. Its build id must be the object's, its CRC the link's.
 * -ENOENT if there is none.
 */
int elffile__open_debug(struct elffile *f, const struct object *obj, Elf *main, const char *debug_dir);
/*
 * The same of an open file, however it was found: takes fd, also on failure. -ENOENT if its build
 * id is another.
 */
int elffile__take_debug(struct elffile *f, int fd, const char *build_id);
/* Sets f->dwarf; -ENOENT without DWARF, or if part of it is in a file that is not there. */
int elffile__open_dwarf(struct elffile *f, const char *debug_dir);
void elffile__close(struct elffile *f);

#endif
