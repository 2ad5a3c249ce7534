/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Functions as users name them: FUNC or BINARY:FUNC, in options that are about functions of the program. */
#ifndef MT_FUNCNAME_H
#define MT_FUNCNAME_H

#include <stdbool.h>
#include <stddef.h>

struct func_ref {
	const char *binary;	/* a path, or its last part; not ended by a NUL */
	size_t binary_len;	/* 0: any */
	const char *function;
};

/* Both parts point into text. False: one of them is empty. */
bool func_ref__parse(const char *text, struct func_ref *ret);
/* Is it the binary's path, or that path's last part? Of a library, the version after .so may be left out. */
bool func_ref__is_in(const struct func_ref *r, const char *path);

/*
 * Does asked name the function that is called `name`, demangled as
 * elf/demangle.c does it? Namespaces and classes are part of a name; parameters,
 * arguments of a template, the return type that goes before a template's name, and the
 * marks of copies that compilers make (.constprop.0, [clone .isra.0]) may be left
 * out, from the right. parts: also pieces of it that do not begin where the function
 * does (.cold, .part.0).
 */
bool func_name__matches(const char *asked, const char *name, bool parts);
/* Of the first len bytes of a name, those before the marks of copies and pieces. */
size_t func_name__without_marks(const char *name, size_t len);

#endif
