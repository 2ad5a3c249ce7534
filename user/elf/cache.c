// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the two containers of the symbol cache. Nothing is ever removed from
 * either; a map is at most three quarters full, so that a search ends.
 *
 * glibc's hsearch cannot grow and tsearch costs an allocation and a pointer
 * chase per step, hence an open-addressed table.
 */
#include "elf/cache.h"

#include <stdlib.h>
#include <string.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* glibc's macros align by adding to a null pointer, which sanitizers object to. */
#define ALIGNS_FROM_NULL __attribute__((no_sanitize("pointer-overflow")))

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15ull;
	x ^= x >> 29;
	return x;
}

static struct u64map_slot *find(struct u64map_slot *slots, size_t room, uint64_t key)
{
	size_t i = mix(key) & (room - 1);

	while (slots[i].val && slots[i].key != key)
		i = (i + 1) & (room - 1);
	return &slots[i];
}

const void *u64map__get(const struct u64map *m, uint64_t key)
{
	return m->room ? find(m->slots, m->room, key)->val : NULL;
}

static int grow(struct u64map *m)
{
	size_t room = m->room ? m->room * 2 : 64;
	struct u64map_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < m->room; i++)
		if (m->slots[i].val)
			*find(slots, room, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->room = room;
	return 0;
}

void u64map__put(struct u64map *m, uint64_t key, const void *val)
{
	struct u64map_slot *slot;

	if (m->n >= m->room / 4 * 3 && grow(m))
		return;
	slot = find(m->slots, m->room, key);
	m->n += !slot->val;
	*slot = (struct u64map_slot){ key, val };
}

void u64map__done(struct u64map *m)
{
	free(m->slots);
	*m = (struct u64map){ 0 };
}

void pool__init(struct pool *p)
{
	*p = (struct pool){ 0 };
	obstack_init(&p->arena);
}

void pool__done(struct pool *p)
{
	u64map__done(&p->strings);
	obstack_free(&p->arena, NULL);
}

ALIGNS_FROM_NULL
void *pool__alloc(struct pool *p, size_t size)
{
	return obstack_alloc(&p->arena, size);
}

ALIGNS_FROM_NULL
const char *pool__string(struct pool *p, const char *s)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	const char *have;
	size_t len = 0;

	if (!s)
		return NULL;
	for (; s[len]; len++)
		hash = (hash ^ (unsigned char)s[len]) * 0x100000001b3ull;
	/* The map compares hashes only: another string with this hash moves to the next number. */
	while ((have = u64map__get(&p->strings, hash))) {
		if (!strcmp(have, s))
			return have;
		hash++;
	}
	have = obstack_copy0(&p->arena, s, len);
	u64map__put(&p->strings, hash, have);
	return have;
}
