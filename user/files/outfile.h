/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A file of -o, or of --cmd-output: written beside its place and moved there when it is whole, so
 * that nothing that goes wrong damages what was there before.
 */
#ifndef MT_OUTFILE_H
#define MT_OUTFILE_H

#include <stdio.h>

#include "util/err.h"

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

#endif
