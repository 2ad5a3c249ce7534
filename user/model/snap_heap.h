/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What was found in a process's memory, read from outside: the blocks that its allocator has, traced or
 * not, what is free, what no pointer reaches, and the rest of what is resident. Part of a snapshot; all
 * strings are clean and the snapshot's own. Bytes of blocks are usable ones (malloc_usable_size).
 */
#ifndef MT_SNAP_HEAP_H
#define MT_SNAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* What blocks are made of: a C++ class, or what their bytes look like. */
struct snap_share {
	const char *name;	/* "app::Session"; "text", "pointers", "zeros", "other" where no class is known */
	double share;		/* of the blocks that were looked at */
	bool is_class;
};

struct snap_type {
	const char *name;
	uint64_t blocks, bytes;
	bool is_class;
	bool estimated;		/* scaled up from the sample of each size */
};

/* Blocks of one usable size; large ones are in ranges. */
struct snap_class {
	uint64_t usable;	/* the size, or where the range begins */
	uint64_t below;		/* where the range ends; 0: this size alone */
	uint64_t blocks, bytes;
	uint64_t unreached_blocks, unreached_bytes;	/* hold if snap_heap.unreached.scans */
	uint64_t sampled;	/* blocks that types were looked up of */
	const struct snap_share *types;	/* the largest share first */
	size_t n_types;
};

struct snap_arena {
	bool main;
	uint64_t blocks, bytes;		/* in use; blocks with a mapping of their own are in none */
	uint64_t free_bytes;		/* all of the below */
	uint64_t tcache_bytes, bins_bytes, top_bytes;
	uint64_t trimmable_bytes;	/* of free_bytes: whole pages, which malloc_trim gives back */
	uint64_t largest_free_bytes;
	uint64_t mapped_bytes;		/* what the arena has from the kernel */
};

/* Blocks that no pointer was found to, in all of these scans. */
struct snap_unreached {
	uint32_t scans;			/* 0: not looked for */
	uint64_t blocks, bytes;
	uint64_t direct_blocks, direct_bytes;	/* of these: no other unreached block points to them either */
	const struct snap_class *classes;
	size_t n_classes;
	const struct snap_type *types;
	size_t n_types;
	uint64_t root_bytes;		/* memory that was searched for pointers beside the heap */
	uint64_t swapped_bytes;		/* not searched: it is on the disk, and pointers there are not known */
	uint64_t passed_over_bytes;	/* not searched: too much address space for a kernel before 6.7 */
	uint64_t unread_shared_bytes;	/* not searched: shared memory and files that the process does not map at the moment */
	bool async_io;			/* not searched: requests of Linux AIO and io_uring, which the kernel may have in hand */
	bool kept_in_part;		/* not searched: some of what the kernel keeps (epoll, timers) */
	const char *registers;		/* "read" without a stop, "stopped" for it, "read in part", "not read" */
	uint64_t unread_threads;	/* registers of these were not read; 0: of all of them, or of none */
};

static inline bool snap_unreached__lacks_registers(const struct snap_unreached *u)
{
	return u->unread_threads || (u->registers && !strcmp(u->registers, "not read"));
}

/* May pointers lie where nobody searched? Then what is unreached is perhaps leaked, not probably. */
static inline bool snap_unreached__is_partial(const struct snap_unreached *u)
{
	return u->swapped_bytes || u->passed_over_bytes || u->unread_shared_bytes || u->async_io ||
	       u->kept_in_part || snap_unreached__lacks_registers(u);
}

/* From where blocks are first reached. */
enum root_kind { ROOT_GLOBAL, ROOT_STACK, ROOT_THREAD, ROOT_MAPPING, N_ROOT_KINDS };

struct snap_root {
	enum root_kind kind;	/* "global", "stack", "thread", "mapping" in files */
	const char *name;	/* the variable; the thread; the mapping's file, or what it is */
	const char *module;	/* of a variable: the file's path; NULL: none */
	uint64_t blocks, bytes;
};

/* Memory of a process that is not the allocator's, so that resident memory adds up. */
enum part_kind { PART_HEAP, PART_STACK, PART_GLOBAL, PART_TLS, PART_CODE, PART_FILE, PART_SHARED, PART_ANON, PART_OTHER, N_PART_KINDS };

