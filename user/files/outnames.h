/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Names of files that are written again and again: %t time, %p pid, %n number; and how many of them --keep leaves. */
#ifndef MT_OUTNAMES_H
#define MT_OUTNAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "util/err.h"
#include "util/util.h"

bool outname__is_pattern(const char *path);	/* does the name change from one to the next? */
bool outname__has_time(const char *path);
bool outname__is_well_formed(const char *path);	/* every % is followed by t, p, n or % */
/*
 * "heap-20261115T080131.json"; the time is local, so that names sort as the files were written. The
 * caller's.
 */
char *outname__expand(const char *path, int64_t wall_ns, pid_t pid, unsigned int n);

struct outname_keep {		/* 0, 0: all */
	unsigned int files;	/* 0: any number of them */
	uint64_t bytes;		/* of all together; 0: any */
};

struct outname_file {
	char *path;		/* owned */
	dev_t dev;
	ino_t ino;		/* these are used again: hence the time */
	struct timespec changed;
	uint64_t bytes;
};

struct outname_series {		/* the files of one name, the oldest first */
	struct vec(struct outname_file) files;
	/* owned: what the pattern gave last, without the number that made it another's; NULL: nothing yet */
	char *expanded;
};

/*
 * A file was written: the oldest go until the others are within `keep`; the last one always stays. One that is
 * not the file any more that was written there is left alone. -errno: one could
 * not be removed, which is tried once.
 */
int outname_series__add(struct outname_series *s, const char *path, const struct outname_keep *keep, struct err *e);
/*
 * Files that the pattern names and that are there: earlier runs have left them, and from here on they count as written by this one.
 * Only regular files of our own user, in a directory whose name is no pattern.
 */
void outname_series__find(struct outname_series *s, const char *pattern);
/* Could the pattern, or what makes two names of it differ, have given this name? */
bool outname__matches(const char *pattern, const char *name);
void outname_series__done(struct outname_series *s);

#endif
