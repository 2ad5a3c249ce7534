/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What describes an object and is not in its file: separate debug files, what dwz moved out of them, and debug files from a
 * debuginfod server. Whoever reads the object wishes for them, whoever may open files finds them. A wish names no path: paths are made
 * of what the object is called and where debug files are (debug_dir, NULL: /usr/lib/debug).
 */
#ifndef MT_DEBUGFILE_H
#define MT_DEBUGFILE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elffile.h"
#include "reader/wire.h"
#include "util/err.h"

struct debuginfod;
struct object;

/* ---- of whoever reads the object */

/*
 * The separate debug file of obj, whose own file is main: by build id, then by
 * .gnu_debuglink. Its build id must be the object's, its CRC the link's.
 * -ENOENT if there is none.
 */
int debugfile__open(struct elffile *f, const struct object *obj, Elf *main, const char *debug_dir);
/* The same from a server. d NULL: none is asked; in the sandbox, malloctrace decides. */
int debugfile__download(struct elffile *f, const struct object *obj, struct debuginfod *d);
/* Sets f->dwarf; -ENOENT without DWARF, or if part of it is in a file that is not there. */
int debugfile__open_dwarf(struct elffile *f, const struct object *obj, const char *debug_dir);
/* Opens the object's file, and its debug file unless that has DWARF: the one that has; NULL: neither. To be closed, both. */
struct elffile *debugfile__with_dwarf(struct elffile *file, struct elffile *debug, const struct object *obj, const char *debug_dir);

/*
 * Mini debug info: a symbol table that a stripped file carries with it, xz-compressed in .gnu_debugdata. -ENOENT without such a
 * section, -EBADMSG if it makes no sense, -EFBIG if it holds too much.
 */
int minidebug__open(struct elffile *f, Elf *file);

/* ---- of malloctrace */

struct debug_wish {
	enum debug_wish_kind {
		WISH_BUILD_ID,	/* text: its hex digits */
		WISH_LINK,	/* text: the name in .gnu_debuglink; nth: of the places where it may be */
		WISH_DWZ,	/* text: the name of what dwz moved out */
		WISH_DOWNLOAD,	/* by the object's own build id, from a server */
	} kind;
	unsigned int nth;
	const char *text;
};

/* A descriptor of an ELF file, which the caller owns, or -errno. What is in it is to be checked. */
int debugfile__grant(struct wire_in *wish, const struct object *obj, const char *debug_dir, struct debuginfod *d);

/* ---- servers, if requested: nothing touches the network before debuginfod__get() */

struct debuginfod_calls {	/* any may be NULL */
	/* A download goes on: how much there is of how much (0: not known), at most a few times a second. */
	void (*progress)(const char *path, long done_bytes, long total_bytes, void *arg);
	/* It ended; err: 0, -ENOENT if no server has the file, else why it failed. */
	void (*done)(const char *path, int err, void *arg);
	void *arg;
	long most_bytes;	/* of a file; 0: a GiB */
};

/* The servers are those of $DEBUGINFOD_URLS. Fails with what to do if it is not set or libdebuginfod is not there. */
int debuginfod__new(const struct debuginfod_calls *calls, struct debuginfod **ret, struct err *e);
void debuginfod__free(struct debuginfod *d);

/*
 * An open debug file, which the caller owns, or -errno. Its build id is still to
 * be compared. path is for messages. -EFBIG: it has more than a GiB,
 * unpacked, or cannot be stored. The time for all files is bounded, once a signal has ended the trace by a few seconds; SIGINT
 * and SIGTERM, blocked or noted (signals__note_end), end it. After a server that
 * cannot be reached or is too slow no server is asked again.
 */
int debuginfod__get(struct debuginfod *d, const char *build_id, const char *path);

/* ---- what DWARF knows of an address: the functions around it and where in the source it is (dwarfinfo.c) */

#define DWARF_INLINES_MAX 64

struct dwarf_frame {
	const char *name;	/* of the file's own strings, or from the names' owner; not cleaned; NULL: none */
	bool mangled;		/* name is a linkage name */
	const char *file;	/* NULL: unknown; not cleaned */
	const char *comp_dir;	/* what file begins with where it was written without; NULL: unknown */
	uint32_t line;
	bool inlined;
	uint64_t entry;		/* where the code begins that holds the address, 0: unknown */
};

struct dwarf_frames {
	struct dwarf_frame v[DWARF_INLINES_MAX + 1];	/* innermost first */
	size_t n;
	bool split;		/* the unit's functions are in another file (-gsplit-dwarf), which is not read */
	bool c;			/* written in C, or in assembly: names are as the linker has them */
};

struct dwarfinfo;
struct pool;

/* Of the object's own file, or of its debug file. Both must outlive it. */
struct dwarfinfo *dwarfinfo__new(Dwarf *dwarf, const struct object *obj);
void dwarfinfo__free(struct dwarfinfo *d);	/* before its Dwarf */
/* names is where names that are put together live. ret->n is 0 if DWARF knows nothing. */
void dwarfinfo__find(struct dwarfinfo *d, uint64_t addr, bool lines, struct pool *names, struct dwarf_frames *ret);
/*
 * fn for each range of code that inlined calls have, of one call after the other; first: of a new call. Names are
 * those of their functions, as in struct dwarf_frame. fn returns non-zero to stop, which is returned. -E2BIG: the file took too long.
 * -ENODATA: those of some units are in .dwo files, which are not read.
 */
int dwarfinfo__each_inlined(struct dwarfinfo *d, struct pool *names,
			    int (*fn)(const char *name, uint64_t low, uint64_t high, bool first, void *arg), void *arg);

#endif
