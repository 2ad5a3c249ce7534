/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Small things every part may use. */
#ifndef MT_UTIL_H
#define MT_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/clock.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Which comes first: < 0, 0 or > 0. The larger one first: ORDER(b, a). */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))
/* For qsort(): a and b are two elements; what decides is joined by ?: */
#define COMPARATOR(name, type, order)				\
	static int name(const void *pa, const void *pb)		\
	{							\
		const type *a = pa;				\
		const type *b = pb;				\
								\
		return order;					\
	}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose)))

/*
 * Memory that is there: where none can be had, the process ends with a message that names the size. The kernel removes the probes,
 * atexit() handlers restore the terminal and remove the output file that was begun. Nobody who calls these checks.
 */

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

/* What obstacks are made of. */
#define obstack_chunk_alloc xmalloc
#define obstack_chunk_free free

/* For callers of libraries that were refused memory. */
_Noreturn void xmalloc__end(void);
_Noreturn void xmalloc__end_of(size_t n_bytes);
void xmalloc__end_with(int status);	/* the exit status then; EXIT_FAILED if it was never set */

/*
 * A growing array: `struct vec(struct point) points`. vec_push gives a pointer
 * to a new zeroed element; pointers hold until the next push. vec_append copies n elements to its end.
 */
#define vec(type)		\
	{			\
		type *v;	\
		size_t n, room;	\
	}

struct strings vec(const char *);	/* not owned */

void *vec__grow(void **v, size_t *n, size_t *room, size_t size);
void vec__append(void **v, size_t *n, size_t *room, size_t size, const void *from, size_t n_from);

#define vec_push(vec) ((__typeof__((vec)->v))vec__grow((void **)&(vec)->v, &(vec)->n, &(vec)->room, sizeof(*(vec)->v)))
#define vec_append(vec, from, n_from) vec__append((void **)&(vec)->v, &(vec)->n, &(vec)->room, sizeof(*(vec)->v), from, n_from)
/* By a COMPARATOR(). qsort() takes no NULL, which an empty one has. */
#define vec_sort(vec, by) ((vec)->n ? qsort((vec)->v, (vec)->n, sizeof(*(vec)->v), by) : (void)0)
#define vec_done(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->room = 0)

/*
 * The first of n elements that a condition holds for; NULL: none. The condition speaks of one element by the name given:
 *
 *	const struct process *p = array_first(p, v, n, p->pid == pid);
 */
#define array_first(one, v, n, condition)		\
	({						\
		__typeof__((v)[0]) *one = (v);		\
		size_t first_left = (n);		\
							\
		while (first_left && !(condition)) {	\
			one++;				\
			first_left--;			\
		}					\
		first_left ? one : NULL;		\
	})
#define vec_first(one, vec, condition) array_first(one, (vec)->v, (vec)->n, condition)
/* Those that the condition does not hold for leave it; the order stays. */
#define vec_keep(one, vec, condition)						\
	({									\
		size_t keep_n = 0;						\
										\
		for (size_t keep_i = 0; keep_i < (vec)->n; keep_i++) {		\
			__typeof__((vec)->v) one = &(vec)->v[keep_i];		\
										\
			if (condition)						\
				(vec)->v[keep_n++] = *one;			\
		}								\
		(vec)->n = keep_n;						\
	})
#define table_first(one, table, condition) array_first(one, table, ARRAY_SIZE(table), condition)

/*
 * Names that another process controls (its comm, its paths, its symbols) pass
 * here once, at the border: control characters, escape sequences and bytes
 * that are no UTF-8 become '?', in place.
 */
void clean_name(char *s);
/* The same of a message, which may have lines and tabs of its own. */
void clean_message(char *s);

const char *path_basename(const char *path);	/* what follows the last '/'; all of it, if nothing does */
const char *path_tail(const char *path);	/* the last two parts: enough to tell two main.c apart, short enough for a column */

/*
 * A whole small file, such as /proc/PID/status; NUL-terminated; -errno on failure. -EFBIG: a process chooses how long some of its files
 * are (maps, mountinfo), and must not choose how much memory that takes.
 */
#define SMALL_FILE_MAX ((size_t)256 << 20)
int read_small_file(const char *path, char **ret, size_t *ret_len);
/* The same of one that is open, from where it is. */
int read_small_fd(int fd, char **ret, size_t *ret_len);
/* The same, of at most max bytes. */
int read_file_upto(const char *path, size_t max, char **ret, size_t *ret_len);
int read_fd_upto(int fd, size_t max, char **ret, size_t *ret_len);

#endif
