/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Memory that is there: where none can be had, the process ends with a message that names the size. The kernel removes the probes,
 * atexit() handlers restore the terminal and remove the output file that was begun. Nobody who calls these checks.
 */
#ifndef MT_XMALLOC_H
#define MT_XMALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void *xmalloc(size_t n) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, alloc_size(1, 2), returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((alloc_size(2), returns_nonnull));
void *xreallocarray(void *p, size_t n, size_t size)
	__attribute__((alloc_size(2, 3), returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0), returns_nonnull));

/* A stream whose text is the caller's once it is closed. */
FILE *text_stream__open(char **text, size_t *len);
void text_stream__close(FILE *f);

/* Also for libraries that do not survive a refusal (obstacks, Jansson). */
_Noreturn void xmalloc__end(void);
_Noreturn void xmalloc__end_of(size_t n_bytes);
void xmalloc__end_with(int status);	/* the exit status then; EXIT_FAILED if it was never set */

#endif
