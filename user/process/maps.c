// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the text of /proc/PID/maps only while it reads it. What comes out is
 * sorted by address, every range is non-empty, and every path is a string of
 * its own. The paths are the target's choice: they are not cleaned here,
 * because they are also what is opened.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "process/maps.h"
#include "util/rights.h"
#include "util/sorted.h"
#include "util/util.h"

static bool take_number(const char **p, const char *end, unsigned int base, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;

	for (; s < end; s++) {
		unsigned int digit = *s >= '0' && *s <= '9' ? *s - '0' :
				     *s >= 'a' && *s <= 'f' ? *s - 'a' + 10 : 16;

		if (digit >= base)
			break;
		if (n > (UINT64_MAX - digit) / base)
			return false;
		n = n * base + digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

static bool take_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/*
 * Of all characters the kernel escapes only the newline here, and it leaves
 * backslashes alone: \012 is undone, any other \ooo is part of the name.
 */
static char *unescape(const char *s, size_t len)
{
	char *path = malloc(len + 1), *out = path;
	size_t i = 0;

	if (!path)
		return NULL;
	while (i < len) {
		if (len - i >= 4 && !memcmp(s + i, "\\012", 4)) {
			*out++ = '\n';
			i += 4;
		} else {
			*out++ = s[i++];
		}
	}
	*out = 0;
	return path;
}

/* How much of it is the name. The first SysV segment of an IPC namespace has the inode 0. */
static size_t take_deleted(const char *name, size_t len, struct mapping *m)
{
	static const char gone[] = " (deleted)";

	m->deleted = len >= sizeof(gone) - 1 && *name == '/' && !memcmp(name + len - (sizeof(gone) - 1), gone, sizeof(gone) - 1);
	return m->deleted ? len - (sizeof(gone) - 1) : len;
}

/* 1: a mapping; 0: no sense in it; -ENOMEM */
static int parse_line(const char *p, const char *end, struct mapping *m)
{
	uint64_t major, minor;

	if (!take_number(&p, end, 16, &m->start) || !take_char(&p, end, '-') ||
	    !take_number(&p, end, 16, &m->end) || !take_char(&p, end, ' ') || m->start >= m->end)
		return 0;
	if (end - p < 5 || p[4] != ' ')
		return 0;
	m->read = p[0] == 'r';
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	m->shared = p[3] == 's';
	p += 5;
	if (!take_number(&p, end, 16, &m->file_off) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 16, &major) || !take_char(&p, end, ':') ||
	    !take_number(&p, end, 16, &minor) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 10, &m->ino) || major > UINT32_MAX || minor > UINT32_MAX)
		return 0;
	m->dev_major = major;
	m->dev_minor = minor;
	if (p < end && *p != ' ')
		return 0;
	while (p < end && *p == ' ')
		p++;
	m->path = unescape(p, take_deleted(p, (size_t)(end - p), m));
	return m->path ? 1 : -ENOMEM;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int maps__parse(const char *text, size_t len, struct maps *ret, struct err *e)
{
	struct vec(struct mapping) all = { 0 };
	const char *end = text + len;
	struct maps m;
	bool sorted = true;

	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		const char *stop = nl ? nl : end;
		struct mapping one = { 0 }, *slot;
		int r = parse_line(text, stop, &one);

		slot = r > 0 ? vec_push(&all) : NULL;
		if (r < 0 || (r > 0 && !slot)) {
			free(one.path);
			m = (struct maps){ all.v, all.n };
			maps__done(&m);
			return err_set(e, -ENOMEM, "no memory for the maps of a process");
		}
		if (slot) {
			*slot = one;
			sorted = sorted && (all.n < 2 || slot[-1].start <= one.start);
		}
		text = stop + 1;
	}
	if (!sorted)
		qsort(all.v, all.n, sizeof(*all.v), by_start);
	*ret = (struct maps){ all.v, all.n };
	return 0;
}

int maps__read(pid_t pid, struct maps *ret, struct err *e)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t len;
	int r;

	if (asprintf(&path, "/proc/%d/maps", (int)pid) < 0) {
		path = NULL;
		return err_set(e, -ENOMEM, "no memory for the maps of process %d", (int)pid);
	}
	r = read_small_file(path, &text, &len);
	if (r == -ENOENT || r == -ESRCH)
		return err_set(e, -ESRCH, "no process %d", (int)pid);
	if (r == -EACCES || r == -EPERM)
		return rights__refused(e, -EACCES, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "this user may not inspect process %d", (int)pid);
	if (r)
		return err_set(e, r, "%s: %s", path, strerror(-r));
	return maps__parse(text, len, ret, e);
}

/* ---- without text */

/* linux/fs.h, which may be older than that */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_bytes, file_off, ino;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_THIS_OR_NEXT 0x10
#define VMA_READ 1
#define VMA_WRITE 2
#define VMA_EXEC 4
#define VMA_SHARED 8

/* The first one that ends behind addr; name has PATH_MAX bytes. */
static int ask(int fd, uint64_t addr, struct query *q, char *name)
{
	int err;

	*name = 0;
	*q = (struct query){ .size = sizeof(*q), .flags = QUERY_THIS_OR_NEXT, .addr = addr, .name_bytes = PATH_MAX, .name = (uintptr_t)name };
	err = ioctl(fd, QUERY, q) ? -errno : 0;
	if (err != -ENAMETOOLONG)
		return err;
	*q = (struct query){ .size = sizeof(*q), .flags = QUERY_THIS_OR_NEXT, .addr = addr };
	return ioctl(fd, QUERY, q) ? -errno : 0;
}

int maps__query(int fd, struct maps *ret)
{
	_cleanup_free_ char *name = malloc(PATH_MAX + 1);
	struct vec(struct mapping) all = { 0 };
	int err = name ? 0 : -ENOMEM;
	struct query q = {};

	while (!err && !(err = ask(fd, q.end, &q, name))) {
		struct mapping one = { .start = q.start, .end = q.end, .file_off = q.file_off, .dev_major = q.dev_major, .dev_minor = q.dev_minor,
				       .ino = q.ino, .read = q.vma_flags & VMA_READ, .write = q.vma_flags & VMA_WRITE,
				       .exec = q.vma_flags & VMA_EXEC, .shared = q.vma_flags & VMA_SHARED }, *slot;

		name[PATH_MAX] = 0;
		one.path = strndup(name, take_deleted(name, strlen(name), &one));
		slot = one.path ? vec_push(&all) : NULL;
		if (!slot) {
			free(one.path);
			err = -ENOMEM;
			break;
		}
		*slot = one;
	}
	/* behind the last one */
	if (err == -ENOENT) {
		*ret = (struct maps){ all.v, all.n };
		return 0;
	}
	maps__done(&(struct maps){ all.v, all.n });
	return err;
}

const struct mapping *maps__find(const struct maps *m, uint64_t addr)
{
	return sorted__range_of(m->v, m->n, addr);
}

bool mapping__is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->ino && a->ino == b->ino && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

void maps__done(struct maps *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	m->v = NULL;
	m->n = 0;
}
