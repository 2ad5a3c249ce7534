// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is known of each site between cuts.
 *
 * Counts are scaled by time: not by the clock's, but by the CPU time that the
 * process had for itself. In a window a program is slower, because the probes
 * take their part; per nanosecond of its own it does what it always does. What
 * was seen is counted; what went unseen is estimated from looks (estimate.h).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "budget/estimate.h"
#include "model/schema.h"
#include "util/util.h"

struct site_state {
	struct counters last;
	uint32_t proc;
	struct site_looks looks;
	uint64_t peak_bytes, at_peak_bytes;
	struct survival life;
	uint64_t freed_ns;	/* when one of its blocks was last seen to be freed; 0: never */
};

struct proc_state {
	struct looks looks;
	/* of all sites: they come and go together, so their errors do not add up as if by chance */
	struct site_looks sum;
	struct times at_hand;
	double gap_ns;		/* CPU time of its own since it was last seen */
	double weight;		/* of the look at hand, 0: it is none */
	uint64_t peak_bytes, peak_ns;
	bool timed;		/* what it did was reported, once at least */
	bool probed;		/* in the last stretch that was */
	uint64_t ended_ns;	/* when that was first seen; 0: it runs. Its blocks are freed by nobody, but leave the table some time */
};

struct estimate {
	const struct collect *collect;
	struct site_state **sites;
	uint32_t n_sites, n_procs;
	struct proc_state *procs;
	struct cut cut;
	size_t site_room, proc_room, thread_room;
};

struct estimate *estimate__new(const struct collect *c, uint32_t n_sites, uint32_t n_procs)
{
	struct estimate *es = xcalloc(1, sizeof(*es));

	es->collect = c;
	es->n_sites = n_sites;
	es->n_procs = n_procs;
	es->sites = xcalloc(n_sites, sizeof(*es->sites));
	es->procs = xcalloc(n_procs, sizeof(*es->procs));
	return es;
}

void estimate__free(struct estimate *es)
{
	if (!es)
		return;
	for (uint32_t i = 0; i < es->n_sites; i++)
		free(es->sites[i]);
	free(es->sites);
	free(es->procs);
	free(es->cut.sites);
	free(es->cut.procs);
	free(es->cut.threads);
	free(es);
}

void estimate__time(struct estimate *es, uint32_t proc, const struct times *t)
{
	struct proc_state *p;

	if (MT_PROC_SLOT(proc) >= es->n_procs)
		return;
	p = &es->procs[MT_PROC_SLOT(proc)];
	p->at_hand = *t;
	p->timed = true;
	p->probed = t->seen;
	p->gap_ns += t->unseen;
	p->looks.unseen_ns += t->unseen;
	p->looks.clock_ns += t->gap;
	p->looks.broke_ns = t->broke;
	looks__ran(&p->looks, t->speaks, t->ran);
	p->weight = looks__take(&p->looks, t->speaks, t->busy, t->call.seen.own_ns);
}

void estimate__forget(struct estimate *es, uint32_t proc)
{
	for (uint32_t i = 0; i < es->n_sites; i++)
		if (es->sites[i] && es->sites[i]->proc == proc) {
			free(es->sites[i]);
			es->sites[i] = NULL;
		}
	if (MT_PROC_SLOT(proc) < es->n_procs)
		es->procs[MT_PROC_SLOT(proc)] = (struct proc_state){};
}

static struct site_state *state_of(struct estimate *es, const struct snap_site *row)
{
	if (row->number >= es->n_sites || MT_PROC_SLOT(row->proc) >= es->n_procs)
		return NULL;
	if (!es->sites[row->number]) {
		es->sites[row->number] = xcalloc(1, sizeof(struct site_state));
		es->sites[row->number]->proc = row->proc;
	}
	return es->sites[row->number];
}

static uint64_t *scaled(struct counters *c, int which)
{
	static const size_t at[N_SCALED] = {
		[CALLS] = offsetof(struct counters, alloc_calls),     [BYTES] = offsetof(struct counters, alloc_bytes),
		[REALLOCS] = offsetof(struct counters, realloc_calls), [TEMPS] = offsetof(struct counters, temp_calls),
		[FAILS] = offsetof(struct counters, failed_calls),
	};

	return (uint64_t *)((char *)c + at[which]);
}

