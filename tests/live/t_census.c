// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The census of a heap against a ledger of all its blocks: address and usable size of each. heap-check (tests/heap) does the
 * comparison; here are the heaps.
 */
#include "lt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct checked {
	struct child c;
	int status;
};

/* What heap-check says of it; arguments end with NULL. */
static struct checked check(struct test *t, pid_t pid, const char *ledger, const char *const *args)
{
	struct spawn s = { .argv = { fixture("heap-check"), pid_arg(pid), ledger } };
	struct checked k = {};

	for (unsigned int i = 0; args && args[i]; i++)
		s.argv[3 + i] = args[i];
	child__start(t, &k.c, &s);
	k.status = child__wait(t, &k.c);
	return k;
}

static uint64_t figure(struct test *t, const struct checked *k, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = k->c.outs.s; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, key, n) && line[n] == ' ')
			return strtoull(line + n + 1, NULL, 10);
	must(t, false, "heap-check says nothing of %s: %.400s%.400s", key, k->c.outs.s, k->c.errs.s);
	return 0;
}

static void want_exact(struct test *t, const char *what, const struct checked *k)
{
	if (!want(t, !k->status, "%s: %.400s%.400s", what, k->c.outs.s, k->c.errs.s))
		return;
	want(t, figure(t, k, "stable") > 1000, "%s: only %llu blocks were compared", what, (unsigned long long)figure(t, k, "stable"));
	want_eq(t, "missed", 0, figure(t, k, "missed"));
	want_eq(t, "not in use", 0, figure(t, k, "false_live"));
	want_eq(t, "of another size", 0, figure(t, k, "wrong_size"));
	want(t, !strstr(k->c.outs.s, "overlap"), "%s: %s", what, k->c.outs.s);
}

/* Nothing changes meanwhile: no block more, none unsure. */
static void want_idle(struct test *t, const char *what, const struct checked *k)
{
	want_exact(t, what, k);
	want_eq(t, "unknown to the ledger", 0, figure(t, k, "unknown"));
	want_eq(t, "changed", 0, figure(t, k, "changed"));
	want_eq(t, "unsure", 0, figure(t, k, "unsure"));
	want_eq(t, "broken", 0, figure(t, k, "broken_bytes"));
}

#define MAX_WORDS 8
struct heap_of {
	const char *what;
	const char *words[MAX_WORDS];
};

static const struct heap_of heaps[] = {
	{ "threads", {} },
	{ "memory of others behind the break", { "sbrk" } },
	{ "a break that cannot grow", { "blocked" } },
	{ "a break that never could", { "blocked-first" } },
	{ "more than a heap of a thread", { "big" } },
	{ "threads that have ended", { "end" } },
	{ "mapped blocks", { "mapped" } },
	{ "mappings that were split", { "advised" } },
	{ "terabytes that were never touched", { "vast", "mapped" } },
	{ "fast bins", { "fast" } },
	{ "all of it", { "sbrk", "blocked", "big", "end", "mapped", "fast" } },
};

/* prefix: what starts the program, if it is not started as such */
static void check_heap(struct test *t, const char *const *prefix, const char *name, const char *env, const struct heap_of *h)
{
	const char *ledger = in_dir(t, "ledger");
	struct spawn s = { .env = { env } };
	unsigned int n = 0;
	struct checked k;
	struct fx f;

	for (unsigned int i = 0; prefix && prefix[i]; i++)
		s.argv[n++] = prefix[i];
	s.argv[n++] = fixture(name);
	s.argv[n++] = ledger;
	s.argv[n++] = "3";
	s.argv[n++] = number_arg(scaled(60000));
	for (unsigned int i = 0; i < MAX_WORDS && h->words[i]; i++)
		s.argv[n++] = h->words[i];
	fx__start_as(t, &f, &s);
	k = check(t, f.c.pid, ledger, (const char *[]){ "--say", NULL });
	want_idle(t, h->what, &k);
	fx__quit(t, &f);
	unlink(ledger);
}

TEST(heap_census_idle)
{
	for (size_t i = 0; i < sizeof(heaps) / sizeof(*heaps); i++)
		check_heap(t, NULL, "heapledger", NULL, &heaps[i]);
}

