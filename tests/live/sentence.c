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

/* How sentences begin; the first N_ALARMS are alarms. */
static const char *const openings[] = {
	"Leak: ", "Perhaps a leak: ", "Growing: ", "Grew before it ended: ",
	"Nothing grows", "The process freed all live memory", "Too early to tell", "Too short to tell", "No allocation was seen", "Too few samples", "Not clear whether", "Everything allocated", "Nothing was allocated", "Not freed at exit: ",
};
#define N_OPENINGS (sizeof(openings) / sizeof(*openings))
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

/*
 *	    LIVE  BLOCKS  FREED  OLDEST    GROWTH/s  VERDICT  SITE
 *	13.4 MiB  13,919     0%   30.0s  +456.6 KiB  leak     remember_visit  forgetful.c:27
 *
 * From the column of SITE on, a row is a name and, if that is known, its line.
 */
static void want_rows_distinct(struct test *t, const char *report)
{
	char *text = strdup(report), *save, *line, *row[ROWS_MAX];
	size_t at = 0, n = 0;

	must(t, text != NULL, "no memory");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *title = strstr(line, " SITE");

		if (!at && title && !strncmp(title + 1, "SITE", 4) && !strchr(line, '(')) {
			at = (size_t)(title + 1 - line);
			continue;
		}
		if (!at || n == ROWS_MAX)
			continue;
		/* stacks and what follows begin at the margin */
		if (strlen(line) <= at || isalpha((unsigned char)*line))
			break;
		row[n++] = line + at;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			want(t, strcmp(row[i], row[k]) != 0, "two rows are '%s':\n%s", row[i], report);
	free(text);
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
