// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of translators. They are known by the names of their files: nothing else shows
 * what a process does with code.
 */
#include "process/translator.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
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
	{ "*/pinbin", "Pin" },
};

const char *translator__of(const char *path)
{
	for (size_t i = 0; path && i < ARRAY_SIZE(translators); i++)
		if (!fnmatch(translators[i].path, path, 0))
			return translators[i].name;
	return NULL;
}

int translator__none_runs(struct err *e)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		char link[64], exe[PATH_MAX];
		const char *name;
		uint64_t pid;
		ssize_t n;

		if (parse_u64(entry->d_name, 1, INT_MAX, &pid))
			continue;
		snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
		n = readlink(link, exe, sizeof(exe) - 1);
		if (n <= 0)
			continue;
		exe[n] = '\0';
		name = translator__of(exe);
		if (!name)
			continue;
		err = err_set(e, -EBUSY,
			      "%s (%d) runs a program by translating its code, and a breakpoint in a library that it shares with other processes would kill it",
			      name, (int)pid);
		err_hint(e,
			 "trace single processes with -p PID, whose breakpoints no other process sees, or wait until it has ended");
	}
	if (dir)
		closedir(dir);
	return err;
}
