// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "process/named.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "process/process.h"
#include "util/nearness.h"
#include "util/parse.h"

#define COMM_MAX 15	/* letters of a name that the kernel keeps */
#define COMMAND_MAX 256

/* A longer name cannot be told from another one by what the kernel keeps of it, where the program is known. */
static bool is_called(const char *comm, const char *exe, const char *name)
{
	bool may_be_cut = strlen(name) > COMM_MAX && strlen(comm) == COMM_MAX && !*exe;

	return !strcmp(comm, name) || (may_be_cut && !strncmp(comm, name, COMM_MAX)) || !strcmp(path_basename(exe), name);
}

/* Its arguments with spaces between them; its name, if it has none. */
static char *command_of(pid_t pid, const char *comm)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (read_small_file(path, &text, &len) || !len || !*text)
		return strdup(comm);
	len = MIN(len, COMMAND_MAX);
	while (len && !text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	text[len] = 0;
	clean_name(text);
	return strndup(text, len);
}

/* One that this user may not inspect has its own name, but no program that can be read. */
static int add_if_called(struct nameds *v, pid_t pid, const char *name)
{
	struct process p = {};
	bool readable = !process__look(pid, &p, NULL);
	struct named *slot;
	char comm[32];

	process__thread_comm(pid, pid, comm);
	if (!is_called(comm, readable ? p.exe : "", name)) {
		if (readable)
			process__done(&p);
		return 0;
	}
	slot = vec_push(v);
	if (slot)
		*slot = (struct named){ .pid = pid, .by_comm = !strcmp(comm, name), .age_ns = p.age_ns, .rss_bytes = process__rss_bytes(pid),
					.command = command_of(pid, comm) };
	if (readable)
		process__done(&p);
	return slot && slot->command ? 0 : -ENOMEM;
}

static int by_pid(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int nameds__find(const char *name, struct nameds *ret)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int err = 0;

	if (!proc)
		return -errno;
	while (!err && (d = readdir(proc))) {
		uint64_t pid;

		if (!parse_u64(d->d_name, 1, INT32_MAX, &pid) && !process__is_own(pid) && process__has_memory(pid))
			err = add_if_called(ret, pid, name);
	}
	closedir(proc);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_pid);
	return err;
}

char *nameds__near(const char *name)
{
	DIR *proc = opendir("/proc");
	char comm[32], *near = NULL;
	struct dirent *d;

	while (proc && !near && (d = readdir(proc))) {
		uint64_t pid;

		if (parse_u64(d->d_name, 1, INT32_MAX, &pid) || process__is_own(pid) || !process__has_memory(pid))
			continue;
		process__thread_comm((pid_t)pid, (pid_t)pid, comm);
		if (is_slip(name, comm) || (strlen(name) >= 3 && !strncmp(comm, name, strlen(name))))
			near = strdup(comm);
	}
	if (proc)
		closedir(proc);
	return near;
}

void nameds__done(struct nameds *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i].command);
	vec_done(v);
}
