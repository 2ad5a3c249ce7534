// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the ring of alarms. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "budget/meter.h"
#include "malloctrace.skel.h"
#include "tracee/tracee.h"
#include "util/invoker.h"
#include "util/rights.h"
#include "util/util.h"

struct meter {
	struct kernel *kernel;
	struct ring_buffer *ring;
};

static int on_alarm(void *ctx, void *data, size_t size)
{
	return 0;
}

int meter__new(struct kernel *k, struct meter **ret, struct err *e)
{
	struct meter *m = xcalloc(1, sizeof(*m));

	m->kernel = k;
	m->ring = ring_buffer__new(bpf_map__fd(k->skel->maps.budget_alarm), on_alarm, NULL, NULL);
	if (m->ring) {
		*ret = m;
		return 0;
	}
	free(m);
	return err_set(e, -errno, "ring buffer: %s", strerror(errno));
}

void meter__free(struct meter *m)
{
	if (!m)
		return;
	ring_buffer__free(m->ring);
	free(m);
}

struct spent meter__spent(const struct meter *m)
{
	const struct malloctrace_bpf__bss *bss = m->kernel->skel->bss;

	return (struct spent){
		.ns = __atomic_load_n(&bss->mt_spent_ns, __ATOMIC_RELAXED),
		.timed = __atomic_load_n(&bss->mt_timed, __ATOMIC_RELAXED),
		.timed_ns = __atomic_load_n(&bss->mt_timed_ns, __ATOMIC_RELAXED),
	};
}

void meter__gaps(const struct meter *m, struct gaps *ret)
{
	const struct malloctrace_bpf__bss *bss = m->kernel->skel->bss;

	for (size_t i = 0; i < 2 * MT_N_GAPS; i++) {
		ret->n[i / MT_N_GAPS][i % MT_N_GAPS] = bss->mt_gap_n[i];
		ret->ns[i / MT_N_GAPS][i % MT_N_GAPS] = bss->mt_gap_ns[i];
	}
}

void meter__set_trap_ns(struct meter *m, uint64_t ns)
{
	__atomic_store_n(&m->kernel->skel->bss->mt_trap_ns, ns, __ATOMIC_RELAXED);
}

void meter__set_limit(struct meter *m, uint64_t spent_ns)
{
	__atomic_store_n(&m->kernel->skel->data->mt_spend_limit, spent_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->kernel->skel->bss->mt_alarmed, 0, __ATOMIC_SEQ_CST);
}

void meter__set_mark(struct meter *m, uint64_t spent_ns)
{
	__atomic_store_n(&m->kernel->skel->bss->mt_mark_at_ns, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->kernel->skel->data->mt_mark, spent_ns, __ATOMIC_SEQ_CST);
}

bool meter__mark(const struct meter *m, struct reading *ret)
{
	ret->t_ns = __atomic_load_n(&m->kernel->skel->bss->mt_mark_at_ns, __ATOMIC_ACQUIRE);
	ret->spent_ns = __atomic_load_n(&m->kernel->skel->bss->mt_mark_spent, __ATOMIC_RELAXED);
	return ret->t_ns != 0;
}

int meter__alarm_fd(const struct meter *m)
{
	return bpf_map__fd(m->kernel->skel->maps.budget_alarm);
}

bool meter__read_alarm(struct meter *m)
{
	ring_buffer__consume(m->ring);
	return __atomic_load_n(&m->kernel->skel->bss->mt_alarmed, __ATOMIC_ACQUIRE);
}

void meter__next_window(struct meter *m, bool after_gap)
{
	if (after_gap)
		__atomic_store_n(&m->kernel->skel->bss->mt_gaps, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&m->kernel->skel->bss->mt_window, 1, __ATOMIC_SEQ_CST);
}

/* ---- what a hit costs */

/* Owns the child and its probes, for the time of one call. */

#define PAIRS 4000
#define SLICES 11
#define DEPTH 8

