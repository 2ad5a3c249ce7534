/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Marks in the JSON profile. */
#ifndef MT_JSON_MARKS_H
#define MT_JSON_MARKS_H

#include "export/json_fields.h"
#include "export/json_writer.h"

void json__marks(struct json *j, const struct snapshot *s);
/* "marks"; then, when the processes are there, whose they are. */
int reader__marks(struct reader *r, json_t *v);
void reader__settle_marks(struct reader *r);

#endif