/* Where no cache has a block in it, none says what their keys are: blocks of the program that look like one are none all the same. */
TEST(heap_census_of_tables)
{
	const char *ledger = in_dir(t, "ledger");
	struct checked k;
	struct fx f;

	fx__start(t, &f, "heapledger", ledger, "0", "100", "large", "tables", NULL);
	k = check(t, f.c.pid, ledger, (const char *[]){ "--say", NULL });
	want_idle(t, "tables", &k);
	fx__quit(t, &f);
}

/* A census of what is kept, which comes when it is told to: mappings as the kernel tells them by the memory, or as text that was read before. */
static void keep(struct test *t, struct fx *k, pid_t pid, const char *ledger, bool by_text)
{
	struct spawn s = { .argv = { fixture("heap-check"), pid_arg(pid), ledger, "--say", "--kept" }, .env = { by_text ? "MALLOCTRACE_MAPPINGS=text" : NULL } };

	fx__start_as(t, k, &s);
}

static void want_kept(struct test *t, const char *what, struct fx *k)
{
	struct checked c;

	fx__send(t, k, 'c');
	c.status = child__wait(t, &k->c);
	c.c = k->c;
	want_idle(t, what, &c);
}

static void start_ledger(struct test *t, struct fx *f, const char *ledger, const struct heap_of *h)
{
	struct spawn s = { .argv = { fixture("heapledger"), ledger, "3", number_arg(scaled(60000)) } };

	for (unsigned int i = 0; i < MAX_WORDS && h->words[i]; i++)
		s.argv[4 + i] = h->words[i];
	fx__start_as(t, f, &s);
}

/* Of a zombie, and of one that was waited for: all blocks, as if it had stood still. Its end is nobody's business but its own. */
TEST(heap_census_kept)
{
	for (size_t i = 0; i < sizeof(heaps) / sizeof(*heaps); i++) {
		const char *ledger = in_dir(t, "ledger");
		struct fx f, runs, zombie, reaped, by_text;
		siginfo_t info;

		start_ledger(t, &f, ledger, &heaps[i]);
		keep(t, &runs, f.c.pid, ledger, false);
		keep(t, &zombie, f.c.pid, ledger, false);
		keep(t, &reaped, f.c.pid, ledger, false);
		keep(t, &by_text, f.c.pid, ledger, true);
		want_kept(t, heaps[i].what, &runs);
		fx__send(t, &f, 'q');
		must(t, !waitid(P_PID, (id_t)f.c.pid, &info, WEXITED | WNOWAIT), "waitid: %s", strerror(errno));
		want_kept(t, heaps[i].what, &zombie);
		fx__quit(t, &f);
		want_kept(t, heaps[i].what, &reaped);
		want_kept(t, heaps[i].what, &by_text);
		unlink(ledger);
	}
}

/* The process goes on as another program: the heap is the old one. */
TEST(heap_census_kept_exec)
{
	const char *ledger = in_dir(t, "ledger");
	struct fx f, k;

	start_ledger(t, &f, ledger, &heaps[0]);
	keep(t, &k, f.c.pid, ledger, false);
	fx__send(t, &f, 'x');
	/* cat says what it is told */
	fx__send(t, &f, '\n');
	fx__wait_line(t, &f, "");
	want_kept(t, "exec", &k);
	fx__quit(t, &f);
}

/* Memory of others that looks like blocks: told from them by libc's own sums, and by their places. That is a guess, and said. */
TEST(heap_census_strangers)
{
	const char *ledger = in_dir(t, "ledger");
	struct checked k;
	struct fx f;

	fx__start(t, &f, "heapledger", ledger, "2", number_arg(scaled(20000)), "mapped", "strangers", NULL);
	k = check(t, f.c.pid, ledger, (const char *[]){ "--say", NULL });
	want_exact(t, "strangers", &k);
	want_eq(t, "unknown to the ledger", 0, figure(t, &k, "unknown"));
	want_eq(t, "unsure: each of twelve may be a block, and a block it", 24, figure(t, &k, "unsure"));
	fx__quit(t, &f);
}

TEST(heap_census_static)
{
	for (size_t i = 0; i < sizeof(heaps) / sizeof(*heaps); i++)
		check_heap(t, NULL, "heapledger.static", NULL, &heaps[i]);
}

