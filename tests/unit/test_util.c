// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Names made clean, errors on their way up, growing arrays, searching in order, small files. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/err.h"
#include "util/sorted.h"
#include "util/util.h"

static const struct {
	const char *in, *out;
} names[] = {
	{ "", "" },
	{ "plain name", "plain name" },
	{ "~!\"$%&/()=?`", "~!\"$%&/()=?`" },
	/* control characters, DEL, escape sequences */
	{ "a\tb\nc\rd\001e\177f", "a?b?c?d?e?f" },
	{ "\033[31mred\033[0m", "?[31mred?[0m" },
	{ "\033]0;title\007", "?]0;title?" },
	/* C1 controls, as bytes and as UTF-8; the first above them is a letter's place */
	{ "\x9b" "31m", "?31m" },
	{ "\xc2\x9b" "31m", "??31m" },
	{ "\xc2\x80", "??" },
	{ "\xc2\x9f", "??" },
	{ "\xc2\xa0", "\xc2\xa0" },
	/* what is UTF-8 stays */
	{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
	{ "\xe2\x82\xac \xe6\xbc\xa2\xe5\xad\x97", "\xe2\x82\xac \xe6\xbc\xa2\xe5\xad\x97" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
	{ "\xf4\x8f\xbf\xbd", "\xf4\x8f\xbf\xbd" },
	/* overlong forms of '/' and ESC, of U+07FF and U+FFFF */
	{ "\xc0\xaf", "??" },
	{ "\xc1\xbf", "??" },
	{ "\xe0\x80\x9b", "???" },
	{ "\xe0\x9f\xbf", "???" },
	{ "\xf0\x80\x80\x9b", "????" },
	{ "\xf0\x8f\xbf\xbf", "????" },
	/* surrogates, beyond the last character, bytes that never begin one */
	{ "\xed\xa0\x80", "???" },
	{ "\xed\xbf\xbf", "???" },
	{ "\xee\x80\x80", "\xee\x80\x80" },
	{ "\xf4\x90\x80\x80", "????" },
	{ "\xf5\x80\x80\x80", "????" },
	{ "\xf8\x88\x80\x80\x80", "?????" },
	{ "\xfe\xff", "??" },
	{ "\x80\xbf", "??" },
	/* cut off: at the end, and by another character that must not be swallowed */
	{ "\xc3", "?" },
	{ "\xe2\x82", "??" },
	{ "\xf0\x9f\x98", "???" },
	{ "\xc3" "abc", "?abc" },
	{ "\xe2\x82\033[1m", "???[1m" },
	{ "\xe2\xc3\xbc", "?\xc3\xbc" },
	/* marks that turn text around or hide it */
	{ "\xe2\x80\xae" "txt.exe", "???txt.exe" },
	{ "\xe2\x80\xaa", "???" },
	{ "\xe2\x81\xa6x\xe2\x81\xa9", "???x???" },
	{ "\xe2\x80\x8e\xe2\x80\x8f", "??????" },
	{ "a\xe2\x80\x8b" "b", "a???b" },
	{ "\xe2\x80\xa8\xe2\x80\xa9", "??????" },
	{ "\xe2\x81\xa0", "???" },
	{ "\xef\xbb\xbf", "???" },
	/* their neighbours are not */
	{ "\xe2\x80\x8a\xe2\x80\x90", "\xe2\x80\x8a\xe2\x80\x90" },
	{ "\xe2\x80\xa6\xe2\x80\xaf", "\xe2\x80\xa6\xe2\x80\xaf" },
};

Test(clean_name, table)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* an own block of just that size: a look beyond its end is seen by a sanitizer */
		_cleanup_free_ char *s = strdup(names[i].in);

		cr_assert_not_null(s);
		clean_name(s);
		cr_expect_str_eq(s, names[i].out, "row %zu: '%s'", i, s);
		clean_name(s);
		cr_expect_str_eq(s, names[i].out, "row %zu: clean is clean", i);
	}
}

/* A message has lines and tabs of its own; what it names has nothing else that a terminal acts on. */
Test(clean_name, messages)
{
	char text[] = "cannot run ./ev\033[31mil: no\n\thint\r\x07\n\n", empty[] = "";

	clean_message(text);
	cr_expect_str_eq(text, "cannot run ./ev?[31mil: no\n\thint??\n\n");
	clean_message(empty);
	cr_expect_str_eq(empty, "");
}

