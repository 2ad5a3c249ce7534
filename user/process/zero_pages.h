/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The kernel's pages of zeros, which stand for memory that was read and never written. */
#ifndef MT_ZERO_PAGES_H
#define MT_ZERO_PAGES_H

#include <stdint.h>

/* Numbers of page frames; 0: not known. */
struct zero_pages {
	uint64_t page;
	uint64_t huge, n_huge;	/* the first of so many */
};

/* Learnt the first time. */
const struct zero_pages *zero_pages__get(void);

/* Is this word of pagemap a page that is there, and the process's own? One whose number is not known is. */
static inline uint64_t zero_pages__is_memory(const struct zero_pages *z, uint64_t word)
{
	uint64_t pfn = word & ((1ull << 55) - 1);

	return word >> 63 & !(pfn && (pfn == z->page || pfn - z->huge < z->n_huge));
}

#endif
