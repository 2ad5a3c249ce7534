// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is known of each site between cuts.
 *
 * Counts are scaled by time: not by the clock's, but by the CPU time that the
 * process had for itself. In a window a program is slower, because the probes
 * take their part; per nanosecond of its own it does what it always does. And
 * not over the whole trace at once, because windows are short where much is
 * allocated: a few windows and the time around them make a span, and each span
 * is scaled by itself. Events of the span that is not complete yet are scaled by
 * what is known of it.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "budget/estimate.h"
#include "budget/survival.h"
#include "util/util.h"

#define SPAN_STRETCHES 8
/* The figures of a site that are scaled. */
enum { CALLS, BYTES, REALLOCS, TEMPS, FAILS, N_SCALED };

struct site_state {
	struct mt_counts last;
	uint32_t proc;
	double scaled[N_SCALED];	/* of complete spans */
	double open[N_SCALED];	/* of this one, as counted */
	/* for the spread between the stretches of a span: squares, and products with the time; calls and bytes */
	double squares[2], products[2];
	double var[2];
	uint64_t peak_bytes, at_peak_bytes;
	struct survival life;
};

struct proc_state {
	struct times span;
	double stretch_ns;	/* of it, in the stretch at hand */
	double squares_ns;
	double bias;		/* how wrong all factors may be, together */
	unsigned int n_stretches;
	uint64_t peak_bytes, peak_ns;
};

struct estimate {
	const struct meter *meter;
	struct site_state **sites;
	uint32_t n_sites, n_procs;
	struct proc_state *procs;
	struct cut cut;
	size_t site_room, proc_room, thread_room;
};

int estimate__new(const struct meter *m, uint32_t n_sites, uint32_t n_procs, struct estimate **ret, struct err *e)
{
	struct estimate *es = calloc(1, sizeof(*es));

	if (es) {
		es->meter = m;
		es->n_sites = n_sites;
		es->n_procs = n_procs;
		es->sites = calloc(n_sites, sizeof(*es->sites));
		es->procs = calloc(n_procs, sizeof(*es->procs));
	}
	if (!es || !es->sites || !es->procs) {
		estimate__free(es);
		return err_set(e, -ENOMEM, "out of memory");
	}
	*ret = es;
	return 0;
}

void estimate__free(struct estimate *es)
{
	if (!es)
		return;
	for (uint32_t i = 0; es->sites && i < es->n_sites; i++)
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

	if (proc >= es->n_procs)
		return;
	p = &es->procs[proc];
	p->span.seen += t->seen;
	p->span.unseen += t->unseen;
	p->span.clock_seen += t->clock_seen;
	p->span.clock_unseen += t->clock_unseen;
	p->span.cost += t->cost;
	p->span.error += t->error;
	p->stretch_ns += t->seen;
}

/*
 * Probes do not make a program faster: by the clock, it does no more while it is
 * seen than else. If it seems to, as one that sleeps much and comes back to cold
 * caches does, the probes cost more than was thought.
 */
static double own_seen(const struct times *t)
{
	double most = t->clock_unseen > 0 ? t->clock_seen * t->unseen / t->clock_unseen : t->seen;

	return t->seen > most ? MAX(most, t->seen - t->cost) : t->seen;
}

static double factor_of(const struct proc_state *p)
{
	double seen = own_seen(&p->span);

	return seen > 0 ? 1 + p->span.unseen / seen : 1;
}

/* What a span adds to the variance of calls or bytes, seen as a sample of stretches of time. */
static double spread(const struct proc_state *p, const struct site_state *s, int which)
{
	double factor = factor_of(p), rate = p->span.seen > 0 ? s->open[which] / p->span.seen : 0;
	double squares = s->squares[which] - 2 * rate * s->products[which] + rate * rate * p->squares_ns;
	unsigned int n = p->n_stretches;
	/* one stretch alone says nothing of the spread: as if calls came singly */
	double unit = s->open[CALLS] > 0 ? s->open[which] / s->open[CALLS] : 0, least = s->open[which] * unit;

	if (n > 1)
		squares *= (double)n / (n - 1);
	return factor * (factor - 1) * MAX(squares, least);
}

static void finish_span(struct estimate *es, uint32_t proc)
{
	struct proc_state *p = &es->procs[proc];
	double factor = factor_of(p);

	for (uint32_t i = 0; i < es->n_sites; i++) {
		struct site_state *s = es->sites[i];

		if (!s || s->proc != proc)
			continue;
		for (int k = 0; k < 2; k++) {
			s->var[k] += spread(p, s, k);
			s->squares[k] = s->products[k] = 0;
		}
		for (int k = 0; k < N_SCALED; k++) {
			s->scaled[k] += s->open[k] * factor;
			s->open[k] = 0;
		}
		survival__fix(&s->life, factor);
	}
	if (p->span.seen > 0)
		p->bias = MAX(p->bias * 0.9, MIN(p->span.error / p->span.seen, 1.0) * (1 - 1 / factor));
	p->span = (struct times){};
	p->squares_ns = 0;
	p->n_stretches = 0;
}

