// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What /proc tells of a process. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "process/process.h"
#include "util/util.h"

/* A pid that was somebody's until just now. */
static pid_t gone_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

Test(process, own)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *fdinfo = NULL;
	char exe[4097] = "", comm[17] = "", path[64], line[64];
	struct process p;
	struct timespec up;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	cr_assert_gt(len, 0);
	prctl(PR_GET_NAME, comm);
	cr_assert_eq(process__read(getpid(), &p, &e), 0, "%s", err_msg(&e));
	cr_expect_eq(p.pid, getpid());
	cr_expect_str_eq(p.comm, comm);
	cr_expect_str_eq(p.exe, exe);
	cr_expect_eq(p.uid, geteuid());
	clock_gettime(CLOCK_BOOTTIME, &up);
	cr_expect_leq(p.age_ns, up.tv_sec * 1000000000ull + up.tv_nsec);
	cr_expect_lt(p.age_ns, 600 * 1000000000ull, "this test has just begun");
	if (p.cgroup)
		cr_expect_eq(p.cgroup[0], '/');

	cr_assert_geq(p.pidfd, 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p.pidfd);
	cr_assert_eq(read_small_file(path, &fdinfo, NULL), 0);
	snprintf(line, sizeof(line), "\nPid:\t%d\n", (int)getpid());
	cr_expect_not_null(strstr(fdinfo, line), "%s", fdinfo);

	process__done(&p);
	cr_expect_eq(p.pidfd, -1);
	cr_expect_null(p.comm);
	process__done(&p);
}

Test(process, age_grows)
{
	const uint64_t pause_ns = 50000000;
	uint64_t begin = now_ns(), passed;
	struct process p, later;

	cr_assert_eq(process__read(getpid(), &p, NULL), 0);
	while (now_ns() - begin < pause_ns)
		sched_yield();
	cr_assert_eq(process__read(getpid(), &later, NULL), 0);
	passed = now_ns() - begin;
	cr_expect_geq(later.age_ns, p.age_ns + pause_ns / 2);
	cr_expect_leq(later.age_ns, p.age_ns + passed);
	process__done(&p);
	process__done(&later);
}

Test(process, hostile_name)
{
	_cleanup_err_ struct err e = {};
	struct process p;

	/* in /proc/PID/stat it looks like the end of the name and a zombie's state */
	prctl(PR_SET_NAME, "x) Z 1 (\033[1m\xff");
	cr_assert_eq(process__read(getpid(), &p, &e), 0, "%s", err_msg(&e));
	cr_expect_str_eq(p.comm, "x) Z 1 (?[1m?");
	process__done(&p);
	cr_expect_gt(process__rss_bytes(getpid()), 0);
}

Test(process, missing)
{
	_cleanup_err_ struct err e = {};
	pid_t pid = gone_pid();
	char want[32], comm[32] = "before";
	struct process p;

	cr_expect_eq(process__read(pid, &p, &e), -ESRCH);
	snprintf(want, sizeof(want), "no process %d", (int)pid);
	cr_expect_str_eq(err_msg(&e), want);
	cr_expect_eq(process__read(pid, &p, NULL), -ESRCH);
	cr_expect_eq(process__rss_bytes(pid), 0);
	cr_expect_eq(process__use(pid).rss_bytes, 0);
	cr_expect_eq(process__cpu_ns(pid), 0);
	process__thread_comm(pid, pid, comm);
	cr_expect_str_eq(comm, "");
	cr_expect_eq(process__read(-5, &p, NULL), -ESRCH);
}

Test(process, zombie)
{
	_cleanup_err_ struct err e = {};
	siginfo_t info;
	struct process p;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	cr_expect_eq(process__read(pid, &p, &e), -ESRCH);
	cr_expect_not_null(strstr(err_msg(&e), "zombie"), "%s", err_msg(&e));
	cr_expect_eq(process__rss_bytes(pid), 0);
	waitpid(pid, NULL, 0);
}

