// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* -- CMD: programs that malloctrace begins itself, how they end, and that none stands still if malloctrace is killed. */
#include "lt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void want_auto_ledger(struct test *t, json_t *root, const char *path, unsigned int checks)
{
	struct ledger l;
	char *text = read_all(path, NULL);

	must(t, text && ledger__parse(&l, text), "the program left no ledger in %s", path);
	must(t, json_array_size(jget(root, "processes")) == 1, "processes, wanted 1, got %zu", json_array_size(jget(root, "processes")));
	want_ledger(t, root, jget(root, "processes[0]"), &l, checks);
	want_bool(t, root, "processes[0].ended", true);
	free(text);
}

TEST(command_from_first_allocation)
{
	const char *ledger = in_dir(t, "ledger");
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", "--", fixture("ctor"), "--auto", ledger, NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_auto_ledger(t, root, ledger, LED_ONLY | LED_REALLOC);
}

TEST(command_static)
{
	const char *ledger = in_dir(t, "ledger");
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", "--", fixture("basic.static"), "--auto", ledger, "family", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_auto_ledger(t, root, ledger, LED_ALL & ~LED_ONLY);
}

/* Once it has begun nobody traces CMD, also after an exec, and yet that is seen from its first instruction on. */
TEST(command_runs_free)
{
	struct mt m;

	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-q", "-o", in_dir(t, "free.json"), "--", "/bin/sh", "-c",
						       "sed -n s/^TracerPid:.//p /proc/$$/status && exec sed -n s/^TracerPid:.//p /proc/self/status", NULL));
	want(t, !strcmp(m.c.outs.s, "0\n0\n"), "TracerPid of sh and of sed, wanted 0 twice, got %s", m.c.outs.s);
	want_eq(t, "processes", 2, json_array_size(jget(load_json(t, in_dir(t, "free.json")), "processes")));
}

/* Processes that it starts are not traced without -f, which is said; and what they use is not its own memory. */
TEST(command_starts_others)
{
	static const char script[] = "/bin/true; /bin/true | dd if=/dev/zero of=/dev/null bs=64M count=1; exit 0";
	struct mt m;
	json_t *root;

	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-o", in_dir(t, "sh.json"), "--", "/bin/sh", "-c", script, NULL));
	want(t, strstr(m.c.outs.s, "sh started 3 processes that were not traced: add -f"), "what is missing, wanted, got %s", m.c.outs.s);
	root = load_json(t, in_dir(t, "sh.json"));
	want_u64(t, root, "untraced_children", 3);
	want(t, json_is_null(jget(root, "processes[0].peak_rss_bytes")), "peak_rss_bytes, wanted null: the kernel's figure is its child's");
	want_eq(t, "exit status with -f", 0, (uint64_t)mt__run(t, &m, "-f", "-o", in_dir(t, "all.json"), "--", "/bin/sh", "-c", script, NULL));
	want(t, !strstr(m.c.outs.s, "not traced"), "with -f, wanted no word of that, got %s", m.c.outs.s);
	want(t, !jget(load_json(t, in_dir(t, "all.json")), "untraced_children"), "untraced_children with -f, wanted none");
}

/* A trace that fails leaves CMD as it is: its next exec holds nobody. */
TEST(command_execs_after_a_failure)
{
	struct spawn s = { .argv = { "/bin/sh", "-c", "exec \"$0\" 1 -- /bin/sh -c 'sleep 3; exec /bin/sh -c \"exit 7\"' > /dev/full", lt_bin } };
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status of a trace that cannot write", 125, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "No space left on device"), "why, wanted, got %s", m.c.errs.s);
}

/* The state of a process, 0: there is none; whose child it is, and what it is called. */
static char describe(pid_t pid, pid_t *ret_parent, char comm[static 32])
{
	char path[64], line[512] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	end = strrchr(line, ')');
	if (!end)
		return 0;
	*ret_parent = atoi(end + 3);
	*end = 0;
	snprintf(comm, 32, "%.31s", strchr(line, '(') + 1);
	return end[2];
}

/* malloctrace's CMD, once it is that and no copy of malloctrace; 0: not yet. */
static pid_t child_called(pid_t parent, const char *name)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char comm[32];
	pid_t pid, of;

	while ((e = readdir(d))) {
		pid = atoi(e->d_name);
		if (pid && describe(pid, &of, comm) && of == parent && !strcmp(comm, name))
			break;
	}
	closedir(d);
	return e ? pid : 0;
}

/* malloctrace stops CMD at an exec: were it killed then, CMD goes on. */
TEST(command_goes_on_without_us)
{
	pid_t pid, of;
	struct mt m;
	char comm[32];

	mt__start(t, &m, "-q", "-o", in_dir(t, "gone.json"), "--", "/bin/sleep", "600", NULL);
	while (!(pid = child_called(m.c.pid, "sleep")) || describe(pid, &of, comm) != 'S')
		poll(NULL, 0, 5);
	kill(pid, SIGSTOP);
	while (describe(pid, &of, comm) != 'T')
		poll(NULL, 0, 5);
	child__kill(t, &m.c, SIGKILL);
	while (describe(m.c.pid, &of, comm) != 'Z')
		poll(NULL, 0, 5);
	/* the kernel has told it by then */
	for (int i = 0; i < 400 && describe(pid, &of, comm) != 'S'; i++)
		poll(NULL, 0, 5);
	want(t, describe(pid, &of, comm) == 'S', "the state of CMD, wanted S, got %c", describe(pid, &of, comm));
	/* it has malloctrace's output */
	kill(pid, SIGKILL);
	want_eq(t, "malloctrace's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &m.c));
}

/* Of those whose parent has died, the first, 0: there is none. What a test leaves behind is its keeper's. */
static pid_t orphan(bool stopped, char comm[static 32])
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t pid = 0, of;
	char state = 0;

	while ((e = readdir(d))) {
		pid = atoi(e->d_name);
		state = pid && pid != getpid() ? describe(pid, &of, comm) : 0;
		if (state && of == getppid() && (stopped ? state == 'T' || state == 't' : state != 'Z'))
			break;
	}
	closedir(d);
	return e ? pid : 0;
}

