// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * argv → struct opts, by the table of options in opts_table.c.
 *
 * What always holds: strings in struct opts point into argv, but for the names
 * of --within in one; after success every value is in its range and nothing
 * that was requested contradicts another thing; nothing that was requested is
 * ignored in silence.
 *
 * Neither getopt_long nor argp reads the table: getopt_long takes any
 * unambiguous abbreviation, which cannot be turned off, so a script's --over
 * would change its meaning with the next version's options; it keeps its place
 * in globals, and does not say which option stood in a cluster of short ones.
 * argp prints and exits by itself, where a message has to go up to main.
 */
#include "options/opts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "files/export.h"
#include "model/group.h"
#include "model/snapshot.h"
#include "options/opts_table.h"
#include "present/views.h"
#include "present/text/report.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

#define SEE_HELP "; malloctrace --help all lists them"
#define MIN_INTERVAL_NS (10 * MS_NS)
#define SERVE_OVERHEAD_PCT 2
#define SERVE_KEEP_FILES 100
#define SERVE_KEEP_BYTES (1ULL << 30)
#define MAX_WORDS 3	/* a target, an interval, a count */

const struct command_row opt_commands[] = {
	{ "doctor", CMD_DOCTOR, .flag = DOCTOR },
	{ "report", CMD_REPORT, REPORT, .min_files = 1, .max_files = SIZE_MAX },
	{ "diff", CMD_DIFF, DIFF, .min_files = 2, .max_files = 2 },
	{ "heap", CMD_HEAP, HEAP, .takes_target = true, .usage = opts__heap_usage, .about = opts__heap_about,
	  .exits = "Exit: 0 done; 1 failed, or no heap was recognised;\n2 usage." },
	{ "help", CMD_HELP, .max_files = SIZE_MAX },
	{ "serve", CMD_TRACE, SERVE, .takes_target = true, .usage = opts__serve_usage, .about = opts__serve_about, .exits = "Exit: 0 ended by a signal, or all targets of -p have ended; 1 failed; 2 usage." },
};
const size_t n_opt_commands = ARRAY_SIZE(opt_commands);

static int unknown_option(const char *name, size_t len, struct err *e)
{
	_cleanup_free_ char *word = xstrndup(name, len);
	const char *nearest = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < n_opt_rows; i++) {
		const struct row *r = &opt_rows[i];
		/* those without a help are for tests */
		size_t d = *r->name && r->help ? typo_distance(word, r->name) : SIZE_MAX;

		if (d < best)
			nearest = r->name;
		best = MIN(best, d);
	}
	if (nearest)
		return err_set(e, -EINVAL, "--%.*s: no such option; did you mean --%s?",
			       (int)len, name, nearest);
	return err_set(e, -EINVAL, "--%.*s: no such option" SEE_HELP, (int)len, name);
}

struct parser {
	struct asked all;
	char **argv;
	int at, n;		/* the next argument, and the end of the options' part of argv */
	const char *words[MAX_WORDS];	/* arguments that are no options */
	unsigned int n_words;
	bool over;		/* --help and its like: nothing else matters */
};

static int take(struct parser *p, const struct row *r, bool is_short, const char *val,
		struct err *e)
{
	struct given *g = &p->all.given[r - opt_rows];
	int err;

	g->row = r;
	if (is_short)
		snprintf(g->as, sizeof(g->as), "-%c", r->letter);
	else
		snprintf(g->as, sizeof(g->as), "--%s", r->name);
	if (!r->arg && val)
		return err_set(e, -EINVAL, "%s: takes no value", g->as);
	if (r->arg && !val) {
		if (p->at == p->n)
			return err_set(e, -EINVAL, "%s: wants a value: %s", g->as, r->arg);
		val = p->argv[p->at++];
	}
	g->val = val;
	err = r->take(p->all.o, g, e);
	p->over = p->all.o->command == CMD_HELP || p->all.o->command == CMD_VERSION || p->all.o->command == CMD_COMPLETION;
	return err;
}

/* Where two have the name, the one that the command takes. */
static const struct row *row_named(const struct parser *p, const char *name, size_t len)
{
	const struct command_row *c = p->all.command;
	const struct row *found = NULL;

	for (size_t i = 0; i < n_opt_rows; i++) {
		const struct row *r = &opt_rows[i];

		if (!len || len != strlen(r->name) || memcmp(r->name, name, len))
			continue;
		if (c ? r->flags & c->flag : !(r->flags & NO_TRACE))
			return r;
		found = found ? found : r;
	}
	return found;
}

