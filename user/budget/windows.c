// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the coming and going of the probes.
 *
 * The probes are in place ("open") or out ("shut"). Open, the limit in the
 * kernel is set anew several times a second; a process that stays below it is never
 * disturbed, and everything is seen. When it is passed the programs are frozen,
 * which ends the window at one instant, and all links are closed: an empty
 * program would still cost its trap. Shut, a timer waits for the time of the next
 * look, which was drawn at random.
 *
 * A report may keep the session busy for long, and the machine may be busy: so it is a thread of its own,
 * before others, that waits for the alarm, freezes, reads the clocks and starts
 * to close the links, which are handed to it when a window opens. All the rest
 * is done later, by the session. The side that moves `state` from OPEN does it.
 *
 * At each of these moments the targets' CPU time is read and booked, to the
 * window or to the gap: that is what figures are scaled by.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "budget/windows_parts.h"
#include "util/log.h"

#define GUARD_MS 2000		/* for the guard to end a window: some clocks are read */
/* How often the limit is set anew: often at first, when what a target does may just begin. */
#define TICK_NS (50 * MS_NS)
#define FIRST_TICK_NS (5 * MS_NS)
#define FIRST_TICKS_FOR_NS (2 * SECOND_NS)

static void arm(struct budget *b, uint64_t ns)
{
	struct itimerspec spec = { .it_value = { ns / SECOND_NS, MAX(ns % SECOND_NS, 1ull) } };

	timerfd_settime(b->timer_fd, 0, &spec, NULL);
}

/* ---- in and out */

/*
 * Ends the window, if it is open still. Nothing is recorded from here on: the clocks and counts of this
 * instant. In the guard's thread or in the session's.
 */
