// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the plain report:
 *
 *	malloctrace  redis-server (1432)                            2026-11-14 23:59:02
 *	traced 30.0s, from 3d04h after its start
 *	live   41.2 MiB in 34,012 blocks, peak 41.9 MiB at 21.3s, RSS 96.0 MiB
 *	calls  5,471,204 allocations (423.0 MiB), 5,437,192 frees (381.8 MiB),
 *	       118 frees of blocks older than the trace
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

#include "model/between.h"
#include "present/sentence.h"
#include "present/text/report_parts.h"

#define THROUGH "through "
#define NAME_LEAST 8	/* columns of a process's name that are shown in any case */

/* ---- the tables */

static int digits(size_t n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

char *report__metric_words(char buf[static FMT_MAX], const struct metric *m)
{
	snprintf(buf, FMT_MAX, "%s", m->name);
	for (char *p = buf; *p; p++)
		if (*p == '-')
			*p = ' ';
	return buf;
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
	const char *number = PROCESS_NUMBER(r->s, p);
	char ended[DEATH_MAX + 3] = "";
	size_t used;

	if (p->ended)
		snprintf(ended, sizeof(ended), " [%s]", DEATH(p));
	used = strlen(number) + strlen(ended);
	name = text_shorten(p->comm, width > used + NAME_LEAST ? width - used : NAME_LEAST);
	return xasprintf("%s%s%s", name, number, ended);
}

/* ---- how blocks grow */

/*
 * What a report tells of the growth of blocks, behind allocations:
 *
 *	REALLOC by moved bytes (1 of 1 site, 100% of bytes)
 *
 *	 1.    1000 calls   98% moved    7.9 MiB   100% grow by      16 B  realloc
 *	     1,000 calls grow by 16 B at a time, one block was reallocated 1,000 times in a row,
 *	     7.9 MiB copied, 505 times what was added: double it instead
 *	     append  buf.c:12
 *
 * Doubling copies no more than twice what a block grows by. What copies more, and
 * grows step by step, is told so. What always holds: figures are of calls that gave
 * a block for one that was known.
 */

#define FEW_CALLS 4	/* nothing can be said of less */

static void realloc_words(struct report *r, const struct snap_site *site, size_t indent)
{
	const struct mt_moves *m = &site->moves;
	uint64_t steps = m->grown_calls - MIN(m->doubled_calls, m->grown_calls);
	bool by_steps = m->grown_calls >= FEW_CALLS && steps > m->grown_calls / 2;

	para__begin(&r->para, "", indent);
	if (by_steps)
		para__item(&r->para, "%s calls grow by %s at a time", EXACT(m->grown_calls), BYTES(m->grown_bytes / m->grown_calls));
	else if (m->grown_calls >= FEW_CALLS)
		para__item(&r->para, "%s of %s growths by half of the size or more", EXACT(m->doubled_calls), EXACT(m->grown_calls));
	if (m->shrunk_calls)
		para__item(&r->para, "%s shrink", EXACT(m->shrunk_calls));
	if (m->longest > 1)
		para__item(&r->para, "one block was reallocated %s%s times in a row", EXACT(m->longest), m->longest >= MOVES_LONGEST_MAX ? " or more" : "");
	if (!m->moved_calls)
		para__item(&r->para, "all in place");
	else if (by_steps && m->grown_bytes && m->moved_bytes > 2 * m->grown_bytes)
		para__item(&r->para, "%s copied, %s times what was added: consider growing geometrically", BYTES(m->moved_bytes),
			   EXACT(m->moved_bytes / m->grown_bytes));
	else
		para__item(&r->para, "%s copied", BYTES(m->moved_bytes));
	para__end(&r->para);
}

/*
 *	in redis-server (1432), thread bio_lazy_free (1435), 12% of frees by other threads
 *	leak: 0 of 31,744 blocks freed, +180 KiB/s for 2m14s
 */
static void notes(struct report *r, const struct view *v, const struct snap_site *site, size_t indent)
{
	_cleanup_free_ char *who = report__owner(r, &r->s->processes[site->process], r->width - indent - 4);
	bool live = v->bit == VIEW_LIVE, several = r->s->n_processes > 1;

	para__begin(&r->para, "", indent);
	if (several)
		para__item(&r->para, "in %s", who);
	if (site->tid)
		para__item(&r->para, "%sthread %s (%d)", several ? "" : "in ", site->thread ? site->thread : "", site->tid);
	if (site->tag)
		para__item(&r->para, "tag %s", r->s->tags[site->tag - 1].name);
	if (live && r->s->known & HAS_LIFETIMES && site->cross_frees)
		para__item(&r->para, "%s of frees by other threads", PERCENT(site->cross_frees, site->c.free_calls));
	if (live && r->s->baseline)
		para__item(&r->para, "%s%s since the baseline", report__mark(r), CHANGE((double)site->since_baseline_bytes));
	if (v->bit == VIEW_ALLOCS && r->s->known & HAS_REALLOC_CALLS && site->c.realloc_calls)
		para__item(&r->para, "%s of realloc's calls, to sizes from %s to %s",
			   PERCENT(site->c.realloc_calls, r->s->totals.realloc_calls),
				BYTES(site->min_size), BYTES(site->max_size));
	if (v->bit == VIEW_ALLOCS && site->rare.zero_calls)
		para__item(&r->para, "%s call%s of zero bytes", EXACT(site->rare.zero_calls),
			   plural(site->rare.zero_calls));
	para__end(&r->para);
	if (v->bit == VIEW_REALLOC)
		realloc_words(r, site, indent);
	if (live && site->c.live_blocks)
		report__site_blocks(r, site, indent);
	if (live && site->trend.verdict)
		report__item(r, "", indent, "%s: %s", site->trend.verdict, site->trend.why ? site->trend.why : "");
}

static void site_entry(struct report *r, const struct view *v, const struct rank *k, size_t i, uint64_t whole,
		      int number_width, size_t name_width)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	const struct snap_site *site = k->v[i];
	const struct site_lines *l = site_lines__of(v);
	struct row_of row = { .s = r->s, .process = &r->s->processes[site->process], .site = site, .tellings = r->o->tellings, .older = k->older,
			      .weight = rank__weight(k, weighs, site), .whole = whole };
	_cleanup_free_ char *function = NULL;
	size_t indent = number_width + 3, room, cols;

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
	fprintf(r->out, "%s%s\n", !cols ? THROUGH : *function ? "  " : "", function);
	notes(r, v, site, indent);
	frames__write(r->out, r->s, site, indent, name_width, r->width);
	if (l->below)
		l->below(r, site, indent);
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
	const char *ended = k->ended_last ? ", ended processes last" : v->holds && has_ended_among(r->s) ? ", with what ended processes held" : "";
	char words[FMT_MAX], age[FMT_MAX] = "";

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
			k->older ? " older than " : "", age, words_of(words, k->by, v), ended, OUT_OF(n, k->n), plural(k->n), SHARE(listed, whole), weighs->unit);
}

