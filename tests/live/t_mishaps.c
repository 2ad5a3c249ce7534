// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Faults on purpose: the first call fails, then the second, and so on until none is left. What malloctrace may do then: say in words
 * what happened and end with a status that is not 0, or show the very same as without a fault. Never a signal, never status 0 with
 * other figures, no probe left.
 *
 * With MISHAPS=all (`make fault-test`) each call fails in its turn; with MISHAPS='all 51-54' those alone. Else some of them do.
 *
 * Where memory is refused, at whatever call, malloctrace ends.
 */
#include "mishap.h"
#include "screen.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* runs of a scene, if not all */
#define SOME_RUNS 6
#define SOME_TRACES 4
#define FIRST_CALLS 8	/* of those about the target's file */
#define OLD "what was there before"

struct scene {
	struct test *t;
	struct mishap *m;
	enum mishap_kind kind;
	bool lasting;
	const char *name;
	const char *program;	/* of traces: a copy of a fixture that is deleted when it runs; NULL: the fixture itself */
};

/* ---- what came of it */

static bool has_words(const char *said)
{
	const char *line = strstr(said, "malloctrace: ");

	return line && strlen(line) > strlen("malloctrace: ") + 8;
}

static void tell(const struct scene *s, const char *what, int status, const char *said)
{
	want(s->t, false, "%s: %s; status %d, stderr: %.600s", s->name, what, status, said);
}

/* It ended in a fair way, as far as that can be seen from outside: false if it was told. */
static bool want_fair(const struct scene *s, int status, const char *said)
{
	const char *what = status >= 128 ? "it died by a signal" : status == 124 || (status && !has_words(said)) ? "it says nothing" : NULL;

	if (what)
		tell(s, what, status, said);
	else
		want(s->t, true, "fair");
	return !what;
}

/* ---- what is the same each time: report, diff, heap */

struct outcome {
	int status;
	struct text out, err;
	char *file;		/* what is in the -o file */
	size_t n_file;
};

static struct outcome run(const struct scene *s, const char *const *args, const char *file)
{
	struct spawn how = { .argv = { lt_bin } };
	struct outcome o;
	struct mt m;

	for (size_t i = 0; args[i]; i++)
		how.argv[1 + i] = args[i];
	if (file) {
		FILE *f = fopen(file, "w");

		must(s->t, f && fputs(OLD, f) >= 0 && !fclose(f), "%s: %s", file, strerror(errno));
	}
	mishap__prepare(s->t, s->m, s->kind, &how);
	mt__start_v(s->t, &m, &how);
	mishap__begun();
	o.status = child__wait(s->t, &m.c);
	mishap__has_been(s->t, s->m);
	o.out = m.c.outs;
	o.err = m.c.errs;
	o.file = file ? read_all(file, &o.n_file) : NULL;
	return o;
}

static void outcome__done(struct outcome *o)
{
	free(o->out.s);
	free(o->err.s);
	free(o->file);
}

static bool same(const struct outcome *a, const struct outcome *b)
{
	return a->out.n == b->out.n && !memcmp(a->out.s, b->out.s, a->out.n) &&
	       (!a->file || (b->file && a->n_file == b->n_file && !memcmp(a->file, b->file, a->n_file)));
}

/* The file is as it was, or as it is to be: nothing else is ever there. */
static bool is_whole(const struct outcome *o, const struct outcome *wanted)
{
	return !wanted->file || (o->file && ((o->n_file == strlen(OLD) && !memcmp(o->file, OLD, o->n_file)) ||
					     (o->n_file == wanted->n_file && !memcmp(o->file, wanted->file, o->n_file))));
}

static void every_call(struct scene *s, const char *const *args, const char *file)
{
	struct outcome wanted;
	struct walk w;

	mishap__ask(s->t, s->m, 0, false);
	wanted = run(s, args, file);
	must(s->t, wanted.status == 0, "%s without a fault, wanted 0, got %d: %.300s", s->name, wanted.status, wanted.err.s);
	must(s->t, s->m->n_calls > 0, "%s: no call was counted", s->name);
	w = mishap__walk(s->m, SOME_RUNS);
	do {
		struct outcome got;

		mishap__ask(s->t, s->m, w.at, s->lasting);
		got = run(s, args, file);
		if (s->m->n_failed && want_fair(s, got.status, got.err.s)) {
			if (!got.status && !same(&wanted, &got))
				tell(s, "other figures, and status 0", got.status, got.err.s);
			if (!is_whole(&got, &wanted))
				tell(s, "a file that is neither the old one nor a whole one", got.status, got.err.s);
		}
		outcome__done(&got);
	} while (walk__next(&w, s->m));
	walk__tell(&w, s->name, s->kind);
	outcome__done(&wanted);
}

