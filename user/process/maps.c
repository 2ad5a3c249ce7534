// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the text of /proc/PID/maps only while it reads it. What comes out is
 * sorted by address, every range is non-empty, and every path is a string of
 * its own. The paths are the target's choice: they are not cleaned here,
 * because they are also what is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process/maps.h"
#include "util/rights.h"
#include "util/sorted.h"
#include "util/util.h"

#define COUNT_BYTES 65536

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
	char *path = xmalloc(len + 1), *out = path;
	size_t i = 0;

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

bool mapping__parse(const char *p, const char *end, struct mapping *m, const char **ret_name)
{
	uint64_t major, minor;

	if (!take_number(&p, end, 16, &m->start) || !take_char(&p, end, '-') ||
	    !take_number(&p, end, 16, &m->end) || !take_char(&p, end, ' ') || m->start >= m->end)
		return false;
	/* x86's [vsyscall] is the kernel's own page: no process maps it, PROCMAP_QUERY does not name it */
	if (m->start >> 63)
		return false;
	if (end - p < 5 || p[4] != ' ')
		return false;
	m->read = p[0] == 'r';
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	m->shared = p[3] == 's';
	p += 5;
	if (!take_number(&p, end, 16, &m->file_off) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 16, &major) || !take_char(&p, end, ':') ||
	    !take_number(&p, end, 16, &minor) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 10, &m->ino) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->dev_major = major;
	m->dev_minor = minor;
	if (p < end && *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*ret_name = p;
	return true;
}

COMPARATOR(by_start, struct mapping, ORDER(a->start, b->start))

void maps__parse(const char *text, size_t len, struct maps *ret)
{
	struct vec(struct mapping) all = { 0 };
	const char *end = text + len;
	bool sorted = true;

	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		const char *stop = nl ? nl : end;
		struct mapping one = { 0 };
		const char *name;

		if (mapping__parse(text, stop, &one, &name)) {
			one.path = unescape(name, take_deleted(name, (size_t)(stop - name), &one));
			sorted = sorted && (!all.n || all.v[all.n - 1].start <= one.start);
			*vec_push(&all) = one;
		}
		text = stop + 1;
	}
	if (!sorted)
		qsort(all.v, all.n, sizeof(*all.v), by_start);
	*ret = (struct maps){ all.v, all.n };
}

int maps__open(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int maps__read(pid_t pid, struct maps *ret, struct err *e)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/maps", (int)pid), *text = NULL;
	size_t len;
	int r = read_small_file(path, &text, &len);

	if (r == -ENOENT || r == -ESRCH)
		return err_set(e, -ESRCH, "no process %d", (int)pid);
	if (r == -EACCES || r == -EPERM)
		return rights__refused(e, -EACCES, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "this user may not inspect process %d", (int)pid);
	if (r)
		return err_set(e, r, "%s: %s", path, strerror(-r));
	maps__parse(text, len, ret);
	return 0;
}

bool maps__are_more_than(pid_t pid, size_t n)
{
	_cleanup_free_ char *buf = xmalloc(COUNT_BYTES);
	_cleanup_close_ int fd = maps__open(pid);
	size_t lines = 0;
	ssize_t got;

	while (fd >= 0 && lines <= n && (got = read(fd, buf, COUNT_BYTES)) > 0)
		for (ssize_t i = 0; i < got; i++)
			lines += buf[i] == '\n';
	return lines > n;
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

int maps__query(int fd, size_t max_bytes, struct maps *ret)
{
	_cleanup_free_ char *name = xmalloc(PATH_MAX + 1);
	struct vec(struct mapping) all = { 0 };
	struct query q = {};
	size_t bytes = 0;
	int err;

	while (!(err = bytes > max_bytes ? -EFBIG : ask(fd, q.end, &q, name))) {
		struct mapping one = { .start = q.start, .end = q.end, .file_off = q.file_off, .dev_major = q.dev_major, .dev_minor = q.dev_minor,
				       .ino = q.ino, .read = q.vma_flags & VMA_READ, .write = q.vma_flags & VMA_WRITE,
				       .exec = q.vma_flags & VMA_EXEC, .shared = q.vma_flags & VMA_SHARED };

		name[PATH_MAX] = 0;
		one.path = xstrndup(name, take_deleted(name, strlen(name), &one));
		*vec_push(&all) = one;
		bytes += sizeof(one) + strlen(one.path);
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
