/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A snapshot: everything that was known at one moment, frozen. Views and
 * exports take a `const struct snapshot *` and nothing else, so that a live
 * view, a saved profile and a golden test run the same code.
 *
 * All strings in it are clean (no control characters) and live as long as the
 * snapshot: in its arena, or with an owner that outlives it (the symbol cache).
 */
#ifndef MT_SNAPSHOT_H
#define MT_SNAPSHOT_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi_sites.h"
#include "model/snap_heap.h"
#include "recording/recording.h"

struct counters {
	uint64_t alloc_calls, alloc_bytes;
	uint64_t free_calls, free_bytes;
	uint64_t live_blocks, live_bytes;
	uint64_t peak_bytes;
	uint64_t realloc_calls, temp_calls, failed_calls, unknown_frees;
};

/*
 * Which counters hold: not every mode records all of them. What is reported beside
 * a counter goes with it: ages with live_blocks, a site's share of the peak with peak_bytes.
 */
enum counter_bit {
	HAS_ALLOC_CALLS = 1 << 0,
	HAS_ALLOC_BYTES = 1 << 1,
	HAS_FREE_CALLS = 1 << 2,
	HAS_FREE_BYTES = 1 << 3,
	HAS_LIVE_BLOCKS = 1 << 4,
	HAS_LIVE_BYTES = 1 << 5,
	HAS_PEAK_BYTES = 1 << 6,
	HAS_REALLOC_CALLS = 1 << 7,
	HAS_TEMP_CALLS = 1 << 8,
	HAS_FAILED_CALLS = 1 << 9,
	HAS_UNKNOWN_FREES = 1 << 10,
	HAS_COUNTERS = (1 << 11) - 1,
	/* no counter: pointers to blocks were searched for (--reachable); set by snapshot__set_heaps() */
	HAS_UNREACHED = 1 << 11,
	/* nor is this: each free was seen when it happened, so lifetimes are known, and which thread freed */
	HAS_LIFETIMES = 1 << 12,
	HAS_ALL = HAS_COUNTERS | HAS_LIFETIMES,	/* of --mode full */
	HAS_ANY = HAS_ALL | HAS_UNREACHED,
};

/* One standard deviation of an estimated counter, INFINITY: not known; all 0 where nothing was estimated. */
struct std_error {
	double alloc_calls, alloc_bytes, live_blocks, live_bytes, peak_bytes;
};

struct line {			/* one function at a place; several where functions were inlined */
	const char *function;	/* demangled; NULL: no name */
	const char *file;	/* NULL: no source known */
	uint32_t line;		/* 0: unknown */
	bool inlined;
	const char *dir;	/* that file is named from; NULL: it is a whole path, or that is not known */
	bool split;		/* calls that were inlined here are not known: a .dwo file has them */
};

/* Some lines of a source file, as a screen shows them. */
struct snap_source {
	const char *file, *dir;	/* as of struct line */
	bool newer;		/* was written to after the program was */
	uint32_t from, n;	/* the first line, and how many; 0: none */
	const char *const *text;
	const char *why;	/* there is none: why not */
};

struct snap_module {
	const char *path;	/* "[vdso]" and the like for what is no file */
	const char *build_id;	/* NULL: none */
	const void *handle;	/* whose it is while it is traced; views do not use it */
};

struct place {			/* a return address, once per snapshot */
	int module;		/* index into modules, -1: in no known mapping */
	uint64_t offset;	/* ELF virtual address in the module; the raw address without one */
	bool resolved;		/* lines hold; else names were not requested */
	uint16_t n_lines;
	const struct line *lines;	/* innermost first: inlined ones, then the function itself */
};

/* --mode growth: what a site's bytes are. Resident memory and address space are never added up. */
enum growth_kind { GROWTH_NONE, GROWTH_FAULT, GROWTH_BRK, GROWTH_MMAP, GROWTH_N_KINDS };

struct growth {
	uint64_t calls[GROWTH_N_KINDS], bytes[GROWTH_N_KINDS];
};

/* Bytes that an allocator sets aside for a block, also where fewer or none were requested: glibc 32, others 8 or 16. */
#define BLOCK_LEAST 16

