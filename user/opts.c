// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * argv → struct opts, and the help text: both read the table of options in
 * opts_table.c.
 *
 * What always holds: strings in struct opts point into argv; after success
 * every value is in its range and nothing that was asked for contradicts
 * another thing; nothing that was asked for is ignored in silence.
 *
 * Neither getopt_long nor argp reads the table: getopt_long takes any
 * unambiguous abbreviation, which cannot be turned off, so a script's --over
 * would change its meaning with the next version's options; it keeps its place
 * in globals, and does not tell which option stood in a cluster of short ones.
 * argp prints and exits by itself, where a message has to go up to main.
 */
#include "opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "export/export.h"
#include "export/outnames.h"
#include "model/snapshot.h"
#include "model/tags.h"
#include "opts_table.h"
#include "triggers.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/util.h"
#include "view/rank.h"

#define HELP_COLUMNS 80
#define HELP_INDENT 27
#define SEE_HELP "; malloctrace --help lists them"
#define MIN_INTERVAL_NS 10000000ULL

static const struct {
	const char *name;
	int command;		/* enum command, -1: later */
	unsigned int flag;	/* of the options that it takes */
	size_t min_files, max_files;
} commands[] = {
	{ "doctor", CMD_DOCTOR, DOCTOR, 0, 0 },
	{ "report", CMD_REPORT, REPORT, 1, SIZE_MAX },
	{ "diff", CMD_DIFF, DIFF, 2, 2 },
	{ "serve", -1, 0, 0, 0 },
};

static const char usage[] =
	"usage: malloctrace -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
	"       malloctrace -a|--comm GLOB|--cgroup PATH [OPTION...] [INTERVAL [COUNT]]\n"
	"       malloctrace [OPTION...] [INTERVAL [COUNT]] -- CMD [ARG...]\n"
	"       malloctrace report FILE.json... [OPTION...]\n"
	"       malloctrace diff BEFORE.json AFTER.json [OPTION...]\n"
	"       malloctrace doctor [-a | -p PID]\n";

/* ---- argv */

/* How many letters must be inserted, removed or replaced to turn a into b. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(b), at[OPT_NAME_MAX + 1];

	for (size_t j = 0; j <= n; j++)
		at[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = at[0]++;

		for (size_t j = 1; j <= n; j++) {
			size_t cost = MIN(diagonal + (a[i] != b[j - 1]), MIN(at[j], at[j - 1]) + 1);

			diagonal = at[j];
			at[j] = cost;
		}
	}
	return at[n];
}

static int unknown_option(const char *name, size_t len, struct err *e)
{
	const char *nearest = NULL;
	char word[OPT_NAME_MAX + 1] = "";
	size_t best = SIZE_MAX;

	if (len <= OPT_NAME_MAX)
		memcpy(word, name, len);
	for (size_t i = 0; *word && i < n_opt_rows; i++) {
		size_t d = distance(word, opt_rows[i].name);

		if (!*opt_rows[i].name || opt_rows[i].flags & LATER || d >= best)
			continue;
		best = d;
		nearest = opt_rows[i].name;
	}
	if (nearest && best <= MAX(1, len / 3))
		return err_set(e, -EINVAL, "--%.*s: no such option; did you mean --%s?",
			       (int)len, name, nearest);
	return err_set(e, -EINVAL, "--%.*s: no such option" SEE_HELP, (int)len, name);
}

struct parser {
	struct opts *o;
	char **argv;
	int at, n;		/* the next argument, and the end of the options' part of argv */
	struct given seen[OPT_ROWS_MAX];	/* the last one of each */
	unsigned int n_words;	/* arguments that are no options */
	bool over;		/* --help: nothing else matters */
};

static const struct given *seen(const struct parser *p, const char *name)
{
	for (size_t i = 0; i < n_opt_rows; i++) {
		if (!strcmp(opt_rows[i].name, name) && p->seen[i].row)
			return &p->seen[i];
	}
	return NULL;
}

