// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What people trace first, and the screen that they get: its sentence names the site that the program knows to be guilty, or
 * that nothing grows. Fixtures keep a ledger of it; servers that are installed do what their clients ask for.
 *
 * The screens themselves are in tests/golden/first-screen, without their figures.
 */
#include "sentence.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group.h"
#include "python_truth.h"

#define TICKS "750"

/* ---- programs with a ledger */

struct first {
	struct fx f;
	struct mt m;
	const char *file;	/* the same trace as JSON */
};

static void begin(struct test *t, struct first *s, struct spawn *how, const char *name)
{
	fx__start_as(t, &s->f, how);
	s->file = in_dir(t, "%s.json", name);
	mt__start(t, &s->m, "-p", pid_arg(s->f.c.pid), "--batch", "-o", s->file, NULL);
}

/* What the trace itself printed; a trace that lasts longer than the work sees the program rest. */
static const char *end(struct test *t, struct first *s)
{
	fx__read_ledger(t, &s->f);
	child__kill(t, &s->m.c, SIGINT);
	mt__stop(t, &s->m, 0, 0);
	want_one_screen(t, s->m.c.outs.s);
	return sentence__find(s->m.c.outs.s);
}

static const char *trace_of(struct test *t, struct first *s, struct spawn *how, const char *name)
{
	begin(t, s, how, name);
	mt__wait_attached(t, &s->m);
	fx__send(t, &s->f, 'g');
	return end(t, s);
}

/* The site that its ledger knows: function and line. */
static const char *site_of(struct test *t, const struct first *s, const char *function,
			   const char *file, const char *line)
{
	static char site[2][96];
	static unsigned int n;
	char *ret = site[n++ % 2];

	snprintf(ret, sizeof(site[0]), "%s (%s:%" PRIu64 ")", function, file,
		 ledger__note(t, &s->f.led, line));
	return ret;
}

static void want_has(struct test *t, const char *text, const char *wanted)
{
	want(t, strstr(text, wanted) != NULL, "wanted '%s', got: %s", wanted, text);
}

/* A map that grows, and of each request one object that is lost: this one is the leak, not the larger map. */
TEST(first_screen_of_cxx)
{
	struct spawn how = { .argv = { fixture("shop"), TICKS } };
	struct first s;
	const char *sentence = trace_of(t, &s, &how, "shop");
	char none_freed[96];
	uint64_t n = ledger__note(t, &s.f.led, "requests");

	want_named(t, sentence, site_of(t, &s, "issue_ticket", "shop.cc", "line"));
	snprintf(none_freed, sizeof(none_freed), "none of its %" PRIu64 ",%03" PRIu64 " blocks was freed, no pointer leads to them", n / 1000, n % 1000);
	want_has(t, sentence, none_freed);
	want_has(t, sentence, "Also growing");
	want_has(t, sentence, site_of(t, &s, ": remember", "shop.cc", "cache_line"));
	want_one_row(t, s.m.c.outs.s, "issue_ticket");
	want_one_row(t, s.m.c.outs.s, "remember");
	want_golden(t, "cxx", s.m.c.outs.s, NULL);
	fx__quit(t, &s.f);
}

/* Small objects that a dict keeps are in no block of malloc's. */
TEST(first_screen_of_python)
{
	struct spawn how = { .argv = { python(t), fixture("python/kept.py"), TICKS } };
	struct first s;
	const char *sentence = trace_of(t, &s, &how, "python");
	uint64_t arenas = 0, bytes = 0;
	json_t *site, *root;
	size_t i;

	want_named(t, sentence, site_of(t, &s, "login", "kept.py", "line"));
	want_has(t, sentence, "of live memory, in arenas of small objects");
	root = load_json(t, s.file);
	json_array_foreach(jget(root, "sites"), i, site) {
		if (strcmp(jstr(site, "function"), "arena"))
			continue;
		arenas += ju64(t, site, "live_blocks");
		bytes += ju64(t, site, "live_bytes");
	}
	want_eq(t, "arenas", ledger__note(t, &s.f.led, "arenas"), arenas);
	want_eq(t, "their bytes", ledger__note(t, &s.f.led, "arenas") * ledger__note(t, &s.f.led, "arena_bytes"), bytes);
	want_one_row(t, s.m.c.outs.s, "login [arenas]");
	want_golden(t, "python", s.m.c.outs.s, "login [arenas]");
	fx__quit(t, &s.f);
}