struct snap_part {
	enum part_kind kind;	/* "heap", "stack", "global", "tls", "code", "file", "shared", "anonymous", "other" in files */
	const char *name;	/* a thread's name; a variable; a file; "(the rest)" of what is not listed */
	const char *module;	/* of a variable: the file's path; NULL: none */
	int tid;		/* of a stack, and of what is a thread's; else 0 */
	uint64_t mapped_bytes, resident_bytes, swapped_bytes;
	uint64_t deepest_bytes;	/* of a stack: how much was ever used, by its touched pages; else 0 */
	const uint32_t *stack;	/* --mmap: places of the mmap's stack; NULL: not seen */
	uint32_t n_stack;
	uint64_t addr;		/* of anonymous memory: where it begins; else 0 */
};

/* A live block, for --view blocks. */
struct snap_block {
	uint64_t addr, bytes;
	uint32_t site;		/* index into sites + 1; 0: older than the trace, or there was none */
	uint64_t age_ns;	/* 0: not known */
	int tid;		/* the thread that allocated it; 0: not known */
	const char *type;	/* NULL: not looked at */
	enum { REACH_UNKNOWN, REACH_REACHED, REACH_UNREACHED, REACH_INDIRECT } reach;
};

struct snap_heap {
	uint32_t process;	/* index into processes */
	/*
	 * NULL: all below holds. Else why there is no census ("heap layout not recognised: ..."), and nothing but the rest of
	 * resident memory holds; in a trace also what is said of its own blocks: unreached, roots, list
	 */
	const char *refused;
	const char *allocator;	/* "glibc"; of others whose blocks were traced: the file's name */
	const char *other_allocator;	/* beside glibc, whose blocks are all that was found: "jemalloc"; NULL: none that is known */
	uint64_t at_ns;		/* when, since the trace's start; 0: there is none */
	uint64_t looked_ns;	/* how long it took */
	uint64_t paused_ns;	/* it was stopped for so long; 0: not at all */
	uint64_t rss_bytes;
	uint64_t blocks, bytes;	/* in use */
	uint64_t mapped_blocks, mapped_bytes;	/* of these, with a mapping of their own */
	uint64_t free_bytes, tcache_bytes, bins_bytes, top_bytes, trimmable_bytes;
	/* resident part of free_bytes: what malloc_trim has given back already is not in it */
	uint64_t free_resident_bytes;
	uint64_t unsure_blocks;	/* may be wrong, because the heap changed while it was read: at most */
	bool rested;		/* it did not change: it is damaged, or threads stand within malloc */
	uint64_t swapped_bytes, broken_bytes, passed_over_bytes;	/* skipped */
	bool search_interrupted;	/* for pointers: nothing came of it */
	bool sites_unknown;	/* in a trace that leaves blocks out by chance: it is not known which sites' blocks are unreached */
	/* in a trace: blocks that are older than it. holds if older_known */
	bool older_known;
	uint64_t older_blocks, older_bytes;
	uint64_t older_unsure_blocks;	/* at most so many of these may be younger */
	uint64_t older_unreached_blocks, older_unreached_bytes;
	const struct snap_class *older_classes;
	size_t n_older_classes;
	const struct snap_type *older_types;
	size_t n_older_types;

	const struct snap_arena *arenas;
	size_t n_arenas;
	const struct snap_class *classes;	/* by size */
	size_t n_classes;
	const struct snap_type *types;		/* the most bytes first */
	size_t n_types;
	struct snap_unreached unreached;
	bool roots_known;			/* --roots */
	const struct snap_root *roots;		/* the most bytes first */
	size_t n_roots;
	const struct snap_part *parts;		/* of resident memory; by kind, the most resident first */
	size_t n_parts;
	uint64_t page_table_bytes, swap_bytes;	/* beside resident memory */
	const struct snap_block *list;		/* --view blocks */
	size_t n_list;
	uint64_t n_list_of;			/* blocks that it was chosen from */
	/* whose it was, where the row of processes is of several; 0, NULL: that row says it */
	pid_t pid;
	const char *comm;
};

struct snapshot;
const struct snap_root *snap_root__copy(struct snapshot *s, const struct snap_root *root);

#endif
