// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of translators. They are known by the names of their files: nothing else shows
 * what a process does with code.
 */
#include "process/translator.h"

#include <dirent.h>
#include <fnmatch.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/parse.h"
#include "util/util.h"

static const struct {
	const char *path;	/* a pattern, as fnmatch's */
	const char *name;
} translators[] = {
	{ "*/bin/valgrind", "valgrind" },
	{ "*/bin/valgrind.bin", "valgrind" },
	{ "*/valgrind/*-*-linux", "valgrind" },
	/* a user-mode qemu of this machine's own architecture maps the very files that are probed */
	{ "*/qemu-aarch64*", "qemu" },
	{ "*/qemu-x86_64*", "qemu" },
	{ "*/box64", "box64" },
	{ "*/FEXInterpreter", "FEX" },
	{ "*/bin64/drrun", "DynamoRIO" },
	{ "*/libdynamorio.so*", "DynamoRIO" },
	{ "*/pinbin", "Pin" },
};

const char *translator__of(const char *path)
{
	for (size_t i = 0; path && i < ARRAY_SIZE(translators); i++)
		if (!fnmatch(translators[i].path, path, 0))
			return translators[i].name;
	return NULL;
}

const char *translator__runs(pid_t pid)
{
	char link[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	return translator__of(exe);
}

bool translator__may_run(pid_t pid)
{
	_cleanup_free_ char *line = NULL;
	char path[64];
	bool found = false;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	/* of one that may not be read nothing is known */
	if (!maps)
		return errno != ENOENT && errno != ESRCH;
	while (!found && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		found = translator__of(strchr(line, '/')) != NULL;
	}
	fclose(maps);
	return found;
}

void translator__for_each(void (*fn)(pid_t pid, const char *name, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name;
		uint64_t pid;

		if (parse_u64(entry->d_name, 1, INT_MAX, &pid))
			continue;
		name = translator__runs((pid_t)pid);
		if (name)
			fn((pid_t)pid, name, arg);
	}
	if (dir)
		closedir(dir);
}
