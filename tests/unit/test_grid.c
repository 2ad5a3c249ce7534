// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The grid: nothing that is written into it leaves its place, and nothing in it can steer a terminal. */
#include <criterion/criterion.h>
#include <string.h>

#include "present/top/grid.h"
#include "util/util.h"
#include "grid_text.h"

static struct grid g;

static void done(void)
{
	grid__done(&g);
}

TestSuite(grid, .fini = done);

static void row_is(int row, const char *want)
{
	_cleanup_free_ char *text = grid__row_text(&g, row);

	cr_assert_str_eq(text, want);
	cr_assert_eq(grid__broken_row(&g), -1);
}

Test(grid, holds_text_and_cuts_it_off)
{
	grid__resize(&g, 3, 10);
	cr_assert_eq(grid__put(&g, 0, 0, 10, STYLE_PLAIN, "hello"), 5);
	cr_assert_eq(grid__put(&g, 1, 7, 10, STYLE_PLAIN, "hello"), 3);
	cr_assert_eq(grid__put(&g, 2, 0, 2, STYLE_PLAIN, "hello"), 2);
	cr_assert_eq(grid__put(&g, 3, 0, 10, STYLE_PLAIN, "beyond"), 0);
	cr_assert_eq(grid__put(&g, -1, 0, 10, STYLE_PLAIN, "beyond"), 0);
	row_is(0, "hello");
	row_is(1, "       hel");
	row_is(2, "he");
	grid__put_right(&g, 2, 2, 8, STYLE_PLAIN, "12 MiB");
	row_is(2, "he  12 MiB");
}

Test(grid, wide_characters_are_whole_or_not_there)
{
	grid__resize(&g, 1, 5);
	cr_assert_eq(grid__put(&g, 0, 0, 5, STYLE_PLAIN, "漢字漢"), 5);
	row_is(0, "漢字");
	/* written over in the middle of one */
	grid__put(&g, 0, 1, 1, STYLE_PLAIN, "x");
	row_is(0, " x字");
	grid__put(&g, 0, 2, 1, STYLE_PLAIN, "y");
	row_is(0, " xy");
	grid__fill(&g, 0, 0, 5, STYLE_PLAIN, '.');
	row_is(0, ".....");
}

Test(grid, marks_stay_with_their_letter)
{
	grid__resize(&g, 1, 8);
	cr_assert_eq(grid__put(&g, 0, 0, 8, STYLE_PLAIN, "e\u0301te\u0301"), 3);
	row_is(0, "e\u0301te\u0301");
	/* more than are kept, and one without a letter */
	cr_assert_eq(grid__put(&g, 0, 0, 8, STYLE_PLAIN, "\u0301a\u0300\u0301\u0302\u0303b"), 2);
	row_is(0, "a\u0300\u0301be\u0301");
}

Test(grid, nothing_steers_a_terminal)
{
	static const char *const hostile[] = {
		"\033[2J", "a\rb", "a\nb", "\a\b\t", "\x9b" "31m", "a\u202e" "b", "\u200b\u200d\ufeff", "\xff\xfe", "\xc3", "\xc2\x85", "a\x7f",
	};

	grid__resize(&g, 1, 20);
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		grid__clear(&g);
		grid__put(&g, 0, 0, 20, STYLE_PLAIN, hostile[i]);
		for (int col = 0; col < 20; col++) {
			uint32_t c = grid__cell(&g, 0, col)->ch;

			cr_assert(c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0), "%zu: %x", i, c);
			cr_assert(c != 0x202e && c != 0x200b && c != 0x200d && c != 0xfeff, "%zu: %x", i, c);
		}
		cr_assert_eq(grid__broken_row(&g), -1);
	}
}

Test(grid, ascii_has_a_look_alike_for_each)
{
	grid__resize(&g, 1, 20);
	grid__put(&g, 0, 0, 20, STYLE_PLAIN, "▁▄█─…Δ↓▸é漢x");
	grid__to_ascii(&g);
	row_is(0, "_=@-~dv+???x");
}

Test(grid, sizes_are_bounded)
{
	grid__resize(&g, 0, -3);
	cr_assert_eq(g.rows, 1);
	cr_assert_eq(g.cols, 1);
	grid__resize(&g, 100000, 100000);
	cr_assert_eq(g.rows, 1000);
	cr_assert_eq(g.cols, 1000);
}

Test(grid, tells_what_is_the_same)
{
	struct grid other = {};

	grid__resize(&g, 2, 4);
	grid__put(&g, 0, 0, 4, STYLE_BAD, "ab");
	grid__copy(&other, &g);
	cr_assert(glyph__same(grid__cell(&g, 0, 0), grid__cell(&other, 0, 0)));
	grid__put(&other, 0, 0, 4, STYLE_GOOD, "a");
	cr_assert_not(glyph__same(grid__cell(&g, 0, 0), grid__cell(&other, 0, 0)));
	grid__select(&other, 0);
	cr_assert_not(glyph__same(grid__cell(&g, 0, 1), grid__cell(&other, 0, 1)));
	cr_assert(glyph__same(grid__cell(&g, 1, 1), grid__cell(&other, 1, 1)));
	grid__done(&other);
}