static void site_table(struct report *r, const struct view *v)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	const struct site_lines *l = site_lines__of(v);
	uint64_t whole, listed;
	size_t n, name_width = 0;
	struct rank k;

	rank__init(&k, r->s, v->bit, r->o->sort, v->older && r->o->older_ns, r->top);
	n = MIN(k.n, r->top);
	rank__sums(&k, weighs, n, &whole, &listed);
	for (size_t i = 0; i < n; i++)
		name_width = MAX(name_width, frames__name_width(r->s, k.v[i]));
	if (l->bars && k.n)
		l->bars(r);
	report__site_title(r, v, &k, n, listed, whole);
	if (k.n && l->says)
		l->says(r);
	for (size_t i = 0; i < n; i++) {
		fputc('\n', r->out);
		site_entry(r, v, &k, i, whole, MAX(2, digits(n)), name_width);
	}
	rank__done(&k);
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
static void sum_table(struct report *r, const struct view *v)
{
	/* the age of blocks is no figure of several sites */
	const struct metric *key = rank__metric(r->o->sort, r->s->known);
	struct sum_rows sums = {};
	_cleanup_free_ struct row_of *rows = NULL;
	uint64_t listed = 0;
	size_t n;

	sum_rows__init(&sums, v, r->s, r->o->tellings, key, NULL, NULL);
	n = MIN(sums.n, r->top);
	rows = xcalloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < n; i++) {
		rows[i] = (struct row_of){ .s = r->s, .sum = &sums.v[i] };
		listed += sums.v[i].weight;
	}
	if (!sums.n)
		fprintf(r->out, "\n%s: %s%s\n", v->title, v->empty, recording__is_partial(&r->s->recording) ? ", of what is recorded" : "");
	else
		fprintf(r->out, "\n%s by %s (%s %.*s%s, %s of %s)\n\n", v->title, METRIC_WORDS(key), OUT_OF(n, sums.n), (int)strlen(v->name) - 1, v->name,
			plural(sums.n), SHARE(listed, sums.v->whole), key->unit);
	if (n)
		columns__write(r->out, v->columns, rows, n, r->width, r->o->whole_names);
	sum_rows__done(&sums);
}

