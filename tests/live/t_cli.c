// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a user types: options that narrow a trace, several targets, input that makes no sense. */
#include "lt.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned int n_lines(const char *s)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static const char *both_pids(const struct fx *a, const struct fx *b)
{
	static char text[40];

	snprintf(text, sizeof(text), "%d,%d", a->c.pid, b->c.pid);
	return text;
}

/* Two processes whose blocks have the same addresses, in one -p and in two. */
static void two_targets(struct test *t, bool listed)
{
	struct spawn one = { .argv = { fixture("basic"), "hold", "1000" }, .no_aslr = true };
	struct spawn two = { .argv = { fixture("basic"), "hold", "700" }, .no_aslr = true };
	struct fx a, b;
	struct mt m;
	json_t *root;

	fx__start_as(t, &a, &one);
	fx__start_as(t, &b, &two);
	if (listed)
		mt__start(t, &m, "-p", both_pids(&a, &b), "--json", NULL);
	else
		mt__start(t, &m, "-p", pid_arg(a.c.pid), "--json", "-p", pid_arg(b.c.pid), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	fx__go(t, &b);
	want_eq(t, "the second program's first address, as the first one's", ledger__note(t, &a.led, "addr"), ledger__note(t, &b.led, "addr"));
	fx__go(t, &b);		/* frees all of its own, none of the other's */
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_eq(t, "processes", 2, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, a.c.pid, 0), &a.led, LED_ALL);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_ALL);
	fx__quit(t, &a);
	fx__quit(t, &b);
}

TEST(two_pids_listed) { two_targets(t, true); }
TEST(two_pids_repeated) { two_targets(t, false); }

