// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns these words. What always holds: what is not known is not said. */
#include "present/machine_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"
#include "present/figures.h"
#include "util/ids.h"
#include "util/text.h"
#include "util/util.h"

#define NAMED 3		/* programs that ended */
#define NAME_COLS 24

/* What a function writes; the caller's. */
struct text {
	char *v;
	size_t len;
	FILE *out;
};

static bool begin(struct text *t)
{
	*t = (struct text){};
	t->out = open_memstream(&t->v, &t->len);
	return t->out;
}

static char *end(struct text *t)
{
	if (!fclose(t->out))
		return t->v;
	free(t->v);
	return NULL;
}

char *machine__words(const struct snapshot *s)
{
	const struct snap_machine *m = &s->machine;
	char a[FMT_MAX], b[FMT_MAX];
	struct text t;

	if (!m->total_bytes || !begin(&t))
		return NULL;
	fprintf(t.out, "%s, %s available", fmt_bytes(a, m->total_bytes), fmt_bytes(b, m->available_bytes));
	fprintf(t.out, ", %s free", fmt_bytes(a, m->free_bytes));
	if (m->swap_bytes)
		fprintf(t.out, ", swap %s of %s used", fmt_bytes(a, m->swap_bytes - MIN(m->swap_free_bytes, m->swap_bytes)), fmt_bytes(b, m->swap_bytes));
	if (m->has_pressure)
		fprintf(t.out, ", pressure %.2f%%", m->some_pct);
	return end(&t);
}

/* ---- --overhead */

#define SHARE_SCALE 1000000

const char *observed__words(const struct snapshot *s, char buf[static 3 * FMT_MAX])
{
	char a[FMT_MAX];

	snprintf(buf, 3 * FMT_MAX, "%s of the %s observed", fmt_share(a, (uint64_t)(s->observed_share * SHARE_SCALE), SHARE_SCALE),
		 s->n_selected ? "CPU time" : "time");
	return buf;
}

char *watched__words(const struct snapshot *s)
{
	char a[FMT_MAX], b[FMT_MAX];
	struct text t;

	if (!s->n_selected || !begin(&t))
		return NULL;
	fprintf(t.out, "%s process%s watched by turns, and figures are of these alone; %s run now", fmt_exact(a, s->n_watched),
		s->n_watched == 1 ? " was" : "es were", fmt_exact(b, s->n_selected));
	return end(&t);
}

const char *unmet__words(const struct snapshot *s)
{
	return s->estimated && isinf(s->error.alloc_calls) ? "? is not known: no call was met of a process that ran" : NULL;
}

/* ---- processes that have ended */

bool ended__sum(const struct snapshot *s, const struct snap_process *of, struct ended *ret)
{
	struct ended sum = {};
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		if (of && p != of)
			continue;
		n += process__n(s, p);
		sum.n += process__n_ended(s, p);
		sum.live_blocks += process__ended_blocks(p);
		sum.live_bytes += process__ended_bytes(p);
	}
	if (!(s->known & HAS_LIVE_BYTES) || !sum.n || sum.n >= n)
		return false;
	*ret = sum;
	return true;
}

struct program {
	const char *comm;
	uint64_t live_bytes;
};

static int by_bytes(const void *pa, const void *pb)
{
	const struct program *a = pa, *b = pb;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	return strcmp(a->comm, b->comm);
}

/* Those that held something, the most first; *ret_n of them. The caller's. */
static struct program *programs_of(const struct snapshot *s, size_t *ret_n)
{
	struct program *v = calloc(s->n_processes + 1, sizeof(*v));
	struct string_ids comms = {};
	size_t n = 0;

	for (size_t i = 0; v && i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		uint32_t id;

		if (!process__ended_bytes(p))
			continue;
		if (string_ids__get(&comms, p->comm, &id))
			break;
		v[id].comm = p->comm;
		v[id].live_bytes += process__ended_bytes(p);
		n = comms.n;
	}
	string_ids__done(&comms);
	if (n)
		qsort(v, n, sizeof(*v), by_bytes);
	*ret_n = n;
	return v;
}