static int take(struct parser *p, const struct row *r, bool is_short, const char *val,
		struct err *e)
{
	struct given *g = &p->seen[r - opt_rows];
	int err;

	g->row = r;
	if (is_short)
		snprintf(g->as, sizeof(g->as), "-%c", r->letter);
	else
		snprintf(g->as, sizeof(g->as), "--%s", r->name);
	if (r->flags & LATER)
		return err_set(e, -EINVAL, "%s: " NOT_YET, g->as);
	if (!r->arg && val)
		return err_set(e, -EINVAL, "%s: takes no value", g->as);
	if (r->arg && !val) {
		if (p->at == p->n)
			return err_set(e, -EINVAL, "%s: wants a value: %s", g->as, r->arg);
		val = p->argv[p->at++];
	}
	g->val = val;
	err = r->take(p->o, g, e);
	p->over = p->o->command == CMD_HELP || p->o->command == CMD_VERSION;
	return err;
}

static int take_long(struct parser *p, const char *name, struct err *e)
{
	size_t len = strcspn(name, "=");

	for (size_t i = 0; i < n_opt_rows; i++) {
		if (len && len == strlen(opt_rows[i].name) && !memcmp(opt_rows[i].name, name, len))
			return take(p, &opt_rows[i], false, name[len] ? name + len + 1 : NULL, e);
	}
	return unknown_option(name, len, e);
}

static int take_short(struct parser *p, const char *s, struct err *e)
{
	int err = 0;

	for (; *s && !err && !p->over; s++) {
		const struct row *r = NULL;

		for (size_t i = 0; i < n_opt_rows && !r; i++) {
			if (opt_rows[i].letter == *s)
				r = &opt_rows[i];
		}
		if (!r)
			return err_set(e, -EINVAL, "-%c: no such option" SEE_HELP, *s);
		if (r->arg && s[1])
			return take(p, r, true, s + 1, e);
		err = take(p, r, true, NULL, e);
	}
	return err;
}

static int take_file(struct opts *o, const char *w, const char *command, size_t max, struct err *e)
{
	const char **slot;

	if (o->files.n == max)
		return err_set(e, -EINVAL, "%s: '%s' is one argument too many", command, w);
	slot = vec_push(&o->files);
	if (!slot)
		return err_set(e, -ENOMEM, "out of memory");
	*slot = w;
	return 0;
}

static int take_word(struct parser *p, const char *w, struct err *e)
{
	struct opts *o = p->o;
	unsigned int nth = p->n_words++;

	for (size_t i = 0; nth == 0 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(w, commands[i].name))
			continue;
		if (commands[i].command < 0)
			return err_set(e, -EINVAL, "%s: " NOT_YET, w);
		o->command = (enum command)commands[i].command;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (o->command != CMD_TRACE && commands[i].command == (int)o->command)
			return take_file(o, w, commands[i].name, commands[i].max_files, e);
	if (nth == 0) {
		if (parse_seconds(w, &o->interval_ns))
			return err_set(e, -EINVAL,
				       "%s: want an interval in seconds, 'report', 'diff', 'doctor', or -- before a "
				       "program to start", *w ? w : "''");
		if (o->interval_ns < MIN_INTERVAL_NS)
			return err_set(e, -EINVAL, "interval %s: want seconds, at least 0.01", w);
		return 0;
	}
	if (nth > 1)
		return err_set(e, -EINVAL, "%s: only an interval and a count are taken", w);
	if (parse_u64(w, 1, UINT64_MAX, &o->count))
		return err_set(e, -EINVAL, "count %s: want a whole number of reports, at least 1",
			       w);
	return 0;
}