static int take_long(struct parser *p, const char *name, struct err *e)
{
	size_t len = strcspn(name, "=");
	const struct row *r = row_named(p, name, len);

	return r ? take(p, r, false, name[len] ? name + len + 1 : NULL, e) : unknown_option(name, len, e);
}

static int take_short(struct parser *p, const char *s, struct err *e)
{
	int err = 0;

	for (; *s && !err && !p->over; s++) {
		const struct row *r = array_first(x, opt_rows, n_opt_rows, x->letter == *s);

		if (!r)
			return err_set(e, -EINVAL, "-%c: no such option" SEE_HELP, *s);
		if (r->arg && s[1])
			return take(p, r, true, s + 1, e);
		err = take(p, r, true, NULL, e);
	}
	return err;
}

static int take_file(struct opts *o, const char *w, const struct command_row *command, struct err *e)
{
	if (o->files.n == command->max_files)
		return err_set(e, -EINVAL, "%s: '%s' is one argument too many", command->name, w);
	*vec_push(&o->files) = w;
	return 0;
}

/* The option that the word before this one was, if it takes no value: what follows may have been meant as one. NULL: it was none. */
static const struct row *flag_before(const struct parser *p)
{
	const char *before = p->at > 2 ? p->argv[p->at - 2] : "";
	const struct row *r = !strncmp(before, "--", 2) ? row_named(p, before + 2, strlen(before + 2)) : NULL;

	return r && !r->arg ? r : NULL;
}

static int take_target(struct parser *p, const char *w, struct err *e)
{
	const struct row *flag = flag_before(p);
	int err = take(p, row_named(p, "pid", strlen("pid")), true, w, e);

	return err == -EINVAL && flag ? err_set(e, err, "%s: --%s takes no value, and '%s' is no process", p->all.command->name, flag->name, w) : err;
}

static int take_word(struct parser *p, const char *w, struct err *e)
{
	struct opts *o = p->all.o;

	for (size_t i = 0; !p->n_words && !p->all.command && i < n_opt_commands; i++) {
		if (strcmp(w, opt_commands[i].name))
			continue;
		o->command = opt_commands[i].command;
		o->serve.on = opt_commands[i].flag == SERVE;
		p->all.command = &opt_commands[i];
		return 0;
	}
	if (p->all.command && p->all.command->takes_target)
		return take_target(p, w, e);
	if (p->all.command)
		return take_file(o, w, p->all.command, e);
	if (p->n_words == MAX_WORDS)
		return err_set(e, -EINVAL, "%s: only a target, an interval and a count are taken", w);
	p->words[p->n_words++] = w;
	return 0;
}

static int take_interval(struct opts *o, const char *w, struct err *e)
{
	if (parse_duration(w, &o->interval_ns))
		return err_set(e, -EINVAL,
			       "%s: want an interval in seconds, 'report', 'diff', 'doctor', or -- before a "
			       "program to start", *w ? w : "''");
	if (o->interval_ns < MIN_INTERVAL_NS)
		return err_set(e, -EINVAL, "interval %s: want seconds, at least 0.01", w);
	return 0;
}

/* `malloctrace 1234`, `malloctrace nginx`: -p is what they mean. */
static int take_bare_target(struct parser *p, const char *w, struct err *e)
{
	if (strchr(w, '/'))
		return err_set(e, -EINVAL, "%s: a program to start comes after --, as in: malloctrace -- %s", w, w);
	return take(p, row_named(p, "pid", strlen("pid")), true, w, e);
}

static bool names_target(const struct parser *p, const char *w)
{
	uint64_t n;

	if (p->all.o->cmd || asked__target(&p->all))
		return false;
	/* "0.5" is an interval, of which target is not said */
	return !parse_u64(w, 1, INT32_MAX, &n) || (*w && parse_duration(w, &n));
}

/* What the words that are no options mean, once all options are known. */
static int settle_words(struct parser *p, struct err *e)
{
	struct opts *o = p->all.o;
	unsigned int at = 0;
	int err = 0;

	if (p->n_words && names_target(p, p->words[0]))
		err = take_bare_target(p, p->words[at++], e);
	if (!err && at < p->n_words)
		err = take_interval(o, p->words[at++], e);
	if (!err && at < p->n_words && parse_u64(p->words[at], 1, UINT64_MAX, &o->count))
		err = err_set(e, -EINVAL, "count %s: want a whole number of reports, at least 1", p->words[at]);
	if (!err && at + 1 < p->n_words)
		err = err_set(e, -EINVAL, "%s: only an interval and a count are taken", p->words[at + 1]);
	return err;
}

