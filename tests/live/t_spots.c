// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Functions and probes that a user names: --start-on, --stop-on, --mark. What
 * was recorded must begin and end with the call, to the allocation.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lt.h"

/* Of the fixture's account, what lies between its two calls: the site "inside_here", and nothing else. */
static void want_inside(struct test *t, json_t *root, const struct ledger *l, pid_t pid)
{
	const struct led_site *in = ledger__site(t, l, "inside_here");
	json_t *p = process_of(t, root, pid, 0);

	want_u64(t, root, "totals.alloc_calls", in->v[LED_ALLOC_CALLS]);
	want_u64(t, root, "totals.alloc_bytes", in->v[LED_ALLOC_BYTES]);
	want_u64(t, root, "totals.free_calls", in->v[LED_FREE_CALLS]);
	want_u64(t, root, "totals.free_bytes", in->v[LED_FREE_BYTES]);
	/* blocks older than the trace, which were freed in it */
	want_u64(t, root, "totals.unknown_frees", ledger__site(t, l, "before_here")->v[LED_FREE_CALLS]);
	want_eq(t, "calls of inside_here", in->v[LED_ALLOC_CALLS], site_sum(t, root, p, "inside_here", "alloc_calls"));
	want_lossless(t, root);
}

static void between(struct test *t, const char *what, const char *start, const char *stop, const char *extra)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "spots", what, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--start-on", start, "--stop-on", stop, extra, NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: waiting for ", start, patience_s(20));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_inside(t, root, &f.led, f.c.pid);
	want(t, !strcmp(jstr(root, "started_on"), start), "started_on: %s", jstr(root, "started_on"));
	want(t, !strcmp(jstr(root, "stopped_on"), stop), "stopped_on: %s", jstr(root, "stopped_on"));
	want(t, strstr(m.c.errs.s, "was called by spots"), "'was called by spots', wanted in: %s", m.c.errs.s);
	fx__quit(t, &f);
}

TEST(spots_start_stop) { between(t, "begin", "spot_begin", "spot_end", NULL); }
TEST(spots_in_thread) { between(t, "thread", "spots:spot_begin", "spot_end", NULL); }
TEST(spots_cxx_name) { between(t, "method", "spot::Class::method", "spots:spot_end", NULL); }
TEST(spots_cxx_parameters) { between(t, "method", "spot::Class::method(int)", "spot_end", NULL); }
TEST(spots_mangled_name) { between(t, "method", "_ZN4spot5Class6methodEi", "spot_end", NULL); }
TEST(spots_usdt) { between(t, "probes", "spot:plain", "spot_end", NULL); }
/* Passed only while its counter says that someone waits. */
TEST(spots_usdt_counted) { between(t, "probes", "spots:spot:counted", "spot_end", NULL); }
TEST(spots_follow) { between(t, "begin", "spot_begin", "spot_end", "-f"); }

TEST(spots_perf_links)
{
	setenv("MALLOCTRACE_LINKS", "perf", 1);
	between(t, "begin", "spot_begin", "spot_end", NULL);
	between(t, "probes", "spot:counted", "spot_end", NULL);
}

/* All processes meet the probe; who is not meant begins nothing. */
TEST_ALONE(spots_comm)
{
	const char *other = in_dir(t, "other");
	struct fx f, stranger;
	struct spawn s = { .argv = { other, "begin" } };
	struct mt m;
	json_t *root;

	/* the same file by another name */
	must(t, !symlink(fixture("spots"), other), "no link %s", other);
	fx__start(t, &f, "spots", "begin", NULL);
	fx__start_as(t, &stranger, &s);
	mt__start(t, &m, "--comm", "spots", "--json", "--start-on", "spot_begin", "--stop-on", "spot_end", NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: waiting for ", "spot_begin", patience_s(20));
	fx__go(t, &stranger);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_inside(t, root, &f.led, f.c.pid);
	fx__quit(t, &f);
	fx__quit(t, &stranger);
}

/* With -- CMD the function may be called before anyone could have looked. */
TEST(spots_command)
{
	const char *led = in_dir(t, "led"), *out = in_dir(t, "out.json");
	struct ledger l = {};
	struct mt m;
	json_t *root;
	char *text;

	mt__start(t, &m, "-o", out, "--start-on", "spot_begin", "--stop-on", "spot_end", "--", fixture("spots"), "--auto", led, "begin", NULL);
	mt__stop(t, &m, 0, 0);
	text = read_all(led, NULL);
	must(t, text && ledger__parse(&l, text), "no ledger");
	root = load_json(t, out);
	want_invariants(t, root);
	want_inside(t, root, &l, (pid_t)ju64(t, root, "processes[0].pid"));
	want(t, ju64(t, root, "processes[0].age_at_attach_ns") > 0, "an age when the trace began, wanted");
	want(t, !strstr(m.c.errs.s, "has loaded"), "nothing of what was there from the start, wanted in: %s", m.c.errs.s);
}

/* Not called: nothing is recorded, and it is said. */
TEST(spots_never_called)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "spots", "method", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--start-on", "spot_begin", "--full", NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: waiting for spot_begin", NULL, patience_s(20));
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "spot_begin has not been called, nothing was recorded"), "that it was not called, wanted in: %.400s",
	     m.c.outs.s);
	want(t, strstr(m.c.outs.s, "0 allocations"), "no allocations, wanted in: %.400s", m.c.outs.s);
	fx__quit(t, &f);
}