/* Those whose rows are not sites. NULL: the live view alone has it. */
static void (*const writers[N_VIEW_ROWS])(struct report *r) = {
	[ROWS_PROCESSES] = report__processes, [ROWS_THREADS] = report__threads, [ROWS_TAGS] = report__tags, [ROWS_TREE] = report__tree,
	[ROWS_SOURCE] = report__source, [ROWS_HEAP] = report__heaps, [ROWS_BLOCKS] = report__blocks,
};

void report__views(struct report *r, bool leading)
{
	for (size_t i = 0; i < n_views; i++) {
		const struct view *v = &views[i];

		if (v->leads != leading || !is_shown(r, v))
			continue;
		if (v->rows == ROWS_SITES)
			site_table(r, v);
		else if (v->rows == ROWS_SUMS)
			sum_table(r, v);
		else if (writers[v->rows])
			writers[v->rows](r);
	}
}

/* ---- two moments */

/*
 * The table of --between:
 *
 *	BETWEEN 10.0s and 25.0s by change of live bytes (10 of 214 sites, 97.1% of change)
 *	all processes: from 13.0 MiB to 27.0 MiB, +14.0 MiB; no history of 3 of 214 sites
 *
 *	 1.   +12.0 MiB  80.2%  from  10.0 MiB to  22.0 MiB  malloc
 *	     in redis-server (1432)
 *	     trackingRememberKey  src/tracking.c:212
 *
 * What always holds: what went up and what went down are ranked together, by how
 * much; of how many sites nothing is known is said.
 */

#define CHANGE_INDENT 5

static double change_of(uint64_t before, uint64_t after)
{
	return (double)after - (double)before;
}

static uint64_t size_of(const struct change *c)
{
	return c->after > c->before ? c->after - c->before : c->before - c->after;
}

static void changes_line(struct report *r, const struct changes *c)
{
	para__begin(&r->para, "", 0);
	para__item(&r->para, "all processes: from %s%s to %s%s", report__mark(r), BYTES(c->before), report__mark(r),
		   BYTES(c->after));
	para__item(&r->para, "%s%s", report__mark(r), CHANGE(change_of(c->before, c->after)));
	if (c->n_unknown)
		para__item(&r->para, "no history of %s of %s site%s", EXACT(c->n_unknown), EXACT(r->s->n_sites),
			   plural(r->s->n_sites));
	else
		para__item(&r->para, "all sites are known");
	if (c->off_ns)
		para__item(&r->para, "sampled up to %s off these moments", DURATION(c->off_ns));
	para__end(&r->para);
}

static void change_entry(struct report *r, const struct change *c, size_t number, uint64_t whole, size_t name_width)
{
	char change[CELL_MAX + 1];
	const struct snap_process *p = &r->s->processes[c->site->process];
	_cleanup_free_ char *function = NULL, *who = NULL;
	int cols;

	snprintf(change, sizeof(change), "%s%s", report__mark(r), CHANGE(change_of(c->before, c->after)));
	cols = fprintf(r->out, "\n%2zu.  %11s  %5s  from %9s to %9s", number, change, SHARE(size_of(c), whole), BYTES(c->before),
		       BYTES(c->after));
	/* the line break is no column, two blanks are */
	function = name__shorten(c->site->function, r->width > (size_t)cols + 1 ? r->width - cols - 1 : 1);
	who = report__owner(r, p, r->width - CHANGE_INDENT - 4);
	fprintf(r->out, "%s%s\n", *function ? "  " : "", function);
	if (r->s->n_processes > 1)
		report__item(r, "", CHANGE_INDENT, "in %s", who);
	frames__write(r->out, r->s, c->site, CHANGE_INDENT, name_width, r->width);
}

