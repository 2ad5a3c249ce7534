// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the life of a budget, what it tells, and whose turn it is. When probes are in is windows.c's. */
#include "budget/budget.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "budget/windows_parts.h"
#include "process/process.h"
#include "util/log.h"

#define SCAN_EVERY_NS (5 * SECOND_NS)

int budget__new(const struct budget_opts *o, struct budget **ret, struct err *e)
{
	struct budget *b = xcalloc(1, sizeof(*b));
	uint32_t n_sites = o->kernel->sizes.n_sites + o->kernel->sizes.n_procs;
	int err;

	/* perf events are closed one after the other: the probes would be out after seconds, and no promise kept */
	if (!o->kernel->multi) {
		free(b);
		return err_set(e, -ENOTSUP,
			       "--overhead needs uprobe_multi links (Linux 6.6 or later): with perf events, detaching probes takes seconds");
	}
	b->o = *o;
	b->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	b->closed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->shut_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->quit = ENDING_NONE;
	err = b->timer_fd < 0 || b->closed_fd < 0 || b->shut_fd < 0 || ending__open(&b->quit) ?
		      err_set(e, -errno, "timer: %s", strerror(errno)) :
		      0;
	if (!err)
		err = meter__new(o->kernel, &b->meter, e);
	if (!err)
		b->estimate = estimate__new(o->collect, n_sites, o->kernel->sizes.n_procs);
	if (!err)
		err = calibrate__run(o->kernel, o->collect, o->unwind, b->meter, &b->cost, e);
	if (err) {
		budget__free(b);
		return err;
	}
	meter__set_trap_ns(b->meter, (uint64_t)llround(b->cost.trap_ns));
	meter__gaps(b->meter, &b->gaps_before);
	say_verbose("a probe hit costs %.0f ns here, %.0f of them for the trap; the allocator's own work takes %.1f ns",
		    b->cost.hit_ns, b->cost.trap_ns, b->cost.bare_ns);
	*ret = b;
	return 0;
}

void budget__free(struct budget *b)
{
	const int fds[] = { b ? b->timer_fd : -1, b ? b->closed_fd : -1, b ? b->shut_fd : -1 };

	if (!b)
		return;
	if (b->guarded) {
		ending__tell(&b->quit);
		pthread_join(b->guard, NULL);
	}
	closing__wait(b->links);
	for (size_t i = 0; i < b->closing.n; i++)
		closing__wait(b->closing.v[i]);
	vec_done(&b->closing);
	for (size_t i = 0; b->accounts && i < b->n_accounts; i++) {
		cpu_clock__close(b->accounts[i].clock);
		cpu_clock__close(b->accounts[i].fine);
		vec_done(&b->accounts[i].threads);
		vec_done(&b->accounts[i].calls);
	}
	free(b->accounts);
	estimate__free(b->estimate);
	meter__free(b->meter);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	ending__close(&b->quit);
	free(b);
}

bool budget__may_forget(const struct budget *b)
{
	return b->by_turns && !b->over && budget__state(b) == SHUT && !b->looked;
}

void budget__forget(struct budget *b, uint32_t proc)
{
	const struct tracee_life *l = hash__get(&b->o.tracees->by_proc, proc);

	/* its only life: the account is free */
	for (size_t i = 0; l && l->tracee->lives.n == 1 && i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];

		if (a->tracee != l->tracee)
			continue;
		b->gone_cpu_ns += a->cpu_ns - a->had_ns;
		cpu_clock__close(a->clock);
		vec_done(&a->threads);
		vec_done(&a->calls);
		*a = (struct account){};
	}
	estimate__forget(b->estimate, proc);
}

const struct cut *budget__estimate(struct budget *b, const struct cut *cut)
{
	uint64_t now = b->over ? b->ended_ns : now_ns();

	if (!b->over && b->accounts) {
		/* a window that the guard has ended, perhaps just now, is booked when its turn comes */
		if (budget__state(b) == OPEN && !b->looking) {
			struct spent spent = meter__spent(b->meter);

			budget__book(b, true);
			if (budget__state(b) == OPEN) {
				budget__observe(b, cut, cut->now_ns, spent);
				budget__begin_stretch(b);
			}
		}
		if (budget__state(b) == SHUT) {
			budget__book(b, false);
			budget__observe(b, cut, b->stretch_ns, meter__spent(b->meter));
		}
	}
	if (!b->partial)
		return cut;
	estimate__note_ends(b->estimate, cut, now);
	if (cut->scanned || now - b->scanned_ns > SCAN_EVERY_NS) {
		estimate__scan(b->estimate);
		b->scanned_ns = now;
	}
	return estimate__cut(b->estimate, cut, now);
}

double budget__observed_share(const struct budget *b)
{
	uint64_t until = b->over ? b->ended_ns : b->booked_ns;

	if (!b->partial || until <= b->began_ns)
		return 1;
	if (b->by_turns)
		return b->seen_cpu_ns > 0 ? MIN(b->seen_cpu_ns / (b->seen_cpu_ns + b->unseen_cpu_ns), 0.9999) : 0.0001;
	return MIN((double)b->observed_ns / (until - b->began_ns), 0.9999);
}

uint64_t budget__spent_ns(const struct budget *b)
{
	return meter__spent(b->meter).ns - b->start_spent_ns;
}

/* ---- by turns */

/*
 * --overhead where processes come and go: each look is at one process, whose turn is drawn at random, the more likely
 * the more it grows or runs (tracee.attention). A look speaks for as much more time as its process was unlikely to be
 * drawn, so what is watched more is only known better.
 *
 * Each process has a purse, too: looks at it take no more than twice the budget's share of its CPU time in a second. The
 * emptier that is, the less likely it is drawn, and the more time a look speaks for: as with the money of all (pace.h).
 */

