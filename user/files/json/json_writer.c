// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns JSON's syntax. What always holds: the output is valid JSON and valid
 * UTF-8 whatever the strings hold, and no number depends on the locale. In a
 * page it has none of `<`, `>` and `&`, so that an HTML parser finds no tag, no
 * comment and no entity in it, and neither U+2028 nor U+2029, which are the end
 * of a line to some script parsers.
 */
#include "files/json/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

static bool is_special_in_page(const unsigned char *s)
{
	return *s == '<' || *s == '>' || *s == '&' || (s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9));
}

static void put_string(const struct json *j, const char *str)
{
	FILE *out = j->out;
	const unsigned char *s = (const unsigned char *)str;

	fputc('"', out);
	while (*s) {
		size_t len = 0;
		uint32_t c;

		/* nearly all there is, in one go */
		while (s[len] >= 0x20 && s[len] < 0x7f && s[len] != '"' && s[len] != '\\' &&
		       !(j->in_page && is_special_in_page(s + len)))
			len++;
		if (len) {
			fwrite(s, 1, len, out);
			s += len;
			continue;
		}
		len = utf8__decode(s, &c);
		if (!len) {
			fputs("\xef\xbf\xbd", out);
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else if (j->in_page && is_special_in_page(s))
			fprintf(out, "\\u%04x", len == 3 ? 0x2000 | (s[2] & 0x3f) : *s);
		else
			fwrite(s, 1, len, out);
		s += len;
	}
	fputc('"', out);
}

static void break_line(struct json *j)
{
	fprintf(j->out, "\n%*s", j->in_page ? 0 : j->indent, "");
	j->newline = false;
}

static void begin(struct json *j, const char *key)
{
	bool tight = j->in_page || j->terse;

	if (j->comma)
		fputs(j->newline || tight ? "," : ", ", j->out);
	if (j->newline)
		break_line(j);
	if (key) {
		put_string(j, key);
		fputs(tight ? ":" : ": ", j->out);
	}
	j->comma = true;
}

/* In an array each value has its place. */
static bool leaves_out(const struct json *j, const char *key, bool empty)
{
	return j->terse && key && empty;
}

static void open_with(struct json *j, const char *key, char c)
{
	begin(j, key);
	fputc(c, j->out);
	j->comma = false;
}

static void close_with(struct json *j, char c)
{
	if (j->newline)
		break_line(j);
	fputc(c, j->out);
	j->comma = true;
}

void json__object(struct json *j, const char *key)
{
	open_with(j, key, '{');
}

void json__object_end(struct json *j)
{
	close_with(j, '}');
}

void json__array(struct json *j, const char *key)
{
	open_with(j, key, '[');
}

void json__array_end(struct json *j)
{
	close_with(j, ']');
}

void digits__put(FILE *out, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	fwrite(digits + at, 1, sizeof(digits) - at, out);
}

void json__u64(struct json *j, const char *key, uint64_t n)
{
	if (leaves_out(j, key, !n))
		return;
	begin(j, key);
	digits__put(j->out, n);
}

void json__i64(struct json *j, const char *key, int64_t n)
{
	if (leaves_out(j, key, !n))
		return;
	begin(j, key);
	fprintf(j->out, "%" PRId64, n);
}

void json__double(struct json *j, const char *key, double d)
{
	char buf[40];

	begin(j, key);
	if (!isfinite(d)) {
		fputs("null", j->out);
		return;
	}
	/* as many digits as it takes to read the same number again */
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, d);
		if (strtod(buf, NULL) == d)
			break;
	}
	/* the one conversion that depends on the locale */
	for (char *c = buf; *c; c++)
		if (*c == ',')
			*c = '.';
	fputs(buf, j->out);
	/* a reader with types should find a fraction where one may be */
	if (!strpbrk(buf, ".e"))
		fputs(".0", j->out);
}

void json__bool(struct json *j, const char *key, bool b)
{
	if (leaves_out(j, key, !b))
		return;
	begin(j, key);
	fputs(b ? "true" : "false", j->out);
}

void json__unknown(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
}

void json__null(struct json *j, const char *key)
{
	if (!leaves_out(j, key, true))
		json__unknown(j, key);
}

void json__str(struct json *j, const char *key, const char *s)
{
	if (!s) {
		json__null(j, key);
		return;
	}
	begin(j, key);
	put_string(j, s);
}

void json__hex(struct json *j, const char *key, uint64_t n)
{
	begin(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", n);
}

void json__line(struct json *j, int indent)
{
	j->newline = true;
	j->indent = indent;
}
