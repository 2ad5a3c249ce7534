// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Finds the facts that the first sentence is made of: which process grows, which site of it matters most, what resident and
 * live memory did. What always holds: those that run are asked; those that ended are, where none runs, or where only they
 * give cause to worry.
 */
#include "present/sentence_facts.h"

#include <string.h>

#include "model/merge.h"
#include "present/columns.h"
#include "util/clock.h"
#include "util/util.h"

#define MATTERS_PCT 3		/* of its process's live memory or growth: a site with less is not named before the process */
#define ROSE_PART 10		/* live memory that is higher by one of so many parts of it rose */
#define ROSE_BYTES (64ull << 10)
#define RSS_ROSE_BYTES (128ull << 10)	/* of RSS: less comes by chance */

const struct alarm alarms[N_ALARMS] = {
	{ "leak", "Leak", "Also leaking", "leaks", "leak" },
	{ "suspect", "Perhaps a leak", "Perhaps also leaking", "is suspect", "are suspect" },
	{ "growing", "Growing", "Also growing", "grows", "grow" },
};

const struct alarm *alarm__of(const char *verdict)
{
	for (size_t i = 0; i < N_ALARMS && verdict; i++)
		if (!strcmp(alarms[i].verdict, verdict))
			return &alarms[i];
	return NULL;
}

bool verdict__is_calm(const char *verdict)
{
	return verdict && (!strcmp(verdict, "steady") || !strcmp(verdict, "draining"));
}

static bool is_asked(const struct facts *f, const struct snap_process *p)
{
	return p->ended == f->ended;
}

/* What no pointer leads to comes first, then what grows faster, then what is larger. */
static bool matters_more(const struct snap_site *a, const struct snap_site *b)
{
	double by_a = a->trend.known ? a->trend.growth_bytes_per_s : 0, by_b = b->trend.known ? b->trend.growth_bytes_per_s : 0;

	if (a->trend.why_unreached != b->trend.why_unreached)
		return a->trend.why_unreached;
	if (a->trend.why_unreached && a->unreached_bytes != b->unreached_bytes)
		return a->unreached_bytes > b->unreached_bytes;
	return by_a != by_b ? by_a > by_b : counters__taken(&a->c) > counters__taken(&b->c);
}

static bool stands_out(const struct facts *f, const struct snap_site *site)
{
	const struct snap_process *p = &f->s->processes[site->process];

	if (counters__taken(&site->c) >= counters__taken(&p->c) / 100 * MATTERS_PCT)
		return true;
	return verdict__is_alarm(p->trend.verdict) && site->trend.known && p->trend.known && p->trend.growth_bytes_per_s > 0 &&
	       site->trend.growth_bytes_per_s * 100 >= p->trend.growth_bytes_per_s * MATTERS_PCT;
}

/* Too few steps for a verdict, and most of what its process grows by; where older blocks are freed, it may replace them. */
static bool is_most_of_growth(const struct snapshot *s, const struct snap_site *site)
{
	const struct snap_process *p = &s->processes[site->process];

	return !site->trend.verdict && site->trend.known && verdict__is_alarm(p->trend.verdict) && p->trend.known &&
	       p->trend.growth_bytes_per_s > 0 && site->trend.growth_bytes_per_s * 2 >= p->trend.growth_bytes_per_s &&
	       p->c.unknown_frees * 2 < site->c.live_blocks;
}

const struct alarm *alarm__of_site(const struct snap_site *site)
{
	return alarm__of(site->trend.verdict) ?: &alarms[N_ALARMS - 1];
}

bool facts__shows(const struct facts *f, const struct snap_site *site)
{
	return counters__taken(&site->c) && (!f->s->recording.older_ns || site->older_bytes);
}

bool facts__explains_growth(const struct facts *f, const struct snap_site *site)
{
	if (!verdict__is_calm(site->trend.verdict))
		return true;
	return f->process->n_members < 2 && (int64_t)site->c.live_bytes >= f->rss.change_bytes / 100 * MATTERS_PCT;
}

