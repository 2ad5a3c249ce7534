// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode leak: what readings that were made by hand say of a block. */
#include <criterion/criterion.h>
#include <errno.h>

#include "trace/uses_parts.h"
#include "util/log.h"

#define PROC 3
#define HEAP 0x550000000000ull
#define MAPPED 0x7f0000000000ull

static struct heap_block blocks[] = { { .addr = HEAP + 0x10, .usable = 24 }, { .addr = HEAP + 0x50, .usable = 24 } };
static struct heap_range ranges[] = { { HEAP, HEAP + 0x1000 } };
static struct opts opts;
static struct session session = { .opts = &opts };
static struct user_of_heap heap = { .proc = PROC, .n_readings = 1, .born_before_ns = 1000, .was_read = true };
static struct uses uses = { .s = &session };

static void begin(void)
{
	struct reading *r = &heap.readings[0];
	struct err e = {};

	r->census.blocks.v = blocks;
	r->census.blocks.n = ARRAY_SIZE(blocks);
	r->census.ranges.v = ranges;
	r->census.ranges.n = ARRAY_SIZE(ranges);
	cr_assert_eq(block_index__build(&r->index, blocks, ARRAY_SIZE(blocks), &e), 0);
	uses.by_slot[PROC] = &heap;
}

static void want_use(uint64_t addr, uint64_t born_ns, enum block_use wanted)
{
	enum block_use got = uses__of(PROC, addr, 24, born_ns, &uses);

	cr_expect_eq(got, wanted, "%llx born at %llu: wanted %d, got %d", (unsigned long long)addr, (unsigned long long)born_ns, wanted, got);
}

Test(uses, what_was_read)
{
	begin();
	want_use(HEAP + 0x10, 1, BLOCK_IN_USE);
	want_use(HEAP + 0x30, 1, BLOCK_NOT_IN_USE);
	want_use(HEAP + 0x30, 1000, BLOCK_UNSURE);
	want_use(MAPPED + 0x10, 1, BLOCK_NOT_IN_USE);
	cr_expect_eq(heap.bound, 1, "what is unsure is counted");
	cr_expect_eq(uses__of(PROC + 1, HEAP + 0x30, 24, 1, &uses), BLOCK_IN_USE, "nothing is known of others");
}

/* Some of those with a mapping of their own were missed: any address outside of what was read may be one, as aligned_alloc() has it. */
Test(uses, what_was_missed)
{
	static const uint64_t aligned[] = { 0, 16, 64, 256, 4096 };

	begin();
	heap.is_partial = true;
	for (size_t i = 0; i < ARRAY_SIZE(aligned); i++)
		want_use(MAPPED + aligned[i], 1, BLOCK_UNSURE);
	want_use(HEAP + 0x10, 1, BLOCK_IN_USE);
	want_use(HEAP + 0x30, 1, BLOCK_NOT_IN_USE);
}

/* It ended, and nobody could read it then. */
Test(uses, what_was_lost)
{
	begin();
	heap.n_readings = 0;
	heap.is_lost = true;
	want_use(HEAP + 0x10, 1, BLOCK_UNSURE);
	want_use(HEAP + 0x30, 1, BLOCK_UNSURE);
	cr_expect_eq(heap.bound, 2);
}

/* ---- how many may be wrong */

static uint64_t bound_of_cut(void)
{
	uses__read_later(&uses);
	return uses__bound(&heap);
}

static void begin_stopped(void)
{
	static struct user_of_heap *all[] = { &heap };

	begin();
	opts.exact = true;
	session.uses = &uses;
	uses.v.v = all;
	uses.v.n = 1;
	heap.was_passed = heap.stood = true;
	heap.bound = 2;
}

/* It stood still from the reading to the cut: what the reading was unsure of is all. */
Test(uses, bound_of_one_that_stood)
{
	begin_stopped();
	session__let_heaps_go_on(&session, true);
	cr_expect_eq(bound_of_cut(), 2);
}

/* A mark's cut is of an earlier moment, and it went on with that: nothing is known of ours after it. */
Test(uses, bound_after_a_mark)
{
	begin_stopped();
	session__let_heaps_go_on(&session, false);
	cr_expect_eq(uses__bound_of_mark(&uses, &heap), BOUND_UNKNOWN, "of the mark's");
	cr_expect_eq(bound_of_cut(), BOUND_UNKNOWN, "of ours");
}

/* A mark that is read late says nothing of the cut that comes after it. */
Test(uses, bound_beside_a_mark)
{
	begin_stopped();
	cr_expect_eq(uses__bound_of_mark(&uses, &heap), BOUND_UNKNOWN, "of the mark's");
	session__let_heaps_go_on(&session, true);
	cr_expect_eq(bound_of_cut(), 2, "of ours");
	/* nor of one that was bound before it is read, as the last one is */
	cr_expect_eq(uses__bound_of_mark(&uses, &heap), BOUND_UNKNOWN, "of the next mark's");
	cr_expect_eq(uses__bound(&heap), 2, "still of ours");
}

