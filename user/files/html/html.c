// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the HTML report: a page that is the same for every trace (user/files/html/page/,
 * made one by scripts/html-page when the program is built), with the JSON profile
 * in it, which the page's script draws, and the words that a profile has not.
 *
 * What always holds: what another process chose (names, paths) is only in these
 * two, there is no character in them which means something to HTML, and the
 * page's policy lets nothing run but the script of the page itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json.h"
#include "html_page.h"
#include "present/telling.h"
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
static int profile(struct json *j, const struct snapshot *s, struct err *e)
{
	size_t room = MAX(POINTS_OF_ALL / MAX(s->n_processes, (size_t)1), (size_t)POINTS_OF_EACH), n = 0;
	_cleanup_free_ struct snap_process *processes = NULL;
	_cleanup_free_ struct snap_point *points = NULL;
	struct snapshot fewer = *s;

	for (size_t i = 0; i < s->n_processes; i++)
		n += s->processes[i].n_timeline;
	if (n <= POINTS_OF_ALL)
		return json__document(j, s, e);
	processes = malloc(s->n_processes * sizeof(*processes));
	points = malloc(n * sizeof(*points));
	if (!processes || !points)
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(processes, s->processes, s->n_processes * sizeof(*processes));
	n = 0;
	for (size_t i = 0; i < s->n_processes; i++) {
		processes[i].timeline = points + n;
		processes[i].n_timeline = thin_out(&s->processes[i], room, points + n);
		n += processes[i].n_timeline;
	}
	fewer.processes = processes;
	return json__document(j, &fewer, e);
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
	json__array(j, "metrics");	/* [name, unit] of those that are known */
	for (size_t i = 0; i < n_metrics; i++) {
		if (metrics[i].needs & ~s->known)
			continue;
		json__array(j, NULL);
		json__str(j, NULL, metrics[i].name);
		json__str(j, NULL, metrics[i].unit);
		json__array_end(j);
	}
	json__array_end(j);
}

static void words(struct json *j, const struct snapshot *s, const struct metric *chosen, const struct tellings *t)
{
	json__object(j, NULL);
	metric_table(j, s, chosen);
	json__str(j, "baseline_name", s->baseline_name);
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
	/* the number of the frame that a stack is named by, in the order of "sites" */
	json__array(j, "telling");
	for (size_t i = 0; i < s->n_sites; i++)
		json__u64(j, NULL, tellings__number(t, s, &s->sites[i]));
	json__array_end(j);
	json__line(j, 0);
	json__array(j, "telling_frees");	/* in the order of "free_sites" */
	for (size_t i = 0; s->recording.free_stacks && i < s->n_free_sites; i++)
		json__u64(j, NULL, tellings__number(t, s, &(struct snap_site){ .n_stack = s->free_sites[i].n_stack,
										    .stack = s->free_sites[i].stack }));
	json__array_end(j);
	json__object_end(j);
}

int html__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct json in_page = { .out = out, .in_page = true }, beside = in_page;
	int err;

	fputs(html_page_before_data, out);
	err = profile(&in_page, s, e);
	fputs("\n" NEXT_ELEMENT, out);
	words(&beside, s, o && o->metric ? o->metric : metric__preset(s->known), o ? o->report.tellings : NULL);
	fputc('\n', out);
	fputs(html_page_after_data, out);
	if (err)
		return err;
	return ferror(out) ? err_set(e, -EIO, "cannot write HTML") : 0;
}
