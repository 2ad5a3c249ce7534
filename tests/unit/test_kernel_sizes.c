// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How large the kernel's tables are made. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "probe/kernel.h"
#include "util/util.h"

static uint64_t ram_bytes(void)
{
	struct sysinfo mem;

	cr_assert_eq(sysinfo(&mem), 0);
	return (uint64_t)mem.totalram * mem.mem_unit;
}

/* What must hold for any choice. */
static void check(const struct kernel_opts *o, const struct table_sizes *s)
{
	uint64_t room = (uint64_t)s->n_groups * MT_GROUP * MT_WAYS, words = s->n_sites * (o->recording.depth + 1ull);	/* frames, and a time */

	cr_expect_geq(s->max_live, 1);
	cr_expect_geq(room + s->n_over, s->max_live);
	cr_expect_geq(room, s->max_live, "the overflow is for what is too large, and for full buckets");
	cr_expect_leq((uint64_t)s->n_groups * MT_GROUP, UINT32_MAX);
	cr_expect_gt(s->n_sites, s->max_stacks, "one more: site 0 is none; and some for those that come while others give up their room");
	cr_expect_leq(s->n_sites, s->max_stacks * 5 / 4 + 1);
	cr_expect_leq((uint64_t)s->n_sites + s->n_procs, MT_SITE_MASK + 1, "a block names its site in %d bits", MT_SITE_BITS);
	cr_expect_eq(s->n_index & (s->n_index - 1), 0);
	cr_expect_geq(s->n_index, 2 * s->max_stacks);
	cr_expect_lt(s->n_index, 8ull * s->n_sites);
	cr_expect_geq(s->n_words, MIN(words, UINT32_MAX / 8));
	cr_expect_leq(s->n_words, MAX(words, 1024));
	cr_expect_leq(s->n_procs, 65536, "a block names its process in 16 bits");
	cr_expect_gt(s->n_procs, 0);
	cr_expect(s->n_shards && !(s->n_shards & (s->n_shards - 1)));
	cr_expect_leq(s->n_shards, 8);
	cr_expect_geq(s->n_scratch, 16);
	cr_expect_leq(s->bytes, ram_bytes() / 2);
	cr_expect_geq(s->bytes, (uint64_t)s->n_groups * MT_GROUP * sizeof(struct mt_bucket) + s->n_words * 8ull +
					(s->n_sites + s->n_procs) * sizeof(struct mt_site) +
					(s->n_sites + s->n_procs) * 2ull * s->n_shards * sizeof(struct mt_counts));
}

Test(table_sizes, by_the_machine)
{
	struct kernel_opts o = { .recording = { .depth = MT_MAX_DEPTH } };
	struct table_sizes s = {};
	_cleanup_err_ struct err e = {};

	cr_assert_eq(table_sizes__choose(&o, &s, &e), 0, "%s", err_msg(&e));
	check(&o, &s);
	cr_expect_geq(s.max_live, 1u << 16);
	cr_expect_leq(s.max_live, 1u << 22);
	cr_expect_geq(s.max_stacks, 1u << 12);
	cr_expect_leq(s.max_stacks, 1u << 16);
}

