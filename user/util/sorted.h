/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Putting in order, and searching in what is. */
#ifndef MT_SORTED_H
#define MT_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Millions of records, each of which begins with a uint64_t, in that one's order: in time that grows with their number alone. */
void radix__sort(void *v, size_t n, size_t size);

/*
 * How many of n elements a condition holds for, where it holds for none behind one that it does not hold for. So it is also the
 * index of the first that it does not hold for, and n if there is none. The condition speaks of one element by the name given:
 *
 *	size_t n_before = sorted__count(b, c->blocks.v, c->blocks.n, b->addr <= addr);
 *
 * It is met about log2(n) times, and the loop is the caller's own: no call, no void pointer.
 */
#define sorted__count(one, v, n, condition)							\
	({											\
		const __typeof__((v)[0]) *const sorted_all = (v);				\
		size_t sorted_low = 0, sorted_high = (n);					\
												\
		while (sorted_low < sorted_high) {						\
			size_t sorted_mid = sorted_low + (sorted_high - sorted_low) / 2;	\
			const __typeof__((v)[0]) *const one = sorted_all + sorted_mid;		\
												\
			if (condition)								\
				sorted_low = sorted_mid + 1;					\
			else									\
				sorted_high = sorted_mid;					\
		}										\
		sorted_low;									\
	})

/*
 * A step ahead in one list for a step in another, both in order: the element whose key is the wanted one, from *at on; NULL if there is none.
 * The key speaks of one element by the name given.
 */
#define sorted__meet(one, v, n, at, key, wanted)						\
	({											\
		const __typeof__((v)[0]) *one = (v) + *(at), *const sorted_end = (v) + (n);	\
		const uint64_t sorted_wanted = (wanted);					\
												\
		while (one < sorted_end && (key) < sorted_wanted)				\
			one++;									\
		*(at) = (size_t)(one - (v));							\
		one < sorted_end && (key) == sorted_wanted ? one : NULL;			\
	})

/* Of ranges that are in order and disjoint, and say their start and end: the one that an address is in; NULL if none is. */
#define sorted__range_of(v, n, addr)									\
	({												\
		__typeof__(&(v)[0]) sorted_ranges = (v);						\
		size_t sorted_n = (n);									\
		uint64_t sorted_addr = (addr);								\
		size_t sorted_at = sorted__count(r_, sorted_ranges, sorted_n, r_->end <= sorted_addr);	\
													\
		sorted_at < sorted_n && sorted_ranges[sorted_at].start <= sorted_addr ?			\
			&sorted_ranges[sorted_at] : NULL;						\
	})

#endif
