// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The target is never harmed: attached to and left again and again, and malloctrace killed at any moment, while programs
 * work that check each of their answers. A few rounds here; `make harm-test` has hundreds (--scale).
 */
#include "lt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 3600
#define FIRST 1000000000000ull	/* what clients ask with, from here on each */

/* Moments of all lengths up to a second and a half: an attachment takes some tenths of one. */
static void wait_at_random(unsigned int *seed)
{
	unsigned int us = (unsigned int)rand_r(seed) % 1500000 >> rand_r(seed) % 8;
	struct timespec pause = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000l };

	nanosleep(&pause, NULL);
}

/* ---- what may be left */

static unsigned int n_running(const char *exe)
{
	unsigned int n = 0;
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		char path[300], target[512];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%s/exe", e->d_name);
		len = atoi(e->d_name) > 0 ? readlink(path, target, sizeof(target) - 1) : -1;
		if (len <= 0)
			continue;
		target[len] = '\0';
		n += !strcmp(target, exe);
	}
	if (d)
		closedir(d);
	return n;
}

#define MAX_PROGRAMS 256

/* Programs that are called as ours are: their numbers. */
static unsigned int list_programs(uint32_t ids[MAX_PROGRAMS])
{
	union bpf_attr next = {};
	unsigned int n = 0;

	while (!syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &next, sizeof(next)) && n < MAX_PROGRAMS) {
		union bpf_attr attr = { .prog_id = next.next_id };
		int fd = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
		struct bpf_prog_info info = {};

		next.start_id = next.next_id;
		if (fd < 0)
			continue;
		attr = (union bpf_attr){ .info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uint64_t)(uintptr_t)&info } };
		syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
		if (!strcmp(info.name, "reach_call"))
			ids[n++] = next.next_id;
		close(fd);
	}
	return n;
}

/* Strikes out those that this file of a process holds. */
static void strike_held(const char *path, uint32_t ids[MAX_PROGRAMS], unsigned int n)
{
	char *text = read_all(path, NULL), *at = text ? strstr(text, "prog_id:") : NULL;

	for (unsigned int i = 0; i < n && at; i++)
		if (ids[i] == (uint32_t)atoi(at + strlen("prog_id:")))
			ids[i] = 0;
	free(text);
}

/* Programs that nobody holds who could let go of them; others may be tracing, too. */
static unsigned int n_orphans(void)
{
	uint32_t ids[MAX_PROGRAMS];
	unsigned int n = list_programs(ids), left = 0;
	DIR *all = n ? opendir("/proc") : NULL;
	struct dirent *p, *f;

	while (all && (p = readdir(all))) {
		char dir[300], path[600];
		DIR *fds;

		snprintf(dir, sizeof(dir), "/proc/%s/fdinfo", p->d_name);
		fds = atoi(p->d_name) > 0 ? opendir(dir) : NULL;
		while (fds && (f = readdir(fds))) {
			snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
			if (f->d_name[0] != '.')
				strike_held(path, ids, n);
		}
		if (fds)
			closedir(fds);
	}
	if (all)
		closedir(all);
	for (unsigned int i = 0; i < n; i++)
		left += ids[i] != 0;
	return left;
}

/* No process of ours, and no program of any that has gone; the kernel takes its time, a minute at most. */
static void want_nothing_left(struct test *t)
{
	struct timespec pause = { .tv_nsec = 100000000 };
	char exe[512];
	ssize_t len;
	int fd = open(lt_bin, O_RDONLY | O_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, exe, sizeof(exe) - 1);
	must(t, fd >= 0 && len > 0, "%s: %s", lt_bin, strerror(errno));
	exe[len] = '\0';
	close(fd);
	for (unsigned int i = 0; i < 600 && (n_running(exe) || n_orphans()); i++)
		nanosleep(&pause, NULL);
	want_eq(t, "processes of malloctrace that are left", 0, n_running(exe));
	want_eq(t, "programs in the kernel that nobody holds", 0, n_orphans());
}

