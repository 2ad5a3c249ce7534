// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what stands above a report's tables (drawn in report.c). What always
 * holds: a figure that was not recorded is not printed, and an estimated one
 * bears a mark and, where it is known, its standard error.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "util/text.h"
#include "util/util.h"
#include "view/figures.h"
#include "view/report_parts.h"

#define NS_PER_S 1000000000ll
#define LOUD_WIDTH 8	/* "LOSSES: " */
#define FIGURE_MAX (2 * FMT_MAX)
#define SHARE_SCALE 1000000

/* ---- paragraphs: a label, then items that are broken over lines between words only where they must */

void para__begin(struct para *p, const char *label, size_t indent)
{
	p->col = (size_t)fprintf(p->out, "%-*s", (int)indent, label);
	p->indent = indent;
	p->empty = true;
}

static void para__break(struct para *p)
{
	fprintf(p->out, "\n%*s", (int)p->indent, "");
	p->col = p->indent;
}

static void para__word(struct para *p, const char *word, int len, bool gap)
{
	size_t cols = text_width_n(word, len);

	if (p->col > p->indent && p->col + gap + cols > p->width) {
		para__break(p);
		gap = false;
	}
	fprintf(p->out, "%s%.*s", gap ? " " : "", len, word);
	p->col += cols + gap;
}

void para__item(struct para *p, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	bool gap = false;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text)
		return;
	if (!p->empty) {
		fputc(',', p->out);
		p->col++;
		/* one column more: the comma that may follow */
		if (p->col + 1 + text_width(text) + 1 > p->width)
			para__break(p);
		else
			gap = true;
	}
	p->empty = false;
	for (const char *w = text; *w;) {
		int len = (int)strcspn(w, " ");

		para__word(p, w, len, gap);
		gap = true;
		w += len;
		w += strspn(w, " ");
	}
}

void para__end(struct para *p)
{
	fputc('\n', p->out);
}

/* ---- the header */

static uint64_t whole(double d)
{
	return d >= 0x1p63 ? UINT64_MAX : d > 0 ? (uint64_t)(d + 0.5) : 0;
}

static void title_line(struct report *r)
{
	_cleanup_free_ char *who = NULL;
	time_t now = r->s->wall_now_ns / NS_PER_S;
	char when[32] = "";
	struct tm tm;
	size_t pad;
	int n;

	if (r->s->n_processes == 1) {
		const struct snap_process *p = r->s->processes;

		n = asprintf(&who, "malloctrace  %s (%d)%s", p->comm, p->pid, p->ended ? " [ended]" : "");
	} else {
		n = asprintf(&who, "malloctrace  %zu processes", r->s->n_processes);
	}
	if (n < 0)
		return;
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	pad = text_width(who) + strlen(when) + 2 < r->width ? r->width - text_width(who) - strlen(when) : 2;
	fprintf(r->out, "%s%*s%s\n", who, (int)pad, "", when);
}

static void traced_line(struct report *r)
{
	const struct snapshot *s = r->s;
	char t[FMT_MAX], a[FMT_MAX], b[FMT_MAX];

	para__begin(&r->para, "traced", LABEL_WIDTH);
	para__item(&r->para, "%s", fmt_duration(t, s->duration_ns));
	if (s->n_processes == 1 && s->processes->age_at_attach_ns)
		para__item(&r->para, "from %s after its start", fmt_duration(t, s->processes->age_at_attach_ns));
	else if (s->n_processes == 1)
		para__item(&r->para, "from its first instruction");
	if (s->partial_sizes && s->max_size != UINT64_MAX)
		para__item(&r->para, "only blocks of %s to %s", fmt_bytes(a, s->min_size), fmt_bytes(b, s->max_size));
	else if (s->partial_sizes)
		para__item(&r->para, "only blocks of %s and more", fmt_bytes(a, s->min_size));
	if (strcmp(s->size, "requested"))
		para__item(&r->para, "%s sizes", s->size);
	para__end(&r->para);
}

static void estimated_line(struct report *r)
{
	const struct snapshot *s = r->s;
	char a[FMT_MAX];

	if (!s->estimated)
		return;
	para__begin(&r->para, "~", LABEL_WIDTH);
	if (s->sample_bytes)
		para__item(&r->para, "estimated: one sample per %s on average", fmt_bytes(a, s->sample_bytes));
	if (s->observed_share < 1)
		para__item(&r->para, "%s%s of the time observed", s->sample_bytes ? "" : "estimated: ",
			   fmt_share(a, (uint64_t)(s->observed_share * SHARE_SCALE), SHARE_SCALE));
	para__item(&r->para, "± is one standard error");
	para__end(&r->para);
}