static bool end_window(struct budget *b)
{
	enum state open = OPEN;

	if (!__atomic_compare_exchange_n(&b->state, &open, SHUTTING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	kernel__pause(b->o.kernel, true);
	b->shut_at_ns = now_ns();
	b->shut_spent = meter__spent(b->meter);
	for (size_t i = 0; i < b->n_accounts; i++)
		if (account__is_seen(b, &b->accounts[i]))
			b->accounts[i].shut_cpu_ns = cpu_clock__ns(account__clock(b, &b->accounts[i]));
	for (size_t i = 0; i < b->n_accounts; i++)
		if (account__is_seen(b, &b->accounts[i]))
			awake__read(b->accounts[i].tracee->process.pid, &b->accounts[i].shut);
	closing__start(b->links);
	return true;
}

static void *guard(void *arg)
{
	struct budget *b = arg;
	struct pollfd fds[] = { { .fd = meter__alarm_fd(b->meter), .events = POLLIN },
				{ .fd = b->quit.fd, .events = POLLIN } };

	while (poll(fds, ARRAY_SIZE(fds), -1) > 0 || errno == EINTR) {
		if (fds[1].revents)
			break;
		/* an alarm of a window that has ended says nothing about this one */
		if (meter__read_alarm(b->meter) && end_window(b)) {
			b->limited = true;
			eventfd_write(b->shut_fd, 1);
		}
	}
	return NULL;
}

static int start_guard(struct budget *b)
{
	struct sched_param first = { .sched_priority = 2 };
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_RR);
	pthread_attr_setschedparam(&attr, &first);
	err = pthread_create(&b->guard, &attr, guard, b);
	pthread_attr_destroy(&attr);
	/* without the right to come first it comes when it can */
	if (err)
		err = pthread_create(&b->guard, NULL, guard, b);
	b->guarded = !err;
	return -err;
}

static struct attachment **attachments(const struct budget *b)
{
	struct attachment **v = xcalloc(b->o.tracees->v.n + 1, sizeof(*v));

	for (size_t i = 0; i < b->o.tracees->v.n; i++) {
		bool has_turn = !b->by_turns || (b->looked && b->looked->tracee == b->o.tracees->v.v[i]);

		v[i] = !has_turn || b->o.tracees->v.v[i]->ended ? NULL : b->o.tracees->v.v[i]->attachment;
	}
	return v;
}

static struct closing *take_links(struct budget *b, bool parked)
{
	_cleanup_free_ struct attachment **v = attachments(b);

	return attachments__take(v, b->o.tracees->v.n, parked, b->closed_fd);
}

/* They are waited for when they say that they are done. */
static void keep_closing(struct budget *b, struct closing *c)
{
	if (c)
		*vec_push(&b->closing) = c;
}

static uint64_t set_limit(struct budget *b)
{
	uint64_t limit_ns = MIN(pace__limit(&b->pace), b->quantum_end_ns);

	/* nor more than may be taken of the one that is looked at */
	if (b->looked)
		limit_ns = MIN(limit_ns, b->opening_spent_ns + (uint64_t)MAX(b->looked->purse_ns, 0));

	meter__set_limit(b->meter, limit_ns);
	b->limit_ns = limit_ns;
	return limit_ns;
}

/* How fast it goes before its limit is computed from the second half of what is left now. */
static void set_limit_and_mark(struct budget *b, uint64_t spent_ns)
{
	uint64_t limit_ns = set_limit(b);

	meter__set_mark(b->meter, spent_ns + (limit_ns > spent_ns ? (limit_ns - spent_ns) / 2 : 0));
}

/* When its time comes, a look speaks for as much time as there is between looks. Clocks are read meanwhile. */
static void wait_for_look(struct budget *b)
{
	uint64_t ns;

	b->mean_gap_ns = pace__mean_gap_ns(&b->pace);
	ns = pace__gap_ns(&b->pace, b->mean_gap_ns);
	b->due_ns = now_ns() + ns;
	arm(b, MIN(ns, TICK_NS));
}

/* What is left to do when a window has ended. */
static void after_window(struct budget *b)
{
	struct cut_opts how = {};
	struct closing *added;
	const struct cut *cut;
	/* one that passed its limit was noticed later */
	uint64_t limit_ns = b->limited ? MIN(b->limit_ns, b->shut_spent.ns) : b->shut_spent.ns,
		 work_from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), spent_ns;

	budget__book_shut(b);
	b->partial = true;
	b->waited_ns = b->shut_at_ns;
	keep_closing(b, b->links);
	b->links = NULL;
	/* what was loaded while the window was open has links of its own */
	added = take_links(b, true);
	closing__start(added);
	keep_closing(b, added);
	meter__set_limit(b->meter, UINT64_MAX);
	/* this waits for the programs that still run */
	if (!collect__cut(b->o.collect, &how, &cut, NULL))
		budget__observe(b, cut, b->shut_at_ns, b->shut_spent);
	spent_ns = budget__book(b, false).spent_ns;
	pace__learn(&b->pace, 0, spent_ns - limit_ns);
	if (b->looking)
		pace__learn_cost(&b->pace, spent_ns - b->opening_spent_ns);
	if (b->looked)
		turns__end_look(b, spent_ns - b->opening_spent_ns);
	b->looking = false;
	b->speaks_ns = 0;
	__atomic_store_n(&b->state, SHUT, __ATOMIC_RELEASE);
	b->quantum_ns = pace__quantum_ns(&b->pace);
	pace__learn_work(&b->pace, clock_ns(CLOCK_THREAD_CPUTIME_ID) - work_from_ns);
	wait_for_look(b);
}

/*
 * Probes are put in, clocks are read and recording begins, all at once: else what was spent in
 * between belongs to no side.
 */
#define AT_ONCE_NS 500000

static void unfreeze(struct budget *b)
{
	struct reading r;

	meter__next_window(b->meter, b->partial);
	b->limited = false;
	r = budget__book(b, false);
	b->after_ns = b->partial ? r.t_ns - b->shut_at_ns : 0;
	b->stretch_ns = r.t_ns;
	b->stretch_spent = meter__spent(b->meter);
	set_limit_and_mark(b, r.spent_ns);
	budget__begin_stretch(b);
	__atomic_store_n(&b->state, OPEN, __ATOMIC_RELEASE);
	kernel__pause(b->o.kernel, false);
	if (now_ns() - r.t_ns > AT_ONCE_NS)
		b->speaks_ns = 0;
}

