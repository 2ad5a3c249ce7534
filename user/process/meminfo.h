/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The memory of the machine, as the kernel accounts for it. */
#ifndef MT_MEMINFO_H
#define MT_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>

struct meminfo {
	uint64_t total_bytes, available_bytes, free_bytes, swap_bytes, swap_free_bytes;
	bool has_pressure;	/* the kernel accounts for it */
	double some_pct, full_pct;	/* of the last ten seconds */
};

/* What cannot be read is 0. */
void meminfo__read(struct meminfo *ret);
/* The same by the texts of /proc/meminfo and /proc/pressure/memory, for the tests; the latter may be NULL. */
void meminfo__parse(const char *memory, const char *pressure, struct meminfo *ret);

#endif
