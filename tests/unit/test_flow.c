// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Sentences that flow over the lines of a pane: all of their words are there, however long, or it shows that they are not. */
#include <criterion/criterion.h>
#include <string.h>

#include "present/top/top_parts.h"
#include "grid_text.h"

static struct grid g;

static void done(void)
{
	grid__done(&g);
}

TestSuite(flow, .fini = done);

static void row_is(int row, const char *want)
{
	_cleanup_free_ char *text = grid__row_text(&g, row);

	cr_assert_str_eq(text, want);
}

static const char *letters(char *buf, size_t n)
{
	memset(buf, 'x', n);
	buf[n] = 0;
	return buf;
}

Test(flow, a_long_word_is_there)
{
	char word[512], want[516];
	struct flow f = { .g = &g, .end = 3 };

	grid__resize(&g, 3, 600);
	flow__wordsf(&f, STYLE_PLAIN, "%s end", letters(word, 500));
	snprintf(want, sizeof(want), "%s end", word);
	row_is(0, want);
}

Test(flow, a_word_that_no_line_has_room_for_is_cut_in_sight)
{
	char word[512];
	struct flow f = { .g = &g, .end = 3 };

	grid__resize(&g, 3, 9);
	flow__wordsf(&f, STYLE_PLAIN, "in a%sb end", letters(word, 300));
	row_is(0, "in");
	row_is(1, "axxxx…xxb");
	row_is(2, "end");
}

Test(flow, a_long_sentence_is_there_to_its_end)
{
	char words[1600], *to = words;
	struct flow f = { .g = &g, .end = 200 };

	for (int i = 0; i < 300; i++)
		to = stpcpy(to, "word ");
	stpcpy(to, "last");
	grid__resize(&g, 200, 10);
	flow__wordsf(&f, STYLE_PLAIN, "%s, behind it", words);
	row_is(149, "word word");
	row_is(150, "last,");
	row_is(151, "behind it");
	f = (struct flow){ .g = &g, .end = 200 };
	grid__resize(&g, 200, 10);
	flow__clausef(&f, STYLE_PLAIN, "%s, behind it", words);
	row_is(151, "behind it");
}
