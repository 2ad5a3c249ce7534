// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The first and only service of a virtual machine: mounts what a Linux has, does
 * what MODE asks for, and turns the machine off. The kernel's command line gives
 * the environment (scripts/vm-test, tests/vm/machine.sh):
 *
 *   MODE=tests   the live tests: TEST=GLOB[,GLOB...], or those of /vm/tests (a glob a
 *                line), each REPEAT times; counts at SCALE per cent; then WRONG=NAME with a wrong expectation
 *   MODE=bare    there is nothing in the machine but this, /malloctrace and /target
 *   MODE=demo    what `make demo` shows
 *   FAULT=hang|panic|off   goes wrong on purpose: the script has to notice
 *
 * What it says starts with "@@ ": the console is all that is left of a machine. It
 * is off after main whatever happens: an init that returned would be a panic, which
 * would be taken for the kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIN "/usr/bin/malloctrace"
#define RUNNER "/vm/live-tests"
#define N(a) (sizeof(a) / sizeof(*(a)))

static const char *env(const char *name, const char *otherwise)
{
	const char *v = getenv(name);

	return v && *v ? v : otherwise;
}

static void mount_all(bool bare)
{
	static const struct {
		const char *type, *at, *data;
		bool bare;
	} mounts[] = {
		{ "proc", "/proc", NULL, true },
		{ "sysfs", "/sys", NULL, true },
		{ "devtmpfs", "/dev", NULL, false },
		{ "tmpfs", "/tmp", "mode=1777", false },
		{ "tracefs", "/sys/kernel/tracing", NULL, false },
		{ "cgroup2", "/sys/fs/cgroup", NULL, false },
	};

	for (unsigned int i = 0; i < N(mounts); i++) {
		if (bare && !mounts[i].bare)
			continue;
		mkdir(mounts[i].at, 0755);
		if (mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, mounts[i].data))
			fprintf(stderr, "@@ %s: %s\n", mounts[i].at, strerror(errno));
	}
}

static void be_a_linux(void)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int console, s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned int i = 0; i < N(links); i++)
		if (symlink(links[i][0], links[i][1]))
			fprintf(stderr, "@@ %s: %s\n", links[i][1], strerror(errno));
	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &lo))
		fprintf(stderr, "@@ lo: %s\n", strerror(errno));
	close(s);
	/* the kernel gives init a console only if the image had the node */
	console = open("/dev/console", O_RDWR);
	if (console >= 0) {
		dup2(console, 0);
		dup2(console, 1);
		dup2(console, 2);
		if (console > 2)
			close(console);
	}
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/", 1);
}

