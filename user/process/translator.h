/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Programs that run other programs by translating their code, as valgrind does. A breakpoint in a
 * file that such a program maps is code to them, and ends what they run: where they are, no probe
 * may be.
 */
#ifndef MT_TRANSLATOR_H
#define MT_TRANSLATOR_H

#include <stdbool.h>
#include <sys/types.h>

/* What the program of this path is called, e.g. "valgrind"; NULL: no translator. */
const char *translator__of(const char *path);
/* The same of the program that a process runs now; NULL also if there is no such process. */
const char *translator__runs(pid_t pid);
/* Has a process any of them mapped? Also if that cannot be told; not if there is no such process. */
bool translator__may_run(pid_t pid);
/* Those that run on this machine. */
void translator__for_each(void (*fn)(pid_t pid, const char *name, void *arg), void *arg);

#endif
