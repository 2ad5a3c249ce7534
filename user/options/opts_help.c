// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the help text, the short usage, and completion scripts. What always holds: an option that is
 * taken is a row of opts_table.c, and so is in the help.
 *
 *	Targets:
 *	  -p, --pid PID[,PID...]   running processes, all their threads; repeatable
 *	      --as-root            start CMD as root, not as the user who ran sudo
 */
#include <stdlib.h>
#include <string.h>

#include "options/opts.h"
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

/* ---- completion scripts */

/*
 * Owns what shells are told about options: a script of completion/ with its
 * lines that begin with @ replaced by what the tables of options and commands
 * have. What always holds: a shell offers what this malloctrace takes, to
 * each command what means something to it.
 */

#define BRIEF 60

static const char bash_script[] =
#include "completion.bash.h"
;
static const char zsh_script[] =
#include "completion.zsh.h"
;
static const char fish_script[] =
#include "completion.fish.h"
;

/* ---- what is the same for all */

static bool is_offered(const struct row *r)
{
	return *r->name && r->help;
}

/* NULL: of a trace. */
static bool takes(const struct command_row *c, const struct row *r)
{
	if (!is_offered(r))
		return false;
	return c ? r->flags & c->flag : !(r->flags & NO_TRACE);
}

static bool is_list(const struct row *r)
{
	return r->arg && strstr(r->arg, "[,");
}

/* The first clause of the help, and what is before a colon if that is still long: a menu has room for a few words. */
static size_t brief_len(const struct row *r)
{
	const char *colon = strchr(r->help, ':'), *paren = strstr(r->help, " (");
	size_t len = strcspn(r->help, ";");

	if (paren && paren < r->help + len)
		len = (size_t)(paren - r->help);
	if (len > BRIEF && colon && colon < r->help + len)
		len = (size_t)(colon - r->help);
	return len;
}

/* Between single quotes; what is special there has `before` before it, the quote itself is `quote`. */
static void put_quoted(FILE *out, const char *s, size_t len, const char *special, const char *before, const char *quote)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\'')
			fputs(quote, out);
		else
			fprintf(out, "%s%c", strchr(special, s[i]) ? before : "", s[i]);
	}
}

/* "-p<between>--pid" */
static void put_names(FILE *out, const struct row *r, const char *between)
{
	if (r->letter)
		fprintf(out, "-%c%s", r->letter, between);
	fprintf(out, "--%s", r->name);
}

static void put_commands(FILE *out)
{
	for (size_t i = 0; i < n_opt_commands; i++)
		fprintf(out, "%s%s", i ? " " : "", opt_commands[i].name);
}

static void put_valued(FILE *out)
{
	for (size_t i = 0, n = 0; i < n_opt_rows; i++) {
		if (!is_offered(&opt_rows[i]) || !opt_rows[i].arg)
			continue;
		fputs(n++ ? " " : "", out);
		put_names(out, &opt_rows[i], " ");
	}
}

/* `print` of each command that there is, and of a trace last. */
static void each_command(FILE *out, void (*print)(FILE *out, const char *name, const struct command_row *c))
{
	for (size_t i = 0; i < n_opt_commands; i++)
		print(out, opt_commands[i].name, &opt_commands[i]);
	print(out, "trace", NULL);
}

/* ---- bash: names alone, it shows nothing else */

/*	report) echo '-o --output --json' ;; */
static void bash_command(FILE *out, const char *name, const struct command_row *c)
{
	fprintf(out, "\t%s) echo '", name);
	for (size_t i = 0, n = 0; i < n_opt_rows; i++) {
		if (!takes(c, &opt_rows[i]))
			continue;
		fputs(n++ ? " " : "", out);
		put_names(out, &opt_rows[i], " ");
	}
	fputs("' ;;\n", out);
}

static void bash_options(FILE *out)
{
	each_command(out, bash_command);
}

/* To another command the same name takes no value. */
static void put_flag_elsewhere(FILE *out, const struct row *r)
{
	for (size_t i = 0; i < n_opt_rows; i++) {
		const struct row *other = &opt_rows[i];

		if (other == r || other->arg || !is_offered(other) || strcmp(other->name, r->name))
			continue;
		for (size_t k = 0; k < n_opt_commands; k++)
			if (takes(&opt_commands[k], other))
				fprintf(out, " [ \"$command\" != %s ] || return 1;", opt_commands[k].name);
	}
}

/*	--view) kind=words words='live allocs' list=1 ;; */
static void bash_values(FILE *out)
{
	static const char *const kinds[] = {
		[FILL_NOTHING] = "none", [FILL_FILES] = "files", [FILL_PIDS] = "pids", [FILL_COMMS] = "comms",
		[FILL_CGROUPS] = "cgroups", [FILL_CONTAINERS] = "containers", [FILL_PODS] = "pods",
	};

	for (size_t i = 0; i < n_opt_rows; i++) {
		const struct row *r = &opt_rows[i];
		_cleanup_free_ char *words = row__words(r);

		if (!is_offered(r) || !r->arg)
			continue;
		fputc('\t', out);
		put_names(out, r, " | ");
		fputs(")", out);
		put_flag_elsewhere(out, r);
		if (words)
			fprintf(out, " kind=words words='%s'", words);
		else
			fprintf(out, " kind=%s", kinds[r->fill]);
		fprintf(out, "%s ;;\n", is_list(r) ? " list=1" : "");
	}
}

/* ---- zsh: the specifications of _arguments */

