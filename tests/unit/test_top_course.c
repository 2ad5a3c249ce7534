// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Courses on the live view's screen: where a cell is says when, and what is not known is blank. */
#include <criterion/criterion.h>

#include "present/top/top_parts.h"
#include "top_screen.h"

#define S MADE_SECOND

TestSuite(top_course, .fini = end);

/* A digit for each cell, 100 being 9; '.' where nothing is known. */
static const char *drawn(const struct snap_point *v, size_t n, uint64_t now_ns, int width)
{
	static char text[65];
	double cells[64];

	course__cells(v, n, now_ns, point__live, cells, width);
	for (int i = 0; i < width; i++)
		text[i] = isnan(cells[i]) ? '.' : (char)('0' + (int)(cells[i] * 9 / 100));
	text[width] = 0;
	return text;
}

Test(top_course, has_the_same_time_in_every_cell)
{
	/* half of the points are of the last two seconds: they have no more room than these take */
	static const struct snap_point v[] = {
		{ .t_ns = 0 }, { .t_ns = 2 * S, .live_bytes = 10 }, { .t_ns = 4 * S, .live_bytes = 20 }, { .t_ns = 6 * S, .live_bytes = 30 },
		{ .t_ns = 8 * S, .live_bytes = 40 }, { .t_ns = 17 * S / 2, .live_bytes = 50 }, { .t_ns = 9 * S, .live_bytes = 60 },
		{ .t_ns = 19 * S / 2, .live_bytes = 80 }, { .t_ns = 10 * S, .live_bytes = 100 },
	};

	cr_expect_str_eq(drawn(v, ARRAY_SIZE(v), 10 * S, 5), "01239");
	cr_expect_str_eq(drawn(v, ARRAY_SIZE(v), 10 * S, 10), "0001122359");
	cr_expect_str_eq(drawn(v, ARRAY_SIZE(v), 10 * S, 1), "9");
	cr_expect_str_eq(drawn(v, 0, 10 * S, 3), "...");
}

Test(top_course, leaves_what_nobody_looked_at_blank)
{
	struct snap_point v[40];
	size_t n = 0;

	/* a point each second, but for the time from 10s to 30s */
	for (unsigned int i = 0; i <= 40; i++)
		if (i <= 10 || i >= 30)
			v[n++] = (struct snap_point){ .t_ns = i * S, .live_bytes = i <= 10 ? 50 : 100 };
	cr_expect_str_eq(drawn(v, n, 40 * S, 8), "44...999");
	/* one that came late has nothing before it, one that ended nothing after it */
	cr_expect_str_eq(drawn(v + 11, n - 11, 40 * S, 8), ".....999");
	cr_expect_str_eq(drawn(v, 11, 40 * S, 8), "44......");
}

Test(top_course, is_no_gap_where_old_points_were_merged)
{
	/* as a course of hours has them: twice as far apart, each time, and a second in the end */
	struct snap_point v[16];
	uint64_t t_ns = 0, step = 4096;
	size_t n = 0;

	for (; step; step /= 2) {
		v[n++] = (struct snap_point){ .t_ns = t_ns, .live_bytes = 100 };
		t_ns += step * S;
	}
	v[n++] = (struct snap_point){ .t_ns = t_ns, .live_bytes = 100 };
	cr_expect_str_eq(drawn(v, n, t_ns, 16), "9999999999999999");
}

/* The screen has it so: a site that is known since the last third has its bars there. */
Test(top_course, of_a_row_is_as_long_as_the_trace)
{
	static const struct snap_point late[] = {
		{ .t_ns = 23 * S, .live_bytes = 1 << 20 }, { .t_ns = 26 * S, .live_bytes = 1 << 20 }, { .t_ns = 30 * S, .live_bytes = 2 << 20 },
	};
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	s = made__sample(SAMPLE_SINGLE, 0);
	s->sites[1].history = late;
	s->sites[1].n_history = ARRAY_SIZE(late);
	s->duration_ns = 32 * S;
	top__update(t, s);
	top__draw(t, &g);
	cr_expect(strstr(row(made__row_of(&g, "_dictExpand")), "0 B       ▅▅█ "), "%s", row(made__row_of(&g, "_dictExpand")));
}
