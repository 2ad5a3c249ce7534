// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What `malloctrace serve` makes of snapshots and of requests. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "model/narrow.h"
#include "model/since.h"
#include "options/opts.h"
#include "serve/serve.h"
#include "util/util.h"

/* ---- snapshots, made by hand */

static const struct snap_module module = { .path = "/usr/bin/prog", .build_id = "b1d" };

struct made {
	struct snapshot *s;
	struct snap_process *processes;
};

static struct made make(size_t n_processes, size_t n_sites)
{
	struct made m = { .s = snapshot__new() };
	struct snapshot *s = m.s;

	s->version = "0";
	s->known = HAS_COUNTERS;
	s->observed_share = 1;
	s->modules = &module;
	s->n_modules = 1;
	m.processes = snapshot__alloc(s, n_processes, sizeof(*m.processes));
	s->processes = m.processes;
	s->n_processes = n_processes;
	s->sites = snapshot__alloc(s, n_sites, sizeof(*s->sites));
	s->n_sites = n_sites;
	s->places = snapshot__alloc(s, 8, sizeof(*s->places));
	s->n_places = 8;
	for (size_t i = 0; i < 8; i++)
		s->places[i].offset = 0x100 * (i + 1);
	return m;
}

static void set_process(struct made *m, size_t i, const char *comm, uint64_t calls, uint64_t live)
{
	m->processes[i].id = (uint32_t)i + 1;
	m->processes[i].pid = (pid_t)(100 + i);
	m->processes[i].comm = comm;
	m->processes[i].c.alloc_calls = calls;
	m->processes[i].c.alloc_bytes = calls * 10;
	m->processes[i].c.live_bytes = live;
	m->s->totals.alloc_calls += calls;
	m->s->totals.alloc_bytes += calls * 10;
	m->s->totals.live_bytes += live;
}

static void set_site(struct made *m, size_t i, uint32_t process, uint32_t place, uint64_t calls, uint64_t live)
{
	uint32_t *stack = snapshot__alloc(m->s, 1, sizeof(*stack));

	*stack = place;
	m->s->sites[i] = (struct snap_site){ .process = process, .function = "malloc", .n_stack = 1, .stack = stack,
					     .c = { .alloc_calls = calls, .live_bytes = live } };
}

/* ---- metrics */

static char *text_of(struct metrics *m, const struct snapshot *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	metrics__write(m, out, s, &(struct metrics_own){});
	fclose(out);
	return text;
}

static double value_of(const char *text, const char *series)
{
	const char *at = strstr(text, series);

	cr_assert(at, "there is no %s in:\n%s", series, text);
	return strtod(at + strlen(series), NULL);
}

Test(serve, totals_never_become_less)
{
	struct metrics *m = metrics__new();
	uint64_t calls[] = { 100, 250, 40, 60 }, wanted[] = { 100, 250, 250, 270 };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct made s = make(1, 0);
		_cleanup_free_ char *text = NULL;

		set_process(&s, 0, "prog", calls[i], 7);
		text = text_of(m, s.s);
		cr_expect_eq(value_of(text, "malloctrace_comm_allocations_total{comm=\"prog\"} "), (double)wanted[i], "%zu", i);
		snapshot__free(s.s);
	}
	metrics__free(m);
}

Test(serve, processes_of_a_name_are_added_up_and_ended_ones_hold_nothing)
{
	struct metrics *m = metrics__new();
	struct made s = make(3, 0);
	_cleanup_free_ char *text = NULL;

	set_process(&s, 0, "a", 5, 10);
	set_process(&s, 1, "a", 7, 20);
	set_process(&s, 2, "a", 9, 40);
	s.processes[2].ended = true;
	text = text_of(m, s.s);
	cr_expect_eq(value_of(text, "malloctrace_comm_allocations_total{comm=\"a\"} "), 21);
	cr_expect_eq(value_of(text, "malloctrace_comm_live_bytes{comm=\"a\"} "), 30);
	cr_expect_eq(value_of(text, "malloctrace_comm_processes{comm=\"a\"} "), 2);
	snapshot__free(s.s);
	metrics__free(m);
}