/* Of those that have probes. */
static uint64_t cpu_at(const struct budget *b, struct reading r)
{
	return b->looked ? b->looked->fine_ns : r.cpu_ns;
}

static void window_opens(struct budget *b, struct reading r, uint64_t quantum_ns)
{
	b->quantum_end_ns = quantum_ns < UINT64_MAX - r.spent_ns ? r.spent_ns + quantum_ns : UINT64_MAX;
	b->opened_spent_ns = r.spent_ns;
	b->opened_cpu_ns = cpu_at(b, r);
	b->opened_ns = r.t_ns;
	b->links = take_links(b, false);
	b->looking = b->partial && (!b->looked || b->looked->met);
	b->look_ns = pace__look_ns(&b->pace);
	unfreeze(b);
	arm(b, b->looking ? MIN(b->look_ns, TICK_NS) : FIRST_TICK_NS);
}

#define MAKE_UP_MOST_NS (10 * MS_NS)

/*
 * Probes hold a target up from when the first of them are in place: what comes next is more likely to be something that
 * calls them much, by as much as that is slowed down. So a look begins later by the time that they took; or, in the
 * midst of a burst, when that becomes dear.
 */
static void make_up(const struct budget *b, uint64_t before_ns)
{
	struct timespec step = { .tv_nsec = 20000 };
	uint64_t from_ns = now_ns(), from_spent_ns = meter__spent(b->meter).ns, held_ns = from_spent_ns - before_ns;
	uint64_t lasted_ns = 0, spent_ns = 0;

	while (lasted_ns < held_ns + spent_ns && spent_ns < pace__make_up_ns(&b->pace) && lasted_ns < MAKE_UP_MOST_NS) {
		nanosleep(&step, NULL);
		lasted_ns = now_ns() - from_ns;
		spent_ns = meter__spent(b->meter).ns - from_spent_ns;
	}
}

static void put_in(struct budget *b)
{
	_cleanup_free_ struct attachment **v = attachments(b);
	_cleanup_err_ struct err e = {};
	struct reading before = budget__book(b, false);
	struct closing *some;
	uint64_t hot_ns = 0;
	struct reading r;

	budget__note_before(b);
	b->opening_spent_ns = before.spent_ns;
	if (attachments__unpark(v, b->o.tracees->v.n, &hot_ns, &e)) {
		say("the probes could not be attached again: %s", err_msg(&e));
		some = take_links(b, true);
		closing__start(some);
		keep_closing(b, some);
		if (b->looked)
			turns__end_look(b, 0);
		arm(b, SECOND_NS);
		return;
	}
	make_up(b, before.spent_ns);
	r = budget__book(b, false);
	pace__learn(&b->pace, r.spent_ns - before.spent_ns, 0);
	/* a target that was held up is where it was held up most: one that came too slowly is no sample */
	b->speaks_ns = hot_ns < AT_ONCE_NS ? b->speaks_ns + r.t_ns - before.t_ns : 0;
	/* as long as it is to be, if there is any money */
	window_opens(b, r, UINT64_MAX);
}

/*
 * While probes are put in and nothing is recorded yet, a target pays for nothing: not longer than
 * need be on a busy machine.
 */
static void open_window(struct budget *b)
{
	struct sched_param first = { .sched_priority = 1 }, own;
	int policy = sched_getscheduler(0);
	bool hurries = policy >= 0 && !sched_getparam(0, &own) && !sched_setscheduler(0, SCHED_RR, &first);

	put_in(b);
	if (hurries)
		sched_setscheduler(0, policy, &own);
}

/* Not worth another timer. */
#define LOOK_REST_NS 50000

/*
 * A look lasts for its time as it would pass without probes: by the clock those that see many calls
 * would see little of what the program does.
 */
static uint64_t look_rest_ns(const struct budget *b, struct reading r)
{
	double passed_ns = budget__passed_ns(b, r.t_ns - b->opened_ns, cpu_at(b, r) - b->opened_cpu_ns,
					     r.spent_ns - b->opened_spent_ns);

	return passed_ns + MIN(LOOK_REST_NS, b->look_ns / 4) < b->look_ns ? b->look_ns - (uint64_t)passed_ns : 0;
}

