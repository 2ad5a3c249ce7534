// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a look at a heap, from the first byte that is read to the sums in a snapshot. The order: blocks (with pointers to
 * them searched for, or not), what they are, the sums, the rest of resident memory.
 *
 * What always holds: sums of classes, types and arenas are of the blocks of one census; if that is refused, none is there.
 */
#include "heap/heap.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "bpf/hash.h"
#include "heap/look.h"
#include "util/ids.h"

/* Blocks whose kinds are looked up: all if there are no more, else so many by chance. */
#define MAX_KINDS 65536
/* Of a size that few blocks have, at least so many. */
#define MIN_KINDS_OF_SIZE 64
#define SCANS 3			/* for pointers, */
#define GAP_NS 200000000	/* and between two of them */

/* ---- blocks */

static int is_refusal(int err)
{
	return err == -ENOENT || err == -EPROTO || err == -ENOTSUP;
}

#define CENSUS_TRIES 5
#define BETWEEN_TRIES_NS 20000000

/* Sums that do not agree may be those of a heap that moved: not so each time. */
static int try_census(struct look *l, struct target *t, struct census *ret, struct err *e)
{
	struct timespec pause = { .tv_nsec = BETWEEN_TRIES_NS };
	int err = census__take(t, &l->glibc, ret, e);

	for (int i = 1; i < CENSUS_TRIES && err == -EPROTO && !l->o->pause; i++) {
		nanosleep(&pause, NULL);
		if (target__go_on(t, "reading the heap", 0))
			return err_set(e, -EINTR, "interrupted");
		census__done(ret);
		err_done(e);
		err = target__refresh(t, e) ?: census__take(t, &l->glibc, ret, e);
	}
	return err;
}

/* A heap that rests and does not add up all the same is damaged: no stop would help. */
static int take_census(struct look *l, struct target *t, struct census *ret, struct err *e)
{
	uint64_t runs = l->has_census || t->stopped ? 0 : target__runs(t);
	int err = try_census(l, t, ret, e);

	if (!err && runs && ret->at_odds)
		l->rested = target__runs(t) == runs;
	return err;
}

/* For reach__run() too: the blocks of this moment. */
static int take_blocks(struct target *t, void *arg, struct census *ret, struct err *e)
{
	struct look *l = arg;
	_cleanup_err_ struct err why = {};
	int err = 0;

	traced__before(&l->traced);
	if (!l->refused.code)
		err = take_census(l, t, ret, &why);
	/* after a census that held, one that does not is no reason to doubt the process: the heap moved too fast */
	if (is_refusal(err) && l->has_census)
		return err_set(e, -EAGAIN, "the heap changes too fast to be read (%s): try again, or --pause", err_msg(&why));
	if (is_refusal(err)) {
		census__done(ret);
		l->refused = why;
		why = (struct err){};
		err = l->o->traced ? 0 : err;
	}
	l->has_census |= !err && !l->refused.code;
	if (!err) {
		traced__after(&l->traced, ret);
		traced__add_foreign(&l->traced, &t->maps, ret);
	}
	return err && err == why.code ? err_set(e, err, "%s", err_msg(&why)) : err;
}

static bool is_same(const struct heap_block *b, void *arg)
{
	const struct look *l = arg;

	return traced__is_same(&l->traced, b);
}

/* Once more, by which it is known what is older than the trace and what came and went meanwhile. */
static int take_again(struct look *l, struct err *e)
{
	struct census again = {};
	int err = target__refresh(&l->target, e) ?: take_blocks(&l->target, l, &again, e);

	census__done(&again);
	/* the first one holds all the same; what is older than the trace is not known then */
	if (err == -EAGAIN) {
		l->moved_too_fast = true;
		err_done(e);
		err = 0;
	}
	return err;
}

static const int stops[] = { SIGTSTP, SIGTTIN, SIGTTOU };

/* Ctrl-Z would leave the process standing for as long as we do. It has no effect meanwhile. */
static void hold_stops(struct look *l, bool hold)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < ARRAY_SIZE(stops) && hold != l->holds_stops; i++)
		sigaction(stops[i], hold ? &ignore : &l->was[i], hold ? &l->was[i] : NULL);
	l->holds_stops = hold;
}

/* Whoever asks may have work of its own to do meanwhile. */
static bool is_not_over(void *arg)
{
	const struct target_calls *of = ((struct look *)arg)->o->calls;

	if (of && of->is_over)
		of->is_over(of->arg);
	return false;
}

/*
 * A search that ended before its time is none. What is left takes no longer than a look without one
 * and is not interrupted, so that what was found is not lost.
 */
