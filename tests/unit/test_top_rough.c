// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The live view: no size, key or name breaks it, and nothing is left behind. */
#include <criterion/criterion.h>
#include <malloc.h>

#include "top_screen.h"

TestSuite(top_rough, .fini = end);

/* Numbers that are always the same, and never look it. */
static uint32_t chance(uint32_t below)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 11) % below;
}

static const int any_key[] = {
	'1', '2', '3', '4', '5', '6', 'f', 'H', 'g', 'h', 'u', 's', 'S', 'r', 't', 'c', 'm', 'n', 'p', '*', ' ', '/', 'a', 'x', '.', '(', 'o', 'b', '+', '-', '?',
	TOP_KEY_ENTER, TOP_KEY_ESC, TOP_KEY_UP, TOP_KEY_DOWN, TOP_KEY_LEFT, TOP_KEY_RIGHT, TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME, TOP_KEY_END, TOP_KEY_BACKSPACE, TOP_KEY_DELETE, TOP_KEY_TAB, 0x6f22, 0x301, 7,
};

Test(top_rough, no_size_and_no_key_breaks_a_row)
{
	begin(SAMPLE_LOSSES);
	for (int i = 0; i < 6000; i++) {
		if (!chance(3))
			grid__resize(&g, 10 + (int)chance(91), 60 + (int)chance(241));
		/* beyond what is promised, nothing is written where it should not be */
		if (!chance(50))
			grid__resize(&g, 1 + (int)chance(12), 1 + (int)chance(70));
		if (!chance(10)) {
			static const unsigned int kinds[] = { 0, SAMPLE_SINGLE, SAMPLE_LOSSES, SAMPLE_UNNAMED, SAMPLE_EMPTY, SAMPLE_ESTIMATED };
			struct snapshot *s = made__sample(kinds[chance(ARRAY_SIZE(kinds))], 0);

			s->duration_ns += i * MADE_SECOND;
			for (uint32_t k = 0; k < s->n_processes && !chance(2); k++)
				sample__add_heap(s, k, chance(16));
			top__update(t, s);
		}
		if (chance(5))
			top__key(t, any_key[chance(ARRAY_SIZE(any_key))]);
		else
			top__mouse(t, chance(3), (int)chance(g.rows), (int)chance(g.cols));
		top__draw(t, &g);
		cr_assert_eq(grid__broken_row(&g), -1, "step %d, %dx%d", i, g.cols, g.rows);
	}
}

Test(top_rough, hostile_names_only_look_odd)
{
	static const struct line lines[] = {
		{ "\033[2J\033[H漢字ｅ\u0301\u202eevil", "\n/tmp/\r.c", 1, false, NULL, false },
		{ "(((((<<<<<<>>>", "a", 0, false, NULL, false },
		{ "", "", 0, false, NULL, false },
	};
	struct snapshot *s = made__sample(0, 0);

	begin(0);
	for (size_t i = 0; i < s->n_places; i++) {
		s->places[i].lines = &lines[i % 3];
		s->places[i].n_lines = 1;
	}
	((struct snap_process *)s->processes)[0].comm = "\033]0;title\a漢";
	s->duration_ns += MADE_SECOND;
	top__update(t, s);
	for (const char *k = "123456t*c\033\n/x\n\033?"; *k; k++) {
		key(*k);
		cr_assert_eq(grid__broken_row(&g), -1, "%c", *k);
	}
}

/* Two and a half thousand sites that come and go: an hour of seconds. */
static struct snapshot *an_update(unsigned int at)
{
	struct snapshot *s = made__sample(0, 0);
	size_t n = 200 + at % 100;
	struct snap_site *sites = snapshot__alloc(s, n, sizeof(*sites));

	for (size_t i = 0; i < n; i++) {
		uint32_t *stack = snapshot__alloc(s, 6, sizeof(*stack));

		sites[i] = s->sites[i % s->n_sites];
		for (size_t k = 0; k < 6; k++)
			stack[k] = (uint32_t)((i * 7 + k * 3 + at / 60) % s->n_places);
		sites[i].stack = stack;
		sites[i].n_stack = 6;
		sites[i].c.live_bytes += at * (i % 50);
		sites[i].c.alloc_calls += at * i;
	}
	s->sites = sites;
	s->n_sites = n;
	s->duration_ns += at * MADE_SECOND;
	return s;
}

Test(top_rough, an_hour_of_updates_leaves_nothing_behind, .timeout = 600)
{
	static const char keys[] = "123456f\n\033t1\n\0331";
	size_t settled = 0;

	begin(0);
	for (unsigned int i = 0; i < 3600; i++) {
		top__update(t, an_update(i));
		key((unsigned char)keys[i / 7 % (sizeof(keys) - 1)]);
		cr_assert_eq(grid__broken_row(&g), -1);
		if (i == 600)
			settled = mallinfo2().uordblks;
	}
	/* sanitizers have no such count: they tell at the end what was never freed */
	cr_assert_leq(mallinfo2().uordblks, settled + 256 * 1024);
}
