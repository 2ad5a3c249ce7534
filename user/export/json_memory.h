/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* "memory" of a process in JSON profiles, both ways. */
#ifndef MT_JSON_MEMORY_H
#define MT_JSON_MEMORY_H

#include "export/json_fields.h"
#include "export/json_writer.h"

void json__memory(struct json *j, const struct snap_memory *m);	/* null if it is not known */
int reader__memory(struct reader *r, json_t *process, struct snap_memory *to);

#endif