static void count_more(struct counters c, struct counters last, double ret[N_SCALED])
{
	for (int k = 0; k < N_SCALED; k++)
		ret[k] = *scaled(&c, k) - *scaled(&last, k);
}

/* A site is taken for the thread's that called it last. */
static struct call_rate rate_of_call(const struct estimate *es, const struct proc_state *p, uint32_t site)
{
	const struct mt_ages *ages = collect__ages(es->collect, site);
	const struct times *t = &p->at_hand;
	const struct thread_calls *of = ages ? array_first(x, t->threads, t->n_threads, x->tid == ages->caller) : NULL;

	return of ? of->call : t->call;
}

struct stretch {
	uint64_t from_ns, to_ns;
	struct proc_rates {
		double rate[N_SCALED], doubt[2], more[2];
	} *procs;		/* of all sites of each */
};

static void report_site(struct estimate *es, const struct stretch *at, struct site_state *s, const struct snap_site *row)
{
	struct proc_state *p = &es->procs[MT_PROC_SLOT(s->proc)];
	struct proc_rates *all = &at->procs[MT_PROC_SLOT(s->proc)];
	struct call_rate call = rate_of_call(es, p, row->number);
	double more[N_SCALED], rate[N_SCALED], doubt[2];
	struct weight looked = {};

	count_more(row->c, s->last, more);
	if (row->c.free_calls > s->last.free_calls)
		s->freed_ns = at->to_ns;
	s->last = row->c;
	for (int k = 0; k < N_SCALED; k++) {
		rate[k] = more[k] * call.rate;
		all->rate[k] += rate[k];
	}
	for (int k = 0; k < 2; k++) {
		doubt[k] = rate[k] * call.doubt;
		all->doubt[k] += doubt[k];
		all->more[k] += more[k];
	}
	site_looks__gap(&s->looks, p->gap_ns);
	site_looks__note(&s->looks, &call.seen, more[CALLS], more[BYTES]);
	if (p->weight > 0) {
		site_looks__add(&s->looks, p->weight, rate, doubt);
		looked = (struct weight){ p->weight * rate[CALLS], p->weight * rate[BYTES] };
	}
	survival__add(&s->life, at->from_ns, at->to_ns, (struct weight){ more[CALLS], more[BYTES] }, looked);
}

void estimate__stretch(struct estimate *es, uint64_t from_ns, uint64_t to_ns, const struct cut *cut)
{
	struct stretch at = { from_ns, to_ns, xcalloc(es->n_procs, sizeof(*at.procs)) };

	for (size_t i = 0; i < cut->n_sites; i++) {
		struct site_state *s = state_of(es, &cut->sites[i]);

		/* by turns, another process may have been looked at */
		if (s && es->procs[MT_PROC_SLOT(s->proc)].at_hand.seen)
			report_site(es, &at, s, &cut->sites[i]);
	}
	for (uint32_t proc = 0; proc < es->n_procs; proc++) {
		struct proc_state *p = &es->procs[proc];

		if (!p->at_hand.seen)
			continue;
		site_looks__gap(&p->sum, p->gap_ns);
		p->gap_ns = 0;
		site_looks__note(&p->sum, &p->at_hand.call.seen, at.procs[proc].more[CALLS],
				 at.procs[proc].more[BYTES]);
		if (p->weight > 0)
			site_looks__add(&p->sum, p->weight, at.procs[proc].rate, at.procs[proc].doubt);
		p->weight = 0;
		p->at_hand = (struct times){};
	}
	free(at.procs);
}

static bool is_scanned(const struct estimate *es, uint32_t site)
{
	return site < es->n_sites && es->sites[site] && !es->procs[MT_PROC_SLOT(es->sites[site]->proc)].ended_ns;
}

static void see_block(uint32_t site, uint64_t size, uint64_t born_ns, void *arg)
{
	struct estimate *es = arg;

	if (is_scanned(es, site))
		survival__in_table(&es->sites[site]->life, born_ns, size);
}

void estimate__note_ends(struct estimate *es, const struct cut *cut, uint64_t now_ns)
{
	for (size_t i = 0; i < cut->n_procs; i++) {
		uint32_t slot = MT_PROC_SLOT(cut->procs[i].proc);

		if (cut->procs[i].ended && slot < es->n_procs && !es->procs[slot].ended_ns)
			es->procs[slot].ended_ns = now_ns;
	}
}

