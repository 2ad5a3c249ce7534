/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The formats of -o FILE and --format: to add one is to add a row below and a file NAME.c that
 * defines NAME__write().
 */
#ifndef MT_EXPORT_H
#define MT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/snapshot.h"
#include "present/text/report.h"
#include "util/err.h"

/* What a page that shows a diff is made of; the names are those of the files. */
struct export_compared {
	const struct snapshot *before, *after;
	const char *before_name, *after_name;
};

struct export_opts {
	const struct metric *metric;	/* NULL: metric__preset() */
	struct report_opts report;	/* for text; older_ns and tellings also for html */
	/*
	 * what is lighter is folded away, where a format does that; 0: EXPORT_THRESHOLD_PCT, below
	 * 0: nothing
	 */
	double threshold_pct;
	const struct export_compared *compared;	/* for html; NULL: it is one profile */
	bool served;		/* for html: who opens it may ask for others */
	const char *shown_first;	/* for pprof: a sample type; NULL: what is live, where that is known */
};

#define EXPORT_THRESHOLD_PCT 0.5
double export__threshold_pct(const struct export_opts *o);

struct export_format {
	const char *name;	/* --format */
	const char *suffix;	/* -o FILE */
	/* 0 or -errno; the caller checks ferror(out) once more when it closes the file */
	int (*write)(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e);
	bool needs_all_names;	/* else those of report__shown are enough */
	bool carries_source;	/* lines of source files, if --embed-source asks for them */
	bool carries_heaps;	/* what `malloctrace heap` found can be written so */
	bool carries_ages;	/* exact ones: the block table must be scanned for each */
	bool for_people;	/* of a whole machine it has a row for each program; others have each process */
	unsigned int needs;	/* enum counter_bit: without them there is nothing to write */
};

/* NULL: none. path: the longest suffix counts. */
const struct export_format *export__find_by_path(const char *path);
const struct export_format *export__find_by_name(const char *name);
/* Bytes at the end of path that are the suffix of a format; 0: none. */
size_t export__suffix_len(const char *path);
/* name, suffix, and what else struct export_format has */
#define EXPORT_FORMATS(F) \
	F(text, ".txt", .carries_heaps = true, .for_people = true) \
	F(json, ".json", .needs_all_names = true, .carries_ages = true, .carries_source = true, .carries_heaps = true) \
	F(folded, ".folded", .needs_all_names = true) \
	F(pprof, ".pb.gz", .needs_all_names = true) \
	F(speedscope, ".speedscope.json", .needs_all_names = true) \
	F(dhat, ".dhat.json", .needs_all_names = true, .carries_ages = true, .needs = HAS_LIVE_BYTES | HAS_PEAK_BYTES) \
	F(massif, ".massif", .needs_all_names = true, .needs = HAS_LIVE_BYTES) \
	F(callgrind, ".callgrind", .needs_all_names = true) \
	F(dot, ".dot", .needs_all_names = true) \
	F(html, ".html", .needs_all_names = true, .carries_ages = true, .carries_source = true, .carries_heaps = true, .for_people = true)

#define EXPORT_DECLARED(name, ...) int name##__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e);
EXPORT_FORMATS(EXPORT_DECLARED)

/* For messages: "text json folded", ".txt .json .folded". */
#define EXPORT_NAME(name, ...) " " #name
#define EXPORT_SUFFIX(name, suffix, ...) " " suffix
#define EXPORT_NAMES (EXPORT_FORMATS(EXPORT_NAME) + 1)
#define EXPORT_SUFFIXES (EXPORT_FORMATS(EXPORT_SUFFIX) + 1)

#endif
