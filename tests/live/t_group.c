// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Processes that come and go: -a. Each process of a fixture
 * leaves a ledger of its own behind, and the report must equal all of them. The machine has
 * other processes, which -a traces, too: of its reports only the fixture's own processes are looked at.
 */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sites of others would be looked through again and again. */
static void drop_others(struct test *t, json_t *root)
{
	json_t *processes = jget(root, "processes"), *sites = jget(root, "sites"), *mine = json_array(), *p, *s;
	size_t i, n = json_array_size(processes);
	bool *is_mine = calloc(n + 1, sizeof(*is_mine));	/* by id */

	must(t, mine && is_mine && json_is_array(sites), "no sites");
	json_array_foreach(processes, i, p)
		if (ju64(t, p, "id") <= n)
			is_mine[ju64(t, p, "id")] = strstr(jstr(p, "exe"), lt_fixtures) || strstr(jstr(p, "exe"), t->dir);
	json_array_foreach(sites, i, s)
		if (ju64(t, s, "process") <= n && is_mine[ju64(t, s, "process")])
			json_array_append(mine, s);
	json_object_set_new(root, "sites", mine);
	free(is_mine);
}

json_t *stop_group(struct test *t, struct mt *m, int sig)
{
	json_error_t e;
	json_t *root;
	int got;

	if (sig)
		child__kill(t, &m->c, sig);
	got = child__wait(t, &m->c);
	/* what others lose on a busy machine is not looked at here */
	want(t, got == 0 || got == 3, "malloctrace's exit status, wanted 0 or 3, got %d; stderr: %.600s", got, m->c.errs.s);
	root = with_frames(json_loads(m->c.outs.s, JSON_REJECT_DUPLICATES, &e));
	must(t, root != NULL, "standard output is no JSON: line %d: %s; stderr: %.400s", e.line, e.text, m->c.errs.s);
	drop_others(t, root);
	return root;
}

unsigned int want_ledgers(struct test *t, json_t *root, const char *dir, unsigned int checks)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned int n = 0;

	must(t, d != NULL, "%s: %s", dir, strerror(errno));
	while ((entry = readdir(d))) {
		char path[512];
		unsigned int nth;
		struct ledger l;
		json_t *p;
		char *text;
		int pid;

		if (sscanf(entry->d_name, "%d.%u", &pid, &nth) != 2)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		text = read_all(path, NULL);
		must(t, text && ledger__parse(&l, text), "a ledger that makes no sense: %s", path);
		if (getenv("LIVE_TESTS_WRONG") && l.n)
			l.site[0].v[LED_ALLOC_CALLS]++;
		p = process_of(t, root, pid, nth);
		want_ledger(t, root, p, &l, checks);
		free(text);
		n++;
	}
	closedir(d);
	return n;
}

uint64_t lives_of(struct test *t, json_t *root, pid_t pid)
{
	uint64_t n = 0;
	json_t *p;
	size_t i;

	json_array_foreach(jget(root, "processes"), i, p)
		n += ju64(t, p, "pid") == (uint64_t)pid;
	return n;
}

json_t *last_life_of(struct test *t, json_t *root, pid_t pid)
{
	json_t *p, *last = NULL;
	size_t i;

	json_array_foreach(jget(root, "processes"), i, p)
		if (ju64(t, p, "pid") == (uint64_t)pid && (!last || ju64(t, p, "id") > ju64(t, last, "id")))
			last = p;
	must(t, last != NULL, "process %d, wanted in the report, got %zu processes", pid, json_array_size(jget(root, "processes")));
	return last;
}

const char *ledgers(struct test *t)
{
	const char *dir = in_dir(t, "ledgers");

	must(t, !mkdir(dir, 0777) || errno == EEXIST, "mkdir %s: %s", dir, strerror(errno));
	return dir;
}

/* ---- -a */

