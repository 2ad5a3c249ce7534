// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns `malloctrace heap`: looks at the processes one after the other, and shows the snapshot that comes of it as any
 * other is shown. What always holds: files that cannot be written are told of before a process is looked at; a signal
 * that asks for the end is obeyed between two reads of its memory.
 */
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "elf/object.h"
#include "heap/heap.h"
#include "model/heaps.h"
#include "probe/kernel.h"
#include "process/process.h"
#include "reader/reader.h"
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

static int show(struct output *out, struct snapshot *s, struct err *e)
{
	int err = output__write_files(out, s, 0, e);

	if (!err && output__prints(out))
		err = output__print(out, s, e);
	return err == -EPIPE ? 0 : err;
}

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
	return l->s->n_heaps ? show(out, l->s, e) : 0;
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
