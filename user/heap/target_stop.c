// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the stop of a process, by ptrace. A thread of ours does it and nothing else: when it ends, the kernel lets go of
 * everything that it held, also of threads that had not stopped yet, which could not be let go otherwise.
 *
 * What always holds: the stop itself takes no longer than a second, and one for registers alone a fraction of that. No signal that arrives meanwhile is lost: what a
 * thread was about to receive is passed on, and as stops are looked at but never taken, the kernel does that
 * for us, should we be killed.
 */
#include <errno.h>
#include <linux/elf.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "heap/target.h"
#include "process/sharers.h"
#include "process/process.h"
#include "util/hash.h"
#include "util/rights.h"

#define STOP_MAX_NS SECOND_NS	/* where the target says nothing else */
/* Nobody has asked for a stop to read registers: who waits for something else than a processor by then is not waited for. */
#define REGISTERS_MAX_NS (50 * MS_NS)
#define POLL_US 50

struct held {
	struct target_thread thread;
	bool stopped;
	int signal;		/* that it was about to receive */
};

struct target_stopped {
	pthread_t keeper;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool decided, let_go;	/* by the keeper; by the others */
	int result;		/* -errno of the stop */
	pid_t pid;
	struct sharers *sharers;	/* the target's */
	bool in_part;		/* those that have stopped by then are enough */
	uint64_t max_ns;
	uint64_t began_ns, ended_ns;
	struct vec(struct held) threads;
	struct hash tids;	/* of these */
};

/* ---- the keeper's side */

/* It waits for nothing but to be noticed. */
static bool has_ended(int tid)
{
	char state = process__state(tid);

	return state == 'Z' || state == 'X';
}

/* 1: one more; 0: it is held already, or has ended */
static int seize(struct target_stopped *s, int tid)
{
	struct held *h;

	if (hash__get(&s->tids, (uint64_t)tid) || has_ended(tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return errno == ESRCH || has_ended(tid) ? 0 : -errno;
	h = vec_push(&s->threads);
	hash__put(&s->tids, (uint64_t)tid, s);
	h->thread.tid = tid;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	return 1;
}

/* How many more; -errno */
static int seize_threads(struct target_stopped *s, pid_t pid)
{
	_cleanup_pids_ struct pids threads = pids__of_threads(pid);
	int n = 0, r = 0;
	pid_t tid;

	if (!threads.dir)
		return -ESRCH;
	while (r >= 0 && (tid = pids__next(&threads))) {
		r = seize(s, tid);
		n += r > 0;
	}
	return r < 0 ? r : n;
}

/* Those of other processes that share the memory, too: a child of vfork, which its parent waits for, among them. */
static int seize_all(struct target_stopped *s)
{
	struct sharers now = {};
	int n = seize_threads(s, s->pid);

	if (n < 0 || sharers__find(s->pid, &now))
		return n;
	for (size_t i = 0; i < now.n && n >= 0; i++) {
		int r = seize_threads(s, now.v[i]);

		n = r >= 0 ? n + r : r == -ESRCH ? n : r;
	}
	sharers__done(s->sharers);
	*s->sharers = now;
	return n;
}

static size_t n_stopped(const struct target_stopped *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->threads.n; i++)
		n += s->threads.v[i].stopped;
	return n;
}

/* Are all of them stopped? Those that have ended meanwhile leave. */
static bool look_at_stops(struct target_stopped *s)
{
	bool all = true;

	for (size_t i = 0; i < s->threads.n;) {
		struct held *h = &s->threads.v[i];
		siginfo_t si = {};

		if (!h->stopped && (waitid(P_PID, h->thread.tid, &si, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) ||
				    (si.si_pid && si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED))) {
			hash__remove(&s->tids, (uint64_t)h->thread.tid);
			*h = s->threads.v[--s->threads.n];
			continue;
		}
		if (si.si_pid) {
			h->stopped = true;
			/* one of ptrace's own has an event, which is no signal */
			h->signal = si.si_status >> 8 ? 0 : si.si_status;
		}
		all &= h->stopped;
		i++;
	}
	return all;
}

/* Do all the others wait for what is no processor? On a busy machine a thread may take long to get to its stop. */
static bool is_in_vain(const struct target_stopped *s)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (!s->threads.v[i].stopped && !strchr("DZX", process__state(s->threads.v[i].thread.tid)))
			return false;
	return true;
}

