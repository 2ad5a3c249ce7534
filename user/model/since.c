// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Sites are told by their process, allocation function, thread and stack; a stack by the files that its places are in and the
 * offsets there, as the numbers of a snapshot's places are its own.
 */
#include "model/since.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/merge.h"
#include "util/hash.h"
#include "util/ids.h"
#include "util/util.h"

struct side {
	const struct snapshot *s;
	uint64_t *modules;	/* by module: what it is told by */
	uint64_t *places;	/* by place */
};

static void side_done(struct side *d)
{
	free(d->modules);
	free(d->places);
}

static int side_init(struct side *d, const struct snapshot *s)
{
	d->s = s;
	d->modules = calloc(s->n_modules + 1, sizeof(*d->modules));
	d->places = calloc(s->n_places + 1, sizeof(*d->places));
	if (!d->modules || !d->places)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_modules; i++)
		d->modules[i] = hash__string(s->modules[i].build_id ?: s->modules[i].path ?: "");
	for (size_t i = 0; i < s->n_places; i++)
		d->places[i] = hash__mix(s->places[i].module < 0 ? 1 : d->modules[s->places[i].module], s->places[i].offset);
	return 0;
}

/* Two numbers of 64 bits: that two of a million stacks have both is not to be expected. */
static struct key key_of(const struct side *d, const struct snap_site *site)
{
	const struct snap_process *p = &d->s->processes[site->process];
	struct key k = { hash__mix(p->id, (uint64_t)site->tid), hash__string(site->function), (uint64_t)site->growth << 32 | site->n_stack };

	for (uint32_t i = 0; i < site->n_stack; i++) {
		k.a = hash__mix(k.a, d->places[site->stack[i]]);
		k.b = hash__mix(d->places[site->stack[i]], k.b);
	}
	return k;
}

/* Sites of one key, such as a stack that was walked in two ways, share what was there. Estimates may become less: no calls are fewer than none. */
static void take_away(struct counters *c, struct counters *was, enum since_live live)
{
	uint64_t *now[] = { &c->alloc_calls, &c->alloc_bytes, &c->free_calls, &c->free_bytes, &c->realloc_calls, &c->temp_calls, &c->failed_calls, &c->unknown_frees },
		 *then[] = { &was->alloc_calls, &was->alloc_bytes, &was->free_calls, &was->free_bytes, &was->realloc_calls, &was->temp_calls, &was->failed_calls, &was->unknown_frees };

	for (size_t i = 0; i < ARRAY_SIZE(now); i++) {
		uint64_t n = MIN(*now[i], *then[i]);

		*now[i] -= n;
		*then[i] -= n;
	}
	if (live == SINCE_LIVE_NOW)
		return;
	c->live_blocks -= was->live_blocks;
	c->live_bytes -= was->live_bytes;
	was->live_blocks = was->live_bytes = 0;
}

static int take_all_away(struct snapshot *to, const struct side *before, const struct side *after, enum since_live live)
{
	struct key_ids keys = {};
	_cleanup_free_ struct counters *was = calloc(before->s->n_sites + 1, sizeof(*was));
	int err = was ? 0 : -ENOMEM;
	uint32_t id;

	for (size_t i = 0; i < before->s->n_sites && !err; i++) {
		err = key_ids__get(&keys, key_of(before, &before->s->sites[i]), &id, NULL);
		if (!err)
			counters__add_counts(&was[id], &before->s->sites[i].c);
	}
	for (size_t i = 0; i < to->n_sites && !err; i++)
		if (key_ids__find(&keys, key_of(after, &to->sites[i]), &id))
			take_away(&to->sites[i].c, &was[id], live);
	key_ids__done(&keys);
	return err;
}

struct snapshot *snapshot__since(const struct snapshot *before, const struct snapshot *after, enum since_live live)
{
	struct counters totals = before->totals;
	struct side a = {}, b = {};
	struct snapshot *to = snapshot__new();
	struct obstack arena;
	int err = to ? side_init(&a, before) ?: side_init(&b, after) : -ENOMEM;

	if (!err) {
		arena = to->arena;
		*to = *after;
		to->arena = arena;
		to->sites = snapshot__alloc(to, after->n_sites + 1, sizeof(*to->sites));
		memcpy(to->sites, after->sites, after->n_sites * sizeof(*to->sites));
		take_away(&to->totals, &totals, live);
		to->wall_start_ns = before->wall_now_ns;
		to->duration_ns = after->duration_ns - MIN(before->duration_ns, after->duration_ns);
		b.s = to;
		err = take_all_away(to, &a, &b, live);
	}
	side_done(&a);
	side_done(&b);
	if (err) {
		snapshot__free(to);
		return NULL;
	}
	return to;
}
