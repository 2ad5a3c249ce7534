// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the books of a budget: the targets' CPU time, separated by whether probes
 * were in place, and what each stretch of the trace is scaled by. What always
 * holds: each nanosecond that was read is booked once, to a window or to a gap.
 */
#include <math.h>

#include "budget/windows_parts.h"
#include "util/log.h"

/*
 * How wrong the cost of a hit may be; and what the first ones of a stretch may take more, because
 * they come to cold caches.
 */
#define COST_ERROR 0.08
#define COLD_NS 5e3
#define COLD_MOST_NS 50e3
/* Gaps that are compared: from where on a difference is one, and how wrong it may be. */
#define GAP_ERROR_NS 25.0
#define GAP_LEAST_ERROR_NS 8.0
#define GAP_ERROR 0.25
#define OUTSIDE_PART 0.67	/* of all gaps, where a pair is three hits */
#define MOST_ERROR 2.0
#define MANY_GAPS 8000
#define FEW_HITS 256

/* ---- reading clocks */

static void book_cpu(struct account *a, uint64_t cpu_ns, bool in_window)
{
	if (a->booked && cpu_ns > a->cpu_ns)
		*(in_window ? &a->window_ns : &a->gap_ns) += cpu_ns - a->cpu_ns;
	a->cpu_ns = MAX(a->cpu_ns, cpu_ns);
	a->booked = true;
}

#define TICK_LEAST_NS (25 * MS_NS)

static void note_tick(struct account *a, uint64_t t_ns)
{
	if (t_ns < a->ticks[1].t_ns + TICK_LEAST_NS)
		return;
	a->ticks[0] = a->ticks[1];
	a->ticks[1] = (struct reading){ .t_ns = t_ns, .cpu_ns = a->cpu_ns };
}

void budget__note_before(struct budget *b)
{
	for (size_t i = 0; i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];
		double lasted_ns = b->booked_ns > a->ticks[0].t_ns ? b->booked_ns - a->ticks[0].t_ns : 0;

		a->before = lasted_ns > 0 && a->ticks[0].t_ns ? (a->cpu_ns - a->ticks[0].cpu_ns) / lasted_ns : 0;
	}
}

/* As of r. shut: the window has ended then, which is known by what was read of clocks at that moment. */
static struct reading book_at(struct budget *b, struct reading r, bool in_window, bool shut)
{
	double lasted_ns = r.t_ns > b->booked_ns ? r.t_ns - b->booked_ns : 0;

	for (size_t i = 0; i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];

		if (b->by_turns && !a->tracee)
			continue;
		if (b->by_turns)
			turns__book(a, b, in_window, shut ? a->shut_cpu_ns : a == b->looked ? cpu_clock__ns(a->fine) : 0, lasted_ns);
		else
			book_cpu(a, shut ? a->shut_cpu_ns : cpu_clock__ns(a->clock), in_window);
		if (shut)
			a->ticks[0] = a->ticks[1] = (struct reading){ .t_ns = r.t_ns, .cpu_ns = a->cpu_ns };
		else if (!in_window)
			note_tick(a, r.t_ns);
		r.cpu_ns += a->cpu_ns - a->had_ns;
	}
	if (!in_window) {
		b->gap_spent_ns += r.spent_ns - b->booked_spent_ns;
		b->gap_clock_ns += r.t_ns - b->booked_ns;
	}
	b->booked_spent_ns = r.spent_ns;
	b->booked_ns = r.t_ns;
	pace__note(&b->pace, r);
	return r;
}

struct reading budget__book(struct budget *b, bool in_window)
{
	struct reading r = { .t_ns = now_ns(), .spent_ns = meter__spent(b->meter).ns, .cpu_ns = b->gone_cpu_ns };

	if (b->by_turns)
		turns__meet(b);
	return book_at(b, r, in_window, false);
}

