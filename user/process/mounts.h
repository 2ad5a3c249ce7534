/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where hierarchies of cgroups are mounted. */
#ifndef MT_MOUNTS_H
#define MT_MOUNTS_H

#include <stdbool.h>

struct mount {
	const char *root, *point, *type, *options;	/* in a line that was cut up */
};

/* A line of /proc/PID/mountinfo, which it cuts up: false if it is no hierarchy of cgroups. */
bool mount__parse(char *line, struct mount *ret);
/* The part of a cgroup's path that is below what is mounted, NULL: it cannot be seen through this mount. */
const char *mount__below(const struct mount *m, const char *path);
/* path is dir, or in it. */
bool path__is_below(const char *path, const char *dir);

#endif
