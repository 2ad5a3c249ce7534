// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns who of this machine is traced where probes are shared: those that are there when the trace begins, and once a second
 * what no message has told. What is reported of them in between is read in machine_streams.c.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "tracee/tracee.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"
#include "util/signals.h"

/* Examined each second, of those that need not be. */
#define FEW_A_SECOND 64
#define MANY_A_SECOND 512

void tracees__share(struct tracees *t, const struct selection *selection)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	m->t = t;
	m->selection = selection;
	t->machine = m;
	t->probing = &probing_shared;
}

void machine__free(struct machine *m)
{
	if (!m)
		return;
	images__done(&m->images);
	sharers__done(&m->by_memory);
	vec_done(&m->lent);
	vec_done(&m->dirty);
	vec_done(&m->waiting);
	hash__done(&m->n_code_of);
	err_done(&m->why_closed);
	free(m);
}

uint64_t tracees__n_left_out(const struct tracees *t)
{
	return kernel__n_closed(t->kernel) + (t->machine ? t->machine->n_closed : 0);
}

/* ---- what is selected */

bool machine__selects(const struct machine *m, pid_t pid, pid_t ppid, const char *comm, bool selected, const char *entered)
{
	_cleanup_free_ char *cgroups = NULL;

	if (!selection__selects(m->selection) || (m->selection->follow && selected))
		return true;
	if (!m->selection->cgroups.n || !process__cgroups(pid, &cgroups))
		return selection__wants(m->selection, comm, cgroups);
	/* one that is gone already was where it was when it was selected, where it went, or where its parent is */
	if (!entered && (selected || !ppid || process__cgroups(ppid, &cgroups)))
		return selected && selection__wants(&(struct selection){ .adopt = MT_ADOPT_ALL,
									 .comms = m->selection->comms },
						    comm, NULL);
	return selection__wants(m->selection, comm, entered ? entered : cgroups);
}

bool machine__wants(const struct selection *selection, pid_t pid)
{
	const struct machine m = { .selection = selection };
	char comm[32];

	process__thread_comm(pid, pid, comm);
	return machine__selects(&m, pid, 0, comm, false, NULL);
}

/* ---- how much code the processes of a user map */

static size_t add_code(struct machine *m, uid_t user, size_t by)
{
	size_t n = (uintptr_t)hash__get(&m->n_code_of, user) + by;

	if (n)
		hash__put(&m->n_code_of, user, (void *)(uintptr_t)n);
	else
		hash__remove(&m->n_code_of, user);
	return n;
}

void machine__count_code(struct machine *m, struct tracee *p)
{
	struct space *space = p->ended ? NULL : &tracee__life(p)->space;
	size_t n;

	if (!m)
		return;
	add_code(m, p->code_of, -p->n_code);
	p->n_code = space ? space->index.alive.n : 0;
	p->code_of = p->process.uid;
	n = add_code(m, p->code_of, p->n_code);
	if (space)
		space->n_beside = n - p->n_code;
}

/* ---- those that are there */

int machine__pass_over(struct machine *m, int err, struct err *why, struct err *e)
{
	if (err == -ENOMEM || err == -EPERM)
		return err_set(e, err, "%s", err_msg(why));
	if (err == -EACCES) {
		if (!m->n_closed++)
			m->why_closed = *why;
		else
			err_done(why);
		*why = (struct err){};
	}
	return 0;
}

/* An exec just before the kernel was told of a process is not reported. */
static int read_again(pid_t pid, struct process *p, struct err *e)
{
	char comm[32];

	process__thread_comm(pid, pid, comm);
	if (!*comm || !strcmp(comm, p->comm))
		return 0;
	process__done(p);
	return process__look(pid, p, e);
}

static void share(struct machine *m, const struct tracee *p, pid_t pid)
{
	struct lent one = { .pid = pid, .proc = tracee__life(p)->proc };
	bool selected = machine__wants(m->selection, pid);

	kernel__share(m->t->kernel, pid, one.proc, !selected);
	if (!selected)
		*vec_push(&m->lent) = one;
}

/* One that shares the memory of a tracee is no process of its own. */
static bool shares_memory(struct machine *m, pid_t pid)
{
	const struct tracee *p = tracees__find(m->t, sharers__sort_in(&m->by_memory, pid));

	if (!p || !tracee__life(p)->proc)
		return false;
	share(m, p, pid);
	return true;
}

