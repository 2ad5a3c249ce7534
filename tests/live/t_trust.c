// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What malloctrace's rights are not for: docs/SECURITY.md. Whoever runs a malloctrace with capabilities gets what tracing
 * gives, and no more; and what others put in its way does not get what is written.
 */
#include "actors.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "oh-so-secret"

static const struct actor user = { .uid = USER };

static void put_file(struct test *t, const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	must(t, fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s: %s", path, strerror(errno));
	close(fd);
}

static void want_file(struct test *t, const char *path, const char *wanted)
{
	char *got = read_all(path, NULL);

	want(t, got && !strcmp(got, wanted), "%s, wanted '%s', got '%s'", path, wanted, got ? got : "nothing");
	free(got);
}

/* ---- files that the user names are opened with the user's own rights */

static void want_no_secret(struct test *t, struct spawn *s, const char *says)
{
	struct mt m;

	s->become = become;
	s->become_arg = &user;
	mt__start_v(t, &m, s);
	want_eq(t, "exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, !strstr(m.c.errs.s, SECRET) && !strstr(m.c.outs.s, SECRET), "a file of root's was read: %.400s", m.c.errs.s);
	want(t, strstr(m.c.errs.s, says) != NULL, "stderr, wanted '%s', got: %.400s", says, m.c.errs.s);
}

TEST(trust_named_files)
{
	const char *bin = copy_with_caps(t, OTHERS), *secret = in_dir(t, "secret"), *program = in_dir(t, "program");
	const char *closed = in_dir(t, "closed/"), *inside = in_dir(t, "closed/secret"), *out = in_dir(t, "closed/out.json");
	const char *pid;
	struct fx f;

	put_file(t, secret, SECRET "\n", 0600);
	make_dirs(t, closed);
	put_file(t, inside, SECRET "\n", 0644);
	must(t, !chmod(closed, 0700), "chmod %s: %s", closed, strerror(errno));
	copy_file(t, fixture("basic"), program);
	must(t, !chmod(program, 0700), "chmod %s: %s", program, strerror(errno));
	start_fixture(t, &f, "basic", USER, false, "family");
	pid = pid_arg(f.c.pid);
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "--suppressions", secret } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "--suppressions", inside } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "report", "--suppressions", secret, secret } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "diff", secret, secret } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "-O", program } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "-o", out } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "heap", "-p", pid, "-o", out } }, "Permission denied");
	want(t, access(out, F_OK) != 0, "%s was written", out);
	fx__quit(t, &f);
}

/* What the kernel lets a directory's owner do, capabilities that go far beyond README's do not undo: -o. */
TEST(trust_named_output)
{
	const char *bin = copy_with_caps(t, OTHERS | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER)), *closed = in_dir(t, "closed/");
	const char *out = in_dir(t, "closed/out.json"), *printed = in_dir(t, "closed/printed");
	struct fx f;

	make_dirs(t, closed);
	put_file(t, out, "old", 0644);
	start_fixture(t, &f, "basic", USER, false, "family");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid_arg(f.c.pid), "-d", "1", "-o", out } }, "Permission denied");
	want_file(t, out, "old");
	if (has_multi(t)) {
		struct spawn s = { .argv = { bin, "--as-root", "--cmd-output", printed, "--", "/bin/true" }, .become = become, .become_arg = &user };
		struct mt m;

		mt__start_v(t, &m, &s);
		want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
		want(t, access(printed, F_OK) != 0, "%s was written", printed);
	}
	fx__quit(t, &f);
}

/* ---- nor does the user's environment steer what acts with malloctrace's rights */

TEST(trust_no_debuginfod)
{
	const char *bin = copy_with_caps(t, OTHERS);
	struct fx f;

	start_fixture(t, &f, "basic", USER, false, "family");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid_arg(f.c.pid), "-d", "1", "--debuginfod" },
					   .env = { "DEBUGINFOD_URLS=file:///", "DEBUGINFOD_CACHE_PATH=/tmp" } },
		       "--debuginfod: not with capabilities");
	fx__quit(t, &f);
}

/* Of a terminal that only the user's own file describes nothing is known. */
TEST(trust_terminfo)
{
	static const char *const known[] = { "/usr/share/terminfo/x/xterm", "/lib/terminfo/x/xterm", "/usr/lib/terminfo/x/xterm" };
	const char *own = in_dir(t, "m/mt-own"), *from = NULL;
	char dir[200], line[600];
	struct spawn s = { .argv = { "/usr/bin/script", "-qec", line, "/dev/null" }, .env = { dir, "TERM=mt-own" }, .become = become,
			   .become_arg = &user };
	struct child c;
	struct fx f;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !from; i++)
		from = access(known[i], R_OK) ? NULL : known[i];
	if (!from || access("/usr/bin/script", X_OK))
		skip(t, "neither script nor a description of xterm");
	make_dirs(t, own);
	copy_file(t, from, own);
	start_fixture(t, &f, "basic", USER, false, "family");
	snprintf(dir, sizeof(dir), "TERMINFO=%s", t->dir);
	snprintf(line, sizeof(line), "'%s' --tty -p %d -d 1", copy_with_caps(t, LOAD), (int)f.c.pid);
	child__start(t, &c, &s);
	child__wait(t, &c);
	want(t, strstr(c.outs.s, "nothing is known of the terminal 'mt-own'") != NULL, "wanted no live view, got: %.400s", c.outs.s);
	fx__quit(t, &f);
}

/* CMD is the user's, and so is its environment. */
TEST(trust_environment_of_cmd)
{
	struct spawn s = { .argv = { copy_with_caps(t, LOAD), "--json", "--", "/usr/bin/env" },
			   .env = { "MT_OF_USER=yes", "HOME=/home/of/user" }, .become = become, .become_arg = &user };
	struct mt m;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "MT_OF_USER=yes\n") && strstr(m.c.errs.s, "HOME=/home/of/user\n"), "CMD's environment, got: %.600s",
	     m.c.errs.s);
}

/* ---- where files are written to */

/* It is refused before anything is traced, also if it is read; standard output may be what it is. */
TEST(trust_output_fifo)
{
	const char *fifo = in_dir(t, "out.json");
	struct mt m;
	struct fx f;
	char got[8];
	int fd;

	must(t, !mkfifo(fifo, 0600), "mkfifo %s: %s", fifo, strerror(errno));
	fx__start(t, &f, "basic", "family", "10", NULL);
	for (int i = 0; i < 2; i++) {
		want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", "-o", fifo, NULL));
		want(t, strstr(m.c.errs.s, "it is a FIFO, not a file") && !strstr(m.c.errs.s, "attached"), "stderr, got: %.400s", m.c.errs.s);
		if (!i)
			fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	want(t, read(fd, got, sizeof(got)) == 0, "the FIFO got something");
	close(fd);
	want_eq(t, "exit status with -o -", 0, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "0.2", "-o", "-", NULL));
	want(t, m.c.outs.n > 0, "nothing was written to standard output");
	fx__quit(t, &f);
}

/* A trace that does not begin leaves what was there. */
TEST(trust_cmd_output_stays)
{
	const char *printed = in_dir(t, "printed");
	struct spawn s = { .argv = { own_copy(t), "--cmd-output", printed, "--", "/bin/true" }, .become = become, .become_arg = &user };
	struct mt m;

	put_file(t, printed, "old", 0666);
	must(t, !chmod(printed, 0666), "chmod %s: %s", printed, strerror(errno));
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
	want_file(t, printed, "old");
	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-q", "--cmd-output", printed, "--", "/bin/echo", "new", NULL));
	want_file(t, printed, "new\n");
}