/* The names of its sites are not asked for: they come with a profile. */
static void between_table(struct report *r)
{
	uint64_t whole = 0, listed = 0;
	char a[FMT_MAX], b[FMT_MAX];
	const char *names = r->o->between_names;
	size_t name_width = 0, n;
	struct changes c;

	changes__init(&c, r->s, r->o->between_from_ns, r->o->between_to_ns);
	n = MIN(c.n, r->top);
	for (size_t i = 0; i < c.n; i++) {
		whole += size_of(&c.v[i]);
		listed += i < n ? size_of(&c.v[i]) : 0;
	}
	for (size_t i = 0; i < n; i++)
		name_width = MAX(name_width, frames__name_width(r->s, c.v[i].site));
	fmt_duration(a, r->o->between_from_ns);
	fmt_duration(b, MIN(r->o->between_to_ns, r->s->duration_ns));
	if (c.n)
		fprintf(r->out, "\nBETWEEN %s%s%s and %s%s by change of live bytes (%s site%s, %s of it)\n", names ? names : "",
			names ? ", " : "", a, b, names ? "," : "", OUT_OF(n, c.n), plural(c.n), SHARE(listed, whole));
	else
		fprintf(r->out, "\nBETWEEN %s%s%s and %s: no site is known to hold more or less\n", names ? names : "", names ? ", " : "", a, b);
	changes_line(r, &c);
	for (size_t i = 0; i < n; i++)
		change_entry(r, &c.v[i], i + 1, whole, name_width);
	changes__done(&c);
}

static int write_all(FILE *out, const struct snapshot *s, const struct report_opts *o)
{
	struct report r;
	int err = begin(&r, out, s, o);

	if (err)
		return err;
	if (r.views & VIEW_FREES)
		free_lists__init(&r.free_lists, s);
	if (snapshot__is_heap(s))
		report__title(&r, "malloctrace heap");
	else
		report__header(&r);
	if (o->between_to_ns)
		between_table(&r);
	if (o->brief && !snapshot__is_heap(s)) {
		report__brief(&r);
	} else {
		report__views(&r, true);
		report__views(&r, false);
	}
	free_lists__done(&r.free_lists);
	return ferror(out) ? -EIO : 0;
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

/* Sites as indexes, each once. */
struct listed {
	bool *is;		/* by site */
	size_t *v, n;
};

static void list(struct listed *l, size_t site)
{
	if (!l->is[site])
		l->v[l->n++] = site;
	l->is[site] = true;
}

static void list_rows(struct listed *l, const struct report *r, const struct view *view)
{
	struct rank k;

	rank__init(&k, r->s, view->bit, r->o->sort, view->older && r->o->older_ns, r->top);
	for (size_t i = 0; i < MIN(k.n, r->top); i++)
		list(l, (size_t)(k.v[i] - r->s->sites));
	rank__done(&k);
}

static void list_growers(struct listed *l, const struct report *r)
{
	size_t n_sites = 0;
	const char *verb;
	_cleanup_free_ size_t *sites =
		processes__sites_of_growers(r->s, r->o->sort, &n_sites, &verb);

	for (size_t i = 0; i < n_sites; i++)
		list(l, sites[i]);
}

/* Blocks are called by their sites. */
static void list_blocks(struct listed *l, const struct report *r)
{
	for (size_t i = 0; i < r->s->n_heaps; i++)
		for (size_t k = 0; k < MIN(r->s->heaps[i].n_list, r->top); k++)
			if (r->s->heaps[i].list[k].site)
				list(l, r->s->heaps[i].list[k].site - 1);
}

int report__shown(const struct snapshot *s, const struct report_opts *o, size_t **ret, size_t *ret_n)
{
	const struct snap_site *named[] = { sentence__site(s), report__most_called(s) };
	struct listed l = {};
	struct report r;
	int err = begin(&r, NULL, s, o);
	bool all = false;

	if (err)
		return err;
	l.is = xcalloc(s->n_sites + 1, sizeof(*l.is));
	l.v = xcalloc(s->n_sites + 1, sizeof(*l.v));
	for (size_t i = 0; i < n_views; i++)
		all |= views[i].all_names && is_shown(&r, &views[i]);
	for (size_t i = 0; all && i < s->n_sites; i++)
		list(&l, i);
	for (size_t i = 0; i < n_views && !all; i++)
		if (views[i].rows == ROWS_SITES && is_shown(&r, &views[i]))
			list_rows(&l, &r, &views[i]);
	if (!all && report__is_many(&r))
		list_growers(&l, &r);
	if (r.views & VIEW_BLOCKS)
		list_blocks(&l, &r);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (named[i])
			list(&l, (size_t)(named[i] - s->sites));
	free(l.is);
	*ret = l.v;
	*ret_n = l.n;
	return 0;
}
