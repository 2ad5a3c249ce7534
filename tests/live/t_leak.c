// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode leak: no free is seen, and what is live equals the fixture's own account all the same. Sizes are usable ones.
 */
#include "lt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* What this mode knows: all but temporary blocks and peaks. */
#define LED_LEAK (LED_ALL & ~(LED_TEMP | LED_PEAK))
/* glibc's reallocarray is not probed but the realloc that it calls: where it is, main's caller is frame 1. */
#define LED_BUT_STACKS (LED_LEAK & ~LED_STACKS)

static json_t *leak(struct test *t, const char *name, const char *a, const char *b, const char *c, unsigned int checks)
{
	struct fx f;
	json_t *root;

	if (!fixture_there(name))
		skip(t, "no fixture %s was built", name);
	fx__start(t, &f, name, "--usable", a, b, c, NULL);
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	want(t, !strcmp(jstr(root, "mode"), "leak") && !strcmp(jstr(root, "size"), "usable"), "mode and size, wanted leak and usable, got '%s' and '%s'",
	     jstr(root, "mode"), jstr(root, "size"));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want(t, !jget(root, "live_unsure_blocks"), "live_unsure_blocks at rest, wanted none");
	fx__quit(t, &f);
	return root;
}

TEST(leak_hundred) { leak(t, "basic", "hundred", "1000", NULL, LED_LEAK); }
TEST(leak_family) { leak(t, "basic", "family", NULL, NULL, LED_BUT_STACKS); }
TEST(leak_chunks_of_every_kind) { leak(t, "basic", "chunks", NULL, NULL, LED_BUT_STACKS); }
TEST(leak_realloc) { leak(t, "basic", "reallocs", NULL, NULL, LED_BUT_STACKS); }
TEST(leak_failures) { leak(t, "basic", "failures", NULL, NULL, LED_BUT_STACKS); }
TEST(leak_failures_size_requested)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "failures", NULL);
	root = trace(t, &f, 0, "--mode", "leak", "--size", "requested", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BUT_STACKS);
	fx__quit(t, &f);
}
TEST(leak_big_blocks) { leak(t, "basic", "big", NULL, NULL, LED_LEAK); }
TEST(leak_older_blocks) { leak(t, "basic", "unknown", NULL, NULL, LED_LEAK); }
TEST(leak_recursion) { leak(t, "basic", "recursion", NULL, NULL, LED_LEAK); }
TEST(leak_no_frame_pointer) { leak(t, "basic.nofp", "chunks", NULL, NULL, LED_TOTALS | LED_REALLOC); }
TEST(leak_static_glibc) { leak(t, "basic.static", "family", NULL, NULL, LED_BUT_STACKS); }
TEST(leak_cxx) { leak(t, "cxx", "forms", NULL, NULL, LED_ONLY | LED_REALLOC); }
TEST(leak_arenas) { leak(t, "threads", "cross", "20000", "8", LED_STACKS | LED_ONLY | LED_REALLOC); }
TEST(leak_realloc_race) { leak(t, "threads", "race", "20000", "3", LED_STACKS | LED_ONLY | LED_REALLOC); }
TEST(leak_first_of_arena) { leak(t, "threads", "first", "1", "4", LED_STACKS | LED_ONLY | LED_REALLOC); }

/* Where a block was, libc has something of its own since, which no probe sees. */
TEST(leak_below_a_cache_of_libc) { leak(t, "threads", "cache", "0", "1", LED_STACKS | LED_ONLY | LED_REALLOC); }

/* What is not seen is null, not 0. */
TEST(leak_says_what_it_does_not_know)
{
	static const char *const keys[] = { "totals.temp_calls", "totals.peak_bytes", "totals.unknown_frees", "processes[0].lifetimes", "sites[0].lifetime_mean_ns",
					    "sites[0].cross_frees", "sites[0].at_peak_bytes", "processes[0].sizes[0].live_blocks", "processes[0].threads[0].totals.free_calls" };
	json_t *root = leak(t, "basic", "family", NULL, NULL, LED_BUT_STACKS);

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		want(t, json_is_null(jget(root, keys[i])), "%s, wanted null", keys[i]);
}

