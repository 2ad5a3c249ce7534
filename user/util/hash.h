/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A table from numbers to pointers that belong to the caller. A zeroed one is empty and ready. */
#ifndef MT_HASH_H
#define MT_HASH_H

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
/* value is not NULL; one that the key had before is replaced. -ENOMEM: nothing changed. */
int hash__put(struct hash *h, uint64_t key, void *value);
void *hash__remove(struct hash *h, uint64_t key);	/* what it had, or NULL */
void hash__done(struct hash *h);

/* For keys of several words. */
uint64_t hash__mix(uint64_t a, uint64_t b);

#endif
