// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/sorted.h"
#include "util/util.h"

struct record {
	uint64_t key, was;
	uint32_t more[3];
};

static void check(size_t n, uint64_t mask)
{
	struct record *v = calloc(n + 1, sizeof(*v));
	uint64_t random = 42;

	for (size_t i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		v[i] = (struct record){ .key = (random ^ random >> 29) & mask, .was = i, .more = { (uint32_t)i } };
	}
	radix__sort(v, n, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(v[i].was, v[i].more[0]);
		if (!i)
			continue;
		cr_assert(v[i - 1].key <= v[i].key, "%zu of %zu, mask %lx", i, n, mask);
		/* what is alike keeps its order */
		if (v[i - 1].key == v[i].key)
			cr_assert(v[i - 1].was < v[i].was);
	}
	free(v);
}

Test(radix, sorts)
{
	static const uint64_t masks[] = { 0, 1, 0xf0, 0xffff, 0xfffffffffff0, 0x7ff0000000000000, UINT64_MAX };
	static const size_t sizes[] = { 0, 1, 2, 63, 64, 65, 1000, 30000 };

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++)
		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++)
			check(sizes[k], masks[i]);
}