TEST(spots_not_found)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "spots", "begin", NULL);
	want_eq(t, "exit status", 1, mt__run(t, &m, "-p", pid_arg(f.c.pid), "--mark", "spot_beign", NULL));
	want(t, strstr(m.c.errs.s, "--mark spot_beign: no such function"), "that there is none, wanted in: %s", m.c.errs.s);
	want_eq(t, "exit status", 1, mt__run(t, &m, "-p", pid_arg(f.c.pid), "--mark", "spots:spot:plane", NULL));
	want(t, strstr(m.c.errs.s, "--mark spots:spot:plane: no such function"), "that there is none, wanted in: %s", m.c.errs.s);
	want_eq(t, "exit status", 2, mt__run(t, &m, "-p", pid_arg(f.c.pid), "--mark", "a:", NULL));
	want(t, strstr(m.c.errs.s, "want FUNC, BINARY:FUNC"), "what is taken, wanted in: %s", m.c.errs.s);
	/* with a program that is yet to start, at the end */
	want_eq(t, "exit status", 0, mt__run(t, &m, "--mark", "spot_nowhere", "--", "/bin/true", NULL));
	want(t, strstr(m.c.errs.s, "--mark spot_nowhere: no file that the target mapped has such a function"), "that it was not found, wanted in: %s",
	     m.c.errs.s);
	fx__quit(t, &f);
}

/* In a library that is loaded while the trace waits. */
TEST(spots_loaded_late)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "spots", "late", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--start-on", "libspots.so:spot_in_library", NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'g');
	fx__wait_line(t, &f, "loaded");
	child__wait_err(t, &m.c, "malloctrace: --start-on", "calls are seen from now on", patience_s(20));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_u64(t, root, "totals.alloc_calls", 1);
	want_u64(t, root, "totals.alloc_bytes", 222);
	fx__quit(t, &f);
}

/* ---- marks */

static void want_as_ledger(struct test *t, json_t *root, const struct ledger *l)
{
	want_invariants(t, root);
	want_u64(t, root, "totals.alloc_calls", ledger__sum(l, LED_ALLOC_CALLS));
	want_u64(t, root, "totals.alloc_bytes", ledger__sum(l, LED_ALLOC_BYTES));
	want_u64(t, root, "totals.free_calls", ledger__sum(l, LED_FREE_CALLS));
	want_u64(t, root, "totals.free_bytes", ledger__sum(l, LED_FREE_BYTES));
	want_u64(t, root, "totals.peak_bytes", l->peak_bytes);
}

/* What the program did behind the call, before anyone had looked, is not in it. Numbers of those that were not cut are told. */
static void marks(struct test *t, const char *extra, const char *extra2)
{
	enum { N = 20 };
	const char *out = in_dir(t, "m.json");
	static struct ledger at[N];
	unsigned int written = 0;
	bool whole[N] = {};
	struct fx f;
	struct mt m;
	json_t *root, *v;
	char line[64];
	size_t i;

	fx__start(t, &f, "spots", "marks", "20", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, "--mark", "spot_mark", extra, extra2, NULL);
	mt__wait_attached(t, &m);
	for (i = 0; i < N; i++) {
		fx__go(t, &f);
		at[i] = f.led;
		snprintf(line, sizeof(line), "mark spot_mark #%zu", i + 1);
		child__wait_err(t, &m.c, "malloctrace: mark", line, patience_s(20));
		written++;
		root = load_json(t, in_dir(t, "m.%u.json", written));
		/* once in a while it comes while another cut is taken, and is late */
		whole[i] = !strstr(jstr(root, "trigger"), "later");
		if (whole[i])
			want_as_ledger(t, root, &at[i]);
		want_u64(t, root, "marks_seen", i + 1);
		json_decref(root);
	}
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, out);
	want_as_ledger(t, root, &f.led);
	want_u64(t, root, "marks_seen", N);
	want_eq(t, "marks listed", N, json_array_size(jget(root, "marks")));
	json_array_foreach(jget(root, "marks"), i, v) {
		const struct ledger *l = &at[i];

		want_u64(t, v, "number", i + 1);
		want_u64(t, v, "tid", (uint64_t)f.c.pid);
		want_u64(t, v, "live_bytes", ledger__sum(l, LED_ALLOC_BYTES) - ledger__sum(l, LED_FREE_BYTES));
		want_bool(t, v, "whole", whole[i]);
		if (!whole[i])
			continue;
		want_u64(t, v, "alloc_calls", ledger__sum(l, LED_ALLOC_CALLS));
		want_u64(t, v, "all_live_bytes", ledger__sum(l, LED_ALLOC_BYTES) - ledger__sum(l, LED_FREE_BYTES));
	}
	fx__quit(t, &f);
}

