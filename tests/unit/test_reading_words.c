// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode leak: how it is known what is live, in words. */
#include <criterion/criterion.h>

#include "present/caveats.h"
#include "util/util.h"

Test(reading_words, each_part_where_it_applies)
{
	static const struct {
		struct heap_reading is;
		const char *words;
	} t[] = {
		{ {}, "not read: of glibc's blocks, only those whose address came again count as freed" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = 17 * MS_NS }, "read in 17ms" },
		{ { .at_ns = 4 * SECOND_NS, .took_ns = 17 * MS_NS, .unsure_blocks = 200 },
		  "read in 17ms, 1.0s before this report; up to 200 blocks that were freed since may still count as live" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .paused_ns = 3 * MS_NS, .unsure_blocks = 1 },
		  "read in 1ms; the process was stopped for 3ms; up to 1 block that was freed since may still count as live" },
		/* nothing was read since it ran */
		{ { .at_ns = 4 * SECOND_NS, .took_ns = 17 * MS_NS, .unsure_blocks = 1000 },
		  "read in 17ms, 1.0s before this report; any of the blocks that count as live may have been freed since" },
		/* --exact */
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .exact_asked = true, .paused_ns = 3 * MS_NS }, "read in 1ms; exact; the process was stopped for 3ms" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .exact_asked = true }, "read in 1ms; exact" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .exact_asked = true, .unsure_blocks = 7 },
		  "read in 1ms; not exact; up to 7 blocks that were freed since may still count as live" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = 200 * MS_NS, .exact_asked = true, .paused_ns = 101 * MS_NS, .unsure_blocks = 7 },
		  "read in 200ms; not exact, though the process was stopped for 101ms; up to 7 blocks that were freed since may still count as live" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .n_unread = 2, .unsure_blocks = 9 },
		  "read in 1ms; not read of 2 processes: what they freed may count as live; up to 9 blocks that were freed may still count as live" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .n_unread = 2 }, "read in 1ms; not read of 2 processes: what they freed may count as live" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot s = { .recording.mode = MT_MODE_LEAK, .duration_ns = 5 * SECOND_NS, .reading = t[i].is, .totals.live_blocks = 1000 };
		_cleanup_free_ char *words = reading__words(&s);

		cr_assert(words);
		cr_expect_str_eq(words, t[i].words);
		s.recording.mode = MT_MODE_FULL;
		cr_expect_null(reading__words(&s), "other modes see every free");
	}
}

/* Nobody is "the process" where there are two. */
Test(reading_words, of_several)
{
	static const struct {
		struct heap_reading is;
		const char *words;
	} t[] = {
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .exact_asked = true, .paused_ns = 3 * MS_NS }, "read in 1ms; exact; processes were stopped, for 3ms at most" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .exact_asked = true, .unsure_blocks = 7 },
		  "read in 1ms; not exact; up to 7 blocks that were freed since may still count as live" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS, .exact_asked = true, .paused_ns = 101 * MS_NS, .unsure_blocks = 1000 },
		  "read in 1ms; not exact, though processes were stopped, for 101ms at most; any of the blocks that count as live may have been freed since" },
	};
	static const struct snap_process two[2];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot s = { .recording.mode = MT_MODE_LEAK, .duration_ns = 5 * SECOND_NS, .reading = t[i].is, .totals.live_blocks = 1000, .processes = two, .n_processes = 2 };
		_cleanup_free_ char *words = reading__words(&s);

		cr_assert(words);
		cr_expect_str_eq(words, t[i].words);
	}
}

Test(reading_words, allocators_whose_frees_are_probed)
{
	static const struct snap_probe probes[] = { { .object = "/usr/lib/libc.so.6" }, { .object = "/usr/lib/libjemalloc.so.2", .frees_probed = true },
						    { .object = "/opt/app", .frees_probed = true } };
	static const struct {
		struct heap_reading is;
		size_t n_probes;
		const char *words;
	} t[] = {
		/* without a heap of glibc's there is nothing to be read, and nothing unsure */
		{ {}, 2, "frees of libjemalloc.so.2 are probed as in full mode, because its blocks cannot be told from outside" },
		{ {}, 3, "frees of libjemalloc.so.2 and others are probed as in full mode, because their blocks cannot be told from outside" },
		{ { .n_unread = 1 }, 2, "not read: of glibc's blocks, only those whose address came again count as freed; frees of libjemalloc.so.2 are probed as in full mode, because its blocks cannot be told from outside" },
		{ { .at_ns = 5 * SECOND_NS, .took_ns = MS_NS }, 2,
		  "read in 1ms; frees of libjemalloc.so.2 are probed as in full mode, because its blocks cannot be told from outside" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot s = { .recording.mode = MT_MODE_LEAK, .duration_ns = 5 * SECOND_NS, .reading = t[i].is, .probes = probes, .n_probes = t[i].n_probes };
		_cleanup_free_ char *words = reading__words(&s);

		cr_assert(words);
		cr_expect_str_eq(words, t[i].words);
	}
}
