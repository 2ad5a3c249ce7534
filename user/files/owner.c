// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: names of roots and titles, the same in every format. */
#include "files/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"

bool owner__has_process(const struct snapshot *s)
{
	const struct grouping *by = grouping__find(s->by);

	return by && by->group_of ? !by->is_all : s->n_processes > 1;
}

char *owner__process(const struct snapshot *s, const struct snap_process *p)
{
	char *ret = NULL;

	if (snapshot__is_grouped(s) || p->pid <= 0)
		return strdup(p->comm);
	return asprintf(&ret, "%s-%d", p->comm, p->pid) < 0 ? NULL : ret;
}

char *owner__thread(const struct snap_site *site)
{
	char *ret = NULL;

	return asprintf(&ret, "%s-%d", site->thread ? site->thread : "thread", site->tid) < 0 ? NULL : ret;
}

char *owner__title(const struct snap_process *p)
{
	char *ret = NULL;
	int n;

	if (p->n_members > 1)
		n = asprintf(&ret, "%s (%u processes)", p->comm, p->n_members);
	else if (p->pid > 0)
		n = asprintf(&ret, "%s (%d)", p->comm, p->pid);
	else
		n = asprintf(&ret, "%s", p->comm);
	return n < 0 ? NULL : ret;
}