static int keep_census(struct look *l, int err, struct err *e)
{
	if ((err && err != -EINTR) || !l->o->reachable || !l->has_census)
		return err;
	l->h->search_interrupted = err;
	if (err)
		err_done(e);
	l->calls = (struct target_calls){ .is_over = is_not_over, .arg = l };
	l->target.calls = &l->calls;
	return 0;
}

/* For roots: before a stop, which these need not make longer. */
static int find_thread_locals(struct look *l, struct heap_ranges *ret, struct err *e)
{
	struct parts *parts = NULL;
	int err = parts__new(&l->target, l->o->objects, &parts, e);

	if (!err)
		parts__thread_locals(parts, ret);
	parts__free(parts);
	return err;
}

static int find_blocks(struct look *l, struct err *e)
{
	const struct heap_opts *o = l->o;
	struct reach_opts r = {
		.scans = SCANS,
		.gap_ns = GAP_NS,
		.roots = o->roots,
		/* what has ended stands still, too */
		.paused = o->pause || !l->target.runner,
		.registers = o->registers,
		.blocks = take_blocks,
		.is_same = o->traced ? is_same : NULL,
		.arg = l,
	};
	int err = o->roots && o->reachable ? find_thread_locals(l, &r.thread_locals, e) : 0;

	if (!err && o->pause) {
		hold_stops(l, true);
		err = target__pause(&l->target, e) ?: target__refresh(&l->target, e);
	}
	if (!err && o->reachable)
		err = reach__run(&l->target, &r, &l->reach, e);
	else if (!err)
		err = take_blocks(&l->target, l, &l->reach.first, e);
	vec_done(&r.thread_locals);
	target__resume(&l->target);
	hold_stops(l, false);
	if (o->keeps_census)
		err = keep_census(l, err, e);
	if (!err && o->traced && l->traced.n_looks < 2 && !o->pause)
		err = take_again(l, e);
	return err;
}

/* ---- what they are */

/* By chance, with the same chance for all blocks of a size. */
static void choose_for_sizes(struct look *l, uint8_t *bits)
{
	const struct census *c = &l->reach.first;
	_cleanup_free_ uint64_t *blocks = xcalloc(N_SIZE_CLASSES, sizeof(*blocks));
	uint64_t every = c->blocks.n / MAX_KINDS + 1;

	for (size_t i = 0; i < c->blocks.n; i++)
		blocks[size_class__of(c->blocks.v[i].usable)]++;
	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		uint64_t n = blocks[size_class__of(b->usable)];

		if (mt_mix(b->addr) % MIN(every, n / MIN_KINDS_OF_SIZE + 1) == 0)
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	}
}

