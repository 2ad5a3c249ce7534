// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the words for resident memory and how much of it live blocks explain. Below the
 * live line of a report:
 *
 *	RSS    heap 79.0 MiB of 90.0 MiB mapped (3 arenas), other anonymous 10.0 MiB,
 *	       files 6.9 MiB
 *	       +32.0 MiB while traced: heap +30.0 MiB, other anonymous +2.0 MiB,
 *	       92% of its growth explained by live blocks
 *	heap   traced blocks 38.0 MiB, their overhead 2.0 MiB (5.3%), free or older
 *	       than the trace 39.0 MiB
 *
 * Where a look at the heap told one from the other: "free 20.6 MiB, older than the trace 18.4 MiB in 120,412 blocks".
 * What is extrapolated has a ~ before it. Of a process that has ended, alone or in a list of processes,
 * the first words are when that was looked at: "last seen at 12.3s".
 *
 * What always holds: nothing is said of what is not known, nor of growth that is
 * small; parts of the heap add up to what is resident of it, if all of it was touched.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/rss_trend.h"
#include "present/text/report_parts.h"

#define NOTABLE_BYTES (1ull << 20)
#define NOTABLE_PART 50		/* one of so many of what was resident at first */

struct heap_use {
	bool known;		/* glibc's: blocks were looked at */
	uint64_t overhead_bytes;	/* headers and rounding, of live blocks */
	uint64_t free_bytes;	/* of the heap's resident bytes: no live block that was seen */
	uint64_t untouched_bytes;	/* live blocks come to more than is resident */
};

static struct heap_use heap_use_of(const struct snap_memory *m)
{
	uint64_t in_heap = m->sized_usable - MIN(m->sized_apart, m->sized_usable);

	return (struct heap_use){
		.known = m->known && m->sized_blocks,
		.overhead_bytes = m->sized_usable - MIN(m->sized_requested, m->sized_usable),
		.free_bytes = m->heap_resident - MIN(in_heap, m->heap_resident),
		.untouched_bytes = in_heap - MIN(in_heap, m->heap_resident),
	};
}

/* What is there of the processes that run. */
static size_t add_up(const struct snapshot *s, struct snap_memory *sum, uint64_t *ret_live)
{
	size_t n = 0;

	*sum = (struct snap_memory){ .known = true, .grown_known = true, .sized_all = true };
	*ret_live = 0;
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_memory *m = &s->processes[i].memory;

		if (!m->known || s->processes[i].ended)
			continue;
		memory__add(sum, m);
		*ret_live += process__running_bytes(&s->processes[i]);
		n++;
	}
	return n;
}

static const char *mark_if(bool estimated)
{
	return estimated ? "~" : "";
}

/* seen: it is history */
static void where_items(struct report *r, const char *lead, const struct snap_memory *m, bool seen)
{
	char arenas[48] = "";

	if (seen) {
		para__item(&r->para, "%slast seen at %s", lead, DURATION(m->seen_ns));
		lead = "";
	}
	if (m->n_arenas)
		snprintf(arenas, sizeof(arenas), " (%u arena%s beside it)", m->n_arenas, plural(m->n_arenas));
	if (m->heap_mapped)
		para__item(&r->para, "%sheap %s%s of %s mapped%s", lead, mark_if(m->heap_estimated), BYTES(m->heap_resident),
			   BYTES(m->heap_mapped), arenas);
	para__item(&r->para, "%s%s %s%s", m->heap_mapped ? "" : lead, m->heap_mapped ? "other anonymous" : "anonymous",
		   mark_if(m->large_estimated), BYTES(m->large_resident));
	para__item(&r->para, "files %s%s", mark_if(m->heap_estimated || m->large_estimated), BYTES(m->file_resident));
}

/* "heap +30.0 MiB": parts that grew or shrank by little are left out */
static void change_item(struct report *r, const char *what, int64_t by, bool estimated, uint64_t notable)
{
	if ((by < 0 ? -(uint64_t)by : (uint64_t)by) >= notable)
		para__item(&r->para, "%s %s%s", what, mark_if(estimated), CHANGE((double)by));
}

/*
 * "RSS grows, but what leaks?": what was resident or in swap at first and is now, of those
 * that run, beside what their live blocks came to meanwhile. All of these were
 * made in that time. Nothing is said of a change that is small.
 */
