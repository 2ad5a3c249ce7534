// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the members of a profile, of its processes and of its sites, in the order of files. What
 * always holds: keys may be added, never renamed. Members of heaps are in schema_heap.c.
 */
#include "model/heaps.h"
#include "model/marks.h"
#include "model/schema_rows.h"

#define KNOWN_BY(name, known_of_row) \
	static unsigned int name(const struct snapshot *s, const void *row, unsigned int known) \
	{ \
		return known_of_row(s, row); \
	}

KNOWN_BY(known_of_mark, marks__known)
KNOWN_BY(known_of_process, process__known)
KNOWN_BY(known_of_site, site__known)
KNOWN_BY(known_of_heap, heap__known)

/* A block may be freed by any thread: it is live in no thread. */
static unsigned int known_of_thread(const struct snapshot *s, const void *row, unsigned int known)
{
	unsigned int frees = known & HAS_LIFETIMES ? 0 : HAS_FREE_CALLS | HAS_FREE_BYTES;

	return known & ~(HAS_LIVE_BLOCKS | HAS_LIVE_BYTES | HAS_PEAK_BYTES | frees);
}

/* An allocator whose usable sizes are not known, among others. */
static unsigned int known_of_probe(const struct snapshot *s, const void *row, unsigned int known)
{
	const struct snap_probe *p = row;

	return known | (p->size != s->recording.size ? KNOWN_OWN_SIZE : 0);
}

static bool has_no_lines(const void *row)
{
	const struct snap_source *source = row;

	return !source->n;
}

/* ---- processes */

static const struct member process_members[] = {
	OF_FIELDS(THESE(ROW("ended_members", FIELD_U32, AT(snap_process, n_ended))),
		  .own = OWN_ENDED_MEMBERS),
	OBJECT("totals", NULL, .what = "a process's totals", .line = 6,
	       MEMBERS(OF_FIELDS(&counter_fields, .offset = AT(snap_process, c)),
		       STANDARD_ERROR(snap_process))),
	OBJECT("blind", &blind_fields, .offset = AT(snap_process, blind), .line = 6,
	       .flag = AT(snap_process, blind.is), .apart = true),
	OBJECT("memory", &memory_fields, .offset = AT(snap_process, memory), .line = 6,
	       .flag = AT(snap_process, memory.known), .apart = true,
	       MEMBERS(OWN(OWN_GROWN, NULL))),
	OBJECT("growth", NULL, .needs = KNOWN_GROWTH, OR_ABSENT, .line = 6,
	       MEMBERS(OF_FIELDS(&growth_fields, .offset = AT(snap_process, growth)),
		       OWN(OWN_EXPLAINED, "explained_share"))),
	ROWS("threads", &thread_fields, snap_process, threads, n_threads, .line = 6, .row_line = 8,
	     .known = known_of_thread,
	     MEMBERS(OBJECT("totals", &counter_fields, .what = "a thread's totals",
			    .offset = AT(snap_thread, c)))),
	ROWS("timeline", &point_fields, snap_process, timeline, n_timeline, .line = 6,
	     .row_line = 8),
	ROWS("sizes", &size_fields, snap_process, sizes, n_sizes, .line = 6),
	ROWS("lifetimes", &lifetime_fields, snap_process, lifetimes, n_lifetimes, .line = 6,
	     .needs = HAS_LIFETIMES),
	OWN(OWN_PROCESS, NULL),
	{},
};

/* ---- sites */

#define PID(type) OWN(OWN_PID, "pid", .offset = AT(type, process))

static const struct member site_members[] = {
	PROCESS(snap_site),
	PID(snap_site),
	OF_FIELDS(&site_names),
	INDEX("tag", snap_site, tag, TABLE_TAGS, .none = INDEX_PLUS_1, .own = OWN_TAG),
	OF_FIELDS(&counter_fields, .offset = AT(snap_site, c)),
	STANDARD_ERROR(snap_site),
	OF_FIELDS(&site_fields),
	MEAN("lifetime_mean_ns", snap_site, lifetime_sum_ns, c.free_calls, .needs = HAS_LIFETIMES),
	/* no key where realloc was not called for a block that was known */
	OBJECT("moves", &move_fields, .offset = AT(snap_site, moves), OR_ABSENT,
	       .any = AT(snap_site, moves.calls)),
	ROWS("ages", &age_fields, snap_site, ages, n_ages, .needs = HAS_LIVE_BLOCKS),
	ROWS("history", &history_fields, snap_site, history, n_history, .needs = HAS_LIVE_BLOCKS),
	ROWS("types", &share_fields, snap_site, types, n_types, .any = AT(snap_site, n_types)),
	/* no key where it was not asked who holds what */
	{ .kind = MEMBER_POINTER, .key = "held", .fields = &root_fields, OR_ABSENT,
	  .offset = AT(snap_site, held), .size = sizeof(struct snap_root), .any = AT(snap_site, held) },
	STACK(snap_site, .end = AT(snap_site, end)),
	OWN(OWN_SITE, NULL),
	{},
};

