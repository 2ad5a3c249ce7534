/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Whether the options go together, for opts.c alone. */
#ifndef MT_OPTS_CHECK_H
#define MT_OPTS_CHECK_H

#include "options/opts_table.h"

/* A first word that says what to do, other than to trace. */
struct command_row {
	const char *name;
	enum command command;
	unsigned int flag;	/* of the options that it takes */
	size_t min_files, max_files;
	bool takes_target;	/* words are processes, as -p takes them */
	const char *usage;	/* of a command that has a help of its own; NULL: that of all */
	const char *about, *exits;	/* then, too */
};

extern const struct command_row opt_commands[];
extern const size_t n_opt_commands;

struct asked {
	struct opts *o;
	const struct command_row *command;	/* NULL: a trace */
	struct given given[OPT_ROWS_MAX];	/* the last one of each, in the order of opt_rows */
};

/* NULL: not given. */
const struct given *asked__find(const struct asked *a, const char *name);

/* An option that selects running processes. NULL: none was given. */
const struct given *asked__target(const struct asked *a);

/* -EINVAL: what does not go together, and why. --tag thread brings --by thread along. */
int opts__check(const struct asked *a, struct err *e);
/* The same of outputs, once --json and --format have added theirs. */
int opts__check_outputs(const struct opts *o, struct err *e);

#endif
