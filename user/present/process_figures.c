// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns figures of a process or a site that several tables and lines tell. What always holds:
 * what is not known is NAN, 0 or NULL, never a guess.
 */
#include <math.h>
#include <string.h>

#include "model/group.h"
#include "present/columns.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

#define NS_PER_S 1e9
#define ID_SHOWN 12	/* of a container's, as its own tools show it */

double process__growth(const struct snap_process *p)
{
	const struct snap_point *first = p->timeline, *last;

	if (p->ended)
		return NAN;
	if (p->trend.known)
		return p->trend.growth_bytes_per_s;
	if (p->n_timeline < 2)
		return NAN;
	last = &p->timeline[p->n_timeline - 1];
	if (last->t_ns <= first->t_ns)
		return NAN;
	return ((double)last->live_bytes - (double)first->live_bytes) * NS_PER_S / (double)(last->t_ns - first->t_ns);
}

double site__growth_order(const struct snap_site *site)
{
	if (site->trend.known)
		return site->trend.growth_bytes_per_s;
	return site->oldest_ns ? (double)site->c.live_bytes * NS_PER_S / (double)MAX(site->oldest_ns, SECOND_NS) : NAN;
}

uint64_t process__traced_ns(const struct snapshot *s, const struct snap_process *p)
{
	int64_t since_start = s->wall_now_ns - p->wall_started_ns;

	if (p->ended)
		return 0;
	if (p->wall_started_ns && since_start > 0)
		return MIN(s->duration_ns, (uint64_t)since_start);
	return s->duration_ns;
}

uint64_t process__age_ns(const struct snapshot *s, const struct snap_process *p)
{
	if (p->ended)
		return 0;
	if (p->wall_started_ns && s->wall_now_ns > p->wall_started_ns)
		return (uint64_t)(s->wall_now_ns - p->wall_started_ns);
	return p->age_at_attach_ns + s->duration_ns;
}

const char *process__number(const struct snapshot *s, const struct snap_process *p, char buf[static PROCESS_NUMBER_MAX])
{
	char a[FMT_MAX];

	*buf = 0;
	if (p->n_members > 1 && snapshot__is_grouped(s))
		snprintf(buf, PROCESS_NUMBER_MAX, " (%s processes)", fmt_exact(a, p->n_members));
	else if (p->pid > 0)
		snprintf(buf, PROCESS_NUMBER_MAX, " (%d)", p->pid);
	return buf;
}

#define NAME_COLS 48	/* of four bytes each at most */

const char *process__name(const struct snapshot *s, const struct snap_process *p, char buf[static PROCESS_NAME_MAX])
{
	char number[PROCESS_NUMBER_MAX];

	snprintf(buf, PROCESS_NAME_MAX, "%.*s%s", (int)text_head(p->comm, NAME_COLS), p->comm, process__number(s, p, number));
	return buf;
}

const char *process__where(const struct snap_process *p, char buf[static CELL_MAX])
{
	static const char usual[] = ".service";
	const char *tail;

	if (p->unit) {
		size_t len = strlen(p->unit), end = sizeof(usual) - 1;

		if (len <= end || len - end >= CELL_MAX || strcmp(p->unit + len - end, usual))
			return p->unit;
		snprintf(buf, CELL_MAX, "%.*s", (int)(len - end), p->unit);
		return buf;
	}
	if (p->pod)
		return p->pod;
	if (p->container) {
		/* a name is one as it is */
		if (p->container[strspn(p->container, "0123456789abcdef")])
			return p->container;
		snprintf(buf, CELL_MAX, "%.*s", ID_SHOWN, p->container);
		return buf;
	}
	if (!p->cgroup || !strcmp(p->cgroup, "/"))
		return p->cgroup;
	tail = path_basename(p->cgroup);
	return *tail ? tail : p->cgroup;
}

char *fmt_change(char buf[static CELL_MAX], double bytes)
{
	char a[FMT_MAX];
	double size = round(fabs(bytes));

	fmt_bytes(a, size >= 0x1p63 ? UINT64_MAX : (uint64_t)size);
	snprintf(buf, CELL_MAX, "%s%s", size < 1 ? "" : bytes < 0 ? "-" : "+", a);
	return buf;
}
