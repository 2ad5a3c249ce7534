// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how words of a target's memory are read. A page that is not there would be brought in for us: from
 * a disk, as memory that the target did not have before, or by a thread of the target that has said to care for
 * such pages itself (userfaultfd); where that one does not, the reader waits for ever.
 *
 * What always holds: only pages are read that pagemap said are there just before. What the target gives back
 * between the two is all that can be brought in.
 */
#include "process/peek.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/util.h"

#define PRESENT_BIT 63
#define RUN_PAGES 512		/* read at once, */
#define GAP_PAGES 32		/* with what lies between two that are wanted: cheaper than another call */

/* How many addresses, from the first on, are read together: none is before the first. */
static size_t run_of(const uint64_t *addrs, size_t n, uint64_t page_bytes, uint64_t *ret_pages)
{
	uint64_t first = addrs[0] / page_bytes, last = first;
	size_t i;

	for (i = 1; i < n; i++) {
		uint64_t page = addrs[i] / page_bytes;

		if (page < last || page - last > GAP_PAGES || page - first >= RUN_PAGES)
			break;
		last = page;
	}
	*ret_pages = last - first + 1;
	return i;
}

static void find_present(int pagemap, const uint64_t *addrs, bool *present, size_t n)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), entries[RUN_PAGES], pages;

	for (size_t at = 0, len; at < n; at += len) {
		uint64_t first = addrs[at] / page_bytes;
		ssize_t got;
		size_t n_got;

		len = run_of(addrs + at, n - at, page_bytes, &pages);
		got = pread(pagemap, entries, pages * sizeof(*entries), (off_t)(first * sizeof(*entries)));
		n_got = got > 0 ? (size_t)got / sizeof(*entries) : 0;
		for (size_t i = at; i < at + len; i++) {
			uint64_t entry = addrs[i] / page_bytes - first;

			/* a word that is aligned is in one page */
			present[i] = addrs[i] % sizeof(uint64_t) == 0 && entry < n_got && entries[entry] >> PRESENT_BIT;
		}
	}
}

size_t peek__words(const struct peek *p, const uint64_t *addrs, uint64_t *words, size_t n)
{
	struct iovec there[PEEK_MAX], here[PEEK_MAX];
	size_t wanted = 0, at = 0, n_read = 0;
	bool present[PEEK_MAX];

	n = MIN(n, (size_t)PEEK_MAX);
	memset(words, 0, n * sizeof(*words));
	find_present(p->pagemap, addrs, present, n);
	for (size_t i = 0; i < n; i++)
		if (present[i]) {
			there[wanted] = (struct iovec){ (void *)(uintptr_t)addrs[i], sizeof(*words) };
			here[wanted++] = (struct iovec){ words + i, sizeof(*words) };
		}
	while (at < wanted) {
		ssize_t got = process_vm_readv(p->runner, here + at, wanted - at, there + at, wanted - at, 0);
		size_t n_got = got > 0 ? (size_t)got / sizeof(*words) : 0;

		if (got < 0 && errno != EFAULT)
			break;
		n_read += n_got;
		at += n_got;
		/* it stops at what cannot be read */
		if (at < wanted)
			*(uint64_t *)here[at++].iov_base = 0;
	}
	return n_read;
}
