/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The columns of tables: a row for each, with its title, its width, what it is
 * sorted by and what it shows. Reports and the live view draw the same ones.
 */
#ifndef MT_COLUMNS_H
#define MT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/schema.h"
#include "present/figures.h"

/* A thread, or several of one process whose names differ in digits alone (present/rows.h). */
struct thread_row {
	uint32_t process;	/* index into processes */
	int tid;		/* 0: of several, or of none that is known by it */
	const char *name;	/* "worker-3", "worker-*"; of at most 15 bytes, if it comes from the kernel */
	uint32_t n_threads, n_ended;
	uint64_t stands_for;	/* see struct snap_thread */
	struct counters c;	/* live and peak are not kept by thread */
	const struct thread_row *members;	/* n_threads of them */
	bool member;		/* it is one itself, shown below its row */
};

/* What two snapshots tell of a row. */
struct row_rates {
	double calls, bytes, frees;	/* a second, since the snapshot before; NAN: unknown */
	double delta;		/* live bytes since the baseline */
};

/* What a row of a table is about. */
struct row_of {
	const struct snapshot *s;
	const struct snap_process *process;	/* also that of the site or the thread */
	const struct snap_site *site;		/* NULL: the row is no site */
	const struct thread_row *thread;	/* NULL: it is no thread */
	const struct tag_row *tag;		/* NULL: it is no tag (present/rows.h) */
	const struct sum_row *sum;		/* NULL: it is none of several sites (present/rows.h) */
	const struct snap_mark *mark, *mark_before;	/* the one before: NULL, if either has no figures */
	const struct snap_when *when;
	/* what a look at the process's heap found; one of its parts beside it, none: its blocks with a mapping of their own */
	const struct snap_heap *heap;
	const struct snap_class *class;
	const struct snap_type *type;
	const struct snap_arena *arena;
	const struct snap_part *part;
	const struct snap_root *root;
	const struct snap_block *block;		/* its site beside it, if it has one */
	const struct tellings *tellings;	/* of s; NULL: names of sites are looked for anew */
	uint64_t weight, whole;	/* of a site among others, by what they are ranked by */
	bool older;		/* a site's live figures are those of blocks older than s->recording.older_ns */
	bool has_rates;		/* two snapshots: rates are those below, not averages since the trace began */
	struct row_rates rates;
};

/* How much a cell asks for attention; the live view has a colour for each. */
enum tone { TONE_PLAIN, TONE_DIM, TONE_GOOD, TONE_WARN, TONE_BAD };

/* What a table shows of a row. */
struct cell {
	double sort;		/* what rows are ordered by, the most first; NAN: unknown, or a name */
	const char *text;	/* in buf, or a string of the snapshot's; "": there is nothing, "-": it is not known */
	enum tone tone;
	char buf[CELL_MAX];
};

/* By c->sort and c->text: for the functions of columns. */
void cell__unknown(struct cell *c);
void cell__bytes(struct cell *c, uint64_t n);
void cell__count(struct cell *c, uint64_t n);
void cell__duration(struct cell *c, uint64_t ns);
void cell__share(struct cell *c, uint64_t part, uint64_t whole);
void cell__change(struct cell *c, double bytes);	/* NAN: unknown */
void cell__rate(struct cell *c, double per_second);	/* "182,400", "12.5": at most 7; NAN: unknown */
void cell__mark(struct cell *c);	/* it is an estimate: "~" before it */

/* A row of the schema. */
struct field_ref {
	const struct fields *fields;
	const char *key;
};
#define IS(its_fields, its_key) (&(const struct field_ref){ &its_fields, its_key })

/*
 * What a column shows is a field of the row, of which it takes value, unit and what must be known from
 * the schema, or what its function says.
 */
struct column {
	const char *name;	/* "growth"; no two in a table have the same */
	const char *title;	/* "GROWTH/s" */
	unsigned int width;	/* no cell is wider, but for the mark of an estimate; 0: a name of any length */
	bool left;		/* aligned to the left, as names are, by which rows are ordered as text */
	bool groups;		/* has the names of processes, or of the groups of them that --by made */
	bool code;		/* a name of code, shortened as such; where the next column, the last one, is empty, it runs into that */
	bool scaled;		/* "~" stands before it where figures are estimates */
	bool two_snapshots;	/* or a screen, or a page: reports leave it out */
	unsigned int drop;	/* where a line is too narrow the highest goes first; 0 stays */
	/* of a column that was chosen (columns__choose) */
	char as[16];		/* what it is called there */
	unsigned int from_cols;	/* only on screens as wide as this */
	const char *label, *tip;	/* on a page: NULL: the title in small letters; what it means */

	const struct field_ref *field;	/* NULL: functions know */
	const struct field_ref *older;	/* instead, where only blocks older than an age count */
	const struct field_ref *over;	/* it is told as a share of this one */
	bool mean, error;	/* or as so much for each of them; as the error of it */
	bool any_age;		/* it is of all live blocks: not told where only those older than an age count */
	bool since;		/* less what it was at the mark before */
	enum field_unit unit;	/* UNIT_NONE: the field's */

	unsigned int needs;	/* enum counter_bit: shown where these are recorded, beside what its field needs */
	unsigned int without;	/* enum counter_bit: shown only where these are not recorded: another one tells more */
	/* What the field did not make of the cell, or all of it. NULL: nothing. */
	void (*cell)(const struct row_of *r, struct cell *c);
	/* In reports instead of that text, where it may be of any length: it in at most `width` columns; the caller's. */
	char *(*fit)(const struct row_of *r, size_t width);
};

struct columns {
	const struct column *v;
	size_t n;
};

