// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A mapped file whose file system does not answer, as a FUSE or NFS server that hangs: whoever opens it waits for good, and no signal ends that. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group.h"

struct silent {
	struct fx server, target;	/* the target has an allocator of the server's */
	const char *flag, *dir;
	uint64_t waits;		/* calls that were to wait */
};

static void fall_silent(struct test *t, const struct silent *s)
{
	int fd = open(s->flag, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	must(t, fd >= 0, "%s: %s", s->flag, strerror(errno));
	close(fd);
}

/* option: of silentfs, or NULL */
static void serve(struct test *t, struct silent *s, const char *option)
{
	const char *mounted = in_dir(t, "mounted");
	struct spawn how = { .argv = { fixture("silentfs"), mounted, jemalloc(t), NULL } };
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fuse < 0)
		skip(t, "/dev/fuse: %s", strerror(errno));
	close(fuse);
	must(t, !mkdir(mounted, 0755), "mkdir: %s", strerror(errno));
	s->flag = in_dir(t, "silent");
	s->dir = ledgers(t);
	how.argv[3] = s->flag;
	how.argv[4] = option;
	child__start(t, &s->server.c, &how);
	fx__wait_line(t, &s->server, "mounted");
}

static void begin_with(struct test *t, struct silent *s, const char *option, const char *below)
{
	serve(t, s, option);
	start_loader_of(t, &s->target, s->dir, in_dir(t, "%s/file", below));
	fx__send(t, &s->target, 'g');
	fx__wait_line(t, &s->target, "loaded");
}

static void begin(struct test *t, struct silent *s)
{
	begin_with(t, s, NULL, "mounted");
}

static void end(struct test *t, struct silent *s)
{
	const char *waited;
	uint64_t n;

	fx__quit(t, &s->target);
	close(s->server.c.in);
	s->server.c.in = -1;
	want_eq(t, "the server's exit", 0, (uint64_t)child__wait(t, &s->server.c));
	waited = strstr(s->server.c.outs.s, " waited\n");
	while (waited && waited > s->server.c.outs.s && waited[-1] != '\n')
		waited--;
	n = waited ? strtoull(waited, NULL, 10) : UINT64_MAX;
	want_eq(t, "calls that had to wait", s->waits, n);
}

/* It answers again: the target works as if nothing had been. */
static void go_on_and_end(struct test *t, struct silent *s)
{
	unlink(s->flag);
	fx__go(t, &s->target);
	end(t, s);
}

/* Sooner than where nothing can hang. */
static void want_told_that(struct test *t, struct mt *m, const char *what)
{
	child__wait_err(t, &m->c, "malloctrace: ", what, patience_s(5));
}

static void want_told(struct test *t, struct mt *m)
{
	want_told_that(t, m, "file could not be read: its file system (fuse) does not answer; it is shown as addresses, and an allocator in it is not seen");
}

/* All else is traced. */
static void want_all_else(struct test *t, struct mt *m, struct silent *s)
{
	json_t *root = mt__stop_json(t, m, SIGINT, 3);

	want_u64(t, root, "losses.unread_file", 1);
	want_u64(t, root, "losses.total", 1);
	want_u64(t, root, "unread_files", 1);
	want_unprobed(t, s->target.c.pid);
}

TEST_ALONE(silent_file)
{
	struct silent s = { .waits = 1 };
	struct mt m;

	begin(t, &s);
	fall_silent(t, &s);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	want_told(t, &m);
	mt__wait_attached(t, &m);
	want_all_else(t, &m, &s);
	go_on_and_end(t, &s);
}

/* Nobody waits for it once more. */
TEST_ALONE(silent_file_of_all)
{
	struct silent s = { .waits = 1 };
	struct mt m;
	json_t *root;

	begin(t, &s);
	fall_silent(t, &s);
	mt__start(t, &m, "-a", SHORT, NULL);
	want_told(t, &m);
	mt__wait_attached(t, &m);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want_u64(t, root, "losses.unread_file", 1);
	want_unprobed(t, s.target.c.pid);
	go_on_and_end(t, &s);
}

/* A look at a heap probes nothing: no allocator goes unseen. */
TEST_ALONE(silent_file_of_a_heap)
{
	struct silent s = { .waits = 1 };
	struct mt m;

	begin(t, &s);
	fall_silent(t, &s);
	mt__start(t, &m, "heap", "-p", pid_arg(s.target.c.pid), "--json", NULL);
	child__wait(t, &m.c);
	want(t, strstr(m.c.errs.s, "file could not be read: its file system (fuse) does not answer; it is shown as addresses\n") != NULL, "stderr, got: %.400s",
	     m.c.errs.s);
	go_on_and_end(t, &s);
}

/* Ctrl-C is answered while it is waited for. */
TEST_ALONE(silent_file_and_ctrl_c)
{
	struct silent s = { .waits = 1 };
	struct mt m;

	begin(t, &s);
	fall_silent(t, &s);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	fx__wait_line(t, &s.server, "waits");
	child__kill(t, &m.c, SIGINT);
	child__wait(t, &m.c);
	want(t, strstr(m.c.errs.s, "its file system (fuse) had not answered by the end") != NULL, "stderr, got: %.400s", m.c.errs.s);
	want_unprobed(t, s.target.c.pid);
	go_on_and_end(t, &s);
}

