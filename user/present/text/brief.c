// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the report of one screen: what the header (header.c) says first, then
 *
 *	LIVE by bytes (10 of 214 sites, 97.1% of bytes)
 *
 *	    LIVE  SHARE  BLOCKS  FREED  OLDEST   GROWTH/s  VERDICT  SITE
 *	31.0 MiB  75.2%  31,744     0%   29.9s   +180 KiB  leak     trackingRememberKey  tracking.c:212
 *
 *	1. trackingRememberKey < raxInsert < call < processCommand < aeMain < main
 *
 *	allocates most: sdsnewlen, 2.10M calls (70,000/s), 48 B each, 100% temporary
 *	next: --full has all stacks; -o leak.html; ...
 *
 * and the sentence in the header that says what all this means. What always holds: whoever reads this sentence
 * alone does not take the wrong decision: it claims no more than the verdict it is made of.
 */
#include <errno.h>
#include <string.h>

#include "model/heaps.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/rank.h"
#include "present/telling.h"
#include "present/text/report_parts.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/util.h"

#define STACKS_SHOWN 3
#define OTHER_LINES 20		/* what is above and below the rows, with one stack */
#define LEAST_ROWS 3
#define ALL_STACKS 36		/* rows of a screen that has room for all of it */
#define LEADING_ROWS 5		/* of processes, or tags */
#define STACK_LINES 2		/* that a stack takes at most */
#define LAST_COLS 24		/* of these, for its last function */
#define OWNER_COLS 30
#define FLAT_SITES 20		/* a profile of fewer is read at a glance */
#define CLEAR_PCT 95		/* of what is live must be known not to grow before that is said */
#define SHORT_NS (60 * SECOND_NS)
#define FLAT_PCT 5		/* and is flat where none holds more */

/* ---- names */

/* The site's name, as everywhere; the caller's, NULL without memory. */
static char *name_of(const struct report *r, const struct snap_site *site, size_t width)
{
	_cleanup_free_ char *name = tellings__name(r->o->tellings, r->s, site);

	return name ? name__shorten(name, width) : NULL;
}

static const char *show_where(const struct row_of *r, char buf[static CELL_MAX])
{
	struct frame f = tellings__of(r->tellings, r->s, r->site);
	_cleanup_free_ char *where = f.place ? frame__where_short(&f, r->process->exe, CELL_MAX / 2) : NULL;

	snprintf(buf, CELL_MAX, "%s", where ? where : "");
	return buf;
}

/* ---- the sentence */

/* Of processes that run, or that have ended: the site that holds the most of those with this verdict. NULL: there is none. */
static const struct snap_site *worst_of(const struct snapshot *s, const char *verdict, bool ended, size_t *ret_n)
{
	const struct snap_site *found = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (s->processes[site->process].ended != ended || !site->c.live_bytes || !site->trend.verdict || strcmp(site->trend.verdict, verdict))
			continue;
		(*ret_n)++;
		if (!found || site->c.live_bytes > found->c.live_bytes)
			found = site;
	}
	return found;
}

static const struct alarm {
	const char *verdict, *begins, *other, *others;
} alarms[] = {
	{ "leak", "A leak", "leaks", "leak" },
	{ "suspect", "Perhaps a leak", "is suspect", "are suspect" },
	{ "growing", "Growing", "grows", "grow" },
};

/*
 * The site that gives most reason to worry: of a process that runs, by verdict, then by what it holds. NULL: none does.
 * *ret_n: how many others of that kind have the same verdict, and itself.
 */
static const struct snap_site *worst(const struct snapshot *s, const struct alarm **ret, size_t *ret_n)
{
	const struct snap_site *found = NULL;

	for (size_t ended = 0; ended < 2 && !found; ended++)
		for (size_t i = 0; i < ARRAY_SIZE(alarms) && !found; i++) {
			found = worst_of(s, alarms[i].verdict, ended, ret_n);
			*ret = &alarms[i];
		}
	return found;
}

const struct snap_site *report__alarming_site(const struct snapshot *s)
{
	const struct alarm *alarm;
	size_t n;

	return worst(s, &alarm, &n);
}

/* The verdict may have said it already. */
static void unreached_item(struct report *r, const struct snap_site *site)
{
	char a[FMT_MAX], b[FMT_MAX];

	if (!site__was_searched(r->s, site) || site->trend.why_unreached)
		return;
	if (site->unreached_blocks)
		para__item(&r->para, "no pointer to %s of %s blocks", fmt_exact(a, site->unreached_blocks), fmt_exact(b, site->looked_blocks));
	else if (site->looked_blocks < site->c.live_blocks)
		para__item(&r->para, "pointers lead to all %s that were searched", fmt_exact(a, site->looked_blocks));
	else
		para__item(&r->para, "pointers lead to all of them");
}

