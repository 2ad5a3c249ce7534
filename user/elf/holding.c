// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the sum over all files. */
#include "elf/holding.h"

#include <unistd.h>

#include "util/util.h"

/* Parts of the machine's memory: malloctrace is a guest there. The largest browser's debug information has 3 GiB. */
#define ALL_PART 4
#define FILE_PART 8
#define ALL_LEAST (512ull << 20)

static uint64_t held_bytes;	/* of all files, by __atomic builtins: several threads read */

static uint64_t all_max(void)
{
	static uint64_t max;

	if (!max) {
		long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

		max = MAX(pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / ALL_PART : 0, ALL_LEAST);
	}
	return max;
}

uint64_t holding__file_max(void)
{
	return all_max() / (FILE_PART / ALL_PART);
}

bool holding__take(struct holding *h, uint64_t bytes)
{
	uint64_t all;

	if (bytes > holding__file_max() - h->bytes)
		return false;
	all = __atomic_add_fetch(&held_bytes, bytes, __ATOMIC_RELAXED);
	if (all > all_max()) {
		__atomic_fetch_sub(&held_bytes, bytes, __ATOMIC_RELAXED);
		return false;
	}
	h->bytes += bytes;
	return true;
}

void holding__give_back(struct holding *h)
{
	__atomic_fetch_sub(&held_bytes, h->bytes, __ATOMIC_RELAXED);
	h->bytes = 0;
}
