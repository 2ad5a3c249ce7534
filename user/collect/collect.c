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
#include "probe/sampler.h"
#include "util/util.h"

#define N_TABLES 13

/* The tables, each with the place that points to it. */
static void list_tables(struct collect *c, struct bpf_map *maps[N_TABLES], void **at[N_TABLES])
{
	struct malloctrace_bpf *skel = c->kernel->skel;
	struct tables *t = &c->tables;
	const struct {
		struct bpf_map *map;
		void **at;
	} rows[N_TABLES] = {
		{ skel->maps.blocks, (void **)&t->buckets },
		{ skel->maps.sites, (void **)&t->sites },
		{ skel->maps.site_index, (void **)&t->index },
		{ skel->maps.site_counts, (void **)&t->counts },
		{ skel->maps.site_vars, (void **)&t->vars },
		{ skel->maps.site_moves, (void **)&t->moves },
		{ skel->maps.free_links, (void **)&t->links },
		{ skel->maps.free_ages, (void **)&t->ages },
		{ skel->maps.stack_words, (void **)&t->words },
		{ skel->maps.procs, (void **)&t->procs },
		{ skel->maps.proc_hists, (void **)&t->hists },
		{ skel->maps.threads, (void **)&t->threads },
		{ skel->maps.spots, (void **)&t->spots },
	};

	for (size_t i = 0; i < N_TABLES; i++) {
		maps[i] = rows[i].map;
		at[i] = rows[i].at;
	}
}

int collect__new(struct kernel *k, struct collect **ret, struct err *e)
{
	struct collect *c = calloc(1, sizeof(*c));
	struct bpf_map *maps[N_TABLES];
	void **at[N_TABLES];
	uint32_t n_sites = k->sizes.n_sites + k->sizes.n_procs;
	int err = 0;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->kernel = k;
	c->sites = calloc(n_sites, sizeof(*c->sites));
	c->procs = calloc(k->sizes.n_procs, sizeof(*c->procs));
	c->cut.procs = calloc(k->sizes.n_procs, sizeof(*c->cut.procs));
	c->tables.n_sites = n_sites;
	c->tables.n_index = k->sizes.n_index;
	sweep__init(&c->sweep, &c->tables);
	c->tables.sample_bytes = k->recording.sample_bytes;
	c->tables.born_unit_ns = k->born_unit_ns;
	c->tables.n_links = k->sizes.n_links > 1 ? k->sizes.n_links : 0;
	if (!c->sites || !c->procs || !c->cut.procs || scan__init(&c->scan, &c->tables) ||
	    age_counts__init(&c->ages, n_sites) || links__init(&c->links, &c->tables) || evict__init(c)) {
		collect__free(c);
		return err_set(e, -ENOMEM, "out of memory");
	}
	list_tables(c, maps, at);
	for (size_t i = 0; i < N_TABLES && !err; i++)
		err = kernel__map_table(maps[i], PROT_READ | PROT_WRITE, at[i], e);
	if (err) {
		collect__free(c);
		return err;
	}
	c->tables.n_buckets = (uint64_t)k->sizes.n_groups * MT_GROUP;
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
	struct bpf_map *maps[N_TABLES];
	void **at[N_TABLES];

	if (!c)
		return;
	list_tables(c, maps, at);
	for (size_t i = 0; i < N_TABLES; i++)
		kernel__unmap_table(maps[i], *at[i]);
	free(c->sites);
	scan__done(&c->scan);
	sweep__done(&c->sweep);
	evict__done(c);
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

/*
 * Records of counters are added word by word: by their own type, or the compiler may read them
 * before they are written.
 */
static void add_words(void *sum, const void *more, size_t bytes)
{
	__u64 *to = sum;
	const __u64 *from = more;

	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] += from[i];
}

static void add_counts(struct mt_counts *sum, const struct mt_counts *c)
{
	add_words(sum, c, sizeof(*sum));
}

static void weigh_proc(struct cut_proc *row)
{
	for (int i = 0; i < MT_N_CLASSES; i++) {
		row->hist.size_allocs[i] = sampler__calls(row->hist.size_allocs[i]);
		row->hist.size_frees[i] = sampler__calls(row->hist.size_frees[i]);
		row->hist.lifetimes[i] = sampler__calls(row->hist.lifetimes[i]);
	}
	row->peak_bytes = sampler__bytes(row->peak_bytes);
	sampler__round_thread(&row->untold);
}