Test(table_sizes, as_asked)
{
	static const struct {
		uint64_t max_live, max_stacks;
		unsigned int depth;
	} asked[] = {
		{ 1, 1, 1 },	 { 2, 3, 127 },	     { 239, 7, 10 },	 { 240, 8, 10 },       { 241, 9, 10 },
		{ 320, 1024, 1 }, { 4095, 1023, 127 }, { 65536, 1025, 127 }, { 65537, 4096, 64 }, { 1000000, 5000, 16 },
		{ 1, 10000, 127 }, { 100000, 0, 127 }, { 0, 100, 127 },	 { 1, 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct kernel_opts o = { .recording = { .max_live = asked[i].max_live, .max_stacks = asked[i].max_stacks, .depth = asked[i].depth } };
		struct table_sizes s = {};
		_cleanup_err_ struct err e = {};

		cr_assert_eq(table_sizes__choose(&o, &s, &e), 0, "row %zu: %s", i, err_msg(&e));
		check(&o, &s);
		if (o.recording.max_live)
			cr_expect_eq(s.max_live, o.recording.max_live);
		if (o.recording.max_stacks)
			cr_expect_eq(s.max_stacks, o.recording.max_stacks);
	}
}

Test(table_sizes, mappings)
{
	struct kernel_opts o = { .recording = { .max_live = 100000, .max_stacks = 1000, .depth = 127 } };
	struct table_sizes without, with;

	cr_assert_eq(table_sizes__choose(&o, &without, NULL), 0);
	cr_expect(without.n_parts == 1 && without.n_nodes == 1 && without.n_mapped == 1 && without.n_map_calls == 1);
	o.recording.mmap = true;
	cr_assert_eq(table_sizes__choose(&o, &with, NULL), 0);
	cr_expect_eq(with.n_over, without.n_over);
	cr_expect_eq(with.n_parts, with.n_over);
	cr_expect_geq(with.n_nodes, 2 * with.n_over);
	cr_expect_eq(with.n_mapped, with.n_procs);
	cr_expect_eq(with.n_map_calls, with.n_threads);
	cr_expect_gt(with.bytes, without.bytes);
}

Test(table_sizes, more_asked_is_more_room)
{
	struct kernel_opts small = { .recording = { .max_live = 10000, .max_stacks = 1000, .depth = 127 } };
	struct kernel_opts large = { .recording = { .max_live = 100000, .max_stacks = 1000, .depth = 127 } };
	struct table_sizes a, b;

	cr_assert_eq(table_sizes__choose(&small, &a, NULL), 0);
	cr_assert_eq(table_sizes__choose(&large, &b, NULL), 0);
	cr_expect_gt(b.n_groups, 9 * a.n_groups);
	cr_expect_geq(b.bytes, a.bytes + 90000 * sizeof(struct mt_block));
	cr_expect_eq(a.n_words, b.n_words);
}

static void refuse(uint64_t max_live, uint64_t max_stacks, const char *says)
{
	struct kernel_opts o = { .recording = { .max_live = max_live, .max_stacks = max_stacks, .depth = 127 } };
	struct table_sizes s = { .n_groups = 12345 };
	_cleanup_err_ struct err e = {};

	cr_expect_eq(table_sizes__choose(&o, &s, &e), -ERANGE, "%llu %llu", (unsigned long long)max_live, (unsigned long long)max_stacks);
	cr_expect_eq(e.code, -ERANGE);
	cr_expect_not_null(strstr(err_msg(&e), says), "%s", err_msg(&e));
	cr_expect_eq(s.n_groups, 12345, "untouched");
}

Test(table_sizes, too_large)
{
	/* more sites than a block can name */
	refuse(1000, MT_SITE_MASK + 1, "--max-stacks");
	refuse(1000, 1ull << 32, "--max-stacks");
	refuse(1000, UINT64_MAX, "--max-stacks");
	/* more buckets than a table can have, and more than the memory of any machine */
	refuse(1ull << 35, 1000, "--max-live");
	refuse(1ull << 36, 1000, "--max-live");
	/* more than this one's */
	refuse(ram_bytes() / 2 / 24, 1000, "half of this machine's memory");
	refuse(ram_bytes() / 2 / 24, 1000, "--max-live");
}

Test(table_sizes, most_sites)
{
	struct kernel_opts o = { .recording = { .max_live = 1, .depth = 1 } };
	struct table_sizes s = {};
	uint64_t ok = 1, refused = MT_SITE_MASK + 1;

	while (refused - ok > 1) {
		o.recording.max_stacks = (ok + refused) / 2;
		if (table_sizes__choose(&o, &s, NULL))
			refused = o.recording.max_stacks;
		else
			ok = o.recording.max_stacks;
	}
	o.recording.max_stacks = ok;
	cr_assert_eq(table_sizes__choose(&o, &s, NULL), 0);
	check(&o, &s);
	cr_expect_gt(ok, 10000);
}