/* What live blocks take at least: more than was requested where that is little, and 0 only where none is live. */
static inline uint64_t counters__taken(const struct counters *c)
{
	return c->live_bytes > c->live_blocks * BLOCK_LEAST ? c->live_bytes : c->live_blocks * BLOCK_LEAST;
}

struct snap_point {
	uint64_t t_ns, live_bytes, live_blocks, alloc_calls, rss_bytes;
	uint64_t swap_bytes, hugetlb_bytes;	/* which RSS does not count */
	uint64_t file_bytes, table_bytes;	/* of RSS: pages of files; page tables, which it does not count */
};

/* Where live bytes are going, and what that means; all 0 as long as nothing is known. */
struct trend {
	const char *verdict;	/* "leak", "suspect", "growing", "steady", "draining", "new"; NULL: none yet */
	const char *why;	/* the figures that led there, in one line; NULL with it */
	double growth_bytes_per_s;	/* holds if known */
	bool known;
	bool why_unreached;	/* the reasons say how many blocks no pointer was found to */
};

#define MOVES_LONGEST_MAX 65535	/* of moves.longest: so often, or more */

struct snap_age {		/* live blocks by age */
	uint64_t below_ns;	/* UINT64_MAX: all the rest */
	uint64_t blocks, bytes;
	uint64_t from_ns;	/* ranges of ended processes may overlap others */
};

/*
 * --free-stacks: frees of a site's blocks, by place and by thread. In a raw snapshot (cut.h) both numbers are those of the kernel's
 * tables, and there is no name.
 */
struct snap_free {
	uint32_t site;		/* index into sites: whose blocks */
	uint32_t where;		/* index into free_sites */
	int tid;		/* the thread that freed them; 0: not known */
	const char *thread;	/* its name; NULL: unknown */
	uint64_t calls, bytes;
	uint64_t cross_calls;	/* of calls: of blocks that another thread allocated */
	uint64_t lifetime_sum_ns;
};

/* --tag: the innermost of these functions on a stack owns the allocation. Or a thread's name. */
struct snap_tag {
	const char *name;	/* as it was requested; of a thread: its name */
	bool thread;		/* a thread's name, where no function is tagged */
	uint64_t entered;	/* how often the function was called; UINT64_MAX: not known */
};

/* --mark: a function was called. */
struct snap_mark {
	const char *name;	/* as it was requested */
	uint32_t number;	/* 1, 2, ... of this name, those that were not kept included */
	uint32_t process;	/* index into processes */
	int tid;
	uint64_t t_ns;		/* since the trace's start */
	uint64_t live_bytes;	/* of the process, then */
	bool whole;		/* a snapshot was taken at that instant; the four below hold, over all processes */
	uint64_t alloc_calls, alloc_bytes, live_blocks, all_live_bytes;
	uint64_t heap_read_at_ns;	/* --mode leak: of when live figures are, since the trace's start; 0: of then, or no heap was read yet */
	uint64_t unsure_blocks;	/* of live_blocks, as of a snapshot */
};

#define SNAPSHOT_MAX_TAKEN 1024

/* A snapshot that was taken of the same trace before this one. */
struct snap_taken {
	uint64_t t_ns;		/* since the trace's start */
	uint32_t number;	/* in the names of its files; 0: none was written */
	const char *why;	/* as snapshot.trigger was; NULL: SIGUSR1 */
};

/* --when: a condition, and what became of it. For the live view: files have snap_taken. */
struct snap_when {
	const char *text;	/* as it was given */
	uint64_t fired;		/* how often it fired */
	uint64_t last_ns;	/* when it last did, since the trace's start */
	const char *why;	/* what it said then; NULL: nothing yet */
};