static void read_procs(struct collect *c, uint32_t bank)
{
	struct cut *cut = &c->cut;
	uint32_t used = MIN(c->kernel->skel->bss->mt_procs_used, c->kernel->sizes.n_procs - 1);
	uint32_t n_shards = c->kernel->sizes.n_shards;

	cut->n_procs = 0;
	for (uint32_t slot = 1; slot <= used; slot++) {
		const struct mt_proc *p = &c->tables.procs[slot];
		struct proc_memory *m = &c->procs[slot];
		struct cut_proc *row;

		if (!p->pid)
			continue;
		row = &cut->procs[cut->n_procs++];

		m->new_peak = p->peak_value[bank] > m->peak_bytes;
		if (m->new_peak) {
			m->peak_bytes = p->peak_value[bank];
			m->peak_ns = p->peak_ns[bank];
		}
		m->n_ended_cuts = p->ended ? m->n_ended_cuts + 1 : 0;
		row->proc = p->number;
		row->pid = p->pid;
		row->ended = p->ended;
		row->started_ns = p->started_ns;
		row->ended_ns = p->ended_ns;
		row->unknown_frees = p->unknown_frees;
		row->probe_hits = p->probe_hits;
		row->frames = p->frames;
		row->lost_blocks = p->lost_blocks;
		row->lost_stacks = p->lost_stacks;
		row->missed_frees = p->missed_frees;
		row->n_untold = p->n_untold;
		row->untold = p->untold;
		row->peak_bytes = m->peak_bytes;
		row->peak_ns = m->peak_ns;
		memset(&m->bank[bank], 0, sizeof(m->bank[bank]));
		for (uint32_t i = 0; i < n_shards; i++)
			add_words(&m->bank[bank], &c->tables.hists[((uint64_t)slot * n_shards + i) * 2 + bank],
				  sizeof(struct mt_hist));
		row->hist = m->bank[0];
		add_words(&row->hist, &m->bank[1], sizeof(row->hist));
		if (c->kernel->recording.sample_bytes)
			weigh_proc(row);
	}
}

/*
 * What the site held at the process's peak: saved at its first change since, or
 * still there. A program saves before it changes, so if the epoch is the old one
 * after live_bytes was read, live_bytes was the value at the peak.
 */
static uint64_t share_of_peak(const struct mt_site *s, const struct mt_proc *p, uint32_t bank)
{
	uint32_t epoch = p->peak_epoch[bank];
	uint64_t live;

	if (__atomic_load_n(&s->peak_epoch[bank], __ATOMIC_ACQUIRE) == epoch)
		return s->at_peak_bytes[bank];
	live = __atomic_load_n(&s->live_bytes, __ATOMIC_ACQUIRE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->peak_epoch[bank], __ATOMIC_ACQUIRE) == epoch)
		return s->at_peak_bytes[bank];
	return live;
}

static bool empty(const struct mt_counts *c)
{
	return !c->alloc_calls && !c->failed_calls;
}

/* Sampled figures: whole numbers, and how far they may be off. */
static void weigh_site(struct collect *c, struct cut_site *row, uint32_t bank)
{
	double unit = (double)sampler__unit(c->kernel->recording.sample_bytes);
	double calls_unit = ldexp((double)sampler__calls_unit(c->kernel->recording.sample_bytes), -MT_CALLS_SHIFT);
	uint32_t n_shards = c->kernel->sizes.n_shards;
	struct memory *m = &c->sites[row->site];
	struct mt_vars sum;

	memset(&m->vars[bank], 0, sizeof(m->vars[bank]));
	for (uint32_t i = 0; i < n_shards; i++)
		add_words(&m->vars[bank], &c->tables.vars[((uint64_t)row->site * n_shards + i) * 2 + bank],
			  sizeof(m->vars[bank]));
	sampler__round_counts(&row->counts);
	row->peak_bytes = sampler__bytes(row->peak_bytes);
	row->at_peak_bytes = sampler__bytes(row->at_peak_bytes);
	row->cross_frees = sampler__calls(row->cross_frees);
	sum = m->vars[0];
	add_words(&sum, &m->vars[1], sizeof(sum));
	row->var.alloc_bytes = (double)sum.alloc_bytes * unit * unit;
	row->var.live_bytes = (double)(sum.alloc_bytes - sum.free_bytes) * unit * unit;
	row->var.alloc_calls = (double)sum.alloc_calls * calls_unit * calls_unit;
	row->var.live_blocks = (double)(sum.alloc_calls - sum.free_calls) * calls_unit * calls_unit;
}