/* One that runs already, and one that starts later: exact from its first allocation. */
TEST_ALONE(all_now_and_later)
{
	const char *dir = ledgers(t);
	struct fx now, later;
	struct mt m;
	json_t *root, *p;

	fx__start(t, &now, "group", dir, "hold", NULL);
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &now);
	fx__start(t, &later, "group", dir, "fork", "5", NULL);
	fx__go(t, &later);
	fx__quit(t, &later);
	root = stop_group(t, &m, SIGINT);
	want_ledger(t, root, process_of(t, root, now.c.pid, 0), &now.led, LED_ALL);
	/* the first life of the later one is that of its fork from here */
	p = process_of(t, root, later.c.pid, 1);
	want(t, strstr(jstr(p, "exe"), "group") != NULL, "exe, wanted the fixture's, got '%s'", jstr(p, "exe"));
	want_u64(t, p, "age_at_attach_ns", 0);
	want_u64(t, p, "totals.alloc_calls", site_sum(t, root, p, "main", "alloc_calls"));
	want_eq(t, "its lives", 2, lives_of(t, root, later.c.pid));
	want_eq(t, "malloctrace's own", 0, lives_of(t, root, m.c.pid));
	fx__quit(t, &now);
}

/* Programs that live for milliseconds, with their names. */
TEST_ALONE(all_short_lives)
{
	const char *dir = ledgers(t);
	struct mt m;
	json_t *root;
	struct fx f, before;

	/* somebody has libc mapped when the trace begins: it is probed from the start */
	fx__start(t, &before, "group", t->dir, "hold", NULL);
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__start(t, &f, "group", dir, "spawn", "10", NULL);
	fx__go(t, &f);
	fx__quit(t, &f);
	/* the first one is the second life of its pid, forked from here */
	must(t, !rename(in_dir(t, "ledgers/%d.0", f.c.pid), in_dir(t, "ledgers/%d.1", f.c.pid)), "rename");
	root = stop_group(t, &m, SIGINT);
	fx__quit(t, &before);
	want_eq(t, "ledgers", 21, want_ledgers(t, root, dir, LED_ALL));
}

/* The loader and the libc that fixtures use, copied into a directory; the loader's path. */
static const char *copy_libc(struct test *t, const char *to)
{
	char line[4400], file[4096];
	const char *loader = NULL;
	unsigned int n = 0;
	struct fx f;
	FILE *maps;

	fx__start(t, &f, "group", t->dir, "hold", NULL);
	snprintf(line, sizeof(line), "/proc/%d/maps", f.c.pid);
	maps = fopen(line, "re");
	must(t, maps != NULL, "no maps");
	while (fgets(line, sizeof(line), maps)) {
		const char *name, *path;

		if (sscanf(line, "%*s %*s %*s %*s %*s %4095s", file) != 1 || !strstr(file, ".so"))
			continue;
		name = strrchr(file, '/') + 1;
		path = in_dir(t, "%s/%s", to, name);
		if ((strncmp(name, "ld-", 3) && strncmp(name, "libc.so", 7)) || !access(path, R_OK))
			continue;
		copy_file(t, file, path);
		must(t, !chmod(path, 0755), "chmod");
		if (!strncmp(name, "ld-", 3))
			loader = path;
		n++;
	}
	fclose(maps);
	must(t, loader && n == 2, "no loader and libc to copy");
	child__kill(t, &f.c, SIGKILL);
	child__wait(t, &f.c);
	return loader;
}

/* A libc of its own: found when it is mapped, probed while the program starts, exact from there. */
TEST_ALONE(all_late_file)
{
	const char *dir = ledgers(t), *loader = copy_libc(t, ".");
	struct spawn s = { .argv = { loader, "--library-path", t->dir, fixture("group"), dir, "fork", "3" } };
	struct fx f;
	struct mt m;
	json_t *root;

	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__start_as(t, &f, &s);
	child__wait_err(t, &m.c, "malloctrace: libc.so", "was probed", patience_s(60));
	fx__go(t, &f);
	fx__quit(t, &f);
	must(t, !rename(in_dir(t, "ledgers/%d.0", f.c.pid), in_dir(t, "ledgers/%d.1", f.c.pid)), "rename");
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "ledgers", 4, want_ledgers(t, root, dir, LED_ALL & ~LED_ONLY));
	want(t, ju64(t, process_of(t, root, f.c.pid, 1), "unseen_ns") > 0, "unseen_ns, wanted more than 0");
}

