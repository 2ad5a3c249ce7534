// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include "process/mounts.h"

#include <limits.h>
#include <string.h>

#include "util/util.h"

/* "36 35 0:30 /root /point rw,... optional... - type source options" */
bool mount__parse(char *line, struct mount *ret)
{
	char *save = NULL, *word, *fields[6] = {}, *rest = strstr(line, " - ");

	if (!rest)
		return false;
	*rest = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return false;
	}
	save = NULL;
	word = strtok_r(rest + 3, " ", &save);
	*ret = (struct mount){ fields[3], fields[4], word, NULL };
	if (!word || !strtok_r(NULL, " ", &save))
		return false;
	ret->options = strtok_r(NULL, " ", &save);
	return ret->options && (!strcmp(ret->type, "cgroup") || !strcmp(ret->type, "cgroup2"));
}

bool mounts__find_type(const char *text, unsigned int dev_major, unsigned int dev_minor, char ret[static MOUNT_TYPE_MAX])
{
	const char *next;

	for (const char *line = text; *line; line = next) {
		const char *end = strchrnul(line, '\n'), *rest = memmem(line, end - line, " - ", 3);
		unsigned int major, minor;

		next = *end ? end + 1 : end;
		if (rest && sscanf(line, "%*u %*u %u:%u ", &major, &minor) == 2 && major == dev_major && minor == dev_minor &&
		    sscanf(rest, " - %31s", ret) == 1)
			return true;
	}
	return false;
}

/* Its files are another machine's, or another process's. */
bool mount__may_hang(const char *type)
{
	static const char *const types[] = { "fuse", "fuseblk", "virtiofs", "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "lustre",
					     "orangefs", "beegfs", "gpfs", "gfs2", "ocfs2", "glusterfs", "vboxsf", "panfs", "ncpfs" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return !strncmp(type, "fuse.", 5);
}

bool path__is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

bool mounts__find_type_at(const char *text, const char *path, char ret[static MOUNT_TYPE_MAX])
{
	size_t longest = 0;
	bool found = false;
	const char *next;

	for (const char *line = text; *line; line = next) {
		const char *end = strchrnul(line, '\n'), *rest = memmem(line, end - line, " - ", 3);
		char point[PATH_MAX];
		size_t len;

		next = *end ? end + 1 : end;
		if (!rest || sscanf(line, "%*u %*u %*u:%*u %*s %4095s ", point) != 1)
			continue;
		len = strcmp(point, "/") ? strlen(point) : 0;
		point[len] = 0;
		/* what is mounted later at the same place covers what was there */
		if (len >= longest && path__is_below(path, point) && sscanf(rest, " - %31s", ret) == 1) {
			longest = len;
			found = true;
		}
	}
	return found;
}

bool mounts__path_may_hang(pid_t pid, const char *path)
{
	_cleanup_free_ char *text = NULL;
	char file[64], type[MOUNT_TYPE_MAX];

	snprintf(file, sizeof(file), "/proc/%d/mountinfo", (int)pid);
	return !read_small_file(file, &text, NULL) && mounts__find_type_at(text, path, type) && mount__may_hang(type);
}

const char *mount__below(const struct mount *m, const char *path)
{
	const char *root = strcmp(m->root, "/") ? m->root : "";

	return path__is_below(path, root) ? path + strlen(root) : NULL;
}
