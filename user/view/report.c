// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the plain report:
 *
 *	malloctrace  redis-server (1432)                            2026-11-14 23:59:02
 *	traced 30.0s, from 3d04h after its start
 *	live   41.2 MiB in 34,012 blocks, peak 41.9 MiB at 21.3s, RSS 96.0 MiB
 *	calls  5,471,204 allocations (423.0 MiB), 5,437,192 frees (381.8 MiB),
 *	       118 frees of blocks older than the trace
 *	losses none
 *
 *	LEAKS by live bytes (10 of 214 sites, 97.1% of bytes)
 *
 *	 1.   31.0 MiB  75.2%  31,744 blocks  oldest  29.9s    0% freed  malloc
 *	     trackingRememberKey  src/tracking.c:212
 *	     raxInsert            src/rax.c:494
 *	     main                 src/server.c:7280
 *
 *	ALLOCATIONS by calls (10 of 214 sites, 88.0% of calls)
 *
 *	 1.   2.10M calls  70,000/s   96.1 MiB  avg      48 B  100% temp  malloc
 *	     sdsnewlen            src/sds.c:114
 *
 * What always holds: no line is wider than asked for; what is exact is printed
 * as such, and a table that leaves something out says in its title how much.
 */
#include "view/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "util/util.h"
#include "view/figures.h"
#include "view/frames.h"
#include "view/rank.h"

#define NS_PER_S 1000000000ll
#define LABEL_WIDTH 7	/* "losses " */
#define LOUD_WIDTH 8	/* "LOSSES: " */

/* ---- paragraphs: a label, then items that are broken over lines between words only where they must */

struct para {
	FILE *out;
	size_t indent, width, col;
	bool empty;
};

static void para__begin(struct para *p, const char *label, size_t indent)
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
	size_t cols = 0;

	for (int i = 0; i < len; i++)
		cols += (word[i] & 0xc0) != 0x80;
	if (p->col > p->indent && p->col + gap + cols > p->width) {
		para__break(p);
		gap = false;
	}
	fprintf(p->out, "%s%.*s", gap ? " " : "", len, word);
	p->col += cols + gap;
}

static void __attribute__((format(printf, 2, 3))) para__item(struct para *p, const char *fmt, ...)
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

static void para__end(struct para *p)
{
	fputc('\n', p->out);
}

/* ---- the header */

struct report {
	FILE *out;
	const struct snapshot *s;
	const struct report_opts *o;
	size_t width, top;
	struct para para;
};

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
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
	para__end(&r->para);
}

static void live_line(struct report *r)
{
	const struct snapshot *s = r->s;
	char a[FMT_MAX], b[FMT_MAX];
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
	para__item(&r->para, "%s in %s block%s", fmt_bytes(a, s->totals.live_bytes),
		   fmt_exact(b, s->totals.live_blocks), plural(s->totals.live_blocks));
	if (s->n_processes == 1 && s->totals.peak_bytes)
		para__item(&r->para, "peak %s at %s", fmt_bytes(a, s->totals.peak_bytes),
			   fmt_duration(b, s->processes->peak_at_ns));
	else
		para__item(&r->para, "peak %s", fmt_bytes(a, s->totals.peak_bytes));
	if (rss)
		para__item(&r->para, "RSS %s%s", ended ? "was " : "", fmt_bytes(a, rss));
	para__end(&r->para);
}

