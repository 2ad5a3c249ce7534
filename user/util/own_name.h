/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A demangled name taken apart: what the function itself is called, without what stands before
 * and behind it. C++, Rust (both manglings), Go and C; names are another program's, of any form.
 */
#ifndef MT_OWN_NAME_H
#define MT_OWN_NAME_H

#include <stdbool.h>
#include <stddef.h>

struct own_name {
	const char *s;		/* where scope and name begin: after a return type, "non-virtual thunk to" */
	size_t len;		/* up to the parameters, "const", "[clone .cold]" */
	bool params;		/* it has parameters: it is C++ */
	bool broken;		/* brackets do not match: this is as far as it is understood */
};

/* Never empty unless the name is. s points into name. */
struct own_name own_name__of(const char *name);
/*
 * Does it belong to a standard library, or to one of containers and formatting? By the scope of the function alone:
 * std:: among its arguments, or in what it returns, says nothing.
 */
bool own_name__is_library(const struct own_name *o);
/*
 * The lambda that a library's function was made for, among its template arguments: "main::{lambda()#2}" of
 * "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#2}> > >::_M_run()", into which it is inlined. s NULL: none.
 */
struct own_name own_name__lambda(const char *name);
/*
 * As its owner would write it: without parameters, what it returns, the hash of a Rust name, and the marks of a
 * compiler's copies. "app::run(int) const::{lambda(char)#2}::operator()(char) const" is "app::run::{lambda#2}".
 * A broken one is the whole name. The caller's.
 */
char *own_name__shown(const char *name);

#endif
