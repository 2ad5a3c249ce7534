/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Parts of the JSON profile, for json.c alone. */
#ifndef MT_JSON_PARTS_H
#define MT_JSON_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "files/json/json_writer.h"
#include "model/snapshot.h"

/* The numbers of frames in the file, in the order in which stacks name them first. */
struct frame_numbers {
	const struct snapshot *s;
	bool *ambiguous;	/* by module: others have its path */
	uint32_t *first;	/* by place: the number of its first frame + 1; 0: none yet */
	uint32_t *order;	/* places that have numbers */
	size_t n_places, n_frames;
};

int frame_numbers__init(struct frame_numbers *f, const struct snapshot *s);	/* -ENOMEM */
/* Before any stack: frames that most sites have get the shortest numbers. -ENOMEM */
int frame_numbers__by_use(struct frame_numbers *f);
void frame_numbers__done(struct frame_numbers *f);

/* "process" and "pid" */
void json__process_of(struct json *j, const struct snapshot *s, uint32_t process);
/* "lifetime_mean_ns"; of no calls null */
void json__mean(struct json *j, uint64_t calls, uint64_t sum_ns);
/* "end" and "stack" */
void json__stack(struct json *j, uint8_t end, const uint32_t *places, uint32_t n, struct frame_numbers *frames);
/* "free_sites" and "frees" */
void json__frees(struct json *j, const struct snapshot *s, struct frame_numbers *frames);
/* json_heap.c: "heap"; "types" and "held" of a site */
void json__heaps(struct json *j, const struct snapshot *s, struct frame_numbers *frames);
void json__site_blocks(struct json *j, const struct snap_site *site);
/* "frames", of all stacks that were written */
void json__frames(struct json *j, const struct frame_numbers *f);

#endif
