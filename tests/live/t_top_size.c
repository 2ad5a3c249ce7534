// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Sizes that no terminal has: whoever has one open may say how large it is, the traced program among them. Such a
 * terminal cannot be shown by tmux: here the test itself is at the other end, and reads what is drawn.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lt.h"

#define COME_S patience_s(60)
#define MEMORY_MAX_KB (512 * 1024)	/* of the largest screen that is drawn; one that is believed takes gigabytes */

static int open_terminal(struct test *t, const struct winsize *size)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	must(t, fd >= 0 && !grantpt(fd) && !unlockpt(fd), "a terminal: %s", strerror(errno));
	must(t, !ioctl(fd, TIOCSWINSZ, size), "its size: %s", strerror(errno));
	return fd;
}

/* In the child: the terminal is its own, and standard input and output are it. */
static int take_terminal(const void *path)
{
	int fd = setsid() < 0 ? -1 : open(path, O_RDWR);

	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0;
}

/* What is drawn from now on has this text in it. */
static void is_drawn(struct test *t, int fd, const char *text)
{
	size_t keep = strlen(text) - 1, n = 0;
	time_t until = time(NULL) + COME_S;
	char buf[65536];

	while (time(NULL) < until) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got = poll(&p, 1, 1000) > 0 ? read(fd, buf + n, sizeof(buf) - n) : 0;

		must(t, got >= 0, "the terminal is left before %s is drawn: %s", text, strerror(errno));
		n += got;
		if (memmem(buf, n, text, strlen(text)))
			return;
		if (n > keep) {
			memmove(buf, buf + n - keep, keep);
			n = keep;
		}
	}
	must(t, false, "not drawn: %s", text);
}

static uint64_t most_memory_kb(struct test *t, pid_t pid)
{
	char path[64], *text, *at;
	uint64_t ret;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = read_all(path, NULL);
	at = text ? strstr(text, "VmHWM:") : NULL;
	must(t, at, "%s does not tell its memory", path);
	ret = strtoull(at + strlen("VmHWM:"), NULL, 10);
	free(text);
	return ret;
}

TEST(top_size_beyond_all)
{
	/* the first one is there from the beginning */
	static const struct winsize sizes[] = { { 5000, 5000, 0, 0 }, { 65535, 1, 0, 0 }, { 65535, 80, 0, 0 }, { 1, 65535, 0, 0 }, { 32768, 32768, 0, 0 }, { 65535, 65535, 0, 0 }, { 40, 120, 0, 0 } };
	int fd = open_terminal(t, &sizes[0]);
	struct spawn how = { .env = { "LC_ALL=C.UTF-8", "TERM=xterm-256color" }, .become = take_terminal, .become_arg = ptsname(fd) };
	char rest[4096];
	struct child c;
	struct fx f;

	fx__start(t, &f, "screen", NULL);
	how.argv[0] = lt_bin;
	how.argv[1] = "-p";
	how.argv[2] = pid_arg(f.c.pid);
	child__start(t, &c, &how);
	is_drawn(t, fd, "[1 live]");
	for (size_t i = 1; i < sizeof(sizes) / sizeof(*sizes); i++) {
		must(t, !ioctl(fd, TIOCSWINSZ, &sizes[i]), "TIOCSWINSZ: %s", strerror(errno));
		/* another size is drawn from its first cell on */
		is_drawn(t, fd, sizes[i].ws_col == 1 || sizes[i].ws_row == 1 ? "s" : "[1 live]");
	}
	want(t, most_memory_kb(t, c.pid) < MEMORY_MAX_KB, "%llu KiB of memory", (unsigned long long)most_memory_kb(t, c.pid));
	must(t, write(fd, "q", 1) == 1, "q: %s", strerror(errno));
	/* the report, until nobody has the terminal open any more */
	while (read(fd, rest, sizeof(rest)) > 0)
		;
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &c));
	close(fd);
	fx__quit(t, &f);
}
