// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Frames of Python, against a program that says of each of its blocks which they are (python_truth.h): what it does is all cases, or
 * some of them by their names.
 */
#include "python_truth.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH "512"		/* more than any stack has */
#define NATIVE "python/native.abi3.so"
#define STACKS "python/stacks.py"

static void need_native(struct test *t)
{
	if (!fixture_there(NATIVE))
		skip(t, "no fixture %s was built: it takes a Python.h of 3.11 or later", NATIVE);
}

/* --depth has nothing to do with what debug information says of one. */
static bool is_kept(json_t *frame)
{
	return !json_is_true(jget(frame, "inlined"));
}

/* ---- all cases */

/* also, arg: an option */
static void all_cases(struct test *t, const char *python, const char *also, const char *arg)
{
	json_t *root, *truth;
	struct fx f;
	uint64_t n;

	start_python(t, &f, python, STACKS, NULL);
	root = trace(t, &f, 0, "--depth", DEPTH, also, arg, NULL);
	n = want_truth(t, root, f.c.pid, MERGED);
	want(t, n > 5000, "blocks, wanted more than 5,000, got %lu", (unsigned long)n);
	truth = json_load_file(in_dir(t, "truth.%d.json", (int)f.c.pid), 0, NULL);
	n = ju64(t, truth, "code_reused");
	want(t, n > 1000, "code objects at an address where there was another one before, wanted more than 1,000, got %lu: the test says too little", (unsigned long)n);
	fx__quit(t, &f);
}

TEST(python_frames) { all_cases(t, python(t), NULL, NULL); }
TEST(python_by_thread) { all_cases(t, python(t), "--by", "thread"); }
/* A thread that begins frees something before it is known to be Python's. */
TEST(python_free_stacks) { all_cases(t, python(t), "--free-stacks", NULL); }