/* Whoever waits has nothing of malloctrace's that would stay with it: it ends when it is answered, and not before. */
TEST_ALONE(silent_file_and_kill)
{
	struct silent s = { .waits = 1 };
	char path[64], pid[16], *text;
	struct mt m;

	begin(t, &s);
	fall_silent(t, &s);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	fx__wait_line(t, &s.server, "waits");
	fx__line(t, &s.server, pid, sizeof(pid));
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	text = read_all(path, NULL);
	want(t, text && *text && !strstr(text, "bpf-map") && !strstr(text, "perf_event"), "no table is mapped by who waits, got: %s", text ?: "nothing");
	free(text);
	child__kill(t, &m.c, SIGKILL);
	child__wait(t, &m.c);
	want_unprobed(t, s.target.c.pid);
	go_on_and_end(t, &s);
}

/* It is a file as others are as long as it answers; when it falls silent the probes go all the same. */
TEST_ALONE(silent_file_later)
{
	struct silent s = { .waits = 1 };
	json_t *root;
	struct mt m;

	begin(t, &s);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &s.target);
	fall_silent(t, &s);
	child__kill(t, &m.c, SIGINT);
	want_unprobed(t, s.target.c.pid);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	unlink(s.flag);
	end(t, &s);
	/* without its names, perhaps */
	want_eq(t, "ledgers", 1, want_ledgers(t, root, s.dir, LED_TOTALS));
}

/* ---- where the file system itself is one of the machine's */

static const char *overlay(struct test *t)
{
	char *option = NULL;

	must(t, asprintf(&option, "overlay=%s", in_dir(t, "above")) > 0, "no memory");
	return option;
}

TEST_ALONE(silent_file_below_an_overlay)
{
	struct silent s = { .waits = 1 };
	struct mt m;

	begin_with(t, &s, overlay(t), "above");
	fall_silent(t, &s);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	want_told_that(t, &m, "file could not be read: its file system (overlay) does not answer; it is shown as addresses, and an allocator in it is not seen");
	mt__wait_attached(t, &m);
	want_all_else(t, &m, &s);
	go_on_and_end(t, &s);
}

/* An overlay whose layers answer is a file system as others are. */
TEST_ALONE(silent_file_below_an_overlay_later)
{
	struct silent s = {};
	json_t *root;
	struct mt m;

	begin_with(t, &s, overlay(t), "above");
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &s.target);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	end(t, &s);
	want_eq(t, "ledgers", 1, want_ledgers(t, root, s.dir, LED_TOTALS));
}

/* Who serves it may answer one process and no other: malloctrace has what that one read, and sets no probe, for which the kernel would read it. */
TEST_ALONE(silent_file_to_all_but_one)
{
	struct silent s = { .waits = 1 };	/* who copies it once more for the heap scan at the end */
	struct mt m;
	int fd;

	begin_with(t, &s, "user=65533", "mounted");
	fall_silent(t, &s);
	fd = open(s.flag, O_WRONLY | O_CLOEXEC);
	must(t, write(fd, "1", 1) == 1, "%s: %s", s.flag, strerror(errno));
	close(fd);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	want_told_that(t, &m, "file could not be read: another user serves its file system, and could stop malloctrace at a probe in it; it is shown as addresses, and an allocator in it is not seen");
	mt__wait_attached(t, &m);
	want_all_else(t, &m, &s);
	go_on_and_end(t, &s);
}

/* ---- paths that lead there from a local file system */

static void want_no_calls(struct test *t, struct silent *s)
{
	unlink(s->flag);
	end(t, s);
}

/* A link beside a local program leads to its debug info. */
TEST_ALONE(silent_debug_file)
{
	const char *program = in_dir(t, "program");
	struct spawn how = { .argv = { program, "plain" } };
	struct silent s = {};
	json_t *root;
	struct mt m;

	serve(t, &s, NULL);
	copy_file(t, fixture("names.linked"), program);
	must(t, !symlink(in_dir(t, "mounted"), in_dir(t, ".debug")), "symlink: %s", strerror(errno));
	fall_silent(t, &s);
	fx__start_as(t, &s.target, &how);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &s.target);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_u64(t, root, "totals.alloc_calls", 1);
	want_no_calls(t, &s);
}

