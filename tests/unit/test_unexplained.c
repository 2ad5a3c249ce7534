// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Growth is called unexplained where nothing explains it, and only there. */
#include <criterion/criterion.h>

#include "model/heaps.h"

#define MIB (1ull << 20)

struct made {
	struct snapshot s;
	struct snap_process p;
	struct snap_heap h;
};

/* A process that grew by 100 MiB in its heap, of which its calls explain 10. */
static struct made grown(void)
{
	return (struct made){
		.s = { .observed_share = 1 },
		.p = {
			.c = { .alloc_calls = 1000, .alloc_bytes = 10 * MIB, .live_blocks = 1000, .live_bytes = 10 * MIB },
			.memory = { .known = true, .grown_known = true, .heap_grown = 100 * MIB, .first_mapped = 2 * MIB,
				    .first_untouched = 1 * MIB, .sized_blocks = 1000 },
		},
	};
}

static uint64_t found(struct made *m, bool looked)
{
	m->s.recording.max_size = UINT64_MAX;
	m->s.processes = &m->p;
	m->s.n_processes = 1;
	m->s.heaps = looked ? &m->h : NULL;
	m->s.n_heaps = looked;
	snapshot__find_unexplained(&m->s);
	return m->p.memory.unexplained_bytes;
}

Test(unexplained, by_what_was_called)
{
	struct made m = grown();

	cr_expect_eq(found(&m, false), 89 * MIB - 32000);
	/* all that it ever requested explains it, freed or not */
	m = grown();
	m.p.c.alloc_bytes = 95 * MIB;
	cr_expect_eq(found(&m, false), 0);
	/* so does what was mapped before and touched since */
	m = grown();
	m.p.memory.first_untouched = 95 * MIB;
	cr_expect_eq(found(&m, false), 0);
	/* its own mappings, stacks of threads, large blocks: not its heap */
	m = grown();
	m.p.memory.heap_grown = 0;
	m.p.memory.large_grown = 100 * MIB;
	cr_expect_eq(found(&m, false), 0);
}

Test(unexplained, by_what_is_there)
{
	struct made m = grown();

	/* a busy heap, whose calls would explain any growth; but 60 MiB of blocks are not in the table, and had no room before */
	m.p.c.alloc_bytes = 5000 * MIB;
	m.h = (struct snap_heap){ .older_known = true, .older_blocks = 600, .older_bytes = 60 * MIB };
	cr_expect_eq(found(&m, true), 58 * MIB);
	m.p.memory.first_mapped = 70 * MIB;
	cr_expect_eq(found(&m, true), 0);
	m.p.memory.first_mapped = 2 * MIB;
	m.h.older_unsure_blocks = 200;
	cr_expect_eq(found(&m, true), 0, "what changed while it was read is no proof");
	m.h.older_unsure_blocks = 0;
	m.p.memory.heap_grown = 20 * MIB;
	cr_expect_eq(found(&m, true), 20 * MIB, "no more than it grew by");
	/* blocks of an allocator above malloc lie in what that one has */
	m.p.memory.heap_grown = 100 * MIB;
	m.p.memory.sized_blocks = 0;
	m.p.c.peak_bytes = 40 * MIB;
	cr_expect_eq(found(&m, true), 0);
}

Test(unexplained, not_where_something_is_left_out)
{
	struct made m = grown();

	m.p.lost_blocks = 1;
	cr_expect_eq(found(&m, false), 0);
	m = grown();
	m.s.estimated = true;
	cr_expect_eq(found(&m, false), 0);
	m = grown();
	m.s.recording.min_size = 100;
	cr_expect_eq(found(&m, false), 0);
	m = grown();
	m.p.memory.grown_known = false;
	cr_expect_eq(found(&m, false), 0);
	m = grown();
	m.p.memory.heap_grown = 17 * MIB;
	cr_expect_eq(found(&m, false), 0, "6 MiB are not clear enough");
}
