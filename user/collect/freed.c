// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is known of frees that were not seen, and were not noticed by the programs.
 *
 * What always holds: what the table has, what was taken out of it here and what the programs replaced add up to what was allocated.
 * A block that a program puts into the table meanwhile stays there: while blocks are taken out, both sides claim an entry before
 * they change it (MT_CUT_DROPPING). Who finds it claimed leaves it alone, and a program then puts its block elsewhere. So an entry
 * that was claimed here and has still the birth that it was judged by is the one that was judged.
 */
#include "collect/collect.h"
#include "collect/passes.h"

void freed__init(struct freed *f, const struct tables *t)
{
	*f = (struct freed){ .tables = t };
	if (t->mode != MT_MODE_LEAK)
		return;
	f->sites = xcalloc(t->n_sites, sizeof(*f->sites));
	f->since = xcalloc(t->n_sites, sizeof(*f->since));
}

void freed__done(struct freed *f)
{
	free(f->sites);
	free(f->since);
	*f = (struct freed){};
}

void freed__fold(struct freed *f)
{
	for (uint32_t i = 0; f->sites && i < f->tables->n_sites; i++) {
		f->sites[i].calls += f->since[i].calls;
		f->sites[i].bytes += f->since[i].bytes;
		f->since[i] = (struct freed_site){};
	}
}

void freed__settle(const struct freed *f, struct snap_site *v, size_t n)
{
	for (size_t i = 0; i < n && f->sites; i++) {
		v[i].c.free_calls += f->sites[v[i].number].calls;
		v[i].c.free_bytes += f->sites[v[i].number].bytes;
	}
}

void freed__forget(struct freed *f, uint32_t site)
{
	if (f->sites)
		f->sites[site] = f->since[site] = (struct freed_site){};
}

struct dropping {
	struct freed *f;
	const struct use_calls *uses;
	struct birth_clock clock;
};

static void note(struct dropping *d, uint32_t site, uint64_t bytes)
{
	if (site >= d->f->tables->n_sites)
		return;
	d->f->since[site].calls++;
	d->f->since[site].bytes += bytes;
}

/* False: another one took it, or its address came again since it was judged. */
static bool take_out(const struct block *b)
{
	uint64_t key = b->addr << 16 | b->proc, was = key;

	if (!__atomic_compare_exchange_n(&b->at->key, &was, MT_KEY_CLAIMED, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&b->at->born, __ATOMIC_RELAXED) != b->born) {
		__atomic_store_n(&b->at->key, key, __ATOMIC_SEQ_CST);
		return false;
	}
	__atomic_store_n(&b->at->key, 0, __ATOMIC_SEQ_CST);
	return true;
}

/*
 * If its address came again since it was judged, what is there now has another birth and goes back; unless the address
 * came once more meanwhile: then that one was freed, too, and nobody else knows of it. True: *ret has left the table.
 */
static bool take_out_over(const struct tables *t, const struct block *b, struct mt_over *ret)
{
	struct mt_over_key key = { .addr = b->addr, .proc = b->proc };

	if (bpf_map_lookup_and_delete_elem(t->overflow_fd, &key, ret) ||
	    (ret->born != b->born && !bpf_map_update_elem(t->overflow_fd, &key, ret, BPF_NOEXIST)))
		return false;
	__atomic_fetch_sub(t->n_over, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void drop(const struct block *b, void *arg)
{
	struct dropping *d = arg;
	const struct tables *t = d->f->tables;
	uint64_t born_ns = birth_clock__ns(&d->clock, b->born);
	struct mt_over left = { .site = b->site, .size = b->size };

	if (!(b->chain & MT_CHAIN_UNSEEN) || d->uses->of(b->proc, b->addr, b->size, born_ns, d->uses->arg) != BLOCK_NOT_IN_USE ||
	    !(b->at ? take_out(b) : take_out_over(t, b, &left)))
		return;
	if (b->addr <= MT_ADDR_MAX)
		tables__note_left(t, b->bucket, b->addr, b->proc);
	note(d, left.site, left.size);
}

void freed__drop(struct freed *f, const struct use_calls *uses, uint64_t now_ns)
{
	struct dropping d = { f, uses, birth_clock__at(f->tables, now_ns) };
	struct block_walk walk = {};

	while (block_walk__next(&walk, f->tables, NULL, drop, &d))
		;
}