void estimate__scan(struct estimate *es)
{
	for (uint32_t i = 0; i < es->n_sites; i++)
		if (is_scanned(es, i))
			survival__begin_scan(&es->sites[i]->life);
	collect__each_block(es->collect, see_block, es);
	for (uint32_t i = 0; i < es->n_sites; i++)
		if (is_scanned(es, i))
			survival__end_scan(&es->sites[i]->life);
}

/* ---- the whole */

/* What blocks of a process do at each age, all sites together: a weak prior for each of them. */
struct common {
	struct survival life;
	__u64 freed[MT_N_AGES];
	double prior[MT_N_AGES];
};

static void find_common(struct estimate *es, const struct cut *cut, uint32_t proc, struct common *ret)
{
	struct curve curve;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct mt_ages *ages = collect__ages(es->collect, cut->sites[i].number);
		const struct site_state *s = cut->sites[i].number < es->n_sites ? es->sites[cut->sites[i].number] : NULL;

		if (!s || !ages || cut->sites[i].proc != proc)
			continue;
		for (size_t k = 0; k < MT_N_AGES; k++) {
			ret->life.seen[k].blocks += s->life.seen[k].blocks;
			ret->freed[k] += ages->blocks[k];
		}
	}
	survival__curve(&ret->life, ret->freed, false, NULL, &curve);
	curve__prior(&curve, &ret->life, ret->prior);
}

static uint64_t whole(double v)
{
	return v > 0 ? (uint64_t)llround(v) : 0;
}

/* A mean lifetime: by what part of all blocks is freed in each class. */
static double mean_life_ns(const struct curve *c)
{
	double sum = 0, freed = 0;

	for (size_t k = 0; k < MT_N_AGES; k++) {
		double part = c->s[k] - c->s[k + 1];

		freed += part;
		sum += part * (age_class__from(k) + age_class__to(k)) / 2;
	}
	return freed > 0 ? sum / freed : 0;
}

/* What was seen, and what was not: each figure, and the variances of calls and bytes. */
struct whole_calls {
	double v[N_SCALED], unseen[N_SCALED];
	double var[2];
};

static struct whole_calls whole_calls_of(const struct proc_state *p, const struct site_looks *looks,
					 const struct counters *seen)
{
	struct whole_calls w;

	count_more(*seen, (struct counters){}, w.v);
	for (int k = 0; k < N_SCALED; k++) {
		w.unseen[k] = site_looks__unseen(looks, &p->looks, k);
		w.v[k] += w.unseen[k];
	}
	for (int k = 0; k < 2; k++)
		w.var[k] = site_looks__variance(looks, &p->looks, k);
	return w;
}

static double part(double v, double of)
{
	return of > 0 ? v / of : 0;
}

/*
 * Blocks are taken to be freed at the ages that others were freed at. But a program may stop to
 * free them, and nothing has shown since that it goes on: all that was alive then may be alive
 * still. Two standard errors of that.
 */
static double may_live(const struct site_state *s, const struct curve *c, bool bytes, double factor, double live)
{
	double then = s->freed_ns ? survival__alive(&s->life, c, bytes, factor, s->freed_ns, NULL) : live;

	return pow(MAX(then - live, 0) / 2, 2);
}