/* Where the resident memory of a process is; of one that has ended, where it was when it was last read. */
struct snap_memory {
	bool known;
	uint64_t seen_ns;	/* when it was read, since the trace's start */
	uint64_t rss_bytes;	/* then */
	uint64_t heap_mapped, heap_resident;	/* [heap] and the allocator's arenas */
	/* other anonymous mappings: large blocks, stacks of threads, the program's own */
	uint64_t large_mapped, large_resident;
	uint64_t file_resident;	/* the rest of RSS: code, libraries, mapped files, shared memory */
	uint64_t shmem_resident;	/* of file_resident: shared memory, which has no file on a disk */
	uint64_t stack_resident;	/* of the first thread */
	uint32_t n_arenas;	/* glibc's, beside [heap] */
	/*
	 * of a mapping beyond 4 GiB some pages stand for all: what is resident, and what that grew
	 * by, is estimated; of files if one of these is
	 */
	bool heap_estimated, large_estimated;
	/* what these grew by since the trace began; holds if grown_known */
	bool grown_known;
	int64_t heap_grown, large_grown, file_grown, shmem_grown;
	/* when the trace began: all anonymous memory, and what of the heap was not resident. Not in files */
	uint64_t first_mapped, first_untouched;
	uint64_t unexplained_bytes;	/* of what the heap grew by, at least: see heaps.h */
	/*
	 * glibc's live blocks, by their headers: how many were read; what was requested and what
	 * was set aside for all of them
	 */
	uint64_t sized_blocks, sized_requested, sized_usable;
	uint64_t sized_apart;	/* of sized_usable: blocks with a mapping of their own, outside of the heap */
	bool sized_all;		/* all live blocks were read, not a sample that stands for them */
};

/* No call of what is probed was seen of a process. */
struct snap_blind {
	bool is;
	bool idle;		/* it used no CPU time and did not grow: there was nothing to see */
	uint64_t cpu_ns;	/* of the process, while it was traced, in the kernel's ticks */
	int64_t grown_bytes;	/* its private memory, where that was read; else what its RSS and swap did */
	const char *probed;	/* in words: how many functions in which files; NULL where idle */
	/* what looks like an allocator and is not probed, with the options that would; NULL: nothing does */
	const char *candidates;
};

struct cut_age;
struct site_look;

/*
 * A site, from the kernel's tables to what is shown. A raw snapshot (cut.h) has rows without what model/ finds out; there times are on
 * the programs' clock, c has no live_blocks and live_bytes, and unreached blocks may be more than are live.
 */
struct snap_site {
	uint32_t process;	/* index into processes */
	const char *function;	/* the allocation function */
	uint64_t evicted_stacks;	/* it is the sum of so many, which held nothing, or little, when others needed their room; 0: it is a site */
	uint32_t n_stacks;	/* of a row that several sites were merged into; 0 or 1: it has one stack */
	enum growth_kind growth;
	struct counters c;	/* unknown_frees is 0: a free has no site */
	struct std_error error;
	bool peak_at_most;	/* c.peak_bytes may be less: it is a sum of several peaks, which need not have been at one time */
	uint64_t at_peak_bytes;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns;	/* since the trace's start */
	uint64_t most_calls_per_s;	/* allocations in the second that had most of them; 0: not measured */
	uint64_t oldest_ns;	/* age of the oldest live block, 0 if none */
	bool oldest_at_most;	/* it may be less: part of the block table has not been read for a while, see scan__oldest_born_ns() */
	uint64_t lifetime_sum_ns;	/* over freed blocks */
	uint64_t older_blocks, older_bytes;	/* live blocks older than recording.older_ns */
	uint64_t cross_frees;	/* of free_calls: by another thread than the one that allocated */
	uint64_t guessed_calls;	/* of page faults: those whose size is a guess */
	union {
		struct mt_rare rare;	/* as the programs count it; all 0 where they do not */
		struct mt_moves moves;	/* what realloc did; all 0 where it was never called */
	};
	const struct snap_age *ages;	/* holds if snapshot.scanned */
	size_t n_ages;
	uint32_t tag;		/* index into tags + 1; 0: none */
	int tid;		/* --by thread: whose it is; else 0 */
	const char *thread;	/* that one's name; NULL: unknown */
	int64_t since_baseline_bytes;	/* what is live now less what was then; holds if snapshot.baseline */
	struct trend trend;
	const struct snap_point *history;	/* of live_bytes; the other fields are 0 */
	size_t n_history;
	uint32_t n_stack;
	const uint32_t *stack;	/* places; the caller of the allocation function first */
	uint8_t end;		/* enum mt_end */
	/* of its live blocks, those that no pointer was found to; hold if the process's heap was searched (heaps, unreached.scans) */
	uint64_t unreached_blocks, unreached_bytes;
	uint64_t looked_blocks;	/* that were there when they were searched for; others have come since */
	const struct snap_share *types;	/* what its live blocks are, the largest share first */
	size_t n_types;
	uint64_t sampled_blocks;	/* of its live blocks, those that types were looked up of */
	uint64_t unread;	/* fields that the file which it was read from did not have: see struct fields */
	const struct snap_root *held;	/* --roots: from where most of its bytes are reached; NULL: not known */

