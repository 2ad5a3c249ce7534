// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the way from a mangled name to a readable one.
 *
 * A mangled name is a small program: back references let 100 bytes stand for
 * gigabytes. Three bounds hold here whatever the name: its length, libiberty's
 * recursion limit, and the length of what comes out. libiberty's callbacks
 * cannot make it stop, so a name that goes on long past what is kept is left
 * by longjmp. libiberty keeps its state on the stack in callback mode, with one
 * exception (the buffer of a Rust punycode identifier, smaller than the name),
 * so nothing to speak of is leaked by such a name.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#undef ARRAY_SIZE	/* libiberty.h has one, too */
#include "util/util.h"

#define ELLIPSIS "…"
#define OUT_GIVE_UP (64 * 1024)	/* a name this long is a bomb, not a name */

struct out {
	char *buf;
	size_t len;		/* of all that came, also of what was not kept */
	jmp_buf give_up;
};

static void collect(const char *s, size_t len, void *arg)
{
	struct out *out = arg;

	/* an empty Rust identifier comes as NULL */
	if (len && out->len < DEMANGLE_OUT_MAX + 1)
		memcpy(out->buf + out->len, s, MIN(len, DEMANGLE_OUT_MAX + 1 - out->len));
	out->len += len;
	if (out->len > OUT_GIVE_UP)
		longjmp(out->give_up, 1);
}

/* Ends buf, whose first len bytes (of which DEMANGLE_OUT_MAX + 1 are there) are a name. */
static size_t finish(char *buf, size_t len)
{
	if (len > DEMANGLE_OUT_MAX) {
		len = DEMANGLE_OUT_MAX - strlen(ELLIPSIS);
		while (len && ((unsigned char)buf[len] & 0xc0) == 0x80)
			len--;
		memcpy(buf + len, ELLIPSIS, strlen(ELLIPSIS));
		len += strlen(ELLIPSIS);
	}
	buf[len] = '\0';
	clean_name(buf);
	return len;
}

size_t demangle(const char *name, char buf[static DEMANGLE_OUT_MAX + 1])
{
	/* volatile: read again after a longjmp */
	const char *volatile mangled = name;
	size_t volatile n = strnlen(name, DEMANGLE_IN_MAX + 1);
	struct out out = { .buf = buf };
	bool ok = false;

	if (n <= DEMANGLE_IN_MAX && name[0] == '_') {
		if (setjmp(out.give_up))
			return finish(buf, out.len);
		/* Rust's old scheme is also valid C++: it must be tried first. */
		ok = rust_demangle_callback(mangled, DMGL_NO_OPTS, collect, &out);
		if (!ok) {
			out.len = 0;
			ok = cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE, collect,
							&out);
		}
	}
	if (ok && out.len)
		return finish(buf, out.len);
	memcpy(buf, mangled, MIN(n, (size_t)DEMANGLE_OUT_MAX + 1));
	return finish(buf, n);
}
