/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Lines of source files, for --view source and --embed-source. The names of these files come from the target's debug
 * information, which may name any file: what is not everybody's to read is not shown.
 */
#ifndef MT_SOURCE_H
#define MT_SOURCE_H

#include <stdint.h>

#include "model/snapshot.h"

#define SOURCE_PATH_MAX 1024
#define SOURCE_AROUND 4		/* lines before and after one that is named */

struct sources_read {
	size_t n_files, n_missing;	/* that were asked for; of these, not read */
	char path[SOURCE_PATH_MAX];	/* of the first that was not, and why */
	const char *why;
	bool cut;		/* there is more than is taken */
	bool elsewhere;		/* the profile is of another machine: nothing was looked for here */
};

/*
 * Adds to s->sources the lines around all that its named places name, from files that can be read on this machine. What a
 * profile brought with it stays. Names must be known. 0 or
 */
void sources__read(struct snapshot *s, uint32_t around, struct sources_read *ret);

/* All lines of one file, for a screen. */
struct source_file {
	struct snap_source lines;
	const char *why;	/* it could not be read; NULL: it was */
	char path[SOURCE_PATH_MAX];
	char *file, *dir;	/* owned; what lines has of them */
};

/* The file that a line of a module names. */
struct source_file *source_file__read(const struct line *l, const char *module);
void source_file__free(struct source_file *f);

#endif
