// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The live blocks of one process, each by itself, without a cut. Owns nothing; any thread may ask. What always holds: a block
 * that was there from the beginning of the reading to its end is listed, with its own birth; others may be or not.
 */
#include <bpf/bpf.h>

#include "collect/recycle.h"
#include "util/sorted.h"

struct listing {
	const struct collect *c;
	uint32_t proc;
	uint64_t now_units;
	struct traced_blocks *to;
	int tid_of[1 << 16];	/* by serial number */
};

static bool is_its(uint32_t proc, const void *arg)
{
	return proc == ((const struct listing *)arg)->proc;
}

static void add(const struct block *b, void *arg)
{
	struct listing *l = arg;
	uint64_t born_ns = (l->now_units - mt_born_ago(b->born, l->now_units)) * l->c->tables.born_unit_ns;

	if (b->proc == l->proc && !(b->addr & MT_OVER_MAPPING))
		*vec_push(l->to) = (struct traced_block){ b->addr, b->size, born_ns, b->site, l->tid_of[MT_BORN_SERIAL(b->born)] };
}

/* One that moved while the table was read, as realloc's do, may have been met twice. */
static void drop_repeats(struct traced_blocks *v)
{
	size_t to = 0;

	for (size_t i = 0; i < v->n; i++)
		if (!to || v->v[to - 1].addr != v->v[i].addr)
			v->v[to++] = v->v[i];
		else
			v->v[to - 1] = v->v[i];
	v->n = to;
}

void collect__blocks(const struct collect *c, uint32_t proc, struct traced_blocks *to, uint64_t *ret_now_ns)
{
	struct listing *l = xcalloc(1, sizeof(*l));
	struct block_walk walk = {};

	*ret_now_ns = kernel__clock_ns(c->kernel);
	*l = (struct listing){ .c = c, .proc = proc, .now_units = *ret_now_ns / c->tables.born_unit_ns, .to = to };
	for (uint32_t i = 0; i < c->tables.n_threads; i++)
		if (c->tables.threads[i].tid && c->tables.threads[i].proc == proc)
			l->tid_of[c->tables.threads[i].serial] = (int)MT_TID(c->tables.threads[i].named_tid);
	to->n = 0;
	blocks__taken(&c->tables, add, l);
	while (block_walk__next(&walk, &c->tables, is_its, add, l))
		;
	radix__sort(to->v, to->n, sizeof(*to->v));
	drop_repeats(to);
	free(l);
}

static uint32_t site_of_part(const struct collect *c, uint32_t proc, const struct mt_part *part)
{
	struct mt_over_key key = { .addr = MT_OVER_MAPPING | part->block, .proc = proc };
	struct mt_over over;

	return bpf_map_lookup_elem(c->tables.overflow_fd, &key, &over) ? 0 : over.site;
}

#define MAX_PIECES 256

/* The kernel makes one mapping of neighbours: what several calls have mapped is charged to the one that mapped the most. */
uint32_t collect__mapping_site(const struct collect *c, uint32_t proc, uint64_t start, uint64_t end)
{
	struct {
		uint32_t site;
		uint64_t bytes;
	} sums[8] = {}, *most = &sums[0];
	uint64_t at = start;

	for (int i = 0; i < MAX_PIECES && at < end && c->tables.parts_fd > 0; i++) {
		struct mt_part_key key = { .addr = at, .proc = proc };
		struct mt_part part;
		uint32_t site;
		size_t k = 0;

		if (bpf_map_lookup_elem(c->tables.parts_fd, &key, &part) || part.other <= at)
			return 0;
		site = site_of_part(c, proc, &part);
		while (k < ARRAY_SIZE(sums) - 1 && sums[k].site && sums[k].site != site)
			k++;
		sums[k].site = site;
		sums[k].bytes += part.other - at;
		if (sums[k].bytes > most->bytes)
			most = &sums[k];
		at = part.other;
	}
	return at == end ? most->site : 0;
}