void budget__book_shut(struct budget *b)
{
	book_at(b, (struct reading){ .t_ns = b->shut_at_ns, .spent_ns = b->shut_spent.ns, .cpu_ns = b->gone_cpu_ns }, true, true);
}

/* ---- what was seen */

static uint64_t hits_of(const struct cut *cut, const struct tracee *p)
{
	uint64_t n = 0;

	for (size_t k = 0; k < p->lives.n; k++) {
		for (size_t i = 0; i < cut->n_threads; i++)
			if (cut->threads[i].proc == p->lives.v[k]->proc)
				n += cut->threads[i].probe_hits;
		for (size_t i = 0; i < cut->n_procs; i++)
			if (cut->procs[i].proc == p->lives.v[k]->proc)
				n += cut->procs[i].probe_hits;
	}
	return n;
}

struct part {			/* of a stretch: of a process or of one of its threads */
	double cpu_ns, hits;
};

/*
 * The CPU time that a process had for itself in a window is what remains without the probes. Where
 * that is little it is the difference of two large numbers and says nothing. Then, and only then,
 * the gaps between hits do: each holds the way out of the kernel and in again, which is the same
 * inside of malloc, where next to nothing else is done, and outside of it, where the target's own
 * work is. No longer outside than in the child's loop, within the error: nothing but calls, and the
 * time of those is known. Where the way itself differs (a return through a trampoline), gaps cannot
 * be compared, and the calls came as densely as the error allows, from nothing between them to that:
 * what is returned is the time that the middle of these rates takes.
 */
static double own_ns(struct budget *b, struct part p, double hit_ns, double *ret_error_ns)
{
	double cost_ns = p.hits * hit_ns, own = p.cpu_ns - cost_ns, more, least, most;
	/* the more it differs from what the child paid, the less is known of it */
	double strange = hit_ns > 0 ? fabs(hit_ns - b->cost.hit_ns) / hit_ns / 3 : 0;
	double error_ns = cost_ns * MAX(COST_ERROR, strange) + MIN(p.hits * COLD_NS, COLD_MOST_NS);

	*ret_error_ns = error_ns;
	if (own > 4 * error_ns)
		return own;
	if (b->cost.gaps_compare && gaps__compare(&b->gaps_before, &b->gaps, &more)) {
		more = more - b->cost.gap_ns < GAP_ERROR_NS ? 0 : more - b->cost.gap_ns;
		*ret_error_ns = p.hits * (GAP_LEAST_ERROR_NS + more * GAP_ERROR) * OUTSIDE_PART;
		return MIN(p.hits * (b->cost.bare_ns + more * OUTSIDE_PART), p.cpu_ns);
	}
	least = MIN(MAX(own - error_ns, p.hits * b->cost.bare_ns), p.cpu_ns);
	most = MIN(MAX(own + error_ns, least), p.cpu_ns);
	if (least <= 0)
		return 0;
	own = 2 * least * most / (least + most);
	*ret_error_ns = own * (most - least) / (most + least);
	return own;
}

/*
 * The trap as it is now: what the way in and out takes changes with the machine's load, and
 * with other tracers that probe the same file.
 */
static double trap_ns(const struct budget *b)
{
	double inside_ns;

	if (!b->cost.inside_ns || !gaps__inside(&b->gaps_before, &b->gaps, &inside_ns))
		return b->cost.trap_ns;
	return MAX(b->cost.trap_ns + inside_ns - b->cost.inside_ns, b->cost.trap_ns / 2);
}

/* The gaps of the last thousands of hits. */
static void read_gaps(struct budget *b)
{
	const size_t n_words = sizeof(b->gaps) / sizeof(uint64_t);
	uint64_t *before = (uint64_t *)&b->gaps_before, *now = (uint64_t *)&b->gaps, n = 0;

	meter__gaps(b->meter, &b->gaps);
	for (size_t i = 0; i < n_words / 2; i++)
		n += now[i] - before[i];
	for (size_t i = 0; i < n_words && n > MANY_GAPS; i++)
		before[i] += (now[i] - before[i]) / 2;
}

