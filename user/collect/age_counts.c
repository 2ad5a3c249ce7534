// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the counts of a pass, by site and class. A table of all classes of all sites
 * would be a hundred times what is in it, and would not stay in any cache: a site has
 * a list of pieces instead, of the classes that it has blocks in.
 */
#include "collect/age_counts.h"

#include <math.h>
#include <string.h>

void age_counts__init(struct age_counts *a, uint32_t n_sites)
{
	*a = (struct age_counts){ .first = xcalloc(n_sites, sizeof(*a->first)), .n_sites = n_sites };
}

void age_counts__done(struct age_counts *a)
{
	free(a->first);
	vec_done(&a->chunks);
	free(a->rows);
	*a = (struct age_counts){};
}

void age_counts__reset(struct age_counts *a)
{
	memset(a->first, 0, a->n_sites * sizeof(*a->first));
	a->chunks.n = 0;
	a->n_rows = 0;
}

/* After chunk last - 1 of the site; 0: it has none yet. */
static struct age_chunk *new_chunk(struct age_counts *a, uint32_t site, uint32_t last, uint32_t group)
{
	struct age_chunk *c = vec_push(&a->chunks);

	c->group = group;
	*(last ? &a->chunks.v[last - 1].next : &a->first[site]) = (uint32_t)a->chunks.n;
	return c;
}

void age_counts__add(struct age_counts *a, uint32_t site, uint64_t age_ns, double blocks, double bytes)
{
	uint32_t class = age__class(age_ns), at = a->first[site], last = 0;
	struct age_chunk *c = NULL;

	while (at && (c = &a->chunks.v[at - 1])->group != class / AGE_CHUNK) {
		last = at;
		at = c->next;
	}
	if (!at)
		c = new_chunk(a, site, last, class / AGE_CHUNK);
	c->of[class % AGE_CHUNK].blocks += blocks;
	c->of[class % AGE_CHUNK].bytes += bytes;
}

void age_counts__make_rows(struct age_counts *a, size_t n_more)
{
	size_t n = n_more;

	for (size_t i = 0; i < a->chunks.n; i++)
		for (int k = 0; k < AGE_CHUNK; k++)
			n += a->chunks.v[i].of[k].blocks > 0;
	a->n_rows = 0;
	if (n > a->row_room) {
		free(a->rows);
		a->rows = xcalloc(n, sizeof(*a->rows));
		a->row_room = n;
	}
}

static struct cut_age *put(struct age_counts *a, struct cut_age row)
{
	a->rows[a->n_rows] = row;
	return &a->rows[a->n_rows++];
}

struct cut_age *age_counts__rows(struct age_counts *a, uint32_t site, struct cut_age *list)
{
	for (uint32_t at = a->first[site]; at; at = a->chunks.v[at - 1].next) {
		const struct age_chunk *c = &a->chunks.v[at - 1];

		for (uint32_t k = 0; k < AGE_CHUNK; k++) {
			uint8_t class = (uint8_t)(c->group * AGE_CHUNK + k);

			if (c->of[k].blocks > 0)
				list = put(a, (struct cut_age){ list, (uint64_t)llround(c->of[k].blocks),
								(uint64_t)llround(c->of[k].bytes), class, class });
		}
	}
	return list;
}

struct cut_age *age_counts__range(struct age_counts *a, uint64_t youngest_ns, uint64_t oldest_ns,
				  uint64_t blocks, uint64_t bytes, struct cut_age *list)
{
	return put(a, (struct cut_age){ list, blocks, bytes, age__class(MIN(youngest_ns, oldest_ns)),
					age__class(oldest_ns) });
}
