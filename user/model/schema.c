// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the tables of fields. What always holds: keys may be added, never renamed. What is derived when
 * it is written (means, growth by kind, frames, tags) is beside its writer and its reader.
 */
#include "model/schema.h"

#include <math.h>
#include <string.h>

#include "bpf/abi.h"
#include "model/heaps.h"
#include "model/schema_rows.h"

/* ---- counters and their errors */

#define COUNTER(name, its_unit, bit) ROW(#name, FIELD_U64, AT(counters, name), .unit = its_unit, .needs = bit, .merge = MERGE_SUM)

FIELDS(counter_fields,
	COUNTER(alloc_calls, UNIT_COUNT, HAS_ALLOC_CALLS),
	COUNTER(alloc_bytes, UNIT_BYTES, HAS_ALLOC_BYTES),
	COUNTER(free_calls, UNIT_COUNT, HAS_FREE_CALLS),
	COUNTER(free_bytes, UNIT_BYTES, HAS_FREE_BYTES),
	COUNTER(live_blocks, UNIT_COUNT, HAS_LIVE_BLOCKS),
	COUNTER(live_bytes, UNIT_BYTES, HAS_LIVE_BYTES),
	COUNTER(peak_bytes, UNIT_BYTES, HAS_PEAK_BYTES),
	COUNTER(realloc_calls, UNIT_COUNT, HAS_REALLOC_CALLS),
	COUNTER(temp_calls, UNIT_COUNT, HAS_TEMP_CALLS),
	COUNTER(failed_calls, UNIT_COUNT, HAS_FAILED_CALLS),
	COUNTER(unknown_frees, UNIT_COUNT, HAS_UNKNOWN_FREES),
);
_Static_assert(HAS_COUNTERS == (1 << ARRAY_SIZE(counter_fields_rows)) - 1, "a row for each counter");

#define ERROR(name, bit) ROW(#name, FIELD_ERROR, AT(std_error, name), .needs = bit, .merge = MERGE_ERROR)

FIELDS(error_fields,
	ERROR(alloc_calls, HAS_ALLOC_CALLS), ERROR(alloc_bytes, HAS_ALLOC_BYTES), ERROR(live_blocks, HAS_LIVE_BLOCKS),
	ERROR(live_bytes, HAS_LIVE_BYTES),   ERROR(peak_bytes, HAS_PEAK_BYTES),
);

#define VARIANCE(name) ROW(#name, FIELD_DOUBLE, AT(std_error, name), .merge = MERGE_SUM)

FIELDS(variance_fields, VARIANCE(alloc_calls), VARIANCE(alloc_bytes), VARIANCE(live_blocks), VARIANCE(live_bytes));

/* What a site's or a process's live bytes did. */
#define TREND(type) \
	ROW("since_baseline_bytes", FIELD_I64, AT(type, since_baseline_bytes), .unit = UNIT_CHANGE, .needs = KNOWN_BASELINE | HAS_LIVE_BYTES, .merge = MERGE_SUM), \
	ROW("growth_bytes_per_s", FIELD_DOUBLE, AT(type, trend.growth_bytes_per_s), .unit = UNIT_GROWTH, .needs = KNOWN_TREND | HAS_LIVE_BYTES), \
	ROW("verdict", FIELD_STR, AT(type, trend.verdict)), \
	ROW("why", FIELD_STR, AT(type, trend.why)), \
	ROW("why_unreached", FIELD_BOOL, AT(type, trend.why_unreached), .empty = EMPTY_IS_ABSENT)

/* ---- sites */

FIELDS(site_names,
	ROW("tid", FIELD_INT, AT(snap_site, tid), .unit = UNIT_ID, .empty = EMPTY_IS_NULL),
	ROW("thread", FIELD_STR, AT(snap_site, thread)),
	ROW("function", FIELD_STR, AT(snap_site, function), .missing = ""),
);

