/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Things numbered 0, 1, 2... in the order in which they first appear: strings, keys of three numbers, rows of a table. */
#ifndef MT_IDS_H
#define MT_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_table {
	uint32_t *slots;	/* owned; number + 1, 0: free */
	size_t n_slots;		/* a power of two, or 0 */
};

struct string_ids {
	const char **v;		/* not owned: they must outlive this */
	size_t n, room;
	struct id_table table;
};

struct key {
	uint64_t a, b, c;
};

struct key_ids {
	struct key *v;
	size_t n, room;
	struct id_table table;
};

/* Its number. NULL is the empty string. */
void string_ids__get(struct string_ids *s, const char *str, uint32_t *ret);
void string_ids__done(struct string_ids *s);

/* ret_new, if wanted: this is its first appearance. */
void key_ids__get(struct key_ids *k, struct key key, uint32_t *ret, bool *ret_new);
bool key_ids__find(const struct key_ids *k, struct key key, uint32_t *ret);	/* false: it has not appeared */
void key_ids__done(struct key_ids *k);

/* What the caller has in rows of his own: up to n of them. What the table had is forgotten. */
void id_table__init(struct id_table *t, size_t n);
void id_table__done(struct id_table *t);
/* The slot with the number of the row that `same` says is equal, or the free one where that belongs. */
static inline uint32_t *id_table__find(const struct id_table *t, uint64_t hash,
				       bool (*same)(const void *want, uint32_t number), const void *want)
{
	size_t at = hash & (t->n_slots - 1);

	while (t->slots[at] && !same(want, t->slots[at] - 1))
		at = (at + 1) & (t->n_slots - 1);
	return &t->slots[at];
}

#endif
