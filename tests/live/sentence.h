/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What tests of the first screen share: its sentence, and what holds for each report of one process. */
#ifndef LT_SENTENCE_H
#define LT_SENTENCE_H

#include "lt.h"

/* What people see of a trace that was written to a file. */
const char *report_of(struct test *t, const char *file);
/* From its first word on, with line breaks as spaces; "" if there is none. Never freed. */
const char *sentence__find(const char *report);
/* What an alarm is about; NULL: the sentence is none. */
const char *sentence__about(const char *sentence);
bool sentence__is_all_clear(const char *sentence);

/* An alarm that begins with this site: "value_here (everyday.c:32)". */
void want_named(struct test *t, const char *sentence, const char *site);

/* No two rows of one process, function and line. */
void want_rows_distinct(struct test *t, const char *report);
/* One row of this function, with an alarm as its verdict. */
void want_one_row(struct test *t, const char *report, const char *function);
/* At most 30 lines and 200 words, and rows that are distinct. */
void want_one_screen(struct test *t, const char *report);

/*
 * The report is that of tests/golden/first-screen/NAME.txt, except figures. guilty: of a program
 * that others built, the function that the sentence has to name; what else that program holds is
 * left out. NULL: of a fixture. MT_GOLDEN=renew writes the file; MT_SRC is the repository's root,
 * if tests run elsewhere.
 */
void want_golden(struct test *t, const char *name, const char *report, const char *guilty);

#endif
