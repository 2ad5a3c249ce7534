// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of translators. They are known by the names of their files, because their probes must be out before they have
 * done anything; whether they are what they are called shows later.
 */
#include "process/translator.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "process/maps.h"
#include "process/mounts.h"
#include "process/process.h"
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

bool translator__is_installed(const char *path, uint64_t ino)
{
	_cleanup_close_ int fd = path_walk__own(path);
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == ino && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Executable memory that is of no file, and not the kernel's own. */
static bool is_made_code(const struct mapping *m)
{
	return m->exec && !strchr(m->path, '/') && strcmp(m->path, "[vdso]") && strcmp(m->path, "[vsyscall]") && strcmp(m->path, "[uprobes]");
}

enum translator_proof translator__prove(pid_t pid, bool installed)
{
	bool named = false, makes_code = false;
	struct maps maps = {};
	int err = maps__read(pid, &maps, NULL);

	for (size_t i = 0; i < maps.n; i++) {
		named |= translator__of(strchr(maps.v[i].path, '/')) != NULL;
		makes_code |= is_made_code(&maps.v[i]);
	}
	maps__done(&maps);
	/* of one that may not be read nothing else is known */
	if (err == -ESRCH || (!err && !named))
		return TRANSLATOR_GONE;
	return installed || makes_code ? TRANSLATOR_PROVEN : TRANSLATOR_NAMED;
}

void translator__for_each(void (*fn)(pid_t pid, const char *name, bool installed, void *arg), void *arg)
{
	_cleanup_pids_ struct pids all = pids__of_all();
	pid_t pid;

	while ((pid = pids__next(&all))) {
		_cleanup_free_ char *exe = process__exe(pid);
		const char *name = translator__of(exe);
		struct stat st;

		if (name) {
			_cleanup_close_ int fd = process__open(pid, "exe", O_PATH);

			fn(pid, name, fd >= 0 && mounts__fd_is_local(pid, fd) && !fstat(fd, &st) && translator__is_installed(exe, st.st_ino), arg);
		}
	}
}
