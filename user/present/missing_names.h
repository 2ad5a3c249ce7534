/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Frames without a function's name: how many there are, whose they are, and what would name them. */
#ifndef MT_MISSING_NAMES_H
#define MT_MISSING_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

#define MISSING_FILES 3

struct missing_names {
	const char *what;	/* "frames" */
	uint64_t n_frames, n_unnamed;
	const struct snap_module *files[MISSING_FILES];	/* those with most of them first */
	size_t n_files;		/* of files */
	size_t n_more;		/* files that have some, too */
};

/*
 * Of the stacks whose names were looked up, each site's once. What every program has (the C library, allocators) says nothing about this one,
 * and what is in no file (a JIT's code) is no file's fault: they do not count. True: half of them or more have no name, and ret holds; strings are the snapshot's.
 */
bool missing_names__find(const struct snapshot *s, struct missing_names *ret);
/*
 * "72% of the program's frames have no name (nginx, libssl.so.3): install nginx-dbgsym libssl3-dbgsym, or try --debuginfod". install: what to install;
 * NULL: it is not known. debuginfod: servers were asked already. traced: names can still come, else they had to be there
 * when it was recorded. The caller's.
 */
char *missing_names__words(const struct missing_names *m, const char *install, bool debuginfod, bool traced);

/*
 * Of Python, whose names come from the running process alone: "12 of 5,794 stacks have frames of Python without a name: ...",
 * or how often there was no room for any. The caller's; NULL: all have theirs.
 */
char *missing_names__of_python(const struct snapshot *s);

#endif