/* Of more names than there are series, the largest have one; the sum over all series is that of all names. */
Test(serve, other_names_are_one)
{
	struct metrics *m = metrics__new();
	char names[METRICS_NAMES + 30][16];
	double sum = 0;
	size_t n = 0;
	struct made s = make(ARRAY_SIZE(names), 0);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "p%03zu", i);
		set_process(&s, i, names[i], 1000 + i, 100 * i);
	}
	text = text_of(m, s.s);
	for (const char *at = text; (at = strstr(at, "\nmalloctrace_comm_allocations_total{")); at++, n++)
		sum += strtod(strchr(at, '}') + 1, NULL);
	cr_expect_eq(n, METRICS_NAMES + 1);
	cr_expect_eq(sum, (double)s.s->totals.alloc_calls);
	cr_expect(strstr(text, "{comm=\"p079\"}"));
	cr_expect_not(strstr(text, "{comm=\"p001\"}"));
	snapshot__free(s.s);
	metrics__free(m);
}

Test(serve, names_cannot_break_out_of_their_labels)
{
	struct metrics *m = metrics__new();
	struct made s = make(1, 0);
	_cleanup_free_ char *text = NULL;

	set_process(&s, 0, "a\"} 1\nx\\", 5, 10);
	text = text_of(m, s.s);
	cr_expect(strstr(text, "malloctrace_comm_allocations_total{comm=\"a\\\"} 1\\nx\\\\\"} 5\n"), "%s", text);
	snapshot__free(s.s);
	metrics__free(m);
}

/* Estimates may become less: they are no counters, and say what they are. */
static size_t n_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* A name that is cut is cut between characters, and remains another than those that begin alike. */
Test(serve, long_names_and_such_as_are_no_text)
{
	static const struct {
		const char *name, *begins;
	} rows[] = {
		{ HUNDRED HUNDRED "a", "{cgroup=\"" HUNDRED HUNDRED "~" },
		{ HUNDRED HUNDRED "b", "{cgroup=\"" HUNDRED HUNDRED "~" },
		{ HUNDRED HUNDRED, "{cgroup=\"" HUNDRED HUNDRED "\"" },
		{ HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN "012345678\u00e9xyz", "{cgroup=\"" HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN "012345678\u00e9~" },
		{ "half \xc3", "{cgroup=\"half ?~" },
		{ "half \xc2", "{cgroup=\"half ?~" },
	};
	struct metrics *m = metrics__new();
	struct made s = make(ARRAY_SIZE(rows), 0);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_process(&s, i, "prog", i + 1, 0);
		s.processes[i].cgroup = rows[i].name;
	}
	text = text_of(m, s.s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect(strstr(text, rows[i].begins), "%s in %s", rows[i].begins, text);
	for (const char *line = text, *end; line && *line; line = *end ? end + 1 : NULL) {
		_cleanup_free_ char *key = NULL;

		end = strchrnul(line, '\n');
		key = strndup(line, (size_t)(end - line));
		if (*key != '#' && strrchr(key, '}')) {
			strrchr(key, '}')[1] = '\0';
			cr_expect_eq(n_of(text, key), 1, "%s", key);
		}
	}
	cr_expect_eq(n_of(text, "malloctrace_cgroup_allocations_total{"), ARRAY_SIZE(rows) + 1);
	snapshot__free(s.s);
	metrics__free(m);
}

/* Names of which none runs any more keep their series for a while, then leave them to those that run. */
Test(serve, names_of_the_dead_are_forgotten)
{
	char names[METRICS_NAMES][16];
	struct metrics *m = metrics__new();

	for (uint64_t minute = 0; minute < 30; minute++) {
		struct made s = make(METRICS_NAMES + 2, 0);
		_cleanup_free_ char *text = NULL;

		s.s->duration_ns = minute * 60 * SECOND_NS;
		for (size_t i = 0; i < METRICS_NAMES; i++) {
			snprintf(names[i], sizeof(names[i]), "p%03zu", i);
			set_process(&s, i, names[i], 1000 + i, 100);
			s.processes[i].ended = minute > 5;
		}
		set_process(&s, METRICS_NAMES, minute < 5 ? "p001" : "new", 3, 1);
		set_process(&s, METRICS_NAMES + 1, "(17 others that ended)", 100 + minute, 0);
		s.processes[METRICS_NAMES + 1].ended = true;
		s.processes[METRICS_NAMES + 1].n_members = 17;
		text = text_of(m, s.s);
		cr_expect_eq(!!strstr(text, "{comm=\"new\"}"), minute >= 15, "%" PRIu64, minute);
		cr_expect_not(strstr(text, "others that ended"));
		cr_expect_eq(value_of(text, "malloctrace_comm_allocations_total{comm=\"p049\"} "), 1049);
		snapshot__free(s.s);
	}
	metrics__free(m);
}

