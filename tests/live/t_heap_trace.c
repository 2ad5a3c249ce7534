// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A trace beside what is in the target's memory: what is older, what nothing points to. */
#include "screen.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void want_class(struct test *t, json_t *classes, uint64_t usable, uint64_t blocks, uint64_t unreached)
{
	json_t *class;
	size_t i;

	json_array_foreach(classes, i, class)
		if (ju64(t, class, "usable") == usable) {
			want_eq(t, "blocks of a class", blocks, ju64(t, class, "blocks"));
			want_eq(t, "of these unreached", unreached, ju64(t, class, "unreached_blocks"));
			return;
		}
	want(t, false, "no class of %" PRIu64 " bytes", usable);
}

/* Of all sites of a function. verdict: of each, NULL: any. */
static void want_unreached(struct test *t, json_t *root, const char *function, uint64_t blocks, uint64_t size, const char *verdict)
{
	uint64_t n_blocks = 0, n_bytes = 0;
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site) {
		if (strcmp(jstr(json_array_get(jget(site, "stack"), 0), "function"), function))
			continue;
		n_blocks += ju64(t, site, "unreached_blocks");
		n_bytes += ju64(t, site, "unreached_bytes");
		if (verdict)
			want(t, !strcmp(jstr(site, "verdict"), verdict), "%s: wanted %s, got %s", function, verdict, jstr(site, "verdict"));
	}
	want_eq(t, function, blocks, n_blocks);
	want_eq(t, function, blocks * size, n_bytes);
}

static uint64_t count_words(const char *text, const char *word)
{
	uint64_t n = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		n++;
	return n;
}

/* Every block is told: from before the trace or from within it, held or lost, directly or by another. */
TEST(heap_trace_ledger)
{
	const char *file = in_dir(t, "x.json");
	json_t *root, *heap, *older, *unreached;
	uint64_t lost;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heaptrace", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--roots", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, file);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_unreached(t, root, "lose_here", ledger__note(t, &f.led, "lost"), 104, "suspect");
	want_unreached(t, root, "list_here", ledger__note(t, &f.led, "in_lists"), 136, "suspect");
	want_unreached(t, root, "half_here", ledger__note(t, &f.led, "half"), 120, NULL);
	want_unreached(t, root, "keep_here", 0, 88, NULL);
	want_unreached(t, root, "last_here", 0, 152, NULL);
	heap = json_array_get(jget(root, "heap"), 0);
	older = jget(heap, "older");
	want_class(t, jget(older, "classes"), ledger__note(t, &f.led, "old_held_usable"), ledger__note(t, &f.led, "old_held"), 0);
	want_class(t, jget(older, "classes"), ledger__note(t, &f.led, "old_lost_usable"), ledger__note(t, &f.led, "old_lost"),
		   ledger__note(t, &f.led, "old_lost"));
	/* and libc's own: the first thread's tcache */
	want_eq(t, "in use, by the census", ju64(t, older, "blocks") + ju64(t, jget(root, "totals"), "live_blocks") + 1,
		ju64(t, jget(heap, "in_use"), "blocks"));
	want_eq(t, "older, by the ledger", ledger__note(t, &f.led, "old_blocks"), ju64(t, older, "blocks"));
	unreached = jget(heap, "unreached");
	lost = ledger__note(t, &f.led, "lost") + ledger__note(t, &f.led, "in_lists") + ledger__note(t, &f.led, "half") +
	       ledger__note(t, &f.led, "old_lost");
	want_eq(t, "unreached", lost, ju64(t, unreached, "blocks"));
	want_eq(t, "direct", lost - ledger__note(t, &f.led, "in_lists") + ledger__note(t, &f.led, "heads"), ju64(t, unreached, "direct_blocks"));
	fx__quit(t, &f);
}

