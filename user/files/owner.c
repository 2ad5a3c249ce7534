// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: names of roots and titles, the same in every format. */
#include "files/owner.h"

#include "model/group.h"
#include "util/util.h"

bool owner__has_process(const struct snapshot *s)
{
	const struct grouping *by = grouping__find(s->by);

	return by && by->group_of ? !by->is_all : s->n_processes > 1;
}

char *owner__process(const struct snapshot *s, const struct snap_process *p)
{
	if (snapshot__is_grouped(s) || p->pid <= 0)
		return xstrdup(p->comm);
	return xasprintf("%s-%d", p->comm, p->pid);
}

char *owner__thread(const struct snap_site *site)
{
	return xasprintf("%s-%d", site->thread ? site->thread : "thread", site->tid);
}

char *owner__title(const struct snap_process *p)
{
	if (p->n_members > 1)
		return xasprintf("%s (%u processes)", p->comm, p->n_members);
	return p->pid > 0 ? xasprintf("%s (%d)", p->comm, p->pid) : xstrdup(p->comm);
}
