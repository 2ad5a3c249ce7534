// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of translators. They are known by the names of their files, because their probes must be out before they have
 * done anything; whether they are what they are called shows later.
 */
#include "process/translator.h"

#include <dirent.h>
#include <fnmatch.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mounts.h"
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

static bool read_exe(pid_t pid, char exe[static PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, PATH_MAX - 1);
	if (n <= 0)
		return false;
	exe[n] = '\0';
	return true;
}

bool translator__is_installed(const char *path, uint64_t ino)
{
	struct stat st;

	return !mounts__path_may_hang(getpid(), path) && !stat(path, &st) && S_ISREG(st.st_mode) && st.st_ino == ino && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* A line of /proc/PID/maps: executable memory that is of no file, and not the kernel's own. */
static bool is_made_code(const char *line)
{
	const char *rights = strchr(line, ' ');

	return rights && strlen(rights) > 4 && rights[3] == 'x' && !strchr(line, '/') && !strstr(line, "[vdso]") &&
	       !strstr(line, "[vsyscall]") && !strstr(line, "[uprobes]");
}

enum translator_proof translator__prove(pid_t pid, bool installed)
{
	_cleanup_free_ char *line = NULL;
	bool named = false, makes_code = false;
	char path[64];
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps && (errno == ENOENT || errno == ESRCH))
		return TRANSLATOR_GONE;
	while (maps && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		named |= translator__of(strchr(line, '/')) != NULL;
		makes_code |= is_made_code(line);
	}
	if (maps)
		fclose(maps);
	/* of one that may not be read nothing else is known */
	if (maps && !named)
		return TRANSLATOR_GONE;
	return installed || makes_code ? TRANSLATOR_PROVEN : TRANSLATOR_NAMED;
}

void translator__for_each(void (*fn)(pid_t pid, const char *name, bool installed, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char exe[PATH_MAX], link[64];
		const char *name;
		struct stat st;
		uint64_t pid;

		if (parse_u64(entry->d_name, 1, INT_MAX, &pid))
			continue;
		name = read_exe((pid_t)pid, exe) ? translator__of(exe) : NULL;
		snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
		if (name)
			fn((pid_t)pid, name, !mounts__path_may_hang((pid_t)pid, exe) && !stat(link, &st) && translator__is_installed(exe, st.st_ino), arg);
	}
	if (dir)
		closedir(dir);
}
