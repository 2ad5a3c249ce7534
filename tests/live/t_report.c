// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Profiles that were written are looked at again, without privileges: the same text comes out. */
#include "lt.h"

#include <sys/wait.h>
#include <poll.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

/* What a trace printed, and what `report` prints of the file that it wrote, with the same options. */
static void same_text(struct test *t, const char *const *recording, const char *const *reporting)
{
	const char *json = in_dir(t, "x.json");
	struct spawn trace = { .argv = { lt_bin, "-p" } }, report = { .argv = { lt_bin, "report", json }, .uid = NOBODY };
	struct fx f;
	struct mt m, again;
	size_t n = 2, n2 = 3;

	fx__start(t, &f, "basic", "leak", "100", NULL);
	trace.argv[n++] = pid_arg(f.c.pid);
	trace.argv[n++] = "-o";
	trace.argv[n++] = json;
	for (; *recording; recording++)
		trace.argv[n++] = *recording;
	for (; *reporting; reporting++) {
		trace.argv[n++] = *reporting;
		report.argv[n2++] = *reporting;
	}
	mt__start_v(t, &m, &trace);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	must(t, !chmod(json, 0644) && !chmod(t->dir, 0755), "%s cannot be given to others", json);
	mt__start_v(t, &again, &report);
	mt__stop(t, &again, 0, 0);
	want(t, strlen(m.c.outs.s) > 20, "a report, got %zu bytes", strlen(m.c.outs.s));
	want(t, !strcmp(m.c.outs.s, again.c.outs.s), "the same report again, wanted\n%s\ngot\n%s\nerrors: %s", m.c.outs.s, again.c.outs.s,
	     again.c.errs.s);
}

#define ARGS(...) (const char *const[]){ __VA_ARGS__ __VA_OPT__(,) NULL }

TEST(report_is_the_same) { same_text(t, ARGS(), ARGS()); }
TEST(report_of_count_is_the_same) { same_text(t, ARGS("--mode", "count"), ARGS("--sort", "alloc-bytes")); }
TEST(report_of_growth_is_the_same) { same_text(t, ARGS("--mode", "growth"), ARGS()); }
TEST(report_of_a_sample_is_the_same) { same_text(t, ARGS("--sample", "64"), ARGS("-T", "3")); }
TEST(report_with_a_filter_is_the_same) { same_text(t, ARGS(), ARGS("--filter", "leak_here")); }
TEST(report_without_some_is_the_same) { same_text(t, ARGS("--min-size", "8"), ARGS("--hide", "leak_here")); }
TEST(report_as_folded_is_the_same) { same_text(t, ARGS(), ARGS("--format", "folded", "--metric", "alloc-bytes")); }
TEST(report_as_json_is_the_same) { same_text(t, ARGS(), ARGS("--json")); }

/* The capabilities of a process, when it is about to read. */
static uint64_t caps_of(struct test *t, pid_t pid)
{
	char path[64], *text, *line;
	uint64_t caps = ~0ull;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = read_all(path, NULL);
	line = text ? strstr(text, "CapPrm:") : NULL;
	must(t, line && sscanf(line, "CapPrm: %lx", &caps) == 1, "%s cannot be read", path);
	free(text);
	return caps;
}

/* A FIFO holds it where it opens its file: what it could do from there on is what it can do then. */
TEST(report_gives_up_privileges)
{
	static const uint64_t of_files = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3;	/* CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER */
	const char *fifo = in_dir(t, "x.json");
	struct mt m;
	int fd;

	must(t, !mkfifo(fifo, 0600), "no FIFO");
	mt__start(t, &m, "report", fifo, NULL);
	fd = open(fifo, O_WRONLY);
	must(t, fd >= 0, "nobody reads the FIFO");
	want_eq(t, "capabilities beyond those of files", 0, caps_of(t, m.c.pid) & ~of_files);
	must(t, write(fd, "{}", 2) == 2, "nobody reads the FIFO any more");
	close(fd);
	mt__stop(t, &m, 0, 1);
	want(t, strstr(m.c.errs.s, "not a malloctrace profile") != NULL, "a reason, got: %s", m.c.errs.s);
}