/* Where realloc was never called there is nothing to read. */
static void read_moves(struct collect *c, struct cut_site *row, uint32_t bank)
{
	struct memory *m = &c->sites[row->site];

	if (c->kernel->sizes.n_moves <= 1 || !row->counts.realloc_calls)
		return;
	m->moves[bank] = c->tables.moves[row->site * 2ull + bank];
	row->moves = m->moves[0];
	moves__add(&row->moves, &m->moves[1]);
}

struct cut_site *collect__new_row(struct collect *c)
{
	struct cut *cut = &c->cut;

	if (cut->n_sites == c->site_room) {
		size_t more = c->site_room ? c->site_room * 2 : 1024;
		void *p = reallocarray(cut->sites, more, sizeof(*cut->sites));

		if (!p)
			return NULL;
		cut->sites = p;
		c->site_room = more;
	}
	return &cut->sites[cut->n_sites++];
}

static int read_site(struct collect *c, uint32_t site, uint32_t spare_of, uint32_t bank)
{
	const struct mt_site *s = &c->tables.sites[site];
	struct memory *m = &c->sites[site];
	uint32_t n_shards = c->kernel->sizes.n_shards, proc = spare_of ? spare_of : s->proc;
	struct cut_site *row;
	uint64_t stack = __atomic_load_n(&s->stack, __ATOMIC_ACQUIRE);

	if ((!stack && !spare_of) || MT_PROC_SLOT(proc) >= c->kernel->sizes.n_procs ||
	    (!spare_of && c->evict.state[site] == EVICT_SETTLED))
		return 0;
	c->n_used_sites += !spare_of;
	memset(&m->bank[bank], 0, sizeof(m->bank[bank]));
	for (uint32_t i = 0; i < n_shards; i++)
		add_counts(&m->bank[bank], &c->tables.counts[((uint64_t)site * n_shards + i) * 2 + bank]);
	if (c->procs[MT_PROC_SLOT(proc)].new_peak)
		m->at_peak_bytes = share_of_peak(s, &c->tables.procs[MT_PROC_SLOT(proc)], bank);
	if (empty(&m->bank[0]) && empty(&m->bank[1]))
		return 0;

	row = collect__new_row(c);
	if (!row)
		return -ENOMEM;
	memset(row, 0, sizeof(*row));
	row->site = site;
	row->proc = proc;
	row->func = spare_of ? CUT_FUNC_SPARE : s->func;
	add_counts(&row->counts, &m->bank[0]);
	add_counts(&row->counts, &m->bank[1]);
	row->tid = s->tid;
	row->peak_bytes = s->peak_bytes;
	row->at_peak_bytes = m->at_peak_bytes;
	row->min_size = ~s->min_size_inv;
	row->max_size = s->max_size;
	row->first_ns = s->first_ns;
	row->last_ns = s->last_ns;
	if (!spare_of) {
		row->hash = s->hash;
		tables__stack(&c->tables, stack, row);
	}
	read_moves(c, row, bank);
	row->cross_frees = __atomic_load_n(&s->cross_frees, __ATOMIC_RELAXED);
	if (c->kernel->recording.sample_bytes)
		weigh_site(c, row, bank);
	/* not in a bank: frees since the cut are in it */
	if (recording__is_growth(&c->kernel->recording))
		row->guessed_calls = MIN(row->guessed_calls, row->counts.alloc_calls);
	else
		row->cross_frees = MIN(row->cross_frees, row->counts.free_calls);
	return 0;
}

