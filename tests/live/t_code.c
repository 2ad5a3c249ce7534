// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Code that comes and goes: programs that have just begun, plugins that are
 * loaded where others were, code that is made, used and thrown away. Every stack
 * that is called whole is the known one, and counts are exact.
 */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ONE_BYTES 77
#define PLUG_BYTES 100

/* ~: or a frame without a name */
static const char *const chain[] = { "alloc_here", "chain_3", "chain_2", "chain_1", "main" };

static const char *name_of(json_t *site, size_t i)
{
	json_t *frame = json_array_get(jget(site, "stack"), i);

	return jstr(frame, "function");
}

static bool is_sized(json_t *site, json_int_t size)
{
	return json_integer_value(jget(site, "min_size")) == size && json_integer_value(jget(site, "max_size")) == size;
}

static bool begins_with(json_t *site, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name_of(site, i), names[i]))
			return false;
	return true;
}

/* main, and what the C library has below it: three frames, with names or not. */
static bool ends_below_main(json_t *site, size_t n_main)
{
	return json_array_size(jget(site, "stack")) == n_main + 4;
}

/* What the sites of the known chain counted; those called whole must be it. */
static uint64_t chain_calls(struct test *t, json_t *root, uint64_t *ret_whole)
{
	uint64_t n = 0;
	json_t *site;
	size_t i;

	*ret_whole = 0;
	json_array_foreach(jget(root, "sites"), i, site) {
		bool whole = !strcmp(jstr(site, "end"), "whole");

		if (!is_sized(site, ONE_BYTES))
			continue;
		n += ju64(t, site, "alloc_calls");
		*ret_whole += whole ? ju64(t, site, "alloc_calls") : 0;
		want(t, !whole || (begins_with(site, chain, 5) && ends_below_main(site, 4)),
		     "a stack that is called whole: wanted alloc_here < chain_3 < chain_2 < chain_1 < main and three more, got %zu frames, %s < %s < %s",
		     json_array_size(jget(site, "stack")), name_of(site, 0), name_of(site, 1), name_of(site, 2));
	}
	return n;
}

static uint64_t storm(struct test *t, const char *program, unsigned int n, uint64_t *ret_whole)
{
	char count[16];
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(count, sizeof(count), "%u", n);
	fx__start(t, &f, "code.nofp", "storm", count, program, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_eq(t, "allocations", ledger__note(t, &f.led, "allocs"), chain_calls(t, root, ret_whole));
	return ledger__note(t, &f.led, "allocs");
}

/* Programs that allocate at once and end, without frame pointers: their file is known from the start. */
TEST_ALONE(code_exec_storm)
{
	uint64_t whole, n = storm(t, NULL, (unsigned int)scaled(500), &whole);

	want_eq(t, "allocations with a whole stack", n, whole);
}

/* A file that nobody had mapped before: right, or not called whole. */
TEST_ALONE(code_exec_storm_of_a_new_file)
{
	const char *copy = in_dir(t, "stranger");
	uint64_t whole;

	copy_file(t, fixture("code.nofp"), copy);
	/* right is what is called whole; one after the other they take longer than to read the file that the first one has shown */
	storm(t, copy, 50, &whole);
	want(t, whole > 0, "whole stacks: wanted some");
}

/* ---- plugins */

static const char *const plugin_files[] = { "libplug.so", "libplug_b.so", "libplug_c.so" };
static const char *const plugin_names[] = { "alfa", "beta", "ceta" };

static const char *plugins_count(void)
{
	static char count[16];

	snprintf(count, sizeof(count), "%u", (unsigned int)scaled(40));
	return count;
}

#define PLUGINS "plugins", plugins_count(), fixture(plugin_files[0]), fixture(plugin_files[1]), fixture(plugin_files[2]), NULL

/* A snapshot was written, and another one: malloctrace has handled in between what the kernel had told it before. */
static json_t *wait_until_looked(struct test *t, struct mt *m, const char *name, unsigned int from)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	json_t *root = NULL;

	for (unsigned int i = from; i < from + 2; i++) {
		const char *path = in_dir(t, "%s.%u.json", name, i);

		json_decref(root);
		child__kill(t, &m->c, SIGUSR1);
		for (root = NULL; !root; nanosleep(&ms, NULL))
			root = with_frames(json_load_file(path, 0, NULL));
	}
	return root;
}

#define MOST_ROUNDS 40