static const char *const tunables[] = {
	"tcache_count=0", "tcache_max=1000000", "tcache_max=100", "hugetlb=1", "perturb=85", "arena_max=1", "mxfast=0", "mmap_max=0",
	"mmap_threshold=4096", "mmap_threshold=256",
};

static void check_tunables(struct test *t, const char *const *prefix, const char *name)
{
	for (size_t i = 0; i < sizeof(tunables) / sizeof(*tunables); i++) {
		struct heap_of h = { tunables[i], { "big", "end", "mapped", "fast" } };
		char env[128];

		snprintf(env, sizeof(env), "GLIBC_TUNABLES=glibc.malloc.%s", tunables[i]);
		check_heap(t, prefix, name, env, &h);
	}
}

TEST(heap_census_tunables)
{
	check_tunables(t, NULL, "heapledger");
}

/* Each glibc that scripts/other-libcs has got: its directory has the loader and the library. */
TEST_LIMIT(heap_census_other_libcs, 300)
{
	static const char *const versions[] = { "2.31", "2.36", "2.41", "2.43" };
	const struct heap_of *all = &heaps[sizeof(heaps) / sizeof(*heaps) - 1];
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		char dir[512], loader[600];

		snprintf(dir, sizeof(dir), "%s/../libcs/%s", lt_fixtures, versions[i]);
		snprintf(loader, sizeof(loader), "%s/ld.so", dir);
		if (access(loader, X_OK))
			continue;
		n++;
		check_heap(t, (const char *[]){ loader, "--library-path", dir, NULL }, "heapledger.any", NULL, all);
		check_heap(t, (const char *[]){ loader, "--library-path", dir, NULL }, "heapledger.any", NULL, &heaps[0]);
		check_tunables(t, (const char *[]){ loader, "--library-path", dir, NULL }, "heapledger.any");
	}
	if (!n)
		skip(t, "no other glibc is there: scripts/other-libcs %s/../libcs", lt_fixtures);
}

/* ---- while it changes */

static void start_churn(struct test *t, struct fx *f, const char *ledger)
{
	fx__start(t, f, "heapledger", ledger, "3", number_arg(scaled(60000)), "churn", "big", NULL);
	fx__send(t, f, 'c');
}

/* Blocks that nobody touched meanwhile: no more of them are wrong than is said. */
TEST_LIMIT(heap_census_churn, 200)
{
	const char *ledger = in_dir(t, "ledger");
	struct checked k;
	struct fx f;

	start_churn(t, &f, ledger);
	k = check(t, f.c.pid, ledger, (const char *[]){ "--times", "10", "--say", NULL });
	if (want(t, !k.status, "%.400s", k.c.outs.s)) {
		want_eq(t, "wrong beyond what is said", 0, figure(t, &k, "beyond_bound"));
		want(t, figure(t, &k, "changed") > 1000, "nothing changed");
		want(t, figure(t, &k, "unsure_most") <= 1000, "a bound of %llu says nothing",
		     (unsigned long long)figure(t, &k, "unsure_most"));
	}
	child__kill(t, &f.c, SIGKILL);
}

TEST_LIMIT(heap_census_paused, 200)
{
	const uint64_t looks = scaled(30);
	const char *ledger = in_dir(t, "ledger");
	struct checked k;
	struct fx f;

	start_churn(t, &f, ledger);
	k = check(t, f.c.pid, ledger, (const char *[]){ "--pause", "--times", number_arg(looks), "--say", NULL });
	want_exact(t, "stopped", &k);
	want_eq(t, "wrong beyond what is said", 0, figure(t, &k, "beyond_bound"));
	/* four threads: no look found all of them outside in too many tries */
	want(t, figure(t, &k, "unsure_looks") <= looks / 2, "%llu looks of %llu are not sure", (unsigned long long)figure(t, &k, "unsure_looks"), (unsigned long long)looks);
	/* between libc's return and the ledger, or between the ledger and libc, each thread has at most one */
	want(t, figure(t, &k, "in_flight") <= 4 * looks, "%llu blocks in flight", (unsigned long long)figure(t, &k, "in_flight"));
	want(t, figure(t, &k, "paused_us") > 0, "it was not stopped");
	child__kill(t, &f.c, SIGKILL);
}

