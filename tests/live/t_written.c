// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Probed files that are written over in place: nobody who runs the new code dies of the old breakpoints. */
#include "lt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ms: from the last byte written to the first that is run. */
static json_t *overwritten(struct test *t, struct fx *f, unsigned int times, const char *ms, const char *option, const char *value)
{
	const char *path = in_dir(t, "program");
	char count[16];
	json_t *root;

	snprintf(count, sizeof(count), "%u", times);
	fx__start(t, f, "written", count, ms, path, fixture("written.static"), fixture("written.moved"), NULL);
	root = trace(t, f, 0, "-f", option, value, NULL);
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
TEST(written_program)
{
	struct fx f;

	need_multi(t);
	overwritten(t, &f, (unsigned int)scaled(10), "50", NULL, NULL);
	fx__quit(t, &f);
}
