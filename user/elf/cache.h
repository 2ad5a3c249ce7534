/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the symbol cache is made of: a map from numbers to pointers, and a pool of strings. */
#ifndef MT_CACHE_H
#define MT_CACHE_H

#include <obstack.h>
#include <stddef.h>
#include <stdint.h>

struct u64map {			/* all zero: empty */
	struct u64map_slot {
		uint64_t key;
		const void *val;	/* NULL: free */
	} *slots;
	size_t n, room;		/* room is 0 or a power of two */
};

const void *u64map__get(const struct u64map *m, uint64_t key);	/* NULL: none */
/* val is not NULL, key is not in m yet; without memory the entry is left out: m is a cache. */
void u64map__put(struct u64map *m, uint64_t key, const void *val);
void u64map__done(struct u64map *m);

struct pool {			/* equal strings are one string; freed all at once */
	struct obstack arena;
	struct u64map strings;
};

void pool__init(struct pool *p);
void pool__done(struct pool *p);
void *pool__alloc(struct pool *p, size_t size);		/* never NULL */
const char *pool__string(struct pool *p, const char *s);	/* NULL stays NULL */

#endif
