// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the files that --keep will remove. What always holds: nothing goes that this run has not written, or found and taken over. */
#include "files/outfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/export.h"
#include "util/invoker.h"

static bool has_any(const char *path, const char *letters)
{
	for (; *path; path++) {
		if (*path != '%')
			continue;
		if (path[1] && strchr(letters, path[1]))
			return true;
		path += path[1] == '%';
	}
	return false;
}

bool outname__is_pattern(const char *path)
{
	return has_any(path, "tpn");
}

bool outname__has_time(const char *path)
{
	return has_any(path, "t");
}

bool outname__is_well_formed(const char *path)
{
	for (; *path; path++) {
		if (*path != '%')
			continue;
		if (!path[1] || !strchr("tpn%", path[1]))
			return false;
		path++;
	}
	return true;
}

char *outname__expand(const char *path, int64_t wall_ns, pid_t pid, unsigned int n)
{
	time_t seconds = wall_ns / SECOND_NS;
	char *text = NULL, when[32] = "";
	struct tm tm;
	size_t len;
	FILE *out = text_stream__open(&text, &len);

	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	for (; *path; path++) {
		if (*path != '%' || !path[1]) {
			fputc(*path, out);
			continue;
		}
		path++;
		if (*path == 't')
			fputs(when, out);
		else if (*path == 'p')
			fprintf(out, "%d", pid);
		else if (*path == 'n')
			fprintf(out, "%u", n);
		else
			fputc(*path, out);
	}
	text_stream__close(out);
	return text;
}

static int drop_first(struct outname_series *s, bool remove_it, struct err *e)
{
	struct invoker_rights own = invoker__begin();
	struct outname_file *f = s->files.v;
	const char *name;
	_cleanup_close_ int dir = outfile__dir(f->path, &name);
	struct stat st;
	int err = 0;

	if (remove_it && dir >= 0 && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && st.st_dev == f->dev && st.st_ino == f->ino &&
	    st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec && unlinkat(dir, name, 0))
		err = err_set(e, -errno, "cannot remove %s: %s", f->path, strerror(errno));
	invoker__end(&own);
	free(f->path);
	memmove(f, f + 1, --s->files.n * sizeof(*f));
	return err;
}

static bool is_beyond(const struct outname_series *s, const struct outname_keep *keep)
{
	uint64_t bytes = 0;

	if (s->files.n < 2)
		return false;
	for (size_t i = 0; i < s->files.n; i++)
		bytes += s->files.v[i].bytes;
	/* where all stay, the last name is remembered, so that the next one is another */
	return !(keep->files || keep->bytes) || (keep->files && s->files.n > keep->files) || (keep->bytes && bytes > keep->bytes);
}

static void put(struct outname_series *s, const char *path, const struct stat *st)
{
	struct outname_file *f = vec_push(&s->files);

	*f = (struct outname_file){ xstrdup(path), st->st_dev, st->st_ino, st->st_mtim, (uint64_t)st->st_size };
}

int outname_series__add(struct outname_series *s, const char *path, const struct outname_keep *keep, struct err *e)
{
	const char *name;
	_cleanup_close_ int dir = outfile__dir(path, &name);
	struct stat st;
	int err = 0;

	/* what is no file cannot be kept: a device */
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	for (size_t i = 0; i < s->files.n; i++)
		if (!strcmp(s->files.v[i].path, path)) {
			s->files.v[i].dev = st.st_dev;
			s->files.v[i].ino = st.st_ino;
			s->files.v[i].changed = st.st_mtim;
			s->files.v[i].bytes = (uint64_t)st.st_size;
			return 0;
		}
	put(s, path, &st);
	while (!err && is_beyond(s, keep))
		err = drop_first(s, keep->files || keep->bytes, e);
	return err;
}

/* ---- those of earlier runs */

#define TIME_LEN 15	/* 20261115T080131 */

static bool is_time(const char *s)
{
	for (size_t i = 0; i < TIME_LEN; i++)
		if (i == 8 ? s[i] != 'T' : !isdigit((unsigned char)s[i]))
			return false;
	return true;
}

static bool matches(const char *p, const char *name)
{
	for (; *p; p++, name++) {
		if (*p != '%' || !p[1]) {
			if (*p != *name)
				return false;
			continue;
		}
		p++;
		if (*p == 't') {
			if (!is_time(name))
				return false;
			name += TIME_LEN - 1;
		} else if (*p == 'p' || *p == 'n') {
			size_t digits = strspn(name, "0123456789");

			/* what comes next may begin with a digit */
			for (; digits; digits--)
				if (matches(p + 1, name + digits))
					return true;
			return false;
		} else if (*p != *name) {
			return false;
		}
	}
	return !*name;
}

bool outname__matches(const char *pattern, const char *name)
{
	size_t len = strlen(name), stem = len - export__suffix_len(name), dot = stem;
	char plain[NAME_MAX + 1];

	if (matches(pattern, name))
		return true;
	/* "heap-20261115T080131.2.json" is the second one of that second */
	while (dot && isdigit((unsigned char)name[dot - 1]))
		dot--;
	if (dot == stem || !dot || name[dot - 1] != '.' || len > NAME_MAX)
		return false;
	snprintf(plain, sizeof(plain), "%.*s%s", (int)(dot - 1), name, name + stem);
	return matches(pattern, plain);
}

COMPARATOR(by_time, struct outname_file,
	   ORDER(a->changed.tv_sec, b->changed.tv_sec) ?: ORDER(a->changed.tv_nsec, b->changed.tv_nsec))

void outname_series__find(struct outname_series *s, const char *pattern)
{
	const char *slash = strrchr(pattern, '/'), *base;
	_cleanup_free_ char *before = xstrndup(pattern, slash ? (size_t)(slash - pattern) + 1 : 0);
	_cleanup_close_ int dir = outfile__dir(pattern, &base);
	int fd = dir >= 0 && !outname__is_pattern(before) ? openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd >= 0 && !d)
		close(fd);
	while (d && (entry = readdir(d))) {
		_cleanup_free_ char *path = xasprintf("%s%s", before, entry->d_name);
		struct stat st;

		if (outname__matches(base, entry->d_name) && !fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid())
			put(s, path, &st);
	}
	if (d)
		closedir(d);
	vec_sort(&s->files, by_time);
}

void outname_series__done(struct outname_series *s)
{
	for (size_t i = 0; i < s->files.n; i++)
		free(s->files.v[i].path);
	vec_done(&s->files);
	free(s->expanded);
	s->expanded = NULL;
}
