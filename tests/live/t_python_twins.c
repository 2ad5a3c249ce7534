// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Functions of Python that have one name, in files that have one name: they are two in all views and files, told apart by their folders. */
#include "python_truth.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void record(struct test *t, const char *a, const char *b, const char *to)
{
	struct spawn s = { .argv = { python(t), fixture("python/twins.py"), a, b } };
	struct fx f;
	struct mt m;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", to, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
}

/* A line that has all of these; they end with NULL. */
static bool has_line(const char *text, const char *const *words)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		char line[4096];
		size_t i = 0;

		end = strchrnul(text, '\n');
		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		while (words[i] && strstr(line, words[i]))
			i++;
		if (!words[i])
			return true;
	}
	return false;
}

#define WANT_LINE(what, text, ...) \
	want(t, has_line(text, (const char *const[]){ __VA_ARGS__, NULL }), "%s, wanted a line with %s: %.2000s", what, #__VA_ARGS__, text)

TEST(python_twins)
{
	const char *before = in_dir(t, "before.json"), *after = in_dir(t, "after.json"), *out = in_dir(t, "out.folded");
	struct child c;
	struct mt m;

	record(t, "10", "30", before);
	record(t, "13", "30", after);

	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", before, "--view", "functions", NULL));
	WANT_LINE("functions", m.c.outs.s, "976.6 KiB", " handle ", "left/views.py");
	WANT_LINE("functions", m.c.outs.s, "5.7 MiB", " handle ", "right/views.py");
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", before, "--view", "tree", NULL));
	WANT_LINE("tree", m.c.outs.s, "976.6 KiB", " handle ", "left/views.py:2");
	WANT_LINE("tree", m.c.outs.s, "5.7 MiB", " handle ", "right/views.py:2");
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", before, "--view", "live", NULL));
	WANT_LINE("live", m.c.outs.s, "handle", "left/views.py:2");
	WANT_LINE("live", m.c.outs.s, "handle", "right/views.py:2");
	/* the names of rows, where a row has one line */
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", before, "--format", "html", NULL));
	want(t, strstr(m.c.outs.s, "\"handle at left/views.py:2\"") && strstr(m.c.outs.s, "\"handle at right/views.py:2\""), "html, wanted a name for each");

	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", before, "-o", out, "-q", NULL));
	child__start(t, &c, &(struct spawn){ .argv = { "cat", out } });
	child__wait(t, &c);
	WANT_LINE("folded", c.outs.s, ";main (python/twins.py);handle (left/views.py)", " 1000000");
	WANT_LINE("folded", c.outs.s, ";main (python/twins.py);handle (right/views.py)", " 6000000");

	/* the second is what it was: it has no part in the change */
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "diff", before, after, NULL));
	WANT_LINE("diff", m.c.outs.s, "+293.0 KiB", "grew", "976.6 KiB");
	WANT_LINE("diff", m.c.outs.s, "handle", "left/views.py:2");
	want(t, !strstr(m.c.outs.s, "right/views.py"), "diff, wanted nothing of what did not change: %.2000s", m.c.outs.s);
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "diff", before, after, "--format", "folded", NULL));
	WANT_LINE("folded diff", m.c.outs.s, "handle (left/views.py)", " 1000000 1300000");
	WANT_LINE("folded diff", m.c.outs.s, "handle (right/views.py)", " 6000000 6000000");
}
