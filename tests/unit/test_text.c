// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Columns of text on a terminal. */
#include <criterion/criterion.h>
#include <string.h>

#include "util/text.h"
#include "util/util.h"

Test(text, columns)
{
	static const struct {
		const char *s;
		size_t cols;
	} rows[] = {
		{ "", 0 },	      { "plain", 5 },	   { "é …", 3 },	    { "日本語", 6 },	       { "한국", 4 },
		{ "e\xcc\x81", 1 },   { "🚀x", 3 },	   { "ｆｕｌｌ", 8 },	    { "\xff\xfe", 2 },	       { "cut \xe2\x80", 6 },
		{ "𝄞", 1 },	      { "－", 2 },	   { "\xe6\x97", 2 },	    { "か\xe3\x82\x99", 2 }, { "±12%", 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(text_width(rows[i].s), rows[i].cols, "%s: %zu", rows[i].s, text_width(rows[i].s));
	cr_expect_eq(text_width_n("日本語", 3), 2);
	cr_expect_eq(text_width_n("日本語", 4), 3, "a part of a character is bytes");
}

static void shortens(const char *s, size_t width, const char *want)
{
	_cleanup_free_ char *got = text_shorten(s, width);

	cr_expect_str_eq(got, want);
	cr_expect_leq(text_width(got), width);
}

Test(text, shortens_in_the_middle)
{
	shortens("abcdefghij", 10, "abcdefghij");
	shortens("abcdefghij", 6, "abc…ij");
	shortens("abcdefghij", 1, "…");
	shortens("abcdefghij", 0, "");
	/* half of a wide character is none */
	shortens("日本語日本語", 6, "日…語");
	shortens("日本語日本語", 5, "日…");
	/* a mark stays with its character, at both ends */
	shortens("e\xcc\x81xxxxxx", 3, "e\xcc\x81…x");
	shortens("xxxxxe\xcc\x81", 3, "x…e\xcc\x81");
}

Test(text, any_bytes_end_and_fit)
{
	unsigned int seed = 1;

	for (int round = 0; round < 2000; round++) {
		char s[24] = "";
		size_t len = rand_r(&seed) % (sizeof(s) - 1);

		for (size_t i = 0; i < len; i++)
			s[i] = (char)(1 + rand_r(&seed) % 255);
		for (size_t width = 0; width < 12; width++) {
			_cleanup_free_ char *got = text_shorten(s, width);

			cr_assert_leq(text_width_n(s, text_head(s, width)), width);
			cr_assert_leq(text_width(s + text_tail(s, width)), width);
			cr_assert_leq(strlen(got), len + 3);
		}
	}
}
