// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns `malloctrace heap`, the process of `serve` that listens, and the table of what a reader can be asked for.
 *
 * `malloctrace heap` looks at the processes one after the other, and shows the snapshot that comes of it as any
 * other is shown. What always holds: files that cannot be written are told of before a process is looked at; a signal
 * that asks for the end is obeyed between two reads of its memory.
 */
#include "cli/commands.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elf/apart.h"
#include "elf/object.h"
#include "heap/heap.h"
#include "model/heaps.h"
#include "names/sym.h"
#include "probe/kernel.h"
#include "probe/plan.h"
#include "probe/spots.h"
#include "process/process.h"
#include "reader/reader.h"
#include "serve/serve.h"
#include "trace/output.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/signals.h"
#include "util/util.h"

#define PATIENCE_NS SECOND_NS	/* before anything is said of how far it is */
#define STEP_NS (100 * MS_NS)

struct look {
	const struct opts *o;
	struct snapshot *s;
	struct objects *objects;
	struct snap_process *processes;
	struct snap_heap *heaps;
	bool failed;		/* of one of them there are no figures */
	bool tells;		/* the report says why, on the screen that messages are on: once is enough */
	const char *comm;	/* whose heap is being read */
	uint64_t began_ns, said_ns;
	sigset_t ends;		/* signals that are blocked while a heap is read */
};

static bool is_over(void *arg)
{
	return signal_asks_for_end();
}

static void on_unread(const char *path, const char *why, void *arg)
{
	say("%s could not be read: %s; its data and its types have no names", path, why);
}

/* malloctrace: redis-server: reading the heap, 42% */
static void on_progress(const char *what, double part, void *arg)
{
	struct look *l = arg;
	uint64_t now = now_ns();

	if (now - l->began_ns < PATIENCE_NS || now - l->said_ns < STEP_NS)
		return;
	l->said_ns = now;
	say_progress("%s: %s, %.0f%%", l->comm, what, part * 100);
}

/* ---- whose heap it is */

static void describe_host(struct snapshot *s)
{
	struct timespec now;
	char boot_id[BOOT_ID_MAX];
	struct utsname u;

	s->version = VERSION;
	s->kernel = s->arch = "";
	if (!uname(&u)) {
		s->kernel = snapshot__strdup(s, u.release);
		s->arch = snapshot__strdup(s, u.machine);
		s->host = snapshot__strdup(s, u.nodename);
	}
	if (machine__boot_id(boot_id))
		s->boot_id = snapshot__strdup(s, boot_id);
	clock_gettime(CLOCK_REALTIME, &now);
	s->wall_now_ns = now.tv_sec * SECOND_NS + now.tv_nsec;
	s->wall_start_ns = s->wall_now_ns;
	s->observed_share = 1;
	s->ended = true;
	s->by = "process";
	s->recording = (struct recording)RECORDING_PRESET;
}

static void describe(struct snapshot *s, const struct process *p, struct snap_process *to)
{
	to->pid = p->pid;
	to->comm = snapshot__strdup(s, p->comm);
	to->exe = snapshot__strdup(s, p->exe);
	to->cgroup = snapshot__strdup(s, p->cgroup);
	to->container = snapshot__strdup(s, p->container);
	to->pod = snapshot__strdup(s, p->pod);
	to->unit = snapshot__strdup(s, p->unit);
	to->age_at_attach_ns = p->age_ns;
	to->wall_started_ns = p->age_ns ? s->wall_now_ns - (int64_t)p->age_ns : 0;
	to->start_ticks = p->start_ticks;
	to->container_pid = p->ns_pid;
}

/* ---- the look */