static bool alarm_sentence(struct report *r)
{
	char share[FMT_MAX], others[FMT_MAX];
	bool several = r->s->n_processes > 1;
	const struct alarm *alarm;
	size_t n;
	const struct snap_site *site = worst(r->s, &alarm, &n);
	_cleanup_free_ char *name = site ? name_of(r, site, r->width / 2) : NULL, *who = NULL;

	if (!name)
		return false;
	who = several ? report__owner(r, &r->s->processes[site->process], OWNER_COLS) : NULL;
	para__item(&r->para, "%s: %s%s%s holds %s of what is live: %s", alarm->begins, name, who ? " in " : "", who ? who : "",
		   fmt_share(share, site->c.live_bytes, r->s->totals.live_bytes), site->trend.why ? site->trend.why : "");
	unreached_item(r, site);
	if (n > 1)
		para__item(&r->para, "%s more site%s %s", fmt_exact(others, n - 1), plural(n - 1), n == 2 ? alarm->other : alarm->others);
	return true;
}

/* Of what is live, the bytes of sites that are known not to grow. */
static uint64_t steady_bytes(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		const char *verdict = s->sites[i].trend.verdict;

		if (verdict && (!strcmp(verdict, "steady") || !strcmp(verdict, "draining")))
			sum += s->sites[i].c.live_bytes;
	}
	return sum;
}

/* Of what has ended, no trace can be longer. */
static bool goes_on(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i].ended)
			return true;
	return false;
}

/* No alarm is no all-clear: that is given only for what was judged. */
static void quiet_sentence(struct report *r)
{
	/* of what is hidden nothing is known here */
	bool part = r->s->hidden.by;
	uint64_t live = part ? snapshot__sites_bytes(r->s) : r->s->totals.live_bytes, steady = steady_bytes(r->s);
	const char *what = part ? "what the sites hold that are shown" : "what is live";
	char share[FMT_MAX];

	if (!live) {
		para__item(&r->para, "The sites that are shown hold nothing");
		return;
	}
	if (steady >= live / 100 * CLEAR_PCT && !r->s->losses_total && !recording__is_partial(&r->s->recording)) {
		para__item(&r->para, "No leak seen: %s of %s does not grow", fmt_share(share, steady, live), what);
		return;
	}
	para__item(&r->para, "No verdict on %s of %s: %s", fmt_share(share, live - MIN(steady, live), live), what,
		   r->s->estimated ? "the samples are too few to tell" : "too little is known of how it grows");
	if (r->s->duration_ns < SHORT_NS && !r->s->estimated && goes_on(r->s))
		para__item(&r->para, "trace longer, such as -d 2m");
}

/* No site stands out, so a list of sites is not what helps. */
static void flat_sentence(struct report *r)
{
	uint64_t most = 0;
	char a[FMT_MAX], b[FMT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < r->s->n_sites; i++) {
		most = MAX(most, r->s->sites[i].c.live_bytes);
		n += r->s->sites[i].c.live_bytes > 0;
	}
	if (n < FLAT_SITES || !most || most * 100 / FLAT_PCT > r->s->totals.live_bytes)
		return;
	para__begin(&r->para, "", 0);
	para__item(&r->para, "A flat profile: none of %s sites holds more than %s; --view tree shows where they come together",
		   fmt_exact(a, n), fmt_share(b, most, r->s->totals.live_bytes));
	para__end(&r->para);
}

void report__verdict_line(struct report *r)
{
	if (!(r->s->known & HAS_LIVE_BYTES) || !r->s->totals.live_bytes)
		return;
	para__begin(&r->para, "", 0);
	if (!alarm_sentence(r))
		quiet_sentence(r);
	para__end(&r->para);
	flat_sentence(r);
}

/* ---- the rows */

static const struct column own_columns[] = {
	{ "where", "", 0, true, .format = show_where },
};

/* Where a line is too narrow, the one with the highest number goes first; what decides stays. */
struct chosen {
	const char *name;
	unsigned int drop;
};

