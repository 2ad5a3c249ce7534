// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the names and sentences of losses and edges. What always holds: each has a row here, and a snapshot has them all, also
 * those that are zero.
 */
#include <string.h>

#include "model/life.h"
#include "util/util.h"

/* Those that are counted here, not in the kernel's programs. */
enum {
	LOST_HITS = MT_N_COUNTERS,
	LOST_UNWIND,
	LOST_CODES,
	LOST_POINTS,
	LOST_FILES,
	EDGE_INSIDE,
	N_WORDS
};

/* The JSON key of each counter, and a sentence that follows its number: for one, and for more. */
static const struct counter_words {
	const char *name, *one, *more;
} counter_words[N_WORDS] = {
	[MT_LOST_LIVE_FULL] = { "live_full", "block is in no figure: block table full (--max-live N for more)",
				"blocks are in no figure: block table full (--max-live N for more)" },
	[MT_LOST_STACK_FULL] = { "stack_full",
				 "call has no stack: stack table full (--max-stacks N for more)",
				 "calls have no stack: stack table full (--max-stacks N for more)" },
	[MT_LOST_SITE_FULL] = { "site_full",
				"call has no stack: site table full (--max-stacks N for more)",
				"calls have no stack: site table full (--max-stacks N for more)" },
	[MT_LOST_SCRATCH_BUSY] = { "scratch_busy", "stack could not be walked: all buffers were in use",
				   "stacks could not be walked: all buffers were in use" },
	[MT_LOST_INFLIGHT_FULL] = { "inflight_full", "call was not seen: no room for more threads, or calls that signals have interrupted",
				    "calls were not seen: no room for more threads, or calls that signals have interrupted" },
	[MT_LOST_PROCESS_FULL] = { "process_full", "time the process table was full: what a process did until it had an entry is in no figure",
				   "times the process table was full: what a process did until it had an entry is in no figure" },
	[MT_LOST_RING_FULL] = { "ring_full", "message about a thread or process was lost: malloctrace was too slow",
				"messages about threads and processes were lost: malloctrace was too slow" },
	[MT_LOST_MISSED_FREE] = { "missed_free", "block ended because another one appeared at its address: its free was not seen",
				  "blocks ended because another one appeared at their address: their free was not seen" },
	[MT_LOST_MISSED_RETURN] = { "missed_return", "call of a function whose return cannot be probed safely: its block is in no figure",
				    "calls of functions whose return cannot be probed safely: their blocks are in no figure" },
	[MT_LOST_UNREADABLE] = { "unreadable", "result could not be read from the target's memory: its block is in no figure",
				 "results could not be read from the target's memory: their blocks are in no figure" },
	[MT_LOST_FREES_FULL] = { "frees_full", "free is in no row of --free-stacks: no room for more (--max-stacks N for more)",
				 "frees are in no row of --free-stacks: no room for more (--max-stacks N for more)" },
	[MT_LOST_HEAP_DESTROYED] = { "heap_destroyed",
				     "heap was destroyed with all its blocks at once (mi_heap_destroy, jemalloc's arena.N.destroy and reset): those still count as live",
				     "heaps were destroyed with all their blocks at once (mi_heap_destroy, jemalloc's arena.N.destroy and reset): those still count as live" },
	[MT_LOST_MAPPING_BUSY] = { "mapping_busy", "call that maps or unmaps was skipped: another thread was busy with the table for too long",
				   "calls that map or unmap were skipped: another thread was busy with the table for too long" },
	[MT_LOST_BORROWED] = { "borrowed_unseen",
			       "process that shares a target's memory (vfork, CLONE_VM) used it unseen: made during the trace, or longer-lived than the target; use -f",
			       "processes that share a target's memory (vfork, CLONE_VM) used it unseen: made during the trace, or longer-lived than the target; use -f" },
	[MT_LOST_MISSED_ENTRY] = { "missed_entry",
				   "call did not begin where its allocation function does (the program jumped past the probe): its block is in no figure",
				   "calls did not begin where their allocation functions do (the program jumped past the probe): their blocks are in no figure" },
	[MT_LOST_EVENTS_FULL] = { "events_full", "call has no line of --events: lines could not be written fast enough (it is in all figures)",
				  "calls have no line of --events: lines could not be written fast enough (they are in all figures)" },
	[MT_LOST_WITHIN_UNSURE] = { "within_unsure",
				    "call is in no figure: its stack has no known end, so an inlined copy of a function of --within may be on it",
				    "calls are in no figure: their stacks have no known end, so inlined copies of a function of --within may be on them" },
	[MT_EDGE_RETURN_ONLY] = { "return_only", "call was under way when the trace began", "calls were under way when the trace began" },
	[MT_EDGE_ABANDONED] = { "abandoned", "call never returned (longjmp, an exception)",
				"calls never returned (longjmp, an exception)" },
	[MT_EDGE_DIED_INSIDE] = { "died_inside", "thread ended inside a call", "threads ended inside a call" },
	[MT_EDGE_SIZE_GUESSED] = { "size_guessed", "page fault was interrupted: its size is assumed to be one page or one huge page",
				   "page faults were interrupted: their sizes are assumed to be one page or one huge page" },
	[MT_EDGE_WINDOW] = { "cut_off", "call was under way when a window of --overhead ended",
			     "calls were under way when a window of --overhead ended" },
	[MT_EDGE_OWN_FREE] = { "own_frees", "free was the allocator's own, not of a block of the program",
			       "frees were the allocator's own, not of blocks of the program" },
	[MT_EDGE_PYTHON_UNNAMED] = { "python_unnamed", "time there was no room for frames of Python, or for the name of one",
				     "times there was no room for frames of Python, or for the name of one" },
	[MT_EDGE_BORROWED] = { "borrowed_unclear",
			       "process that shares a target's memory (vfork, CLONE_VM) may have called allocation functions unseen: the kernel does not say whether it did (-f sees it)",
			       "processes that share a target's memory (vfork, CLONE_VM) may have called allocation functions unseen: the kernel does not say whether they did (-f sees them)" },
	[MT_EDGE_RENAMED] = { "renamed_unkept", "time a thread got another name, and its figures under both could not be kept apart: they are under the last one",
			      "times a thread got another name, and its figures under both could not be kept apart: they are under the last one" },
	[LOST_HITS] = { "missed_hits", "probe hit was skipped: a BPF program was already running on that CPU",
			"probe hits were skipped: a BPF program was already running on that CPU" },
	[LOST_UNWIND] = { "unwind_full", "file found no room for its unwind table: stacks through it end early",
			  "files found no room for their unwind tables: stacks through them end early" },
	[LOST_CODES] = { "codes_full", "probed function found no room for its code range: whether a call is made inside of it is guessed",
			 "probed functions found no room for their code ranges: whether a call is made inside of them is guessed" },
	[LOST_POINTS] = { "unprobed_points", "probe point was not in place in a process, for a while at least: calls there were not seen",
			  "probe points were not in place in a process, for a while at least: calls there were not seen" },
	[LOST_FILES] = { "unread_file", "mapped file could not be read; its allocations are not counted",
			 "mapped files could not be read; their allocations are not counted" },
	[EDGE_INSIDE] = { "inside_at_end", "call was under way when the trace ended",
			  "calls were under way when the trace ended" },
};

