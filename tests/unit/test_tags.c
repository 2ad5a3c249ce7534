// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Names of functions as users give them, and which of them owns an allocation. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "export/export.h"
#include "export/json_read.h"
#include "golden.h"
#include "model/group.h"
#include "model/join.h"
#include "sample_snapshot.h"
#include "util/funcname.h"
#include "util/numbered.h"
#include "util/util.h"
#include "view/report.h"

Test(funcname, names_that_match)
{
	static const struct {
		const char *asked, *name;
		bool whole, parts;	/* matches the function; or a piece of it, too */
	} t[] = {
		{ "f", "f", true, true },
		{ "f", "ff", false, false },
		{ "f", "ns::f(int)", false, false },
		{ "ns::f", "ns::f(int)", true, true },
		{ "ns::f(int)", "ns::f(int)", true, true },
		{ "ns::f(char)", "ns::f(int)", false, false },
		{ "ns::f", "ns::f(int (*)(char), long) const", true, true },
		{ "ns::f", "ns::f() const &", true, true },
		{ "f", "f.constprop.0", true, true },
		{ "f", "f.isra.0.constprop.12", true, true },
		{ "f", "f.cold", false, true },
		{ "f", "f.isra.0.cold", false, true },
		{ "f", "f.part.3", false, true },
		{ "f.cold", "f.cold", true, true },
		{ "f", "f.lto_priv.0", true, true },
		{ "ns::f", "ns::f(int) [clone .isra.0]", true, true },
		{ "ns::f", "ns::f(int) [clone .isra.0] [clone .cold]", false, true },
		{ "main", "main.handle", false, false },
		{ "main.handle", "main.handle", true, true },
		{ "f", "void f<int>(int)", true, true },
		{ "f<int>", "void f<int>(int)", true, true },
		{ "f<char>", "void f<int>(int)", false, false },
		{ "ns::f", "std::vector<int, std::allocator<int> > ns::f<int, char>(int)", true, true },
		{ "Table<int>::insert", "Table<int>::insert(int)", true, true },
		{ "operator new", "operator new(unsigned long)", true, true },
		{ "new", "operator new(unsigned long)", false, false },
		{ "A::operator>", "A::operator>(A const&) const", true, true },
		{ "A::operator bool", "A::operator bool() const", true, true },
		{ "A::operator()", "A::operator()(int) const", true, true },
		{ "(anonymous namespace)::f", "(anonymous namespace)::f(int)", true, true },
		{ "core::fmt::write", "core::fmt::write", true, true },
		{ "f", "", false, false },
		{ "", "f", false, false },
		{ "f", ")", false, false },
		{ "f", "(f", false, false },
		{ "f", "f]", false, false },
		{ "f", " [clone ]", false, false },
		{ "f", "f>(", false, false },
		{ "f", ".cold", false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		cr_expect_eq(func_name__matches(t[i].asked, t[i].name, false), t[i].whole, "%s is %s", t[i].asked, t[i].name);
		cr_expect_eq(func_name__matches(t[i].asked, t[i].name, true), t[i].parts, "%s is in %s", t[i].asked, t[i].name);
	}
}

Test(funcname, binaries)
{
	static const struct {
		const char *text, *function, *path;
		bool in;
	} t[] = {
		{ "f", "f", "/usr/bin/x", true },
		{ "f", "f", NULL, true },
		{ "x:f", "f", "/usr/bin/x", true },
		{ "x:f", "f", "/usr/bin/y", false },
		{ "x:f", "f", NULL, false },
		{ "x:f", "f", "/usr/bin/x.d", false },
		{ "/usr/bin/x:f", "f", "/usr/bin/x", true },
		{ "/usr/bin/x:f", "f", "/opt/bin/x", false },
		{ "libz.so:deflate", "deflate", "/usr/lib/libz.so.1.2.13", true },
		{ "libz:deflate", "deflate", "/usr/lib/libz.so.1", false },
		{ "x:ns::f", "ns::f", "/x", true },
		{ "ns::f", "ns::f", "/x", true },
		{ "ns::f(a:b)", "ns::f(a:b)", "/x", true },
	};
	struct func_ref r;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		cr_assert(func_ref__parse(t[i].text, &r), "%s", t[i].text);
		cr_expect_str_eq(r.function, t[i].function);
		cr_expect_eq(func_ref__is_in(&r, t[i].path), t[i].in, "%s in %s", t[i].text, t[i].path ?: "nothing");
	}
	cr_expect_not(func_ref__parse("", &r));
	cr_expect_not(func_ref__parse("x:", &r));
	cr_expect_not(func_ref__parse(":f", &r));
}

Test(numbered, what_differs_is_a_star)
{
	static const struct {
		const char *v[3], *sum;
	} t[] = {
		{ { "worker-1", "worker-2", "worker-10" }, "worker-*" },
		{ { "python3", "python3", "python3" }, "python3" },
		{ { "a1b2", "a1b3", "a1b22" }, "a1b*" },
		{ { "7", "8", "7" }, "*" },
		{ { "1-x-2", "1-x-2", "3-x-2" }, "*-x-2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *sum = strdup(t[i].v[0]);

		for (size_t k = 1; k < 3; k++) {
			_cleanup_free_ char *a = numbered__pattern(t[i].v[0]), *b = numbered__pattern(t[i].v[k]);

			cr_expect_str_eq(a, b);
			numbered__add(sum, t[i].v[k]);
		}
		numbered__end(sum);
		cr_expect_str_eq(sum, t[i].sum);
	}
}
