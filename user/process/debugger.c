// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the names of tracers that set no breakpoints: there is no other way to tell what a tracer does. */
#include "process/debugger.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/process.h"
#include "util/parse.h"
#include "util/util.h"

static const char *const write_nothing[] = { "strace" };

/* A thread of ours that stops a process for a while, and sets no breakpoints (heap/target_stop.c). */
static bool is_own(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)tid);
	return !access(path, F_OK);
}

static pid_t tracer_of(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *line;
	uint64_t tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_small_file(path, &text, NULL))
		return 0;
	line = strstr(text, "\nTracerPid:\t");
	if (!line)
		return 0;
	line += strlen("\nTracerPid:\t");
	line[strcspn(line, "\n")] = '\0';
	return parse_u64(line, 1, INT32_MAX, &tracer) || is_own((pid_t)tracer) ? 0 : (pid_t)tracer;
}

bool debugger__holds_still(pid_t pid)
{
	char path[64];
	struct dirent *d;
	bool still;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	still = dir;
	while (still && (d = readdir(dir))) {
		_cleanup_free_ char *text = NULL;
		char stat[400], *state;

		if (d->d_name[0] == '.')
			continue;
		snprintf(stat, sizeof(stat), "%s/%s/stat", path, d->d_name);
		state = read_small_file(stat, &text, NULL) ? NULL : strrchr(text, ')');
		still = state && !strncmp(state, ") t", 3);
	}
	if (dir)
		closedir(dir);
	return still;
}

struct debugger debugger__of(pid_t pid)
{
	struct debugger d = { .pid = tracer_of(pid), .writes = true };

	if (!d.pid || d.pid == getpid())
		return (struct debugger){};
	process__thread_comm(d.pid, d.pid, d.comm);
	for (size_t i = 0; i < ARRAY_SIZE(write_nothing); i++)
		d.writes &= !!strcmp(d.comm, write_nothing[i]);
	return d;
}
