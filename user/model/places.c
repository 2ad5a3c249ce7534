// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the places: each (module, offset) once, each (process, address) located
 * once (for each time, where code took the place of other code), and each site's stack translated
 * once. Ten thousand stacks of thirty frames take 20 ms to look up, and nearly all of them were
 * there a second ago.
 *
 * What always holds: an index names the same place as long as the mappings are
 * the same; only what is `fixed` (struct address) is believed for longer than
 * one snapshot.
 */
#include <errno.h>
#include <string.h>
#include <uthash.h>

#include "model/places.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct known_address {
	struct {
		uint64_t addr;
		uint64_t proc;
		uint64_t t_ns;	/* where several were in turn; 0: at any time */
	} key;
	uint32_t place;
	bool fixed;
	uint64_t located_for;	/* places.n_begun */
	UT_hash_handle hh;
};

struct known_place {
	struct {
		const void *module;
		uint64_t offset;
	} key;
	uint32_t place;
	UT_hash_handle hh;
};

struct known_module {
	const void *key;
	int module;
	UT_hash_handle hh;
};

struct known_stack {
	const uint64_t *frames;	/* whose translation this is */
	uint32_t proc, n, room;
	bool fixed;
	uint32_t *places;
};

void places__done(struct places *p)
{
	HASH_CLEAR(hh, p->addresses);
	HASH_CLEAR(hh, p->by_offset);
	HASH_CLEAR(hh, p->by_key);
	vec_done(&p->list);
	vec_done(&p->modules);
	vec_done(&p->stacks);
	if (p->begun)
		obstack_free(&p->arena, NULL);
	p->begun = false;
	p->n_forgotten++;
}

void places__begin(struct places *p, uint64_t mappings)
{
	if (p->mappings != mappings)
		places__done(p);
	if (!p->begun)
		obstack_init(&p->arena);
	p->begun = true;
	p->mappings = mappings;
	p->n_begun++;
}

static void *zeroed(struct places *p, size_t size)
{
	return memset(obstack_alloc(&p->arena, size), 0, size);
}

/* -1: in no module; -2: no memory. */
static int module_of(struct places *p, const struct address *a)
{
	struct known_module *m;
	struct snap_module *row;

	if (!a->module)
		return -1;
	HASH_FIND_PTR(p->by_key, &a->module, m);
	if (m)
		return m->module;
	row = vec_push(&p->modules);
	if (!row)
		return -2;
	*row = (struct snap_module){ a->path, a->build_id, a->handle };
	m = zeroed(p, sizeof(*m));
	m->key = a->module;
	m->module = p->modules.n - 1;
	HASH_ADD_PTR(p->by_key, key, m);
	return m->module;
}

static struct known_place *place_at(struct places *p, const struct address *a)
{
	struct known_place *known, find;
	struct place *row;
	int module;

	memset(&find, 0, sizeof(find));
	find.key.module = a->module;
	find.key.offset = a->offset;
	HASH_FIND(hh, p->by_offset, &find.key, sizeof(find.key), known);
	if (known)
		return known;
	module = module_of(p, a);
	row = module == -2 ? NULL : vec_push(&p->list);
	if (!row)
		return NULL;
	row->module = module;
	row->offset = a->offset;
	known = zeroed(p, sizeof(*known));
	known->key = find.key;
	known->place = p->list.n - 1;
	HASH_ADD(hh, p->by_offset, key, sizeof(known->key), known);
	return known;
}

static struct known_address *known_at(const struct places *p, uint32_t proc, uint64_t addr, uint64_t t_ns)
{
	struct known_address *known, find = { .key = { addr, proc, t_ns } };

	HASH_FIND(hh, p->addresses, &find.key, sizeof(find.key), known);
	return known;
}

static const struct known_address *locate(struct places *p, uint32_t proc, uint64_t addr, uint64_t t_ns,
					  const struct model_calls *calls)
{
	struct known_address *known = known_at(p, proc, addr, 0);
	struct known_place *at;
	struct address a = {};

	if (!known || !known->fixed)
		known = known_at(p, proc, addr, t_ns) ?: known;
	if (known && (known->fixed || known->located_for == p->n_begun))
		return known;
	calls->locate(proc, addr, t_ns, &a, calls->arg);
	at = place_at(p, &a);
	if (!at)
		return NULL;
	known = known_at(p, proc, addr, a.timeless ? 0 : t_ns);
	if (!known) {
		known = zeroed(p, sizeof(*known));
		known->key.addr = addr;
		known->key.proc = proc;
		known->key.t_ns = a.timeless ? 0 : t_ns;
		HASH_ADD(hh, p->addresses, key, sizeof(known->key), known);
	}
	known->place = at->place;
	known->fixed = a.fixed;
	known->located_for = p->n_begun;
	return known;
}

static struct known_stack *slot_of(struct places *p, const struct cut_site *site)
{
	struct known_stack *k;

	while (p->stacks.n <= site->site)
		if (!vec_push(&p->stacks))
			return NULL;
	k = &p->stacks.v[site->site];
	if (k->room < site->n_frames) {
		k->places = obstack_alloc(&p->arena, site->n_frames * sizeof(*k->places));
		k->room = site->n_frames;
	}
	return k;
}

const uint32_t *places__of_site(struct places *p, const struct cut_site *site, const struct model_calls *calls)
{
	struct known_stack *k = slot_of(p, site);

	if (!k)
		return NULL;
	if (k->fixed && k->frames == site->frames && k->n == site->n_frames && k->proc == site->proc)
		return k->places;
	k->fixed = false;
	for (uint32_t i = 0; i < site->n_frames; i++) {
		const struct known_address *a = locate(p, site->proc, site->frames[i], site->met_ns, calls);

		if (!a)
			return NULL;
		k->places[i] = a->place;
		k->fixed = a->fixed && (k->fixed || !i);
	}
	k->frames = site->frames;
	k->n = site->n_frames;
	k->proc = site->proc;
	return k->places;
}

void places__forget_site(struct places *p, uint32_t site)
{
	if (site < p->stacks.n)
		p->stacks.v[site].fixed = false;
}

int places__index(struct places *p, const struct address *a, uint32_t *ret)
{
	const struct known_place *known = place_at(p, a);

	if (!known)
		return -ENOMEM;
	*ret = known->place;
	return 0;
}

void places__copy(const struct places *p, struct snapshot *s)
{
	struct snap_module *modules = snapshot__alloc(s, p->modules.n + 1, sizeof(*modules));

	s->n_places = p->list.n;
	s->places = snapshot__alloc(s, s->n_places + 1, sizeof(*s->places));
	if (s->n_places)
		memcpy(s->places, p->list.v, s->n_places * sizeof(*s->places));
	s->n_modules = p->modules.n;
	s->modules = modules;
	for (size_t i = 0; i < s->n_modules; i++)
		modules[i] = (struct snap_module){
			.path = snapshot__strdup(s, p->modules.v[i].path),
			.build_id = snapshot__strdup(s, p->modules.v[i].build_id),
			.handle = p->modules.v[i].handle,
		};
}
