// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns all stages of a trace and their order: the table `stages`. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "model/runtimes.h"
#include "model/triggers.h"
#include "probe/features.h"
#include "process/maps.h"
#include "reader/reader.h"
#include "trace/session.h"
#include "tracee/tracee.h"
#include "util/err.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/rights.h"
#include "util/signals.h"

/* Those that an end comes to first are asked first; a heap is scanned, or read, after all that may still need it as it was. */
static const struct session_module *const modules[] = {
	&spots_module, &requests_module, &heaps_module, &memory_module, &uses_module,
	&triggers_module, &calls_module, &server_module, &recycle_module,
};

void session__fail(struct session *s)
{
	loop__stop(s->loop);
}

void session__over(struct session *s)
{
	/* not all of them have ended: nobody asked for that */
	s->cut_short |= s->tracees.n_closed > 0;
	if (s->serving)
		say("all targets have ended: stopping");
	if (s->live)
		live__on_all_ended(s);
	else
		loop__stop(s->loop);
}

/* ---- signals and timers */

static void on_duration(void *arg)
{
	struct session *s = arg;

	loop__stop(s->loop);
}

#define LAST_READ_NS (400 * MS_NS)	/* after Ctrl-C, for what was mapped just before it */

static void on_signal(int sig, void *arg)
{
	struct session *s = arg;

	switch (sig) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
		signals__note_end();
		s->interrupted = true;
		loop__stop(s->loop);
		break;
	case SIGUSR1:
		if (s->attached)
			session__request(s, NULL, 0);
		break;
	case SIGUSR2:
		/* a snapshot that was requested before has the old one */
		session__serve_requests(s);
		if (s->attached)
			session__set_baseline(s);
		if (s->live)
			live__on_baseline(s);
		break;
	case SIGCHLD:
		if (s->spawn)
			spawn__on_sigchld(s->spawn);
		break;
	}
}

/* ---- start and stop */

void session__say_attached(struct session *s)
{
	s->tracees.probing->say_attached(&s->tracees);
	s->tracees.said_attached = true;
	s->attached = true;
	if (!s->budget)
		tracees__look_at_probes(&s->tracees, true);
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (modules[i]->on_attached)
			modules[i]->on_attached(s);
}

/* --mode leak: glibc's free is not probed, by which what such a function gave away would be seen to go. */
static int check_unfreed(const struct session *s, struct err *e)
{
	bool leak = recording__is_leak(&s->opts->recording);
	const struct alloc_func *f = leak ? alloc_funcs__unfreed(&s->tracees.funcs, FUNC_NAMED, FUNC_NAMED, 0) : NULL;

	return f ? err_set(e, -EINVAL, UNFREED_WORDS, "--sym", f->name) : 0;
}

static bool runs_python(pid_t pid)
{
	const struct runtime *r;
	struct maps maps;
	bool found = false;

	if (maps__read(pid, &maps, NULL))
		return false;
	for (size_t i = 0; i < maps.n && !found; i++) {
		r = maps.v[i].path ? runtime__of_file(path_basename(maps.v[i].path)) : NULL;
		found = r && !strcmp(r->name, "python");
	}
	maps__done(&maps);
	return found;
}

/*
 * Small objects are most of what Python programs keep: their arenas are recorded unasked, as far as
 * mappings can be (opts_check.c), of those processes that map Python. What CMD becomes is not known yet.
 */
static bool wants_arenas(const struct opts *o)
{
	const struct recording *r = &o->recording;
	bool python = o->cmd;

	if (r->python == PYTHON_OFF || r->mode != MT_MODE_FULL || r->size != SIZE_REQUESTED || recording__is_estimated(r) || recording__is_partial(r) ||
	    r->free_stacks || o->events)
		return false;
	for (size_t i = 0; i < o->pids.n && !python; i++)
		python = runs_python(o->pids.v[i]);
	return python;
}

/* What a named function is given and returns is shown as a size and an address: characters of a file that fgetc() reads. */
static int check_syms(const struct opts *o, struct err *e)
{
	if (!o->syms.n || !getuid() || !right__held(RIGHT_SYS_PTRACE))
		return 0;
	return err_set(e, -EPERM, "--sym: only root may use it where processes of other users can be traced: it shows arguments and results of any function");
}