/* What was found at the end is the last point of each course. */
TEST(leak_last_is_noted)
{
	json_t *root = leak(t, "basic", "hundred", "1000", NULL, LED_LEAK), *line = jget(root, "processes[0].timeline"), *site, *last;
	size_t i;

	last = json_array_get(line, json_array_size(line) - 1);
	must(t, last, "timeline, wanted the end in it, got %zu points", json_array_size(line));
	want_u64(t, last, "live_bytes", ju64(t, root, "totals.live_bytes"));
	want_u64(t, last, "live_blocks", ju64(t, root, "totals.live_blocks"));
	json_array_foreach(jget(root, "sites"), i, site) {
		line = jget(site, "history");
		last = json_array_get(line, json_array_size(line) - 1);
		must(t, last || !ju64(t, site, "live_bytes"), "history of site %zu, wanted the end in it", i);
		if (last)
			want_u64(t, last, "live_bytes", ju64(t, site, "live_bytes"));
	}
}

/* ---- allocators whose blocks cannot be told from outside: their frees are seen, as in full mode, and nothing is unsure */

static void want_probed_frees(struct test *t, json_t *root)
{
	json_t *probe;
	bool any = false;
	size_t i;

	json_array_foreach(jget(root, "probes"), i, probe)
		any |= json_is_true(jget(probe, "frees_probed"));
	want(t, any, "frees_probed, wanted it of some file");
	want(t, !jget(root, "live_unsure_blocks") && !jget(root, "heaps_not_read") && !jget(root, "heap_read_at_ns"),
	     "live_unsure_blocks, heaps_not_read, heap_read_at_ns: wanted none of them");
}

/* What a report says of it. */
static void want_words(struct test *t, json_t *root, const char *words)
{
	const char *path = in_dir(t, "words.json");
	struct mt m;
	char *said;

	must(t, !json_dump_file(root, path, 0), "%s cannot be written", path);
	mt__run(t, &m, "report", path, NULL);
	said = m.c.outs.s;
	/* lines are broken where they end */
	for (char *p = said; *p; p++)
		if (*p == '\n') {
			*p = ' ';
			memmove(p + 1, p + 1 + strspn(p + 1, " "), strlen(p + 1 + strspn(p + 1, " ")) + 1);
		}
	want(t, strstr(said, words), "the report, wanted '%s', got: %.600s", words, said);
}

static void other_allocator(struct test *t, const char *library, const char *words)
{
	struct fx f;
	struct mt m;
	json_t *root;
	int watch = inotify_init1(IN_CLOEXEC);

	fx__start_preloaded(t, &f, library, "basic", "common");
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_REALLOC);
	want_probed_frees(t, root);
	want_words(t, root, words);
	fx__quit(t, &f);
	/* under load, too */
	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start_preloaded(t, &f, library, "threads", "churn");
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGUSR1);
	wait_json(t, watch, in_dir(t, "x.1.json"));
	root = load_json(t, in_dir(t, "x.1.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_probed_frees(t, root);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
}

TEST(leak_jemalloc) { other_allocator(t, "libjemalloc.so.2", "frees of libjemalloc.so.2 are probed as in full mode, because its blocks cannot be told from outside"); }
TEST(leak_tcmalloc) { other_allocator(t, "libtcmalloc_minimal.so.4", "frees of libtcmalloc_minimal.so.4"); }
TEST(leak_mimalloc) { other_allocator(t, "libmimalloc.so.2.0", "frees of libmimalloc.so.2"); }

TEST(leak_musl)
{
	static const char *const builds[] = { "basic.musl", "basic.musl-static" };

	for (unsigned int i = 0; i < 2; i++) {
		json_t *root;
		struct fx f;

		if (!fixture_there(builds[i]))
			skip(t, "no fixture %s was built", builds[i]);
		fx__start(t, &f, builds[i], "family", NULL);
		root = trace(t, &f, 0, "--mode", "leak", NULL);
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_REALLOC | LED_TOTALS);
		want_probed_frees(t, root);
		want_words(t, root, "are probed as in full mode");
		fx__quit(t, &f);
	}
}

