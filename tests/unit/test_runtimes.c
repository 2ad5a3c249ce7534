// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "model/runtimes.h"
#include "model/snapshot.h"

Test(runtimes, by_file)
{
	static const struct {
		const char *file, *name;
	} t[] = {
		{ "libpython3.13.so.1.0", "python" }, { "python3", "python" },	     { "python3.13", "python" },
		{ "pypy3.10-c", "pypy" },	      { "libpypy3.10-c.so", "pypy" },
		{ "libjvm.so", "java" },	      { "node", "node" },	     { "libnode.so.115", "node" },
		{ "libruby-3.3.so.3.3", "ruby" },     { "beam.smp", "erlang" },	     { "php-fpm8.4", "php" },
		{ "libcoreclr.so", "dotnet" },	      { "pythonic", NULL },	     { "libpythonesque.so", NULL },
		{ "nodemon", NULL },		      { "libjvmti.so", NULL },	     { "bash", NULL },
		{ "", NULL },			      { "libphonenumber.so.8", NULL }, { "rubycop", NULL },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		const struct runtime *r = runtime__of_file(t[i].file);

		if (!t[i].name)
			cr_expect_null(r, "%s: %s", t[i].file, r ? r->name : "");
		else
			cr_expect(r && r == runtime__find(t[i].name), "%s: %s", t[i].file, r ? r->name : "none");
	}
	cr_expect_null(runtime__find("fortran"));
	cr_expect_null(runtime__find(NULL));
}

static void expect_words(const struct snapshot *s, const char *seen, const char *advice)
{
	const struct runtime *r = runtime__of_snapshot(s, 0);
	char *words = r ? runtime__words(r, s) : NULL;

	if (!seen && !advice) {
		cr_expect_null(r);
	} else {
		cr_assert_not_null(words);
		cr_expect(!seen || !strncmp(words, seen, strlen(seen)), "%s", words);
		cr_expect_eq(strstr(words, "--python off") != NULL, advice != NULL, "%s", words);
	}
	free(words);
}

/* What to do about frames of Python is said where there are any. */
Test(runtimes, advice_about_frames)
{
	static const struct snap_module modules[] = { { "/usr/bin/python3.11", "aa", NULL }, { PYTHON_PATH, NULL, NULL } };
	struct snap_process process = { .runtime = "python" };
	struct snapshot s = { .processes = &process, .n_processes = 1, .modules = modules, .n_modules = 2 };

	expect_words(&s, "seen: ", "--python off");
	s.n_modules = 1;
	expect_words(&s, "seen: ", NULL);
	s.recording.mode = MT_MODE_GROWTH;
	expect_words(&s, NULL, NULL);
	process.runtime = "node";
	cr_expect_not_null(runtime__of_snapshot(&s, 0));
}
