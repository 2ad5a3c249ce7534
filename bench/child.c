// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the processes of the benchmark. A child that is not NONE has not been waited for yet. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/child.h"
#include "util/parse.h"
#include "util/util.h"

#define POLL_MS 1
#define SLEEPS_MS 50

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Not by taskset(1): what is preloaded would be in that, and not in what it starts. */
static void pin(const char *cpu)
{
	uint64_t number;
	cpu_set_t set;

	if (parse_u64(cpu, 0, CPU_SETSIZE - 1, &number))
		_exit(126);
	CPU_ZERO(&set);
	CPU_SET(number, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void __attribute__((noreturn)) become(char *const argv[], char *const env[], const char *cpu, int in, int out, int err)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* an interrupted benchmark leaves no probes behind */
	if ((in >= 0 && dup2(in, STDIN_FILENO) < 0) || (out >= 0 && dup2(out, STDOUT_FILENO) < 0) ||
	    (err >= 0 && dup2(err, STDERR_FILENO) < 0))
		_exit(126);
	if (cpu)
		pin(cpu);
	for (; env && *env; env++)
		putenv(*env);
	execvp(argv[0], argv);
	_exit(127);
}

int child__start_tool(char *const argv[], char *const env[], const char *cpu, struct child *ret, struct err *e)
{
	struct child c = CHILD_NONE;

	c.text = memfd_create("bench-tool", MFD_CLOEXEC);
	if (c.text < 0)
		return err_set(e, -errno, "memfd_create: %s", strerror(errno));
	c.pid = fork();
	if (c.pid < 0) {
		close_fd(&c.text);
		return err_set(e, -errno, "fork: %s", strerror(errno));
	}
	if (!c.pid)
		become(argv, env, cpu, -1, c.text, c.text);
	*ret = c;
	return 0;
}

int child__start_target(char *const argv[], char *const env[], const char *cpu, struct child *ret, struct err *e)
{
	int in[2], out[2];
	struct child c = CHILD_NONE;

	if (pipe2(in, O_CLOEXEC))
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	if (pipe2(out, O_CLOEXEC)) {
		int err = -errno;

		close(in[0]);
		close(in[1]);
		return err_set(e, err, "pipe: %s", strerror(-err));
	}
	c.pid = fork();
	if (!c.pid)
		become(argv, env, cpu, in[0], out[1], -1);
	close(in[0]);
	close(out[1]);
	c.in = in[1];
	c.out = out[0];
	if (c.pid < 0) {
		int err = -errno;

		close_fd(&c.in);
		close_fd(&c.out);
		return err_set(e, err, "fork: %s", strerror(-err));
	}
	*ret = c;
	return 0;
}

static char *read_text(const struct child *c)
{
	struct stat st;
	char *s;
	ssize_t n;

	if (c->text < 0 || fstat(c->text, &st))
		return strdup("");
	s = malloc(st.st_size + 1);
	if (!s)
		return NULL;
	n = pread(c->text, s, st.st_size, 0);
	s[n > 0 ? n : 0] = '\0';
	return s;
}

/* Whether it has ended, without taking its status away from child__finish(). */
static bool has_ended(const struct child *c)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, c->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == c->pid;
}

static int tell(struct err *e, int err, const char *what, const char *wanted, const char *text)
{
	size_t len = strlen(text), from = len > 400 ? len - 400 : 0;

	return err_set(e, err, "%s \"%s\"; its last words:\n%s", what, wanted, text + from);
}

int child__wait_for_text(struct child *c, const char *wanted, int timeout_ms, struct err *e)
{
	for (int waited_ms = 0;; waited_ms += POLL_MS) {
		bool ended = has_ended(c);	/* asked first: what it wrote before its end is all there then */
		_cleanup_free_ char *text = read_text(c);

		if (!text)
			return err_set(e, -ENOMEM, "out of memory");
		if (strstr(text, wanted))
			return 0;
		if (ended)
			return tell(e, -ECHILD, "ended without", wanted, text);
		if (waited_ms >= timeout_ms)
			return tell(e, -ETIMEDOUT, "did not say", wanted, text);
		sleep_ms(POLL_MS);
	}
}

int child__wait_until_it_sleeps(struct child *c, int timeout_ms, struct err *e)
{
	char before[64] = "", now[64], path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)c->pid, (int)c->pid);
	for (int waited_ms = 0; waited_ms < timeout_ms; waited_ms += SLEEPS_MS) {
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, now, sizeof(now) - 1);

		if (n < 0 || has_ended(c))
			return err_set(e, -ECHILD, "process %d has ended before its time", (int)c->pid);
		now[n] = '\0';
		if (!strcmp(before, now))
			return 0;
		memcpy(before, now, sizeof(before));
		sleep_ms(SLEEPS_MS);
	}
	return err_set(e, -ETIMEDOUT, "process %d does not come to rest", (int)c->pid);
}

int child__wait_for_end(struct child *c, int timeout_ms, struct err *e)
{
	close_fd(&c->in);
	for (int waited_ms = 0; !has_ended(c); waited_ms += POLL_MS) {
		if (waited_ms > timeout_ms)
			return err_set(e, -ETIMEDOUT, "process %d does not end", (int)c->pid);
		sleep_ms(POLL_MS);
	}
	return 0;
}

int child__finish(struct child *c, int signal, int timeout_ms, char **ret_text, struct err *e)
{
	int status;

	if (!c->pid)
		return err_set(e, -ECHILD, "there is no such child");
	if (signal)
		kill(c->pid, signal);
	if (child__wait_for_end(c, timeout_ms, e))
		return e->code;
	if (waitpid(c->pid, &status, 0) < 0)
		return err_set(e, -errno, "waitpid: %s", strerror(errno));
	c->pid = 0;
	close_fd(&c->out);
	if (ret_text) {
		*ret_text = read_text(c);
		if (!*ret_text)
			return err_set(e, -ENOMEM, "out of memory");
	}
	close_fd(&c->text);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

uint64_t child__cpu_ns(const struct child *c)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void child__kill(struct child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	close_fd(&c->in);
	close_fd(&c->out);
	close_fd(&c->text);
	*c = CHILD_NONE;
}