/* One of two ends: the trace goes on with the other. */
TEST(one_of_two_ends)
{
	struct fx a, b;
	struct mt m;
	json_t *root;

	fx__start(t, &a, "basic", "leak", "10", NULL);
	fx__start(t, &b, "basic", "leak", "20", NULL);
	mt__start(t, &m, "-p", both_pids(&a, &b), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	fx__quit(t, &a);
	fx__go(t, &b);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_bool(t, process_of(t, root, a.c.pid, 0), "ended", true);
	want_bool(t, process_of(t, root, b.c.pid, 0), "ended", false);
	want_u64(t, process_of(t, root, a.c.pid, 0), "totals.live_blocks", 10);
	want_u64(t, process_of(t, root, b.c.pid, 0), "totals.live_blocks", 20);
	fx__quit(t, &b);
}

TEST(duration)
{
	struct period p = { .s = 2 };
	struct fx f;
	struct mt m;
	json_t *root;
	uint64_t ns;

	do {
		period__begin(&p);
		fx__start(t, &f, "basic", "leak", "10", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "-d", period__arg(&p, 1), NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		period__worked(&p);
		root = mt__stop_json(t, &m, 0, 0);
		ns = ju64(t, root, "duration_ns");
		want(t, ns >= (uint64_t)(p.s * 1e9), "duration_ns, wanted at least %.0f, got %llu", p.s * 1e9, (unsigned long long)ns);
		fx__quit(t, &f);
	} while (period__was_short(&p));
	want_u64(t, root, "totals.live_blocks", 10);
}

TEST(interval_and_count)
{
	struct period period = { .s = 3 };
	unsigned int n = 0;
	struct fx f;
	struct mt m;

	do {
		period__begin(&period);
		fx__start(t, &f, "basic", "leak", "10", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), period__arg(&period, 3), "3", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		period__worked(&period);
		mt__stop(t, &m, 0, 0);
		fx__quit(t, &f);
	} while (period__was_short(&period));
	for (const char *p = m.c.outs.s; (p = strstr(p, "\nLIVE")); p++)
		n++;
	want_eq(t, "reports (by their LIVE headings)", 3, n);
	want(t, strstr(m.c.outs.s, "leak_here") != NULL, "leak_here, wanted in the report: %.300s", m.c.outs.s);
	want(t, !strchr(m.c.outs.s, '\033'), "escape codes, wanted none in what is no terminal");
}

TEST(older)
{
	static const struct {
		const char *age;
		bool shown;
	} rows[] = { { "1ms", true }, { "1h", false } };

	for (unsigned int i = 0; i < 2; i++) {
		struct fx f;
		struct mt m;

		fx__start(t, &f, "basic", "old", NULL);	/* its blocks are 100 ms old when it is done */
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "--view", "leaks", "--older", rows[i].age, NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, SIGINT, 0);
		want(t, !strstr(m.c.outs.s, "old_here") == !rows[i].shown, "--older %s: old_here, wanted %s: %.400s", rows[i].age,
		     rows[i].shown ? "shown" : "hidden", m.c.outs.s);
		fx__quit(t, &f);
	}
}

/* Every output that was asked for is there; folded names the chain from the root. */
TEST(outputs)
{
	const char *json = in_dir(t, "a.json"), *folded = in_dir(t, "b.folded"), *text = in_dir(t, "c.txt");
	struct fx f;
	struct mt m;
	char *s;

	fx__start(t, &f, "basic", "leak", "10", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", json, "-o", folded, "-o", text, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want_invariants(t, load_json(t, json));
	s = read_all(folded, NULL);
	want(t, s && strstr(s, "main;leak_here 640\n"), "b.folded, wanted '...main;leak_here 640', got %.300s", s ? s : "no file");
	s = read_all(text, NULL);
	want(t, s && strstr(s, "leak_here"), "c.txt, wanted to show leak_here, got %.300s", s ? s : "no file");
	fx__quit(t, &f);
}

/* ---- input that makes no sense */

TEST(usage_errors)
{
	static const struct {
		const char *argv[8];
		const char *says;	/* must be on stderr */
	} rows[] = {
		{ { NULL }, "malloctrace" },
		{ { "--no-such-option" }, "no-such-option" },
		{ { "-p", "12x" }, "12x" },
		{ { "-p", "0" }, "0" },
		{ { "-p", "-5" }, "-5" },
		{ { "-p", "1,,2" }, "1,,2" },
		{ { "-p", "99999999999999999999" }, "99999999999999999999" },
		{ { "-p", "1", "-d", "-1" }, "-1" },
		{ { "-p", "1", "-d", "soon" }, "soon" },
		{ { "-p", "1", "--older", "5parsecs" }, "5parsecs" },
		{ { "-p", "1", "--min-size", "lots" }, "lots" },
		{ { "-p", "1", "--min-size", "100", "--max-size", "10" }, "size" },
		{ { "-p", "1", "--view", "nothing" }, "nothing" },
		{ { "-p", "1", "--metric", "beauty" }, "beauty" },
		{ { "-p", "1", "--mode", "magic" }, "magic" },
		{ { "-p", "1", "--depth", "0" }, "depth" },
		{ { "-p", "1", "--depth", "100000" }, "100000" },
		{ { "-p", "1", "--sym", "malloc" }, "malloc" },
		{ { "-p", "1", "--sym", "nonsense=foo" }, "nonsense" },
		{ { "-p", "1", "-o", "x.unheardof" }, "x.unheardof" },
		{ { "-p", "1", "--format", "poem", "-o", "-" }, "poem" },
		{ { "-p", "1", "5", "never" }, "never" },
		{ { "-p", "1", "0" }, "0" },
		{ { "-p", "1", "--", "true" }, "--" },
		{ { "--" }, "--" },
		{ { "serve", "--listen", "0.0.0.0:9464" }, "--token-file" },
		{ { "-p" }, "-p" },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct spawn s = { .argv = { lt_bin } };
		char shown[300] = "";
		struct mt m;
		int got;

		for (unsigned int k = 0; k < 8 && rows[i].argv[k]; k++) {
			s.argv[k + 1] = rows[i].argv[k];
			snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), " %s", rows[i].argv[k]);
		}
		mt__start_v(t, &m, &s);
		got = child__wait(t, &m.c);
		want(t, got == 2, "malloctrace%s: exit status, wanted 2, got %d; stderr: %.200s", shown, got, m.c.errs.s);
		want(t, strstr(m.c.errs.s, rows[i].says) != NULL, "malloctrace%s: stderr, wanted to say '%s', got: %.200s", shown,
		     rows[i].says, m.c.errs.s);
		want(t, m.c.outs.n == 0, "malloctrace%s: standard output, wanted nothing, got: %.100s", shown, m.c.outs.s);
	}
}