static int look_at(struct look *l, const struct process *p, struct err *e)
{
	const struct target_calls calls = { .is_over = is_over, .progress = on_progress, .unread = on_unread, .arg = l };
	const struct heap_opts how = {
		.reachable = l->o->reachable, .roots = l->o->roots, .pause = l->o->pause, .parts = true,
		.list = opts__n_blocks(l->o), .calls = &calls, .objects = l->objects,
		.registers = registers__read,
	};
	size_t at = l->s->n_heaps;
	struct snap_heap *h = &l->heaps[at];
	int err;

	/* one that could not be read may have left figures there */
	*h = (struct snap_heap){};
	l->comm = p->comm;
	l->began_ns = now_ns();
	say_verbose("%s (%d): its heap is read", p->comm, p->pid);
	err = heap__look(p->pid, &how, l->s, h, e);
	say_progress(NULL);
	if (err)
		return err == -EINTR ? err_set(e, -EINTR, "%s (%d): stopped before its heap was read", p->comm, p->pid) : err;
	describe(l->s, p, &l->processes[at]);
	l->processes[at].id = (uint32_t)at + 1;
	l->processes[at].rss_bytes = h->rss_bytes;
	h->process = (uint32_t)at;
	l->s->n_heaps = l->s->n_processes = at + 1;
	if (h->refused) {
		l->failed = true;
		if (!l->tells)
			say_error("%s (%d): %s", p->comm, p->pid, h->refused);
	}
	return 0;
}

/* One that cannot be read is no reason to be silent about the others. */
static int look_at_all(struct look *l, struct err *e)
{
	size_t n = l->o->pids.n;

	for (size_t i = 0; i < n; i++) {
		_cleanup_err_ struct err own = {};
		struct process p = { .pidfd = -1 };
		int err = process__read(l->o->pids.v[i], &p, n > 1 ? &own : e);

		if (!err)
			err = look_at(l, &p, n > 1 ? &own : e);
		process__done(&p);
		if (!err)
			continue;
		if (n == 1 || err == -EINTR)
			return n > 1 ? err_set(e, err, "%s", err_msg(&own)) : err;
		say_error("%s", err_msg(&own));
		l->failed = true;
	}
	return 0;
}

/* ---- all of it */

static int run(struct look *l, struct output *out, struct err *e)
{
	size_t n = l->o->pids.n;
	int err = output__init(out, l->o, e);

	if (err)
		return err;
	l->tells = output__prints(out) && !opts__has_output(l->o, "-") && isatty(STDOUT_FILENO);
	l->s = snapshot__new();
	l->objects = objects__new();
	objects__without_probes(l->objects);
	describe_host(l->s);
	l->s->processes = l->processes = snapshot__alloc(l->s, n, sizeof(*l->processes));
	l->heaps = snapshot__alloc(l->s, n, sizeof(*l->heaps));
	err = readers__need(e) ?: look_at_all(l, e);
	if (err)
		return err;
	snapshot__set_heaps(l->s, l->heaps, l->s->n_heaps);
	/* it may be written into a pager: from now on nothing need be left in order */
	sigprocmask(SIG_UNBLOCK, &l->ends, NULL);
	if (!l->s->n_heaps)
		return 0;
	err = output__write_files(out, l->s, 0, false, e);
	if (!err && output__prints(out))
		err = output__print(out, l->s, e);
	return err == -EPIPE ? 0 : err;
}

int heap_command__run(const struct opts *o, int *ret_status, struct err *e)
{
	struct look l = { .o = o };
	struct output out = {};
	int err;

	signal(SIGPIPE, SIG_IGN);
	signals_of_end(&l.ends);
	sigprocmask(SIG_BLOCK, &l.ends, NULL);
	err = run(&l, &out, e);
	if (!err)
		*ret_status = l.failed ? EXIT_FAILED : 0;
	output__done(&out);
	objects__free(l.objects);
	snapshot__free(l.s);
	return err;
}

/* ---- serve */

/* Owns the listening socket, and the process that traces. */

/* 0: this is the new one. */
static pid_t start(const sigset_t *before)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	/* without the one that listens there is nobody to answer */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	sigprocmask(SIG_SETMASK, before, NULL);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Whom these options mean, and whether they are there: the next process will look itself, and what is found here is forgotten. */
static int try_targets(int argc, char **argv, struct err *e)
{
	struct opts o;
	int err = opts__parse(&o, argc, argv, e) ?: targets__find(&o, e);

	for (size_t i = 0; !err && i < o.pids.n; i++)
		if (kill(o.pids.v[i], 0) && errno == ESRCH)
			err = err_set(e, -ESRCH, "no process %d", (int)o.pids.v[i]);
	opts__done(&o);
	return err;
}