/* Returns whether it is over and done with. */
static bool count_left(struct machine *m, struct lent *one, bool now)
{
	const struct tracee_life *l = hash__get(&m->t->by_proc, one->proc);
	bool was_left = one->is_left;

	/* it execs: the kernel's programs count what its memory is used for */
	if (l && tracee__life(l->tracee) != l)
		return true;
	one->is_left = !l || l->tracee->ended;
	/* a signal may have killed all of them: they exit one after the other */
	if (!one->is_left || !(was_left || now))
		return false;
	if (process__has_memory(one->pid) && kernel__check_borrower(m->t->kernel, one->pid, one->proc) && l)
		tracee__report_left(l->tracee, one->pid);
	return true;
}

static void count_all_left(struct machine *m, bool now)
{
	size_t n = 0;

	for (size_t i = 0; i < m->lent.n; i++)
		if (!count_left(m, &m->lent.v[i], now))
			m->lent.v[n++] = m->lent.v[i];
	m->lent.n = n;
}

void tracees__end_sharing(struct tracees *t)
{
	if (!t->machine)
		return;
	count_all_left(t->machine, false);
	if (vec_first(one, &t->machine->lent, one->is_left))
		poll(NULL, 0, SPAWN_MS);
	count_all_left(t->machine, true);
}

int machine__add_running(struct machine *m, pid_t pid, uint32_t proc, const struct tracee *parent, struct err *e)
{
	_cleanup_err_ struct err why = {};
	struct process process;
	struct tracee *p;
	uint64_t start_ticks;
	bool is_reported;
	int err = process__look(pid, &process, &why);

	if (err) {
		if (err == -EACCES)
			kernel__ignore(m->t->kernel, pid, proc);
		/* the programs know by themselves: should it become one that may be looked into, they see that */
		if (err == -EACCES && kernel__sees_own_only(m->t->kernel))
			kernel__reconsider(m->t->kernel, pid);
		return machine__pass_over(m, err, &why, e);
	}
	start_ticks = process.start_ticks;
	is_reported = proc;
	if (!is_reported && shares_memory(m, pid)) {
		process__done(&process);
		return 0;
	}
	if (!is_reported)
		err = kernel__add_process(m->t->kernel, pid, &proc, &why);
	if (err || hash__get(&m->t->by_proc, proc)) {
		process__done(&process);
		/* without room it is counted (process_full), or the trace is over */
		return err ? machine__pass_over(m, err, &why, e) : 0;
	}
	err = is_reported ? 0 : read_again(pid, &process, &why);
	if (err) {
		kernel__ignore(m->t->kernel, pid, proc);
		kernel__reconsider(m->t->kernel, pid);
		return machine__pass_over(m, err, &why, e);
	}
	err = tracees__add_running(m->t, &process, proc, parent ? tracee__life(parent) : NULL, &p, &why);
	if (err)
		return machine__pass_over(m, err, &why, e);
	/*
	 * it may have ended before the kernel was told, and its pid may be another's now: nothing
	 * will report it. What the kernel itself reported goes on until the message of its end: an
	 * exec may come before that.
	 */
	if (!is_reported && !process__is(pid, start_ticks)) {
		kernel__ignore(m->t->kernel, pid, proc);
		kernel__reconsider(m->t->kernel, pid);
		tracees__end_life(m->t, proc);
		tracee__end(m->t, p);
	}
	return 0;
}

/* Each process but our own and the kernel's threads. */
static int for_each_running(struct machine *m, int (*fn)(struct machine *m, pid_t pid, struct err *e), struct err *e)
{
	_cleanup_pids_ struct pids all = pids__of_all();
	pid_t pid;
	int err = 0;

	if (!all.dir)
		return err_set(e, all.err, "/proc: %s", strerror(-all.err));
	while (!err && !signal_asks_for_end() && (pid = pids__next_other(&all)))
		err = fn(m, pid, e);
	return err;
}

COMPARATOR(by_user, struct waiting,
	   ORDER(a->user, b->user) ?: ORDER(a->n_code, b->n_code) ?: ORDER(a->pid, b->pid))
/* Those with few mappings first; of all users in turn. */
COMPARATOR(by_turn, struct waiting,
	   ORDER(a->n_code > SPACE_ALWAYS_LISTED, b->n_code > SPACE_ALWAYS_LISTED) ?: ORDER(a->n_of_user, b->n_of_user) ?:
	   ORDER(a->pid, b->pid))

