// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include "process/mounts.h"

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

bool path__is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

const char *mount__below(const struct mount *m, const char *path)
{
	const char *root = strcmp(m->root, "/") ? m->root : "";

	return path__is_below(path, root) ? path + strlen(root) : NULL;
}
