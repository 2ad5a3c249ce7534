// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the paths of debug files. What always holds: a path begins with the folder of debug files or with that of the object,
 * and leads to no other folder by ".."; what an object or its reader says is at most the last part of it.
 */
#include "elf/debugfind.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "elf/debuginfod.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "reader/reader.h"
#include "util/util.h"

static char *build_id_path(const char *debug_dir, const char *hex)
{
	char *path;

	if (strlen(hex) < 4 || strlen(hex) > 128 || strspn(hex, "0123456789abcdef") != strlen(hex))
		return NULL;
	return asprintf(&path, "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2) < 0 ? NULL : path;
}

/* Beside the object, in .debug/ beside it, and in the folder of debug files. */
static char *link_path(const char *debug_dir, const struct object *obj, const char *link, unsigned int nth)
{
	const char *slash = obj->path && obj->path[0] == '/' ? strrchr(obj->path, '/') : NULL;
	char *path;

	if (!*link || strlen(link) > NAME_MAX || strchr(link, '/') || !slash || nth >= DEBUG_LINK_PLACES)
		return NULL;
	return asprintf(&path, "%s%.*s/%s%s", nth == 2 ? debug_dir : "", (int)MIN(slash - obj->path, (ptrdiff_t)PATH_MAX), obj->path,
			nth == 1 ? ".debug/" : "", link) < 0 ? NULL : path;
}

static char *dwz_path(const char *debug_dir, const char *name)
{
	const char *in_dwz = strstr(name, "/.dwz/");
	char *path;

	if (!in_dwz || strstr(in_dwz, "/../") || strlen(in_dwz) > PATH_MAX)
		return NULL;
	return asprintf(&path, "%s%s", debug_dir, in_dwz) < 0 ? NULL : path;
}

static int find(const struct debug_wish *w, const struct object *obj, const char *debug_dir, struct debuginfod *d)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int found = -1;

	switch (w->kind) {
	case WISH_BUILD_ID:
		path = build_id_path(debug_dir, w->text);
		break;
	case WISH_LINK:
		/* what is beside a file that may not be read at once need not answer either */
		path = obj->remote && w->nth < 2 ? NULL : link_path(debug_dir, obj, w->text, w->nth);
		break;
	case WISH_DWZ:
		path = dwz_path(debug_dir, w->text);
		break;
	case WISH_DOWNLOAD:
		return d && obj->build_id ? debuginfod__get(d, obj->build_id, obj->path) : -ENOENT;
	}
	if (!path)
		return -ENOENT;
	found = elffile__find(path);
	return found < 0 ? found : elffile__open_found(found);
}

int debugfind__open(const struct debug_wish *w, const struct object *obj, const char *debug_dir, struct debuginfod *d)
{
	wire_cleanup struct wire wish = {};

	if (!reader_child__is())
		return find(w, obj, debug_dir, d);
	wire__u64(&wish, w->kind);
	wire__u64(&wish, w->nth);
	wire__string(&wish, w->text);
	return reader_child__wish(&wish);
}

int debugfind__grant(struct wire_in *wish, const struct object *obj, const char *debug_dir, struct debuginfod *d)
{
	struct debug_wish w = { .kind = wire_in__upto(wish, WISH_DOWNLOAD), .nth = wire_in__upto(wish, DEBUG_LINK_PLACES) };
	char magic[SELFMAG];
	int fd, err;

	w.text = wire_in__string(wish, PATH_MAX);
	fd = !wire_in__is_over(wish) || !w.text ? -EINVAL : find(&w, obj, debug_dir, d);
	/* a reader that somebody has taken over reads no other files by this */
	err = fd < 0 ? fd : elffile__read_at(fd, 0, magic, sizeof(magic));
	if (fd >= 0 && (err || memcmp(magic, ELFMAG, SELFMAG))) {
		close(fd);
		return err_is_want(err) ? err : -ENOENT;
	}
	return fd;
}