/* The values that only the table of functions can judge. */
static int check_usage(struct session *s, struct err *e)
{
	const struct opts *o = s->opts;
	int err = 0;

	s->status = EXIT_USAGE;
	tracees__init(&s->tracees, recording__is_growth(&o->recording));
	s->tracees.want = plan_want__of(&o->recording);
	s->tracees.names_to_come = o->debuginfod;
	if (o->recording.mmap || wants_arenas(o))
		tracees__want_mappings(&s->tracees, !o->recording.mmap);
	err = check_syms(o, e);
	if (o->prefix && !err)
		err = alloc_funcs__add_prefix(&s->tracees.funcs, o->prefix, e);
	for (size_t i = 0; i < o->syms.n && !err; i++)
		err = alloc_funcs__add_sym(&s->tracees.funcs, o->syms.v[i], e);
	err = err ?: check_unfreed(s, e) ?: session__ask_spots(s, e);
	if (!err)
		s->status = EXIT_FAILED;
	return err;
}

static int check(struct session *s, struct err *e)
{
	const struct opts *o = s->opts;
	int err;

	selection__init(&s->selection, o->all, o->follow, &o->comms, &o->cgroups);
	err = descriptors__raise(e) ?: selection__check(&s->selection, e) ?: output__init(&s->output, o, e);

	for (size_t i = 0; i < o->pids.n && !err; i++) {
		struct process p;

		err = process__read(o->pids.v[i], &p, e);
		if (!err)
			process__done(&p);
	}
	return err;
}

/* What the targets map, and what is to be probed in it: of a big program that takes a while. */
static int plan_probes(struct session *s, struct err *e)
{
	const struct opts *o = s->opts;
	int err = readers__need(e);

	if (!err && o->pids.n)
		say_step("Looking for allocators in what it maps.");
	for (size_t i = 0; i < o->objects.n && !err; i++)
		err = tracees__ask_for(&s->tracees, o->objects.v[i], e);
	for (size_t i = 0; i < o->pids.n && !err; i++)
		err = tracees__add(&s->tracees, o->pids.v[i], e);
	if (!err && o->pids.n)
		err = tracees__check_spots(&s->tracees, e);
	if (!err && (o->pids.n || o->objects.n)) {
		err = tracees__check_unfreed(&s->tracees, e);
		if (err == -EINVAL)
			s->status = EXIT_USAGE;
	}
	if (!err && o->pids.n)
		tracees__tell_named(&s->tracees);
	return err;
}

/*
 * How programs are loaded depends on whether a target shares its memory with other processes, and loading takes long: it may by
 * then. One that is made later is borrowed_unseen or borrowed_unclear.
 */
static int open_kernel(struct session *s, struct kernel_opts *k, struct err *e)
{
	const struct tracee *sharing = k->adopt ? NULL : tracees__sharing(&s->tracees);
	int err;

	if (sharing && recording__has_budget(&s->opts->recording))
		return err_set(e, -ENOTSUP,
			       "%s (%d) shares its memory with other processes, which --overhead cannot see: trace it without, or with --sample",
			       sharing->process.comm, (int)sharing->process.pid);
	k->by_memory = sharing;
	say_step("Loading programs and tables into the kernel.");
	err = kernel__open(k, &s->kernel, e);
	if (err || k->adopt || k->by_memory || !tracees__gained_sharers(&s->tracees))
		return err;
	kernel__close(s->kernel);
	s->kernel = NULL;
	return open_kernel(s, k, e);
}

static int load(struct session *s, struct err *e)
{
	const struct opts *o = s->opts;
	bool by_turns = recording__has_budget(&o->recording) && s->selection.adopt;
	struct kernel_opts k = {
		.recording = o->recording,
		/* with a budget each process that is watched has its own */
		.adopt = by_turns ? MT_ADOPT_NONE : s->selection.adopt,
		.by_comm = !by_turns && s->selection.adopt == MT_ADOPT_ALL && o->comms.n,
		.by_cgroup = !by_turns && s->selection.adopt == MT_ADOPT_ALL && o->cgroups.n,
		.n_procs = s->selection.adopt ? MT_MAX_PROCS : 0,
		.spots = s->tracees.spots.n > 0,
		.calls = o->events,
		/* which program comes later is not known */
		.python = o->recording.python != PYTHON_OFF && !recording__is_growth(&o->recording) &&
			  (s->selection.adopt || s->spawn || tracees__may_run_python(&s->tracees)),
	};
	int err;

	k.recording.arenas = s->tracees.want.recording.arenas;
	err = open_kernel(s, &k, e);

	if (!err)
		err = kernel__load_spots(s->kernel, &s->tracees.spots, e);
	s->code = (struct code_calls){ tracees__is_same_code, tracees__is_written, &s->tracees };
	if (!err)
		err = collect__new(s->kernel, &s->code, &s->collect, e);
	if (err)
		return err;
	s->model = model__new();
	s->unwind = unwind__new(s->kernel, o->recording.unwind);
	s->tracees.kernel = s->kernel;
	s->tracees.model = s->model;
	s->tracees.unwind = s->unwind;
	if (s->selection.adopt && by_turns)
		tracees__scout(&s->tracees, &s->selection, s->opts->recording.overhead_pct / 100);
	else if (s->selection.adopt)
		tracees__share(&s->tracees, &s->selection);
	if (recording__has_budget(&o->recording)) {
		struct budget_opts b = { s->kernel, s->collect, s->unwind, &s->tracees };

		say_step("Measuring what a probe hit costs.");
		return budget__new(&b, &s->budget, e);
	}
	price__measure_trap(s->kernel);
	return 0;
}