/* --view blocks: also in a trace those without a pointer first, each called what it is, then the oldest. */
TEST(heap_trace_blocks)
{
	const char *file = in_dir(t, "x.json"), *text = in_dir(t, "x.txt");
	uint64_t n = 0, lost, direct;
	json_t *root, *block;
	bool was_lost = true;
	char *report;
	struct mt m;
	struct fx f;
	size_t i, len;

	fx__start(t, &f, "heaptrace", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--reachable", "--view", "blocks", "-T", "100000", "-o", file, "-o", text, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, file);
	json_array_foreach(jget(root, "heap[0].blocks"), i, block) {
		bool is_lost = strcmp(jstr(block, "reach"), "reached");

		want(t, was_lost >= is_lost, "block %zu without a pointer comes after one with a pointer", i);
		was_lost = is_lost;
		n += is_lost;
	}
	lost = ledger__note(t, &f.led, "lost") + ledger__note(t, &f.led, "in_lists") + ledger__note(t, &f.led, "half") + ledger__note(t, &f.led, "old_lost");
	direct = lost - ledger__note(t, &f.led, "in_lists") + ledger__note(t, &f.led, "heads");
	want_eq(t, "listed without a pointer", lost, n);
	report = read_all(text, &len);
	must(t, report, "%s", text);
	want(t, strstr(report, "BLOCKS, those without a pointer first, then the oldest ("), "%.400s", report);
	want_eq(t, "called indirect", lost - direct, count_words(report, "  indirect  "));
	want_eq(t, "called direct", direct, count_words(report, "  direct  "));
	free(report);
	fx__quit(t, &f);
}

/* No false alarm; what is found is not all of it, where the allocator keeps the addresses of blocks that it gave away. */
static void want_some_unreached(struct test *t, json_t *root, const char *function, uint64_t blocks)
{
	uint64_t n = 0;
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (!strcmp(jstr(json_array_get(jget(site, "stack"), 0), "function"), function))
			n += ju64(t, site, "unreached_blocks");
	want(t, n && n <= blocks, "%s: %" PRIu64 " of %" PRIu64, function, n, blocks);
}

/* Of other allocators the traced blocks alone are known: whatever else there is may point to them. stale: jemalloc's caches do. */
static void other(struct test *t, const char *library, const char *allocator, bool stale)
{
	const char *file = in_dir(t, "x.json");
	json_t *root, *heap;
	struct mt m;
	struct fx f;

	fx__start_preloaded(t, &f, library, "heaptrace", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--reachable", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, file);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	if (stale) {
		want_some_unreached(t, root, "lose_here", ledger__note(t, &f.led, "lost"));
		want_some_unreached(t, root, "list_here", ledger__note(t, &f.led, "in_lists"));
		want_some_unreached(t, root, "half_here", ledger__note(t, &f.led, "half"));
	} else {
		want_unreached(t, root, "lose_here", ledger__note(t, &f.led, "lost"), 104, "suspect");
		want_unreached(t, root, "list_here", ledger__note(t, &f.led, "in_lists"), 136, "suspect");
		want_unreached(t, root, "half_here", ledger__note(t, &f.led, "half"), 120, NULL);
	}
	want_unreached(t, root, "keep_here", 0, 88, NULL);
	heap = json_array_get(jget(root, "heap"), 0);
	want(t, !strcmp(jstr(heap, "allocator"), allocator), "allocator: %s", jstr(heap, "allocator"));
	want(t, json_is_null(jget(heap, "older")), "older blocks of %s are known", allocator);
	want(t, json_is_null(jget(heap, "in_use")), "blocks in use of %s are known", allocator);
	fx__quit(t, &f);
}

TEST(heap_trace_jemalloc) { other(t, "libjemalloc.so.2", "jemalloc", true); }
TEST(heap_trace_tcmalloc) { other(t, "libtcmalloc_minimal.so.4", "tcmalloc", false); }
TEST(heap_trace_mimalloc) { other(t, "libmimalloc.so.2.0", "mimalloc", false); }

/* Who asks for a search, and there is nothing left to search, is told so. */
TEST(heap_trace_ended)
{
	const char *file = in_dir(t, "x.json"), *ledger = in_dir(t, "ledger");
	char line[256];
	struct mt m;

	snprintf(line, sizeof(line), "%s/basic", lt_fixtures);
	mt__start(t, &m, "--reachable", "-o", file, "--", line, "--auto", ledger, "common", NULL);
	want(t, !child__wait(t, &m.c), "%s", m.c.errs.s);
	want(t, strstr(m.c.errs.s, "was not searched for pointers: every process has ended"), "%s", m.c.errs.s);
	want(t, json_is_null(jget(load_json(t, file), "heap")), "a heap of a process that had ended");
}

/* What comes after the trace is not taken for what was there before it. */
TEST(heap_trace_stopped)
{
	const char *file = in_dir(t, "x.json");
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heaptrace", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--stop-on", "work", "--reachable", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	want(t, !child__wait(t, &m.c), "%s", m.c.errs.s);
	want(t, strstr(m.c.errs.s, "was not searched for pointers: the trace ended before"), "%s", m.c.errs.s);
	want(t, json_is_null(jget(load_json(t, file), "heap")), "a heap of a later moment");
	fx__quit(t, &f);
}

/* Where the trace records but a part, no site is told which of its blocks are lost; the heap as a whole is. */
TEST(heap_trace_overhead)
{
	const char *file = in_dir(t, "x.json");
	json_t *root, *heap, *site;
	struct mt m;
	struct fx f;
	size_t i;

	fx__start(t, &f, "heaptrace", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--overhead", "50", "--reachable", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, file);
	json_array_foreach(jget(root, "sites"), i, site)
		want(t, json_is_null(jget(site, "unreached_blocks")), "a site's blocks that nothing points to");
	heap = json_array_get(jget(root, "heap"), 0);
	want(t, json_is_true(jget(heap, "sites_unknown")), "sites_unknown");
	want(t, json_is_null(jget(heap, "older")), "older blocks are known");
	want_eq(t, "unreached", ledger__note(t, &f.led, "lost") + ledger__note(t, &f.led, "in_lists") + ledger__note(t, &f.led, "half") +
		ledger__note(t, &f.led, "old_lost"), ju64(t, jget(heap, "unreached"), "blocks"));
	fx__quit(t, &f);
}

/* Keys of the live view: the heap of this moment, what nothing points to, and both in the tables. */
TEST(heap_trace_top)
{
	struct screen s = {};
	char line[1024], unreached[64];

	fx__start(t, &s.fx, "heaptrace", NULL);
	snprintf(line, sizeof(line), "LC_ALL=C.UTF-8 %s -p %d; echo EXIT $?; exec cat", lt_bin, (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "60", line);
	COMES("losses none");
	fx__go(t, &s.fx);
	COMES("lose_here");
	keys(t, &s, "h");
	COMES("[H heap]", "in use", "older than the trace", "not searched for");
	keys(t, &s, "u");
	snprintf(unreached, sizeof(unreached), "%" PRIu64, ledger__note(t, &s.fx.led, "old_lost"));
	COMES("no pointer found in", "no pointer to 300 of them", unreached);
	keys(t, &s, "1");
	COMES("[1 live]", "UNREACHED", "50.8 KiB", "20.5 KiB");
	keys(t, &s, "q");
	COMES("EXIT 0", "robably leaked, no pointer found in 3 scans");
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}
