/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the objects of the JSON profile are made of, in the order of the file: tables of members,
 * which refer to the tables of fields (model/schema.h). The same tables write and read. For
 * json*.c alone.
 */
#ifndef MT_JSON_MEMBERS_H
#define MT_JSON_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/json/json_writer.h"
#include "model/schema_rows.h"
#include "util/err.h"
#include "util/ids.h"
#include "util/util.h"

struct writer {
	struct json *j;
	const struct snapshot *s;
	bool terse;		/* so many sites that nobody reads them by eye */
	/* numbers of frames in the file, in the order in which stacks name them first */
	bool *ambiguous;	/* by module: others have its path */
	uint32_t *first;	/* by place: the number of its first frame + 1; 0: none yet */
	uint32_t *order;	/* places that have numbers */
	size_t n_places, n_frames;
};

struct span {
	const char *at, *end;
};

struct piece {			/* an array of the outermost object, as text */
	const char *key;
	struct span text;
};

struct json_frame {
	const char *function, *module, *build_id, *file, *dir;
	uint64_t offset;
	uint32_t line;
	bool inlined, split, has_offset;
	uint32_t place;		/* + 1, that begins with it; 0: not requested yet */
};

struct reader {
	struct snapshot *s;
	json_t *whole;			/* the outermost object, without its pieces */
	struct vec(struct piece) pieces;
	struct string_ids strings;	/* each once, in the snapshot's arena */
	struct key_ids process_ids;	/* number: index into processes */
	struct key_ids lines;		/* (the line before, or 0; function and file; number and inlined): chains */
	struct key_ids places;		/* (module + 1, offset, the chain of its lines); number: index into s->places */
	struct vec(struct place) place_list;
	struct vec(struct snap_module) modules;
	struct key_ids module_ids;	/* (path, build id or NULL: the first of that path); number: not an index */
	struct vec(int) module_of_id;
	/* (name, is it a thread's): two of a file may be alike; number: index into tag_of_id */
	struct key_ids tag_ids;
	struct vec(uint32_t) tag_of_id;	/* the first one: index into s->tags */
	struct json_frame *frames;	/* owned; "frames" of the file */
	size_t n_frames;
	struct vec(uint32_t) stack;	/* of the site that is being read */
	struct err *e;
};

enum member_kind {
	MEMBER_END,
	MEMBER_FIELDS,	/* of the object that it is a member of: no key of its own */
	MEMBER_OBJECT,
	MEMBER_POINTER,	/* to such an object */
	MEMBER_ROWS,	/* an array of objects */
	MEMBER_STRINGS,	/* an array of strings */
	MEMBER_STACK,	/* places: "end" and "stack" */
	MEMBER_FRAMES,	/* what stacks refer to: written after, read before all that has stacks */
	MEMBER_OWN,	/* of code alone: write and read, NULL: there is nothing to do */
};

/* Offsets are in the struct of the object that it is a member of; of optional ones 0 is none. */
struct member {
	enum member_kind kind;
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
	unsigned int needs;		/* it is there if these are known */
	enum field_empty empty;		/* where it is not there: null; EMPTY_IS_ABSENT: no key */
	int line, row_line;		/* it, each row begins a line, indented by this; 0: not */
	bool terse;			/* rows without empty keys, if there are very many */
	/* What is known of a row, of what is known where the rows are; NULL: the same. */
	unsigned int (*known)(const struct snapshot *s, const void *row, unsigned int known);
	bool (*skips)(const void *row);	/* it is not written */
	/* In place of what the kind says; row: what it is a member of. read: MEMBER_OWN alone. */
	void (*write)(struct writer *w, const struct member *m, const void *row);
	int (*read)(struct reader *r, const struct member *m, json_t *from, void *row);
};

#define OR_ABSENT .empty = EMPTY_IS_ABSENT
#define OF_FIELDS(its_fields, ...) { .kind = MEMBER_FIELDS, .fields = its_fields, __VA_ARGS__ }
#define OBJECT(its_key, its_fields, ...) \
	{ .kind = MEMBER_OBJECT, .key = its_key, .fields = its_fields, __VA_ARGS__ }