static const struct chosen of_live[] = {
	{ "live", 0 },	 { "live-error", 4 }, { "share", 9 },	{ "blocks", 5 }, { "unreached", 2 }, { "freed", 0 }, { "oldest", 3 },
	{ "growth", 2 }, { "verdict", 0 },    { "types", 10 }, { "process", 1 }, { "site", 0 },	 { "where", 8 },
};
static const struct chosen of_calls[] = {
	{ "calls", 0 },	    { "calls-error", 4 }, { "calls-rate", 0 }, { "bytes", 3 }, { "average", 5 },
	{ "temporary", 0 }, { "process", 1 },	  { "site", 0 },       { "where", 8 },
};
static const struct chosen of_pages[] = {
	{ "bytes", 0 }, { "bytes-rate", 0 }, { "calls", 3 }, { "function", 2 }, { "process", 1 }, { "site", 0 }, { "where", 8 },
};

#define COLUMNS_MAX 16

struct brief {
	struct column v[COLUMNS_MAX];
	struct columns columns;
};

static bool is_left_out(const struct snapshot *s, const char *name)
{
	if (!strcmp(name, "process"))
		return s->n_processes < 2;
	/* beside blocks of one age it would be of all */
	if (!strcmp(name, "unreached") && s->recording.older_ns)
		return true;
	if (!strcmp(name, "unreached") || !strcmp(name, "types"))
		return !s->n_heaps;
	return strstr(name, "-error") && !s->estimated;
}

static void take_columns(struct brief *b, const struct snapshot *s, const struct chosen *v, size_t n)
{
	static const struct columns own = { own_columns, ARRAY_SIZE(own_columns) };

	for (size_t i = 0; i < n; i++) {
		const struct column *c = columns__find(&own, v[i].name) ?: columns__find(&site_columns, v[i].name);

		if (!c || is_left_out(s, v[i].name))
			continue;
		b->v[b->columns.n] = *c;
		b->v[b->columns.n++].drop = v[i].drop;
	}
	b->columns.v = b->v;
}

static int rows(struct report *r, const struct view *v, const struct rank *k, size_t n, const struct metric *weighs, uint64_t whole)
{
	_cleanup_free_ struct row_of *rows = calloc(n + 1, sizeof(*rows));
	struct brief b = {};

	if (!rows)
		return -ENOMEM;
	if (v->bit == VIEW_LIVE)
		take_columns(&b, r->s, of_live, ARRAY_SIZE(of_live));
	else if (v->bit == VIEW_ALLOCS)
		take_columns(&b, r->s, of_calls, ARRAY_SIZE(of_calls));
	else
		take_columns(&b, r->s, of_pages, ARRAY_SIZE(of_pages));
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row_of){ .s = r->s, .site = k->v[i], .process = &r->s->processes[k->v[i]->process],
					    .tellings = r->o->tellings, .older = k->older,
					    .weight = rank__weight(k, weighs, k->v[i]), .whole = whole };
	return columns__write(r->out, &b.columns, rows, n, r->width);
}

/* ---- the first stacks */

/* "sdsnewlen < createStringObject < … 7 more < main": what fits; the last one is the thread's first. */
static void write_stack(FILE *out, const struct report *r, const struct snap_site *site, size_t room)
{
	const struct snapshot *s = r->s;
	size_t n = site__n_frames(s, site), at = tellings__number(r->o->tellings, s, site), used = 0;

	for (size_t i = at; i < n; i++) {
		struct frame f = site__frame(s, site, i);
		_cleanup_free_ char *name = telling__name(&f), *fits = name ? name__shorten(name, room / 3) : NULL;

		used += fits ? text_width(fits) + 3 : 0;
		if (i > at && n - i > 1 && used > room) {
			struct frame last = site__frame(s, site, n - 1);
			_cleanup_free_ char *end = telling__name(&last), *end_fits = end ? name__shorten(end, LAST_COLS) : NULL;

			fprintf(out, " < … %zu more < %s", n - 1 - i, end_fits ? end_fits : "");
			break;
		}
		fprintf(out, "%s%s", i > at ? " < " : "", fits ? fits : "");
	}
	if (site->end)
		fprintf(out, " < … not whole: %s", site__end_says(s, site));
}

/* NULL without memory. */
static char *stack_text(const struct report *r, const struct snap_site *site)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	write_stack(out, r, site, r->width * STACK_LINES - LAST_COLS - strlen(" < … 100 more < "));
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* texts: of the stacks before it; its own is added. One that reads the same says in which way it differs: "2. as 1: load via push_back". */
static int stack_line(struct report *r, const struct snap_site *site, size_t number, char **texts)
{
	_cleanup_free_ char *name = name_of(r, site, r->width - 10);
	char label[8];
	size_t same = 0;

	if (!site->n_stack)
		return 0;
	texts[number] = stack_text(r, site);
	if (!texts[number] || !name)
		return -ENOMEM;
	while (same < number && (!texts[same] || strcmp(texts[same], texts[number])))
		same++;
	snprintf(label, sizeof(label), "%zu.", number + 1);
	para__begin(&r->para, label, 3);
	if (same < number)
		para__item(&r->para, "as %zu: %s", same + 1, name);
	else
		para__item(&r->para, "%s", texts[number]);
	para__end(&r->para);
	return 0;
}

