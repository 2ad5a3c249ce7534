/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What describes an object and is not in its file: separate debug files, and what dwz moved out of them. */
#ifndef MT_DEBUGFILE_H
#define MT_DEBUGFILE_H

#include "elf/elffile.h"

struct object;

#define DEBUG_DIR "/usr/lib/debug"

/*
 * The separate debug file of obj, whose own file is main: by build id, then by
 * .gnu_debuglink. Its build id must be the object's, its CRC the link's.
 * -ENOENT if there is none.
 */
int debugfile__open(struct elffile *f, const struct object *obj, Elf *main, const char *debug_dir);
/*
 * The same of an open file, however it was found: takes fd, also on failure. -ENOENT if its build
 * id is another.
 */
int debugfile__take(struct elffile *f, int fd, const char *build_id);
/* Sets f->dwarf; -ENOENT without DWARF, or if part of it is in a file that is not there. */
int debugfile__open_dwarf(struct elffile *f, const struct object *obj, const char *debug_dir);

#endif
