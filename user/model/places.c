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
#include <string.h>

#include "model/places.h"
#include "model/schema.h"

struct known_address {		/* all zero: not located yet */
	uint32_t place;
	bool fixed;
	uint64_t located_for;	/* places.n_begun */
};

struct known_stack {
	const uint64_t *frames;	/* whose translation this is */
	uint64_t met_ns;	/* numbers are given again, also within a process */
	uint32_t proc, n, room;
	bool fixed;
	uint32_t *places;
};

void places__done(struct places *p)
{
	key_ids__done(&p->addresses);
	vec_done(&p->known);
	key_ids__done(&p->by_offset);
	vec_done(&p->list);
	key_ids__done(&p->by_module);
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

/* -1: in no module. */
static int module_of(struct places *p, const struct address *a)
{
	struct key key = { .a = (uintptr_t)a->module };
	uint32_t number;
	bool is_new;

	if (!a->module)
		return -1;
	key_ids__get(&p->by_module, key, &number, &is_new);
	if (is_new)
		*vec_push(&p->modules) = (struct snap_module){ a->path, a->build_id, a->handle };
	return number;
}

void places__index(struct places *p, const struct address *a, uint32_t *ret)
{
	struct key key = { .a = (uintptr_t)a->module, .b = a->offset };
	bool is_new;

	key_ids__get(&p->by_offset, key, ret, &is_new);
	if (is_new)
		*vec_push(&p->list) = (struct place){ .module = module_of(p, a), .offset = a->offset };
}

static struct known_address *known_at(const struct places *p, uint32_t proc, uint64_t addr, uint64_t t_ns)
{
	uint32_t number;

	return key_ids__find(&p->addresses, (struct key){ addr, proc, t_ns }, &number) ? &p->known.v[number] : NULL;
}

static struct known_address *get_at(struct places *p, uint32_t proc, uint64_t addr, uint64_t t_ns)
{
	uint32_t number;

	key_ids__get(&p->addresses, (struct key){ addr, proc, t_ns }, &number, NULL);
	while (p->known.n <= number)
		vec_push(&p->known);
	return &p->known.v[number];
}

static const struct known_address *locate(struct places *p, uint32_t proc, uint64_t addr, uint64_t t_ns,
					  const struct model_calls *calls)
{
	struct known_address *known = known_at(p, proc, addr, 0);
	struct address a = {};
	uint32_t place;

	if (!known || !known->fixed)
		known = known_at(p, proc, addr, t_ns) ?: known;
	if (known && (known->fixed || known->located_for == p->n_begun))
		return known;
	calls->locate(proc, addr, t_ns, &a, calls->arg);
	places__index(p, &a, &place);
	known = get_at(p, proc, addr, a.timeless ? 0 : t_ns);
	*known = (struct known_address){ .place = place, .fixed = a.fixed, .located_for = p->n_begun };
	return known;
}

static struct known_stack *slot_of(struct places *p, const struct snap_site *site)
{
	struct known_stack *k;

	while (p->stacks.n <= site->number)
		vec_push(&p->stacks);
	k = &p->stacks.v[site->number];
	if (k->room < site->n_frames) {
		k->places = obstack_alloc(&p->arena, site->n_frames * sizeof(*k->places));
		k->room = site->n_frames;
	}
	return k;
}

const uint32_t *places__of_site(struct places *p, const struct snap_site *site, const struct model_calls *calls)
{
	struct known_stack *k = slot_of(p, site);

	if (k->fixed && k->frames == site->frames && k->n == site->n_frames && k->proc == site->proc &&
	    k->met_ns == site->met_ns)
		return k->places;
	k->fixed = false;
	for (uint32_t i = 0; i < site->n_frames; i++) {
		const struct known_address *a = locate(p, site->proc, site->frames[i], site->met_ns, calls);

		k->places[i] = a->place;
		k->fixed = a->fixed && (k->fixed || !i);
	}
	k->frames = site->frames;
	k->n = site->n_frames;
	k->proc = site->proc;
	k->met_ns = site->met_ns;
	return k->places;
}

void places__forget_site(struct places *p, uint32_t site)
{
	if (site < p->stacks.n)
		p->stacks.v[site].fixed = false;
}

void places__copy(const struct places *p, struct snapshot *s)
{
	s->n_places = p->list.n;
	s->places = snapshot__copy(s, p->list.v, p->list.n, sizeof(*s->places));
	s->n_modules = p->modules.n;
	s->modules = rows__copy(s, &module_fields, p->modules.v, p->modules.n, sizeof(*s->modules));
}
