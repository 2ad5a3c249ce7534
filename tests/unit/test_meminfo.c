// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The machine's memory, by texts as kernels write them and as none does. */
#include <criterion/criterion.h>

#include "process/process.h"

Test(meminfo, what_kernels_write)
{
	struct meminfo m;

	meminfo__parse("MemTotal:       24643328 kB\nMemFree:        22265676 kB\nMemAvailable:   24094152 kB\nBuffers:           20384 kB\n"
		       "SwapCached:            9 kB\nSwapTotal:       1048576 kB\nSwapFree:        1048000 kB\n", &m);
	cr_expect_eq(m.total_bytes, 25234767872ull);
	cr_expect_eq(m.free_bytes, 22800052224ull);
	cr_expect_eq(m.available_bytes, 24672411648ull);
	cr_expect_eq(m.swap_bytes, 1073741824ull);
	cr_expect_eq(m.swap_free_bytes, 1073152000ull);
}

Test(meminfo, what_is_not_there_is_not_known)
{
	struct meminfo m;

	meminfo__parse("MemTotal: 99999999999999999999 kB\nXMemFree: 7 kB\nMemAvailable:\n", &m);
	cr_expect_eq(m.total_bytes, 0);
	cr_expect_eq(m.free_bytes, 0);
	cr_expect_eq(m.available_bytes, 0);
}

Test(meminfo, of_this_machine)
{
	struct meminfo m;

	meminfo__read(&m);
	cr_expect_gt(m.total_bytes, 1 << 20);
	cr_expect_leq(m.free_bytes, m.total_bytes);
	cr_expect_leq(m.available_bytes, m.total_bytes);
}