static unsigned int probes_in(json_t *root, const char *part)
{
	unsigned int n = 0;
	json_t *p;
	size_t i;

	json_array_foreach(jget(root, "probes"), i, p)
		n += strstr(jstr(p, "object"), part) != NULL;
	return n;
}

/* Two containers on one image: the second one's libc is probed already, and nothing is counted twice. */
TEST_ALONE(all_overlays)
{
	static const char *const names[] = { "one", "two" };
	const char *dir = ledgers(t), *loader;
	struct spawn s[2];
	struct fx f[2];
	struct mt m;
	json_t *root;

	make_dirs(t, in_dir(t, "image/x"));
	make_dirs(t, in_dir(t, "empty/x"));
	loader = strrchr(copy_libc(t, "image"), '/') + 1;
	/* gone with this process */
	must(t, !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount namespace: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		char options[512];

		make_dirs(t, in_dir(t, "container-%s/x", names[i]));
		snprintf(options, sizeof(options), "lowerdir=%s:%s", in_dir(t, "image"), in_dir(t, "empty"));
		if (mount("overlay", in_dir(t, "container-%s", names[i]), "overlay", MS_RDONLY, options))
			skip(t, "no overlay can be mounted here: %s", strerror(errno));
		s[i] = (struct spawn){ .argv = { in_dir(t, "container-%s/%s", names[i], loader), "--library-path",
						 in_dir(t, "container-%s", names[i]), fixture("group"), dir, "fork", "3" } };
	}
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 2; i++) {
		fx__start_as(t, &f[i], &s[i]);
		if (!i)
			child__wait_err(t, &m.c, "malloctrace: libc.so", "was probed", patience_s(60));
		fx__go(t, &f[i]);
		fx__quit(t, &f[i]);
		must(t, !rename(in_dir(t, "ledgers/%d.0", f[i].c.pid), in_dir(t, "ledgers/%d.1", f[i].c.pid)), "rename");
	}
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "ledgers", 8, want_ledgers(t, root, dir, LED_ALL & ~LED_ONLY));
	want_eq(t, "files of the containers that are probed", 1, probes_in(root, "/container-"));
	/* the same where both are there already, and known by the numbers that they see */
	for (int i = 0; i < 2; i++) {
		s[i].argv[5] = "hold";
		s[i].argv[6] = NULL;
		fx__start_as(t, &f[i], &s[i]);
	}
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 2; i++)
		fx__go(t, &f[i]);
	root = stop_group(t, &m, SIGINT);
	for (int i = 0; i < 2; i++) {
		want_ledger(t, root, process_of(t, root, f[i].c.pid, 0), &f[i].led, LED_ALL);
		fx__quit(t, &f[i]);
	}
	want_eq(t, "files of the containers that are probed", 1, probes_in(root, "/container-"));
}

/* Another build id, and nothing else: old and new probes are at the same places. */
static char *read_as_other_build(struct test *t, const char *path, size_t *ret_n)
{
	char *bytes = read_all(path, ret_n);
	size_t at = 0;

	must(t, bytes != NULL, "%s", path);
	/* behind "GNU" in its note */
	while (at + 20 < *ret_n && memcmp(bytes + at, "\3\0\0\0GNU", 8))
		at++;
	must(t, at + 20 < *ret_n, "no build id in %s", path);
	bytes[at + 8] ^= 0xff;
	return bytes;
}

