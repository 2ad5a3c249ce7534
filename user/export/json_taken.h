/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* "snapshots" in the JSON profile: those that were taken before. For json.c and json_read.c alone. */
#ifndef MT_JSON_TAKEN_H
#define MT_JSON_TAKEN_H

#include "export/json_fields.h"
#include "export/json_writer.h"
#include "model/snapshot.h"

/* Nothing where none was taken. */
void json__taken(struct json *j, const struct snapshot *s);
int reader__taken(struct reader *r, json_t *v);

#endif
