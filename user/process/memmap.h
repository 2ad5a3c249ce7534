/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where the memory of a process is: what it has mapped, and how much of that is resident. */
#ifndef MT_MEMMAP_H
#define MT_MEMMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memmap_resident {
	uint64_t bytes;
	bool estimated;		/* of a huge mapping, some pages stand for all */
};

struct memmap {
	uint64_t heap_mapped, other_mapped;
	struct memmap_resident heap;	/* [heap], and what glibc's arenas may use */
	struct memmap_resident other;	/* anonymous memory beside that */
	struct memmap_resident stack;
	uint64_t file_resident;	/* what is left of rss_bytes */
	uint64_t rss_bytes;
	uint32_t n_arenas;	/* beside the main one */
	size_t n_mappings;
};

/* glibc's heap_info: what stands at the start of each piece of an arena. */
struct memmap_heap_info {
	uint64_t arena, prev, size, usable;
};

struct memmap_mapping {
	uint64_t start, end;
	enum { MEMMAP_NOTHING, MEMMAP_HEAP, MEMMAP_STACK, MEMMAP_ANON, MEMMAP_FILE } kind;
};

/* Takes the text of /proc/PID/maps, in pieces of any length. */
struct memmap_parser {
	struct memmap sums;		/* but for file_resident and rss_bytes */
	/* Reads memory of the process; false: it cannot be read. NULL: no piece of an arena is recognised. */
	bool (*peek)(uint64_t addr, void *to, size_t len, void *arg);
	/* What is resident from start to end is to be added to *to, now or later. */
	void (*resident)(uint64_t start, uint64_t end, struct memmap_resident *to, void *arg);
	void *arg;
	char line[128];		/* as much of one as is ever read */
	size_t len;
};

void memmap_parser__feed(struct memmap_parser *p, const char *text, size_t len);
void memmap_parser__end(struct memmap_parser *p);

/*
 * A reading of a process, which goes on in slices: the more it has mapped, the longer it takes.
 * What it maps and touches in between may be in it or not.
 */
struct memmap_look;

/*
 * About so many pages are a slice: 3 ms, if all of them are there. A line of maps is as much work
 * as MEMMAP_LINE_PAGES.
 */
#define MEMMAP_SLICE_PAGES (1u << 15)
#define MEMMAP_LINE_PAGES 16

/* -errno: it has ended, or may not be read. */
int memmap_look__new(pid_t pid, struct memmap_look **ret);
/* NULL: nothing. */
void memmap_look__free(struct memmap_look *l);
/*
 * Reads pages as long as *pages is above 0, and takes those off: by less than what the kernel is
 * queried for at once it may go below. 1: there is more; 0: that was all; -errno, as above.
 */
int memmap_look__go_on(struct memmap_look *l, int64_t *pages);
/* After a 0 of the above. */
int memmap_look__end(struct memmap_look *l, struct memmap *ret);

/* pagemap of a thread that runs; the caller's to close. -errno */
int memmap__open_pages(pid_t runner);

/* All of it at once. */
int memmap__read(pid_t pid, struct memmap *ret);

#endif
