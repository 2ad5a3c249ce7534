// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Workers that a server of Python has forked: they have no page of the interpreter's file that they have not touched. */
#include "python_truth.h"

#include <signal.h>
#include <stdio.h>

static pid_t child_of(struct test *t, pid_t pid)
{
	char path[64];
	pid_t child = 0;
	FILE *list;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	list = fopen(path, "r");
	must(t, list && fscanf(list, "%d", &child) == 1, "its child is not in the list of the kernel");
	fclose(list);
	return child;
}

/* also: an option; the child alone is traced, and its frames are those of Python from its first block on. */
static void forked(struct test *t, const char *python, const char *also)
{
	json_t *root;
	pid_t child;
	struct fx f;
	struct mt m;

	start_python(t, &f, python, "python/forked.py", NULL);
	child = child_of(t, f.c.pid);
	mt__start(t, &m, "-p", pid_arg(child), "--json", also, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "blocks of the worker", 100, want_truth(t, root, child, MERGED));
	fx__quit(t, &f);
}

TEST(python_forked) { forked(t, python(t), NULL); }
TEST(python_forked_with_children) { forked(t, python(t), "-f"); }
/* Of the distribution's the page with its version is one that a child does not touch. */
TEST(python_forked_of_the_system) { forked(t, python_of(t, "/usr/bin/python3"), NULL); }
