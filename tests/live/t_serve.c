// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * `malloctrace serve`: what is answered equals what the program knows of itself; who may not ask is refused; clients that hang,
 * or send anything, change nothing for others.
 */
#include "serve_client.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void want_profile(struct test *t, const char *socket, const char *path, json_t *root)
{
	struct reply r = get(t, socket, path);
	uint64_t sums[COLUMNS];

	if (want(t, r.status == 200, "%s: status %d: %.200s", path, r.status, r.body ? r.body : "")) {
		sums_of_profile(t, &r, sums);
		want_eq(t, "alloc_objects", ju64(t, root, "totals.alloc_calls"), sums[0]);
		want_eq(t, "alloc_space", ju64(t, root, "totals.alloc_bytes"), sums[1]);
		want_eq(t, "inuse_objects", ju64(t, root, "totals.live_blocks"), sums[2]);
		want_eq(t, "inuse_space", ju64(t, root, "totals.live_bytes"), sums[3]);
	}
	reply__done(&r);
}

TEST(serve_equals_the_ledger)
{
	char path[100];
	struct served s;
	struct reply r;
	json_t *root;

	served__start(t, &s, NULL);
	fx__go(t, &s.f);
	root = get_json(t, s.socket, "/profile.json");
	want_invariants(t, root);
	want_ledger(t, root, process_of(t, root, s.f.c.pid, 0), &s.f.led, LED_ALL);
	want_profile(t, s.socket, "/debug/pprof/heap", root);
	want_profile(t, s.socket, "/debug/pprof/allocs", root);
	snprintf(path, sizeof(path), "/debug/pprof/heap?pid=%d&debug=0", (int)s.f.c.pid);
	want_profile(t, s.socket, path, root);
	want_profile(t, s.socket, "/debug/pprof/heap?comm=bas*", root);
	want_status(t, s.socket, "GET", "/debug/pprof/heap?comm=nobody", LOCAL, 404);
	r = get(t, s.socket, "/metrics");
	must(t, r.status == 200, "/metrics: status %d", r.status);
	want_series(t, r.body, "allocations_total", ledger__sum(&s.f.led, LED_ALLOC_CALLS));
	want_series(t, r.body, "allocated_bytes_total", ledger__sum(&s.f.led, LED_ALLOC_BYTES));
	want_series(t, r.body, "frees_total", ledger__sum(&s.f.led, LED_FREE_CALLS));
	want_series(t, r.body, "freed_bytes_total", ledger__sum(&s.f.led, LED_FREE_BYTES));
	want_series(t, r.body, "live_blocks", ledger__sum(&s.f.led, LED_ALLOC_CALLS) - ledger__sum(&s.f.led, LED_FREE_CALLS));
	want_series(t, r.body, "live_bytes", ledger__sum(&s.f.led, LED_ALLOC_BYTES) - ledger__sum(&s.f.led, LED_FREE_BYTES));
	reply__done(&r);
	r = get(t, s.socket, "/");
	want(t, r.status == 200 && strstr(r.body, "<html"), "/: status %d, %.60s", r.status, r.body);
	want(t, strcasestr(r.head, "content-type: text/html"), "%s", r.head);
	reply__done(&r);
	served__stop(t, &s);
}

/* What a request with ?seconds= is told is what was done meanwhile. */
TEST(serve_seconds)
{
	uint64_t sums[COLUMNS];
	struct served s;
	struct reply r;
	int fd;

	served__start(t, &s, NULL);
	fd = ask(t, s.socket, "GET", "/debug/pprof/heap?seconds=6", LOCAL);
	/* one question after the other reaches the process that traces: once these are answered, the first one has begun */
	for (int i = 0; i < 3; i++)
		want_status(t, s.socket, "GET", "/metrics", LOCAL, 200);
	fx__go(t, &s.f);
	r = read_reply(t, fd);
	must(t, r.status == 200, "status %d: %.200s", r.status, r.body ? r.body : "");
	sums_of_profile(t, &r, sums);
	want_eq(t, "alloc_objects", ledger__sum(&s.f.led, LED_ALLOC_CALLS), sums[0]);
	want_eq(t, "alloc_space", ledger__sum(&s.f.led, LED_ALLOC_BYTES), sums[1]);
	want_eq(t, "inuse_space", ledger__sum(&s.f.led, LED_ALLOC_BYTES) - ledger__sum(&s.f.led, LED_FREE_BYTES), sums[3]);
	reply__done(&r);
	/* nothing was done since */
	r = get(t, s.socket, "/debug/pprof/allocs?seconds=1");
	must(t, r.status == 200, "status %d: %.200s", r.status, r.body ? r.body : "");
	sums_of_profile(t, &r, sums);
	want_eq(t, "alloc_objects at rest", 0, sums[0]);
	want_eq(t, "inuse_space at rest", 0, sums[3]);
	reply__done(&r);
	served__stop(t, &s);
}

