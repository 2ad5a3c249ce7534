// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>

#include "model/runtimes.h"

Test(runtimes, by_file)
{
	static const struct {
		const char *file, *name;
	} t[] = {
		{ "libpython3.13.so.1.0", "python" }, { "python3", "python" },	     { "python3.13", "python" },
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
