// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --events: a line for each call. The fixture keeps a list of its own, by thread and in order: the
 * lines must be that list, and both what the counters say.
 */
#include "lt.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct call {
	int pid, tid;		/* pid 0: there is no such column */
	char name[32], thread[16];
	char sign;		/* + - f ?, as the fixture has it */
	uint64_t size, addr;	/* as far as the sign has them */
	uint64_t us;		/* of the day */
	bool has_lived;
	char site[160];
};

struct calls {
	struct call *v;
	size_t n, room;
	/* not shown: where it happened, and in the last line */
	uint64_t gap_full, shown, lost, hidden;
	bool summed_up;
	const char *rest;	/* of the output, after the lines */
};

static struct call *add(struct calls *c)
{
	if (c->n == c->room) {
		c->room = c->room ? c->room * 2 : 1024;
		c->v = realloc(c->v, c->room * sizeof(*c->v));
		if (!c->v)
			abort();
	}
	return memset(&c->v[c->n++], 0, sizeof(*c->v));
}

/* "1,204" */
static uint64_t exact(const char *s)
{
	uint64_t n = 0;

	for (; (*s >= '0' && *s <= '9') || *s == ','; s++)
		if (*s != ',')
			n = n * 10 + (uint64_t)(*s - '0');
	return n;
}

static uint64_t figure_before(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	if (!at)
		return 0;
	while (at > line && at[-1] != ' ')
		at--;
	return exact(at);
}

static void read_line(struct test *t, struct calls *c, const char *line, bool pids)
{
	unsigned int h, m, s, us;
	char bytes[32], addr[32], lived[32];
	struct call *e = add(c);
	int at = 0, more = 0;
	bool ok;

	ok = sscanf(line, "%2u:%2u:%2u.%6u %n", &h, &m, &s, &us, &at) == 4 && at;
	if (ok && pids) {
		ok = sscanf(line + at, "%d %n", &e->pid, &more) == 1;
		at += more;
	}
	more = 0;
	ok = ok && sscanf(line + at, "%d %15s %31s %31s %31s %31s %n", &e->tid, e->thread, e->name, bytes, addr, lived, &more) == 6 && more;
	must(t, ok, "no line of --events: '%.200s'", line);
	e->us = ((h * 60ull + m) * 60 + s) * 1000000 + us;
	snprintf(e->site, sizeof(e->site), "%.150s", line + at + more);
	e->has_lived = strcmp(lived, "-");
	e->sign = !strcmp(addr, "failed") ? 'f' : !strcmp(bytes, "-?") ? '?' : bytes[0];
	e->size = strtoull(bytes + (e->sign == '+' || e->sign == '-'), NULL, 10);
	e->addr = strtoull(addr, NULL, 16);
}

/* The lines up to the one that sums them up. */
static void read_lines(struct test *t, struct calls *c, char *text, bool pids)
{
	char *line = text, *end = strchr(line, '\n');

	memset(c, 0, sizeof(*c));
	must(t, !strncmp(text, "TIME ", 5) && end, "no header: %.200s", text);
	want(t, pids == !!memmem(text, (size_t)(end - text), " PID ", 5), "a column PID, wanted %s", pids ? "one" : "none");
	for (line = end + 1; (end = strchr(line, '\n')) && !c->summed_up; line = end + 1) {
		*end = 0;
		if (!strncmp(line, "... ", 4)) {
			uint64_t n = exact(line + 4);

			if (strstr(line, "the ring was full"))
				c->gap_full += n;
			else
				want(t, false, "what is this? '%s'", line);
		} else if (strstr(line, " shown")) {
			c->summed_up = true;
			c->shown = exact(line);
			c->lost = figure_before(line, " lost:");
			c->hidden = figure_before(line, " hidden by");
		} else {
			read_line(t, c, line, pids);
		}
		*end = '\n';
	}
	c->rest = line;
	want(t, c->summed_up, "the lines end without a sum");
	want_eq(t, "events that are said to be shown", c->shown, c->n);
	want_eq(t, "lost events, told where it happened", c->lost, c->gap_full);
}

