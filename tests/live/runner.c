// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The live tests: malloctrace at work on programs that keep their own account.
 *
 *   live-tests [--list] [--filter [!]GLOB[,...]] [--jobs N] [--scale N%] [--bin PATH] [--fixtures DIR] [--limit SEC] [--repeat N]
 *		[--again N] [--for SEC]
 *
 * Fixtures (tests/fixtures/) count their own allocations per calling function
 * and hand the ledger over when asked; a test lets malloctrace look on and
 * compares: equality, never a tolerance, and nothing may be lost unless the
 * test is about losing. Nobody sleeps to be in step: fixtures wait for a byte
 * on a pipe, malloctrace is known to be ready by its line on stderr, and files
 * are waited for with inotify.
 *
 * The program links statically and needs no shell, so that it also runs as the
 * only program in a virtual machine. Each test is a process of its own with a
 * time limit, below a keeper: what the test leaves behind becomes the keeper's
 * child (it is a subreaper) and is ended by pid, and what it prints comes out in
 * one piece. Most tests mostly wait: --jobs N runs N of them side by side; those
 * that others would disturb (TEST_ALONE) come after all these, one by one. Where
 * `malloctrace doctor` says no, every test is skipped, aloud.
 *
 * --again N: if no more than N tests failed, these run once more, each alone. One that passes
 * then is UNSTABLE: it is counted as passed and named at the end, because a race in it or in
 * malloctrace is still to be found. More failures than that are no coincidence.
 *
 * --for SEC: no test begins after SEC seconds. Those that did not begin are counted and named, and are no failures.
 */
#include "lt.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern struct test_def *__start_lt_tests[], *__stop_lt_tests[];

const char *lt_bin, *lt_fixtures;
unsigned int lt_scale_pct = 100;
static double no_more_s;			/* no test begins after this instant; 0: each begins */
static unsigned int limit_s = 300;	/* a guard against what hangs: a busy machine takes many times longer than a quiet one */
static double end_s;			/* of the test that runs; in its own process */

enum { PASSED, FAILED, SKIPPED = 77 };

uint64_t scaled(uint64_t n)
{
	n = n * lt_scale_pct / 100;
	return n ? n : 1;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Ten seconds are left to say what did not come. */
unsigned int patience_s(unsigned int s)
{
	double left_s = end_s - now_s() - 10;

	return left_s > s ? (unsigned int)left_s : s;
}

/* The parent of a process, 0 if it is gone. */
static pid_t parent_of(pid_t pid)
{
	char path[64];
	char *text, *after;
	pid_t ppid = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = read_all(path, NULL);
	if (!text)
		return 0;
	after = strrchr(text, ')');	/* the name in front may hold anything */
	if (after)
		sscanf(after + 1, " %*c %d", &ppid);
	free(text);
	return ppid;
}

/* Ends and reaps every child this process has; what dies may leave more. */
static void end_children(void)
{
	for (;;) {
		DIR *d = opendir("/proc");
		struct dirent *e;
		unsigned int n = 0;

		while (d && (e = readdir(d))) {
			pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;

			if (pid > 0 && parent_of(pid) == getpid()) {
				kill(pid, SIGKILL);
				waitpid(pid, NULL, 0);
				n++;
			}
		}
		if (d)
			closedir(d);
		if (!n)
			return;
	}
}

/* Whoever was left to this process and has ended, but for the test itself: one that starts thousands would run out of pids. */
static void reap_others(pid_t test)
{
	siginfo_t ended = {};

	while (!waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid && ended.si_pid != test) {
		waitpid(ended.si_pid, NULL, 0);
		ended.si_pid = 0;
	}
}

/* False: it goes on after its time. */
static bool await_test(pid_t pid, unsigned int limit)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	double until_s = now_s() + limit;
	bool ended = false;

	while (!ended && now_s() < until_s) {
		ended = poll(&p, 1, 1000) > 0;
		reap_others(pid);
	}
	close(p.fd);
	return ended;
}

