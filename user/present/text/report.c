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
 *	LIVE by bytes (10 of 214 sites, 97.1% of bytes)
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
 * as such, what was not recorded has no column, and a table that leaves
 * something out says in its title how much.
 */
#include "present/text/report.h"

#include <errno.h>
#include <string.h>

#include "model/group.h"
#include "model/heaps.h"
#include "present/columns.h"
#include "present/deaths.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/rank.h"
#include "present/sums.h"
#include "present/telling.h"
#include "present/text/report_parts.h"
#include "util/text.h"
#include "util/util.h"

#define THROUGH "through "
#define NAME_LEAST 8	/* columns of a process's name that are shown in any case */

/* ---- the tables */

static int digits(size_t n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

void report__metric_words(char buf[static FMT_MAX], const struct metric *m)
{
	snprintf(buf, FMT_MAX, "%s", m->name);
	for (char *p = buf; *p; p++)
		if (*p == '-')
			*p = ' ';
}

/* Among allocations, "alloc calls" are "calls"; what is live, by "live bytes", is so by "bytes". */
static const char *words_of(char buf[static FMT_MAX], const struct metric *m, const struct view *v)
{
	if (!strcmp(m->name, "freed"))
		return "share freed";
	report__metric_words(buf, m);
	if (!strncmp(buf, "live ", 5))
		return v->bit == VIEW_LIVE ? buf + 5 : buf;
	return v->bit != VIEW_LIVE && !strncmp(buf, "alloc ", 6) ? buf + 6 : buf;
}

char *report__mark_figure(const struct report *r, char buf[static FMT_MAX])
{
	size_t len = strlen(buf);

	if (r->s->estimated && len + 1 < FMT_MAX) {
		memmove(buf + 1, buf, len + 1);
		buf[0] = '~';
	}
	return buf;
}

char *report__owner(const struct report *r, const struct snap_process *p, size_t width)
{
	_cleanup_free_ char *name = NULL;
	char number[PROCESS_NUMBER_MAX];
	char death[DEATH_MAX], ended[DEATH_MAX + 3] = "";
	char *ret = NULL;
	size_t used;

	if (p->ended)
		snprintf(ended, sizeof(ended), " [%s]", death__words(p, death));
	used = strlen(process__number(r->s, p, number)) + strlen(ended);
	name = text_shorten(p->comm, width > used + NAME_LEAST ? width - used : NAME_LEAST);
	if (!name || asprintf(&ret, "%s%s%s", name, number, ended) < 0)
		return NULL;
	return ret;
}

/*
 *	in redis-server (1432), thread bio_lazy_free (1435), 12% of frees by other threads
 *	leak: 0 of 31,744 blocks freed, +180 KiB/s for 2m14s
 */
static int notes(struct report *r, const struct view *v, const struct snap_site *site, size_t indent)
{
	_cleanup_free_ char *who = report__owner(r, &r->s->processes[site->process], r->width - indent - 4);
	bool live = v->bit == VIEW_LIVE, several = r->s->n_processes > 1, in_thread = site->tid;
	const char *tagged = site->tag ? r->s->tags[site->tag - 1].name : NULL;
	bool crossed = live && r->s->known & HAS_LIFETIMES && site->cross_frees;
	bool changed = live && r->s->baseline;
	bool moved = v->bit == VIEW_ALLOCS && r->s->known & HAS_REALLOC_CALLS && site->c.realloc_calls;
	char a[FMT_MAX], b[CELL_MAX], c[FMT_MAX];

	if (!who)
		return -ENOMEM;
	if (several || in_thread || tagged || crossed || changed || moved) {
		para__begin(&r->para, "", indent);
		if (several)
			para__item(&r->para, "in %s", who);
		if (in_thread)
			para__item(&r->para, "%sthread %s (%d)", several ? "" : "in ", site->thread ? site->thread : "", site->tid);
		if (tagged)
			para__item(&r->para, "tag %s", tagged);
		if (crossed)
			para__item(&r->para, "%s of frees by other threads", fmt_percent(a, site->cross_frees, site->c.free_calls));
		if (changed)
			para__item(&r->para, "%s%s since the baseline", report__mark(r), fmt_change(b, (double)site->since_baseline_bytes));
		if (moved)
			para__item(&r->para, "%s of realloc's calls, to sizes from %s to %s",
				   fmt_percent(a, site->c.realloc_calls, r->s->totals.realloc_calls), fmt_bytes(b, site->min_size),
				   fmt_bytes(c, site->max_size));
		para__end(&r->para);
	}
	if (v->bit == VIEW_REALLOC)
		report__realloc_words(r, site, indent);
	if (live && site->c.live_blocks)
		report__site_blocks(r, site, indent);
	if (live && site->trend.verdict) {
		para__begin(&r->para, "", indent);
		para__item(&r->para, "%s: %s", site->trend.verdict, site->trend.why ? site->trend.why : "");
		para__end(&r->para);
	}
	return 0;
}

static int site_entry(struct report *r, const struct view *v, const struct rank *k, size_t i, uint64_t whole,
		      int number_width, size_t name_width)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	const struct snap_site *site = k->v[i];
	const struct site_lines *l = site_lines__of(v);
	struct row_of row = { .s = r->s, .process = &r->s->processes[site->process], .site = site, .tellings = r->o->tellings, .older = k->older,
			      .weight = rank__weight(k, weighs, site), .whole = whole };
	_cleanup_free_ char *function = NULL;
	size_t indent = number_width + 3, room, cols;
	int err;

	cols = (size_t)fprintf(r->out, "%*zu.  ", number_width, i + 1);
	cols += site_lines__write(r, l, &row);
	room = r->width > cols + 2 ? r->width - cols - 2 : 0;
	/* with its errors a row leaves hardly more room than "malloc" takes */
	if (r->s->estimated && text_width(site->function) > room) {
		fprintf(r->out, "\n%*s", (int)indent, "");
		room = r->width - indent - strlen(THROUGH);
		cols = 0;
	}
	function = name__shorten(site->function, room);
	if (!function)
		return -ENOMEM;
	fprintf(r->out, "%s%s\n", !cols ? THROUGH : *function ? "  " : "", function);
	err = notes(r, v, site, indent);
	if (err)
		return err;
	err = frames__write(r->out, r->s, site, indent, name_width, r->width);
	return err || !l->below ? err : l->below(r, site, indent);
}