static void read_list(struct test *t, struct calls *c, const char *path)
{
	char *text = read_all(path, NULL), *next;

	must(t, text != NULL, "%s: %s", path, strerror(errno));
	memset(c, 0, sizeof(*c));
	for (char *line = text; *line; line = next) {
		struct call *e = add(c);

		next = strchr(line, '\n');
		must(t, next != NULL, "%s: no whole line", path);
		*next++ = 0;
		must(t, sscanf(line, "%d %31s %c %" SCNu64 " %" SCNx64, &e->tid, e->name, &e->sign, &e->size, &e->addr) == 5, "%s: '%s'",
		     path, line);
	}
	free(text);
}

static bool same(const struct call *a, const struct call *b)
{
	return a->tid == b->tid && !strcmp(a->name, b->name) && a->sign == b->sign && (a->sign == '?' || a->size == b->size) &&
	       (a->sign == 'f' || a->addr == b->addr);
}

/* Of each thread, the lines are its list, in order. some: lines may be missing. */
static void want_list(struct test *t, const struct calls *lines, const struct calls *list, bool some)
{
	size_t n_seen = 0;

	for (size_t first = 0; first < list->n;) {
		int tid = list->v[first].tid;
		size_t end = first, at;

		while (end < list->n && list->v[end].tid == tid)
			end++;
		at = first;
		for (size_t i = 0; i < lines->n; i++) {
			const struct call *l = &lines->v[i];

			if (l->tid != tid)
				continue;
			n_seen++;
			while (some && at < end && !same(l, &list->v[at]))
				at++;
			if (at == end || !same(l, &list->v[at])) {
				const struct call *w = at < end ? &list->v[at] : NULL;

				want(t, false, "line %zu of thread %d: wanted %s %c %" PRIu64 " 0x%" PRIx64 ", got %s %c %" PRIu64 " 0x%" PRIx64, i + 1, tid,
				     w ? w->name : "no more", w ? w->sign : ' ', w ? w->size : 0, w ? w->addr : 0, l->name, l->sign, l->size,
				     l->addr);
				return;
			}
			at++;
		}
		if (!some)
			want_eq(t, "calls of a thread that have no line", 0, end - at);
		first = end;
	}
	want_eq(t, "lines of threads that have a list", lines->n, n_seen);
}

static uint64_t n_of(const struct calls *c, char sign)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].sign == sign;
	return n;
}

/* Lines and list against the counters of the profile. */
static void want_counters(struct test *t, json_t *root, const struct calls *c)
{
	want_u64(t, root, "totals.alloc_calls", n_of(c, '+'));
	want_u64(t, root, "totals.free_calls", n_of(c, '-'));
	want_u64(t, root, "totals.failed_calls", n_of(c, 'f'));
	if (json_is_integer(jget(root, "totals.unknown_frees")))
		want_u64(t, root, "totals.unknown_frees", n_of(c, '?'));
}

static uint64_t all_counted(struct test *t, json_t *root)
{
	return ju64(t, root, "totals.alloc_calls") + ju64(t, root, "totals.free_calls") + ju64(t, root, "totals.failed_calls") +
	       ju64(t, root, "totals.unknown_frees");
}

struct traced {
	struct fx f;
	struct mt m;
	struct calls lines, list;
	json_t *root;		/* of -o */
};

