/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A pool of strings, for what is read of files. */
#ifndef MT_POOL_H
#define MT_POOL_H

#include <obstack.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

struct pool {			/* equal strings are one string; freed all at once */
	struct obstack arena;
	struct hash strings;	/* by the hash of each */
};

void pool__init(struct pool *p);
void pool__done(struct pool *p);
void *pool__alloc(struct pool *p, size_t size);		/* never NULL */
const char *pool__string(struct pool *p, const char *s);	/* NULL stays NULL */

#endif