static unsigned int n_of(const char *text, const char *what)
{
	unsigned int n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

/* Compiled code at many addresses is one row, named by the function that called it, and the row has all of it. */
TEST(first_screen_of_compiled_code)
{
	struct spawn how = { .argv = { fixture("everyday"), "jit", TICKS } };
	struct first s;
	const char *sentence = trace_of(t, &s, &how, "jit");
	uint64_t n = 0;
	json_t *site, *root;
	size_t i;

	want_named(t, sentence, site_of(t, &s, "jit", "everyday.c", "line"));
	want_has(t, sentence, "none of its 2,250 blocks was freed");
	want_has(t, s.m.c.outs.s, "(1 of ");
	root = load_json(t, s.file);
	json_array_foreach(jget(root, "sites"), i, site)
		n += ju64(t, site, "live_bytes") > 0;
	want_eq(t, "sites in the file, by address", 12, n);
	want_one_row(t, s.m.c.outs.s, "jit");
	want_golden(t, "compiled-code", s.m.c.outs.s, NULL);
	fx__quit(t, &s.f);
}

/* Of four sites that grow at once, by as many blocks, the one with most of it. */
TEST(first_screen_of_keys)
{
	struct spawn how = { .argv = { fixture("everyday"), "keys", TICKS } };
	struct first s;
	const char *sentence = trace_of(t, &s, &how, "keys");
	json_t *root = load_json(t, s.file);

	want_ledger(t, root, jget(root, "processes[0]"), &s.f.led, LED_ALL);
	want_named(t, sentence, site_of(t, &s, "value_here", "everyday.c", "line"));
	want_one_row(t, s.m.c.outs.s, "value_here");
	want_golden(t, "keys", s.m.c.outs.s, NULL);
	fx__quit(t, &s.f);
}

/* Of another allocator, no command is named that would say nothing. */
TEST(first_screen_of_another_allocator)
{
	const char *preload;
	struct spawn how = { .argv = { fixture("everyday"), "keys", TICKS } };
	const char *sentence;
	struct first s;
	char env[256];

	preload = jemalloc(t);
	snprintf(env, sizeof(env), "LD_PRELOAD=%s", preload);
	how.env[0] = env;
	sentence = trace_of(t, &s, &how, "jemalloc");
	want_named(t, sentence, site_of(t, &s, "value_here", "everyday.c", "line"));
	want_one_row(t, s.m.c.outs.s, "value_here");
	/* --reachable searches for the blocks that were traced, whoever made them */
	want(t, !strstr(s.m.c.outs.s, "--view heap") && !strstr(s.m.c.outs.s, "--roots"),
	     "a command that reads glibc's heap: %s", s.m.c.outs.s);
	want_golden(t, "another-allocator", s.m.c.outs.s, NULL);
	fx__quit(t, &s.f);
}

/* The window of a small share of a burst is no figure. */
TEST(first_screen_of_a_small_share)
{
	const char *file = in_dir(t, "burst.json"), *sentence;
	struct mt m;

	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "--overhead", "2", "-o", file, "--", fixture("everyday"), "--auto", in_dir(t, "ledger"), "burst", "40", NULL));
	want_one_screen(t, m.c.outs.s);
	sentence = sentence__find(m.c.outs.s);
	want(t, *sentence && !sentence__about(sentence), "false alarm: %.300s", sentence);
	want(t, !strstr(m.c.outs.s, "±") || strstr(sentence, "Too few samples for figures: ") == sentence, "noise: %s", m.c.outs.s);
	want_golden(t, "small-share", m.c.outs.s, NULL);
}

/* What a shell starts is not traced without -f: that is the answer, and no figure is its children's. */
TEST(first_screen_of_a_pipeline)
{
	static const char left[] = "Not freed at exit: ";
	char script[512], *own;
	const char *sentence;
	struct mt m;

	snprintf(script, sizeof(script), "%s --auto %s large | cat | cat", fixture("everyday"), in_dir(t, "ledger"));
	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "--batch", "--", "/bin/sh", "-c", script, NULL));
	want_one_screen(t, m.c.outs.s);
	want_has(t, m.c.outs.s, "sh started 3 processes that were not traced: add -f");
	want(t, !strstr(m.c.outs.s, "RSS was at most"), "a figure of its children: %s", m.c.outs.s);
	sentence = sentence__find(m.c.outs.s);
	own = strstr(sentence, " blocks of ");
	must(t, !strncmp(sentence, left, strlen(left)) && own,
	     "wanted what the shell itself did not free, got: %s", sentence);
	own = strdup(own + strlen(" blocks of "));
	own[strcspn(own, "; ")] = '\0';
	want_golden(t, "pipeline", m.c.outs.s, own);
	want_eq(t, "exit status with -f", 0, (uint64_t)mt__run(t, &m, "--batch", "-f", "--", "/bin/sh", "-c", script, NULL));
	want(t, !strstr(m.c.outs.s, "add -f"), "with -f, wanted no word of it: %s", m.c.outs.s);
	want_has(t, m.c.outs.s, "large_here");
	want_golden(t, "pipeline-followed", m.c.outs.s, "large_here");
}

