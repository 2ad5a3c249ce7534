// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The processes that read files for malloctrace: what they may do, and what becomes of a trace when they are stopped or
 * killed. Figures are exact whatever happens to them; at worst a file's names are missing, which is said.
 */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534		/* whom services run as */
/* users that nobody is */
#define STRANGERS_FROM 0x80000000u
#define STRANGERS_TO 0xbfffffffu
#define READERS_MAX 16

struct pids {
	pid_t v[READERS_MAX];
	size_t n;
};

static char *read_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_all(path, NULL);
}

static bool is_reader(pid_t pid)
{
	char *cmdline = read_proc(pid, "cmdline");
	bool is = cmdline && !strcmp(cmdline, "malloctrace-reader");

	free(cmdline);
	return is;
}

static uint64_t status_field(pid_t pid, const char *field, int base)
{
	char *status = read_proc(pid, "status"), want[32];
	const char *at;
	uint64_t v = UINT64_MAX;

	snprintf(want, sizeof(want), "\n%s:", field);
	at = status ? strstr(status, want) : NULL;
	if (at)
		v = strtoull(at + strlen(want), NULL, base);
	free(status);
	return v;
}

/* Readers whose parent this is. */
static struct pids readers_of(pid_t parent)
{
	DIR *proc = opendir("/proc");
	struct pids found = {};
	struct dirent *d;

	while (proc && (d = readdir(proc)) && found.n < READERS_MAX) {
		pid_t pid = (pid_t)atoi(d->d_name);

		if (pid > 0 && status_field(pid, "PPid", 10) == (uint64_t)parent && is_reader(pid))
			found.v[found.n++] = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

static pid_t starter_of(struct test *t, const struct mt *m)
{
	struct pids p = readers_of(m->c.pid);

	must(t, p.n == 1, "children of malloctrace that start readers, wanted 1, got %zu", p.n);
	return p.v[0];
}

/* All of malloctrace's: the one that starts others first. */
static struct pids all_readers(struct test *t, const struct mt *m)
{
	struct pids p = { .v = { starter_of(t, m) }, .n = 1 }, of = readers_of(p.v[0]);

	for (size_t i = 0; i < of.n && p.n < READERS_MAX; i++)
		p.v[p.n++] = of.v[i];
	return p;
}

static bool has(const struct pids *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i] == pid)
			return true;
	return false;
}

static void want_gone(struct test *t, const struct pids *p)
{
	struct timespec moment = { 0, 10 * 1000 * 1000 };

	for (size_t i = 0; i < p->n; i++) {
		unsigned int left = patience_s(10) * 100;

		while (is_reader(p->v[i]) && left--)
			nanosleep(&moment, NULL);
		want(t, !is_reader(p->v[i]), "reader %d is still there", (int)p->v[i]);
	}
}

static void want_shut(struct test *t, pid_t pid)
{
	char path[64], to[256];
	uint64_t uid = status_field(pid, "Uid", 10);
	DIR *fds;
	struct dirent *d;

	want(t, uid >= STRANGERS_FROM && uid <= STRANGERS_TO, "a reader is user %llu", (unsigned long long)uid);
	want_eq(t, "Gid", uid, status_field(pid, "Gid", 10));
	want_eq(t, "CapEff", 0, status_field(pid, "CapEff", 16));
	want_eq(t, "CapPrm", 0, status_field(pid, "CapPrm", 16));
	want_eq(t, "NoNewPrivs", 1, status_field(pid, "NoNewPrivs", 10));
	want_eq(t, "Seccomp", 2, status_field(pid, "Seccomp", 10));
	snprintf(to, sizeof(to), "/proc/%d/fd", (int)pid);
	fds = opendir(to);
	must(t, fds != NULL, "%s: %s", to, strerror(errno));
	while ((d = readdir(fds))) {
		ssize_t n;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, d->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = 0;
		want(t, !strcmp(to, "/dev/null") || !strncmp(to, "socket:", 7), "descriptor %s of a reader that does nothing is %s", d->d_name, to);
	}
	closedir(fds);
}

