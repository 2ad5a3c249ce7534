/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* "memory" and "blind" of a process in JSON profiles, both ways. */
#ifndef MT_JSON_MEMORY_H
#define MT_JSON_MEMORY_H

#include "export/json_fields.h"
#include "export/json_writer.h"

void json__memory(struct json *j, const struct snap_memory *m);	/* null if it is not known */
int reader__memory(struct reader *r, json_t *process, struct snap_memory *to);
void json__blind(struct json *j, const struct snap_blind *b);	/* null if calls were seen */
int reader__blind(struct reader *r, json_t *process, struct snap_blind *to);

#endif