struct child {
	pid_t pid;
	int fd;
	struct tracees tracees;
	struct model *model;
};

/* volatile: or the compiler knows what malloc and free are, and leaves both out */
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;

static __attribute__((noinline)) void pairs(unsigned int depth, unsigned int n)
{
	if (depth) {
		pairs(depth - 1, n);
		__asm__ volatile("" ::: "memory");	/* no tail call */
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		release(allocate(64));
}

/*
 * A byte requests a slice and is answered by the CPU time it took; the end of the file ends the
 * child. It keeps no other descriptor.
 */
static _Noreturn void serve(int fd, pid_t parent)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	descriptors__keep_only(fd);
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;

		pairs(DEPTH, PAIRS);
		took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		if (write(STDIN_FILENO, &took_ns, sizeof(took_ns)) != sizeof(took_ns))
			break;
	}
	_exit(0);
}

static int child_start(struct child *c, struct err *e)
{
	int fds[2];
	pid_t self = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return err_set(e, -errno, "socketpair: %s", strerror(errno));
	c->pid = fork();
	if (!c->pid)
		serve(fds[1], self);
	close(fds[1]);
	c->fd = fds[0];
	return c->pid < 0 ? err_set(e, -errno, "fork: %s", strerror(errno)) : 0;
}

static void child_end(struct child *c)
{
	if (c->tracees.objects) {
		tracees__detach(&c->tracees);
		tracees__done(&c->tracees);
	}
	model__free(c->model);
	if (c->fd >= 0)
		close(c->fd);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
}

COMPARATOR(by_value, double, ORDER(*a, *b))

/* The slices' median, or the quickest of them, in ns per pair. */
static int measure(struct child *c, bool quickest, double *ret, struct err *e)
{
	double v[SLICES];

	for (size_t i = 0; i < SLICES; i++) {
		uint64_t took_ns;

		if (write(c->fd, "", 1) != 1 || recv(c->fd, &took_ns, sizeof(took_ns), MSG_WAITALL) != sizeof(took_ns))
			return err_set(e, -EPIPE, "the child process to be measured has ended");
		v[i] = (double)took_ns / PAIRS;
	}
	qsort(v, SLICES, sizeof(*v), by_value);
	*ret = v[quickest ? 0 : SLICES / 2];
	return 0;
}

static uint64_t hits_of(struct collect *collect, uint32_t proc)
{
	struct cut_opts how = {};
	const struct cut *cut;
	uint64_t n = 0;

	if (collect__cut(collect, &how, &cut, NULL))
		return 0;
	for (size_t i = 0; i < cut->n_threads; i++)
		if (cut->threads[i].proc == proc)
			n += cut->threads[i].probe_hits;
	return n;
}

/* The mean of the gaps up to limit_ns, and what part of all those are. */
static double mean_gap(const struct gaps *before, const struct gaps *now, int where, double limit_ns, double *ret_part)
{
	double n = 0, ns = 0, all = 0;

	for (size_t i = 0; i < MT_N_GAPS; i++) {
		double more = now->n[where][i] - before->n[where][i];

		all += more;
		if (i + 1 < MT_N_GAPS && (i + 1) * MT_GAP_STEP_NS <= limit_ns) {
			n += more;
			ns += now->ns[where][i] - before->ns[where][i];
		}
	}
	*ret_part = all >= 100 ? n / all : 0;
	return n > 0 ? ns / n : 0;
}

/* Of the shortest quarter: malloc itself takes longer for some calls than for others, and that is the target's own. */
bool gaps__inside(const struct gaps *before, const struct gaps *now, double *ret_ns)
{
	double all = 0, left, sum = 0;

	for (size_t i = 0; i < MT_N_GAPS; i++)
		all += now->n[INSIDE][i] - before->n[INSIDE][i];
	left = all / 4;
	for (size_t i = 0; i < MT_N_GAPS && left > 0; i++) {
		double n = now->n[INSIDE][i] - before->n[INSIDE][i], ns = now->ns[INSIDE][i] - before->ns[INSIDE][i];

		if (n > 0)
			sum += ns / n * MIN(n, left);
		left -= n;
	}
	*ret_ns = all > 0 ? sum / (all / 4) : 0;
	return all >= 100;
}