/* What glibc's free gets of it nobody would see: it would be a leak that is none. */
TEST(leak_named_without_free)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "custom", NULL);
	want_eq(t, "exit status", 2, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--sym", "malloc=arena_alloc", "-d", "1", NULL));
	want(t, strstr(m.c.errs.s, "--sym: arena_alloc allocates") && strstr(m.c.errs.s, "count as live. Give --sym free=NAME"), "why, wanted that a free is missing, got: %.300s", m.c.errs.s);
	fx__quit(t, &f);
}

/* The same where only the file tells: of a prefix, and of a free whose name is in no file. */
TEST(leak_found_without_free)
{
	static const struct {
		const char *fixture, *file, *args[6], *says;
	} cases[] = {
		{ "prefix", "libpre.so", { "--prefix", "lone_" }, "--prefix: lone_malloc allocates" },
		{ "custom", "liballoc.so", { "--sym", "malloc=my_alloc", "--sym", "free=my_fre" }, "--sym: my_alloc allocates" },
		/* the prefix has a free, which is not for others */
		{ "prefix", "libpre.so", { "--sym", "malloc=lone_malloc", "--sym", "free=lone_fre", "--prefix", "pre_" }, "--sym: lone_malloc allocates" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const *a = cases[i].args;
		struct fx f;
		struct mt m;

		fx__start(t, &f, cases[i].fixture, NULL);
		want_eq(t, "exit status", 2,
			(uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", "-O", fixture(cases[i].file), "--mode", "leak", a[0], a[1], a[2], a[3], a[4], a[5], NULL));
		want(t, strstr(m.c.errs.s, cases[i].says) && strstr(m.c.errs.s, "count as live. Give --sym free=NAME"), "why, wanted that a free is missing, got: %.300s", m.c.errs.s);
		/* other modes take it */
		want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", "-O", fixture(cases[i].file), a[0], a[1], a[2], a[3], a[4], a[5], NULL));
		fx__quit(t, &f);
	}
}

/* An allocator that is linked into a static program beside glibc's. */
TEST(leak_linked_in)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "linked.static", "3000", NULL);
	root = trace(t, &f, 0, "--mode", "leak", "--size", "requested", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_REALLOC);
	fx__quit(t, &f);
}

/* ---- more of it */

static void tuned(struct test *t, const char *env, const char *name, const char *a, const char *b, const char *c, unsigned int checks)
{
	struct spawn s = { .argv = { fixture(name), "--usable", a, b, c }, .env = { env } };
	json_t *root;
	struct fx f;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	want(t, !jget(root, "heaps_not_read") && !jget(root, "live_unsure_blocks"), "heaps_not_read and live_unsure_blocks, wanted none");
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &f);
}

/*
 * Huge pages: heaps of threads are four of them, not 64 MiB, the main one is no program's break, and blocks with a mapping of their
 * own are longer. glibc does so also where the machine has none of these pages to give.
 */
#define HUGE_PAGES "GLIBC_TUNABLES=glibc.malloc.hugetlb=2"
TEST(leak_huge_pages) { tuned(t, HUGE_PAGES, "basic", "chunks", NULL, NULL, LED_BUT_STACKS); }
TEST(leak_huge_pages_arenas) { tuned(t, HUGE_PAGES, "threads", "cross", "20000", "8", LED_STACKS | LED_ONLY | LED_REALLOC); }

