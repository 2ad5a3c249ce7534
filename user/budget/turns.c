// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --overhead where processes come and go: each look is at one process, whose turn is drawn at random, the more likely
 * the more it grows or runs (tracee.attention). A look speaks for as much more time as its process was unlikely to be
 * drawn, so what is watched more is only known better.
 *
 * Each process has a purse, too: looks at it take no more than twice the budget's share of its CPU time in a second. The
 * emptier that is, the less likely it is drawn, and the more time a look speaks for: as with the money of all (pace.h).
 */
#include <dirent.h>
#include <stdio.h>

#include "budget/windows_parts.h"
#include "util/parse.h"

#define TIMES_SHARE 2.0
#define LEAST_WEIGHT 0.01	/* of one that rests */
#define NEARLY 0.8
#define LEAST_PART 0.15		/* of a purse: with less, no look is possible */
#define MANY_THREADS 128	/* with a clock of their own */

static struct account *free_account(struct budget *b)
{
	for (size_t i = 0; i < b->n_accounts; i++)
		if (!b->accounts[i].tracee)
			return &b->accounts[i];
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

void turns__forget(struct budget *b, const struct tracee *p)
{
	for (size_t i = 0; i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];

		if (a->tracee != p)
			continue;
		b->gone_cpu_ns += a->cpu_ns - a->had_ns;
		cpu_clock__close(a->clock);
		vec_done(&a->threads);
		vec_done(&a->calls);
		*a = (struct account){};
	}
}

double turns__share(const struct budget *b)
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
	struct dirent *d;
	char path[64];
	uint64_t tid;
	size_t n = 0;
	DIR *dir;

	for (size_t i = 0; i < a->threads.n; i++)
		a->threads.v[i].clocked = false;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)) && n < MANY_THREADS) {
		struct thread_account *t;

		if (parse_u64(d->d_name, 1, INT32_MAX, &tid))
			continue;
		t = account__thread(a, (uint32_t)tid);
		if (t)
			t->clocked = cpu_clock__watch(a->fine, (pid_t)tid);
		n++;
	}
	if (dir)
		closedir(dir);
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