static struct site_state *state_of(struct estimate *es, const struct cut_site *row)
{
	if (row->site >= es->n_sites || row->proc >= es->n_procs)
		return NULL;
	if (!es->sites[row->site]) {
		es->sites[row->site] = calloc(1, sizeof(struct site_state));
		if (es->sites[row->site])
			es->sites[row->site]->proc = row->proc;
	}
	return es->sites[row->site];
}

int estimate__stretch(struct estimate *es, uint64_t from_ns, uint64_t to_ns, const struct cut *cut)
{
	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct mt_counts *c = &cut->sites[i].counts;
		struct site_state *s = state_of(es, &cut->sites[i]);
		double more[N_SCALED], stretch_ns;

		if (!s)
			return -ENOMEM;
		more[CALLS] = c->alloc_calls - s->last.alloc_calls;
		more[BYTES] = c->alloc_bytes - s->last.alloc_bytes;
		more[REALLOCS] = c->realloc_calls - s->last.realloc_calls;
		more[TEMPS] = c->temp_calls - s->last.temp_calls;
		more[FAILS] = c->failed_calls - s->last.failed_calls;
		s->last = *c;
		stretch_ns = es->procs[s->proc].stretch_ns;
		for (int k = 0; k < 2; k++) {
			s->squares[k] += more[k] * more[k];
			s->products[k] += more[k] * stretch_ns;
		}
		for (int k = 0; k < N_SCALED; k++)
			s->open[k] += more[k];
		survival__add(&s->life, from_ns, to_ns, (struct weight){ more[CALLS], more[BYTES] });
	}
	for (uint32_t proc = 0; proc < es->n_procs; proc++) {
		struct proc_state *p = &es->procs[proc];

		if (!p->span.seen && !p->span.unseen)
			continue;
		p->squares_ns += p->stretch_ns * p->stretch_ns;
		p->stretch_ns = 0;
		/* seen without a gap: nothing to scale. Else a span must hold time that was seen, or there is nothing to scale by */
		if (++p->n_stretches >= SPAN_STRETCHES ? p->span.seen > 0 : p->span.unseen <= 0)
			finish_span(es, proc);
	}
	return 0;
}

static void see_block(uint32_t site, uint64_t size, uint64_t born_ns, void *arg)
{
	struct estimate *es = arg;

	if (site < es->n_sites && es->sites[site])
		survival__in_table(&es->sites[site]->life, born_ns, size);
}

