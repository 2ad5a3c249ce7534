/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Memory that was refused, counted. Every file is compiled with this one before all others (Makefile): whatever a caller does
 * without memory, and be it to leave a name out, is known in the end, and no report that lacks something because of
 * it is taken for a whole one: output.c writes none, a trace counts it as a loss (no_memory), and main() has the last word.
 */
#ifndef MT_NOMEM_H
#define MT_NOMEM_H

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t nomem__n(void);
void nomem__add(void);	/* one more */

/*
 * For libraries that do not survive a refusal (obstacks, Jansson): says so and ends the program. What was begun is
 * put in order by atexit().
 */
_Noreturn void nomem__end(void);
void nomem__end_with(int status);	/* the exit status then; EXIT_FAILED if it was never set */

/* open_memstream() and fclose(): a stream into memory that could not grow ends with EOF. */
FILE *nomem__stream(char **text, size_t *len);
int nomem__close(FILE *f);

#define COUNTED(call)					\
	({						\
		__auto_type counted_got = (call);	\
		if (__builtin_expect(!counted_got, 0))	\
			nomem__add();		\
		counted_got;				\
	})

/* Of those that may fail for other reasons, too. */
#define COUNTED_OR_ERRNO(call)						\
	({								\
		__auto_type counted_got = (call);			\
		if (__builtin_expect(!counted_got, 0) && errno == ENOMEM)	\
			nomem__add();				\
		counted_got;						\
	})

#define COUNTED_TEXT(call)					\
	({							\
		int counted_len = (call);			\
		if (__builtin_expect(counted_len < 0, 0))	\
			nomem__add();			\
		counted_len;					\
	})

#define malloc(n) COUNTED(malloc(n))
#define calloc(n, size) COUNTED(calloc(n, size))
#define realloc(p, n) COUNTED(realloc(p, n))
#define reallocarray(p, n, size) COUNTED(reallocarray(p, n, size))
#define strdup(s) COUNTED(strdup(s))
#define strndup(s, n) COUNTED(strndup(s, n))
#define asprintf(...) COUNTED_TEXT(asprintf(__VA_ARGS__))
#define vasprintf(...) COUNTED_TEXT(vasprintf(__VA_ARGS__))
#define open_memstream(text, len) nomem__stream(text, len)
#define fclose(f) nomem__close(f)
#define opendir(path) COUNTED_OR_ERRNO(opendir(path))
#define fopen(path, mode) COUNTED_OR_ERRNO(fopen(path, mode))
#define fdopen(fd, mode) COUNTED_OR_ERRNO(fdopen(fd, mode))

#endif
