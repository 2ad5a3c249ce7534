/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What glibc_tcache.c (which blocks are caches) and glibc_cache.c (which blocks are in them) share. */
#ifndef MT_GLIBC_CACHE_H
#define MT_GLIBC_CACHE_H

#include "heap/glibc_parts.h"

#define SMALL_BINS 64		/* of a tcache: one for each size, from CHUNK_MIN on */
#define TCACHE_BYTES_MAX 1024
#define TRIED_AGAIN_MAX 4096	/* tcaches change; as many blocks that look like one are none */

void addresses__sort(struct addresses *a);
void addresses__unite(struct addresses *a);	/* each once, by address */
bool addresses__has(const struct addresses *a, uint64_t addr);	/* of sorted ones */

size_t tcache__heads_off(const struct tcache_shape *s);
size_t tcache__bytes(const struct tcache_shape *s);
uint64_t tcache__head(const char *bytes, const struct tcache_shape *s, unsigned int bin);
bool bin__takes(unsigned int bin, uint64_t chunk_bytes);
bool taking__has_block(const struct taking *k, uint64_t addr);	/* could one be here? */
bool taking__has_key(const struct taking *k, uint64_t tcache, uint64_t word);
const struct tcache_shape *taking__shape_at(struct taking *k, uint64_t addr);	/* by the size of a block; NULL: it is none */
int taking__find_tcaches(struct taking *k, struct err *e);	/* among those that the walk has noted */
int taking__remember_tcaches(struct taking *k, struct err *e);

#endif