/* Fails with status 1, a message that names what, and nothing on standard output. */
static void want_refusal(struct test *t, struct mt *m, int got, const char *what, const char *says, unsigned int max_lines)
{
	want(t, got == 1, "%s: exit status, wanted 1, got %d; stderr: %.300s", what, got, m->c.errs.s);
	want(t, !strncmp(m->c.errs.s, "malloctrace: ", 13) && strstr(m->c.errs.s, says), "%s: stderr, wanted 'malloctrace: ... %s ...', got: %.300s",
	     what, says, m->c.errs.s);
	want(t, n_lines(m->c.errs.s) <= max_lines, "%s: stderr, wanted at most %u lines, got: %.400s", what, max_lines, m->c.errs.s);
	want(t, !strstr(m->c.errs.s, "attached"), "%s: it attached", what);
	want(t, m->c.outs.n == 0, "%s: standard output, wanted nothing, got: %.100s", what, m->c.outs.s);
}

TEST(no_such_process)
{
	struct mt m;
	int got = mt__run(t, &m, "-p", "4190000", "--json", NULL);

	want_refusal(t, &m, got, "no such process", "4190000", 1);
}

TEST(kernel_thread)
{
	char *comm = read_all("/proc/2/comm", NULL);
	struct mt m;
	int got;

	if (!comm || strcmp(comm, "kthreadd\n"))
		skip(t, "pid 2 is no kernel thread here");
	got = mt__run(t, &m, "-p", "2", "--json", NULL);
	want_refusal(t, &m, got, "a kernel thread", "2", 3);
}

TEST(zombie)
{
	struct mt m;
	siginfo_t info;
	int got;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	must(t, pid > 0 && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), "no zombie: %s", strerror(errno));
	got = mt__run(t, &m, "-p", pid_arg(pid), "--json", NULL);
	want_refusal(t, &m, got, "a zombie", pid_arg(pid), 3);
	waitpid(pid, NULL, 0);
}

TEST(no_allocator_in_target)
{
	struct fx f;
	struct mt m;
	int got;

	fx__start(t, &f, "nolibc", NULL);
	got = mt__run(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	want_refusal(t, &m, got, "no allocator", "maps no allocator", 5);
	fx__quit(t, &f);
}

TEST(not_root)
{
	/* a copy: the checkout may lie where that user cannot go */
	const char *bin = in_dir(t, "malloctrace");
	struct spawn s = { .argv = { bin, "-p", NULL, "--json" }, .uid = 65534 };
	struct fx f;
	struct mt m;

	copy_file(t, lt_bin, bin);
	fx__start(t, &f, "basic", "leak", "1", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	want_refusal(t, &m, child__wait(t, &m.c), "not root", "", 2);
	fx__go(t, &f);
	fx__quit(t, &f);
}

/* An output that cannot be written is told before the trace, not after it. */
TEST(output_cannot_be_written)
{
	const char *paths[] = { in_dir(t, "missing/x.json"), in_dir(t, "directory.json") };
	struct fx f;

	must(t, !mkdir(paths[1], 0755), "mkdir %s", paths[1]);
	fx__start(t, &f, "basic", "leak", "1", NULL);
	for (unsigned int i = 0; i < 2; i++) {
		struct mt m;
		int got = mt__run(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", paths[i], NULL);

		want(t, got == 1 || got == 2, "-o %s: exit status, wanted 1 or 2, got %d", paths[i], got);
		want(t, strstr(m.c.errs.s, paths[i]) != NULL, "-o %s: stderr, wanted to name it, got: %.300s", paths[i], m.c.errs.s);
		want(t, !strstr(m.c.errs.s, "attached"), "-o %s: it attached first", paths[i]);
	}
	fx__quit(t, &f);
}

/* A trace that fails leaves the file of an earlier one alone. */
TEST(output_kept_when_trace_fails)
{
	const char *path = in_dir(t, "kept.json");
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct mt m;
	char *s;

	must(t, fd >= 0 && write(fd, "precious", 8) == 8, "write %s", path);
	close(fd);
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &m, "-p", "4190000", "--batch", "-o", path, NULL));
	s = read_all(path, NULL);
	want(t, s && !strcmp(s, "precious"), "%s, wanted untouched, got: %.100s", path, s ? s : "no file");
}

/* Standard output that is closed: told before the trace, and never taken for one of malloctrace's own files. */
TEST(stdout_closed)
{
	struct spawn s = { .argv = { "/bin/sh", "-c", "exec \"$0\" -p \"$1\" -d 0.1 >&-", lt_bin } };
	struct mt m;
	struct fx f;

	fx__start(t, &f, "basic", "leak", "1", NULL);
	s.argv[4] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "not open for writing") != NULL, "stderr, wanted why, got: %.300s", m.c.errs.s);
	want(t, !strstr(m.c.errs.s, "attached"), "it attached first");
	fx__quit(t, &f);
}