static int add_waiting(struct machine *m, struct err *e)
{
	struct waiting *v = m->waiting.v;
	int err = 0;

	vec_sort(&m->waiting, by_user);
	for (size_t i = 0; i < m->waiting.n; i++) {
		bool same = i && v[i].user == v[i - 1].user;

		v[i].n_of_user = v[i].n_code + (same ? v[i - 1].n_of_user : 0);
	}
	vec_sort(&m->waiting, by_turn);
	for (size_t i = 0; i < m->waiting.n && !err && !signal_asks_for_end(); i++)
		err = machine__add_running(m, v[i].pid, 0, NULL, e);
	vec_done(&m->waiting);
	return err;
}

static int wait_or_ignore(struct machine *m, pid_t pid, struct err *e)
{
	struct waiting w = { .pid = pid };
	pid_t own_pid;

	if (!machine__wants(m->selection, pid)) {
		kernel__ignore(m->t->kernel, pid, 0);
		/* the kernel reports who enters a cgroup from now on: not who did between the two */
		if (!m->selection->cgroups.n || !machine__wants(m->selection, pid))
			return 0;
	}
	/* not whose its files in /proc are: those of one that made itself undumpable are root's */
	if (process__ids(pid, &w.user, &own_pid))
		w.user = (uid_t)-1;
	/* of those that share a memory as many, so that the first of them is the target */
	w.n_code = maps__n_code(process__runner(pid) ?: pid, SPACE_MOST_LISTED);
	*vec_push(&m->waiting) = w;
	return 0;
}

/*
 * What a process frees that shares the memory of a selected one is freed, whatever its own name and
 * cgroup.
 */
static int add_sharer(struct machine *m, pid_t pid, struct err *e)
{
	if (!tracees__find(m->t, pid))
		shares_memory(m, pid);
	return 0;
}

static int add_child(struct machine *m, pid_t pid, struct err *e)
{
	const struct tracee *parent = NULL;

	if (!tracees__find(m->t, pid))
		parent = tracees__find(m->t, process__parent(pid));
	return parent ? machine__add_running(m, pid, 0, parent, e) : 0;
}

/*
 * A search reads all processes, and anybody can have one made by taking a name: it takes a tenth of
 * the time at most.
 */
void machine__find_sharers(struct machine *m)
{
	uint64_t began_ns = now_ns(), ended_ns;

	if (!m->was_renamed || began_ns < m->next_search_ns)
		return;
	for_each_running(m, add_sharer, NULL);
	sharers__done(&m->by_memory);
	m->was_renamed = false;
	ended_ns = now_ns();
	m->next_search_ns = ended_ns + 9 * (ended_ns - began_ns);
}

/* Those that are there: the selected; then, with -f, children that they have already, and theirs. */
static int read_processes(struct machine *m, struct err *e)
{
	size_t had;
	int err;

	for (size_t i = 0; i < m->t->v.n; i++)
		sharers__sort_in(&m->by_memory, m->t->v.v[i]->process.pid);
	err = m->selection->adopt == MT_ADOPT_ALL ? for_each_running(m, wait_or_ignore, e) : 0;
	if (!err)
		err = add_waiting(m, e);
	if (!err && selection__selects(m->selection) && m->t->v.n)
		err = for_each_running(m, add_sharer, e);
	do {
		had = m->t->v.n;
		if (!err && m->selection->follow)
			err = for_each_running(m, add_child, e);
	} while (!err && m->t->v.n > had);
	sharers__done(&m->by_memory);
	return err;
}

int tracees__probe_shared(struct tracees *t, struct err *e)
{
	int err;

	t->shared_probes = attachment__new(t->kernel, 0, false);
	err = tracees__probe_asked(t, e);
	/* a later process most likely maps what malloctrace does */
	if (!err && t->machine->selection->adopt == MT_ADOPT_ALL)
		err = tracees__probe_own(t, e);
	return err;
}

