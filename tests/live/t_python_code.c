// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Code of Python in numbers: the same again and again, and much of it at a time (tests/fixtures/python/again.py). */
#include "python_truth.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 3001

static json_t *again(struct test *t, const char *how)
{
	struct spawn s = { .argv = { python(t), fixture("python/again.py"), how } };
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "python_unnamed", 0, ju64(t, root, "edges.python_unnamed"));
	fx__quit(t, &f);
	return root;
}

/* All of it is alive, each at an address of its own: it is one stack, or a leak is not seen among so many that hold a block each. */
TEST(python_same_code_kept)
{
	json_t *root = again(t, "keep"), *site;
	uint64_t n_sites = 0, n_calls = 0;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (ju64(t, site, "max_size") == BLOCK) {
			want(t, has_python_frame(site, "handler"), "wanted the function that was compiled: %.500s", chain__draw(jget(site, "stack")));
			n_sites++;
			n_calls += ju64(t, site, "alloc_calls");
		}
	want_eq(t, "calls", 20000, n_calls);
	/* the interpreter's own functions between them are others once a function is warm */
	want(t, n_sites <= 2, "sites, wanted no more than 2, got %lu", (unsigned long)n_sites);
}

/* Each is met within microseconds of the one before. */
TEST(python_code_in_bursts)
{
	json_t *root = again(t, "many"), *site;
	unsigned int n = 0, number;
	bool seen[8000] = { 0 };
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site) {
		const char *name = NULL;
		json_t *frame;

		if (ju64(t, site, "max_size") != BLOCK)
			continue;
		json_array_foreach(jget(site, "stack"), k, frame)
			if (is_python(frame) && !name && strcmp(jstr(frame, "function"), "block"))
				name = jstr(frame, "function");
		if (!want(t, name && sscanf(name, "f%5u", &number) == 1 && number < 8000 && !seen[number], "wanted each function once, got '%s': %.500s",
			  name ?: "none", chain__draw(jget(site, "stack"))))
			continue;
		want_eq(t, name, 1, ju64(t, site, "alloc_calls"));
		seen[number] = true;
		n++;
	}
	want_eq(t, "functions", 8000, n);
}

/* Where each lies is kept from one report to the next: other code that came there meanwhile has a name of its own in all of them. */
TEST(python_code_between_reports)
{
	struct spawn s = { .argv = { python(t), fixture("python/again.py"), "turns" } };
	json_t *root, *site;
	unsigned int n = 0;
	struct fx f;
	struct mt m;
	size_t i, k;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	for (int turn = 1; turn <= 100 && n < 10000; turn++) {
		char file[32];

		snprintf(file, sizeof(file), "x.%d.json", turn);
		child__kill(t, &m.c, SIGUSR1);
		child__wait_err(t, &m.c, "malloctrace: snapshot", "written", patience_s(60));
		root = with_frames(json_load_file(in_dir(t, "%s", file), 0, NULL));
		must(t, root, "%s", file);
		json_array_foreach(jget(root, "sites"), i, site) {
			json_t *frame;
			unsigned int number;

			json_array_foreach(jget(site, "stack"), k, frame) {
				if (!is_python(frame) || sscanf(jstr(frame, "function"), "f%u", &number) != 1)
					continue;
				want_eq(t, jstr(frame, "function"), number, ju64(t, site, "max_size"));
				n++;
			}
		}
		json_decref(root);
	}
	want(t, n >= 10000, "wanted ten thousand functions in all reports, got %u", n);
	json_decref(mt__stop_json(t, &m, SIGINT, 0));
	fx__go(t, &f);
	fx__quit(t, &f);
}

/* ---- threads in numbers */

/* Whose state is far behind in the interpreter's list, and who is not the one that holds the lock. */
TEST(python_crowd)
{
	struct spawn s = { .argv = { python(t), fixture("python/crowd.py"), "700", "200" } };
	json_t *root, *site;
	uint64_t n = 0;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site) {
		if (ju64(t, site, "max_size") != BLOCK)
			continue;
		want(t, has_python_frame(site, "work"), "wanted the function that the thread runs: %.500s", chain__draw(jget(site, "stack")));
		n += ju64(t, site, "alloc_calls");
	}
	want_eq(t, "calls", 200, n);
	fx__quit(t, &f);
}

/* ---- what is probed is native */

/*
 * Why: the interpreter runs what Python calls without calling itself. So no probe is met by each
 * call of a Python function.
 */
TEST(python_calls_are_no_native_calls)
{
	static const char program[] = "import os, sys\n"
				      "def inner(n):\n return bytearray(5000 + n)\n"
				      "def outer():\n for i in range(1000):\n"
				      "  kept.append(inner(i))\nkept = []\n"
				      "os.write(1, b'ready\\n')\nos.read(0, 1)\nouter()\n"
				      "os.write(1, b'end\\n')\nos.read(0, 1)\n";
	struct spawn s = { .argv = { python(t), "-S", "-c", program } };
	json_t *root, *site;
	uint64_t n = 0;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mark", "_PyEval_EvalFrameDefault", "--json",
		  NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	json_array_foreach(jget(root, "sites"), i, site)
		n += has_python_frame(site, "inner") ? ju64(t, site, "alloc_calls") : 0;
	want_eq(t, "blocks of inner", 1000, n);
	want(t, ju64(t, root, "marks_seen") < 100,
	     "calls of the interpreter's loop, wanted few, got %" PRIu64,
	     ju64(t, root, "marks_seen"));
	fx__quit(t, &f);
}

TEST(python_function_that_is_to_be_probed)
{
	struct spawn s = { .argv = { python(t), fixture("python/crowd.py"), "1", "1" } };
	static const char *const options[] = { "--mark", "--within", "--start-on", "--stop-on" };
	struct fx f;
	struct mt m;

	fx__start_as(t, &f, &s);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		char wanted[192];

		snprintf(
			wanted, sizeof(wanted),
			"%s takes native functions only; for a Python function, --tag work groups its allocations, and --filter work hides all others",
			options[i]);
		want_eq(t, "exit", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), options[i], "work", "-d", "1", NULL));
		want(t, strstr(m.c.errs.s, wanted), "%s work: wanted to be told '%s', got: %.500s", options[i], wanted, m.c.errs.s);
	}
	fx__go(t, &f);
	fx__quit(t, &f);
}