static void zsh_action(FILE *out, const struct row *r)
{
	static const char *const actions[] = {
		[FILL_NOTHING] = " ", [FILL_FILES] = "_files", [FILL_PIDS] = "_sequence _malloctrace_pids",
		[FILL_COMMS] = "_malloctrace_comms", [FILL_CGROUPS] = "_malloctrace_cgroups",
		[FILL_CONTAINERS] = "_malloctrace_containers", [FILL_PODS] = "_malloctrace_pods",
	};
	_cleanup_free_ char *words = row__words(r);

	if (words && is_list(r))
		fprintf(out, "_sequence compadd - %s", words);
	else if (words)
		fprintf(out, "(%s)", words);
	else
		fputs(actions[r->fill], out);
}

/*	'(-f --follow)'{-f,--follow}'[also the children]'
 *	'*'{-p+,--pid=}'[running processes]:PID:_sequence _malloctrace_pids'	a value that is given again is added, or is the last one
 */
static void zsh_row(FILE *out, const struct row *r)
{
	if (r->arg)
		fputs("'*'", out);
	else if (r->letter)
		fprintf(out, "'(-%c --%s)'", r->letter, r->name);
	if (r->letter)
		fprintf(out, "{-%c%s,--%s%s}'[", r->letter, r->arg ? "+" : "", r->name, r->arg ? "=" : "");
	else
		fprintf(out, "'--%s%s[", r->name, r->arg ? "=" : "");
	put_quoted(out, r->help, brief_len(r), "[]:\\", "\\", "'\\''");
	fputc(']', out);
	if (r->arg) {
		fputc(':', out);
		put_quoted(out, r->arg, strcspn(r->arg, "["), ":\\", "\\", "'\\''");
		fputc(':', out);
		zsh_action(out, r);
	}
	fputs("'", out);
}

static void zsh_command(FILE *out, const char *name, const struct command_row *c)
{
	fprintf(out, "\t%s) options=(\n", name);
	for (size_t i = 0; i < n_opt_rows; i++) {
		if (!takes(c, &opt_rows[i]))
			continue;
		fputs("\t\t", out);
		zsh_row(out, &opt_rows[i]);
		fputc('\n', out);
	}
	fputs("\t) ;;\n", out);
}

static void zsh_options(FILE *out)
{
	each_command(out, zsh_command);
}

/* ---- fish: a line for each option */

static void fish_value(FILE *out, const struct row *r)
{
	static const char *const values[] = {
		[FILL_NOTHING] = " -x", [FILL_FILES] = " -r -F", [FILL_PIDS] = " -x -a '(__fish_complete_list , __malloctrace_pids)'",
		[FILL_COMMS] = " -x -a '(__malloctrace_comms)'", [FILL_CGROUPS] = " -x -a '(__malloctrace_cgroups)'",
		[FILL_CONTAINERS] = " -x -a '(__malloctrace_containers)'", [FILL_PODS] = " -x -a '(__malloctrace_pods)'",
	};
	_cleanup_free_ char *words = row__words(r);

	if (words && is_list(r))
		fprintf(out, " -x -a '(__fish_complete_list , \"printf \\'%%s\\\\\\\\n\\' %s\")'", words);
	else if (words)
		fprintf(out, " -x -a '%s'", words);
	else
		fputs(values[r->fill], out);
}

/* complete -c malloctrace -n '__malloctrace_is trace report' -s o -l output -r -F -d 'write at the end' */
static void fish_options(FILE *out)
{
	for (size_t i = 0; i < n_opt_rows; i++) {
		const struct row *r = &opt_rows[i];

		if (!is_offered(r))
			continue;
		fputs("complete -c malloctrace -n '__malloctrace_is", out);
		if (takes(NULL, r))
			fputs(" trace", out);
		for (size_t j = 0; j < n_opt_commands; j++)
			if (takes(&opt_commands[j], r))
				fprintf(out, " %s", opt_commands[j].name);
		fputc('\'', out);
		if (r->letter)
			fprintf(out, " -s %c", r->letter);
		fprintf(out, " -l %s", r->name);
		if (r->arg)
			fish_value(out, r);
		fputs(" -d '", out);
		put_quoted(out, r->help, brief_len(r), "\\", "\\", "\\'");
		fputs("'\n", out);
	}
}

/* ---- scripts */

/* A mark in a script, and what takes its place. */
struct part {
	const char *mark;
	void (*print)(FILE *out);
};

#define COMMON_PARTS { "@COMMANDS", put_commands }, { "@VALUED", put_valued }

static const struct script {
	const char *shell, *text;
	struct part parts[5];	/* up to one without a mark */
} scripts[] = {
	{ "bash", bash_script, { COMMON_PARTS, { "@OPTIONS\n", bash_options }, { "@VALUES\n", bash_values } } },
	{ "zsh", zsh_script, { COMMON_PARTS, { "@OPTIONS\n", zsh_options } } },
	{ "fish", fish_script, { COMMON_PARTS, { "@OPTIONS\n", fish_options } } },
};

static const struct part *part_at(const struct script *script, const char *s)
{
	for (const struct part *p = script->parts; p->mark; p++)
		if (!strncmp(s, p->mark, strlen(p->mark)))
			return p;
	return NULL;
}

static void put_script(FILE *out, const struct script *script)
{
	for (const char *s = script->text; *s; ) {
		const struct part *p = part_at(script, s);

		if (p) {
			p->print(out);
			s += strlen(p->mark);
		} else {
			fputc(*s++, out);
		}
	}
}

void complete__print(FILE *out, const char *shell)
{
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		if (!strcmp(scripts[i].shell, shell))
			put_script(out, &scripts[i]);
}
