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

static void want_out_of_memory(const struct scene *s, int status, const char *said)
{
	if (status != 1 || !strstr(said, "malloctrace: out of memory"))
		tell(s, "wanted status 1, and out of memory", status, said);
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

/* Two profiles, of a program that uses each function of the malloc family. */
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
	if (s->kind == MISHAP_MEMORY && at)
		want_out_of_memory(s, status, said);
	else if (want_fair(s, status, said) && (!status || status == 3))
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

/* From call N on there is none, for a report, for a trace that begins and for one that goes on. */
static const unsigned int parts_of_all[] = { 1, 300, 600, 950 };	/* thousandths of all calls */

static void refuse_to_report(const struct scene *s, const char *const *args, const char *file)
{
	struct outcome all;
	uint64_t n_calls;

	mishap__ask(s->t, s->m, 0, false);
	all = run(s, args, file);
	must(s->t, !all.status && s->m->n_calls > 0, "status %d, %" PRIu64 " calls", all.status, s->m->n_calls);
	n_calls = s->m->n_calls;
	for (size_t i = 0; i < sizeof(parts_of_all) / sizeof(*parts_of_all); i++) {
		struct outcome got;

		mishap__ask(s->t, s->m, 1 + n_calls * parts_of_all[i] / 1000, true);
		got = run(s, args, file);
		want_out_of_memory(s, got.status, got.err.s);
		want(s->t, got.file && got.n_file == strlen(OLD) && !memcmp(got.file, OLD, got.n_file), "the file that was there has changed");
		outcome__done(&got);
	}
	outcome__done(&all);
}

TEST(mishaps_memory)
{
	const char *a = in_dir(t, "a.json"), *out = in_dir(t, "out.json");
	const char *const args[] = { "report", a, "-q", "-o", out, NULL };
	struct scene s = { t, mishap__new(t), MISHAP_MEMORY, true, "report", NULL };
	uint64_t n_calls;

	record(t, a, NULL);
	refuse_to_report(&s, args, out);
	s.name = "trace";
	trace_once(&s, 0);
	n_calls = s.m->n_calls;
	for (size_t i = 0; i < sizeof(parts_of_all) / sizeof(*parts_of_all); i++)
		trace_once(&s, 1 + n_calls * parts_of_all[i] / 1000);
}
