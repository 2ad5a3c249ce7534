// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the HTML report: a page that is the same for every trace (user/files/html/page/,
 * made one by scripts/html-page when the program is built), with the JSON profile
 * in it, which the page's script draws, and what a profile has not: words, the views and
 * their columns, the frames that stacks are named by.
 *
 * What always holds: what another process chose (names, paths) is only in these
 * two, there is no character in them which means something to HTML, and the
 * page's policy lets nothing run but the script of the page itself.
 */
#include <errno.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json_writer.h"
#include "html_page.h"
#include "model/runtimes.h"
#include "present/columns.h"
#include "present/caveats.h"
#include "present/sentence.h"
#include "present/telling.h"
#include "present/views.h"
#include "util/util.h"

#define NEXT_ELEMENT "</script>\n<script type=\"application/json\" id=\"words\">\n"
/* Of timelines: as many as there may be in all, and as many as a process may have even if they are more. */
#define POINTS_OF_ALL 65536
#define POINTS_OF_EACH 64

/* ---- the profile */

/* Every n-th point into out, with the last, which is what the totals say. */
static size_t thin_out(const struct snap_process *p, size_t room, struct snap_point *out)
{
	size_t step = p->n_timeline / room + 1, n = 0;

	for (size_t i = (p->n_timeline + step - 1) % step; i < p->n_timeline; i += step)
		out[n++] = p->timeline[i];
	return n;
}

/*
 * The whole profile; but of a whole machine's processes fewer points: a page
 * draws some hundred, and would else be made of little but lines that no reader
 * looks at.
 */
static void profile(struct json *j, const struct snapshot *s)
{
	size_t room = MAX(POINTS_OF_ALL / MAX(s->n_processes, (size_t)1), (size_t)POINTS_OF_EACH), n = 0;
	_cleanup_free_ struct snap_process *processes = NULL;
	_cleanup_free_ struct snap_point *points = NULL;
	struct snapshot fewer = *s;

	for (size_t i = 0; i < s->n_processes; i++)
		n += s->processes[i].n_timeline;
	if (n <= POINTS_OF_ALL) {
		json__document(j, s);
		return;
	}
	processes = xmalloc(s->n_processes * sizeof(*processes));
	points = xmalloc(n * sizeof(*points));
	memcpy(processes, s->processes, s->n_processes * sizeof(*processes));
	n = 0;
	for (size_t i = 0; i < s->n_processes; i++) {
		processes[i].timeline = points + n;
		processes[i].n_timeline = thin_out(&s->processes[i], room, points + n);
		n += processes[i].n_timeline;
	}
	fewer.processes = processes;
	json__document(j, &fewer);
}

/* ---- the words beside it */

/* The sentences of those that happened. */
static void sentences(struct json *j, const struct snap_counter *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].n)
			json__str(j, v[i].name, v[i].says);
}

static void metric_table(struct json *j, const struct snapshot *s, const struct metric *chosen)
{
	json__str(j, "metric", chosen->name);
	json__array(j, "metrics");	/* [name, unit, field] of those that are known */
	for (size_t i = 0; i < n_metrics; i++) {
		if (metrics[i].needs & ~s->known)
			continue;
		json__array(j, NULL);
		json__str(j, NULL, metrics[i].name);
		json__str(j, NULL, metrics[i].unit);
		json__str(j, NULL, metrics[i].key);
		json__array_end(j);
	}
	json__array_end(j);
}

/* ---- the views: what there is to show, in which columns (present/views.c) */

static void field(struct json *j, const char *key, const struct field_ref *is, enum view_rows rows)
{
	/* where files have the fields, of what a row is there; NULL: in the row itself */
	const char *part = is->fields == &move_fields ? "moves" :
			   is->fields == &counter_fields && rows != ROWS_SITES ? "totals" :
			   NULL;

	json__array(j, key);
	if (part)
		json__str(j, NULL, part);
	json__str(j, NULL, is->key);
	json__array_end(j);
}

/* How a cell is drawn. */
static const char *kind_of(const struct column *c)
{
	static const char *const names[] = {
		[UNIT_NONE] = "number", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes", [UNIT_CHANGE] = "change",
		[UNIT_GROWTH] = "growth", [UNIT_NS] = "ns", [UNIT_PER_S] = "per_s", [UNIT_ID] = "id",
	};

	if (c->left)
		return "text";
	if (c->over && !c->mean)
		return "percent";
	return names[c->unit || !c->field ? c->unit : fields__find(c->field->fields, c->field->key)->unit];
}

/* "AT PEAK": "At peak" */
static void label(struct json *j, const char *key, const char *title)
{
	char buf[32];
	size_t i = 0;

	for (; title[i] && i + 1 < sizeof(buf); i++)
		buf[i] = (char)(i ? tolower((unsigned char)title[i]) : title[i]);
	buf[i] = 0;
	json__str(j, key, buf);
}