/* What is forked has the memory of programs that began before it. */
Test(process, program_began)
{
	uint64_t booted_ns = (uint64_t)wall_ns() - clock_ns(CLOCK_BOOTTIME);
	pid_t pid = fork();

	if (!pid)
		pause();
	cr_assert_gt(pid, 0);
	cr_expect_leq(process__program_began_ns(pid), booted_ns);
	cr_expect_geq(process__program_began_ns(1), booted_ns - 2 * SECOND_NS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect_eq(process__program_began_ns(pid), 0);
}

struct thread {
	pid_t tid;
	sem_t ready, done;
};

static void *be_a_thread(void *arg)
{
	struct thread *t = arg;

	t->tid = gettid();
	prctl(PR_SET_NAME, "work\ter\033");
	sem_post(&t->ready);
	sem_wait(&t->done);
	return NULL;
}

Test(process, thread)
{
	_cleanup_err_ struct err e = {};
	struct thread t = {};
	struct process p = { .pid = 12345 };
	char comm[32], tid_text[16];
	pthread_t thread;

	sem_init(&t.ready, 0, 0);
	sem_init(&t.done, 0, 0);
	cr_assert_eq(pthread_create(&thread, NULL, be_a_thread, &t), 0);
	sem_wait(&t.ready);
	cr_expect_lt(process__read(t.tid, &p, &e), 0, "a thread is no process");
	snprintf(tid_text, sizeof(tid_text), "%d", (int)t.tid);
	cr_expect_not_null(strstr(err_msg(&e), tid_text), "%s", err_msg(&e));
	cr_expect_eq(p.pid, 12345, "untouched");
	process__thread_comm(getpid(), t.tid, comm);
	cr_expect_str_eq(comm, "work?er?");
	sem_post(&t.done);
	pthread_join(thread, NULL);
}

Test(process, kernel_thread)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *comm = NULL;
	struct process p;

	if (read_small_file("/proc/2/comm", &comm, NULL) || strcmp(comm, "kthreadd\n"))
		cr_skip_test("this pid namespace has no kernel threads");
	cr_expect_eq(process__read(2, &p, &e), -EINVAL);
	cr_expect_not_null(strstr(err_msg(&e), "kernel thread"), "%s", err_msg(&e));
}

Test(process, memory_and_cpu_time)
{
	const size_t len = 32 << 20;
	uint64_t before = process__rss_bytes(getpid()), after;
	struct process_use use, now;
	char *p, *shared;

	cr_expect_gt(before, 0);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	cr_assert_neq(p, MAP_FAILED);
	after = process__rss_bytes(getpid());
	cr_expect_geq(after, before + len / 2);
	cr_expect_leq(after, before + 2 * len);

	use = process__use(getpid());
	cr_expect_geq(use.rss_bytes, after - len / 2);
	cr_expect_eq(use.hugetlb_bytes, 0);
	shared = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	cr_assert_neq(shared, MAP_FAILED);
	now = process__use(getpid());
	cr_expect_geq(now.shmem_bytes, use.shmem_bytes + len / 2);
	cr_expect_leq(now.shmem_bytes, now.rss_bytes);

	/* counted in ticks: it takes a few of them */
	while (!process__cpu_ns(getpid()) && clock() < 5 * CLOCKS_PER_SEC)
		;
	cr_expect_gt(process__cpu_ns(getpid()), 0);
	cr_expect_lt(process__cpu_ns(getpid()), 60 * 1000000000ull);
}

/* RSS alone counts nothing of a process that is wholly on the disk, or in huge pages. */
Test(process, memory_that_is_not_resident)
{
	static const struct process_use cases[] = {
		{ .rss_bytes = 1 << 20, .file_bytes = 512 << 10, .table_bytes = 64 << 10 }, { .swap_bytes = 2 << 20 }, { .hugetlb_bytes = 4 << 20 }, {}
	};
	struct process_use u;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "VmRSS:\t%8u kB\nRssFile:\t%8u kB\nRssShmem:\t       0 kB\nVmPTE:\t%8u kB\nVmSwap:\t%8u kB\nHugetlbPages:\t%8u kB\n",
			 (unsigned int)(cases[i].rss_bytes >> 10), (unsigned int)(cases[i].file_bytes >> 10),
			 (unsigned int)(cases[i].table_bytes >> 10), (unsigned int)(cases[i].swap_bytes >> 10),
			 (unsigned int)(cases[i].hugetlb_bytes >> 10));
		cr_expect_eq(process_use__parse(text, &u), i < 3, "%s", text);
		cr_expect_eq(u.rss_bytes, cases[i].rss_bytes, "%s", text);
		cr_expect_eq(u.file_bytes, cases[i].file_bytes, "%s", text);
		cr_expect_eq(u.table_bytes, cases[i].table_bytes, "%s", text);
		cr_expect_eq(u.swap_bytes, cases[i].swap_bytes, "%s", text);
		cr_expect_eq(u.hugetlb_bytes, cases[i].hugetlb_bytes, "%s", text);
	}
	cr_expect_not(process_use__parse("Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n", &u));
}

/* ---- by name */

#define LONG_NAME "mt-long-command"
#define LONG_BYTES (128ull << 20)

/* A field of /proc/self/stat, by its number in proc(5). */
static uint64_t stat_field(int number)
{
	_cleanup_free_ char *text = NULL;
	char *at;

	if (read_small_file("/proc/self/stat", &text, NULL))
		_exit(1);
	at = strrchr(text, ')');
	for (int i = 2; i < number; i++)
		at = strchr(at + 1, ' ');
	return strtoull(at, NULL, 10);
}