/* Of a command that is no trace. */
static int check_command(const struct parser *p, size_t which, struct err *e)
{
	const char *name = commands[which].name;

	for (size_t i = 0; i < n_opt_rows; i++) {
		if (p->seen[i].row && !(opt_rows[i].flags & commands[which].flag))
			return err_set(e, -EINVAL, "%s: takes no %s", name, p->seen[i].as);
	}
	if (p->o->cmd)
		return err_set(e, -EINVAL, "%s: takes no -- CMD", name);
	if (p->o->files.n < commands[which].min_files)
		return err_set(e, -EINVAL, "%s: want %s", name,
			       commands[which].max_files == 2 ? "two files to compare, as -o FILE.json writes them" :
								"files to look at, as -o FILE.json writes them");
	return 0;
}

static int check_trace(const struct parser *p, struct err *e)
{
	for (size_t i = 0; i < n_opt_rows; i++)
		if (p->seen[i].row && opt_rows[i].flags & NO_TRACE)
			return err_set(e, -EINVAL, "%s: goes with %s only", p->seen[i].as, opt_rows[i].flags & REPORT ? "report" : "diff");
	return 0;
}

static bool has_series(const struct opts *o)
{
	for (size_t i = 0; i < o->outputs.n; i++)
		if (outname__is_pattern(o->outputs.v[i]))
			return true;
	return false;
}

/* Somebody must be traced, and it must be clear who. */
static int check_targets(const struct parser *p, struct err *e)
{
	static const char *const ways[] = { "pid", "all", "comm", "cgroup" };
	const struct given *any = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ways) && !any; i++)
		any = seen(p, ways[i]);
	if (any && p->o->cmd)
		return err_set(e, -EINVAL, "%s and -- CMD: want one of them", any->as);
	if (any || p->o->cmd)
		return 0;
	if (p->o->follow)
		return err_set(e, -EINVAL, "%s: children of whom? It goes with -p, --comm, --cgroup or -- CMD", seen(p, "follow")->as);
	return err_set(e, -EINVAL,
		       "no target: name a running process, or a program to start\n%s"
		       "malloctrace --help tells the rest", usage);
}

/* What each option alone cannot see. */
static int check_together(const struct parser *p, struct err *e)
{
	const struct given *format = seen(p, "format");
	const struct opts *o = p->o;
	int err;

	if (seen(p, "quiet") && seen(p, "verbose"))
		return err_set(e, -EINVAL, "%s and %s: want one of them", seen(p, "quiet")->as,
			       seen(p, "verbose")->as);
	if (o->json && format && strcmp(format->val, "json"))
		return err_set(e, -EINVAL, "--json and --format %s: want one of them", format->val);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (o->command != CMD_TRACE && commands[i].command == (int)o->command)
			return check_command(p, i, e);
	err = check_targets(p, e);
	if (err)
		return err;
	if (o->as_root && !o->cmd)
		return err_set(e, -EINVAL, "--as-root: goes with -- CMD only");
	if (o->min_size > o->max_size)
		return err_set(e, -EINVAL, "--min-size %s: is more than --max-size %s",
			       seen(p, "min-size")->val, seen(p, "max-size")->val);
	if (seen(p, "pause") && !o->whens.n)
		return err_set(e, -EINVAL, "--pause: goes with --when only");
	if (o->views & VIEW_FREES && !o->free_stacks)
		return err_set(e, -EINVAL, "--view frees: goes with --free-stacks");
	if (o->keep && !has_series(o))
		return err_set(e, -EINVAL, "--keep: goes with -o and a name that has %%t or %%n in it");
	return check_trace(p, e);
}