Test(serve, the_start_is_told_to_the_millisecond)
{
	struct metrics *m = metrics__new();
	struct made s = make(1, 0);
	_cleanup_free_ char *text = NULL;

	set_process(&s, 0, "prog", 1, 1);
	s.s->wall_start_ns = 1763433121250000000;
	text = text_of(m, s.s);
	cr_expect_eq(value_of(text, "\nmalloctrace_start_time_seconds "), 1763433121.25);
	snapshot__free(s.s);
	metrics__free(m);
}

Test(serve, estimates_are_gauges)
{
	struct metrics *m = metrics__new();
	struct made s = make(1, 0);
	_cleanup_free_ char *text = NULL;

	set_process(&s, 0, "a", 5, 10);
	s.s->estimated = true;
	text = text_of(m, s.s);
	cr_expect_eq(value_of(text, "malloctrace_comm_allocations_estimate{comm=\"a\"} "), 5);
	cr_expect(strstr(text, "# TYPE malloctrace_comm_allocations_estimate gauge\n"));
	cr_expect_not(strstr(text, "malloctrace_comm_allocations_total"));
	snapshot__free(s.s);
	metrics__free(m);
}

/* ---- some processes of a snapshot */

Test(serve, narrowed_to_a_process)
{
	struct made s = make(3, 3);
	struct snapshot *n;

	set_process(&s, 0, "a", 1, 10);
	set_process(&s, 1, "b", 2, 20);
	set_process(&s, 2, "bb", 4, 40);
	s.processes[1].cgroup = "/system.slice/b.service";
	s.processes[2].cgroup = "/system.slices";
	set_site(&s, 0, 0, 0, 1, 10);
	set_site(&s, 1, 2, 1, 4, 40);
	set_site(&s, 2, 1, 2, 2, 20);
	n = snapshot__narrow(s.s, &(struct narrowing){ .pid = 101 });
	cr_assert_eq(n->n_processes, 1);
	cr_assert_eq(n->n_sites, 1);
	cr_expect_eq(n->sites[0].process, 0);
	cr_expect_eq(n->sites[0].c.live_bytes, 20);
	cr_expect_eq(n->totals.live_bytes, 20);
	snapshot__free(n);
	n = snapshot__narrow(s.s, &(struct narrowing){ .comm = "b*" });
	cr_expect_eq(n->n_sites, 2);
	cr_expect_eq(n->totals.alloc_calls, 6);
	snapshot__free(n);
	n = snapshot__narrow(s.s, &(struct narrowing){ .cgroup = "/system.slice/" });
	cr_expect_eq(n->n_processes, 1);
	cr_expect_str_eq(n->processes[0].comm, "b");
	snapshot__free(n);
	n = snapshot__narrow(s.s, &(struct narrowing){ .pid = 7 });
	cr_expect_eq(n->n_processes + n->n_sites, 0);
	snapshot__free(n);
	snapshot__free(s.s);
}

/* ---- since another one */

Test(serve, since_another_snapshot)
{
	struct made before = make(1, 2), after = make(1, 3);
	struct snapshot *d;

	set_process(&before, 0, "a", 30, 100);
	set_site(&before, 0, 0, 0, 10, 100);
	set_site(&before, 1, 0, 1, 20, 50);
	set_process(&after, 0, "a", 65, 90);
	/* the same stacks under other numbers, and a new one */
	after.s->places[5].offset = 0x100;
	after.s->places[0].offset = 0x999;
	set_site(&after, 0, 0, 5, 15, 60);
	set_site(&after, 1, 0, 1, 20, 30);
	set_site(&after, 2, 0, 0, 30, 7);
	d = snapshot__since(before.s, after.s);
	cr_expect_eq(d->sites[0].c.alloc_calls, 5);
	cr_expect_eq((int64_t)d->sites[0].c.live_bytes, -40);
	cr_expect_eq(d->sites[1].c.alloc_calls, 0);
	cr_expect_eq((int64_t)d->sites[1].c.live_bytes, -20);
	cr_expect_eq(d->sites[2].c.alloc_calls, 30);
	cr_expect_eq(d->sites[2].c.live_bytes, 7);
	cr_expect_eq(d->totals.alloc_calls, 35);
	snapshot__free(d);
	/* an estimate that became less is no negative count of calls */
	d = snapshot__since(after.s, before.s);
	cr_expect_eq(d->sites[0].c.alloc_calls, 0);
	snapshot__free(d);
	snapshot__free(before.s);
	snapshot__free(after.s);
}