/* Two processes in two files are two in one report. */
TEST(report_of_several)
{
	const char *a = in_dir(t, "a.json"), *b = in_dir(t, "b.json");
	const char *files[] = { a, b };
	struct mt m;

	for (unsigned int i = 0; i < 2; i++) {
		struct fx f;

		fx__start(t, &f, "basic", "leak", i ? "20" : "10", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", files[i], NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, SIGINT, 0);
		fx__quit(t, &f);
	}
	mt__start(t, &m, "report", a, b, "--json", NULL);
	{
		json_t *root = mt__stop_json(t, &m, 0, 0);

		want_eq(t, "processes", 2, json_array_size(jget(root, "processes")));
		want_u64(t, root, "totals.live_blocks", 30);
	}
	want_eq(t, "exit status of a diff", 0, (uint64_t)mt__run(t, &m, "diff", a, b, "--fail-over", "1M", NULL));
	want(t, strstr(m.c.outs.s, "grew") && strstr(m.c.outs.s, "leak_here"), "leak_here, wanted as what grew: %s", m.c.outs.s);
	want_eq(t, "exit status of a diff that fails", 4, (uint64_t)mt__run(t, &m, "diff", a, b, "--fail-over", "1", NULL));
	want_eq(t, "exit status the other way round", 0, (uint64_t)mt__run(t, &m, "diff", b, a, "--fail-over", "1", NULL));
	want_eq(t, "exit status of a diff without it", 0, (uint64_t)mt__run(t, &m, "diff", a, b, "--fail-over", "1", "--hide", "leak_here", NULL));
	/* the same trace twice is counted once, and that is said */
	mt__start(t, &m, "report", a, a, "--json", NULL);
	{
		json_t *root = mt__stop_json(t, &m, 0, 0);

		want_u64(t, root, "totals.live_blocks", 10);
		want(t, strstr(m.c.errs.s, "from the same trace") != NULL, "a word about it, got: %s", m.c.errs.s);
	}
}

/* Stacks of two depths are compared as far as both have them, and that is said. */
TEST(diff_of_two_depths)
{
	const char *deep = in_dir(t, "deep.json"), *files[] = { in_dir(t, "flat.json"), deep };
	json_t *d;
	struct mt m;

	for (unsigned int i = 0; i < 2; i++) {
		struct fx f;

		fx__start(t, &f, "basic", "leak", i ? "30" : "10", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", files[i], "--depth", i ? "127" : "2", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, SIGINT, 0);
		fx__quit(t, &f);
	}
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "diff", files[0], deep, "--json", NULL));
	d = json_loads(m.c.outs.s, 0, NULL);
	must(t, d, "JSON, got %.200s", m.c.outs.s);
	want_u64(t, d, "stacks.grew", 1);
	want_u64(t, d, "stacks.new", 0);
	want_u64(t, d, "stacks.gone", 0);
	want_u64(t, d, "rows[0].delta", 20 * 64);
	want_u64(t, d, "depth", 2);
	want_eq(t, "frames", 2, json_array_size(jget(d, "rows[0].stack")));
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "diff", deep, files[0], NULL));
	want(t, strstr(m.c.outs.s, "their innermost 2 frames") && strstr(m.c.outs.s, "flat.json has no more"), "why, got %s", m.c.outs.s);
	/* of one depth, nothing is to be said */
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "diff", files[0], files[0], NULL));
	want(t, !strstr(m.c.outs.s, "innermost"), "nothing about frames, got %s", m.c.outs.s);
}

/*
 * One process in two traces at once, and in a third after them: it is one process, and no figure counts twice.
 * The first trace lasts longest; what the process leaks, only the first two saw.
 */