/* Rows of several processes, of which some have ended: what these held is in each figure. */
static bool has_ended_among(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i].ended && s->processes[i].ended_live_bytes)
			return true;
	return false;
}

void report__site_title(struct report *r, const struct view *v, const struct rank *k, size_t n, uint64_t listed, uint64_t whole)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	const char *ended = k->ended_last ? ", of ended processes last" : v->holds && has_ended_among(r->s) ? ", with what ended processes held" : "";
	char words[FMT_MAX], age[FMT_MAX] = "", share[FMT_MAX], shown[FMT_OF_MAX];

	if (k->older)
		fmt_duration(age, r->o->older_ns);
	fputc('\n', r->out);
	if (!k->n && k->older)
		report__line(r, "%s: no live block is older than %s", v->title, age);
	else if (!k->n && r->s->hidden.n_sites)
		report__line(r, "%s: no site is left by %s", v->title, r->s->hidden.by);
	else if (!k->n)
		report__line(r, "%s: %s%s", v->title, v->empty, recording__is_partial(&r->s->recording) ? ", of what is recorded" : "");
	else
		report__line(r, "%s%s%s by %s%s (%s site%s, %s of %s)", v->title,
			k->older ? " older than " : "", age, words_of(words, k->by, v), ended, fmt_of(shown, n, k->n), plural(k->n), fmt_share(share, listed, whole), weighs->unit);
}

