/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A table from numbers to pointers that belong to the caller. A zeroed one is empty and ready. What has no number as its
 * key has the hash of it, and others may have the same: then hash__find and hash__add.
 */
#ifndef MT_HASH_H
#define MT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key;
	void *value;		/* NULL: free */
};

struct hash {
	struct hash_slot *slots;
	size_t n, room;
};

void *hash__get(const struct hash *h, uint64_t key);	/* NULL: not there */
/* value is not NULL; one that the key had before is replaced. */
void hash__put(struct hash *h, uint64_t key, void *value);
void *hash__remove(struct hash *h, uint64_t key);	/* what it had, or NULL */
void hash__done(struct hash *h);
void hash__free(struct hash *h);	/* with its values, each by free() */

/* Of the values of a key, the one that `same` says is wanted; NULL: none. */
void *hash__find(const struct hash *h, uint64_t key, bool (*same)(const void *value, const void *want), const void *want);
void hash__add(struct hash *h, uint64_t key, void *value);	/* beside those that the key has */
void hash__remove_value(struct hash *h, uint64_t key, const void *value);

/* For keys of several words. */
static inline uint64_t hash__mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull ^ b;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Strings are chosen by others, who must not know which of them collide: no two runs have the same hashes. */
uint64_t hash__seed(void);
uint64_t hash__string(const char *s);
uint64_t hash__bytes(const void *s, size_t n);

#endif