/* ---- what a call that was seen says */

struct stretch {		/* that has ended */
	double clock_ns;
	double hit_ns;
	bool truncated;		/* by its limit */
	double late, late_ns;	/* what part of the hits came after the mark, in how long */
	double planned_ns;	/* 0: it is no look */
};

static struct stretch stretch_of(struct budget *b, uint64_t until_ns, struct spent now, double hit_ns)
{
	struct stretch s = { .clock_ns = until_ns > b->stretch_ns ? until_ns - b->stretch_ns : 0, .hit_ns = hit_ns };
	double spent_ns = now.ns - b->stretch_spent.ns;
	struct reading mark;

	s.planned_ns = b->looking ? b->look_ns : 0;
	s.truncated = b->limited && s.clock_ns > 0;
	/* of a few hits, half say nothing of their pace */
	if (s.truncated && spent_ns > FEW_HITS * hit_ns && meter__mark(b->meter, &mark) &&
	    mark.t_ns > b->stretch_ns && mark.t_ns < until_ns && spent_ns > 0) {
		s.late = MIN(MAX((now.ns - mark.spent_ns) / spent_ns, 0), 1);
		s.late_ns = until_ns - mark.t_ns;
	}
	/* a window of few: as dense as calls can be, for all that is known */
	if (s.truncated && !s.planned_ns && !s.late && spent_ns > 0) {
		s.late = 1;
		s.late_ns = spent_ns / hit_ns * b->cost.bare_ns;
	}
	return s;
}

/*
 * A thread made its calls in what the probes left it of its CPU time; without them it would
 * have made as many more as it has been slowed down. All of that per CPU time of the process.
 */
static struct look_seen look_of(struct budget *b, const struct stretch *s, struct part all,
				struct part thread, double *ret_error)
{
	double error_ns, late_error_ns, own = own_ns(b, thread, s->hit_ns, &error_ns), late_cpu, per_clock;
	struct look_seen seen = {};

	*ret_error = own > 0 ? MIN(error_ns / own, MOST_ERROR) : 0;
	if (own <= 0 || thread.cpu_ns <= 0 || s->clock_ns <= 0)
		return seen;
	seen.own_ns = own * all.cpu_ns / thread.cpu_ns;
	/* one thread of several that sleeps most of the time: that it is held up makes little difference to its pace */
	if (!s->truncated && thread.cpu_ns < all.cpu_ns && thread.cpu_ns < s->clock_ns / 4) {
		double cost_ns = MIN(thread.hits * s->hit_ns, thread.cpu_ns);

		seen.own_ns = (all.cpu_ns - cost_ns) * (1 - cost_ns / s->clock_ns);
		return seen;
	}
	if (s->late <= 0)
		return seen;
	/* it runs when it spends */
	late_cpu = MIN(s->late_ns, thread.cpu_ns);
	per_clock = 1 + MAX(all.cpu_ns - thread.cpu_ns, 0) / s->clock_ns;
	seen.late = s->late;
	seen.late_own_ns = own_ns(b, (struct part){ late_cpu, thread.hits * s->late }, s->hit_ns,
				  &late_error_ns) *
			   per_clock;
	/* of what is no look, any rest: it was cut short */
	seen.rest_ns = s->planned_ns > 0 ? MAX(s->planned_ns - s->clock_ns * own / thread.cpu_ns, 0) * per_clock : 1;
	return seen;
}

struct thread_account *account__thread(struct account *a, uint32_t tid)
{
	struct thread_account *t = vec_first(x, &a->threads, x->tid == tid);

	if (!t) {
		t = vec_push(&a->threads);
		t->tid = tid;
	}
	return t;
}

