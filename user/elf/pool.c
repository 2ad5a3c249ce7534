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

static bool is_string(const void *value, const void *want)
{
	return !strcmp(value, want);
}

ALIGNS_FROM_NULL
const char *pool__string(struct pool *p, const char *s)
{
	const char *have;
	uint64_t hash;

	if (!s)
		return NULL;
	hash = hash__string(s);
	have = hash__find(&p->strings, hash, is_string, s);
	if (have)
		return have;
	have = obstack_copy0(&p->arena, s, strlen(s));
	hash__add(&p->strings, hash, (void *)have);
	return have;
}
