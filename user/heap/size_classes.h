/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Blocks by size: each usable size up to 64 KiB is a class of its own, larger ones go by powers of two. */
#ifndef MT_SIZE_CLASSES_H
#define MT_SIZE_CLASSES_H

#include <stdint.h>

/* An allocator's sizes are 16 bytes apart. */
#define SIZE_CLASS_STEP 16
#define SIZE_CLASS_EXACT (65536 / SIZE_CLASS_STEP)
#define N_SIZE_CLASSES (SIZE_CLASS_EXACT + 48)

static inline uint32_t size_class__of(uint64_t usable)
{
	uint32_t i = 0;

	if (usable < SIZE_CLASS_EXACT * (uint64_t)SIZE_CLASS_STEP)
		return (uint32_t)(usable / SIZE_CLASS_STEP);
	for (usable >>= 16; usable >>= 1; i++)
		;
	return SIZE_CLASS_EXACT + (i < 47 ? i : 47);
}

/* Where the range of a class begins, and ends; *ret_below 0: it is a single size, which its first block tells. */
static inline uint64_t size_class__from(uint32_t class, uint64_t *ret_below)
{
	*ret_below = 0;
	if (class < SIZE_CLASS_EXACT)
		return class * (uint64_t)SIZE_CLASS_STEP;
	*ret_below = 65536ull << (class - SIZE_CLASS_EXACT + 1);
	return 65536ull << (class - SIZE_CLASS_EXACT);
}

#endif
