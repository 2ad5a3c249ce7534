// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the report of one screen: what the header (header.c) says first, then
 *
 *	LIVE by bytes (10 of 214 sites, 97.1% of bytes)
 *
 *	    LIVE  SHARE  BLOCKS  FREED  OLDEST   GROWTH/s  VERDICT  SITE
 *	31.0 MiB  75.2%  31,744     0%   29.9s   +180 KiB  leak     trackingRememberKey  tracking.c:212
 *
 *	trackingRememberKey < raxInsert < call < processCommand < aeMain < main
 *
 *	allocates most: sdsnewlen, 2.10M calls (70,000/s), 48 B each, 100% temporary
 *	next: --reachable for blocks that no pointer leads to, -o leak.html for a flame graph
 *
 * and of several processes, which are listed first, in place of the sites of all
 *
 *	SITES of the 3 processes that grow most (9 of 1,214; shares within each process)
 *
 * and, in the header, the sentence that says what all this means (present/sentence.c).
 */
#include <stdlib.h>
#include <string.h>

#include "model/runtimes.h"
#include "present/sentence.h"
#include "present/text/report_parts.h"
#include "util/clock.h"

#define OTHER_LINES 20		/* what is above and below the rows, with one stack */
#define LEAST_ROWS 3
#define SMALL_ROW 200		/* a row with less than one of so many parts of all has to be asked for */
#define LEADING_ROWS 5		/* of processes, or tags */
#define STACK_LINES 2		/* that a stack takes at most */
#define WHOLE_NAME 160		/* where no screen cuts names; templates have no end */
#define LAST_COLS 24		/* of these, for its last function */
#define FLAT_SITES 20		/* a profile of fewer is read at a glance */
#define FLAT_PCT 5		/* and is flat where none holds more */

/* ---- names */

/* ---- the sentence (sentence.c), and what helps where there are too many sites */

/* No site stands out, so a list of sites is not what helps. */
static void flat_sentence(struct report *r)
{
	uint64_t most = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->s->n_sites; i++) {
		most = MAX(most, r->s->sites[i].c.live_bytes);
		n += r->s->sites[i].c.live_bytes > 0;
	}
	if (n < FLAT_SITES || !most || most * 100 / FLAT_PCT > r->s->totals.live_bytes)
		return;
	report__line(r, "A flat profile: none of %s sites holds more than %s; --view tree shows where they come together",
		   EXACT(n), SHARE(most, r->s->totals.live_bytes));
}

void report__verdict_line(struct report *r)
{
	size_t name_width = r->o->whole_names ? WHOLE_NAME : r->width / 2;
	_cleanup_free_ char *sentence = r->o->sentence ? xstrdup(r->o->sentence) : sentence__of(r->s, r->o->tellings, name_width);
	char *rest = sentence, *line;

	if (!sentence)
		return;
	while ((line = strsep(&rest, "\n")))
		report__line(r, "%s", line);
	flat_sentence(r);
}

/* ---- the rows */

/* What decides stays where a line is too narrow. */
#define OF_LIVE "live live-error/4 share/9 blocks/5 unreached/2 freed oldest/3 growth/2 verdict types/10 process/1 site where/8"
#define OF_CALLS "calls calls-error/4 calls-rate bytes/3 average/5 temporary process/1 site where/8"
#define OF_PAGES "bytes bytes-rate calls/3 function/2 process/1 site where/8"

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

/* whole: what shares are of; 0: the live bytes of the row's process */
static void rows(struct report *r, const struct view *v, const struct rank *k, size_t n, const struct metric *weighs, uint64_t whole)
{
	_cleanup_free_ struct row_of *rows = xcalloc(n + 1, sizeof(*rows));
	struct columns c = columns__choose(&site_columns, v->bit == VIEW_LIVE ? OF_LIVE : v->bit == VIEW_ALLOCS ? OF_CALLS : OF_PAGES);
	_cleanup_free_ struct column *chosen = (struct column *)c.v;
	size_t n_there = 0;

	for (size_t i = 0; i < c.n; i++)
		if (!is_left_out(r->s, chosen[i].name))
			chosen[n_there++] = chosen[i];
	c.n = n_there;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row_of){ .s = r->s, .site = k->v[i], .process = &r->s->processes[k->v[i]->process],
					    .tellings = r->o->tellings, .older = k->older,
					    .weight = rank__weight(k, weighs, k->v[i]),
					    .whole = whole ? whole : r->s->processes[k->v[i]->process].c.live_bytes };
	columns__write(r->out, &c, rows, n, r->width, r->o->whole_names);
}

/* ---- the first stacks */

