// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Numbers in and out: what is taken, what is refused, and that columns keep their width. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <string.h>

#include "util/parse.h"
#include "util/util.h"

#define UNTOUCHED 0xdeadbeefULL

struct in {
	const char *s;
	int err;
	uint64_t want;
};

static void check_in(int (*parse)(const char *, uint64_t *), const struct in *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int err = parse(t[i].s, &v);

		cr_expect_eq(err, t[i].err, "'%s': %d, want %d", t[i].s, err, t[i].err);
		cr_expect_eq(v, t[i].err ? UNTOUCHED : t[i].want, "'%s': %" PRIu64, t[i].s, v);
	}
}

static int any_u64(const char *s, uint64_t *ret)
{
	return parse_u64(s, 0, UINT64_MAX, ret);
}

Test(parse, u64)
{
	static const struct in t[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1,000", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
	};

	check_in(any_u64, t, ARRAY_SIZE(t));
}

Test(parse, u64_range)
{
	uint64_t v = UNTOUCHED;

	cr_expect_eq(parse_u64("4", 5, 10, &v), -ERANGE);
	cr_expect_eq(parse_u64("11", 5, 10, &v), -ERANGE);
	cr_expect_eq(v, UNTOUCHED);
	cr_expect_eq(parse_u64("5", 5, 10, &v), 0);
	cr_expect_eq(v, 5);
	cr_expect_eq(parse_u64("10", 5, 10, &v), 0);
	cr_expect_eq(v, 10);
}