/* A reader that leaves early, as `| head` does, is no error, and ends a trace with an interval. */
TEST(reader_leaves)
{
	static const char *const calls[] = {
		"{ \"$0\" -p \"$1\" -d 0.5 --json; echo status $? >&2; } | head -c 1",
		"{ \"$0\" -p \"$1\" 0.2; echo status $? >&2; } | head -c 1",
	};

	for (unsigned int i = 0; i < 2; i++) {
		struct spawn s = { .argv = { "/bin/sh", "-c", calls[i], lt_bin } };
		struct mt m;
		struct fx f;

		fx__start(t, &f, "basic", "stacks", "2000", NULL);
		s.argv[4] = pid_arg(f.c.pid);
		mt__start_v(t, &m, &s);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		child__wait(t, &m.c);
		want(t, strstr(m.c.errs.s, "status 0\n") != NULL, "%s: stderr, wanted status 0, got: %.300s", calls[i], m.c.errs.s);
		want(t, !strstr(m.c.errs.s, "cannot"), "%s: stderr, wanted no error, got: %.300s", calls[i], m.c.errs.s);
		fx__quit(t, &f);
	}
}

/* Why a report could not be written is told, however much of it was written before. */
TEST(output_full)
{
	struct spawn s = { .argv = { "/bin/sh", "-c", "exec \"$0\" -p \"$1\" --json >/dev/full", lt_bin } };
	struct mt m;
	struct fx f;

	fx__start(t, &f, "basic", "stacks", "2000", NULL);
	s.argv[4] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 1);
	want(t, strstr(m.c.errs.s, strerror(ENOSPC)) != NULL, "stderr, wanted why, got: %.300s", m.c.errs.s);
	fx__quit(t, &f);
}

/* So for what a command prints that makes no file, and for a page that is larger than a buffer. */
TEST(output_full_of_commands)
{
	static const char *const calls[] = {
		"doctor", "--help", "--help all", "-V", "--completion bash", "heap --help",
		"report \"$1\" --format html -o -",
	};
	const char *file = in_dir(t, "a.json");
	struct mt m;

	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-o", file, "--", fixture("basic"), "--auto",
						       in_dir(t, "ledger"), "family", NULL));
	for (unsigned int i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char script[128];
		struct spawn s = { .argv = { "/bin/sh", "-c", script, lt_bin, file } };

		snprintf(script, sizeof(script), "exec \"$0\" %s >/dev/full", calls[i]);
		mt__start_v(t, &m, &s);
		want_eq(t, calls[i], 1, (uint64_t)child__wait(t, &m.c));
		want(t, strstr(m.c.errs.s, strerror(ENOSPC)) != NULL, "%s: stderr, wanted why, got: %.300s",
		     calls[i], m.c.errs.s);
	}
}