static void calls_line(struct report *r)
{
	const struct counters *c = &r->s->totals;
	char a[FMT_MAX], b[FMT_MAX];

	para__begin(&r->para, "calls", LABEL_WIDTH);
	para__item(&r->para, "%s allocation%s (%s)", fmt_exact(a, c->alloc_calls), plural(c->alloc_calls),
		   fmt_bytes(b, c->alloc_bytes));
	para__item(&r->para, "%s free%s (%s)", fmt_exact(a, c->free_calls), plural(c->free_calls),
		   fmt_bytes(b, c->free_bytes));
	if (c->unknown_frees && !r->s->partial_sizes)
		para__item(&r->para, "%s free%s of blocks older than the trace", fmt_exact(a, c->unknown_frees),
			   plural(c->unknown_frees));
	if (c->failed_calls)
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

static int by_live(const void *pa, const void *pb)
{
	const struct snap_process *a = *(const struct snap_process *const *)pa, *b = *(const struct snap_process *const *)pb;

	if (a->c.live_bytes != b->c.live_bytes)
		return a->c.live_bytes < b->c.live_bytes ? 1 : -1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int processes_table(struct report *r)
{
	_cleanup_free_ const struct snap_process **v = NULL;
	const struct snapshot *s = r->s;
	size_t n = MIN(s->n_processes, r->top);

	if (s->n_processes < 2)
		return 0;
	v = calloc(s->n_processes, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_processes; i++)
		v[i] = &s->processes[i];
	qsort(v, s->n_processes, sizeof(*v), by_live);
	fprintf(r->out, "\n  ID      PID       LIVE  BLOCKS       PEAK  ATTACHED  PROCESS\n");
	for (size_t i = 0; i < n; i++) {
		const struct snap_process *p = v[i];
		char live[FMT_MAX], blocks[FMT_MAX], peak[FMT_MAX], age[FMT_MAX], at[FMT_MAX + 4];

		snprintf(at, sizeof(at), "at %s", p->age_at_attach_ns ? fmt_duration(age, p->age_at_attach_ns) : "start");
		fprintf(r->out, "%4u  %7d  %9s  %6s  %9s  %8s  %s%s\n", p->id, p->pid,
			fmt_bytes(live, p->c.live_bytes), fmt_count(blocks, p->c.live_blocks),
			fmt_bytes(peak, p->c.peak_bytes), at, p->comm, p->ended ? " [ended]" : "");
	}
	if (n < s->n_processes)
		fprintf(r->out, "      … %zu more\n", s->n_processes - n);
	return 0;
}

static int header(struct report *r)
{
	title_line(r);
	traced_line(r);
	live_line(r);
	calls_line(r);
	stacks_line(r);
	counter_lines(r, "edges", LABEL_WIDTH, r->s->edges, r->s->n_edges);
	losses_block(r);
	return processes_table(r);
}

/* ---- the tables */

static int digits(size_t n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

/* "live-bytes" → "live bytes"; among allocations, "alloc-calls" is "calls" */
static void metric_words(char buf[static FMT_MAX], const struct metric *m, enum view_bit view)
{
	const char *name = m->name;

	if (view == VIEW_ALLOCS && !strncmp(name, "alloc-", 6))
		name += 6;
	snprintf(buf, FMT_MAX, "%s", name);
	for (char *p = buf; *p; p++)
		if (*p == '-')
			*p = ' ';
}

static void leak_row(struct report *r, const struct rank *k, const struct snap_site *site, uint64_t whole,
		     int *ret_cols)
{
	uint64_t blocks = rank__live_blocks(k, site);
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX], e[FMT_MAX];

	*ret_cols += fprintf(r->out, "%9s  %5s  %6s %-6s  oldest %6s  %4s freed",
			     fmt_bytes(a, rank__live_bytes(k, site)), fmt_share(b, rank__live_bytes(k, site), whole),
			     fmt_count(c, blocks), blocks == 1 ? "block" : "blocks", fmt_duration(d, site->oldest_ns),
			     fmt_percent(e, site->c.free_calls, site->c.alloc_calls));
}

static void alloc_row(struct report *r, const struct rank *k, const struct snap_site *site, uint64_t whole,
		      int *ret_cols)
{
	const struct counters *n = &site->c;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX], e[FMT_MAX];

	*ret_cols += fprintf(r->out, "%6s %-5s  %8s  %9s  avg %9s  %4s temp", fmt_count(a, n->alloc_calls),
			     n->alloc_calls == 1 ? "call" : "calls", fmt_rate(b, n->alloc_calls, r->s->duration_ns),
			     fmt_bytes(c, n->alloc_bytes), fmt_bytes(d, n->alloc_bytes / n->alloc_calls),
			     fmt_percent(e, n->temp_calls, n->alloc_calls));
}

static uint64_t leak_weight(const struct rank *k, const struct snap_site *site)
{
	return rank__live_bytes(k, site);
}

static uint64_t alloc_weight(const struct rank *k, const struct snap_site *site)
{
	return site->c.alloc_calls;
}

static const struct table {
	enum view_bit view;
	const char *title, *empty;
	const char *unit;	/* of the share in the title */
	uint64_t (*weight)(const struct rank *k, const struct snap_site *site);
	/* adds the columns it printed */
	void (*row)(struct report *r, const struct rank *k, const struct snap_site *site, uint64_t whole, int *ret_cols);
} tables[] = {
	{ VIEW_LEAKS, "LEAKS", "nothing allocated while traced is live", "bytes", leak_weight, leak_row },
	{ VIEW_ALLOCS, "ALLOCATIONS", "nothing was allocated while traced", "calls", alloc_weight, alloc_row },
};

static int site_entry(struct report *r, const struct table *t, const struct rank *k, size_t i, uint64_t whole,
		      int number_width, size_t name_width)
{
	const struct snap_site *site = k->v[i];
	_cleanup_free_ char *function = NULL;
	size_t indent = number_width + 3;
	int cols;

	cols = fprintf(r->out, "%*zu.  ", number_width, i + 1);
	t->row(r, k, site, whole, &cols);
	function = name__shorten(site->function, r->width > (size_t)cols + 2 ? r->width - cols - 2 : 0);
	if (!function)
		return -ENOMEM;
	fprintf(r->out, "%s%s\n", *function ? "  " : "", function);
	if (r->s->n_processes > 1) {
		const struct snap_process *p = &r->s->processes[site->process];

		fprintf(r->out, "%*sin %s (%d)%s\n", (int)indent, "", p->comm, p->pid, p->ended ? " [ended]" : "");
	}
	return frames__write(r->out, r->s, site, indent, name_width, r->width);
}

static int table(struct report *r, const struct table *t)
{
	bool older = t->view == VIEW_LEAKS && r->o->older_ns;
	char words[FMT_MAX], age[FMT_MAX] = "", share[FMT_MAX];
	uint64_t whole = 0, listed = 0;
	size_t n, name_width = 0;
	struct rank k;
	int err;

	err = rank__init(&k, r->s, t->view, r->o->sort, older);
	if (err)
		return err;
	n = MIN(k.n, r->top);
	for (size_t i = 0; i < k.n; i++) {
		whole += t->weight(&k, k.v[i]);
		listed += i < n ? t->weight(&k, k.v[i]) : 0;
	}
	for (size_t i = 0; i < n; i++)
		name_width = MAX(name_width, frames__name_width(r->s, k.v[i]));

	if (older)
		fmt_duration(age, r->o->older_ns);
	fputc('\n', r->out);
	if (!k.n && older) {
		fprintf(r->out, "%s: no live block is older than %s\n", t->title, age);
	} else if (!k.n) {
		fprintf(r->out, "%s: %s\n", t->title, t->empty);
	} else {
		metric_words(words, k.by, t->view);
		fprintf(r->out, "%s%s%s by %s (%zu of %zu site%s, %s of %s)\n", t->title,
			older ? " older than " : "", age, words, n, k.n, plural(k.n), fmt_share(share, listed, whole),
			t->unit);
	}
	for (size_t i = 0; !err && i < n; i++) {
		fputc('\n', r->out);
		err = site_entry(r, t, &k, i, whole, MAX(2, digits(n)), name_width);
	}
	rank__done(&k);
	return err;
}

static int begin(struct report *r, FILE *out, const struct snapshot *s, const struct report_opts *o)
{
	*r = (struct report){ .out = out, .s = s, .o = o };
	if (o->older_ns && o->older_ns != s->older_ns)
		return -EINVAL;
	r->width = MAX(o->width, (unsigned int)REPORT_WIDTH);
	r->top = o->top ? o->top : REPORT_TOP;
	r->para = (struct para){ .out = out, .width = r->width };
	return 0;
}

static bool wanted(const struct report_opts *o, const struct table *t)
{
	return !o->views || o->views & t->view;
}

int report__write(FILE *out, const struct snapshot *s, const struct report_opts *o)
{
	struct report r;
	int err = begin(&r, out, s, o);

	if (!err && o->sort && !rank__key(o->sort))
		err = -EINVAL;
	if (!err)
		err = header(&r);
	for (size_t i = 0; !err && i < ARRAY_SIZE(tables); i++)
		if (wanted(o, &tables[i]))
			err = table(&r, &tables[i]);
	if (!err && ferror(out))
		err = -EIO;
	return err;
}

int report__shown(const struct snapshot *s, const struct report_opts *o, size_t **ret, size_t *ret_n)
{
	_cleanup_free_ bool *seen = NULL;
	_cleanup_free_ size_t *v = NULL;
	struct report r;
	size_t n = 0;
	int err = begin(&r, NULL, s, o);

	if (err)
		return err;
	seen = calloc(s->n_sites + 1, sizeof(*seen));
	v = calloc(s->n_sites + 1, sizeof(*v));
	if (!seen || !v)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct rank k;

		if (!wanted(o, &tables[i]))
			continue;
		err = rank__init(&k, s, tables[i].view, o->sort, tables[i].view == VIEW_LEAKS && o->older_ns);
		if (err)
			return err;
		for (size_t j = 0; j < MIN(k.n, r.top); j++) {
			size_t site = k.v[j] - s->sites;

			if (!seen[site])
				v[n++] = site;
			seen[site] = true;
		}
		rank__done(&k);
	}
	*ret = v;
	*ret_n = n;
	v = NULL;
	return 0;
}