/* The fixture with N threads, from its first call to its last, with these options (the list ends with NULL). */
static void trace_threads(struct test *t, struct traced *x, const char *fixture_name, const char *n_threads, uint64_t n,
			  const char *env, int want_exit, const char *const *extra)
{
	struct spawn s = { .argv = { lt_bin, "--events", "-o", in_dir(t, "x.json"), "-p" }, .env = { env } };
	const char *list = in_dir(t, "list");
	size_t n_args = 5;

	fx__start(t, &x->f, fixture_name, "threads", list, n_threads, number_arg(n), NULL);
	s.argv[n_args++] = pid_arg(x->f.c.pid);
	for (; extra && *extra; extra++)
		s.argv[n_args++] = *extra;
	mt__start_v(t, &x->m, &s);
	mt__wait_attached(t, &x->m);
	fx__go(t, &x->f);
	mt__stop(t, &x->m, SIGINT, want_exit);
	read_lines(t, &x->lines, x->m.c.outs.s, false);
	read_list(t, &x->list, list);
	x->root = load_json(t, in_dir(t, "x.json"));
	/* sites that --filter hides are in the totals */
	if (!json_is_object(jget(x->root, "hidden")))
		want_invariants(t, x->root);
	fx__quit(t, &x->f);
}

static void want_site(struct test *t, const struct calls *c, const char *name, char sign, const char *site)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].name, name) && c->v[i].sign == sign && strncmp(c->v[i].site, site, strlen(site))) {
			want(t, false, "the site of %s %c, wanted %s..., got %s", name, sign, site, c->v[i].site);
			return;
		}
}

static void ledger(struct test *t, const char *fixture_name, const char *n_threads, uint64_t n)
{
	struct traced x;

	trace_threads(t, &x, fixture_name, n_threads, n, NULL, 0, NULL);
	want_list(t, &x.lines, &x.list, false);
	want_counters(t, x.root, &x.lines);
	want_counters(t, x.root, &x.list);
	want_u64(t, x.root, "losses.total", 0);
	want_site(t, &x.lines, "malloc", '+', "make_m < work_round < work");
	want_site(t, &x.lines, "malloc", 'f', "make_m < work_round < work");
	want_site(t, &x.lines, "calloc", '+', "make_c < work_round < work");
	want_site(t, &x.lines, "posix_memalign", '+', "make_p < work_round < work");
	want_site(t, &x.lines, "aligned_alloc", '+', "make_a < work_round < work");
	want_site(t, &x.lines, "realloc", '+', "grow_r < work");
	want_site(t, &x.lines, "free", '?', "[older than the trace]");
	for (size_t i = 0; i < x.lines.n; i++) {
		const struct call *l = &x.lines.v[i];

		if (want(t, !strcmp(l->thread, "events") || !strcmp(l->thread, fixture_name), "a thread's name, got %s", l->thread) &&
		    want(t, l->has_lived == (l->sign == '-'), "line %zu: a lifetime of %c", i + 1, l->sign))
			continue;
		break;
	}
	/* the report follows */
	want(t, strstr(x.lines.rest, "malloctrace  events"), "no report after the lines: %.300s", x.lines.rest);
}

TEST(events_one_thread) { ledger(t, "events", "1", scaled(500)); }
/* as many as there is room for in the ring, should the reader not come to it */
TEST(events_threads) { ledger(t, "events", "8", scaled(700)); }
TEST(events_threads_nofp) { ledger(t, "events.nofp", "4", scaled(500)); }

/* Lines of one thread go up in time, and a block's end comes after its beginning, whichever threads they are of. */
TEST(events_order)
{
	struct traced x;
	struct calls *c = &x.lines;

	trace_threads(t, &x, "events", "4", scaled(500), NULL, 0, NULL);
	for (size_t i = 0; i < c->n && !t->n_failed; i++) {
		bool begun = c->v[i].sign != '-';

		for (size_t k = i; k-- && (!begun || i - k < 64);) {
			if (c->v[k].tid == c->v[i].tid && i - k < 64)
				want(t, c->v[k].us <= c->v[i].us || c->v[k].us - c->v[i].us > 3600000000ull,
				     "lines %zu and %zu of one thread: time goes back", k + 1, i + 1);
			if (c->v[k].sign == '+' && c->v[k].addr == c->v[i].addr)
				begun = true;
		}
		want(t, begun, "line %zu: the end of 0x%" PRIx64 ", which has not begun", i + 1, c->v[i].addr);
	}
}

