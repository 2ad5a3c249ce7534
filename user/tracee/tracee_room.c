// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. Is there room for probes in the targets' memory cgroups? A page of code that gets a
 * breakpoint becomes a copy that is charged there (process/memcg.h); one that is full would have a process killed.
 *
 * Probes of one process alone are refused before the first is set, or, for a library that it loads
 * later, left out. Shared probes are set in all processes that map a file, by the kernel, whatever
 * is selected: none can be left out, so it is said which processes are in danger.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "process/memcg.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"
#include "util/parse.h"

/* A C library, its loader and a C++ library have about half of it. */
#define USUAL_PAGES 64
#define ROUND_BYTES (1ull << 20)

static size_t n_pages(const struct plan *p)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	size_t n = 0;

	for (size_t i = 0; i < p->n_points; i++) {
		size_t k = 0;

		while (k < i && p->points[k].offset / page != p->points[i].offset / page)
			k++;
		n += k == i;
	}
	return n;
}

int tracee__check_room(const struct tracee *p, const struct plan *const *plans, size_t n, struct err *e)
{
	char room[FMT_MAX], limit[FMT_MAX], need[FMT_MAX];
	uint64_t need_bytes, enough;
	struct memcg m;
	size_t pages = 0;

	for (size_t i = 0; i < n; i++)
		pages += n_pages(plans[i]);
	need_bytes = memcg__need_bytes(pages);
	memcg__of(p->process.pid, &m);
	if (m.room_bytes >= need_bytes || !m.dir) {
		memcg__done(&m);
		return 0;
	}
	enough = (m.limit_bytes + need_bytes - m.room_bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
	clean_name(m.dir);
	err_set(e, -ENOSPC,
		"'%s' (%d) may be killed if it is traced now: the limit of its memory cgroup, %s, leaves room for %s, and probes may need %s",
		p->process.comm, (int)p->process.pid, fmt_bytes(limit, m.limit_bytes),
		fmt_bytes(room, m.room_bytes), fmt_bytes(need, need_bytes));
	err_hint(e, "raise the limit by %s for the time of the trace: echo %llu > %s/%s",
		 fmt_bytes(need, enough - m.limit_bytes), (unsigned long long)enough, m.dir, m.limit_file);
	memcg__done(&m);
	return -ENOSPC;
}

int tracee__leave_room(const struct tracees *t, struct tracee *p, const struct plan *const *plans, size_t n,
		       bool *ret_room, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err;

	*ret_room = true;
	/* shared probes are the kernel's to set; and a program of our own has not run yet */
	if (!p->attachment || (p->own && !t->begun))
		return 0;
	err = tracee__check_room(p, plans, n, &why);
	if (!err)
		return 0;
	if (!t->begun)
		return n ? err_set(e, err, "%s", err_msg(&why)) : 0;
	*ret_room = false;
	for (size_t i = 0; i < n; i++) {
		p->n_written_over += plans[i]->n_points;
		say("%s is not probed, and what it allocates is not seen: %s", plans[i]->object->path, err_msg(&why));
	}
	return 0;
}

void tracee__tell_room(const struct tracee *p, FILE *out)
{
	char room[FMT_MAX], limit[FMT_MAX];
	struct memcg m;

	memcg__of(p->process.pid, &m);
	if (m.dir) {
		clean_name(m.dir);
		fprintf(out, "  memory     room for %s in its cgroup %s, whose limit is %s\n",
			fmt_bytes(room, m.room_bytes), m.dir, fmt_bytes(limit, m.limit_bytes));
	}
	memcg__done(&m);
}

/* The caller's; NULL without memory. */
static char *words_of(struct tight *one)
{
	char room[FMT_MAX], *text;

	clean_name(one->memcg.dir);
	return asprintf(&text,
			"the memory cgroup %s has room for %s: %zu process%s in it (such as %d) may be killed, because every process that maps a probed file gets copies of its pages, selected or not; raise %s, or trace single processes with -p PID",
			one->memcg.dir, fmt_bytes(room, one->memcg.room_bytes), one->n_processes, one->n_processes == 1 ? "" : "es",
			(int)one->pid, one->memcg.limit_file) < 0 ? NULL : text;
}

int tracees__tell_tight(FILE *out, struct err *e)
{
	struct tights tights = {};
	int err = tights__find(USUAL_PAGES, &tights);

	for (size_t i = 0; i < tights.n && !err; i++) {
		_cleanup_free_ char *text = words_of(&tights.v[i]);

		if (!text)
			err = -ENOMEM;
		else if (out)
			fprintf(out, "  memory     %s\n", text);
		else
			say("%s", text);
	}
	tights__done(&tights);
	return err ? err_set(e, err, "out of memory") : 0;
}
