/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The fields of a snapshot, one row each: its name in files, its type, its unit,
 * where it lies, what must be known for it to mean anything, and how two of them
 * become one. Members put them together: objects, lists of rows, and what refers to
 * rows of another list. Files are written and read, rows are added up, grouped, copied and
 * moved to other profiles, columns (present/columns.h) are shown by these tables; to add a
 * field is to add a row.
 */
#ifndef MT_SCHEMA_H
#define MT_SCHEMA_H

#include <stddef.h>

#include "model/snapshot.h"

enum field_type {
	FIELD_U64,
	FIELD_I64,
	FIELD_U32,
	FIELD_INT,
	FIELD_DOUBLE,
	FIELD_ERROR,		/* double; INFINITY: it is not known, null in files */
	FIELD_BOOL,
	FIELD_STR,
	FIELD_ENUM,		/* by its name in files: see choices */
	FIELD_BOUND,		/* uint64_t; UINT64_MAX: there is none, null in files */
	FIELD_ADDR,		/* uint64_t; "0x5581a2c0" in files */
	FIELD_TIME,		/* int64_t, nanoseconds since 1970; "2026-11-14T23:58:32.125Z" in files */
};

/* What a figure is of, and so how it is written. */
enum field_unit {
	UNIT_NONE,		/* it is text, or nobody shows it in a table */
	UNIT_COUNT,
	UNIT_BYTES,
	UNIT_CHANGE,		/* bytes, more or less than they were */
	UNIT_GROWTH,		/* the same, a second */
	UNIT_NS,
	UNIT_PER_S,		/* a count, a second */
	UNIT_ID,		/* a number that names something */
};

enum field_merge {
	MERGE_NOT,		/* the code that adds up knows how, or it is the same in all */
	MERGE_SUM,
	MERGE_MAX,
	MERGE_MIN,
	MERGE_ALL,		/* bool: if all are */
	MERGE_ANY,		/* bool: if any is */
	MERGE_ERROR,		/* double: standard errors of independent estimates */
	MERGE_FIRST,		/* that of the first that has one */
	MERGE_SAME,		/* none, unless it is the same in all; a string: NULL */
	MERGE_VARIOUS,		/* a string: "various", unless it is the same in all */
};

/* What a file has for a field that is 0, or not known. */
enum field_empty {
	EMPTY_IS_ZERO,		/* 0 is a figure; null where it is not known */
	EMPTY_IS_NULL,
	EMPTY_IS_ABSENT,	/* no key at all, in both cases; a figure that needs to be known says that it is by a 0 */
};

/* What a figure is that a file has no key for, because the version that wrote it did not know it. */
enum field_absent {
	ABSENT_IS_ZERO,		/* or what the row had before */
	ABSENT_IS_UNKNOWN,	/* its tables note it: see fields.unread */
};

/* Beside enum counter_bit: what may be known of one row and not of another. */
enum known_of_row {
	KNOWN_ONE = 1 << 16,		/* a process, not several in one row */
	KNOWN_RSS = 1 << 17,
	KNOWN_FAULT = 1 << 18,		/* a site of page faults */
	KNOWN_BASELINE = 1 << 19,
	KNOWN_TREND = 1 << 20,
	KNOWN_GROWN = 1 << 21,		/* what memory grew by */
	KNOWN_WHOLE = 1 << 22,		/* a mark at which a snapshot was taken */
	KNOWN_SEARCHED = 1 << 23,	/* pointers to its blocks were searched for */
	KNOWN_HEAP = 1 << 24,		/* a heap whose layout was recognised */
	KNOWN_ERROR = 1 << 25,		/* its counters are estimated: their standard errors */
	KNOWN_GROWTH = 1 << 26,		/* a process of --mode growth */
	KNOWN_OWN_SIZE = 1 << 27,	/* a probed file whose sizes are others than the whole's */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
	enum field_unit unit;
	unsigned int needs;		/* enum counter_bit and enum known_of_row */
	enum field_merge merge;
	enum field_empty empty;
	enum field_absent absent;
	const struct choices *choices;	/* of FIELD_ENUM */
	int line;			/* in files it begins a line, indented by this; 0: it does not */
	const char *missing;		/* FIELD_STR: what is read where a file has none; NULL: that leaves it as it was */
};