/* As far as the money goes; that is the guard's to see to. */
static void tick_look(struct budget *b, struct reading r)
{
	uint64_t rest_ns = look_rest_ns(b, r);

	if (rest_ns) {
		set_limit(b);
		arm(b, MIN(rest_ns, TICK_NS));
	} else if (end_window(b)) {
		after_window(b);
	}
}

/* Of the targets' CPU time that may be taken. */
static double share(const struct budget *b)
{
	return b->o.kernel->recording.overhead_pct / 100;
}

/* Open for a while: a process that stays within the budget may go on. */
static void tick(struct budget *b)
{
	struct reading r = budget__book(b, true);
	double lasted_ns = r.t_ns - b->opened_ns, spent_ns = r.spent_ns - b->opened_spent_ns;
	/* by what the targets did since it opened: they may just have begun */
	double earned_ns = share(b) * (cpu_at(b, r) - b->opened_cpu_ns);

	if (b->looking) {
		tick_look(b, r);
		return;
	}
	if (b->looked && lasted_ns > TURNS_FIRST_NS) {
		if (end_window(b))
			after_window(b);
		return;
	}
	if (spent_ns <= earned_ns)
		b->quantum_end_ns = r.spent_ns + MAX(b->quantum_ns, (uint64_t)(pace__earns(&b->pace) / 4));
	set_limit_and_mark(b, r.spent_ns);
	arm(b, lasted_ns < FIRST_TICKS_FOR_NS ? FIRST_TICK_NS : TICK_NS);
}

static void on_timer(void *arg)
{
	struct budget *b = arg;
	double chance, mean_ns;
	uint64_t n;

	if (read(b->timer_fd, &n, sizeof(n)) != sizeof(n) || b->over)
		return;
	switch (budget__state(b)) {
	case OPEN:
		tick(b);
		return;
	case SHUTTING:
		return;		/* on_shut is on its way */
	case SHUT:
		break;
	}
	budget__book(b, false);
	if (b->booked_ns < b->due_ns) {
		/*
		 * the targets run, or rest, as they did not when its time was drawn. It may be drawn again at any
		 * moment: how long one has waited says nothing of how long one has to wait
		 */
		mean_ns = pace__mean_gap_ns(&b->pace);
		if (mean_ns < b->mean_gap_ns / 2 || mean_ns > b->mean_gap_ns * 2)
			wait_for_look(b);
		else
			arm(b, MIN(b->due_ns - b->booked_ns, TICK_NS));
		return;
	}
	if (!b->quantum_ns)
		b->quantum_ns = pace__quantum_ns(&b->pace);
	chance = pace__may_begin(&b->pace, b->mean_gap_ns, b->quantum_ns);
	if (chance > 0 && b->by_turns) {
		double turn;

		b->looked = turns__draw(b, &turn);
		if (b->looked)
			turns__begin_look(b, b->looked);
		chance = b->looked ? chance * turn : 0;
	}
	if (chance > 0) {
		b->speaks_ns = b->mean_gap_ns / chance;
		open_window(b);
		return;
	}
	if (b->booked_ns - b->waited_ns > SECOND_NS) {
		b->waited_ns = b->booked_ns;
		pace__forget(&b->pace);
	}
	b->quantum_ns = pace__quantum_ns(&b->pace);
	wait_for_look(b);
}

static void on_shut(void *arg)
{
	struct budget *b = arg;
	eventfd_t n;

	eventfd_read(b->shut_fd, &n);
	if (!b->over && budget__state(b) == SHUTTING)
		after_window(b);
}

static void note_closing(struct budget *b)
{
	for (size_t i = 0; i < b->closing.n; i++)
		b->longest_out_ns = MAX(b->longest_out_ns, closing__took_ns(b->closing.v[i]));
}

static void on_closed(void *arg)
{
	struct budget *b = arg;
	eventfd_t n;

	eventfd_read(b->closed_fd, &n);
	note_closing(b);
	vec_keep(c, &b->closing, !closing__done(*c) || (closing__wait(*c), false));
}

/* ---- the first and the last */