static void growth_line(struct report *r, const char *label, const struct snap_memory *m)
{
	uint64_t first = 0, now = 0, live = 0, grown;
	struct rss_trend all = {};
	int64_t swap = 0;
	bool beside;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		const struct snap_process *p = &r->s->processes[i];

		if (p->ended || !p->rss_bytes || !process__used_at_attach(p))
			continue;
		first += process__used_at_attach(p);
		now += process__used_bytes(p);
		swap += (int64_t)(p->swap_bytes - p->swap_at_attach_bytes);
		all.swap |= p->swap_bytes || p->swap_at_attach_bytes;
		all.hugetlb |= p->hugetlb_bytes || p->hugetlb_at_attach_bytes;
		live += process__running_bytes(p);
	}
	grown = now > first ? now - first : 0;
	if (!(r->s->known & HAS_LIVE_BYTES) || grown < MAX(NOTABLE_BYTES, first / NOTABLE_PART))
		return;
	para__begin(&r->para, label, LABEL_WIDTH);
	beside = all.swap || all.hugetlb;
	para__item(&r->para, "+%s while traced%s%s%s", BYTES(grown), beside ? " (" : "", beside ? rss_trend__name(&all) : "", beside ? ")" : "");
	/* not all of a block need have been touched, and older ones may have gone */
	if (live > grown)
		para__item(&r->para, "less than live blocks: untouched or reused pages");
	else
		para__item(&r->para, "%s%s of its growth explained by live blocks", report__mark(r), PERCENT(live, grown));
	if (m && m->grown_known) {
		change_item(r, "heap", m->heap_grown, m->heap_estimated, grown / NOTABLE_PART);
		change_item(r, m->heap_mapped ? "other anonymous" : "anonymous", m->large_grown, m->large_estimated, grown / NOTABLE_PART);
		change_item(r, "files", m->file_grown, m->heap_estimated || m->large_estimated, grown / NOTABLE_PART);
	}
	change_item(r, "swap", swap, false, MAX(grown / NOTABLE_PART, (uint64_t)1));
	para__end(&r->para);
}

/* older: blocks may be there that are older than the trace; unsure: or that were freed and count as live; h: what a look found, or NULL */
static void heap_items(struct report *r, const struct snap_memory *m, uint64_t live, bool older, bool unsure, const struct snap_heap *h)
{
	const char *rest = recording__is_partial(&r->s->recording) ? "free, not recorded or older than the trace" : older ? "free or older than the trace" : "free";
	struct heap_use use = heap_use_of(m);
	const char *mark = mark_if(!m->sized_all), *free_mark = mark_if(!m->sized_all || m->heap_estimated);

	/* an estimate that cannot be is of no use */
	if (!use.known && r->s->estimated && live > m->heap_resident + m->large_resident)
		return;
	if (!use.known && live > m->heap_resident + m->large_resident) {
		para__item(&r->para, "live blocks are %s%s, and %s%s of anonymous memory is resident: the rest was never touched, is swapped out or in huge pages%s", report__mark(r),
			   BYTES(live), mark_if(m->heap_estimated || m->large_estimated), BYTES(m->heap_resident + m->large_resident),
			   unsure ? ", or was freed" : "");
		return;
	}
	if (!use.known) {
		/* another allocator than glibc: it is not known which mappings are its */
		para__item(&r->para, "live blocks explain %s%s of %s%s anonymous memory", report__mark(r), BYTES(live),
			   mark_if(m->heap_estimated || m->large_estimated), BYTES(m->heap_resident + m->large_resident));
		return;
	}
	para__item(&r->para, "traced blocks %s", BYTES(live));
	if (m->sized_apart)
		para__item(&r->para, "%s%s of them in mappings of their own", mark, BYTES(m->sized_apart));
	para__item(&r->para, "overhead %s%s (%s)", mark, BYTES(use.overhead_bytes), SHARE(use.overhead_bytes, m->sized_requested));
	/* a look at the heap told what is free from what is older */
	if (h && h->older_known) {
		para__item(&r->para, "free %s", BYTES(h->free_bytes));
		para__item(&r->para, "older than the trace %s in %s block%s", BYTES(h->older_bytes), EXACT(h->older_blocks), plural(h->older_blocks));
	} else if (use.untouched_bytes) {
		para__item(&r->para, "%s%s of them not resident", free_mark, BYTES(use.untouched_bytes));
	} else {
		para__item(&r->para, "%s %s%s", rest, free_mark, BYTES(use.free_bytes));
	}
}

/* What a look found, if the row is one process: heaps are not added up. */
static const struct snap_heap *looked_at(const struct report *r, const struct snap_process *p)
{
	return p->n_members > 1 ? NULL : snapshot__heap_of(r->s, (uint32_t)(p - r->s->processes));
}