#define ARRAY(its_kind, its_key, type, v, n, ...) \
	{ .kind = its_kind, .key = its_key, .offset = AT(type, v), .count = AT(type, n), \
	  .size = sizeof(*((struct type *)NULL)->v), \
	  .count_size = sizeof(((struct type *)NULL)->n), __VA_ARGS__ }
#define ROWS(its_key, its_fields, type, v, n, ...) \
	ARRAY(MEMBER_ROWS, its_key, type, v, n, .fields = its_fields, __VA_ARGS__)
#define STRINGS(its_key, type, v, n) ARRAY(MEMBER_STRINGS, its_key, type, v, n)
/* Far beyond what malloctrace writes: a site has at most 512 places. */
#define STACK(type, ...) \
	ARRAY(MEMBER_STACK, "stack", type, stack, n_stack, .max = 16384, __VA_ARGS__)
#define HEAPS_MAX 100000
#define OWN(its_key, its_write, its_read, ...) \
	{ .kind = MEMBER_OWN, .key = its_key, .write = its_write, .read = its_read, __VA_ARGS__ }
#define PROCESS(type) OWN("process", json__process, reader__process, .offset = AT(type, process))
#define STANDARD_ERROR(type) \
	OBJECT("standard_error", &error_fields, .offset = AT(type, error), OR_ABSENT, \
	       .needs = KNOWN_ERROR)
/* Members of a member, and fields that are nobody else's. */
#define MEMBERS(...) .members = (const struct member[]){ __VA_ARGS__, {} }
#define THESE(...) \
	(&(const struct fields){ (const struct field[]){ __VA_ARGS__ }, \
				 ARRAY_SIZE(((const struct field[]){ __VA_ARGS__ })) })

/* json_sites.c, json_heap.c */
extern const struct member process_members[], site_members[], heap_members[];
extern const struct member free_site_members[], free_members[];
/* An index into processes, as the id of that one, which must be there when it is read. */
void json__process(struct writer *w, const struct member *m, const void *row);
int reader__process(struct reader *r, const struct member *m, json_t *from, void *row);
/*
 * Tags: their rows; those that have a name get numbers for sites. Heaps: of a file without
 * processes of its own, those that they are of.
 */
void json__tags(struct writer *w, const struct member *m, const void *row);
int reader__tags(struct reader *r, const struct member *m, json_t *from, void *row);
int reader__processes_of_heaps(struct reader *r, const struct member *m, json_t *from, void *row);
int reader__heaps(struct reader *r, const struct member *m, json_t *from, void *row);

/* json.c: of a trace. */
extern const struct member json_whole;

/* json_members.c */
/* What an object, or a row, is made of; without the braces. */
void json__members(struct writer *w, const struct member *of, const void *row, unsigned int known);
int reader__members(struct reader *r, json_t *from, const struct member *of, void *row);
int reader__rows(struct reader *r, const struct member *m, json_t *from, void *row);
/* Elements of an array, 0 if there is none. */
int reader__array(struct reader *r, json_t *v, const struct member *m, size_t *ret_n);
bool json_value__is_there(json_t *v);	/* and not null */
void json__u64_or_null(struct json *j, const char *key, bool known, uint64_t n);

/* json_values.c */
/*
 * A key that is not there, or null, leaves its field as it was, but for bounds: there is none. One
 * of another type or out of its range is an error.
 */
int reader__row(struct reader *r, json_t *from, void *to, const struct fields *fields,
		const char *what);
/* A clean copy that lives as long as the snapshot. */
const char *reader__string(struct reader *r, const char *str);

/* json_read.c: pieces; NULL: there is none of that key. Elements are read one by one into v. */
const struct span *reader__piece(struct reader *r, const char *key);
int reader__count(struct reader *r, struct span array, const struct member *m, size_t *ret);
int reader__elements(struct reader *r, struct span array, const struct member *m, void *v);

/* json_stacks.c */
void frames__init(struct writer *w);
void frames__done(struct writer *w);
void json__frames(struct writer *w, const struct member *m, const void *row);
void json__stack(struct writer *w, const struct member *m, const void *row);
int reader__frames(struct reader *r);
int reader__stack(struct reader *r, const struct member *m, json_t *from, void *row);
int reader__modules(struct reader *r, const struct member *m, json_t *from, void *row);

#endif
