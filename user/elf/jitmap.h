/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * /tmp/perf-PID.map: the list that runtimes with a just-in-time compiler (node
 * --perf-basic-prof, java, python -X perf) keep of the functions they made.
 */
#ifndef MT_JITMAP_H
#define MT_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jitmap;
struct object;

/*
 * Opens the list of a process, found under its own root by the pid it has
 * itself, as an object whose path is the list's as the process names it. It is
 * taken only if it is a regular file (no link) of the process's user or of
 * root. Held open, it can be read when the process is gone. -ENOENT if there
 * is none, -EPERM if it is another's.
 */
int jitmap__open(pid_t pid, struct object **ret);
/* The same over an open file: takes fd. path is copied and cleaned. */
struct object *jitmap__over(int fd, const char *path);
/* Reads what was appended since the last time. */
void jitmap__refresh(struct object *obj);
/* The function at an address: as the list has it, not cleaned of mangling but of control characters. NULL: none. */
const char *jitmap__find(const struct jitmap *j, uint64_t addr);
void jitmap__free(struct jitmap *j);

#define JITMAP_NAME_MAX 4096	/* bytes; the rest of a longer name is left out */

/* The list's lines in text, which need not end in a newline: what is incomplete is left. Returns the bytes taken. */
size_t jitmap__parse(struct jitmap *j, const char *text, size_t len);

#endif
