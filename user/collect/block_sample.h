/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Some of the live blocks, with their addresses: all of them if they are few, else
 * each with the same chance. Large ones are few and hold much: they are apart.
 */
#ifndef MT_BLOCK_SAMPLE_H
#define MT_BLOCK_SAMPLE_H

#include "model/cut.h"
#include "util/util.h"

#define BLOCK_SAMPLE_MAX 65536	/* of each kind */
#define BLOCK_SAMPLE_LARGE 65536	/* bytes */

struct block_sample {
	struct {
		struct vec(struct cut_block) blocks;
		uint64_t mask;	/* those whose hash has none of these bits are kept */
	} kind[2];
	struct vec(struct cut_block) all;	/* what block_sample__all() gave */
};

void block_sample__done(struct block_sample *s);
void block_sample__reset(struct block_sample *s);
void block_sample__add(struct block_sample *s, uint32_t proc, uint64_t addr, uint64_t size);
/* Both kinds, by process and address; they hold until the next reset. */
void block_sample__all(struct block_sample *s, const struct cut_block **ret, size_t *ret_n);

#endif