static int site_table(struct report *r, const struct view *v)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	const struct site_lines *l = site_lines__of(v);
	bool older = v->older && r->o->older_ns;
	uint64_t whole, listed;
	size_t n, name_width = 0;
	struct rank k;
	int err;

	err = l ? rank__init(&k, r->s, v->bit, r->o->sort, older, r->top) : -EINVAL;
	if (err)
		return err;
	n = MIN(k.n, r->top);
	rank__sums(&k, weighs, n, &whole, &listed);
	for (size_t i = 0; i < n; i++)
		name_width = MAX(name_width, frames__name_width(r->s, k.v[i]));

	if (l->bars && k.n)
		err = l->bars(r);
	report__site_title(r, v, &k, n, listed, whole);
	if (k.n && l->says)
		l->says(r);
	if (older)
		report__older_lines(r);
	for (size_t i = 0; !err && i < n; i++) {
		fputc('\n', r->out);
		err = site_entry(r, v, &k, i, whole, MAX(2, digits(n)), name_width);
	}
	rank__done(&k);
	return err;
}

static int begin(struct report *r, FILE *out, const struct snapshot *s, const struct report_opts *o)
{
	unsigned int views = o->views ? o->views : o->between_to_ns ? 0 : views__preset(s);
	const struct metric *by = o->sort ? rank__key(o->sort) : NULL;

	*r = (struct report){ .out = out, .s = s, .o = o, .views = views };
	if (o->older_ns && o->older_ns != s->recording.older_ns)
		return -EINVAL;
	if (o->between_to_ns && (o->between_to_ns <= o->between_from_ns || !(s->known & HAS_LIVE_BYTES)))
		return -EINVAL;
	if (views & ~views__in(s) || (o->sort && (!by || by->needs & ~s->known)))
		return -EINVAL;
	r->width = MAX(o->width, (unsigned int)(o->brief && o->width ? REPORT_NARROW : REPORT_WIDTH));
	r->top = o->top ? o->top : REPORT_TOP;
	/* on a narrow screen a comma may follow what fills a line */
	r->para = (struct para){ .out = out, .width = r->width - (r->width < REPORT_WIDTH) };
	return 0;
}

static bool is_shown(const struct report *r, const struct view *v)
{
	return r->views & (v->bit | v->with) && view__holds(v, r->s);
}

/* Names are counted as the view is called: "10 of 214 functions". */
static int sum_table(struct report *r, const struct view *v)
{
	const struct metric *key = rank__metric(r->o->sort);
	struct sum_rows sums = {};
	_cleanup_free_ struct row_of *rows = NULL;
	char words[FMT_MAX], share[FMT_MAX], shown[FMT_OF_MAX];
	uint64_t listed = 0;
	size_t n;
	int err;

	/* the age of blocks is no figure of several sites */
	if (!key)
		key = metric__preset(r->s->known);
	err = sum_rows__init(&sums, v, r->s, r->o->tellings, key, NULL, NULL);
	n = MIN(sums.n, r->top);
	rows = calloc(n + 1, sizeof(*rows));
	if (!err && !rows)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		rows[i] = (struct row_of){ .s = r->s, .sum = &sums.v[i] };
		listed += sums.v[i].weight;
	}
	report__metric_words(words, key);
	if (!err && !sums.n)
		fprintf(r->out, "\n%s: %s%s\n", v->title, v->empty, recording__is_partial(&r->s->recording) ? ", of what is recorded" : "");
	else if (!err)
		fprintf(r->out, "\n%s by %s (%s %.*s%s, %s of %s)\n\n", v->title, words, fmt_of(shown, n, sums.n), (int)strlen(v->name) - 1, v->name,
			plural(sums.n), fmt_share(share, listed, sums.v->whole), key->unit);
	if (!err && n)
		err = columns__write(r->out, v->columns, rows, n, r->width);
	sum_rows__done(&sums);
	return err;
}

/* Those whose rows are not sites. NULL: the live view alone has it. */
static int (*const writers[N_VIEW_ROWS])(struct report *r) = {
	[ROWS_PROCESSES] = report__processes, [ROWS_THREADS] = report__threads, [ROWS_TAGS] = report__tags, [ROWS_TREE] = report__tree,
	[ROWS_SOURCE] = report__source, [ROWS_HEAP] = report__heaps, [ROWS_BLOCKS] = report__blocks,
};