static void estimate_site(struct estimate *es, struct snap_site *row, const struct common *common, uint64_t now_ns)
{
	const struct mt_ages *ages = collect__ages(es->collect, row->number);
	struct site_state *s = state_of(es, row);
	double live[2], var[2], cross;
	struct curve curve[2];
	struct whole_calls w;

	if (!s || !ages)
		return;
	w = whole_calls_of(&es->procs[MT_PROC_SLOT(row->proc)], &s->looks, &s->last);
	for (int k = 0; k < 2; k++) {
		bool bytes = k == BYTES;
		double per;

		survival__curve(&s->life, bytes ? ages->bytes : ages->blocks, bytes, common->prior, &curve[k]);
		per = part(w.unseen[k], survival__looked(&s->life, bytes));
		live[k] = survival__alive(&s->life, &curve[k], bytes, per, now_ns, &var[k]);
		/* of what is seen part of the time one block more or less is never known */
		var[k] += may_live(s, &curve[k], bytes, per, live[k]) + (bytes ? pow(row->max_size, 2) : 1);
		var[k] += pow(w.unseen[k], 2) *
			  survival__doubt(s->last.alloc_calls, part(live[k], w.v[k]), s->looks.n_met);
		var[k] += survival__error_of_calls(w.var[k], live[k], w.v[k], s->last.alloc_calls, s->looks.n_met);
	}
	row->var = (struct std_error){ .alloc_calls = w.var[CALLS], .alloc_bytes = w.var[BYTES],
				       .live_blocks = var[CALLS], .live_bytes = var[BYTES] };
	for (int k = 0; k < N_SCALED; k++)
		*scaled(&row->c, k) = whole(w.v[k]);
	cross = part(row->cross_frees, row->c.free_calls);
	/* sums in another order: none is missing, if it is by less than one */
	row->c.free_calls = w.v[CALLS] - live[CALLS] < 1 ? 0 :
			    row->c.alloc_calls - MIN(whole(live[CALLS]), row->c.alloc_calls);
	row->cross_frees = whole(row->c.free_calls * cross);
	row->c.free_bytes = w.v[BYTES] - live[BYTES] < 1 ? 0 :
			    row->c.alloc_bytes - MIN(whole(live[BYTES]), row->c.alloc_bytes);
	row->lifetime_sum_ns = whole(row->c.free_calls * mean_life_ns(&curve[CALLS]));
	s->peak_bytes = MAX(s->peak_bytes, row->c.alloc_bytes - row->c.free_bytes);
	row->c.peak_bytes = s->peak_bytes;
	/* by the part of the blocks in the table that were old */
	if (row->scan_blocks) {
		row->older_blocks = whole(live[CALLS] * row->older_blocks / row->scan_blocks);
		row->older_bytes = row->scan_bytes ? whole(live[BYTES] * row->older_bytes / row->scan_bytes) : 0;
	}
}

struct sums {			/* of one process: as counted, and as estimated */
	double calls, live_bytes;
	double whole_calls, whole_bytes, whole_live_blocks, whole_live_bytes;
	struct std_error var;	/* of sites, as if by chance */
	struct std_error most;	/* the largest of one site */
};

static void scale_hist(struct mt_hist *h, const struct sums *s)
{
	double factor = s->calls > 0 ? s->whole_calls / s->calls : 1;
	double left = s->whole_calls > 0 ? s->whole_live_blocks / s->whole_calls : 0;
	double freed = 0, n = 0;

	for (size_t i = 0; i < MT_N_CLASSES; i++) {
		freed += h->lifetimes[i];
		n += h->size_allocs[i];
	}
	for (size_t i = 0; i < MT_N_CLASSES; i++) {
		double held = h->size_allocs[i] - (double)MIN(h->size_frees[i], h->size_allocs[i]);
		double all = n - MIN(freed, n);
		/* what is left goes by what is left in the table */
		double live = all > 0 ? s->whole_live_blocks * held / all : h->size_allocs[i] * factor * left;

		h->size_allocs[i] = whole(h->size_allocs[i] * factor);
		h->size_frees[i] = h->size_allocs[i] - MIN(whole(live), h->size_allocs[i]);
		h->lifetimes[i] = freed > 0 ? whole(h->lifetimes[i] * (s->whole_calls - s->whole_live_blocks) / freed) : 0;
	}
}

static void scale_thread(struct counters *c, const struct sums *s)
{
	double factor = s->calls > 0 ? s->whole_calls / s->calls : 1;

	for (size_t i = 0; i < counter_fields.n; i++) {
		uint64_t *v = (uint64_t *)((char *)c + counter_fields.v[i].offset);

		*v = whole((double)*v * factor);
	}
}

static void *copy_rows(void *to, size_t *room, const void *from, size_t n, size_t size)
{
	if (n > *room) {
		*room = n * 2;
		to = xreallocarray(to, *room, size);
	}
	return n ? memcpy(to, from, n * size) : to;
}

static void copy_cut(struct estimate *es, const struct cut *cut)
{
	struct cut had = es->cut;

	es->cut = *cut;
	es->cut.sites = copy_rows(had.sites, &es->site_room, cut->sites, cut->n_sites, sizeof(*had.sites));
	es->cut.procs = copy_rows(had.procs, &es->proc_room, cut->procs, cut->n_procs, sizeof(*had.procs));
	es->cut.threads = copy_rows(had.threads, &es->thread_room, cut->threads, cut->n_threads,
				    sizeof(*had.threads));
}

