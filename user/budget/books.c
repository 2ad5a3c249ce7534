// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the books of a budget: the targets' CPU time, told apart by whether probes
 * were in place, and what each stretch of the trace is scaled by. What always
 * holds: each nanosecond that was read is booked once, to a window or to a gap.
 */
#include "budget/windows_parts.h"

/* How wrong the cost of a hit may be. */
#define COST_ERROR 0.05
#define GAP_ERROR_NS 25.0
#define OUTSIDE_PART 0.67	/* of all gaps, where a pair is three hits */
#define MANY_GAPS 8000

/* ---- reading clocks */

static void book_cpu(struct account *a, uint64_t cpu_ns, bool in_window)
{
	if (a->booked && cpu_ns > a->cpu_ns)
		*(in_window ? &a->window_ns : &a->gap_ns) += cpu_ns - a->cpu_ns;
	a->cpu_ns = MAX(a->cpu_ns, cpu_ns);
	a->booked = true;
}

static void book_gap(struct budget *b, uint64_t t_ns, uint64_t spent_ns)
{
	b->gap_spent_ns += spent_ns - b->booked_spent_ns;
	b->gap_clock_ns += t_ns - b->booked_ns;
}

struct reading budget__book(struct budget *b, bool in_window)
{
	struct reading r = { .t_ns = now_ns(), .spent_ns = meter__spent(b->meter).ns };

	for (size_t i = 0; i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];

		book_cpu(a, cpu_clock__ns(a->clock), in_window);
		r.cpu_ns += a->cpu_ns;
	}
	if (!in_window)
		book_gap(b, r.t_ns, r.spent_ns);
	b->booked_spent_ns = r.spent_ns;
	b->booked_ns = r.t_ns;
	pace__note(&b->pace, r);
	return r;
}

void budget__book_shut(struct budget *b)
{
	struct reading r = { .t_ns = b->shut_at_ns, .spent_ns = b->shut_spent.ns };

	for (size_t i = 0; i < b->n_accounts; i++) {
		book_cpu(&b->accounts[i], b->accounts[i].shut_cpu_ns, true);
		r.cpu_ns += b->accounts[i].cpu_ns;
	}
	b->booked_spent_ns = r.spent_ns;
	b->booked_ns = r.t_ns;
	pace__note(&b->pace, r);
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

/*
 * The CPU time that a process had for itself in a window is what remains without
 * the probes. Where that is little it is the difference of two large numbers and
 * says nothing. Then the gaps between hits do: each holds the way out of the
 * kernel and in again, which is the same inside of malloc, where next to nothing
 * else is done, and outside of it, where the target's own work is. No longer outside than in the
 * child's loop, within the error: nothing but calls, and the time of those is known.
 */
static double own_ns(struct budget *b, double cpu_ns, double hits, double hit_ns, double *ret_error_ns)
{
	double cost_ns = hits * hit_ns, own = cpu_ns - cost_ns, more;

	*ret_error_ns = cost_ns * COST_ERROR;
	if (!gaps__compare(&b->gaps_before, &b->gaps, &more))
		return MAX(own, MIN(hits * b->cost.bare_ns, cpu_ns));
	more -= b->cost.gap_ns;
	if (more < GAP_ERROR_NS)
		more = 0;
	*ret_error_ns = hits * GAP_ERROR_NS * 0.15;
	return MIN(hits * (b->cost.bare_ns + more * OUTSIDE_PART), cpu_ns);
}

/*
 * The trap as it is now: what the way in and out takes changes with the machine's load, and
 * with who else probes the same file.
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

void budget__observe(struct budget *b, const struct cut *cut, uint64_t until_ns, struct spent now)
{
	double timed = now.timed - b->stretch_spent.timed, program_ns, hit_ns, gap_cpu_ns = 0;

	/* a short window has few timed hits: then all that were ever timed */
	program_ns = timed >= 50 ? (now.timed_ns - b->stretch_spent.timed_ns) / timed :
		     now.timed   ? (double)now.timed_ns / now.timed :
				   0;
	read_gaps(b);
	hit_ns = trap_ns(b);
	meter__set_trap_ns(b->meter, (uint64_t)hit_ns);
	hit_ns += program_ns;
	for (size_t i = 0; i < b->n_accounts; i++)
		gap_cpu_ns += b->accounts[i].gap_ns;
	for (size_t i = 0; i < b->n_accounts; i++) {
		const struct tracee *p = b->o.tracees->v.v[i];
		struct account *a = &b->accounts[i];
		uint64_t hits = hits_of(cut, p);
		struct times t = { .unseen = a->gap_ns, .clock_seen = until_ns - b->stretch_ns, .clock_unseen = b->gap_clock_ns };

		t.cost = (hits - a->hits) * hit_ns;
		t.seen = own_ns(b, a->window_ns, hits - a->hits, hit_ns, &t.error);
		/* probes on their way in or out took their part of the gap */
		if (gap_cpu_ns > 0)
			t.unseen -= MIN(b->gap_spent_ns * a->gap_ns / gap_cpu_ns, a->gap_ns);
		estimate__time(b->estimate, p->lives.v[p->lives.n - 1]->proc, &t);
		a->window_ns = a->gap_ns = 0;
		a->hits = hits;
	}
	b->gap_spent_ns = b->gap_clock_ns = 0;
	if (until_ns > b->stretch_ns) {
		estimate__stretch(b->estimate, b->stretch_ns, until_ns, cut);
		b->observed_ns += until_ns - b->stretch_ns;
	}
	b->stretch_ns = until_ns;
	b->stretch_spent = now;
}
