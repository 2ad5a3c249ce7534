// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode leak: what is not in use leaves a table made by hand, is counted once, and is in no cut that was before. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "bpf/hash.h"
#include "collect/collect.h"
#include "collect/passes.h"
#include "util/util.h"

#define N_GROUPS 8
#define N_BUCKETS (N_GROUPS * MT_GROUP)
#define N_SITES 20
#define PROC 3
#define NOW 1000000ull

static struct mt_bucket buckets[N_BUCKETS + 16];
static const struct tables tables = {
	.buckets = buckets, .n_buckets = N_BUCKETS, .n_sites = N_SITES, .overflow_fd = -1, .born_unit_ns = 1, .mode = MT_MODE_LEAK,
};

static uint32_t home_of(uint64_t addr)
{
	return mt_bucket_of(mt_block_hash(addr, PROC, MT_MODE_LEAK), addr, N_GROUPS);
}

static bool put_into(uint32_t bucket, struct mt_block b)
{
	for (int i = 0; i < MT_WAYS; i++)
		if (!buckets[bucket].way[i].key) {
			buckets[bucket].way[i] = b;
			return true;
		}
	return false;
}

/* As the programs do it; false: there is no room. */
static bool put(uint64_t addr, uint32_t site, uint64_t size, uint32_t chain)
{
	struct mt_block b = { addr << 16 | PROC, MT_VAL(size, chain, site), MT_BORN(addr, 1) };
	uint64_t h = mt_mix(mt_block_hash(addr, PROC, MT_MODE_LEAK));

	if (put_into(home_of(addr), b))
		return true;
	if (!put_into(mt_bucket_of(h, addr, N_GROUPS), b))
		return false;
	buckets[home_of(addr)].n_spilled++;
	return true;
}

/* Every third one is not in use, every seventh one nobody knows. */
static enum block_use judge(uint64_t addr)
{
	return addr / 16 % 7 == 0 ? BLOCK_UNSURE : addr / 16 % 3 == 0 ? BLOCK_NOT_IN_USE : BLOCK_IN_USE;
}

static enum block_use use_of(uint32_t proc, uint64_t addr, uint64_t size, uint64_t born_ns, void *arg)
{
	cr_expect_eq(size, addr / 16, "and its own size");
	cr_expect_eq(proc, PROC);
	cr_expect_eq(born_ns, addr, "a block has its own birth");
	return judge(addr);
}

Test(freed, what_is_not_in_use_leaves)
{
	const struct use_calls uses = { use_of, NULL };
	struct freed_site dead[N_SITES] = {};
	struct snap_site row = { .number = 5 };
	uint64_t n_left = 0, n_spilled = 0, found = 0;
	struct freed f;

	freed__init(&f, &tables);
	for (uint64_t i = 1; i < N_BUCKETS * 4; i++) {
		uint32_t site = i % N_SITES, chain = i % 5 ? MT_CHAIN_UNSEEN : 0;

		if (!put(i * 16, site, i, chain))
			continue;
		/* whose free is seen is not judged */
		if (!chain || judge(i * 16) != BLOCK_NOT_IN_USE) {
			n_left++;
			continue;
		}
		dead[site].calls++;
		dead[site].bytes += i;
	}
	buckets[7].way[0].key = buckets[7].way[0].key ?: MT_KEY_CLAIMED;
	freed__drop(&f, &uses, NOW);

	freed__settle(&f, &row, 1);
	cr_expect_eq(row.c.free_calls, 0, "a cut of before has none of them");
	freed__fold(&f);
	for (uint32_t i = 0; i < N_SITES; i++) {
		cr_expect_eq(f.sites[i].calls, dead[i].calls, "site %u", i);
		cr_expect_eq(f.sites[i].bytes, dead[i].bytes, "site %u", i);
	}
	freed__settle(&f, &row, 1);
	cr_expect_eq(row.c.free_calls, dead[5].calls);
	cr_expect_eq(row.c.free_bytes, dead[5].bytes);

	for (uint32_t b = 0; b < N_BUCKETS; b++) {
		n_spilled += buckets[b].n_spilled;
		for (int i = 0; i < MT_WAYS; i++)
			if (buckets[b].way[i].key > MT_KEY_CLAIMED) {
				found++;
				n_spilled -= home_of(buckets[b].way[i].key >> 16) != b;
			}
	}
	cr_expect_eq(found, n_left);
	cr_expect_eq(n_spilled, 0, "homes know how many of theirs are elsewhere");
	freed__drop(&f, &uses, NOW);
	freed__fold(&f);
	cr_expect_eq(f.sites[5].calls, dead[5].calls, "nothing leaves twice");
	freed__forget(&f, 5);
	cr_expect_eq(f.sites[5].calls, 0);
	freed__done(&f);
}
