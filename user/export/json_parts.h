/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Parts of the JSON profile, for json.c alone. */
#ifndef MT_JSON_PARTS_H
#define MT_JSON_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/json_writer.h"
#include "model/snapshot.h"

struct place_texts {
	const struct snapshot *s;
	bool *ambiguous;	/* by module: others have its path */
	char **v;		/* by place; NULL: not made yet */
};

int place_texts__init(struct place_texts *t, const struct snapshot *s);	/* -ENOMEM */
void place_texts__done(struct place_texts *t);

/* The last keys of an object that has a stack, and its end. -ENOMEM */
int json__stack(struct json *j, uint8_t end, const uint32_t *places, uint32_t n, struct place_texts *texts);
/* "free_sites" and "frees". -ENOMEM */
int json__frees(struct json *j, const struct snapshot *s, struct place_texts *texts);

#endif