TEST(spots_marks) { marks(t, NULL, NULL); }
/* A report ten times a second: cuts of ours all the time. */
TEST(spots_marks_under_reports) { marks(t, "0.1", NULL); }
TEST(spots_marks_follow) { marks(t, "-f", NULL); }

/* Faster than snapshots can be taken: all are counted, each snapshot is right. */
TEST(spots_marks_fast)
{
	const char *out = in_dir(t, "m.json");
	uint64_t n = scaled(20000), n_whole = 0;
	char count[24];
	struct fx f;
	struct mt m;
	json_t *root, *v;
	size_t i;

	snprintf(count, sizeof(count), "%llu", (unsigned long long)n);
	fx__start(t, &f, "spots", "fast", count, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, "--mark", "spot_mark", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, out);
	want_as_ledger(t, root, &f.led);
	want_u64(t, root, "marks_seen", n);
	want_u64(t, root, "totals.alloc_calls", n);
	want(t, json_array_size(jget(root, "marks")) <= 1024, "no more than 1024 listed");
	json_array_foreach(jget(root, "marks"), i, v)
		n_whole += json_is_true(jget(v, "whole"));
	want(t, n_whole <= ju64(t, root, "marks_whole") && ju64(t, root, "marks_whole") >= 1, "some are whole");
	for (i = 1; i <= ju64(t, root, "marks_whole") && i < 100; i++) {
		json_t *snap = load_json(t, in_dir(t, "m.%zu.json", i));
		uint64_t number;

		want_invariants(t, snap);
		if (sscanf(jstr(snap, "trigger"), "mark spot_mark #%lu", &number) == 1 && !strstr(jstr(snap, "trigger"), "later")) {
			want_u64(t, snap, "totals.alloc_calls", number);
			want_u64(t, snap, "totals.free_calls", number - 1);
			want_u64(t, snap, "marks_seen", number);
		}
		json_decref(snap);
	}
	fx__quit(t, &f);
}

/* Without a file: a report each time. And what report makes of two marks. */
TEST(spots_marks_text)
{
	const char *out = in_dir(t, "m.json");
	struct fx f;
	struct mt m;

	fx__start(t, &f, "spots", "marks", "3", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mark", "spot_mark", NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 3; i++) {
		char line[64];

		fx__go(t, &f);
		snprintf(line, sizeof(line), "mark spot_mark #%d", i + 1);
		child__wait_err(t, &m.c, "malloctrace: mark", line, patience_s(20));
	}
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "why    mark spot_mark #1"), "the reason, wanted in: %.300s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "marks  spot_mark 3 times"), "'marks  spot_mark 3 times', wanted in: %s", m.c.outs.s);
	fx__quit(t, &f);

	fx__start(t, &f, "spots", "marks", "3", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, "--mark", "spot_mark", NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 3; i++) {
		fx__go(t, &f);
		child__wait_err(t, &m.c, "malloctrace: mark", NULL, patience_s(20));
	}
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	want_eq(t, "report --between", 0, mt__run(t, &m, "report", out, "--between", "mark:1,mark:3", NULL));
	want(t, strstr(m.c.outs.s, "BETWEEN mark:1 and mark:3"), "both marks, wanted in: %.300s", m.c.outs.s);
	want_eq(t, "report --between", 0, mt__run(t, &m, "report", out, "--between", "spot_mark#1,spot_mark#3", NULL));
	/* what a hundred blocks behind each of two marks come to, from the two snapshots */
	want_eq(t, "diff of two marks", 0, mt__run(t, &m, "diff", in_dir(t, "m.1.json"), in_dir(t, "m.3.json"), "--json", NULL));
	want(t, strstr(m.c.outs.s, "after_here"), "after_here, wanted in: %.600s", m.c.outs.s);
	want_eq(t, "an unknown mark", 1, mt__run(t, &m, "report", out, "--between", "mark:1,mark:9", NULL));
	want(t, strstr(m.c.errs.s, "spot_mark#1 to spot_mark#3"), "what there is, wanted in: %s", m.c.errs.s);
	want_eq(t, "no moment", 2, mt__run(t, &m, "report", out, "--between", "mark:1,yesterday", NULL));
}
