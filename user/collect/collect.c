// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the view of the kernel's tables in our memory, and the last cut.
 *
 * Between two cuts events are charged to one bank and the other one rests. A cut
 * flips the bank, waits until no program is left that began before, and reads
 * the bank that came to rest. What a bank said when it was last at rest is kept:
 * the sum of both is the state of the world at the flip.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/collect.h"
#include "collect/recycle.h"
#include "malloctrace.skel.h"
#include "probe/kernel.h"
#include "util/util.h"

#define N_TABLES 13

/* The tables, each with the place that points to it. */
struct table_at {
	struct bpf_map *map;
	void **at;
};

static void list_tables(struct collect *c, struct table_at ret[N_TABLES])
{
	struct malloctrace_bpf *skel = c->kernel->skel;
	struct tables *t = &c->tables;
	const struct table_at rows[N_TABLES] = {
		{ skel->maps.blocks, (void **)&t->buckets },
		{ skel->maps.sites, (void **)&t->sites },
		{ skel->maps.site_index, (void **)&t->index },
		{ skel->maps.site_counts, (void **)&t->counts },
		{ skel->maps.site_vars, (void **)&t->vars },
		{ skel->maps.site_rare, (void **)&t->rare },
		{ skel->maps.free_links, (void **)&t->links },
		{ skel->maps.free_ages, (void **)&t->ages },
		{ skel->maps.stack_words, (void **)&t->words },
		{ skel->maps.procs, (void **)&t->procs },
		{ skel->maps.proc_hists, (void **)&t->hists },
		{ skel->maps.threads, (void **)&t->threads },
		{ skel->maps.spots, (void **)&t->spots },
	};

	memcpy(ret, rows, sizeof(rows));
}

int collect__new(struct kernel *k, const struct code_calls *code, struct collect **ret, struct err *e)
{
	struct collect *c = xcalloc(1, sizeof(*c));
	struct table_at tables[N_TABLES];
	uint32_t n_sites = k->sizes.n_sites + k->sizes.n_procs;
	int err = 0;

	c->kernel = k;
	c->code = code;
	c->sites = xcalloc(n_sites, sizeof(*c->sites));
	c->procs = xcalloc(k->sizes.n_procs, sizeof(*c->procs));
	c->cut.procs = xcalloc(k->sizes.n_procs, sizeof(*c->cut.procs));
	c->tables.n_sites = n_sites;
	c->tables.n_index = k->sizes.n_index;
	sweep__init(&c->sweep, &c->tables);
	c->tables.sample_bytes = k->recording.sample_bytes;
	c->tables.mode = k->recording.mode;
	c->tables.born_unit_ns = k->born_unit_ns;
	c->tables.n_links = k->sizes.n_links > 1 ? k->sizes.n_links : 0;
	c->tables.n_buckets = (uint64_t)k->sizes.n_groups * MT_GROUP;
	freed__init(&c->freed, &c->tables);
	scan__init(&c->scan, &c->tables);
	age_counts__init(&c->ages, n_sites);
	links__init(&c->links, &c->tables);
	evict__init(c);
	list_tables(c, tables);
	for (size_t i = 0; i < N_TABLES && !err; i++)
		err = kernel__map_table(tables[i].map, PROT_READ | PROT_WRITE, tables[i].at, e);
	if (err) {
		collect__free(c);
		return err;
	}
	c->tables.n_threads = bpf_map__max_entries(k->skel->maps.threads);
	c->tables.overflow_fd = bpf_map__fd(k->skel->maps.overflow);
	c->tables.n_over = &k->skel->bss->mt_n_over;
	c->tables.links_used = &k->skel->bss->mt_links_used;
	c->tables.parts_fd = k->sizes.n_mapped > 1 ? bpf_map__fd(k->skel->maps.map_parts) : 0;
	c->tables.nodes_fd = k->sizes.n_mapped > 1 ? bpf_map__fd(k->skel->maps.map_nodes) : 0;
	*ret = c;
	return 0;
}

void collect__free(struct collect *c)
{
	struct table_at tables[N_TABLES];

	if (!c)
		return;
	list_tables(c, tables);
	for (size_t i = 0; i < N_TABLES; i++)
		kernel__unmap_table(tables[i].map, *tables[i].at);
	free(c->sites);
	scan__done(&c->scan);
	sweep__done(&c->sweep);
	evict__done(c);
	freed__done(&c->freed);
	age_counts__done(&c->ages);
	links__done(&c->links);
	block_sample__done(&c->blocks);
	vec_done(&c->leaving);
	free(c->procs);
	free(c->cut.sites);
	free(c->cut.procs);
	free(c->cut.threads);
	free(c);
}