/* A profile of a program that uses each function of the malloc family; n: of leaks alone. */
static void record(struct test *t, const char *to, const char *n)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", n ? "leak" : "family", n, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--free-stacks", "-o", to, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
}

#define MAX_ARGS 16
struct line {
	const char *name;
	const char *args[MAX_ARGS];	/* A, B: the profiles; OUT: a file */
	const char *suffix;		/* of OUT */
};

static const struct line reports[] = {
	{ "report", { "report", "A" }, NULL },
	{ "report --full", { "report", "A", "--full" }, NULL },
	{ "report, views", { "report", "A", "--view", "leaks", "--view", "threads", "--view", "lifetimes", "--view", "frees", "--view", "tree", "--view", "functions" }, NULL },
	{ "report, filtered", { "report", "A", "--filter", "site_", "--by", "comm" }, NULL },
	{ "report, tags", { "report", "A", "--tag", "site_malloc", "--view", "tags" }, NULL },
	{ "report of two", { "report", "A", "B" }, NULL },
	{ "diff", { "diff", "B", "A" }, NULL },
};

static const struct line files[] = {
	{ "report, text", { "report", "A", "-q", "-o", "OUT" }, ".txt" },
	{ "report, json", { "report", "A", "-q", "-o", "OUT" }, ".json" },
	{ "report, html", { "report", "A", "-q", "-o", "OUT" }, ".html" },
	{ "report, folded", { "report", "A", "-q", "-o", "OUT" }, ".folded" },
	{ "report, pprof", { "report", "A", "-q", "-o", "OUT" }, ".pb.gz" },
	{ "report, speedscope", { "report", "A", "-q", "-o", "OUT" }, ".speedscope.json" },
	{ "report, dhat", { "report", "A", "-q", "-o", "OUT" }, ".dhat.json" },
	{ "report, massif", { "report", "A", "-q", "-o", "OUT" }, ".massif" },
	{ "report, callgrind", { "report", "A", "-q", "-o", "OUT" }, ".callgrind" },
	{ "report, dot", { "report", "A", "-q", "-o", "OUT" }, ".dot" },
	{ "diff, json", { "diff", "B", "A", "-q", "-o", "OUT" }, ".json" },
	{ "diff, folded", { "diff", "B", "A", "-q", "-o", "OUT" }, ".folded" },
	{ "diff, html", { "diff", "B", "A", "-q", "-o", "OUT" }, ".html" },
};

static void walk_lines(struct test *t, const struct line *lines, size_t n, unsigned int kinds, bool lasting)
{
	const char *a = in_dir(t, "a.json"), *b = in_dir(t, "b.json");
	struct mishap *m = mishap__new(t);

	record(t, a, NULL);
	record(t, b, "100");
	for (size_t i = 0; i < n; i++) {
		const char *args[MAX_ARGS + 1] = {}, *out = lines[i].suffix ? in_dir(t, "out%s", lines[i].suffix) : NULL;

		for (size_t k = 0; k < MAX_ARGS && lines[i].args[k]; k++)
			args[k] = !strcmp(lines[i].args[k], "A") ? a : !strcmp(lines[i].args[k], "B") ? b : !strcmp(lines[i].args[k], "OUT") ? out : lines[i].args[k];
		for (unsigned int kind = MISHAP_KERNEL; kind <= MISHAP_OTHERS; kind <<= 1)
			if (kinds & kind)
				every_call(&(struct scene){ t, m, kind, lasting, lines[i].name, NULL }, args, out);
	}
}

#define LINES(lines) lines, sizeof(lines) / sizeof(*lines)

TEST(mishaps_report_calls)
{
	walk_lines(t, LINES(reports), MISHAP_FILES | MISHAP_WRITES | MISHAP_OTHERS, false);
}

/* EIO at each write, and at all after it. */
TEST(mishaps_files_writes)
{
	walk_lines(t, LINES(files), MISHAP_WRITES, false);
	walk_lines(t, LINES(files), MISHAP_WRITES, true);
}