static int read_sites(struct collect *c, uint32_t bank)
{
	const struct table_sizes *sizes = &c->kernel->sizes;
	uint64_t used = MIN(c->kernel->skel->bss->mt_sites_used, sizes->n_sites - 1);
	int err = 0;

	c->cut.n_sites = 0;
	c->n_used_sites = 0;
	for (uint32_t site = 1; site <= used && !err; site++)
		err = read_site(c, site, 0, bank);
	for (size_t i = 0; i < c->cut.n_procs && !err; i++)
		err = read_site(c, sizes->n_sites + MT_PROC_SLOT(c->cut.procs[i].proc), c->cut.procs[i].proc, bank);
	return err;
}

static void read_spots(struct collect *c, uint32_t bank)
{
	for (size_t i = 0; i < MT_MAX_SPOTS; i++) {
		c->spot_hits[bank][i] = c->tables.spots[i].hits[bank];
		c->cut.spot_hits[i] = c->spot_hits[0][i] + c->spot_hits[1][i];
	}
}

static int read_threads(struct collect *c)
{
	struct cut *cut = &c->cut;

	cut->n_threads = 0;
	cut->n_inside = 0;
	for (uint32_t i = 0; i < c->tables.n_threads; i++) {
		const struct mt_thread *t = &c->tables.threads[i];
		struct cut_thread *row;

		if (!t->tid || !t->proc)
			continue;
		if (cut->n_threads == c->thread_room) {
			size_t more = c->thread_room ? c->thread_room * 2 : 64;
			void *p = reallocarray(cut->threads, more, sizeof(*cut->threads));

			if (!p)
				return -ENOMEM;
			cut->threads = p;
			c->thread_room = more;
		}
		row = &cut->threads[cut->n_threads++];
		/* where only entries are seen, it is the last call, not one under way */
		if (c->kernel->recording.mode == MT_MODE_FULL)
			cut->n_inside += !!t->sp + t->n_outer;
		row->proc = t->proc;
		row->tid = t->vtid;
		row->probe_hits = t->probe_hits;
		row->frames = t->frames;
		row->counts = t->counts;
		if (c->kernel->recording.sample_bytes)
			sampler__round_thread(&row->counts);
	}
	return 0;
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

static void add_seen(struct cut_site *row, const struct seen *seen)
{
	row->scan_blocks += seen->blocks;
	row->scan_bytes += seen->bytes;
	row->older_blocks += seen->older_blocks;
	row->older_bytes += seen->older_bytes;
}

static void add_weighed(struct cut_site *row, const struct weighed *w)
{
	row->scan_blocks += (uint64_t)llround(w->blocks);
	row->scan_bytes += (uint64_t)llround(w->bytes);
	row->older_blocks += (uint64_t)llround(w->older_blocks);
	row->older_bytes += (uint64_t)llround(w->older_bytes);
}

static void see_oldest(struct cut_site *row, uint64_t born_ns)
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
static void add_gone(struct collect *c, struct cut_site *row, const struct cut_opts *o)
{
	const struct mt_site *s = &c->tables.sites[row->site];
	uint64_t blocks = s->gone_calls, bytes = s->gone_bytes, had_blocks = row->scan_blocks,
		 had_bytes = row->scan_bytes;
	uint64_t now_ns = c->cut.now_ns;

	if (c->sweep.gone && c->sweep.gone[row->site].blocks) {
		see_oldest(row, c->sweep.gone[row->site].oldest_born_ns);
		if (c->sweep.weighed)
			add_weighed(row, &c->sweep.weighed[row->site]);
		else
			add_seen(row, &c->sweep.gone[row->site]);
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
		row->ages = age_counts__range(&c->ages, now_ns - MIN(row->last_ns, now_ns),
					      now_ns - MIN(row->oldest_born_ns, now_ns),
					      row->scan_blocks - had_blocks, row->scan_bytes - had_bytes,
					      row->ages);
}

/* Ages, from a pass of this moment or from those that are made a part at a time. */
static int read_ages(struct collect *c, const struct cut_opts *o)
{
	struct cut *cut = &c->cut;
	int err = 0;

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
	/* without memory there is no sample, and what is known of blocks by it is not known */
	if (o->scan && o->blocks)
		block_sample__all(&c->blocks, &cut->blocks, &cut->n_blocks);
	if (cut->has_ages)
		err = age_counts__make_rows(&c->ages, cut->n_sites);
	if (err)
		return err;
	for (size_t i = 0; i < cut->n_sites; i++) {
		struct cut_site *row = &cut->sites[i];
		const struct seen *seen = &c->scan.last[row->site];

		if (o->scan) {
			row->oldest_born_ns = seen->oldest_born_ns;
			if (c->scan.weighed)
				add_weighed(row, &c->scan.weighed[row->site]);
			else
				add_seen(row, seen);
			if (cut->has_ages)
				row->ages = age_counts__rows(&c->ages, row->site, NULL);
		} else if (row->counts.alloc_calls > row->counts.free_calls) {
			/* one that never freed still has its first block; spare sites do not know theirs */
			uint64_t first_ns = row->first_ns ? row->first_ns : c->tables.procs[MT_PROC_SLOT(row->proc)].started_ns;

			bool known = true;

			row->oldest_born_ns = row->counts.free_calls || !row->first_ns ?
						      scan__oldest_born_ns(&c->scan, row->site, first_ns, &known) :
						      first_ns;
			row->oldest_at_most = !known;
		}
		if (c->procs[MT_PROC_SLOT(row->proc)].n_ended_cuts)
			add_gone(c, row, o);
	}
	return 0;
}

void collect__look(struct collect *c, uint64_t budget_ns)
{
	scan__some(&c->scan, kernel__clock_ns(c->kernel), budget_ns);
}

void collect__know_code(struct collect *c, const struct code_calls *code)
{
	c->code = code;
}

/* Only then one address may mean several things. */
static bool has_replaced(const struct collect *c)
{
	for (size_t i = 0; i < c->cut.n_procs; i++)
		if (c->tables.procs[MT_PROC_SLOT(c->cut.procs[i].proc)].unmapped_ns)
			return true;
	return false;
}

/*
 * The programs learn some milliseconds late that code may have been written over: what they called
 * whole meanwhile may be wrong.
 */
static void distrust(struct cut_site *v, size_t n, const struct code_calls *code)
{
	for (size_t i = 0; i < n; i++)
		if ((v[i].end == MT_END_WHOLE || v[i].end == MT_END_DEPTH) &&
		    code->is_written(v[i].proc, v[i].frames, v[i].n_frames, v[i].met_ns, code->arg))
			v[i].end = MT_END_UNSURE;
}

/* A number may have been another process's when the look was taken. */
static void put_looks(struct cut *cut, const struct cut_opts *o)
{
	for (size_t i = 0; i < cut->n_sites && o->looks; i++) {
		struct cut_site *row = &cut->sites[i];
		const struct site_look *l = row->site < o->n_looks ? &o->looks[row->site] : NULL;

		if (l && l->blocks && l->proc == row->proc && row->first_ns <= l->looked_ns)
			row->look = (struct cut_look){ l->blocks, l->unreached_blocks, l->unreached_bytes, l };
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
	c->cut.now_ns = o->marked_ns ? o->marked_ns : kernel__clock_ns(c->kernel);
	read_procs(c, bank);
	read_spots(c, bank);
	err = read_sites(c, bank) ?: links__read(&c->links, bank, c->kernel->sizes.n_sites, &c->cut);
	/* all that is in banks has been read */
	let_go(c, o->hold && !err);
	if (!err)
		err = read_threads(c);
	if (err)
		return err_set(e, err, "out of memory");
	memcpy(c->cut.counters, c->kernel->skel->bss->mt_counters, sizeof(c->cut.counters));
	leave_out_foreign(c);
	c->cut.missed_hits = missed_hits(c->kernel);
	err = read_ages(c, o) ?: evict__settle(c);
	if (err)
		return err_set(e, err, "out of memory");
	put_looks(&c->cut, o);
	code = has_replaced(c) ? c->code : NULL;
	if (code) {
		distrust(c->cut.sites, c->cut.n_sites, code);
		distrust(c->cut.wheres, c->cut.n_wheres, code);
	}
	if ((c->recycled || code) && collect__merge_repeats(&c->cut, code))
		return err_set(e, -ENOMEM, "out of memory");
	c->all_gone = c->leaving.n && !c->sweep.under_way;
	*ret = &c->cut;
	return 0;
}
