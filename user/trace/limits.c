// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which cgroups are looked at, and by whom they are found: a process that runs in it, because the name of a cgroup is
 * its owner's, and what a snapshot has is clean. What always holds: one is read once, and it takes no longer than it may.
 */
#include "trace/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/meminfo.h"
#include "process/memcg.h"
#include "process/process.h"
#include "util/ids.h"
#include "util/util.h"

void limits__of_machine(struct snapshot *s)
{
	struct meminfo m;

	meminfo__read(&m);
	s->machine = (struct snap_machine){
		.known = true,
		.total_bytes = m.total_bytes,
		.available_bytes = m.available_bytes,
		.free_bytes = m.free_bytes,
		.swap_bytes = m.swap_bytes,
		.swap_free_bytes = m.swap_free_bytes,
		.has_pressure = m.has_pressure,
		.some_pct = m.some_pct,
		.full_pct = m.full_pct,
	};
	for (size_t i = 0; i < s->n_processes; i++)
		s->machine.rss_bytes += s->processes[i].ended ? 0 : s->processes[i].rss_bytes;
}

/* ---- cgroups */

struct found {
	const char *path;
	pid_t pid;		/* of one that runs in it */
	uint64_t live_bytes;
};

static int by_bytes(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	return strcmp(a->path, b->path);
}

/* *ret is the caller's. */
static int find(const struct snapshot *s, struct found **ret, size_t *ret_n)
{
	struct found *v = calloc(s->n_processes + 1, sizeof(*v));
	struct string_ids paths = {};
	int err = v ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->n_processes && !err; i++) {
		const struct snap_process *p = &s->processes[i];
		uint32_t id;

		if (p->ended || !p->cgroup || p->pid <= 0)
			continue;
		err = string_ids__get(&paths, p->cgroup, &id);
		if (err)
			break;
		v[id].path = p->cgroup;
		v[id].pid = v[id].pid ? v[id].pid : p->pid;
		v[id].live_bytes += p->c.live_bytes;
	}
	*ret_n = paths.n;
	string_ids__done(&paths);
	if (!err && *ret_n)
		qsort(v, *ret_n, sizeof(*v), by_bytes);
	*ret = v;
	return err;
}

/* The process may have ended since, and its pid may be another's. */
static bool is_in(const char *cgroups, const char *path)
{
	_cleanup_free_ char *text = strdup(cgroups);
	char *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *its = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!its)
			continue;
		clean_name(++its);
		if (!strcmp(its, path))
			return true;
	}
	return false;
}

static bool read_one(struct snapshot *to, const char *mounts, const struct found *f, struct snap_cgroup *ret)
{
	_cleanup_free_ char *cgroups = NULL;
	struct memcg_usage u;

	if (process__cgroups(f->pid, &cgroups) || !is_in(cgroups, f->path) || memcg_usage__look(mounts, cgroups, &u))
		return false;
	*ret = (struct snap_cgroup){
		.path = f->path,
		.current_bytes = u.current_bytes,
		.max_bytes = u.max_bytes,
		.limited_by = snapshot__strdup(to, u.limited_by),
		.limit_bytes = u.limit_bytes,
		.limit_current_bytes = u.limit_current_bytes,
		.has_events = u.has_events,
		.high = u.high,
		.max = u.max,
		.oom = u.oom,
		.oom_kill = u.oom_kill,
	};
	memcg_usage__done(&u);
	return true;
}

int limits__of_cgroups(struct snapshot *to, const struct snapshot *of, uint64_t most_ns)
{
	_cleanup_free_ char *mounts = NULL;
	_cleanup_free_ struct found *v = NULL;
	struct snap_cgroup *rows;
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t n = 0, n_rows = 0;
	int err = find(of, &v, &n);

	if (err || read_small_file("/proc/self/mountinfo", &mounts, NULL))
		return err;
	rows = snapshot__alloc(to, n + 1, sizeof(*rows));
	for (size_t i = 0; i < n && clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns < most_ns; i++)
		n_rows += read_one(to, mounts, &v[i], &rows[n_rows]);
	to->cgroups = rows;
	to->n_cgroups = n_rows;
	return 0;
}
