/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A file of -o, or of --cmd-output: written beside its place and moved there when it is whole, so
 * that nothing that goes wrong damages what was there before.
 */
#ifndef MT_OUTFILE_H
#define MT_OUTFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "util/err.h"
#include "util/util.h"

struct outfile {
	FILE *f;		/* write here */
	char *path;		/* owned */
	char *tmp;		/* owned; the name beside path until commit; NULL: written directly */
	int dir_fd;		/* where both are; -1: written directly */
};

/*
 * Could path be written, as far as can be known without touching anything? To
 * be called before a long trace. Nothing is created, truncated or opened for
 * writing.
 */
int outfile__check(const char *path, struct err *e);

/* A descriptor (O_PATH, the caller's) of the directory of a file that was checked, whatever its path names by now; or -errno. */
int outfile__dir(const char *path, const char **ret_name);

/* As messages name it. */
const char *outfile__name(const char *path);

/*
 * "-" is standard output, as are /dev/stdout and the like for their
 * descriptors. /dev/null and /dev/tty are written directly; FIFOs, sockets and
 * other devices are refused. A symbolic
 * link in the place of the file is refused: another user may have put it
 * there. *ret is untouched on failure.
 */
int outfile__open(struct outfile *ret, const char *path, struct err *e);
/* 0, or -errno of a write that failed. */
int outfile__error(struct outfile *o);
/* Either one ends an open file, whatever it returns; abort leaves no trace. */
int outfile__commit(struct outfile *o, struct err *e);
void outfile__abort(struct outfile *o);

/*
 * The n-th snapshot's name: "leak.1.html" for "leak.html". What is no regular
 * file ("-", /dev/null) keeps its name. The caller's.
 */
char *outfile__numbered(const char *path, unsigned int n);

/* ---- names of files that are written again and again: %t time, %p pid, %n number; and how many of them --keep leaves. */

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