static int attach(struct tracees *t, struct err *e)
{
	struct machine *m = t->machine;
	uint64_t began_ns = now_ns();
	/* one that begins later is reported by a record */
	int err = 0;

	tracees__tell_tight(NULL);
	tracees__pause_for_any(t);
	if (!t->pause.since_ns)
		err = tracees__probe_shared(t, e);
	if (!err && t->want.recording.mode == MT_MODE_GROWTH)
		err = faults__open_all(t->kernel, &t->all_faults, e);
	if (!err)
		err = tracees__attach_all(m->t, e);
	if (!err) {
		say_step("Reading the processes that run.");
		m->t->begun = false;
		err = read_processes(m, e);
		m->t->begun = true;
	}
	say_verbose("read %zu processes in %.1f ms", m->t->v.n, (now_ns() - began_ns) / 1e6);
	if (!err && m->n_closed)
		say("%zu process%s left out: %s", m->n_closed, m->n_closed == 1 ? " is" : "es are",
		    err_msg(&m->why_closed));
	return err;
}

static void say_attached(const struct tracees *t)
{
	const char *first = NULL;
	size_t n_files = 0;

	for (size_t i = 0; i < t->files.n; i++) {
		const struct known_file *k = t->files.v[i];

		if (k->state != FILE_PROBED || !k->plan.n_funcs)
			continue;
		n_files++;
		first = first ? first : object__file_name(k->plan.object);
	}
	if (!first)
		first = t->want.recording.mode == MT_MODE_GROWTH ? "page faults" : "no allocator yet";
	if (t->pause.since_ns)
		say("attached to %zu process%s; probes follow when the emulator (valgrind, qemu) exits", t->n_live,
		    t->n_live == 1 ? "" : "es");
	else if (!t->n_live)
		say("attached; no match yet, waiting for processes to start: %s", first);
	else if (n_files < 2)
		say("attached to %zu process%s: %s", t->n_live, t->n_live == 1 ? "" : "es", first);
	else
		say("attached to %zu process%s: %s and %zu other file%s", t->n_live,
		    t->n_live == 1 ? "" : "es", first, n_files - 1, n_files == 2 ? "" : "s");
}

/* ---- what no message reports */

/* A life that was not reported: its message was lost. */
static void adopt_unreported(uint32_t proc, pid_t pid, void *arg)
{
	struct machine *m = arg;

	if (hash__get(&m->t->by_proc, proc))
		return;
	if (!process__has_memory(pid) || !machine__wants(m->selection, pid))
		kernel__ignore_unless_moved(m->t->kernel, pid, proc);
	else
		machine__add_running(m, pid, proc, NULL, NULL);
}

/* --mode growth: the events of a CPU go when it is switched off, and one that is switched on has none. */
static void follow_cpus(struct tracees *t)
{
	_cleanup_err_ struct err why = {};
	struct faults *now;

	if (!t->all_faults || faults__have_all(t->all_faults))
		return;
	t->gone_unprobed++;
	if (faults__open_all(t->kernel, &now, &why)) {
		/* it is tried again when there are others */
		faults__settle_for(t->all_faults);
		say("processors were switched on or off: page faults on new ones are not seen: %s", err_msg(&why));
		return;
	}
	/* what is under way meanwhile is charged once: the program knows a fault by its number */
	faults__close(t->all_faults);
	t->all_faults = now;
	say("processors were switched on or off: page faults on new ones were not seen, for up to a second");
}

static int on_second(struct tracees *t, bool watched, struct err *e)
{
	struct machine *m = t->machine;
	size_t n_left = MANY_A_SECOND, n_others = watched ? 0 : FEW_A_SECOND, n = m->t->v.n;

	images__drop_old(&m->images, now_ns());
	follow_cpus(t);
	for (size_t i = 0; i < n && n_left; i++) {
		struct tracee *p = m->t->v.v[m->turn++ % n];

		if (p->ended)
			continue;
		/* an end whose message was lost */
		if (kernel__has_ended(m->t->kernel, tracee__life(p)->proc)) {
			machine__end_life(m, tracee__life(p)->proc);
			tracee__end(m->t, p);
			continue;
		}
		p->stale |= tracee__is_unsettled(m->t, p);
		if (!p->stale && !n_others)
			continue;
		n_others -= !p->stale;
		n_left--;
		tracee__refresh(m->t, p, 0, NULL);
	}
	kernel__for_each_life(m->t->kernel, SECOND_NS, adopt_unreported, m);
	machine__find_sharers(m);
	count_all_left(m, false);
	tracees__unprobe_deleted(m->t);
	return tracees__try_to_resume(m->t, e);
}

const struct probing probing_shared = {
	.records_first = true,
	.attach = attach,
	.probe = tracee__probe_files,
	.say_attached = say_attached,
	.on_event = machine__on_event,
	.on_record = machine__on_record,
	.settle = machine__settle,
	.on_second = on_second,
};
