/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Tags in the JSON profile: "tags", and "tag" of a site. For json.c and json_read*.c alone. */
#ifndef MT_JSON_TAGS_H
#define MT_JSON_TAGS_H

#include "files/json/json_fields.h"
#include "files/json/json_writer.h"
#include "model/snapshot.h"

/* Nothing where nothing was tagged. */
int json__tags(struct json *j, const struct snapshot *s);
void json__tag_of_site(struct json *j, const struct snapshot *s, const struct snap_site *site);

int reader__tags(struct reader *r, json_t *v);
/* Tags must have been read. */
int reader__tag_of_site(struct reader *r, json_t *from, struct snap_site *to);

#endif
