/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What programs of Python say of their own stacks (tests/fixtures/python/noted.py), compared with a report: functions, files and lines
 * have to be equal, from the innermost frame to the outermost, in all of them. A block's size tells which stack it belongs to.
 *
 * LIVE_TESTS_PYTHON: the Python to run, instead of python3.
 */
#ifndef LT_PYTHON_TRUTH_H
#define LT_PYTHON_TRUTH_H

#include "chain.h"

enum how {
	MERGED,			/* Python frames where they run, native ones between them */
	ONLY,			/* no others */
	CUT,			/* as merged; deeper than --depth */
	LATE,			/* as merged; a library that was loaded a moment before may have no tables yet, and what goes through it is unsure */
};

struct truth {
	pid_t pid;
	json_t *root, *sites;
	uint64_t first, step, *n_seen;
};

/* The Python that a command runs, as a path; skips the test if there is none, or it is too old. */
const char *python_of(struct test *t, const char *command);
const char *python(struct test *t);
/* A program of tests/fixtures/python, which leaves its truth in t->dir. Its arguments end with NULL. */
void start_python(struct test *t, struct fx *f, const char *python, const char *program, ...);

struct truth read_truth(struct test *t, pid_t pid);
bool has_true_frame(json_t *truth, const char *function);
/* Of the truth's process; NULL: it is nobody's who has a tag. Tells of one whose blocks are of several stacks. */
json_t *truth_of(struct test *t, struct truth *tr, json_t *site, size_t *ret_i);
/* All blocks of a process that has left its truth behind. Returns how many. */
uint64_t want_truth(struct test *t, json_t *root, pid_t pid, enum how how);

/* Of frames in a report. */
bool is_python(json_t *frame);
bool is_eval(json_t *frame);	/* the function that runs frames */
size_t count_frames(json_t *site, bool (*which)(json_t *frame));
bool has_python_frame(json_t *site, const char *function);

#endif
