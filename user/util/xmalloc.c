// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the one place where the lack of memory ends the program. Any thread may get here. */
#include "util/xmalloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/exit_status.h"

static int status = EXIT_FAILED;
static pid_t program;	/* what a child by fork() inherits is not for it to put in order */
static char message[96];
static bool is_registered;

void xmalloc__end_with(int with)
{
	status = with;
}

static void write_message(void)
{
	if (message[0] && write(STDERR_FILENO, message, strlen(message)) < 0) {
		/* nobody reads it any more */
	}
}

/* Registered before all others, it runs after them: when the live view has left the terminal. */
static void __attribute__((constructor)) register_message(void)
{
	program = getpid();
	is_registered = !atexit(write_message);
}

static _Noreturn void end(void)
{
	static bool is_ending;

	/* another thread is about to exit, or a handler of atexit() wanted memory */
	if (__atomic_exchange_n(&is_ending, true, __ATOMIC_SEQ_CST) || getpid() != program || !is_registered) {
		write_message();
		_exit(status);
	}
	exit(status);
}

_Noreturn void xmalloc__end(void)
{
	snprintf(message, sizeof(message), "malloctrace: out of memory\n");
	end();
}

_Noreturn void xmalloc__end_of(size_t n_bytes)
{
	snprintf(message, sizeof(message), "malloctrace: out of memory (%zu bytes were asked for)\n", n_bytes);
	end();
}

void *xmalloc(size_t n)
{
	return malloc(n ?: 1) ?: (xmalloc__end_of(n), NULL);
}

void *xcalloc(size_t n, size_t size)
{
	size_t n_bytes;
	void *p = calloc(n ?: 1, size ?: 1);

	if (!p)
		xmalloc__end_of(__builtin_mul_overflow(n, size, &n_bytes) ? SIZE_MAX : n_bytes);
	return p;
}

void *xrealloc(void *p, size_t n)
{
	return realloc(p, n ?: 1) ?: (xmalloc__end_of(n), NULL);
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	size_t n_bytes;

	if (__builtin_mul_overflow(n, size, &n_bytes))
		xmalloc__end_of(SIZE_MAX);
	return xrealloc(p, n_bytes);
}

char *xstrdup(const char *s)
{
	return strdup(s) ?: (xmalloc__end_of(strlen(s) + 1), NULL);
}

char *xstrndup(const char *s, size_t n)
{
	return strndup(s, n) ?: (xmalloc__end_of(strnlen(s, n) + 1), NULL);
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		xmalloc__end();
	return s;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

FILE *text_stream__open(char **text, size_t *len)
{
	return open_memstream(text, len) ?: (xmalloc__end(), NULL);
}

void text_stream__close(FILE *f)
{
	/* glibc's fclose() reports no error where there is no memory for the last byte: flush first */
	if (fflush(f) || ferror(f))
		xmalloc__end();
	if (fclose(f))
		xmalloc__end();
}
