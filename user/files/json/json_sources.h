/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* "sources" in JSON, both ways: lines of source files that a profile carries (--embed-source). */
#ifndef MT_JSON_SOURCES_H
#define MT_JSON_SOURCES_H

#include "files/json/json_fields.h"
#include "files/json/json_writer.h"

void json__sources(struct json *j, const struct snapshot *s);
int reader__sources(struct reader *r, json_t *v);

#endif
