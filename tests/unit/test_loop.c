// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The loop: readable files, timers, signals, and changes in the midst of it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "util/loop.h"
#include "util/util.h"

#define MS 1000000ull

static struct loop *loop;

static void begin(void)
{
	loop = loop__new();
	cr_assert_not_null(loop);
}

static void end(void)
{
	loop__free(loop);
}

TestSuite(loop, .init = begin, .fini = end, .timeout = 20);

static void run(void)
{
	_cleanup_err_ struct err e = {};

	cr_assert_eq(loop__run(loop, &e), 0, "%s", err_msg(&e));
}

static size_t n_open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct reader {
	int fd[2];
	unsigned int n_calls, stop_after;
	bool keep;		/* leave the bytes where they are */
	struct reader *remove;	/* taken out at the first call */
};

static void on_readable(void *arg)
{
	struct reader *r = arg;
	char c;

	r->n_calls++;
	if (!r->keep)
		cr_assert_eq(read(r->fd[0], &c, 1), 1);
	if (r->remove)
		loop__remove_fd(loop, r->remove->fd[0]);
	if (r->stop_after && r->n_calls >= r->stop_after)
		loop__stop(loop);
}

static void open_reader(struct reader *r, const char *bytes)
{
	cr_assert_eq(pipe2(r->fd, O_CLOEXEC), 0);
	cr_assert_eq(write(r->fd[1], bytes, strlen(bytes)), (ssize_t)strlen(bytes));
	cr_assert_eq(loop__add_fd(loop, r->fd[0], on_readable, r), 0);
}

static void close_reader(struct reader *r)
{
	cr_expect_eq(close(r->fd[0]), 0, "the fd stays its owner's");
	cr_expect_eq(close(r->fd[1]), 0);
}

static void stop(void *arg)
{
	loop__stop(loop);
}

static void count(void *arg)
{
	++*(unsigned int *)arg;
}

Test(loop, stopped_before_it_runs)
{
	struct reader r = {};

	open_reader(&r, "x");
	loop__stop(loop);
	run();
	cr_expect_eq(r.n_calls, 0);
	close_reader(&r);
}

Test(loop, while_readable)
{
	struct reader a = {}, b = { .stop_after = 3 }, quiet = {};

	open_reader(&a, "12");
	open_reader(&b, "123");
	open_reader(&quiet, "");
	run();
	cr_expect_eq(a.n_calls, 2);
	cr_expect_eq(b.n_calls, 3);
	cr_expect_eq(quiet.n_calls, 0);
	close_reader(&a);
	close_reader(&b);
	close_reader(&quiet);
}

Test(loop, stop_passes_over_the_rest)
{
	struct reader r[2] = { { .stop_after = 1 }, { .stop_after = 1 } };

	open_reader(&r[0], "x");
	open_reader(&r[1], "x");
	run();
	cr_expect_eq(r[0].n_calls + r[1].n_calls, 1);
	close_reader(&r[0]);
	close_reader(&r[1]);
}

Test(loop, remove_oneself)
{
	struct reader r = { .keep = true };

	r.remove = &r;
	open_reader(&r, "x");
	cr_assert_eq(loop__add_timer(loop, 20 * MS, true, stop, NULL), 0);
	run();
	cr_expect_eq(r.n_calls, 1, "still readable, but removed");
	close_reader(&r);
}

/* Both are ready in the same round: whoever is first takes the other one out before its turn. */
Test(loop, remove_each_other)
{
	struct reader a = { .keep = true, .stop_after = 5 }, b = { .keep = true, .stop_after = 5 };

	a.remove = &b;
	b.remove = &a;
	open_reader(&a, "x");
	open_reader(&b, "x");
	run();
	cr_expect_eq(a.n_calls + b.n_calls, 5);
	cr_expect(!a.n_calls || !b.n_calls);
	close_reader(&a);
	close_reader(&b);
}

Test(loop, number_used_again)
{
	struct reader old = { .keep = true, .stop_after = 1 }, new = { .stop_after = 1 };

	open_reader(&old, "x");
	loop__remove_fd(loop, old.fd[0]);
	close_reader(&old);
	open_reader(&new, "x");
	cr_assert_eq(new.fd[0], old.fd[0], "the same number");
	run();
	cr_expect_eq(old.n_calls, 0);
	cr_expect_eq(new.n_calls, 1);
	close_reader(&new);
}

Test(loop, what_cannot_be_waited_for)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_expect_eq(loop__add_fd(loop, fd, stop, NULL), -EPERM);
	close(fd);
	cr_expect_eq(loop__add_fd(loop, fd, stop, NULL), -EBADF);
	/* and the loop still runs */
	cr_assert_eq(loop__add_timer(loop, MS, true, stop, NULL), 0);
	run();
}

struct ticker {
	unsigned int n;
	uint64_t begin_ns, first_ns, last_ns;
};