/* Would a process that traces begin with these? What can be known before the one that there is has ended is to be known now. */
static int try_options(const struct opts *now, int argc, char **argv, struct err *e)
{
	struct serve_secrets secrets = {};
	int err = listen__check(&now->serve, e) ?: secrets__read(&now->serve, &secrets, e) ?: try_targets(argc, argv, e);

	secrets__done(&secrets);
	return err;
}

/* The options once more, by what the file says now. false: they are wrong, and all stays as it was. */
static bool read_again(struct opts *o, int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct opts now;
	int fd = o->serve.listen_fd, err = opts__parse(&now, argc, argv, &e) ?: try_options(&now, argc, argv, &e);

	if (!err && strcmp(now.serve.listen, o->serve.listen)) {
		fd = listen__open(&now.serve, &e);
		err = fd < 0 ? fd : 0;
		if (!err)
			listen__close(&o->serve);
	}
	if (err) {
		/* the one before is listened at until the new one is had */
		say_error("%s%s; all goes on as before", err_msg(&e), err == -EADDRINUSE ? " (by the address before, if the port is the same: that takes a restart)" : "");
		opts__done(&now);
		return false;
	}
	now.serve.listen_fd = fd;
	opts__done(o);
	*o = now;
	return true;
}

static bool has_ended(pid_t pid)
{
	siginfo_t ended = {};

	return !waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid;
}

/*
 * The process that traces writes its last files and takes its probes away, for a reload. false: meanwhile all was to end, and has;
 * what was told to it only hastens it, as at any end.
 */
static bool wait_for_end(pid_t pid, int signals, int *ret_status)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	struct signalfd_siginfo info;
	bool goes_on = true, again = false;

	/* what came before it ended counts, too */
	while (!has_ended(pid) || poll(&p, 1, 0) > 0) {
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) {
			goes_on = false;
			if (info.ssi_code != SI_KERNEL)
				kill(pid, (int)info.ssi_signo);
		}
		again |= info.ssi_signo == SIGHUP;
	}
	*ret_status = wait_for(pid);
	/* options may have changed once more since they were read */
	if (again)
		kill(getpid(), SIGHUP);
	return goes_on;
}

/* The process that listens: until all is over, or, in the next process that traces, until it is to begin; then true. */
static bool watch(pid_t pid, struct opts *o, int argc, char **argv, const sigset_t *before, int signals, int *ret_status, int *ret_err, struct err *e)
{
	while (pid > 0) {
		struct signalfd_siginfo info;
		int sig = read(signals, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;

		if (sig == SIGCHLD) {
			if (!has_ended(pid))
				continue;
			/* nobody asked for it: the service manager starts all again */
			*ret_status = wait_for(pid);
			return false;
		}
		if (sig == SIGHUP && info.ssi_code != SI_KERNEL) {
			if (!read_again(o, argc, argv))
				continue;
			notify__say("RELOADING=1");
			kill(pid, SIGTERM);
			if (!wait_for_end(pid, signals, ret_status))
				return false;
			pid = start(before);
			continue;
		}
		/* a terminal tells both */
		if (sig > 0 && info.ssi_code != SI_KERNEL)
			kill(pid, sig == SIGHUP ? SIGTERM : sig);
	}
	if (pid < 0)
		*ret_err = err_set(e, -errno, "the process that traces cannot be started: %s", strerror(errno));
	return pid == 0;
}

bool serve_command__begin(struct opts *o, int argc, char **argv, int *ret_status, int *ret_err, struct err *e)
{
	static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
	sigset_t set, before;
	bool is_next;
	int signals;
	pid_t pid;

	o->serve.listen_fd = listen__open(&o->serve, e);
	if (o->serve.listen_fd < 0) {
		*ret_err = o->serve.listen_fd;
		*ret_status = *ret_err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
		return false;
	}
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	pid = signals < 0 ? -1 : start(&before);
	is_next = watch(pid, o, argc, argv, &before, signals, ret_status, ret_err, e);
	if (!is_next)
		listen__close(&o->serve);
	close(signals);
	return is_next;
}

/* ---- what a reader can be asked for */

/* Owns the table of what a reader can be asked for. */

const struct reader_question *const reader_questions[N_READER_KINDS] = {
	[READ_FILE] = &file_question,
	[READ_NAMES] = &names_question,
	[READ_JIT_LIST] = &jitmap_question,
	[READ_PLAN] = &plan_question,
	[READ_SPOTS] = &spots_question,
};
