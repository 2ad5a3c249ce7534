// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A trace beside what is in the target's memory: what is older, what nothing points to. */
#include "screen.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* What nobody asked for does not hold up the end of a trace: a large heap is read on request alone, and the report says so. */
TEST(heap_trace_large)
{
	static const char said[] = "the heap was not read";

	for (int asked = 0; asked < 2; asked++) {
		const char *file = in_dir(t, asked ? "asked.json" : "x.json");
		json_t *root;
		struct mt m;
		struct fx f;

		fx__start(t, &f, "heaptrace", "many", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", file, asked ? "--view" : NULL, "heap", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, SIGINT, 0);
		root = load_json(t, file);
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
		want_eq(t, "heaps", asked, json_array_size(jget(root, "heap")));
		want_eq(t, said, !asked, strstr(m.c.errs.s, said) != NULL);
		fx__quit(t, &f);
	}
}

/* CPU time of a process and of its children that it has waited for, in clock ticks. */
static uint64_t ticks_of(struct test *t, pid_t pid)
{
	unsigned long long v[4];
	char path[64], text[1024] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	must(t, f && fread(text, 1, sizeof(text) - 1, f) && strrchr(text, ')') &&
			sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", v, v + 1, v + 2, v + 3) == 4,
	     "%s", path);
	fclose(f);
	return v[0] + v[1] + v[2] + v[3];
}

/* From Ctrl-C to exit. CPU time: the machine may have other work. */
static void want_ends_soon(struct test *t, struct mt *m, bool is_json)
{
	struct rusage before, after;
	double cpu_s;

	getrusage(RUSAGE_CHILDREN, &before);
	cpu_s = -(double)ticks_of(t, m->c.pid) / sysconf(_SC_CLK_TCK);
	if (is_json)
		json_decref(mt__stop_json(t, m, SIGINT, 0));
	else
		mt__stop(t, m, SIGINT, 0);
	getrusage(RUSAGE_CHILDREN, &after);
	cpu_s += after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec +
		 (after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
	printf("# %.3f s of CPU time from SIGINT to exit\n", cpu_s);
	want(t, cpu_s < 0.75, "%.3f s of CPU time from SIGINT to exit", cpu_s);
}

/*
 * What reads no heap, with three million live blocks. The 0.5 s that are promised are for four million,
 * on a machine that has no other work.
 */
TEST(heap_trace_large_ends_soon)
{
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heaptrace", "many", "3000000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	want_ends_soon(t, &m, true);
	fx__quit(t, &f);
}

/* Of millions of older blocks a search is not begun, though the trace has few. CPU time, as above. */
TEST(heap_trace_old_ends_soon)
{
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heaptrace", "old", number_arg(4000000), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	want_ends_soon(t, &m, false);
	want(t, strstr(m.c.errs.s, "the heap was not read, which takes over 250ms of CPU time: "),
	     "%s", m.c.errs.s);
	fx__quit(t, &f);
}

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

/* A report of one line, whatever its width is. */
static char *unwrap(char *text)
{
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = ' ';
	return text;
}

/* Unasked, where people read the answer: which of two sites that grow is lost, of exactly the blocks of the trace. Names have a second from Ctrl-C on. */
TEST_ALONE(heap_trace_searched_unasked)
{
	static const struct {
		const char *option, *leak_after;
		bool searched;
		const char *says, *io;
	} runs[] = {
		{ "--batch", "1s", true, "Leak: issue_ticket (", NULL },
		{ "--no-reachable", "1s", false, NULL, NULL },
		{ "--json", "1s", false, NULL, NULL },
		/* a request of asynchronous I/O may have the pointers: whether it is a leak, only time tells */
		{ "--batch", "20s", true, "Perhaps a leak: issue_ticket (", "aio" },
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		const char *file = in_dir(t, "%zu.json", i);
		uint64_t requests, blocks = 0, lost = 0;
		char leak[128];
		struct mt m;
		struct fx f;
		json_t *site;
		size_t k;

		/* growth is known after some seconds */
		fx__start(t, &f, "shop", runs[i].searched ? "900" : "50", runs[i].io, NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), runs[i].option, "--leak-after", runs[i].leak_after, "-o", file, NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, SIGINT, 0);
		requests = ledger__note(t, &f.led, "requests");
		json_array_foreach(jget(load_json(t, file), "sites"), k, site) {
			want_eq(t, "a site was searched", runs[i].searched, !json_is_null(jget(site, "unreached_blocks")));
			for (size_t n = 0; n < json_array_size(jget(site, "stack")) && runs[i].searched; n++)
				if (!strncmp(jstr(json_array_get(jget(site, "stack"), n), "function"), "issue_ticket", strlen("issue_ticket"))) {
					blocks += ju64(t, site, "live_blocks");
					lost += ju64(t, site, "unreached_blocks");
				}
		}
		fx__quit(t, &f);
		unwrap(m.c.outs.s);
		want_eq(t, "says that it ran", runs[i].searched, strstr(m.c.outs.s, "no pointer found in ") != NULL);
		if (!runs[i].searched)
			continue;
		want_eq(t, "live tickets", requests, blocks);
		want_eq(t, "lost tickets", requests, lost);
		snprintf(leak, sizeof(leak), "): none of its %" PRIu64 ",%03" PRIu64 " blocks was freed, no pointer leads to them; +", requests / 1000,
			 requests % 1000);
		want(t, strstr(m.c.outs.s, runs[i].says) && strstr(m.c.outs.s, leak), "wanted '%s', got: %s", leak, m.c.outs.s);
		want(t, strstr(m.c.outs.s, "Also growing, and held by cache: remember ("), "%s", m.c.outs.s);
	}
}

static bool has_function(json_t *site, const char *prefix)
{
	json_t *frame;
	size_t i;

	json_array_foreach(jget(site, "stack"), i, frame)
		if (!strncmp(jstr(frame, "function"), prefix, strlen(prefix)))
			return true;
	return false;
}

/*
 * Ctrl-C ends the trace, and once more the search: the report lacks that alone. malloctrace is stopped
 * meanwhile: what comes within a second of the first one is taken for the same.
 */
TEST(heap_trace_search_interrupted)
{
	const char *file = in_dir(t, "x.json");
	struct screen s = {};
	uint64_t tickets = 0, until_ms;
	char line[1024], *pid_text;
	json_t *root, *site;
	size_t i, n;
	pid_t pid;

	fx__start(t, &s.fx, "shop", "20", "restless", NULL);
	snprintf(line, sizeof(line),
		 "cd %s; sh -c 'echo $$ > pid; LC_ALL=C.UTF-8 exec %s -p %d --batch -o x.json'; echo EXIT $?; exec cat",
		 t->dir, lt_bin, (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "60", line);
	COMES("malloctrace: attached");
	pid_text = read_all(in_dir(t, "pid"), &n);
	must(t, pid_text && sscanf(pid_text, "%d", &pid) == 1 && pid > 1, "no pid");
	free(pid_text);
	fx__go(t, &s.fx);
	kill(pid, SIGINT);
	COMES("searching the heap for pointers ...");
	kill(pid, SIGSTOP);
	want_state(t, pid, 'T');
	until_ms = now_ms() + 1000;
	while (now_ms() <= until_ms)
		poll(NULL, 0, LOOK_MS);
	kill(pid, SIGINT);
	kill(pid, SIGCONT);
	COMES("EXIT 0", "The search for pointers was interrupted", "issue_ticket");
	root = load_json(t, file);
	want_bool(t, root, "heap[0].search_interrupted", true);
	want(t, json_is_null(jget(root, "heap[0].unreached")), "the search was not interrupted");
	json_array_foreach(jget(root, "sites"), i, site)
		tickets += has_function(site, "issue_ticket") ? ju64(t, site, "live_blocks") : 0;
	want_eq(t, "live tickets", ledger__note(t, &s.fx.led, "requests"), tickets);
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}

/* q searches as well, if nobody did before. */
TEST(heap_trace_top_searched_unasked)
{
	struct screen s = {};
	char line[1024];

	fx__start(t, &s.fx, "shop", "50", NULL);
	snprintf(line, sizeof(line), "LC_ALL=C.UTF-8 %s -p %d; echo EXIT $?; exec cat", lt_bin,
		 (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "60", line);
	COMES("losses none");
	fx__go(t, &s.fx);
	COMES("issue_ticket", "!UNREACHABLE");
	keys(t, &s, "q");
	COMES("EXIT 0", "UNREACHABLE", "no pointer found in ", "issue_ticket");
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}

/* The search, two seconds here, follows the trace and is no part of it. */
TEST(heap_trace_search_is_not_traced)
{
	uint64_t duration_ns, looked_ns;
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "shop", "20", "restless", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", "--reachable", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'c');
	root = mt__stop_json(t, &m, 0, 0);
	duration_ns = ju64(t, root, "duration_ns");
	looked_ns = ju64(t, root, "heap[0].looked_ns");
	want_u64(t, root, "heap[0].at_ns", duration_ns);
	want_eq(t, "scans", 12, ju64(t, root, "heap[0].unreached.scans"));
	want(t, looked_ns > 2000000000, "the search took %" PRIu64 " ns", looked_ns);
	want(t, duration_ns >= 1000000000 && duration_ns < 1000000000 + looked_ns,
	     "the trace took %" PRIu64 " ns, the search %" PRIu64, duration_ns, looked_ns);
	json_decref(root);
	child__kill(t, &f.c, SIGKILL);
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
	COMES("[1 live]", "UNREACHABLE", "50.8 KiB", "20.5 KiB");
	keys(t, &s, "q");
	COMES("EXIT 0", "robably leaked, no pointer found in 3 scans");
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}