static void on_tick(void *arg)
{
	struct ticker *t = arg;

	t->last_ns = now_ns() - t->begin_ns;
	if (!t->n++)
		t->first_ns = t->last_ns;
	if (t->n == 5)
		loop__stop(loop);
}

Test(loop, timers)
{
	struct ticker t = { .begin_ns = now_ns() };
	unsigned int n_once = 0;

	cr_assert_eq(loop__add_timer(loop, 10 * MS, false, on_tick, &t), 0);
	cr_assert_eq(loop__add_timer(loop, MS, true, count, &n_once), 0);
	run();
	cr_expect_eq(t.n, 5);
	cr_expect_geq(t.first_ns, 10 * MS, "first after that time");
	cr_expect_geq(t.last_ns, 50 * MS);
	cr_expect_eq(n_once, 1);
}

Test(loop, timer_removed)
{
	struct ticker t = { .begin_ns = now_ns() };
	unsigned int n_removed = 0, n_other = 0;
	size_t n_before = n_open_files();

	cr_assert_eq(loop__add_timer(loop, MS, true, count, &n_removed), 0);
	cr_assert_eq(loop__add_timer(loop, MS, true, count, &n_other), 0);
	loop__remove_timer(loop, count, &n_removed);
	loop__remove_timer(loop, on_tick, &n_other);
	cr_expect_eq(n_open_files(), n_before + 1);
	cr_assert_eq(loop__add_timer(loop, 10 * MS, false, on_tick, &t), 0);
	run();
	cr_expect_eq(n_removed, 0);
	cr_expect_eq(n_other, 1);
}

#define N_TURNS 1000

struct turns {
	struct reader r;
	unsigned int n, n_fds;
};

static void on_turn(void *arg);

static void on_rested(void *arg)
{
	struct turns *t = arg;

	cr_assert_eq(loop__add_fd(loop, t->r.fd[0], on_turn, t), 0);
}

static void on_turn(void *arg)
{
	struct turns *t = arg;

	t->n_fds = MAX(t->n_fds, (unsigned int)n_open_files());
	loop__remove_fd(loop, t->r.fd[0]);
	if (++t->n == N_TURNS)
		loop__stop(loop);
	cr_assert_eq(loop__add_timer(loop, 1, true, on_rested, t), 0);
}

/* What comes and goes for as long as a server runs takes nothing with it. */
Test(loop, what_is_over_is_freed)
{
	struct turns t = { .r.keep = true };
	size_t n_before;

	cr_assert_eq(pipe2(t.r.fd, O_CLOEXEC), 0);
	cr_assert_eq(write(t.r.fd[1], "x", 1), 1);
	n_before = n_open_files();
	on_rested(&t);
	run();
	cr_expect_eq(t.n, N_TURNS);
	cr_expect_leq(t.n_fds, n_before + 1);
	close_reader(&t.r);
}

Test(loop, timer_of_seconds)
{
	struct ticker t = { .begin_ns = now_ns(), .n = 4 };

	cr_assert_eq(loop__add_timer(loop, 1100 * MS, true, on_tick, &t), 0);
	run();
	cr_expect_geq(t.last_ns, 1100 * MS);
}

static unsigned int n_signals[64];

static void on_signal(int sig, void *arg)
{
	n_signals[sig]++;
	if (sig == SIGUSR2)
		loop__stop(arg);
}

Test(loop, signals)
{
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	cr_assert_eq(loop__add_signals(loop, &set, on_signal, loop), 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	run();
	cr_expect_eq(n_signals[SIGUSR1], 1);
	cr_expect_eq(n_signals[SIGUSR2], 1);
	sigpending(&pending);
	cr_expect_not(sigismember(&pending, SIGUSR1));
	cr_expect_not(sigismember(&pending, SIGUSR2));
}

static void raise_usr2(void *arg)
{
	raise(SIGUSR2);
}

Test(loop, signal_while_it_waits)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	cr_assert_eq(loop__add_signals(loop, &set, on_signal, loop), 0);
	cr_assert_eq(loop__add_timer(loop, MS, true, raise_usr2, NULL), 0);
	run();
	cr_expect_eq(n_signals[SIGUSR2], 1);
}

Test(loop, leaves_no_file_open)
{
	size_t n_before = n_open_files();
	struct loop *other = loop__new();
	sigset_t set;

	cr_assert_not_null(other);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	cr_assert_eq(loop__add_signals(other, &set, on_signal, other), 0);
	cr_assert_eq(loop__add_timer(other, MS, true, stop, NULL), 0);
	cr_assert_eq(loop__add_timer(other, MS, false, stop, NULL), 0);
	cr_expect_eq(n_open_files(), n_before + 4);
	loop__free(other);
	cr_expect_eq(n_open_files(), n_before);
	loop__free(NULL);
}