/* Whenever malloctrace is killed, from its start or from that of CMD on: neither CMD nor the copy of malloctrace that was to become it stands still for good. */
static void kill_at_any_moment(struct test *t, const char *const *cmd, bool begun, unsigned int within_us)
{
	struct spawn s = { .argv = { lt_bin, "-q", "-o", in_dir(t, "killed.json"), "--" } };
	char comm[32];

	for (size_t i = 0; cmd[i]; i++)
		s.argv[5 + i] = cmd[i];
	srand((unsigned int)getpid());
	for (unsigned int i = 0; i < 40; i++) {
		unsigned int us = (unsigned int)rand() % within_us;
		int status;
		struct mt m;
		pid_t pid;

		mt__start_v(t, &m, &s);
		while (begun && !child_called(m.c.pid, strrchr(cmd[0], '/') + 1))
			poll(NULL, 0, 5);
		usleep(us);
		child__kill(t, &m.c, SIGKILL);
		/* CMD has its output, too, and may go on */
		must(t, waitpid(m.c.pid, &status, 0) == m.c.pid, "waitpid: %s", strerror(errno));
		/* the kernel has sent its signals by now; to go on takes an instant */
		for (unsigned int k = 0; k < 400 && (pid = orphan(true, comm)); k++)
			poll(NULL, 0, 5);
		want(t, !pid, "%d (%s) is stopped, after a kill at %u us", (int)pid, comm, us);
		while ((pid = orphan(false, comm)))
			kill(pid, SIGKILL);
		close(m.c.out);
		close(m.c.err);
	}
}

TEST(command_killed_at_any_moment)
{
	kill_at_any_moment(t, (const char *const[]){ "/bin/sleep", "2", NULL }, false, 1000000);
}

/* One that is at an exec at most moments. */
TEST(command_killed_at_any_exec)
{
	const char *again = "exec \"$0\" -c \"$1\" \"$0\" \"$1\"";

	kill_at_any_moment(t, (const char *const[]){ "/bin/sh", "-c", again, "/bin/sh", again, NULL }, true, 100000);
}

TEST(command_exit_status)
{
	static const struct {
		const char *arg;
		int status;
	} ways[] = { { "0", 0 }, { "7", 7 }, { "143", 143 }, { "137", 137 } };

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const char *ledger = in_dir(t, "ledger%u", i);
		struct mt m;
		json_t *root;

		mt__start(t, &m, "--json", "--", fixture("basic"), "--auto", ledger, "exit", ways[i].arg, NULL);
		root = mt__stop_json(t, &m, 0, ways[i].status);
		want_auto_ledger(t, root, ledger, LED_ALL);
		want(t, strstr(m.c.errs.s, "hello-from-stdout") != NULL, "the program's standard output, wanted on stderr: %.300s", m.c.errs.s);
	}
}

TEST(command_cannot_run)
{
	const char *plain = in_dir(t, "plain");
	struct mt m;
	int fd = open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	close(fd);
	want_eq(t, "exit status for a file that is no program", 126, (uint64_t)mt__run(t, &m, "--json", "--", plain, NULL));
	want(t, strstr(m.c.errs.s, plain) != NULL, "the message, wanted to name %s: %.300s", plain, m.c.errs.s);
	want_eq(t, "exit status for no file", 127, (uint64_t)mt__run(t, &m, "--json", "--", in_dir(t, "nothing"), NULL));
	want_eq(t, "exit status for no command in PATH", 127, (uint64_t)mt__run(t, &m, "--json", "--", "no-such-command-here", NULL));
	want(t, strstr(m.c.errs.s, "no-such-command-here") != NULL, "the message, wanted to name it: %.300s", m.c.errs.s);
}

/* As the user who called sudo, not as root. */
TEST(command_as_invoking_user)
{
	/* a copy: the checkout may lie where that user cannot go */
	const char *ledger = in_dir(t, "ledger"), *program = in_dir(t, "basic");
	struct spawn s = { .argv = { lt_bin, "--json", "--", program, "--auto", ledger, "uid" },
			   .env = { "SUDO_UID=65534", "SUDO_GID=65534" } };
	struct mt m;
	json_t *root;
	char *text;
	struct ledger l;

	copy_file(t, fixture("basic"), program);
	must(t, !chown(t->dir, 65534, 65534), "chown");
	mt__start_v(t, &m, &s);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&l, text), "no ledger");
	want_eq(t, "the program's uid", 65534, ledger__note(t, &l, "uid"));
	want_eq(t, "the program's gid", 65534, ledger__note(t, &l, "gid"));
	json_decref(root);
	unlink(ledger);
	s.argv[1] = "--as-root";
	s.argv[2] = "--json";
	s.argv[3] = "--";
	s.argv[4] = fixture("basic");
	s.argv[5] = "--auto";
	s.argv[6] = ledger;
	s.argv[7] = "uid";
	mt__start_v(t, &m, &s);
	mt__stop_json(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&l, text), "no ledger");
	want_eq(t, "the program's uid with --as-root", 0, ledger__note(t, &l, "uid"));
}
