// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the table of numbers. What always holds: two sites have one number only if they are compared and alike. */
#include "model/same_sites.h"

#include <string.h>

#include "util/hash.h"

struct wanted {
	const struct same_sites *same;
	const struct snap_site *site;
	uint32_t process;
	const uint32_t *place_of;
};

static uint32_t place_at(const struct wanted *w, uint32_t i)
{
	return w->place_of ? w->place_of[w->site->stack[i]] : w->site->stack[i];
}

static bool is_same(const void *arg, uint32_t number)
{
	const struct wanted *w = arg;
	const struct snap_site *a = w->site, *b = &w->same->rows[number];

	if (b->process != w->process || a->n_stack != b->n_stack || strcmp(a->function, b->function))
		return false;
	for (uint32_t i = 0; i < a->n_stack; i++)
		if (place_at(w, i) != b->stack[i])
			return false;
	return true;
}

static uint64_t hash_of(const struct wanted *w)
{
	uint64_t hash = hash__mix(hash__string(w->site->function), w->process);

	for (uint32_t i = 0; i < w->site->n_stack; i++)
		hash = hash__mix(hash, place_at(w, i));
	return hash;
}

void same_sites__init(struct same_sites *same, const struct snap_site *rows, size_t max)
{
	*same = (struct same_sites){ .rows = rows };
	id_table__init(&same->table, max);
}

void same_sites__done(struct same_sites *same)
{
	id_table__done(&same->table);
}

void same_sites__get(struct same_sites *same, const struct snap_site *site, uint32_t process,
		     const uint32_t *place_of, uint32_t *ret, bool *ret_new)
{
	const struct wanted w = { same, site, process, place_of };
	uint32_t *slot = id_table__find(&same->table, hash_of(&w), is_same, &w);

	*ret_new = !*slot;
	if (!*slot)
		*slot = ++same->n;
	*ret = *slot - 1;
}
