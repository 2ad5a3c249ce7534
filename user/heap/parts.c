// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sum: every mapping of a process, cut where spans begin and end, each piece counted in one row, page by page.
 *
 * What always holds: the rows' resident bytes add up to rss_bytes. The kernel's own count (VmRSS) is exact from 6.17 on only,
 * before that it lags behind by some hundred pages; what it has and we do not find is a row, PART_OTHER, and where it
 * has less, the pages that were found are what is resident.
 */
#include "heap/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "process/process.h"

#define HUGE_SIZES 8
#define RESERVED_MAX_BYTES (1ull << 30)

struct status {			/* of /proc/PID/status, bytes; of a process that has ended: nobody knows */
	uint64_t rss, tables, swap, hugetlb;
};

struct fill {
	struct parts *p;
	struct part_spans spans;	/* with the heap */
	struct part_rows rows;
	struct part_globals *globals;	/* owned; of each module */
	uint64_t huge_devs[HUGE_SIZES];
	size_t n_huge_devs;
	bool unsure_counts;	/* RUN_UNSURE is resident */
	uint64_t unsure_bytes;
	/* of the piece that is being counted: */
	size_t row;
	struct module *module;	/* NULL: it is the row's */
	uint64_t stack_end;	/* 0: it is no stack */
};

/* ---- what the kernel says */

static int read_status(const struct target *t, struct status *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = t->runner ? process__file(t->runner, "status", &text) : 0;

	if (r)
		return r;
	*ret = !text ? (struct status){} :
	       (struct status){ bytes_of_line(text, "VmRSS:"), bytes_of_line(text, "VmPTE:"), bytes_of_line(text, "VmSwap:"),
				bytes_of_line(text, "HugetlbPages:") };
	return 0;
}

/*
 * Pages of hugetlbfs are there, and RSS does not count them. Their files, anonymous ones too, are of a file system of each size,
 * whose number a file of our own has.
 */
static void learn_huge_devs(struct fill *f)
{
	for (unsigned int shift = 14; shift < 36 && f->n_huge_devs < HUGE_SIZES; shift++) {
		_cleanup_close_ int fd = memfd_create("malloctrace", MFD_CLOEXEC | MFD_HUGETLB | shift << MAP_HUGE_SHIFT);
		struct stat st;

		if (fd >= 0 && !fstat(fd, &st))
			f->huge_devs[f->n_huge_devs++] = st.st_dev;
	}
}

static bool is_huge(const struct fill *f, const struct mapping *m)
{
	for (size_t i = 0; i < f->n_huge_devs; i++)
		if (m->ino && makedev(m->dev_major, m->dev_minor) == f->huge_devs[i])
			return true;
	return false;
}

/* ---- pieces */

static void count_run(struct fill *f, const struct page_run *run)
{
	bool swapped = run->is == RUN_SWAPPED;
	struct snap_part *row;

	if (run->is == RUN_UNSURE) {
		f->unsure_bytes += run->end - run->start;
		if (!f->unsure_counts)
			return;
	}
	if (f->module) {
		struct part_globals *g = &f->globals[f->module - f->p->modules.all.v];

		part_globals__count(g, f->p, f->module, run->start, run->end, swapped);
		return;
	}
	row = &f->rows.all.v[f->row];
	*(swapped ? &row->swapped_bytes : &row->resident_bytes) += run->end - run->start;
	/* runs come by address */
	if (f->stack_end)
		row->deepest_bytes = MAX(row->deepest_bytes, f->stack_end - run->start);
}

static int count_pages(struct fill *f, uint64_t start, uint64_t end)
{
	struct page_runs runs = { .t = f->p->t, .at = start, .end = end };
	struct page_run run;
	int r;

	while ((r = page_runs__next(&runs, &run)) > 0)
		count_run(f, &run);
	/* what was not looked at is the difference to what the kernel has counted */
	return r == -E2BIG ? 0 : r;
}

static size_t stack_row(struct fill *f, const struct part_span *s)
{
	const struct thread_stack *t = &f->p->stacks.all.v[s->of];
	size_t row = t->tid ? part_rows__get(&f->rows, PART_STACK, t->name, NULL) :
			      part_rows__get(&f->rows, PART_STACK, "(kept for new threads)", NULL);

	f->rows.all.v[row].tid = t->tid;
	f->stack_end = t->tid ? t->end : 0;
	return row;
}

/* Where a piece of a mapping belongs. */
static void choose_row(struct fill *f, const struct mapping *m, const struct part_span *s, uint64_t start, bool *ret_skip)
{
	struct part_name name = { .kind = PART_HEAP };

	f->module = NULL;
	f->stack_end = 0;
	if (s && s->is == SPAN_GUARD) {
		f->row = part_rows__get(&f->rows, PART_ANON, PART_RESERVED, NULL);
	} else if (!s || s->is == SPAN_HEAP) {
		/* [heap] has one row, whether all of it is the allocator's or not */
		if (s)
			name.name = pool__string(&f->p->pool, strcmp(m->path, "[heap]") ? "(arenas and large blocks)" : m->path);
		else
			part_mappings__name(f->p, m, &name);
		*ret_skip = name.is_nothing;
		if (name.is_nothing)
			return;
		f->row = name.name ? part_rows__get(&f->rows, name.kind, name.name, name.module) :
				     part_rows__add(&f->rows, name.kind, NULL, NULL);
		if (!name.name)
			f->rows.all.v[f->row].addr = start;
	} else if (s->is == SPAN_STACK) {
		f->row = stack_row(f, s);
	} else if (s->is == SPAN_TLS) {
		const struct thread_stack *t = thread_stacks__by_tid(&f->p->stacks, f->p->t->pid);

		f->row = part_rows__get(&f->rows, PART_TLS, t && t->name[0] ? t->name : "(first thread)", NULL);
		f->rows.all.v[f->row].tid = f->p->t->pid;
	} else {
		f->module = &f->p->modules.all.v[s->of];
	}
}

