// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the classes of ages. What always holds: they are ordered and leave nothing
 * out; a range of ages in a snapshot begins and ends at borders of classes, so that
 * ranges of several sites add up, and there are few of them.
 */
#include "model/ages.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define US 1000ull
#define MS (1000 * US)
#define S (1000 * MS)
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)

/* below[i] ends class i; the last class has no end */
static const uint64_t below[AGES_N_CLASSES - 1] = {
	1 * US,	  2 * US,   5 * US,   10 * US,	20 * US,  50 * US,  100 * US, 200 * US,	 500 * US, 1 * MS,
	2 * MS,	  3 * MS,   5 * MS,   7 * MS,	10 * MS,  15 * MS,  20 * MS,  30 * MS,	 50 * MS,  70 * MS,
	100 * MS, 150 * MS, 200 * MS, 300 * MS, 500 * MS, 700 * MS, 1 * S,    1500 * MS, 2 * S,	   3 * S,
	5 * S,	  7 * S,    10 * S,   15 * S,	20 * S,	  30 * S,   45 * S,   1 * M,	 90 * S,   2 * M,
	3 * M,	  5 * M,    7 * M,    10 * M,	15 * M,	  20 * M,   30 * M,   45 * M,	 1 * H,	   90 * M,
	2 * H,	  3 * H,    4 * H,    6 * H,	8 * H,	  10 * H,   12 * H,   16 * H,	 20 * H,   1 * D,
	36 * H,	  2 * D,    3 * D,    4 * D,	5 * D,	  7 * D,    10 * D,   14 * D,	 20 * D,   30 * D,
	45 * D,	  60 * D,   90 * D,   120 * D,	180 * D,  270 * D,  365 * D,
};

/*
 * By number of bits: the class of the least age that has so many. A pass over the block table needs
 * it for each block.
 */
static const uint8_t first_of_bits[65] = {
	0,  0,	0,  0,	0,  0,	0,  0,	0,  0,	0,  1,	2,  2,	3,  4,	5,  6,	7,  8,	9,  10,
	11, 12, 14, 16, 18, 19, 21, 23, 25, 27, 29, 30, 32, 34, 36, 38, 40, 41, 43, 45, 47, 49,
	51, 53, 55, 58, 61, 63, 65, 67, 69, 71, 73, 75, 77, 77, 77, 77, 77, 77, 77, 77, 77,
};

uint8_t age__class(uint64_t age_ns)
{
	uint8_t class = first_of_bits[age_ns ? 64 - __builtin_clzll(age_ns) : 0];

	while (class < AGES_N_CLASSES - 1 && age_ns >= below[class])
		class++;
	return class;
}

uint64_t age__from_ns(uint8_t class)
{
	return class ? below[class - 1] : 0;
}

uint64_t age__below_ns(uint8_t class)
{
	return class < AGES_N_CLASSES - 1 ? below[class] : UINT64_MAX;
}

/* ---- lists of ranges */

COMPARATOR(by_age, struct snap_age,
	   ORDER(a->below_ns, b->below_ns) ?: ORDER(a->from_ns, b->from_ns))

/* Ordered, each once. */
static size_t tidy(struct snap_age *v, size_t n)
{
	size_t to = 0;

	qsort(v, n, sizeof(*v), by_age);
	for (size_t i = 0; i < n; i++) {
		if (to && !by_age(&v[to - 1], &v[i])) {
			v[to - 1].blocks += v[i].blocks;
			v[to - 1].bytes += v[i].bytes;
		} else {
			v[to++] = v[i];
		}
	}
	return to;
}

static uint64_t scaled(uint64_t n, uint64_t of, uint64_t in_all)
{
	return in_all == UINT64_MAX ? n : of ? (uint64_t)((unsigned __int128)n * in_all / of) : 0;
}

void ages__build(struct snapshot *s, const struct cut_age *v, uint64_t blocks_in_all, uint64_t bytes_in_all,
		 struct snap_site *to)
{
	uint64_t blocks = 0, bytes = 0;
	struct snap_age *ages;
	size_t n = 0;

	for (const struct cut_age *a = v; a; a = a->next) {
		blocks += a->blocks;
		bytes += a->bytes;
		n++;
	}
	if (!n)
		return;
	to->ages = ages = snapshot__alloc(s, n, sizeof(*ages));
	for (const struct cut_age *a = v; a; a = a->next)
		*ages++ = (struct snap_age){
			.from_ns = age__from_ns(a->first),
			.below_ns = age__below_ns(a->last),
			.blocks = scaled(a->blocks, blocks, blocks_in_all),
			.bytes = scaled(a->bytes, bytes, bytes_in_all),
		};
	to->n_ages = tidy((struct snap_age *)to->ages, n);
}

void ages__build_range(struct snapshot *s, uint64_t youngest_ns, uint64_t oldest_ns, uint64_t blocks,
		       uint64_t bytes, struct snap_site *to)
{
	const struct cut_age age = { .blocks = blocks, .bytes = bytes, .first = age__class(MIN(youngest_ns, oldest_ns)),
				     .last = age__class(oldest_ns) };

	if (blocks)
		ages__build(s, &age, UINT64_MAX, UINT64_MAX, to);
}

void ages__add_up(struct snapshot *s, const struct snap_site *const *v, size_t n, struct snap_site *to)
{
	_cleanup_free_ struct snap_age *all = NULL;
	size_t n_all = 0;

	for (size_t i = 0; i < n; i++)
		n_all += v[i]->n_ages;
	all = xcalloc(n_all + 1, sizeof(*all));
	n_all = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->n_ages; k++)
			all[n_all++] = v[i]->ages[k];
	to->n_ages = tidy(all, n_all);
	to->ages = snapshot__copy(s, all, to->n_ages, sizeof(*all));
}