/* Of one process, or of all that are asked (p NULL); but not one that no pointer leads to if held. */
static const struct snap_site *worst_site(const struct facts *f, const struct snap_process *p, bool held)
{
	const struct snap_site *worst = NULL;

	for (size_t i = 0; i < f->s->n_sites; i++) {
		const struct snap_site *site = &f->s->sites[i];
		const struct snap_process *its = &f->s->processes[site->process];
		bool out;

		if ((p ? its != p : !is_asked(f, its)) || !facts__shows(f, site) || (held && site->trend.why_unreached))
			continue;
		if (!verdict__is_alarm(site->trend.verdict) && !is_most_of_growth(f->s, site))
			continue;
		out = stands_out(f, site);
		if (!worst || (out == stands_out(f, worst) ? matters_more(site, worst) : out))
			worst = site;
	}
	return worst;
}

/* Processes that do not matter for the whole need no verdict: a shell that started a moment ago. */
static bool is_small(const struct facts *f, const struct snap_process *p, const struct rss_trend *r)
{
	return f->s->n_processes > 1 && counters__taken(&p->c) <= counters__taken(&f->s->totals) / 100 && r->change_bytes < (int64_t)r->notable_bytes;
}

/* No verdict, and more than what rests may climb by in a minute, and than a hundredth of all: neither good news nor bad. */
static bool is_unsettled(const struct facts *f, const struct snap_site *site)
{
	double per_min = site->trend.known && !site->trend.verdict ? site->trend.growth_bytes_per_s * 60 : 0;

	return site->c.live_bytes >= ROSE_BYTES && per_min >= RSS_CREEP_BYTES && per_min >= (double)f->live_bytes / 100;
}

static uint64_t taken_at(const struct snap_point *p)
{
	return MAX(p->live_bytes, p->live_blocks * BLOCK_LEAST);
}

/*
 * Is it notably higher than it was at any time in the first half? Or, where it goes up and down, both its floor and its peak;
 * the first sixth does not count, for a trace begins with nothing live.
 */
static bool live_rose_late(const struct snap_process *p)
{
	const struct snap_point *v = p->timeline, *last = v + p->n_timeline - 1;
	uint64_t most[2] = {}, least[2] = { UINT64_MAX, UINT64_MAX }, first_ns, span_ns;

	if (p->ended || p->n_timeline < 2)
		return false;
	first_ns = v->t_ns;
	span_ns = last->t_ns - first_ns;
	for (; v <= last; v++) {
		bool later = v->t_ns - first_ns > span_ns / 2;

		most[later] = MAX(most[later], taken_at(v));
		if (v->t_ns - first_ns >= span_ns / 6)
			least[later] = MIN(least[later], taken_at(v));
	}
	return taken_at(last) > most[0] + MAX(taken_at(last) / ROSE_PART, ROSE_BYTES) ||
	       (most[1] > most[0] + ROSE_BYTES && least[1] > least[0] && least[1] - least[0] > MAX(least[1] / ROSE_PART, ROSE_BYTES));
}

static void ask_process(struct facts *f, const struct snap_process *p)
{
	struct rss_trend r = rss_trend__of(p);
	int64_t notable = (int64_t)r.notable_bytes;

	f->all.known |= r.known && r.span_ns;
	f->all.swap |= r.swap;
	f->all.hugetlb |= r.hugetlb;
	f->all.change_bytes += r.sum_bytes;
	f->all.span_ns = MAX(f->all.span_ns, r.span_ns);
	f->used_first += process__used_at_attach(p);
	/* one that shrinks hides little of what others add */
	if (r.sum_bytes < notable)
		f->rss_slight += MAX(r.sum_bytes, -notable);
	if (verdict__is_alarm(p->trend.verdict) || r.grows) {
		f->n_growing++;
		if (!f->process || process__grown_bytes(f->s, p, &r) > process__grown_bytes(f->s, f->process, &f->rss)) {
			f->process = p;
			f->rss = r;
		}
		return;
	}
	if (!f->process)
		f->rss = r;
	f->rss_rising |= r.known && rss_trend__may_grow(&r);
	if (r.of && rss_trend__may_grow(&r))
		f->hidden = r;
	f->live_rising |= live_rose_late(p) && !is_small(f, p, &r);
	f->rss_unknown |= !r.known && !is_small(f, p, &r);
	f->unclear |= !verdict__is_calm(p->trend.verdict) && !is_small(f, p, &r);
	f->rose |= r.known && r.change_bytes >= (int64_t)MIN(r.notable_bytes, RSS_ROSE_BYTES);
}

