/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The table of options, for opts*.c alone: a row is how an option is parsed, and its help text. */
#ifndef MT_OPTS_TABLE_H
#define MT_OPTS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "options/opts.h"

#define OPT_NAME_MAX 32
#define OPT_ROWS_MAX 100
/* `heap` alone: an option of a trace may have its name, and mean another thing. */
#define HEAP_ALONE (HEAP | NO_TRACE)
#define SERVE_ALONE (SERVE | NO_TRACE)

enum group { TARGETS, RECORDING, HEAPS, REPORTING, SERVING, OTHER, N_GROUPS };

enum row_flag {
	DOCTOR = 2,	/* means something to `doctor` too */
	REPORT = 4,	/* ... to `report` */
	DIFF = 8,	/* ... to `diff` */
	NO_TRACE = 16,	/* and nothing to a trace */
	HEAP = 32,	/* ... to `heap` */
	SERVE = 64,	/* ... to `serve`, which is a trace */
};

/* What a shell offers for a value that is no choice. */
enum fill { FILL_NOTHING, FILL_FILES, FILL_PIDS, FILL_COMMS, FILL_CGROUPS, FILL_CONTAINERS, FILL_PODS };

struct given;

struct row {
	char letter;		/* 0: none */
	const char *name;	/* "" for the line of `-- CMD`, which is no option */
	const char *arg;	/* NULL: a flag */
	enum group group;
	unsigned int flags;
	int (*take)(struct opts *o, const struct given *g, struct err *e);
	size_t field;		/* offset in struct opts; 0 (`command`): only checked */
	uint64_t min, max;	/* of a number; min alone: what a flag stands for */
	const char *choices;	/* of a choice; separated by spaces */
	const struct choices *of;	/* of one that is an enum */
	const char *(*words)(void);	/* or what gives its choices */
	enum fill fill;
	const char *help;	/* NULL: for tests, in no help and no completion */
	const char *preset;	/* what holds without the option, in words */
	const char *brief;	/* in --help, the short one; NULL: not there */
	const char *help_alone;	/* in the help of a command that has its own: all that is said there; NULL: the same */
};

/* An option as it stood in argv. */
struct given {
	const struct row *row;	/* NULL: not given */
	char as[OPT_NAME_MAX + 3];	/* "-p" or "--pid" */
	const char *val;
};

extern const struct row opt_rows[];
extern const size_t n_opt_rows;

/* What it takes: "a b c", to be freed; NULL if that is no choice */
char *row__words(const struct row *r);
/* The same as "a, b or c" */
char *row__choices(const struct row *r);
void opts__add_output(struct opts *o, const char *output);

/* ---- what turns the text of a value into a field of struct opts, by the kind of value (opts_values.c) */

typedef int take_value(struct opts *o, const struct given *g, struct err *e);
take_value take_flag, take_string, take_list, take_size, take_room, take_number, take_keep,
	take_age, take_between, take_duration, take_percent, take_choice, take_enum,
	take_threshold, take_regex, take_pids, take_when, take_sym, take_function, take_tag,
	take_output, take_views, take_verbosity, take_command, take_completion;

/* ---- whether options go together (opts_check.c) */

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

/* The first, in the order of the table, of these options, whose names have spaces between them. NULL: none was given. */
const struct given *asked__find(const struct asked *a, const char *names);
bool in_words(const char *words, const char *w, size_t len);

/* An option that selects running processes. NULL: none was given. */
const struct given *asked__target(const struct asked *a);

/* -EINVAL: what does not go together, and why. --tag thread brings --by thread along. */
int opts__check(const struct asked *a, struct err *e);
/* The same of outputs, once --json and --format have added theirs. */
int opts__check_outputs(const struct opts *o, struct err *e);

#endif