/* A profile, or the debug info of a target, names a source file. */
TEST_ALONE(silent_source_file)
{
	const char *profile = in_dir(t, "profile.json");
	struct silent s = {};
	json_t *root, *frame;
	struct mt m;
	size_t i;

	serve(t, &s, "user=65533");
	fx__start(t, &s.target, "names", "plain", NULL);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "-o", profile, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &s.target);
	mt__stop(t, &m, SIGINT, 0);
	root = json_load_file(profile, 0, NULL);
	must(t, root != NULL, "%s", profile);
	json_array_foreach(jget(root, "frames"), i, frame)
		if (jget(frame, "line"))
			json_object_set_new(frame, "file", json_string(in_dir(t, "mounted/file.c")));
	must(t, !json_dump_file(root, profile, 0), "%s", profile);
	fall_silent(t, &s);
	mt__run(t, &m, "report", profile, "--view", "source", NULL);
	want(t, strstr(m.c.outs.s, "its source cannot be shown") != NULL, "source, got: %.600s%.300s", m.c.outs.s, m.c.errs.s);
	want_no_calls(t, &s);
}

/* ---- lists of JIT code */

static char list[64];

static void remove_list(void)
{
	unlink(list);
}

/* The target's list is a file of that file system, to the target alone. */
static int have_list(const void *file)
{
	int fd;

	snprintf(list, sizeof(list), "/tmp/perf-%d.map", getpid());
	fd = open(list, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	close(fd);
	return fd < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount(file, list, NULL, MS_BIND, NULL);
}

static void start_jit(struct test *t, struct silent *s, const char *how)
{
	struct spawn jit = { .argv = { fixture("names"), how }, .become = have_list, .become_arg = in_dir(t, "above/file") };

	serve(t, s, overlay(t));
	fx__start_as(t, &s->target, &jit);
	snprintf(list, sizeof(list), "/tmp/perf-%d.map", s->target.c.pid);
	atexit(remove_list);
}

/* Whether the made code has the name that the list gives it. */
static bool is_named(json_t *root)
{
	json_t *site, *frame;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site)
		json_array_foreach(jget(site, "stack"), k, frame)
			if (!strcmp(jstr(frame, "function"), "jitted_function"))
				return true;
	return false;
}

TEST_ALONE(silent_list)
{
	struct silent s = { .waits = 1 };
	json_t *root;
	struct mt m;

	start_jit(t, &s, "jit-unlisted");
	fall_silent(t, &s);
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &s.target);
	child__kill(t, &m.c, SIGINT);
	/* what names are missing is no loss */
	root = mt__stop_json(t, &m, 0, 0);
	want_u64(t, root, "totals.alloc_calls", 1);
	want(t, !is_named(root), "the made code has a name");
	unlink(s.flag);
	end(t, &s);
}

TEST_ALONE(silent_list_that_answers)
{
	struct silent s = {};
	json_t *root;
	struct mt m;

	start_jit(t, &s, "jit-there");
	mt__start(t, &m, "-p", pid_arg(s.target.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &s.target);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want(t, is_named(root), "the made code has no name");
	end(t, &s);
}

/* ---- a container without root: an overlay that only its user namespace has */

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text);

	close(fd);
	return err;
}

static int be_contained(const void *opts)
{
	char point[4096];

	snprintf(point, sizeof(point), "%s", strstr(opts, "lowerdir=") + strlen("lowerdir="));
	strcpy(strstr(point, "lower,"), "above");
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) || write_to("/proc/self/setgroups", "deny") || write_to("/proc/self/uid_map", "0 0 1") ||
	       write_to("/proc/self/gid_map", "0 0 1") || mount("overlay", point, "overlay", 0, opts);
}

/* As a container's: root mounts it, where malloctrace is not, of layers that are relative paths. */
static int be_contained_by_root(const void *dir)
{
	return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || chdir(dir) ||
	       mount("overlay", "above", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work");
}

/* file_bytes: 0: those of an allocator. */
static void trace_contained(struct test *t, int (*become)(const void *arg), const char *arg, off_t file_bytes)
{
	static const char *const dirs[] = { "lower", "upper", "work", "above" };
	const char *dir = ledgers(t);
	struct spawn s = { .argv = { fixture("group"), dir, "load", in_dir(t, "above/file") },
			   .env = { "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384" }, .become = become, .become_arg = arg };
	json_t *root;
	struct fx f;
	struct mt m;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		must(t, !mkdir(in_dir(t, "%s", dirs[i]), 0755), "mkdir: %s", strerror(errno));
	copy_file(t, jemalloc(t), in_dir(t, "lower/file"));
	must(t, !file_bytes || !truncate(in_dir(t, "lower/file"), file_bytes), "truncate: %s", strerror(errno));
	fx__start_as(t, &f, &s);
	fx__send(t, &f, 'g');
	fx__wait_line(t, &f, "loaded");
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-v", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	fx__quit(t, &f);
	want_eq(t, "ledgers", 1, want_ledgers(t, root, dir, LED_TOTALS));
}

TEST(silent_never_without_root)
{
	char opts[4096];

	snprintf(opts, sizeof(opts), "userxattr,lowerdir=%s,upperdir=%s,workdir=%s", in_dir(t, "lower"), in_dir(t, "upper"), in_dir(t, "work"));
	trace_contained(t, be_contained, opts, 0);
}

/* A file on a disk is not copied, whatever its size. */
TEST(silent_never_on_a_disk) { trace_contained(t, be_contained_by_root, in_dir(t, "."), 300 << 20); }
