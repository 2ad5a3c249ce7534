/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* argv → struct opts. The table of options (opts_table.c) is also the help text. */
#ifndef MT_OPTS_H
#define MT_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "files/outfile.h"
#include "present/views.h"
#include "recording/recording.h"
#include "serve/serve.h"
#include "util/err.h"

enum command { CMD_TRACE, CMD_HEAP, CMD_DOCTOR, CMD_HELP, CMD_VERSION, CMD_REPORT, CMD_DIFF, CMD_COMPLETION };

struct opt_words {
	char **v;		/* owned, each of them too */
	size_t n, room;
};

struct opt_pids {
	pid_t *v;
	size_t n, room;
};

struct opts {
	enum command command;
	struct strings files;	/* of `report`, at least one, and `diff`, two */

	/* targets */
	struct opt_pids pids;	/* no pid twice */
	struct opt_words names;	/* -p NAME: of processes whose pids are still to be found */
	bool all;		/* -a */
	struct strings comms, cgroups;	/* --comm, --cgroup */
	struct strings containers, pods;	/* --container, --pod: their cgroups are still to be found */
	struct opt_words found_cgroups;		/* those, once they are among cgroups */
	bool follow;		/* -f */
	char **cmd;		/* argv of -- CMD; NULL without; points into argv */
	bool as_root;
	const char *cmd_output;	/* --cmd-output: the file that CMD writes to; NULL: where malloctrace does */
	struct strings objects, syms;	/* -O, --sym */
	const char *prefix;

	/* recording */
	struct recording recording;
	struct strings withins;	/* --within */
	char *within_names;		/* owned: recording.within */
	struct strings tags;	/* --tag; "thread" among them: by is "thread" */
	struct strings whens;	/* --when, good ones */
	uint64_t pause_ns;		/* 10 s */
	struct strings start_on, stop_on, marks;	/* --start-on, --stop-on, --mark */

	const struct command_row *help_of;	/* CMD_HELP: of this command; NULL: of all */
	bool help_all;			/* `--help all` */

	/* the heap as it is: `heap`, and a trace */
	bool reachable;			/* --reachable: search for pointers to blocks */
	bool no_reachable;		/* --no-reachable: do not search unasked at the end */
	bool roots;			/* --roots: who holds them; reachable, too */
	bool pause;			/* --pause: stop the process meanwhile */
	bool exact;			/* --exact: the same, of --mode leak */

	/* reporting */
	uint64_t interval_ns, duration_ns;	/* 0: none */
	uint64_t count;			/* of interval reports; 0: no end */
	struct strings outputs;	/* -o; "-" also for --json and --format; none twice */
	const char *format;		/* of -o -; "text" */
	bool batch, json;
	int verbosity;			/* enum log_level */
	unsigned int views;		/* enum view_bit; 0: by what was recorded and of how many */
	const char *by;			/* "process", "thread", "comm", "cgroup", "none"; NULL: not given */
	const char *metric;		/* "live-bytes"; `report` and `diff`: NULL, by what was recorded */
	const char *sort;		/* NULL: by view */
	unsigned int top;		/* 0: 10, or what the screen has room for; with --full: all */
	bool full;
	uint64_t between_from_ns, between_to_ns;	/* `report`; 0, 0: not given, or between marks */
	const char *between;		/* the same as it was given; NULL: not given */
	size_t between_comma;		/* where the second moment begins, less one */
	uint64_t leak_after_ns;		/* 20 s */
	double threshold_pct;		/* 0.5 */
	const char *tree;		/* "callers", "callees" */
	struct outname_keep keep;	/* --keep */
	const char *filter, *hide;	/* regular expressions; NULL: none */
	const char *suppressions;	/* a file; NULL: none */
	uint64_t fail_over;		/* `diff`; UINT64_MAX: not given */
	bool events;			/* lines on standard output; recording is precise then */
	bool no_inlines, no_source;
	bool embed_source;
	bool debuginfod;
	const char *completion;		/* CMD_COMPLETION: the shell */
	struct serve_options serve;
};

/*
 * 0, or -EINVAL with a message that names the option, what was given and what
 * is taken (the caller prints it and exits 2). Without any target: -EINVAL
 * with the short usage as the message.
 */
int opts__parse(struct opts *o, int argc, char **argv, struct err *e);
void opts__done(struct opts *o);
void opts__help(FILE *out, const struct command_row *of, bool all);	/* of: NULL for all commands; all: every option, not a screen */
extern const char opts__usage[];	/* the short one */
extern const char opts__heap_usage[], opts__heap_about[];	/* of `heap` */
extern const char opts__serve_usage[], opts__serve_about[];

/* --view blocks: how many are listed, 0: none; the oldest first, or the largest. */
#define OPTS_MAX_BLOCKS 1000000u
unsigned int opts__n_blocks(const struct opts *o);
bool opts__oldest_blocks(const struct opts *o);

bool opts__has_output(const struct opts *o, const char *output);	/* was it named? */
bool opts__has_series(const struct opts *o);	/* is there a file of -o for each interval? */
void opts__add_pid(struct opts *o, pid_t pid);	/* unless it is among them */
/* "text", "json", ...: the format of one of o->outputs. */
const char *opts__output_format(const struct opts *o, const char *output);

/* ---- completion scripts for shells, made from the table of options (opts_help.c) */

#define COMPLETION_SHELLS "bash zsh fish"

/* The script of one of COMPLETION_SHELLS; nothing of another one. */
void complete__print(FILE *out, const char *shell);

#endif