static void choose_site(struct facts *f)
{
	const struct snap_site *worst = worst_site(f, NULL, false), *also;

	/* what no pointer leads to is lost, whoever else grows faster, unless it is little beside that */
	if (f->process && worst && worst->trend.why_unreached && stands_out(f, worst) &&
	    (double)worst->unreached_bytes * 100 >= process__grown_bytes(f->s, f->process, &f->rss) * MATTERS_PCT) {
		f->process = &f->s->processes[worst->process];
		f->rss = rss_trend__of(f->process);
	}
	f->site = f->process ? worst_site(f, f->process, false) : worst;
	if (!f->site || !f->site->trend.why_unreached)
		return;
	also = worst_site(f, &f->s->processes[f->site->process], true);
	f->also = also && also->trend.known && stands_out(f, also) ? also : NULL;
}

static struct facts ask(const struct snapshot *s, bool ended)
{
	struct facts f = { .s = s, .ended = ended };

	f.live_bytes = s->totals.live_bytes;
	f.live_blocks = s->totals.live_blocks;
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		bool asked = is_asked(&f, p);

		if (asked)
			ask_process(&f, p);
		/* what others held is not what these hold */
		f.live_bytes -= MIN(!asked ? p->c.live_bytes : ended ? 0 : p->ended_live_bytes, f.live_bytes);
		f.live_blocks -= MIN(!asked ? p->c.live_blocks : ended ? 0 : p->ended_live_blocks, f.live_blocks);
	}
	if (s->hidden.by) {
		f.live_bytes = snapshot__sites_bytes(s);
		f.live_blocks = 0;
		for (size_t i = 0; i < s->n_sites; i++)
			f.live_blocks += s->sites[i].c.live_blocks;
	}
	f.rss_rising |= f.rss_slight >= (int64_t)rss_trend__notable(f.used_first);
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (!is_asked(&f, &s->processes[site->process]))
			continue;
		f.taken += counters__taken(&site->c);
		if (verdict__is_calm(site->trend.verdict)) {
			f.steady_bytes += site->c.live_bytes;
			f.steady_taken += counters__taken(&site->c);
		}
		if (is_unsettled(&f, site) && (!f.unsettled || matters_more(site, f.unsettled)))
			f.unsettled = site;
	}
	choose_site(&f);
	return f;
}

bool facts__names_site(const struct facts *f)
{
	const struct snap_process *p = f->site ? &f->s->processes[f->site->process] : NULL;
	struct rss_trend r = p ? rss_trend__of(p) : (struct rss_trend){};

	return p && !is_small(f, p, &r) && stands_out(f, f->site);
}

/* Of several processes the sentence is about the one that grows most. */
bool facts__has_site(const struct facts *f)
{
	return facts__names_site(f) && !(f->process && f->s->n_processes > 1);
}

static bool is_alarming(const struct facts *f)
{
	return f->process || facts__has_site(f);
}

/* Those that run; those that ended where none runs, or where only they give cause to worry. */
struct facts facts__of(const struct snapshot *s)
{
	struct facts running = ask(s, false), ended = ask(s, true);
	bool any = false;

	for (size_t i = 0; i < s->n_processes; i++)
		any |= !s->processes[i].ended;
	if (!any || (!is_alarming(&running) && is_alarming(&ended)))
		return ended;
	/* a small one gives no reason to ask fewer processes */
	if (!running.process && !running.site)
		running.site = ended.site;
	return running;
}

/* Blocks of all sizes take more than was requested: where their headers were read, what was set aside counts. */
uint64_t facts__explained_bytes(const struct facts *f)
{
	uint64_t live = MAX(f->rss.live_bytes, f->process->memory.sized_usable);

	if (f->rss.of == RSS_PAGE_TABLES)
		return 0;
	return MIN(live, (uint64_t)MAX(f->rss.change_bytes, 0));
}

/* NULL: none holds half of it. */
const struct snap_site *facts__holder(const struct facts *f, const struct snap_process *p)
{
	const struct snap_site *most = NULL;

	for (size_t i = 0; i < f->s->n_sites; i++) {
		const struct snap_site *site = &f->s->sites[i];

		if (&f->s->processes[site->process] == p && facts__shows(f, site) &&
		    (!most || counters__taken(&site->c) > counters__taken(&most->c)))
			most = site;
	}
	return most && counters__taken(&most->c) >= counters__taken(&p->c) / 2 ? most : NULL;
}
