// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns where values of JSON begin and end. What always holds: nothing outside of the text is read. */
#include "files/json/json_cut.h"

#include <limits.h>
#include <string.h>

void span__skip_space(struct span *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
}

bool span__take(struct span *s, char c)
{
	span__skip_space(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* After the closing quote; false: there is none. */
static bool skip_string(struct span *s)
{
	const char *quote, *before;

	for (s->at++; (quote = memchr(s->at, '"', (size_t)(s->end - s->at))); s->at = quote + 1) {
		/* the opening quote is no backslash either */
		for (before = quote; before[-1] == '\\'; before--)
			;
		if ((quote - before) % 2)
			continue;
		s->at = quote + 1;
		return true;
	}
	s->at = s->end;
	return false;
}

/* The value at s, whatever it is. Brackets are counted, not matched: Jansson will see. */
bool span__value(struct span *s, struct span *ret)
{
	/* all but a few bytes mean nothing here */
	static const bool means[UCHAR_MAX + 1] = { ['"'] = true, [','] = true, ['{'] = true, ['['] = true, ['}'] = true, [']'] = true };
	size_t depth = 0;

	span__skip_space(s);
	ret->at = s->at;
	while (s->at < s->end) {
		char c = *s->at;

		if (!means[(unsigned char)c]) {
			s->at++;
			continue;
		}
		if (c == '"') {
			if (!skip_string(s))
				return false;
			if (!depth)
				break;
			continue;
		}
		if (!depth && (c == ',' || c == '}' || c == ']'))
			break;
		s->at++;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && !--depth)
			break;
	}
	ret->end = s->at;
	return !depth && ret->end > ret->at;
}

/*
 * The next element of an array whose '[' was taken. False: there is none; *ret_bad says whether
 * there should be one.
 */
bool span__element(struct span *s, bool *first, struct span *ret, bool *ret_bad)
{
	*ret_bad = false;
	if (span__take(s, ']'))
		return false;
	*ret_bad = (!*first && !span__take(s, ',')) || !span__value(s, ret);
	*first = false;
	return !*ret_bad;
}