/* A library that is written to in place: its old probes go, and it is probed anew. */
TEST_ALONE(all_file_written_to)
{
	const char *library = in_dir(t, "libpre.so");
	struct fx f;
	struct mt m;
	json_t *root;
	char *bytes;
	size_t n;
	FILE *out;

	copy_file(t, fixture("libpre.so"), library);
	mt__start(t, &m, "-a", "--prefix", "pre_", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__start(t, &f, "life", "late", library, NULL);
	fx__go(t, &f);		/* loaded */
	child__wait_err(t, &m.c, "malloctrace: libpre.so", "was probed", patience_s(60));
	fx__quit(t, &f);
	bytes = read_as_other_build(t, library, &n);
	out = fopen(library, "r+e");
	must(t, out && fwrite(bytes, 1, n, out) == n && !fclose(out), "%s: %s", library, strerror(errno));
	fx__start(t, &f, "life", "late", library, NULL);
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: libpre.so", "was probed", patience_s(60));
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	want(t, strstr(m.c.errs.s, "was written to") != NULL, "a line about it, wanted on stderr: %.600s", m.c.errs.s);
	want_ledger(t, root, last_life_of(t, root, f.c.pid), &f.led, LED_ALL & ~LED_ONLY);
	free(bytes);
	fx__quit(t, &f);
}

/* As a package's upgrade does: another file takes the place of the old one, which those who run keep. */
static void replace_file(struct test *t, const char *path, bool other_build)
{
	const char *next = in_dir(t, "next");
	size_t n;
	char *bytes = other_build ? read_as_other_build(t, path, &n) : read_all(path, &n);
	FILE *out = fopen(next, "we");

	must(t, bytes && out && fwrite(bytes, 1, n, out) == n && !fclose(out), "%s: %s", next, strerror(errno));
	must(t, !chmod(next, 0755) && !rename(next, path), "rename: %s", strerror(errno));
	free(bytes);
}

/*
 * libc is replaced while processes use it: the old ones go on with the old one and its probes, new ones have the new one, and
 * all are exact. other_build: it is another version, not the same once more.
 */
static void replaced_libc(struct test *t, bool other_build)
{
	const char *dir = ledgers(t), *loader = copy_libc(t, "."), *libc = in_dir(t, "libc.so.6");
	struct spawn s = { .argv = { loader, "--library-path", t->dir, fixture("group"), dir, "hold" } };
	struct fx old, first, later;
	struct mt m;
	json_t *root;

	fx__start_as(t, &old, &s);
	mt__start(t, &m, "-a", "-v", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &old);
	replace_file(t, libc, other_build);
	fx__start_as(t, &first, &s);
	child__wait_err(t, &m.c, "malloctrace: libc.so", "was probed", patience_s(60));
	fx__start_as(t, &later, &s);
	fx__go(t, &first);
	fx__go(t, &later);
	fx__go(t, &old);
	fx__go(t, &first);
	root = stop_group(t, &m, SIGINT);
	want_ledger(t, root, process_of(t, root, old.c.pid, 0), &old.led, LED_ALL);
	/* the first life of each is that of its fork from here; the first one began before its libc was probed */
	want_ledger(t, root, process_of(t, root, first.c.pid, 1), &first.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, later.c.pid, 1), &later.led, LED_ALL);
	want_u64(t, process_of(t, root, later.c.pid, 1), "unseen_ns", 0);
	want_eq(t, "files of that name that are probed", 2, probes_in(root, libc));
	fx__quit(t, &old);
	fx__quit(t, &first);
	fx__quit(t, &later);
}

TEST_ALONE(all_file_replaced) { replaced_libc(t, true); }
TEST_ALONE(all_file_replaced_by_its_like) { replaced_libc(t, false); }

