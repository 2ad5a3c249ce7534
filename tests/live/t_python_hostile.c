// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What programs of Python can do to malloctrace: say what is not so, and never have the same code twice. */
#include "lt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Debian's, in whose file numbers and code are mapped alike. */
#define SYSTEM_PYTHON "/usr/bin/python3.11"

TEST(python_that_frees_code_in_a_number)
{
	struct spawn s = { .argv = { SYSTEM_PYTHON, fixture("python/liar.py") } };
	struct fx f;
	struct mt m;

	if (access(SYSTEM_PYTHON, X_OK))
		skip(t, "no " SYSTEM_PYTHON);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop_json(t, &m, SIGINT, 0);
	want(t, strstr(m.c.errs.s, "frames of Python are not shown"), "wanted to be told that its frames are not shown, got: %.300s", m.c.errs.s);
	fx__quit(t, &f);	/* 0: the number is what it was */
}

/* 20,000 codes that are the same are one, and take the room of one. */
TEST(python_same_code_again)
{
	struct spawn s = { .argv = { SYSTEM_PYTHON, fixture("python/again.py") } };
	uint64_t n_sites = 0, n_calls = 0;
	json_t *root, *site;
	struct fx f;
	struct mt m;
	size_t i;

	if (access(SYSTEM_PYTHON, X_OK))
		skip(t, "no " SYSTEM_PYTHON);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		if (ju64(t, site, "max_size") == 3001) {
			n_sites++;
			n_calls += ju64(t, site, "alloc_calls");
		}
	want_eq(t, "calls", 20000, n_calls);
	/* the first one is at an address where none was freed yet */
	want(t, n_sites <= 4, "sites, wanted no more than 4, got %lu", (unsigned long)n_sites);
	fx__quit(t, &f);
}