/* All code that it runs is what the files have. */
static void want_untouched(struct test *t, pid_t pid)
{
	char path[64], *text, *line, *save = NULL;

	want_unprobed(t, pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	text = read_all(path, NULL);
	must(t, text, "%s: %s", path, strerror(errno));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *file = strchr(line, '/');

		/* one that it loads and unloads may be gone by now */
		if (strstr(line, " r-xp ") && file && !strstr(file, "libplug"))
			want_eq(t, file, 0, changed_bytes(t, pid, strrchr(file, '/') + 1));
	}
	free(text);
}

/* ---- 64 threads */

static const char *const kinds[] = { "churned", "forked", "execed", "jumped", "cancelled", "loaded" };
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* All of its kinds of work go on, and none of it was wrong. */
static void want_well(struct test *t, struct fx *f, uint64_t before[N_KINDS])
{
	for (bool on = false; !on;) {
		struct timespec pause = { .tv_nsec = 20000000 };

		fx__go(t, f);
		on = true;
		for (unsigned int i = 0; i < N_KINDS; i++)
			on &= ledger__note(t, &f->led, kinds[i]) > before[i];
		want_eq(t, "wrong answers", 0, ledger__note(t, &f->led, "wrong"));
		if (!on)
			nanosleep(&pause, NULL);
	}
	for (unsigned int i = 0; i < N_KINDS; i++)
		before[i] = ledger__note(t, &f->led, kinds[i]);
}

static void end_well(struct test *t, struct fx *f)
{
	want_untouched(t, f->c.pid);
	fx__send(t, f, 's');
	fx__read_ledger(t, f);
	want_eq(t, "wrong answers in the end", 0, ledger__note(t, &f->led, "wrong"));
	fx__quit(t, f);
}

static void say_rounds(unsigned int n, const char *what, const struct fx *f)
{
	printf("  %u %s;", n, what);
	for (unsigned int i = 0; i < f->led.n_notes; i++)
		printf(" %s %" PRIu64, f->led.note[i].key, f->led.note[i].v);
	printf("\n");
	fflush(stdout);
}

TEST_AS(harm_attach_and_detach, .alone = true, .limit_s = LIMIT_S)
{
	unsigned int n = (unsigned int)scaled(20), seed = 1;
	uint64_t done[N_KINDS] = {};
	struct fx f;

	fx__start(t, &f, "harmed", NULL);
	for (unsigned int i = 0; i < n; i++) {
		struct mt m;

		/* in turn: as it is, with children, with a stop in the middle of the attachment */
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", i % 3 == 1 ? "-f" : "--batch", NULL);
		if (i % 3 == 2)
			wait_at_random(&seed);
		else
			mt__wait_attached(t, &m);
		child__kill(t, &m.c, SIGINT);
		/* before it has a handler, a signal ends it */
		int status = child__wait(t, &m.c);
		want(t, !status || (i % 3 == 2 && status), "exit status, wanted 0, got %d: %s", status, m.c.errs.s);
		if (i % 10 == 0)
			want_well(t, &f, done);
	}
	want_well(t, &f, done);
	end_well(t, &f);
	say_rounds(n, "attachments", &f);
	want_nothing_left(t);
}

