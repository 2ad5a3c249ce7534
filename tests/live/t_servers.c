// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Servers that fork their workers: right per process, and as a whole. The truth comes from libtally.so, which the servers
 * are started with; malloctrace traces them from their first allocation. And one that grows, as its manual says.
 */
#include "sentence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../fixtures/tally.h"

static const struct tally *open_tally(struct test *t, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct tally *all;

	must(t, fd >= 0 && !fchmod(fd, 0666) && !ftruncate(fd, TALLY_MAX * sizeof(*all)), "%s: %s", path, strerror(errno));
	all = mmap(NULL, TALLY_MAX * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(t, all != MAP_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
	return all;
}

/* Over the lives of a pid as this program: what started it kept no account. */
static uint64_t sum_of_pid(json_t *root, const char *exe, uint32_t pid, const char *counter)
{
	char path[64];
	uint64_t sum = 0;
	size_t i;
	json_t *p;

	snprintf(path, sizeof(path), "totals.%s", counter);
	json_array_foreach(jget(root, "processes"), i, p)
		if ((!pid || (uint32_t)json_integer_value(json_object_get(p, "pid")) == pid) && !strcmp(jstr(p, "exe"), exe))
			sum += (uint64_t)json_integer_value(jget(p, path));
	return sum;
}

/* Every process that kept an account, and how many did. */
static unsigned int want_tallies(struct test *t, json_t *root, const char *exe, const struct tally *all)
{
	uint64_t allocs = 0, bytes = 0, frees = 0;
	unsigned int n = 0;

	for (; n < TALLY_MAX && all[n].pid; n++) {
		char what[48];

		snprintf(what, sizeof(what), "alloc_calls of %" PRIu32, all[n].pid);
		want_eq(t, what, all[n].allocs, sum_of_pid(root, exe, all[n].pid, "alloc_calls"));
		snprintf(what, sizeof(what), "alloc_bytes of %" PRIu32, all[n].pid);
		want_eq(t, what, all[n].bytes, sum_of_pid(root, exe, all[n].pid, "alloc_bytes"));
		snprintf(what, sizeof(what), "frees of %" PRIu32, all[n].pid);
		want_eq(t, what, all[n].frees,
			sum_of_pid(root, exe, all[n].pid, "free_calls") + sum_of_pid(root, exe, all[n].pid, "unknown_frees"));
		allocs += all[n].allocs;
		bytes += all[n].bytes;
		frees += all[n].frees;
	}
	want_eq(t, "alloc_calls of all", allocs, sum_of_pid(root, exe, 0, "alloc_calls"));
	want_eq(t, "alloc_bytes of all", bytes, sum_of_pid(root, exe, 0, "alloc_bytes"));
	want_eq(t, "frees of all", frees, sum_of_pid(root, exe, 0, "free_calls") + sum_of_pid(root, exe, 0, "unknown_frees"));
	return n;
}

static void write_file(struct test *t, const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	must(t, f && fputs(text, f) >= 0 && !fclose(f), "%s: %s", path, strerror(errno));
}

/* A server of its own kind listens there; it may still be on its way. */
static int dial(struct test *t, const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timespec pause = { .tv_nsec = 20000000 };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	for (unsigned int i = 0; i < patience_s(30) * 50; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return fd;
		close(fd);
		nanosleep(&pause, NULL);
	}
	must(t, false, "nobody listens at %s", path);
	return -1;
}

static bool installed(const char *path)
{
	return !access(path, X_OK);
}

static pid_t read_pid(struct test *t, const char *path)
{
	char *text = read_all(path, NULL);
	pid_t pid = text ? atoi(text) : 0;

	must(t, pid > 0, "%s: no pid in it", path);
	free(text);
	return pid;
}

static const char nginx_conf[] = "daemon off;\nmaster_process on;\nworker_processes 3;\npid %s/pid;\nerror_log %s/log;\n"
				 "events { worker_connections 64; }\n"
				 "http { access_log off; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s; uwsgi_temp_path %s;\n"
				 "scgi_temp_path %s; server { listen unix:%s/s; location / { return 200 'hello'; } } }\n";

TEST(nginx_workers)
{
	const char *d = t->dir, *tally = in_dir(t, "tally"), *conf = in_dir(t, "conf"), *s = in_dir(t, "s");
	char text[2048], preload[512], env[512], question[] = "GET / HTTP/1.0\r\n\r\n", answer[512];
	const struct tally *all = open_tally(t, tally);
	struct spawn how;
	unsigned int n_asked = (unsigned int)scaled(300);
	json_t *root;
	struct mt m;

	if (!installed("/usr/sbin/nginx"))
		skip(t, "no nginx here");
	snprintf(text, sizeof(text), nginx_conf, d, d, d, d, d, d, d, d);
	write_file(t, conf, text);
	chmod(d, 0777);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", realpath(fixture("libtally.so"), NULL));
	snprintf(env, sizeof(env), "TALLY=%s", tally);
	/* malloctrace itself must not be counted: only what `env` starts has it */
	how = (struct spawn){ .argv = { lt_bin, "-f", "--json", "--as-root", "--", "/usr/bin/env", preload, env, "/usr/sbin/nginx", "-c", conf } };
	mt__start_v(t, &m, &how);
	for (unsigned int i = 0; i < n_asked; i++) {
		int fd = dial(t, s);
		ssize_t n;

		must(t, write(fd, question, strlen(question)) == (ssize_t)strlen(question), "cannot ask nginx");
		n = read(fd, answer, sizeof(answer) - 1);
		must(t, n > 0, "nginx does not answer");
		answer[n] = '\0';
		must(t, strstr(answer, "200"), "nginx answers '%s'", answer);
		close(fd);
	}
	kill(read_pid(t, in_dir(t, "pid")), SIGQUIT);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_eq(t, "processes with an account", 4, want_tallies(t, root, "/usr/sbin/nginx", all));
}

/* ---- docs/WALKTHROUGH.md: what a connection holds until it is closed, a little more with every request */

#define ADDRESS "203.0.113.7"
#define QUESTION "GET / HTTP/1.1\r\nHost: x\r\nX-Real-IP: " ADDRESS "\r\n\r\n"
/* of a pool's block of 512 bytes, 32 are nginx's own */
#define PER_BLOCK ((512 - 32) / (sizeof(ADDRESS) - 1))

static const char balanced_conf[] = "daemon off;\nmaster_process off;\npid %s/pid;\nerror_log %s/log;\nevents { worker_connections 64; }\n"
				    "http { access_log off; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s; uwsgi_temp_path %s;\n"
				    "scgi_temp_path %s; keepalive_requests %u; keepalive_timeout 1h; connection_pool_size 512;\n"
				    "set_real_ip_from unix:; real_ip_header X-Real-IP;\n"
				    "server { listen unix:%s/s; location / { return 200 'hello'; } } }\n";

/* One request on a connection that is kept; a new one if nginx has closed it. */
static void ask(struct test *t, int *fd, const char *path)
{
	char answer[1024];
	size_t n = 0;

	if (*fd < 0)
		*fd = dial(t, path);
	must(t, write(*fd, QUESTION, strlen(QUESTION)) == (ssize_t)strlen(QUESTION), "cannot ask nginx");
	do {
		ssize_t got = read(*fd, answer + n, sizeof(answer) - 1 - n);

		must(t, got > 0, "nginx does not answer");
		n += (size_t)got;
		answer[n] = '\0';
	} while (!strstr(answer, "\r\n\r\nhello"));
	if (strstr(answer, "Connection: close")) {
		close(*fd);
		*fd = -1;
	}
}

/* As a balancer in front of it would: one connection, a request each millisecond, n of them. */
static json_t *balance(struct test *t, unsigned int per_connection, unsigned int n, const char **ret_screen)
{
	const char *d = t->dir, *conf = in_dir(t, "conf"), *s = in_dir(t, "s");
	struct timespec next;
	char text[2048];
	struct child nginx;
	json_t *root;
	struct mt m;
	int fd = -1;

	snprintf(text, sizeof(text), balanced_conf, d, d, d, d, d, d, d, per_connection, d);
	write_file(t, conf, text);
	chmod(d, 0777);
	child__start(t, &nginx, &(struct spawn){ .argv = { "/usr/sbin/nginx", "-c", conf } });
	ask(t, &fd, s);
	mt__start(t, &m, "-p", pid_arg(nginx.pid), "--json", "--leak-after", "2s", "-o", in_dir(t, "nginx.json"), NULL);
	mt__wait_attached(t, &m);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned int i = 0; i < n; i++) {
		ask(t, &fd, s);
		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	child__kill(t, &nginx, SIGQUIT);
	if (fd >= 0)
		close(fd);
	want_eq(t, "nginx's exit status", 0, (uint64_t)child__wait(t, &nginx));
	*ret_screen = report_of(t, in_dir(t, "nginx.json"));
	want_one_screen(t, *ret_screen);
	return root;
}

/* The site that holds most; only stacks of requests do. */
static json_t *largest(struct test *t, json_t *root)
{
	json_t *best = NULL, *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (!best || ju64(t, site, "live_bytes") > ju64(t, best, "live_bytes"))
			best = site;
	must(t, best, "nginx allocated nothing");
	return best;
}

TEST(walkthrough_nginx)
{
	/* of the callers that need a block for the pool, the innermost that a stripped nginx names */
	static const char guilty[] = "ngx_http_core_generic_phase", early[] = "Too early to tell: ";
	const unsigned int n = 8000;
	const char *screen, *sentence;
	json_t *root, *site, *frame;
	bool found = false;
	uint64_t blocks;
	size_t i;

	if (!installed("/usr/sbin/nginx"))
		skip(t, "no nginx here");
	root = balance(t, 1000000000, n, &screen);
	site = largest(t, root);
	json_array_foreach(jget(site, "stack"), i, frame)
		found |= !strcmp(jstr(frame, "function"), guilty);
	want(t, found, "wanted %s on the stack of what is kept", guilty);
	want_named(t, sentence__find(screen), guilty);
	want_one_row(t, screen, guilty);
	want_golden(t, "nginx", screen, guilty);
	blocks = ju64(t, site, "live_blocks");
	want(t, !strcmp(jstr(site, "verdict"), "leak"), "kept for good: wanted leak, got '%s' (%s)", jstr(site, "verdict"), jstr(site, "why"));
	/* one more or less: what room was left in the first block, and is left in the last one */
	want(t, blocks + 1 >= n / PER_BLOCK && blocks <= n / PER_BLOCK + 1, "blocks, wanted %zu, got %" PRIu64, n / PER_BLOCK, blocks);
	want_eq(t, "bytes of requests", blocks * 512, site_sum(t, root, jget(root, "processes[0]"), "ngx_http_core_run_phases", "live_bytes"));
	json_decref(root);

	root = balance(t, 100, n * 3 / 4, &screen);
	/* what goes up and down may need more than six seconds to be cleared */
	sentence = sentence__find(screen);
	want(t, sentence__is_all_clear(sentence) || !strncmp(sentence, early, strlen(early)),
	     "wanted an all-clear, got: %s", screen);
	json_array_foreach(jget(root, "sites"), i, site)
		want(t, strcmp(jstr(site, "verdict"), "leak") && strcmp(jstr(site, "verdict"), "suspect"),
		     "closed now and then: wanted no alarm, got '%s' (%s)", jstr(site, "verdict"), jstr(site, "why"));
	want(t, site_sum(t, root, jget(root, "processes[0]"), "ngx_http_core_run_phases", "live_blocks") <= 100 / PER_BLOCK + 1,
	     "blocks of one connection, got more than %zu", 100 / PER_BLOCK + 1);
	json_decref(root);
}

/* The newest PostgreSQL that is installed; NULL: none. */
static const char *postgres_dir(void)
{
	static char dir[64];

	for (int v = 30; v >= 9; v--) {
		snprintf(dir, sizeof(dir), "/usr/lib/postgresql/%d/bin/postgres", v);
		if (installed(dir)) {
			*strrchr(dir, '/') = '\0';
			return dir;
		}
	}
	return NULL;
}

static int run_as(struct test *t, uid_t uid, const char *const *argv)
{
	struct spawn how = { .uid = uid };
	struct child c;

	for (unsigned int i = 0; argv[i]; i++)
		how.argv[i] = argv[i];
	child__start(t, &c, &how);
	return child__wait(t, &c);
}

TEST(postgres_backends)
{
	const char *bin = postgres_dir(), *tally = in_dir(t, "tally"), *data = in_dir(t, "data");
	struct stat who = {};	/* PostgreSQL refuses to run as root: its home says who it may be */
	char initdb[96], postgres[96], psql[96], preload[512], env[512], uid[24], gid[24];
	const struct tally *all = open_tally(t, tally);
	struct timespec pause = { .tv_nsec = 100000000 };
	unsigned int n_sessions = (unsigned int)scaled(12), lines = 0;
	const char *screen, *blind;
	struct spawn how;
	json_t *root;
	struct mt m;
	bool up = false;

	if (!bin || stat("/var/lib/postgresql", &who) || !who.st_uid)
		skip(t, "no PostgreSQL here");
	must(t, !chown(t->dir, who.st_uid, who.st_gid), "chown: %s", strerror(errno));
	snprintf(initdb, sizeof(initdb), "%s/initdb", bin);
	snprintf(postgres, sizeof(postgres), "%s/postgres", bin);
	snprintf(psql, sizeof(psql), "%s/psql", bin);
	snprintf(uid, sizeof(uid), "--reuid=%u", who.st_uid);
	snprintf(gid, sizeof(gid), "--regid=%u", who.st_gid);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", realpath(fixture("libtally.so"), NULL));
	snprintf(env, sizeof(env), "TALLY=%s", tally);
	must(t, !run_as(t, who.st_uid, (const char *[]){ initdb, "-N", "-A", "trust", "-D", data, NULL }), "initdb failed");
	how = (struct spawn){ .argv = { lt_bin, "-f", "--json", "-o", in_dir(t, "postgres.json"), "--as-root", "--", "/usr/bin/setpriv", uid, gid, "--clear-groups", "/usr/bin/env", preload,
					env, postgres, "-D", data, "-k", t->dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
					"autovacuum=off" } };
	mt__start_v(t, &m, &how);
	for (unsigned int i = 0; i < patience_s(60) * 10 && !up; i++) {
		up = !run_as(t, who.st_uid, (const char *[]){ psql, "-h", t->dir, "-qc", "select 1", "postgres", NULL });
		if (!up)
			nanosleep(&pause, NULL);
	}
	must(t, up, "PostgreSQL does not answer");
	for (unsigned int i = 0; i < n_sessions; i++)
		want_eq(t, "psql's exit status", 0,
			(uint64_t)run_as(t, who.st_uid,
					 (const char *[]){ psql, "-h", t->dir, "-qtc",
							   "create temp table x as select generate_series(1, 1000) i; select count(*), md5(string_agg(i::text, ',')) from x",
							   "postgres", NULL }));
	kill(read_pid(t, in_dir(t, "data/postmaster.pid")), SIGINT);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want(t, want_tallies(t, root, postgres, all) > n_sessions, "processes with an account, wanted more than %u", n_sessions);
	screen = report_of(t, in_dir(t, "postgres.json"));
	/* what a session keeps, it keeps until it ends */
	want(t, *sentence__find(screen) && !sentence__about(sentence__find(screen)),
	     "false alarm: %s", screen);
	want_rows_distinct(t, screen);
	want_golden(t, "postgres", screen, "(none)");
	blind = strstr(screen, "BLIND");
	want(t, !blind || !strstr(blind + 1, "BLIND"), "BLIND more than once: %s", screen);
	for (const char *at = screen; *at; at++)
		lines += *at == '\n';
	want(t, lines <= 50, "lines, wanted one screen of at most 50, got %u:\n%s", lines, screen);
}
