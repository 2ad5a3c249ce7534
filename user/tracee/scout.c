// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is known of processes that are not watched, and decides who is. What always holds: at most MANY are
 * watched at a time, none that translates code, and malloctrace never watches itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "tracee/tracee_parts.h"
#include "util/hash.h"
#include "util/log.h"
#include "util/parse.h"

#define MANY 64			/* watched at a time; each has a dozen links when its turn comes */
#define A_SECOND 4		/* that begin to be watched in a second: each has to be read first */
#define AT_FIRST 4
#define SPARING 8		/* seconds, in which one begins to be watched while malloctrace itself takes more than its share */
#define LEAST 0.002		/* attention, that makes a process worth it */
#define READ_A_SECOND 512	/* processes; where there are more, each is read less often */
#define SMOOTH_NS (8.0 * SECOND_NS)	/* "lately" */
#define YOUNG_NS (2 * SECOND_NS)	/* younger ones may be gone before they are read */

struct scout_reading {		/* of a process */
	uint64_t t_ns;
	uint64_t cpu_ns, rss_bytes;
};

struct scout_pulse {		/* what is known of it */
	struct scout_reading last;
	double cpus;		/* CPU time per time, lately */
	double grows_per_s;	/* bytes, lately; never below 0 */
};

struct seen_process {
	pid_t pid, ppid;
	uint64_t start_ticks;
	struct scout_pulse pulse;
	bool selected;
	bool refused;		/* it cannot be watched, however much room there is */
	uint64_t round;		/* when it was last there */
	double attention;
};

struct scout {
	struct tracees *t;	/* not owned */
	const struct selection *selection;	/* not owned */
	struct probing probing;	/* that of processes of their own, but for what is here */
	struct hash by_pid;	/* struct seen_process, owned */
	uint64_t round, ram_bytes;
	uint64_t cpu_before_ns;	/* that the machine had used when the trace began */
	double own_share;	/* of the CPUs, that malloctrace itself may take */
	struct scout_pulse own;
	size_t n_selected, n_counted, n_ever;	/* n_counted: in the rounds under way */
	bool said_full;
	bool said_no_more;	/* since one began to be watched */
};

/* ---- plain arithmetic */

static void scout_pulse__read(struct scout_pulse *p, const struct scout_reading *r)
{
	double ns = p->last.t_ns && r->t_ns > p->last.t_ns ? r->t_ns - p->last.t_ns : 0, part = ns / (ns + SMOOTH_NS);
	double cpus, grows;

	if (ns > 0) {
		cpus = r->cpu_ns > p->last.cpu_ns ? (r->cpu_ns - p->last.cpu_ns) / ns : 0;
		grows = r->rss_bytes > p->last.rss_bytes ? (r->rss_bytes - p->last.rss_bytes) * (SECOND_NS / ns) : 0;
		p->cpus += (cpus - p->cpus) * part;
		p->grows_per_s += (grows - p->grows_per_s) * part;
	}
	p->last = *r;
}

/* How much it deserves to be looked at: 0 for one that rests, about 1 for one that grows by a MiB a second, or that has a CPU for itself. */
static double scout_pulse__attention(const struct scout_pulse *p, uint64_t ram_bytes)
{
	double grows = p->grows_per_s / (1 << 20), holds = ram_bytes ? (double)p->last.rss_bytes / ram_bytes : 0;

	return MIN(p->cpus, 1) + MIN(grows, 1) * (1 + holds) + (p->cpus > 0 || grows > 0 ? holds / 4 : 0);
}

/* ---- who is there */

static bool is_selected(const struct scout *s, const struct seen_process *p)
{
	const struct seen_process *parent = hash__get(&s->by_pid, (uint64_t)p->ppid);

	if (process__is_own(p->pid) || p->ppid == getpid())
		return false;
	/* -f: of those that were named, or of their children */
	if (s->selection->follow && (tracees__find(s->t, p->ppid) || (parent && parent->selected)))
		return true;
	return s->selection->adopt == MT_ADOPT_ALL && (!selection__selects(s->selection) || machine__wants(s->selection, p->pid));
}

static struct seen_process *seen_of(struct scout *s, pid_t pid, const struct process_pulse *now)
{
	struct seen_process *p = hash__get(&s->by_pid, (uint64_t)pid);

	/* the pid came again */
	if (p && p->start_ticks != now->start_ticks)
		*p = (struct seen_process){ .pid = pid };
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		hash__put(&s->by_pid, (uint64_t)pid, p);
	}
	p->pid = pid;
	p->ppid = now->ppid;
	p->start_ticks = now->start_ticks;
	return p;
}

static void read_one(struct scout *s, pid_t pid)
{
	struct process_pulse now;
	struct seen_process *p;
	struct tracee *watched;

	if (process__pulse(pid, &now) || !now.rss_bytes)
		return;
	p = seen_of(s, pid, &now);
	p->round = s->round;
	/* the first time: over its whole life */
	if (!p->pulse.last.t_ns && now.age_ns > YOUNG_NS)
		p->pulse.cpus = (double)now.cpu_ns / now.age_ns;
	scout_pulse__read(&p->pulse, &(struct scout_reading){ now_ns(), now.cpu_ns, now.rss_bytes });
	p->attention = scout_pulse__attention(&p->pulse, s->ram_bytes);
	p->selected = now.age_ns > YOUNG_NS && is_selected(s, p);
	s->n_counted += p->selected;
	watched = tracees__find(s->t, pid);
	if (watched)
		watched->attention = p->attention;
}