#define TIMES_SHARE 2.0
#define LEAST_WEIGHT 0.01	/* of one that rests */
#define NEARLY 0.8
#define LEAST_PART 0.15		/* of a purse: with less, no look is possible */
#define MANY_THREADS 128	/* with a clock of their own */

static struct account *free_account(struct budget *b)
{
	struct account *a = array_first(x, b->accounts, b->n_accounts, !x->tracee);

	if (a)
		return a;
	return b->n_accounts < b->account_room ? &b->accounts[b->n_accounts] : NULL;
}

void turns__meet(struct budget *b)
{
	const struct tracees *t = b->o.tracees;

	for (size_t i = 0; i < t->v.n; i++) {
		struct tracee *p = t->v.v[i];
		struct account *a = p->accounted || p->ended ? NULL : free_account(b);
		struct cpu_clock *clock = a ? cpu_clock__open(p->process.pid, false) : NULL;

		if (!clock)
			continue;
		*a = (struct account){ .tracee = p, .clock = clock, .cpu_ns = cpu_clock__ns(clock), .met_ns = now_ns(), .booked = true };
		a->had_ns = a->cpu_ns;
		p->accounted = true;
		if (a == &b->accounts[b->n_accounts])
			b->n_accounts++;
	}
}

/* Of a process's CPU time that may be taken. */
static double turns__share(const struct budget *b)
{
	return TIMES_SHARE * b->o.kernel->recording.overhead_pct / 100;
}

static double purse_room(const struct budget *b, const struct account *a)
{
	return MAX(turns__share(b) * a->cpus * SECOND_NS, PACE_LEAST_NS);
}

void turns__book(struct account *a, const struct budget *b, bool in_window, uint64_t fine_ns, double lasted_ns)
{
	/* the pid of one that has ended may be another's */
	uint64_t cpu_ns = a->tracee->ended ? a->cpu_ns : cpu_clock__ns(a->clock);
	double more = cpu_ns - a->cpu_ns;

	a->cpu_ns = cpu_ns;
	a->unbooked_ns += more;
	if (lasted_ns > 0)
		a->cpus += (more / lasted_ns - a->cpus) * MIN(lasted_ns / SECOND_NS, 1);
	a->purse_ns = MIN(a->purse_ns + MAX(turns__share(b) * more, PACE_LEAST_NS * lasted_ns / SECOND_NS), purse_room(b, a));
	if (a == b->looked && fine_ns > a->fine_ns) {
		if (in_window) {
			a->window_ns += fine_ns - a->fine_ns;
			a->unbooked_ns -= fine_ns - a->fine_ns;
		}
		a->fine_ns = fine_ns;
	}
	/* the one that lags may show later what the other one has shown already */
	if (!(in_window && a == b->looked) && a->unbooked_ns > 0) {
		a->gap_ns += a->unbooked_ns;
		a->unbooked_ns = 0;
	}
}

static double weight_of(const struct budget *b, size_t i)
{
	const struct account *a = &b->accounts[i];
	const struct tracee *p = a->tracee;
	double part = a->purse_ns / purse_room(b, a);

	if (!p || p->ended || !p->attachment || !a->met || part < LEAST_PART)
		return 0;
	return (LEAST_WEIGHT + p->attention) * part;
}

/* The first turn is to see much: with a full purse, when it is known how large that is. */
static bool is_to_meet(const struct budget *b, size_t i)
{
	const struct account *a = &b->accounts[i];
	const struct tracee *p = a->tracee;

	return p && !p->ended && p->attachment && !a->met && b->booked_ns > a->met_ns + SECOND_NS && a->purse_ns > purse_room(b, a) * NEARLY;
}

struct account *turns__draw(struct budget *b, double *ret_chance)
{
	double sum = 0, at;

	for (size_t i = 0; i < b->n_accounts; i++)
		if (is_to_meet(b, i)) {
			*ret_chance = 1;
			return &b->accounts[i];
		}
	for (size_t i = 0; i < b->n_accounts; i++)
		sum += weight_of(b, i);
	at = pace__uniform(&b->pace) * sum;
	for (size_t i = 0; i < b->n_accounts; i++) {
		double weight = weight_of(b, i);

		if (weight > 0 && at < weight) {
			*ret_chance = weight / sum;
			return &b->accounts[i];
		}
		at -= weight;
	}
	return NULL;
}

/* Of several threads each is slowed down by its own calls: each has a clock from the beginning. */
static void watch_threads(struct account *a, pid_t pid)
{
	_cleanup_pids_ struct pids tids = pids__of_threads(pid);
	size_t n = 0;
	pid_t tid;

	for (size_t i = 0; i < a->threads.n; i++)
		a->threads.v[i].clocked = false;
	while (n++ < MANY_THREADS && (tid = pids__next(&tids)))
		account__thread(a, (uint32_t)tid)->clocked = cpu_clock__watch(a->fine, tid);
}

void turns__begin_look(struct budget *b, struct account *a)
{
	pid_t pid = a->tracee->process.pid;

	a->fine = cpu_clock__open(pid, true);
	watch_threads(a, pid);
	a->fine_ns = cpu_clock__ns(a->fine);
}

void turns__end_look(struct budget *b, uint64_t spent_ns)
{
	struct account *a = b->looked;

	a->purse_ns -= spent_ns;
	a->met = true;
	cpu_clock__close(a->fine);
	a->fine = NULL;
	b->looked = NULL;
}