/* --free-stacks: places where blocks were freed; "frees" has their numbers, from 0 on */
static const struct member free_site_members[] = {
	PROCESS(snap_site),
	PID(snap_site),
	OF_FIELDS(&free_site_fields),
	STACK(snap_site, .end = AT(snap_site, end)),
	{},
};

static const struct member free_members[] = {
	INDEX("site", snap_free, site, TABLE_SITES),
	INDEX("where", snap_free, where, TABLE_FREE_SITES),
	OF_FIELDS(&free_fields),
	MEAN("lifetime_mean_ns", snap_free, lifetime_sum_ns, calls),
	{},
};

/* ---- the whole */

#define WHOSE \
	OWN(OWN_SCHEMA, "schema", .line = 2), \
	OBJECT("tool", &tool_fields, .line = 2), \
	OBJECT("host", &host_fields, .line = 2)

#define COUNTERS(its_key, v, n, ...) \
	OWN(OWN_COUNTERS, its_key, .offset = AT(snapshot, v), .count = AT(snapshot, n), .line = 2, \
	    __VA_ARGS__)

#define LISTED_MAX 100000	/* rows */
#define LIST(key, its_table, fields, v, ...) \
	ROWS(key, fields, snapshot, v, n_##v, .table = its_table, .row_line = 4, __VA_ARGS__)
#define HEAPS \
	LIST("heap", TABLE_HEAPS, NULL, heaps, .members = heap_members, .max = HEAPS_MAX, \
	     .line = 2, .known = known_of_heap, .any = AT(snapshot, n_heaps), \
	     .empty = EMPTY_IS_NULL)

static const struct member whole_members[] = {
	WHOSE,
	OBJECT("machine", &machine_fields, .offset = AT(snapshot, machine), .line = 2,
	       .flag = AT(snapshot, machine.known), OR_ABSENT),
	OF_FIELDS(&recording_fields),
	/* more than a trace lists; null of a version before */
	LIST("marks", TABLE_MARKS, &mark_fields, marks, .max = 4096, .known = known_of_mark,
	     .empty = EMPTY_IS_NULL,
	     MEMBERS(INDEX("process", snap_mark, process, TABLE_PROCESSES,
			   .own = OWN_MARK_PROCESS))),
	LIST("probes", TABLE_PROBES, &probe_fields, probes, .what = "a probe", .max = LISTED_MAX,
	     .line = 2, .known = known_of_probe,
	     MEMBERS(OWN(OWN_PROBE_SIZE, NULL),
		     STRINGS("functions", snap_probe, functions, n_functions))),
	OBJECT("totals", NULL, .line = 2,
	       MEMBERS(OF_FIELDS(&counter_fields, .offset = AT(snapshot, totals)),
		       STANDARD_ERROR(snapshot), OWN(OWN_KNOWN, NULL))),
	COUNTERS("losses", losses, n_losses,
		 .fields = THESE(ROW("total", FIELD_U64, AT(snapshot, losses_total),
				     .merge = MERGE_SUM))),
	COUNTERS("edges", edges, n_edges),
	/* what the block table itself holds: at rest the same as the live totals */
	OBJECT("scan", &scan_fields, .flag = AT(snapshot, scanned), .needs = HAS_LIVE_BLOCKS,
	       OR_ABSENT, .line = 2),
	/* of ended processes, what is kept as sums alone */
	OBJECT("folded", &folded_fields, .line = 2),
	OBJECT("stacks", &stack_fields, .line = 2),
	OBJECT("overhead", &overhead_fields, .line = 2),
	/* totals are those of the sites and these together */
	OBJECT("hidden", &hidden_fields, .offset = AT(snapshot, hidden), .line = 2,
	       .any = AT(snapshot, hidden.by), OR_ABSENT),
	ROWS("snapshots", &taken_fields, snapshot, taken, n_taken, .row_line = 4,
	     .what = "a snapshot", .max = LISTED_MAX, .any = AT(snapshot, n_taken), OR_ABSENT,
	     .line = 2),
	LIST("modules", TABLE_MODULES, &module_fields, modules, .what = "a module",
	     .max = LISTED_MAX, .line = 2),
	OWN(OWN_MODULES, NULL),
	LIST("tags", TABLE_TAGS,
	     THESE(ROW("name", FIELD_STR, AT(snap_tag, name)),
		   ROW("thread", FIELD_BOOL, AT(snap_tag, thread)),
		   ROW("entered", FIELD_BOUND, AT(snap_tag, entered))),
	     tags, .what = "a tag", .max = LISTED_MAX, .any = AT(snapshot, n_tags), OR_ABSENT,
	     .own = OWN_TAG_ROWS, .line = 2, .apart = true),
	OWN(OWN_TAGS, NULL),
	LIST("processes", TABLE_PROCESSES, &process_fields, processes, .what = "a process",
	     .members = process_members, .max = 500000, .known = known_of_process, .line = 2),
	LIST("sites", TABLE_SITES, NULL, sites, .what = "a site", .members = site_members,
	     .max = 2000000, .known = known_of_site, .terse = true, .line = 2),
	LIST("free_sites", TABLE_FREE_SITES, NULL, free_sites, .what = "a free site",
	     .members = free_site_members, .max = 2000000,
	     .flag = AT(snapshot, recording.free_stacks), OR_ABSENT, .line = 2),
	LIST("frees", TABLE_FREES, NULL, frees, .members = free_members, .max = 8000000,
	     .flag = AT(snapshot, recording.free_stacks), OR_ABSENT, .line = 2),
	OWN(OWN_HEAP_PROCESSES, NULL),
	HEAPS,
	OWN(OWN_HEAPS, NULL),
	ARRAY(MEMBER_FRAMES, "frames", snapshot, places, n_places, .table = TABLE_PLACES, .line = 2,
	      .row_line = 4,
	      MEMBERS(INDEX(NULL, place, module, TABLE_MODULES, .none = INDEX_OR_MINUS_1))),
	LIST("sources", TABLE_SOURCES, &source_fields, sources, .what = "a source", .max = 1000000,
	     .line = 2, .any = AT(snapshot, n_sources), OR_ABSENT, .skips = has_no_lines,
	     MEMBERS(STRINGS("lines", snap_source, text, n), OWN(OWN_SOURCE, NULL))),
	OWN(OWN_MARKS, NULL),
	{},
};

const struct member profile_whole = OBJECT(NULL, NULL, .what = "profile", .members = whole_members);

/* What `malloctrace heap` found: there is no trace to report. */
static const struct member heap_alone_members[] = {
	WHOSE,
	OF_FIELDS(THESE(ROW("wall_now", FIELD_TIME, AT(snapshot, wall_now_ns))), .line = 2),
	LIST("processes", TABLE_PROCESSES, &process_fields, processes, .known = known_of_process,
	     .line = 2),
	HEAPS,
	{},
};
const struct member profile_of_heap = OBJECT(NULL, NULL, .members = heap_alone_members);

/* ---- walks over members */

const struct member *table__member(enum profile_table t)
{
	const struct member *m = whole_members;

	while (m->table != t)
		m++;
	return m;
}

size_t member__count(const struct member *m, const void *row)
{
	const void *at = (const char *)row + m->count;

	return m->count_size == sizeof(uint32_t) ? *(const uint32_t *)at : *(const size_t *)at;
}

void member__set_count(const struct member *m, void *row, size_t n)
{
	void *at = (char *)row + m->count;

	if (m->count_size == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)n;
	else
		*(size_t *)at = n;
}

static void own_member(struct snapshot *s, const struct member *m, void *row)
{
	void *at = (char *)row + m->offset, **list = at;
	bool is_list = m->count_size || m->kind == MEMBER_POINTER;
	size_t n = m->count_size ? member__count(m, row) : is_list && *list;

	if (m->kind == MEMBER_FIELDS || m->kind == MEMBER_OBJECT)
		row__own(s, m, at);
	if (!is_list)
		return;
	*list = snapshot__copy(s, *list, n, m->size);
	for (size_t i = 0; i < n && m->kind == MEMBER_STRINGS; i++)
		((const char **)*list)[i] = snapshot__strdup(s, ((const char **)*list)[i]);
	for (size_t i = 0; i < n && (m->fields || m->members); i++)
		row__own(s, m, (char *)*list + i * m->size);
}

void row__own(struct snapshot *s, const struct member *of, void *row)
{
	if (of->fields)
		fields__own(s, of->fields, row);
	for (const struct member *m = of->members; m && m->kind; m++)
		own_member(s, m, row);
}

/* Of a member: is it there in both? Of code's own the fields are those of the whole. */
static void merge_member(const struct member *m, void *sum, const void *row, bool first)
{
	bool *flag = (bool *)((char *)sum + m->flag);
	size_t offset = m->kind == MEMBER_OWN ? 0 : m->offset;
	const void *from = (const char *)row + offset;
	void *to = (char *)sum + offset;

	if (m->flag)
		*flag = *(const bool *)((const char *)row + m->flag) && (first || *flag);
	if (m->kind == MEMBER_MEAN)
		*(uint64_t *)to += *(const uint64_t *)from;
	else if (m->kind == MEMBER_FIELDS || m->kind == MEMBER_OBJECT || m->kind == MEMBER_OWN)
		row__merge(m, to, from, first);
}

void row__merge(const struct member *of, void *sum, const void *row, bool first)
{
	if (of->fields)
		(first ? fields__begin : fields__merge)(of->fields, sum, row);
	for (const struct member *m = of->members; m && m->kind; m++)
		if (!m->apart)
			merge_member(m, sum, row, first);
}
