// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Targets whose memory cgroup is full: a breakpoint makes a copy of its page there, and the kernel would kill them for it. */
#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TIGHT (16 << 10)

struct memory {			/* a cgroup of either version */
	char dir[128];
	const char *limit, *usage;
};

static void make_memory(struct test *t, struct memory *m)
{
	static const struct {
		const char *parent, *limit, *usage;
	} versions[] = {
		{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes" },
		{ "/sys/fs/cgroup", "memory.max", "memory.current" },
	};

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		put_text(versions[i].parent, "cgroup.subtree_control", "+memory");
		snprintf(m->dir, sizeof(m->dir), "%s/malloctrace-room-%d", versions[i].parent, getpid());
		m->limit = versions[i].limit;
		m->usage = versions[i].usage;
		if (mkdir(m->dir, 0755))
			continue;
		if (put_text(m->dir, m->limit, "104857600")) {
			put_text(m->dir, "memory.swap.max", "0");
			put_text(m->dir, "memory.swappiness", "0");
			return;
		}
		rmdir(m->dir);
	}
	skip(t, "no memory cgroup can be made below /sys/fs/cgroup");
}

static uint64_t read_usage(struct test *t, const struct memory *m)
{
	char path[256], *text;
	uint64_t n;

	snprintf(path, sizeof(path), "%s/%s", m->dir, m->usage);
	text = read_all(path, NULL);
	must(t, text != NULL, "%s cannot be read", path);
	n = strtoull(text, NULL, 10);
	free(text);
	return n;
}

/* Its limit is so far above what it uses now. */
static void leave_room(struct test *t, const struct memory *m, uint64_t room, bool empty)
{
	char text[32];

	/* what others have not read before is page cache of its own */
	if (empty && !put_text(m->dir, "memory.force_empty", "0"))
		put_text(m->dir, "memory.reclaim", "64M");
	snprintf(text, sizeof(text), "%" PRIu64, (read_usage(t, m) + room) & ~(uint64_t)4095);
	must(t, put_text(m->dir, m->limit, text), "%s/%s: %s", m->dir, m->limit, strerror(errno));
}

static void start(struct test *t, struct fx *f, struct memory *m, const char *arg)
{
	struct spawn s = { .argv = { fixture("room"), arg }, .become = enter_cgroup, .become_arg = m->dir };

	make_memory(t, m);
	fx__start_as(t, f, &s);
}

/* It was not harmed. */
static void quit(struct test *t, struct fx *f, const struct memory *m)
{
	fx__go(t, f);
	fx__quit(t, f);
	want(t, !rmdir(m->dir), "rmdir %s: %s", m->dir, strerror(errno));
}

static void want_said(struct test *t, const char *text, const char *what)
{
	want(t, strstr(text, what) != NULL, "wanted '%s', got: %.800s", what, text);
}

/* Nothing is set, and it is said how it can be. */
TEST_ALONE(room_refused)
{
	struct memory m;
	struct fx f;
	struct mt mt;

	start(t, &f, &m, NULL);
	leave_room(t, &m, TIGHT, true);
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &mt, "-p", pid_arg(f.c.pid), "--json", NULL));
	want_said(t, mt.c.errs.s, "may be killed if it is traced now: the limit of its memory cgroup, ");
	want_said(t, mt.c.errs.s, m.dir);
	want_said(t, mt.c.errs.s, m.limit);
	want_eq(t, "changed bytes of libc", 0, changed_bytes(t, f.c.pid, "libc.so.6"));
	want_eq(t, "exit status with -f", 1, (uint64_t)mt__run(t, &mt, "-f", "-p", pid_arg(f.c.pid), "--json", NULL));
	want_said(t, mt.c.errs.s, "may be killed if it is traced now");
	want_eq(t, "changed bytes of libc", 0, changed_bytes(t, f.c.pid, "libc.so.6"));
	quit(t, &f, &m);
}

/* As the message says. */
TEST_ALONE(room_raised)
{
	unsigned long long wanted = 0;
	struct memory m;
	struct fx f;
	struct mt mt;
	json_t *root;
	char text[32];
	const char *at;

	start(t, &f, &m, NULL);
	leave_room(t, &m, TIGHT, true);
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &mt, "-p", pid_arg(f.c.pid), "--json", NULL));
	at = strstr(mt.c.errs.s, "echo ");
	must(t, at && sscanf(at, "echo %llu > ", &wanted) == 1, "stderr: %.600s", mt.c.errs.s);
	snprintf(text, sizeof(text), "%llu", wanted);
	must(t, put_text(m.dir, m.limit, text), "%s: %s", m.limit, strerror(errno));
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	quit(t, &f, &m);
}

