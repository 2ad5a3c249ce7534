// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A Python that a program loads while it is traced. */
#include "python_truth.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libpython3.11.so.1.0"

/* All 10 of them: are their frames those of Python? */
static void want_blocks(struct test *t, json_t *root, bool named)
{
	json_t *site;
	uint64_t n = 0;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (ju64(t, site, "max_size") == 70001) {
			n += ju64(t, site, "alloc_calls");
			want(t, has_python_frame(site, "late") == named, "wanted %s frame of Python: %.500s", named ? "a" : "no", chain__draw(jget(site, "stack")));
		}
	want_eq(t, "blocks", 10, n);
}

static void start_late(struct test *t, struct fx *f)
{
	struct child c;

	child__start(t, &c, &(struct spawn){ .argv = { "/bin/sh", "-c", "/sbin/ldconfig -p | grep -q " LIBRARY } });
	if (child__wait(t, &c))
		skip(t, "no " LIBRARY);
	fx__start(t, f, "late_python", LIBRARY, NULL);
}

#define NOT_SHOWN "frames of Python are not shown, but those of its interpreter: it was loaded when the trace ran already"

/* The trace of a process began without Python: that its frames are not shown is told, and its blocks are counted. */
TEST(python_loaded_late)
{
	struct fx f;
	struct mt m;

	start_late(t, &f);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: late_python", NOT_SHOWN, patience_s(30));
	fx__go(t, &f);
	want_blocks(t, mt__stop_json(t, &m, SIGINT, 0), false);
	fx__quit(t, &f);
}

/* One that is begun after that shows them. */
TEST(python_loaded_before)
{
	struct fx f;
	struct mt m;

	start_late(t, &f);
	fx__go(t, &f);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	want_blocks(t, mt__stop_json(t, &m, SIGINT, 0), true);
	fx__quit(t, &f);
}

/* Where any program may begin, the trace is prepared for it; with a budget, too. */
static void load_late(struct test *t, const char *overhead)
{
	struct fx f;
	struct mt m;

	start_late(t, &f);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-f", "-v", "--json", overhead, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: late_python", ": Python 3.11", patience_s(30));
	fx__go(t, &f);
	if (overhead)
		mt__stop_json(t, &m, SIGINT, 0);
	else
		want_blocks(t, mt__stop_json(t, &m, SIGINT, 0), true);
	fx__quit(t, &f);
}

TEST(python_loaded_late_with_children) { load_late(t, NULL); }
TEST(python_loaded_late_with_a_budget) { load_late(t, "--overhead=5"); }

/* What is read before its loader is done says nothing; and a child that was forked before that has its own. */
TEST(python_loaded_slowly)
{
	const char *program = in_dir(t, "python3.11");
	struct spawn s = { .argv = { program, "loaded_later" } };
	uint64_t n_parent = 0, n_child = 0;
	char words[100];
	pid_t child = 0;
	json_t *root, *site;
	struct fx f;
	struct mt m;
	FILE *list;
	size_t i;

	copy_file(t, fixture("fake_python"), program);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-f", "-v", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	snprintf(words, sizeof(words), "/proc/%d/task/%d/children", (int)f.c.pid, (int)f.c.pid);
	list = fopen(words, "r");
	must(t, list && fscanf(list, "%d", &child) == 1, "its child is not in the list of the kernel");
	fclose(list);
	/* one of them comes first */
	for (int k = 0; k < 2; k++) {
		snprintf(words, sizeof(words), "malloctrace: python3.11 (%d)", (int)(k ? child : f.c.pid));
		child__see_err(t, &m.c, 0, words, ": Python 3.11", patience_s(30));
	}
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site) {
		if (!has_python_frame(site, "leaf"))
			continue;
		n_parent += ju64(t, site, "max_size") == 3001 ? ju64(t, site, "alloc_calls") : 0;
		n_child += ju64(t, site, "max_size") == 3007 ? ju64(t, site, "alloc_calls") : 0;
	}
	want_eq(t, "blocks of the process with a frame of Python", 1000, n_parent);
	want_eq(t, "and of its child", 1000, n_child);
	fx__quit(t, &f);
}