/* What may not be touched has hardly any pages, and there may be terabytes of it. */
static bool is_too_much(const struct fill *f, const struct mapping *m, uint64_t bytes)
{
	return !m->read && !m->write && !m->exec && bytes > RESERVED_MAX_BYTES && !page_runs__passes_over(f->p->t);
}

static int count_piece(struct fill *f, const struct mapping *m, const struct part_span *s, uint64_t start, uint64_t end, double part)
{
	bool skip = false;

	choose_row(f, m, s, start, &skip);
	if (skip)
		return 0;
	if (f->module)
		f->globals[f->module - f->p->modules.all.v].mapped_bytes += end - start;
	else
		f->rows.all.v[f->row].mapped_bytes += end - start;
	if (is_too_much(f, m, end - start))
		return 0;
	return target__go_on(f->p->t, "resident memory", part) ?: count_pages(f, start, end);
}

static int count_all(struct fill *f)
{
	const struct maps *maps = &f->p->t->maps;
	size_t at = 0, at_huge;
	int r = 0;

	page_runs__begin(f->p->t);
	for (size_t i = 0; i < maps->n && !r; i++) {
		const struct mapping *m = &maps->v[i];
		double part = (double)i / (double)maps->n;
		uint64_t start = m->start;

		if (is_huge(f, m)) {
			at_huge = part_rows__get(&f->rows, PART_OTHER, "(pages of hugetlbfs, which RSS does not count)", NULL);
			f->rows.all.v[at_huge].mapped_bytes += m->end - m->start;
			continue;
		}
		while (start < m->end && !r) {
			const struct part_span *s;
			uint64_t end = m->end;

			while (at < f->spans.n && f->spans.v[at].end <= start)
				at++;
			s = at < f->spans.n ? &f->spans.v[at] : NULL;
			if (s && s->start > start) {
				end = MIN(end, s->start);
				s = NULL;
			} else if (s) {
				end = MIN(end, s->end);
			}
			r = count_piece(f, m, s, start, end, part);
			start = end;
		}
	}
	for (size_t i = 0; i < f->p->modules.all.n && !r; i++)
		part_globals__put(&f->globals[i], f->p, &f->p->modules.all.v[i], &f->rows);
	return r;
}

/* ---- all of it */

static void add_heap(struct fill *f, const struct census *c)
{
	for (size_t i = 0; i < f->p->spans.n; i++) {
		const struct part_span *s = &f->p->spans.v[i];

		part_spans__add(&f->spans, f->p->t, s->start, s->end, s->is, s->of);
	}
	for (size_t i = 0; c && i < c->ranges.n; i++)
		part_spans__add(&f->spans, f->p->t, c->ranges.v[i].start, c->ranges.v[i].end, SPAN_HEAP, 0);
	part_spans__settle(&f->spans);
}

static void forget(struct fill *f)
{
	part_rows__done(&f->rows);
	for (size_t i = 0; i < f->p->modules.all.n; i++)
		part_globals__done(&f->globals[i]);
	f->unsure_bytes = 0;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Whether pages that nobody can tell from zeros count, is told by what they add up to. */
static int count_twice(struct fill *f, struct status *st)
{
	int r = count_all(f);
	uint64_t sum;

	if (!r)
		r = read_status(f->p->t, st);
	sum = part_rows__resident(&f->rows);
	if (r || !f->unsure_bytes || apart(sum + f->unsure_bytes, st->rss) >= apart(sum, st->rss))
		return r;
	forget(f);
	f->unsure_counts = true;
	r = count_all(f);
	return r ? r : read_status(f->p->t, st);
}

static void add_other(struct fill *f, const struct status *st)
{
	uint64_t sum = part_rows__resident(&f->rows);
	size_t row;

	if (sum >= st->rss)
		return;
	row = part_rows__add(&f->rows, PART_OTHER, f->p->t->passed_over_bytes ? "(not looked at: too much address space)" :
						   "(counted by the kernel, found in no mapping)", NULL);
	f->rows.all.v[row].resident_bytes = st->rss - sum;
}

int parts__fill(struct parts *p, const struct census *c, struct snapshot *s, struct snap_heap *h, struct err *e)
{
	struct fill f = { .p = p };
	struct status st = {};
	int r;

	f.globals = xcalloc(p->modules.all.n + 1, sizeof(*f.globals));
	add_heap(&f, c);
	r = read_status(p->t, &st);
	if (!r && (st.hugetlb || !p->t->runner))
		learn_huge_devs(&f);
	if (!r)
		r = count_twice(&f, &st);
	/* the status may be of another program by now, or of none */
	if (!r && memory__is_gone(&p->t->memory))
		r = -ESRCH;
	if (!r) {
		add_other(&f, &st);
		h->rss_bytes = MAX(st.rss, part_rows__resident(&f.rows));
		h->page_table_bytes = st.tables;
		h->swap_bytes = st.swap;
		part_rows__put(&f.rows, s, h);
	}
	forget(&f);
	free(f.globals);
	vec_done(&f.spans);
	if (r == -EINTR)
		return err_set(e, r, "the look at process %d was ended", (int)p->t->pid);
	return r ? err_set(e, -ESRCH, "process %d has ended, or become another program", (int)p->t->pid) : 0;
}