/* -p, -a, -- CMD in turn. */
TEST_AS(harm_killed_at_random, .alone = true, .limit_s = LIMIT_S)
{
	unsigned int n = (unsigned int)scaled(12), seed = 2, n_commands = 0;
	uint64_t done[N_KINDS] = {};
	struct fx f;

	fx__start(t, &f, "harmed", NULL);
	for (unsigned int i = 0; i < n; i++) {
		const char *ledger = in_dir(t, "ledger.%u", i);
		struct mt m;
		int status;

		if (i % 3 == 0)
			mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
		else if (i % 3 == 1)
			mt__start(t, &m, "-a", "--json", NULL);
		else
			mt__start(t, &m, "--json", "--as-root", "--", fixture("harmed"), "--auto", ledger, "2", NULL);
		wait_at_random(&seed);
		child__kill(t, &m.c, SIGKILL);
		status = child__wait(t, &m.c);
		/* CMD has an end of its own, which may come before */
		want(t, status == 128 + SIGKILL || (i % 3 == 2 && !status), "malloctrace's exit status, wanted that of its kill, got %d", status);
		if (i % 10 == 0)
			want_well(t, &f, done);
	}
	want_well(t, &f, done);
	/* those of -- CMD that had begun came to their end, and were right */
	for (unsigned int i = 2; i < n; i += 3) {
		char *text = NULL;
		struct ledger l;

		for (unsigned int k = 0; k < patience_s(30) * 100; k++) {
			struct timespec pause = { .tv_nsec = 10000000 };
			struct stat st;

			if (stat(in_dir(t, "ledger.%u", i), &st) || st.st_size)
				break;
			nanosleep(&pause, NULL);
		}
		text = read_all(in_dir(t, "ledger.%u", i), NULL);
		if (text && want(t, ledger__parse(&l, text), "-- CMD, %u: it has not come to its end", i)) {
			want_eq(t, "wrong answers of -- CMD", 0, ledger__note(t, &l, "wrong"));
			n_commands++;
		}
		free(text);
	}
	end_well(t, &f);
	say_rounds(n, "kills", &f);
	printf("  %u of -- CMD, of which %u had begun their work\n", n / 3, n_commands);
	want_nothing_left(t);
}

/* ---- servers, with clients that know the answers */

struct load {			/* shared with the clients */
	volatile int stop;
	volatile uint64_t n_answers, n_wrong;
};

struct server {
	const char *name, *path;
	/* Starts it; the socket's path goes to its clients. */
	void (*start)(struct test *t, const char *path, struct child *c, char *socket, size_t size);
	bool (*ask)(const char *socket, uint64_t i);	/* the answer was right */
	int end_signal;
	bool has_workers;	/* that last as long as it does */
};