/* All probes are in place: the trace begins. */
static int begin(struct session *s, struct err *e)
{
	s->start_ns = now_ns();
	model__begin(s->model, kernel__clock_ns(s->kernel), wall_ns(), s->start_ns);
	session__await_start(s);
	return 0;
}

/* CMD was made before, and has what it is to have. */
static int settle(struct session *s, struct err *e)
{
	return settle__process(e);
}

int session__start_timers(struct session *s)
{
	const struct opts *o = s->opts;
	int err = o->interval_ns ? loop__add_timer(s->loop, o->interval_ns, false, session__on_interval, s) : 0;

	if (err || !o->duration_ns)
		return err;
	s->due_ns = now_ns() + o->duration_ns;
	return loop__add_timer(s->loop, o->duration_ns, true, on_duration, s);
}

void session__on_snapshot(struct session *s, struct snapshot *snap, const struct mt_reached *mark)
{
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (modules[i]->on_snapshot)
			modules[i]->on_snapshot(s, snap, mark);
}

static void on_second(void *arg)
{
	struct session *s = arg;

	session__read_events(s);
	if (s->tracees.probing->on_second(&s->tracees, s->watch, &s->failure))
		session__fail(s);
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (modules[i]->on_second)
			modules[i]->on_second(s);
	/* with a budget they come and go */
	if (!s->budget)
		tracees__look_at_probes(&s->tracees, false);
}

static void on_python(void *arg)
{
	struct session *s = arg;

	tracees__note_code(&s->tracees);
}

static void on_python_awaited(void *arg)
{
	struct session *s = arg;

	tracees__retry_python(&s->tracees);
	if (kernel__lacks_python_room(s->kernel))
		session__make_python_room(s);
}

/* How often it is asked whether interpreters are loaded; a look at some numbers. */
#define PYTHON_NS (SECOND_NS / 20)

static int fill_loop(struct session *s, struct err *e)
{
	int err = loop__add_fd(s->loop, kernel__events_fd(s->kernel), session__on_events, s);

	for (size_t i = 0; i < s->tracees.v.n && !err; i++)
		if (s->tracees.v.v[i]->process.pidfd >= 0)
			err = loop__add_fd(s->loop, s->tracees.v.v[i]->process.pidfd, session__on_pidfd, s);
	for (size_t i = 0; s->watch && i < watch__n_fds(s->watch) && !err; i++)
		err = loop__add_fd(s->loop, watch__fd(s->watch, i), session__on_watch, s);
	if (!err && s->writes)
		err = loop__add_fd(s->loop, writes__fd(s->writes), session__on_writes, s);
	if (!err)
		err = loop__add_timer(s->loop, SECOND_NS, false, on_second, s);
	if (!err && kernel__python_fd(s->kernel) >= 0)
		err = loop__add_fd(s->loop, kernel__python_fd(s->kernel), on_python, s) ?:
		      loop__add_timer(s->loop, PYTHON_NS, false, on_python_awaited, s);
	if (!err && !s->spots.waiting)
		err = session__start_timers(s);
	if (!err && s->budget)
		err = budget__begin(s->budget, s->loop);
	for (size_t i = 0; i < ARRAY_SIZE(modules) && !err; i++)
		err = modules[i]->watch ? modules[i]->watch(s) : 0;
	return err ? err_set(e, err, "event loop: %s", strerror(-err)) : 0;
}

/* The report does not wait for the kernel to give the probes back, which session__run() does. */
static void leave(struct session *s)
{
	if (!s->tracees.spots.n) {
		tracees__begin_detach(&s->tracees);
		return;
	}
	tracees__detach(&s->tracees);
	/* the call that was waited for may have come just then */
	kernel__freeze(s->kernel, true);
}

/*
 * Probes go within a second of Ctrl-C, whatever is being read; but a search that was asked for takes its time, until the next
 * Ctrl-C.
 */
