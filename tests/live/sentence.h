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

/* At most 30 lines and 200 words, and no two rows of one function and line. */
void want_one_screen(struct test *t, const char *report);

#endif