/* A thread's cache has a mapping of its own, as everything else of its size. */
#define SMALL_MAPPINGS "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=256"
TEST(leak_mapped_cache) { tuned(t, SMALL_MAPPINGS, "basic", "chunks", NULL, NULL, LED_BUT_STACKS); }
/* One that is empty is all zeros, as a block may be: what lay there before is unsure, until a free tells. */
TEST(leak_below_a_mapped_cache)
{
	struct spawn s = { .argv = { fixture("threads"), "--usable", "mapped-cache", "0", "1" }, .env = { SMALL_MAPPINGS ":glibc.malloc.top_pad=0" } };
	uint64_t live;
	json_t *root;
	struct fx f;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	live = site_sum(t, root, process_of(t, root, f.c.pid, 0), "thread_alloc", "live_blocks");
	want_eq(t, "live_unsure_blocks, as many as are wrong", live, (uint64_t)json_integer_value(jget(root, "live_unsure_blocks")));
	want_eq(t, "blocks that are held and called freed", 0, site_sum(t, root, process_of(t, root, f.c.pid, 0), "hold_here", "free_calls"));
	fx__quit(t, &f);
}

TEST(leak_mapped_caches) { tuned(t, SMALL_MAPPINGS ":glibc.malloc.arena_max=1", "threads", "cross", "20000", "8", LED_STACKS | LED_ONLY | LED_REALLOC); }

/* Sizes as requested, for another trap. */
TEST(leak_requested_sizes)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	root = trace(t, &f, 0, "--mode", "leak", "--size", "requested", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BUT_STACKS);
	fx__quit(t, &f);
}

/* Each of two C libraries has a heap, and one of them is read: no block is called freed by that. */
TEST(leak_of_two_c_libraries)
{
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "twolibcs", "--usable", NULL);
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	want_eq(t, "blocks that are kept", 1000, site_sum(t, root, process_of(t, root, f.c.pid, 0), "kept_here", "live_blocks"));
	want_u64(t, root, "heaps_not_read", 1);
	want_u64(t, root, "processes[0].heaps_not_read", 1);
	want_u64(t, root, "processes[0].live_unsure_blocks", ju64(t, root, "totals.live_blocks"));
	want_u64(t, root, "live_unsure_blocks", ju64(t, root, "totals.live_blocks"));
	fx__quit(t, &f);
	/* met while there was no heap to be read, and lost at its end */
	fx__start(t, &f, "twolibcs", "--usable", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace: snapshot", NULL, 30);
	fx__go(t, &f);
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_invariants(t, root);
	want_u64(t, root, "processes[0].heaps_not_read", 1);
	want_u64(t, root, "live_unsure_blocks", ju64(t, root, "totals.live_blocks"));
}

/* ---- the end of the process: it is not stopped, nor waited for, and its heap is read all the same */

/* Where PROCMAP_QUERY came with. */
static bool is_older_than_6_11(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	return sscanf(u.release, "%d.%d", &major, &minor) == 2 && (major < 6 || (major == 6 && minor < 11));
}

/* how: 'q': it ends by itself; else it is killed */
static void ends(struct test *t, char how)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "--usable", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	if (how == 'q') {
		fx__quit(t, &f);
	} else {
		child__kill(t, &f.c, SIGKILL);
		child__wait(t, &f.c);
	}
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_bool(t, root, "processes[0].ended", true);
	want(t, !strstr(m.c.errs.s, "it held"), "what it held, wanted no word of it before its heap was read, got: %.300s", m.c.errs.s);
	if (jget(root, "heaps_not_read") && is_older_than_6_11())
		skip(t, "before Linux 6.11 nothing shows where the memory was of a process that was waited for: the report says that it was not read");
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BUT_STACKS);
}

TEST(leak_of_one_that_exits) { ends(t, 'q'); }
TEST(leak_of_one_that_is_killed) { ends(t, 'k'); }