static void column(struct json *j, const struct column *c, const struct snapshot *s, enum view_rows rows)
{
	json__object(j, NULL);
	json__str(j, "name", c->name);
	if (c->label)
		json__str(j, "label", c->label);
	else
		label(j, "label", column__title(c, s));
	if (c->tip)
		json__str(j, "tip", c->tip);
	json__str(j, "kind", kind_of(c));
	if (c->scaled)
		json__bool(j, "scaled", true);
	if (c->since)
		json__bool(j, "since", true);
	if (c->field)
		field(j, "field", c->field, rows);
	if (c->older)
		field(j, "older", c->older, rows);
	if (c->over)
		field(j, "over", c->over, rows);
	json__object_end(j);
}

/* Those that the snapshot has figures for. */
static void columns(struct json *j, const struct view *v, const struct snapshot *s)
{
	struct columns c = columns__choose(v->page.of ? v->page.of : v->columns, v->page.columns);

	json__array(j, "columns");
	for (size_t i = 0; i < c.n; i++) {
		if (column__needs(&c.v[i]) & ~s->known)
			continue;
		json__line(j, 2);
		column(j, &c.v[i], s, v->rows);
	}
	json__array_end(j);
	free((struct column *)c.v);
}

/* older: live blocks older than recording.older_ns alone, as a report that was asked for them */
static void view_table(struct json *j, const struct snapshot *s, bool older)
{
	const struct view *v[VIEWS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < n_views; i++)
		if (views[i].page.columns && view__holds(&views[i], s))
			v[n++] = &views[i];
	json__array(j, "views");
	for (size_t i = 0; i < n; i++) {
		json__line(j, 1);
		json__object(j, NULL);
		json__str(j, "name", v[i]->name);
		label(j, "title", v[i]->title);
		json__str(j, "key", v[i]->live.key ? (char[]){ (char)v[i]->live.key, 0 } : NULL);
		json__str(j, "empty", v[i]->empty);
		json__str(j, "sort", v[i]->page.sort);
		columns(j, v[i], s);
		json__object_end(j);
	}
	json__array_end(j);
	json__line(j, 0);
	/* which of them show a site: a bit for each, in the order of "sites" */
	json__array(j, "shows");
	for (size_t k = 0; k < s->n_sites; k++) {
		uint64_t bits = 0;

		for (size_t i = 0; i < n; i++)
			if (view__shows(v[i], &s->sites[k], older))
				bits |= 1u << i;
		json__u64(j, NULL, bits);
	}
	json__array_end(j);
}

/* ---- a diff: what of its two profiles is not in the one that it is shown as */

static void compared_profile(struct json *j, const char *key, const struct snapshot *s, const char *name)
{
	const struct snap_process *one = s->n_processes == 1 ? s->processes : NULL;
	uint64_t rss = 0;

	/* of a process that has ended RSS is history; a single one's is still worth telling */
	for (size_t i = 0; i < s->n_processes; i++)
		rss += one || !s->processes[i].ended ? s->processes[i].rss_bytes : 0;
	json__object(j, key);
	json__str(j, "file", name);
	json__u64(j, "processes", s->n_processes);
	json__str(j, "comm", one ? one->comm : NULL);
	json__u64(j, "pid", one && one->pid > 0 ? (uint64_t)one->pid : 0);
	json__u64(j, "duration_ns", s->duration_ns);
	json__i64(j, "wall_now_ms", s->wall_now_ns / 1000000);
	json__u64(j, "losses", s->losses_total);
	json__u64(j, "rss_bytes", rss);
	json__object(j, "totals");
	json__row(j, &counter_fields, &s->totals, s->known);
	json__object_end(j);
	json__object_end(j);
}

static void compared(struct json *j, const struct export_compared *c)
{
	if (!c) {
		json__null(j, "diff");
		return;
	}
	json__object(j, "diff");
	json__line(j, 1);
	compared_profile(j, "before", c->before, c->before_name);
	json__line(j, 1);
	compared_profile(j, "after", c->after, c->after_name);
	json__object_end(j);
}

/* ---- names */

static void names(struct json *j, const char *key, const struct snapshot *s, const struct tellings *t,
		  const struct snap_site *v, size_t n)
{
	json__array(j, key);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = tellings__name(t, s, &v[i]);

		json__str(j, NULL, name ? name : "");
	}
	json__array_end(j);
}

static void numbers(struct json *j, const char *key, const struct snapshot *s, const struct tellings *t,
		    const struct snap_site *v, size_t n)
{
	json__array(j, key);
	for (size_t i = 0; i < n; i++)
		json__u64(j, NULL, tellings__number(t, s, &v[i]));
	json__array_end(j);
}

