/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Things numbered 0, 1, 2... in the order in which they first appear: strings, and keys of three numbers. */
#ifndef MT_IDS_H
#define MT_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_table {		/* the inside of both */
	uint32_t *slots;	/* number + 1, 0: free */
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

/* 0 and its number; -ENOMEM. NULL is the empty string. */
int string_ids__get(struct string_ids *s, const char *str, uint32_t *ret);
void string_ids__done(struct string_ids *s);

/* 0; ret_new, if wanted: this is its first appearance. */
int key_ids__get(struct key_ids *k, struct key key, uint32_t *ret, bool *ret_new);
void key_ids__done(struct key_ids *k);

#endif
