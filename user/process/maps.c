// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the text of /proc/PID/maps only while it reads it. What comes out is
 * sorted by address, every range is non-empty, and every path is a string of
 * its own. The paths are the target's choice: they are not cleaned here,
 * because they are also what is opened.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* 1: a mapping; 0: no sense in it; -ENOMEM */
static int parse_line(const char *p, const char *end, struct mapping *m)
{
	static const char gone[] = " (deleted)";
	uint64_t major, minor;
	size_t len;

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
	len = end - p;
	/* the first SysV segment of an IPC namespace has the inode 0 */
	if (len >= sizeof(gone) - 1 && *p == '/' && !memcmp(end - (sizeof(gone) - 1), gone, sizeof(gone) - 1)) {
		m->deleted = true;
		len -= sizeof(gone) - 1;
	}
	m->path = unescape(p, len);
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