/* ---- traces */

/* Until it is attached, or has ended: false. What it says meanwhile is in `said`. */
static bool attaches(struct test *t, struct child *c, char *said, size_t room)
{
	size_t n = 0;

	for (;;) {
		struct pollfd p = { .fd = c->err, .events = POLLIN };
		ssize_t got;

		must(t, poll(&p, 1, (int)patience_s(60) * 1000) == 1, "neither attached nor ended; stderr: %s", said);
		got = read(c->err, said + n, room - 1 - n);
		n += got > 0 ? (size_t)got : 0;
		said[n] = 0;
		if (strstr(said, "malloctrace: attached"))
			return true;
		if (got <= 0)
			return false;
	}
}

/* A file that was not read is counted, and said: on its own, or with all that no descriptor was left for. */
static void want_unread_told(struct test *t, json_t *root, const char *said)
{
	bool has_said = strstr(said, " could not be read: ") || strstr(said, "no more files can be opened");
	uint64_t n = (uint64_t)json_integer_value(jget(root, "losses.unread_file"));

	want(t, has_said || !n, "a file is not read, and that is not said: %.600s", said);
	want_eq(t, "unread files", n, (uint64_t)json_integer_value(jget(root, "unread_files")));
}

/* Status 0: what the program did, to the last block. 3: something is lost, and counted. */
static void want_figures(const struct scene *s, struct fx *f, struct child *c, int status, const char *said)
{
	unsigned int n_failed = s->t->n_failed;
	json_t *root = with_frames(json_loads(c->outs.s, JSON_REJECT_DUPLICATES, NULL));

	if (!root) {
		tell(s, "standard output is no JSON", status, said);
		return;
	}
	want_invariants(s->t, root);
	if (status) {
		want(s->t, ju64(s->t, root, "losses.total") > 0, "%s: status 3, and nothing is lost", s->name);
		want_unread_told(s->t, root, said);
	} else {
		want_lossless(s->t, root);
		want_ledger(s->t, root, process_of(s->t, root, f->c.pid, 0), &f->led, LED_ALL);
	}
	json_decref(root);
	if (s->t->n_failed != n_failed)
		tell(s, "figures, see above", status, said);
}

static void start_target(const struct scene *s, struct fx *f)
{
	struct spawn how = { .argv = { s->program ?: fixture("basic"), "family" } };

	if (s->program)
		copy_file(s->t, fixture("basic"), s->program);
	fx__start_as(s->t, f, &how);
	if (s->program)
		unlink(s->program);
}

static void trace_once(const struct scene *s, uint64_t at)
{
	struct spawn how = { .argv = { lt_bin, "-p", NULL, "--json" } };
	char said[16384] = "";
	bool attached;
	struct fx f;
	struct mt m;
	int status;

	start_target(s, &f);
	how.argv[2] = pid_arg(f.c.pid);
	mishap__ask(s->t, s->m, at, s->lasting);
	mishap__prepare(s->t, s->m, s->kind, &how);
	mt__start_v(s->t, &m, &how);
	mishap__begun();
	attached = attaches(s->t, &m.c, said, sizeof(said));
	fx__go(s->t, &f);
	if (attached)
		kill(m.c.pid, SIGINT);
	status = child__wait(s->t, &m.c);
	mishap__has_been(s->t, s->m);
	strncat(said, m.c.errs.s, sizeof(said) - 1 - strlen(said));
	if (want_fair(s, status, said) && (!status || status == 3))
		want_figures(s, &f, &m.c, status, said);
	want_unprobed(s->t, f.c.pid);
	fx__quit(s->t, &f);
	free(m.c.outs.s);
	free(m.c.errs.s);
	free(f.c.outs.s);
	free(f.c.errs.s);
}

static void every_trace(struct test *t, enum mishap_kind kind)
{
	struct scene s = { t, mishap__new(t), kind, false, "trace", NULL };
	struct walk w;

	trace_once(&s, 0);
	must(t, s.m->n_calls > 0, "no call was counted");
	w = mishap__walk(s.m, SOME_TRACES);
	do
		trace_once(&s, w.at);
	while (walk__next(&w, s.m));
	walk__tell(&w, s.name, kind);
}

