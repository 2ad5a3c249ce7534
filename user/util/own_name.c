// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a demangled name is read. It may be any of
 *
 *	std::vector<int> app::make<int>(std::string const&)	what a template returns stands before it
 *	app::run() const::{lambda(int)#1}::operator()(int) const	parameters in the midst
 *	bool app::operator< <int>(app::A<int> const&)		brackets that are none
 *	<app::Row as core::clone::Clone>::clone			Rust
 *	main.(*Server).handle					Go
 *
 * and, because a target chooses its names, anything else. What always holds: a name is read from left to right,
 * each byte once or twice, with a bound on nested brackets and without recursion.
 */
#include "util/own_name.h"

#include <ctype.h>
#include <string.h>

#include "util/funcname.h"
#include "util/util.h"

#define NESTED_MAX 256		/* brackets */
#define LEN_MAX 4096		/* bytes; what is longer is not taken apart */

static const char anonymous[] = "(anonymous namespace)";

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Of an operator that is no word; 0: it is one. What follows may be template arguments: "operator+<char>". */
static size_t symbol_len(const char *s)
{
	/* the longer ones first */
	static const char *const symbols[] = {
		"->*", "<=>", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=",
		"+", "-", "*", "/", "%", "^", "&", "|", "~", "!", "=", "<", ">", ",",
	};

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		if (begins(s, symbols[i]))
			return strlen(symbols[i]);
	return 0;
}

/* "operator" as a word of its own, with what it is an operator of, up to template arguments or parameters; 0: it is something else. */
static size_t operator_len(const char *s, const char *start)
{
	static const char word[] = "operator";
	const char *p = s + strlen(word);

	if (!begins(s, word) || (s > start && is_word(s[-1])) || is_word(*p))
		return 0;
	if (begins(p, "()") || begins(p, "[]"))
		return (size_t)(p + 2 - s);
	if (begins(p, "\"\"")) {
		p += 2;
		p += *p == ' ';
		while (is_word(*p))
			p++;
		return (size_t)(p - s);
	}
	p += symbol_len(p);
	/* "operator< <int>" */
	if (p > s + strlen(word))
		return (size_t)(p - s) + (begins(p, " <") ? 1 : 0);
	/* "operator new[]", "operator std::string": up to what opens; blanks belong to it */
	while (*p && !strchr("(<", *p))
		p++;
	return (size_t)(p - s);
}

/* What looks like a bracket and is none; 0: nothing of that kind. */
static size_t plain_len(const char *s, const char *start)
{
	/* asked of every byte */
	switch (*s) {
	case 'o':
		return operator_len(s, start);
	case '(':
		return begins(s, anonymous) ? strlen(anonymous) : 0;
	case '-':
		return s[1] == '>' ? 2 : 0;
	}
	return 0;
}

static char closes(char open)
{
	switch (open) {
	case '(':
		return ')';
	case '<':
		return '>';
	case '[':
		return ']';
	case '{':
		return '}';
	}
	return 0;
}

/* Where the bracket at s ends; NULL: nowhere. A '>' within parentheses is "greater than". */
static const char *closing(const char *s, const char *start)
{
	char want[NESTED_MAX];
	size_t depth = 0;

	while (*s) {
		size_t n = plain_len(s, start);

		if (n) {
			s += n;
			continue;
		}
		/* "((1)<(2))" is a comparison */
		if (closes(*s) && !(*s == '<' && depth && want[depth - 1] == ')' && strchr(") ", s[-1]))) {
			if (depth == NESTED_MAX)
				return NULL;
			want[depth++] = closes(*s);
		} else if (depth && *s == want[depth - 1]) {
			if (!--depth)
				return s;
		} else if (*s == ')' || *s == ']' || *s == '}') {
			return NULL;
		}
		s++;
	}
	return NULL;
}

/* What may stand between parameters and the end, or "::". */
static const char *after_qualifiers(const char *s)
{
	static const char *const words[] = { " const", " volatile", " &&", " &", " noexcept", " restrict" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (begins(s, words[i]) && !is_word(s[strlen(words[i])])) {
			s += strlen(words[i]);
			i = (size_t)-1;
		}
	if (begins(s, "[abi:") && strchr(s, ']'))
		s = strchr(s, ']') + 1;
	return s;
}

/* What compilers say of their copies comes last. */
static bool is_end(const char *s)
{
	return !*s || (*s == ' ' && (begins(s, " [clone ") || begins(s, " (.")));
}

static struct own_name whole(const char *name, bool broken)
{
	return (struct own_name){ .s = name, .len = strlen(name), .broken = broken };
}

struct own_name own_name__of(const char *name)
{
	const char *from = name, *s = name, *end, *next;

	if (strnlen(name, LEN_MAX + 1) > LEN_MAX)
		return whole(name, true);
	while (*s) {
		size_t n = plain_len(s, name);

		if (n) {
			s += n;
			continue;
		}
		if (is_end(s))
			break;
		if (*s == ' ')
			from = s + 1;
		if (!closes(*s)) {
			s++;
			continue;
		}
		end = closing(s, name);
		if (!end && s == from)
			return whole(name, true);
		if (!end)
			return (struct own_name){ .s = from, .len = (size_t)(s - from), .broken = true };
		/* what is no list of parameters: "decltype (x)", a Go receiver, "<T as U>::f" */
		if (*s != '(' || s == from || s[-1] == ' ' || s[-1] == '.') {
			s = end + 1;
			continue;
		}
		next = after_qualifiers(end + 1);
		if (is_end(next))
			return (struct own_name){ .s = from, .len = (size_t)(s - from), .params = true };
		s = begins(next, "::") ? next : end + 1;
	}
	if (s == from)
		return whole(name, false);
	return (struct own_name){ .s = from, .len = (size_t)(s - from) };
}

/* ---- whose it is */

/* OTHER: Rust and Go, whose names have no parameters. */
enum language { ANY, CPP, OTHER };

static const struct {
	const char *begins;
	enum language of;
} libraries[] = {
	{ "std::", ANY },
	{ "__gnu_cxx::", CPP },
	{ "__cxxabiv1::", CPP },
	{ "__gnu_debug::", CPP },
	{ "fmt::", CPP },
	{ "absl::", CPP },
	{ "boost::container::", CPP },
	{ "boost::unordered::", CPP },
	{ "boost::intrusive::", CPP },
	{ "boost::multi_index::", CPP },
	{ "boost::movelib::", CPP },
	{ "boost::circular_buffer", CPP },
	{ "boost::ptr_", CPP },
	{ "boost::shared_ptr<", CPP },
	{ "boost::make_shared", CPP },
	{ "boost::allocate_shared", CPP },
	{ "boost::intrusive_ptr<", CPP },
	{ "boost::function", CPP },
	{ "boost::detail::", CPP },
	{ "boost::_bi::", CPP },
	{ "boost::basic_format<", CPP },
	{ "boost::io::", CPP },
	{ "boost::lexical_cast", CPP },
	{ "boost::conversion::", CPP },
	{ "boost::any::", CPP },
	{ "boost::variant<", CPP },
	{ "boost::asio::detail::", CPP },
	{ "folly::fbvector<", CPP },
	{ "folly::basic_fbstring<", CPP },
	{ "folly::fbstring_core<", CPP },
	{ "folly::f14::", CPP },
	{ "alloc::", OTHER },
	{ "core::", OTHER },
	{ "hashbrown::", OTHER },
	{ "__rustc", OTHER },
	/* Go's runtime */
	{ "runtime.", OTHER },
};

/* "core::load(int)" is somebody's own namespace. */
static bool in_library(const char *s, size_t len, bool cpp)
{
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		size_t n = strlen(libraries[i].begins);

		if (*s == *libraries[i].begins && len >= n && !memcmp(s, libraries[i].begins, n) && (!cpp || libraries[i].of != OTHER))
			return true;
	}
	return false;
}

/* Rust: " as " in "<T as Trait>", outside of inner brackets; NULL: none before end. */
static const char *as_at(const char *s, const char *end)
{
	const char *start = s;

	while (s < end) {
		const char *close = closes(*s) ? closing(s, start) : NULL;

		if (begins(s, " as "))
			return s;
		s = close && close < end ? close + 1 : s + 1;
	}
	return NULL;
}

/*
 * "<T as Trait>::f", "<T>::f". The library's own is what it implements for its own types, and for those that
 * belong to nobody: slices, references, u8, T. Somebody's trait for a Vec is somebody's.
 */
static bool is_library_impl(const struct own_name *o)
{
	const char *type = o->s + 1, *end = closing(o->s, o->s), *as, *type_end;
	bool theirs;

	if (!end || end >= o->s + o->len)
		return false;
	as = as_at(type, end);
	type_end = as ? as : end;
	if (begins(type, "dyn "))
		type += strlen("dyn ");
	theirs = strchr("&*[(", *type) || !memmem(type, (size_t)(type_end - type), "::", 2) ||
		 in_library(type, (size_t)(type_end - type), false);
	return theirs && (!as || in_library(as + strlen(" as "), (size_t)(end - as) - strlen(" as "), false));
}

bool own_name__is_library(const struct own_name *o)
{
	if (o->len && *o->s == '<' && !o->params)
		return is_library_impl(o);
	return in_library(o->s, o->len, o->params);
}

struct own_name own_name__lambda(const char *name)
{
	static const char word[] = "{lambda(";
	const char *at = strnlen(name, LEN_MAX + 1) > LEN_MAX ? NULL : strstr(name, word), *end = at ? closing(at, name) : NULL, *from = at;
	size_t depth = 0;

	if (!end)
		return (struct own_name){};
	/* back to where its scope begins: what it is an argument of, or the argument before */
	for (; from > name; from--) {
		char c = from[-1];

		if (strchr(")>}", c))
			depth++;
		else if (strchr("(<{", c) && !depth--)
			break;
		else if (!depth && (c == ',' || (c == ' ' && !begins(from, "const::"))))
			break;
	}
	return (struct own_name){ .s = from, .len = (size_t)(end + 1 - from) };
}

/* ---- as it is shown */

/* "::h0123456789abcdef" */
static size_t without_hash(const char *s, size_t len)
{
	static const size_t n = strlen("::h") + 16;

	if (len <= n || memcmp(s + len - n, "::h", 3))
		return len;
	for (size_t i = len - 16; i < len; i++)
		if (!isxdigit((unsigned char)s[i]))
			return len;
	return len - n;
}

/* "{lambda(int)#1}" is "{lambda#1}". What was taken of s. */
static size_t put_lambda(char **to, const char *s, const char *end)
{
	const char *params = s + strlen("{lambda"), *close = closing(params, s);

	*to = mempcpy(*to, s, strlen("{lambda"));
	if (close && close < end)
		*to = mempcpy(*to, close + 1, (size_t)(end - close));
	return (size_t)(end + 1 - s);
}

/* A bracket at the outermost level: most stay as they are. What was taken of s, 0: it does not end. */
static size_t put_bracket(char **to, const char *s, const struct own_name *o)
{
	const char *end = closing(s, o->s);

	if (!end || end >= o->s + o->len)
		return 0;
	if (begins(s, "{lambda("))
		return put_lambda(to, s, end);
	if (begins(s, "[abi:"))
		return (size_t)(end + 1 - s);
	/* parameters in the midst */
	if (*s == '(' && s > o->s && s[-1] != '.' && begins(after_qualifiers(end + 1), "::"))
		return (size_t)(after_qualifiers(end + 1) - s);
	*to = mempcpy(*to, s, (size_t)(end + 1 - s));
	return (size_t)(end + 1 - s);
}

/*
 * "<app::Row>::new", as one mangling of Rust has it, is the other's "app::Row::new"; "<app::Row as app::Job>::run" is
 * "app::Row::run": whose it is, and not which of its traits asks for it, is what its owner knows.
 */
static void unwrap(struct own_name *o, char **to)
{
	const char *end = *o->s == '<' && !o->params ? closing(o->s, o->s) : NULL, *as;

	if (!end || end + 1 >= o->s + o->len || !begins(end + 1, "::") || strchr("&*[(", o->s[1]) || begins(o->s, "<impl ") || begins(o->s, "<dyn "))
		return;
	as = as_at(o->s + 1, end);
	/* somebody's trait of a type that is nobody's, u8: the trait says more */
	if (as && !memmem(o->s + 1, (size_t)(as - o->s) - 1, "::", 2))
		return;
	*to = mempcpy(*to, o->s + 1, (size_t)((as ? as : end) - o->s) - 1);
	o->len -= (size_t)(end + 1 - o->s);
	o->s = end + 1;
}

char *own_name__shown(const char *name)
{
	static const char call[] = "}::operator()";
	struct own_name o = own_name__of(name);
	char *ret, *to;

	if (o.broken || !o.len)
		return xstrdup(name);
	o.len = without_hash(o.s, func_name__without_marks(o.s, o.len));
	ret = to = xmalloc(o.len + 1);
	unwrap(&o, &to);
	for (const char *s = o.s, *end = o.s + o.len; s < end;) {
		size_t n = plain_len(s, o.s), left = (size_t)(end - s);

		if (n) {
			to = mempcpy(to, s, MIN(n, left));
			s += n;
			continue;
		}
		n = closes(*s) ? put_bracket(&to, s, &o) : 0;
		if (!n)
			*to++ = *s;
		s += n ? n : 1;
	}
	*to = 0;
	if ((size_t)(to - ret) >= strlen(call) && !strcmp(to - strlen(call), call))
		to[1 - (ptrdiff_t)strlen(call)] = 0;
	return ret;
}
