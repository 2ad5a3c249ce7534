/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Keys of JSON objects into fields of structs, for json_read*.c alone. */
#ifndef MT_JSON_FIELDS_H
#define MT_JSON_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/json/json_cut.h"
#include "model/schema_rows.h"
#include "util/err.h"
#include "util/ids.h"
#include "util/util.h"

struct json_frame {
	const char *function, *module, *build_id, *offset, *file, *dir;
	uint32_t line;
	bool inlined;
};

struct known_frame {
	struct json_frame frame;
	uint32_t place;		/* + 1, that begins with it; 0: not requested yet */
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
	/* (name, is it a thread's): two of a file may be alike; number: index into tag_of_id */
	struct key_ids tag_ids;
	struct vec(uint32_t) tag_of_id;	/* the first one: index into s->tags */
	struct known_frame *frames;	/* owned; "frames" of the file */
	size_t n_frames;
	struct vec(uint32_t) stack;	/* of the site that is being read */
	struct err *e;
};

/*
 * A key that is not there, or null, leaves its field as it was, but for bounds: there is none. One
 * of another type or out of its range is an error.
 */
int reader__row(struct reader *r, json_t *from, void *to, const struct fields *fields, const char *what);

/* COUNTERS, and which of them are there (enum counter_bit). */
int reader__counters(struct reader *r, json_t *from, struct counters *to, unsigned int *ret_known, const char *what);
int reader__std_error(struct reader *r, json_t *from, struct std_error *to, const char *what);

/* A clean copy that lives as long as the snapshot; NULL: no memory. */
const char *reader__string(struct reader *r, const char *str);
/* Elements of an array, 0 if there is none; -EINVAL: it is no array, or has more than max. */
int reader__array(struct reader *r, json_t *from, const char *key, size_t max, json_t **ret, size_t *ret_n);

/* json_read_pieces.c: NULL: it is no JSON. */
json_t *reader__parse(struct reader *r, const struct span *piece, const char *what);
/* An array's elements one by one; it was cut out already. */
int reader__count(struct reader *r, struct span array, const char *key, size_t max, size_t *ret);
int reader__elements(struct reader *r, struct span array, const char *key,
		     int (*read)(struct reader *r, json_t *from, void *to), void *v, size_t size);

/* json_read_values.c: what the outermost object has under the key of that name. */
int reader__tool(struct reader *r, json_t *v);
int reader__host(struct reader *r, json_t *v);
int reader__stacks(struct reader *r, json_t *v);
int reader__overhead(struct reader *r, json_t *v);
int reader__scan(struct reader *r, json_t *v);
int reader__machine(struct reader *r, json_t *v);
int reader__cgroups(struct reader *r, json_t *v);
int reader__folded(struct reader *r, json_t *v);
int reader__hidden(struct reader *r, json_t *v);
int reader__totals(struct reader *r, json_t *v);
int reader__losses(struct reader *r, json_t *v);
int reader__edges(struct reader *r, json_t *v);
int reader__modules(struct reader *r, json_t *v);
int reader__older_unsure(struct reader *r, json_t *v);
int reader__taken(struct reader *r, json_t *v);
/* Read before the processes are: settled when they are known. */
int reader__marks(struct reader *r, json_t *v);
void reader__settle_marks(struct reader *r);

/* json_read_stack.c: "frames", and the places of anything that has a stack. */
int reader__frames(struct reader *r, const struct span *frames);
int reader__stack(struct reader *r, json_t *from, uint32_t *ret_n, const uint32_t **ret);
int reader__add_module(struct reader *r, const char *path, const char *build_id);

/* json_read_rows.c: an element of "processes", of "sites". */
int reader__process(struct reader *r, json_t *from, void *to);
int reader__site(struct reader *r, json_t *from, void *to);
int reader__process_of(struct reader *r, json_t *from, uint32_t *ret);	/* the index of "process" */
int reader__end(struct reader *r, json_t *from, uint8_t *ret);
/* "lifetime_mean_ns": its sum is not in the file; the mean is what all readers want. */
int reader__mean(struct reader *r, json_t *from, uint64_t calls, uint64_t *ret_sum_ns);

/* json_read_heap.c: an element of "heap"; sites were read already. And "types" and "held" of a site. */
int reader__heaps(struct reader *r, const struct span *heaps);
int reader__site_blocks(struct reader *r, json_t *from, struct snap_site *to);

/* json_read_rows.c: an array of rows, in the snapshot's memory. */
int reader__rows(struct reader *r, json_t *from, const char *key, const struct fields *fields, size_t size, const void **ret, size_t *ret_n);
#define READ_ROWS(r, from, key, fields, to, n) reader__rows(r, from, key, fields, sizeof(**(to)), (const void **)(to), n)

/* json_read_frees.c: "free_sites" and "frees"; sites were read already. */
int reader__frees(struct reader *r, const struct span *free_sites, const struct span *frees);

#endif