/* python3.11, libpython3.11.so.1.0 */
static bool is_interpreter(const struct frame *f)
{
	const char *base = path_basename(f->module ? f->module : "");

	return is_python_module(f->module) || !strncmp(base, "python", 6) || !strncmp(base, "libpython", 9);
}

/*
 * The frames of a stack from the one that it is called by on, *ret_n of them. Of one of Python those that run its frames are left out,
 * also below its first one, where the interpreter was started. The caller's.
 */
static struct frame *frames_from(const struct snapshot *s, const struct snap_site *site, size_t at, size_t *ret_n)
{
	size_t n = site__n_frames(s, site), last_python = n;
	struct frame *v = xcalloc(n + 1, sizeof(*v));

	for (size_t i = at; i < n; i++) {
		struct frame f = site__frame(s, site, i);

		last_python = is_python_module(f.module) ? i : last_python;
	}
	*ret_n = 0;
	for (size_t i = at; i < n; i++) {
		struct frame f = site__frame(s, site, i);

		if (last_python == n || is_python_module(f.module) || (i < last_python && !is_interpreter(&f)))
			v[(*ret_n)++] = f;
	}
	return v;
}

/* "sdsnewlen < createStringObject < … 7 more < main": what fits; the last one is the thread's first. */
static char *stack_text(const struct report *r, const struct snap_site *site)
{
	size_t n = 0, used = 0, room = r->width * STACK_LINES - LAST_COLS - strlen(" < … 100 more < "), len = 0;
	char *text = NULL;
	FILE *out = text_stream__open(&text, &len);
	_cleanup_free_ struct frame *v = frames_from(r->s, site, tellings__number(r->o->tellings, r->s, site), &n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = telling__name(&v[i]), *fits = name__shorten(name, room / 3);

		used += text_width(fits) + 3;
		if (i && n - i > 1 && used > room) {
			_cleanup_free_ char *end = telling__name(&v[n - 1]), *end_fits = name__shorten(end, LAST_COLS);

			fprintf(out, " < … %zu more < %s", n - 1 - i, end_fits);
			break;
		}
		fprintf(out, "%s%s", i ? " < " : "", fits);
	}
	/* the header says why */
	if (site->end)
		fprintf(out, " < … truncated");
	text_stream__close(out);
	return text;
}

