/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The code that a process has mapped, as far as it was seen: which file an
 * address belongs to. It only grows: a library that was unloaded, or a process
 * that ended, still has its names.
 */
#ifndef MT_SPACE_H
#define MT_SPACE_H

#include "target/object.h"

struct space_range {
	uint64_t start, end, file_off;
	struct object *object;	/* a reference; NULL for what is no file */
	char *label;		/* owned; "[vdso]" and the like, or the path of a file that could not be opened; else NULL */
	struct err why;		/* owned; of a file that could not be opened */
};

struct space {
	struct space_range *v;	/* the newest last */
	size_t n, room;
	struct object *jit;	/* a reference; the JIT's list of its functions, NULL: none */
};

/* Reads the process's mappings; *ret_new counts those not known before. Files that cannot be opened are kept by name. */
int space__refresh(struct space *s, struct objects *objects, pid_t pid, size_t *ret_new, struct err *e);
/* One more, told by a record; only a file that nobody has mapped before is looked for in the process. */
int space__add(struct space *s, struct objects *objects, pid_t pid, const struct mapping *m, bool *ret_new, struct err *e);
/* What a forked process has: the same. to is empty. */
int space__copy(struct space *to, const struct space *from, struct err *e);
/* Code that the process makes itself has names if it tells them: looks for the list, and for what is new in it. */
void space__refresh_jit(struct space *s, pid_t pid);
/* NULL: in no mapping that was ever seen. */
const struct space_range *space__find(const struct space *s, uint64_t addr);
/* s->jit if addr is not of an ELF file and the list knows it, else NULL. */
struct object *space__find_jit(const struct space *s, const struct space_range *r, uint64_t addr);
void space__done(struct space *s);

#endif
