// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which options cannot be combined: what each option alone cannot see.
 * To say that two make no sense together is to add a row to clashes[].
 *
 * What always holds: after success no option contradicts
 * another, and nothing is requested that the mode does not record.
 */
#include "options/opts_table.h"

#include <errno.h>
#include <string.h>

#include "files/export.h"
#include "files/outfile.h"
#include "model/snapshot.h"
#include "model/tags.h"
#include "model/triggers.h"
#include "present/views.h"
#include "util/util.h"

const struct given *asked__find(const struct asked *a, const char *names)
{
	for (size_t i = 0; i < n_opt_rows; i++)
		if (a->given[i].row && in_words(names, opt_rows[i].name, strlen(opt_rows[i].name)))
			return &a->given[i];
	return NULL;
}

const struct given *asked__target(const struct asked *a)
{
	return asked__find(a, "pid all comm cgroup container pod");
}

/* Of a command that is no trace. */
static int check_command(const struct asked *a, struct err *e)
{
	const struct command_row *c = a->command;
	const struct given *other = array_first(x, a->given, n_opt_rows, x->row && !(x->row->flags & c->flag));

	if (other)
		return err_set(e, -EINVAL, "%s: takes no %s", c->name, other->as);
	if (a->o->cmd)
		return err_set(e, -EINVAL, "%s: takes no -- CMD", c->name);
	if (c->takes_target && !asked__target(a) && !a->o->serve.on)
		return err_set(e, -EINVAL, "%s: no target: name a running process\n%s", c->name, c->usage);
	if (a->o->files.n < c->min_files)
		return err_set(e, -EINVAL, "%s: want %s", c->name,
			       c->max_files == 2 ? "two files to compare, as -o FILE.json writes them" :
						   "files to show, as -o FILE.json writes them");
	return 0;
}

static int check_serve(const struct asked *a, struct err *e)
{
	const struct serve_options *s = &a->o->serve;
	const char **untimed;

	if (a->o->follow && !asked__target(a))
		return err_set(e, -EINVAL, "%s: want targets whose children to follow: -p, --comm or --cgroup", asked__find(a, "follow")->as);
	untimed = vec_first(o, &a->o->outputs, !outname__has_time(*o));
	if (untimed)
		return err_set(e, -EINVAL, "-o %s: want a name with %%t in it, the time: serve writes many files", *untimed);
	if (a->o->whens.n && !a->o->outputs.n)
		return err_set(e, -EINVAL, "--when: goes with -o FILE, whose name has %%t in it: where its profiles are written");
	if (!s->cert != !s->key)
		return err_set(e, -EINVAL, "--tls-cert and --tls-key go together");
	if (s->client_ca && !s->cert)
		return err_set(e, -EINVAL, "--tls-client-ca: goes with --tls-cert and --tls-key");
	return 0;
}

static int check_trace(const struct asked *a, struct err *e)
{
	const struct given *g = array_first(x, a->given, n_opt_rows, x->row && x->row->flags & NO_TRACE);
	unsigned int flags = g ? g->row->flags : 0;

	return !g ? 0 : err_set(e, -EINVAL, "%s: goes with %s only", g->as,
				flags & REPORT ? "report" : flags & DIFF ? "diff" : flags & SERVE ? "serve" : "heap");
}

/* There must be a target, and it must be clear which. */
static int check_targets(const struct asked *a, struct err *e)
{
	const struct given *any = asked__target(a);

	if (any && a->o->cmd)
		return err_set(e, -EINVAL, "%s and -- CMD cannot be combined", any->as);
	if (any || a->o->cmd)
		return 0;
	if (a->o->follow)
		return err_set(e, -EINVAL,
			       "%s: want targets whose children to follow: -p, --comm, --cgroup, --container, --pod or -- CMD",
			       asked__find(a, "follow")->as);
	return err_set(e, -EINVAL,
		       "no target: name a running process, or a program to start\n%s"
		       "malloctrace --help all lists all options", opts__usage);
}

