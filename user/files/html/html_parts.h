/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Between the files of the HTML report. Its data is one JSON object, made to be
 * small and to be read in one pass; docs/HTML.md describes it.
 */
#ifndef MT_HTML_PARTS_H
#define MT_HTML_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "files/json/json_writer.h"
#include "model/snapshot.h"
#include "util/ids.h"

/* Each string once: the others name it by its number. */
struct html_strings {
	struct string_ids ids;
	int err;	/* -ENOMEM: what was written since means nothing */
};

int64_t html__number(struct html_strings *t, const char *s);	/* -1 for NULL */
void html__bound(struct json *j, uint64_t below);	/* of a class; null: it has none */
/* As an array, in the order of "counters". */
void html__counters(struct json *j, const char *key, const struct counters *c);
void html__counter_table(struct json *j, unsigned int known);	/* "counters", and those that are "known" */
/* "tags" and "marks" */
void html__asked(struct json *j, const struct snapshot *s, struct html_strings *t);
void html__memory(struct json *j, const struct snap_memory *m);
/* One number: which of its frames a site is named by. */
void html__telling(struct json *j, const struct snapshot *s, const struct snap_site *site);
/* "free_sites" and "frees", if --free-stacks was asked for; row: of each site, in "sites" */
void html__frees(struct json *j, const struct snapshot *s, const uint32_t *row, struct html_strings *t);
/* "places", "site_columns", "sites" and html__frees(). 0 or -errno. */
int html__stacks(struct json *j, const struct snapshot *s, struct html_strings *t);

#endif