static void forget_gone(struct scout *s, uint64_t rounds)
{
	for (size_t i = 0; i < s->by_pid.room; i++) {
		struct seen_process *p = s->by_pid.slots[i].value;

		if (p && p->round + rounds < s->round) {
			free(hash__remove(&s->by_pid, s->by_pid.slots[i].key));
			/* another one may have taken its place in the table */
			i--;
		}
	}
}

static void read_all(struct scout *s)
{
	_cleanup_pids_ struct pids all = pids__of_all();
	uint64_t every = s->by_pid.n / READ_A_SECOND + 1;
	size_t n = 0;
	pid_t pid;

	s->round++;
	if (s->round % every == 0) {
		s->n_selected = s->n_counted;
		s->n_counted = 0;
	}
	while ((pid = pids__next(&all)))
		if (n++ % every == s->round % every)
			read_one(s, pid);
	forget_gone(s, every * 2);
}

/* ---- who is watched */

COMPARATOR(by_attention, struct seen_process *const, ORDER((*b)->attention, (*a)->attention))

static int watch(struct scout *s, struct seen_process *p, struct err *e)
{
	struct tracee *tracee;
	bool full = false;
	int err = tracees__add(s->t, p->pid, e);

	tracee = tracees__find(s->t, p->pid);
	if (!err) {
		err = tracee__begin(s->t, tracee, true, e);
		full = err == -ENOSPC;
	}
	if (!err) {
		tracee->attention = p->attention;
		s->n_ever++;
		s->said_no_more = false;
		say_verbose("watching %s (%d): %s/s more memory, %.2f CPUs", tracee->process.comm, (int)p->pid,
			    fmt_bytes((char[FMT_MAX]){}, (uint64_t)p->pulse.grows_per_s), p->pulse.cpus);
		return 0;
	}
	p->refused = !full;
	if (full && !s->said_no_more) {
		s->said_no_more = true;
		say("no other process can be watched until one of those that are has ended: %s", err_msg(e));
	}
	say_verbose("%d is not watched: %s", (int)p->pid, err_msg(e));
	if (tracee) {
		kernel__ignore(s->t->kernel, p->pid, 0);
		tracees__drop(s->t, tracee);
	}
	return err == -ENOMEM ? err : 0;
}

static int choose(struct scout *s, size_t at_once, struct err *e)
{
	struct seen_process **v = xcalloc(s->by_pid.n + 1, sizeof(*v));
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < s->by_pid.room; i++) {
		struct seen_process *p = s->by_pid.slots[i].value;

		if (p && p->selected && !p->refused && p->round == s->round && p->attention >= LEAST && !tracees__find(s->t, p->pid))
			v[n++] = p;
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), by_attention);
	/* once there was no room, one attempt a second shows whether there is again */
	for (size_t i = 0; i < MIN(n, s->said_no_more ? 1 : at_once) && !err && s->t->n_live < MANY; i++) {
		_cleanup_err_ struct err why = {};

		err = watch(s, v[i], &why);
		if (err)
			err_set(e, err, "%s", err_msg(&why));
	}
	if (n && s->t->n_live >= MANY && !s->said_full) {
		s->said_full = true;
		say("%d processes are watched, which is as many as can be: others that grow are only watched when one of these has ended", MANY);
	}
	free(v);
	return err;
}

/* ---- as probing */

static int attach(struct tracees *t, struct err *e)
{
	struct scout *s = t->scout;
	/* of -f -p, and of -- CMD */
	int err = tracees__attach_all(t, e);

	if (err)
		return err;
	/* those that were named are watched all the same */
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i]->attention = 1;
	s->n_ever = t->v.n;
	say_step("Reading the processes that run.");
	s->cpu_before_ns = machine__cpu_ns();
	read_all(s);
	return choose(s, AT_FIRST, e);
}

static void say_attached(const struct tracees *t)
{
	struct scouted n = scout__sums(t);

	say("attached: %zu of %zu processes are watched by turns, those that grow or run; others when they do", n.watched, n.selected);
}

/* To read a process that begins to be watched, and to give its probes back, is most of what malloctrace itself does. */
static bool is_sparing(struct scout *s)
{
	struct timespec used = {};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	scout_pulse__read(&s->own, &(struct scout_reading){ now_ns(), (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec, 0 });
	return s->own.cpus > s->own_share * get_nprocs() && s->round % SPARING;
}

static int on_second(struct tracees *t, bool watched, struct err *e)
{
	struct scout *s = t->scout;
	int err = probing_own.on_second(t, watched, e);

	if (err)
		return err;
	read_all(s);
	if (is_sparing(s))
		return 0;
	return choose(s, s->own.cpus > s->own_share * get_nprocs() ? 1 : A_SECOND, e);
}

void tracees__scout(struct tracees *t, const struct selection *selection, double own_share)
{
	struct scout *s = xcalloc(1, sizeof(*s));
	struct sysinfo mem;

	s->t = t;
	s->selection = selection;
	s->own_share = own_share;
	s->ram_bytes = sysinfo(&mem) ? 0 : (uint64_t)mem.totalram * mem.mem_unit;
	s->probing = probing_own;
	s->probing.attach = attach;
	s->probing.say_attached = say_attached;
	s->probing.on_second = on_second;
	t->scout = s;
	t->probing = &s->probing;
}

void scout__free(struct scout *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->by_pid.room; i++)
		free(s->by_pid.slots[i].value);
	hash__done(&s->by_pid);
	free(s);
}

struct scouted scout__sums(const struct tracees *t)
{
	const struct scout *s = t->scout;

	uint64_t cpu_ns = machine__cpu_ns();

	return (struct scouted){ MAX(MAX(s->n_selected, s->n_counted), t->n_live), t->n_live, s->n_ever,
				 cpu_ns && s->cpu_before_ns ? cpu_ns - s->cpu_before_ns : 0 };
}
