// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Help text and man page tell of the same options. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "options/opts.h"
#include "util/util.h"

static char *help_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert(f);
	opts__help(f);
	fclose(f);
	return text;
}

Test(opts_help, fits_80_columns)
{
	_cleanup_free_ char *text = help_text();
	char *rest = text, *l;

	while ((l = strsep(&rest, "\n"))) {
		cr_expect_lt(strlen(l), 80, "%s", l);
		cr_expect_null(strstr(l, "--python"));
	}
}

static bool is_name(char c)
{
	return islower((unsigned char)c) || c == '-';
}

/* The long options that stand in a text, each as " name " in one string. */
static char *long_options(const char *text)
{
	char *list = calloc(1, strlen(text) * 2 + 2), *end = list;

	cr_assert(list);
	*end++ = ' ';
	for (const char *s = text; (s = strstr(s, "--")); ) {
		s += 2;
		if (!is_name(*s))
			continue;
		while (is_name(*s))
			*end++ = *s++;
		*end++ = ' ';
	}
	return list;
}

static void check_all_in(const char *names, const char *in, const char *what)
{
	_cleanup_free_ char *copy = strdup(names);
	char *rest = copy, *w, key[80];
	int n = 0;

	while ((w = strsep(&rest, " "))) {
		if (!*w)
			continue;
		n++;
		snprintf(key, sizeof(key), " %s ", w);
		cr_expect(strstr(in, key), "--%s is not in the %s", w, what);
	}
	cr_expect_gt(n, 20, "the options were not found at all");
}

/* The man page tells of every option of this version, and of no other. */
Test(opts_help, man_page)
{
	_cleanup_free_ char *help = help_text();
	_cleanup_free_ char *page = NULL, *in_help = NULL, *in_page = NULL;
	size_t len;
	char *out;

	cr_assert_eq(read_small_file("docs/malloctrace.1", &page, &len), 0, "run from the top of the source tree");
	/* roff's \- is a plain - */
	out = page;
	for (char *s = page; *s; s++) {
		if (s[0] != '\\' || s[1] != '-')
			*out++ = *s;
	}
	*out = '\0';
	in_help = long_options(help);
	in_page = long_options(page);
	check_all_in(in_help, in_page, "man page");
	check_all_in(in_page, in_help, "help text");
	for (const char *s = help; (s = strstr(s, "\n  -")); s += 4) {
		char key[8];

		if (s[4] == '-')
			continue;
		snprintf(key, sizeof(key), "-%c", s[4]);
		cr_expect(strstr(page, key), "%s is not in the man page", key);
	}
}