static bool has_whole_stacks_of_all(json_t *root)
{
	unsigned int n = 0;
	char leaf[32];
	json_t *site;
	size_t i;

	for (size_t k = 0; k < 3; k++) {
		bool found = false;

		snprintf(leaf, sizeof(leaf), "%s_leaf", plugin_names[k]);
		json_array_foreach(jget(root, "sites"), i, site)
			found |= !strcmp(name_of(site, 0), leaf) && !strcmp(jstr(site, "end"), "whole");
		n += found;
	}
	return n == 3;
}

/* Twice, or until malloctrace, which may not get the CPU while they are loaded, knows their files. */
static json_t *trace_plugins(struct test *t, struct fx *f, const char *host, const char *option, unsigned int *ret_rounds)
{
	const char *path = in_dir(t, "%s.json", host);
	bool known = false;
	unsigned int n = 0;
	json_t *root;
	struct mt m;

	fx__start(t, f, host, PLUGINS);
	mt__start(t, &m, "-p", pid_arg(f->c.pid), "--batch", "-o", path, option, NULL);
	mt__wait_attached(t, &m);
	while (n < 2 || (!known && n < MOST_ROUNDS)) {
		fx__go(t, f);
		root = wait_until_looked(t, &m, host, 2 * n++ + 1);
		known = has_whole_stacks_of_all(root);
		json_decref(root);
	}
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, path);
	want_lossless(t, root);
	*ret_rounds = n;
	return root;
}

/* Each block is freed before the next is made. A plugin that came back may have sites of before and of after: the row has the sum, and says so. */
static void want_peak(struct test *t, json_t *site, const char *name)
{
	uint64_t peak = ju64(t, site, "peak_bytes");
	bool at_most = json_is_true(jget(site, "peak_at_most"));

	want(t, at_most ? peak > PLUG_BYTES : peak == PLUG_BYTES, "%s: peak_bytes, wanted %s %d, got %lu", name,
	     at_most ? "at most, and more than" : "exactly", PLUG_BYTES, (unsigned long)peak);
}

/* n: how often all of it was done. */
static void want_plugins(struct test *t, struct fx *f, json_t *root, unsigned int n_times, bool known)
{
	uint64_t calls = n_times * ledger__note(t, &f->led, "calls");

	want_eq(t, "moved", 0, ledger__note(t, &f->led, "moved"));
	for (size_t k = 0; k < 3; k++) {
		uint64_t n = 0, n_whole = 0;
		char names[2][32];
		const char *const want_names[] = { names[0], names[1], "plug_run", "call_plugin" };
		json_t *site;
		size_t i;

		snprintf(names[0], sizeof(names[0]), "%s_leaf", plugin_names[k]);
		snprintf(names[1], sizeof(names[1]), "%s_mid", plugin_names[k]);
		json_array_foreach(jget(root, "sites"), i, site) {
			if (!is_sized(site, PLUG_BYTES) || strcmp(name_of(site, 0), names[0]))
				continue;
			n += ju64(t, site, "alloc_calls");
			n_whole += !strcmp(jstr(site, "end"), "whole");
			want(t, begins_with(site, want_names, 4), "%s: the callers are not its own", names[0]);
			want_peak(t, site, names[0]);
		}
		want_eq(t, names[0], calls, n);
		/* before its file was known they may have been unsure */
		want(t, n_whole == known, "rows of %s with whole stacks: wanted %d, got %lu", names[0], known, (unsigned long)n_whole);
	}
}

static void plugins_in_turn(struct test *t, const char *host, const char *option)
{
	unsigned int n_rounds;
	struct fx f;
	json_t *root = trace_plugins(t, &f, host, option, &n_rounds);

	want_plugins(t, &f, root, n_rounds, true);
	fx__quit(t, &f);
}

/*
 * Three plugins in turn at one address are three sites, each with its own names and all of its calls. What was unsure before their
 * files were known has the same frames as what is whole, and is another site.
 */
TEST_ALONE(code_plugins) { plugins_in_turn(t, "code", "-v"); }

/* The same without frame pointers: before a plugin's file is known its stacks end early, but have its names; then they are whole. */
TEST_ALONE(code_plugins_nofp) { plugins_in_turn(t, "code.nofp", "-v"); }