TEST(leak_of_a_command)
{
	const char *ledger = in_dir(t, "ledger");
	struct ledger l;
	struct mt m;
	json_t *root;
	char *text;

	mt__start(t, &m, "--mode", "leak", "--json", "--", fixture("basic"), "--auto", ledger, "--usable", "family", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&l, text), "no ledger in %s", ledger);
	free(text);
	want_lossless(t, root);
	want_ledger(t, root, jget(root, "processes[0]"), &l, LED_REALLOC);
}

/* ---- under load */

/*
 * 20,000 blocks held while two threads allocate and free as fast as they can, 64 blocks each: what is held is never called freed, and
 * what is not is called live at most as often as is said.
 */
static void under_load(struct test *t, bool exact)
{
	const uint64_t n_held = 20000, usable = 40, churned = 72;
	struct fx f;
	struct mt m;
	json_t *root;
	int watch = inotify_init1(IN_CLOEXEC);

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start(t, &f, "threads", "--usable", "churn", "20000", "2", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), exact ? "--exact" : NULL, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);		/* all are held; the others are at it */
	for (int i = 1; i <= 10; i++) {
		const char *path = in_dir(t, "x.%d.json", i);
		uint64_t blocks, unsure;
		json_t *p;

		child__kill(t, &m.c, SIGUSR1);
		/* what it says before that is read with it */
		child__wait_err(t, &m.c, "malloctrace: snapshot", NULL, 60);
		wait_json(t, watch, path);
		root = load_json(t, path);
		want_invariants(t, root);
		want_lossless(t, root);
		p = process_of(t, root, f.c.pid, 0);
		want_eq(t, "held blocks", n_held, site_sum(t, root, p, "hold_here", "live_blocks"));
		want_eq(t, "held bytes", n_held * usable, site_sum(t, root, p, "hold_here", "live_bytes"));
		want_eq(t, "frees of held blocks", 0, site_sum(t, root, p, "hold_here", "free_calls"));
		blocks = site_sum(t, root, p, "churn_here", "live_blocks");
		unsure = jget(root, "live_unsure_blocks") ? ju64(t, root, "live_unsure_blocks") : 0;
		want(t, blocks >= 126, "churn_here live_blocks, wanted the 126 at least that are held at any moment, got %llu", (unsigned long long)blocks);
		want(t, blocks <= 128 + unsure, "churn_here live_blocks, wanted at most 128 and %llu that are unsure, got %llu", (unsigned long long)unsure,
		     (unsigned long long)blocks);
		want_eq(t, "churn_here live_bytes", churned * blocks, site_sum(t, root, p, "churn_here", "live_bytes"));
		if (exact && (strstr(m.c.errs.s, "was stopped for a tenth of a second, and its heap takes longer") || strstr(m.c.errs.s, "did not stop within")))
			skip(t, "this machine takes more than a tenth of a second to read 20,000 blocks, or to stop a process: it is read while it runs, which is said");
		want(t, json_is_true(jget(root, "exact_asked")) == exact, "exact_asked, wanted it with --exact alone");
		want(t, !exact || (blocks <= 128 && ju64(t, root, "heap_read_paused_ns") > 0), "exact: wanted at most 128, and how long it was stopped, got %llu",
		     (unsigned long long)blocks);
		json_decref(root);
		fx__go(t, &f);
	}
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	fx__quit(t, &f);
}

TEST(leak_under_load) { under_load(t, false); }
TEST(leak_under_load_exact) { under_load(t, true); }

/*
 * Threads come and go, and some of their blocks stay, never written to: they have the mark that glibc puts on what is in a thread's
 * cache. None of them is called freed, and what is freed is called live at most as often as is said.
 */
