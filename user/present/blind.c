// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how it is told that nothing was seen:
 *
 *	BLIND  no call was seen of shopd (1432), which ran for 1.20s and grew by 64.0 MiB
 *	       probed: 38 functions in libc.so.6
 *	       what else looks like an allocator: shop_malloc and shop_free in shopd (--prefix shop_)
 *	idle   sleeper (1433) did not run: it used no CPU time while it was traced
 *
 * What always holds: it is said of each process that ran without a call that was seen, and
 * nobody is told that nothing was lost where nothing was seen.
 */
#include "present/blind.h"

#include <string.h>

#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define NAMED 3

size_t blind__n(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_processes; i++)
		n += s->processes[i].blind.is && !s->processes[i].blind.idle;
	return n;
}

const struct snap_process *blind__first(const struct snapshot *s)
{
	const struct snap_process *found = NULL;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		if (p->blind.is && !p->blind.idle && (!found || (p->blind.candidates && !found->blind.candidates)))
			found = p;
	}
	return found;
}

const char *blind__ran(const struct snap_process *p, char buf[static BLIND_MAX])
{
	char a[FMT_MAX], b[FMT_MAX];
	const struct snap_blind *d = &p->blind;
	bool grew = d->grown_bytes >= 1 << 20;

	if (d->cpu_ns)
		snprintf(buf, BLIND_MAX, "ran for %s%s%s", fmt_duration(a, d->cpu_ns), grew ? " and grew by " : "",
			 grew ? fmt_bytes(b, (uint64_t)d->grown_bytes) : "");
	else if (grew)
		snprintf(buf, BLIND_MAX, "grew by %s", fmt_bytes(b, (uint64_t)d->grown_bytes));
	else
		snprintf(buf, BLIND_MAX, "ran to its end");
	return buf;
}

static void tell_one(struct report *r, const struct snap_process *p, const char *label)
{
	_cleanup_free_ char *owner = report__owner(r, p, r->width);
	char ran[BLIND_MAX];

	para__begin(&r->para, label, LABEL_WIDTH);
	para__item(&r->para, "no call was seen of %s, which %s", owner ? owner : "", blind__ran(p, ran));
	para__end(&r->para);
	if (p->blind.probed) {
		para__begin(&r->para, "", LABEL_WIDTH);
		para__item(&r->para, "probed: %s", p->blind.probed);
		para__end(&r->para);
	}
	para__begin(&r->para, "", LABEL_WIDTH);
	if (p->blind.candidates)
		para__item(&r->para, "what else looks like an allocator: %s", p->blind.candidates);
	else
		para__item(&r->para, "nothing else that it maps looks like an allocator by its names (a stripped file has none; --sym names functions)");
	para__end(&r->para);
}

static void tell_idle(struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		const struct snap_process *p = &r->s->processes[i];

		_cleanup_free_ char *owner = NULL;

		if (!p->blind.is || !p->blind.idle || n++ >= NAMED)
			continue;
		owner = report__owner(r, p, r->width);
		para__begin(&r->para, n == 1 ? "idle" : "", LABEL_WIDTH);
		para__item(&r->para, "%s did not run: it used no CPU time while it was traced", owner ? owner : "");
		para__end(&r->para);
	}
}

void report__blind_lines(struct report *r)
{
	size_t n = blind__n(r->s), told = 0;
	char a[FMT_MAX];

	for (size_t i = 0; i < r->s->n_processes && told < NAMED; i++)
		if (r->s->processes[i].blind.is && !r->s->processes[i].blind.idle)
			tell_one(r, &r->s->processes[i], told++ ? "" : "BLIND");
	if (n > told) {
		para__begin(&r->para, "", LABEL_WIDTH);
		para__item(&r->para, "and of %s more", fmt_exact(a, n - told));
		para__end(&r->para);
	}
	tell_idle(r);
}
