// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the one place where the lack of memory ends the program. Any thread may get here. Messages belong to the struct err they are in. */
#include "util/util.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "util/err.h"
#include "util/text.h"

/* ---- memory */

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
	static pid_t first;
	pid_t own = gettid(), nobody = 0;

	if (getpid() == program && is_registered) {
		if (__atomic_compare_exchange_n(&first, &nobody, own, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			exit(status);
		/* the other thread brings the terminal back, and ends this one */
		while (first != own)
			pause();
	}
	/* also where a handler of atexit() wanted memory */
	write_message();
	_exit(status);
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

/* ---- growing arrays */

void *vec__grow(void **v, size_t *n, size_t *room, size_t size)
{
	void *slot;

	if (*n == *room) {
		size_t more = *room ? *room * 2 : 16;

		*v = xreallocarray(*v, more, size);
		*room = more;
	}
	slot = (char *)*v + *n * size;
	memset(slot, 0, size);
	(*n)++;
	return slot;
}

void vec__append(void **v, size_t *n, size_t *room, size_t size, const void *from, size_t n_from)
{
	if (n_from > *room - *n) {
		*room = MAX(2 * *room, *n + n_from);
		*v = xreallocarray(*v, *room, size);
	}
	memcpy((char *)*v + *n * size, from, n_from * size);
	*n += n_from;
}

/* ---- errors */

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	free(e->msg);
	e->code = code;
	va_start(ap, fmt);
	e->msg = xvasprintf(fmt, ap);
	va_end(ap);
	return code;
}

static void join(struct err *e, const char *fmt, va_list ap, int before)
{
	char *add = xvasprintf(fmt, ap);
	char *both = before ? xasprintf("%s: %s", add, err_msg(e)) : xasprintf("%s\n  %s", err_msg(e), add);

	free(e->msg);
	e->msg = both;
	free(add);
}

int err_wrap(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	join(e, fmt, ap, 1);
	va_end(ap);
	return code;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	join(e, fmt, ap, 0);
	va_end(ap);
}

const char *err_msg(const struct err *e)
{
	return e->msg ? e->msg : strerror(-e->code);
}

void err_done(struct err *e)
{
	free(e->msg);
	e->msg = NULL;
	e->code = 0;
}

/* ---- names of others */

/* The length of the UTF-8 sequence at s that is shown as it is; 0 if what stands there is not. */
static size_t printable_utf8(const unsigned char *s)
{
	uint32_t c;
	size_t len = utf8__decode(s, &c);

	/* controls, of both kinds; marks that reorder or hide text */
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return 0;
	if (c == 0xad || c == 0x61c || (c >= 0xe0000 && c <= 0xe007f) || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff)
		return 0;
	return len;
}

void clean_name(char *s)
{
	unsigned char *p = (unsigned char *)s;

	while (*p) {
		size_t len = printable_utf8(p);

		if (!len)
			*p++ = '?';
		else
			p += len;
	}
}

void clean_message(char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\n\t");
		char ended_by = s[len];

		s[len] = '\0';
		clean_name(s);
		s[len] = ended_by;
		s += len + (ended_by != '\0');
	}
}

/* ---- files */

int read_small_file(const char *path, char **ret, size_t *ret_len)
{
	return read_file_upto(path, SMALL_FILE_MAX, ret, ret_len);
}

int read_small_fd(int fd, char **ret, size_t *ret_len)
{
	return read_fd_upto(fd, SMALL_FILE_MAX, ret, ret_len);
}

int read_file_upto(const char *path, size_t max, char **ret, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_fd_upto(fd, max, ret, ret_len);
}

int read_fd_upto(int fd, size_t max, char **ret, size_t *ret_len)
{
	_cleanup_free_ char *buf = NULL;
	size_t len = 0, room = 0;

	for (;;) {
		ssize_t got;

		if (len + 1 >= room)
			buf = xrealloc(buf, room = room ? room * 2 : 4096);
		got = read(fd, buf + len, room - len - 1);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!got)
			break;
		len += got;
		if (len > max)
			return -EFBIG;
	}
	buf[len] = 0;
	*ret = buf;
	buf = NULL;
	if (ret_len)
		*ret_len = len;
	return 0;
}

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *path_tail(const char *path)
{
	const char *base, *p;

	if (!strncmp(path, "./", 2))
		path += 2;
	p = base = path_basename(path);
	if (base - path <= 1)
		return base;
	p--;
	while (p > path && p[-1] != '/')
		p--;
	return p;
}
