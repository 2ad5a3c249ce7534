// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode leak: whose heap was not read, and how many of its blocks may have been freed, through files, groups and parts of a snapshot. */
#include <criterion/criterion.h>

#include "model/group.h"
#include "model/narrow.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

#define UNREAD 40		/* blocks of the first process, whose heap was not read */
#define FEW 3			/* of the second one */
#define OF_NOBODY 5		/* of which it is not known whose they are */

static struct snapshot *made(void)
{
	struct snapshot *s = sample__new(SAMPLE_MANY);
	struct snap_process *p = (struct snap_process *)s->processes;

	cr_assert_geq(s->n_processes, 2);
	s->recording.mode = MT_MODE_LEAK;
	p[0].n_heaps_unread = 1;
	p[0].unsure_blocks = UNREAD;
	p[1].unsure_blocks = FEW;
	s->reading = (struct heap_reading){ .at_ns = 5, .took_ns = 1, .exact_asked = true, .n_unread = 1, .unsure_blocks = UNREAD + FEW + OF_NOBODY };
	return s;
}

static void expect_sums(const struct snapshot *s, uint64_t unread, uint64_t blocks, const char *what)
{
	uint64_t n_unread = 0, n_blocks = 0;

	for (size_t i = 0; i < s->n_processes; i++) {
		n_unread += s->processes[i].n_heaps_unread;
		n_blocks += s->processes[i].unsure_blocks;
	}
	cr_expect_eq(n_unread, unread, "%s: heaps of processes, wanted %zu, got %zu", what, (size_t)unread, (size_t)n_unread);
	cr_expect_eq(n_blocks, blocks, "%s: blocks of processes, wanted %zu, got %zu", what, (size_t)blocks, (size_t)n_blocks);
	cr_expect_eq(s->reading.n_unread, unread, "%s: heaps, got %zu", what, (size_t)s->reading.n_unread);
	cr_expect_eq(s->reading.unsure_blocks, blocks + OF_NOBODY, "%s: blocks, got %zu", what, (size_t)s->reading.unsure_blocks);
	cr_expect(s->reading.exact_asked, "%s", what);
}

Test(unsure, a_file_has_all_of_it)
{
	struct snapshot *s = made(), *again = written__read_back(s);

	expect_sums(again, 1, UNREAD + FEW, "read back");
	cr_expect_eq(again->processes[0].unsure_blocks, UNREAD);
	cr_expect_eq(again->processes[1].unsure_blocks, FEW);
	snapshot__free(again);
	snapshot__free(s);
}

Test(unsure, groups_have_the_sum)
{
	static const char *const by[] = { "comm", "none" };
	struct snapshot *s = made();

	for (size_t i = 0; i < ARRAY_SIZE(by); i++) {
		struct snapshot *g = snapshot__group(s, grouping__find(by[i]));

		cr_assert_not_null(g);
		expect_sums(g, 1, UNREAD + FEW, by[i]);
		snapshot__free(g);
	}
	snapshot__free(s);
}

Test(unsure, a_part_has_its_own)
{
	struct snapshot *s = made(), *n;

	n = snapshot__narrow(s, &(struct narrowing){ .pid = s->processes[1].pid });
	cr_assert_not_null(n);
	expect_sums(n, 0, FEW, "the second one");
	snapshot__free(n);
	/* no more than is live */
	((struct snap_process *)s->processes)[1].c.live_blocks = FEW + 1;
	n = snapshot__narrow(s, &(struct narrowing){ .pid = s->processes[1].pid });
	cr_assert_not_null(n);
	cr_expect_eq(n->reading.unsure_blocks, FEW + 1);
	snapshot__free(n);
	snapshot__free(s);
}