/* Runs a test below this process, and tells what came of it unless it passed or was skipped. */
static int run_test(const struct test_def *def, struct test *t)
{
	unsigned int limit = def->limit_s > limit_s ? def->limit_s : limit_s;
	bool in_time;
	int status = 0;
	pid_t pid;

	t->name = def->name;
	snprintf(t->dir, sizeof(t->dir), "%s/malloctrace-live-XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(t->dir) || chmod(t->dir, 0755)) {
		printf("FAIL %s: no directory %s: %s\n", t->name, t->dir, strerror(errno));
		return FAILED;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		end_s = now_s() + limit;
		def->run(t);
		exit(t->n_failed ? FAILED : PASSED);
	}
	in_time = await_test(pid, limit);
	if (!in_time) {
		printf("FAIL %s: still running after %u s (%u checks done)\n", t->name, limit, t->n_checks);
		kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	end_children();
	remove_tree(t->dir);
	if (WIFSIGNALED(status)) {
		if (in_time)
			printf("FAIL %s: the test itself died of signal %d\n", t->name, WTERMSIG(status));
		return FAILED;
	}
	if (WEXITSTATUS(status) == PASSED && !t->n_checks) {
		printf("FAIL %s: it checked nothing\n", t->name);
		return FAILED;
	}
	return WEXITSTATUS(status);
}

/* What was printed to a file goes to standard output at once. */
static void pass_on(int from, int to)
{
	char buf[65536];
	ssize_t n;

	for (off_t at = 0; (n = pread(from, buf, sizeof(buf), at)) > 0; at += n)
		if (write(to, buf, (size_t)n) != n)
			return;
}

/* In a process of its own: the one below which a test runs. */
static _Noreturn void keep(const struct test_def *def)
{
	int out = dup(STDOUT_FILENO), said = memfd_create("output", MFD_CLOEXEC), result;
	double start_s = now_s();
	struct test *t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED || out < 0 || said < 0 || dup2(said, STDOUT_FILENO) < 0 || fcntl(out, F_SETFD, FD_CLOEXEC)) {
		fprintf(stderr, "live-tests: %s: %s\n", def->name, strerror(errno));
		_exit(FAILED);
	}
	result = run_test(def, t);
	if (result == PASSED)
		printf("ok %s (%u checks, %.1f s)\n", t->name, t->n_checks, now_s() - start_s);
	else if (result == SKIPPED)
		printf("SKIP %s: %s\n", t->name, t->skip);
	fflush(stdout);
	pass_on(said, out);
	_exit(result);
}

#define AGAIN_MAX 16

struct tally {
	unsigned int passed, failed, skipped, not_begun;
	struct test_def *failures[AGAIN_MAX];	/* the first of those that failed */
};

static void count_failure(struct tally *n, struct test_def *test)
{
	if (n->failed < AGAIN_MAX)
		n->failures[n->failed] = test;
	n->failed++;
}

static void count(struct tally *n, struct test_def *test, int status)
{
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != PASSED && WEXITSTATUS(status) != SKIPPED))
		count_failure(n, test);
	else if (WEXITSTATUS(status) == SKIPPED)
		n->skipped++;
	else
		n->passed++;
}

struct job {
	pid_t keeper;		/* 0: none */
	struct test_def *test;
};

/* The next keeper that ends; every child of this process is one. */
static struct job *await_one(struct job *jobs, unsigned int n_jobs, struct tally *n)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, 0)) < 0)
		if (errno != EINTR)
			return NULL;
	for (unsigned int i = 0; i < n_jobs; i++) {
		if (jobs[i].keeper != pid)
			continue;
		count(n, jobs[i].test, status);
		if (WIFSIGNALED(status))
			printf("FAIL %s: its keeper died of signal %d, with what it had printed\n", jobs[i].test->name, WTERMSIG(status));
		jobs[i].keeper = 0;
		return &jobs[i];
	}
	printf("FAIL: process %d ended, which is no test's keeper\n", pid);
	n->failed += AGAIN_MAX + 1;
	return NULL;
}

/* All tests of a list, at most n_jobs at a time. */
static void run_tests(struct test_def *const *tests, size_t n_tests, unsigned int n_repeats, unsigned int n_jobs, struct tally *n)
{
	struct job *jobs = calloc(n_jobs, sizeof(*jobs));
	unsigned int n_running = 0;

	for (size_t i = 0; jobs && i < n_tests * n_repeats; i++) {
		struct job *free_one = n_running == n_jobs ? await_one(jobs, n_jobs, n) : &jobs[n_running];
		pid_t pid;

		n_running -= n_running == n_jobs;
		if (no_more_s && now_s() > no_more_s) {
			printf("not begun, for lack of time: %s\n", tests[i / n_repeats]->name);
			n->not_begun++;
			continue;
		}
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			keep(tests[i / n_repeats]);
		if (pid < 0) {
			printf("FAIL %s: cannot be started: %s\n", tests[i / n_repeats]->name, strerror(errno));
			count_failure(n, tests[i / n_repeats]);
			continue;
		}
		if (free_one)
			*free_one = (struct job){ pid, tests[i / n_repeats] };
		n_running++;
	}
	for (; n_running; n_running--)
		await_one(jobs, n_jobs, n);
	free(jobs);
}

static void run_again(struct tally *n)
{
	struct tally first = *n;

	no_more_s = 0;
	for (unsigned int i = 0; i < first.failed; i++) {
		struct tally second = {};

		printf("once more, alone: %s\n", first.failures[i]->name);
		run_tests(&first.failures[i], 1, 1, 1, &second);
		if (!second.passed)
			continue;
		n->passed++;
		n->failed--;
		printf("UNSTABLE %s: it failed, see above, and passed when it ran once more\n", first.failures[i]->name);
	}
}