/* Only where there are several: the one of a process has the process's clock. */
static void report_threads(struct budget *b, const struct cut *cut, size_t i, const struct stretch *s, struct part all)
{
	struct account *a = &b->accounts[i];

	a->calls.n = 0;
	for (size_t k = 0; k < cut->n_threads; k++) {
		struct cpu_clock *clock = account__clock(b, a);
		const struct cut_thread *row = &cut->threads[k];
		bool is_its = vec_first(l, &a->tracee->lives, (*l)->proc == row->proc);
		struct thread_account *t = is_its ? account__thread(a, row->tid) : NULL;
		struct thread_calls *calls;
		uint64_t cpu_ns;
		double error, doubt;

		if (!t)
			continue;
		if (t->clocked && row->probe_hits > t->hits &&
		    cpu_clock__thread_ns(clock, (pid_t)row->tid, &cpu_ns) && cpu_ns > t->cpu_ns &&
		    (calls = vec_push(&a->calls))) {
			struct part one = { MIN(cpu_ns - t->cpu_ns, all.cpu_ns), row->probe_hits - t->hits };
			struct look_seen seen = look_of(b, s, all, one, &error);

			*calls = (struct thread_calls){ row->tid, { look__rate(&seen, &doubt), doubt + error, seen } };
		}
		t->hits = row->probe_hits;
		t->clocked = cpu_clock__watch(clock, (pid_t)row->tid);
	}
}

void budget__begin_stretch(struct budget *b)
{
	for (size_t i = 0; i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];

		if (!account__is_seen(b, a))
			continue;
		awake__read(a->tracee->process.pid, &a->opened);
		for (size_t k = 0; k < a->threads.n; k++)
			cpu_clock__thread_ns(account__clock(b, a), (pid_t)a->threads.v[k].tid, &a->threads.v[k].cpu_ns);
	}
}

/*
 * One that sleeps between its calls comes back to cold caches, and the probes cost more than
 * in the child's loop. Then it has more CPU time in looks than it had in the gaps that
 * they speak for, by more than the probes should have taken. One that has all its CPU always has no more in looks.
 */
#define FEW_LOOKS 2
#define COLD_MOST 12.0

static double times_dearer(const struct account *a)
{
	double more = a->looked_cost_ns > 0 ? (a->looked_cpu_ns - a->looked_gap_ns) / a->looked_cost_ns : 1;

	return a->n_looks < FEW_LOOKS ? 1 : MIN(MAX(more, 1.0), COLD_MOST);
}

static void learn_look(struct budget *b, struct account *a, const struct stretch *s, struct part all, double gap_ns)
{
	double after_ns = b->by_turns ? a->since_ns : b->after_ns, times = s->clock_ns > 0 ? after_ns / s->clock_ns : 0;

	/* a gap is reported in parts */
	a->gap_reported_ns += gap_ns;
	if (!s->planned_ns)
		return;
	/* one that was cut short ended when the process ran: it says nothing of how much it runs */
	if (!s->truncated) {
		a->looked_cpu_ns += all.cpu_ns * times;
		a->looked_cost_ns += all.hits * s->hit_ns * times;
		a->looked_gap_ns += a->gap_reported_ns;
		a->n_looks++;
	}
	a->gap_reported_ns = 0;
}

/*
 * What is left without the probes, in the midst of calls, is the difference of two large numbers,
 * of which one is counted from one hit in sixteen: by that a look would end where it is dear. So as
 * little as can be is taken for passed; at least the calls themselves are the target's own.
 */
double budget__passed_ns(const struct budget *b, double clock_ns, double cpu_ns, double spent_ns)
{
	double hits = spent_ns / b->cost.hit_ns,
	       at_most_ns = spent_ns * (1 + 2 * COST_ERROR + 2 / sqrt(hits / MT_TIMED_ONE_IN + 1));

	return cpu_ns > 0 ? clock_ns * MIN(MAX(cpu_ns - at_most_ns, hits * b->cost.bare_ns) / cpu_ns, 1) : clock_ns;
}