TEST(serve_refuses_strangers)
{
	static const struct {
		const char *method, *path, *headers;
		int status;
	} rows[] = {
		{ "GET", "/metrics", LOCAL, 401 },
		{ "GET", "/metrics", LOCAL "Authorization: Bearer wrong\r\n", 401 },
		{ "GET", "/metrics", LOCAL "Authorization: Bearer " TOKEN "x\r\n", 401 },
		{ "GET", "/metrics", LOCAL "Authorization: Basic " TOKEN "\r\n", 401 },
		{ "GET", "/nothing", LOCAL, 401 },
		{ "GET", "/metrics", LOCAL "Authorization: Bearer " TOKEN "\r\n", 200 },
		{ "HEAD", "/metrics", LOCAL "Authorization: Bearer " TOKEN "\r\n", 200 },
		{ "GET", "/metrics", "Host: any.name.example\r\nAuthorization: Bearer " TOKEN "\r\n", 200 },
	};
	const char *path = in_dir(t, "token");
	struct served s;

	write_file(t, path, TOKEN "\n");
	served__start(t, &s, (const char *[]){ "--token-file", path, NULL });
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		want_status(t, s.socket, rows[i].method, rows[i].path, rows[i].headers, rows[i].status);
	served__stop(t, &s);
}

TEST(serve_refuses_nonsense)
{
	static const struct {
		const char *method, *path, *headers;
		int status;
	} rows[] = {
		{ "POST", "/metrics", LOCAL "Content-Length: 0\r\n", 405 },
		{ "DELETE", "/", LOCAL, 405 },
		{ "GET", "/etc/passwd", LOCAL, 404 },
		{ "GET", "/metrics/../debug", LOCAL, 404 },
		{ "GET", "/metrics?pid=1", LOCAL, 400 },
		{ "GET", "/debug/pprof/heap?pid=x", LOCAL, 400 },
		{ "GET", "/debug/pprof/heap?pid=-1", LOCAL, 400 },
		{ "GET", "/debug/pprof/heap?pid=99999999999", LOCAL, 400 },
		{ "GET", "/debug/pprof/heap?seconds=0", LOCAL, 400 },
		{ "GET", "/debug/pprof/heap?seconds=601", LOCAL, 400 },
		{ "GET", "/profile.json?seconds=1", LOCAL, 400 },
		{ "GET", "/debug/pprof/heap?who=me", LOCAL, 400 },
		/* a page in a browser whose own name points to this machine */
		{ "GET", "/metrics", "Host: evil.example\r\n", 403 },
		{ "GET", "/metrics", "Host: 127.0.0.1.evil.example:80\r\n", 403 },
		{ "GET", "/healthz", "Host: 127.0.0.1:9464\r\n", 200 },
		{ "GET", "/healthz", "Host: [::1]:9464\r\n", 200 },
	};
	struct served s;

	served__start(t, &s, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		want_status(t, s.socket, rows[i].method, rows[i].path, rows[i].headers, rows[i].status);
	served__stop(t, &s);
}

TEST(serve_usage)
{
	static const struct {
		const char *a, *b, *c, *d;
		int status;
		const char *says;
	} rows[] = {
		{ "--listen", "0.0.0.0:9464", NULL, NULL, 2, "it needs --token-file" },
		{ "--listen", "[::]:9464", NULL, NULL, 2, "it needs --token-file" },
		{ "--listen", "9464", NULL, NULL, 2, "want ADDRESS:PORT" },
		{ "--listen", "127.0.0.1:0", NULL, NULL, 2, "want ADDRESS:PORT" },
		{ "--listen", "example.com:80", NULL, NULL, 2, "want ADDRESS:PORT" },
		{ "--tls-cert", "/dev/null", NULL, NULL, 2, "go together" },
		{ "--config", "/nowhere/at/all", NULL, NULL, 2, "No such file" },
		{ "-o", "x.json", NULL, NULL, 2, "want a name with %t" },
		{ "-o", "x-%%t.json", NULL, NULL, 2, "want a name with %t" },
		{ "--when", "rss>1G", NULL, NULL, 2, "goes with -o FILE" },
		{ "--keep", "0", NULL, NULL, 2, "want a number from 1" },
	};
	struct mt m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int status = mt__run(t, &m, "serve", rows[i].a, rows[i].b, NULL);

		want(t, status == rows[i].status && strstr(m.c.errs.s, rows[i].says), "%s %s: status %d: %s", rows[i].a, rows[i].b, status, m.c.errs.s);
	}
}