/* Why no test can run here, or NULL. */
static const char *unfit(void)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return "not root";
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execl(lt_bin, lt_bin, "doctor", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "malloctrace doctor says that this machine cannot trace";
}

static const char *beside_self(const char *name)
{
	static char self[2][4096];
	static unsigned int n;
	char *p = self[n++ % 2];
	ssize_t len = readlink("/proc/self/exe", p, sizeof(self[0]) - 64);
	char *slash;

	p[len > 0 ? len : 0] = 0;
	slash = strrchr(p, '/');
	strcpy(slash ? slash + 1 : p, name);
	return p;
}

/* The last glob that fits decides; "!GLOB" leaves out, of all if it is the first one. */
static bool chosen(const char *name, const char *globs)
{
	char *list = strdup(globs), *rest = list, *glob;
	bool found = *globs == '!';

	while ((glob = strsep(&rest, ",")))
		if (!fnmatch(glob + (*glob == '!'), name, 0))
			found = *glob != '!';
	free(list);
	return found;
}

/* Compilers put them into the section in an order of their own. */
static int by_place(const void *a, const void *b)
{
	const struct test_def *x = *(struct test_def *const *)a, *y = *(struct test_def *const *)b;

	return strcmp(x->file, y->file) ?: x->line - y->line;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "list", no_argument, NULL, 'l' },	{ "filter", required_argument, NULL, 'f' },
		{ "scale", required_argument, NULL, 's' }, { "bin", required_argument, NULL, 'b' },
		{ "fixtures", required_argument, NULL, 'd' }, { "limit", required_argument, NULL, 't' },
		{ "repeat", required_argument, NULL, 'r' }, { "jobs", required_argument, NULL, 'j' },
		{ "again", required_argument, NULL, 'a' }, { "for", required_argument, NULL, 'o' }, { 0 },
	};
	unsigned int n_repeats = 1, n_jobs = 1, n_again = 0;
	const char *filter = "*", *why;
	struct test_def **beside, **alone;
	size_t n_beside = 0, n_alone = 0, n_defs;
	struct tally n = {};
	bool list = false;
	int c;

	static const int inherited[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGCHLD };

	/* what nohup, or a shell's "&", leaves behind is not for the programs under test */
	for (size_t i = 0; i < sizeof(inherited) / sizeof(*inherited); i++)
		signal(inherited[i], SIG_DFL);
	lt_bin = beside_self("malloctrace");
	lt_fixtures = beside_self("fixtures");
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'l': list = true; break;
		case 'f': filter = optarg; break;
		case 's': lt_scale_pct = (unsigned int)atoi(optarg); break;
		case 'b': lt_bin = realpath(optarg, NULL) ?: optarg; break;
		case 'd': lt_fixtures = realpath(optarg, NULL) ?: optarg; break;
		case 't': limit_s = (unsigned int)atoi(optarg); break;
		case 'r': n_repeats = (unsigned int)atoi(optarg); break;
		case 'j': n_jobs = atoi(optarg) > 1 ? (unsigned int)atoi(optarg) : 1; break;
		case 'a': n_again = (unsigned int)atoi(optarg); break;
		case 'o': no_more_s = now_s() + atoi(optarg); break;
		default: return 2;
		}
	}
	n_defs = (size_t)(__stop_lt_tests - __start_lt_tests);
	qsort(__start_lt_tests, n_defs, sizeof(*__start_lt_tests), by_place);
	if (list) {
		for (struct test_def **d = __start_lt_tests; d < __stop_lt_tests; d++)
			puts((*d)->name);
		return 0;
	}
	if (access(lt_bin, X_OK)) {
		fprintf(stderr, "live-tests: %s: %s\n", lt_bin, strerror(errno));
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	beside = calloc(n_defs, sizeof(*beside));
	alone = calloc(n_defs, sizeof(*alone));
	if (!beside || !alone)
		return 2;
	why = unfit();
	for (struct test_def **d = __start_lt_tests; d < __stop_lt_tests; d++) {
		if (!chosen((*d)->name, filter))
			continue;
		if (why) {
			printf("SKIP %s: %s\n", (*d)->name, why);
			n.skipped++;
		} else if (n_jobs > 1 && !(*d)->alone) {
			beside[n_beside++] = *d;
		} else {
			alone[n_alone++] = *d;
		}
	}
	run_tests(beside, n_beside, n_repeats, n_jobs, &n);
	run_tests(alone, n_alone, n_repeats, 1, &n);
	if (n.failed <= n_again && n.failed <= AGAIN_MAX)
		run_again(&n);
	if (n.not_begun)
		printf("%u tests were not begun for lack of time\n", n.not_begun);
	printf("%u passed, %u failed, %u skipped\n", n.passed, n.failed, n.skipped);
	return n.failed || !(n.passed + n.skipped) ? 1 : 0;
}
