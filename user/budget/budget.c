// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the life of a budget, and what it tells. When probes are in is windows.c's. */
#include "budget/budget.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "budget/windows_parts.h"
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
		b->estimate = estimate__new(b->meter, n_sites, o->kernel->sizes.n_procs);
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

	if (l && l->tracee->lives.n == 1)
		turns__forget(b, l->tracee);
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
