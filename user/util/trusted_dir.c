// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Opens one name after the other, each in a directory that is open: nobody can change the way behind us. */
#include "util/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "util/invoker.h"
#include "util/util.h"

#define LINKS_MAX 40	/* as in the kernel */

/* The kernel's rule for sticky directories (protected_symlinks), for every directory in which others can make links. */
static bool is_trusted(const struct stat *link, const struct stat *dir)
{
	uid_t uid;
	gid_t gid;

	return !(dir->st_mode & (S_IWGRP | S_IWOTH)) || link->st_uid == dir->st_uid || !link->st_uid || link->st_uid == geteuid() ||
	       (invoker__find(&uid, &gid) && link->st_uid == uid);
}

static bool is_of_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

static void move_to(int *dir_fd, int fd)
{
	close(*dir_fd);
	*dir_fd = fd;
}

int link__put_target_before(int link_fd, char **rest)
{
	char target[PATH_MAX], *way;
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target));

	if (n < 0 || (size_t)n + 1 + strlen(*rest) >= sizeof(target))
		return n < 0 ? -errno : -ENAMETOOLONG;
	way = xasprintf("%.*s/%s", (int)n, target, *rest);
	free(*rest);
	*rest = way;
	return 0;
}

static int follow(int *dir_fd, const char *name, char **rest, struct err *why)
{
	_cleanup_close_ int link_fd = openat(*dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat link, dir;
	int fd, err;

	if (link_fd < 0 || fstat(link_fd, &link) || fstat(*dir_fd, &dir))
		return -errno;
	if (!S_ISLNK(link.st_mode))
		return -ENOTDIR;
	/* the kernel's own links: their text is not always a path */
	if (is_of_proc(link_fd)) {
		fd = openat(*dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		move_to(dir_fd, fd);
		return 0;
	}
	if (!is_trusted(&link, &dir))
		return err_set(why, -ELOOP, "uid %u made the symbolic link %s, where others can write; name the directory itself", link.st_uid, name);
	err = link__put_target_before(link_fd, rest);
	if (!err && **rest == '/') {
		fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		move_to(dir_fd, fd);
	}
	return err;
}

int trusted_dir__open(const char *dir, struct err *why)
{
	_cleanup_close_ int fd = open(*dir == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *rest = xstrdup(dir);
	unsigned int n_links = 0;
	int err = fd < 0 ? -errno : 0, ret;

	while (!err) {
		size_t begin = strspn(rest, "/"), len = strcspn(rest + begin, "/");
		_cleanup_free_ char *name = xstrndup(rest + begin, len);

		if (!len)
			break;
		memmove(rest, rest + begin + len, strlen(rest + begin + len) + 1);
		ret = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (ret >= 0)
			move_to(&fd, ret);
		else
			err = errno != ENOTDIR ? -errno : n_links++ < LINKS_MAX ? follow(&fd, name, &rest, why) : -ELOOP;
	}
	ret = fd;
	if (!err)
		fd = -1;
	return err ? err : ret;
}
