// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Programs that run others by translating their code: a breakpoint would end what they run. */
#include "lt.h"

#include <string.h>
#include <unistd.h>

#define VALGRIND "/usr/bin/valgrind"

static void need_valgrind(struct test *t)
{
	if (access(VALGRIND, X_OK))
		skip(t, "no valgrind here");
}

/* It begins while all processes are traced: it ends well, and so does the trace. */
TEST_ALONE(translator_begins)
{
	struct spawn how = { .argv = { VALGRIND, "-q", "--tool=none", fixture("basic"), "--auto", in_dir(t, "ledger"), "leak", "10" } };
	struct child v;
	struct mt m;

	need_valgrind(t);
	mt__start(t, &m, "-a", "--json", NULL);
	mt__wait_attached(t, &m);
	child__start(t, &v, &how);
	want_eq(t, "the exit status under valgrind", 0, (uint64_t)child__wait(t, &v));
	mt__stop(t, &m, 0, 0);
	want(t, strstr(m.c.errs.s, "the trace ends here"), "stderr, wanted why the trace ended, got: %.400s", m.c.errs.s);
}

/* It runs already. */
TEST_ALONE(translator_runs)
{
	struct spawn how = { .argv = { VALGRIND, "-q", "--tool=none", fixture("basic"), "leak", "10" } };
	struct fx v;
	struct mt m;

	need_valgrind(t);
	fx__start_as(t, &v, &how);
	want_eq(t, "exit status of -a", 1, (uint64_t)mt__run(t, &m, "-a", "-d", "1", NULL));
	want(t, strstr(m.c.errs.s, "valgrind"), "stderr of -a, wanted valgrind named, got: %.400s", m.c.errs.s);
	want_eq(t, "exit status of -p", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(v.c.pid), "-d", "1", NULL));
	want(t, strstr(m.c.errs.s, "translating"), "stderr of -p, wanted why not, got: %.400s", m.c.errs.s);
	fx__quit(t, &v);
}

/* A program of our own that becomes one. */
TEST_ALONE(translator_command)
{
	struct mt m;

	need_valgrind(t);
	want_eq(t, "exit status", 0,
		(uint64_t)mt__run(t, &m, "--", VALGRIND, "-q", "--tool=none", fixture("basic"), "--auto", in_dir(t, "ledger"), "leak",
				  "10", NULL));
}