/* What each option alone cannot see. */
static int check_together(const struct asked *a, struct err *e)
{
	const struct given *format = asked__find(a, "format");
	const struct opts *o = a->o;
	int err;

	if (asked__find(a, "quiet") && asked__find(a, "verbose"))
		return err_set(e, -EINVAL, "%s and %s cannot be combined", asked__find(a, "quiet")->as,
			       asked__find(a, "verbose")->as);
	if (o->json && format && strcmp(format->val, "json"))
		return err_set(e, -EINVAL, "--json and --format %s cannot be combined", format->val);
	if (a->command && !o->serve.on)
		return check_command(a, e);
	err = a->command ? check_command(a, e) ?: check_serve(a, e) : check_targets(a, e);
	if (err)
		return err;
	if (o->as_root && !o->cmd)
		return err_set(e, -EINVAL, "--as-root: goes with -- CMD only");
	if (o->cmd_output && !o->cmd)
		return err_set(e, -EINVAL, "--cmd-output: goes with -- CMD only");
	if (o->cmd_output && !strcmp(o->cmd_output, "-"))
		return err_set(e, -EINVAL, "--cmd-output -: want a file; without --cmd-output CMD prints where malloctrace does");
	if (o->cmd_output && opts__has_output(o, o->cmd_output))
		return err_set(e, -EINVAL, "--cmd-output %s and -o %s cannot be combined: one would write over the other", o->cmd_output,
			       o->cmd_output);
	if (o->views & VIEW_SOURCE && o->no_source)
		return err_set(e, -EINVAL, "--view source and --no-source cannot be combined: without source lines there is nothing to show");
	if (o->recording.min_size > o->recording.max_size)
		return err_set(e, -EINVAL, "--min-size %s: is more than --max-size %s",
			       asked__find(a, "min-size")->val, asked__find(a, "max-size")->val);
	if (asked__find(a, "pause") && !o->whens.n)
		return err_set(e, -EINVAL, "--pause: goes with --when only");
	if (o->views & VIEW_FREES && !o->recording.free_stacks)
		return err_set(e, -EINVAL, "--view frees: goes with --free-stacks");
	if (o->events && (opts__has_output(o, "-") || o->json || format))
		return err_set(e, -EINVAL, "--events and %s cannot be combined: both write to standard output; write the report to a file with -o FILE",
			       o->json ? "--json" : format ? "--format" : "-o -");
	if (o->exact && !recording__is_leak(&o->recording))
		return err_set(e, -EINVAL, "--exact: goes with --mode leak; other modes are exact without a stop");
	if (asked__find(a, "keep") && !opts__has_series(o))
		return err_set(e, -EINVAL, "--keep: goes with -o and a name that has %%t or %%n in it");
	return a->command ? 0 : check_trace(a, e);
}

/* Pairs of which one makes the other meaningless: any of the first with any of the second. NULL: any value, or an option without one. */
static const struct {
	const char *a, *a_value, *b, *b_value, *why;
} clashes[] = {
	{ "sample", NULL, "overhead", NULL, "both leave allocations out" },
	{ "overhead", NULL, "mode", "growth", "that mode has no probes to detach" },
	{ "overhead", NULL, "mode", "count", "that mode does not see how long blocks live" },
	{ "sample", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "size", "usable", "mode", "count", "that mode does not see where blocks are" },
	{ "size", "usable", "mode", "growth", "that mode sees no allocations" },
	{ "max-live", NULL, "mode", "count", "that mode keeps no table of blocks" },
	{ "max-live", NULL, "mode", "growth", "that mode keeps no table of blocks" },
	{ "min-size max-size", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "object prefix sym", NULL, "mode", "growth", "that mode probes no allocator" },
	{ "within", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "within", NULL, "overhead", NULL, "the cost of probes in other functions is not measured" },
	{ "free-stacks", NULL, "mode", "count", "that mode sees no frees" },
	{ "free-stacks", NULL, "mode", "growth", "that mode sees no frees" },
	{ "free-stacks", NULL, "sample", NULL, "that skips most blocks, and so their frees" },
	{ "free-stacks", NULL, "overhead", NULL, "that skips most frees" },
	{ "start-on stop-on mark", NULL, "overhead", NULL, "probes are in place part of the time only" },
	{ "view", "peak", "overhead", NULL, "a peak can fall into the time without probes" },
	{ "metric", "peak-bytes", "overhead", NULL, "a peak can fall into the time without probes" },
	{ "sort", "peak-bytes", "overhead", NULL, "a peak can fall into the time without probes" },
	{ "embed-source", NULL, "no-source", NULL, "without source lines there is nothing to embed" },
	{ "mmap", NULL, "mode", "count", "that mode does not see what is given back" },
	{ "mmap", NULL, "mode", "growth", "that mode records mappings already" },
	{ "mmap", NULL, "sample", NULL, "mappings are given back in parts, which cannot be weighed" },
	{ "mmap", NULL, "free-stacks", NULL, "where parts of mappings are given back is not recorded" },
	{ "mmap", NULL, "overhead", NULL, "what is unmapped while there are no probes would seem to be mapped still" },
	{ "all", NULL, "mode", "leak", "the heap of every process would have to be read; choose with -p" },
	{ "comm cgroup container pod", NULL, "mode", "leak", "the heaps of processes that come and go would have to be read; choose with -p" },
	{ "overhead", NULL, "mode", "leak", "probes are in place part of the time only, and addresses come again unseen" },
	{ "sample", NULL, "mode", "leak", "that skips most blocks" },
	{ "free-stacks", NULL, "mode", "leak", "that mode sees no frees" },
	{ "mmap", NULL, "mode", "leak", "that mode does not see what is given back" },
	{ "events", NULL, "mode", "leak", "that mode sees no frees" },
	{ "within", NULL, "mode", "leak", "a block that another function gets at the same address would not be seen" },
	{ "min-size max-size", NULL, "mode", "leak", "a block of another size at the same address would not be seen" },
	{ "reachable", NULL, "mode", "leak", "use the command heap for that: malloctrace heap --reachable PID" },
	{ "roots", NULL, "mode", "leak", "use the command heap for that: malloctrace heap --roots PID" },
	{ "events", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "events", NULL, "overhead", NULL, "probes are in place part of the time only" },
	{ "events", NULL, "mmap", NULL, "mappings are given back in parts, which have no lines" },
	{ "reachable", NULL, "mode", "count", "that mode does not see where blocks are" },
	{ "reachable", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "reachable", NULL, "sample", NULL, "that skips most blocks" },
	{ "no-reachable", NULL, "reachable roots", NULL, "one of them searches, the other does not" },
	{ "roots", NULL, "mode", "count", "that mode does not see where blocks are" },
	{ "roots", NULL, "mode", "growth", "that mode sees no allocations" },
	{ "roots", NULL, "sample", NULL, "that skips most blocks" },
	{ "all", NULL, "pid comm cgroup container pod", NULL, "-a selects every process" },
	{ "all", NULL, "follow", NULL, "-a selects every process, children too" },
	{ "pid", NULL, "comm", NULL, "a process is named by its number or by its name" },
	{ "pid", NULL, "cgroup", NULL, "a process is named by its number or by its cgroup" },
	{ "pid", NULL, "container", NULL, "a process is named by its number or by its container" },
	{ "pid", NULL, "pod", NULL, "a process is named by its number or by its pod" },
};