/* What a service that runs as nobody may do to it. */
static void want_out_of_reach(struct test *t, pid_t pid)
{
	pid_t service = fork();
	int status = 0;

	if (!service) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(2);
		_exit(!kill(pid, 0) || errno != EPERM);
	}
	must(t, service > 0 && waitpid(service, &status, 0) == service, "fork");
	want(t, WIFEXITED(status) && !WEXITSTATUS(status), "the user nobody may signal reader %d", (int)pid);
}

/* ---- what they may do */

TEST(readers_have_no_rights)
{
	struct pids p;
	json_t *root;
	struct fx f;
	struct mt m;

	if (geteuid())
		skip(t, "not root: they are who malloctrace is");
	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	p = all_readers(t, &m);
	want(t, p.n >= 2, "the file was read by nobody");
	for (size_t i = 0; i < p.n; i++) {
		want_shut(t, p.v[i]);
		want_out_of_reach(t, p.v[i]);
	}
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_gone(t, &p);
	fx__quit(t, &f);
}

/* A child of this process that is a copy of it and waits in a read; 0: none. */
static pid_t waiting_copy_of(pid_t parent)
{
	char *own = read_proc(parent, "cmdline"), want[16];
	DIR *proc = opendir("/proc");
	pid_t found = 0;
	struct dirent *d;

	snprintf(want, sizeof(want), "%d 0x", SYS_read);
	while (own && proc && !found && (d = readdir(proc))) {
		pid_t pid = (pid_t)atoi(d->d_name);
		char *cmdline, *call;

		if (pid <= 0 || status_field(pid, "PPid", 10) != (uint64_t)parent)
			continue;
		cmdline = read_proc(pid, "cmdline");
		call = read_proc(pid, "syscall");
		if (cmdline && call && !strcmp(cmdline, own) && !strncmp(call, want, strlen(want)))
			found = pid;
		free(cmdline);
		free(call);
	}
	if (proc)
		closedir(proc);
	free(own);
	return found;
}

/* False: it has exited instead. */
static bool stop(pid_t pid, int pidfd)
{
	char state = 0;

	if (syscall(SYS_pidfd_send_signal, pidfd, SIGSTOP, NULL, 0))
		return false;
	while (state != 'T' && (state = state_of(pid)) && state != 'Z' && state != 'X')
		poll(NULL, 0, 1);
	return state == 'T';
}

/* How many descriptors it has; 0: it was killed meanwhile. *ret_socket: one is a socket. */
static size_t count_descriptors(pid_t pid, bool *ret_socket)
{
	char path[64], to[64];
	struct dirent *d;
	size_t n_fds = 0;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	*ret_socket = false;
	while (fds && (d = readdir(fds))) {
		ssize_t n;

		if (d->d_name[0] == '.')
			continue;
		n_fds++;
		snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, d->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		*ret_socket |= n > 0 && !strncmp(to, "socket:", 7);
	}
	if (fds)
		closedir(fds);
	return n_fds;
}

/*
 * --overhead: what a probe hit costs is measured in a copy of malloctrace, which has its socket
 * alone. Another copy tries a uretprobe before that (x86_64), and has its pipe alone.
 */
TEST(readers_beside_a_meter)
{
	unsigned int left = patience_s(20) * 100;
	bool is_meter = false;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--overhead", "1", "--json", NULL);
	while (!is_meter && left--) {
		pid_t copy = waiting_copy_of(m.c.pid);
		int fd = copy ? (int)syscall(SYS_pidfd_open, copy, 0) : -1;

		/* it stands still while it is looked at; its pid may be another's by now */
		if (fd >= 0 && waiting_copy_of(m.c.pid) == copy && stop(copy, fd)) {
			size_t n = count_descriptors(copy, &is_meter);

			want(t, n <= 1, "a copy of malloctrace has %zu descriptors, wanted 1", n);
			syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
		}
		if (fd >= 0)
			close(fd);
		poll(NULL, 0, 1);
	}
	want(t, is_meter, "nothing was measured");
	mt__wait_attached(t, &m);
	mt__stop_json(t, &m, SIGINT, 0);
	fx__go(t, &f);
	fx__quit(t, &f);
}