/* ---- requests */

/*
 * Process 1 gives up the room of a stack; 2 and 3 end, and become one row with 4, which was one before, 3 under its stack and 2
 * without: what was done before is in no figure.
 */
Test(serve, since_what_moved_meanwhile)
{
	struct made before = make(4, 5), after = make(2, 5);
	static const uint64_t wanted[] = { 5, 3, 2, 1, 7 };
	struct snapshot *d;

	for (size_t i = 0; i < 4; i++)
		set_process(&before, i, "a", 0, 0);
	set_site(&before, 0, 0, 0, 10, 0);
	set_site(&before, 1, 0, 1, 20, 0);
	set_site(&before, 2, 1, 2, 40, 0);
	set_site(&before, 3, 2, 3, 80, 0);
	set_site(&before, 4, 3, 2, 160, 0);
	before.processes[3].ended = true;
	before.processes[3].n_members = 5;
	set_process(&after, 0, "a", 0, 0);
	set_process(&after, 1, "a", 0, 0);
	after.processes[1].id = 4;
	after.processes[1].ended = true;
	after.processes[1].n_members = 7;
	set_site(&after, 0, 0, 0, 10 + 5, 0);
	/* 20 of the stack that has gone */
	set_site(&after, 1, 0, 7, 20 + 3, 0);
	after.s->sites[1].evicted_stacks = 1;
	after.s->sites[1].n_stack = 0;
	set_site(&after, 2, 1, 2, 160 + 40 + 2, 0);
	set_site(&after, 3, 1, 7, 80 + 1, 0);
	after.s->sites[3].evicted_stacks = 1;
	after.s->sites[3].n_stack = 0;
	set_site(&after, 4, 0, 6, 7, 0);
	d = snapshot__since(before.s, after.s);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		cr_expect_eq(d->sites[i].c.alloc_calls, wanted[i], "%zu: %" PRIu64, i, d->sites[i].c.alloc_calls);
	snapshot__free(d);
	snapshot__free(before.s);
	snapshot__free(after.s);
}

Test(serve, requests_are_checked)
{
	static const struct {
		enum serve_what what;
		const char *key, *value;
		bool good;
	} rows[] = {
		{ SERVE_HEAP, "pid", "12", true },	 { SERVE_HEAP, "pid", "0", false },	     { SERVE_HEAP, "pid", "4294967297", false },
		{ SERVE_HEAP, "pid", "-1", false },	 { SERVE_HEAP, "pid", "", false },	     { SERVE_HEAP, "seconds", "600", true },
		{ SERVE_HEAP, "seconds", "601", false }, { SERVE_HEAP, "comm", "x", true },	     { SERVE_HEAP, "comm", "", false },
		{ SERVE_HEAP, "gc", "1", true },	 { SERVE_HEAP, "debug", "1", true },	     { SERVE_HEAP, "id", "1", false },
		{ SERVE_METRICS, "pid", "1", false },	 { SERVE_METRICS, "seconds", "1", false },
	};
	char longer[SERVE_PATH_MAX + 1];
	struct serve_ask a = { .what = SERVE_HEAP };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct serve_ask each = { .what = rows[i].what };

		cr_expect_eq(!web_query__take(&each, rows[i].key, rows[i].value), rows[i].good, "%s=%s", rows[i].key, rows[i].value);
	}
	memset(longer, 'x', sizeof(longer));
	longer[SERVE_PATH_MAX] = '\0';
	cr_expect(web_query__take(&a, "cgroup", longer));
	longer[SERVE_PATH_MAX - 1] = '\0';
	cr_expect_null(web_query__take(&a, "cgroup", longer));
	cr_expect_eq(a.container[0], '\0');
}

