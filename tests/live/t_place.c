// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where the target's files are: another root, deleted, far down, another pid namespace; and a server under load. */
#include "lt.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls fn for each file that a process maps, once. */
static void for_each_file(struct test *t, pid_t pid, void (*fn)(struct test *t, const char *path, void *arg), void *arg)
{
	char maps[64], line[4400], path[4096], last[4096] = "";
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "re");
	must(t, f != NULL, "%s: %s", maps, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %4095s", path) != 1 || path[0] != '/' || !strcmp(path, last))
			continue;
		strcpy(last, path);
		fn(t, path, arg);
	}
	fclose(f);
}

static void copy_into_root(struct test *t, const char *path, void *arg)
{
	char to[8200];

	snprintf(to, sizeof(to), "%s%s", (const char *)arg, path);
	if (access(to, F_OK))
		copy_file(t, path, to);
}

/* The interpreter is looked for by the program's own name for it, which maps may show otherwise. */
static void copy_interpreter(struct test *t, const char *program, const char *root)
{
	size_t n = 0;
	char *elf = read_all(program, &n);
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)elf;
	const Elf64_Phdr *p;

	must(t, elf && n > sizeof(*h) && h->e_phoff + h->e_phnum * sizeof(*p) <= n, "%s is no ELF file", program);
	p = (const Elf64_Phdr *)(elf + h->e_phoff);
	for (unsigned int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_INTERP)
			copy_into_root(t, elf + p[i].p_offset, (void *)root);
	free(elf);
}

static void exact(struct test *t, struct fx *f)
{
	json_t *root = trace(t, f, 0, NULL);

	want_ledger(t, root, process_of(t, root, f->c.pid, 0), &f->led, LED_ALL);
	fx__quit(t, f);
}

/* Its libc is another file than ours, at the same path. */
TEST(chroot_with_own_libc)
{
	const char *root = in_dir(t, "root");
	struct spawn s = { .argv = { "/basic", "family" }, .root = root };
	struct fx f;

	must(t, !mkdir(root, 0755), "mkdir");
	fx__start(t, &f, "basic", "family", NULL);
	for_each_file(t, f.c.pid, copy_into_root, (void *)root);
	fx__quit(t, &f);
	copy_interpreter(t, fixture("basic"), root);
	copy_file(t, fixture("basic"), in_dir(t, "root/basic"));
	fx__start_as(t, &f, &s);
	exact(t, &f);
}

TEST(deleted_executable)
{
	const char *copy = in_dir(t, "basic");
	struct spawn s = { .argv = { copy, "family" } };
	struct fx f;

	copy_file(t, fixture("basic"), copy);
	fx__start_as(t, &f, &s);
	must(t, !unlink(copy), "unlink");
	exact(t, &f);
}

TEST(deleted_static_executable)
{
	const char *copy = in_dir(t, "basic");
	struct spawn s = { .argv = { copy, "family" } };
	struct fx f;

	copy_file(t, fixture("basic.static"), copy);
	fx__start_as(t, &f, &s);
	must(t, !unlink(copy), "unlink");
	exact(t, &f);
}

static void copy_libc(struct test *t, const char *path, void *arg)
{
	if (strstr(path, "/libc.so.6"))
		copy_file(t, path, arg);
}

/* Deleted, and another file has taken its name: what the process maps is what counts. */
TEST(deleted_library)
{
	const char *copy = in_dir(t, "lib/libc.so.6");
	char env[200];
	struct spawn s = { .argv = { fixture("basic"), "family" }, .env = { env } };
	struct fx f;
	int fd;

	snprintf(env, sizeof(env), "LD_LIBRARY_PATH=%s/lib", t->dir);
	fx__start(t, &f, "basic", "family", NULL);
	for_each_file(t, f.c.pid, copy_libc, (void *)copy);
	fx__quit(t, &f);
	fx__start_as(t, &f, &s);
	must(t, !unlink(copy), "unlink");
	fd = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	must(t, fd >= 0 && write(fd, "not a library", 13) == 13, "write");
	close(fd);
	exact(t, &f);
}

TEST(long_path)
{
	char name[101];
	const char *copy;
	struct spawn s = { 0 };
	struct fx f;
	json_t *root;

	memset(name, 'd', 100);
	name[100] = 0;
	copy = in_dir(t, "%s/%s/%s/basic", name, name, name);
	copy_file(t, fixture("basic"), copy);
	s.argv[0] = copy;
	s.argv[1] = "leak";
	s.argv[2] = "10";
	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want(t, !strcmp(jstr(root, "processes[0].exe"), copy), "processes[0].exe, wanted %s, got %s", copy, jstr(root, "processes[0].exe"));
	want(t, !strcmp(jstr(root, "sites[0].stack[0].module"), copy), "sites[0].stack[0].module, wanted %s, got %s", copy,
	     jstr(root, "sites[0].stack[0].module"));
	fx__quit(t, &f);
}