/* Pairs of which one makes the other meaningless. NULL: any value, or an option without one. */
static const struct {
	const char *a, *a_value, *b, *b_value, *why;
} clashes[] = {
	{ "sample", NULL, "overhead", NULL, "both leave allocations out" },
	{ "overhead", NULL, "mode", "growth", "that mode has no probes to take out" },
	{ "overhead", NULL, "mode", "count", "that mode does not see how long blocks live" },
	{ "sample", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "size", "usable", "mode", "count", "that mode does not see where blocks are" },
	{ "size", "usable", "mode", "growth", "that mode sees no allocations" },
	{ "max-live", NULL, "mode", "count", "that mode keeps no table of blocks" },
	{ "max-live", NULL, "mode", "growth", "that mode keeps no table of blocks" },
	{ "min-size", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "max-size", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "overhead", NULL, "mode", "growth", "that mode has no probes to take out" },
	{ "object", NULL, "mode", "growth", "that mode looks for no allocator" },
	{ "prefix", NULL, "mode", "growth", "that mode looks for no allocator" },
	{ "sym", NULL, "mode", "growth", "that mode looks for no allocator" },
	{ "within", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "within", NULL, "overhead", NULL, "a budget does not know what probes in other functions take" },
	{ "free-stacks", NULL, "mode", "count", "that mode sees no frees" },
	{ "free-stacks", NULL, "mode", "growth", "that mode sees no frees" },
	{ "free-stacks", NULL, "sample", NULL, "that passes over most blocks, and so their frees" },
	{ "free-stacks", NULL, "overhead", NULL, "that passes over most frees" },
	{ "start-on", NULL, "overhead", NULL, "probes are in place part of the time only" },
	{ "stop-on", NULL, "overhead", NULL, "probes are in place part of the time only" },
	{ "mark", NULL, "overhead", NULL, "probes are in place part of the time only" },
	{ "mmap", NULL, "mode", "count", "that mode does not see what is given back" },
	{ "mmap", NULL, "mode", "growth", "that mode has what is mapped already" },
	{ "mmap", NULL, "sample", NULL, "mappings are given back in parts, which cannot be weighed" },
	{ "mmap", NULL, "free-stacks", NULL, "where parts of mappings are given back is not recorded" },
	{ "mmap", NULL, "overhead", NULL, "what is given back while nobody looks would seem to be mapped" },
	{ "all", NULL, "pid", NULL, "the one names everyone" },
	{ "all", NULL, "comm", NULL, "the one names everyone" },
	{ "all", NULL, "cgroup", NULL, "the one names everyone" },
	{ "all", NULL, "follow", NULL, "children are traced like everyone" },
	{ "pid", NULL, "comm", NULL, "a process is named by its number or by its name" },
	{ "pid", NULL, "cgroup", NULL, "a process is named by its number or by its cgroup" },
	{ "overhead", NULL, "all", NULL, "a budget is kept for processes that are named" },
	{ "overhead", NULL, "comm", NULL, "a budget is kept for processes that are named" },
	{ "overhead", NULL, "cgroup", NULL, "a budget is kept for processes that are named" },
	{ "overhead", NULL, "follow", NULL, "a budget is kept for processes that are named" },
	{ "all", NULL, "mode", "growth", "that mode watches processes one by one" },
	{ "comm", NULL, "mode", "growth", "that mode watches processes one by one" },
	{ "cgroup", NULL, "mode", "growth", "that mode watches processes one by one" },
	{ "follow", NULL, "mode", "growth", "that mode watches processes one by one" },
};

static int check_clashes(const struct parser *p, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(clashes); i++) {
		const struct given *a = seen(p, clashes[i].a), *b = seen(p, clashes[i].b);

		if (!a || !b || (clashes[i].a_value && strcmp(a->val, clashes[i].a_value)) ||
		    (clashes[i].b_value && strcmp(b->val, clashes[i].b_value)))
			continue;
		return err_set(e, -EINVAL, "%s%s%s and %s%s%s: want one of them, %s", a->as, a->val ? " " : "", a->val ?: "", b->as,
			       b->val ? " " : "", b->val ?: "", clashes[i].why);
	}
	return 0;
}