/*
 * By readings of the heap, too, the lost object is found. Without the search for pointers, both
 * sites that never free are suspects, and the one that grows faster is named.
 */
TEST(first_screen_of_a_census)
{
	struct spawn how = { .argv = { fixture("shop"), "1900" } };
	const char *sentence;
	struct first s;

	fx__start_as(t, &s.f, &how);
	mt__start(t, &s.m, "-p", pid_arg(s.f.c.pid), "--batch", "--mode", "census", NULL);
	mt__wait_attached(t, &s.m);
	fx__send(t, &s.f, 'g');
	sentence = end(t, &s);
	want_named(t, sentence, site_of(t, &s, "remember", "shop.cc", "cache_line"));
	want_one_row(t, s.m.c.outs.s, "remember");
	want_one_row(t, s.m.c.outs.s, "issue_ticket");
	want_golden(t, "census", s.m.c.outs.s, NULL);
	fx__quit(t, &s.f);
}

/* ---- several processes */

static unsigned int n_lines(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static const struct {
	const char *fixture, *how;
} crowd[] = {
	{ "everyday", "keys" }, { "sentences", "beside_churn" }, { "sentences", "pool" }, { "sentences", "saw" }, { "allclear", "calm" },
};
#define N_CROWD (sizeof(crowd) / sizeof(*crowd))

/* About processes, and of them about the one that grows most; then sites of it and the next ones. */
TEST_ALONE(first_screen_of_many)
{
	const char *cgroup = make_cgroup(t), *sentence;
	struct fx f[N_CROWD];
	struct mt m;
	char guilty[48], site[64];

	for (size_t i = 0; i < N_CROWD; i++) {
		struct spawn how = { .argv = { fixture(crowd[i].fixture), crowd[i].how, TICKS }, .become = enter_cgroup, .become_arg = cgroup };

		fx__start_as(t, &f[i], &how);
	}
	mt__start(t, &m, "--cgroup", cgroup, "--by", "process", "--batch", NULL);
	mt__wait_attached(t, &m);
	for (size_t i = 0; i < N_CROWD; i++)
		fx__send(t, &f[i], 'g');
	for (size_t i = 0; i < N_CROWD; i++)
		fx__read_ledger(t, &f[i]);
	mt__stop(t, &m, SIGINT, 0);
	sentence = sentence__find(m.c.outs.s);
	snprintf(guilty, sizeof(guilty), "everyday (%d)", (int)f[0].c.pid);
	want_named(t, sentence, guilty);
	snprintf(site, sizeof(site), "; value_here (everyday.c:%" PRIu64 ") ",
		 ledger__note(t, &f[0].led, "line"));
	want_has(t, sentence, site);
	want_one_row(t, m.c.outs.s, "value_here");
	want_rows_distinct(t, m.c.outs.s);
	want_golden(t, "many", m.c.outs.s, NULL);
	want(t, n_of(m.c.outs.s, "BLIND") <= 1, "BLIND more than once: %s", m.c.outs.s);
	want(t, n_lines(m.c.outs.s) <= 50, "lines, wanted one screen of at most 50, got %u:\n%s", n_lines(m.c.outs.s), m.c.outs.s);
	for (size_t i = 0; i < N_CROWD; i++)
		fx__quit(t, &f[i]);
	want(t, !rmdir(cgroup), "rmdir %s", cgroup);
}

/* What a process gained, by its resident or its live memory. */
static uint64_t gained(struct test *t, json_t *p)
{
	json_t *line = jget(p, "timeline"), *first = json_array_get(line, 0),
	       *last = json_array_get(line, json_array_size(line) - 1);
	uint64_t live = ju64(t, p, "totals.live_bytes"),
		 before = (uint64_t)json_integer_value(json_object_get(first, "rss_bytes")),
		 after = (uint64_t)json_integer_value(json_object_get(last, "rss_bytes"));

	return after > before + live ? after - before : live;
}

/*
 * Programs come first, whatever else runs; what was not seen of some is said once. The sentence is
 * about the fixture, unless another program gained more. Which programs run is not known here:
 * there is no golden.
 */
TEST_ALONE(first_screen_of_the_machine)
{
	const char *file = in_dir(t, "machine.json"), *sentence;
	char guilty[48];
	uint64_t own = 0, most = 0;
	json_t *p, *root;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start(t, &f, "everyday", "keys", TICKS, NULL);
	mt__start(t, &m, "-a", "--batch", "--depth", "8", "--no-inlines", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, file);
	json_array_foreach(jget(root, "processes"), i, p) {
		uint64_t n = gained(t, p);

		/* rows of many that have ended have no pid */
		if (json_integer_value(json_object_get(p, "pid")) == f.c.pid)
			own = ju64(t, p, "totals.live_bytes");
		else
			most = n > most ? n : most;
	}
	want_eq(t, "live bytes",
		ledger__sum(&f.led, LED_ALLOC_BYTES) - ledger__sum(&f.led, LED_FREE_BYTES), own);
	sentence = sentence__find(m.c.outs.s);
	if (own > most) {
		snprintf(guilty, sizeof(guilty), "everyday (%d)", (int)f.c.pid);
		want_named(t, sentence, guilty);
		want_has(t, sentence, "; value_here (everyday.c:");
	}
	want_has(t, m.c.outs.s, "GROUPS by growth (");
	want_rows_distinct(t, m.c.outs.s);
	want(t, n_of(m.c.outs.s, "BLIND") <= 1, "BLIND more than once: %s", m.c.outs.s);
	want(t, n_lines(m.c.outs.s) <= 50, "lines, wanted one screen of at most 50, got %u:\n%s", n_lines(m.c.outs.s), m.c.outs.s);
	fx__quit(t, &f);
	if (own <= most && !t->n_failed)
		skip(t, "another process gained %" PRIu64 " bytes, the fixture %" PRIu64 ": the rest is right, whom the sentence is about is not known", most, own);
}

/* ---- programs as they are installed */

static bool installed(const char *path)
{
	return !access(path, X_OK);
}

/* Its buffers are kept: one leak, in one row, whatever code asked for them. */
TEST(first_screen_of_node)
{
	struct spawn how = { .argv = { "/usr/bin/node", fixture("node/kept.js"), TICKS } };
	static const char guilty[] = "node::NodeArrayBufferAllocator::AllocateUninitialized";
	const char *sentence;
	struct first s;
	json_t *site, *root;
	uint64_t bytes = 0;
	size_t i;

	if (!installed(how.argv[0]))
		skip(t, "no %s here", how.argv[0]);
	sentence = trace_of(t, &s, &how, "node");
	root = load_json(t, s.file);
	json_array_foreach(jget(root, "sites"), i, site)
		bytes += ju64(t, site, "min_size") == 10000 ? ju64(t, site, "live_bytes") : 0;
	want_eq(t, "bytes of buffers", ledger__note(t, &s.f.led, "buffer_bytes"), bytes);
	want_named(t, sentence, guilty);
	want_one_row(t, s.m.c.outs.s, guilty);
	want_golden(t, "node", s.m.c.outs.s, guilty);
	fx__quit(t, &s.f);
}

#define KEYS_PER_CALL 20
#define CALLS "600"

/* Keys that nobody deletes: the largest holder is named, which is their values. */
TEST(first_screen_of_redis)
{
	static const char guilty[] = "createStringObject";
	static const char script[] = "for i = 1, 20 do redis.call('set', 'key:' .. redis.call('incr', 'n'), string.rep('x', 700)) end";
	const char *socket = in_dir(t, "socket"), *file = in_dir(t, "redis.json");
	struct child redis, client;
	json_t *root, *site, *most = NULL;
	struct stat st;
	bool found = false;
	struct mt m;
	size_t i;

	if (!installed("/usr/bin/redis-server") || !installed("/usr/bin/redis-cli"))
		skip(t, "no redis here");
	child__start(t, &redis, &(struct spawn){ .argv = { "/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--save", "" } });
	for (unsigned int n = 0; n < patience_s(30) * 50 && stat(socket, &st); n++)
		poll(NULL, 0, 20);
	mt__start(t, &m, "-p", pid_arg(redis.pid), "--batch", "-o", file, NULL);
	mt__wait_attached(t, &m);
	child__start(t, &client, &(struct spawn){ .argv = { "/usr/bin/redis-cli", "-s", socket, "-r", CALLS, "-i", "0.01", "eval", script, "0" } });
	want_eq(t, "the client's exit status", 0, (uint64_t)child__wait(t, &client));
	mt__stop(t, &m, SIGINT, 0);
	child__kill(t, &redis, SIGTERM);
	want_eq(t, "redis's exit status", 0, (uint64_t)child__wait(t, &redis));
	root = load_json(t, file);
	json_array_foreach(jget(root, "sites"), i, site)
		if (!most || ju64(t, site, "live_bytes") > ju64(t, most, "live_bytes"))
			most = site;
	must(t, most && ju64(t, most, "live_blocks") >= 600 * KEYS_PER_CALL &&
			ju64(t, most, "live_bytes") >= 600 * KEYS_PER_CALL * 700,
	     "wanted a value of each key at the largest site");
	json_array_foreach(jget(most, "stack"), i, site)
		found |= !strcmp(jstr(site, "function"), guilty);
	want(t, found, "wanted %s on the stack of the values", guilty);
	want_named(t, sentence__find(m.c.outs.s), guilty);
	want_one_row(t, m.c.outs.s, guilty);
	want_one_screen(t, m.c.outs.s);
	want_golden(t, "redis", m.c.outs.s, guilty);
}