/* Stopped within the call that gives memory back, it has less than libc has counted yet: it goes on for a moment. */
TEST_LIMIT(heap_census_paused_while_trimming, 200)
{
	const char *ledger = in_dir(t, "ledger");
	struct checked k;
	struct fx f;

	fx__start(t, &f, "heapledger", ledger, "1", "20000", "trim", NULL);
	fx__send(t, &f, 'c');
	k = check(t, f.c.pid, ledger, (const char *[]){ "--pause", "--times", number_arg(scaled(100)), "--say", NULL });
	want_exact(t, "stopped", &k);
	child__kill(t, &f.c, SIGKILL);
}

/* ---- what it may not do to a process */

static uint64_t status_kb(pid_t pid, const char *key)
{
	char path[64], *text, *at;
	uint64_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = read_all(path, NULL);
	at = text ? strstr(text, key) : NULL;
	n = at ? strtoull(at + strlen(key), NULL, 10) : 0;
	free(text);
	return n;
}

/* A heap with much that was never touched: reading it must not make it be there. */
TEST(heap_census_touches_nothing)
{
	const char *ledger = in_dir(t, "ledger");
	uint64_t tables, resident;
	struct checked k;
	struct fx f;

	fx__start(t, &f, "heapledger", ledger, "2", number_arg(scaled(60000)), "mapped", "untouched", NULL);
	tables = status_kb(f.c.pid, "VmPTE:");
	resident = status_kb(f.c.pid, "RssAnon:");
	k = check(t, f.c.pid, ledger, (const char *[]){ "--times", "2", NULL });
	want_idle(t, "untouched", &k);
	want_eq(t, "KiB of page tables", tables, status_kb(f.c.pid, "VmPTE:"));
	want_eq(t, "KiB of resident memory", resident, status_kb(f.c.pid, "RssAnon:"));
	fx__quit(t, &f);
}

/* ---- stops */

/* One that is stopped already stays so, and one that another traces is not stopped. */
TEST(heap_pause_of_a_stopped_one)
{
	const char *ledger = in_dir(t, "ledger");
	struct checked k;
	struct fx f;
	int status;

	fx__start(t, &f, "heapledger", ledger, "2", "20000", NULL);
	kill(f.c.pid, SIGSTOP);
	must(t, waitpid(f.c.pid, &status, WUNTRACED) == f.c.pid && WIFSTOPPED(status), "it does not stop");
	k = check(t, f.c.pid, ledger, (const char *[]){ "--pause", NULL });
	want_exact(t, "stopped by a signal", &k);
	want_state(t, f.c.pid, 'T');
	kill(f.c.pid, SIGCONT);

	must(t, !ptrace(PTRACE_SEIZE, f.c.pid, 0, 0), "PTRACE_SEIZE: %s", strerror(errno));
	k = check(t, f.c.pid, ledger, (const char *[]){ "--pause", NULL });
	want_eq(t, "exit status", 1, (uint64_t)k.status);
	want(t, strstr(k.c.outs.s, "traces it already") != NULL, "%s", k.c.outs.s);
	k = check(t, f.c.pid, ledger, NULL);
	want_idle(t, "traced by another", &k);
	must(t, !ptrace(PTRACE_INTERRUPT, f.c.pid, 0, 0) && waitpid(f.c.pid, &status, __WALL) == f.c.pid, "it does not stop");
	ptrace(PTRACE_DETACH, f.c.pid, 0, 0);
	fx__quit(t, &f);
}

/* ---- refusals */

static void want_refused(struct test *t, const char *what, pid_t pid, const char *words)
{
	struct checked k = check(t, pid, "-", NULL);

	want_eq(t, what, 1, (uint64_t)k.status);
	want(t, strstr(k.c.outs.s, words) != NULL, "%s: %s", what, k.c.outs.s);
}

TEST(heap_census_of_others)
{
	static const struct {
		const char *fixture, *words;
	} others[] = { { "basic.musl", "no glibc heap" }, { "basic.musl-static", "no glibc heap" }, { "nolibc", "no glibc heap" } };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct child c;

		if (!fixture_there(others[i].fixture))
			continue;
		if (!strcmp(others[i].fixture, "nolibc")) {
			struct spawn s = { .argv = { fixture("nolibc") } };

			child__start(t, &c, &s);
			want_refused(t, others[i].fixture, c.pid, others[i].words);
			child__kill(t, &c, SIGKILL);
		} else {
			struct fx f;

			fx__start(t, &f, others[i].fixture, NULL);
			want_refused(t, others[i].fixture, f.c.pid, others[i].words);
			child__kill(t, &f.c, SIGKILL);
		}
	}
}