/* One file, written over in place between two loads: what is called whole is right, with its own names or without. */
static void rewritten(struct test *t, const char *host, const char *method, const char *const *files)
{
	static const char *const names[] = { "alfa_leaf", "delt_leaf" };
	uint64_t n[2] = {}, n_whole = 0;
	json_t *root, *site;
	struct fx f;
	size_t i;

	fx__start(t, &f, host, "rewritten", "3", in_dir(t, "%s.so", host), fixture(files[0]), fixture(files[1]), NULL);
	root = trace(t, &f, 0, "--unwind", method, NULL);
	json_array_foreach(jget(root, "sites"), i, site) {
		bool whole = !strcmp(jstr(site, "end"), "whole");
		size_t k = is_sized(site, PLUG_BYTES + 1);
		const char *leaf = name_of(site, 0);

		if (!k && !is_sized(site, PLUG_BYTES))
			continue;
		n[k] += ju64(t, site, "alloc_calls");
		n_whole += whole ? ju64(t, site, "alloc_calls") : 0;
		want(t, !*leaf || !strcmp(leaf, names[k]), "calls of %s: wanted its name or none, got %s", names[k], leaf);
		want(t, !whole || (!strcmp(name_of(site, 3), "call_plugin") && json_array_size(jget(site, "stack")) == 9),
		     "%s, a stack that is called whole: %s < %s < %s < %s, %zu frames", names[k], leaf, name_of(site, 1), name_of(site, 2),
		     name_of(site, 3), json_array_size(jget(site, "stack")));
	}
	want_eq(t, "calls of the first", ledger__note(t, &f.led, "calls"), n[0]);
	want_eq(t, "calls of the second", ledger__note(t, &f.led, "calls"), n[1]);
	/* of the first file as it was first loaded, all is known, once it was looked at */
	want(t, n_whole > 0, "calls with a whole stack: wanted some");
	fx__quit(t, &f);
}

TEST_ALONE(code_plugins_rewritten)
{
	rewritten(t, "code", "auto", (const char *const[]){ "libplug.so", "libplug_d.so" });
}

/* Where all is walked by the file's table, which is that of what it was. */
TEST_ALONE(code_plugins_rewritten_table)
{
	rewritten(t, "code.nofp", "table", (const char *const[]){ "libplug.nofp.so", "libplug_d.nofp.so" });
}

TEST_ALONE(code_plugins_rewritten_nofp)
{
	rewritten(t, "code.nofp", "auto", (const char *const[]){ "libplug.nofp.so", "libplug_d.nofp.so" });
}

/* What they were is known from the kernel's records, also if malloctrace did not run meanwhile. */
TEST_ALONE(code_plugins_seen_late)
{
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "code", PLUGINS);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGINT);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_plugins(t, &f, root, 1, false);
	fx__quit(t, &f);
}

/* Where a thread other than the first has become the program, and the probes on dlopen and dlclose have ended with the first one, too. */
TEST_ALONE(code_plugins_exec_by_thread)
{
	const char *path = in_dir(t, "by-thread.json");
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "life", "exec-by-thread", fixture("code"), PLUGINS);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", path, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);
	child__wait_err(t, &m.c, "malloctrace: ", "they were attached again", patience_s(10));
	json_decref(wait_until_looked(t, &m, "by-thread", 1));
	fx__go(t, &f);
	json_decref(wait_until_looked(t, &m, "by-thread", 3));
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, path);
	want_lossless(t, root);
	want_plugins(t, &f, root, 2, true);
	fx__quit(t, &f);
}

#define HASTY_BYTES 1000

/* The last one is the first one again: what the file holds in the end it held before. */
static const size_t hasty_order[] = { 0, 1, 2, 0 };
#define N_HASTY 4

/* Is a frame's name its own, or none? */
static bool is_own(json_t *site, size_t i, const char *plugin, const char *part)
{
	char own[32];

	snprintf(own, sizeof(own), "%s%s", plugin, part);
	return !*name_of(site, i) || !strcmp(name_of(site, i), own);
}

/* Frame names of the site of a plugin, or of several of them: each its own, or none. */
static void want_own_names(struct test *t, json_t *site)
{
	json_int_t least = json_integer_value(jget(site, "min_size")), most = json_integer_value(jget(site, "max_size"));

	for (json_int_t k = least - HASTY_BYTES; k <= most - HASTY_BYTES; k++) {
		const char *name = plugin_names[hasty_order[k]];

		want(t, is_own(site, 0, name, "_leaf") && is_own(site, 1, name, "_mid"), "%s: wanted its own names or none, got %s < %s (%s)", name,
		     name_of(site, 0), name_of(site, 1), jstr(site, "end"));
	}
}

/*
 * One path, and each time another plugin there, loaded and called at once, before anybody can have looked: which one it was the
 * size tells. Names are its own, or there are none, whether the stack is proven or not.
 */
