// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Probed files that are written over in place: nobody who runs the new code dies of the old breakpoints, and it is probed anew. */
#include "lt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes of this name that were seen to allocate, a hundred times each with malloc, realloc and calloc, or more often. */
static uint64_t n_seen(json_t *root, const char *comm)
{
	json_t *rows = jget(root, "processes"), *row;
	uint64_t n = 0;
	size_t i;

	json_array_foreach(rows, i, row)
		n += !strcmp(json_string_value(jget(row, "comm")), comm) && json_integer_value(jget(row, "totals.alloc_calls")) >= 300;
	return n;
}

/* how: see the fixture. ms: from the last byte written to the first that is run. */
static json_t *overwritten(struct test *t, struct fx *f, const char *how, unsigned int times, const char *ms)
{
	const char *path = in_dir(t, "program");
	char count[16];
	json_t *root;

	snprintf(count, sizeof(count), "%u", times);
	fx__start(t, f, "written", how, count, ms, path, fixture("written.static"), fixture("written.moved"), NULL);
	root = trace(t, f, 0, "-f", NULL);
	want_eq(t, "programs run", 4 * times, ledger__note(t, &f->led, "run"));
	want_eq(t, "programs that died", 0, ledger__note(t, &f->led, "died"));
	return root;
}

/* Perf events take a tenth of a second each to go: nobody can be quick enough there. */
static void need_multi(struct test *t)
{
	struct mt m;
	const char *row;

	mt__start(t, &m, "doctor", NULL);
	child__wait(t, &m.c);
	row = strstr(m.c.outs.s, "\n  uprobe_multi ");
	if (!row || strncmp(row + strlen("\n  uprobe_multi ") + strspn(row + strlen("\n  uprobe_multi "), " "), "ok", 2))
		skip(t, "without uprobe_multi probes go too slowly");
}

/* Where the machine is busy, probes may need some milliseconds to go. */
TEST_ALONE(written_program)
{
	struct fx f;

	need_multi(t);
	overwritten(t, &f, "quick", (unsigned int)scaled(10), "50");
	fx__quit(t, &f);
}

/*
 * Each version has its probes when the next one is written over it. They may take longer to go if others set or remove uprobes at the
 * same time: the kernel does that one after the other.
 */
TEST_ALONE(written_probed_anew)
{
	unsigned int times = (unsigned int)scaled(4);
	json_t *root;
	struct fx f;

	need_multi(t);
	root = overwritten(t, &f, "probed", times, "500");
	want(t, n_seen(root, "program") >= 2 * times, "programs that were probed anew, wanted at least %u, got %" PRIu64, 2 * times,
	     n_seen(root, "program"));
	fx__quit(t, &f);
}