/* Half a request; a request whose answer is never read: others are answered. */
TEST(serve_clients_that_hang)
{
	struct served s;
	int fds[40];

	served__start(t, &s, NULL);
	fx__go(t, &s.f);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		fds[i] = i % 2 ? connect_to(t, s.socket) : ask(t, s.socket, "GET", "/", LOCAL);
		if (i % 2)
			must(t, write(fds[i], "GET /met", 8) == 8, "write");
	}
	for (int i = 0; i < 10; i++)
		want_status(t, s.socket, "GET", i % 2 ? "/metrics" : "/healthz", LOCAL, 200);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
	want_status(t, s.socket, "GET", "/healthz", LOCAL, 200);
	served__stop(t, &s);
}

static int status_of_seconds(struct test *t, const char *socket, unsigned int seconds)
{
	char path[64];
	struct reply r;
	int status;

	snprintf(path, sizeof(path), "/debug/pprof/heap?seconds=%u", seconds);
	r = get(t, socket, path);
	status = r.status;
	reply__done(&r);
	return status;
}

/* As many requests as may last at the same time: clients that close their connections make room for others. */
TEST(serve_clients_that_go)
{
	struct served s;
	int fds[16], status;

	served__start(t, &s, NULL);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		fds[i] = ask(t, s.socket, "GET", "/debug/pprof/heap?seconds=600", LOCAL);
	/* all of them wait once there is no room for another one */
	while ((status = status_of_seconds(t, s.socket, 1)) == 200)
		;
	want_eq(t, "status while all of them wait", 503, (uint64_t)status);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
	while ((status = status_of_seconds(t, s.socket, 1)) == 503)
		poll(NULL, 0, 50);
	want_eq(t, "status once they are gone", 200, (uint64_t)status);
	served__stop(t, &s);
}

/* Two of which one ends: what it held is not live, what it did is not forgotten. */
TEST(serve_ended_hold_nothing)
{
	uint64_t sums[COLUMNS], calls, live;
	const char *socket = in_dir(t, "socket");
	char listen[200], pids[40];
	struct fx f[2];
	struct reply r;
	struct mt m;

	fx__start(t, &f[0], "basic", "family", NULL);
	fx__start(t, &f[1], "basic", "family", NULL);
	snprintf(listen, sizeof(listen), "unix:%s", socket);
	snprintf(pids, sizeof(pids), "%d,%d", (int)f[0].c.pid, (int)f[1].c.pid);
	mt__start(t, &m, "serve", "-p", pids, "--listen", listen, NULL);
	child__wait_err(t, &m.c, "malloctrace: serving", NULL, patience_s(60));
	fx__go(t, &f[0]);
	fx__go(t, &f[1]);
	fx__quit(t, &f[1]);
	while (get_series(t, socket, "malloctrace_processes") != 1)
		poll(NULL, 0, 50);
	r = get(t, socket, "/debug/pprof/heap");
	must(t, r.status == 200, "status %d", r.status);
	sums_of_profile(t, &r, sums);
	calls = ledger__sum(&f[0].led, LED_ALLOC_CALLS) + ledger__sum(&f[1].led, LED_ALLOC_CALLS);
	live = ledger__sum(&f[0].led, LED_ALLOC_BYTES) - ledger__sum(&f[0].led, LED_FREE_BYTES);
	must(t, live, "nothing is live");
	want(t, sums[0] >= calls, "%" PRIu64 " calls, wanted %" PRIu64, sums[0], calls);
	want_eq(t, "inuse_space", live, sums[3]);
	reply__done(&r);
	mt__stop(t, &m, SIGTERM, 0);
	fx__quit(t, &f[0]);
}

