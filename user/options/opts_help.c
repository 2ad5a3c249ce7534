// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the help text and the short usage. What always holds: an option that is
 * taken is a row of opts_table.c, and so is in the help.
 *
 *	Targets:
 *	  -p, --pid PID[,PID...]   running processes, all their threads; repeatable
 *	      --as-root            start CMD as root, not as the user who ran sudo
 */
#include <stdlib.h>
#include <string.h>

#include "options/opts_table.h"
#include "util/util.h"

#define HELP_COLUMNS 80
#define HELP_INDENT 27

const char opts__usage[] =
	"usage: malloctrace -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
	"       malloctrace -a|--comm GLOB|--cgroup PATH [OPTION...] [INTERVAL [COUNT]]\n"
	"       malloctrace --container ID|--pod NAME [OPTION...] [INTERVAL [COUNT]]\n"
	"       malloctrace [OPTION...] [INTERVAL [COUNT]] -- CMD [ARG...]\n"
	"       malloctrace report FILE.json... [OPTION...]\n"
	"       malloctrace diff BEFORE.json AFTER.json [OPTION...]\n"
	"       malloctrace heap -p PID[,PID...] [--reachable] [OPTION...]\n"
	"       malloctrace serve [-p PID|-a|...] [--listen ADDR] [OPTION...]\n"
	"       malloctrace doctor [-a | -p PID]\n";

const char opts__serve_usage[] =
	"usage: malloctrace serve [-p PID[,PID...]|-a|--comm GLOB|--cgroup PATH]\n"
	"                         [--listen ADDR] [--token-file FILE] [OPTION...]";

const char opts__heap_usage[] =
	"usage: malloctrace heap -p PID[,PID...]|NAME [--reachable] [--roots] [--pause]\n"
	"                        [--view VIEW] [--full] [--top N] [--json] [-o FILE] [-q]";

const char opts__heap_about[] =
	"What is in the memory of a running process, traced or not: blocks in use by size\n"
	"and type, what is free, where resident memory is; with --reachable, what leaked.\n";

const char opts__serve_about[] =
	"Traces for weeks, and answers over HTTP what Prometheus, Parca, Pyroscope and\n"
	"go tool pprof ask for: /metrics, /debug/pprof/heap, /debug/pprof/allocs, and / for\n"
	"a browser; ?pid=, ?comm=, ?cgroup=, ?container= and ?seconds= narrow. Without a\n"
	"target the whole machine is traced, with --overhead 2.\n";

/* Words from column `at` on, and in further lines from HELP_INDENT on. */
static void print_wrapped(FILE *out, size_t at, const char *text)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (!first && at + 1 + len >= HELP_COLUMNS) {
			fprintf(out, "\n%*s", HELP_INDENT, "");
			at = HELP_INDENT;
			first = true;
		}
		at += (size_t)fprintf(out, "%s%.*s", first ? "" : " ", (int)len, text);
		first = false;
		text += len + (text[len] == ' ');
	}
	fputc('\n', out);
}

/* "  -d, --duration TIME", up to the column of what it does */
static void print_name(FILE *out, const struct row *r)
{
	int at;

	if (!*r->name)
		at = fprintf(out, "  -- ");
	else if (r->letter)
		at = fprintf(out, "  -%c, --%s%s", r->letter, r->name, r->arg ? " " : "");
	else
		at = fprintf(out, "      --%s%s", r->name, r->arg ? " " : "");
	at += fprintf(out, "%s", r->arg ?: "");
	if (at > HELP_INDENT - 2)
		fprintf(out, "\n%*s", HELP_INDENT, "");
	else
		fprintf(out, "%*s", HELP_INDENT - at, "");
}

