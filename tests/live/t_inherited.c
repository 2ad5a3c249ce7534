// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What malloctrace inherits, and what others do while it works: signals, limits, directories. It neither hangs nor ends without a word. */
#include "lt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXECS 40

/* Whoever resumes CMD while it execs takes it out of malloctrace's hands: it is traced from each program's beginning all the same. */
TEST_LIMIT(inherited_continued, 120)
{
	struct spawn s = { .argv = { lt_bin, "--json", "--", fixture("continued"), number_arg(EXECS) } };
	json_t *root, *site;
	uint64_t calls = 0;
	struct mt m;
	size_t i;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 7, (uint64_t)child__wait(t, &m.c));
	root = json_loads(m.c.outs.s, 0, NULL);
	must(t, root != NULL, "no JSON: %.300s", m.c.errs.s);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		calls += ju64(t, site, "max_size") == 321 ? ju64(t, site, "alloc_calls") : 0;
	want_eq(t, "calls of all programs", EXECS + 1, calls);
	json_decref(root);
}

static int ignore_children(const void *arg)
{
	return signal(SIGCHLD, SIG_IGN) == SIG_ERR;
}

/* CMD has what malloctrace was given, also that. */
TEST(inherited_children_ignored)
{
	struct spawn s = { .argv = { lt_bin, "--json", "--", "/bin/grep", "SigIgn", "/proc/self/status" }, .become = ignore_children };
	const char *line;
	uint64_t ignored = 0;
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	line = strstr(m.c.errs.s, "SigIgn:");
	want(t, line && sscanf(line, "SigIgn: %lx", &ignored) == 1 && ignored & 1ull << (SIGCHLD - 1), "SIGCHLD is ignored by CMD as before, wanted, got: %.300s", m.c.errs.s);
}

static int limit(const void *arg)
{
	const struct rlimit small = { 128 << 10, 128 << 10 };

	return setrlimit((__rlimit_resource_t)(intptr_t)arg, &small);
}

TEST(inherited_small_stack)
{
	struct spawn s = { .argv = { lt_bin, "--", "/bin/true" }, .become = limit, .become_arg = (const void *)(intptr_t)RLIMIT_STACK };
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "ulimit -s") != NULL, "why, wanted, got: %.300s", m.c.errs.s);
}

/* A file that may not grow so large: it is said, what was there stays, and what does fit is written. */
TEST(inherited_small_files)
{
	const char *large = in_dir(t, "large.json"), *small = in_dir(t, "small.folded");
	struct spawn s = { .argv = { lt_bin, "-p", NULL, "-o", large, "-o", small }, .become = limit, .become_arg = (const void *)(intptr_t)RLIMIT_FSIZE };
	FILE *old = fopen(large, "w");
	struct fx f;
	struct mt m;
	char *is;

	must(t, old && fputs("old", old) >= 0 && !fclose(old), "%s: %s", large, strerror(errno));
	fx__start(t, &f, "basic", "stacks", "1000", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, strerror(EFBIG)) != NULL, "why, wanted, got: %.300s", m.c.errs.s);
	is = read_all(large, NULL);
	want(t, is && !strcmp(is, "old"), "the old file, wanted, got: %.100s", is ?: "none");
	free(is);
	want(t, !access(small, F_OK), "the other file was not written");
	fx__quit(t, &f);
}

/* A link in the place of the directory of -o, put there during the trace: nothing is written where it leads. */
TEST(inherited_directory_replaced)
{
	const char *dir = in_dir(t, "out"), *moved = in_dir(t, "moved"), *elsewhere = in_dir(t, "elsewhere");
	struct fx f;
	struct mt m;

	must(t, !mkdir(dir, 0755) && !mkdir(elsewhere, 0700), "mkdir: %s", strerror(errno));
	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", in_dir(t, "out/x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	must(t, !rename(dir, moved) && !symlink(elsewhere, dir), "%s: %s", dir, strerror(errno));
	mt__stop(t, &m, SIGINT, 0);
	want(t, access(in_dir(t, "elsewhere/x.json"), F_OK) && errno == ENOENT, "the file is where the link leads");
	want(t, !access(in_dir(t, "moved/x.json"), F_OK), "the file is not in the directory that was named");
	fx__quit(t, &f);
}