	/* While it is traced; views do not use these */
	/*
	 * its number in the kernel's tables, which is given again; of a row of stacks that were given up one that no table has, the
	 * same for all such rows of a process
	 */
	uint32_t number;
	uint32_t proc, func;	/* numbers in the kernel's tables */
	uint32_t named_tid;	/* --by thread: MT_NAMED_TID() of whose it is; else 0 */
	uint64_t hash;		/* of process, function and stack; 0: spare */
	const uint64_t *frames;	/* in the kernel's table: holds until the trace is closed */
	uint32_t n_frames;
	/* when this stack was first met, by CLOCK_MONOTONIC: the code that it goes through is that of then */
	uint64_t met_ns;
	struct std_error var;	/* variances of its counters, without the peak; all 0 where every event was recorded */
	uint64_t oldest_born_ns;	/* on the programs' clock; 0: no live block seen */
	uint64_t scan_blocks, scan_bytes;	/* of a scan */
	struct cut_age *raw_ages;	/* the collector's: they hold until its next raw snapshot. NULL: none */
	const struct site_look *look;	/* of the one site in it that had the most blocks then; NULL: there was no heap scan */
};

/* The spare site, for what found no room, is of any function. */
#define SITE_FUNC_SPARE MT_MAX_FUNCS

static inline bool site__is_live(const struct snap_site *s)
{
	return s->c.alloc_calls != s->c.free_calls;
}

struct snap_thread {
	int tid;
	const char *comm;
	bool ended;
	struct counters c;	/* what the thread did; live and peak are not kept by thread */
	uint64_t stands_for;	/* 0: for itself; else it is no thread but the sum of so many that ended */
};

struct snap_size {
	uint64_t below;		/* UINT64_MAX: all the rest */
	uint64_t alloc_calls, live_blocks;	/* the latter as far as it is known */
};

struct snap_lifetime {
	uint64_t below_ns;	/* UINT64_MAX: all the rest */
	uint64_t blocks;
};

struct snap_process {
	uint32_t id;		/* 1, 2, ... in order of appearance */
	pid_t pid;
	const char *comm, *exe;
	const char *cgroup;	/* NULL: unknown */
	const char *container, *unit;	/* NULL: none recognised */
	const char *pod;	/* NAMESPACE/NAME, or its uid; NULL: none */
	const char *runtime;	/* its name in model/runtimes.h; NULL: none recognised */
	bool ended;
	uint64_t age_at_attach_ns;	/* how long it had run before it was traced */
	pid_t container_pid;	/* as its own pid namespace sees it, if that is another one; else 0 */
	uint32_t parent;	/* id of the process that forked it, if that was traced; else 0 */
	uint32_t n_members;	/* --by comm, cgroup, none: processes in this row; else 0 */
	uint32_t n_ended;	/* of these, those that have ended */
	uint64_t ended_live_blocks, ended_live_bytes;	/* what those of a row held that have ended, where others of it run */
	int64_t wall_started_ns;	/* since 1970; 0: unknown */
	uint64_t start_ticks;	/* in clock ticks since boot; 0: unknown */
	/* it ran for this long before its allocator was probed, while others were traced already */
	uint64_t unseen_ns;
	uint64_t lost_blocks, lost_stacks;	/* its share of live_full; of stack_full and site_full */
	uint64_t missed_frees;	/* and of missed_free */
	uint64_t n_heaps_unread;	/* --mode leak: 1: its heap was never read; of a row of several: how many of them */
	uint64_t unsure_blocks;	/* at most so many count as live that were freed; UINT64_MAX, while it is traced: any of them may */
	int64_t since_baseline_bytes;	/* as of a site */
	struct trend trend;
	struct counters c;
	struct std_error error;
	struct growth growth;
	uint64_t rss_bytes;	/* last seen; 0: not since it was attached to, before it ended */
	/* the highest of a program that malloctrace started and that has ended; 0: not known */
	uint64_t most_rss_bytes;
	uint64_t rss_at_attach_bytes;
	/* read with RSS, which does not count them: pages in swap, and pages of hugetlbfs */
	uint64_t swap_bytes, swap_at_attach_bytes, hugetlb_bytes, hugetlb_at_attach_bytes;
	/* of RSS: pages of files; and page tables, which it does not count. 0 at attach: not read, as in older files */
	uint64_t file_bytes, file_at_attach_bytes, table_bytes, table_at_attach_bytes;
	struct snap_memory memory;
	uint64_t probe_hits;
	struct snap_blind blind;
	int exit_signal;	/* that ended it; 0: none, or it goes on */
	bool oom_killed;	/* by the kernel, which had run out of memory */
	uint64_t peak_at_ns;	/* since the trace's start */
	uint64_t unread;	/* as of a site */
	const struct snap_thread *threads;
	size_t n_threads;
	const struct snap_point *timeline;
	size_t n_timeline;
	const struct snap_size *sizes;
	size_t n_sizes;
	const struct snap_lifetime *lifetimes;
	size_t n_lifetimes;
	enum { RSS_NOT_JUDGED, RSS_DOES_NOT_GROW, RSS_GROWS } rss_judged;	/* trends.c's: each of its sites asks */

