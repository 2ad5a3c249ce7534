/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Symbol names as their authors wrote them: C++ (Itanium), Rust (legacy and v0). */
#ifndef MT_DEMANGLE_H
#define MT_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_IN_MAX 4096	/* bytes; what is longer is cut, not demangled */
#define DEMANGLE_OUT_MAX 1024	/* bytes, with the "…" that marks a cut, without the NUL */

/*
 * Writes the readable, clean form of name into buf and returns its length.
 * C++ as c++filt prints it, with parameters; Rust without its hash. A name that
 * is not mangled, or mangled wrongly, is itself. name is read up to its NUL or
 * to DEMANGLE_IN_MAX + 1 bytes.
 */
size_t demangle(const char *name, char buf[static DEMANGLE_OUT_MAX + 1]);

#endif
