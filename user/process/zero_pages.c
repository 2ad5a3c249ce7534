// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which pages are the kernel's zeros. Memory that was read and never written has them: pagemap says
 * that they are there, but they belong to no process, and RSS does not count them. Their numbers
 * are those of pages of our own that were only read; to see them takes CAP_SYS_ADMIN.
 *
 * What always holds: only a page that two places of ours have in common is taken for one.
 */
#include "process/zero_pages.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/util.h"

#define PFN_MASK ((1ull << 55) - 1)
#define HUGE_BYTES_MAX (1ull << 30)

static uint64_t pfn_of(int pagemap, const volatile char *p, uint64_t page_bytes)
{
	uint64_t word;

	(void)*p;
	if (pread(pagemap, &word, sizeof(word), (off_t)((uintptr_t)p / page_bytes * sizeof(word))) != sizeof(word))
		return 0;
	return word >> 63 ? word & PFN_MASK : 0;
}

/* The mapping stays: the huge one may go, and come back elsewhere, where no process maps it. */
static uint64_t common_pfn(int pagemap, uint64_t bytes, int advice, uint64_t page_bytes)
{
	char *p = mmap(NULL, 3 * bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;
	uint64_t pfn = 0;

	if (p == MAP_FAILED)
		return 0;
	at = p + (bytes - (uintptr_t)p % bytes) % bytes;
	/* without huge pages in the kernel there is nothing to be advised */
	madvise(p, 3 * bytes, advice);
	pfn = pfn_of(pagemap, at, page_bytes);
	if (!pfn || pfn != pfn_of(pagemap, at + bytes, page_bytes)) {
		munmap(p, 3 * bytes);
		return 0;
	}
	return pfn;
}

static uint64_t huge_bytes(void)
{
	_cleanup_free_ char *text = NULL;
	uint64_t n;

	if (read_small_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &text, NULL))
		return 0;
	n = strtoull(text, NULL, 10);
	return n <= HUGE_BYTES_MAX && !(n & (n - 1)) ? n : 0;
}

static void learn(struct zero_pages *z)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), bytes = huge_bytes(), pfn;
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (pagemap < 0)
		return;
	z->page = common_pfn(pagemap, page_bytes, MADV_NOHUGEPAGE, page_bytes);
	pfn = z->page && bytes > page_bytes ? common_pfn(pagemap, bytes, MADV_HUGEPAGE, page_bytes) : 0;
	/* where there are no huge ones it is the small one again */
	if (pfn && pfn != z->page && pfn % (bytes / page_bytes) == 0) {
		z->huge = pfn;
		z->n_huge = bytes / page_bytes;
	}
	close(pagemap);
}

const struct zero_pages *zero_pages__get(void)
{
	static struct zero_pages z;
	static bool learnt;

	if (!learnt)
		learn(&z);
	learnt = true;
	return &z;
}
