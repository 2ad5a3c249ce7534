// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The memory of a child of ours that is kept past its end. Whether it is gone is told by a memfd that the child maps: while anybody can
 * write to it by a mapping, the kernel does not seal it.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "fuse_made.h"
#include "process/keeper.h"
#include "process/memory.h"
#include "process/process.h"
#include "trace/session.h"
#include "util/util.h"

#define SECRET 0x0123456789abcdefull

struct kid {
	pid_t pid;
	int in, out;		/* a byte into it: it goes on; one from it: it has begun */
	int shared;		/* the memfd */
	volatile uint64_t *word;	/* is SECRET in the child, at the same address, and 0 here */
};

static struct keeper *keeper;
static struct err e;

static void need_keeper(void)
{
	int err = keeper__new(&keeper, &e);

	if (err == -EPERM || err == -ENOSYS)
		cr_skip_test("%s", err_msg(&e));
	cr_assert_eq(err, 0, "%s", err_msg(&e));
}

/* What the child does in the end: _exit(7), or another program, cat. */
static void start(struct kid *c, bool execs)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int in[2], out[2];
	char byte = 0;

	c->shared = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	cr_assert(c->shared >= 0 && !ftruncate(c->shared, (off_t)page) && !pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	c->word = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->pid = fork();
	cr_assert(c->pid >= 0 && c->word != MAP_FAILED);
	if (!c->pid) {
		void *mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, c->shared, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(in[1]);
		*c->word = SECRET;
		if (mapped == MAP_FAILED || write(out[1], &byte, 1) != 1 || read(in[0], &byte, 1) != 1)
			_exit(1);
		if (execs && dup2(in[0], 0) == 0)
			execl("/bin/cat", "cat", NULL);
		_exit(7);
	}
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
	cr_assert_eq(read(c->out, &byte, 1), 1);
}

static void go_on(struct kid *c)
{
	cr_assert_eq(write(c->in, "", 1), 1);
}