static int limit_processes(const void *n)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NPROC, &l))
		return -1;
	l.rlim_cur = *(const rlim_t *)n;
	return setrlimit(RLIMIT_NPROC, &l);
}

/* ulimit -u is for those who use the shell: what malloctrace starts is somebody else. */
TEST(readers_of_a_shell_with_few_processes)
{
	static const rlim_t few = 1;	/* the soft limit: root may have no right to pass the other one */
	struct spawn s = { .argv = { lt_bin, "-p", NULL, "--json" }, .become = limit_processes, .become_arg = &few };
	json_t *root;
	struct fx f;
	struct mt m;

	if (geteuid())
		skip(t, "not root: they are who malloctrace is");
	fx__start(t, &f, "basic", "family", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !strstr(m.c.errs.s, "be read"), "a file was lost: %s", m.c.errs.s);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* Nobody may be started: not even root's rights help where it may not raise its limits. */
static int allow_no_processes(const void *arg)
{
	struct rlimit none = { 1, 1 };

	return prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE) || setrlimit(RLIMIT_NPROC, &none);
}

/* A clear error before anything is touched, not a trace that has seen nothing. */
TEST(readers_cannot_be_made)
{
	enum { DOCTOR = 3 };	/* what it finds is what it shows */
	static const struct {
		const char *argv[6];
		bool of_pid;
		int status;
	} calls[] = {
		{ { "-p" }, true, 1 },
		{ { "-a", "-d", "1" }, false, 1 },
		{ { "heap", "-p" }, true, 1 },
		[DOCTOR] = { { "doctor", "-p" }, true, 1 },
		{ { "--", "/bin/echo", "ran" }, false, 125 },
	};
	struct fx f;

	if (geteuid())
		skip(t, "not root: they are who malloctrace is");
	fx__start(t, &f, "basic", "family", NULL);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct spawn s = { .argv = { lt_bin }, .become = allow_no_processes };
		size_t n = 1;
		const char *said;
		struct mt m;

		for (size_t k = 0; calls[i].argv[k]; k++)
			s.argv[n++] = calls[i].argv[k];
		if (calls[i].of_pid)
			s.argv[n++] = pid_arg(f.c.pid);
		mt__start_v(t, &m, &s);
		want_eq(t, calls[i].argv[0], (uint64_t)calls[i].status, (uint64_t)child__wait(t, &m.c));
		said = i == DOCTOR ? m.c.outs.s : m.c.errs.s;
		want(t, strstr(said, "no process can be made for that: Resource temporarily unavailable") && strstr(said, "ulimit -u"),
		     "%s: the reason is not told: %s", calls[i].argv[0], said);
		want(t, !strstr(m.c.errs.s, "attached") && !strstr(m.c.errs.s, "stripped") && !strstr(m.c.outs.s, "losses") &&
			!strstr(m.c.outs.s, "ran"), "%s: it went on: %s%s", calls[i].argv[0], m.c.errs.s, m.c.outs.s);
	}
	fx__quit(t, &f);
}

/* ---- what becomes of the trace */

/* Those that have nothing to do just then are missed by nobody. */
TEST(readers_killed)
{
	struct pids p, later;
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	p = all_readers(t, &m);
	want(t, p.n >= 2, "the file was read by nobody");
	for (size_t i = 1; i < p.n; i++)
		kill(p.v[i], SIGKILL);
	fx__go(t, &f);
	later = all_readers(t, &m);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !strstr(m.c.errs.s, "could not be read"), "a file was lost: %s", m.c.errs.s);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_gone(t, &p);
	want_gone(t, &later);
	fx__quit(t, &f);
}

/* Also the one that starts others: another one takes its place. */
TEST(readers_killed_all)
{
	struct pids p;
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	p = all_readers(t, &m);
	kill(p.v[0], SIGKILL);
	want_gone(t, &p);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !strstr(m.c.errs.s, "could not be read"), "a file was lost: %s", m.c.errs.s);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

