// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Checks and files. A failed check prints what was wanted and what came, once
 * each, and is counted in the test; the first of a test opens with FAIL.
 */
#include "lt.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TOLD 12
#define MAX_TOLD_ABOUT 3	/* of each that about() names */

static void tell(struct test *t, const char *fmt, va_list ap)
{
	unsigned int most = t->about[0] ? MAX_TOLD_ABOUT : MAX_TOLD;
	char text[1024];

	t->n_failed++;
	t->n_told++;
	if (t->n_told > most)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	printf("%s %s: %s%s\n", t->n_failed == 1 ? "FAIL" : "    ", t->name, t->about, text);
	if (t->n_told == most)
		printf("     %s: (no more is told)\n", t->name);
	fflush(stdout);
}

void about(struct test *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->about, sizeof(t->about), fmt, ap);
	va_end(ap);
	t->n_told = 0;
}

bool want(struct test *t, bool ok, const char *fmt, ...)
{
	va_list ap;

	t->n_checks++;
	if (ok)
		return true;
	va_start(ap, fmt);
	tell(t, fmt, ap);
	va_end(ap);
	return false;
}

void must(struct test *t, bool ok, const char *fmt, ...)
{
	va_list ap;

	t->n_checks++;
	if (ok)
		return;
	va_start(ap, fmt);
	tell(t, fmt, ap);
	va_end(ap);
	exit(1);
}

void skip(struct test *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->skip, sizeof(t->skip), fmt, ap);
	va_end(ap);
	exit(77);
}

bool want_eq(struct test *t, const char *what, uint64_t wanted, uint64_t got)
{
	return want(t, wanted == got, "%s, wanted %" PRIu64 ", got %" PRIu64, what, wanted, got);
}

char *read_all(const char *path, size_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *s = NULL;
	size_t n = 0, room = 0;
	ssize_t got;

	if (fd < 0)
		return NULL;
	do {
		if (room - n < 65536) {
			room = room ? room * 2 : 131072;
			s = realloc(s, room);
			if (!s)
				abort();
		}
		got = read(fd, s + n, room - n - 1);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	close(fd);
	if (got < 0) {
		free(s);
		return NULL;
	}
	s[n] = 0;
	if (ret_n)
		*ret_n = n;
	return s;
}

void make_dirs(struct test *t, const char *path)
{
	char *copy = strdup(path);

	for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		must(t, !mkdir(copy, 0755) || errno == EEXIST, "mkdir %s: %s", copy, strerror(errno));
		*p = '/';
	}
	free(copy);
}

void copy_file(struct test *t, const char *from, const char *to)
{
	size_t n = 0;
	char *s = read_all(from, &n);
	int fd;

	must(t, s != NULL, "read %s: %s", from, strerror(errno));
	make_dirs(t, to);
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	must(t, fd >= 0 && write(fd, s, n) == (ssize_t)n, "write %s: %s", to, strerror(errno));
	close(fd);
	free(s);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st, (void)kind, (void)f;
	return remove(path);
}

void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

const char *in_dir(struct test *t, const char *fmt, ...)
{
	char *tail, *path;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&tail, fmt, ap) < 0 || asprintf(&path, "%s/%s", t->dir, tail) < 0)
		abort();
	va_end(ap);
	free(tail);
	return path;
}
