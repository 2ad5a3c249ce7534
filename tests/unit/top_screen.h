/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* One live view and its screen, for tests: keys go in, rows come out. */
#ifndef MT_TOP_SCREEN_H
#define MT_TOP_SCREEN_H

#include <time.h>

#include "grid_text.h"
#include "top_made.h"

static struct grid g;
static struct top *t;

static inline void begin(unsigned int flags)
{
	setenv("TZ", "UTC", 1);
	tzset();
	t = made__top(flags);
	grid__resize(&g, 24, 120);
	top__draw(t, &g);
}

static inline void end(void)
{
	top__free(t);
	grid__done(&g);
}

static inline void key(int k)
{
	top__key(t, k);
	top__draw(t, &g);
}

static inline char *row(int n)
{
	static char *kept[8];
	static size_t at;

	free(kept[at % ARRAY_SIZE(kept)]);
	return kept[at++ % ARRAY_SIZE(kept)] = grid__row_text(&g, n);
}

/* The row under the cursor, as text. */
static inline char *selected(void)
{
	for (int i = 0; i < g.rows; i++)
		if (grid__cell(&g, i, 0)->selected)
			return row(i);
	return "";
}

#define says(text) cr_assert(made__says(&g, text), "%s", text)
#define says_not(text) cr_assert_not(made__says(&g, text), "%s", text)
#define is_selected(text) cr_assert(strstr(selected(), text), "%s", selected())

#endif
