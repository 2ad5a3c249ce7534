// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a report tells of --mode growth alone:
 *
 *	RSS    1.0 MiB at first, 39.1 MiB now: 38.1 MiB more, 38.1 MiB by page faults,
 *	       12.0 KiB given back
 *	growth 5,664 page faults (38.1 MiB), 35 brk (5.1 MiB), 8 mmap (40.5 MiB)
 *
 *	RESIDENT by bytes (10 of 14 sites, 99.8% of bytes)
 *
 *	 1.   15.6 MiB  40.2%   4,000 faults   3.9 MiB/s    1.2s to   3.4s  page_fault
 *	     touch         t.c:9
 *
 * What always holds: resident memory, which page faults bring, and address
 * space, which brk and mmap add, are never in one sum.
 */
#include <inttypes.h>
#include <string.h>

#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/util.h"

/* Of all processes; RSS is told of those that run. */
struct sums {
	struct growth growth;
	uint64_t rss_first, rss_now, by_faults;
	bool runs;
};

static struct sums sum_up(const struct snapshot *s)
{
	struct sums t = {};

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		for (enum growth_kind k = GROWTH_FAULT; k < GROWTH_N_KINDS; k++) {
			t.growth.calls[k] += p->growth.calls[k];
			t.growth.bytes[k] += p->growth.bytes[k];
		}
		if (p->ended)
			continue;
		t.runs = true;
		t.rss_first += p->rss_at_attach_bytes;
		t.rss_now += p->rss_bytes;
		t.by_faults += p->growth.bytes[GROWTH_FAULT];
	}
	return t;
}

static void rss_line(struct report *r, const struct sums *t)
{
	int64_t change = (int64_t)(t->rss_now - t->rss_first), rest = (int64_t)t->by_faults - change;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	para__begin(&r->para, "RSS", LABEL_WIDTH);
	if (!t->runs) {
		para__item(&r->para, "was not told at the end: nothing runs any more");
		para__end(&r->para);
		return;
	}
	para__item(&r->para, "%s at first, %s now: %s %s", fmt_bytes(a, t->rss_first), fmt_bytes(b, t->rss_now),
		   fmt_bytes(c, change < 0 ? -change : change), change < 0 ? "less" : "more");
	para__item(&r->para, "%s by page faults", fmt_bytes(a, t->by_faults));
	if (rest > 0)
		para__item(&r->para, "%s given back", fmt_bytes(a, rest));
	else if (rest < 0)
		para__item(&r->para, "%s without a fault (the kernel's own doing: MAP_POPULATE, mlock)", fmt_bytes(a, -rest));
	para__end(&r->para);
}

void report__growth_lines(struct report *r)
{
	static const char *const names[GROWTH_N_KINDS] = { [GROWTH_BRK] = "brk", [GROWTH_MMAP] = "mmap" };
	struct sums t = sum_up(r->s);
	char a[FMT_MAX], b[FMT_MAX];

	rss_line(r, &t);
	para__begin(&r->para, "growth", LABEL_WIDTH);
	para__item(&r->para, "%s page fault%s (%s)", fmt_exact(a, t.growth.calls[GROWTH_FAULT]),
		   plural(t.growth.calls[GROWTH_FAULT]), fmt_bytes(b, t.growth.bytes[GROWTH_FAULT]));
	for (enum growth_kind k = GROWTH_BRK; k < GROWTH_N_KINDS; k++)
		para__item(&r->para, "%s %s (%s)", fmt_exact(a, t.growth.calls[k]), names[k], fmt_bytes(b, t.growth.bytes[k]));
	para__end(&r->para);
}