/* A ring of a page: what has no line is counted, where it happened and in the end. */
TEST(events_ring_full)
{
	struct traced x;

	trace_threads(t, &x, "events", "4", scaled(4000), "MALLOCTRACE_EVENTS_PAGES=1", 3, NULL);
	want(t, x.lines.lost > 0, "lost events, wanted some, got none");
	want_list(t, &x.lines, &x.list, true);
	want_counters(t, x.root, &x.list);
	want_eq(t, "lines and lost ones", all_counted(t, x.root), x.lines.n + x.lines.lost);
	want_u64(t, x.root, "losses.events_full", x.lines.lost);
	want_u64(t, x.root, "losses.total", x.lines.lost);
}

TEST(events_filter)
{
	const char *const extra[] = { "--filter", "^make_c$", NULL };
	struct traced x;
	struct calls wanted = {};

	trace_threads(t, &x, "events", "2", scaled(500), NULL, 0, extra);
	/* of a block that make_c made, also its end */
	for (size_t i = 0; i < x.list.n; i++) {
		static uint64_t addr;

		if (!strcmp(x.list.v[i].name, "calloc"))
			addr = x.list.v[i].addr;
		else if (strcmp(x.list.v[i].name, "free") || x.list.v[i].addr != addr)
			continue;
		*add(&wanted) = x.list.v[i];
	}
	want_list(t, &x.lines, &wanted, false);
	want_eq(t, "lines and hidden ones", all_counted(t, x.root), x.lines.n + x.lines.hidden);
}

/* Sizes in BPF: what is not recorded has no line, and its free is none of an older block. */
TEST(events_min_size)
{
	const char *const extra[] = { "--min-size", "600", "--max-size", "1000", NULL };
	struct traced x;
	struct calls wanted = {};

	trace_threads(t, &x, "events", "2", scaled(500), NULL, 0, extra);
	for (size_t i = 0; i < x.list.n; i++)
		if (x.list.v[i].sign == 'f' || (x.list.v[i].sign != '?' && x.list.v[i].size >= 600 && x.list.v[i].size <= 1000))
			*add(&wanted) = x.list.v[i];
	want_list(t, &x.lines, &wanted, false);
	want_counters(t, x.root, &x.lines);
}

TEST(events_within)
{
	const char *const extra[] = { "--within", "make_p", NULL };
	struct traced x;
	struct calls wanted = {};
	uint64_t addr = 0;

	trace_threads(t, &x, "events", "1", scaled(300), NULL, 0, extra);
	for (size_t i = 0; i < x.list.n; i++) {
		if (!strcmp(x.list.v[i].name, "posix_memalign"))
			addr = x.list.v[i].addr;
		else if (strcmp(x.list.v[i].name, "free") || x.list.v[i].addr != addr)
			continue;
		*add(&wanted) = x.list.v[i];
	}
	want_list(t, &x.lines, &wanted, false);
	want_counters(t, x.root, &x.lines);
}

/* Calls alone, without addresses; nothing is known of frees. */
TEST(events_count)
{
	const char *const extra[] = { "--mode", "count", NULL };
	struct traced x;
	size_t at = 0;

	trace_threads(t, &x, "events", "1", scaled(300), NULL, 0, extra);
	for (size_t i = 0; i < x.list.n; i++) {
		const struct call *w = &x.list.v[i], *l = &x.lines.v[at];

		/* what is more than there are addresses is not counted */
		if (w->sign != '+')
			continue;
		if (at++ >= x.lines.n || l->sign != '+' || l->size != w->size || l->addr || strcmp(l->name, w->name)) {
			want(t, false, "line %zu, wanted %s %" PRIu64 " without an address", at, w->name, w->size);
			break;
		}
	}
	want_eq(t, "lines", x.lines.n, at);
	want_u64(t, x.root, "totals.alloc_calls", x.lines.n);
}

TEST(events_usable)
{
	const char *const extra[] = { "--size", "usable", NULL };
	struct traced x;

	trace_threads(t, &x, "events", "1", scaled(300), NULL, 0, extra);
	want_counters(t, x.root, &x.lines);
	want_counters(t, x.root, &x.list);
}