/* So that a test sees the same samples again. */
static int choose_seed(struct opts *o, struct err *e)
{
	const char *given = getenv("MALLOCTRACE_SEED");

	if (given && parse_u64(given, 1, UINT64_MAX, &o->recording.seed))
		return err_set(e, -EINVAL, "MALLOCTRACE_SEED=%s: want a whole number, at least 1", given);
	while (!o->recording.seed)
		if (getrandom(&o->recording.seed, sizeof(o->recording.seed), 0) < 0)
			return err_set(e, -errno, "getrandom: %s", strerror(errno));
	return 0;
}

/* "handle_get, handle_put" */
static void name_withins(struct opts *o)
{
	size_t len = 1;
	char *to;

	if (!o->withins.n)
		return;
	for (size_t i = 0; i < o->withins.n; i++)
		len += strlen(o->withins.v[i]) + strlen(", ");
	o->within_names = to = xmalloc(len);
	for (size_t i = 0; i < o->withins.n; i++)
		to = stpcpy(stpcpy(to, i ? ", " : ""), o->withins.v[i]);
	clean_name(o->within_names);
	o->recording.within = o->within_names;
}

static int complete(struct parser *p, struct err *e)
{
	struct opts *o = p->all.o;

	/* it is for whole machines, and lasts: what it costs is bounded unless something else was said */
	if (o->serve.on) {
		bool others = asked__target(&p->all) || asked__find(&p->all, "overhead sample mode");

		o->all |= !asked__target(&p->all);
		o->recording.overhead_pct = others ? o->recording.overhead_pct : SERVE_OVERHEAD_PCT;
		o->batch = true;
		if (!asked__find(&p->all, "keep"))
			o->keep = (struct outname_keep){ SERVE_KEEP_FILES, SERVE_KEEP_BYTES };
	}
	if (!asked__find(&p->all, "metric"))
		o->metric = o->command == CMD_TRACE ? metric__preset(counters__of_mode(o->recording.mode))->name : NULL;
	if (o->full && !asked__find(&p->all, "top"))
		o->top = UINT_MAX;
	/* the size that was requested is known at entries alone, which cost another trap */
	if (recording__is_leak(&o->recording) && !asked__find(&p->all, "size"))
		o->recording.size = SIZE_USABLE;
	o->reachable |= o->roots;
	/* of a line, a clock tick says nothing */
	if (o->events)
		o->recording.precise_times = true;
	if (o->json) {
		o->format = "json";
		o->batch = true;
	}
	if ((o->json || asked__find(&p->all, "format")) && !opts__has_output(o, "-"))
		opts__add_output(o, "-");
	o->recording.by_thread = grouping__find(o->by)->threads;
	name_withins(o);
	return opts__check_outputs(o, e) ?: choose_seed(o, e);
}

/* `heap --help`, `help heap` */
static const struct command_row *help_of(const struct parser *p)
{
	const struct command_row *c = p->all.command;

	for (size_t i = 0; c && c->command == CMD_HELP && p->all.o->files.n && i < n_opt_commands; i++)
		if (!strcmp(p->all.o->files.v[0], opt_commands[i].name))
			return &opt_commands[i];
	return c;
}

/* `--help all`, `help all` */
static bool wants_all(const struct parser *p)
{
	const char *word = p->all.o->files.n ? p->all.o->files.v[0] : p->at < p->n ? p->argv[p->at] : "";

	return !strcmp(word, "all");
}

/* "name = value", "name"; # begins a comment */
static int take_config_line(struct parser *p, char *line, struct err *e)
{
	char *value, *end;
	const struct row *r;

	line += strspn(line, " \t");
	for (end = line + strlen(line); end > line && strchr(" \t\r", end[-1]);)
		*--end = '\0';
	if (!*line || *line == '#')
		return 0;
	value = line + strcspn(line, " \t=");
	end = value;
	value += strspn(value, " \t");
	if (*value == '=')
		value += 1 + strspn(value + 1, " \t");
	else if (*value)
		return err_set(e, -EINVAL, "want NAME = VALUE, or the name of an option that has none");
	else
		value = NULL;
	*end = '\0';
	r = row_named(p, line, strlen(line));
	if (!r || !(r->flags & SERVE) || !strcmp(line, "config"))
		return err_set(e, -EINVAL, "%.40s: serve has no such option", line);
	if (r->arg && !value)
		return err_set(e, -EINVAL, "%s: wants a value: %s", line, r->arg);
	return take(p, r, false, value, e);
}

