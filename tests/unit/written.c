// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns how tests make files of snapshots. */
#include "written.h"

#include <criterion/criterion.h>

#include "files/json/json_read.h"
#include "util/util.h"

char *written__as(const struct snapshot *s, const char *format, const struct export_opts *o, size_t *ret_len)
{
	const struct export_opts recorded = { .report = { .older_ns = s->recording.older_ns } };
	_cleanup_err_ struct err e = {};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, ret_len ? ret_len : &len);

	cr_assert_eq(export__find_by_name(format)->write(out, s, o ? o : &recorded, &e), 0, "%s: %s", format, err_msg(&e));
	fclose(out);
	return text;
}

struct snapshot *written__read_back(const struct snapshot *s)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *json = NULL;
	struct snapshot *read = NULL;
	size_t len;

	json = written__as(s, "json", NULL, &len);
	cr_assert_eq(json_read__text(json, len, &read, &e), 0, "%s", err_msg(&e));
	return read;
}

void written__check_same(const struct snapshot *want, const struct snapshot *got, const char *format, const char *what)
{
	_cleanup_free_ char *a = NULL, *b = NULL;
	size_t a_len, b_len, at = 0;

	a = written__as(want, format, NULL, &a_len);
	b = written__as(got, format, NULL, &b_len);
	while (a[at] && a[at] == b[at])
		at++;
	cr_assert(a_len == b_len && at == a_len, "%s of %s at byte %zu: want\n%.300s\ngot\n%.300s", format, what, at, a + at - MIN(at, 60), b + at - MIN(at, 60));
}