void session__bound_last_reading(const struct session *s)
{
	readers__end_at(s->interrupted && !s->opts->reachable && !s->opts->roots ? now_ns() + LAST_READ_NS : 0);
}

/* The report does not wait for a debugger, which may take its time. */
static void end_recording(struct session *s)
{
	struct debugger debugger;

	kernel__freeze(s->kernel, true);
	if (!tracees__debugged(&s->tracees, &debugger))
		leave(s);
	readers__end_at(0);
	signals__begin_report(NULL);
}

static int finish(struct session *s, struct err *e)
{
	struct snapshot *snap;
	int err = 0;

	s->finishing = true;
	session__bound_last_reading(s);
	/* after the next two readings nothing would let it go on */
	kernel__hold_on_exec(s->kernel, 0);
	/*
	 * a program that a target became just now, a library that it has just loaded: what it maps
	 * is read as long as it is attached to
	 */
	session__on_watch(s);
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (modules[i]->on_end)
			modules[i]->on_end(s);
	if (!s->end_ns)
		s->end_ns = now_ns();
	/* --exact: nothing else comes before it, as the targets stand still until then */
	if (!s->scans_last)
		kernel__freeze(s->kernel, true);
	session__note_cut(s);
	session__let_heaps_go_on(s, true);
	session__bound_uses(s);
	tracees__sample(&s->tracees, true);
	if (!s->budget)
		tracees__look_at_probes(&s->tracees, true);
	/* whose the stacks are that were met up to now */
	if (!s->tracees.probing->records_first)
		session__read_records(s);
	if (s->budget)
		budget__end(s->budget);
	/* a heap scan follows the raw snapshot and needs to know which blocks are freed meanwhile */
	if (!s->scans_last)
		end_recording(s);
	session__read_events(s);
	tracees__end_sharing(&s->tracees);
	tracees__end_pause(&s->tracees);
	tracees__tell_spots(&s->tracees);
	tracees__tell_named(&s->tracees);
	session__report_usage(s);
	snap = session__take_last(s, e);
	if (s->scans_last)
		end_recording(s);
	session__end_calls(s);
	if (!snap) {
		signals__end_report();
		return e->code ?: -EIO;
	}
	session__tell_trigger(s, snap);
	/* what `serve` writes, its conditions have asked for */
	err = s->opts->serve.on ? 0 : output__write_last(&s->output, snap, e);
	/* nothing but CMD is waited for now, if even that */
	signals__end_report();
	/* what could not be written is worse than what it would have said of losses */
	s->status = err || s->cut_short ? EXIT_FAILED : snap->losses_total && !s->opts->serve.on ? EXIT_LOSSES : EXIT_DONE;
	snapshot__free(snap);
	return err;
}

/* ---- the stages */

static int make_loop(struct session *s, struct err *e)
{
	struct sigaction hangup;
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* not below nohup */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	uname(&s->uname);
	machine__boot_id(s->boot_id);
	s->loop = loop__new();
	err = s->loop ? loop__add_signals(s->loop, &set, on_signal, s) : -errno;
	return err ? err_set(e, err, "event loop: %s", strerror(-err)) : 0;
}

static int init_modules(struct session *s, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modules) && !err; i++)
		err = modules[i]->init ? modules[i]->init(s) : 0;
	return err ? err_set(e, err, "event loop: %s", strerror(-err)) : 0;
}

/* Before attaching reads what is mapped, so that nothing falls between the two. */
static int watch(struct session *s, struct err *e)
{
	s->writes = writes__new();
	s->kernel->writes = s->writes;
	if (!s->writes)
		say("do not overwrite probed files while malloctrace runs: it cannot notice that here (no inotify)");
	if (watch__open(tracees__are_shared(&s->tracees), &s->watch, e)) {
		say("without perf events, code that is loaded later is noticed up to a second late: %s", err_msg(e));
		err_done(e);
	}
	return 0;
}

static int attach(struct session *s, struct err *e)
{
	int err = s->tracees.probing->attach(&s->tracees, e);

	if (!err)
		resident__begin(&s->memory, &s->tracees);
	session__follow_uses(s);
	return err;
}

/* CMD begins, and says when it is attached to; all others are. */
static int set_going(struct session *s, struct err *e)
{
	if (!s->spawn) {
		session__say_attached(s);
		return 0;
	}
	kernel__hold_on_exec(s->kernel, spawn__pid(s->spawn));
	return spawn__go(s->spawn, e);
}