bool gaps__compare(const struct gaps *before, const struct gaps *now, double *ret_ns)
{
	double part, outside, inside = mean_gap(before, now, INSIDE, MT_N_GAPS * MT_GAP_STEP_NS, &part);

	/* the usual ones: up to half as long again as their mean */
	for (int i = 0; i < 5; i++)
		inside = mean_gap(before, now, INSIDE, inside * 1.5, &part);
	if (part < 0.5)
		return false;
	outside = mean_gap(before, now, OUTSIDE, inside * 1.5, &part);
	*ret_ns = outside - inside;
	return part > 0.8;
}

static int attach(struct child *c, struct kernel *k, struct unwind *u, struct err *e)
{
	int err;

	c->model = model__new();
	tracees__init(&c->tracees, false);
	c->tracees.kernel = k;
	c->tracees.model = c->model;
	c->tracees.unwind = u;
	err = tracees__add(&c->tracees, c->pid, e);
	return err ? err : c->tracees.probing->attach(&c->tracees, e);
}

int calibrate__run(struct kernel *k, struct collect *collect, struct unwind *u, struct meter *m,
		   struct hit_cost *ret, struct err *e)
{
	struct child c = { .pid = -1, .fd = -1 };
	double bare, probed, hits = 0, program_ns;
	struct spent before = {}, after = {};
	struct gaps gaps_before, gaps_after;
	uint32_t proc = 0;
	int err = child_start(&c, e) ?:
		  measure(&c, true, &bare, e) ?:
		  attach(&c, k, u, e);

	if (!err) {
		proc = c.tracees.v.v[0]->lives.v[0]->proc;
		kernel__pause(k, false);
		err = measure(&c, false, &probed, e);	/* warm: sites are found, pages are there */
		before = meter__spent(m);
		meter__gaps(m, &gaps_before);
		hits = -(double)hits_of(collect, proc);
		if (!err)
			err = measure(&c, false, &probed, e);
		hits += hits_of(collect, proc);
		after = meter__spent(m);
		meter__gaps(m, &gaps_after);
		kernel__pause(k, true);
	}
	child_end(&c);
	if (proc)
		unwind__drop(u, proc);
	/* it has malloctrace's memory, descriptors and capabilities, so it stays undumpable: nobody may inspect it by being its user */
	if (err == -EACCES && rights__lacking(RIGHT_BIT(RIGHT_SYS_PTRACE)))
		return rights__refused(e, err, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "--overhead: what a probe hit costs is measured in a child of malloctrace, which nobody may inspect without this right; single processes can be traced without --overhead");
	if (err)
		return err_wrap(e, err, "--overhead: the cost of a probe hit cannot be measured");
	hits /= (double)PAIRS * SLICES;
	if (hits < 1 || after.timed == before.timed)
		return err_set(e, -EIO,
			       "--overhead: the cost of a probe hit cannot be measured: probes in a child process of malloctrace reported nothing");
	program_ns = (double)(after.timed_ns - before.timed_ns) / (after.timed - before.timed);
	*ret = (struct hit_cost){
		.hit_ns = MAX((probed - bare) / hits, 1.0),
		.bare_ns = bare / hits,
	};
	ret->trap_ns = MAX(ret->hit_ns - program_ns, 1.0);
	if (!gaps__inside(&gaps_before, &gaps_after, &ret->inside_ns))
		ret->inside_ns = 0;
	ret->gaps_compare = gaps__compare(&gaps_before, &gaps_after, &ret->gap_ns);
	return 0;
}