/* Nothing is shown, weighed or sorted by what the mode does not record. */
static int check_recorded(const struct parser *p, struct err *e)
{
	const struct opts *o = p->o;
	unsigned int known = o->command == CMD_TRACE ? counters__of_mode(o->mode) : HAS_ALL;
	const struct metric *sort = o->sort ? rank__key(o->sort) : NULL;
	const struct given *asked[] = {
		o->views & ~(views__of(known) | VIEW_FREES) ? seen(p, "view") : NULL,
		metric__find(o->metric)->needs & ~known ? seen(p, "metric") : NULL,
		sort && sort->needs & ~known ? seen(p, "sort") : NULL,
		known & HAS_LIVE_BLOCKS ? NULL : seen(p, "older"),
		known & HAS_LIVE_BLOCKS ? NULL : seen(p, "leak-after"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (asked[i])
			return err_set(e, -EINVAL, "%s %s and --mode %s: want one of them, that mode does not record this",
				       asked[i]->as, asked[i]->val, o->mode);
	return 0;
}

/* Nor is anything waited for that nobody counts. */
static int check_whens(const struct parser *p, struct err *e)
{
	const struct opts *o = p->o;
	unsigned int known = counters__of_mode(o->mode);

	for (size_t i = 0; i < o->whens.n; i++) {
		struct condition c;

		if (condition__parse(o->whens.v[i], &c, e))
			return -EINVAL;
		if (condition__needs(&c) & ~known)
			return err_set(e, -EINVAL, "--when %s and --mode %s: want one of them, that mode does not record this", c.text,
				       o->mode);
		if (condition__needs(&c) && o->overhead_pct > 0)
			return err_set(e, -EINVAL, "--when %s and --overhead %s: want one of them, a part of the calls says little at one moment",
				       c.text, seen(p, "overhead")->val);
	}
	return 0;
}

static int check_outputs(const struct opts *o, struct err *e)
{
	unsigned int known = counters__of_mode(o->mode);

	for (size_t i = 0; i < o->outputs.n; i++) {
		const struct export_format *f = export__find_by_name(opts__output_format(o, o->outputs.v[i]));

		if (f && f->needs & ~known)
			return err_set(e, -EINVAL, "-o %s and --mode %s: want one of them, that mode does not record what %s shows",
				       o->outputs.v[i], o->mode, f->name);
	}
	return 0;
}

/* So that a test sees the same samples again. */
static int choose_seed(struct opts *o, struct err *e)
{
	const char *given = getenv("MALLOCTRACE_SEED");

	if (given && parse_u64(given, 1, UINT64_MAX, &o->seed))
		return err_set(e, -EINVAL, "MALLOCTRACE_SEED=%s: want a whole number, at least 1", given);
	while (!o->seed)
		if (getrandom(&o->seed, sizeof(o->seed), 0) < 0)
			return err_set(e, -errno, "getrandom: %s", strerror(errno));
	return 0;
}

/* Sites of threads that are tags are kept apart by thread. */
static int check_tags(const struct parser *p, struct err *e)
{
	const struct given *by = seen(p, "by");
	struct opts *o = p->o;

	for (size_t i = 0; i < o->tags.n; i++) {
		if (strcmp(o->tags.v[i], TAG_THREAD))
			continue;
		if (by && strcmp(by->val, "thread"))
			return err_set(e, -EINVAL, "--tag thread and --by %s: want one of them, threads are kept apart by the one only",
				       by->val);
		o->by = "thread";
	}
	if (o->views & VIEW_TAGS && o->command == CMD_TRACE && !o->tags.n && !seen(p, "mark"))
		return err_set(e, -EINVAL, "--view tags: goes with --tag FUNC or --mark FUNC");
	return 0;
}

static int complete(struct parser *p, struct err *e)
{
	struct opts *o = p->o;

	if (!seen(p, "metric"))
		o->metric = o->command == CMD_TRACE ? metric__preset(counters__of_mode(o->mode))->name : NULL;
	if (o->json) {
		o->format = "json";
		o->batch = true;
	}
	if ((o->json || seen(p, "format")) && !opts__has_output(o, "-") && opts__add_output(o, "-", e))
		return -ENOMEM;
	return check_outputs(o, e) ?: choose_seed(o, e);
}

int opts__parse(struct opts *o, int argc, char **argv, struct err *e)
{
	struct parser p = { .o = o, .argv = argv, .at = 1 };
	int err = 0;

	*o = (struct opts){
		.command = CMD_TRACE,
		.max_size = UINT64_MAX,
		.depth = 127,
		.mode = "full",
		.size = "requested",
		.unwind = "auto",
		.points = "auto",
		.leak_after_ns = 20000000000,
		.pause_ns = 10000000000,
		.format = "text",
		.verbosity = LOG_NORMAL,
		.by = "process",
		.metric = "live-bytes",
		.top = 10,
		.threshold_pct = EXPORT_THRESHOLD_PCT,
		.tree = "callers",
		.fail_over = UINT64_MAX,
	};
	for (p.n = 1; p.n < argc && strcmp(argv[p.n], "--"); p.n++)
		;
	if (p.n < argc)
		o->cmd = argv + p.n + 1;
	while (p.at < p.n && !err && !p.over) {
		const char *s = argv[p.at++];

		if (s[0] == '-' && s[1] == '-')
			err = take_long(&p, s + 2, e);
		else if (s[0] == '-' && s[1])
			err = take_short(&p, s + 1, e);
		else
			err = take_word(&p, s, e);
	}
	if (!err && !p.over) {
		if (o->cmd && (!o->cmd[0] || !*o->cmd[0]))
			err = err_set(e, -EINVAL, "--: want a program to start behind it");
		else
			err = check_together(&p, e) ?: check_clashes(&p, e) ?: check_recorded(&p, e) ?: check_tags(&p, e) ?:
			      check_whens(&p, e) ?: complete(&p, e);
	}
	if (err)
		opts__done(o);
	return err;
}

void opts__done(struct opts *o)
{
	vec_done(&o->pids);
	vec_done(&o->comms);
	vec_done(&o->cgroups);
	vec_done(&o->objects);
	vec_done(&o->syms);
	vec_done(&o->tags);
	vec_done(&o->withins);
	vec_done(&o->start_on);
	vec_done(&o->stop_on);
	vec_done(&o->marks);
	vec_done(&o->outputs);
	vec_done(&o->whens);
	vec_done(&o->files);
}

/* ---- help
 *
 *	Targets:
 *	  -p, --pid PID[,PID...]   running processes, all their threads; repeatable
 *	      --as-root            start CMD as root, not as the user who ran sudo
 */

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

static void print_row(FILE *out, const struct row *r)
{
	_cleanup_free_ char *choices = r->choices ? or_list(r->choices) : NULL;
	_cleanup_free_ char *text = NULL;
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
	if (asprintf(&text, "%s%s%s%s%s%s", r->help, choices ? ": " : "", choices ?: "",
		     r->preset ? " (" : "", r->preset ?: "", r->preset ? ")" : "") < 0)
		text = NULL;
	print_wrapped(out, HELP_INDENT, text ?: r->help);
}

void opts__help(FILE *out)
{
	static const char *const titles[N_GROUPS] = {
		"Targets", "Recording", "Reporting", "Other"
	};

	fprintf(out, "%s\n"
		"Which call stacks of a running program hold its memory, exactly.\n"
		"With INTERVAL, a report every so many seconds, COUNT times. doctor tells what\n"
		"this kernel and user may do, what is missing, and how to mend it. report shows\n"
		"profiles again that -o FILE.json wrote, diff tells what grew from one to the\n"
		"other; both need no privileges.\n", usage);
	for (int group = 0; group < N_GROUPS; group++) {
		fprintf(out, "\n%s:\n", titles[group]);
		for (size_t i = 0; i < n_opt_rows; i++) {
			if ((int)opt_rows[i].group == group && !(opt_rows[i].flags & LATER))
				print_row(out, &opt_rows[i]);
		}
	}
	fprintf(out,
		"\nIn parentheses: what holds without the option. Sizes take K, M and G; ages take\n"
		"ns, us, ms, s, m and h.\n"
		"Exit: 0 done; 1 failed; 2 usage; 3 done, but something was lost (the report\n"
		"says what); 4 diff --fail-over. With -- CMD, the exit status is CMD's.\n");
}
