// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A mapped file whose file system does not answer, as a FUSE or NFS server that hangs: whoever opens it waits for good, and no signal ends that. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

static void begin(struct test *t, struct silent *s)
{
	const char *mounted = in_dir(t, "mounted"), *file = in_dir(t, "mounted/file");
	struct spawn how = { .argv = { fixture("silentfs"), mounted, jemalloc(t), NULL } };
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fuse < 0)
		skip(t, "/dev/fuse: %s", strerror(errno));
	close(fuse);
	must(t, !mkdir(mounted, 0755), "mkdir: %s", strerror(errno));
	s->flag = in_dir(t, "silent");
	s->dir = ledgers(t);
	how.argv[3] = s->flag;
	child__start(t, &s->server.c, &how);
	fx__wait_line(t, &s->server, "mounted");
	start_loader_of(t, &s->target, s->dir, file);
	fx__send(t, &s->target, 'g');
	fx__wait_line(t, &s->target, "loaded");
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

static void want_told(struct test *t, struct mt *m)
{
	child__wait_err(t, &m->c, "malloctrace: ", "file could not be read: its file system (fuse) does not answer; it is shown as addresses, and an allocator in it is not seen",
			patience_s(30));
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
