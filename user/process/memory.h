/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Memory of another process, of pages that are there. All that malloctrace reads of a process's memory, it reads here.
 *
 * A page that is not there would be brought in for us: from a disk, as memory that the target did not have before, or by a thread of the
 * target that handles such pages itself (userfaultfd); where that one does not, the reader waits for ever.
 */
#ifndef MT_MEMORY_H
#define MT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: not open. A pagemap belongs to one program: it is empty once that memory is gone, by exit or exec. */
struct memory {
	pid_t pid;		/* 0: runner is not replaced when it ends */
	pid_t runner;		/* a thread of it that runs, whose memory is read; 0: mem is */
	int mem;		/* of /proc/PID/, which also shows what the process itself may not read; 0: not open */
	int pagemap;		/* of /proc/PID/ */
	/* what was read so far: */
	uint64_t read_bytes, n_reads;
	uint64_t swapped_bytes;	/* that memory__read_present() left out */
	int failed;		/* -errno: the kernel refused what does not depend on the process's memory */
};

/* mem and pagemap of a thread; -errno. Does nothing if they are open. */
int memory__open(struct memory *m, pid_t runner);
int memory__copy(const struct memory *from, struct memory *ret);	/* descriptors of its own; -errno */
void memory__close(struct memory *m);
#define _cleanup_memory_ __attribute__((cleanup(memory__close)))

/* Bytes from addr on; returns how many: up to the first page that is not there. */
size_t memory__read(struct memory *m, uint64_t addr, void *to, size_t n);
/* n bytes, of which those of pages that are not there are 0. Returns how many were there. */
size_t memory__read_present(struct memory *m, uint64_t addr, void *to, size_t n);
/* bytes bytes at each of n addresses, best in their order; 0 where one of their pages is not there. Returns how many bytes were read. */
size_t memory__read_each(struct memory *m, const uint64_t *addrs, size_t n, void *to, size_t bytes);

/* ---- pages */

#define PAGE_WORD_PRESENT (1ull << 63)
#define PAGE_WORD_SWAPPED (1ull << 62)
#define PAGE_WORD_FILE (1ull << 61)	/* or shared memory: counted as such */
#define PAGE_WORD_GUARD (1ull << 58)	/* is there in order not to be there: no swapped one */
#define PAGE_WORD_EXCLUSIVE (1ull << 56)	/* nobody else maps it; a page of zeros never has it */
#define PAGE_WORD_PFN ((1ull << 55) - 1)

/* The words of pagemap of n pages, from the one of addr on. Returns how many there are; -errno */
ssize_t memory__page_words(const struct memory *m, uint64_t addr, uint64_t *words, size_t n);
bool memory__is_gone(const struct memory *m);

/*
 * The kernel's pages of zeros, which stand for memory that was read and never written: numbers of page frames; 0: not known.
 */
struct zero_pages {
	uint64_t page;
	uint64_t huge, n_huge;	/* the first of so many */
};

/* Learnt the first time. */
const struct zero_pages *zero_pages__get(void);

/* Is this word of pagemap a page that is there, and the process's own? One whose number is not known is. */
static inline uint64_t zero_pages__is_memory(const struct zero_pages *z, uint64_t word)
{
	uint64_t pfn = word & PAGE_WORD_PFN;

	return word >> 63 & !(pfn && (pfn == z->page || pfn - z->huge < z->n_huge));
}

#endif
