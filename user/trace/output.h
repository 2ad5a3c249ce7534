/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where snapshots go: standard output and the files of -o, with the names that each needs. */
#ifndef MT_OUTPUT_H
#define MT_OUTPUT_H

#include "elf/debugfile.h"
#include "files/export.h"
#include "files/outfile.h"
#include "model/filter.h"
#include "model/snapshot.h"
#include "model/tags.h"
#include "names/names.h"
#include "names/source.h"
#include "names/sym.h"
#include "options/opts.h"
#include "present/telling.h"

struct output {
	const struct opts *opts;	/* not owned */
	struct sym *sym;
	struct debuginfod *debuginfod;	/* NULL unless requested */
	struct names *names;	/* what else looks names up, while a screen is up; else NULL; not owned */
	struct export_opts export;
	struct tellings tellings;	/* of what is written */
	struct filter filter;
	struct tagger tagger;
	struct outname_series *series;	/* by -o: what was written under a name with %t, %p or %n */
	unsigned int n_written;	/* %n */
	uint64_t began_ns;	/* writing, as long as nothing is shown of it; else 0 */
	bool shows_progress;
	bool said_tags;		/* which of them are on no stack */
	bool said_source;	/* which source files could not be read */
	bool writes_any;	/* a file of any format is about to be requested */
	const struct export_format *to_stdout;	/* never NULL: text without -o - */
};

/* Checks that every file of -o could be written, before anything else is done. */
int output__init(struct output *o, const struct opts *opts, struct err *e);
void output__done(struct output *o);
/* Is there a report on standard output at the end? */
bool output__prints(const struct output *o);
/* Do people read what is written at the end: a report, a page? */
bool output__is_read(const struct output *o);
/* Does anything that may be written next have ages by class? They cost more than a scan does. */
bool output__has_age_classes(const struct output *o);

/* A report on standard output. -EPIPE, without a message: its reader has seen enough, as `| head` does. */
int output__print(struct output *o, struct snapshot *s, struct err *e);
/*
 * Every file of -o, or (series_only) those whose name is a pattern; n: its number for SIGUSR1, 0 for the last one. All are tried;
 * the first error is returned.
 */
int output__write_files(struct output *o, struct snapshot *s, unsigned int n, bool series_only, struct err *e);
/* All files of -o, and what goes to standard output. */
int output__write_last(struct output *o, struct snapshot *s, struct err *e);
/*
 * Names for the only stack of s, as far as its telling frame and the n_frames from there on; all of
 * them, if that decides whether it is shown. False: --filter and its like hide it.
 */
bool output__name_stack(struct output *o, struct snapshot *s, size_t n_frames);
/* What is said where half of the names are missing, with packages to install; the caller's. NULL: they are not. */
char *output__missing_names(const struct output *o, const struct snapshot *s);
/* Is there a file of -o, besides standard output? */
bool output__has_files(const struct output *o);
/* What there is of the first file of -o, if its name is a pattern; NULL: no -o. The last one of them is the newest. */
const struct outname_series *output__kept(const struct output *o);
/* The same into a stream, for whoever asks for it; shown_first: as of struct export_opts. */
int output__write_stream(struct output *o, struct snapshot *s, const struct export_format *f, const char *shown_first, FILE *out, struct err *e);
/* One file more, named by the user; its suffix says the format. */
int output__write(struct output *o, struct snapshot *s, const char *path, struct err *e);

#endif