static int stop_all(struct target_stopped *s)
{
	uint64_t began = now_ns(), waited;

	for (;;) {
		int n = seize_all(s);

		if (n < 0)
			return n;
		while (!look_at_stops(s)) {
			waited = now_ns() - began;
			if (waited > s->max_ns || (s->in_part && waited > REGISTERS_MAX_NS && is_in_vain(s)))
				return s->in_part && n_stopped(s) ? 0 : -ETIMEDOUT;
			usleep(POLL_US);
		}
		/* one that was not stopped yet may have made others */
		if (!n)
			return s->threads.n ? 0 : -ESRCH;
	}
}

static void read_registers(struct target_thread *t)
{
	struct user_regs_struct regs;
	struct iovec to = { &regs, sizeof(regs) };

	t->syscall = NO_SYSCALL;
	/* that of a program of 32 bits is shorter */
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &to) || to.iov_len != sizeof(regs))
		return;
#ifdef __aarch64__
	_Static_assert(sizeof(regs.regs) <= sizeof(t->regs), "all registers have room");
	memcpy(t->regs, regs.regs, sizeof(regs.regs));
	t->n_regs = ARRAY_SIZE(regs.regs);
	t->sp = regs.sp;
	t->pc = regs.pc;
	to = (struct iovec){ &t->tp, sizeof(t->tp) };
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_ARM_TLS, &to))
		t->tp = 0;
#else
	const uint64_t all[] = { regs.rax, regs.rbx, regs.rcx, regs.rdx, regs.rsi, regs.rdi, regs.rbp, regs.rsp,
				 regs.r8, regs.r9, regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15, regs.gs_base };

	memcpy(t->regs, all, sizeof(all));
	t->n_regs = ARRAY_SIZE(all);
	t->sp = regs.rsp;
	t->pc = regs.rip;
	t->syscall = (int64_t)regs.orig_rax >= 0 ? (int64_t)regs.orig_rax : NO_SYSCALL;
	t->tp = regs.fs_base;
#endif
}

static void *keep(void *arg)
{
	struct target_stopped *s = arg;
	int r;

	s->began_ns = now_ns();
	r = stop_all(s);
	for (size_t i = 0; i < s->threads.n && !r; i++)
		if (s->threads.v[i].stopped)
			read_registers(&s->threads.v[i].thread);
	pthread_mutex_lock(&s->lock);
	s->result = r;
	s->decided = true;
	pthread_cond_broadcast(&s->changed);
	while (!r && !s->let_go)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].stopped)
			ptrace(PTRACE_DETACH, s->threads.v[i].thread.tid, 0, s->threads.v[i].signal);
	s->ended_ns = now_ns();
	return NULL;
}

/* ---- the others' side */

static void end_keeper(struct target *t, struct target_stopped *s)
{
	pthread_mutex_lock(&s->lock);
	s->let_go = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->keeper, NULL);
	t->paused_ns += s->ended_ns - s->began_ns;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	vec_done(&s->threads);
	hash__done(&s->tids);
	free(s);
}

static int say_held(pid_t pid, const struct debugger *d, struct err *e)
{
	return err_set(e, -EBUSY, "process %d cannot be stopped: %s (process %d) traces it already; without a stop it can be read",
		       (int)pid, d->comm[0] ? d->comm : "a debugger", (int)d->pid);
}

static int say_why(struct target *t, int r, struct err *e)
{
	struct debugger d;

	switch (r) {
	case -ETIMEDOUT:
		return err_set(e, r, "process %d did not stop within %s (a thread waits for a disk, or for a child of vfork): it goes on; without a stop it can be read",
			       (int)t->pid, t->stop_max_ns ? "a fraction of a second" : "a second");
	case -ESRCH:
		return err_set(e, r, "process %d has ended", (int)t->pid);
	case -EPERM:
		d = debugger__of(t->pid);
		if (d.pid)
			return say_held(t->pid, &d, e);
		return rights__refused(e, r, RIGHT_BIT(RIGHT_SYS_PTRACE), "this user may not stop process %d", (int)t->pid);
	}
	return err_set(e, r, "process %d cannot be stopped: %s", (int)t->pid, strerror(-r));
}

