// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What always holds: totals are the sums over the processes that are left, and each of their sites is there. */
#include "model/narrow.h"

#include <fnmatch.h>
#include <string.h>

#include "model/merge.h"
#include "model/remap.h"
#include "util/util.h"

bool narrowing__any(const struct narrowing *n)
{
	return n->pid || n->comm || n->cgroup || n->container || n->pod;
}

/* "/system.slice" is above "/system.slice/cron.service", and not above "/system.slices" */
static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	while (len && above[len - 1] == '/')
		len--;
	return path && !strncmp(path, above, len) && (!path[len] || path[len] == '/');
}

/* "default/web-0", "web-0" */
static bool is_pod(const char *pod, const char *wanted)
{
	const char *name = pod ? strchr(pod, '/') : NULL;

	return pod && (!strcmp(pod, wanted) || (name && !strcmp(name + 1, wanted)));
}

static bool is_wanted(const struct snapshot *s, const struct snap_process *p, const struct narrowing *n)
{
	if (n->left_out && n->left_out[p - s->processes])
		return false;
	if (n->pid && p->pid != n->pid)
		return false;
	if (n->comm && fnmatch(n->comm, p->comm, 0))
		return false;
	if (n->cgroup && !is_below(p->cgroup, n->cgroup))
		return false;
	if (n->container && (!p->container || strncmp(p->container, n->container, strlen(n->container))))
		return false;
	return !n->pod || is_pod(p->pod, n->pod);
}

static void take_processes(struct snapshot *to, const struct snapshot *s, const struct narrowing *n, uint32_t *process_of)
{
	struct snap_process *v = snapshot__alloc(to, s->n_processes + 1, sizeof(*v));

	to->processes = v;
	to->n_processes = 0;
	to->totals = (struct counters){};
	to->error = (struct std_error){};
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		process_of[i] = ROW_GONE;
		if (!is_wanted(s, p, n)) {
			/* at rest the scan found of it what it holds */
			to->scan_blocks -= MIN(p->c.live_blocks, to->scan_blocks);
			to->scan_bytes -= MIN(p->c.live_bytes, to->scan_bytes);
			to->reading.n_unread -= MIN(p->n_heaps_unread, to->reading.n_unread);
			to->reading.unsure_blocks -= MIN(p->unsure_blocks, to->reading.unsure_blocks);
			continue;
		}
		process_of[i] = (uint32_t)to->n_processes;
		v[to->n_processes++] = *p;
		counters__add(&to->totals, &p->c);
		std_error__add(&to->error, &p->error);
	}
	/* part of the sum is of no process: see build_unsure() */
	to->reading.unsure_blocks = MIN(to->reading.unsure_blocks, to->totals.live_blocks);
}

struct snapshot *snapshot__narrow(const struct snapshot *s, const struct narrowing *n)
{
	_cleanup_free_ uint32_t *process_of = xcalloc(s->n_processes + 1, sizeof(*process_of)), *site_of = xcalloc(s->n_sites + 1, sizeof(*site_of));
	const struct remap map = { .of = { [TABLE_PROCESSES] = process_of,
					   [TABLE_SITES] = site_of } };
	struct snapshot *to = snapshot__like(s);

	/* it is no machine any more */
	to->machine = (struct snap_machine){};
	take_processes(to, s, n, process_of);
	to->sites = snapshot__alloc(to, s->n_sites + 1, sizeof(*to->sites));
	to->n_sites = rows__remap(to, TABLE_SITES, s->sites, s->n_sites, to->sites, &map, site_of);
	snapshot__count_ends(to);
	snapshot__remap(to, s, &map);
	return to;
}