static void want_kept(struct test *t, json_t *root, pid_t pid, uint64_t n_workers)
{
	json_t *p = process_of(t, root, pid, 0);
	uint64_t unsure = jget(root, "live_unsure_blocks") ? ju64(t, root, "live_unsure_blocks") : 0;
	uint64_t churned = site_sum(t, root, p, "churn_here", "live_blocks"), held = 64 * n_workers;

	want_invariants(t, root);
	want_lossless(t, root);
	want(t, site_sum(t, root, p, "kept_here", "alloc_calls") > 0, "nothing was kept: the test says nothing");
	want_eq(t, "frees of what is kept", 0, site_sum(t, root, p, "kept_here", "free_calls"));
	want(t, churned <= held + unsure, "churn_here live_blocks, wanted at most %llu and %llu that are unsure, got %llu", (unsigned long long)held, (unsigned long long)unsure,
	     (unsigned long long)churned);
}

TEST(leak_of_threads_that_leave)
{
	int watch = inotify_init1(IN_CLOEXEC);
	json_t *root;
	struct fx f;
	struct mt m;

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start(t, &f, "threads", "--usable", "leaving", "0", "3", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	for (int i = 1; i <= 5; i++) {
		const char *path = in_dir(t, "x.%d.json", i);

		child__kill(t, &m.c, SIGUSR1);
		wait_json(t, watch, path);
		root = load_json(t, path);
		want_kept(t, root, f.c.pid, 3);
		json_decref(root);
	}
	mt__stop(t, &m, SIGINT, 0);
	want_kept(t, load_json(t, in_dir(t, "x.json")), f.c.pid, 3);
	/* the end by -d, amid messages of threads that end */
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "-d", "1", "--json", NULL);
	want_kept(t, mt__stop_json(t, &m, 0, 0), f.c.pid, 3);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
}

/* ---- what goes by live figures */

/* Of two processes one ends, and is read then; the other one is at the end of the trace. */
TEST(leak_of_two)
{
	struct fx a, b;
	char pids[48];
	struct mt m;
	json_t *root;

	fx__start(t, &a, "basic", "--usable", "family", NULL);
	fx__start(t, &b, "basic", "--usable", "reallocs", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", (int)a.c.pid, (int)b.c.pid);
	mt__start(t, &m, "-p", pids, "--mode", "leak", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	fx__quit(t, &a);
	fx__go(t, &b);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	if (!jget(root, "heaps_not_read") || !is_older_than_6_11())
		want_ledger(t, root, process_of(t, root, a.c.pid, 0), &a.led, LED_REALLOC);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_REALLOC);
	fx__quit(t, &b);
}

/* Of a program with few calls, too, heaps are read often enough within 20 s. Where a reading takes no time, that is so anyway. */
TEST(leak_verdict)
{
	json_t *root, *site, *frame;
	unsigned int n = 0;
	struct fx f;
	size_t i, k;

	fx__start(t, &f, "shop", "1900", NULL);
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	json_array_foreach(jget(root, "sites"), i, site) {
		const char *verdict = jstr(site, "verdict");
		bool lost = false;

		json_array_foreach(jget(site, "stack"), k, frame)
			lost |= !strncmp(jstr(frame, "function"), "issue_ticket", strlen("issue_ticket"));
		n += lost;
		want(t, !lost || !strcmp(verdict, "leak") || !strcmp(verdict, "suspect"), "leak or suspect, wanted, got '%s' (%s)", verdict,
		     jstr(site, "why"));
	}
	want_eq(t, "sites that lose objects", 1, n);
	fx__quit(t, &f);
}

/* The programs keep no sums of what is live here: conditions go by what is known. */
TEST(leak_condition)
{
	const char *out = in_dir(t, "x.json");
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "--usable", "hundred", "1000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", out, "--when", "blocks>999", "--when", "live>1G", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: blocks>999: ", NULL, 30);
	mt__stop(t, &m, SIGINT, 0);
	want(t, !strstr(m.c.errs.s, "live>1G:"), "a condition that does not hold, wanted silence about it, got: %.300s", m.c.errs.s);
	root = load_json(t, out);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_LEAK);
	fx__quit(t, &f);
}

