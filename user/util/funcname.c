// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what makes a name that a user gave and a name that a symbol has the same
 * function. What always holds: a name matches itself, and nothing is read
 * beyond its end; names are another program's, of any form.
 */
#include "util/funcname.h"

#include <ctype.h>
#include <string.h>

#include "util/util.h"

/* ---- BINARY:FUNC */

bool func_ref__parse(const char *text, struct func_ref *ret)
{
	const char *colon = NULL;

	/* "::" belongs to a name, and so does whatever stands in brackets */
	for (const char *s = text; *s && *s != '(' && *s != '<' && !colon; s++) {
		if (s[0] == ':' && s[1] == ':')
			s++;
		else if (*s == ':')
			colon = s;
	}
	*ret = (struct func_ref){ text, colon ? (size_t)(colon - text) : 0, colon ? colon + 1 : text };
	return *ret->function && colon != text;
}

bool func_ref__is_in(const struct func_ref *r, const char *path)
{
	const char *base;
	size_t len;

	if (!r->binary_len)
		return true;
	if (!path)
		return false;
	if (strlen(path) == r->binary_len && !memcmp(path, r->binary, r->binary_len))
		return true;
	base = path_basename(path);
	len = strlen(base);
	if (len < r->binary_len || memcmp(base, r->binary, r->binary_len))
		return false;
	/* "libc.so" is "libc.so.6", and "prog" is not "prog.d" */
	return len == r->binary_len ||
	       (base[r->binary_len] == '.' && r->binary_len > 3 && !memcmp(r->binary + r->binary_len - 3, ".so", 3));
}

/* ---- names */

/* What compilers put after the name of a copy, and of a piece. */
static const struct {
	const char *word;
	bool part;
} marks[] = {
	{ "constprop", false }, { "isra", false }, { "lto_priv", false }, { "llvm", false },
	{ "__uniq", false },	{ "part", true },  { "cold", true },
};

static bool is_mark(const char *word, size_t len, bool parts)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strlen(marks[i].word) == len && !memcmp(marks[i].word, word, len))
			return parts || !marks[i].part;
	return false;
}

static bool is_number(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return len > 0;
}

/* ".constprop.0.isra.2" or the like: all of it; false: something else is in it. */
static bool are_marks(const char *s, size_t len, bool parts)
{
	bool first = true;

	while (len) {
		const char *end;
		size_t n;

		if (*s != '.')
			return false;
		end = memchr(s + 1, '.', len - 1);
		n = end ? (size_t)(end - s - 1) : len - 1;
		if (!is_mark(s + 1, n, parts) && (first || !is_number(s + 1, n)))
			return false;
		s += n + 1;
		len -= n + 1;
		first = false;
	}
	return !first;
}

/* The length of a name without the marks of copies; SIZE_MAX: it is a piece, which was not requested. */
static size_t without_marks(const char *name, size_t len, bool parts)
{
	static const char clone[] = " [clone ";

	/* ns::f(int) [clone .isra.0] [clone .cold] */
	while (len && name[len - 1] == ']') {
		const char *at = NULL;

		for (size_t i = 0; i + strlen(clone) < len; i++)
			if (!memcmp(name + i, clone, strlen(clone)))
				at = name + i;
		if (!at)
			return len;
		if (!are_marks(at + strlen(clone), (size_t)(name + len - 1 - (at + strlen(clone))), true))
			return len;
		if (!are_marks(at + strlen(clone), (size_t)(name + len - 1 - (at + strlen(clone))), parts))
			return SIZE_MAX;
		len = (size_t)(at - name);
	}
	/* f.isra.0.cold: the first dot from which on there are marks alone */
	for (size_t i = 1; i < len; i++)
		if (name[i] == '.' && are_marks(name + i, len - i, true))
			return are_marks(name + i, len - i, parts) ? i : SIZE_MAX;
	return len;
}

size_t func_name__without_marks(const char *name, size_t len)
{
	return without_marks(name, len, true);
}

/* Where the bracket that ends at name[len - 1] begins; SIZE_MAX: it is not there. */
static size_t opening(const char *name, size_t len, char open, char close)
{
	size_t depth = 0;

	while (len--) {
		/* not that of -> and >= */
		if (name[len] == close)
			depth++;
		else if (name[len] == open && !--depth)
			return len;
	}
	return SIZE_MAX;
}

/* "ns::f(int) const" → "ns::f" */
static size_t without_parameters(const char *name, size_t len)
{
	static const char *const behind[] = { " const", " volatile", " &", " &&", " noexcept" };
	size_t n = len, at;

	for (size_t i = 0; i < ARRAY_SIZE(behind); i++) {
		size_t k = strlen(behind[i]);

		if (n > k && !memcmp(name + n - k, behind[i], k)) {
			n -= k;
			i = (size_t)-1;
		}
	}
	if (!n || name[n - 1] != ')')
		return len;
	at = opening(name, n, '(', ')');
	return at == SIZE_MAX || !at ? len : at;
}

/* Where "operator" stands as a word at the end of the name, as far as it goes; SIZE_MAX: nowhere. */
static size_t operator_at(const char *name, size_t len)
{
	static const char word[] = "operator";
	size_t n = strlen(word), at = SIZE_MAX;

	for (size_t i = 0; i + n < len; i++)
		if (!memcmp(name + i, word, n) && (!i || name[i - 1] == ':' || name[i - 1] == ' ') &&
		    !isalnum((unsigned char)name[i + n]) && name[i + n] != '_')
			at = i;
	return at;
}

/* "void ns::f<int>" → where "ns::f<int>" begins: only templates are shown with what they return. */
static size_t after_type(const char *name, size_t len)
{
	size_t depth = 0, op = operator_at(name, len), at = 0;

	for (size_t i = 0; i < MIN(len, op); i++) {
		if (name[i] == '<' || name[i] == '(')
			depth++;
		else if ((name[i] == '>' || name[i] == ')') && depth)
			depth--;
		else if (name[i] == ' ' && !depth)
			at = i + 1;
	}
	return at;
}

static bool is(const char *asked, const char *name, size_t len)
{
	return strlen(asked) == len && !memcmp(asked, name, len);
}

bool func_name__matches(const char *asked, const char *name, bool parts)
{
	size_t len, from, n;

	if (!strcmp(asked, name))
		return true;
	len = without_marks(name, strlen(name), parts);
	if (len == SIZE_MAX)
		return false;
	if (is(asked, name, len))
		return true;
	n = without_parameters(name, len);
	if (is(asked, name, n))
		return true;
	from = after_type(name, n);
	if (is(asked, name + from, len - from) || is(asked, name + from, n - from))
		return true;
	/* ns::f<int>, but not operator> */
	if (n > from && name[n - 1] == '>' && operator_at(name, n) == SIZE_MAX) {
		size_t at = opening(name + from, n - from, '<', '>');

		return at != SIZE_MAX && at && is(asked, name + from, at);
	}
	return false;
}
