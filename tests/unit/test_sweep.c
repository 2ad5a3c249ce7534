// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Blocks of processes that have ended are taken out of a table made by hand; two sites of one stack become one row. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hash.h"
#include "collect/recycle.h"
#include "util/util.h"

#define N_GROUPS 40
#define N_BUCKETS (N_GROUPS * MT_GROUP)
#define N_SITES 40
#define NOW 1000000ull

static struct mt_bucket buckets[N_BUCKETS + 16];
static struct seen dead_ones[N_SITES];
static uint64_t n_dead, n_living;
static const struct tables tables = {
	.buckets = buckets, .n_buckets = N_BUCKETS, .n_sites = N_SITES, .overflow_fd = -1, .born_unit_ns = 1,
};

static uint64_t random_number(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 20;
}

static bool put_into(uint32_t bucket, uint64_t key, uint64_t val, uint64_t born)
{
	for (int i = 0; i < MT_WAYS; i++)
		if (!buckets[bucket].way[i].key) {
			buckets[bucket].way[i] = (struct mt_block){ key, val, born };
			return true;
		}
	return false;
}

/* As the programs do it; what finds no room is left out. Dead are 2, and 3 of the second generation. */
static void put(uint64_t addr, uint32_t proc, uint32_t site, uint64_t size, uint64_t born_ns)
{
	uint64_t h = mt_block_hash(addr, proc, MT_MODE_FULL), key = addr << 16 | proc, val = MT_VAL(size, 3, site);
	uint64_t born = MT_BORN(born_ns, 77);
	uint32_t home = mt_bucket_of(h, addr, N_GROUPS);

	if (!put_into(home, key, val, born)) {
		if (!put_into(mt_bucket_of(mt_mix(h), addr, N_GROUPS), key, val, born))
			return;
		buckets[home].n_spilled++;
	}
	if (proc != 2 && proc != (3 | 1 << MT_PROC_SLOT_BITS)) {
		n_living++;
		return;
	}
	n_dead++;
	seen__add(&dead_ones[site], size, born_ns, NOW - 600000);
}

static void fill(void)
{
	static const uint32_t procs[] = { 1, 2, 3, 3 | 1 << MT_PROC_SLOT_BITS, 2 | 5 << MT_PROC_SLOT_BITS };

	for (uint64_t i = 0; i < N_BUCKETS * 5; i++)
		put(0x1000000 + i * 48, procs[random_number() % ARRAY_SIZE(procs)], 1 + random_number() % (N_SITES - 1),
		    random_number() % 5000, 1 + random_number() % (NOW - 1));
	buckets[7].way[0].key = MT_KEY_CLAIMED;
}

/* Blocks at home in each bucket that live elsewhere. */
static void expect_spilled(void)
{
	_cleanup_free_ uint64_t *n = calloc(N_BUCKETS, sizeof(*n));

	for (uint32_t b = 0; b < N_BUCKETS; b++)
		for (int i = 0; i < MT_WAYS; i++) {
			uint64_t key = buckets[b].way[i].key, addr = key >> 16;
			uint32_t home = mt_bucket_of(mt_block_hash(addr, key & 0xffff, MT_MODE_FULL), addr, N_GROUPS);

			if (key > MT_KEY_CLAIMED && home != b)
				n[home]++;
		}
	for (uint32_t b = 0; b < N_BUCKETS; b++)
		cr_expect_eq(buckets[b].n_spilled, n[b], "bucket %u", b);
}

static uint64_t count(bool dead)
{
	uint64_t n = 0;

	for (uint32_t b = 0; b < N_BUCKETS; b++)
		for (int i = 0; i < MT_WAYS; i++) {
			uint64_t key = buckets[b].way[i].key, proc = key & 0xffff;

			if (key > MT_KEY_CLAIMED)
				n += (proc == 2 || proc == (3 | 1 << MT_PROC_SLOT_BITS)) == dead;
		}
	return n;
}

Test(sweep, only_the_dead_go)
{
	static const uint32_t dead[] = { 2, 3 | 1 << MT_PROC_SLOT_BITS };
	struct sweep s;
	unsigned int steps = 1;

	fill();
	/* what stood in the entry that is claimed just now */
	cr_assert_gt(n_dead, 1000);
	n_living = count(false);
	n_dead = count(true);
	expect_spilled();
	sweep__init(&s, &tables);
	sweep__begin(&s, dead, 2, NOW, 600000);
	while (!sweep__some(&s, 0))
		steps++;
	cr_expect_geq(steps, N_BUCKETS / 512);
	cr_expect_eq(count(true), 0);
	cr_expect_eq(count(false), n_living);
	cr_expect_eq(s.n_removed, n_dead);
	cr_expect_eq(buckets[7].way[0].key, MT_KEY_CLAIMED);
	expect_spilled();
	for (uint32_t i = 1; i < N_SITES; i++) {
		cr_expect_leq(s.gone[i].blocks, dead_ones[i].blocks);
		cr_expect_geq(s.gone[i].blocks + 1, dead_ones[i].blocks, "all but the one that was overwritten");
		if (s.gone[i].blocks != dead_ones[i].blocks)
			continue;
		cr_expect_eq(s.gone[i].bytes, dead_ones[i].bytes);
		cr_expect_eq(s.gone[i].oldest_born_ns, dead_ones[i].oldest_born_ns);
		cr_expect_eq(s.gone[i].older_blocks, dead_ones[i].older_blocks);
		cr_expect_eq(s.gone[i].older_bytes, dead_ones[i].older_bytes);
	}
	sweep__done(&s);
}

