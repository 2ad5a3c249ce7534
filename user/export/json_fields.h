/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Keys of JSON objects into fields of structs, for json_read*.c alone. */
#ifndef MT_JSON_FIELDS_H
#define MT_JSON_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/json_cut.h"
#include "model/snapshot.h"
#include "util/err.h"
#include "util/ids.h"
#include "util/util.h"

struct json_frame {
	const char *function, *module, *build_id, *offset, *file;
	uint32_t line;
	bool inlined;
};

struct frame_text {
	const char *at;		/* in the file's text */
	struct json_frame frame;
	uint32_t place;		/* + 1, of the frame alone; 0: not asked for yet */
};

struct reader {
	struct snapshot *s;
	struct string_ids strings;	/* each once, in the snapshot's arena */
	struct key_ids process_ids;	/* number: index into processes */
	struct key_ids lines;		/* (the line before, or 0; function and file; number and inlined): chains */
	struct key_ids places;		/* (module + 1, offset, the chain of its lines); number: index into s->places */
	struct vec(struct place) place_list;
	struct vec(struct snap_module) modules;
	struct key_ids module_ids;	/* (path, build id or NULL: the first of that path); number: not an index */
	struct vec(int) module_of_id;
	struct key_ids tag_ids;		/* (name, is it a thread's): two of a file may be alike; number: index into tag_of_id */
	struct vec(uint32_t) tag_of_id;	/* the first one: index into s->tags */
	struct key_ids frame_ids;	/* (hash and length of a frame's text); number: index into frames */
	struct vec(struct frame_text) frames;
	struct vec(uint32_t) stack;	/* of the site that is being read */
	struct err *e;
};

enum field_type { FIELD_U64, FIELD_I64, FIELD_U32, FIELD_INT, FIELD_DOUBLE, FIELD_BOOL, FIELD_STR };

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
};

/* A key that is not there, or null, leaves its field as it was; one of another type or out of its range is an error. */
int reader__fields(struct reader *r, json_t *from, void *to, const struct field *fields, size_t n, const char *what);

/* COUNTERS, and which of them are there (enum counter_bit). */
int reader__counters(struct reader *r, json_t *from, struct counters *to, unsigned int *ret_known, const char *what);
int reader__std_error(struct reader *r, json_t *from, struct std_error *to, const char *what);

/* A clean copy that lives as long as the snapshot; NULL: no memory. */
const char *reader__string(struct reader *r, const char *str);
/* Elements of an array, 0 if there is none; -EINVAL: it is no array, or has more than max. */
int reader__array(struct reader *r, json_t *from, const char *key, size_t max, json_t **ret, size_t *ret_n);

/* A time as json.c writes it; NULL, or null: *ret is left as it was. */
int reader__time(struct reader *r, json_t *v, const char *key, int64_t *ret);

/* json_read_pieces.c: NULL: it is no JSON. */
json_t *reader__parse(struct reader *r, const struct span *piece, const char *what);
/* An array's elements one by one; it was cut out already. */
int reader__count(struct reader *r, struct span array, const char *key, size_t max, size_t *ret);
int reader__elements(struct reader *r, struct span array, const char *key,
		     int (*read)(struct reader *r, const struct span *piece, void *to), void *v, size_t size);

/* json_read_values.c: what the outermost object has under the key of that name. */
int reader__tool(struct reader *r, json_t *v);
int reader__host(struct reader *r, json_t *v);
int reader__stacks(struct reader *r, json_t *v);
int reader__overhead(struct reader *r, json_t *v);
int reader__scan(struct reader *r, json_t *v);
int reader__folded(struct reader *r, json_t *v);
int reader__hidden(struct reader *r, json_t *v);
int reader__totals(struct reader *r, json_t *v);
int reader__losses(struct reader *r, json_t *v);
int reader__edges(struct reader *r, json_t *v);
int reader__modules(struct reader *r, json_t *v);

/* json_read_stack.c: a site's places. */
int reader__stack(struct reader *r, json_t *from, struct snap_site *to);
/* The same of anything that has a stack, as text, which must stay as long as r does: what else there is goes to read. */
int reader__stack_text(struct reader *r, const struct span *piece, struct snap_site *stack, int (*read)(struct reader *r, json_t *from, void *to),
		       void *to);
int reader__add_module(struct reader *r, const char *path, const char *build_id);

/* json_read_rows.c: an element of "processes", of "sites", the latter as text, into a struct snap_site. */
int reader__process(struct reader *r, json_t *from, struct snap_process *to);
int reader__site(struct reader *r, const struct span *piece, void *to);
int reader__older_unsure(struct reader *r, json_t *from);
int reader__process_of(struct reader *r, json_t *from, uint32_t *ret);	/* the index of "process" */
int reader__end(struct reader *r, json_t *from, uint8_t *ret);

/* json_read_frees.c: "free_sites" and "frees"; sites were read already. */
int reader__frees(struct reader *r, const struct span *free_sites, const struct span *frees);

#endif