bool collect__is_marked(const struct collect *c)
{
	return __atomic_load_n(&c->kernel->skel->bss->mt_cut_owner, __ATOMIC_SEQ_CST) == MT_CUT_MARK;
}

/* The side that flips the banks must have them to itself until the one at rest is read. */
static int claim(struct collect *c, struct err *e)
{
	__u64 idle = MT_CUT_IDLE;

	if (c->held || __atomic_compare_exchange_n(&c->kernel->skel->bss->mt_cut_owner, &idle, MT_CUT_READER,
						   false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 0;
	return err_set(e, -EBUSY, "the snapshot of a mark has not been read yet");
}

static void let_go(struct collect *c, bool hold)
{
	c->held = hold;
	__atomic_store_n(&c->kernel->skel->bss->mt_cut_owner, hold ? MT_CUT_READER : MT_CUT_IDLE, __ATOMIC_SEQ_CST);
}

/* From here on events go to the other bank; when this returns, none is on its way to the old one. */
static int flip(struct collect *c, bool marked, uint32_t *ret_bank, struct err *e)
{
	struct malloctrace_bpf *skel = c->kernel->skel;
	int err;

	if (marked)
		*ret_bank = !(__atomic_load_n(&skel->data->mt_cut, __ATOMIC_SEQ_CST) & 1);
	else
		*ret_bank = __atomic_fetch_add(&skel->data->mt_cut, 1, __ATOMIC_SEQ_CST) & 1;
	err = kernel__wait_for_programs(c->kernel);
	return err ? err_set(e, err, "cannot wait for the BPF programs to finish: %s", strerror(-err)) : 0;
}

/* Hits that the kernel did not pass on, because a program was under way on that CPU already. */
static uint64_t missed_hits(struct kernel *k)
{
	struct bpf_program *p;
	uint64_t n = 0;

	bpf_object__for_each_program(p, k->skel->obj) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);

		if (bpf_program__type(p) == BPF_PROG_TYPE_KPROBE &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			n += info.recursion_misses;
	}
	return n;
}

static void add_seen(struct snap_site *row, const struct seen *seen)
{
	row->scan_blocks += seen->blocks;
	row->scan_bytes += seen->bytes;
	row->older_blocks += seen->older_blocks;
	row->older_bytes += seen->older_bytes;
}

static void add_weighed(struct snap_site *row, const struct weighed *w)
{
	row->scan_blocks += (uint64_t)llround(w->blocks);
	row->scan_bytes += (uint64_t)llround(w->bytes);
	row->older_blocks += (uint64_t)llround(w->older_blocks);
	row->older_bytes += (uint64_t)llround(w->older_bytes);
}

static void see_oldest(struct snap_site *row, uint64_t born_ns)
{
	if (!row->oldest_born_ns || born_ns < row->oldest_born_ns) {
		row->oldest_born_ns = born_ns;
		row->oldest_at_most = false;
	}
}

/*
 * Of a process that has ended: blocks that are in the table no more are its live
 * blocks all the same. How old those were that the programs took is not known but
 * for the oldest; they are older than what was requested when all of the site's are.
 */
static void add_gone(struct collect *c, struct snap_site *row, const struct cut_opts *o)
{
	const struct mt_site *s = &c->tables.sites[row->number];
	uint64_t blocks = s->gone_calls, bytes = s->gone_bytes, had_blocks = row->scan_blocks,
		 had_bytes = row->scan_bytes;
	uint64_t now_ns = c->cut.now_ns;

	if (c->sweep.gone && c->sweep.gone[row->number].blocks) {
		see_oldest(row, c->sweep.gone[row->number].oldest_born_ns);
		if (c->sweep.weighed)
			add_weighed(row, &c->sweep.weighed[row->number]);
		else
			add_seen(row, &c->sweep.gone[row->number]);
	}
	if (blocks) {
		see_oldest(row, ~s->gone_born_inv);
		if (c->kernel->recording.sample_bytes) {
			blocks = sampler__calls(blocks);
			bytes = sampler__bytes(bytes);
		}
		row->scan_blocks += blocks;
		row->scan_bytes += bytes;
	}
	if (row->scan_blocks && now_ns >= row->last_ns && now_ns - row->last_ns >= o->older_ns) {
		row->older_blocks = row->scan_blocks;
		row->older_bytes = row->scan_bytes;
	}
	if (o->scan && o->ages && row->scan_blocks > had_blocks)
		row->raw_ages = age_counts__range(&c->ages, now_ns - MIN(row->last_ns, now_ns),
					      now_ns - MIN(row->oldest_born_ns, now_ns),
					      row->scan_blocks - had_blocks, row->scan_bytes - had_bytes,
					      row->raw_ages);
}

/* Ages, from a pass of this moment or from those that are made a part at a time. */
static void read_ages(struct collect *c, const struct cut_opts *o)
{
	struct cut *cut = &c->cut;

	cut->scanned = o->scan;
	cut->has_ages = o->scan && o->ages;
	if (cut->has_ages) {
		age_counts__reset(&c->ages);
		c->scan.ages = &c->ages;
	}
	cut->blocks = NULL;
	cut->n_blocks = 0;
	if (o->scan && o->blocks) {
		block_sample__reset(&c->blocks);
		c->scan.blocks = &c->blocks;
	}
	if (o->scan)
		scan__all(&c->scan, cut->now_ns, o->older_ns);
	c->scan.ages = NULL;
	c->scan.blocks = NULL;
	if (o->scan && o->blocks)
		block_sample__all(&c->blocks, &cut->blocks, &cut->n_blocks);
	if (cut->has_ages)
		age_counts__make_rows(&c->ages, cut->n_sites);
	for (size_t i = 0; i < cut->n_sites; i++) {
		struct snap_site *row = &cut->sites[i];
		const struct seen *seen = &c->scan.last[row->number];

		if (o->scan) {
			row->oldest_born_ns = seen->oldest_born_ns;
			if (c->scan.weighed)
				add_weighed(row, &c->scan.weighed[row->number]);
			else
				add_seen(row, seen);
			if (cut->has_ages)
				row->raw_ages = age_counts__rows(&c->ages, row->number, NULL);
		} else if (row->c.alloc_calls > row->c.free_calls) {
			/* one that never freed still has its first block; spare sites do not know theirs */
			uint64_t first_ns = row->first_ns ? row->first_ns : c->tables.procs[MT_PROC_SLOT(row->proc)].started_ns;

			bool known = true;

			row->oldest_born_ns = row->c.free_calls || !row->first_ns ?
						      scan__oldest_born_ns(&c->scan, row->number, first_ns, &known) :
						      first_ns;
			row->oldest_at_most = !known;
		}
		if (c->procs[MT_PROC_SLOT(row->proc)].n_ended_cuts)
			add_gone(c, row, o);
	}
}

void collect__look(struct collect *c, uint64_t budget_ns)
{
	scan__some(&c->scan, kernel__clock_ns(c->kernel), budget_ns);
}

int collect__drop_unused(struct collect *c, const struct use_calls *uses, struct err *e)
{
	volatile __u64 *cut = &c->kernel->skel->data->mt_cut;
	int err;

	/* programs that did not know of it are over: from here on they claim what they change */
	__atomic_or_fetch(cut, MT_CUT_DROPPING, __ATOMIC_SEQ_CST);
	err = kernel__wait_for_programs(c->kernel);
	if (!err)
		freed__drop(&c->freed, uses, kernel__clock_ns(c->kernel));
	__atomic_and_fetch(cut, ~MT_CUT_DROPPING, __ATOMIC_SEQ_CST);
	return err ? err_set(e, err, "cannot wait for the BPF programs to finish: %s", strerror(-err)) : 0;
}

void collect__walk_unseen(struct collect *c, const struct use_calls *uses)
{
	freed__drop(&c->freed, uses, kernel__clock_ns(c->kernel));
}

void collect__doubt_live(struct collect *c, uint32_t proc)
{
	for (size_t i = 0; i < c->cut.n_procs; i++)
		if (c->cut.procs[i].proc == proc)
			c->cut.procs[i].live_unknown = true;
}

#define SOME_BUCKETS 512

double collect__table_fill(const struct collect *c)
{
	const struct tables *t = &c->tables;
	uint64_t step = MAX(t->n_buckets / SOME_BUCKETS, 1ull), n = 0, taken = 0;

	for (uint64_t i = 0; i < t->n_buckets; i += step, n++)
		for (int k = 0; k < MT_WAYS; k++)
			taken += t->buckets[i].way[k].key != 0;
	return n ? (double)taken / (double)(n * MT_WAYS) : 0;
}

/*
 * The programs learn some milliseconds late that code may have been written over: what they called
 * whole meanwhile may be wrong.
 */
static void distrust(struct snap_site *v, size_t n, const struct code_calls *code)
{
	for (size_t i = 0; i < n; i++)
		if ((v[i].end == MT_END_WHOLE || v[i].end == MT_END_DEPTH) &&
		    code->is_written(v[i].proc, v[i].frames, v[i].n_frames, v[i].met_ns, code->arg))
			v[i].end = MT_END_UNSURE;
}

/* A number may have been another process's when the look was taken. */
void collect__put_looks(struct collect *c, const struct site_look *v, size_t n)
{
	for (size_t i = 0; i < c->cut.n_sites && v; i++) {
		struct snap_site *row = &c->cut.sites[i];
		const struct site_look *l = row->number < n ? &v[row->number] : NULL;

		if (!l || !l->blocks || l->proc != row->proc || row->first_ns > l->looked_ns)
			continue;
		row->look = l;
		row->looked_blocks = l->blocks;
		row->unreached_blocks = l->unreached_blocks;
		row->unreached_bytes = l->unreached_bytes;
		if (l->looked_ns <= c->cut.now_ns)
			continue;
		/* of a scan after the snapshot: blocks that came within its last clock tick are not the snapshot's */
		row->looked_blocks = MIN(row->looked_blocks, row->c.alloc_calls - row->c.free_calls);
		row->unreached_blocks = MIN(row->unreached_blocks, row->looked_blocks);
	}
}

/* Who is not selected was traced until that was known: what found no room then is nobody's loss. */
static void leave_out_foreign(struct collect *c)
{
	struct foreign f = c->foreign;
	uint64_t *counters = c->cut.counters, of_sites;

	for (size_t i = 0; i < c->cut.n_procs; i++)
		if (c->cut.procs[i].ended == MT_ENDED_DROPPED) {
			f.blocks += c->cut.procs[i].lost_blocks;
			f.stacks += c->cut.procs[i].lost_stacks;
		}
	counters[MT_LOST_LIVE_FULL] -= MIN(f.blocks, counters[MT_LOST_LIVE_FULL]);
	/* a process counts both together */
	of_sites = MIN(f.stacks, counters[MT_LOST_SITE_FULL]);
	counters[MT_LOST_SITE_FULL] -= of_sites;
	counters[MT_LOST_STACK_FULL] -= MIN(f.stacks - of_sites, counters[MT_LOST_STACK_FULL]);
}

int collect__cut(struct collect *c, const struct cut_opts *o, const struct cut **ret, struct err *e)
{
	const struct code_calls *code;
	uint32_t bank;
	int err = o->marked_ns ? 0 : claim(c, e);

	if (err)
		return err;
	err = flip(c, o->marked_ns, &bank, e);
	if (err) {
		let_go(c, false);
		return err;
	}
	if (!o->marked_ns)
		freed__fold(&c->freed);
	c->cut.now_ns = o->marked_ns ? o->marked_ns : kernel__clock_ns(c->kernel);
	if (o->flipped)
		o->flipped(o->arg);
	cut_rows__read_procs(c, bank);
	cut_rows__read_spots(c, bank);
	cut_rows__read_sites(c, bank);
	links__read(&c->links, bank, c->kernel->sizes.n_sites, &c->cut);
	/* all that is in banks has been read */
	let_go(c, o->hold);
	cut_rows__read_threads(c);
	kernel__check_borrowers(c->kernel, 0);
	memcpy(c->cut.counters, c->kernel->skel->bss->mt_counters, sizeof(c->cut.counters));
	leave_out_foreign(c);
	c->cut.missed_hits = missed_hits(c->kernel);
	freed__settle(&c->freed, c->cut.sites, c->cut.n_sites);
	read_ages(c, o);
	evict__settle(c);
	collect__put_looks(c, o->looks, o->n_looks);
	/* where code was replaced: only then one address may mean several things */
	code = array_first(p, c->cut.procs, c->cut.n_procs, c->tables.procs[MT_PROC_SLOT(p->proc)].unmapped_ns) ?
		       c->code : NULL;
	if (code) {
		distrust(c->cut.sites, c->cut.n_sites, code);
		distrust(c->cut.wheres, c->cut.n_wheres, code);
	}
	if (c->recycled || code)
		collect__merge_repeats(&c->cut, code);
	c->all_gone = c->leaving.n && !c->sweep.under_way;
	*ret = &c->cut;
	return 0;
}