/* A program with an allocator of its own that is deleted: nothing of ours keeps it on the disk's books for ever. */
TEST_ALONE(all_deleted_file)
{
	const char *program = in_dir(t, "gone");
	struct spawn s = { .argv = { program, "leak", "100" } };
	struct fx f;
	struct mt m;
	json_t *root;

	if (!fixture_there("basic.static"))
		skip(t, "no static fixture");
	copy_file(t, fixture("basic.static"), program);
	must(t, !chmod(program, 0755), "chmod");
	mt__start(t, &m, "-a", "-v", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__start_as(t, &f, &s);
	child__wait_err(t, &m.c, "malloctrace: gone was probed", NULL, patience_s(60));
	must(t, !unlink(program), "unlink");
	fx__go(t, &f);
	fx__quit(t, &f);
	child__wait_err(t, &m.c, "malloctrace: ", "gone is deleted, and no process maps it", patience_s(60));
	root = stop_group(t, &m, SIGINT);
	want_ledger(t, root, process_of(t, root, f.c.pid, 1), &f.led, LED_ALL & ~LED_ONLY);
	want_eq(t, "files named so in the list of probes", 1, probes_in(root, "/gone"));
}

/* In a pid namespace of its own: both pids are told. */
TEST_ALONE(all_pid_namespace)
{
	const char *dir = ledgers(t);
	struct spawn s = { .argv = { "unshare", "--pid", "--fork", fixture("group"), dir, "hold" } };
	struct mt m;
	json_t *root, *p;
	struct fx f;
	size_t i;
	unsigned int n = 0;

	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__start_as(t, &f, &s);
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	json_array_foreach(jget(root, "processes"), i, p) {
		if (!strstr(jstr(p, "exe"), "/group") || json_integer_value(jget(p, "container_pid")) != 1)
			continue;
		if (ju64(t, p, "totals.alloc_calls") != ledger__sum(&f.led, LED_ALLOC_CALLS))
			continue;
		want_ledger(t, root, p, &f.led, LED_ALL);
		want(t, ju64(t, p, "pid") != 1, "pid, wanted ours, got 1");
		n++;
	}
	want_eq(t, "processes with the fixture's account that are 1 where they live", 1, n);
	fx__quit(t, &f);
}

const char *jemalloc(struct test *t)
{
	static const char *const places[] = { "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!access(places[i], R_OK))
			return places[i];
	skip(t, "no libjemalloc.so.2");
}

void start_loader_of(struct test *t, struct fx *f, const char *dir, const char *library)
{
	/* it wants more room for its thread-local variables than is left in a running program */
	struct spawn s = { .argv = { fixture("group"), dir, "load", library },
			   .env = { "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384" } };

	fx__start_as(t, f, &s);
}

void start_loader(struct test *t, struct fx *f, const char *dir)
{
	/* a copy: others may have it mapped already */
	const char *library = in_dir(t, "libjemalloc.so.2");

	copy_file(t, jemalloc(t), library);
	start_loader_of(t, f, dir, library);
}

/* An allocator that is loaded while the process is traced: what it did before it was probed is told. alone: with -p, else with -a. */
static void want_late_allocator(struct test *t, bool alone)
{
	const char *dir = ledgers(t);
	struct fx f;
	struct mt m;
	json_t *root;

	start_loader(t, &f, dir);
	if (alone)
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	else
		mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'g');
	fx__wait_line(t, &f, "loaded");
	child__wait_err(t, &m.c, "malloctrace: ", alone ? "loaded another allocator: libjemalloc.so.2" : "libjemalloc.so.2 was probed", patience_s(60));
	fx__go(t, &f);
	fx__quit(t, &f);
	root = stop_group(t, &m, alone ? 0 : SIGINT);
	if (!alone)
		want_eq(t, "ledgers", 1, want_ledgers(t, root, dir, LED_ALL & ~LED_ONLY));
	want(t, ju64(t, process_of(t, root, f.c.pid, 0), "unseen_ns") > 0, "unseen_ns, wanted more than 0");
}

TEST_ALONE(all_dlopen) { want_late_allocator(t, false); }
TEST_ALONE(dlopen_alone) { want_late_allocator(t, true); }

/*
 * Who is not selected is recorded until that is known, also one that ends before: what it lost by then is nobody's. malloctrace
 * stands still meanwhile.
 */
TEST_ALONE(losses_of_others_are_none)
{
	json_t *root;
	struct fx f;
	struct mt m;

	mt__start(t, &m, "--comm", "no-such-name", "--max-stacks", "64", "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	fx__start(t, &f, "basic", "stacks", "10000", NULL);
	fx__go(t, &f);
	fx__quit(t, &f);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "processes", 0, json_array_size(jget(root, "processes")));
	json_decref(root);
}

/* A process that has ended and one that was killed; neither keeps the trace from beginning or ending. */
TEST_ALONE(all_zombies)
{
	const char *dir = ledgers(t);
	struct fx gone, killed;
	siginfo_t info;
	struct mt m;
	json_t *root;

	fx__start(t, &gone, "group", dir, "hold", NULL);
	fx__start(t, &killed, "group", dir, "hold", NULL);
	child__kill(t, &gone.c, SIGKILL);
	must(t, !waitid(P_PID, (id_t)gone.c.pid, &info, WEXITED | WNOWAIT), "waitid: %s", strerror(errno));
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &killed);
	child__kill(t, &killed.c, SIGKILL);
	must(t, !waitid(P_PID, (id_t)killed.c.pid, &info, WEXITED | WNOWAIT), "waitid: %s", strerror(errno));
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "lives of a zombie", 0, lives_of(t, root, gone.c.pid));
	want_ledger(t, root, process_of(t, root, killed.c.pid, 0), &killed.led, LED_ALL);
	want_bool(t, process_of(t, root, killed.c.pid, 0), "ended", true);
	child__wait(t, &gone.c);
	child__wait(t, &killed.c);
}