TEST(readers_die_with_malloctrace)
{
	struct pids p;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	p = all_readers(t, &m);
	want(t, p.n >= 2, "the file was read by nobody");
	/* one that does not listen dies, too */
	for (size_t i = 0; i < p.n; i++)
		kill(p.v[i], SIGSTOP);
	child__kill(t, &m.c, SIGKILL);
	child__wait(t, &m.c);
	want_gone(t, &p);
	fx__quit(t, &f);
}

static size_t count_frames(json_t *root, const char *module, bool named)
{
	json_t *f;
	size_t i, n = 0;

	json_array_foreach(json_object_get(root, "frames"), i, f)
		n += strstr(jstr(f, "module"), module) && !*jstr(f, "function") == !named;
	return n;
}

/*
 * A reader that does not answer: its file is named and has no names, others have theirs, and the figures are those of the
 * ledger. What was asked first is the program's own file: the innermost frame of a site is in it.
 */
TEST_LIMIT(readers_stopped, 180)
{
	const char *first = in_dir(t, "first.json"), *lost;
	char pids[32];
	struct pids before, p;
	json_t *root;
	struct fx a, b;
	struct mt m;

	fx__start(t, &a, "basic", "family", NULL);
	fx__start(t, &b, "threads", "cross", "1000", "2", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", (int)a.c.pid, (int)b.c.pid);
	mt__start(t, &m, "-p", pids, "--json", "-o", first, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	before = all_readers(t, &m);
	/* now there is one more, for names */
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace: snapshot 1 written", NULL, 60);
	p = all_readers(t, &m);
	must(t, p.n == before.n + 1, "readers, wanted %zu, got %zu", before.n + 1, p.n);
	for (size_t i = 0; i < p.n; i++)
		if (!has(&before, p.v[i]))
			kill(p.v[i], SIGSTOP);
	fx__go(t, &b);
	root = mt__stop_json(t, &m, SIGINT, 0);
	lost = strstr(m.c.errs.s, "could not be read: it took its reader more than 10 s; it is shown as addresses");
	must(t, lost != NULL, "nothing is said of the file: %s", m.c.errs.s);
	want(t, !strstr(lost + 1, "could not be read"), "more than one file was lost: %s", m.c.errs.s);
	want_ledger(t, root, process_of(t, root, a.c.pid, 0), &a.led, LED_TEMP | LED_PEAK | LED_REALLOC);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_TOTALS);
	want(t, count_frames(root, "/basic", true) > 0, "names that were known before are gone");
	want(t, count_frames(root, "/threads", false) > 0, "the file that was lost has names");
	want(t, count_frames(root, "/libc.so", true) > 0, "no other file has names");
	want_gone(t, &p);
	fx__quit(t, &a);
	fx__quit(t, &b);
}

/* After the first Ctrl-C; those that come within a second of it are part of it. */
static int interrupt_until_it_ends(struct test *t, struct mt *m)
{
	siginfo_t ended = {};

	do {
		child__kill(t, &m->c, SIGINT);
		poll(NULL, 0, 20);
	} while (!waitid(P_PID, (id_t)m->c.pid, &ended, WEXITED | WNOHANG | WNOWAIT) && !ended.si_pid);
	return child__wait_for(t, &m->c, patience_s(5));
}

/*
 * Ctrl-C while a reader does not answer: the probes go at once, though the report waits for its names; the next Ctrl-C does not
 * wait for anything.
 */
TEST_ALONE(readers_stopped_and_ctrl_c)
{
	struct pids p;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	p = all_readers(t, &m);
	/* no other one can be started, so the report waits for its names for long */
	kill(p.v[0], SIGSTOP);
	child__kill(t, &m.c, SIGINT);
	want_unprobed(t, f.c.pid);
	want(t, !kill(m.c.pid, 0) && !m.c.outs.n, "the report did not wait");
	want_eq(t, "exit", 128 + SIGINT, (uint64_t)interrupt_until_it_ends(t, &m));
	want_gone(t, &p);
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}

/* ---- a library that is loaded while they do not answer */

static void stop_readers(struct test *t, const struct mt *m)
{
	struct pids p = all_readers(t, m);

	for (size_t i = 1; i < p.n; i++)
		kill(p.v[i], SIGSTOP);
	for (size_t i = 1; i < p.n; i++)
		want_state(t, p.v[i], 'T');
}

static void start_loading(struct test *t, struct fx *f, struct mt *m)
{
	start_loader(t, f, ledgers(t));
	mt__start(t, m, "-p", pid_arg(f->c.pid), "--json", NULL);
	mt__wait_attached(t, m);
	stop_readers(t, m);
	fx__send(t, f, 'g');
	fx__wait_line(t, f, "loaded");
}

/* Nothing of its allocator was seen: that is a loss, not silence. */
TEST(readers_stopped_when_a_library_comes)
{
	json_t *root;
	struct fx f;
	struct mt m;

	start_loading(t, &f, &m);
	child__wait_err(t, &m.c, "malloctrace: ", "libjemalloc.so.2 could not be read: it took its reader more than 10 s; it is shown as addresses, and an allocator in it is not seen",
			patience_s(60));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want_u64(t, root, "losses.unread_file", 1);
	want_u64(t, root, "losses.total", 1);
	want_u64(t, root, "unread_files", 1);
	fx__quit(t, &f);
}

static int ignore_sigint(const void *arg)
{
	return signal(SIGINT, SIG_IGN) == SIG_ERR;
}

/* Keeps all readers from answering, also those that come, until no probe is left. How long that takes. */
static double stop_until_unprobed(struct test *t, const struct mt *m, pid_t target, pid_t other)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		struct pids p = readers_of(m->c.pid);

		for (size_t i = 0; i < p.n; i++) {
			struct pids of = readers_of(p.v[i]);

			kill(p.v[i], SIGSTOP);
			for (size_t k = 0; k < of.n; k++)
				kill(of.v[k], SIGSTOP);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		/* what is in another process, too, is of somebody's trace of all processes */
	} while (changed_bytes(t, target, "libc.so") > changed_bytes(t, other, "libc.so") && now.tv_sec - from.tv_sec < patience_s(60));
	return (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9;
}

/* The first Ctrl-C takes the probes out, though the library is still to be read; after the second one there is nothing to wait for. */
TEST_ALONE(readers_stopped_when_a_library_comes_and_ctrl_c)
{
	struct fx f, other;
	struct mt m;
	double s;
	int got;

	fx__start(t, &other, "basic", "family", NULL);
	start_loading(t, &f, &m);
	child__kill(t, &m.c, SIGINT);
	s = stop_until_unprobed(t, &m, f.c.pid, other.c.pid);
	/* a second where nobody else uses the machine; each reader that is waited for would take ten */
	want(t, s < 5, "probes were there for %.1f s after Ctrl-C", s);
	got = interrupt_until_it_ends(t, &m);
	/* a reader that answered before it was stopped lets the report be written before that: the library is lost in it */
	want(t, got == 128 + SIGINT || got == 3, "exit, wanted 130 or 3, got %d", got);
	fx__go(t, &f);
	fx__quit(t, &f);
	fx__quit(t, &other);
}

/* So it is for a script's job in the background, which is born deaf to Ctrl-C and hears it all the same. */
TEST_ALONE(second_ctrl_c_of_a_background_job)
{
	struct spawn s = { .argv = { lt_bin, "-p", NULL, "--json" }, .become = ignore_sigint };
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	/* the report waits for its names */
	kill(starter_of(t, &m), SIGSTOP);
	child__kill(t, &m.c, SIGINT);
	want_unprobed(t, f.c.pid);
	want_eq(t, "exit", 128 + SIGINT, (uint64_t)interrupt_until_it_ends(t, &m));
	fx__quit(t, &f);
}