/* For each site, in the order of "sites" and of "free_sites": what it is called, and the number of the frame that this is of. */
static void names_of_sites(struct json *j, const struct snapshot *s, const struct tellings *t)
{
	size_t n_frees = s->recording.free_stacks ? s->n_free_sites : 0;

	names(j, "names", s, t, s->sites, s->n_sites);
	json__line(j, 0);
	numbers(j, "telling", s, t, s->sites, s->n_sites);
	json__line(j, 0);
	names(j, "names_frees", s, t, s->free_sites, n_frees);
	json__line(j, 0);
	numbers(j, "telling_frees", s, t, s->free_sites, n_frees);
}

/* The numbers of frames that say how memory was got, not who wanted it: numbered as in "frames", by the first stack that has them. */
static void library_frames(struct json *j, const struct snapshot *s)
{
	_cleanup_free_ bool *numbered = xcalloc(s->n_places + 1, sizeof(*numbered));
	uint64_t n = 0;

	json__array(j, "library");
	for (size_t i = 0; i < s->n_sites; i++)
		for (uint32_t k = 0; k < s->sites[i].n_stack; k++) {
			uint32_t at = s->sites[i].stack[k];
			const struct place *p = &s->places[at];

			for (size_t m = 0; !numbered[at] && m < place__n_frames(p); m++, n++) {
				struct frame f = place__frame(s, p, m);

				if (!frame__is_telling(&f))
					json__u64(j, NULL, n);
			}
			numbered[at] = true;
		}
	json__array_end(j);
}

/* What a reader who knows a process's language would look for in vain. */
static void runtimes_met(struct json *j, const struct snapshot *s)
{
	const struct runtime *r;

	json__array(j, "runtimes");
	for (size_t i = 0; (r = runtime__of_snapshot(s, i)); i++) {
		_cleanup_free_ char *says = runtime__words(r, s);

		json__array(j, NULL);
		json__str(j, NULL, r->title);
		json__str(j, NULL, says ? says : r->unseen);
		json__array_end(j);
	}
	json__array_end(j);
}

/* ---- all of them */

static void words(struct json *j, const struct snapshot *s, const struct export_opts *o, const struct tellings *t)
{
	_cleanup_free_ char *memory = machine__words(s), *ended = ended__words(s, NULL), *watched = watched__words(s), *reading = reading__words(s),
		*unfollowed = unfollowed__words(s);
	/* a diff has its own */
	_cleanup_free_ char *own = o->compared || o->report.sentence ? NULL : sentence__of(s, t, SENTENCE_NAME_COLS);
	char observed[3 * FMT_MAX];

	json__object(j, NULL);
	metric_table(j, s, o->metric ? o->metric : metric__preset(s->known));
	json__str(j, "sentence", o->compared ? NULL : own ? own : o->report.sentence);
	json__str(j, "baseline_name", s->baseline_name);
	/* of a whole machine */
	json__str(j, "memory", memory);
	json__str(j, "ended", ended);
	json__str(j, "unfollowed", unfollowed);
	json__str(j, "observed", s->observed_share < 1 ? observed__words(s, observed) : NULL);
	json__str(j, "watched", watched);
	json__str(j, "unmet", unmet__words(s));
	json__str(j, "reading", reading);
	runtimes_met(j, s);
	json__str(j, "mark_reading", reading__mark_words(s));
	/* what was asked for now: the profile may have been recorded with another age, or is shown whole */
	json__u64(j, "older_ns", o->report.older_ns);
	json__bool(j, "served", o->served);
	json__line(j, 0);
	compared(j, o->compared);
	json__line(j, 0);
	view_table(j, s, o->report.older_ns);
	json__line(j, 0);
	json__object(j, "says");
	sentences(j, s->losses, s->n_losses);
	sentences(j, s->edges, s->n_edges);
	json__object_end(j);
	json__line(j, 0);
	json__object(j, "ends");
	for (unsigned int i = 0; i < SNAPSHOT_N_ENDS; i++)
		json__str(j, stack_end__name(i), stack_end__says(i));
	json__object_end(j);
	json__line(j, 0);
	names_of_sites(j, s, t);
	json__line(j, 0);
	library_frames(j, s);
	json__object_end(j);
}

int html__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	static const struct export_opts preset;
	struct json in_page = { .out = out, .in_page = true }, beside = in_page;
	const struct tellings *t = o ? o->report.tellings : NULL;
	struct tellings own = {};

	fputs(html_page_before_data, out);
	profile(&in_page, s);
	fputs("\n" NEXT_ELEMENT, out);
	if (!t) {
		tellings__begin(&own, s);
		t = &own;
	}
	words(&beside, s, o ? o : &preset, t);
	tellings__done(&own);
	fputc('\n', out);
	fputs(html_page_after_data, out);
	return ferror(out) ? err_set(e, -EIO, "cannot write HTML") : 0;
}