/* An order has several names (present/views.c), and so has a mode. */
static bool has_value(const struct given *g, const char *value)
{
	unsigned int given, wanted;

	if (!value || !strcmp(g->val, value))
		return true;
	if (!strcmp(g->row->name, "mode"))
		return choices__find(&mode_choices, g->val, &given) && choices__find(&mode_choices, value, &wanted) && given == wanted;
	return !strcmp(g->row->name, "sort") && rank__key(g->val) && rank__key(g->val) == rank__key(value);
}

static int check_clashes(const struct asked *a, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(clashes); i++) {
		const struct given *one = asked__find(a, clashes[i].a), *other = asked__find(a, clashes[i].b);

		if (!one || !other || !has_value(one, clashes[i].a_value) || !has_value(other, clashes[i].b_value))
			continue;
		return err_set(e, -EINVAL, "%s%s%s and %s%s%s cannot be combined: %s", one->as,
			       one->val ? " " : "", one->val ?: "", other->as, other->val ? " " : "",
			       other->val ?: "", clashes[i].why);
	}
	return 0;
}

/* What is said of pointers to blocks is there if they were searched for. */
static int check_searched(const struct asked *a, struct err *e)
{
	const struct opts *o = a->o;
	const struct metric *sort = o->sort ? rank__key(o->sort) : NULL;
	const struct given *by = metric__find(o->metric)->needs & HAS_UNREACHED ? asked__find(a, "metric") :
				 sort && sort->needs & HAS_UNREACHED		? asked__find(a, "sort") : NULL;

	if (by && o->command == CMD_TRACE && !o->reachable && !o->roots)
		return err_set(e, -EINVAL, "%s %s: goes with --reachable", by->as, by->val);
	if (o->command == CMD_TRACE && o->views & (VIEW_HEAP | VIEW_BLOCKS) && o->recording.mode != MT_MODE_FULL)
		return err_set(e, -EINVAL, "%s %s and --mode %s cannot be combined: that mode does not see where blocks are", asked__find(a, "view")->as,
			       asked__find(a, "view")->val, mode__name(o->recording.mode));
	if (o->command == CMD_TRACE && o->views == VIEW_BLOCKS && sort && sort != rank__key("age") && sort != rank__key("size"))
		return err_set(e, -EINVAL, "%s %s: blocks are listed by age or by size", asked__find(a, "sort")->as, o->sort);
	if (o->command == CMD_HEAP && o->views & ~(VIEW_HEAP | VIEW_BLOCKS))
		return err_set(e, -EINVAL, "%s %s: of a heap there are the views heap and blocks", asked__find(a, "view")->as, asked__find(a, "view")->val);
	return 0;
}