void estimate__scan(struct estimate *es)
{
	for (uint32_t i = 0; i < es->n_sites; i++)
		if (es->sites[i])
			survival__begin_scan(&es->sites[i]->life);
	meter__blocks(es->meter, see_block, es);
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
		const struct mt_ages *ages = meter__ages(es->meter, cut->sites[i].site);
		const struct site_state *s = cut->sites[i].site < es->n_sites ? es->sites[cut->sites[i].site] : NULL;

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

static void estimate_site(struct estimate *es, struct cut_site *row, const struct common *common, uint64_t now_ns)
{
	const struct mt_ages *ages = meter__ages(es->meter, row->site);
	struct site_state *s = state_of(es, row);
	const struct proc_state *p;
	double factor, v[N_SCALED], bias, live_blocks, live_bytes, cross;
	struct curve blocks, bytes;

	if (!s || !ages)
		return;
	p = &es->procs[row->proc];
	factor = factor_of(p);
	for (int k = 0; k < N_SCALED; k++)
		v[k] = s->scaled[k] + s->open[k] * factor;
	survival__curve(&s->life, ages->blocks, false, common->prior, &blocks);
	survival__curve(&s->life, ages->bytes, true, common->prior, &bytes);
	live_blocks = survival__alive(&s->life, &blocks, false, factor, now_ns, &row->var.live_blocks);
	live_bytes = survival__alive(&s->life, &bytes, true, factor, now_ns, &row->var.live_bytes);
	row->var.alloc_calls = s->var[CALLS] + spread(p, s, CALLS);
	row->var.alloc_bytes = s->var[BYTES] + spread(p, s, BYTES);
	bias = MAX(p->bias, p->span.seen > 0 ? MIN(p->span.error / p->span.seen, 1.0) * (1 - 1 / factor) : 0);
	row->var.alloc_calls += bias * bias * v[CALLS] * v[CALLS];
	row->var.alloc_bytes += bias * bias * v[BYTES] * v[BYTES];
	row->var.live_blocks += bias * bias * live_blocks * live_blocks;
	row->var.live_bytes += bias * bias * live_bytes * live_bytes;

	row->counts.alloc_calls = whole(v[CALLS]);
	row->counts.alloc_bytes = whole(v[BYTES]);
	row->counts.realloc_calls = whole(v[REALLOCS]);
	row->counts.temp_calls = whole(v[TEMPS]);
	row->counts.failed_calls = whole(v[FAILS]);
	cross = row->counts.free_calls ? (double)row->cross_frees / row->counts.free_calls : 0;
	row->counts.free_calls = row->counts.alloc_calls - MIN(whole(live_blocks), row->counts.alloc_calls);
	row->cross_frees = whole(row->counts.free_calls * cross);
	row->counts.free_bytes = row->counts.alloc_bytes - MIN(whole(live_bytes), row->counts.alloc_bytes);
	row->counts.lifetime_ns = whole(row->counts.free_calls * mean_life_ns(&blocks));
	s->peak_bytes = MAX(s->peak_bytes, row->counts.alloc_bytes - row->counts.free_bytes);
	row->peak_bytes = s->peak_bytes;
	/* by the part of the blocks in the table that were old */
	if (row->scan_blocks) {
		row->older_blocks = whole(live_blocks * row->older_blocks / row->scan_blocks);
		row->older_bytes = row->scan_bytes ? whole(live_bytes * row->older_bytes / row->scan_bytes) : 0;
	}
}

struct sums {			/* of one process: as counted, and as estimated */
	double calls, live_bytes;
	double whole_calls, whole_bytes, whole_live_blocks, whole_live_bytes;
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

static void scale_thread(struct mt_thread_counts *c, const struct sums *s)
{
	double factor = s->calls > 0 ? s->whole_calls / s->calls : 1;
	__u64 *const v[] = { &c->alloc_calls, &c->alloc_bytes, &c->free_calls, &c->free_bytes,
				&c->realloc_calls, &c->temp_calls, &c->failed_calls, &c->unknown_frees };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		*v[i] = whole(*v[i] * factor);
}

static int copy_rows(void **to, size_t *room, const void *from, size_t n, size_t size)
{
	if (n > *room) {
		void *p = reallocarray(*to, n * 2, size);

		if (!p)
			return -ENOMEM;
		*to = p;
		*room = n * 2;
	}
	if (n)
		memcpy(*to, from, n * size);
	return 0;
}

static int copy_cut(struct estimate *es, const struct cut *cut)
{
	struct cut_site *sites = es->cut.sites;
	struct cut_proc *procs = es->cut.procs;
	struct cut_thread *threads = es->cut.threads;
	int err = copy_rows((void **)&sites, &es->site_room, cut->sites, cut->n_sites, sizeof(*sites));

	if (!err)
		err = copy_rows((void **)&procs, &es->proc_room, cut->procs, cut->n_procs, sizeof(*procs));
	if (!err)
		err = copy_rows((void **)&threads, &es->thread_room, cut->threads, cut->n_threads, sizeof(*threads));
	if (!err)
		es->cut = *cut;
	es->cut.sites = sites;
	es->cut.procs = procs;
	es->cut.threads = threads;
	return err;
}

static void estimate_process(struct estimate *es, const struct cut *raw, struct cut_proc *proc, struct common *common,
			     uint64_t now_ns)
{
	struct proc_state *p;
	struct sums sums = {};
	bool new_peak;

	if (proc->proc >= es->n_procs)
		return;
	p = &es->procs[proc->proc];
	find_common(es, raw, proc->proc, common);
	for (size_t i = 0; i < es->cut.n_sites; i++) {
		struct cut_site *row = &es->cut.sites[i];

		if (row->proc != proc->proc)
			continue;
		sums.calls += row->counts.alloc_calls;
		estimate_site(es, row, common, now_ns);
		sums.whole_calls += row->counts.alloc_calls;
		sums.whole_live_blocks += row->counts.alloc_calls - row->counts.free_calls;
		sums.whole_live_bytes += row->counts.alloc_bytes - row->counts.free_bytes;
	}
	new_peak = sums.whole_live_bytes > p->peak_bytes;
	if (new_peak) {
		p->peak_bytes = sums.whole_live_bytes;
		p->peak_ns = now_ns;
	}
	for (size_t i = 0; i < es->cut.n_sites; i++) {
		struct cut_site *row = &es->cut.sites[i];
		struct site_state *s = row->proc == proc->proc ? state_of(es, row) : NULL;

		if (!s)
			continue;
		if (new_peak)
			s->at_peak_bytes = row->counts.alloc_bytes - row->counts.free_bytes;
		row->at_peak_bytes = s->at_peak_bytes;
	}
	proc->peak_bytes = p->peak_bytes;
	proc->peak_ns = p->peak_ns;
	scale_hist(&proc->hist, &sums);
	for (size_t i = 0; i < es->cut.n_threads; i++)
		if (es->cut.threads[i].proc == proc->proc)
			scale_thread(&es->cut.threads[i].counts, &sums);
}

const struct cut *estimate__cut(struct estimate *es, const struct cut *cut, uint64_t now_ns)
{
	_cleanup_free_ struct common *common = calloc(1, sizeof(*common));

	if (!common || copy_cut(es, cut))
		return NULL;
	for (size_t i = 0; i < es->cut.n_procs; i++)
		estimate_process(es, cut, &es->cut.procs[i], common, now_ns);
	return &es->cut;
}
