// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Sites are told by their process, allocation function, thread and stack; a stack by the files that its places are in and the
 * offsets there, as the numbers of a snapshot's places are its own.
 *
 * What always holds: what was done before is in no figure, also where it has moved since: into the row of stacks that gave up their
 * room, or into that of processes which have ended. What has no site of its own any more is taken from such rows (passes).
 */
#include "model/since.h"

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

static void side_init(struct side *d, const struct snapshot *s)
{
	d->s = s;
	d->modules = xcalloc(s->n_modules + 1, sizeof(*d->modules));
	d->places = xcalloc(s->n_places + 1, sizeof(*d->places));
	for (size_t i = 0; i < s->n_modules; i++)
		d->modules[i] = hash__string(s->modules[i].build_id ?: s->modules[i].path ?: "");
	for (size_t i = 0; i < s->n_places; i++)
		d->places[i] = hash__mix(s->places[i].module < 0 ? 1 : d->modules[s->places[i].module], s->places[i].offset);
}

/* Which parts of a site are in its key. */
enum { ITS_PROCESS = 1, ITS_STACK = 2 };

/* Two numbers of 64 bits: that two of a million stacks have both is not to be expected. */
static struct key key_of(const struct side *d, const struct snap_site *site, unsigned int parts)
{
	bool has_stack = parts & ITS_STACK;
	struct key k = { 0, hash__string(site->function), (uint64_t)site->growth << 32 | (has_stack ? site->n_stack : 0) };

	if (parts & ITS_PROCESS)
		k.a = hash__mix(d->s->processes[site->process].id, has_stack ? (uint64_t)site->tid ^ (site->thread ? hash__string(site->thread) : 0) : 0);
	for (uint32_t i = 0; has_stack && i < site->n_stack; i++) {
		k.a = hash__mix(k.a, d->places[site->stack[i]]);
		k.b = hash__mix(d->places[site->stack[i]], k.b);
	}
	return k;
}

/* Sites of one key, such as a stack that was walked in two ways, share what was there. Estimates may become less: no calls are fewer than none. */
static void take_away(struct counters *c, struct counters *was)
{
	struct counters now = *c, then = *was, both = counters__take(c, was);

	counters__take(was, &both);
	c->live_blocks = now.live_blocks - then.live_blocks;
	c->live_bytes = now.live_bytes - then.live_bytes;
	c->peak_bytes = now.peak_bytes;
	was->live_blocks = was->live_bytes = 0;
}

/* What was done before, and is not yet taken away: sites of one key, and one of them. */
struct left {
	const struct snap_site *site;
	struct counters c;
};

struct lefts vec(struct left);

static bool any_row(const struct snapshot *s, const struct snap_site *site)
{
	return true;
}

static bool is_of_evicted(const struct snapshot *s, const struct snap_site *site)
{
	return site->evicted_stacks;
}

static bool is_of_merged(const struct snapshot *s, const struct snap_site *site)
{
	return s->processes[site->process].ended && s->processes[site->process].n_members;
}

static bool is_of_both(const struct snapshot *s, const struct snap_site *site)
{
	return is_of_evicted(s, site) && is_of_merged(s, site);
}

/* Each with what the ones before it have left. */
static const struct pass {
	unsigned int parts;
	bool (*takes)(const struct snapshot *s, const struct snap_site *site);
	bool of_gone, of_there;	/* what is left of processes that have no row of their own any more, or have one */
} passes[] = {
	{ ITS_PROCESS | ITS_STACK, any_row, true, true },
	{ ITS_PROCESS, is_of_evicted, false, true },
	{ ITS_STACK, is_of_merged, true, false },
	{ 0, is_of_both, true, false },
	{ 0, is_of_merged, true, false },
};

/* left: what there is to take away; then what remains of it */
static void run_pass(const struct pass *pass, struct snapshot *to, const struct side *before, const struct side *after, const struct key_ids *there,
		    struct lefts *left)
{
	struct lefts now = {};
	struct key_ids keys = {};
	uint32_t id;

	for (size_t i = 0; i < left->n; i++) {
		const struct left *l = &left->v[i];
		bool is_there = key_ids__find(there, (struct key){ .a = before->s->processes[l->site->process].id }, &id);
		struct left *slot;

		/* for a later pass */
		if (!(is_there ? pass->of_there : pass->of_gone)) {
			slot = vec_push(&now);
			key_ids__get(&keys, (struct key){ ~0ull, ~0ull, i }, &id, NULL);
			*slot = *l;
			continue;
		}
		key_ids__get(&keys, key_of(before, l->site, pass->parts), &id, NULL);
		if (id == now.n) {
			slot = vec_push(&now);
			slot->site = l->site;
		}
		counters__add_counts(&now.v[id].c, &l->c);
	}
	for (size_t i = 0; i < to->n_sites; i++)
		if (pass->takes(to, &to->sites[i]) && key_ids__find(&keys, key_of(after, &to->sites[i], pass->parts), &id)) {
			take_away(&to->sites[i].c, &now.v[id].c);
			/* an estimate that became less has not moved elsewhere */
			if (to->estimated)
				now.v[id].c = (struct counters){};
		}
	key_ids__done(&keys);
	vec_done(left);
	*left = now;
}

static void take_all_away(struct snapshot *to, const struct side *before, const struct side *after)
{
	struct key_ids there = {};
	struct lefts left = {};
	uint32_t id;

	for (size_t i = 0; i < to->n_processes; i++)
		key_ids__get(&there, (struct key){ .a = to->processes[i].id }, &id, NULL);
	for (size_t i = 0; i < before->s->n_sites; i++) {
		struct left *l = vec_push(&left);

		*l = (struct left){ &before->s->sites[i], before->s->sites[i].c };
	}
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
		run_pass(&passes[i], to, before, after, &there, &left);
	key_ids__done(&there);
	vec_done(&left);
}

void snapshot__free_ended(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->processes[s->sites[i].process].ended)
			s->sites[i].c.live_blocks = s->sites[i].c.live_bytes = 0;
}

struct snapshot *snapshot__since(const struct snapshot *before, const struct snapshot *after)
{
	struct counters totals = before->totals;
	struct side a = {}, b = {};
	struct snapshot *to = snapshot__like(after);

	side_init(&a, before);
	side_init(&b, after);
	to->sites = snapshot__alloc(to, after->n_sites + 1, sizeof(*to->sites));
	memcpy(to->sites, after->sites, after->n_sites * sizeof(*to->sites));
	take_away(&to->totals, &totals);
	to->wall_start_ns = before->wall_now_ns;
	to->duration_ns = after->duration_ns - MIN(before->duration_ns, after->duration_ns);
	b.s = to;
	take_all_away(to, &a, &b);
	side_done(&a);
	side_done(&b);
	return to;
}
