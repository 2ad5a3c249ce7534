// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns numbers for things that appear again and again. Open addressing in a
 * table of four bytes a slot: an export that numbers fifty thousand names must
 * not need more memory for that than for the file it writes.
 *
 * What always holds: v[number] is the thing, at most half of the slots are used.
 */
#include "util/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "util/util.h"

#define FIRST_SLOTS 256

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

/* Names are chosen by others, who must not know which of them collide. */
static uint64_t seed(void)
{
	static uint64_t value;

	if (!value) {
		const uint64_t *random = (const uint64_t *)getauxval(AT_RANDOM);

		value = (random ? *random : 0) | 1;
	}
	return value;
}

static uint64_t hash_string(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull ^ seed();

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return mix(h);
}

static uint64_t hash_key(const struct key *k)
{
	return mix(k->a + mix(k->b + mix(k->c + seed())));
}

static void put(struct id_table *t, uint64_t hash, uint32_t id)
{
	size_t at = hash & (t->n_slots - 1);

	while (t->slots[at])
		at = (at + 1) & (t->n_slots - 1);
	t->slots[at] = id + 1;
}

/* True: there is room for one more. Otherwise the table was emptied and doubled, and the caller puts all in again. */
static int has_room(struct id_table *t, size_t n, bool *ret)
{
	size_t n_slots = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS;
	uint32_t *slots;

	*ret = 2 * (n + 1) <= t->n_slots;
	if (*ret)
		return 0;
	if (n >= UINT32_MAX / 2)
		return -EOVERFLOW;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
	return 0;
}

int string_ids__get(struct string_ids *s, const char *str, uint32_t *ret)
{
	uint64_t hash = hash_string(str ? str : "");
	const char **v;
	bool room;
	int err;

	if (!str)
		str = "";
	for (size_t at = hash & (s->table.n_slots - 1); s->table.n_slots && s->table.slots[at];
	     at = (at + 1) & (s->table.n_slots - 1)) {
		const char *there = s->v[s->table.slots[at] - 1];

		if (there == str || !strcmp(there, str)) {
			*ret = s->table.slots[at] - 1;
			return 0;
		}
	}
	err = has_room(&s->table, s->n, &room);
	if (err)
		return err;
	for (size_t i = 0; !room && i < s->n; i++)
		put(&s->table, hash_string(s->v[i]), (uint32_t)i);
	v = vec_push(s);
	if (!v)
		return -ENOMEM;
	*v = str;
	*ret = (uint32_t)s->n - 1;
	put(&s->table, hash, *ret);
	return 0;
}

void string_ids__done(struct string_ids *s)
{
	free(s->table.slots);
	s->table = (struct id_table){};
	vec_done(s);
}

int key_ids__get(struct key_ids *k, struct key key, uint32_t *ret, bool *ret_new)
{
	uint64_t hash = hash_key(&key);
	struct key *v;
	bool room;
	int err;

	if (ret_new)
		*ret_new = false;
	for (size_t at = hash & (k->table.n_slots - 1); k->table.n_slots && k->table.slots[at];
	     at = (at + 1) & (k->table.n_slots - 1)) {
		const struct key *there = &k->v[k->table.slots[at] - 1];

		if (there->a == key.a && there->b == key.b && there->c == key.c) {
			*ret = k->table.slots[at] - 1;
			return 0;
		}
	}
	err = has_room(&k->table, k->n, &room);
	if (err)
		return err;
	for (size_t i = 0; !room && i < k->n; i++)
		put(&k->table, hash_key(&k->v[i]), (uint32_t)i);
	v = vec_push(k);
	if (!v)
		return -ENOMEM;
	*v = key;
	*ret = (uint32_t)k->n - 1;
	put(&k->table, hash, *ret);
	if (ret_new)
		*ret_new = true;
	return 0;
}

void key_ids__done(struct key_ids *k)
{
	free(k->table.slots);
	k->table = (struct id_table){};
	vec_done(k);
}