/* The thread that stops it is no debugger's. */
TEST(leak_exact_says_nothing_of_debuggers)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "--usable", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--exact", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !strstr(m.c.errs.s, "debug"), "words about a debugger, wanted none, got: %.300s", m.c.errs.s);
	want(t, ju64(t, root, "heap_read_paused_ns") > 0, "heap_read_paused_ns, wanted how long it was stopped");
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BUT_STACKS);
	fx__quit(t, &f);
}

/* A thread that cannot be stopped: it is waited for once, and not for long; then it is read while it runs. */
TEST(leak_exact_of_one_that_cannot_stop)
{
	int watch = inotify_init1(IN_CLOEXEC);
	json_t *root;
	struct fx f;
	struct mt m;

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start(t, &f, "reach", in_dir(t, "blocks"), "vfork", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--exact", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace: ", "did not stop within a fraction of a second", 30);
	wait_json(t, watch, in_dir(t, "x.1.json"));
	root = load_json(t, in_dir(t, "x.1.json"));
	/* a tenth of a second, and until it is let go, which may take longer on a busy machine */
	want(t, ju64(t, root, "heap_read_paused_ns") >= 100000000 && ju64(t, root, "heap_read_paused_ns") < 900000000,
	     "heap_read_paused_ns, wanted that of one stop, got %llu", (unsigned long long)ju64(t, root, "heap_read_paused_ns"));
	want_words(t, root, "the process was stopped for ");
	child__kill(t, &m.c, SIGUSR1);
	wait_json(t, watch, in_dir(t, "x.2.json"));
	want(t, !jget(load_json(t, in_dir(t, "x.2.json")), "heap_read_paused_ns"), "heap_read_paused_ns of the next one, wanted none");
	mt__stop(t, &m, SIGINT, 0);
	want(t, !jget(load_json(t, in_dir(t, "x.json")), "heap_read_paused_ns"), "heap_read_paused_ns of the last one, wanted none");
	fx__quit(t, &f);
}

/* How often a text has these words. */
static unsigned int n_times(const char *text, const char *words)
{
	unsigned int n = 0;

	for (const char *p = text; (p = strstr(p, words)); p++)
		n++;
	return n;
}

static void let_go(struct test *t, pid_t pid)
{
	int status;

	must(t, !ptrace(PTRACE_INTERRUPT, pid, 0, 0) && waitpid(pid, &status, __WALL) == pid, "it does not stop");
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* A debugger holds it: no report of it while it works is exact, and each says so. On x86_64, whoever has shared probes waits for that debugger. */
TEST_ALONE(leak_exact_says_whether_it_was)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "threads", "--usable", "churn", "20000", "2", NULL);
	must(t, !ptrace(PTRACE_SEIZE, f.c.pid, 0, 0), "PTRACE_SEIZE: %s", strerror(errno));
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--exact", "1", "3", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
#ifdef __x86_64__
	/* its breakpoints would look like malloctrace's */
	child__wait_err(t, &m.c, "malloctrace: live-tests (", "Waiting until the debugger detaches", patience_s(60));
	let_go(t, f.c.pid);
	mt__stop(t, &m, 0, 0);
#else
	mt__stop(t, &m, 0, 0);
	let_go(t, f.c.pid);
#endif
	want(t, strstr(m.c.errs.s, "traces it already"), "why, wanted who holds it, got: %.300s", m.c.errs.s);
	want_eq(t, "reports that say whether they are exact", 3, n_times(m.c.outs.s, "exact"));
	/* the first may be of before it began */
	want(t, n_times(m.c.outs.s, "not exact") >= 2 && !strstr(m.c.outs.s, "stopped for"), "wanted reports that are not exact, got: %.2000s", m.c.outs.s);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
}