#define MANY_BYTES 300	/* more than a list shows */
#define X10 "xxxxxxxxxx"

struct claim {
	const char *name;
	char text[64];
	size_t own;		/* bytes that are arguments; what follows is the environment */
	const char *shown;
};

/* Anybody may say which memory holds the own arguments. */
static void claim_command(int ready, const struct claim *c)
{
	char *p = mmap(NULL, LONG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct prctl_mm_map m = {
		.start_code = stat_field(26), .end_code = stat_field(27), .start_stack = stat_field(28), .start_data = stat_field(45),
		.end_data = stat_field(46), .start_brk = stat_field(47), .brk = (uintptr_t)sbrk(0), .arg_start = (uintptr_t)p,
		.arg_end = (uintptr_t)p + c->own, .env_start = (uintptr_t)p + c->own,
		.env_end = (uintptr_t)p + LONG_BYTES, .exe_fd = (uint32_t)-1,
	};

	/* pages that nobody has touched are not there */
	if (*c->text && c->own == MANY_BYTES)
		memset(p, 'x', MANY_BYTES - 1);
	if (*c->text)
		memcpy(p, c->text, c->own == MANY_BYTES ? strlen(c->text) + 1 : sizeof(c->text));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, c->name);
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0) ||
	    write(ready, &p, sizeof(p)) != sizeof(p))
		_exit(1);
	pause();
	_exit(0);
}

static bool is_there(pid_t pid, const void *page)
{
	_cleanup_close_ int fd = process__open(pid, "pagemap", 0);
	uint64_t n = (uintptr_t)page / (size_t)sysconf(_SC_PAGESIZE), word = 0;

	cr_assert_eq(pread(fd, &word, sizeof(word), (off_t)(n * sizeof(word))), sizeof(word));
	return word >> 63;
}

/*
 * As /proc/PID/cmdline shows them: a title that was written over the arguments may extend into the
 * environment. But no page is brought in.
 */
Test(process, commands)
{
	static char name[] = "mt-command-name";
	static const struct claim rows[] = {
		{ name, "mt: worker of many", 4, "  mt: worker of many" },
		{ name, "mt-argument\0second", 19, "  mt-argument second" },
		{ name, "mt-first\0mt-variable", 9, "  mt-first" },
		{ name, "mt-many", MANY_BYTES,
		  "  mt-many " X10 X10 X10 X10 X10 X10 X10 X10 X10 "xx" },
		{ name, "", 4096, "  mt-command-name" },
	};
	pid_t children[ARRAY_SIZE(rows)];
	struct opts o = {};
	struct err e = {};
	int ready[2];
	void *pages[ARRAY_SIZE(rows)];

	cr_assert_not(pipe(ready));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		children[i] = fork();
		if (!children[i])
			claim_command(ready[1], &rows[i]);
		cr_assert_eq(read(ready[0], &pages[i], sizeof(*pages)), (ssize_t)sizeof(*pages),
			     "PR_SET_MM_MAP");
	}
	*vec_push(&o.names) = name;
	cr_expect_eq(targets__find(&o, &e), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *at = strstr(err_msg(&e), rows[i].shown);

		cr_expect(at && strchr("\n", at[strlen(rows[i].shown)]), "%zu: %s", i, err_msg(&e));
		cr_expect_eq(is_there(children[i], pages[i]), *rows[i].text != 0);
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	vec_done(&o.names);
	err_done(&e);
	close(ready[0]);
	close(ready[1]);
}

Test(process, arguments_without_end)
{
	static const struct claim claim = { LONG_NAME, LONG_NAME, LONG_BYTES, NULL };
	struct opts o = {};
	struct rusage before, after;
	struct err e = {};
	pid_t children[2];
	int ready[2];
	void *p;

	cr_assert_not(pipe(ready));
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (!children[i])
			claim_command(ready[1], &claim);
		cr_assert_eq(read(ready[0], &p, sizeof(p)), (ssize_t)sizeof(p), "PR_SET_MM_MAP");
	}
	*vec_push(&o.names) = LONG_NAME;
	getrusage(RUSAGE_SELF, &before);
	cr_expect_eq(targets__find(&o, &e), -EINVAL);
	getrusage(RUSAGE_SELF, &after);
	cr_expect(strstr(err_msg(&e), ": 2 processes match") && strstr(err_msg(&e), "  " LONG_NAME "\n"), "%s", err_msg(&e));
	cr_expect_lt(after.ru_maxrss - before.ru_maxrss, 16 << 10, "%ld KiB", after.ru_maxrss - before.ru_maxrss);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	vec_done(&o.names);
	err_done(&e);
	close(ready[0]);
	close(ready[1]);
}