/* "39.2 MiB", or estimated "~39.2 MiB ±1.1 MiB" */
static const char *bytes_of(struct report *r, char buf[static FIGURE_MAX], uint64_t bytes, double error)
{
	char a[FMT_MAX], b[FMT_MAX];

	fmt_bytes(a, bytes);
	if (r->s->estimated)
		snprintf(buf, FIGURE_MAX, "~%s ±%s", a, fmt_bytes(b, whole(error)));
	else
		snprintf(buf, FIGURE_MAX, "%s", a);
	return buf;
}

/* "33,338", or estimated "~33,338 ±410"; the digits that an estimate has not are not shown */
static const char *count_of(struct report *r, char buf[static FIGURE_MAX], uint64_t n, double error)
{
	char a[FMT_MAX], b[FMT_MAX];

	if (r->s->estimated)
		snprintf(buf, FIGURE_MAX, "~%s ±%s", fmt_count(a, n), fmt_count(b, whole(error)));
	else
		snprintf(buf, FIGURE_MAX, "%s", fmt_exact(a, n));
	return buf;
}

static void live_line(struct report *r)
{
	const struct snapshot *s = r->s;
	char a[FIGURE_MAX], b[FIGURE_MAX];
	uint64_t rss = 0;
	bool ended = true;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		/* of a process that has ended, RSS is history; a single one's is still worth telling */
		if (!p->ended || s->n_processes == 1)
			rss += p->rss_bytes;
		ended &= p->ended;
	}
	para__begin(&r->para, "live", LABEL_WIDTH);
	if (s->known & HAS_LIVE_BYTES)
		para__item(&r->para, "%s in %s block%s", bytes_of(r, a, s->totals.live_bytes, s->error.live_bytes),
			   count_of(r, b, s->totals.live_blocks, s->error.live_blocks), plural(s->totals.live_blocks));
	else
		para__item(&r->para, "not recorded (--mode %s)", s->mode);
	if (s->known & HAS_PEAK_BYTES && s->n_processes == 1 && s->totals.peak_bytes)
		para__item(&r->para, "peak %s%s at %s", report__mark(r), fmt_bytes(a, s->totals.peak_bytes),
			   fmt_duration(b, s->processes->peak_at_ns));
	else if (s->known & HAS_PEAK_BYTES)
		para__item(&r->para, "peak %s%s", report__mark(r), fmt_bytes(a, s->totals.peak_bytes));
	if (rss)
		para__item(&r->para, "RSS %s%s", ended ? "was " : "", fmt_bytes(a, rss));
	para__end(&r->para);
}

static void calls_line(struct report *r)
{
	const struct counters *c = &r->s->totals;
	unsigned int known = r->s->known;
	char a[FIGURE_MAX], b[FIGURE_MAX];

	para__begin(&r->para, "calls", LABEL_WIDTH);
	/* where calls that failed cannot be told apart, not every call was an allocation */
	para__item(&r->para, "%s allocation%s%s (%s)", count_of(r, a, c->alloc_calls, r->s->error.alloc_calls),
		   known & HAS_FAILED_CALLS ? "" : " call", plural(c->alloc_calls),
		   bytes_of(r, b, c->alloc_bytes, r->s->error.alloc_bytes));
	if (known & HAS_FREE_CALLS && r->s->estimated)
		para__item(&r->para, "~%s free%s (~%s)", fmt_count(a, c->free_calls), plural(c->free_calls),
			   fmt_bytes(b, c->free_bytes));
	else if (known & HAS_FREE_CALLS)
		para__item(&r->para, "%s free%s (%s)", fmt_exact(a, c->free_calls), plural(c->free_calls),
			   fmt_bytes(b, c->free_bytes));
	if (known & HAS_UNKNOWN_FREES && c->unknown_frees)
		para__item(&r->para, "%s free%s of blocks older than the trace", fmt_exact(a, c->unknown_frees),
			   plural(c->unknown_frees));
	if (known & HAS_FAILED_CALLS && c->failed_calls)
		para__item(&r->para, "%s failed call%s", fmt_exact(a, c->failed_calls), plural(c->failed_calls));
	para__end(&r->para);
}

static void stacks_line(struct report *r)
{
	uint64_t all = 0, early = 0;
	char a[FMT_MAX], b[FMT_MAX];
	size_t kinds = 0;

	for (size_t i = 0; i < SNAPSHOT_N_ENDS; i++) {
		all += r->s->stacks_by_end[i];
		early += i ? r->s->stacks_by_end[i] : 0;
		kinds += i && r->s->stacks_by_end[i];
	}
	if (!early)
		return;
	para__begin(&r->para, "stacks", LABEL_WIDTH);
	for (size_t i = 1, told = 0; i < SNAPSHOT_N_ENDS; i++) {
		uint64_t n = r->s->stacks_by_end[i];
		char lead[3 * FMT_MAX] = "", count[FMT_MAX + 4] = "";

		if (!n)
			continue;
		if (!told++)
			snprintf(lead, sizeof(lead), "%s of %s end%s early: ", fmt_exact(a, early), fmt_exact(b, all),
				 early == 1 ? "s" : "");
		if (kinds > 1)
			snprintf(count, sizeof(count), " (%s)", fmt_exact(a, n));
		para__item(&r->para, "%s%s%s", lead, stack_end__says(i), count);
	}
	para__end(&r->para);
}