FIELDS_OF(site_fields, AT(snap_site, unread),
	ROW("cross_frees", FIELD_U64, AT(snap_site, cross_frees), .unit = UNIT_COUNT, OR_UNKNOWN, .needs = HAS_LIFETIMES, .merge = MERGE_SUM),
	ROW("guessed_calls", FIELD_U64, AT(snap_site, guessed_calls), .unit = UNIT_COUNT, .needs = KNOWN_FAULT, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("zero_calls", FIELD_U64, AT(snap_site, rare.zero_calls), .unit = UNIT_COUNT,
	    .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("evicted_stacks", FIELD_U64, AT(snap_site, evicted_stacks), .unit = UNIT_COUNT, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("peak_at_most", FIELD_BOOL, AT(snap_site, peak_at_most), .needs = HAS_PEAK_BYTES, .merge = MERGE_ANY, .empty = EMPTY_IS_ABSENT),
	ROW("at_peak_bytes", FIELD_U64, AT(snap_site, at_peak_bytes), .unit = UNIT_BYTES, OR_UNKNOWN, .needs = HAS_PEAK_BYTES, .merge = MERGE_SUM),
	ROW("min_size", FIELD_U64, AT(snap_site, min_size), .unit = UNIT_BYTES, OR_UNKNOWN),	/* of a site without calls it is 0 and means nothing */
	ROW("max_size", FIELD_U64, AT(snap_site, max_size), .unit = UNIT_BYTES, OR_UNKNOWN, .merge = MERGE_MAX),
	ROW("oldest_ns", FIELD_U64, AT(snap_site, oldest_ns), .unit = UNIT_NS, .needs = HAS_LIVE_BLOCKS),
	ROW("oldest_at_most", FIELD_BOOL, AT(snap_site, oldest_at_most), .empty = EMPTY_IS_ABSENT),
	ROW("first_ns", FIELD_U64, AT(snap_site, first_ns), .unit = UNIT_NS, .merge = MERGE_MIN),
	ROW("last_ns", FIELD_U64, AT(snap_site, last_ns), .unit = UNIT_NS, .merge = MERGE_MAX),
	ROW("most_calls_per_s", FIELD_U64, AT(snap_site, most_calls_per_s), .unit = UNIT_PER_S, .needs = HAS_ALLOC_CALLS, .merge = MERGE_MAX, .empty = EMPTY_IS_NULL),
	ROW("older_blocks", FIELD_U64, AT(snap_site, older_blocks), .unit = UNIT_COUNT, OR_UNKNOWN, .needs = HAS_LIVE_BLOCKS, .merge = MERGE_SUM),
	ROW("older_bytes", FIELD_U64, AT(snap_site, older_bytes), .unit = UNIT_BYTES, OR_UNKNOWN, .needs = HAS_LIVE_BLOCKS, .merge = MERGE_SUM),
	ROW("unreached_blocks", FIELD_U64, AT(snap_site, unreached_blocks), .unit = UNIT_COUNT, .needs = HAS_UNREACHED | KNOWN_SEARCHED, .merge = MERGE_SUM),
	ROW("looked_blocks", FIELD_U64, AT(snap_site, looked_blocks), .unit = UNIT_COUNT, .needs = HAS_UNREACHED | KNOWN_SEARCHED, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("sampled_blocks", FIELD_U64, AT(snap_site, sampled_blocks), .unit = UNIT_COUNT, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("unreached_bytes", FIELD_U64, AT(snap_site, unreached_bytes), .unit = UNIT_BYTES, .needs = HAS_UNREACHED | KNOWN_SEARCHED, .merge = MERGE_SUM),
	TREND(snap_site),
);

#define MOVES(name, its_unit, how) ROW(#name, FIELD_U64, AT(mt_moves, name), .unit = its_unit, .merge = how)

FIELDS(move_fields,
	MOVES(calls, UNIT_COUNT, MERGE_SUM),
	MOVES(moved_calls, UNIT_COUNT, MERGE_SUM),
	MOVES(moved_bytes, UNIT_BYTES, MERGE_SUM),
	MOVES(grown_calls, UNIT_COUNT, MERGE_SUM),
	MOVES(grown_bytes, UNIT_BYTES, MERGE_SUM),
	MOVES(shrunk_calls, UNIT_COUNT, MERGE_SUM),
	MOVES(doubled_calls, UNIT_COUNT, MERGE_SUM),
	MOVES(longest, UNIT_COUNT, MERGE_MAX),
);

FIELDS(age_fields,
	ROW("from_ns", FIELD_U64, AT(snap_age, from_ns)),
	ROW("below_ns", FIELD_BOUND, AT(snap_age, below_ns)),
	ROW("blocks", FIELD_U64, AT(snap_age, blocks)),
	ROW("bytes", FIELD_U64, AT(snap_age, bytes)),
);

/* ---- processes */

FIELDS_OF(process_fields, AT(snap_process, unread),
	ROW("id", FIELD_U32, AT(snap_process, id)),
	/* a row of several processes has none */
	ROW("pid", FIELD_INT, AT(snap_process, pid), .unit = UNIT_ID, .empty = EMPTY_IS_NULL),
	ROW("comm", FIELD_STR, AT(snap_process, comm), .missing = ""),
	ROW("exe", FIELD_STR, AT(snap_process, exe), .merge = MERGE_SAME),
	ROW("age_at_attach_ns", FIELD_U64, AT(snap_process, age_at_attach_ns), .unit = UNIT_NS, OR_UNKNOWN, .merge = MERGE_MAX),
	ROW("ended", FIELD_BOOL, AT(snap_process, ended), .merge = MERGE_ALL),
	ROW("exit_signal", FIELD_INT, AT(snap_process, exit_signal), .empty = EMPTY_IS_NULL),
	ROW("oom_killed", FIELD_BOOL, AT(snap_process, oom_killed)),
	ROW("members", FIELD_U32, AT(snap_process, n_members), .unit = UNIT_COUNT, .empty = EMPTY_IS_NULL),
	ROW("ended_live_blocks", FIELD_U64, AT(snap_process, ended_live_blocks), .unit = UNIT_COUNT, .empty = EMPTY_IS_ABSENT),
	ROW("ended_live_bytes", FIELD_U64, AT(snap_process, ended_live_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("cgroup", FIELD_STR, AT(snap_process, cgroup), .merge = MERGE_SAME, .line = 6),
	ROW("container", FIELD_STR, AT(snap_process, container), .merge = MERGE_SAME),
	ROW("pod", FIELD_STR, AT(snap_process, pod), .merge = MERGE_SAME, .empty = EMPTY_IS_ABSENT),
	ROW("unit", FIELD_STR, AT(snap_process, unit), .merge = MERGE_SAME),
	ROW("runtime", FIELD_STR, AT(snap_process, runtime), .merge = MERGE_FIRST,
	    .empty = EMPTY_IS_ABSENT),
	ROW("container_pid", FIELD_INT, AT(snap_process, container_pid), .unit = UNIT_ID, .empty = EMPTY_IS_NULL),
	ROW("parent", FIELD_U32, AT(snap_process, parent), .empty = EMPTY_IS_NULL),
	/* one of unknown start may be the first of several */
	ROW("started", FIELD_TIME, AT(snap_process, wall_started_ns), .merge = MERGE_MIN,
	    .empty = EMPTY_IS_NULL, .line = 6),
	ROW("start_ticks", FIELD_U64, AT(snap_process, start_ticks), .unit = UNIT_ID, .empty = EMPTY_IS_ABSENT),
	ROW("unseen_ns", FIELD_U64, AT(snap_process, unseen_ns), .unit = UNIT_NS, OR_UNKNOWN, .merge = MERGE_MAX),
	ROW("lost_blocks", FIELD_U64, AT(snap_process, lost_blocks), .unit = UNIT_COUNT, OR_UNKNOWN, .merge = MERGE_SUM),
	ROW("lost_stacks", FIELD_U64, AT(snap_process, lost_stacks), .unit = UNIT_COUNT, OR_UNKNOWN, .merge = MERGE_SUM),
	ROW("missed_frees", FIELD_U64, AT(snap_process, missed_frees), .unit = UNIT_COUNT, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("heaps_not_read", FIELD_U64, AT(snap_process, n_heaps_unread), .unit = UNIT_COUNT, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("live_unsure_blocks", FIELD_U64, AT(snap_process, unsure_blocks), .unit = UNIT_COUNT, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("rss_bytes", FIELD_U64, AT(snap_process, rss_bytes), .unit = UNIT_BYTES, .needs = KNOWN_RSS, .line = 6),
	ROW("peak_rss_bytes", FIELD_U64, AT(snap_process, most_rss_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_NULL),
	ROW("rss_at_attach_bytes", FIELD_U64, AT(snap_process, rss_at_attach_bytes), .unit = UNIT_BYTES, OR_UNKNOWN),
	ROW("swap_bytes", FIELD_U64, AT(snap_process, swap_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("swap_at_attach_bytes", FIELD_U64, AT(snap_process, swap_at_attach_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("hugetlb_bytes", FIELD_U64, AT(snap_process, hugetlb_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("hugetlb_at_attach_bytes", FIELD_U64, AT(snap_process, hugetlb_at_attach_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("rss_file_bytes", FIELD_U64, AT(snap_process, file_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("rss_file_at_attach_bytes", FIELD_U64, AT(snap_process, file_at_attach_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("page_table_bytes", FIELD_U64, AT(snap_process, table_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("page_table_at_attach_bytes", FIELD_U64, AT(snap_process, table_at_attach_bytes), .unit = UNIT_BYTES, .empty = EMPTY_IS_ABSENT),
	ROW("peak_at_ns", FIELD_U64, AT(snap_process, peak_at_ns), .unit = UNIT_NS, .needs = HAS_PEAK_BYTES | KNOWN_ONE),
	ROW("probe_hits", FIELD_U64, AT(snap_process, probe_hits), .unit = UNIT_COUNT, OR_UNKNOWN, .merge = MERGE_SUM),
	TREND(snap_process),
);

#define MEMORY(key, type, name, how) ROW(key, type, AT(snap_memory, name), .merge = how)
#define GROWN(key, name) ROW(key, FIELD_I64, AT(snap_memory, name), .needs = KNOWN_GROWN, .merge = MERGE_SUM)

FIELDS(memory_fields,
	MEMORY("seen_ns", FIELD_U64, seen_ns, MERGE_MAX),
	MEMORY("rss_bytes", FIELD_U64, rss_bytes, MERGE_SUM),
	MEMORY("heap_mapped_bytes", FIELD_U64, heap_mapped, MERGE_SUM),
	MEMORY("heap_resident_bytes", FIELD_U64, heap_resident, MERGE_SUM),
	MEMORY("arenas", FIELD_U32, n_arenas, MERGE_SUM),
	MEMORY("other_mapped_bytes", FIELD_U64, large_mapped, MERGE_SUM),
	MEMORY("other_resident_bytes", FIELD_U64, large_resident, MERGE_SUM),
	MEMORY("file_resident_bytes", FIELD_U64, file_resident, MERGE_SUM),
	ROW("shmem_resident_bytes", FIELD_U64, AT(snap_memory, shmem_resident), .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	MEMORY("stack_resident_bytes", FIELD_U64, stack_resident, MERGE_SUM),
	MEMORY("heap_estimated", FIELD_BOOL, heap_estimated, MERGE_ANY),
	MEMORY("other_estimated", FIELD_BOOL, large_estimated, MERGE_ANY),
	GROWN("heap_grown_bytes", heap_grown),
	GROWN("other_grown_bytes", large_grown),
	GROWN("file_grown_bytes", file_grown),
	ROW("shmem_grown_bytes", FIELD_I64, AT(snap_memory, shmem_grown), .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	ROW("unexplained_bytes", FIELD_U64, AT(snap_memory, unexplained_bytes), .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	MEMORY("sized_blocks", FIELD_U64, sized_blocks, MERGE_SUM),
	MEMORY("sized_requested_bytes", FIELD_U64, sized_requested, MERGE_SUM),
	MEMORY("sized_set_aside_bytes", FIELD_U64, sized_usable, MERGE_SUM),
	MEMORY("sized_apart_bytes", FIELD_U64, sized_apart, MERGE_SUM),
	MEMORY("sized_all", FIELD_BOOL, sized_all, MERGE_ALL),
);

FIELDS(blind_fields,
	ROW("idle", FIELD_BOOL, AT(snap_blind, idle)),
	ROW("cpu_ns", FIELD_U64, AT(snap_blind, cpu_ns)),
	ROW("grown_bytes", FIELD_I64, AT(snap_blind, grown_bytes)),
	ROW("probed", FIELD_STR, AT(snap_blind, probed)),
	ROW("candidates", FIELD_STR, AT(snap_blind, candidates)),
);

#define GROWTH(name, kind) \
	ROW(name "_calls", FIELD_U64, AT(growth, calls[kind]), .merge = MERGE_SUM), \
	ROW(name "_bytes", FIELD_U64, AT(growth, bytes[kind]), .merge = MERGE_SUM)

/* By the names that growth__name() has for them. */
FIELDS(growth_fields, GROWTH("page_fault", GROWTH_FAULT), GROWTH("brk", GROWTH_BRK), GROWTH("mmap", GROWTH_MMAP));
_Static_assert(ARRAY_SIZE(growth_fields_rows) == 2 * (GROWTH_N_KINDS - 1), "two rows for each kind");

FIELDS(thread_fields,
	ROW("tid", FIELD_INT, AT(snap_thread, tid)),
	ROW("comm", FIELD_STR, AT(snap_thread, comm), .missing = ""),
	ROW("ended", FIELD_BOOL, AT(snap_thread, ended)),
	ROW("stands_for", FIELD_U64, AT(snap_thread, stands_for), .empty = EMPTY_IS_ABSENT),
);

FIELDS(point_fields,
	ROW("t_ns", FIELD_U64, AT(snap_point, t_ns)),
	ROW("live_bytes", FIELD_U64, AT(snap_point, live_bytes), .needs = HAS_LIVE_BYTES),
	ROW("live_blocks", FIELD_U64, AT(snap_point, live_blocks), .needs = HAS_LIVE_BLOCKS),
	ROW("alloc_calls", FIELD_U64, AT(snap_point, alloc_calls)),
	ROW("rss_bytes", FIELD_U64, AT(snap_point, rss_bytes)),
	ROW("swap_bytes", FIELD_U64, AT(snap_point, swap_bytes), .empty = EMPTY_IS_ABSENT),
	ROW("hugetlb_bytes", FIELD_U64, AT(snap_point, hugetlb_bytes), .empty = EMPTY_IS_ABSENT),
	ROW("rss_file_bytes", FIELD_U64, AT(snap_point, file_bytes), .empty = EMPTY_IS_ABSENT),
	ROW("page_table_bytes", FIELD_U64, AT(snap_point, table_bytes), .empty = EMPTY_IS_ABSENT),
);
const struct fields history_fields = { .v = point_fields_rows, .n = 2 };

FIELDS(size_fields,
	ROW("below", FIELD_BOUND, AT(snap_size, below)),
	ROW("alloc_calls", FIELD_U64, AT(snap_size, alloc_calls), .merge = MERGE_SUM),
	ROW("live_blocks", FIELD_U64, AT(snap_size, live_blocks), .needs = HAS_LIFETIMES, .merge = MERGE_SUM),
);

FIELDS(lifetime_fields,
	ROW("below_ns", FIELD_BOUND, AT(snap_lifetime, below_ns)),
	ROW("blocks", FIELD_U64, AT(snap_lifetime, blocks), .merge = MERGE_SUM),
);

/* ---- moments, frees */

#define WHOLE(name, its_unit, bits) ROW(#name, FIELD_U64, AT(snap_mark, name), .unit = its_unit, .needs = KNOWN_WHOLE | (bits), .empty = EMPTY_IS_ABSENT)

FIELDS(mark_fields,
	ROW("name", FIELD_STR, AT(snap_mark, name)),
	ROW("number", FIELD_U32, AT(snap_mark, number), .unit = UNIT_COUNT),
	ROW("tid", FIELD_INT, AT(snap_mark, tid), .unit = UNIT_ID),
	ROW("t_ns", FIELD_U64, AT(snap_mark, t_ns), .unit = UNIT_NS),
	ROW("live_bytes", FIELD_U64, AT(snap_mark, live_bytes), .unit = UNIT_BYTES, .needs = HAS_LIVE_BYTES),
	ROW("whole", FIELD_BOOL, AT(snap_mark, whole)),
	WHOLE(alloc_calls, UNIT_COUNT, 0),
	WHOLE(alloc_bytes, UNIT_BYTES, 0),
	WHOLE(live_blocks, UNIT_COUNT, HAS_LIVE_BYTES),
	WHOLE(all_live_bytes, UNIT_BYTES, HAS_LIVE_BYTES),
	ROW("heap_read_at_ns", FIELD_U64, AT(snap_mark, heap_read_at_ns), .unit = UNIT_NS, .empty = EMPTY_IS_ABSENT),
	ROW("live_unsure_blocks", FIELD_U64, AT(snap_mark, unsure_blocks), .unit = UNIT_COUNT, .empty = EMPTY_IS_ABSENT),
);

FIELDS(taken_fields,
	ROW("t_ns", FIELD_U64, AT(snap_taken, t_ns)),
	ROW("number", FIELD_U32, AT(snap_taken, number)),
	ROW("trigger", FIELD_STR, AT(snap_taken, why)),
);

/* "lines", which is an array, is files/json's */
FIELDS(source_fields,
	ROW("file", FIELD_STR, AT(snap_source, file)),
	ROW("dir", FIELD_STR, AT(snap_source, dir)),
	ROW("newer", FIELD_BOOL, AT(snap_source, newer)),
	ROW("from", FIELD_U32, AT(snap_source, from)),
);

FIELDS(free_fields,
	ROW("tid", FIELD_INT, AT(snap_free, tid), .unit = UNIT_ID, .empty = EMPTY_IS_NULL),
	ROW("thread", FIELD_STR, AT(snap_free, thread)),
	ROW("calls", FIELD_U64, AT(snap_free, calls), .unit = UNIT_COUNT),
	ROW("bytes", FIELD_U64, AT(snap_free, bytes), .unit = UNIT_BYTES),
	ROW("cross_calls", FIELD_U64, AT(snap_free, cross_calls), .unit = UNIT_COUNT),
);

FIELDS(free_site_fields,
	ROW("function", FIELD_STR, AT(snap_site, function), .missing = ""),
	ROW("calls", FIELD_U64, AT(snap_site, c.free_calls), .unit = UNIT_COUNT),
	ROW("bytes", FIELD_U64, AT(snap_site, c.free_bytes), .unit = UNIT_BYTES),
);

/* ---- the whole */

#define WHOLE_OF(key, type, name, ...) ROW(key, type, AT(snapshot, name), __VA_ARGS__)

FIELDS(recording_fields,
	WHOLE_OF("mode", FIELD_ENUM, recording.mode, .choices = &mode_choices, .line = 2),
	WHOLE_OF("size", FIELD_ENUM, recording.size, .choices = &size_choices),
	WHOLE_OF("sample_bytes", FIELD_U64, recording.sample_bytes, .merge = MERGE_MAX),
	WHOLE_OF("estimated", FIELD_BOOL, estimated, .merge = MERGE_ANY),
	WHOLE_OF("observed_share", FIELD_DOUBLE, observed_share, .merge = MERGE_MIN),
	WHOLE_OF("selected_processes", FIELD_U64, n_selected, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("watched_processes", FIELD_U64, n_watched, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("watched_cpu_ns", FIELD_U64, watched_cpu_ns, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("machine_cpu_ns", FIELD_U64, machine_cpu_ns, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("by", FIELD_STR, by),
	WHOLE_OF("mmap", FIELD_BOOL, recording.mmap, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("arenas", FIELD_BOOL, recording.arenas, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("min_size", FIELD_U64, recording.min_size, .line = 2),
	WHOLE_OF("max_size", FIELD_BOUND, recording.max_size),
	WHOLE_OF("within", FIELD_STR, recording.within, .merge = MERGE_VARIOUS, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("older_ns", FIELD_U64, recording.older_ns, .merge = MERGE_SAME),
	WHOLE_OF("baseline_ns", FIELD_U64, baseline_ns, .needs = KNOWN_BASELINE),
	WHOLE_OF("duration_ns", FIELD_U64, duration_ns, .merge = MERGE_MAX, .line = 2),
	WHOLE_OF("paused_ns", FIELD_U64, paused_ns, .merge = MERGE_MAX, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("untraced_children", FIELD_U64, n_unfollowed, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("left_out", FIELD_U64, n_left_out, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("unread_files", FIELD_U64, n_unread, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("heap_read_at_ns", FIELD_U64, reading.at_ns, .merge = MERGE_MAX, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("heap_read_took_ns", FIELD_U64, reading.took_ns, .merge = MERGE_MAX, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("heap_read_paused_ns", FIELD_U64, reading.paused_ns, .merge = MERGE_MAX, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("exact_asked", FIELD_BOOL, reading.exact_asked, .merge = MERGE_ANY, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("heaps_not_read", FIELD_U64, reading.n_unread, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("live_unsure_blocks", FIELD_U64, reading.unsure_blocks, .merge = MERGE_SUM, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("wall_start", FIELD_TIME, wall_start_ns, .merge = MERGE_MIN),
	WHOLE_OF("wall_now", FIELD_TIME, wall_now_ns, .merge = MERGE_MAX),
	WHOLE_OF("ended", FIELD_BOOL, ended, .merge = MERGE_ALL),
	WHOLE_OF("combined", FIELD_STR, combined, .empty = EMPTY_IS_ABSENT),
	WHOLE_OF("trigger", FIELD_STR, trigger),
	WHOLE_OF("started_on", FIELD_STR, started_on, .line = 2),
	WHOLE_OF("stopped_on", FIELD_STR, stopped_on),
	WHOLE_OF("waiting_for", FIELD_STR, waiting_for),
	WHOLE_OF("marks_seen", FIELD_U64, n_marks_seen, .merge = MERGE_SUM),
	WHOLE_OF("marks_whole", FIELD_U64, n_marks_whole, .merge = MERGE_SUM),
);

FIELDS(tool_fields, WHOLE_OF("version", FIELD_STR, version, .merge = MERGE_VARIOUS));

FIELDS(host_fields,
	WHOLE_OF("name", FIELD_STR, host), WHOLE_OF("kernel", FIELD_STR, kernel, .merge = MERGE_VARIOUS), WHOLE_OF("arch", FIELD_STR, arch, .merge = MERGE_VARIOUS),
	WHOLE_OF("boot_id", FIELD_STR, boot_id, .merge = MERGE_SAME, .empty = EMPTY_IS_ABSENT),
);

#define MACHINE(key, name) ROW(key, FIELD_U64, AT(snap_machine, name), .unit = UNIT_BYTES)

FIELDS(machine_fields,
	MACHINE("memory_bytes", total_bytes),
	MACHINE("available_bytes", available_bytes),
	MACHINE("free_bytes", free_bytes),
	MACHINE("swap_bytes", swap_bytes),
	MACHINE("swap_free_bytes", swap_free_bytes),
	MACHINE("rss_bytes", rss_bytes),
);

FIELDS(folded_fields,
	WHOLE_OF("processes", FIELD_U64, n_folded_processes, .merge = MERGE_SUM), WHOLE_OF("sites", FIELD_U64, n_folded_sites, .merge = MERGE_SUM),
);

FIELDS(scan_fields,
	WHOLE_OF("live_blocks", FIELD_U64, scan_blocks, .merge = MERGE_SUM), WHOLE_OF("live_bytes", FIELD_U64, scan_bytes, .merge = MERGE_SUM),
);

#define STACKS(name, end) WHOLE_OF(name, FIELD_U64, stacks_by_end[end], .merge = MERGE_SUM)

/* By the names that stack_end__name() has for them, and in that order. */
FIELDS(stack_fields,
	STACKS("whole", MT_END_WHOLE),
	STACKS("depth", MT_END_DEPTH),
	STACKS("no_rule", MT_END_NO_RULE),
	STACKS("unreadable", MT_END_UNREADABLE),
	STACKS("unsure", MT_END_UNSURE),
	WHOLE_OF("frames_walked", FIELD_U64, frames_walked, .merge = MERGE_SUM),
);
_Static_assert(ARRAY_SIZE(stack_fields_rows) == SNAPSHOT_N_ENDS + 1, "a row for each end");

FIELDS(overhead_fields,
	WHOLE_OF("probe_hits", FIELD_U64, probe_hits, .merge = MERGE_SUM),
	WHOLE_OF("probe_ns_estimate", FIELD_U64, probe_ns_estimate, .merge = MERGE_SUM, .empty = EMPTY_IS_NULL),
	WHOLE_OF("target_cpu_ns", FIELD_U64, target_cpu_ns, .merge = MERGE_SUM),
	WHOLE_OF("tool_cpu_ns", FIELD_U64, tool_cpu_ns, .merge = MERGE_SUM),
);

FIELDS(hidden_fields,
	ROW("by", FIELD_STR, AT(snap_hidden, by), .merge = MERGE_FIRST),
	ROW("sites", FIELD_U64, AT(snap_hidden, n_sites), .merge = MERGE_SUM),
	ROW("alloc_calls", FIELD_U64, AT(snap_hidden, alloc_calls), .merge = MERGE_SUM),
	ROW("alloc_bytes", FIELD_U64, AT(snap_hidden, alloc_bytes), .merge = MERGE_SUM),
	ROW("live_blocks", FIELD_U64, AT(snap_hidden, live_blocks), .merge = MERGE_SUM, .needs = HAS_LIVE_BLOCKS),
	ROW("live_bytes", FIELD_U64, AT(snap_hidden, live_bytes), .merge = MERGE_SUM, .needs = HAS_LIVE_BYTES),
);

FIELDS(module_fields,
	ROW("path", FIELD_STR, AT(snap_module, path)),
	ROW("build_id", FIELD_STR, AT(snap_module, build_id)),
);

FIELDS(probe_fields,
	ROW("object", FIELD_STR, AT(snap_probe, object), .missing = ""),
	ROW("build_id", FIELD_STR, AT(snap_probe, build_id)),
	ROW("size", FIELD_ENUM, AT(snap_probe, size), .needs = KNOWN_OWN_SIZE, .empty = EMPTY_IS_ABSENT, .choices = &size_choices),
	ROW("frees_probed", FIELD_BOOL, AT(snap_probe, frees_probed), .empty = EMPTY_IS_ABSENT),
);

/* ---- by their types */

static const size_t sizes[] = {
	[FIELD_U64] = sizeof(uint64_t),	    [FIELD_I64] = sizeof(int64_t),
	[FIELD_U32] = sizeof(uint32_t),	    [FIELD_INT] = sizeof(int),
	[FIELD_DOUBLE] = sizeof(double),    [FIELD_ERROR] = sizeof(double),
	[FIELD_BOOL] = sizeof(bool),
	[FIELD_STR] = sizeof(const char *), [FIELD_ENUM] = sizeof(unsigned int),
	[FIELD_BOUND] = sizeof(uint64_t),   [FIELD_TIME] = sizeof(int64_t),
	[FIELD_ADDR] = sizeof(uint64_t),
};
_Static_assert(sizeof(enum mt_mode) == sizeof(unsigned int) &&
		       sizeof(enum recording_size) == sizeof(unsigned int),
	       "FIELD_ENUM");

const struct field *fields__find(const struct fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->n; i++)
		if (!strcmp(fields->v[i].key, key))
			return &fields->v[i];
	return NULL;
}

static unsigned int known_of_trend(const struct snapshot *s, const struct trend *t)
{
	return s->known | (s->baseline ? KNOWN_BASELINE : 0) | (t->known ? KNOWN_TREND : 0) | (s->estimated ? KNOWN_ERROR : 0);
}

unsigned int site__known(const struct snapshot *s, const struct snap_site *site)
{
	return known_of_trend(s, &site->trend) | (site->growth == GROWTH_FAULT ? KNOWN_FAULT : 0) |
	       (site__was_searched(s, site) ? KNOWN_SEARCHED : 0);
}

unsigned int process__known(const struct snapshot *s, const struct snap_process *p)
{
	return known_of_trend(s, &p->trend) | (p->n_members < 2 ? KNOWN_ONE : 0) | (p->rss_bytes || !p->ended ? KNOWN_RSS : 0) |
	       (p->memory.grown_known ? KNOWN_GROWN : 0) | (recording__is_growth(&s->recording) ? KNOWN_GROWTH : 0);
}

unsigned int heap__known(const struct snapshot *s, const struct snap_heap *h)
{
	return s->known | (h->refused ? 0 : KNOWN_HEAP) | (heap__was_searched(h) ? KNOWN_SEARCHED : 0);
}

const void *field__of(const struct field *f, const void *row)
{
	return (const char *)row + f->offset;
}

bool field__is_empty(const struct field *f, const void *row)
{
	static const char none[sizeof(uint64_t)];

	return !memcmp(field__of(f, row), none, sizes[f->type]);
}

static uint64_t bit_of(const struct fields *fields, const struct field *f)
{
	return 1ull << (f - fields->v);
}

bool field__is_unread(const struct fields *fields, const struct field *f, const void *row)
{
	return fields->unread && *(const uint64_t *)((const char *)row + fields->unread) & bit_of(fields, f);
}

void field__set_unread(const struct fields *fields, const struct field *f, void *row)
{
	if (fields->unread && f->absent == ABSENT_IS_UNKNOWN)
		*(uint64_t *)((char *)row + fields->unread) |= bit_of(fields, f);
}

double field__number(const struct field *f, const void *row)
{
	const void *at = field__of(f, row);

	switch (f->type) {
	case FIELD_U64:
		return (double)*(const uint64_t *)at;
	case FIELD_I64:
		return (double)*(const int64_t *)at;
	case FIELD_U32:
		return *(const uint32_t *)at;
	case FIELD_INT:
		return *(const int *)at;
	case FIELD_DOUBLE:
	case FIELD_ERROR:
		return *(const double *)at;
	default:
		return NAN;
	}
}

void fields__own(struct snapshot *s, const struct fields *fields, void *row)
{
	for (size_t i = 0; i < fields->n; i++) {
		const char **str = (const char **)((char *)row + fields->v[i].offset);

		if (fields->v[i].type == FIELD_STR)
			*str = snapshot__strdup(s, *str);
	}
}

void *rows__copy(struct snapshot *s, const struct fields *fields, const void *from, size_t n, size_t size)
{
	char *to = snapshot__copy(s, from, n, size);

	for (size_t i = 0; i < n; i++)
		fields__own(s, fields, to + i * size);
	return to;
}

#define MERGE_NUMBERS(how, type, to, from) \
	do { \
		type *sum = (to), n = *(const type *)(from); \
		*sum = (how) == MERGE_SUM ? *sum + n : (how) == MERGE_MAX ? MAX(*sum, n) : MIN(*sum, n); \
	} while (0)

static void merge_numbers(const struct field *f, void *to, const void *from)
{
	switch (f->type) {
	case FIELD_U32:
		MERGE_NUMBERS(f->merge, uint32_t, to, from);
		break;
	case FIELD_I64:
	case FIELD_TIME:
		MERGE_NUMBERS(f->merge, int64_t, to, from);
		break;
	case FIELD_DOUBLE:
		MERGE_NUMBERS(f->merge, double, to, from);
		break;
	default:
		MERGE_NUMBERS(f->merge, uint64_t, to, from);
	}
}

static bool is_same(const struct field *f, const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return f->type == FIELD_STR ? !strcmp(*x ?: "", *y ?: "") : !memcmp(a, b, sizes[f->type]);
}

/* What one of them does not know, the sum does not. */
static void merge_unread(const struct fields *fields, void *sum, const void *row)
{
	if (fields->unread)
		*(uint64_t *)((char *)sum + fields->unread) |= *(const uint64_t *)((const char *)row + fields->unread);
}

void fields__begin(const struct fields *fields, void *sum, const void *row)
{
	merge_unread(fields, sum, row);
	for (const struct field *f = fields->v; f < fields->v + fields->n; f++)
		if (f->merge)
			memcpy((char *)sum + f->offset, field__of(f, row), sizes[f->type]);
}

void fields__merge(const struct fields *fields, void *sum, const void *row)
{
	merge_unread(fields, sum, row);
	for (size_t i = 0; i < fields->n; i++) {
		const struct field *f = &fields->v[i];
		void *to = (char *)sum + f->offset;
		const void *from = field__of(f, row);

		switch (f->merge) {
		case MERGE_NOT:
			break;
		/* most of all: a snapshot adds up the counters of each site */
		case MERGE_SUM:
			if (f->type == FIELD_U64)
				*(uint64_t *)to += *(const uint64_t *)from;
			else
				merge_numbers(f, to, from);
			break;
		case MERGE_ERROR:
			*(double *)to = hypot(*(double *)to, *(const double *)from);
			break;
		case MERGE_ALL:
			*(bool *)to &= *(const bool *)from;
			break;
		case MERGE_ANY:
			*(bool *)to |= *(const bool *)from;
			break;
		case MERGE_FIRST:
			if (field__is_empty(f, sum))
				memcpy(to, from, sizes[f->type]);
			break;
		case MERGE_SAME:
			if (!is_same(f, to, from))
				memset(to, 0, sizes[f->type]);
			break;
		case MERGE_VARIOUS:
			if (!is_same(f, to, from))
				*(const char **)to = "various";
			break;
		default:
			merge_numbers(f, to, from);
		}
	}
}