struct fields {
	const struct field *v;
	size_t n;
	size_t unread;			/* uint64_t of the row: bit i: v[i] is not known, as no file had it; 0: there is none */
};

/* ---- members */

/* The lists of a snapshot: their rows are referred to, or refer to others. */
enum profile_table {
	TABLE_NONE,
	TABLE_PROCESSES,
	TABLE_SITES,
	TABLE_FREE_SITES,
	TABLE_FREES,
	TABLE_PLACES,
	TABLE_MODULES,
	TABLE_TAGS,
	TABLE_MARKS,
	TABLE_PROBES,
	TABLE_HEAPS,
	TABLE_SOURCES,
	N_TABLES
};

enum member_kind {
	MEMBER_END,
	MEMBER_FIELDS,	/* of the object that it is a member of: no key of its own */
	MEMBER_OBJECT,
	MEMBER_POINTER,	/* to such an object */
	MEMBER_ROWS,	/* an array of objects */
	MEMBER_STRINGS,	/* an array of strings */
	MEMBER_MEAN,	/* uint64_t, a sum; in files what it is for each of `count` */
	/* uint32_t, of a row of `table`; in files its number, that of a process its id */
	MEMBER_INDEX,
	MEMBER_STACK,	/* indices of places: "end" and "stack" */
	MEMBER_FRAMES,	/* the places: written after, read before all that has stacks */
	MEMBER_OWN,	/* of code alone */
};

/* How an index says that it is none. */
enum index_none { INDEX_IS_THERE, INDEX_PLUS_1, INDEX_OR_MINUS_1 };

/* What files derive, check or settle by code: files/json/json_own.c has a row for each. */
enum member_own {
	OWN_NOT, OWN_SCHEMA, OWN_KNOWN, OWN_COUNTERS, OWN_MODULES, OWN_PROBE_SIZE, OWN_SOURCE,
	OWN_MARK_PROCESS, OWN_MARKS, OWN_TAG_ROWS, OWN_TAGS, OWN_TAG,
	OWN_PID, OWN_ENDED_MEMBERS, OWN_GROWN, OWN_EXPLAINED, OWN_PROCESS, OWN_SITE,
	OWN_WHOSE, OWN_HEAP_PROCESSES, OWN_HEAPS, OWN_FRAME, N_OWN
};

/* Offsets are in the struct of the object that it is a member of; of optional ones 0 is none. */
struct member {
	enum member_kind kind;
	enum member_own own;		/* in place of what the kind says in files */
	const char *key;
	const char *what;		/* how errors name it; NULL: by its key */
	const struct fields *fields;	/* of the object, or of each row */
	const struct member *members;	/* and what comes after these */
	size_t offset;			/* of the struct; of the pointer to rows, strings, places */
	size_t count, count_size;	/* of their number; sizeof that */
	size_t size;			/* sizeof a row */
	size_t max;			/* rows that a file may have; 0, of no list: ROWS_MAX */
	size_t end;			/* of a stack: how it ended */
	size_t flag;			/* of a bool: it is there */
	size_t any;			/* of eight bytes that are 0 where it is not there */
	enum profile_table table;	/* that it is; of an index: what it refers to */
	enum index_none none;
	bool apart;			/* code of its own adds it up, joins its rows */
	unsigned int needs;		/* it is there if these are known */
	enum field_empty empty;		/* where it is not there: null; EMPTY_IS_ABSENT: no key */
	int line, row_line;		/* it, each row begins a line, indented by this; 0: not */
	bool terse;			/* rows without empty keys, if there are very many */
	/* What is known of a row, of what is known where the rows are; NULL: the same. */
	unsigned int (*known)(const struct snapshot *s, const void *row, unsigned int known);
	bool (*skips)(const void *row);	/* it is not written */
};

extern const struct member profile_whole;	/* struct snapshot, of a trace */
extern const struct member profile_of_heap;	/* of `malloctrace heap`, which has no trace */
extern const struct member heap_members[];	/* schema_heap.c */

/* The list of a snapshot. */
const struct member *table__member(enum profile_table t);
size_t member__count(const struct member *m, const void *row);	/* of rows, places */
void member__set_count(const struct member *m, void *row, size_t n);
/*
 * An object, or a row of a list. Its strings, rows and stacks become the snapshot's own; numbers
 * of places and rows stay.
 */
