/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* "probes" in JSON, both ways. */
#ifndef MT_JSON_PROBES_H
#define MT_JSON_PROBES_H

#include "files/json/json_fields.h"
#include "files/json/json_writer.h"

void json__probe(struct json *j, const struct snapshot *s, const struct snap_probe *p);	/* one of them */
int reader__probes(struct reader *r, json_t *v);

#endif