Test(clean_name, every_two_bytes)
{
	for (unsigned int a = 1; a < 256; a++)
		for (unsigned int b = 1; b < 256; b++) {
			char s[] = { a, b, 0 };

			clean_name(s);
			cr_assert_eq(strlen(s), 2);
			for (int i = 0; i < 2; i++)
				cr_assert((unsigned char)s[i] >= 0x20 && s[i] != 0x7f, "%#x %#x", a, b);
			if ((unsigned char)s[0] >= 0x80 || (unsigned char)s[1] >= 0x80)
				cr_assert((a >= 0xc2 && a < 0xe0 && b >= 0x80 && b < 0xc0) && (a > 0xc2 || b >= 0xa0), "%#x %#x", a, b);
		}
}

Test(err, order)
{
	struct err e = {};

	cr_expect_eq(err_set(&e, -ENOENT, "no %s", "file"), -ENOENT);
	cr_expect_eq(e.code, -ENOENT);
	cr_expect_str_eq(err_msg(&e), "no file");
	cr_expect_eq(err_wrap(&e, -ENOENT, "inner %d", 1), -ENOENT);
	err_hint(&e, "first %s", "hint");
	cr_expect_eq(err_wrap(&e, -ENOENT, "outer"), -ENOENT);
	err_hint(&e, "second");
	cr_expect_str_eq(err_msg(&e), "outer: inner 1: no file\n  first hint\n  second");
	/* a new error takes the old one's place whole */
	cr_expect_eq(err_set(&e, -EPERM, "%s", "100%s"), -EPERM);
	cr_expect_str_eq(err_msg(&e), "100%s");
	cr_expect_eq(err_wrap(&e, -EPERM, "%s", "50%d"), -EPERM);
	cr_expect_str_eq(err_msg(&e), "50%d: 100%s");
	err_done(&e);
	cr_expect_null(e.msg);
	cr_expect_eq(e.code, 0);
	err_done(&e);
}

Test(err, without_a_message)
{
	struct err e = { .code = -ENOMEM };

	cr_expect_str_eq(err_msg(&e), strerror(ENOMEM));
	cr_expect_eq(err_wrap(&e, -ENOMEM, "tables"), -ENOMEM);
	cr_expect(strstr(err_msg(&e), "tables: ") == err_msg(&e) && strstr(err_msg(&e), strerror(ENOMEM)));
	err_done(&e);
}

/* A code that came without a sentence is still an error. */
Test(err, without_being_set)
{
	struct err e = {};

	cr_expect_eq(err_wrap(&e, -ENOMEM, "element %d", 3), -ENOMEM);
	cr_expect_eq(e.code, -ENOMEM);
	cr_expect(strstr(err_msg(&e), "element 3: ") == err_msg(&e) && strstr(err_msg(&e), strerror(ENOMEM)));
	err_done(&e);
}

Test(err, nobody_listens)
{
	cr_expect_eq(err_set(NULL, -EIO, "%s", "lost"), -EIO);
	cr_expect_eq(err_wrap(NULL, -ENOMEM, "%s", "x"), -ENOMEM);
	err_hint(NULL, "%s", "x");
}

struct odd {
	uint64_t n;
	char pad[13];
};

Test(vec, grows)
{
	struct vec(struct odd) v = {};

	for (uint64_t i = 0; i < 5000; i++) {
		struct odd *slot = vec_push(&v);

		cr_assert_not_null(slot);
		cr_assert_eq(slot, &v.v[i]);
		cr_assert_eq(v.n, i + 1);
		cr_assert_geq(v.room, v.n);
		cr_assert_eq(slot->n, 0, "zeroed");
		cr_assert_eq(slot->pad[12], 0);
		slot->n = i + 1;
		memset(slot->pad, 0xee, sizeof(slot->pad));
	}
	for (uint64_t i = 0; i < 5000; i++)
		cr_assert_eq(v.v[i].n, i + 1);
	/* a slot that is given again is zeroed again */
	v.n = 7;
	cr_expect_eq(vec_push(&v)->n, 0);
	cr_expect_eq(v.v[6].n, 7);
	vec_done(&v);
	cr_expect_null(v.v);
	cr_expect_eq(v.n, 0);
	cr_expect_eq(v.room, 0);
}

/* Each number of elements up to 9, and each place between them. */
Test(sorted, count)
{
	static const unsigned int odd[] = { 1, 3, 5, 7, 9, 11, 13, 15, 17 };

	for (size_t n = 0; n <= ARRAY_SIZE(odd); n++)
		for (unsigned int below = 0; below <= 20; below++)
			cr_expect_eq(sorted__count(one, odd, n, *one < below), MIN(below / 2, n), "%zu, %u", n, below);
	cr_expect_eq(sorted__count(one, (const int *)NULL, 0, *one), 0);
}

Test(sorted, equal_ones)
{
	static const unsigned int v[] = { 1, 2, 2, 2, 3 };

	cr_expect_eq(sorted__count(one, v, ARRAY_SIZE(v), *one < 2), 1);
	cr_expect_eq(sorted__count(one, v, ARRAY_SIZE(v), *one <= 2), 4);
}

