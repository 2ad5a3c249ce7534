// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>
#include <string.h>

#include "util/hash.h"
#include "util/ids.h"

Test(hash, holds_what_was_put)
{
	struct hash h = {};
	int one, two;

	cr_expect_null(hash__get(&h, 0));
	cr_expect_null(hash__remove(&h, 0));
	hash__put(&h, 0, &one);
	hash__put(&h, UINT64_MAX, &two);
	cr_expect_eq(hash__get(&h, 0), &one);
	cr_expect_eq(hash__get(&h, UINT64_MAX), &two);
	hash__put(&h, 0, &two);
	cr_expect_eq(hash__get(&h, 0), &two);
	cr_expect_eq(h.n, 2);
	cr_expect_eq(hash__remove(&h, 0), &two);
	cr_expect_null(hash__get(&h, 0));
	cr_expect_eq(hash__get(&h, UINT64_MAX), &two);
	cr_expect_eq(h.n, 1);
	hash__done(&h);
	hash__done(&h);
}

/* Against an array: keys that collide, in and out at random, 64 to 4,096 of them. */
Test(hash, agrees_with_an_array)
{
	static int values[4096];
	static unsigned char there[4096];
	struct hash h = {};
	uint64_t random = 1;
	size_t n = 0;

	memset(there, 0, sizeof(there));
	for (int step = 0; step < 200000; step++) {
		size_t i;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		i = (random >> 33) % 4096;
		if (there[i] && random >> 63) {
			cr_assert_eq(hash__remove(&h, i << 12), &values[i]);
			there[i] = 0;
			n--;
		} else if (!there[i]) {
			hash__put(&h, i << 12, &values[i]);
			there[i] = 1;
			n++;
		}
		cr_assert_eq(h.n, n);
	}
	for (size_t i = 0; i < 4096; i++)
		cr_assert_eq(hash__get(&h, i << 12), there[i] ? &values[i] : NULL);
	hash__done(&h);
}

static bool is_it(const void *value, const void *want)
{
	return value == want;
}

/* Things with the same hash stay apart, also when the table grows and when others of them leave. */
Test(hash, keeps_apart_what_has_one_key)
{
	static int values[1000];
	struct hash h = {};

	cr_expect_null(hash__find(&h, 7, is_it, values));
	hash__remove_value(&h, 7, values);
	for (size_t i = 0; i < 1000; i++)
		hash__add(&h, i % 3, &values[i]);
	cr_expect_eq(h.n, 1000);
	for (size_t i = 0; i < 1000; i += 2)
		hash__remove_value(&h, i % 3, &values[i]);
	cr_expect_eq(h.n, 500);
	for (size_t i = 0; i < 1000; i++)
		cr_expect_eq(hash__find(&h, i % 3, is_it, &values[i]), i % 2 ? &values[i] : NULL, "%zu", i);
	hash__done(&h);
}

static bool same_row(const void *want, uint32_t number)
{
	return number == *(const uint32_t *)want;
}

Test(ids, find_what_appeared)
{
	struct id_table rows = {};
	struct key_ids k = {};
	uint32_t id = 9;
	bool is_new;

	cr_expect_not(key_ids__find(&k, (struct key){ 1, 2, 3 }, &id));
	for (uint32_t i = 0; i < 2000; i++) {
		key_ids__get(&k, (struct key){ i % 1000, 2, 3 }, &id, &is_new);
		cr_expect(id == i % 1000 && is_new == (i < 1000));
	}
	cr_expect(key_ids__find(&k, (struct key){ 999, 2, 3 }, &id) && id == 999);
	cr_expect_not(key_ids__find(&k, (struct key){ 999, 3, 2 }, &id));
	key_ids__done(&k);

	/* all with one hash */
	id_table__init(&rows, 100);
	for (uint32_t i = 0; i < 100; i++)
		*id_table__find(&rows, 5, same_row, &i) = i + 1;
	for (uint32_t i = 0; i < 101; i++)
		cr_expect_eq(*id_table__find(&rows, 5, same_row, &i), i < 100 ? i + 1 : 0);
	id_table__done(&rows);
}