	/* While it is traced; views do not use these */
	uint32_t proc;		/* its number in the kernel's tables */
	uint32_t parent_proc;	/* that of the process instance that forked it; 0: not traced */
	uint64_t began_ns;	/* by the programs' clock; 0: when it began does not matter, as its age says all */
	/*
	 * when it was started, on CLOCK_MONOTONIC, which nobody sets; before its beginning, perhaps, as that stands still while a
	 * machine sleeps
	 */
	int64_t started_ns;
};

struct snap_probe {
	const char *object, *build_id;
	const char *const *functions;
	size_t n_functions;
	enum recording_size size;	/* of its blocks */
	bool frees_probed;	/* --mode leak: they are, because nobody else would tell which of its blocks are in use */
};

struct snap_counter {		/* a named way to lose something */
	const char *name;	/* the JSON key */
	const char *says;	/* one sentence for a person, e.g. "blocks are in no figure: block table full (--max-live N for more)" */
	uint64_t n;
};

/* What --filter and its like left out; these sites are in all totals. */
struct snap_hidden {
	const char *by;		/* the options, in words; NULL: nothing was requested */
	uint64_t n_sites;
	uint64_t alloc_calls, alloc_bytes, live_blocks, live_bytes;	/* as far as they are known */
};

/* The memory of the machine, where all of its processes are traced; all 0 else. */
struct snap_machine {
	bool known;
	uint64_t total_bytes, available_bytes, free_bytes;
	uint64_t swap_bytes, swap_free_bytes;
	uint64_t rss_bytes;	/* of the traced processes; what they share is in it more than once */
};

/* The sentence that goes with a counter's name; the name itself, if it is not known here. */
const char *counter__says(const char *name, uint64_t n);

struct snapshot {
	struct obstack arena;