Test(sorted, ranges)
{
	struct range {
		uint64_t start, end;
	} v[] = { { 10, 20 }, { 20, 21 }, { 30, 40 }, { UINT64_MAX - 1, UINT64_MAX } };
	static const struct {
		uint64_t addr;
		int is;
	} rows[] = { { 0, -1 }, { 9, -1 }, { 10, 0 },  { 19, 0 },  { 20, 1 },		   { 21, -1 },
		     { 29, -1 }, { 30, 2 }, { 39, 2 }, { 40, -1 }, { UINT64_MAX - 1, 3 }, { UINT64_MAX, -1 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(sorted__range_of(v, ARRAY_SIZE(v), rows[i].addr), rows[i].is < 0 ? NULL : &v[rows[i].is], "%#llx",
			     (unsigned long long)rows[i].addr);
	cr_expect_null(sorted__range_of(v, 0, 10));
}

Test(read_small_file, failures)
{
	char *text = (char *)"before";
	size_t len = 3;

	cr_expect_eq(read_small_file("/no/such/file", &text, &len), -ENOENT);
	cr_expect_eq(read_small_file("/", &text, &len), -EISDIR);
	cr_expect_eq(read_small_file("/proc/self/status/x", &text, &len), -ENOTDIR);
	cr_expect_str_eq(text, "before");
	cr_expect_eq(len, 3);
}

/* What has no end, and what is one byte too long. */
Test(read_small_file, too_long)
{
	char path[] = "/tmp/malloctrace-test-XXXXXX", *text = (char *)"before";
	int fd = mkstemp(path);
	size_t len = 3;

	cr_expect_eq(read_small_file("/dev/zero", &text, &len), -EFBIG);
	cr_assert_eq(pwrite(fd, "12345", 5, 0), 5);
	cr_expect_eq(read_file_upto(path, 4, &text, &len), -EFBIG);
	cr_expect_str_eq(text, "before");
	cr_expect_eq(len, 3);
	cr_assert_eq(read_file_upto(path, 5, &text, &len), 0);
	cr_expect_eq(len, 5);
	free(text);
	close(fd);
	unlink(path);
}

Test(read_small_file, proc)
{
	_cleanup_free_ char *status = NULL, *cmdline = NULL, *empty = NULL;
	char want[64];
	size_t len = 0;

	/* files whose size stat gives as 0 */
	cr_assert_eq(read_small_file("/proc/self/status", &status, &len), 0);
	cr_expect_eq(strlen(status), len);
	snprintf(want, sizeof(want), "\nPid:\t%d\n", (int)getpid());
	cr_expect_not_null(strstr(status, want));
	cr_assert_eq(read_small_file("/proc/self/cmdline", &cmdline, &len), 0);
	cr_expect_gt(len, 0);
	cr_expect_eq(cmdline[len], 0);
	cr_assert_eq(read_small_file("/dev/null", &empty, &len), 0);
	cr_expect_eq(len, 0);
	cr_expect_str_eq(empty, "");
}

Test(read_small_file, sizes)
{
	static const size_t sizes[] = { 1, 4094, 4095, 4096, 4097, 8191, 8192, 100000 };
	char path[] = "/tmp/malloctrace-test-XXXXXX", data[100000];
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i * 7 % 251;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_free_ char *text = NULL;
		size_t len = 0;

		cr_assert_eq(ftruncate(fd, 0), 0);
		cr_assert_eq(pwrite(fd, data, sizes[i], 0), (ssize_t)sizes[i]);
		cr_assert_eq(read_small_file(path, &text, &len), 0);
		cr_expect_eq(len, sizes[i]);
		cr_expect_eq(memcmp(text, data, sizes[i]), 0);
		cr_expect_eq(text[len], 0);
	}
	close(fd);
	unlink(path);
}

Test(vec, the_first_that_a_condition_holds_for)
{
	static const int odd[] = { 1, 3, 5 };
	struct vec(int) none = {};

	cr_expect_eq(table_first(n, odd, *n > 2), &odd[1]);
	cr_expect_eq(table_first(n, odd, *n > 5), NULL);
	cr_expect_eq(array_first(n, odd, 2, *n == 5), NULL, "beyond the length");
	cr_expect_eq(vec_first(n, &none, true), NULL);
}

Test(vec, keeps_what_a_condition_holds_for)
{
	struct vec(int) v = {};

	for (int i = 1; i <= 5; i++)
		*vec_push(&v) = i;
	vec_keep(n, &v, *n % 2);
	cr_assert_eq(v.n, 3);
	cr_expect(v.v[0] == 1 && v.v[1] == 3 && v.v[2] == 5, "in their order");
	vec_keep(n, &v, false);
	cr_expect_eq(v.n, 0);
	vec_done(&v);
}