Test(parse, size)
{
	static const struct in t[] = {
		{ "0", 0, 0 },
		{ "100", 0, 100 },
		{ "100B", 0, 100 },
		{ "4K", 0, 4096 },
		{ "4k", 0, 4096 },
		{ "4KB", 0, 4096 },
		{ "4KiB", 0, 4096 },
		{ "2M", 0, 2 << 20 },
		{ "1G", 0, 1 << 30 },
		{ "1T", 0, 1ULL << 40 },
		{ "1.5K", 0, 1536 },
		{ ".5K", 0, 512 },
		{ "0.0009765625K", 0, 0 },	/* nine digits count: cut off, not rounded up */
		{ "16777215T", 0, 16777215ULL << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1.5B", -EINVAL, 0 },
		{ "1.K", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "4 K", -EINVAL, 0 },
		{ "4Ki", -EINVAL, 0 },
		{ "4KK", -EINVAL, 0 },
		{ "-4K", -EINVAL, 0 },
		{ "99999999999999999999Q", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	check_in(parse_size, t, ARRAY_SIZE(t));
}

Test(parse, age)
{
	static const struct in t[] = {
		{ "0", 0, 0 },
		{ "0s", 0, 0 },
		{ "7ns", 0, 7 },
		{ "7us", 0, 7000 },
		{ "500ms", 0, 500000000 },
		{ "10s", 0, 10000000000 },
		{ "1.5s", 0, 1500000000 },
		{ "5m", 0, 300000000000 },
		{ "2h", 0, 7200000000000 },
		{ "5124095h", 0, 5124095ULL * 3600 * 1000000000 },
		{ "5124096h", -ERANGE, 0 },
		{ "10", -EINVAL, 0 },
		{ "1.5ns", -EINVAL, 0 },
		{ "5parsecs", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "5 s", -EINVAL, 0 },
		{ "-5s", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	check_in(parse_age, t, ARRAY_SIZE(t));
}

Test(parse, seconds)
{
	static const struct in t[] = {
		{ "5", 0, 5000000000 },
		{ "0.5", 0, 500000000 },
		{ ".25", 0, 250000000 },
		{ "0.0000000019", 0, 1 },
		{ "0", 0, 0 },
		{ "18446744073", 0, 18446744073ULL * 1000000000 },
		{ "18446744074", -ERANGE, 0 },
		{ "5s", -EINVAL, 0 },
		{ "0,5", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	check_in(parse_seconds, t, ARRAY_SIZE(t));
}

struct out {
	uint64_t n;
	const char *want;
};

static void check_out(char *(*fmt)(char[static FMT_MAX], uint64_t), const struct out *t, size_t n)
{
	char buf[FMT_MAX];

	for (size_t i = 0; i < n; i++) {
		cr_expect_eq(fmt(buf, t[i].n), buf);
		cr_expect_str_eq(buf, t[i].want, "%" PRIu64 ": '%s', want '%s'", t[i].n, buf, t[i].want);
	}
}

#define KIB 1024ULL
#define MIB (1024 * KIB)

Test(fmt, bytes)
{
	static const struct out t[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 999 * KIB + 972, "999.9 KiB" },
		{ 999 * KIB + 973, "1.0 MiB" },
		{ 1023 * KIB, "1.0 MiB" },
		{ 1023 * KIB + 511, "1.0 MiB" },
		{ 1023 * KIB + 973, "1.0 MiB" },
		{ MIB - 1, "1.0 MiB" },
		{ 31 * MIB, "31.0 MiB" },
		{ 1ULL << 40, "1.0 TiB" },
		{ 1ULL << 50, "1.0 PiB" },
		{ 1ULL << 60, "1.0 EiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	check_out(fmt_bytes, t, ARRAY_SIZE(t));
}

Test(fmt, count)
{
	static const struct out t[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 31744, "31,744" },
		{ 99999, "99,999" },
		{ 100000, "100.0k" },
		{ 182449, "182.4k" },
		{ 999949, "999.9k" },
		{ 999950, "1.00M" },
		{ 5470000, "5.47M" },
		{ 9994999, "9.99M" },
		{ 9995000, "10.0M" },
		{ 999950000, "1.00G" },
		{ UINT64_MAX, "18.4E" },
	};

	check_out(fmt_count, t, ARRAY_SIZE(t));
}

Test(fmt, duration)
{
	static const struct out t[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1000, "1us" },
		{ 999499, "999us" },
		{ 999500, "1ms" },
		{ 4000000, "4ms" },
		{ 999499999, "999ms" },
		{ 999500000, "1.0s" },
		{ 29900000000, "29.9s" },
		{ 59949999999, "59.9s" },
		{ 59950000000, "1m00s" },
		{ 134000000000, "2m14s" },
		{ 3599499999999, "59m59s" },
		{ 3599500000000, "1h00m" },
		{ 86369999999999, "23h59m" },
		{ 86370000000000, "1d00h" },
		{ 76 * 3600000000000ULL, "3d04h" },
		{ 99 * 86400000000000ULL + 23 * 3600000000000ULL, "99d23h" },
		{ 100 * 86400000000000ULL, "100d" },
		{ 9999 * 86400000000000ULL, "9999d" },
		{ 10000 * 86400000000000ULL, "27y" },
		{ UINT64_MAX, "584y" },
	};

	check_out(fmt_duration, t, ARRAY_SIZE(t));
}

Test(fmt, exact)
{
	static const struct out t[] = {
		{ 0, "0" },
		{ 100, "100" },
		{ 1000, "1,000" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	check_out(fmt_exact, t, ARRAY_SIZE(t));
}

/* Criterion's assertions are slow in a loop of a million: one is made only for what is wrong. */
static void check_width(char *(*fmt)(char[static FMT_MAX], uint64_t), uint64_t n, size_t width)
{
	char buf[FMT_MAX];

	if (strlen(fmt(buf, n)) > width)
		cr_assert_fail("%" PRIu64 ": '%s' is wider than %zu", n, buf, width);
}

static void check_widths(uint64_t n)
{
	check_width(fmt_bytes, n, 9);
	check_width(fmt_count, n, 7);
	check_width(fmt_duration, n, 6);
}

/* Around every power of 2 and of 10 and the multiples of the units of time, where digits are gained. */
Test(fmt, never_wider_than_the_column)
{
	static const uint64_t times[] = { 60, 3600, 86400, 8640000, 864000000, 31536000 };
	uint64_t ten = 1;

	for (int d = -1100; d <= 1100; d++) {
		for (int bit = 0; bit < 64; bit++)
			check_widths((1ULL << bit) + (uint64_t)d);
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			check_widths(times[i] * 1000000000 + (uint64_t)(int64_t)d * 1000000);
	}
	for (int i = 0; i < 20; i++, ten *= 10) {
		for (uint64_t k = 1; k <= 1030; k++) {
			check_widths(ten * k - 1);
			check_widths(ten * k);
			check_widths(ten / 2 + ten * k);
		}
	}
	for (uint64_t n = 1, i = 0; i < 200000; i++) {
		n = n * 6364136223846793005ULL + 1442695040888963407ULL;
		check_widths(n >> (i % 64));
	}
}

Test(fmt, locale_has_no_say)
{
	char buf[FMT_MAX];
	uint64_t v = 0;

	/* Where no such locale is installed this still checks the "C" one. */
	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		setlocale(LC_ALL, "");
	cr_expect_str_eq(fmt_bytes(buf, 1536), "1.5 KiB");
	cr_expect_str_eq(fmt_exact(buf, 1234), "1,234");
	cr_expect_eq(parse_seconds("0.5", &v), 0);
	cr_expect_eq(v, 500000000);
}
