/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Programs that run other programs by translating their code, as valgrind does. A breakpoint in a
 * file that such a program maps is code to them, and ends what they run: where they are, no probe
 * may be.
 */
#ifndef MT_TRANSLATOR_H
#define MT_TRANSLATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the program of this path is called, e.g. "valgrind"; NULL: no translator. */
const char *translator__of(const char *path);
/*
 * Anybody may call a program so. Is this file, of this inode number, one that root has installed and nobody else can write to? Where
 * the path means another file to us than to the process, it is not.
 */
bool translator__is_installed(const char *path, uint64_t ino);

enum translator_proof {
	TRANSLATOR_GONE,	/* there is no such process, or it maps none of them any more */
	TRANSLATOR_NAMED,	/* by its name alone */
	TRANSLATOR_PROVEN,	/* installed, or it has code that is in no file */
};
/* What a process does whose file has such a name. One that may not be read is what its file is. */
enum translator_proof translator__prove(pid_t pid, bool installed);
/* Those that run on this machine. */
void translator__for_each(void (*fn)(pid_t pid, const char *name, bool installed, void *arg), void *arg);

#endif