/* Where blocks are freed is in the line, if it is recorded. */
TEST(events_free_stacks)
{
	const char *const extra[] = { "--free-stacks", NULL };
	struct traced x;

	trace_threads(t, &x, "events", "1", scaled(300), NULL, 0, extra);
	want_list(t, &x.lines, &x.list, false);
	for (size_t i = 0; i < x.lines.n; i++)
		if (!strcmp(x.lines.v[i].name, "free") && x.lines.v[i].sign == '-' &&
		    !want(t, strstr(x.lines.v[i].site, "  freed by drop < work"), "where a block is freed, got %s", x.lines.v[i].site))
			break;
}

/* Children that are gone when their lines are made: names, pids, all of them. */
TEST(events_children)
{
	const char *base = in_dir(t, "list"), *profile = in_dir(t, "x.json");
	struct calls lines, all = {};
	struct mt m;
	struct fx f;
	json_t *root;

	fx__start(t, &f, "events", "children", base, "12", number_arg(scaled(50)), NULL);
	mt__start(t, &m, "--events", "-f", "-p", pid_arg(f.c.pid), "-o", profile, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	read_lines(t, &lines, m.c.outs.s, true);
	for (unsigned int i = 1; i <= 12; i++) {
		struct calls one;

		read_list(t, &one, in_dir(t, "list.%u", i));
		for (size_t k = 0; k < one.n; k++)
			*add(&all) = one.v[k];
	}
	root = load_json(t, profile);
	want_list(t, &lines, &all, false);
	want_counters(t, root, &lines);
	want_site(t, &lines, "malloc", '+', "make_m < work_round < work");
	for (size_t i = 0; i < lines.n; i++)
		if (!want(t, lines.v[i].pid == lines.v[i].tid, "the pid of a child's only thread, got %d of %d", lines.v[i].pid, lines.v[i].tid))
			break;
	fx__quit(t, &f);
}

/* From a program's first call; what it prints goes elsewhere. */
TEST(events_command)
{
	const char *list = in_dir(t, "list");
	struct calls lines;
	struct mt m;

	mt__start(t, &m, "--events", "-q", "--", fixture("basic"), "--auto", list, NULL);
	mt__stop(t, &m, 0, 0);
	read_lines(t, &lines, m.c.outs.s, false);
	want(t, lines.n > 0, "lines, wanted some");
	/* -q */
	want(t, !*lines.rest, "after the lines, wanted nothing, got %.200s", lines.rest);
}

/* `| head`: nobody reads any more. The trace ends by itself, and the target goes on unharmed. */
TEST(events_reader_leaves)
{
	struct fx f;
	struct child c;
	struct spawn s = { .argv = { lt_bin, "--events", "-p" } };
	char text[4096];

	fx__start(t, &f, "threads", "busy", "1", "2", NULL);
	s.argv[3] = pid_arg(f.c.pid);
	child__start(t, &c, &s);
	child__wait_err(t, &c, "malloctrace: attached", NULL, patience_s(60));
	must(t, read(c.out, text, sizeof(text)) > 0, "no line");
	close(c.out);
	c.out = -1;
	/* what did not fit into the ring meanwhile is a loss */
	want(t, (child__wait(t, &c) & ~3) == 0, "malloctrace's exit status, wanted 0 or 3, got %d; stderr: %.400s", c.status, c.errs.s);
	want_unprobed(t, f.c.pid);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	want_eq(t, "blocks that the program found damaged", 0, ledger__note(t, &f.led, "wrong"));
	fx__quit(t, &f);
}

/* The same of a target that does nothing, so that there is no line to find it out by. */
TEST(events_reader_leaves_at_rest)
{
	struct fx f;
	struct child c;
	struct spawn s = { .argv = { lt_bin, "--events", "-p" } };

	fx__start(t, &f, "threads", "busy", "1", "1", NULL);
	kill(f.c.pid, SIGSTOP);
	s.argv[3] = pid_arg(f.c.pid);
	child__start(t, &c, &s);
	child__wait_err(t, &c, "malloctrace: attached", NULL, patience_s(60));
	close(c.out);
	c.out = -1;
	want_eq(t, "malloctrace's exit status", 0, (uint64_t)child__wait(t, &c));
	kill(f.c.pid, SIGCONT);
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}

/* A reader that does not read holds neither the target nor malloctrace up: what has no room is told. */
TEST(events_reader_sleeps)
{
	struct fx f;
	struct child c;
	struct calls lines;
	struct spawn s = { .argv = { lt_bin, "--events", "-o", in_dir(t, "x.json"), "-p" }, .env = { "MALLOCTRACE_EVENTS_PAGES=1" } };
	json_t *root;

	fx__start(t, &f, "events", "threads", "/dev/null", "2", number_arg(scaled(20000)), NULL);
	s.argv[5] = pid_arg(f.c.pid);
	child__start(t, &c, &s);
	child__wait_err(t, &c, "malloctrace: attached", NULL, patience_s(60));
	fx__go(t, &f);		/* it ends its work, though nobody reads */
	child__kill(t, &c, SIGINT);
	want_eq(t, "malloctrace's exit status", 3, (uint64_t)child__wait(t, &c));
	read_lines(t, &lines, c.outs.s, false);
	root = load_json(t, in_dir(t, "x.json"));
	want_eq(t, "lines and lost ones", all_counted(t, root), lines.n + lines.lost);
	fx__quit(t, &f);
}

TEST(events_tracer_killed)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "threads", "busy", "1", "2", NULL);
	mt__start(t, &m, "--events", "-p", pid_arg(f.c.pid), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGKILL);
	want_eq(t, "malloctrace's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &m.c));
	want_unprobed(t, f.c.pid);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
}