static pid_t start(char *const argv[], int in, int out, int err)
{
	pid_t pid = fork();

	if (pid == 0) {
		dup2(in, 0);
		dup2(out, 1);
		dup2(err, 2);
		execv(argv[0], argv);
		fprintf(stderr, "@@ %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	/* as the first process it is also given orphans to bury */
	for (;;) {
		pid_t got = wait(&status);

		if (got == pid || (got < 0 && errno != EINTR))
			break;
	}
	return pid < 0 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(char *const argv[])
{
	return finish(start(argv, 0, 1, 2));
}

/* ---- MODE=tests */

static int run_tests(const char *globs)
{
	return run((char *const[]){ RUNNER, "--bin", BIN, "--fixtures", "/vm/fixtures", "--scale", (char *)env("SCALE", "10"), "--limit", "300",
				    "--repeat", (char *)env("REPEAT", "1"), "--again", "2", "--filter", (char *)globs, NULL });
}

/* The list, as one word with commas. */
static const char *listed(void)
{
	static char globs[8192];
	FILE *f = fopen("/vm/tests", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#\r\n \t")] = 0;
		if (!*line)
			continue;
		if (strlen(globs) + strlen(line) + 2 > sizeof(globs)) {
			printf("@@ no room for %s\n", line);
			continue;
		}
		if (*globs)
			strcat(globs, ",");
		strcat(globs, line);
	}
	if (f)
		fclose(f);
	return globs;
}

static void tests(void)
{
	const char *globs = env("TEST", NULL), *wrong = env("WRONG", NULL);

	if (!globs)
		globs = listed();
	run((char *const[]){ BIN, "doctor", NULL });
	/* all in one call: it asks the doctor once, which takes seconds under emulation */
	printf("@@ run %s\n", globs);
	printf("@@ status %d\n", run_tests(globs));
	/* A runner that cannot fail would prove nothing: told of a block that never was, it must. */
	if (wrong) {
		setenv("LIVE_TESTS_WRONG", "1", 1);
		printf("@@ wrong %s\n", wrong);
		printf("@@ wrong status %d\n", run_tests(wrong));
	}
}

/* ---- MODE=bare */

#define LEAK_CALLS "1000"
#define LEAK_LINE ";main;leak_here 64000\n"	/* the whole chain, every byte: 1000 blocks of 64 */

/* Reads until the text has the word; false at the end of the stream. */
static bool read_up_to(int fd, const char *word)
{
	char text[8192] = "";
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0) {
		text[n += (size_t)got] = 0;
		if (strstr(text, word))
			return true;
	}
	printf("@@ wanted '%s', got '%s'\n", word, text);
	return false;
}

static bool has_leak(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read_up_to(fd, LEAK_LINE);

	close(fd);
	return ok;
}

/* A running program: seen, let go to work, told to stop being watched. */
static bool bare_attach(void)
{
	int in[2], out[2], err[2], status;
	pid_t target, tracer;
	char pid[16];
	bool ok;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return false;
	target = start((char *const[]){ "/target", "leak", LEAK_CALLS, NULL }, in[0], out[1], 2);
	close(out[1]);
	snprintf(pid, sizeof(pid), "%d", target);
	ok = read_up_to(out[0], "ready\n");
	tracer = start((char *const[]){ "/malloctrace", "-p", pid, "--batch", "-o", "/attach.folded", NULL }, 0, 1, err[1]);
	close(err[1]);
	ok = ok && read_up_to(err[0], "malloctrace: attached") && write(in[1], "g", 1) == 1 && read_up_to(out[0], "end\n");
	kill(tracer, SIGINT);
	status = finish(tracer);
	kill(target, SIGKILL);
	printf("@@ attached: status %d\n", status);
	return ok && !status && has_leak("/attach.folded");
}

static bool bare_command(void)
{
	int status = run((char *const[]){ "/malloctrace", "-q", "-o", "/command.folded", "--", "/target", "--auto", "/ledger", "leak",
					  LEAK_CALLS, "7", NULL });

	printf("@@ command: status %d\n", status);
	return status == 7 && has_leak("/command.folded");
}

static void bare(void)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} rows[] = { { "static_attaches_in_bare_image", bare_attach }, { "static_starts_command_in_bare_image", bare_command } };
	int failed = 0;

	for (unsigned int i = 0; i < N(rows); i++) {
		bool ok = rows[i].run();

		printf(ok ? "ok %s\n" : "FAIL %s: see above\n", rows[i].name);
		failed |= !ok;
	}
	printf("@@ status %d\n", failed);
}

/* ---- the end */

/* What the kernel complained of while we were at it. */
static void print_complaints(void)
{
	static const char *const words[] = { "WARNING: CPU", "BUG: ", "Oops", "Internal error", "general protection" };
	static char log[1 << 20];
	int n = klogctl(3 /* all of it */, log, sizeof(log) - 1);
	char *rest = log, *line;

	log[n > 0 ? n : 0] = 0;
	while ((line = strsep(&rest, "\n")))
		for (unsigned int i = 0; i < N(words); i++)
			/* a host that is busy elsewhere looks like a lockup from inside */
			if (strstr(line, words[i]) && !strstr(line, "lockup")) {
				printf("@@ complaint %s\n", line);
				break;
			}
}

static void go_wrong(const char *how)
{
	int fd;

	if (!strcmp(how, "panic")) {
		fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
		if (fd >= 0 && write(fd, "c", 1) == 1)
			close(fd);
	} else if (!strcmp(how, "off")) {
		reboot(RB_POWER_OFF);
	}
	for (;;)
		pause();
}

int main(void)
{
	const char *mode = env("MODE", "tests");
	bool is_bare = !strcmp(mode, "bare");
	struct utsname u;

	umask(022);
	mount_all(is_bare);
	if (!is_bare)
		be_a_linux();
	setvbuf(stdout, NULL, _IOLBF, 0);
	uname(&u);
	printf("@@ kernel %s %s\n", u.release, u.machine);
	if (getenv("FAULT"))
		go_wrong(getenv("FAULT"));
	if (is_bare)
		bare();
	else if (!strcmp(mode, "demo"))
		printf("@@ status %d\n", run((char *const[]){ "/bin/sh", "/vm/demo", BIN, "/vm/sessiond", NULL }));
	else
		tests();
	print_complaints();
	puts("@@ done");
	fflush(NULL);
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
