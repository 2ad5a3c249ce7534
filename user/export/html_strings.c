// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the string table of the HTML report: open addressing, never more than half full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/html_parts.h"

#define FIRST_SLOTS 1024

static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;	/* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	/* its low bits alone are used, and are its weakest */
	return h ^ h >> 32;
}

/* The slot that holds s, or the one where it belongs. */
static uint32_t *slot_of(const struct strings *t, const char *s)
{
	for (size_t i = hash(s);; i++) {
		uint32_t *slot = &t->slots[i & (t->n_slots - 1)];

		if (!*slot || !strcmp(t->v[*slot - 1], s))
			return slot;
	}
}

static int grow(struct strings *t)
{
	struct strings bigger = *t;

	if (t->n == t->room) {
		size_t room = t->room ? t->room + t->room / 2 : FIRST_SLOTS / 2;
		const char **v = reallocarray(t->v, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = bigger.v = v;
		t->room = bigger.room = room;
	}
	if (2 * (t->n + 1) <= t->n_slots)
		return 0;
	bigger.n_slots = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS;
	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		*slot_of(&bigger, t->v[i]) = i + 1;
	free(t->slots);
	*t = bigger;
	return 0;
}

int64_t strings__number(struct strings *t, const char *s)
{
	uint32_t *slot;

	if (!s)
		return -1;
	if (t->err)
		return 0;
	t->err = grow(t);
	if (t->err)
		return 0;
	slot = slot_of(t, s);
	if (!*slot) {
		t->v[t->n++] = s;
		*slot = t->n;
	}
	return *slot - 1;
}

void strings__done(struct strings *t)
{
	free(t->v);
	free(t->slots);
	*t = (struct strings){};
}