extern const struct columns process_columns, thread_columns, site_columns, tag_columns, mark_columns, when_columns;
extern const struct columns sum_columns, file_columns, module_columns;	/* of sums */
extern const struct columns free_place_columns, change_columns, function_columns;	/* of pages alone */
/* heap_columns.c: of a heap, and of its blocks */
extern const struct columns class_columns, type_columns, arena_columns, part_columns, root_columns, block_columns;

/* Of columns that were chosen, by what they are called there; NULL: no such column. */
const struct column *columns__find(const struct columns *c, const char *name);
/*
 * Those of a list of names with a blank between two, in that order, as a view has them. "error=live-error:6/4@80": that one, called
 * "error" here, 6 columns wide, one of the first to go where a line is too narrow, there from 80 columns on. v is the caller's.
 */
struct columns columns__choose(const struct columns *from, const char *list);
/* How wide a line of such columns is; a width of 0: it is not there. */
size_t columns__width(const struct columns *c, const size_t *widths, size_t gap);
/* Where a line is too narrow: the next one goes, of those that are said to go at `least` or later. False: none is left. */
bool columns__drop(const struct columns *c, size_t *widths, unsigned int least);
/* enum counter_bit: its own, and those of its field. */
unsigned int column__needs(const struct column *c);
void column__cell(const struct column *c, const struct row_of *r, struct cell *ret);
/* As it is shown: an estimate has its mark. */
void column__marked_cell(const struct column *c, const struct row_of *r, struct cell *ret);
/* Of a column of processes: of what --by made of them. */
const char *column__title(const struct column *c, const struct snapshot *s);
/* Does the snapshot have figures for it? */
bool column__holds(const struct column *c, const struct snapshot *s);

/* ---- figures of a process: present/figures.c */

struct rss_trend;
/* Bytes that a process grew by while it was traced: live ones or, while RSS (r) grows, resident ones, whichever are more. */
double process__grown_bytes(const struct snapshot *s, const struct snap_process *p, const struct rss_trend *r);
/* Growth of live bytes per second, from the trend or else from the timeline; NAN: unknown. */
double process__growth(const struct snap_process *p);
/*
 * What rows are ordered by where those that grow come first. What came so lately that nothing is known of its course has come within the age of its
 * oldest block: a site that takes a gigabyte at once is not below all that hardly grow. NAN: nothing is known.
 */
double site__growth_order(const struct snap_site *site);
/* How long the process was traced; 0: unknown, as of one that has ended. */
uint64_t process__traced_ns(const struct snapshot *s, const struct snap_process *p);
uint64_t process__age_ns(const struct snapshot *s, const struct snap_process *p);	/* 0: unknown */
/* "redis-server (1432)"; a row of several has no pid, but a number: "redis-server (3 processes)". */
#define PROCESS_NAME_MAX 256
const char *process__name(const struct snapshot *s, const struct snap_process *p, char buf[static PROCESS_NAME_MAX]);
#define PROCESS_NAME(s, p) process__name(s, p, (char[PROCESS_NAME_MAX]){})
/* What is in it behind the name. */
#define PROCESS_NUMBER_MAX 48
const char *process__number(const struct snapshot *s, const struct snap_process *p, char buf[static PROCESS_NUMBER_MAX]);
#define PROCESS_NUMBER(s, p) process__number(s, p, (char[PROCESS_NUMBER_MAX]){})
/* The unit, the pod, the container or the last parts of the cgroup: the first that is known; NULL: none. */
const char *process__where(const struct snap_process *p, char buf[static CELL_MAX]);

/*
 * A table: a line of titles and a line for each row, in as many columns as fit
 * into width; columns without anything in them are left out. whole: no name is cut, and lines may be longer.
 */
void columns__write(FILE *out, const struct columns *c, const struct row_of *rows, size_t n_rows, size_t width, bool whole);

/* ---- verdicts (model/judge.c) as a reader meets them: how much each asks for attention, and what it means */

struct verdict_word {
	const char *name;
	enum tone tone;
	const char *says;
};

/* The worst first. */
extern const struct verdict_word verdict_words[];
extern const size_t n_verdict_words;

/* ---- what a look at a process's heap found, in words that tables and sentences have in common. */

bool heaps__know_older(const struct snapshot *s);

#define HEAP_SIZE_COLS 13
/* "264"; of a range "64-128 KiB", "512 KiB-1 MiB", "1 GiB up" */
char *heap__size_words(char buf[static CELL_MAX], const struct snap_class *c);
#define HEAP_TYPE_COLS 12	/* of a type that is told at all: its share, and the beginning of its name */
/*
 * "98% app::Session, 2% app::Page" in at most `width` columns: names give way before shares do, then the last ones go.
 * "" where nothing is known; the caller's.
 */
char *heap__types_text(const struct snap_share *v, size_t n, size_t width);
/* Whose a part of resident memory is: "cprog: static_buf", "libc.so.6: other data", "worker-0". The caller's. */
char *heap__part_text(const struct snap_part *p);
/* How many rows of a kind (enum view_rows) a heap has, and one of them; the last arena may be that of blocks with mappings of their own. */
size_t heap__n_rows(const struct snap_heap *h, unsigned int rows);
struct row_of heap__row(const struct snapshot *s, const struct snap_heap *h, unsigned int rows, size_t i);
/* What such a row weighs: its blocks, or what is resident of it. */
void heap__row_sums(const struct row_of *r, uint64_t *ret_bytes, uint64_t *ret_blocks);
/* "main", "arena 2"; NULL: "own mappings" */
const char *heap__arena_words(char buf[static CELL_MAX], const struct snap_heap *h, const struct snap_arena *a);

#endif