TEST(heap_census_of_nobody)
{
	struct spawn s = { .argv = { "/bin/true" } };
	struct child c;

	child__start(t, &c, &s);
	child__wait(t, &c);
	want_refused(t, "one that has ended", c.pid, "no process");
}

/* ---- heaps that lie */

/* words: of the refusal. NULL: figures or a refusal, either is honest. */
static const struct {
	const char *name, *words;
} lies[] = {
	{ "ring", "heap layout not recognised" },
	{ "sizes", NULL },
	{ "wrap", NULL },
	{ "arena", "heap layout not recognised" },
	{ "no-end", "heap layout not recognised" },
	{ "heaps", "heap layout not recognised" },
	{ "tcache-ring", NULL },
	{ "tops", NULL },
	{ "top-inside", NULL },
	{ "top-off", NULL },
	{ "top-far", NULL },
	{ "mapped", NULL },
	{ "zeros", "heap layout not recognised" },
	{ "chunks", "heap layout not recognised" },
	{ "no-arena", "heap layout not recognised" },
	{ "pointers", "heap layout not recognised" },
	{ "caches", "more blocks than it has" },
	{ "fault", "heap layout not recognised" },
	{ "many", NULL },
	{ "vanish", NULL },
	{ "exec", NULL },
	{ "exit", NULL },
	{ "fork", NULL },
};

TEST_LIMIT(heap_census_of_liars, 300)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		const char *name = lies[i].name;
		struct checked k;
		struct fx f;

		fx__start(t, &f, "heapliar", name, NULL);
		k = check(t, f.c.pid, "-", (const char *[]){ "--times", "3", NULL });
		/* figures or a refusal, and no crash; the test's limit is there for a hang */
		want(t, k.status == 0 || k.status == 1, "%s: exit status %d: %.300s", name, k.status, k.c.errs.s);
		if (k.status == 1)
			want(t, strstr(k.c.outs.s, "refused ") != NULL, "%s: %.300s", name, k.c.outs.s);
		if (lies[i].words)
			want(t, strstr(k.c.outs.s, lies[i].words) != NULL, "%s: %.300s", name, k.c.outs.s);
		child__kill(t, &f.c, SIGKILL);
	}
}

/* Nodes of a tree that are as large as a tcache, and look like one: nobody waits for that. */
TEST_LIMIT(heap_census_of_nodes, 60)
{
	struct checked k;
	struct fx f;

	fx__start(t, &f, "heapliar", "nodes", NULL);
	k = check(t, f.c.pid, "-", NULL);
	want_eq(t, "status", 0, (uint64_t)k.status);
	want(t, figure(t, &k, "cpu_us") < 10000000, "%llu us", (unsigned long long)figure(t, &k, "cpu_us"));
	child__kill(t, &f.c, SIGKILL);
}

/* Links and counts that were overwritten: what cannot be known of the free blocks is said. */
TEST(heap_census_of_torn_lists)
{
	static const char *const torn[] = { "fast", "fast-link", "tcache-count" };
	uint64_t truth = 0;

	for (size_t i = 0; i < sizeof(torn) / sizeof(*torn); i++) {
		uint64_t blocks, unsure;
		struct checked k;
		struct fx f;

		fx__start(t, &f, "heapliar", torn[i], NULL);
		k = check(t, f.c.pid, "-", (const char *[]){ "--pause", NULL });
		must(t, !k.status, "%s: %.300s", torn[i], k.c.outs.s);
		blocks = figure(t, &k, "blocks");
		unsure = figure(t, &k, "unsure");
		truth = i ? truth : blocks;
		want(t, i || !unsure, "%s: %llu unsure", torn[i], (unsigned long long)unsure);
		want(t, blocks <= truth + unsure && truth <= blocks + unsure, "%s: %llu blocks of %llu, %llu unsure", torn[i],
		     (unsigned long long)blocks, (unsigned long long)truth, (unsigned long long)unsure);
		child__kill(t, &f.c, SIGKILL);
	}
}
