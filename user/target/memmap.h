/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where the memory of a process is: what it has mapped, and how much of that is resident. */
#ifndef MT_MEMMAP_H
#define MT_MEMMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memmap {
	uint64_t heap_mapped, heap_resident;	/* [heap], and what glibc's arenas may use */
	uint64_t other_mapped, other_resident;	/* anonymous memory beside that */
	uint64_t file_resident, stack_resident;
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
	struct memmap sums;		/* but for file_resident */
	/* Reads memory of the process; false: it cannot be read. NULL: no piece of an arena is recognised. */
	bool (*peek)(uint64_t addr, void *to, size_t len, void *arg);
	uint64_t (*resident)(uint64_t start, uint64_t end, void *arg);	/* bytes of it */
	void *arg;
	char line[128];		/* as much of one as is ever looked at */
	size_t len;
};

void memmap_parser__feed(struct memmap_parser *p, const char *text, size_t len);
void memmap_parser__end(struct memmap_parser *p);

/* -errno: it has ended, or may not be looked into. */
int memmap__read(pid_t pid, struct memmap *ret);

#endif
