/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How the objects of the JSON profile are written and read, by the tables of members and fields of
 * the schema (model/schema.h). For json*.c alone.
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

#define JSON_FULL_SITES 10000	/* a site with all its keys is a kilobyte, most of it zeros */

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
	bool terse;			/* rows that are being read have no keys that are empty */
	struct err *e;
};

/*
 * json_own.c: what code writes or reads, in place of what the kind of a member says; NULL: that.
 * row: what it is a member of.
 */
struct json_own {
	void (*write)(struct writer *w, const struct member *m, const void *row);
	int (*read)(struct reader *r, const struct member *m, json_t *from, void *row);
};
extern const struct json_own json_owns[N_OWN];

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
void json__frames(struct writer *w, const struct member *m);
void json__stack(struct writer *w, const struct member *m, const void *row);
int reader__frames(struct reader *r);
int reader__stack(struct reader *r, const struct member *m, json_t *from, void *row);
int reader__offset(struct reader *r, const struct member *m, json_t *from, void *row);
int reader__modules(struct reader *r, const struct member *m, json_t *from, void *row);

#endif
