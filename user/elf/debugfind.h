/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Files that go with an object and have another name: what is wished for by whoever reads the object, and found by who may
 * open files. A wish names no path. Those are made here, of what the object is called and where debug files are.
 */
#ifndef MT_DEBUGFIND_H
#define MT_DEBUGFIND_H

#include "reader/wire.h"

struct debuginfod;
struct object;

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

#define DEBUG_LINK_PLACES 3

/* A descriptor of a regular file, which the caller owns, or -errno. What is in it is to be checked. In a reader, malloctrace is asked. */
int debugfind__open(const struct debug_wish *w, const struct object *obj, const char *debug_dir, struct debuginfod *d);
/* What a reader wishes, as it came: only ELF files are handed out. */
int debugfind__grant(struct wire_in *wish, const struct object *obj, const char *debug_dir, struct debuginfod *d);

#endif
