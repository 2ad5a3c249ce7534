// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what passes over the block table took out of it. The programs take dead
 * entries for room while we do (reclaim.bpf.h): the side that swaps the key for another
 * value has the entry, and accounts for it, they in the site's gone_*, we in
 * `gone`. What always holds: of a process that has ended, both and what is in the
 * table still add up to its live blocks.
 */
#include "collect/passes.h"

#include <string.h>
#include <time.h>

#include "bpf/hash.h"

void sweep__init(struct sweep *s, const struct tables *t)
{
	*s = (struct sweep){ .tables = t };
}

void sweep__done(struct sweep *s)
{
	free(s->gone);
	free(s->weighed);
	s->gone = NULL;
	s->weighed = NULL;
}

bool sweep__is_dead(const struct sweep *s, uint32_t proc)
{
	return proc && s->dead[MT_PROC_SLOT(proc)] == proc;
}

void sweep__begin(struct sweep *s, const uint32_t *procs, size_t n, uint64_t now_ns, uint64_t older_ns)
{
	const struct tables *t = s->tables;

	if (!s->gone)
		s->gone = xcalloc(t->n_sites, sizeof(*s->gone));
	if (!s->weighed && t->sample_bytes)
		s->weighed = xcalloc(t->n_sites, sizeof(*s->weighed));
	memset(s->dead, 0, sizeof(s->dead));
	for (size_t i = 0; i < n; i++)
		s->dead[MT_PROC_SLOT(procs[i])] = procs[i];
	s->clock = birth_clock__at(t, now_ns);
	s->older_born_ns = now_ns > older_ns ? now_ns - older_ns : 0;
	s->walk = (struct block_walk){};
	s->keys = (struct map_walk){};
	s->stage = 0;
	s->n_removed = s->cpu_ns = 0;
	s->under_way = true;
}

/* born: as in the table, MT_BORN() */
static void note(struct sweep *s, uint32_t site, uint64_t size, uint64_t born)
{
	uint64_t born_ns = birth_clock__ns(&s->clock, born);

	s->n_removed++;
	if (site >= s->tables->n_sites)
		return;
	seen__add(&s->gone[site], size, born_ns, s->older_born_ns);
	if (s->weighed)
		weighed__add(&s->weighed[site], size, s->tables->sample_bytes, born_ns <= s->older_born_ns);
}

void tables__note_left(const struct tables *t, uint64_t bucket, uint64_t addr, uint32_t proc)
{
	uint32_t home = mt_bucket_of(mt_block_hash(addr, proc, t->mode), addr, t->n_buckets / MT_GROUP);

	if (home != bucket && home < t->n_buckets)
		__atomic_fetch_sub(&t->buckets[home].n_spilled, 1, __ATOMIC_SEQ_CST);
}

static inline bool is_dead(uint32_t proc, const void *arg)
{
	return sweep__is_dead(arg, proc);
}

static inline void take_out(const struct block *b, void *arg)
{
	struct sweep *s = arg;
	uint64_t key = b->addr << 16 | b->proc;

	if (b->at) {
		if (!__atomic_compare_exchange_n(&b->at->key, &key, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return;
	} else {
		if (bpf_map_delete_elem(s->tables->overflow_fd, &(struct mt_over_key){ .addr = b->addr, .proc = b->proc }))
			return;
		__atomic_fetch_sub(s->tables->n_over, 1, __ATOMIC_SEQ_CST);
	}
	note(s, b->site, b->size, b->born);
	if (b->addr <= MT_ADDR_MAX)
		tables__note_left(s->tables, b->bucket, b->addr, b->proc);
}

static uint32_t proc_of_part(const void *key)
{
	return ((const struct mt_part_key *)key)->proc;
}

static uint32_t proc_of_node(const void *key)
{
	return MT_NODE_PROC(*(const uint64_t *)key);
}

/* Parts of mappings and their index: what they record is in the overflow map, so they just go. */
static bool sweep_keys(struct sweep *s, int fd, size_t key_size, size_t value_size,
		       uint32_t (*proc_of)(const void *key))
{
	_Alignas(8) char keys[MAP_BATCH * sizeof(struct mt_part_key)], values[MAP_BATCH * sizeof(struct mt_part)];
	uint32_t n = MAP_BATCH;
	bool more;

	if (fd <= 0 || key_size > sizeof(struct mt_part_key) || value_size > sizeof(struct mt_part))
		return false;
	more = map_walk__next(&s->keys, fd, keys, values, &n);
	for (uint32_t i = 0; i < n; i++)
		if (sweep__is_dead(s, proc_of(keys + i * key_size)))
			bpf_map_delete_elem(fd, keys + i * key_size);
	return more;
}

/* The next part; false: there is no more. */
static bool sweep_part(struct sweep *s)
{
	bool more = s->stage == 0 ? block_walk__next(&s->walk, s->tables, is_dead, take_out, s) :
		    s->stage == 1 ? sweep_keys(s, s->tables->parts_fd, sizeof(struct mt_part_key), sizeof(struct mt_part), proc_of_part) :
				    sweep_keys(s, s->tables->nodes_fd, sizeof(uint64_t), sizeof(uint64_t), proc_of_node);

	if (more)
		return true;
	s->keys = (struct map_walk){};
	return ++s->stage < 3;
}

bool sweep__some(struct sweep *s, uint64_t budget_ns)
{
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = began_ns;

	while (s->under_way && now_ns - began_ns <= budget_ns) {
		s->under_way = sweep_part(s);
		now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	s->cpu_ns += now_ns - began_ns;
	return !s->under_way;
}
