// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of --by, and which group a process belongs to. What always holds: each process is in one group;
 * groups are numbered in the order in which the first of each appears.
 */
#include <string.h>

#include "model/group.h"
#include "util/ids.h"
#include "util/util.h"

static const char *comm_of(const struct snap_process *p)
{
	return p->comm;
}

static const char *cgroup_of(const struct snap_process *p)
{
	return p->cgroup ? p->cgroup : "(unknown cgroup)";
}

static const char *all_of_them(const struct snap_process *p)
{
	return "everything";
}

const struct grouping groupings[] = {
	{ .name = "process", .row = "a process" },
	{ .name = "thread", .row = "a process, with stacks of each thread", .threads = true },
	{ .name = "comm", .row = "a program", .group_of = comm_of },
	{ .name = "cgroup", .row = "a cgroup", .group_of = cgroup_of, .title = "CGROUP" },
	{ .name = "none", .row = "everything", .group_of = all_of_them, .is_all = true },
};
const size_t n_groupings = ARRAY_SIZE(groupings);

const struct grouping grouping_programs = { .name = "comm", .row = "a program", .group_of = comm_of, .ended_apart = true };
const struct grouping grouping_crowd = { .name = "process", .row = "a process", .ended_from = 17 };

const struct grouping *grouping__find(const char *name)
{
	if (!name)
		return &groupings[0];
	for (size_t i = 0; i < n_groupings; i++)
		if (!strcmp(groupings[i].name, name))
			return &groupings[i];
	return NULL;
}

bool snapshot__is_grouped(const struct snapshot *s)
{
	const struct grouping *by = grouping__find(s->by);

	return by && by->group_of;
}

bool grouping__changes(const struct grouping *by)
{
	return by->group_of || by->threads || by->ended_from;
}

/* ---- what belongs to which group */

struct naming {
	struct string_ids names;
	struct key_ids programs, groups;
};

static void naming_done(struct naming *n)
{
	string_ids__done(&n->names);
	key_ids__done(&n->programs);
	key_ids__done(&n->groups);
}

/* Of lives that were folded into one row, no program is known. */
static bool may_merge(const struct snap_process *p)
{
	return p->ended && (p->pid > 0 || p->n_members);
}

static void program_of(struct naming *n, const struct snap_process *p, uint32_t *ret)
{
	uint32_t comm, exe;

	string_ids__get(&n->names, p->comm, &comm);
	string_ids__get(&n->names, p->exe, &exe);
	key_ids__get(&n->programs, (struct key){ comm, exe, 0 }, ret, NULL);
}

/* How many processes of each program have ended; the caller's. */
static uint64_t *count_ended(struct naming *n, const struct snapshot *s)
{
	uint64_t *v = xcalloc(s->n_processes + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_processes; i++) {
		uint32_t program;

		if (!may_merge(&s->processes[i]))
			continue;
		program_of(n, &s->processes[i], &program);
		v[program] += process__n(s, &s->processes[i]);
	}
	return v;
}

enum { GROUP_NAMED, GROUP_ENDED, GROUP_OWN };

static void key_of(struct naming *n, const struct grouping *by, const struct snap_process *p, size_t number, const uint64_t *n_ended, struct key *ret)
{
	uint32_t name, program;

	if (by->group_of) {
		string_ids__get(&n->names, by->group_of(p), &name);
		*ret = (struct key){ GROUP_NAMED, name, by->ended_apart && p->ended };
		return;
	}
	*ret = (struct key){ GROUP_OWN, number, 0 };
	if (!may_merge(p))
		return;
	program_of(n, p, &program);
	if (n_ended[program] >= by->ended_from)
		*ret = (struct key){ GROUP_ENDED, program, 0 };
}

void grouping__assign(const struct grouping *by, const struct snapshot *s, uint32_t *group_of, size_t *ret_n)
{
	_cleanup_free_ uint64_t *n_ended = NULL;
	struct naming n = {};

	if (!by->group_of)
		n_ended = count_ended(&n, s);
	for (size_t i = 0; i < s->n_processes; i++) {
		struct key key;

		key_of(&n, by, &s->processes[i], i, n_ended, &key);
		key_ids__get(&n.groups, key, &group_of[i], NULL);
	}
	*ret_n = n.groups.n;
	naming_done(&n);
}
