// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Passes over a block table made by hand: at once, in parts, and what a part of a pass may say of ages. */
#include <criterion/criterion.h>
#include <string.h>

#include "collect/passes.h"
#include "util/util.h"

#define N_BUCKETS 1300		/* two slices of 512 and a part of one */
#define N_STEPS 4		/* three slices, and the end */
#define N_SITES 40
#define NOW 1000000ull

static struct mt_bucket buckets[N_BUCKETS];
static struct mt_thread threads[3];
static struct seen ledger[N_SITES];
static const struct tables tables = {
	.buckets = buckets, .n_buckets = N_BUCKETS, .n_sites = N_SITES, .threads = threads, .n_threads = ARRAY_SIZE(threads), .overflow_fd = -1,
	.born_unit_ns = 1,
};

static uint32_t random_number(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 20;
}

static void put(size_t bucket, int way, uint32_t site, uint64_t size, uint64_t born_ns)
{
	buckets[bucket].way[way] = (struct mt_block){ (bucket * MT_WAYS + way + 1) << 16 | 1, MT_VAL(size, 7, site), born_ns };
}

static void note(uint32_t site, uint64_t size, uint64_t born_ns, bool older)
{
	struct seen *l = &ledger[site];

	l->blocks++;
	l->bytes += size;
	if (!l->oldest_born_ns || born_ns < l->oldest_born_ns)
		l->oldest_born_ns = born_ns;
	l->older_blocks += older;
	l->older_bytes += older ? size : 0;
}

/* Two of three entries are taken; a block is older if it was born at 600,000 or before. */
static void fill(void)
{
	for (size_t i = 0; i < N_BUCKETS; i++)
		for (int k = 0; k < MT_WAYS; k++) {
			uint32_t site = 1 + random_number() % (N_SITES - 2);
			uint64_t size = random_number() % 5000, born_ns = 1 + random_number() % (NOW - 1);

			if (random_number() % 3 == 0)
				continue;
			put(i, k, site, size, born_ns);
			note(site, size, born_ns, born_ns <= 600000);
		}
	/* a block that a realloc has in its hands; a thread that is in none, and one that has ended */
	threads[0] = (struct mt_thread){ .tid = 1, .sp = 1, .old_site = 5, .old_size = 77, .old_born = 600000 };
	threads[1] = (struct mt_thread){ .tid = 2, .old_site = 5, .old_size = 1000, .old_born = 1 };
	threads[2] = (struct mt_thread){ .sp = 1, .old_site = 5, .old_size = 1000, .old_born = 1 };
	note(5, 77, 600000, true);
}

static void expect_ledger(const struct seen *got, bool older)
{
	for (size_t i = 1; i < N_SITES; i++) {
		cr_expect_eq(got[i].blocks, ledger[i].blocks, "site %zu: %u blocks", i, got[i].blocks);
		cr_expect_eq(got[i].bytes, ledger[i].bytes, "site %zu", i);
		cr_expect_eq(got[i].oldest_born_ns, ledger[i].oldest_born_ns, "site %zu", i);
		if (!older)
			continue;
		cr_expect_eq(got[i].older_blocks, ledger[i].older_blocks, "site %zu: %u older", i, got[i].older_blocks);
		cr_expect_eq(got[i].older_bytes, ledger[i].older_bytes, "site %zu", i);
	}
}

Test(scan, a_pass_finds_what_is_there)
{
	struct scan s;

	fill();
	scan__init(&s, &tables);
	scan__all(&s, NOW, NOW - 600000);
	expect_ledger(s.last, true);
	scan__all(&s, NOW, NOW - 600000);
	expect_ledger(s.last, true);
	scan__done(&s);
}

