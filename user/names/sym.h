/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Names for return addresses: functions, source lines, inlined calls. From the
 * object's own DWARF, its separate debug file, its symbol tables, or a JIT's list.
 */
#ifndef MT_SYM_H
#define MT_SYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct debuginfod;
struct object;
struct reader_question;

struct sym_opts {
	bool no_inlines;	/* only functions that are there as such, at the line of the call in them */
	bool no_source;		/* no files and lines; much cheaper where DWARF is big */
	const char *debug_dir;	/* where separate debug files are; NULL: /usr/lib/debug; copied */
	struct debuginfod *debuginfod;	/* for debug files that are not here; NULL: no server is asked; not owned */
	/*
	 * Called once per object that is not read because it is no longer the file that is mapped.
	 * May be NULL.
	 */
	void (*on_changed)(const char *path, void *arg);
	/* Called once per object whose inlined calls are not known, because a .dwo file has them. May be NULL. */
	void (*on_split)(const char *path, void *arg);
	void *arg;
};

#define SYM_FILE_NAME_MAX 4096	/* bytes; the rest of a longer one is left out */

struct sym;

/* o may be NULL for the defaults. */
struct sym *sym__new(const struct sym_opts *o);
/* Gives back the objects it holds: call it before objects__free(). */
void sym__free(struct sym *s);

/*
 * The lines of a return address (an ELF virtual address of obj), innermost
 * first: calls that were inlined, then the function itself. The instruction
 * before it is looked up: a return address points after the call.
 *
 * Never fails and never gives less than one line: an address without a name
 * has one line with function NULL, with file and line if those are known.
 * Lines and strings live as long as s. The same address of the same object is
 * looked up once; obj is held (refs) until sym__free(). obj may be NULL.
 */
size_t sym__resolve(struct sym *s, struct object *obj, uint64_t vaddr, const struct line **ret);
/* It will be asked for soon: what is asked for together costs less. */
void sym__expect(struct sym *s, struct object *obj, uint64_t vaddr);

extern const struct reader_question names_question;	/* of the sandbox, which keeps the files open from one question to the next */

#endif
