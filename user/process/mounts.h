/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What is mounted, of which type: hierarchies of cgroups, and file systems whose server may not answer. */
#ifndef MT_MOUNTS_H
#define MT_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

struct mount {
	const char *root, *point, *type, *options;	/* in a line that was cut up */
};

/* A line of /proc/PID/mountinfo, which it cuts up: false if it is no hierarchy of cgroups. */
bool mount__parse(char *line, struct mount *ret);
#define MOUNT_TYPE_MAX 32
/* The type of what is mounted from this device, by the text of a mountinfo. */
bool mounts__find_type(const char *text, unsigned int dev_major, unsigned int dev_minor, char ret[static MOUNT_TYPE_MAX]);
/* May a call on its files wait for as long as somebody else likes, whatever signal comes? */
bool mount__may_hang(const char *type);
/* The same of the file system that a path of this process is on, as far as no link on the way leads to another one. */
bool mounts__path_may_hang(pid_t pid, const char *path);
bool mounts__find_type_at(const char *text, const char *path, char ret[static MOUNT_TYPE_MAX]);	/* by the text of a mountinfo */
/* The part of a cgroup's path that is below what is mounted, NULL: it cannot be seen through this mount. */
const char *mount__below(const struct mount *m, const char *path);
/* path is dir, or in it. */
bool path__is_below(const char *path, const char *dir);

#endif
