// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the parser of first screens: sentence and rows. */
#include "sentence.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 30
#define WORDS_MAX 200
#define ROWS_MAX 64
#define N_OF(v) (sizeof(v) / sizeof(*(v)))

/* How sentences begin; the first N_ALARMS are alarms. */
static const char *const openings[] = {
	"Leak: ", "Perhaps a leak: ", "Growing: ", "Grew before it ended: ",
	"Nothing grows", "The process freed all live memory", "Too early to tell", "Too short to tell", "No allocation was seen", "Too few samples", "Not clear whether", "Everything allocated", "Nothing was allocated", "Not freed at exit: ",
};
#define N_OPENINGS N_OF(openings)
#define N_ALARMS 4

const char *report_of(struct test *t, const char *file)
{
	struct mt m;
	int status = mt__run(t, &m, "report", file, NULL);

	must(t, !status, "report %s: %s", file, m.c.errs.s);
	return m.c.outs.s;
}

const char *sentence__find(const char *report)
{
	const char *first = NULL;
	char *line;

	for (const char *at = report; at && !first; at = strchr(at, '\n')) {
		at += *at == '\n';
		for (size_t i = 0; !first && i < N_OPENINGS; i++)
			first = strncmp(at, openings[i], strlen(openings[i])) ? NULL : at;
	}
	line = strdup(first ? first : "");
	for (char *at = line; at && (at = strchr(at, '\n'));)
		*at = ' ';
	return line ? line : "";
}

const char *sentence__about(const char *sentence)
{
	for (size_t i = 0; i < N_ALARMS; i++)
		if (!strncmp(sentence, openings[i], strlen(openings[i])))
			return sentence + strlen(openings[i]);
	return NULL;
}

bool sentence__is_all_clear(const char *sentence)
{
	return !strncmp(sentence, "Nothing grows", strlen("Nothing grows"));
}

void want_named(struct test *t, const char *sentence, const char *site)
{
	const char *whom = sentence__about(sentence), *after = whom ? whom + strlen(site) : NULL;

	/* "value_here (everyday.c:32) holds", or "value_here (everyday.c:32): none of its" */
	want(t, whom && !strncmp(whom, site, strlen(site)) && (*after == ' ' || *after == ':'),
	     "wanted %s, got: %.500s", site, sentence);
}

/* ---- rows */

/*
 *	    LIVE  BLOCKS  FREED  OLDEST    GROWTH/s  VERDICT  PROCESS  SITE
 *	13.4 MiB  13,919     0%   30.0s  +456.6 KiB  leak     demo     remember_visit  forgetful.c:27
 *
 * From the column of SITE on, a row is a name and, if that is known, its line.
 */
struct rows {
	char *text;			/* what they point into */
	size_t n;
	struct {
		const char *verdict;	/* to the end of the line */
		const char *site;	/* the same; with the process, where there is one */
		const char *name;	/* without */
	} v[ROWS_MAX];
};

static size_t column_of(const char *header, const char *title)
{
	const char *at = strstr(header, title);

	return at ? (size_t)(at - header) + 1 : 0;
}

static struct rows read_rows(struct test *t, const char *report)
{
	struct rows r = { .text = strdup(report) };
	size_t verdict = 0, process = 0, site = 0;
	char *save, *line;

	must(t, r.text != NULL, "no memory");
	for (line = strtok_r(r.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!site) {
			site = strchr(line, '(') ? 0 : column_of(line, " SITE");
			verdict = column_of(line, " VERDICT");
			process = column_of(line, " PROCESS");
			continue;
		}
		/* stacks and what follows begin at the margin */
		if (strlen(line) <= site || isalpha((unsigned char)*line))
			break;
		must(t, r.n < ROWS_MAX, "more than %d rows: %s", ROWS_MAX, report);
		r.v[r.n].verdict = verdict ? line + verdict : "";
		r.v[r.n].site = line + (process ? process : site);
		r.v[r.n++].name = line + site;
	}
	return r;
}

void want_rows_distinct(struct test *t, const char *report)
{
	struct rows r = read_rows(t, report);

	for (size_t i = 0; i < r.n; i++)
		for (size_t k = 0; k < i; k++)
			want(t, strcmp(r.v[i].site, r.v[k].site) != 0, "two rows are '%s':\n%s", r.v[i].site, report);
	free(r.text);
}

void want_one_row(struct test *t, const char *report, const char *function)
{
	static const char *const alarms[] = { "leak ", "suspect ", "growing " };
	struct rows r = read_rows(t, report);
	size_t n = 0, len = strlen(function);

	for (size_t i = 0; i < r.n; i++) {
		bool alarm = false;

		if (strncmp(r.v[i].name, function, len) || (r.v[i].name[len] && r.v[i].name[len] != ' '))
			continue;
		for (size_t k = 0; k < N_OF(alarms); k++)
			alarm |= !strncmp(r.v[i].verdict, alarms[k], strlen(alarms[k]));
		want(t, alarm, "its verdict, wanted an alarm, got '%s':\n%s", r.v[i].verdict, report);
		n++;
	}
	want(t, n == 1, "rows of %s, wanted 1, got %zu:\n%s", function, n, report);
	free(r.text);
}

void want_one_screen(struct test *t, const char *report)
{
	unsigned int lines = 0, words = 0;
	bool counted = false;

	for (const char *at = report; *at; at++) {
		lines += *at == '\n';
		/* "<" between the functions of a stack is none */
		words += isalnum((unsigned char)*at) && !counted;
		counted = !isspace((unsigned char)*at) && (counted || isalnum((unsigned char)*at));
	}
	want(t, lines <= LINES_MAX, "lines, wanted at most %u, got %u:\n%s", LINES_MAX, lines, report);
	want(t, words <= WORDS_MAX, "words, wanted at most %u, got %u:\n%s", WORDS_MAX, words, report);
	want_rows_distinct(t, report);
}