TEST(report_of_one_process_twice)
{
	const char *first = in_dir(t, "first.json"), *second = in_dir(t, "second.json"), *third = in_dir(t, "third.json");
	struct mt a, b, c, m;
	struct fx f;
	json_t *all;

	fx__start(t, &f, "basic", "leak", "100", NULL);
	mt__start(t, &a, "-p", pid_arg(f.c.pid), "-o", first, NULL);
	mt__wait_attached(t, &a);
	mt__start(t, &b, "-p", pid_arg(f.c.pid), "-o", second, NULL);
	mt__wait_attached(t, &b);
	fx__go(t, &f);
	mt__stop(t, &b, SIGINT, 0);
	mt__stop(t, &a, SIGINT, 0);
	mt__start(t, &c, "-p", pid_arg(f.c.pid), "-o", third, NULL);
	mt__wait_attached(t, &c);
	mt__stop(t, &c, SIGINT, 0);
	fx__quit(t, &f);
	want(t, !strcmp(jstr(load_json(t, first), "host.boot_id"), jstr(load_json(t, second), "host.boot_id")), "the same boot_id");
	want_u64(t, load_json(t, second), "processes[0].start_ticks", ju64(t, load_json(t, first), "processes[0].start_ticks"));
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", first, second, "--json", NULL));
	all = json_loads(m.c.outs.s, 0, NULL);
	must(t, all, "JSON, got %.200s", m.c.outs.s);
	want_eq(t, "processes", 1, json_array_size(jget(all, "processes")));
	want_u64(t, all, "totals.live_bytes", ledger__sum(&f.led, LED_ALLOC_BYTES) - ledger__sum(&f.led, LED_FREE_BYTES));
	want_u64(t, all, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS));
	want_u64(t, all, "duration_ns", ju64(t, load_json(t, first), "duration_ns"));
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", first, second, NULL));
	want(t, strstr(m.c.outs.s, "and counts") && !strstr(m.c.outs.s, "2 processes"), "one process, got\n%s", m.c.outs.s);
	/* of two traces one after the other, the later one: what the first saw may have been freed since */
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", third, second, "--json", NULL));
	all = json_loads(m.c.outs.s, 0, NULL);
	must(t, all, "JSON, got %.200s", m.c.outs.s);
	want_eq(t, "processes", 1, json_array_size(jget(all, "processes")));
	want_u64(t, all, "totals.live_bytes", 0);
	want(t, strstr(jstr(all, "combined"), "third.json is later"), "which one it is, got '%s'", jstr(all, "combined"));
}