char *ended__words(const struct snapshot *s, const struct snap_process *of)
{
	const char *mark = s->estimated ? "~" : "";
	_cleanup_free_ struct program *v = NULL;
	char a[FMT_MAX], b[FMT_MAX];
	struct ended sum;
	struct text t;
	size_t n;

	if (!ended__sum(s, of, &sum))
		return NULL;
	v = programs_of(s, &n);
	if (!v || !begin(&t))
		return NULL;
	/* everything in one row has no name that says anything */
	n = s->n_processes > 1 && !of ? n : 0;
	fprintf(t.out, "%s, held %s%s when %s did", fmt_exact(a, sum.n), mark, fmt_bytes(b, sum.live_bytes), sum.n == 1 ? "it" : "they");
	for (size_t i = 0; i < MIN(n, (size_t)NAMED); i++) {
		_cleanup_free_ char *name = text_shorten(v[i].comm, NAME_COLS);

		fprintf(t.out, "%s%s %s%s", i ? ", " : ": ", name ? name : "", mark, fmt_bytes(a, v[i].live_bytes));
	}
	if (n > NAMED)
		fprintf(t.out, " and %zu other%s", n - NAMED, n - NAMED == 1 ? "" : "s");
	return end(&t);
}

/* ---- cgroups */

double cgroup__nearness(const struct snap_cgroup *c)
{
	if (!c->limited_by || c->limit_bytes == UINT64_MAX || c->limit_current_bytes == UINT64_MAX)
		return NAN;
	/* a limit of nothing is full */
	return c->limit_bytes ? (double)c->limit_current_bytes / (double)c->limit_bytes : 1;
}

const struct snap_cgroup *cgroup__of_row(const struct snapshot *s, const struct snap_process *p)
{
	const struct grouping *by = grouping__find(s->by);

	return by && by->has_limits ? snapshot__cgroup(s, p->cgroup) : NULL;
}

char *cgroup__words(const struct snap_cgroup *c)
{
	static const struct {
		size_t at;
		const char *one, *several;
	} events[] = {
		{ offsetof(struct snap_cgroup, oom_kill), "kill by OOM", "kills by OOM" },
		{ offsetof(struct snap_cgroup, max), "time at its limit", "times at its limit" },
		{ offsetof(struct snap_cgroup, high), "time above its high mark", "times above its high mark" },
	};
	char a[FMT_MAX], b[FMT_MAX], share[FMT_MAX];
	struct text t;

	if (!begin(&t))
		return NULL;
	if (c->current_bytes != UINT64_MAX)
		fprintf(t.out, "%s", fmt_bytes(a, c->current_bytes));
	if (isnan(cgroup__nearness(c)))
		fprintf(t.out, "%sno limit", c->current_bytes != UINT64_MAX ? " and " : "");
	else if (c->max_bytes != UINT64_MAX && c->current_bytes != UINT64_MAX)
		fprintf(t.out, " of %s (%s)", fmt_bytes(b, c->max_bytes), fmt_percent(share, c->current_bytes, c->max_bytes));
	else
		fprintf(t.out, "%s%s of the %s (%s) that %s may have", c->current_bytes != UINT64_MAX ? ", and " : "", fmt_bytes(a, c->limit_current_bytes),
			fmt_bytes(b, c->limit_bytes), fmt_percent(share, c->limit_current_bytes, c->limit_bytes), c->limited_by);
	for (size_t i = 0; c->has_events && i < ARRAY_SIZE(events); i++) {
		uint64_t n = *(const uint64_t *)((const char *)c + events[i].at);

		if (n)
			fprintf(t.out, ", %s %s", fmt_exact(a, n), n == 1 ? events[i].one : events[i].several);
	}
	return end(&t);
}
