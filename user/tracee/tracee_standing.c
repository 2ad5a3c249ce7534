// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Are malloctrace's breakpoints still in the tracees' memory? A debugger may have taken them out,
 * and a program may have moved its code to where there are none: calls are not seen then, and that
 * is reported. And: may the breakpoints be taken out, or has a debugger breakpoints of its own in
 * the same places? The header has the reasons.
 *
 * Owns nothing: what was found is kept with each tracee.
 */
#include <dirent.h>
#include <errno.h>

#include "probe/standing.h"
#include "process/process.h"
#include "tracee/tracee_standing.h"
#include "util/log.h"
#include "util/parse.h"

/*
 * A process is checked once a second, unless that took longer than 1 / CHECK_SHARE of it: ten
 * thousand mappings take ten milliseconds.
 */
#define CHECK_EACH_NS SECOND_NS
#define CHECK_SHARE 500
/* What all checks together may take at a time, where probes are shared. */
#define SLICE_NS (10 * MS_NS)

struct plans vec(const struct plan *);

/* The files that have probes, and where. p: of those that this tracee maps; NULL: all. */
static struct plans probed_plans(const struct tracees *t, const struct tracee *p)
{
	struct plans ret = {};

	for (size_t i = 0; i < t->files.n; i++) {
		const struct known_file *k = t->files.v[i];
		const struct plan **slot = known_file__is_probed(k) && k->plan.n_points && (!p || object_list__has(&p->examined, k->plan.object)) ? vec_push(&ret) : NULL;

		if (slot)
			*slot = &k->plan;
	}
	return ret;
}

static void report_debugger(struct tracee *p)
{
	struct debugger d = debugger__of(p->process.pid);

	if (d.pid == p->debugger)
		return;
	p->debugger = d.pid;
	if (d.pid && d.writes)
		say("%s (%d) is debugged by %s (%d): a breakpoint that the debugger sets in an allocation function removes malloctrace's probe there (a message says so), and malloctrace does not detach before it is deleted",
		    p->process.comm, (int)p->process.pid, d.comm, (int)d.pid);
}

static void report_standing(struct tracee *p, const struct standing *s)
{
	size_t n = s->n_gone + s->n_moved;

	if (n <= p->n_unprobed)
		return;
	p->n_unprobed = n;
	say("%s (%d): %zu of %zu probe points are not in place: %s; calls there are not seen",
	    p->process.comm, (int)p->process.pid, n, s->n_points + s->n_moved,
	    s->n_moved	? "its code was moved to anonymous memory (huge pages?)" :
	    p->debugger ? "the debugger removed them" :
			  "something removed them");
}

static void check(struct tracees *t, struct tracee *p)
{
	struct plans plans = probed_plans(t, t->shared_probes ? NULL : p);
	uint64_t began_ns = now_ns();
	struct standing s;

	report_debugger(p);
	if (plans.n && !standing__look(p->process.pid, &tracee__life(p)->space, plans.v, plans.n, &s))
		report_standing(p, &s);
	vec_done(&plans);
	p->next_check_ns = now_ns() + MAX(t->shared_probes ? 10 * CHECK_EACH_NS : CHECK_EACH_NS,
					  (now_ns() - began_ns) * CHECK_SHARE);
}

void tracees__look_at_probes(struct tracees *t, bool all)
{
	uint64_t until_ns = now_ns() + SLICE_NS;

	/* of a whole machine a part each time, the others next time */
	for (size_t i = 0; i < t->v.n && (!t->shared_probes || now_ns() < until_ns); i++) {
		struct tracee *p = t->v.v[t->check_turn++ % t->v.n];

		/* CMD maps code before its probes are in it, as long as it stands still */
		if (!p->ended && (p->attachment || t->shared_probes) && !p->held && !p->dirty && !p->stale &&
		    !tracee__life(p)->closed && (all || now_ns() >= p->next_check_ns))
			check(t, p);
	}
}

uint64_t tracees__n_unprobed(const struct tracees *t)
{
	uint64_t n = t->gone_unprobed;

	for (size_t i = 0; i < t->v.n; i++)
		n += t->v.v[i]->n_unprobed + t->v.v[i]->n_written_over;
	return n;
}

/* ---- before they are taken out */

/*
 * Has a debugger of this process breakpoints where malloctrace has? It would write malloctrace's
 * back later, when nothing handles them any more. Where the two cannot be distinguished, any
 * debugger is taken to have some, unless it holds the process still: then it has none in place.
 */
static bool would_write_back(const struct tracees *t, const struct tracee *p, pid_t pid, struct debugger *ret)
{
	struct debugger d = debugger__of(pid);
	struct standing s = {};
	struct plans plans;

	if (!d.pid || !d.writes)
		return false;
	plans = probed_plans(t, p);
	if (standing__look(pid, NULL, plans.v, plans.n, &s))
		s = (struct standing){};
	vec_done(&plans);
	*ret = d;
	return standing__tells_foreign() ? s.n_foreign : s.n_points > s.n_gone && !debugger__holds_still(pid);
}

/* Where probes are shared, they are in processes that are no tracees, too. */
static pid_t any_debugged(const struct tracees *t, struct debugger *ret)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	pid_t found = 0;
	uint64_t pid;

	while (proc && !found && (d = readdir(proc)))
		if (!parse_u64(d->d_name, 1, INT32_MAX, &pid) && would_write_back(t, NULL, pid, ret))
			found = pid;
	if (proc)
		closedir(proc);
	return found;
}

pid_t tracees__debugged(const struct tracees *t, struct debugger *ret)
{
	if (t->shared_probes)
		return any_debugged(t, ret);
	for (size_t i = 0; i < t->v.n; i++) {
		const struct tracee *p = t->v.v[i];

		if (!p->ended && p->attachment && would_write_back(t, p, p->process.pid, ret))
			return p->process.pid;
	}
	return 0;
}