Test(sweep, a_later_pass_adds_to_the_first)
{
	static const uint32_t first = 2, second = 3;
	struct sweep s;

	put(0x5000, 2, 9, 10, 100);
	put(0x6000, 3, 9, 20, 50);
	sweep__init(&s, &tables);
	sweep__begin(&s, &first, 1, NOW, 0);
	cr_expect(sweep__some(&s, UINT64_MAX / 2));
	cr_expect(sweep__is_dead(&s, 2));
	cr_expect_not(sweep__is_dead(&s, 3));
	cr_expect_not(sweep__is_dead(&s, 0));
	cr_expect_not(sweep__is_dead(&s, MT_PROC_NEXT_GEN(2)));
	cr_expect_eq(s.gone[9].blocks, 1);
	sweep__begin(&s, &second, 1, NOW, 0);
	cr_expect(sweep__some(&s, UINT64_MAX / 2));
	cr_expect_eq(s.gone[9].blocks, 2);
	cr_expect_eq(s.gone[9].bytes, 30);
	cr_expect_eq(s.gone[9].oldest_born_ns, 50);
	cr_expect_eq(s.n_removed, 1, "of the last pass");
	sweep__done(&s);
}

Test(sweep, generations)
{
	uint32_t proc = 5;

	for (unsigned int i = 0; i < MT_PROC_GENS; i++) {
		cr_expect_eq(MT_PROC_SLOT(proc), 5);
		cr_expect_lt(proc, MT_PROC_NUMBERS);
		cr_expect(i == 0 || proc != 5, "generation %u", i);
		proc = MT_PROC_NEXT_GEN(proc);
	}
	cr_expect_eq(proc, 5, "they begin anew");
	cr_expect_eq(MT_PROC_SLOT(MT_PROC_NEXT_GEN(4095)), 4095);
}

Test(recycle, two_sites_of_one_stack)
{
	const uint64_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };
	struct snap_site sites[] = {
		{ .number = 1, .proc = 1, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 1, .alloc_bytes = 10 },
		  .min_size = 10, .max_size = 10, .first_ns = 50, .last_ns = 60, .oldest_born_ns = 50, .scan_blocks = 1 },
		{ .number = 2, .proc = 1, .hash = 9, .frames = b, .n_frames = 3, .c = { .alloc_calls = 2 } },
		{ .number = 3, .proc = 1, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 4, .alloc_bytes = 8, .free_calls = 1 },
		  .min_size = 2, .max_size = 3, .first_ns = 40, .last_ns = 70, .oldest_born_ns = 55, .scan_blocks = 3 },
		{ .number = 4, .proc = 2, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 8 } },
		{ .number = 5, .proc = 1, .func = 1, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 16 } },
		{ .number = 6, .proc = 1, .c = { .alloc_calls = 32 } },
		{ .number = 7, .proc = 2, .c = { .alloc_calls = 64 } },
		{ .number = 8, .proc = 1, .named_tid = 7, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 128 } },
	};
	struct cut cut = { .sites = sites, .n_sites = ARRAY_SIZE(sites) };
	uint64_t sum = 0;

	collect__merge_repeats(&cut, NULL);
	cr_assert_eq(cut.n_sites, 7);
	cr_expect_eq(sites[0].number, 1);
	cr_expect_eq(sites[0].c.alloc_calls, 5);
	cr_expect_eq(sites[0].c.alloc_bytes, 18);
	cr_expect_eq(sites[0].c.free_calls, 1);
	cr_expect_eq(sites[0].min_size, 2);
	cr_expect_eq(sites[0].max_size, 10);
	cr_expect_eq(sites[0].first_ns, 40);
	cr_expect_eq(sites[0].last_ns, 70);
	cr_expect_eq(sites[0].oldest_born_ns, 50);
	cr_expect_eq(sites[0].scan_blocks, 4);
	cr_expect_eq(sites[1].number, 2);
	cr_expect_eq(sites[2].number, 4);
	for (size_t i = 0; i < cut.n_sites; i++)
		sum += sites[i].c.alloc_calls;
	cr_expect_eq(sum, 255);
}

