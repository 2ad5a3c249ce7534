/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Between the files of the HTML report. Its data is one JSON object, made to be
 * small and to be read in one pass; docs/HTML.md describes it.
 */
#ifndef MT_HTML_PARTS_H
#define MT_HTML_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "export/json_writer.h"
#include "model/snapshot.h"
#include "util/ids.h"

/* Each string once: the others name it by its number. */
struct html_strings {
	struct string_ids ids;
	int err;	/* -ENOMEM: what was written since means nothing */
};

void html__counters(struct json *j, const char *key, const struct counters *c);
/* "places", "site_columns" and "sites". 0 or -errno. */
int html__stacks(struct json *j, const struct snapshot *s, struct html_strings *t);

#endif