/* One that was claimed before a cut of ours has not what was read for that. */
Test(uses, reading_of_a_mark)
{
	const struct mt_reached before = { .mono_ns = 499 }, after = { .mono_ns = 500 };

	begin_stopped();
	uses.before_cut = (struct reading_time){ 300, 30 };
	uses.of_cut = (struct reading_time){ 400, 40 };
	uses.of_cut_since_ns = 500;
	uses.paused_ns = 7;
	uses.unrecorded = 8;
	cr_expect_eq(session__last_reading(&session, &before).at_ns, 300);
	cr_expect_eq(session__last_reading(&session, &before).took_ns, 30);
	cr_expect_eq(session__last_reading(&session, &after).at_ns, 400);
	cr_expect_eq(session__last_reading(&session, &after).paused_ns, 0, "nobody stood still for a mark");
	cr_expect_eq(session__last_reading(&session, &after).unsure_blocks, 0, "what came after the end");
	cr_expect_eq(session__last_reading(&session, NULL).at_ns, 400);
	cr_expect_eq(session__last_reading(&session, NULL).paused_ns, 7);
	cr_expect_eq(session__last_reading(&session, NULL).unsure_blocks, 8);
}

/* Any of its blocks may have been freed, but for those of allocators whose frees are seen. */
Test(uses, bound_of_one_that_was_not_read)
{
	begin_stopped();
	heap.was_read = false;
	heap.unseen = 5;
	cr_expect_eq(bound_of_cut(), 5);
	cr_expect_eq(uses__bound_of_mark(&uses, &heap), 5, "of a mark's");
}

/* ---- who is stopped */

/* Snapshots are made of stopped ones, unless that has failed: then not for a while, or never again; but Ctrl-C is no failure. */
static void on_say(const char *text, void *arg)
{
	char *said = arg;

	strncat(said, text, 255 - strlen(said));
}

Test(uses, who_is_to_stop)
{
	static const struct {
		int err;
		bool is_late, now, later;
		const char *says;
	} rows[] = { { 0, false, true, true, "" },
		     { -ENOENT, false, true, true, "" },
		     { -ESRCH, false, true, true, "" },
		     { -EINTR, false, true, true, "" },
		     { -EINTR, true, false, false, "7 was stopped for a tenth of a second, and its heap takes longer to be read: from now on it is read while it runs" },
		     { -ETIMEDOUT, true, false, true, "7 is not stopped for its heap to be read: why" },
		     { -EPROTO, false, false, true, "7 is not stopped for its heap to be read: why" },
		     { -EBUSY, false, false, true, "7 is not stopped for its heap to be read: why" } };
	char said[256];

	log__redirect(&(struct log_sink){ .say = on_say, .arg = said });
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t now = now_ns();
		struct user_of_heap h = { .pid = 7 };

		said[0] = 0;
		for (unsigned int k = 0; k < 2 && rows[i].err; k++)
			uses__note_unstopped(&h, rows[i].err, rows[i].is_late, "why");
		cr_expect_str_eq(said, rows[i].says, "%d is said, and once", rows[i].err);
		uses = (struct uses){ .may_stop = true, .began_ns = now };
		cr_expect_eq(uses__is_to_stop(&uses, &h), rows[i].now, "%d", rows[i].err);
		uses.began_ns = now + 61 * SECOND_NS;
		cr_expect_eq(uses__is_to_stop(&uses, &h), rows[i].later, "%d, a minute later", rows[i].err);
		uses.may_stop = false;
		cr_expect_not(uses__is_to_stop(&uses, &h), "nobody asked for a snapshot");
	}
	log__redirect(NULL);
}

/* ---- whose figures are known */

Test(uses, whose_live_blocks_are_known)
{
	begin();
	cr_expect_not(session__knows_live_of(&(struct session){ .uses = &uses }, PROC), "it was not read for the last cut");
	heap.has_none = true;
	cr_expect(session__knows_live_of(&(struct session){ .uses = &uses }, PROC), "other allocators' are known");
	heap.has_none = false;
	heap.was_passed = true;
	cr_expect(session__knows_live_of(&(struct session){ .uses = &uses }, PROC), "it was read");
	cr_expect(session__knows_live_of(&(struct session){ .uses = &uses }, PROC + 1), "what ended does not change any more");
	cr_expect(session__knows_live_of(&(struct session){}, PROC), "frees are seen");
}

/* Its numbers are not given to others before it was read after its end, or counted as not read. */
Test(uses, who_keeps_their_room)
{
	static struct session s = { .uses = &uses };

	begin();
	cr_expect_not(session__needs_life(&s, PROC), "nobody heard of it");
	hash__put(&s.tracees.by_proc, PROC, &heap);
	cr_expect(session__needs_life(&s, PROC), "it is to be read");
	uses.by_slot[PROC] = NULL;
	cr_expect(session__needs_life(&s, PROC), "it is to be counted");
	uses.last_of_slot[PROC] = PROC;
	cr_expect_not(session__needs_life(&s, PROC), "it has left");
	s.uses = NULL;
	cr_expect_not(session__needs_life(&s, PROC), "no heaps are read");
	hash__done(&s.tracees.by_proc);
}
