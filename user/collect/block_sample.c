// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a sample of the live blocks. Whether a block is in it depends on its address and
 * nothing else: when there is no room one bit more of the hash is required, and
 * those go that have it. So each of them stands for the same number of blocks.
 */
#include "collect/block_sample.h"

#include <string.h>

#include "bpf/hash.h"

static uint64_t hash_of(uint32_t proc, uint64_t addr)
{
	return mt_mix(addr ^ (uint64_t)proc << 48);
}

void block_sample__done(struct block_sample *s)
{
	vec_done(&s->kind[0].blocks);
	vec_done(&s->kind[1].blocks);
	vec_done(&s->all);
}

void block_sample__reset(struct block_sample *s)
{
	for (int i = 0; i < 2; i++) {
		s->kind[i].blocks.n = 0;
		s->kind[i].mask = 0;
	}
	s->all.n = 0;
}

static void thin_out(struct block_sample *s, bool large)
{
	size_t to = 0;

	s->kind[large].mask = s->kind[large].mask << 1 | 1;
	for (size_t i = 0; i < s->kind[large].blocks.n; i++) {
		const struct cut_block *b = &s->kind[large].blocks.v[i];

		if (!(hash_of(b->proc, b->addr) & s->kind[large].mask))
			s->kind[large].blocks.v[to++] = *b;
	}
	s->kind[large].blocks.n = to;
}

void block_sample__add(struct block_sample *s, uint32_t proc, uint64_t addr, uint64_t size)
{
	bool large = size >= BLOCK_SAMPLE_LARGE;

	if (hash_of(proc, addr) & s->kind[large].mask)
		return;
	if (s->kind[large].blocks.n == BLOCK_SAMPLE_MAX) {
		thin_out(s, large);
		if (hash_of(proc, addr) & s->kind[large].mask)
			return;
	}
	*vec_push(&s->kind[large].blocks) = (struct cut_block){ .addr = addr, .size = size, .proc = proc };
}

COMPARATOR(by_place, struct cut_block, ORDER(a->proc, b->proc) ?: ORDER(a->addr, b->addr))

void block_sample__all(struct block_sample *s, const struct cut_block **ret, size_t *ret_n)
{
	s->all.n = 0;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < s->kind[k].blocks.n; i++) {
			struct cut_block *b = vec_push(&s->all);

			*b = s->kind[k].blocks.v[i];
			b->stands_for = (uint32_t)MIN(s->kind[k].mask + 1, (uint64_t)UINT32_MAX);
		}
	if (s->all.n)
		qsort(s->all.v, s->all.n, sizeof(*s->all.v), by_place);
	*ret = s->all.v;
	*ret_n = s->all.n;
}