static bool has_bit(const uint8_t *bits, size_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void list_chosen(struct look *l, const uint8_t *for_sizes, const uint8_t *for_sites)
{
	const struct census *c = &l->reach.first;

	for (size_t i = 0; i < c->blocks.n; i++)
		if (!(c->blocks.v[i].flags & BLOCK_LIBC) && (has_bit(for_sizes, i) || has_bit(for_sites, i)))
			*vec_push(&l->chosen) = (uint32_t)i;
	l->for_size = xcalloc(l->chosen.n + 1, 1);
	l->kind_of = xcalloc(l->chosen.n + 1, sizeof(*l->kind_of));
	for (size_t i = 0; i < l->chosen.n; i++)
		l->for_size[i] = has_bit(for_sizes, l->chosen.v[i]);
}

static int look_up_kinds(struct look *l, struct err *e)
{
	const struct census *c = &l->reach.first;
	size_t n_bytes = c->blocks.n / 8 + 1;
	_cleanup_free_ uint8_t *for_sizes = xcalloc(n_bytes, 1), *for_sites = xcalloc(n_bytes, 1);
	_cleanup_free_ const struct heap_block **blocks = NULL;

	choose_for_sizes(l, for_sizes);
	if (l->o->traced)
		look__choose_for_sites(l, for_sites);
	list_chosen(l, for_sizes, for_sites);
	blocks = xcalloc(l->chosen.n + 1, sizeof(*blocks));
	for (size_t i = 0; i < l->chosen.n; i++)
		blocks[i] = &c->blocks.v[l->chosen.v[i]];
	l->kinds = kinds__new(&l->target, l->o->objects);
	return kinds__look(l->kinds, blocks, l->chosen.n, l->kind_of, e);
}

/* ---- sums */

static void put_arenas(struct look *l)
{
	const struct census *c = &l->reach.first;
	struct snap_arena *v = snapshot__alloc(l->s, c->arenas.n + 1, sizeof(*v));
	struct snap_heap *h = l->h;

	for (size_t i = 0; i < c->arenas.n; i++) {
		const struct snap_arena *a = &v[i];

		v[i] = c->arenas.v[i].is;
		v[i].free_bytes = a->tcache_bytes + a->bins_bytes + a->top_bytes;
		h->free_bytes += a->free_bytes;
		h->tcache_bytes += a->tcache_bytes;
		h->bins_bytes += a->bins_bytes;
		h->top_bytes += a->top_bytes;
		h->trimmable_bytes += a->trimmable_bytes;
		h->free_resident_bytes += c->arenas.v[i].free_resident_bytes;
	}
	h->arenas = v;
	h->n_arenas = c->arenas.n;
}

static void put_census(struct look *l)
{
	const struct census *c = &l->reach.first;
	struct snap_heap *h = l->h;

	for (size_t i = 0; i < c->blocks.n; i++) {
		h->blocks++;
		h->bytes += c->blocks.v[i].usable;
	}
	h->mapped_blocks = c->mapped_blocks;
	h->mapped_bytes = c->mapped_bytes;
	h->swapped_bytes = c->swapped_bytes;
	h->broken_bytes = c->broken_bytes;
	h->passed_over_bytes = c->passed_over_bytes;
	h->unsure_blocks = c->unsure_blocks;
	h->rested = l->rested;
	put_arenas(l);
}

/* Blocks by size and by kind: all of them, those that nothing reaches, those that are older than the trace. */
static void count_blocks(struct look *l, struct tally *all, struct tally *lost, struct tally *older)
{
	const struct census *c = &l->reach.first;
	struct snap_unreached *u = &l->h->unreached;
	size_t chosen = 0, old = 0;

	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		const struct kind *kind = look__kind(l, &chosen, i);
		bool unreached = look__is_unreached(l, i);

		kind = kind && l->for_size[chosen] ? kind : NULL;
		tally__add(all, b, kind, unreached);
		if (unreached) {
			tally__add(lost, b, kind, true);
			u->blocks++;
			u->bytes += b->usable;
			u->direct_blocks += l->reach.state[i] == UNREACHED;
			u->direct_bytes += l->reach.state[i] == UNREACHED ? b->usable : 0;
		}
		if (!sorted__meet(one, l->traced.older.v, l->traced.older.n, &old, one->addr, b->addr))
			continue;
		tally__add(older, b, kind, unreached);
		l->h->older_blocks++;
		l->h->older_bytes += b->usable;
		l->h->older_unreached_blocks += unreached;
		l->h->older_unreached_bytes += unreached ? b->usable : 0;
	}
}

static void add_up(struct look *l)
{
	struct tally all, unreached, older;
	struct snap_heap *h = l->h;

	tally__init(&all);
	tally__init(&unreached);
	tally__init(&older);
	count_blocks(l, &all, &unreached, &older);
	tally__put(&all, l->s, &h->classes, &h->n_classes, &h->types, &h->n_types);
	tally__put(&unreached, l->s, &h->unreached.classes, &h->unreached.n_classes, &h->unreached.types, &h->unreached.n_types);
	tally__put(&older, l->s, &h->older_classes, &h->n_older_classes, &h->older_types, &h->n_older_types);
}

static void put_reach(struct look *l)
{
	struct snap_unreached *u = &l->h->unreached;

	if (!l->reach.state)
		return;
	*u = l->reach.is;
	u->registers = l->reach.registers_missing   ? "not read" :
		       l->reach.n_unread_threads   ? "read in part" :
		       l->reach.registers_stopped ? "stopped" :
						      "read";
	u->unread_threads = l->reach.registers_missing ? 0 : l->reach.n_unread_threads;
}

/* In a trace: of another allocator its blocks are known all the same, as far as they were traced. */
static void put_refusal(struct look *l)
{
	const char *other = census__other_allocator(&l->target);
	char text[128];

	snprintf(text, sizeof(text), "%s cannot be looked at from outside: of its blocks, those of this trace are known", other ? other : "");
	l->h->refused = snapshot__strdup(l->s, other && l->o->traced ? text : err_msg(&l->refused));
}

/* ---- who holds what */

#define MAX_HOLDERS 64

struct ranked {
	struct snap_root root;
	uint32_t was;
};

COMPARATOR(by_held, struct ranked,
	   ORDER(b->root.bytes, a->root.bytes) ?: strcmp(a->root.name, b->root.name) ?: ORDER(a->root.kind, b->root.kind) ?:
	   strcmp(a->root.module ?: "", b->root.module ?: ""))

/* The most bytes first; of_root follows. */
static void rank(struct holders *h, size_t n_roots)
{
	_cleanup_free_ struct ranked *v = xcalloc(h->v.n + 1, sizeof(*v));
	_cleanup_free_ uint32_t *to = xcalloc(h->v.n + 1, sizeof(*to));

	for (size_t i = 0; i < h->v.n; i++)
		v[i] = (struct ranked){ h->v.v[i], (uint32_t)i };
	qsort(v, h->v.n, sizeof(*v), by_held);
	for (size_t i = 0; i < h->v.n; i++) {
		h->v.v[i] = v[i].root;
		to[v[i].was] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < n_roots; i++)
		h->of_root[i] = to[h->of_root[i]];
}