/* A file at each interval and one at the end; the last two stay. */
TEST(snapshots_over_time)
{
	struct period p = { .s = 2 };
	const char *last;
	pid_t pid;
	struct fx f;
	struct mt m;

	do {
		period__begin(&p);
		fx__start(t, &f, "basic", "leak", "10", NULL);
		pid = f.c.pid;
		last = in_dir(t, "last-%d.json", pid);
		mt__start(t, &m, "-p", pid_arg(pid), period__arg(&p, 4), "4", "-o", in_dir(t, "heap-%d-%%n.json", pid), "-o", last, "--keep", "2",
			  NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		period__worked(&p);
		mt__stop(t, &m, 0, 0);
		fx__quit(t, &f);
	} while (period__was_short(&p));
	for (unsigned int i = 1; i <= 4; i++) {
		const char *path = in_dir(t, "heap-%d-%u.json", pid, i);
		struct stat st;

		want(t, (access(path, F_OK) == 0) == (i > 2), "%s, wanted %s", path, i > 2 ? "there" : "gone");
		if (i > 2 && !stat(path, &st))
			want_eq(t, "mode of the file", 0600, st.st_mode & 0777);
	}
	want_u64(t, load_json(t, in_dir(t, "heap-%d-4.json", pid)), "totals.live_blocks", 10);
	want_bool(t, load_json(t, in_dir(t, "heap-%d-3.json", pid)), "ended", false);
	want_u64(t, load_json(t, last), "totals.live_blocks", 10);
}

/* One name, again and again: no file is written over. */
TEST(snapshots_of_one_name)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "leak", "10", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "0.2", "5", "-o", in_dir(t, "heap-%%p.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, 0, 0);
	fx__quit(t, &f);
	want(t, !access(in_dir(t, "heap-%d.json", (int)f.c.pid), F_OK), "the first file, wanted");
	for (int i = 2; i <= 5; i++)
		want(t, !access(in_dir(t, "heap-%d.%d.json", (int)f.c.pid, i), F_OK), "file %d, wanted", i);
}

TEST(report_as_functions_is_the_same) { same_text(t, ARGS(), ARGS("--view", "functions", "-T", "100")); }

TEST(report_as_a_tree_is_the_same) { same_text(t, ARGS(), ARGS("--view", "tree", "--threshold", "0")); }

/* Where in the kernel a process waits, "" if that cannot be read. */
static bool waits_in(pid_t pid, const char *what)
{
	char path[64], *text;
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	text = read_all(path, NULL);
	is = text && strstr(text, what);
	free(text);
	return is;
}

/* Reports to a pipe that is not read: the second Ctrl-C ends it at once, and the target goes on. */
TEST(report_to_a_full_pipe)
{
	struct spawn s = { .argv = { lt_bin, "-p", "", "0.02" } };
	struct fx f;
	struct mt m = {};
	int status = 0;

	fx__start(t, &f, "basic", "family", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	child__start(t, &m.c, &s);
	child__wait_err(t, &m.c, "malloctrace: attached", NULL, patience_s(60));
	fx__go(t, &f);
	/* what is not read fills the pipe */
	for (unsigned int i = 0; i < 20000 && !waits_in(m.c.pid, "pipe_write"); i++)
		poll(NULL, 0, 5);
	must(t, waits_in(m.c.pid, "pipe_write"), "malloctrace never waited for its reader");
	child__kill(t, &m.c, SIGINT);
	child__kill(t, &m.c, SIGINT);
	for (unsigned int i = 0; i < 20000 && !waitpid(m.c.pid, &status, WNOHANG); i++) {
		/* two signals of one kind at once are one */
		child__kill(t, &m.c, SIGINT);
		poll(NULL, 0, 5);
	}
	want(t, WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "the end of malloctrace, wanted by SIGINT, got %#x", (unsigned int)status);
	m.c.reaped = true;
	fx__go(t, &f);
	fx__quit(t, &f);
}

static unsigned int widest(const char *text)
{
	unsigned int most = 0, cols = 0;

	for (; *text; text++) {
		cols = *text == '\n' ? 0 : cols + (((unsigned char)*text & 0xc0) != 0x80);
		most = cols > most ? cols : most;
	}
	return most;
}

/* A pipe has no width of its own. */
TEST(report_at_a_pipe_is_as_wide_as_COLUMNS)
{
	static const struct {
		const char *env;
		unsigned int least, most;
	} wants[] = { { "COLUMNS=60", 50, 60 }, { "COLUMNS=100", 90, 100 }, { "COLUMNS=", 80, 10000 }, { "COLUMNS=wide", 80, 10000 } };
	const char *json = in_dir(t, "x.json");
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "leak", "100", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", json, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		struct spawn how = { .argv = { lt_bin, "report", json }, .env = { wants[i].env } };
		unsigned int got;

		mt__start_v(t, &m, &how);
		mt__stop(t, &m, 0, 0);
		got = widest(m.c.outs.s);
		want(t, got >= wants[i].least && got <= wants[i].most, "%s: the widest line, wanted %u to %u, got %u:\n%s", wants[i].env, wants[i].least,
		     wants[i].most, got, m.c.outs.s);
	}
}