static double dear_of(const struct budget *b, double clock_ns, double cpu_ns, double spent_ns)
{
	double passed_ns = budget__passed_ns(b, clock_ns, MAX(cpu_ns, spent_ns), spent_ns);

	return passed_ns > 0 ? spent_ns / passed_ns : 0;
}

/*
 * One that wakes for a moment, again and again, goes by the clock, and that it is held up hardly
 * changes its pace. What it has for itself of a look is a small difference then, with a large
 * error; but what part of all time it runs is known well, from the gaps. One that runs for long and
 * then rests is none of these: looks find it running all the time, or not at all.
 */
#define SLEEPER 0.25
#define WAKES 0.5

static double runs_part(const struct account *a)
{
	return a->gaps_clock_ns > 0 ? MIN(a->gaps_cpu_ns / a->gaps_clock_ns, 1) : 1;
}

static bool is_sleeper(struct account *a, const struct stretch *s, double cpu_ns)
{
	if (s->planned_ns <= 0)
		return false;
	if (cpu_ns > 0) {
		a->ran_cpu_ns += cpu_ns;
		a->ran_clock_ns += s->clock_ns;
	}
	return runs_part(a) < SLEEPER && a->ran_cpu_ns < WAKES * a->ran_clock_ns;
}

/* Threads that run are held up by the probes, all alike. */
static double own_part(const struct stretch *s, double cpu_ns, double own_ns)
{
	double held_ns = MAX(cpu_ns - own_ns, 0) / MAX(s->clock_ns > 0 ? cpu_ns / s->clock_ns : 0, 1);

	return s->clock_ns > held_ns ? own_ns / (s->clock_ns - held_ns) : 0;
}

static void go_by_clock(const struct stretch *s, double cost_ns, double runs, struct look_seen *seen, double *error)
{
	double passed_ns = MAX(s->clock_ns - cost_ns, seen->own_ns);

	/* a thread that comes back to cold caches pays more than is known */
	if (passed_ns > seen->own_ns)
		*error = MIN(cost_ns / passed_ns, 1);
	seen->own_ns = passed_ns * runs;
	seen->late_own_ns *= runs;
	seen->rest_ns = seen->rest_ns > 0 ? MAX(s->planned_ns - passed_ns, 0) * runs : 0;
}

/* By turns: another one was looked at. */
static void report_unseen(struct budget *b, size_t i, const struct stretch *s)
{
	struct account *a = &b->accounts[i];
	const struct tracee *p = a->tracee;
	struct times t = { .unseen = a->gap_ns, .gap = b->gap_clock_ns + s->clock_ns, .broke = b->pace.broke_ns };

	a->gaps_cpu_ns += a->gap_ns;
	a->gaps_clock_ns += t.gap;
	a->since_ns += t.gap;
	a->gap_reported_ns += a->gap_ns;
	b->unseen_cpu_ns += a->gap_ns;
	a->gap_ns = 0;
	estimate__time(b->estimate, p->lives.v[p->lives.n - 1]->proc, &t);
}