/* Sites of processes that ended are given to others while lines of them wait: none has another's stack. */
TEST_ALONE(events_recycled)
{
	const char *base = in_dir(t, "list");
	struct calls lines;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "events", "children", base, "16", "3", NULL);
	mt__start(t, &m, "--events", "-f", "-v", "--max-stacks", "64", "-p", pid_arg(f.c.pid), NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 20; i++)
		fx__go(t, &f);
	child__kill(t, &m.c, SIGINT);
	child__wait(t, &m.c);
	want(t, strstr(m.c.errs.s, "table space of "), "no room was given back");
	read_lines(t, &lines, m.c.outs.s, true);
	for (size_t i = 0; i < lines.n; i++) {
		static const struct {
			const char *name, *site;
		} rows[] = { { "malloc", "make_m < " }, { "calloc", "make_c < " }, { "posix_memalign", "make_p < " },
			     { "aligned_alloc", "make_a < " } };
		const struct call *l = &lines.v[i];

		for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
			if (!strcmp(l->name, rows[k].name) && strncmp(l->site, rows[k].site, strlen(rows[k].site)) &&
			    strcmp(l->site, "[no stack]")) {
				want(t, false, "line %zu: %s at %s", i + 1, l->name, l->site);
				i = lines.n;
			}
	}
	fx__quit(t, &f);
}

/* A library without names, called by a function that has one: lines name the site as the report does. */
TEST(events_unnamed)
{
	struct mt m;
	unsigned int n = 0;
	int status = mt__run(t, &m, "--events", "--batch", "--", fixture("unnamed"), NULL);

	must(t, !status, "exit status, wanted 0: %.600s", m.c.errs.s);
	for (const char *line = m.c.outs.s; (line = strstr(line, " +4321 ")); line++) {
		const char *site = strstr(line, "  order_open < main\n");

		n += site && site < strchr(line, '\n');
	}
	want_eq(t, "lines that name order_open", 5, n);
	want(t, strstr(m.c.outs.s, "\norder_open < main"), "the report's stack, wanted order_open first: %s", m.c.outs.s);
}
