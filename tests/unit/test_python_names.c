// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Frames of Python without a name: that there are some is said. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "model/runtimes.h"
#include "model/snapshot.h"
#include "present/caveats.h"
#include "util/util.h"

#define KNOWN (1ull << 63)

enum { NATIVE, NAMED, UNASKED, UNREAD, NAMELESS, CUT };

static void expect_words(const uint32_t stacks[][2], size_t n, uint64_t n_counted, const char *want)
{
	const struct snap_counter edges[] = { { "abandoned", "", 7 }, { "python_unnamed", "", n_counted } };
	static const struct snap_module modules[] = { { "/usr/bin/app", "aa", NULL }, { PYTHON_PATH, NULL, NULL } };
	const struct line line = { .function = "f", .file = "f.py", .line = 1 }, nameless = { .file = "f.py", .line = 1 };
	struct place places[] = {
		[NATIVE] = { .module = 0, .offset = 0x1234 },
		[NAMED] = { .module = 1, .offset = KNOWN | 0x7f0000001000, .resolved = true, .lines = &line, .n_lines = 1 },
		[UNASKED] = { .module = 1, .offset = KNOWN | 0x7f0000002000 },
		[UNREAD] = { .module = 1, .offset = KNOWN | 0x7f0000003000, .resolved = true, .lines = &nameless, .n_lines = 1 },
		[NAMELESS] = { .module = 1, .offset = 0x7f0000001000 },
		[CUT] = { .module = 1, .offset = 0 },
	};
	struct snap_site sites[4] = { 0 };
	struct snapshot s = { .sites = sites, .n_sites = n + 1, .places = places, .n_places = ARRAY_SIZE(places), .modules = modules, .n_modules = 2,
			      .edges = edges, .n_edges = 2 };
	char *got;

	/* and one without a stack */
	for (size_t i = 0; i < n; i++) {
		sites[i].stack = stacks[i];
		sites[i].n_stack = 2;
	}
	got = missing_names__of_python(&s);
	if (want) {
		cr_assert_not_null(got);
		cr_expect_str_eq(got, want);
	} else {
		cr_expect_null(got);
	}
	free(got);
}

Test(python_names, that_are_missing)
{
	static const uint32_t whole[][2] = { { NATIVE, NAMED }, { NAMED, NAMED } };
	static const uint32_t one[][2] = { { NATIVE, NAMED }, { NAMED, NAMELESS } };
	static const uint32_t unasked[][2] = { { NATIVE, UNASKED }, { NAMED, UNREAD } };
	static const uint32_t two[][2] = { { CUT, NATIVE }, { NAMED, NAMED }, { NAMELESS, NAMELESS } };

	expect_words(whole, 2, 0, NULL);
	expect_words(whole, 2, 1, "1 time there was no room for frames of Python, or for the name of one");
	expect_words(one, 2, 1, "1 of 2 stacks has Python frames without a name, which could not be read when the code ran, or not be stored");
	expect_words(unasked, 2, 1, "1 of 2 stacks has Python frames without a name, which could not be read when the code ran, or not be stored");
	expect_words(two, 3, 0, "2 of 3 stacks have Python frames without a name, which could not be read when the code ran, or not be stored");
}
