// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/text.h"
#include "util/util.h"

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