/* The same blocks, by age: as many as there are of each site, and those of the older half in the classes behind the border. */
Test(scan, a_pass_counts_ages)
{
	struct age_counts ages;
	struct scan s;

	fill();
	scan__init(&s, &tables);
	age_counts__init(&ages, N_SITES);
	age_counts__reset(&ages);
	s.ages = &ages;
	/* 500 µs is a border */
	scan__all(&s, NOW, 500000);
	age_counts__make_rows(&ages, 0);
	for (uint32_t i = 1; i < N_SITES; i++) {
		uint64_t blocks = 0, bytes = 0, older_blocks = 0, older_bytes = 0;

		for (struct cut_age *a = age_counts__rows(&ages, i, NULL); a; a = a->next) {
			blocks += a->blocks;
			bytes += a->bytes;
			older_blocks += age__from_ns(a->first) >= 500000 ? a->blocks : 0;
			older_bytes += age__from_ns(a->first) >= 500000 ? a->bytes : 0;
		}
		cr_expect_eq(blocks, ledger[i].blocks, "site %u", i);
		cr_expect_eq(bytes, ledger[i].bytes, "site %u", i);
		cr_expect_eq(older_blocks, s.last[i].older_blocks, "site %u", i);
		cr_expect_eq(older_bytes, s.last[i].older_bytes, "site %u", i);
	}
	age_counts__done(&ages);
	scan__done(&s);
}

Test(scan, in_parts_it_finds_the_same)
{
	struct scan s;

	fill();
	scan__init(&s, &tables);
	for (int pass = 1; pass <= 3; pass++) {
		for (int i = 0; i < N_STEPS; i++) {
			cr_expect_eq(s.last_began_ns, pass == 1 ? 0 : NOW + 10 * (pass - 1), "pass %d step %d", pass, i);
			scan__some(&s, NOW + 10 * pass + i, 0);
		}
		cr_expect_eq(s.last_began_ns, NOW + 10 * pass, "it began with its first step, and ended with its last");
		expect_ledger(s.last, false);
	}
	scan__some(&s, NOW, UINT64_MAX / 2);
	cr_expect_eq(s.last_began_ns, NOW, "a large budget takes it to the end");
	expect_ledger(s.last, false);
	scan__done(&s);
}

Test(scan, a_whole_pass_in_the_middle_of_another)
{
	struct scan s;

	fill();
	scan__init(&s, &tables);
	scan__some(&s, NOW - 5, 0);
	scan__all(&s, NOW, NOW - 600000);
	expect_ledger(s.last, true);
	cr_expect_eq(s.last_began_ns, NOW);
	for (int i = 0; i < N_STEPS; i++)
		scan__some(&s, NOW + 1, 0);
	expect_ledger(s.last, false);
	cr_expect_eq(s.last_began_ns, NOW + 1);
	scan__done(&s);
}

Test(scan, entries_that_are_no_blocks)
{
	struct scan s;

	memset(buckets, 0, sizeof(buckets));
	memset(threads, 0, sizeof(threads));
	put(0, 0, 1, 10, 100);
	put(0, 1, 1, 10, 90);
	buckets[0].way[1].key = MT_KEY_CLAIMED;	/* on its way */
	put(0, 2, 1, 10, 80);
	buckets[0].way[2].key = 0;	/* gone: the rest of the entry stays */
	put(N_BUCKETS - 1, MT_WAYS - 1, N_SITES - 1, 3, 70);
	put(1, 0, N_SITES, 10, 60);	/* of no site */
	put(1, 1, MT_SITE_MASK, 10, 60);
	scan__init(&s, &tables);
	scan__all(&s, NOW, 0);
	cr_expect_eq(s.last[1].blocks, 1);
	cr_expect_eq(s.last[1].oldest_born_ns, 100);
	cr_expect_eq(s.last[N_SITES - 1].blocks, 1);
	cr_expect_eq(s.last[N_SITES - 1].bytes, 3);
	for (size_t i = 2; i < N_SITES - 1; i++)
		cr_expect_eq(s.last[i].blocks, 0);
	scan__done(&s);
}

static void pass(struct scan *s, uint64_t now_ns)
{
	scan__some(s, now_ns, UINT64_MAX / 2);
}

