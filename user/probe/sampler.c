// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: what the sampling programs look up instead of computing it. See bpf/sample.bpf.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>

#include "bpf/abi.h"
#include "probe/sampler.h"

uint64_t sampler__unit(uint64_t sample_bytes)
{
	return sample_bytes >> 16 ? sample_bytes >> 16 : 1;
}

uint64_t sampler__calls_unit(uint64_t sample_bytes)
{
	return sample_bytes >> 4 ? sample_bytes >> 4 : 1;
}

uint64_t sampler__weight(uint32_t class, uint64_t sample_bytes)
{
	uint32_t shift = class >> MT_WEIGHT_BITS, mantissa = class & ((1u << MT_WEIGHT_BITS) - 1);
	double rounded;

	/* a size that was rounded up to the next power of two has the number of the class above */
	if (shift && !mantissa) {
		shift--;
		mantissa = 1u << MT_WEIGHT_BITS;
	}
	rounded = ldexp(mantissa, (int)shift);
	if (!mantissa || rounded >= ldexp(1, 41))
		return 0;
	/* expm1: of a number near 0 the difference to 1 would be rounded away */
	return (uint64_t)llround(ldexp(-1 / expm1(-rounded / (double)sample_bytes), MT_CALLS_SHIFT));
}

uint64_t sampler__log(uint32_t i)
{
	return (uint64_t)llround(ldexp(log2(1 + i / (double)MT_LOG_STEPS), 16));
}

double sampler__weight_of(uint64_t size, uint64_t sample_bytes)
{
	uint32_t bits, shift;

	if (size >= sample_bytes)
		return 1;
	if (size < MT_SAMPLE_LEAST)
		size = MT_SAMPLE_LEAST;
	bits = 64 - (uint32_t)__builtin_clzll(size);
	shift = bits > MT_WEIGHT_BITS ? bits - MT_WEIGHT_BITS : 0;
	return ldexp((double)sampler__weight((shift << MT_WEIGHT_BITS) +
						     (uint32_t)((size + (1ull << shift) - 1) >> shift),
					     sample_bytes),
		     -MT_CALLS_SHIFT);
}

uint64_t sampler__calls(uint64_t n)
{
	return (n + (1ull << (MT_CALLS_SHIFT - 1))) >> MT_CALLS_SHIFT;
}

uint64_t sampler__bytes(uint64_t n)
{
	return (n + (1ull << (MT_BYTES_SHIFT - 1))) >> MT_BYTES_SHIFT;
}

/* lifetime_ns is a sum over whole weights already */
void sampler__round_counts(struct mt_counts *c)
{
	c->alloc_calls = sampler__calls(c->alloc_calls);
	c->alloc_bytes = sampler__bytes(c->alloc_bytes);
	c->free_calls = sampler__calls(c->free_calls);
	c->free_bytes = sampler__bytes(c->free_bytes);
	c->temp_calls = sampler__calls(c->temp_calls);
	c->realloc_calls = sampler__calls(c->realloc_calls);
	c->failed_calls = sampler__calls(c->failed_calls);
}

void sampler__round_thread(struct mt_thread_counts *c)
{
	c->alloc_calls = sampler__calls(c->alloc_calls);
	c->alloc_bytes = sampler__bytes(c->alloc_bytes);
	c->free_calls = sampler__calls(c->free_calls);
	c->free_bytes = sampler__bytes(c->free_bytes);
	c->realloc_calls = sampler__calls(c->realloc_calls);
	c->temp_calls = sampler__calls(c->temp_calls);
	c->failed_calls = sampler__calls(c->failed_calls);
}

int sampler__fill(int weights_fd, int logs_fd, uint64_t sample_bytes)
{
	for (uint32_t i = 0; i < MT_N_WEIGHTS; i++) {
		uint64_t w = sampler__weight(i, sample_bytes);

		if (bpf_map_update_elem(weights_fd, &i, &w, BPF_ANY))
			return -errno;
	}
	for (uint32_t i = 0; i <= MT_LOG_STEPS; i++) {
		uint64_t l = sampler__log(i);

		if (bpf_map_update_elem(logs_fd, &i, &l, BPF_ANY))
			return -errno;
	}
	return 0;
}
