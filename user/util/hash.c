// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the slots of a table. Open addressing, at most half full; what is removed
 * leaves no mark behind: those that it kept from their place move up.
 */
#include <errno.h>
#include <stdlib.h>

#include "util/hash.h"

#define FIRST_ROOM 64

uint64_t hash__mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull ^ b;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

static size_t home(const struct hash *h, uint64_t key)
{
	return hash__mix(key, 0) & (h->room - 1);
}

/* The slot of the key, or the free one where it would be. There is always a free one. */
static struct hash_slot *find(const struct hash *h, uint64_t key)
{
	size_t i = home(h, key);

	while (h->slots[i].value && h->slots[i].key != key)
		i = (i + 1) & (h->room - 1);
	return &h->slots[i];
}

void *hash__get(const struct hash *h, uint64_t key)
{
	return h->room ? find(h, key)->value : NULL;
}

static int grow(struct hash *h)
{
	struct hash bigger = { .room = h->room ? h->room * 2 : FIRST_ROOM };

	bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < h->room; i++)
		if (h->slots[i].value)
			*find(&bigger, h->slots[i].key) = h->slots[i];
	bigger.n = h->n;
	free(h->slots);
	*h = bigger;
	return 0;
}

int hash__put(struct hash *h, uint64_t key, void *value)
{
	struct hash_slot *s;

	if (2 * (h->n + 1) > h->room && grow(h))
		return -ENOMEM;
	s = find(h, key);
	h->n += !s->value;
	*s = (struct hash_slot){ key, value };
	return 0;
}

void *hash__remove(struct hash *h, uint64_t key)
{
	struct hash_slot *s = h->room ? find(h, key) : NULL;
	void *value = s ? s->value : NULL;
	size_t hole, i;

	if (!value)
		return NULL;
	hole = s - h->slots;
	for (i = (hole + 1) & (h->room - 1); h->slots[i].value; i = (i + 1) & (h->room - 1)) {
		size_t at = home(h, h->slots[i].key);

		/* may it move to the hole without being before its home? */
		if (((i - at) & (h->room - 1)) >= ((i - hole) & (h->room - 1))) {
			h->slots[hole] = h->slots[i];
			hole = i;
		}
	}
	h->slots[hole].value = NULL;
	h->n--;
	return value;
}

void hash__done(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){};
}
