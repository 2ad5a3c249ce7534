// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of characters that do not take one column: East Asian Width W
 * and F, and nonspacing marks, in ranges coarse enough to be read. wcwidth() knows
 * them too, but only in a UTF-8 locale, which a service or `sudo` may not have.
 *
 * What always holds: no byte is left out or counted twice, whatever the bytes are;
 * one that is no UTF-8 is a column.
 */
#include "util/text.h"

#include <ctype.h>
#include <string.h>

#include "util/sorted.h"
#include "util/util.h"

#define ELLIPSIS "…"

static const struct {
	uint32_t from, to;
	uint8_t cols;
} ranges[] = {
	{ 0x0300, 0x036f, 0 },	 { 0x0483, 0x0489, 0 },	  { 0x0591, 0x05bd, 0 },   { 0x0610, 0x061a, 0 },   { 0x064b, 0x065f, 0 },
	{ 0x0900, 0x0902, 0 },	 { 0x0e34, 0x0e3a, 0 },	  { 0x0e47, 0x0e4e, 0 },   { 0x1100, 0x115f, 2 },   { 0x1160, 0x11ff, 0 },
	{ 0x1ab0, 0x1aff, 0 },	 { 0x1dc0, 0x1dff, 0 },	  { 0x200b, 0x200f, 0 },   { 0x20d0, 0x20ff, 0 },   { 0x231a, 0x231b, 2 },
	{ 0x23e9, 0x23ec, 2 },	 { 0x2614, 0x2615, 2 },	  { 0x2648, 0x2653, 2 },   { 0x26f2, 0x26f5, 2 },   { 0x2705, 0x2705, 2 },
	{ 0x270a, 0x270b, 2 },	 { 0x274c, 0x274c, 2 },	  { 0x2753, 0x2757, 2 },   { 0x2795, 0x2797, 2 },   { 0x2b1b, 0x2b1c, 2 },
	{ 0x2b50, 0x2b55, 2 },	 { 0x2e80, 0x3029, 2 },	  { 0x302a, 0x302d, 0 },   { 0x302e, 0x303e, 2 },   { 0x3041, 0x3098, 2 },
	{ 0x3099, 0x309a, 0 },	 { 0x309b, 0x4dbf, 2 },	  { 0x4e00, 0xa4cf, 2 },   { 0xa960, 0xa97f, 2 },   { 0xac00, 0xd7a3, 2 },
	{ 0xf900, 0xfaff, 2 },	 { 0xfe00, 0xfe0f, 0 },	  { 0xfe10, 0xfe19, 2 },   { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },
	{ 0xff01, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x16fe0, 0x18cff, 2 }, { 0x1b000, 0x1b2ff, 2 }, { 0x1f300, 0x1f64f, 2 },
	{ 0x1f680, 0x1f6ff, 2 }, { 0x1f7e0, 0x1f7eb, 2 }, { 0x1f900, 0x1f9ff, 2 }, { 0x1fa70, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
	{ 0xe0100, 0xe01ef, 0 },
};

static unsigned int cols_of(uint32_t c)
{
	size_t i = sorted__count(r, ranges, ARRAY_SIZE(ranges), r->to < c);

	return i < ARRAY_SIZE(ranges) && ranges[i].from <= c ? ranges[i].cols : 1;
}

size_t text_next(const char *text, size_t n, uint32_t *ret_char, unsigned int *ret_cols)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 1;
	uint32_t c;

	*ret_cols = 1;
	*ret_char = s[0] < 0x80 ? s[0] : '?';
	if (len == 1)
		return 1;
	c = s[0] & (0xff >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if (i >= n || (s[i] & 0xc0) != 0x80)
			return 1;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret_char = c;
	*ret_cols = cols_of(c);
	return len;
}

static size_t next_char(const char *s, size_t n, unsigned int *ret_cols)
{
	uint32_t c;

	return text_next(s, n, &c, ret_cols);
}

size_t text_width_n(const char *s, size_t n_bytes)
{
	size_t width = 0;
	unsigned int cols;

	for (size_t i = 0; i < n_bytes; width += cols)
		i += next_char(s + i, n_bytes - i, &cols);
	return width;
}

size_t text_width(const char *s)
{
	return text_width_n(s, strlen(s));
}

size_t text_head(const char *s, size_t room)
{
	size_t n = strlen(s), at = 0, width = 0;
	unsigned int cols;

	while (at < n) {
		size_t len = next_char(s + at, n - at, &cols);

		if (width + cols > room)
			break;
		width += cols;
		at += len;
	}
	return at;
}

size_t text_tail(const char *s, size_t room)
{
	size_t n = strlen(s), left = text_width_n(s, n), at = 0;
	unsigned int cols;

	while (at < n && left > room) {
		at += next_char(s + at, n - at, &cols);
		left -= cols;
	}
	/* a mark without the character it belongs to */
	while (at < n) {
		size_t len = next_char(s + at, n - at, &cols);

		if (cols)
			break;
		at += len;
	}
	return at;
}

char *text_shorten(const char *s, size_t width)
{
	size_t tail = width / 3;

	if (text_width(s) <= width)
		return xstrdup(s);
	if (width < 2)
		return xstrdup(width ? ELLIPSIS : "");
	return xasprintf("%.*s" ELLIPSIS "%s", (int)text_head(s, width - 1 - tail), s, s + text_tail(s, tail));
}

/* ---- characters */

size_t utf8__decode(const void *at, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = at;
	size_t len, i;
	uint32_t c;

	*ret = s[0];
	if (s[0] < 0x80)
		return s[0] != 0;
	len = s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
	if (!len)
		return 0;
	c = s[0] & (0xff >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret = c;
	return c < least[len] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0 : len;
}

size_t utf8__encode(char to[static 4], uint32_t c)
{
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(first[n] | c);
	return n;
}

/* ---- how near a word is to the one that may have been meant */

#define EDIT_MAX_BYTES 256	/* longer words are near to none */

/* How many letters must be inserted, removed, replaced or swapped to turn a into b; most + 1: more than most. */
static size_t edit_distance(const char *a, const char *b, size_t most)
{
	size_t la = strlen(a), lb = strlen(b), rows[3][EDIT_MAX_BYTES + 1], *before = rows[0],
	       *last = rows[1], *now = rows[2];

	if (la > EDIT_MAX_BYTES || lb > EDIT_MAX_BYTES || (la > lb ? la - lb : lb - la) > most)
		return most + 1;
	for (size_t j = 0; j <= lb; j++)
		last[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *spare = before, least = now[0] = i;

		for (size_t j = 1; j <= lb; j++) {
			size_t cost = MIN(last[j - 1] + (a[i - 1] != b[j - 1]), MIN(last[j], now[j - 1]) + 1);

			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = MIN(cost, before[j - 2] + 1);
			now[j] = cost;
			least = MIN(least, cost);
		}
		if (least > most)
			return most + 1;
		before = last;
		last = now;
		now = spare;
	}
	return MIN(last[lb], most + 1);
}

size_t typo_distance(const char *typed, const char *meant)
{
	size_t most = MAX(1, strlen(typed) / 3), far = edit_distance(typed, meant, most);

	return far <= most ? far : SIZE_MAX;
}

/* ---- names that differ in numbers alone */

/* Owns nothing. What always holds: names have no control characters, so none can be taken for a number's mark. */

#define NUMBER '\1'

static size_t n_digits(const char *s)
{
	size_t n = 0;

	while (isdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* "worker-17" → "worker-" NUMBER, in as many bytes or fewer */
char *numbered__pattern(const char *name)
{
	char *ret = xstrdup(name), *to = ret;

	while (*name) {
		size_t n = n_digits(name);

		*to++ = n ? NUMBER : *name;
		name += n ? n : 1;
	}
	*to = 0;
	return ret;
}

void numbered__add(char *sum, const char *name)
{
	char *to = sum;

	while (*sum && *name) {
		size_t a = *sum == NUMBER ? 1 : n_digits(sum), b = n_digits(name);
		bool same = a == b && !memcmp(sum, name, a);

		if (!a || !b) {
			*to++ = *sum++;
			name++;
			continue;
		}
		if (same) {
			memmove(to, sum, a);
			to += a;
		} else {
			*to++ = NUMBER;
		}
		sum += a;
		name += b;
	}
	*to = 0;
}

void numbered__end(char *sum)
{
	for (; *sum; sum++)
		if (*sum == NUMBER)
			*sum = '*';
}
