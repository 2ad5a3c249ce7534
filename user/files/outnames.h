/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Names of files that are written again and again: %t time, %p pid, %n number; and --keep N of them. */
#ifndef MT_OUTNAMES_H
#define MT_OUTNAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "util/err.h"
#include "util/util.h"

bool outname__is_pattern(const char *path);	/* does the name change from one to the next? */
bool outname__is_well_formed(const char *path);	/* every % is followed by t, p, n or % */
/*
 * "heap-20261115T080131.json"; the time is local, so that names sort as the files were written. The
 * caller's; NULL without memory.
 */
char *outname__expand(const char *path, int64_t wall_ns, pid_t pid, unsigned int n);

struct outname_file {
	char *path;		/* owned */
	dev_t dev;
	ino_t ino;		/* these are used again: hence the time */
	struct timespec changed;
};

struct outname_series {		/* the files of one name, the oldest first */
	struct vec(struct outname_file) files;
	/* owned: what the pattern gave last, without the number that made it another's; NULL: nothing yet */
	char *expanded;
};

/*
 * A file was written: those beyond the last `keep` go (0: all stay). One that is
 * not the file any more that was written there is left alone. -errno: one could
 * not be removed, which is tried once.
 */
int outname_series__add(struct outname_series *s, const char *path, unsigned int keep, struct err *e);
void outname_series__done(struct outname_series *s);

#endif
