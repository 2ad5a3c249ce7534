// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the slots of a table. Open addressing, at most half full; what is removed
 * leaves no mark behind: those that it kept from their place move up.
 */
#include "util/hash.h"

#include <string.h>
#include <sys/auxv.h>

#include "util/util.h"

#define FIRST_ROOM 64

uint64_t hash__seed(void)
{
	static uint64_t value;

	if (!value) {
		const uint64_t *random = (const uint64_t *)getauxval(AT_RANDOM);

		value = (random ? *random : 0) | 1;
	}
	return value;
}

uint64_t hash__bytes(const void *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull ^ hash__seed();

	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)s)[i]) * 0x100000001b3ull;
	return hash__mix(h, 0);
}

uint64_t hash__string(const char *s)
{
	return hash__bytes(s, strlen(s));
}

static size_t home(const struct hash *h, uint64_t key)
{
	return hash__mix(key, 0) & (h->room - 1);
}

static size_t next(const struct hash *h, size_t i)
{
	return (i + 1) & (h->room - 1);
}

/* The slot of the key, or the free one where it would be. There is always a free one. */
static struct hash_slot *find(const struct hash *h, uint64_t key)
{
	size_t i = home(h, key);

	while (h->slots[i].value && h->slots[i].key != key)
		i = next(h, i);
	return &h->slots[i];
}

static struct hash_slot *find_free(const struct hash *h, uint64_t key)
{
	size_t i = home(h, key);

	while (h->slots[i].value)
		i = next(h, i);
	return &h->slots[i];
}

void *hash__get(const struct hash *h, uint64_t key)
{
	return h->room ? find(h, key)->value : NULL;
}

void *hash__find(const struct hash *h, uint64_t key, bool (*same)(const void *value, const void *want), const void *want)
{
	for (size_t i = h->room ? home(h, key) : 0; h->room && h->slots[i].value; i = next(h, i))
		if (h->slots[i].key == key && same(h->slots[i].value, want))
			return h->slots[i].value;
	return NULL;
}

static void make_room(struct hash *h)
{
	struct hash bigger = { .room = h->room ? h->room * 2 : FIRST_ROOM, .n = h->n };

	if (2 * (h->n + 1) <= h->room)
		return;
	bigger.slots = xcalloc(bigger.room, sizeof(*bigger.slots));
	for (size_t i = 0; i < h->room; i++)
		if (h->slots[i].value)
			*find_free(&bigger, h->slots[i].key) = h->slots[i];
	free(h->slots);
	*h = bigger;
}

void hash__put(struct hash *h, uint64_t key, void *value)
{
	struct hash_slot *s;

	make_room(h);
	s = find(h, key);
	h->n += !s->value;
	*s = (struct hash_slot){ key, value };
}

void hash__add(struct hash *h, uint64_t key, void *value)
{
	make_room(h);
	*find_free(h, key) = (struct hash_slot){ key, value };
	h->n++;
}

static void empty(struct hash *h, size_t hole)
{
	for (size_t i = next(h, hole); h->slots[i].value; i = next(h, i)) {
		size_t at = home(h, h->slots[i].key);

		/* may it move to the hole without being before its home? */
		if (((i - at) & (h->room - 1)) >= ((i - hole) & (h->room - 1))) {
			h->slots[hole] = h->slots[i];
			hole = i;
		}
	}
	h->slots[hole].value = NULL;
	h->n--;
}

void *hash__remove(struct hash *h, uint64_t key)
{
	struct hash_slot *s = h->room ? find(h, key) : NULL;
	void *value = s ? s->value : NULL;

	if (value)
		empty(h, s - h->slots);
	return value;
}

void hash__remove_value(struct hash *h, uint64_t key, const void *value)
{
	for (size_t i = h->room ? home(h, key) : 0; h->room && h->slots[i].value; i = next(h, i))
		if (h->slots[i].value == value) {
			empty(h, i);
			return;
		}
}

void hash__free(struct hash *h)
{
	for (size_t i = 0; i < h->room; i++)
		free(h->slots[i].value);
	hash__done(h);
}

void hash__done(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){};
}