int report__views(struct report *r, bool leading)
{
	int err = 0;

	for (size_t i = 0; !err && i < n_views; i++) {
		const struct view *v = &views[i];

		if (v->leads != leading || !is_shown(r, v))
			continue;
		if (v->rows == ROWS_SITES)
			err = site_table(r, v);
		else if (v->rows == ROWS_SUMS)
			err = sum_table(r, v);
		else if (writers[v->rows])
			err = writers[v->rows](r);
	}
	return err;
}

static int write_all(FILE *out, const struct snapshot *s, const struct report_opts *o)
{
	struct report r;
	int err = begin(&r, out, s, o);

	if (!err && r.views & VIEW_FREES)
		err = free_lists__init(&r.free_lists, s);
	if (!err && snapshot__is_heap(s))
		report__title(&r, "malloctrace heap");
	else if (!err)
		err = report__header(&r);
	if (!err && o->between_to_ns)
		err = report__between(&r);
	if (!err && o->brief && !snapshot__is_heap(s))
		err = report__brief(&r);
	else if (!err)
		err = report__views(&r, true) ?: report__views(&r, false);
	if (!err && ferror(out))
		err = -EIO;
	free_lists__done(&r.free_lists);
	return err;
}

int report__write(FILE *out, const struct snapshot *s, const struct report_opts *o)
{
	struct report_opts how = *o;
	struct tellings own = {};
	int err;

	if (!o->tellings) {
		tellings__begin(&own, s);
		how.tellings = &own;
	}
	err = write_all(out, s, &how);
	tellings__done(&own);
	return err;
}

/* Those of a view that are listed, as far as they are not among the n of v yet. */
static int add_listed(const struct report *r, const struct view *view, bool *listed, size_t *v, size_t *n)
{
	struct rank k;
	int err = rank__init(&k, r->s, view->bit, r->o->sort, view->older && r->o->older_ns, r->top);

	if (err)
		return err;
	for (size_t i = 0; i < MIN(k.n, r->top); i++) {
		size_t site = k.v[i] - r->s->sites;

		if (!listed[site])
			v[(*n)++] = site;
		listed[site] = true;
	}
	rank__done(&k);
	return 0;
}

/* Blocks are called by their sites. */
static void add_blocks(const struct snapshot *s, size_t top, bool *listed, size_t *v, size_t *n)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		for (size_t k = 0; k < MIN(s->heaps[i].n_list, top); k++) {
			uint32_t site = s->heaps[i].list[k].site;

			if (!site || listed[site - 1])
				continue;
			listed[site - 1] = true;
			v[(*n)++] = site - 1;
		}
}

int report__shown(const struct snapshot *s, const struct report_opts *o, size_t **ret, size_t *ret_n)
{
	_cleanup_free_ bool *listed = NULL;
	_cleanup_free_ size_t *v = NULL;
	const struct snap_site *named[2];
	struct report r;
	size_t n = 0;
	int err = begin(&r, NULL, s, o);
	bool all = false;

	if (err)
		return err;
	listed = calloc(s->n_sites + 1, sizeof(*listed));
	v = calloc(s->n_sites + 1, sizeof(*v));
	if (!listed || !v)
		return -ENOMEM;
	for (size_t i = 0; i < n_views; i++)
		all |= views[i].all_names && is_shown(&r, &views[i]);
	for (; all && n < s->n_sites; n++)
		v[n] = n;
	for (size_t i = 0; i < n_views && !all && !err; i++)
		if (views[i].rows == ROWS_SITES && is_shown(&r, &views[i]))
			err = add_listed(&r, &views[i], listed, v, &n);
	if (r.views & VIEW_BLOCKS)
		add_blocks(s, r.top, listed, v, &n);
	named[0] = report__alarming_site(s);
	named[1] = report__most_called(s);
	for (size_t i = 0; i < ARRAY_SIZE(named) && !all; i++) {
		if (!named[i] || listed[named[i] - s->sites])
			continue;
		listed[named[i] - s->sites] = true;
		v[n++] = named[i] - s->sites;
	}
	if (err)
		return err;
	*ret = v;
	*ret_n = n;
	v = NULL;
	return 0;
}