/* Without root, whoever runs malloctrace can stop it with a signal, and with it whatever it holds. */
static bool is_of_another(pid_t pid)
{
	uid_t owner = process__owner(pid);

	return getuid() && owner != (uid_t)-1 && owner != getuid();
}

/* Signals are for the threads that wait for them. */
static int start_keeper(struct target_stopped *s)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->keeper, NULL, keep, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static int stop(struct target *t, bool in_part, struct err *e)
{
	struct debugger d = debugger__of(t->pid);
	struct target_stopped *s;
	int r;

	if (t->stopped || !t->runner)
		return 0;
	if (d.pid)
		return say_held(t->pid, &d, e);
	if (is_of_another(t->pid))
		return err_set(e, -EPERM, "process %d belongs to another user: only root may stop it; without a stop it can be read", (int)t->pid);
	s = xcalloc(1, sizeof(*s));
	s->pid = t->pid;
	s->sharers = &t->sharers;
	s->in_part = in_part;
	s->max_ns = t->stop_max_ns ? t->stop_max_ns : STOP_MAX_NS;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	r = start_keeper(s);
	if (r) {
		free(s);
		return err_set(e, r, "no thread to stop process %d: %s", (int)t->pid, strerror(-r));
	}
	pthread_mutex_lock(&s->lock);
	while (!s->decided)
		pthread_cond_wait(&s->changed, &s->lock);
	r = s->result;
	pthread_mutex_unlock(&s->lock);
	if (r) {
		end_keeper(t, s);
		return say_why(t, r, e);
	}
	t->stopped = s;
	return 0;
}

int target__pause(struct target *t, struct err *e)
{
	return stop(t, false, e);
}

void target__resume(struct target *t)
{
	if (!t->stopped)
		return;
	end_keeper(t, t->stopped);
	t->stopped = NULL;
}

int target__pause_later(struct target *t, uint64_t ns, struct err *e)
{
	target__resume(t);
	nanosleep(&(struct timespec){ .tv_nsec = (long)MIN(ns, SECOND_NS - 1) }, NULL);
	return target__pause(t, e);
}

#ifdef __aarch64__
#define SVC 0xd4000001u

/*
 * In which call a thread is. The kernel has forgotten the number by now: one that is to be made again has pc at its instruction,
 * one that has returned behind it.
 */
static void find_syscall(struct target *t, struct target_thread *of)
{
	struct {
		uint32_t before, at;
	} code;

	if (target__read(t, of->pc - sizeof(code.before), &code, sizeof(code)) && (code.at == SVC || code.before == SVC))
		of->syscall = (int64_t)of->regs[8];
}
#else
static void find_syscall(struct target *t, struct target_thread *of)
{
}
#endif

int target__registers(struct target *t, struct target_thread **ret, size_t *ret_n, struct err *e)
{
	size_t n = t->stopped ? n_stopped(t->stopped) : 0, at = 0;
	struct target_thread *all;

	if (!n)
		return err_set(e, -EINVAL, "process %d is not stopped: its registers cannot be read", (int)t->pid);
	all = xcalloc(n, sizeof(*all));
	for (size_t i = 0; i < t->stopped->threads.n; i++)
		if (t->stopped->threads.v[i].stopped) {
			all[at] = t->stopped->threads.v[i].thread;
			find_syscall(t, &all[at++]);
		}
	*ret = all;
	*ret_n = n;
	return 0;
}

int target__stop_for_registers(struct target *t, struct target_thread **ret, size_t *ret_n, size_t *ret_n_unread, struct err *e)
{
	int err = stop(t, true, e);

	if (err)
		return err;
	err = target__registers(t, ret, ret_n, e);
	if (!err)
		*ret_n_unread = t->stopped->threads.n - *ret_n;
	target__resume(t);
	return err;
}
