// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Whoever runs a malloctrace with capabilities tries to take over its children, from their first instant on: by ptrace, by their
 * memory, by their descriptors. They have that user's id and no capabilities, so their dumpable flag alone protects them.
 */
#include "actors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THIEF 54400		/* no other test has processes of this user */
#define N_PIDS 24		/* the ones that follow malloctrace's own are its children's, or other users' */
#define N_ROUNDS 3000		/* of attempts at each pid; then malloctrace is ended */

struct loot {
	pid_t pid;		/* 0: none */
	char how[16], name[32];
};

static void name_of(pid_t pid, char *name, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
}

/*
 * Of malloctrace's children only the one that becomes CMD may be traced. Then it must hold no
 * capability, and no descriptor of the kinds that malloctrace opens: the others are the user's own.
 * One that exits has no memory any more, and so no command line, and nothing to be taken.
 */
static bool is_harmless(pid_t pid)
{
	static const char *const kinds[] = { "anon_inode:", "socket:", "/proc/", "/sys/", "/memfd:" };
	char path[64], link[64], *status;
	struct dirent *d;
	bool is;
	DIR *fds;

	name_of(pid, link, sizeof(link));
	if (!*link)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = read_all(path, NULL);
	is = status && strstr(status, "\nCapPrm:\t0000000000000000\n");
	free(status);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	is &= fds != NULL;
	while (fds && (d = readdir(fds))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, d->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			is &= n < 0 || strncmp(link, kinds[i], strlen(kinds[i]));
	}
	if (fds)
		closedir(fds);
	return is;
}

/* The way in, or NULL. */
static const char *way_into(pid_t pid)
{
	char path[64], link[64];
	int fd;

	if (!ptrace(PTRACE_SEIZE, pid, 0, 0))
		return "ptrace";
	if (errno == ESRCH)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return "mem";
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)pid);
	return readlink(path, link, sizeof(link)) >= 0 ? "fd" : NULL;
}

#define STOP_MS 1000	/* one that waits for a stopped process stops later */

/* Is it a process of this user that stands still now? */
static bool stop(pid_t pid)
{
	char state = 0;

	if (kill(pid, SIGSTOP))
		return false;
	for (int i = 0; i < STOP_MS && (state = state_of(pid)) && !strchr("TtZX", state); i++)
		poll(NULL, 0, 1);
	return state == 'T';
}

/*
 * The same. has_cmd: into a child of malloctrace's that is harmless there is none, and that is judged
 * while it stands still: a moment later it may have given up what it had. If malloctrace lets it go on
 * meanwhile, it may have become harmless.
 */
static const char *try_pid(pid_t pid, bool has_cmd)
{
	siginfo_t none;
	const char *how;

	if (!has_cmd || !waitid(P_PID, (id_t)pid, &none, WEXITED | WNOHANG | WNOWAIT))
		return way_into(pid);
	how = stop(pid) && !is_harmless(pid) ? way_into(pid) : NULL;
	if (how && !is_harmless(pid))
		return how;
	kill(pid, SIGCONT);
	return NULL;
}

/* Stopped and continued a child takes a few system calls between two attempts at most. */
static void rob(pid_t tracer, bool has_cmd, struct loot *l)
{
	for (unsigned int round = 0; round < N_ROUNDS && !l->pid; round++) {
		for (pid_t pid = tracer; pid <= tracer + N_PIDS && !l->pid; pid++) {
			const char *how;

			if (pid == getpid())
				continue;
			if (pid > tracer && round % 2)
				kill(pid, SIGSTOP);
			how = try_pid(pid, has_cmd);
			if (how) {
				l->pid = pid;
				snprintf(l->how, sizeof(l->how), "%s", how);
				name_of(pid, l->name, sizeof(l->name));
			}
			if (pid > tracer && round % 2)
				kill(pid, SIGCONT);
		}
		/* one of its threads, which was stopped with it, may have ended before it was continued */
		kill(tracer, SIGCONT);
		if (waitpid(tracer, NULL, WNOHANG) == tracer)
			return;
	}
	/* what is taken over stands still, and may be waited for */
	if (l->pid)
		kill(l->pid, SIGKILL);
	kill(tracer, SIGCONT);
	kill(tracer, l->pid ? SIGKILL : SIGTERM);
	waitpid(tracer, NULL, 0);
}

static _Noreturn void be_thief(const struct spawn *s, const struct actor *a, int out)
{
	const struct actor powerless = { .uid = THIEF };
	struct loot l = {};
	pid_t tracer = fork();
	bool has_cmd = false;
	int null;

	if (!tracer) {
		null = open("/dev/null", O_RDWR);
		if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || become(a) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(124);
		execv(s->argv[0], (char *const *)s->argv);
		_exit(125);
	}
	if (tracer < 0 || become(&powerless) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
	for (size_t i = 0; s->argv[i]; i++)
		has_cmd |= !strcmp(s->argv[i], "--");
	rob(tracer, has_cmd, &l);
	_exit(write(out, &l, sizeof(l)) != sizeof(l));
}

static void want_no_loot(struct test *t, const struct spawn *s, const struct actor *a, unsigned int runs)
{
	for (unsigned int i = 1; i <= runs; i++) {
		struct loot l = {};
		int fds[2], status;
		pid_t thief;

		must(t, !pipe2(fds, O_CLOEXEC), "pipe: %s", strerror(errno));
		thief = fork();
		if (!thief)
			be_thief(s, a, fds[1]);
		close(fds[1]);
		must(t, thief > 0 && waitpid(thief, &status, 0) == thief && !status && read(fds[0], &l, sizeof(l)) == sizeof(l), "no attempts were made");
		close(fds[0]);
		if (!want(t, !l.pid, "run %u of '%s %s': %s (%d) was taken over by %s", i, s->argv[1], s->argv[2], l.name, (int)l.pid, l.how))
			return;
	}
}

static void attack(struct test *t, const char *bin, const struct actor *a, unsigned int runs)
{
	const char *listen = in_dir(t, "socket");
	char at[160];
	struct fx f;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	start_fixture(t, &f, "basic", OTHER_USER, true, "family");
	must(t, !chmod(t->dir, 01777), "chmod: %s", strerror(errno));
	snprintf(at, sizeof(at), "unix:%s", listen);
	want_no_loot(t, &(struct spawn){ .argv = { bin, "doctor", "-p", pid_arg(f.c.pid) } }, a, runs);
	want_no_loot(t, &(struct spawn){ .argv = { bin, "-p", pid_arg(f.c.pid), "--json", "-d", "0.1" } }, a, runs);
	want_no_loot(t, &(struct spawn){ .argv = { bin, "-p", pid_arg(f.c.pid), "--overhead", "1", "-d", "0.1" } }, a, runs);
	want_no_loot(t, &(struct spawn){ .argv = { bin, "heap", "-p", pid_arg(f.c.pid) } }, a, runs);
	want_no_loot(t, &(struct spawn){ .argv = { bin, "--json", "--", "/bin/sleep", "0.1" } }, a, runs);
	want_no_loot(t, &(struct spawn){ .argv = { bin, "serve", "-p", pid_arg(f.c.pid), "--listen", at } }, a, runs);
	fx__quit(t, &f);
}

TEST(thief_of_file) { attack(t, copy_with_caps(t, OTHERS), &(struct actor){ .uid = THIEF }, scaled(2)); }
/* What a service manager gives is inherited. */
TEST(thief_of_ambient) { attack(t, own_copy(t), &(struct actor){ .uid = THIEF, .caps = OTHERS }, scaled(2)); }