/* Ctrl-C while attaching: it ends soon, says so, and leaves nothing behind. The later ones come when the trace has begun. */
TEST(interrupt_while_attaching)
{
	unsigned int called_off = 0;
	struct fx f;

	fx__start(t, &f, "basic", NULL);
	for (useconds_t us = 0; us < 400000; us += 40000) {
		struct mt m;
		int status;

		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", NULL);
		usleep(us);
		child__kill(t, &m.c, SIGINT);
		status = child__wait(t, &m.c);
		if (strstr(m.c.errs.s, "interrupted before the trace began: nothing was recorded")) {
			called_off++;
			want_eq(t, "exit status", 1, status);
			want(t, !m.c.outs.n, "a report of nothing, wanted none, got\n%.400s", m.c.outs.s);
			want(t, !strstr(m.c.errs.s, "malloctrace: attached"), "not attached, wanted in\n%s", m.c.errs.s);
		} else if (status != 128 + SIGINT) {	/* before signals were its own */
			want_eq(t, "exit status", 0, status);
			want(t, strstr(m.c.errs.s, "malloctrace: attached"), "attached, wanted in\n%s", m.c.errs.s);
		}
	}
	want(t, called_off, "one that was called off, wanted, got none");
	fx__quit(t, &f);
}

/* Sends a signal, and waits until it was taken: the next one is not merged with it. */
static void send_taken(struct test *t, struct child *c, int sig)
{
	bool waits = true;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
	child__kill(t, c, sig);
	while (waits) {
		char *text = read_all(path, NULL), *line = text ? strstr(text, "\nShdPnd:\t") : NULL;

		waits = line && strtoull(line + 9, NULL, 16) >> (sig - 1) & 1;
		free(text);
		if (waits)
			poll(NULL, 0, 1);
	}
}

/* A report that waits for its reader, the trace ended by itself or by the first of n signals: all of it comes. */
static void interrupt_report(struct test *t, bool ends_by_itself, int sig, unsigned int n_signals)
{
	const char *path = in_dir(t, "pipe.json");
	struct text got = { .s = calloc(1, 64 << 20), .room = 64 << 20 };
	struct spawn how = { .argv = { "/bin/sh", "-c", "exec \"$0\" -p \"$1\" --max-stacks 10000 --json > \"$2\"", lt_bin } };
	struct mt m;
	struct fx f;
	json_t *root;
	ssize_t n;
	int fd;

	must(t, got.s && !mkfifo(path, 0600), "mkfifo %s", path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	must(t, fd >= 0, "open %s", path);
	fx__start(t, &f, "basic", "stacks", "10000", NULL);
	how.argv[4] = pid_arg(f.c.pid);
	how.argv[5] = path;
	mt__start_v(t, &m, &how);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	if (ends_by_itself) {
		fx__quit(t, &f);
		do		/* the first of more than a pipe holds: the rest waits for us */
			usleep(10000);
		while ((n = read(fd, got.s, 1)) <= 0);
		got.n = 1;
	}
	for (unsigned int i = 0; i < n_signals; i++)
		send_taken(t, &m.c, sig);
	fcntl(fd, F_SETFL, 0);
	while ((n = read(fd, got.s + got.n, got.room - got.n - 1)) > 0)
		got.n += (size_t)n;
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	root = with_frames(json_loads(got.s, 0, NULL));
	must(t, root != NULL, "the report is not whole: %zu bytes", got.n);
	want_eq(t, "distinct stacks", 10000, json_array_size(jget(root, "sites")));
	if (!ends_by_itself)
		fx__quit(t, &f);
	close(fd);
	unlink(path);
	free(got.s);
}

/* Ctrl-C when the trace has just ended by itself is the first one: the report still comes. */
TEST(interrupt_while_reporting) { interrupt_report(t, true, SIGINT, 1); }

/* Service managers and users repeat a signal at once, which is not a second request. */
TEST(interrupt_repeated)
{
	interrupt_report(t, false, SIGTERM, 3);
	interrupt_report(t, true, SIGTERM, 3);
}