static void print_row(FILE *out, const struct row *r, bool alone)
{
	const char *own = alone ? r->help_alone : NULL, *preset = own ? NULL : r->preset;
	_cleanup_free_ char *choices = own ? NULL : row__choices(r);
	_cleanup_free_ char *text = xasprintf("%s%s%s%s%s%s", own ?: r->help, choices ? ": " : "", choices ?: "",
					      preset ? " (" : "", preset ?: "", preset ? ")" : "");

	print_name(out, r);
	print_wrapped(out, HELP_INDENT, text);
}

/* flag: of the command whose options they are; 0: all */
static void print_groups(FILE *out, unsigned int flag)
{
	static const char *const titles[N_GROUPS] = {
		"Targets", "Recording", "Heap", "Reporting", "Serving", "Other"
	};

	for (int group = 0; group < N_GROUPS; group++) {
		bool first = true;

		for (size_t i = 0; i < n_opt_rows; i++) {
			const struct row *r = &opt_rows[i];

			if (!r->help || (int)r->group != group || (flag && !(r->flags & flag)))
				continue;
			if (first)
				fprintf(out, "\n%s:\n", titles[group]);
			first = false;
			print_row(out, r, flag);
		}
	}
}

static void print_brief(FILE *out)
{
	fprintf(out,
		"usage: malloctrace -p PID [OPTION...] [INTERVAL [COUNT]]\n"
		"       malloctrace -a [OPTION...] [INTERVAL [COUNT]]\n"
		"       malloctrace [OPTION...] -- CMD [ARG...]\n\n"
		"Shows which call stacks of a running program hold its memory: live on a\n"
		"terminal, as a report at the end, every INTERVAL seconds, or in files.\n\n"
		"Options:\n");
	for (size_t i = 0; i < n_opt_rows; i++) {
		if (!opt_rows[i].brief)
			continue;
		print_name(out, &opt_rows[i]);
		fprintf(out, "%s\n", opt_rows[i].brief);
	}
	fprintf(out,
		"\nCommands:\n"
		"  report FILE.json...      show a saved profile again, in any view or format\n"
		"  diff OLD.json NEW.json   show what grew and what shrank, by call stack\n"
		"  heap -p PID              show a process's heap and RSS, without a trace\n"
		"  serve                    trace for weeks, for Prometheus, Parca and pprof\n"
		"  doctor [-p PID]          show what this kernel and user can do\n\n"
		"Examples:\n"
		"  sudo malloctrace -p nginx              the live view; q ends it with a report\n"
		"  sudo malloctrace -p 4711 -d 30 -o leak.html\n"
		"  sudo malloctrace --reachable -p 4711 -d 60\n\n"
		"malloctrace --help all lists every option, heap --help and serve --help those\n"
		"of a command; man malloctrace explains them.\n");
}

void opts__help(FILE *out, const struct command_row *of, bool all)
{
	if (of && of->usage) {
		fprintf(out, "%s\n\n%s", of->usage, of->about);
		print_groups(out, of->flag);
		fprintf(out, "\nIn parentheses: the default. %s\n", of->exits);
		return;
	}
	if (!all) {
		print_brief(out);
		return;
	}
	fprintf(out, "%s\n"
		"Which call stacks of a running program hold its memory, exactly.\n"
		"With INTERVAL, a report every so many seconds, COUNT times. doctor reports what\n"
		"this kernel and user can do, what is missing and how to fix it. report shows\n"
		"profiles again that -o FILE.json wrote, diff shows what grew from one to the\n"
		"other; neither needs privileges. heap reads the memory of a process, traced or\n"
		"not: what is in use, what is free, and what no pointer leads to (heap --help).\n", opts__usage);
	print_groups(out, 0);
	fprintf(out,
		"\nIn parentheses: the default. Sizes take K, M and G; ages take\n"
		"ns, us, ms, s, m and h.\n"
		"Exit: 0 done; 1 failed; 2 usage; 3 done, but something was lost (the report\n"
		"says what); 4 diff --fail-over. With -- CMD, the exit status is CMD's.\n");
}