Test(serve, names_of_others_are_not_answered_for)
{
	static const struct {
		const char *host;
		bool local;
	} rows[] = {
		{ NULL, true },		     { "localhost", true },	     { "LOCALHOST:9464", true }, { "127.0.0.1", true },
		{ "127.0.0.1:9464", true },  { "10.1.2.3:80", true },	     { "[::1]:9464", true },	  { "[::1]", true },
		{ "evil.example", false },   { "localhost.evil", false },    { "[::1", false },		  { "[evil]", false },
		{ "127.0.0.1.evil", false }, { "xn--localhost-x", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(web_query__is_local(rows[i].host), rows[i].local, "%s", rows[i].host ?: "none");
}

Test(serve, addresses_of_others_need_a_secret)
{
	static const char *const bad[] = { "0.0.0.0:9464", "[::]:9464", "192.0.2.1:80", "nonsense", ":80", "127.0.0.1", "127.0.0.1:70000", "unix:relative", "unix:" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_err_ struct err e = {};

		cr_expect_eq(listen__open(&(struct serve_options){ .listen = bad[i] }, &e), -EINVAL, "%s: %s", bad[i], err_msg(&e));
	}
}

/* A link in a directory where all can write is followed only if it is the user's own. */
Test(serve, a_socket_is_not_made_behind_the_link_of_another)
{
	char dir[] = "/tmp/mt-listen.XXXXXX", real[64], link[64], path[96], made[96];
	_cleanup_err_ struct err e = {};
	struct serve_options o = { .listen = path };
	int fd;

	if (geteuid())
		cr_skip_test("only root can make a link of another user");
	cr_assert(mkdtemp(dir) && !chmod(dir, 01777));
	snprintf(real, sizeof(real), "%s/real", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(path, sizeof(path), "unix:%s/socket", link);
	snprintf(made, sizeof(made), "%s/socket", real);
	cr_assert(!mkdir(real, 0700) && !symlink(real, link));
	fd = listen__open(&o, &e);
	cr_assert_geq(fd, 0, "%s", err_msg(&e));
	cr_expect(!access(made, F_OK));
	o.listen_fd = fd;
	listen__close(&o);
	cr_expect(access(made, F_OK));
	cr_assert(!lchown(link, 4711, 4711));
	fd = listen__open(&o, &e);
	cr_expect_eq(fd, -ELOOP);
	cr_expect(strstr(err_msg(&e), "uid 4711 made the symbolic link link"), "%s", err_msg(&e));
	cr_expect(access(made, F_OK));
	unlink(made);
	unlink(link);
	rmdir(real);
	rmdir(dir);
}

/* One that is listened at, where so many wait to be taken that the next one has to wait as well. */
Test(serve, a_socket_of_another_is_not_waited_for, .timeout = 20)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), waiting;
	_cleanup_err_ struct err e = {};
	char path[128];

	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/mt-listen-%d", (int)getpid());
	snprintf(path, sizeof(path), "unix:%s", a.sun_path);
	cr_assert(!bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 0));
	do
		waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (!connect(waiting, (struct sockaddr *)&a, sizeof(a)));
	cr_assert_eq(errno, EAGAIN);
	cr_expect_eq(listen__open(&(struct serve_options){ .listen = path }, &e), -EADDRINUSE, "%s", err_msg(&e));
	unlink(a.sun_path);
}

/* ---- what is traced */

Test(serve, the_whole_machine_within_a_budget_unless_something_else_is_said)
{
	static const struct {
		char *argv[5];
		bool all;
		double overhead;
	} rows[] = {
		{ { "malloctrace", "serve" }, true, 2 },
		{ { "malloctrace", "serve", "-a" }, true, 0 },
		{ { "malloctrace", "serve", "--overhead", "5" }, true, 5 },
		{ { "malloctrace", "serve", "--mode", "growth" }, true, 0 },
		{ { "malloctrace", "serve", "--comm", "nginx" }, false, 0 },
		{ { "malloctrace", "serve", "-p", "1" }, false, 0 },
		{ { "malloctrace", "serve", "1" }, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_err_ struct err e = {};
		int argc = 0;
		struct opts o;

		while (argc < 4 && rows[i].argv[argc])
			argc++;
		cr_assert_eq(opts__parse(&o, argc, (char **)rows[i].argv, &e), 0, "%zu: %s", i, err_msg(&e));
		cr_expect_eq(o.all, rows[i].all, "%zu", i);
		cr_expect_eq(o.recording.overhead_pct, rows[i].overhead, "%zu", i);
		cr_expect(o.serve.on);
		opts__done(&o);
	}
}