/* Zombie: as it is until somebody waits for it. */
static void end(struct kid *c)
{
	siginfo_t info;

	go_on(c);
	cr_assert_eq(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
	cr_expect_eq(info.si_status, 7);
}

static void reap(struct kid *c)
{
	int status;

	cr_assert_eq(waitpid(c->pid, &status, 0), c->pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static struct keeping *keep(struct kid *c)
{
	struct keeping *k = NULL;

	cr_assert_eq(keeper__keep(keeper, c->pid, &k, &e), 0, "%s", err_msg(&e));
	return k;
}

static void expect_kept(struct keeping *k, struct kid *c)
{
	uint64_t word = 0, entry = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);

	cr_expect_eq(pread(keeping__memory(k)->mem, &word, 8, (off_t)(uintptr_t)c->word), 8);
	cr_expect_eq(word, SECRET);
	cr_expect_eq(pread(keeping__memory(k)->pagemap, &entry, 8, (off_t)((uintptr_t)c->word / page * 8)), 8);
	cr_expect(entry >> 63);
	cr_expect_eq(fcntl(c->shared, F_ADD_SEALS, F_SEAL_WRITE), -1, "it is not mapped any more");
}

static void expect_gone(struct kid *c)
{
	cr_expect_eq(fcntl(c->shared, F_ADD_SEALS, F_SEAL_WRITE), 0, "it is still mapped");
}

static void expect_same(const struct maps *a, const struct maps *b)
{
	cr_assert_eq(a->n, b->n, "%zu, then %zu", a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct mapping *x = &a->v[i], *y = &b->v[i];

		cr_expect(x->start == y->start && x->end == y->end && x->file_off == y->file_off && x->ino == y->ino && x->dev_major == y->dev_major &&
				  x->dev_minor == y->dev_minor && x->read == y->read && x->write == y->write && x->exec == y->exec &&
				  x->shared == y->shared && x->deleted == y->deleted && !strcmp(x->path, y->path), "%zu: %s, then %s", i, x->path, y->path);
	}
}

static pid_t holder_of_any(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	pid_t found = 0;

	while (!found && (d = readdir(proc)))
		if (atoi(d->d_name) > 0 && keeper__is_holder(atoi(d->d_name)))
			found = atoi(d->d_name);
	closedir(proc);
	return found;
}

Test(keeper, a_zombie_and_one_that_was_waited_for)
{
	struct maps before, after;
	struct keeping *k;
	struct kid c;

	need_keeper();
	start(&c, false);
	k = keep(&c);
	expect_kept(k, &c);
	cr_expect_eq(keeping__pid(k), c.pid);
	cr_expect_eq(keeping__runner(k), c.pid);
	cr_assert_eq(maps__read(c.pid, &before, &e), 0);
	end(&c);
	expect_kept(k, &c);
	cr_expect_eq(keeping__runner(k), 0);
	reap(&c);
	expect_kept(k, &c);
	cr_expect_eq(keeping__runner(k), 0);
	cr_assert_eq(keeping__maps(k, &after, &e), 0, "%s", err_msg(&e));
	expect_same(&before, &after);
	cr_expect_eq(keeping__tend(k, &e), 0);
	expect_kept(k, &c);
	keeping__free(k);
	expect_gone(&c);
	cr_expect_eq(waitpid(-1, NULL, __WALL), -1, "a child is left");
	keeper__free(keeper);
	maps__done(&before);
	maps__done(&after);
}

/* Without the kernel's answers by the memory: those of the last time that there was text. */
Test(keeper, mappings_by_text)
{
	struct maps zombie, reaped;
	struct keeping *k;
	struct kid c;

	need_keeper();
	setenv("MALLOCTRACE_MAPPINGS", "text", 1);
	start(&c, false);
	k = keep(&c);
	end(&c);
	cr_assert_eq(keeping__maps(k, &zombie, &e), 0, "%s", err_msg(&e));
	reap(&c);
	cr_assert_eq(keeping__maps(k, &reaped, &e), 0, "%s", err_msg(&e));
	cr_expect_gt(zombie.n, 5);
	expect_same(&zombie, &reaped);
	maps__done(&reaped);
	unsetenv("MALLOCTRACE_MAPPINGS");
	/* and both ways say the same */
	cr_assert_eq(keeping__maps(k, &reaped, &e), 0, "%s", err_msg(&e));
	expect_same(&zombie, &reaped);
	maps__done(&reaped);
	maps__done(&zombie);
	keeping__free(k);
	expect_gone(&c);
	keeper__free(keeper);
}

/* The same process, with other memory: the old one is kept, and /proc/PID is not about it. */
Test(keeper, one_that_became_another_program)
{
	struct keeping *k;
	struct kid c;
	char byte;
	int status;

	need_keeper();
	start(&c, true);
	k = keep(&c);
	go_on(&c);
	/* closed on exec */
	cr_assert_eq(read(c.out, &byte, 1), 0);
	expect_kept(k, &c);
	cr_expect_eq(process__runner(c.pid), c.pid);
	cr_expect_eq(keeping__runner(k), 0);
	keeping__free(k);
	expect_gone(&c);
	close(c.in);
	cr_assert_eq(waitpid(c.pid, &status, 0), c.pid);
	cr_expect_eq(status, 0);
	keeper__free(keeper);
}

/* The same program once more, all of it in the same places. */
Test(keeper, one_that_became_the_same_program)
{
	char script[] = "/tmp/malloctrace-test-XXXXXX", byte;
	static const char text[] = "echo\nread x\nexec /bin/sh $0\n";
	int fd = mkstemp(script), in[2], out[2];
	struct keeping *k = NULL;
	pid_t pid;

	need_keeper();
	cr_assert(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1 && !close(fd) && !pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		if (dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1)
			execle("/bin/sh", "/bin/sh", script, NULL, (char *[]){ NULL });
		_exit(1);
	}
	/* from the second one on all have the environment that the first one makes */
	cr_assert(read(out[0], &byte, 1) == 1 && write(in[1], "\n", 1) == 1 && read(out[0], &byte, 1) == 1);
	cr_assert_eq(keeper__keep(keeper, pid, &k, &e), 0, "%s", err_msg(&e));
	cr_expect_eq(keeping__runner(k), pid);
	cr_assert(write(in[1], "\n", 1) == 1 && read(out[0], &byte, 1) == 1);
	cr_expect_eq(keeping__runner(k), 0);
	keeping__free(k);
	cr_assert(!unlink(script) && !kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	keeper__free(keeper);
}

Test(keeper, it_goes_on_when_it_is_let_go)
{
	struct keeping *k, *other;
	struct kid c, d;

	need_keeper();
	start(&c, false);
	start(&d, false);
	k = keep(&c);
	other = keep(&d);
	keeping__free(k);
	cr_expect_eq(fcntl(c.shared, F_ADD_SEALS, F_SEAL_WRITE), -1);
	end(&c);
	expect_gone(&c);
	end(&d);
	expect_kept(other, &d);
	keeping__free(other);
	expect_gone(&d);
	reap(&c);
	reap(&d);
	keeping__free(NULL);
	keeper__free(NULL);
	keeper__free(keeper);
}

Test(keeper, one_that_has_ended_or_is_not_there)
{
	struct keeping *k = NULL;
	struct kid c;

	need_keeper();
	start(&c, false);
	end(&c);
	cr_expect_eq(keeper__keep(keeper, c.pid, &k, &e), -ESRCH);
	reap(&c);
	cr_expect_eq(keeper__keep(keeper, c.pid, &k, &e), -ESRCH);
	cr_expect_null(k);
	cr_expect_eq(holder_of_any(), 0);
	keeper__free(keeper);
}

/* Killed without a warning we leave nothing: our holder ends with us. */
Test(keeper, nothing_is_left_of_one_that_was_killed)
{
	int told[2], status, pidfd;
	pid_t us, holder;
	struct kid c;

	need_keeper();
	/* whose parent ends becomes our child, and can be waited for */
	cr_assert(!prctl(PR_SET_CHILD_SUBREAPER, 1) && !pipe2(told, O_CLOEXEC));
	start(&c, false);
	us = fork();
	if (!us) {
		struct keeping *k;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keeper__free(keeper);
		holder = keeper__new(&keeper, &e) || keeper__keep(keeper, c.pid, &k, &e) ? 0 : holder_of_any();
		if (write(told[1], &holder, sizeof(holder)) == sizeof(holder))
			pause();
		_exit(1);
	}
	cr_assert_eq(read(told[0], &holder, sizeof(holder)), (ssize_t)sizeof(holder));
	cr_assert_gt(holder, 0);
	pidfd = (int)syscall(__NR_pidfd_open, holder, 0);
	end(&c);
	reap(&c);
	cr_expect_eq(fcntl(c.shared, F_ADD_SEALS, F_SEAL_WRITE), -1, "it was not kept");
	cr_assert(!kill(us, SIGKILL) && waitpid(us, &status, 0) == us);
	cr_expect_eq(poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 10000), 1, "the holder lives on");
	expect_gone(&c);
	kill(holder, SIGKILL);
}

static bool has_spun_or_stopped(pid_t pid)
{
	_cleanup_free_ char *stat = NULL;
	struct timespec spent;
	char path[64];
	clockid_t clock;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	cr_assert(!read_small_file(path, &stat, NULL) && !clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &spent));
	return strstr(stat, ") T ") || spent.tv_sec || spent.tv_nsec > 20000000;
}

/* A stop makes it go round in circles, for good; a kernel that is better than 6.18 stops it, and that does no harm. */
Test(keeper, a_holder_that_was_stopped)
{
	struct keeping *k;
	pid_t was, is;
	struct kid c;

	need_keeper();
	start(&c, false);
	k = keep(&c);
	was = holder_of_any();
	cr_assert(was > 0 && process__is_own(was));
	cr_expect_neq(getsid(was), getsid(0), "a stop from the terminal reaches it");
	cr_assert_eq(kill(was, SIGSTOP), 0);
	end(&c);
	reap(&c);
	while (!has_spun_or_stopped(was))
		;
	cr_expect_eq(kill(was, SIGCONT), 0);
	cr_expect_eq(keeping__tend(k, &e), 0, "%s", err_msg(&e));
	is = holder_of_any();
	cr_expect(is > 0 && !has_spun_or_stopped(is));
	expect_kept(k, &c);
	keeping__free(k);
	expect_gone(&c);
	cr_expect_eq(waitpid(-1, NULL, __WALL), -1, "a child is left");
	keeper__free(keeper);
}

Test(keeper, a_holder_that_was_killed)
{
	struct keeping *k;
	siginfo_t info;
	struct kid c;
	pid_t was;

	need_keeper();
	start(&c, false);
	k = keep(&c);
	for (int i = 0; i < 2; i++) {
		was = holder_of_any();
		cr_assert(was > 0 && !kill(was, SIGKILL) && !waitid(P_PID, (id_t)was, &info, WEXITED | WNOWAIT | __WALL));
		if (i)
			end(&c);
		else
			cr_expect_eq(keeping__tend(k, &e), 0, "%s", err_msg(&e));
	}
	expect_gone(&c);
	cr_expect_eq(keeping__tend(k, &e), -ESRCH);
	keeping__free(k);
	reap(&c);
	keeper__free(keeper);
}

/* ---- holders that wait for a FUSE server: no signal ends them */

#define FIRST_PLACE ((void *)0x10000000)	/* before all that this program has */

/* Writes to a page of the file at FIRST_PLACE; or maps it over memory there, on command. */
static void map_and_wait(const char *file, bool at_once, int in, int out)
{
	void *p = mmap(FIRST_PLACE, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int fd = open(file, O_RDWR | O_CLOEXEC);
	char byte = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (p == MAP_FAILED || fd < 0)
		_exit(1);
	*(volatile char *)p = byte;
	if (!at_once && (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1))
		_exit(1);
	p = mmap(p, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	if (at_once)
		*(volatile char *)p = byte;
	if (p == MAP_FAILED || write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		_exit(1);
	_exit(7);
}

static struct kid start_mapper(const char *file, bool at_once)
{
	struct kid c = {};
	int in[2], out[2];
	char byte;

	cr_assert(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	c.pid = fork();
	if (!c.pid)
		map_and_wait(file, at_once, in[0], out[1]);
	c.in = in[1];
	c.out = out[0];
	cr_assert_eq(read(c.out, &byte, 1), 1);
	return c;
}

/* In a process of its own, which a holder that cannot end might keep from ending. act returns 0. */
static void expect_bounded(int (*act)(const struct fuse_made *f))
{
	struct pollfd ended = { .events = POLLIN };
	siginfo_t info = {};
	struct fuse_made f;
	char byte;
	pid_t pid;

	need_keeper();
	keeper__free(keeper);
	fuse_made__begin(&f);
	pid = fork();
	if (!pid) {
		need_keeper();
		_exit(act(&f));
	}
	ended.fd = (int)syscall(__NR_pidfd_open, pid, 0);
	cr_expect_eq(poll(&ended, 1, 20000), 1, "it waits for its holder");
	cr_expect(!fcntl(f.waits, F_SETFL, O_NONBLOCK) && read(f.waits, &byte, 1) == 1,
		  "nobody has asked the server");
	kill(pid, ended.revents ? 0 : SIGKILL);
	fuse_made__end(&f);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	cr_expect(info.si_code == CLD_EXITED && !info.si_status, "%d %d", info.si_code,
		  info.si_status);
}

/* The last user of the memory waits until the server has taken what was written to its file. */
static int keep_one_that_has_written(const struct fuse_made *f)
{
	struct kid writer, other;
	struct keeping *k;
	siginfo_t info;
	char file[64];
	pid_t holder;

	snprintf(file, sizeof(file), "%s/written", f->dir);
	writer = start_mapper(file, true);
	k = keep(&writer);
	holder = holder_of_any();
	end(&writer);
	reap(&writer);
	keeping__free(k);
	if (!keeper__is_holder(holder))
		return 2;
	/* it ends as the server does, and is reaped with the next one */
	kill(f->server, SIGKILL);
	if (waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT | __WALL))
		return 3;
	start(&other, false);
	k = keep(&other);
	end(&other);
	reap(&other);
	keeping__free(k);
	return keeper__is_holder(holder) || waitpid(-1, NULL, __WALL) >= 0 ? 4 : 0;
}

Test(keeper, a_holder_that_cannot_give_back, .timeout = 60)
{
	expect_bounded(keep_one_that_has_written);
}

static const struct kid *swaps;	/* its page for that of a file, once the place has been found */
static bool are_stuck;		/* holders, before they begin */
static unsigned int n_stuck;

__attribute__((noreturn)) static int never_begin(void *arg __attribute__((unused)))
{
	for (;;)
		pause();
}

/* In place of the C library's: a holder begins. */
int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	int __clone(int (*)(void *), void *, int, void *, ...);
	pid_t *parent, *child;
	va_list rest;
	void *tls;
	char byte;

	va_start(rest, arg);
	parent = va_arg(rest, pid_t *);
	tls = va_arg(rest, void *);
	child = va_arg(rest, pid_t *);
	va_end(rest);
	if (are_stuck) {
		fn = never_begin;
		n_stuck++;
	}
	if (swaps && (write(swaps->in, "", 1) != 1 || read(swaps->out, &byte, 1) != 1))
		return -1;
	return __clone(fn, stack, flags, arg, parent, tls, child);
}

static int keep_swapper(const struct fuse_made *f, const struct itimerval *alarms)
{
	struct kid swapper = start_mapper(f->file, false);
	struct keeping *k = NULL;
	int err;

	swaps = &swapper;
	setitimer(ITIMER_REAL, alarms, NULL);
	err = keeper__keep(keeper, swapper.pid, &k, &e);
	setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);
	end(&swapper);
	reap(&swapper);
	return err != -ETIMEDOUT || k;
}

static int keep_one_that_swaps(const struct fuse_made *f)
{
	return keep_swapper(f, &(struct itimerval){});
}

static void on_alarm(int sig __attribute__((unused)))
{
}

/* Each of them interrupts the wait for its end. */
static int keep_among_signals(const struct fuse_made *f)
{
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	return keep_swapper(f, &(struct itimerval){ { .tv_usec = 50000 }, { .tv_usec = 50000 } });
}

Test(keeper, a_holder_whose_place_was_swapped, .timeout = 60)
{
	expect_bounded(keep_one_that_swaps);
}

Test(keeper, a_holder_that_cannot_end_among_signals, .timeout = 60)
{
	expect_bounded(keep_among_signals);
}

/* Ten of them have a second each: what comes then is refused without a holder. */
Test(keeper, holders_that_do_not_begin, .timeout = 60)
{
	struct keeping *k = NULL;
	struct kid c;

	need_keeper();
	start(&c, false);
	are_stuck = true;
	for (int i = 0; i < 12; i++)
		cr_expect_eq(keeper__keep(keeper, c.pid, &k, &e), -ETIMEDOUT);
	cr_expect_eq(n_stuck, 10);
	cr_expect(strstr(err_msg(&e), "memory that does not answer"), "%s", err_msg(&e));
	end(&c);
	reap(&c);
	keeper__free(keeper);
}

/* A trace gives up what it needs no more: what was made before keeps processes that come later. */
Test(keeper, of_one_that_has_settled)
{
	struct keeper *late = NULL;
	struct keeping *k;
	struct kid c;

	need_keeper();
	start(&c, false);
	cr_assert_eq(settle__process(&e), 0, "%s", err_msg(&e));
	cr_expect_eq(keeper__new(&late, &e), -EPERM);
	k = keep(&c);
	end(&c);
	reap(&c);
	expect_kept(k, &c);
	keeping__free(k);
	expect_gone(&c);
	keeper__free(keeper);
}

/* Said with words: whoever asks goes on without. */
Test(keeper, without_the_right)
{
	struct keeper *k = NULL;
	_cleanup_free_ char *allowed = NULL;

	if (!read_small_file("/proc/sys/vm/unprivileged_userfaultfd", &allowed, NULL) && allowed[0] != '0')
		cr_skip_test("vm.unprivileged_userfaultfd is set: everybody may");
	need_keeper();
	keeper__free(keeper);
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	cr_expect_eq(keeper__new(&k, &e), -EPERM);
	cr_expect(strstr(err_msg(&e), "CAP_SYS_PTRACE is missing") && strstr(err_msg(&e), "vm.unprivileged_userfaultfd"), "%s", err_msg(&e));
	cr_expect_null(k);
}