static int dial(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends a question and reads until the answer has what it must end with. */
static bool talk(int fd, const char *question, const char *wanted)
{
	char answer[2048];
	size_t n = 0;

	if (send(fd, question, strlen(question), MSG_NOSIGNAL) != (ssize_t)strlen(question))
		return false;
	do {
		ssize_t got = read(fd, answer + n, sizeof(answer) - 1 - n);

		if (got <= 0)
			return false;
		n += (size_t)got;
		answer[n] = '\0';
	} while (!strstr(answer, wanted) && n < sizeof(answer) - 1);
	return strstr(answer, wanted);
}

static void start_redis(struct test *t, const char *path, struct child *c, char *socket, size_t size)
{
	snprintf(socket, size, "%s/s", t->dir);
	child__start(t, c, &(struct spawn){ .argv = { path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", t->dir } });
}

static bool ask_redis(const char *socket, uint64_t i)
{
	static int fd = -1;
	static pid_t whose;	/* each client has a connection of its own */
	char value[64], set[256], get[128], want[96];
	bool right;

	if (fd < 0 || whose != getpid())
		fd = dial(socket);
	whose = getpid();
	snprintf(value, sizeof(value), "%020" PRIu64 "%020" PRIu64, i * 7, i);
	snprintf(set, sizeof(set), "*3\r\n$3\r\nSET\r\n$9\r\nkey:%05u\r\n$40\r\n%s\r\n", (unsigned int)(i / FIRST * 1000 + i % 1000), value);
	snprintf(get, sizeof(get), "*2\r\n$3\r\nGET\r\n$9\r\nkey:%05u\r\n", (unsigned int)(i / FIRST * 1000 + i % 1000));
	snprintf(want, sizeof(want), "$40\r\n%s\r\n", value);
	right = fd >= 0 && talk(fd, set, "+OK\r\n") && talk(fd, get, want);
	if (!right && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return right;
}

static void start_nginx(struct test *t, const char *path, struct child *c, char *socket, size_t size)
{
	const char *d = t->dir, *conf = in_dir(t, "conf");
	FILE *f = fopen(conf, "we");

	must(t, f != NULL, "%s: %s", conf, strerror(errno));
	fprintf(f, "daemon off;\nmaster_process on;\nworker_processes 2;\npid %s/pid;\nerror_log %s/log;\nevents { worker_connections 64; }\n"
		   "http { access_log off; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s; uwsgi_temp_path %s;\n"
		   "scgi_temp_path %s; server { listen unix:%s/s; location / { return 200 'hello $arg_n'; } } }\n", d, d, d, d, d, d, d, d);
	fclose(f);
	chmod(d, 0777);
	snprintf(socket, size, "%s/s", d);
	child__start(t, c, &(struct spawn){ .argv = { path, "-c", conf } });
}

static bool ask_nginx(const char *socket, uint64_t i)
{
	char question[128], want[64];
	int fd = dial(socket);
	bool right;

	snprintf(question, sizeof(question), "GET /?n=%" PRIu64 " HTTP/1.0\r\n\r\n", i);
	snprintf(want, sizeof(want), "\r\n\r\nhello %" PRIu64, i);
	right = fd >= 0 && talk(fd, question, want);
	if (fd >= 0)
		close(fd);
	return right;
}

static void start_postgres(struct test *t, const char *path, struct child *c, char *socket, size_t size)
{
	const char *data = in_dir(t, "data");
	char initdb[128];
	struct stat who;
	struct child made;

	must(t, !stat("/var/lib/postgresql", &who) && who.st_uid, "who may run PostgreSQL is not known");
	must(t, !chown(t->dir, who.st_uid, who.st_gid), "chown: %s", strerror(errno));
	snprintf(initdb, sizeof(initdb), "%.*s/initdb", (int)(strrchr(path, '/') - path), path);
	child__start(t, &made, &(struct spawn){ .argv = { initdb, "-N", "-A", "trust", "-U", "postgres", "-D", data }, .uid = who.st_uid });
	must(t, !child__wait(t, &made), "initdb failed: %s", made.errs.s);
	snprintf(socket, size, "%s", t->dir);
	child__start(t, c, &(struct spawn){ .argv = { path, "-D", data, "-k", t->dir, "-c", "listen_addresses=", "-c", "fsync=off" }, .uid = who.st_uid });
}

/* A new backend each time, as the postmaster forks it. */
static bool ask_postgres(const char *socket, uint64_t i)
{
	char command[512], answer[128] = "", want[64];
	FILE *f;

	snprintf(command, sizeof(command), "psql -h %s -U postgres -qAtc 'select sum(x * %" PRIu64 ") from generate_series(1, 20000) x' postgres 2>/dev/null",
		 socket, i % 1000);
	snprintf(want, sizeof(want), "%" PRIu64 "\n", 200010000 * (i % 1000));
	f = popen(command, "re");
	if (!f)
		return false;
	if (!fgets(answer, sizeof(answer), f))
		answer[0] = '\0';
	return !pclose(f) && !strcmp(answer, want);
}

static pid_t start_client(const struct server *s, const char *socket, struct load *load, uint64_t first)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (uint64_t i = first; !load->stop; i++)
		__sync_fetch_and_add(s->ask(socket, i) ? &load->n_answers : &load->n_wrong, 1);
	_exit(0);
}

static void await_answers(struct test *t, const struct load *load, uint64_t n)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t from = load->n_answers;

	for (unsigned int i = 0; load->n_answers < from + n; i++) {
		must(t, i < patience_s(60) * 1000, "the server does not answer any more");
		nanosleep(&pause, NULL);
	}
}

/* "1,2,3": it and the processes that it has made */
static void family(pid_t pid, char *buf, size_t size)
{
	char path[64], *text, *save = NULL;

	snprintf(buf, size, "%d", pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	text = read_all(path, NULL);
	for (char *w = text ? strtok_r(text, " ", &save) : NULL; w && strlen(buf) + 16 < size; w = strtok_r(NULL, " ", &save))
		snprintf(buf + strlen(buf), size - strlen(buf), ",%s", w);
	free(text);
}

static void serve(struct test *t, const struct server *s)
{
	unsigned int n = (unsigned int)scaled(8), seed = 3;
	struct load *load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec pause = { .tv_nsec = 50000000 };
	char socket[256], pids[512], *save = NULL;
	pid_t clients[3];
	struct child c;
	bool up = false;

	if (access(s->path, X_OK))
		skip(t, "no %s here", s->name);
	s->start(t, s->path, &c, socket, sizeof(socket));
	for (unsigned int i = 0; i < patience_s(60) * 20 && !up; i++) {
		up = s->ask(socket, 1);
		if (!up)
			nanosleep(&pause, NULL);
	}
	must(t, up, "%s does not answer", s->name);
	for (unsigned int i = 0; i < 3; i++)
		clients[i] = start_client(s, socket, load, FIRST * i);
	await_answers(t, load, 10);
	if (s->has_workers)
		family(c.pid, pids, sizeof(pids));
	else
		snprintf(pids, sizeof(pids), "%d", c.pid);
	for (unsigned int i = 0; i < n; i++) {
		bool kills = i % 2;
		struct mt m;

		/* of PostgreSQL, processes come and go: only those that it makes later have their probes by -f */
		if (i % 4 < 2)
			mt__start(t, &m, "-p", pids, "--json", NULL);
		else
			mt__start(t, &m, "-p", pid_arg(c.pid), "-f", "--json", NULL);
		if (kills) {
			wait_at_random(&seed);
			child__kill(t, &m.c, SIGKILL);
			want_eq(t, "malloctrace's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &m.c));
		} else {
			mt__wait_attached(t, &m);
			await_answers(t, load, 5);
			mt__stop(t, &m, SIGINT, 0);
		}
		await_answers(t, load, 5);
	}
	for (char *w = strtok_r(pids, ",", &save); w; w = strtok_r(NULL, ",", &save))
		want_untouched(t, atoi(w));
	load->stop = 1;
	for (unsigned int i = 0; i < 3; i++) {
		int status;

		want(t, waitpid(clients[i], &status, 0) == clients[i] && !status, "a client did not come to its end");
	}
	want_eq(t, "wrong answers", 0, load->n_wrong);
	child__kill(t, &c, s->end_signal);
	want_eq(t, "the server's exit status", 0, (uint64_t)child__wait(t, &c));
	printf("  %s: %u attachments, every second one killed; %" PRIu64 " answers, %" PRIu64 " wrong\n", s->name, n, load->n_answers, load->n_wrong);
	want_nothing_left(t);
}

TEST_AS(harm_redis, .alone = true, .limit_s = LIMIT_S)
{
	serve(t, &(struct server){ "redis", "/usr/bin/redis-server", start_redis, ask_redis, SIGTERM, false });
}

TEST_AS(harm_nginx, .alone = true, .limit_s = LIMIT_S)
{
	serve(t, &(struct server){ "nginx", "/usr/sbin/nginx", start_nginx, ask_nginx, SIGQUIT, true });
}

TEST_AS(harm_postgres, .alone = true, .limit_s = LIMIT_S)
{
	char path[96] = "";

	for (int v = 30; v >= 9 && access(path, X_OK); v--)
		snprintf(path, sizeof(path), "/usr/lib/postgresql/%d/bin/postgres", v);
	serve(t, &(struct server){ "PostgreSQL", path, start_postgres, ask_postgres, SIGINT, false });
}