/* Whatever is sent, the next one is answered, and the program has lost nothing. */
TEST(serve_garbage)
{
	static const char *const heads[] = { "GET ", "GET /debug/pprof/heap?", "GET /metrics HTTP/1.1\r\nHost: localhost\r\n", "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "" };
	uint64_t seed = 88172645463325252ull;
	struct served s;
	json_t *root;

	served__start(t, &s, NULL);
	for (uint64_t i = 0; i < scaled(300); i++) {
		const char *head = heads[i % (sizeof(heads) / sizeof(*heads))];
		int fd = connect_to(t, s.socket);
		unsigned char bytes[700];

		for (size_t k = 0; k < sizeof(bytes); k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			bytes[k] = (unsigned char)seed;
		}
		/* it may hang up at any time */
		(void)!send(fd, head, strlen(head), MSG_NOSIGNAL);
		(void)!send(fd, bytes, seed % sizeof(bytes), MSG_NOSIGNAL);
		close(fd);
		if (!(i % 50))
			want_status(t, s.socket, "GET", "/healthz", LOCAL, 200);
	}
	fx__go(t, &s.f);
	root = get_json(t, s.socket, "/profile.json");
	want_ledger(t, root, process_of(t, root, s.f.c.pid, 0), &s.f.led, LED_ALL);
	served__stop(t, &s);
}

/* The options are read again, and another process traces; what is wrong changes nothing. */
TEST(serve_reload)
{
	const char *path = in_dir(t, "config");
	struct served s;
	struct reply r;

	write_file(t, path, "# nothing yet\n");
	served__start(t, &s, (const char *[]){ "--config", path, NULL });
	r = get(t, s.socket, "/metrics");
	want_eq(t, "mode full", 1, series(r.body, "malloctrace_build_info{version=\"0.1.0\",mode=\"full\"}"));
	reply__done(&r);
	write_file(t, path, "mode = count\n");
	served__reload(t, &s);
	r = get(t, s.socket, "/metrics");
	want_eq(t, "mode count", 1, series(r.body, "malloctrace_build_info{version=\"0.1.0\",mode=\"count\"}"));
	reply__done(&r);
	write_file(t, path, "mode = nonsense\n");
	child__kill(t, &s.m.c, SIGHUP);
	child__wait_err(t, &s.m.c, "malloctrace: --config", "all goes on as before", patience_s(60));
	fx__go(t, &s.f);
	r = get(t, s.socket, "/metrics");
	want_series(t, r.body, "allocations_total", ledger__sum(&s.f.led, LED_ALLOC_CALLS));
	reply__done(&r);
	served__stop(t, &s);
}

/* ---- conditions */

static size_t n_matching(const char *text, const char *begin)
{
	size_t n = 0;

	for (; (text = strstr(text, begin)); text++)
		n++;
	return n;
}

/* The newest file, by what /metrics says: it is named first. */
static const char *newest_profile(struct test *t, struct served *s, size_t n_wanted)
{
	static const char begin[] = "malloctrace_profile_info{file=\"";
	static char path[300];
	struct reply r = get(t, s->socket, "/metrics");
	const char *at = r.status == 200 ? strstr(r.body, begin) : NULL;

	must(t, at, "no file is named: %.300s", r.body ? r.body : "");
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + strlen(begin), "\""), at + strlen(begin));
	want_eq(t, "files that are named", n_wanted, n_matching(r.body, begin));
	want_eq(t, "files that there are", n_wanted, series(r.body, "malloctrace_profiles"));
	reply__done(&r);
	return path;
}

static void ask_for_file(struct test *t, struct served *s)
{
	child__kill(t, &s->m.c, SIGUSR1);
	child__wait_err(t, &s->m.c, "malloctrace: snapshot", "written", patience_s(30));
}

/* A condition writes a file once, within the bound of --keep that outlasts a reload. */
TEST(serve_conditions)
{
	const char *config = in_dir(t, "config"), *path;
	char pattern[400], *dir = realpath(in_dir(t, "."), NULL);
	struct served s;
	json_t *root;

	snprintf(pattern, sizeof(pattern), "output = %s/when-%%t.json\nkeep = 2\nwhen = blocks>0\npause = 1h\n", dir);
	write_file(t, config, pattern);
	served__start(t, &s, (const char *[]){ "--config", config, NULL });
	fx__go(t, &s.f);
	child__wait_err(t, &s.m.c, "malloctrace: blocks>0: basic", "snapshot 1 written", patience_s(30));
	newest_profile(t, &s, 1);
	ask_for_file(t, &s);
	path = newest_profile(t, &s, 2);
	root = with_frames(json_load_file(path, 0, NULL));
	must(t, root, "%s", path);
	want_ledger(t, root, process_of(t, root, s.f.c.pid, 0), &s.f.led, LED_ALL);
	ask_for_file(t, &s);
	newest_profile(t, &s, 2);
	served__reload(t, &s);
	ask_for_file(t, &s);
	newest_profile(t, &s, 2);
	served__stop(t, &s);
	want_eq(t, "times that it held", 1, n_matching(s.m.c.errs.s, "malloctrace: blocks>0: basic"));
	free(dir);
}