/* The distribution's is built in another way than one that somebody put in front of it: one has a library, the other one is a program. */
TEST(python_frames_of_the_system)
{
	const char *first = python(t), *system = python_of(t, "/usr/bin/python3");
	struct stat a, b;

	must(t, !stat(first, &a) && !stat(system, &b), "%s, %s: %s", first, system, strerror(errno));
	if (a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		skip(t, "%s is the same one", first);
	all_cases(t, system, NULL, NULL);
}

/* From the program's start on. */
TEST(python_command)
{
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", "--depth", DEPTH, "--", python(t), fixture(STACKS), "--auto", t->dir, NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	must(t, json_array_size(jget(root, "processes")) == 1, "processes, wanted 1, got %zu", json_array_size(jget(root, "processes")));
	want_truth(t, root, (pid_t)ju64(t, root, "processes[0].pid"), LATE);
}

/* One that is spawned has a life before it becomes another program: no truth is left of it, and no block with a tag. */
static bool is_last_life(struct test *t, json_t *root, size_t i)
{
	json_t *processes = jget(root, "processes");
	uint64_t pid = ju64(t, json_array_get(processes, i), "pid");

	while (++i < json_array_size(processes))
		if (ju64(t, json_array_get(processes, i), "pid") == pid)
			return false;
	return true;
}

/* Two that are forked, one in the other, and one that is another program's start. */
TEST(python_follow)
{
	json_t *root, *process;
	unsigned int n = 0;
	struct fx f;
	struct mt m;
	size_t i;

	start_python(t, &f, python(t), STACKS, "fork", "spawn", "plain", "methods", "generators", "foreign", "code_that_is_dropped", "threads", "asynchronous", NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", "--depth", DEPTH, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "processes"), i, process) {
		if (!is_last_life(t, root, i))
			continue;
		want_truth(t, root, (pid_t)ju64(t, process, "pid"), LATE);
		n++;
	}
	want_eq(t, "processes that know their stacks", 4, n);
}

/* ---- C beside Python */

static bool is_native(json_t *frame)
{
	const char *module = jstr(frame, "module"), *slash = strrchr(module, '/');

	return slash && !strcmp(slash, strrchr(NATIVE, '/'));
}

/* Frames of Python and of the extension, in their order. */
static const struct between {
	const char *name, *word[24];
} between[] = {
	{ "extension_twice", { "take_here", "native_take", "taken", "native_call", "inner_back", "native_call", "extension_twice", "run", "main", "<module>" } },
	{ "extension_deep",
	  { "take_here", "native_take", "taken", "extension_deep.<locals>.back",
	    "extension_deep.<locals>.back.<locals>.<lambda>", "native_call", "extension_deep.<locals>.back",
	    "extension_deep.<locals>.back.<locals>.<lambda>", "native_call", "extension_deep.<locals>.back",
	    "extension_deep.<locals>.back.<locals>.<lambda>", "native_call", "extension_deep.<locals>.back", "extension_deep", "run", "main", "<module>" } },
};

static void want_between(struct test *t, json_t *site, const struct between *b)
{
	size_t i, at = 0;
	json_t *frame;

	json_array_foreach(jget(site, "stack"), i, frame) {
		if (!is_python(frame) && !is_native(frame))
			continue;
		if (!want(t, b->word[at] && !strcmp(jstr(frame, "function"), b->word[at]), "%s: frame %zu of Python and the extension, wanted %s: %.600s", b->name, at,
			  b->word[at] ?: "no more", chain__draw(jget(site, "stack"))))
			return;
		at++;
	}
	want(t, !b->word[at], "%s: after %zu frames of Python and the extension, wanted %s: %.600s", b->name, at, b->word[at] ?: "no more", chain__draw(jget(site, "stack")));
}

TEST(python_extension)
{
	unsigned int n_seen[sizeof(between) / sizeof(*between)] = { 0 };
	json_t *root, *site, *truth;
	struct truth tr;
	struct fx f;
	size_t i, k;

	need_native(t);
	start_python(t, &f, python(t), STACKS, "extension", "extension_twice", "extension_deep", "lock_released", "lock_of_another", "threads_of_c", "outside", NULL);
	root = trace(t, &f, 0, NULL);
	want_truth(t, root, f.c.pid, MERGED);
	tr = read_truth(t, f.c.pid);
	json_array_foreach(jget(root, "sites"), i, site) {
		truth = truth_of(t, &tr, site, &k);
		for (k = 0; truth && k < sizeof(between) / sizeof(*between); k++)
			if (!strcmp(jstr(truth, "case"), between[k].name)) {
				want_between(t, site, &between[k]);
				n_seen[k]++;
			}
	}
	for (k = 0; k < sizeof(between) / sizeof(*between); k++)
		want(t, n_seen[k], "%s, wanted in the report", between[k].name);
	fx__quit(t, &f);
}

/* ---- options */

TEST(python_only)
{
	struct fx f;

	start_python(t, &f, python(t), STACKS, NULL);
	want_truth(t, trace(t, &f, 0, "--depth", DEPTH, "--python", "only", NULL), f.c.pid, ONLY);
	fx__quit(t, &f);
}

TEST(python_off)
{
	json_t *root, *site, *truth;
	uint64_t n_seen = 0, n = 0;
	struct truth tr;
	struct fx f;
	size_t i;

	start_python(t, &f, python(t), STACKS, "plain", "recursion", "through_c", "methods", NULL);
	root = trace(t, &f, 0, "--python", "off", NULL);
	tr = read_truth(t, f.c.pid);
	json_array_foreach(jget(root, "sites"), i, site) {
		want(t, !count_frames(site, is_python), "Python frames, wanted none: %.500s", chain__draw(jget(site, "stack")));
		if (ju64(t, site, "max_size") < tr.first)
			continue;
		n_seen += ju64(t, site, "alloc_calls");
		want(t, count_frames(site, is_eval), "no function that runs frames, wanted where Python runs: %.500s", chain__draw(jget(site, "stack")));
	}
	json_array_foreach(tr.sites, i, truth)
		n += ju64(t, truth, "calls");
	want_eq(t, "blocks", n, n_seen);
	fx__quit(t, &f);
}

/* The frames that are kept are the innermost. */
TEST(python_deeper_than_depth)
{
	json_t *root, *site;
	struct truth tr;
	struct fx f;
	size_t i, k;

	start_python(t, &f, python(t), STACKS, "deep", NULL);
	root = trace(t, &f, 0, "--depth", "100", NULL);
	want_truth(t, root, f.c.pid, CUT);
	tr = read_truth(t, f.c.pid);
	json_array_foreach(jget(root, "sites"), i, site)
		if (truth_of(t, &tr, site, &k))
			want_eq(t, "frames", 100, count_frames(site, is_kept));
	fx__quit(t, &f);
}

/* Names with bytes that no terminal should get, that are no text, or that are too long: all else of their stacks is as it should be. */
TEST(python_odd_names)
{
	json_t *root, *frame;
	struct fx f;
	size_t i;

	start_python(t, &f, python(t), STACKS, "odd_names", "plain", NULL);
	root = trace(t, &f, 0, NULL);
	want_truth(t, root, f.c.pid, MERGED);
	json_array_foreach(jget(root, "frames"), i, frame)
		for (const char *s = is_python(frame) ? jstr(frame, "function") : ""; *s; s++)
			must(t, (unsigned char)*s >= ' ' && *s != 0x7f, "a name with byte %#x in it", (unsigned char)*s);
	fx__quit(t, &f);
}

/* ---- functions by their names */

/* Of the truth, what has such a frame is in the report, all of it and nothing else. */
static void want_chosen(struct test *t, json_t *root, pid_t pid, const char *function)
{
	struct truth tr = read_truth(t, pid);
	json_t *site, *truth;
	uint64_t n = 0;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site) {
		want(t, has_python_frame(site, function), "--filter %s, wanted it in each stack: %.500s", function, chain__draw(jget(site, "stack")));
		if (truth_of(t, &tr, site, &k))
			tr.n_seen[k] += ju64(t, site, "alloc_calls");
	}
	json_array_foreach(tr.sites, i, truth) {
		uint64_t calls = has_true_frame(truth, function) ? ju64(t, truth, "calls") : 0;

		want(t, tr.n_seen[i] == calls, "--filter %s: %lu blocks of case %s, size %lu, wanted %lu", function, (unsigned long)tr.n_seen[i], jstr(truth, "case"),
		     (unsigned long)ju64(t, truth, "size"), (unsigned long)calls);
		n += calls;
	}
	want(t, n, "--filter %s, wanted to choose some: the test says nothing", function);
	free(tr.n_seen);
	json_decref(tr.root);
}

