// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the files that --keep will remove. What always holds: nothing goes that this run has not written. */
#include "files/outnames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "util/invoker.h"

bool outname__is_pattern(const char *path)
{
	for (; *path; path++) {
		if (*path != '%')
			continue;
		if (path[1] && strchr("tpn", path[1]))
			return true;
		path += path[1] == '%';
	}
	return false;
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
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
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
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int drop_first(struct outname_series *s, bool remove_it, struct err *e)
{
	struct invoker_rights own = invoker__begin();
	struct outname_file *f = s->files.v;
	struct stat st;
	int err = 0;

	if (remove_it && !lstat(f->path, &st) && S_ISREG(st.st_mode) && st.st_dev == f->dev && st.st_ino == f->ino &&
	    st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec && unlink(f->path))
		err = err_set(e, -errno, "cannot remove %s: %s", f->path, strerror(errno));
	invoker__end(&own);
	free(f->path);
	memmove(f, f + 1, --s->files.n * sizeof(*f));
	return err;
}

int outname_series__add(struct outname_series *s, const char *path, unsigned int keep, struct err *e)
{
	struct outname_file *f;
	struct stat st;
	int err = 0;

	/* what is no file cannot be kept: a device */
	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	for (size_t i = 0; i < s->files.n; i++)
		if (!strcmp(s->files.v[i].path, path)) {
			s->files.v[i].dev = st.st_dev;
			s->files.v[i].ino = st.st_ino;
			s->files.v[i].changed = st.st_mtim;
			return 0;
		}
	f = vec_push(&s->files);
	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	*f = (struct outname_file){ strdup(path), st.st_dev, st.st_ino, st.st_mtim };
	if (!f->path) {
		s->files.n--;
		return err_set(e, -ENOMEM, "out of memory");
	}
	/* where all stay, the last name is remembered, so that the next one is another */
	while (s->files.n > MAX(keep, 1) && !err)
		err = drop_first(s, keep, e);
	return err;
}

void outname_series__done(struct outname_series *s)
{
	for (size_t i = 0; i < s->files.n; i++)
		free(s->files.v[i].path);
	vec_done(&s->files);
	free(s->expanded);
	s->expanded = NULL;
}