TEST(mishaps_trace_kernel) { every_trace(t, MISHAP_KERNEL); }
TEST(mishaps_trace_files) { every_trace(t, MISHAP_FILES); }
TEST(mishaps_trace_writes) { every_trace(t, MISHAP_WRITES); }
TEST(mishaps_trace_others) { every_trace(t, MISHAP_OTHERS); }

/* Those about the target's own file, as it is and deleted: its functions have their names, or it is said that they are missing. */
static void every_call_about(struct test *t, const char *program)
{
	struct scene s = { t, mishap__new(t), MISHAP_FILES, false, "trace", program };
	struct walk w;

	snprintf(s.m->of[0], sizeof(s.m->of[0]), "/map_files/");
	snprintf(s.m->of[1], sizeof(s.m->of[1]), "/basic");
	trace_once(&s, 0);
	must(t, s.m->n_calls > 0, "no call was counted");
	/* it is opened first */
	w = getenv("MISHAPS") ? mishap__walk(s.m, FIRST_CALLS) : (struct walk){ 1, 1, FIRST_CALLS };
	do
		trace_once(&s, w.at);
	while (walk__next(&w, s.m));
	walk__tell(&w, s.name, s.kind);
}

TEST(mishaps_trace_target) { every_call_about(t, NULL); }
TEST(mishaps_trace_deleted) { every_call_about(t, in_dir(t, "basic")); }

/* ---- memory */

#define SOME_REFUSALS 2

/* Who is refused memory, from some call on. */
struct refused {
	const char *name;
	const char *args[MAX_ARGS];	/* of malloctrace. A, B, OUT: as above; PID: of a target; SOCKET */
	int sig;			/* ends it once it is attached; 0: it ends by itself */
	int status;
	bool writes;			/* OUT, if it is refused nothing */
	bool forks;			/* a child traces */
	bool runs;			/* a program, which says so */
	uint64_t (*once)(struct test *t, struct mishap *m, const struct refused *r, uint64_t at);
};

/* A run that makes fewer calls than the one before may end before it is refused any. */
static void want_refused(struct test *t, const struct mishap *m, const struct refused *r, int status, const char *said)
{
	want(t, m->n_failed || m->at != 1, "%s: nothing was refused", r->name);
	if (m->n_failed)
		want(t, status == r->status && strstr(said, "malloctrace: out of memory"), "%s: wanted status %d, and out of memory; status %d: %.2000s",
		     r->name, r->status, status, said);
	else
		must(t, !status, "%s: wanted status 0; status %d: %.2000s", r->name, status, said);
}

static const char *argument(struct test *t, const char *word, const char *out, pid_t target)
{
	static char socket[200];
	static unsigned int n;

	snprintf(socket, sizeof(socket), "unix:%s", in_dir(t, "socket-%u", n++));
	return !strcmp(word, "SOCKET") ? socket : !strcmp(word, "A") || !strcmp(word, "B") ? in_dir(t, "%s.json", word) : !strcmp(word, "OUT") ? out : !strcmp(word, "PID") ? pid_arg(target) : word;
}

/* As it was, or, where no more was needed by then, as it is to be. */
static void want_file(struct test *t, const struct mishap *m, const struct refused *r, const char *path)
{
	size_t n;
	char *is = read_all(path, &n);
	json_t *root = is ? json_loads(is, 0, NULL) : NULL;

	want(t, is && ((m->n_failed || !r->writes) && !strcmp(is, OLD)) != (r->writes && root), "%s: the file that was there has %.100s", r->name,
	     is ?: "gone");
	json_decref(root);
	free(is);
}