static void make_holders(const struct reach_result *r, struct parts *parts, struct holders *ret)
{
	struct key_ids known = {};

	*ret = (struct holders){ .of_root = xcalloc(r->roots.n + 1, sizeof(*ret->of_root)) };
	for (size_t i = 0; i < r->roots.n; i++) {
		const struct reach_root *root = &r->roots.v[i];
		struct snap_root named;
		bool is_new;

		parts__name_root(parts, root->addr, root->tid, &named);
		/* equal names are one pointer */
		named.name = pool__string(&parts->pool, named.name);
		named.module = pool__string(&parts->pool, named.module);
		key_ids__get(&known, (struct key){ named.kind, (uintptr_t)named.name, (uintptr_t)named.module }, &ret->of_root[i], &is_new);
		if (is_new)
			*vec_push(&ret->v) = named;
		ret->v.v[ret->of_root[i]].blocks += root->blocks;
		ret->v.v[ret->of_root[i]].bytes += root->bytes;
	}
	key_ids__done(&known);
	rank(ret, r->roots.n);
}

static void put_holders(const struct holders *h, struct snapshot *s, struct snap_heap *to)
{
	size_t n = MIN(h->v.n, (size_t)MAX_HOLDERS);
	struct snap_root *v = snapshot__alloc(s, n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = *snap_root__copy(s, &h->v.v[i]);
	to->roots_known = true;
	to->roots = v;
	to->n_roots = n;
}

/* ---- all of it */

static int look_at_heap(struct look *l, struct err *e)
{
	const struct heap_opts *o = l->o;
	int err = find_blocks(l, e);

	if (err)
		return err;
	put_reach(l);
	if (l->refused.code)
		put_refusal(l);
	else
		put_census(l);
	l->h->older_known = o->traced_all && !l->refused.code && !l->moved_too_fast;
	/* an address that is given again and again may have been taken in both looks, by chance */
	l->h->older_unsure_blocks = l->traced.n_dropped + (l->traced.n_dropped || l->reach.first.unsure_blocks);
	err = look_up_kinds(l, e);
	if (err)
		return err;
	add_up(l);
	if (o->roots && l->reach.root) {
		err = parts__new(&l->target, o->objects, &l->parts, e);
		if (err)
			return err;
		make_holders(&l->reach, l->parts, &l->holders);
		put_holders(&l->holders, l->s, l->h);
	}
	if (o->list)
		look__list_blocks(l);
	if (o->traced && o->on_site)
		look__tell_sites(l);
	return 0;
}

static void done(struct look *l)
{
	vec_done(&l->holders.v);
	free(l->holders.of_root);
	parts__free(l->parts);
	kinds__free(l->kinds);
	reach_result__done(&l->reach);
	traced__done(&l->traced);
	glibc__done(&l->glibc);
	target__done(&l->target);
	vec_done(&l->chosen);
	free(l->kind_of);
	free(l->for_size);
	err_done(&l->refused);
	hold_stops(l, false);
}

int heap__look(pid_t pid, const struct heap_opts *o, struct snapshot *s, struct snap_heap *ret, struct err *e)
{
	struct look l = { .o = o, .s = s, .h = ret, .traced.o = o };
	uint64_t began_ns = now_ns();
	int err = o->kept ? target__open_kept(o->kept, o->calls, &l.target, e) : target__open(pid, o->calls, &l.target, e);

	if (err)
		return err;
	ret->allocator = "glibc";
	err = look_at_heap(&l, e);
	if (is_refusal(err)) {
		ret->refused = snapshot__strdup(s, err_msg(l.refused.code ? &l.refused : e));
		err_done(e);
		err = 0;
	}
	if (census__other_allocator(&l.target))
		*(ret->refused ? &ret->allocator : &ret->other_allocator) = census__other_allocator(&l.target);
	if (!err && o->parts && !l.parts)
		err = parts__new(&l.target, o->objects, &l.parts, e);
	if (!err && o->parts)
		err = parts__fill(l.parts, ret->refused ? NULL : &l.reach.first, s, ret, e);
	if (!err && l.target.memory.failed)
		err = err_set(e, l.target.memory.failed, "process %d was not read whole: %s", (int)pid, strerror(-l.target.memory.failed));
	ret->paused_ns = l.target.paused_ns;
	ret->looked_ns = now_ns() - began_ns;
	done(&l);
	return err;
}