	const char *version, *kernel, *arch;
	const char *host;	/* its name; NULL: unknown */
	const char *boot_id;	/* which of its boots; NULL: unknown */
	const char *combined;	/* of several profiles: what became of processes that are in several of them; NULL: none is */
	const char *by;		/* --by: what rows are kept apart by */
	struct recording recording;	/* free_stacks: free_sites and frees hold */
	double observed_share;	/* of the time; below 1 with --overhead */
	/* --overhead by turns: processes that were selected when it was taken, and that were ever watched; 0: all were watched all the time */
	uint64_t n_selected, n_watched;
	uint64_t watched_cpu_ns, machine_cpu_ns;	/* then, too: what those that were watched used, and all; since the trace began */
	bool estimated;		/* by samples, or from part of the time: figures are scaled */
	unsigned int known;	/* enum counter_bit: the others are 0 and mean nothing */
	uint64_t duration_ns;
	uint64_t paused_ns;	/* of it, without probes, as a program ran that translates code */
	uint64_t n_unfollowed;	/* processes that the targets started, and that were not traced: without -f */
	uint64_t n_left_out;	/* processes, and programs that processes began, which the user may not look into: not traced */
	uint64_t n_unread;	/* mapped files that were not read: no more could be open at a time, or their readers failed */
	struct heap_reading {	/* --mode leak: what is live, and what was freed, is of the last time that heaps were read */
		uint64_t at_ns;		/* when that ended, since the trace began; 0: none was made */
		uint64_t took_ns;
		bool exact_asked;	/* --exact; the figures are exact if unsure_blocks and n_unread are 0 */
		uint64_t paused_ns;	/* how long a process was stopped for it, at most; 0: none was */
		uint64_t unsure_blocks;	/* counted as live, and perhaps freed by then */
		uint64_t n_unread;	/* processes whose heaps were never read */
	} reading;
	int64_t wall_start_ns, wall_now_ns;	/* since 1970 */
	bool ended;		/* the trace is over: this is the last one */
	bool baseline;		/* SIGUSR2 set one: changes count from it */
	uint64_t baseline_ns;	/* since the trace's start */
	const char *baseline_name;	/* another profile, from which changes count; NULL: a moment of this one */

	struct snap_machine machine;

	struct counters totals;
	struct std_error error;	/* of the totals */
	bool scanned;		/* the block table was visited: ages and the two below hold */
	uint64_t scan_blocks, scan_bytes;	/* what it holds; at rest equal to the live totals */
	const struct snap_counter *losses, *edges;
	size_t n_losses, n_edges;
	uint64_t losses_total;
	uint64_t stacks_by_end[5];	/* enum mt_end; distinct stacks */
	uint64_t frames_walked;
	uint64_t probe_hits, target_cpu_ns, tool_cpu_ns;
	uint64_t probe_ns_estimate;	/* of target_cpu_ns; 0: not measured */

	const struct snap_probe *probes;
	size_t n_probes;
	const struct snap_process *processes;
	size_t n_processes;
	/*
	 * of ended processes, what was the least interesting is kept as sums alone: whole
	 * processes, and stacks of others
	 */
	uint64_t n_folded_processes, n_folded_sites;
	struct snap_site *sites;	/* in no order */
	size_t n_sites;
	struct snap_hidden hidden;
	/* what made this snapshot be taken: "mark handle #3", "rss>2G: 2.1 GiB"; NULL: its time */
	const char *trigger;
	const struct snap_taken *taken;	/* in order of time; when there are many, the newest */
	size_t n_taken;
	const struct snap_when *whens;
	size_t n_whens;
	/* --start-on, --stop-on: the function whose call began, or ended, the trace; NULL: none */
	const char *started_on, *stopped_on;
	const char *waiting_for;	/* --start-on: not called yet, nothing was recorded; NULL: it goes on */
	const struct snap_tag *tags;
	size_t n_tags;
	const struct snap_mark *marks;	/* in order of time; when there are many, the newest */
	size_t n_marks;
	uint64_t n_marks_seen, n_marks_whole;	/* all of them; those at which a snapshot was taken */
	/* where blocks were freed: the process, "free" or the like, the stack, and of c the frees, which are sums over all sites */
	const struct snap_site *free_sites;
	size_t n_free_sites;
	const struct snap_free *frees;
	size_t n_frees;
	struct place *places;
	size_t n_places;
	const struct snap_module *modules;
	size_t n_modules;
	const struct snap_heap *heaps;	/* of processes whose memory was looked at; `malloctrace heap` has nothing else */
	size_t n_heaps;
	const struct snap_source *sources;	/* as far as they were read: --embed-source, --view source */
	size_t n_sources;
};

bool snap_source__is_of(const struct snap_source *src, const struct line *l);
uint64_t snapshot__sites_bytes(const struct snapshot *s);	/* what the sites that are in it hold */
/* The text of a line; NULL: it was not read. */
const char *snapshot__source_line(const struct snapshot *s, const struct line *l, uint32_t number);

struct snapshot *snapshot__new(void);
/* A new one with all rows and strings of s, which has to outlive it. */
struct snapshot *snapshot__like(const struct snapshot *s);
void snapshot__free(struct snapshot *s);
void *snapshot__alloc(struct snapshot *s, size_t n, size_t size);	/* zeroed, from the arena; never NULL */
void *snapshot__copy(struct snapshot *s, const void *rows, size_t n, size_t size);	/* of an array; NULL: it has no rows */
const char *snapshot__strdup(struct snapshot *s, const char *str);	/* NULL stays NULL */