/* Sites are called together or not at all: what is wrong with one is wrong with the others. */
static struct std_error process_error(const struct proc_state *p, const struct sums *sums)
{
	static const struct std_error unknown = { .alloc_calls = INFINITY, .alloc_bytes = INFINITY, .live_blocks = INFINITY, .live_bytes = INFINITY };
	static const struct counters none;
	struct whole_calls w = whole_calls_of(p, &p->sum, &none);
	/* nor is the sum known better than what is known worst of it */
	struct std_error var = { .alloc_calls = MAX(w.var[CALLS], sums->most.alloc_calls),
				 .alloc_bytes = MAX(w.var[BYTES], sums->most.alloc_bytes) };

	/*
	 * no window has met a call of it, and it ran where none was, or may have: its clock is not read again when it has ended.
	 * Nothing says how many calls it made then: the error is not 0, it is not known
	 */
	if (!sums->calls && (!p->timed || p->looks.unseen_ns > 0 || (p->ended_ns && !p->probed)))
		return unknown;
	var.live_blocks = sums->var.live_blocks + survival__error_of_calls(var.alloc_calls, sums->whole_live_blocks, sums->whole_calls, sums->calls, p->sum.n_met);
	var.live_bytes = sums->var.live_bytes + survival__error_of_calls(var.alloc_bytes, sums->whole_live_bytes, sums->whole_bytes, sums->calls, p->sum.n_met);
	/* of sites without a row, of which nothing is known */
	var.alloc_calls += looks__unmet_variance(&p->looks, CALLS);
	var.alloc_bytes += looks__unmet_variance(&p->looks, BYTES);
	return var;
}

static void estimate_process(struct estimate *es, const struct cut *raw, struct cut_proc *proc, struct common *common,
			     uint64_t now_ns)
{
	struct proc_state *p;
	struct sums sums = {};
	bool new_peak;

	if (MT_PROC_SLOT(proc->proc) >= es->n_procs)
		return;
	p = &es->procs[MT_PROC_SLOT(proc->proc)];
	if (p->ended_ns)
		now_ns = p->ended_ns;
	find_common(es, raw, proc->proc, common);
	for (size_t i = 0; i < es->cut.n_sites; i++) {
		struct snap_site *row = &es->cut.sites[i];

		if (row->proc != proc->proc)
			continue;
		sums.calls += row->c.alloc_calls;
		estimate_site(es, row, common, now_ns);
		sums.whole_calls += row->c.alloc_calls;
		sums.whole_bytes += row->c.alloc_bytes;
		sums.whole_live_blocks += row->c.alloc_calls - row->c.free_calls;
		sums.whole_live_bytes += row->c.alloc_bytes - row->c.free_bytes;
		sums.most.alloc_calls = MAX(sums.most.alloc_calls, row->var.alloc_calls);
		sums.most.alloc_bytes = MAX(sums.most.alloc_bytes, row->var.alloc_bytes);
		sums.var.live_blocks += row->var.live_blocks;
		sums.var.live_bytes += row->var.live_bytes;
	}
	proc->var = process_error(p, &sums);
	new_peak = sums.whole_live_bytes > p->peak_bytes;
	if (new_peak) {
		p->peak_bytes = sums.whole_live_bytes;
		p->peak_ns = now_ns;
	}
	for (size_t i = 0; i < es->cut.n_sites; i++) {
		struct snap_site *row = &es->cut.sites[i];
		struct site_state *s = row->proc == proc->proc ? state_of(es, row) : NULL;

		if (!s)
			continue;
		if (new_peak)
			s->at_peak_bytes = row->c.alloc_bytes - row->c.free_bytes;
		row->at_peak_bytes = s->at_peak_bytes;
	}
	proc->peak_bytes = p->peak_bytes;
	proc->peak_ns = p->peak_ns;
	scale_hist(&proc->hist, &sums);
	for (size_t i = 0; i < es->cut.n_threads; i++)
		if (es->cut.threads[i].proc == proc->proc)
			scale_thread(&es->cut.threads[i].c, &sums);
}

const struct cut *estimate__cut(struct estimate *es, const struct cut *cut, uint64_t now_ns)
{
	_cleanup_free_ struct common *common = xcalloc(1, sizeof(*common));

	copy_cut(es, cut);
	for (size_t i = 0; i < es->cut.n_procs; i++)
		estimate_process(es, cut, &es->cut.procs[i], common, now_ns);
	return &es->cut;
}