Test(scan, the_oldest_is_never_said_to_be_younger_than_it_is)
{
	struct scan s;
	bool known;

	memset(buckets, 0, sizeof(buckets));
	memset(threads, 0, sizeof(threads));
	scan__init(&s, &tables);
	cr_expect_eq(scan__oldest_born_ns(&s, 1, 50, &known), 50, "nothing was looked at: as old as the site");

	put(0, 0, 1, 10, 200);
	put(N_BUCKETS - 1, 0, 1, 10, 150);
	pass(&s, 300);
	cr_expect_eq(scan__oldest_born_ns(&s, 1, 50, &known), 150);
	cr_expect_eq(scan__oldest_born_ns(&s, 2, 50, &known), 300, "none was there then: its blocks are younger than the pass");
	cr_expect_eq(scan__oldest_born_ns(&s, 2, 350, &known), 350, "the whole site is younger");

	/* the oldest goes: who it is now is told when a pass has been over; that it is not known, at once */
	scan__oldest_born_ns(&s, 1, 50, &known);
	cr_expect(known, "it is there");
	scan__oldest_born_ns(&s, 2, 50, &known);
	cr_expect_not(known, "none was seen");
	buckets[N_BUCKETS - 1].way[0].key = 0;
	scan__some(&s, 400, 0);
	scan__oldest_born_ns(&s, 1, 50, &known);
	cr_expect_not(known, "it may be any younger one");
	cr_expect_eq(scan__oldest_born_ns(&s, 1, 50, &known), 150);
	pass(&s, 410);
	cr_expect_eq(scan__oldest_born_ns(&s, 1, 50, &known), 200);

	/* a younger one, found by the pass under way: there may be an older one where it has not been yet */
	put(0, 1, 1, 10, 450);
	put(0, 2, 3, 10, 450);
	scan__some(&s, 500, 0);
	cr_expect_eq(scan__oldest_born_ns(&s, 1, 50, &known), 200);
	cr_expect_eq(scan__oldest_born_ns(&s, 3, 60, &known), 400);
	put(N_BUCKETS - 1, 2, 3, 10, 420);
	cr_expect_eq(scan__oldest_born_ns(&s, 3, 60, &known), 400);
	pass(&s, 510);
	cr_expect_eq(scan__oldest_born_ns(&s, 3, 60, &known), 420);
	scan__done(&s);
}

/* The upper bits of a birth are its thread's. */
Test(scan, a_birth_names_its_thread_too)
{
	struct scan s;

	memset(buckets, 0, sizeof(buckets));
	memset(threads, 0, sizeof(threads));
	put(0, 0, 1, 10, MT_BORN(700, 65535));
	put(0, 1, 1, 10, MT_BORN(300, 1));
	threads[0] = (struct mt_thread){ .tid = 1, .sp = 1, .old_site = 1, .old_size = 1, .old_born = MT_BORN(500, 7) };
	scan__init(&s, &tables);
	scan__all(&s, NOW, NOW - 500);
	cr_expect_eq(s.last[1].blocks, 3);
	cr_expect_eq(s.last[1].oldest_born_ns, 300);
	cr_expect_eq(s.last[1].older_blocks, 2);
	cr_expect_eq(s.last[1].older_bytes, 11);
	cr_expect_eq(MT_BORN_SERIAL(MT_BORN(~0ull, 65535)), 65535);
	scan__done(&s);
}

/* Ticks are made nanoseconds; the clock may have come round since a birth. What was born after the raw snapshot is not in it. */
Test(scan, births_in_ticks_and_beyond_their_bits)
{
	const uint64_t tick_ns = 4000000, now = (3ull << MT_BORN_BITS) + 50;
	struct tables ticks = tables;
	struct scan s;

	memset(buckets, 0, sizeof(buckets));
	memset(threads, 0, sizeof(threads));
	ticks.born_unit_ns = tick_ns;
	put(0, 0, 1, 10, MT_BORN(9000, 3));
	scan__init(&s, &ticks);
	scan__all(&s, 10000 * tick_ns, 1000 * tick_ns);
	cr_expect_eq(s.last[1].oldest_born_ns, 9000 * tick_ns);
	cr_expect_eq(s.last[1].older_blocks, 1, "as old as that");
	scan__all(&s, 10000 * tick_ns, 1000 * tick_ns + 1);
	cr_expect_eq(s.last[1].older_blocks, 0);
	scan__done(&s);

	put(0, 0, 1, 10, MT_BORN(now - 200, 3));
	put(0, 1, 2, 10, MT_BORN(now + 100, 3));
	scan__init(&s, &tables);
	scan__all(&s, now, 0);
	cr_expect_eq(s.last[1].oldest_born_ns, now - 200);
	cr_expect_eq(s.last[1].blocks, 1);
	cr_expect_eq(s.last[2].blocks, 0, "of the next one");
	scan__done(&s);
}