static int stacks(struct report *r, const struct rank *k, size_t n)
{
	char *texts[STACKS_SHOWN] = {};
	int err = 0;

	if (n)
		fputc('\n', r->out);
	/* on a low screen the first one */
	if (r->o->height && r->o->height < ALL_STACKS)
		n = MIN(n, 1);
	for (size_t i = 0; i < MIN(n, (size_t)STACKS_SHOWN) && !err; i++)
		err = stack_line(r, k->v[i], i, texts);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	return err;
}

/* ---- what comes last */

const struct snap_site *report__most_called(const struct snapshot *s)
{
	const struct snap_site *most = NULL;

	for (size_t i = 0; i < s->n_sites; i++)
		if (!most || s->sites[i].c.alloc_calls > most->c.alloc_calls)
			most = &s->sites[i];
	return most;
}

static void most_calls_line(struct report *r)
{
	const struct snap_site *most = report__most_called(r->s);
	_cleanup_free_ char *name = NULL;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX];

	if (!most || !most->c.alloc_calls || recording__is_growth(&r->s->recording))
		return;
	name = name_of(r, most, r->width / 2);
	para__begin(&r->para, "", 0);
	para__item(&r->para, "allocates most: %s", name ? name : "");
	para__item(&r->para, "%s%s call%s (%s)", report__mark(r), fmt_count(a, most->c.alloc_calls), plural(most->c.alloc_calls),
		   fmt_rate(b, most->c.alloc_calls, r->s->duration_ns));
	para__item(&r->para, "%s each", fmt_bytes(c, most->c.alloc_bytes / most->c.alloc_calls));
	if (r->s->known & HAS_TEMP_CALLS && most->c.temp_calls)
		para__item(&r->para, "%s temporary", fmt_percent(d, most->c.temp_calls, most->c.alloc_calls));
	para__end(&r->para);
}

static void next_line(struct report *r)
{
	para__begin(&r->para, "next:", 6);
	para__item(&r->para, "--full for every stack");
	para__item(&r->para, "--view allocs,tree,sizes and more");
	if (r->s->n_heaps)
		para__item(&r->para, "--view heap for what is older or free");
	if (r->s->recording.free_stacks)
		para__item(&r->para, "--view frees for where blocks are freed");
	para__item(&r->para, "-o leak.html for a flame graph");
	if (r->s->known & HAS_ALLOC_CALLS && !recording__is_growth(&r->s->recording))
		para__item(&r->para, "--tag FUNC for what one call of it costs");
	para__end(&r->para);
}

static int site_rows(struct report *r, const struct view *v, bool first)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	uint64_t whole, listed;
	struct rank k;
	size_t n;
	int err = rank__init(&k, r->s, v->bit, r->o->sort, v->older && r->o->older_ns, r->top);

	if (err)
		return err;
	n = MIN(k.n, r->top);
	rank__sums(&k, weighs, n, &whole, &listed);
	report__site_title(r, v, &k, n, listed, whole);
	if (n) {
		fputc('\n', r->out);
		err = rows(r, v, &k, n, weighs, whole);
	}
	if (!err && first)
		err = stacks(r, &k, n);
	rank__done(&k);
	return err;
}

int report__brief(struct report *r)
{
	size_t top = r->top;
	bool first = true;
	int err;

	if (r->o->height && !r->o->top)
		top = MIN(top, (size_t)MAX((int)r->o->height - OTHER_LINES, LEAST_ROWS));
	r->top = MIN(top, (size_t)LEADING_ROWS);
	err = report__views(r, true);
	r->top = top;
	for (size_t i = 0; i < n_views && !err; i++) {
		const struct view *v = &views[i];

		/* of a trace of allocations the first view of sites; of --mode growth both */
		if (v->rows != ROWS_SITES || !(r->views & (v->bit | v->with)) || !view__holds(v, r->s) || v->bit == VIEW_REALLOC)
			continue;
		if (!first && !recording__is_growth(&r->s->recording))
			continue;
		err = site_rows(r, v, first);
		first = false;
	}
	if (!err && !first) {
		fputc('\n', r->out);
		most_calls_line(r);
		next_line(r);
	}
	return err;
}