/* A line for each counter that is not zero, the label before the first. */
static void counter_lines(struct report *r, const char *label, size_t indent, const struct snap_counter *v, size_t n)
{
	char a[FMT_MAX];

	for (size_t i = 0; i < n; i++) {
		if (!v[i].n)
			continue;
		para__begin(&r->para, label, indent);
		para__item(&r->para, "%s %s", fmt_exact(a, v[i].n), v[i].says);
		para__end(&r->para);
		label = "";
	}
}

static void losses_block(struct report *r)
{
	char a[FMT_MAX];

	if (!r->s->losses_total) {
		fprintf(r->out, "losses none\n");
		return;
	}
	fputc('\n', r->out);
	counter_lines(r, "LOSSES:", LOUD_WIDTH, r->s->losses, r->s->n_losses);
	fprintf(r->out, "%*s%s lost in all: the figures are not exact\n", LOUD_WIDTH, "",
		fmt_exact(a, r->s->losses_total));
}

static int by_weight(const void *pa, const void *pb, void *arg)
{
	const struct snap_process *a = *(const struct snap_process *const *)pa, *b = *(const struct snap_process *const *)pb;
	bool live = *(const unsigned int *)arg & HAS_LIVE_BYTES;
	uint64_t wa = live ? a->c.live_bytes : a->c.alloc_bytes, wb = live ? b->c.live_bytes : b->c.alloc_bytes;

	if (wa != wb)
		return wa < wb ? 1 : -1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static void process_row(struct report *r, const struct snap_process *p)
{
	bool live = r->s->known & HAS_LIVE_BYTES;
	char bytes[FMT_MAX], n[FMT_MAX], peak[FMT_MAX], age[FMT_MAX], at[FMT_MAX + 4];
	int gap = r->s->estimated;

	snprintf(at, sizeof(at), "at %s", p->age_at_attach_ns ? fmt_duration(age, p->age_at_attach_ns) : "start");
	report__mark_figure(r, fmt_bytes(bytes, live ? p->c.live_bytes : p->c.alloc_bytes));
	report__mark_figure(r, fmt_count(n, live ? p->c.live_blocks : p->c.alloc_calls));
	fprintf(r->out, "%4u  %7d  %*s  %*s", p->id, p->pid, 9 + gap, bytes, 6 + gap, n);
	if (r->s->known & HAS_PEAK_BYTES)
		fprintf(r->out, "  %*s", 9 + gap, report__mark_figure(r, fmt_bytes(peak, p->c.peak_bytes)));
	fprintf(r->out, "  %8s  %s%s\n", at, p->comm, p->ended ? " [ended]" : "");
}

static int processes_table(struct report *r)
{
	_cleanup_free_ const struct snap_process **v = NULL;
	const struct snapshot *s = r->s;
	bool live = s->known & HAS_LIVE_BYTES;
	size_t n = MIN(s->n_processes, r->top);
	unsigned int known = s->known;
	int gap = s->estimated;

	if (s->n_processes < 2)
		return 0;
	v = calloc(s->n_processes, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_processes; i++)
		v[i] = &s->processes[i];
	qsort_r(v, s->n_processes, sizeof(*v), by_weight, &known);
	fprintf(r->out, "\n  ID      PID  %*s  %*s", 9 + gap, live ? "LIVE" : "BYTES", 6 + gap, live ? "BLOCKS" : "CALLS");
	if (s->known & HAS_PEAK_BYTES)
		fprintf(r->out, "  %*s", 9 + gap, "PEAK");
	fprintf(r->out, "  ATTACHED  PROCESS\n");
	for (size_t i = 0; i < n; i++)
		process_row(r, v[i]);
	if (n < s->n_processes)
		fprintf(r->out, "      … %zu more\n", s->n_processes - n);
	return 0;
}

int report__header(struct report *r)
{
	title_line(r);
	traced_line(r);
	estimated_line(r);
	if (r->s->growth) {
		report__growth_lines(r);
	} else {
		live_line(r);
		calls_line(r);
	}
	stacks_line(r);
	counter_lines(r, "edges", LABEL_WIDTH, r->s->edges, r->s->n_edges);
	losses_block(r);
	return processes_table(r);
}