/* ---- other ways to record, and to attach */

TEST_ALONE(all_modes)
{
	static const char *const modes[][3] = {
		{ "--mode", "count", NULL }, { "--size", "usable", NULL }, { "--sample", "1", NULL }
	};

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct fx f;
		struct mt m;
		json_t *root;

		mt__start(t, &m, "-a", modes[i][0], modes[i][1], SHORT, NULL);
		mt__wait_attached(t, &m);
		if (i == 1)
			fx__start(t, &f, "basic", "--usable", "leak", "1000", NULL);
		else
			fx__start(t, &f, "basic", "leak", "1000", NULL);
		fx__go(t, &f);
		root = stop_group(t, &m, SIGINT);
		want_ledger(t, root, process_of(t, root, f.c.pid, 1), &f.led, i == 0 ? LED_COUNT | LED_ONLY : i == 1 ? LED_ALL : LED_ALL & ~(LED_PEAK | LED_ONLY));
		json_decref(root);
		fx__quit(t, &f);
	}
}

TEST_ALONE(all_by_perf_events)
{
	const char *dir = ledgers(t);
	struct spawn s = { .argv = { lt_bin, "-a", SHORT }, .env = { "MALLOCTRACE_LINKS=perf" } };
	struct mt m;
	json_t *root;
	struct fx f;

	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__start(t, &f, "group", dir, "fork", "5", NULL);
	fx__go(t, &f);
	fx__quit(t, &f);
	must(t, !rename(in_dir(t, "ledgers/%d.0", f.c.pid), in_dir(t, "ledgers/%d.1", f.c.pid)), "rename");
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "ledgers", 6, want_ledgers(t, root, dir, LED_ALL));
}

TEST_ALONE(doctor_of_all)
{
	struct mt m;

	want_eq(t, "exit status of doctor -a", 0, (uint64_t)mt__run(t, &m, "doctor", "-a", NULL));
	want(t, strstr(m.c.outs.s, "With -a: ") && strstr(m.c.outs.s, "libc.so"), "processes and files, wanted in: %.900s", m.c.outs.s);
	want_eq(t, "exit status of doctor --comm", 0, (uint64_t)mt__run(t, &m, "doctor", "--comm", "no-such-name", NULL));
	want(t, strstr(m.c.outs.s, "0 processes now") != NULL, "no process, wanted in: %.900s", m.c.outs.s);
}