/* Nothing is shown, weighed or sorted by what the mode does not record. */
static int check_recorded(const struct asked *a, struct err *e)
{
	const struct opts *o = a->o;
	/* whether a file has it is seen when it is read */
	unsigned int known = o->command == CMD_TRACE ? counters__of_mode(o->recording.mode) | HAS_UNREACHED : HAS_ANY;
	const struct metric *sort = o->sort ? rank__key(o->sort) : NULL;
	const struct given *asked[] = {
		o->views & ~(views__of(known) | VIEW_FREES | VIEW_HEAP | VIEW_BLOCKS) ? asked__find(a, "view") : NULL,
		metric__find(o->metric)->needs & ~known ? asked__find(a, "metric") : NULL,
		sort && sort->needs & ~known ? asked__find(a, "sort") : NULL,
		known & HAS_LIVE_BLOCKS ? NULL : asked__find(a, "older"),
		known & HAS_LIVE_BLOCKS ? NULL : asked__find(a, "leak-after"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (asked[i])
			return err_set(e, -EINVAL,
				       "%s %s and --mode %s cannot be combined: that mode does not record this",
				       asked[i]->as, asked[i]->val, mode__name(o->recording.mode));
	return 0;
}

/* Nor is anything waited for that is not counted. */
static int check_whens(const struct asked *a, struct err *e)
{
	const struct opts *o = a->o;
	unsigned int known = counters__of_mode(o->recording.mode);

	for (size_t i = 0; i < o->whens.n; i++) {
		struct condition c;

		if (condition__parse(o->whens.v[i], &c, e))
			return -EINVAL;
		if (condition__needs(&c) & ~known)
			return err_set(e, -EINVAL,
				       "--when %s and --mode %s cannot be combined: that mode does not record this",
				       c.text, mode__name(o->recording.mode));
		if (condition__needs(&c) && recording__has_budget(&o->recording))
			return err_set(e, -EINVAL,
				       "--when %s and --overhead %s cannot be combined: an estimate from part of the calls is too rough for one moment",
				       c.text, asked__find(a, "overhead")->val);
	}
	return 0;
}

/* Sites of threads that are tags are kept apart by thread. */
static int check_tags(const struct asked *a, struct err *e)
{
	const struct given *by = asked__find(a, "by");
	struct opts *o = a->o;

	for (size_t i = 0; i < o->tags.n; i++) {
		if (strcmp(o->tags.v[i], TAG_THREAD))
			continue;
		if (by && strcmp(by->val, "thread"))
			return err_set(e, -EINVAL,
				       "--tag thread and --by %s cannot be combined: --tag thread needs --by thread",
				       by->val);
		o->by = "thread";
	}
	if (o->views & VIEW_TAGS && o->command == CMD_TRACE && !o->tags.n && !asked__find(a, "mark"))
		return err_set(e, -EINVAL, "--view tags: goes with --tag FUNC or --mark FUNC");
	return 0;
}

/* A live view may write files that have it. */
static bool may_embed(const struct opts *o)
{
	bool may = o->command == CMD_TRACE && !o->batch && !o->interval_ns && !o->events;

	for (size_t i = 0; i < o->outputs.n && !may; i++) {
		const struct export_format *f = export__find_by_name(opts__output_format(o, o->outputs.v[i]));

		may = f && f->carries_source;
	}
	return may;
}

int opts__check_outputs(const struct opts *o, struct err *e)
{
	unsigned int known = counters__of_mode(o->recording.mode);

	if (o->embed_source && !may_embed(o))
		return err_set(e, -EINVAL, "--embed-source: goes with -o FILE.html, -o FILE.json or --json");
	for (size_t i = 0; i < o->outputs.n; i++) {
		const struct export_format *f = export__find_by_name(opts__output_format(o, o->outputs.v[i]));

		if (f && o->command == CMD_HEAP && !f->carries_heaps)
			return err_set(e, -EINVAL, "-o %s: heap writes text, json and html", o->outputs.v[i]);
		if (f && f->needs & HAS_PEAK_BYTES && recording__has_budget(&o->recording))
			return err_set(e, -EINVAL,
				       "-o %s and --overhead cannot be combined: a peak can fall into the time without probes",
				       o->outputs.v[i]);
		if (f && f->needs & ~known)
			return err_set(e, -EINVAL,
				       "-o %s and --mode %s cannot be combined: that mode does not record what %s shows",
				       o->outputs.v[i], mode__name(o->recording.mode), f->name);
	}
	return 0;
}

int opts__check(const struct asked *a, struct err *e)
{
	return check_together(a, e) ?: check_clashes(a, e) ?: check_searched(a, e) ?: check_recorded(a, e) ?: check_tags(a, e) ?: check_whens(a, e);
}