/* The word after "--config", or what is behind its "=": found before all others, which come after what it says. */
static const char *config_named(const struct parser *p)
{
	for (int i = 1; i < p->n; i++) {
		if (!strcmp(p->argv[i], "--config") && i + 1 < p->n)
			return p->argv[i + 1];
		if (!strncmp(p->argv[i], "--config=", strlen("--config=")))
			return p->argv[i] + strlen("--config=");
	}
	return NULL;
}

static int take_config(struct parser *p, struct err *e)
{
	const char *path = config_named(p);
	_cleanup_close_ int fd = -1;
	unsigned int number = 1;
	struct opts *o = p->all.o;
	int err;

	if (p->n < 2 || strcmp(p->argv[1], "serve") || !path)
		return 0;
	fd = invoker__open_named(path);
	err = fd < 0 ? fd : read_small_fd(fd, &o->serve.config_text, NULL);
	if (err)
		return err_set(e, -EINVAL, "--config %s: %s", path, strerror(-err));
	p->at = 2;
	err = take_word(p, p->argv[1], e);
	for (char *line = o->serve.config_text, *next; line && !err; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		err = take_config_line(p, line, e);
	}
	return err ? err_wrap(e, err, "--config %s, line %u", path, number - 1) : 0;
}

int opts__parse(struct opts *o, int argc, char **argv, struct err *e)
{
	struct parser p = { .all.o = o, .argv = argv, .at = 1 };
	int err = 0;

	*o = (struct opts){
		.command = CMD_TRACE,
		.recording = RECORDING_PRESET,
		.leak_after_ns = 20000000000,
		.pause_ns = 10 * SECOND_NS,
		.format = "text",
		.verbosity = LOG_NORMAL,
		.metric = "live-bytes",
		.threshold_pct = EXPORT_THRESHOLD_PCT,
		.tree = "callers",
		.fail_over = UINT64_MAX,
		.serve.listen = "127.0.0.1:9464",
		.serve.listen_fd = -1,
	};
	for (p.n = 1; p.n < argc && strcmp(argv[p.n], "--"); p.n++)
		;
	if (p.n < argc)
		o->cmd = argv + p.n + 1;
	err = take_config(&p, e);
	while (p.at < p.n && !err && !p.over) {
		const char *s = argv[p.at++];

		if (s[0] == '-' && s[1] == '-')
			err = take_long(&p, s + 2, e);
		else if (s[0] == '-' && s[1])
			err = take_short(&p, s + 1, e);
		else
			err = take_word(&p, s, e);
	}
	if (!err && o->command == CMD_HELP) {
		o->help_of = help_of(&p);
		o->help_all = wants_all(&p);
	}
	if (!err && !p.over) {
		if (o->cmd && (!o->cmd[0] || !*o->cmd[0]))
			err = err_set(e, -EINVAL, "--: want a program to start after it");
		else
			err = settle_words(&p, e) ?: opts__check(&p.all, e) ?: complete(&p, e);
	}
	if (err)
		opts__done(o);
	return err;
}

unsigned int opts__n_blocks(const struct opts *o)
{
	if (!(o->views & VIEW_BLOCKS))
		return 0;
	/* what is hidden is left out of the list, which is made before */
	if (o->filter || o->hide || o->suppressions)
		return OPTS_MAX_BLOCKS;
	return MIN(o->top ? o->top : REPORT_TOP, OPTS_MAX_BLOCKS);
}

bool opts__oldest_blocks(const struct opts *o)
{
	return o->command == CMD_TRACE && (!o->sort || rank__key(o->sort) == rank__key("age"));
}

void opts__done(struct opts *o)
{
	struct strings *const lists[] = {
		&o->comms, &o->cgroups, &o->containers, &o->pods, &o->objects, &o->syms, &o->tags, &o->withins,
		&o->start_on, &o->stop_on, &o->marks, &o->outputs, &o->whens, &o->files,
	};

	vec_done(&o->pids);
	for (size_t i = 0; i < o->names.n; i++)
		free(o->names.v[i]);
	vec_done(&o->names);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		vec_done(lists[i]);
	for (size_t i = 0; i < o->found_cgroups.n; i++)
		free(o->found_cgroups.v[i]);
	vec_done(&o->found_cgroups);
	free(o->within_names);
	o->within_names = NULL;
	free(o->serve.config_text);
	o->serve.config_text = NULL;
}
