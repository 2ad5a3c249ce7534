// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The table of views: what it names is there, and what it names twice is the same. */
#include <criterion/criterion.h>
#include <string.h>

#include "present/columns.h"
#include "present/views.h"

Test(views, name_columns_and_orders_that_there_are)
{
	for (size_t i = 0; i < n_views; i++) {
		const struct view *v = &views[i];
		const struct columns *shown = view__columns(v);
		const char *list = v->live.columns ? v->live.columns : "";
		bool sorted = !shown->n;
		size_t n_named = *list != 0;

		for (const char *at = list; (at = strchr(at, ' ')); at++)
			n_named++;
		cr_assert_eq(shown->n, n_named, "%s: %s", v->name, list);
		for (size_t k = 0; k < shown->n; k++) {
			const struct column *c = &shown->v[k];

			cr_expect(c->width || k + 1 == shown->n, "%s: %s is as wide as it likes", v->name, c->as);
			cr_expect(c->left || k + 1 < shown->n, "%s: %s is to take what is left", v->name, c->as);
			cr_expect(!strchr(c->as, '=') && strlen(c->as) + 1 < sizeof(c->as), "%s", c->as);
			sorted |= !strcmp(c->as, v->live.sort);
		}
		cr_expect(sorted, "%s is sorted by no column", v->name);
		if (v->rows == ROWS_SITES) {
			cr_expect(v->figure && rank__key(v->sort), "%s", v->name);
			cr_expect(!v->weighs || rank__key(v->weighs), "%s", v->name);
		}
		cr_expect_eq(view__of(v->bit), v, "%s twice", v->name);
		cr_expect_eq(view__find(v->name, strlen(v->name)), v->internal ? 0 : (unsigned int)v->bit);
	}
}

/* What a page draws is columns of the table, and rows are sorted by one of them. */
Test(views, of_a_page_name_columns_that_there_are)
{
	for (size_t i = 0; i < n_views; i++) {
		const struct view *v = &views[i];
		const struct columns *all = v->page.of ? v->page.of : v->columns;
		char names[256] = "", *at = names;
		bool sorted = !v->page.sort;

		cr_assert_lt(strlen(v->page.columns ? v->page.columns : ""), sizeof(names));
		strcpy(names, v->page.columns ? v->page.columns : "");
		for (const char *name; (name = strsep(&at, " ")) && *name;) {
			cr_expect_not_null(columns__find(all, name), "%s: %s", v->name, name);
			sorted |= v->page.sort && !strcmp(name, v->page.sort);
		}
		cr_expect(sorted, "%s is sorted by no column", v->name);
	}
}

/* Of two with one key a trace has only one. */
Test(views, share_no_key)
{
	for (size_t i = 0; i < n_views; i++)
		for (size_t k = 0; k < i; k++)
			if (views[i].live.key && views[i].live.key == views[k].live.key)
				cr_expect(views[i].where & WHERE_GROWTH && (views[k].where & WHERE_NO_GROWTH || views[k].needs & HAS_LIVE_BYTES),
					  "%s and %s", views[i].name, views[k].name);
}

Test(views, are_the_words_of_the_option)
{
	const char *names = views__names();
	size_t n = 0, words = 1;

	for (size_t i = 0; i < n_views; i++)
		n += !views[i].internal + !!views[i].alias;
	for (const char *s = names; *s; s++)
		words += *s == ' ';
	cr_expect_eq(words, n, "%s", names);
	cr_expect_eq(strncmp(names, "live leaks allocs peak ", 23), 0, "%s", names);
}
