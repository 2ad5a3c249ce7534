/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --sample: the tables that bpf/sample.bpf.h works with. */
#ifndef MT_SAMPLER_H
#define MT_SAMPLER_H

#include <stdint.h>

#include "bpf/abi.h"

/* The unit that variances of bytes are summed up in: their squares stay below 2^35. */
uint64_t sampler__unit(uint64_t sample_bytes);
uint64_t sampler__calls_unit(uint64_t sample_bytes);	/* the same for those of calls, in weights */

/* 1/p of a class, with MT_CALLS_SHIFT fractional bits; 0: no size is of that class. */
uint64_t sampler__weight(uint32_t class, uint64_t sample_bytes);

/* log2(1 + i / MT_LOG_STEPS), with 16 fractional bits. */
uint64_t sampler__log(uint32_t i);

/* 1/p of a block that was recorded. */
double sampler__weight_of(uint64_t size, uint64_t sample_bytes);

/* From the programs' fixed point to whole numbers. */
uint64_t sampler__calls(uint64_t n);
uint64_t sampler__bytes(uint64_t n);
void sampler__round_counts(struct mt_counts *c);
void sampler__round_thread(struct mt_thread_counts *c);

/* Fills the maps of the two, by their fds; 0 or -errno. */
int sampler__fill(int weights_fd, int logs_fd, uint64_t sample_bytes);

#endif
