// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the count of refusals, and which streams write into memory; any thread may use both. */
#include "util/nomem.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "util/exit_status.h"

#undef open_memstream
#undef fclose

#define STREAMS_MAX 64	/* at a time: a text that is made of others has a few */

static uint64_t n_refused;
static int status = EXIT_FAILED;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of streams */
static struct {
	FILE *f;	/* NULL: free */
	char **text;
} streams[STREAMS_MAX];

uint64_t nomem__n(void)
{
	return __atomic_load_n(&n_refused, __ATOMIC_SEQ_CST);
}

void nomem__add(void)
{
	__atomic_add_fetch(&n_refused, 1, __ATOMIC_SEQ_CST);
}

void nomem__end_with(int with)
{
	status = with;
}

/* ---- the end */

static bool is_ending, is_registered;

static void say_why(void)
{
	static const char text[] = "malloctrace: out of memory\n";

	if (is_ending && write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
		/* nothing reads it any more */
	}
}

/* Registered before all others, it comes after them: what a screen has taken away is not read by anybody. */
static void __attribute__((constructor)) register_words(void)
{
	is_registered = !atexit(say_why);
}

_Noreturn void nomem__end(void)
{
	is_ending = true;
	if (!is_registered)
		say_why();
	exit(status);
}

/* ---- streams */

/* The text of a stream; NULL: it has none. From one to the other, if there is a stream `from`. */
static char **replace(FILE *from, FILE *to, char **text)
{
	char **was = NULL;
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < STREAMS_MAX && streams[i].f != from)
		i++;
	if (i < STREAMS_MAX) {
		was = streams[i].text;
		streams[i].f = to;
		streams[i].text = text;
	}
	pthread_mutex_unlock(&lock);
	return was;
}

FILE *nomem__stream(char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);

	if (f)
		replace(NULL, f, text);
	else
		nomem__add();
	return f;
}

int nomem__close(FILE *f)
{
	char **text = replace(f, NULL, NULL);
	bool failed = text && ferror(f);
	int ret = fclose(f);

	/* glibc closes without an error when there is no memory for the last byte, and leaves no text */
	if (!text || (!failed && !ret && *text))
		return ret;
	nomem__add();
	return EOF;
}