/* Of the site that the sentence names, else of the first row. */
static void stack_of_first(struct report *r, const struct rank *k, size_t n)
{
	const struct snap_site *named = sentence__site(r->s);
	_cleanup_free_ char *text = NULL;
	size_t at = 0;

	while (at < n && k->v[at] != named)
		at++;
	if (!n || !k->v[at % n]->n_stack)
		return;
	text = stack_text(r, k->v[at % n]);
	fputc('\n', r->out);
	report__line(r, "%s", text);
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

/* False: there is none. */
static bool most_calls_line(struct report *r)
{
	const struct snap_site *most = report__most_called(r->s);
	_cleanup_free_ char *whole = NULL, *name = NULL;
	bool grows;

	/* what is lost has its own lines */
	if (!most || !most->c.alloc_calls || !(r->views & VIEW_LIVE) || recording__is_growth(&r->s->recording) || r->s->losses_total || is_noise(r->s))
		return false;
	fputc('\n', r->out);
	whole = tellings__name(r->o->tellings, r->s, most);
	name = name__shorten(whole, r->width / 2);
	para__begin(&r->para, "", 0);
	para__item(&r->para, "allocates most: %s", name);
	/* a block that grows is no block for each call */
	grows = r->s->known & HAS_REALLOC_CALLS && most->c.realloc_calls * 2 > most->c.alloc_calls;
	if (grows)
		para__item(&r->para, "realloc'ed %s%s time%s", report__mark(r), COUNT(most->c.alloc_calls), plural(most->c.alloc_calls));
	else
		para__item(&r->para, "%s%s call%s (%s)", report__mark(r), COUNT(most->c.alloc_calls), plural(most->c.alloc_calls),
			   RATE(most->c.alloc_calls, r->s->duration_ns));
	para__item(&r->para, "%s %s", BYTES(most->c.alloc_bytes / most->c.alloc_calls), grows ? "on average" : "each");
	if (!grows && r->s->known & HAS_TEMP_CALLS && most->c.temp_calls)
		para__item(&r->para, "%s temporary", PERCENT(most->c.temp_calls, most->c.alloc_calls));
	para__end(&r->para);
	return true;
}

/* ---- of several processes */

bool report__is_many(const struct report *r)
{
	return r->o->brief && r->s->n_processes > 1 && r->s->known & HAS_LIVE_BYTES && r->views & VIEW_LIVE && !r->o->older_ns;
}

static void rows_of_growers(struct report *r)
{
	const struct metric *weighs = rank__key("live-bytes");
	const struct snap_site *v[GROWERS * GROWER_ROWS] = {};
	struct rank k = { .v = v };
	const char *verb;
	_cleanup_free_ size_t *sites =
		processes__sites_of_growers(r->s, r->o->sort, &k.n, &verb);
	size_t n_of = 0;

	for (size_t i = 0; i < k.n; i++) {
		v[i] = &r->s->sites[sites[i]];
		n_of += !i || v[i]->process != v[i - 1]->process;
	}
	if (!k.n)
		return;
	fputc('\n', r->out);
	report__line(r, "SITES of the %s%s that %s%s most (%s of %s; shares within each %s)", n_of == 1 ? "" : n_of == 2 ? "2 " : "3 ",
		     snapshot__is_grouped(r->s) ? n_of == 1 ? "group" : "groups" : n_of == 1 ? "process" : "processes",
		     verb, n_of == 1 && strcmp(verb, "held") ? "s" : "", EXACT(k.n), EXACT(r->s->n_sites),
		     snapshot__is_grouped(r->s) ? "group" : "process");
	fputc('\n', r->out);
	rows(r, view__of(VIEW_LIVE), &k, k.n, weighs, 0);
	stack_of_first(r, &k, k.n);
}

/* An alarm is worth a row by its share of what its process grows by. */
static bool grows_notably(const struct report *r, const struct snap_site *site)
{
	const struct trend *all = &r->s->processes[site->process].trend;

	return verdict__is_alarm(site->trend.verdict) &&
	       (!site->trend.known || !all->known || all->growth_bytes_per_s <= 0 ||
		site->trend.growth_bytes_per_s * SMALL_ROW >= all->growth_bytes_per_s);
}

/* What follows the last row that matters is left out. */
static size_t rows_that_matter(const struct report *r, const struct rank *k, const struct metric *weighs, uint64_t whole)
{
	size_t n = MIN(k->n, r->top);

	while (!r->o->views && !r->o->top && !r->o->sort && n > LEAST_ROWS &&
	       !grows_notably(r, k->v[n - 1]) && !k->v[n - 1]->unreached_blocks &&
	       rank__weight(k, weighs, k->v[n - 1]) < whole / SMALL_ROW)
		n--;
	return n;
}

static void site_rows(struct report *r, const struct view *v, bool first)
{
	const struct metric *weighs = rank__key(v->weighs ? v->weighs : v->sort);
	uint64_t whole, listed;
	struct rank k;
	size_t n;

	rank__init(&k, r->s, v->bit, r->o->sort, v->older && r->o->older_ns, r->top);
	rank__sums(&k, weighs, 0, &whole, &listed);
	n = rows_that_matter(r, &k, weighs, whole);
	if (weighs == rank__key("live-bytes") && is_noise(r->s)) {
		fputc('\n', r->out);
		report__line(r, "%s: too few samples for rows%s", v->title, n ? " (--full shows them)" : "");
		rank__done(&k);
		return;
	}
	rank__sums(&k, weighs, n, &whole, &listed);
	report__site_title(r, v, &k, n, listed, whole);
	if (n && r->o->views & v->bit && v->bit == VIEW_ALLOCS)
		report__realloc_lines(r);
	if (n) {
		fputc('\n', r->out);
		rows(r, v, &k, n, weighs, whole);
	}
	if (first)
		stack_of_first(r, &k, n);
	rank__done(&k);
}

/* ---- what to do next */

/*
 * The last line of one screen, the commands that go on from it:
 *
 *	next: --reachable for blocks that no pointer leads to,
 *	      -o leak.html for a flame graph
 *
 * hints[] has each command with the condition under which it shows something; the first ones that hold are printed. What always
 * holds: no command is named that would fail, or show nothing, for what was traced.
 */

#define HINTS_SHOWN 2
#define HEAP_OF "malloctrace heap -p "

/* The first that runs; 0: none does, or the rows are groups. */
static int pid_of_first(const struct report *r)
{
	_cleanup_free_ const struct snap_process **v = processes__by_growth(r->s);

	return !*v || v[0]->ended || v[0]->pid < 0 ? 0 : v[0]->pid;
}

static bool has_lost(const struct snapshot *s, const char *what)
{
	for (size_t i = 0; i < s->n_losses; i++)
		if (s->losses[i].n && !strcmp(s->losses[i].name, what))
			return true;
	return false;
}

/* Where the sentence recommends it, or NULL. */
static const char *recommended(const char *sentence, const char *command)
{
	return sentence ? strstr(sentence, command) : NULL;
}

/* Options of the next trace: those that it would refuse are not named. */
static bool lacks_search(const struct report *r)
{
	const struct recording *how = &r->s->recording;

	return how->mode == MT_MODE_FULL && !how->sample_bytes && !report__is_many(r) && snapshot__needs_search(r->s) &&
	       !(r->s->known & HAS_UNREACHED) && !is_noise(r->s) && !sentence__is_unexplained(r->s);
}

/* What is held is named by the searches that follow pointers to each block; what an interpreter holds has no variables of its own. */
static bool lacks_roots(const struct report *r)
{
	const struct snap_site *site = sentence__site(r->s);
	const struct snap_heap *h = site ? snapshot__heap_of(r->s, site->process) : NULL;

	return h && !r->s->processes[site->process].runtime && !(site->held && site->held->kind == ROOT_MAPPING) && site__was_searched(r->s, site) && !site->trend.why_unreached && !h->roots_known;
}

static bool has_older(const struct report *r)
{
	for (size_t i = 0; i < r->s->n_heaps; i++)
		if (!r->s->heaps[i].refused && r->s->heaps[i].older_known && r->s->heaps[i].older_blocks)
			return !report__is_many(r) && !sentence__site(r->s);
	return false;
}

/* Commands that go on from one screen, if there is any; apart: a blank line before them */
static void next_line(struct report *r, bool apart)
{
	const struct snapshot *s = r->s;
	_cleanup_free_ char *own = r->o->sentence ? NULL : sentence__of(s, r->o->tellings, WHOLE_NAME);
	const char *sentence = r->o->sentence ?: own;
	const char *at = recommended(sentence, HEAP_OF);
	/* not always of the first process */
	_cleanup_free_ char *heap = at ? xasprintf(HEAP_OF "%d for the free memory of the heap",
						   atoi(at + strlen(HEAP_OF))) : NULL;
	int pid = pid_of_first(r);
	const struct {
		bool holds;
		const char *says;	/* %d: the first process */
	} hints[] = {
		/* what the sentence recommends comes first */
		{ recommended(sentence, "--mmap "), "--mmap for the code that maps memory" },
		{ recommended(sentence, "--mode growth "), "--mode growth for the code that touches new memory" },
		{ heap, heap },
		{ report__is_many(r) && pid, "malloctrace -p %d for the first process alone" },
		{ has_lost(s, "live_full"), "--max-live N to record more blocks" },
		{ has_lost(s, "stack_full"), "--max-stacks N to record more stacks" },
		{ s->recording.mode == MT_MODE_COUNT, "--mode full for live memory" },
		{ lacks_search(r), "--reachable for blocks that no pointer leads to" },
		{ lacks_roots(r), "--roots for what holds each block" },
		{ s->recording.free_stacks && s->known & HAS_FREE_CALLS && s->totals.free_calls, "--view frees for where blocks are freed" },
		{ has_older(r), "--view heap for older blocks and free memory" },
		{ !s->n_sites && !s->hidden.n_sites && pid, "malloctrace doctor -p %d for what can be probed" },
		{ recommended(sentence, "trace longer (-d 2m)"), "-d 2m for a verdict" },
		{ s->n_sites > 0, "-o leak.html for a flame graph" },
		{ s->n_sites > 0, "--full for every stack" },
	};
	size_t n = 0;

	/* neither a page nor other options have more of what was hardly seen */
	if (is_noise(s)) {
		_cleanup_free_ char *advice = noise__advice(s);

		fputs(apart ? "\n" : "", r->out);
		report__line(r, "next: %s", advice);
		return;
	}
	para__begin(&r->para, "next:", 6);
	for (size_t i = 0; i < ARRAY_SIZE(hints) && n < HINTS_SHOWN; i++) {
		if (!hints[i].holds)
			continue;
		if (!n++)
			fputs(apart ? "\n" : "", r->out);
		para__item(&r->para, hints[i].says, pid);
	}
	para__end(&r->para);
}

void report__brief(struct report *r)
{
	size_t top = r->top;
	bool first = true;

	if (r->o->height && !r->o->top)
		top = MIN(top, (size_t)MAX((int)r->o->height - OTHER_LINES, LEAST_ROWS));
	r->top = MIN(top, (size_t)LEADING_ROWS);
	report__views(r, true);
	r->top = top;
	if (report__is_many(r)) {
		rows_of_growers(r);
		next_line(r, true);
		return;
	}
	for (size_t i = 0; i < n_views; i++) {
		const struct view *v = &views[i];

		/* of a trace of allocations the first view of sites; of --mode growth both */
		if (v->rows != ROWS_SITES || !(r->views & (v->bit | v->with)) || !view__holds(v, r->s) || v->bit == VIEW_REALLOC)
			continue;
		if (!first && !recording__is_growth(&r->s->recording))
			continue;
		site_rows(r, v, first);
		first = false;
	}
	if (!first)
		next_line(r, !most_calls_line(r));
}
