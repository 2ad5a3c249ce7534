// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Numbers as users write them, and as users read them. Owns no state.
 *
 * What always holds: the locale has no say (a decimal point is '.', a group
 * mark is ','), so that files and columns are the same everywhere; all
 * arithmetic is on integers; a value that cannot be held is -ERANGE and never
 * wraps; a fixed-width form keeps its width for every uint64_t. Rounding is to
 * the nearest, and comes before the unit is chosen, so that what rounds up to
 * the next unit is shown in it: "1.0 MiB", not "1024.0 KiB".
 */
#include <errno.h>
#include <inttypes.h>
#include <strings.h>

#include "util/parse.h"
#include "util/util.h"

typedef unsigned __int128 u128;

#define NS_PER_MIN (60 * SECOND_NS)
#define NS_PER_HOUR (60 * NS_PER_MIN)
#define NS_PER_DAY (24 * NS_PER_HOUR)
#define NS_PER_YEAR (365 * NS_PER_DAY)

/* A non-negative decimal number: its whole part, and its fraction in billionths. */
struct decimal {
	uint64_t whole;
	uint32_t billionths;
	bool has_fraction;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* On success *end is the first character after the digits. */
static int scan_whole(const char *s, const char **end, uint64_t *ret)
{
	uint64_t n = 0;
	bool over = false;

	if (!is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			over = true;
	}
	*end = s;
	*ret = n;
	return over ? -ERANGE : 0;
}

static int scan_decimal(const char *s, const char **end, struct decimal *ret)
{
	struct decimal d = {};
	uint32_t place = 100000000;
	int err = 0;

	if (*s != '.') {
		err = scan_whole(s, &s, &d.whole);
		if (err == -EINVAL)
			return err;
	}
	if (*s == '.') {
		d.has_fraction = true;
		if (!is_digit(*++s))
			return -EINVAL;
		for (; is_digit(*s); s++, place /= 10)
			d.billionths += (uint32_t)(*s - '0') * place;
	}
	*end = s;
	*ret = d;
	return err;
}

/* Digits beyond what one unit holds are cut off, not rounded: a limit never grows by itself. */
static int scale(struct decimal d, uint64_t unit, uint64_t *ret)
{
	u128 v = (u128)d.whole * unit + (u128)d.billionths * unit / 1000000000;

	if (v > UINT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)v;
	return 0;
}

struct unit {
	const char *name;
	uint64_t n;
};

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcasecmp(units[i].name, name))
			return &units[i];
	}
	return NULL;
}

static int parse_with_unit(const char *s, const struct unit *units, size_t n_units, uint64_t *ret)
{
	const struct unit *u;
	struct decimal d;
	const char *end;
	int err;

	err = scan_decimal(s, &end, &d);
	if (err == -EINVAL)
		return err;
	u = find_unit(units, n_units, end);
	if (!u || (d.has_fraction && u->n == 1))
		return -EINVAL;
	return err ? err : scale(d, u->n, ret);
}

bool scan_number(const char **p, const char *end, unsigned int base, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;

	for (; s < end; s++) {
		unsigned int digit = is_digit(*s) ? *s - '0' :
				     *s >= 'a' && *s <= 'f' ? *s - 'a' + 10 :
				     *s >= 'A' && *s <= 'F' ? *s - 'A' + 10 : 16;

		if (digit >= base)
			break;
		if (n > (UINT64_MAX - digit) / base)
			return false;
		n = n * base + digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t n;
	int err;

	err = scan_whole(s, &end, &n);
	if (err == -EINVAL || *end)
		return -EINVAL;
	if (err || n < min || n > max)
		return -ERANGE;
	*ret = n;
	return 0;
}

int parse_size(const char *s, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 },	    { "B", 1 },
		{ "K", 1ULL << 10 }, { "KB", 1ULL << 10 }, { "KiB", 1ULL << 10 },
		{ "M", 1ULL << 20 }, { "MB", 1ULL << 20 }, { "MiB", 1ULL << 20 },
		{ "G", 1ULL << 30 }, { "GB", 1ULL << 30 }, { "GiB", 1ULL << 30 },
		{ "T", 1ULL << 40 }, { "TB", 1ULL << 40 }, { "TiB", 1ULL << 40 },
	};

	return parse_with_unit(s, units, ARRAY_SIZE(units), ret);
}

int parse_age(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "ns", 1 },	      { "us", US_NS },  { "ms", MS_NS },
		{ "s", SECOND_NS },    { "m", NS_PER_MIN },  { "h", NS_PER_HOUR },
	};
	uint64_t zero;

	/* Nothing is nothing in every unit. */
	if (!parse_u64(s, 0, 0, &zero)) {
		*ret_ns = 0;
		return 0;
	}
	return parse_with_unit(s, units, ARRAY_SIZE(units), ret_ns);
}

