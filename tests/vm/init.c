// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The first and only service of a test machine: mounts what a Linux has, runs
 * the live tests that /vm/tests names (a glob a line), and turns the machine
 * off. What it says starts with "@@ ": scripts/vm-test reads the console. The
 * machine is off after main whatever happens: an init that returned would be a
 * panic, which the script takes for the kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIN "/usr/bin/malloctrace"
#define RUNNER "/vm/live-tests"

static void be_a_linux(void)
{
	static const struct {
		const char *type, *at, *data;
	} mounts[] = {
		{ "proc", "/proc", NULL },
		{ "sysfs", "/sys", NULL },
		{ "devtmpfs", "/dev", NULL },
		{ "tmpfs", "/tmp", "mode=1777" },
		{ "tracefs", "/sys/kernel/tracing", NULL },
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};
	int console;

	umask(022);
	for (unsigned int i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].at, 0755);
		if (mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, mounts[i].data))
			fprintf(stderr, "@@ %s: %s\n", mounts[i].at, strerror(errno));
	}
	for (unsigned int i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlink(links[i][0], links[i][1]))
			fprintf(stderr, "@@ %s: %s\n", links[i][1], strerror(errno));
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
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static int run(char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execv(argv[0], argv);
		fprintf(stderr, "@@ %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	/* as the first process it is also given orphans to bury */
	for (;;) {
		pid_t got = wait(&status);

		if (got == pid || (got < 0 && errno != EINTR))
			break;
	}
	return pid < 0 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_tests(const char *glob, const char *scale)
{
	return run((char *const[]){ RUNNER, "--bin", BIN, "--fixtures", "/vm/fixtures", "--scale", (char *)scale, "--limit", "240",
				    "--filter", (char *)glob, NULL });
}

static char *line_of(FILE *f, char *buf, size_t size)
{
	while (f && fgets(buf, (int)size, f)) {
		buf[strcspn(buf, "#\r\n \t")] = 0;
		if (*buf)
			return buf;
	}
	return NULL;
}

int main(void)
{
	char scale[32] = "100", glob[256], globs[8192] = "";
	struct utsname u;
	FILE *f;

	be_a_linux();
	uname(&u);
	printf("@@ kernel %s %s\n", u.release, u.machine);
	run((char *const[]){ BIN, "doctor", NULL });

	f = fopen("/vm/scale", "re");
	line_of(f, scale, sizeof(scale));
	if (f)
		fclose(f);

	/* all in one call: it asks the doctor once, which takes seconds under emulation */
	f = fopen("/vm/tests", "re");
	while (line_of(f, glob, sizeof(glob))) {
		if (strlen(globs) + strlen(glob) + 2 > sizeof(globs)) {
			printf("@@ no room for %s\n", glob);
			continue;
		}
		if (*globs)
			strcat(globs, ",");
		strcat(globs, glob);
	}
	if (f)
		fclose(f);
	printf("@@ run %s\n", globs);
	printf("@@ status %d\n", run_tests(globs, scale));

	/* A runner that cannot fail would prove nothing: told of a block that never was, it must. */
	f = fopen("/vm/wrong", "re");
	if (line_of(f, glob, sizeof(glob))) {
		setenv("LIVE_TESTS_WRONG", "1", 1);
		printf("@@ wrong %s\n", glob);
		printf("@@ wrong status %d\n", run_tests(glob, scale));
	}
	puts("@@ done");
	fflush(NULL);
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
