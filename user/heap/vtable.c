// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. The Itanium C++ ABI, which gcc and clang have in common:
 *
 *	object:   [0] → vtable
 *	vtable:   [-2] how far the object begins before this part of it   [-1] → typeinfo   [0...] functions
 *	typeinfo: [0] → vtable of the class of the typeinfo   [1] → name, mangled
 *
 * A typeinfo is an object too: its own class is one of three of the runtime's, whose names begin alike. So the way leads
 * through two vtables and ends in a text that nothing else has there, and a word that happens to look like a pointer is
 * not taken for an object. No symbols are needed. Without typeinfo (-fno-rtti) the symbol of the vtable has the name.
 */
#include "heap/vtable.h"

#include <string.h>

#define WORD sizeof(uint64_t)
#define TYPEINFO_OF_TYPEINFO "N10__cxxabiv1"
#define VTABLE_SYMBOL "_ZTV"

/* The part of a module's memory that a pointer leads to. */
static bool read_words(struct modules *m, uint64_t addr, uint64_t words[2])
{
	return addr % WORD == 0 && modules__find(m, addr) && modules__read(m, addr, words, 2 * WORD);
}

/* Up to n - 1 bytes and a NUL; false: it is longer, or holds what no mangled name does. */
static bool read_name(struct modules *m, uint64_t addr, char *to, size_t n)
{
	uint64_t page_bytes = m->t->page_bytes;

	if (!modules__find(m, addr))
		return false;
	for (size_t at = 0, len; at < n; at += len) {
		len = MIN(n - at, page_bytes - (addr + at) % page_bytes);
		if (!modules__read(m, addr + at, to + at, len))
			return false;
		for (size_t i = at; i < at + len; i++) {
			if (!to[i])
				return i > 0;
			if (to[i] <= ' ' || to[i] > '~')
				return false;
		}
	}
	return false;
}

/* Is it a vtable of the runtime's own classes of typeinfo? */
static bool is_of_typeinfo(struct modules *m, uint64_t vp)
{
	char name[sizeof(TYPEINFO_OF_TYPEINFO) + 64];
	uint64_t head[2], info[2];

	return read_words(m, vp - 2 * WORD, head) && !head[0] && read_words(m, head[1], info) &&
	       read_name(m, info[1], name, sizeof(name)) &&
	       !strncmp(name, TYPEINFO_OF_TYPEINFO, strlen(TYPEINFO_OF_TYPEINFO));
}

/* What stands after a "... for " that the demangler puts in front. */
static bool demangled(const char *mangled, char buf[static DEMANGLE_OUT_MAX + 1])
{
	static const char *const fronts[] = { "typeinfo for ", "vtable for " };

	demangle(mangled, buf);
	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++)
		if (!strncmp(buf, fronts[i], strlen(fronts[i]))) {
			memmove(buf, buf + strlen(fronts[i]), strlen(buf) - strlen(fronts[i]) + 1);
			return buf[0];
		}
	return false;
}

static bool by_typeinfo(struct modules *m, uint64_t info_addr, char buf[static DEMANGLE_OUT_MAX + 1])
{
	static const char front[] = "_ZTI";
	char name[sizeof(front) + DEMANGLE_IN_MAX];
	uint64_t info[2];
	char *at = name + strlen(front);

	if (!read_words(m, info_addr, info) || !is_of_typeinfo(m, info[0]) ||
	    !read_name(m, info[1], at, sizeof(name) - strlen(front)))
		return false;
	/* a '*': classes of that name in other files are others; or the name of the runtime's own classes in libc++ */
	if (*at == '*')
		at++;
	at -= strlen(front);
	memcpy(at, front, strlen(front));
	return demangled(at, buf);
}

static bool by_symbol(struct modules *m, uint64_t vp, char buf[static DEMANGLE_OUT_MAX + 1])
{
	struct module *in = modules__find(m, vp);
	const struct variables *all = module__variables(m, in);
	const struct variable *v = variables__find(all, vp - 2 * WORD - in->bias);

	return v && !strncmp(variable__name(all, v), VTABLE_SYMBOL, strlen(VTABLE_SYMBOL)) &&
	       demangled(variable__name(all, v), buf);
}

bool vtable__class(struct modules *m, uint64_t vp, char buf[static DEMANGLE_OUT_MAX + 1])
{
	uint64_t head[2];

	/* a block begins where its object does: any other part of it is further in */
	if (vp % WORD || !modules__find(m, vp) || !read_words(m, vp - 2 * WORD, head) || head[0])
		return false;
	return head[1] ? by_typeinfo(m, head[1], buf) : by_symbol(m, vp, buf);
}