void row__own(struct snapshot *s, const struct member *m, void *row);
/*
 * Fields that have a rule for it, of it and its objects, but those apart. first: the sum is that
 * row's, where there is a rule.
 */
void row__merge(const struct member *m, void *sum, const void *row, bool first);

/* ---- tables of fields */

extern const struct fields counter_fields;	/* struct counters, in the order of enum counter_bit */
extern const struct fields error_fields;	/* struct std_error */
extern const struct fields variance_fields;	/* the same, where it has variances: snap_site.var */
extern const struct fields site_names;		/* struct snap_site: whose it is */
extern const struct fields site_fields;		/* and what is reported of it beside its counters */
extern const struct fields move_fields;		/* struct mt_moves */
extern const struct fields age_fields;		/* struct snap_age */
extern const struct fields process_fields;	/* struct snap_process */
extern const struct fields memory_fields;	/* struct snap_memory */
extern const struct fields blind_fields;	/* struct snap_blind */
extern const struct fields growth_fields;	/* struct growth */
extern const struct fields thread_fields;	/* struct snap_thread */
extern const struct fields point_fields;	/* struct snap_point, of a process */
extern const struct fields history_fields;	/* and of a site */
extern const struct fields size_fields;		/* struct snap_size */
extern const struct fields lifetime_fields;	/* struct snap_lifetime */
extern const struct fields mark_fields;		/* struct snap_mark */
extern const struct fields source_fields;	/* struct snap_source */
extern const struct fields taken_fields;	/* struct snap_taken */
extern const struct fields free_fields;		/* struct snap_free, without what it refers to */
extern const struct fields free_site_fields;	/* struct snap_site: of snapshot.free_sites */
extern const struct fields hidden_fields;	/* struct snap_hidden */
extern const struct fields module_fields;	/* struct snap_module */
extern const struct fields probe_fields;	/* struct snap_probe */
/* schema_heap.c: struct snap_heap, by the objects that it is in files */
extern const struct fields heap_fields, heap_in_use_fields, heap_free_fields, heap_skipped_fields, heap_older_fields;
extern const struct fields unreached_fields;	/* struct snap_unreached */
extern const struct fields arena_fields;	/* struct snap_arena */
extern const struct fields class_fields;	/* struct snap_class, without its types */
extern const struct fields share_fields;	/* struct snap_share */
extern const struct fields type_fields;		/* struct snap_type */
extern const struct fields root_fields;		/* struct snap_root */
extern const struct fields part_fields;		/* struct snap_part, without its stack */
extern const struct fields block_fields;	/* struct snap_block, without its site */
extern const struct fields recording_fields;	/* struct snapshot: how it was recorded */
extern const struct fields machine_fields;	/* struct snap_machine */
extern const struct fields tool_fields, host_fields, folded_fields, scan_fields, stack_fields, overhead_fields;	/* struct snapshot */

const struct field *fields__find(const struct fields *fields, const char *key);	/* NULL: no such field */
const void *field__of(const struct field *f, const void *row);
/* Of a row: enum counter_bit and enum known_of_row. */
unsigned int site__known(const struct snapshot *s, const struct snap_site *site);
unsigned int process__known(const struct snapshot *s, const struct snap_process *p);
unsigned int heap__known(const struct snapshot *s, const struct snap_heap *h);
/* No file had it, or one of those that the row is the sum of had not. */
bool field__is_unread(const struct fields *fields, const struct field *f, const void *row);
void field__set_unread(const struct fields *fields, const struct field *f, void *row);
double field__number(const struct field *f, const void *row);	/* of a figure; NAN: it is none */
/* 0, false, NULL */
bool field__is_empty(const struct field *f, const void *row);
/* Strings become the snapshot's own. */
void fields__own(struct snapshot *s, const struct fields *fields, void *row);
void *rows__copy(struct snapshot *s, const struct fields *fields, const void *from, size_t n, size_t size);	/* with their strings */
/* Those that have a rule for it; the others stay as they are. */
void fields__merge(const struct fields *fields, void *sum, const void *row);
/* Of a sum that is that row's so far. */
void fields__begin(const struct fields *fields, void *sum, const void *row);

#endif
