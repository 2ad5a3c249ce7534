// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns numbers for things that appear again and again. No struct hash, but a
 * table of four bytes a slot: an export that numbers fifty thousand names must
 * not need more memory for that than for the file it writes.
 *
 * What always holds: v[number] is the thing, at most half of the slots are used.
 */
#include "util/ids.h"

#include <string.h>

#include "util/hash.h"
#include "util/util.h"

#define FIRST_SLOTS 256

void id_table__init(struct id_table *t, size_t n)
{
	size_t n_slots = 16;

	id_table__done(t);
	while (n_slots < n * 2)
		n_slots *= 2;
	t->slots = xcalloc(n_slots, sizeof(*t->slots));
	t->n_slots = n_slots;
}

void id_table__done(struct id_table *t)
{
	free(t->slots);
	*t = (struct id_table){};
}

/* Room for one more than n. True: it is a bigger table now, and the caller puts all in again. */
static bool make_room(struct id_table *t, size_t n)
{
	if (2 * (n + 1) <= t->n_slots)
		return false;
	if (n >= UINT32_MAX / 2)
		xmalloc__end_of(SIZE_MAX);
	id_table__init(t, t->n_slots ? t->n_slots : FIRST_SLOTS / 2);
	return true;
}

static bool is_none(const void *want, uint32_t number)
{
	return false;
}

static void put(struct id_table *t, uint64_t hash, uint32_t number)
{
	*id_table__find(t, hash, is_none, NULL) = number + 1;
}

/* ---- strings */

struct string_want {
	const struct string_ids *in;
	const char *str;
};

static bool same_string(const void *arg, uint32_t number)
{
	const struct string_want *want = arg;
	const char *there = want->in->v[number];

	return there == want->str || !strcmp(there, want->str);
}

void string_ids__get(struct string_ids *s, const char *str, uint32_t *ret)
{
	struct string_want want = { s, str ? str : "" };
	uint64_t hash = hash__string(want.str);
	uint32_t *slot;

	if (make_room(&s->table, s->n))
		for (size_t i = 0; i < s->n; i++)
			put(&s->table, hash__string(s->v[i]), (uint32_t)i);
	slot = id_table__find(&s->table, hash, same_string, &want);
	if (!*slot) {
		*vec_push(s) = want.str;
		*slot = (uint32_t)s->n;
	}
	*ret = *slot - 1;
}

void string_ids__done(struct string_ids *s)
{
	id_table__done(&s->table);
	vec_done(s);
}

/* ---- keys */

static uint64_t hash_key(const struct key *k)
{
	return hash__mix(k->a, hash__mix(k->b, hash__mix(k->c, hash__seed())));
}

struct key_want {
	const struct key_ids *in;
	const struct key *key;
};

static bool same_key(const void *arg, uint32_t number)
{
	const struct key_want *want = arg;
	const struct key *there = &want->in->v[number];

	return there->a == want->key->a && there->b == want->key->b && there->c == want->key->c;
}

bool key_ids__find(const struct key_ids *k, struct key key, uint32_t *ret)
{
	struct key_want want = { k, &key };
	uint32_t number = k->n ? *id_table__find(&k->table, hash_key(&key), same_key, &want) : 0;

	if (number)
		*ret = number - 1;
	return number;
}

void key_ids__get(struct key_ids *k, struct key key, uint32_t *ret, bool *ret_new)
{
	struct key_want want = { k, &key };
	uint32_t *slot;

	if (make_room(&k->table, k->n))
		for (size_t i = 0; i < k->n; i++)
			put(&k->table, hash_key(&k->v[i]), (uint32_t)i);
	slot = id_table__find(&k->table, hash_key(&key), same_key, &want);
	if (ret_new)
		*ret_new = !*slot;
	if (!*slot) {
		*vec_push(k) = key;
		*slot = (uint32_t)k->n;
	}
	*ret = *slot - 1;
}

void key_ids__done(struct key_ids *k)
{
	id_table__done(&k->table);
	vec_done(k);
}