void report__memory_of(struct report *r, const struct snap_process *p)
{
	_cleanup_free_ char *who = NULL, *lead = NULL;

	if (!p->memory.known)
		return;
	who = report__owner(r, p, r->width / 2);
	lead = xasprintf("%s: ", who);
	para__begin(&r->para, "", 0);
	where_items(r, lead, &p->memory, p->ended);
	/* what it held in the end is not what it held then */
	if (r->s->known & HAS_LIVE_BYTES && !p->ended)
		heap_items(r, &p->memory, process__running_bytes(p), p->age_at_attach_ns, p->unsure_blocks, looked_at(r, p));
	para__end(&r->para);
}

void report__memory_lines(struct report *r)
{
	struct snap_memory sum;
	uint64_t live;
	size_t n = add_up(r->s, &sum, &live), n_running = 0;
	bool older = false, all, where;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		n_running += !r->s->processes[i].ended;
		older |= !r->s->processes[i].ended && r->s->processes[i].age_at_attach_ns;
	}
	/* of a part of the processes, sums would say little */
	all = n && n == n_running;
	/* a single one's is worth telling, also if it is history; not where its heap is: that tells it all, and "heap" is more there */
	where = all || (r->s->n_processes == 1 && r->s->processes[0].memory.known);
	if (r->views & VIEW_HEAP && r->s->n_heaps == 1 && n_running == 1 && r->s->heaps[0].n_parts)
		where = false;
	if (where) {
		para__begin(&r->para, "RSS", LABEL_WIDTH);
		where_items(r, "", all ? &sum : &r->s->processes[0].memory, !all);
		para__end(&r->para);
	}
	growth_line(r, where ? "" : "RSS", all ? &sum : NULL);
	if (all && n == 1 && r->s->known & HAS_LIVE_BYTES) {
		para__begin(&r->para, sum.sized_blocks ? "heap" : "", LABEL_WIDTH);
		heap_items(r, &sum, live, older, r->s->reading.unsure_blocks, r->s->n_processes == 1 ? looked_at(r, &r->s->processes[0]) : NULL);
		para__end(&r->para);
	}
}

/* ---- --mode growth */

/*
 * What a report tells of --mode growth alone:
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

/* Of all processes; RSS is told of those that run. */
struct growth_sums {
	struct growth growth;
	uint64_t rss_first, rss_now, by_faults;
	int64_t swapped;	/* out, since the trace began */
	bool runs;
};

static struct growth_sums sum_up_growth(const struct snapshot *s)
{
	struct growth_sums t = {};

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
		t.swapped += (int64_t)(p->swap_bytes - p->swap_at_attach_bytes);
		t.by_faults += p->growth.bytes[GROWTH_FAULT];
	}
	return t;
}

static void growth_rss_line(struct report *r, const struct growth_sums *t)
{
	int64_t change = (int64_t)(t->rss_now - t->rss_first), rest = (int64_t)t->by_faults - change - t->swapped;

	if (!t->runs) {
		report__item(r, "RSS", LABEL_WIDTH, "was not read at the end: all processes have ended");
		return;
	}
	para__begin(&r->para, "RSS", LABEL_WIDTH);
	para__item(&r->para, "%s at first, %s now: %s %s", BYTES(t->rss_first), BYTES(t->rss_now),
		   BYTES(change < 0 ? -change : change), change < 0 ? "less" : "more");
	para__item(&r->para, "%s by page faults", BYTES(t->by_faults));
	if (t->swapped > 0)
		para__item(&r->para, "%s swapped out", BYTES(t->swapped));
	if (rest > 0)
		para__item(&r->para, "%s given back", BYTES(rest));
	else if (rest < 0)
		para__item(&r->para, "%s without a fault (the kernel's own doing: MAP_POPULATE, mlock)", BYTES(-rest));
	para__end(&r->para);
}

void report__growth_lines(struct report *r)
{
	static const char *const names[GROWTH_N_KINDS] = { [GROWTH_BRK] = "brk", [GROWTH_MMAP] = "mmap" };
	struct growth_sums t = sum_up_growth(r->s);

	growth_rss_line(r, &t);
	para__begin(&r->para, "growth", LABEL_WIDTH);
	para__item(&r->para, "%s page fault%s (%s)", EXACT(t.growth.calls[GROWTH_FAULT]),
		   plural(t.growth.calls[GROWTH_FAULT]), BYTES(t.growth.bytes[GROWTH_FAULT]));
	for (enum growth_kind k = GROWTH_BRK; k < GROWTH_N_KINDS; k++)
		para__item(&r->para, "%s %s (%s)", EXACT(t.growth.calls[k]), names[k], BYTES(t.growth.bytes[k]));
	para__end(&r->para);
}