static void hasty(struct test *t, const char *how, unsigned int times, const char *ms, const char *option)
{
	const char *path = in_dir(t, "plugin.so");
	json_t *root, *site;
	char count[16];
	uint64_t n = 0;
	struct fx f;
	size_t i;

	snprintf(count, sizeof(count), "%u", times);
	fx__start(t, &f, "code", how, count, ms, path, fixture(plugin_files[hasty_order[0]]), fixture(plugin_files[hasty_order[1]]),
		  fixture(plugin_files[hasty_order[2]]), fixture(plugin_files[hasty_order[3]]), NULL);
	root = trace(t, &f, 0, option, NULL);
	json_array_foreach(jget(root, "sites"), i, site) {
		json_int_t least = json_integer_value(jget(site, "min_size")), most = json_integer_value(jget(site, "max_size"));

		if (least < HASTY_BYTES || most >= HASTY_BYTES + N_HASTY)
			continue;
		n += ju64(t, site, "alloc_calls");
		/* a file that was moved there may have the number of one that is gone: then what is not proven may have its names (docs/EXACTNESS.md) */
		if (strcmp(how, "hasty-moved") || strcmp(jstr(site, "end"), "unsure"))
			want_own_names(t, site);
	}
	want_eq(t, "calls", N_HASTY * ledger__note(t, &f.led, "calls"), n);
	fx__quit(t, &f);
}

/* A rewriting each 100 ms is seen each time, one each millisecond is not. */
static void hasty_all(struct test *t, const char *how, const char *option)
{
	hasty(t, how, (unsigned int)scaled(40), "0", option);
	hasty(t, how, 2, "100", option);
	hasty(t, how, 5, "10", option);
}

TEST_ALONE(code_plugins_hasty) { hasty_all(t, "hasty", "-v"); }
TEST_ALONE(code_plugins_hasty_followed) { hasty_all(t, "hasty", "-f"); }
TEST_ALONE(code_plugins_hasty_moved) { hasty_all(t, "hasty-moved", "-v"); }
TEST_ALONE(code_plugins_hasty_moved_followed) { hasty_all(t, "hasty-moved", "-f"); }

/* And where probes are shared. */
TEST_ALONE(code_plugins_followed) { plugins_in_turn(t, "code", "-f"); }

/* ---- a compiler that runs */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(struct test *t, pid_t pid)
{
	unsigned long user = 0, system = 0;
	char path[64], *text, *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = read_all(path, NULL);
	end = text ? strrchr(text, ')') : NULL;
	must(t, end && sscanf(end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2, "%s can be read", path);
	free(text);
	return (user + system) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void jit(struct test *t, bool follow)
{
	uint64_t whole, took_ns, spent_ns;
	char count[16];
	json_t *root;
	struct fx f;
	struct mt m;

	/* at 2,000 a second: long enough for a tenth of it to be more than a few ticks of the clock that CPU time is told in */
	snprintf(count, sizeof(count), "%u", (unsigned int)(scaled(10000) < 4000 ? 4000 : scaled(10000)));
	fx__start(t, &f, "code.nofp", "jit", count, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", follow ? "-f" : NULL, NULL);
	mt__wait_attached(t, &m);
	took_ns = now_ns();
	spent_ns = cpu_ns(t, m.c.pid);
	fx__go(t, &f);
	took_ns = now_ns() - took_ns;
	spent_ns = cpu_ns(t, m.c.pid) - spent_ns;
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_eq(t, "allocations", ledger__note(t, &f.led, "allocs"), chain_calls(t, root, &whole));
	want_eq(t, "allocations with a whole stack", ledger__note(t, &f.led, "allocs"), whole);
	want(t, took_ns >= 2000000000, "the run: wanted two seconds or more, got %lu ms", (unsigned long)(took_ns / 1000000));
	/* an emulated machine, where all is scaled down, is twenty times slower, but not in time */
	want(t, spent_ns < took_ns / 10 || scaled(100) < 100, "malloctrace's own CPU time: wanted less than a tenth of %lu ms, got %lu ms",
	     (unsigned long)(took_ns / 1000000), (unsigned long)(spent_ns / 1000000));
}

/* Code that is mapped and unmapped 2,000 times a second, each time elsewhere, pushes nothing out. */
TEST_ALONE(code_jit)
{
	jit(t, false);
}

TEST_ALONE(code_jit_followed)
{
	jit(t, true);
}