const char *counter__says(const char *name, uint64_t n)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (!strcmp(counter_words[i].name, name))
			return n == 1 ? counter_words[i].one : counter_words[i].more;
	return name;
}

static struct snap_counter counted(size_t counter, uint64_t n)
{
	const struct counter_words *w = &counter_words[counter];

	return (struct snap_counter){ w->name, n == 1 ? w->one : w->more, n };
}

void snapshot__count_losses(struct snapshot *s, const struct model *m, const struct cut *cut,
			     const struct snapshot_info *info)
{
	struct snap_counter *c = snapshot__alloc(s, N_WORDS, sizeof(*c));
	size_t n = 0;

	s->losses = c;
	for (; n < MT_N_LOSSES; n++)
		c[n] = counted(n, cut->counters[n]);
	c[n++] = counted(LOST_HITS, cut->missed_hits);
	c[n++] = counted(LOST_UNWIND, info->unwind_full);
	c[n++] = counted(LOST_CODES, info->codes_full);
	c[n++] = counted(LOST_POINTS, info->n_unprobed);
	c[n++] = counted(LOST_FILES, s->n_unread);
	s->n_losses = n;
	for (size_t i = 0; i < n; i++)
		s->losses_total += c[i].n;
	s->edges = c + n;
	for (size_t i = MT_N_LOSSES; i < MT_N_COUNTERS; i++)
		c[n++] = counted(i, cut->counters[i] + (i == MT_EDGE_PYTHON_UNNAMED ? info->n_codes_unkept :
							   i == MT_EDGE_RENAMED		? m->n_renamed_unkept : 0));
	c[n++] = counted(EDGE_INSIDE, s->ended ? cut->n_inside : 0);
	s->n_edges = c + n - s->edges;
}