/* What the kernel can give up at any time is no reason to refuse: it is why containers are at their limits. */
TEST_ALONE(room_of_page_cache)
{
	struct memory m;
	struct statfs fs;
	struct fx f;
	json_t *root;

	if (statfs(t->dir, &fs) || fs.f_type == 0x01021994 || fs.f_type == (__typeof__(fs.f_type))0x858458f6)
		skip(t, "files in %s are memory", t->dir);
	start(t, &f, &m, in_dir(t, "cached"));
	leave_room(t, &m, TIGHT, false);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	quit(t, &f, &m);
}

TEST_ALONE(room_by_doctor)
{
	struct memory m;
	struct fx f;
	struct mt mt;
	char pid[32];

	start(t, &f, &m, NULL);
	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &mt, "doctor", "-p", pid_arg(f.c.pid), NULL));
	want_said(t, mt.c.outs.s, "\n  memory     room for ");
	want_said(t, mt.c.outs.s, m.dir);
	leave_room(t, &m, TIGHT, true);
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &mt, "doctor", "-p", pid_arg(f.c.pid), NULL));
	want_said(t, mt.c.outs.s, "may be killed if it is traced now");
	/* probes that are shared would be in it, too */
	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &mt, "doctor", "-a", NULL));
	snprintf(pid, sizeof(pid), "(such as %d) may be killed", (int)f.c.pid);
	want_said(t, mt.c.outs.s, pid);
	want_said(t, mt.c.outs.s, m.dir);
	quit(t, &f, &m);
}

/* Whoever is selected, it gets breakpoints: that is said before. There is room enough here, but not for sure. */
TEST_ALONE(room_of_others)
{
	struct memory m;
	struct fx f;
	struct mt mt;

	start(t, &f, &m, NULL);
	leave_room(t, &m, 400 << 10, true);
	mt__start(t, &mt, "--comm", "nobody-is-called", SHORT, NULL);
	mt__wait_attached(t, &mt);
	want_said(t, mt.c.errs.s, "may be killed, because every process that maps a probed file gets copies of its pages");
	want_said(t, mt.c.errs.s, m.dir);
	mt__stop(t, &mt, SIGINT, 0);
	quit(t, &f, &m);
}

/* A library that is loaded when there is no room any more is left out, and that is said. */
TEST_ALONE(room_for_later)
{
	struct memory m;
	struct spawn s = { .argv = { fixture("life"), "late", fixture("libpre.so") }, .become = enter_cgroup, .become_arg = m.dir };
	struct fx f;
	struct mt mt;

	make_memory(t, &m);
	fx__start_as(t, &f, &s);
	mt__start(t, &mt, "-p", pid_arg(f.c.pid), "--json", "--prefix", "pre_", NULL);
	mt__wait_attached(t, &mt);
	leave_room(t, &m, 200 << 10, true);
	fx__go(t, &f);
	child__wait_err(t, &mt.c, "malloctrace: ", "libpre.so is not probed, and what it allocates is not seen: ", patience_s(60));
	/* it needs more for its own work */
	leave_room(t, &m, 100 << 20, false);
	fx__go(t, &f);
	want_eq(t, "changed bytes of libpre.so", 0, changed_bytes(t, f.c.pid, "libpre.so"));
	/* not a whole trace: unprobed_points */
	mt__stop(t, &mt, SIGINT, 3);
	fx__quit(t, &f);
	want(t, !rmdir(m.dir), "rmdir %s: %s", m.dir, strerror(errno));
}

/* ---- very many cgroups */

static void make_thousand(struct test *t, const struct memory *m, unsigned int n)
{
	char dir[160];

	put_text(m->dir, m->limit, "-1");
	put_text(m->dir, m->limit, "max");
	for (unsigned int i = 0; i < n; i++) {
		snprintf(dir, sizeof(dir), "%s/%u", m->dir, i);
		must(t, !mkdir(dir, 0755), "%s: %s", dir, strerror(errno));
	}
}

