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

/* Each string once: the others name it by its number. Memory: eight bytes a string, and half as much again for the index. */
struct strings {
	const char **v;		/* not owned */
	size_t n, room;
	uint32_t *slots;	/* number + 1, by hash; 0: free */
	size_t n_slots;		/* a power of two */
	int err;		/* -ENOMEM: what was written since means nothing */
};

/* -1 for NULL. */
int64_t strings__number(struct strings *t, const char *s);
void strings__done(struct strings *t);

void html__counters(struct json *j, const char *key, const struct counters *c);
/* "places", "site_columns" and "sites". 0 or -errno. */
int html__stacks(struct json *j, const struct snapshot *s, struct strings *t);

#endif