int parse_seconds(const char *s, uint64_t *ret_ns)
{
	static const struct unit plain[] = { { "", SECOND_NS } };

	return parse_with_unit(s, plain, 1, ret_ns);
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	return parse_seconds(s, ret_ns) ? parse_age(s, ret_ns) : 0;
}

char *fmt_bytes(char buf[static FMT_MAX], uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	uint64_t unit = 1024;

	if (bytes < 1024) {
		snprintf(buf, FMT_MAX, "%" PRIu64 " B", bytes);
		return buf;
	}
	for (int i = 0;; i++, unit *= 1024) {
		uint64_t tenths = (uint64_t)(((u128)bytes * 10 + unit / 2) / unit);

		/* "1008.0 KiB" would be a character too wide, and "1.0 MiB" is easier to read */
		if (tenths >= 10000)
			continue;
		snprintf(buf, FMT_MAX, "%" PRIu64 ".%" PRIu64 " %ciB", tenths / 10, tenths % 10, units[i]);
		return buf;
	}
}

char *fmt_count(char buf[static FMT_MAX], uint64_t n)
{
	static const char units[] = "kMGTPE";
	uint64_t unit = 1000;

	if (n < 100000)
		return fmt_exact(buf, n);
	for (int i = 0;; i++, unit *= 1000) {
		uint64_t hundredths = (uint64_t)(((u128)n * 100 + unit / 2) / unit);
		uint64_t tenths = (uint64_t)(((u128)n * 10 + unit / 2) / unit);

		if (hundredths < 1000)
			snprintf(buf, FMT_MAX, "%" PRIu64 ".%02" PRIu64 "%c", hundredths / 100,
				 hundredths % 100, units[i]);
		else if (tenths < 10000)
			snprintf(buf, FMT_MAX, "%" PRIu64 ".%" PRIu64 "%c", tenths / 10,
				 tenths % 10, units[i]);
		else
			continue;
		return buf;
	}
}

/*
 * The forms of a duration, from short to long: what is shown is a multiple of
 * step, and the form is good for values that stay below the limit once they
 * are rounded to it.
 */
struct span {
	uint64_t below, step;
	uint64_t big, small;	/* units of the two numbers; small 0: there is only one */
	const char *fmt;
};

static const struct span spans[] = {
	{ US_NS, 1, 1, 0, "%" PRIu64 "ns" },
	{ MS_NS, US_NS, US_NS, 0, "%" PRIu64 "us" },
	{ SECOND_NS, MS_NS, MS_NS, 0, "%" PRIu64 "ms" },
	{ NS_PER_MIN, SECOND_NS / 10, SECOND_NS, SECOND_NS / 10, "%" PRIu64 ".%" PRIu64 "s" },
	{ NS_PER_HOUR, SECOND_NS, NS_PER_MIN, SECOND_NS, "%" PRIu64 "m%02" PRIu64 "s" },
	{ NS_PER_DAY, NS_PER_MIN, NS_PER_HOUR, NS_PER_MIN, "%" PRIu64 "h%02" PRIu64 "m" },
	{ 100 * NS_PER_DAY, NS_PER_HOUR, NS_PER_DAY, NS_PER_HOUR, "%" PRIu64 "d%02" PRIu64 "h" },
	{ 10000 * NS_PER_DAY, NS_PER_DAY, NS_PER_DAY, 0, "%" PRIu64 "d" },
	{ UINT64_MAX, NS_PER_YEAR, NS_PER_YEAR, 0, "%" PRIu64 "y" },
};

char *fmt_duration(char buf[static FMT_MAX], uint64_t ns)
{
	const struct span *s;
	uint64_t v;

	if (!ns) {
		snprintf(buf, FMT_MAX, "0s");
		return buf;
	}
	for (s = spans;; s++) {
		if (__builtin_add_overflow(ns, s->step / 2, &v))
			v = UINT64_MAX;
		v -= v % s->step;
		if (v < s->below)
			break;
	}
/* every format is a literal of the table above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	if (s->small)
		snprintf(buf, FMT_MAX, s->fmt, v / s->big, v % s->big / s->small);
	else
		snprintf(buf, FMT_MAX, s->fmt, v / s->big);
#pragma GCC diagnostic pop
	return buf;
}

char *fmt_exact(char buf[static FMT_MAX], uint64_t n)
{
	char digits[FMT_MAX], *out = buf;
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}
