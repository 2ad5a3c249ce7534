// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the tables of what a user named: functions whose allocations belong together
 * (--tag), calls of functions (--mark), conditions (--when):
 *
 *	CALLED  ALLOCS   /CALL     BYTES     /CALL      KEPT     /CALL TAG
 *	 1,000   3,000     3.0   1.2 MiB   1.2 KiB  96.0 KiB      98 B handle
 *
 *	2 marks: handle 2, the last 800ms ago
 *	    AGO       #   SINCE  ALLOCS     BYTES     LIVE Δ      LIVE MARK
 *	  800ms       2    1.2s   1,500 600.0 KiB  +48.0 KiB   2.1 MiB handle
 *
 *	  FIRED    LAST CONDITION            WHAT IT SAID
 *	      2    4.1s rss>2G               nginx (1432) has 2.1 GiB resident
 *
 * What always holds: tags and "(none)" add up to the sites in sight, once all names are
 * there; a mark's figures are those since the mark before it that has figures, too.
 */
#include <string.h>

#include "present/top/top_parts.h"

#define NOTED_MARKS 16	/* names in the line above them */

enum { ID_TAG, ID_MARK, ID_WHEN, ID_TAG_FIGURES };

/* ---- tags */

void top__tag(struct top *t)
{
	if (t->tagged || !t->o.tagger || !tagger__any(t->o.tagger))
		return;
	free(t->tags);
	t->tags = NULL;
	snapshot__tag(t->shown, t->o.tagger);
	t->tagged = true;
}

bool top__has_tag(const struct top *t, const struct snap_site *s)
{
	const char *name = s->tag && s->tag <= t->shown->n_tags ? t->shown->tags[s->tag - 1].name : "(none)";

	return !*t->only_tag || !strncmp(name, t->only_tag, sizeof(t->only_tag) - 1);
}

/* What its figures are remembered by: those of one process are not to be compared with those of another, or of all. */
static uint64_t figures_id(const struct top *t, const struct tag_row *r)
{
	return top__id_of(ID_TAG_FIGURES, r->name, (uint64_t)t->tags_scope << 2 | (r->tag ? 1u + r->tag->thread : 0));
}

static void tag_rows(struct top *t)
{
	struct snapshot *s = t->shown;
	_cleanup_free_ struct tag_sum *sums = xcalloc(s->n_tags + 1, sizeof(*sums));
	_cleanup_free_ int64_t *since = xcalloc(s->n_tags + 1, sizeof(*since));

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (!top__in_scope(t, site) || site->tag > s->n_tags)
			continue;
		tag_sum__add(&sums[site->tag], site);
		since[site->tag] += site->since_baseline_bytes;
	}
	free(t->tags);
	t->tags = tag_rows__make(s, sums, metric__preset(s->known));
	t->tags_scope = t->scope;
	for (size_t i = 0; i <= s->n_tags; i++) {
		struct tag_row *row = &t->tags[i];
		const struct seen *before = seen__find(&t->before, figures_id(t, row));
		/* the cursor stays with a tag, whosever its figures are */
		struct top_row r = { .id = top__id_of(ID_TAG, row->name, row->tag ? 1 + row->tag->thread : 0), .of = { .s = s, .tag = row } };

		/* calls are counted over all processes */
		if (t->scope && s->n_processes > 1)
			row->entered = UINT64_MAX;
		if ((!row->tag && !row->sum.n_sites) || (*t->filter && !top__text_matches(t, row->name)))
			continue;
		top__set_rates(t, &r, &row->sum.c, since[i], before, !before);
		top__add_row(t, &r);
	}
}

void top__remember_tags(const struct top *t, struct seen_table *to)
{
	for (size_t i = 0; t->tags && i <= t->shown->n_tags; i++)
		seen__add(to, &(struct seen){ .id = figures_id(t, &t->tags[i]), .c = t->tags[i].sum.c });
}

/* ---- marks */

static void mark_rows(struct top *t)
{
	const struct snapshot *s = t->shown;
	const struct snap_mark *before = NULL;

	for (size_t i = 0; i < s->n_marks; i++) {
		const struct snap_mark *m = &s->marks[i];
		const struct snap_process *p = &s->processes[m->process];
		struct top_row r = { .id = top__id_of(ID_MARK, m->name, m->number),
				     .of = { .s = s, .process = p, .mark = m, .mark_before = m->whole ? before : NULL } };

		if (m->whole)
			before = m;
		if ((t->scope && p->id != t->scope) || (*t->filter && !top__text_matches(t, m->name) && !top__text_matches(t, p->comm)))
			continue;
		top__add_row(t, &r);
	}
}

/* "1,207 marks, 3 without figures: handle 1,204, the last 800ms ago; put 3, the last 2.1s ago" */
void top__mark_note(const struct top *t, char *buf, size_t size)
{
	const struct snapshot *s = t->shown;
	const struct snap_mark *last[NOTED_MARKS];
	size_t n = 0;
	int at;

	/* the newest of each name has the number of all of them */
	for (size_t i = s->n_marks; i-- > 0;) {
		size_t k = 0;

		while (k < n && strcmp(last[k]->name, s->marks[i].name))
			k++;
		if (k == n && n < NOTED_MARKS)
			last[n++] = &s->marks[i];
	}
	at = snprintf(buf, size, "%s mark%s", EXACT(s->n_marks_seen), plural(s->n_marks_seen));
	/* they came before a snapshot was read to its end: another mark's, or one of those that the screen is made of */
	if (s->n_marks_seen > s->n_marks_whole)
		at += snprintf(buf + at, size - (size_t)at, ", %s without figures", EXACT(s->n_marks_seen - s->n_marks_whole));
	for (size_t i = 0; i < n && at < (int)size; i++)
		at += snprintf(buf + at, size - (size_t)at, "%s %s %s, the last %s ago", i ? ";" : ":", last[i]->name, EXACT(last[i]->number),
			       DURATION(s->duration_ns - MIN(last[i]->t_ns, s->duration_ns)));
	if (reading__mark_words(s) && at < (int)size)
		snprintf(buf + at, size - (size_t)at, "; %s", reading__mark_words(s));
}

/* ---- conditions */

static void when_rows(struct top *t)
{
	const struct snapshot *s = t->shown;

	for (size_t i = 0; i < s->n_whens; i++) {
		struct top_row r = { .id = top__id_of(ID_WHEN, s->whens[i].text, i), .of = { .s = s, .when = &s->whens[i] } };

		if (!*t->filter || top__text_matches(t, r.of.when->text) || top__text_matches(t, r.of.when->why))
			top__add_row(t, &r);
	}
}

/* ---- rows */

void top__asked_rows(struct top *t, const struct view *v)
{
	if (v->rows == ROWS_TAGS)
		tag_rows(t);
	else if (v->rows == ROWS_MARKS)
		mark_rows(t);
	else if (v->rows == ROWS_WHENS)
		when_rows(t);
}