/* Processes that were killed leave them a little later. */
static void remove_thousand(struct test *t, const struct memory *m, unsigned int n)
{
	char dir[160];
	unsigned int left_ms = patience_s(10) * 1000;

	for (unsigned int i = 0; i < n; i++) {
		snprintf(dir, sizeof(dir), "%s/%u", m->dir, i);
		while (rmdir(dir) && errno == EBUSY && left_ms--)
			usleep(1000);
	}
	want(t, !rmdir(m->dir), "rmdir %s: %s", m->dir, strerror(errno));
}

static uint64_t column(const char *line, unsigned int nth)
{
	char *end;
	uint64_t v = strtoull(line, &end, 10);

	for (; nth; nth--)
		v = strtoull(end, &end, 10);
	return v;
}

/* The number behind the last slash, if it is one of ours. */
static bool number_of(const struct memory *m, const char *path, unsigned int *ret)
{
	const char *name = strrchr(m->dir, '/'), *at = strstr(path, name);

	return at && sscanf(at + strlen(name), "/%u", ret) == 1;
}

/* As many containers, each with a process of its own: a row for each, exact. */
TEST_AS(room_of_a_thousand, .alone = true, .limit_s = 120)
{
	const char *account = in_dir(t, "account"), *path = in_dir(t, "x.json");
	unsigned int n = (unsigned int)scaled(1000), n_rows = 0, i_row;
	char *text, *line;
	const char **lines = calloc(n + 1, sizeof(*lines));
	struct memory m;
	json_t *root, *p;
	struct mt mt;
	struct fx f;
	size_t i;

	make_memory(t, &m);
	make_thousand(t, &m, n);
	fx__start(t, &f, "crowd", account, number_arg(n), "3", "in", m.dir, NULL);
	mt__start(t, &mt, "-a", "--batch", "--by", "cgroup", "--depth", "8", "--no-inlines", "--no-source", "-T", number_arg(2 * n), "--view", "processes", "-o", path, NULL);
	mt__wait_attached(t, &mt);
	fx__go(t, &f);
	child__kill(t, &mt.c, SIGINT);
	want_eq(t, "malloctrace's exit status", 0, (uint64_t)child__wait(t, &mt.c));
	fx__quit(t, &f);
	remove_thousand(t, &m, n);
	root = load_json(t, path);
	want_lossless(t, root);
	text = read_all(account, NULL);
	must(t, text != NULL, "no account");
	for (line = text, i = 0; *line && i < n; line = strchr(line, '\n') + 1)
		lines[i++] = line;
	must(t, i == n, "the account has %zu of %u lines", i, n);
	json_array_foreach(jget(root, "processes"), i, p) {
		if (!number_of(&m, jstr(p, "comm"), &i_row))
			continue;
		n_rows++;
		want_eq(t, "members", 1, ju64(t, p, "members"));
		want_u64(t, p, "totals.alloc_calls", column(lines[i_row], 1));
		want_u64(t, p, "totals.alloc_bytes", column(lines[i_row], 2));
		want_u64(t, p, "totals.free_calls", column(lines[i_row], 3));
		want_u64(t, p, "totals.free_bytes", column(lines[i_row], 4));
	}
	want_eq(t, "rows", n, n_rows);
	/* the programs that they were before they entered */
	want(t, strstr(mt.c.outs.s, "\nended  "), "a line of those that ended, got:\n%.1000s", mt.c.outs.s);
	json_decref(root);
	free(text);
	free(lines);
}

/* Who moves to another cgroup while it is traced is shown where it is. */
TEST_ALONE(room_moved)
{
	struct memory m;
	json_t *root, *p;
	const char *name;
	char pid[16];
	struct mt mt;
	struct fx f;

	make_memory(t, &m);
	name = strrchr(m.dir, '/');
	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &mt, "--comm", "basic", "--by", "cgroup", "--json", NULL);
	mt__wait_attached(t, &mt);
	snprintf(pid, sizeof(pid), "%d", (int)f.c.pid);
	must(t, put_text(m.dir, "cgroup.procs", pid), "%s: %s", m.dir, strerror(errno));
	fx__go(t, &f);
	root = mt__stop_json(t, &mt, SIGINT, 0);
	want_lossless(t, root);
	p = jget(root, "processes[0]");
	want_eq(t, "rows", 1, json_array_size(jget(root, "processes")));
	want(t, strstr(jstr(p, "comm"), name) != NULL, "its cgroup, wanted one with %s, got %s", name, jstr(p, "comm"));
	fx__quit(t, &f);
	want(t, !rmdir(m.dir), "rmdir %s: %s", m.dir, strerror(errno));
	json_decref(root);
}