/* Without the one that listens the other one detaches, and ends. */
TEST(serve_killed)
{
	struct served s;

	served__start(t, &s, NULL);
	child__kill(t, &s.m.c, SIGKILL);
	want_unprobed(t, s.f.c.pid);
	fx__go(t, &s.f);
	fx__quit(t, &s.f);
}

#define SCRAPERS 10

/* Several at once: all have the same figures. */
TEST(serve_scrapers)
{
	char wanted[120];
	struct served s;
	int fds[SCRAPERS];

	served__start(t, &s, NULL);
	fx__go(t, &s.f);
	snprintf(wanted, sizeof(wanted), "malloctrace_comm_allocations_total{comm=\"basic\"} %" PRIu64 "\n", ledger__sum(&s.f.led, LED_ALLOC_CALLS));
	for (uint64_t round = 0; round < scaled(20); round++) {
		for (size_t i = 0; i < SCRAPERS; i++)
			fds[i] = ask(t, s.socket, "GET", i % 3 ? "/metrics" : "/debug/pprof/heap", LOCAL);
		for (size_t i = 0; i < SCRAPERS; i++) {
			struct reply r = read_reply(t, fds[i]);

			want(t, r.status == 200, "status %d", r.status);
			want(t, !(i % 3) || strstr(r.body, wanted), "other figures than before");
			reply__done(&r);
		}
	}
	served__stop(t, &s);
}

static size_t n_files(struct test *t, pid_t pid)
{
	char path[40];
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	must(t, d, "%s", path);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static size_t n_files_of_all(struct test *t, pid_t pid)
{
	pid_t own[16];
	size_t n = 0, n_own = family(pid, own, 0, 16);

	want(t, n_own >= 3, "only %zu processes of malloctrace", n_own);
	for (size_t i = 0; i < n_own; i++)
		n += n_files(t, own[i]);
	return n;
}

/* Answers that take a while, after which the next question waits for a moment: they leave nothing open. */
TEST(serve_leaves_nothing_open)
{
	struct served s;
	size_t n = 0;

	served__start(t, &s, NULL);
	fx__go(t, &s.f);
	for (uint64_t i = 0; i < scaled(60); i++) {
		want_status(t, s.socket, "GET", "/", LOCAL, 200);
		if (i == 10)
			n = n_files_of_all(t, s.m.c.pid);
	}
	/* one may be between its question and its answer */
	want(t, n_files_of_all(t, s.m.c.pid) <= n + 4, "%zu files are open, and were %zu", n_files_of_all(t, s.m.c.pid), n);
	served__stop(t, &s);
}

/* Of a whole machine: malloctrace's own processes are not in it, however often they are asked. */
TEST_ALONE(serve_all)
{
	const char *socket = in_dir(t, "socket");
	char listen[200], path[80];
	size_t n_own, i;
	pid_t own[16];
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "basic", "family", NULL);
	snprintf(listen, sizeof(listen), "unix:%s", socket);
	mt__start(t, &m, "serve", "-a", "--listen", listen, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	for (i = 0; i < 2; i++)
		want_status(t, socket, "GET", "/debug/pprof/heap", LOCAL, 200);
	n_own = family(m.c.pid, own, 0, 16);
	want(t, n_own >= 3, "only %zu processes of malloctrace", n_own);
	snprintf(path, sizeof(path), "/profile.json?pid=%d", (int)f.c.pid);
	root = get_json(t, socket, path);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	for (i = 0; i < n_own; i++) {
		snprintf(path, sizeof(path), "/debug/pprof/heap?pid=%d", (int)own[i]);
		want_status(t, socket, "GET", path, LOCAL, 404);
	}
	mt__stop(t, &m, SIGTERM, 0);
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}