/* The sum of peaks is one itself if it was held at an instant that is known; else the peak may be less. */
Test(recycle, peaks_of_two_sites_of_one_stack)
{
	const uint64_t a[] = { 1, 2, 3 };
	static const struct {
		const char *what;
		struct peak_of_site {
			uint64_t peak, at_peak, live;
		} first, second;
		uint64_t peak;
		bool at_most;
	} cases[] = {
		{ "one after the other", { 100, 100, 0 }, { 60, 0, 60 }, 160, true },
		{ "all is held now", { 100, 20, 100 }, { 60, 0, 60 }, 160, false },
		{ "all was held when the process was at its peak", { 100, 100, 0 }, { 60, 60, 0 }, 160, false },
		{ "the second one never held anything", { 100, 30, 20 }, {}, 100, false },
		{ "the first one never did", {}, { 60, 10, 20 }, 60, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct peak_of_site *of[] = { &cases[i].first, &cases[i].second };
		struct snap_site sites[2];
		struct cut cut = { .sites = sites, .n_sites = 2 };

		for (uint32_t k = 0; k < 2; k++)
			sites[k] = (struct snap_site){ .number = k + 1, .proc = 1, .hash = 9, .frames = a, .n_frames = 3,
						      .c = { .alloc_calls = 9, .alloc_bytes = 1000, .free_bytes = 1000 - of[k]->live,
							     .peak_bytes = of[k]->peak },
						      .at_peak_bytes = of[k]->at_peak };
		collect__merge_repeats(&cut, NULL);
		cr_assert_eq(cut.n_sites, 1);
		cr_expect_eq(sites[0].c.peak_bytes, cases[i].peak, "%s", cases[i].what);
		cr_expect_eq(sites[0].at_peak_bytes, of[0]->at_peak + of[1]->at_peak, "%s: both are of one instant", cases[i].what);
		cr_expect_eq(sites[0].peak_at_most, cases[i].at_most, "%s", cases[i].what);
	}
}

/* What a third one held tells nothing of the first two. */
Test(recycle, a_bound_stays_one)
{
	const uint64_t a[] = { 1, 2, 3 };
	struct snap_site sites[] = {
		{ .number = 1, .proc = 1, .hash = 9, .frames = a, .n_frames = 3, .c.peak_bytes = 100, .at_peak_bytes = 100 },
		{ .number = 2, .proc = 1, .hash = 9, .frames = a, .n_frames = 3, .c.peak_bytes = 60 },
		{ .number = 3, .proc = 1, .hash = 9, .frames = a, .n_frames = 3 },
	};
	struct cut cut = { .sites = sites, .n_sites = ARRAY_SIZE(sites) };

	collect__merge_repeats(&cut, NULL);
	cr_assert_eq(cut.n_sites, 1);
	cr_expect_eq(sites[0].c.peak_bytes, 160);
	cr_expect(sites[0].peak_at_most);
}

Test(recycle, frees_of_two_sites_of_one_stack)
{
	const uint64_t a[] = { 1, 2, 3 }, w[] = { 7, 8 };
	struct snap_site sites[] = {
		{ .number = 1, .proc = 1, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 10, .free_calls = 6 } },
		{ .number = 3, .proc = 1, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 4, .free_calls = 4 } },
		{ .number = 5, .proc = 2, .hash = 9, .frames = a, .n_frames = 3, .c = { .alloc_calls = 1, .free_calls = 1 } },
	};
	struct snap_site wheres[] = {
		{ .number = 2, .proc = 1, .hash = 8, .frames = w, .n_frames = 2 },
		{ .number = 6, .proc = 2, .hash = 8, .frames = w, .n_frames = 2 },
		{ .number = 4, .proc = 1, .hash = 8, .frames = w, .n_frames = 2 },
	};
	struct snap_free frees[] = {
		{ .site = 1, .where = 2, .tid = 7, .calls = 5, .bytes = 50, .lifetime_sum_ns = 500 },
		{ .site = 5, .where = 6, .tid = 7, .calls = 1, .bytes = 10 },
		{ .site = 3, .where = 4, .tid = 7, .calls = 3, .bytes = 30, .cross_calls = 2, .lifetime_sum_ns = 300 },
		{ .site = 3, .where = 2, .tid = 8, .calls = 1, .bytes = 1 },
		{ .site = 1, .where = 2, .tid = 7, .calls = 1, .bytes = 100 },	/* of one pair, made twice */
	};
	struct cut cut = { .sites = sites, .n_sites = 3, .wheres = wheres, .n_wheres = 3, .frees = frees, .n_frees = 5 };

	collect__merge_repeats(&cut, NULL);
	cr_assert_eq(cut.n_sites, 2);
	cr_assert_eq(cut.n_wheres, 2);
	cr_assert_eq(cut.n_frees, 3);
	cr_expect(frees[0].site == 1 && frees[0].where == 2 && frees[0].tid == 7);
	cr_expect(frees[0].calls == 9 && frees[0].bytes == 180 && frees[0].cross_calls == 2 && frees[0].lifetime_sum_ns == 800);
	cr_expect(frees[1].site == 5 && frees[1].where == 6 && frees[1].calls == 1);
	cr_expect(frees[2].site == 1 && frees[2].where == 2 && frees[2].tid == 8 && frees[2].calls == 1);
}