/* at: the first call that is refused; 0: none is. How many there were. */
static uint64_t run_refused(struct test *t, struct mishap *m, const struct refused *r, uint64_t at)
{
	const char *out = in_dir(t, "out.json");
	struct spawn how = { .argv = { lt_bin } };
	char said[16384] = "";
	struct fx f;
	struct mt mt;
	FILE *old = fopen(out, "w");
	int status;

	must(t, old && fputs(OLD, old) >= 0 && !fclose(old), "%s: %s", out, strerror(errno));
	fx__start(t, &f, "basic", "family", NULL);
	if (!r->sig)
		fx__go(t, &f);
	for (size_t i = 0; i < MAX_ARGS && r->args[i]; i++)
		how.argv[1 + i] = argument(t, r->args[i], out, f.c.pid);
	mishap__ask(t, m, at, true);
	m->in_children = r->forks;
	mishap__prepare(t, m, MISHAP_MEMORY, &how);
	mt__start_v(t, &mt, &how);
	if (r->sig && attaches(t, &mt.c, said, sizeof(said)))
		kill(mt.c.pid, r->sig);
	status = child__wait(t, &mt.c);
	mishap__has_been(t, m);
	strncat(said, mt.c.errs.s, sizeof(said) - 1 - strlen(said));
	want_refused(t, m, r, status, said);
	want_file(t, m, r, out);
	/* it was let go, or never began */
	if (r->runs)
		want(t, !strcmp(mt.c.outs.s, "ran\n") || (m->n_failed && !mt.c.outs.n), "%s: standard output: %.300s", r->name, mt.c.outs.s);
	if (r->sig)
		fx__go(t, &f);
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
	free(mt.c.outs.s);
	free(mt.c.errs.s);
	return m->n_calls;
}

/* In a terminal, which is as it was in the end. */
static uint64_t view_refused(struct test *t, struct mishap *m, const struct refused *r, uint64_t at)
{
	char line[8192], *seen;
	struct screen s = {};

	mishap__ask(t, m, at, true);
	m->in_memory = true;
	m->in_children = false;
	fx__start(t, &s.fx, "basic", "family", NULL);
	snprintf(line, sizeof(line), "cd %s; stty -g > before; LD_PRELOAD=%s " MISHAP_ENV "=%s %s -p %d; echo EXIT $?; stty -g | cmp before - && echo SANE; exec cat",
		 t->dir, fixture("libmishap.so"), in_dir(t, "mishap"), lt_bin, (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "40", line);
	for (uint64_t until = now_ms() + COME_S * 1000ull; (seen = look(t, &s)) && !strstr(seen, "EXIT ") && now_ms() < until; poll(NULL, 0, LOOK_MS)) {
		if (strstr(seen, "losses none") || strstr(seen, "LOST:"))
			keys(t, &s, "q");
		free(seen);
	}
	mishap__has_been(t, m);
	want_refused(t, m, r, strstr(seen, "EXIT 1") ? 1 : strstr(seen, "EXIT 0") ? 0 : -1, seen);
	free(seen);
	comes(t, &s, "SANE", NULL);
	tmux(t, &s, "kill-server", NULL);
	fx__go(t, &s.fx);
	want_unprobed(t, s.fx.c.pid);
	fx__quit(t, &s.fx);
	return m->n_calls;
}

static const struct refused refused[] = {
	{ "report", { "report", "A", "-q", "-o", "OUT" }, .status = 1, .writes = true, .once = run_refused },
	{ "diff", { "diff", "B", "A", "-q", "-o", "OUT" }, .status = 1, .writes = true, .once = run_refused },
	{ "a trace", { "-p", "PID", "-o", "OUT" }, SIGINT, 1, .writes = true, .once = run_refused },
	{ "a program", { "-q", "-o", "OUT", "--", "/bin/sh", "-c", "echo ran" }, .status = 125, .writes = true, .runs = true, .once = run_refused },
	{ "heap", { "heap", "-p", "PID", "-q", "-o", "OUT" }, .status = 1, .writes = true, .once = run_refused },
	{ "heap --pause", { "heap", "-p", "PID", "--pause", "-q", "-o", "OUT" }, .status = 1, .writes = true, .once = run_refused },
	{ "serve", { "serve", "-p", "PID", "--listen", "SOCKET" }, SIGTERM, 1, .forks = true, .once = run_refused },
	{ "the live view", {}, .status = 1, .once = view_refused },
};

/* With MISHAPS=all at each call in its turn. */
TEST(memory_is_refused)
{
	struct mishap *m = mishap__new(t);

	record(t, in_dir(t, "A.json"), NULL);
	record(t, in_dir(t, "B.json"), "100");
	for (const struct refused *r = refused; r < refused + sizeof(refused) / sizeof(*refused); r++) {
		struct walk w;

		must(t, r->once(t, m, r, 0) > 0, "%s: no call was counted", r->name);
		w = mishap__walk(m, SOME_REFUSALS);
		do
			r->once(t, m, r, w.at);
		while (walk__next(&w, m));
		walk__tell(&w, r->name, MISHAP_MEMORY);
	}
}