static int loop(struct session *s, struct err *e)
{
	int err = loop__run(s->loop, e);
	bool watched = s->live;

	live__end(s);
	if (!err && watched && s->spawn && !tracees__all_ended(&s->tracees))
		say("detached; waiting for %s to exit (Ctrl-C ends it)", s->opts->cmd[0]);
	if (!err && s->failure.code && s->failure.code != -ESRCH && s->failure.code != -ENOENT)
		err = err_set(e, s->failure.code, "%s", err_msg(&s->failure));
	if (!err && s->spawn && tracees__all_ended(&s->tracees))
		spawn__wait(s->spawn);
	if (!err && s->spawn && spawn__exec_errno(s->spawn))
		err = err_set(e, -spawn__exec_errno(s->spawn), "cannot run %s: %s", s->opts->cmd[0],
			      strerror(spawn__exec_errno(s->spawn)));
	return err;
}

static int (*const stages[])(struct session *s, struct err *e) = {
	check_usage,	/* options that are wrong, */
	check,		/* then outputs and targets, so that errors come before anything is touched */
	make_loop,
	session__open_server,	/* where HTTP is spoken: its process must have nothing of what comes next */
	live__open,	/* the screen of the live view: it shows the next stages */
	plan_probes,	/* what the targets map, and what is to be probed in it */
	/* before there are programs and tables, which the copy of malloctrace that becomes CMD must not have */
	session__start_program,
	load,		/* programs and tables */
	init_modules,
	watch,		/* what is mapped and written from here on */
	attach,		/* all probes */
	begin,		/* the trace begins, at one instant */
	settle,		/* what is not needed any more is given up, before there are threads that last */
	fill_loop,
	set_going,
	live__begin,
	loop,		/* until Ctrl-C, the end of the time, or the end of the targets */
	finish,		/* the trace ends, at one instant; the targets run free; the report */
};

static int run(struct session *s, struct err *e)
{
	int err = 0;

	/* signals wait for the loop: before there is anything to report, one that ends a trace ends the start */
	for (size_t i = 0; i < ARRAY_SIZE(stages) && !err; i++)
		err = s->start_ns || !signal_asks_for_end() ? stages[i](s, e) :
		      err_set(e, -EINTR, "interrupted before the trace began: nothing was recorded");
	return err;
}

/* The order is the reverse of the start's; probes go before anything that they use. */
static void done(struct session *s)
{
	tracees__detach(&s->tracees);
	for (size_t i = ARRAY_SIZE(modules); i-- > 0;)
		if (modules[i]->done)
			modules[i]->done(s);
	watch__close(s->watch);
	loop__free(s->loop);
	budget__free(s->budget);
	writes__free(s->writes);	/* after the last link, and before the objects, which it has no references to */
	collect__free(s->collect);
	unwind__free(s->unwind);
	kernel__close(s->kernel);
	model__free(s->model);
	output__done(&s->output);	/* the symbol cache holds objects */
	if (s->tracees.objects)
		tracees__done(&s->tracees);
	selection__done(&s->selection);
	vec_done(&s->events);
	taken__done(&s->taken);
	err_done(&s->failure);
}

/* See tracee.h. */
static void outlast_debuggers(struct session *s)
{
	struct timespec while_it_is_there = { 0, 50000000 };
	struct debugger d;
	pid_t reported = 0, pid;

	while ((pid = tracees__debugged(&s->tracees, &d))) {
		if (pid != reported)
			say("%s (%d) debugs process %d and has breakpoints where malloctrace has probes: detaching first would kill that process. Waiting until the debugger detaches or deletes them; Ctrl-C detaches now",
			    d.comm, (int)d.pid, (int)pid);
		reported = pid;
		nanosleep(&while_it_is_there, NULL);
	}
}

int session__run(const struct opts *o, int *ret_status, struct err *e)
{
	struct session s = { .opts = o, .memory_fd = -1, .requests_fd = -1, .status = EXIT_FAILED };
	int err = run(&s, e);
	uint64_t detached_ns;

	/* from here on nothing reads what would let CMD go on after an exec */
	if (s.kernel && s.spawn) {
		kernel__hold_on_exec(s.kernel, 0);
		spawn__let_go(s.spawn);
	}
	live__end(&s);
	outlast_debuggers(&s);
	detached_ns = tracees__detach(&s.tracees);
	if (s.end_ns)
		say_verbose("detached in %.1f ms", (detached_ns - s.end_ns) / 1e6);
	if (s.spawn)
		s.status = session__program_status(&s, err);
	else if (err && o->cmd && s.status != EXIT_USAGE)
		s.status = EXIT_CMD_UNTRACED;
	cmd_output__close(&s.cmd_output);
	*ret_status = s.status;
	spawn__free(s.spawn);
	done(&s);
	return err;
}