static uint64_t cpu_of_all(struct budget *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->n_accounts; i++)
		sum += cpu_clock__ns(b->accounts[i].clock);
	return sum;
}

static void open_accounts(struct budget *b)
{
	b->by_turns = b->o.tracees->scout;
	if (b->by_turns) {
		b->account_room = b->o.kernel->sizes.n_procs;
		b->accounts = xcalloc(b->account_room, sizeof(*b->accounts));
		turns__meet(b);
		return;
	}
	b->n_accounts = b->o.tracees->v.n;
	b->accounts = xcalloc(b->n_accounts + 1, sizeof(*b->accounts));
	for (size_t i = 0; i < b->n_accounts; i++) {
		b->accounts[i].tracee = b->o.tracees->v.v[i];
		b->accounts[i].clock = cpu_clock__open(b->accounts[i].tracee->process.pid, true);
	}
}

#define LOOK_MS 50

int budget__begin(struct budget *b, struct loop *l)
{
	uint64_t since_ns, cpu_ns;
	struct reading r;
	double rate;
	int err;

	open_accounts(b);
	err = loop__add_fd(l, b->timer_fd, on_timer, b) ?:
	      loop__add_fd(l, b->closed_fd, on_closed, b) ?:
	      loop__add_fd(l, b->shut_fd, on_shut, b) ?:
	      start_guard(b);
	if (err)
		return err;
	/* how much the targets do: a look before the first window */
	since_ns = now_ns();
	cpu_ns = cpu_of_all(b);
	poll(NULL, 0, LOOK_MS);
	rate = (double)(cpu_of_all(b) - cpu_ns) / (now_ns() - since_ns);
	/* a program that is about to begin will use its CPU */
	for (size_t i = 0; i < b->n_accounts; i++)
		rate += b->accounts[i].tracee->own;
	pace__init(&b->pace, share(b), rate, since_ns);
	b->booked_spent_ns = b->start_spent_ns = meter__spent(b->meter).ns;
	b->booked_ns = now_ns();
	r = budget__book(b, false);
	b->gap_clock_ns = b->gap_spent_ns = 0;
	b->began_ns = r.t_ns;
	b->quantum_ns = pace__quantum_ns(&b->pace);
	if (!b->by_turns) {
		window_opens(b, r, MAX(b->quantum_ns, (uint64_t)pace__earns(&b->pace)));
		return 0;
	}
	b->partial = true;
	b->shut_at_ns = b->stretch_ns = b->waited_ns = r.t_ns;
	b->stretch_spent = meter__spent(b->meter);
	kernel__pause(b->o.kernel, true);
	wait_for_look(b);
	return 0;
}

void budget__end(struct budget *b)
{
	struct cut_opts how = {};
	const struct cut *cut;
	bool shutting;

	if (b->over || !b->accounts)
		return;
	/* the guard was quicker: then this is not the end of the trace but of a window */
	if (!end_window(b) && budget__state(b) == SHUTTING) {
		/* ... and may be at it still: it says when it is not */
		poll(&(struct pollfd){ .fd = b->shut_fd, .events = POLLIN }, 1, GUARD_MS);
		b->partial = true;
	}
	shutting = budget__state(b) == SHUTTING;
	note_closing(b);
	/*
	 * frozen, but with the breakpoints in place: forks of others hold up their removal (6.18),
	 * which cannot be hastened
	 */
	if (b->partial)
		say_verbose("probes were detached at most %.1f ms after the end of their window",
			    MAX(b->longest_out_ns, closing__took_ns(b->links)) / 1e6);
	b->over = true;
	if (shutting)
		budget__book_shut(b);
	else
		budget__book(b, false);
	b->ended_ns = b->booked_ns;
	if (!collect__cut(b->o.collect, &how, &cut, NULL))
		budget__observe(b, cut, shutting ? b->shut_at_ns : b->stretch_ns,
				shutting ? b->shut_spent : meter__spent(b->meter));
	closing__wait(b->links);
	b->links = NULL;
	/* those of earlier windows, too: the targets' last probes go next (probe/attach.h) */
	for (size_t i = 0; i < b->closing.n; i++)
		closing__wait(b->closing.v[i]);
	b->closing.n = 0;
}