TEST(python_filter)
{
	json_error_t e;
	json_t *root;
	struct fx f;
	struct mt m;

	start_python(t, &f, python(t), STACKS, "plain", "methods", "closures", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--filter", "^Thing\\.method\\.<locals>\\.inner$", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	/* what is hidden is in the totals */
	root = with_frames(json_loads(m.c.outs.s, JSON_REJECT_DUPLICATES, &e));
	must(t, root, "standard output is no JSON: line %d: %s", e.line, e.text);
	want_chosen(t, root, f.c.pid, "Thing.method.<locals>.inner");
	fx__quit(t, &f);
}

TEST(python_filter_of_a_saved_profile)
{
	const char *saved = in_dir(t, "x.json"), *chosen = in_dir(t, "chosen.json");
	struct fx f;
	struct mt m;

	start_python(t, &f, python(t), STACKS, "plain", "names", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", saved, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want_truth(t, load_json(t, saved), f.c.pid, MERGED);
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", saved, "--filter", "^größe$", "-o", chosen, "-q", NULL));
	want_chosen(t, load_json(t, chosen), f.c.pid, "größe");
	fx__quit(t, &f);
}

/* Each site has the innermost of the tags that is on its stack, if any. */
static void want_tags(struct test *t, json_t *root, const char *const *tags)
{
	json_t *site, *frame;
	uint64_t n = 0;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site) {
		const char *wanted = NULL;

		json_array_foreach(jget(site, "stack"), k, frame)
			for (const char *const *tag = tags; *tag && !wanted && is_python(frame); tag++)
				wanted = !strcmp(*tag, jstr(frame, "function")) ? *tag : NULL;
		n += wanted != NULL;
		want(t, wanted ? !strcmp(jstr(site, "tag"), wanted) : json_is_null(jget(site, "tag")), "tag '%s', wanted '%s': %.500s", jstr(site, "tag"),
		     wanted ?: "none", chain__draw(jget(site, "stack")));
	}
	want(t, n, "sites with a tag, wanted some");
	for (const char *const *tag = tags; *tag; tag++) {
		json_t *row;
		bool there = false;

		json_array_foreach(jget(root, "tags"), i, row)
			there |= !strcmp(jstr(row, "name"), *tag) && ju64(t, row, "alloc_calls") > 0;
		want(t, there, "tag %s, wanted in the report, with its allocations", *tag);
	}
}

static const char *const tags[] = { "leaf", "Thing.method", NULL };

TEST(python_tag)
{
	json_t *root;
	struct fx f;

	start_python(t, &f, python(t), STACKS, "plain", "methods", "comprehensions", NULL);
	root = trace(t, &f, 0, "--tag", tags[0], "--tag", tags[1], NULL);
	want_truth(t, root, f.c.pid, MERGED);
	want_tags(t, root, tags);
	fx__quit(t, &f);
}

/* By the end of its qualified name; and of what is nowhere, the first message tells. */
TEST(python_tag_by_bare_name)
{
	uint64_t n = 0, n_tagged = 0;
	json_t *root, *site, *frame;
	struct fx f;
	struct mt m;
	size_t i, k;

	start_python(t, &f, python(t), STACKS, "methods", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--tag", "innermost", "--tag", "nowhere_x", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	json_array_foreach(jget(root, "sites"), i, site) {
		bool wanted = false;

		json_array_foreach(jget(site, "stack"), k, frame)
			wanted |= is_python(frame) && !strcmp("Thing.method.<locals>.inner.<locals>.innermost", jstr(frame, "function"));
		n += wanted;
		n_tagged += !strcmp(jstr(site, "tag"), "innermost");
		want(t, wanted == !strcmp(jstr(site, "tag"), "innermost"), "tag '%s' of %.500s", jstr(site, "tag"), chain__draw(jget(site, "stack")));
	}
	want(t, n && n == n_tagged, "sites of the tag, wanted some");
	want(t,
	     strstr(m.c.errs.s,
		    "--tag: no mapped file has a function innermost or nowhere_x; malloctrace looks for Python functions in call stacks\n"),
	     "what no file has, wanted when the trace begins, got\n%s", m.c.errs.s);
	want(t, strstr(m.c.errs.s, "--tag nowhere_x: no stack of the trace has such a function") && !strstr(m.c.errs.s, "--tag innermost"),
	     "that one tag is nowhere, wanted, got\n%s", m.c.errs.s);
	fx__quit(t, &f);
}

TEST(python_tag_of_a_saved_profile)
{
	const char *saved = in_dir(t, "x.json"), *tagged = in_dir(t, "tagged.json");
	json_t *root;
	struct fx f;
	struct mt m;

	start_python(t, &f, python(t), STACKS, "plain", "methods", "comprehensions", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", saved, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", saved, "--tag", tags[0], "--tag", tags[1], "-o", tagged, "-q", NULL));
	root = load_json(t, tagged);
	want_truth(t, root, f.c.pid, MERGED);
	want_tags(t, root, tags);
	fx__quit(t, &f);
}
