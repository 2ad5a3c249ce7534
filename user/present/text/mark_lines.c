// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a report's header tells of functions that began, ended or marked the trace:
 *
 *	began  when serve was called
 *	ended  when done was called
 *	marks  handle 1,204 times, flush 3 times, 12 snapshots of 1,207 calls
 */
#include <string.h>

#include "present/figures.h"
#include "present/frames.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define NAMED 3

/* The last of a name has the number of them all. */
static bool is_last(const struct snapshot *s, size_t i)
{
	for (size_t k = i + 1; k < s->n_marks; k++)
		if (!strcmp(s->marks[k].name, s->marks[i].name))
			return false;
	return true;
}

/* Faster than they can be told one by one, the last that is listed is not the last that was counted. */
static bool all_told(const struct snapshot *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_marks; i++)
		n += is_last(s, i) ? s->marks[i].number : 0;
	return n == s->n_marks_seen;
}

static void marks_line(struct report *r)
{
	const struct snapshot *s = r->s;
	char a[FMT_MAX], b[FMT_MAX];
	size_t told = 0;
	bool exact;

	if (!s->n_marks_seen)
		return;
	exact = all_told(s);
	para__begin(&r->para, "marks", LABEL_WIDTH);
	for (size_t i = 0; i < s->n_marks && told < NAMED; i++)
		if (is_last(s, i)) {
			_cleanup_free_ char *name = name__shorten(s->marks[i].name, r->width / 2);

			if (exact)
				para__item(&r->para, "%s %s time%s", name ? name : "?", fmt_exact(a, s->marks[i].number), plural(s->marks[i].number));
			else
				para__item(&r->para, "%s", name ? name : "?");
			told++;
		}
	if (s->n_marks_whole == s->n_marks_seen)
		para__item(&r->para, "a snapshot of each");
	else
		para__item(&r->para, "%s snapshot%s of %s call%s", fmt_exact(a, s->n_marks_whole), plural(s->n_marks_whole),
			   fmt_exact(b, s->n_marks_seen), plural(s->n_marks_seen));
	para__end(&r->para);
}

void report__spot_lines(struct report *r)
{
	const struct {
		const char *label, *name, *says;
	} lines[] = {
		{ "began", r->s->waiting_for, "not yet: %s has not been called, nothing was recorded" },
		{ "began", r->s->started_on, "when %s was called" },
		{ "ended", r->s->stopped_on, "when %s was called" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!lines[i].name)
			continue;
		para__begin(&r->para, lines[i].label, LABEL_WIDTH);
		para__item(&r->para, lines[i].says, lines[i].name);
		para__end(&r->para);
	}
	marks_line(r);
}
