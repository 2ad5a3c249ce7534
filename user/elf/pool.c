// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the pool. Nothing is ever removed from it. */
#include "elf/pool.h"

#include <stdlib.h>
#include <string.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* glibc's macros align by adding to a null pointer, which sanitizers object to. */
#define ALIGNS_FROM_NULL __attribute__((no_sanitize("pointer-overflow")))

void pool__init(struct pool *p)
{
	*p = (struct pool){ 0 };
	obstack_init(&p->arena);
}

void pool__done(struct pool *p)
{
	hash__done(&p->strings);
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
	while ((have = hash__get(&p->strings, hash))) {
		if (!strcmp(have, s))
			return have;
		hash++;
	}
	have = obstack_copy0(&p->arena, s, len);
	/* without memory for that it is merely not found again */
	hash__put(&p->strings, hash, (void *)have);
	return have;
}