static void report_account(struct budget *b, const struct cut *cut, size_t i, struct stretch s, double gap_part)
{
	struct account *a = &b->accounts[i];
	const struct tracee *p = a->tracee;
	uint64_t hits = hits_of(cut, p);
	struct part all = { a->window_ns, hits - a->hits };
	struct times t = { .seen = true, .speaks = s.planned_ns > 0 ? b->speaks_ns : 0, .broke = b->pace.broke_ns };
	struct look_seen seen;
	double dearer, error, doubt, awake = awake__between(&a->opened, &a->shut);
	bool sleeps;

	/* probes on their way in or out took their part of the gap */
	t.unseen = b->by_turns ? MAX(a->gap_ns - b->gap_spent_ns, 0) : a->gap_ns * gap_part;
	t.gap = b->gap_clock_ns;
	t.busy = s.clock_ns > 0 ? all.cpu_ns / s.clock_ns : 0;
	a->gaps_cpu_ns += t.unseen;
	a->gaps_clock_ns += b->gap_clock_ns;
	a->since_ns += b->gap_clock_ns;
	b->seen_cpu_ns += all.cpu_ns;
	b->unseen_cpu_ns += t.unseen;
	sleeps = is_sleeper(a, &s, all.cpu_ns);
	learn_look(b, a, &s, all, t.unseen);
	a->since_ns = 0;
	dearer = sleeps ? 1 : times_dearer(a);
	s.hit_ns *= dearer;
	seen = look_of(b, &s, all, all, &error);
	t.ran = window__ran(&(struct window_ran){ a->before, own_part(&s, all.cpu_ns, seen.own_ns), error, awake });
	if (sleeps) {
		go_by_clock(&s, all.hits * s.hit_ns, runs_part(a), &seen, &error);
		t.busy = runs_part(a);
	}
	t.call.rate = look__rate(&seen, &doubt);
	t.call.doubt = doubt + error;
	t.call.seen = seen;
	if (seen.own_ns > 0) {
		t.call.doubt += MIN((1 - 1 / dearer) * all.hits * s.hit_ns / seen.own_ns, 1) / 2;
		/* asleep most of the time, and not known yet what that makes of the cost */
		if (!sleeps && a->n_looks < FEW_LOOKS && t.busy < 0.5)
			t.call.doubt += 2 * all.hits * s.hit_ns / seen.own_ns;
	}
	report_threads(b, cut, i, &s, all);
	if (a->calls.n > 1 && !sleeps) {
		t.threads = a->calls.v;
		t.n_threads = a->calls.n;
	}
	estimate__time(b->estimate, p->lives.v[p->lives.n - 1]->proc, &t);
	a->window_ns = a->gap_ns = 0;
	a->hits = hits;
}

void budget__observe(struct budget *b, const struct cut *cut, uint64_t until_ns, struct spent now)
{
	double timed = now.timed - b->stretch_spent.timed, program_ns, hit_ns;
	double gap_cpu_ns = 0, cpu_ns = 0, gap_part, spent_ns;
	struct stretch s;

	/* a short window has few timed hits: then all that were ever timed */
	program_ns = timed >= 50 ? (now.timed_ns - b->stretch_spent.timed_ns) / timed :
		     now.timed   ? (double)now.timed_ns / now.timed :
				   0;
	read_gaps(b);
	hit_ns = trap_ns(b);
	meter__set_trap_ns(b->meter, (uint64_t)hit_ns);
	s = stretch_of(b, until_ns, now, hit_ns + program_ns);
	for (size_t i = 0; i < b->n_accounts; i++) {
		gap_cpu_ns += b->accounts[i].gap_ns;
		cpu_ns += b->accounts[i].window_ns;
	}
	/* how long looks may be */
	spent_ns = now.ns - b->stretch_spent.ns;
	if (s.planned_ns > 0)
		pace__learn_look(&b->pace, dear_of(b, s.clock_ns, cpu_ns, spent_ns), spent_ns);
	if (s.late > 0)
		pace__learn_dear(&b->pace, dear_of(b, s.late_ns, cpu_ns * s.late_ns / s.clock_ns, spent_ns * s.late),
				 spent_ns * s.late);
	gap_part = gap_cpu_ns > 0 ? MAX(1 - b->gap_spent_ns / gap_cpu_ns, 0) : 0;
	for (size_t i = 0; i < b->n_accounts; i++)
		if (account__is_seen(b, &b->accounts[i]))
			report_account(b, cut, i, s, gap_part);
		else if (b->accounts[i].tracee)
			report_unseen(b, i, &s);
	b->gap_spent_ns = b->gap_clock_ns = 0;
	if (until_ns > b->stretch_ns) {
		estimate__stretch(b->estimate, b->stretch_ns, until_ns, cut);
		b->observed_ns += until_ns - b->stretch_ns;
	}
	b->stretch_ns = until_ns;
	b->stretch_spent = now;
}