/* malloctrace and its target in a pid namespace: the pids are those seen there. */
TEST(pid_namespace)
{
	int status;
	pid_t pid;

	must(t, !unshare(CLONE_NEWPID | CLONE_NEWNS), "unshare: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct fx f;

		/* in a chroot "/" is no mount point, but /proc is one there as well */
		must(t, !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || !mount(NULL, "/proc", NULL, MS_REC | MS_PRIVATE, NULL),
		     "private mounts: %s", strerror(errno));
		must(t, !mount("proc", "/proc", "proc", 0, NULL), "mount /proc: %s", strerror(errno));
		must(t, getpid() == 1, "pid, wanted 1, got %d", getpid());
		fx__start(t, &f, "basic", "family", NULL);
		must(t, f.c.pid < 100, "a pid of the namespace, wanted a small one, got %d", f.c.pid);
		exact(t, &f);
		fx__start(t, &f, "basic", "reallocs", NULL);
		exact(t, &f);
		exit(0);
	}
	must(t, waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	want(t, WIFEXITED(status), "the namespace's first process, wanted to exit, got status %d", status);
}

/* The target alone is in a namespace: it is traced from outside, by the pid seen outside. */
TEST(target_in_pid_namespace)
{
	struct fx f;

	must(t, !unshare(CLONE_NEWPID), "unshare: %s", strerror(errno));
	fx__start(t, &f, "basic", "family", NULL);	/* its own getpid() is 1 */
	must(t, f.c.pid > 1, "the pid outside, wanted more than 1");
	setns(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), CLONE_NEWPID);	/* what comes next is outside again */
	exact(t, &f);
}

/* ---- a server */

static bool ping(const char *socket_path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[16] = "";
	bool ok;

	strncpy(a.sun_path, socket_path, sizeof(a.sun_path) - 1);
	ok = !connect(s, (struct sockaddr *)&a, sizeof(a)) && write(s, "PING\r\n", 6) == 6 && read(s, answer, sizeof(answer) - 1) > 0 &&
	     !strncmp(answer, "+PONG", 5);
	close(s);
	return ok;
}

/* How many it has carried out so far. */
static uint64_t n_commands(struct test *t, const char *socket_path)
{
	static const char question[] = "INFO stats\r\n", key[] = "total_commands_processed:";
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[8192] = "", *line;
	size_t n = 0;

	strncpy(a.sun_path, socket_path, sizeof(a.sun_path) - 1);
	must(t, !connect(s, (struct sockaddr *)&a, sizeof(a)) && write(s, question, sizeof(question) - 1) > 0, "redis-server does not listen");
	while (!(line = strstr(answer, key)) || !strchr(line, '\n')) {
		ssize_t got = read(s, answer + n, sizeof(answer) - 1 - n);

		must(t, got > 0, "redis-server does not say how many commands it had: %s", answer);
		n += (size_t)got;
		answer[n] = 0;
	}
	close(s);
	return strtoull(line + sizeof(key) - 1, NULL, 10);
}

TEST(redis_under_load)
{
	const char *path = in_dir(t, "s");
	struct spawn server = { .argv = { "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir",
					  t->dir, "--daemonize", "no", "--logfile", "/dev/stderr" } };
	struct spawn load = { .argv = { "redis-benchmark", "-s", path, "-n", "100000000", "-c", "8", "-r", "10000", "-t", "set,lpush", "-q" },
			      .plain_out = true };
	struct child r, b;

	child__start(t, &r, &server);
	child__wait_err(t, &r, "", NULL, patience_s(20));
	while (!strstr(r.errs.s, "eady to accept"))
		child__wait_err(t, &r, "", "eady to accept", patience_s(20));
	must(t, ping(path), "PING before the trace, no PONG");
	child__start(t, &b, &load);
	for (int i = 0; i < 3; i++) {
		struct mt m;
		json_t *root;

		mt__start(t, &m, "-p", pid_arg(r.pid), "--json", NULL);
		mt__wait_attached(t, &m);
		for (uint64_t from = n_commands(t, path); n_commands(t, path) < from + 1000;)
			poll(NULL, 0, 20);
		root = mt__stop_json(t, &m, SIGINT, 0);
		want_lossless(t, root);
		want(t, ju64(t, root, "totals.alloc_calls") > 100, "totals.alloc_calls, wanted more than 100 of a thousand commands");
		want(t, strstr(jstr(root, "probes[0].object"), "jemalloc") || strstr(jstr(root, "probes[1].object"), "jemalloc"),
		     "probes, wanted libjemalloc among them");
		want(t, ping(path), "PING after the detach, no PONG");
		json_decref(root);
	}
	child__kill(t, &b, SIGTERM);
	child__wait(t, &b);
	want(t, ping(path), "PING after the load, no PONG");
	child__kill(t, &r, SIGTERM);
	want_eq(t, "redis-server's exit status", 0, (uint64_t)child__wait(t, &r));
}