bool site__is_arena(const struct snap_site *site);	/* its blocks are arenas of Python's small objects */
/* "page_fault", "brk", "mmap": the site's function; NULL for none */
const char *growth__name(enum growth_kind kind);
enum growth_kind growth__of(const char *function);	/* GROWTH_NONE: such as what found no room */

/* The counters that a mode of --mode records. */
unsigned int counters__of_mode(enum mt_mode mode);
/* And those of them that hold where allocations are left out, or nothing was observed for part of the time. */
unsigned int counters__known(const struct recording *r, double observed_share);

/* ---- metrics: what folded files, trees and flame graphs weigh */
struct metric {
	const char *name;	/* "live-bytes" */
	const char *unit;	/* "bytes", "blocks", "calls" */
	const char *key;	/* its field in files */
	unsigned int needs;	/* enum counter_bit */
	size_t at, error_at;	/* in struct snap_site: a uint64_t, a double; 0: it is never estimated */
	bool (*takes)(const struct snap_site *s);	/* NULL: all; the others weigh nothing */
	double (*value)(const struct snap_site *s);	/* not NULL: an order of rows alone, by this, the most first; NAN comes last */
};
#define METRIC(its_name, its_unit, its_key, its_needs, member, ...) \
	{ .name = its_name, .unit = its_unit, .key = its_key, .needs = its_needs, .at = offsetof(struct snap_site, member), __VA_ARGS__ }
uint64_t metric__of(const struct metric *m, const struct snap_site *s);
double metric__error(const struct metric *m, const struct snap_site *s);
extern const struct metric metrics[];
extern const size_t n_metrics;
const struct metric *metric__find(const char *name);	/* NULL: no such metric */
const struct metric *metric__preset(unsigned int known);	/* live-bytes, where they are known */

/* ---- how stacks end, by enum mt_end: the JSON key, and words for a person */
#define SNAPSHOT_N_ENDS 5
const char *stack_end__name(unsigned int end);	/* "whole", "unsure", "depth" ... */
const char *stack_end__says(unsigned int end);	/* "no frame pointer" */
/* The same of one site, with what its last frame says about it. */
const char *site__end_says(const struct snapshot *s, const struct snap_site *site);

/* ---- the frames of a stack: a place with inlined functions is several */
struct frame {
	const struct place *place;
	const struct line *line;	/* NULL: no name, no source */
	const char *module;	/* its path; NULL: in no known mapping */
	bool inlined;		/* into the frame after it */
};
size_t place__n_frames(const struct place *p);	/* at least 1 */
struct frame place__frame(const struct snapshot *s, const struct place *p, size_t i);	/* innermost first */
/* What its function is told from others of the same name by: its module; of Python, which is all one, its source file. NULL: unknown */
const char *frame__origin(const struct frame *f);
/* What stands where a stack would; of a site that has none: it found no room, or gave up its room to others. */
#define NO_STACK_NAME "[no stack]"
#define EVICTED_NAME "(evicted)"
static inline const char *site__no_stack(const struct snap_site *site)
{
	return site->evicted_stacks ? EVICTED_NAME : NO_STACK_NAME;
}
size_t site__n_frames(const struct snapshot *s, const struct snap_site *site);
struct frame site__frame(const struct snapshot *s, const struct snap_site *site, size_t at);	/* place NULL: there are fewer */
/*
 * How many processes a row stands for, and how many of them have ended: a group is several, what
 * was folded is one row.
 */
uint64_t process__n(const struct snapshot *s, const struct snap_process *p);
uint64_t process__n_ended(const struct snapshot *s, const struct snap_process *p);
/* What those of a row held that have ended. */
uint64_t process__ended_blocks(const struct snap_process *p);
uint64_t process__ended_bytes(const struct snap_process *p);
uint64_t process__running_bytes(const struct snap_process *p);	/* what the others hold */
/* What runs and what has ended are both in it: the latter is history. */
bool snapshot__has_both(const struct snapshot *s);

#endif
