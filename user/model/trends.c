// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the baseline; puts what history.c and judge.c know into a snapshot.
 *
 * What always holds: a row's change is what it holds now less what it held when
 * the baseline was set, 0 for a site that was not there; the sites of a process
 * add up to it. A process is judged by its sites first: what all of it holds
 * swings more than what leaks; then by its resident memory, which grows by more
 * than what is traced.
 */
#include "model/trends.h"

#include <inttypes.h>
#include <string.h>

#include "model/heaps.h"
#include "model/judge.h"
#include "model/life.h"
#include "model/merge.h"
#include "model/rss_trend.h"
#include "util/parse.h"

struct baseline_site {
	uint32_t proc;
	uint64_t first_ns, live_bytes;
};

/* ---- the baseline */

void baseline__done(struct baseline *b)
{
	vec_done(&b->sites);
	b->set = false;
}

void baseline__set(struct baseline *b, const struct cut *cut, uint64_t t_ns)
{
	struct baseline new = { .set = true, .t_ns = t_ns };

	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct snap_site *s = &cut->sites[i];

		while (new.sites.n <= s->number)
			vec_push(&new.sites);
		new.sites.v[s->number] = (struct baseline_site){ s->proc, s->first_ns,
							       s->c.alloc_bytes - s->c.free_bytes };
	}
	baseline__done(b);
	*b = new;
}

int64_t baseline__change(const struct baseline *b, const struct snap_site *s)
{
	const struct baseline_site *then = s->number < b->sites.n ? &b->sites.v[s->number] : NULL;
	uint64_t now = s->c.alloc_bytes - s->c.free_bytes;

	if (!b->set)
		return 0;
	/* numbers are given again: it may have been another's */
	if (!then || then->proc != s->proc || then->first_ns != s->first_ns)
		return (int64_t)now;
	return (int64_t)(now - then->live_bytes);
}

/* A saw-tooth has a slope wherever it is cut: where the verdict is that nothing grows, the rate is no other. */
static void settle_rate(struct trend *t)
{
	if (t->verdict && !strcmp(t->verdict, "steady"))
		t->growth_bytes_per_s = 0;
	else if (t->verdict && !strcmp(t->verdict, "draining"))
		t->growth_bytes_per_s = MIN(t->growth_bytes_per_s, 0);
}

/*
 * What a reader knows: a variable of the program itself. Those of libraries say nothing to most, nor do those of an interpreter,
 * whose programs have none.
 */
static const struct snap_root *own_root(const struct snap_process *p, const struct snap_root *held)
{
	const char *exe = p->exe ? path_basename(p->exe) : NULL, *module = held && held->module ? path_basename(held->module) : NULL;
	size_t n = module ? strlen(module) : 0;

	if (!exe || !module || held->kind != ROOT_GLOBAL || p->runtime || strncmp(exe, module, n))
		return NULL;
	/* its file may have been replaced since it started */
	return !exe[n] || !strcmp(exe + n, " (deleted)") ? held : NULL;
}

/* ---- sites */

static void copy_history(const struct course *c, struct snapshot *s, struct snap_site *to)
{
	struct snap_point *v = snapshot__alloc(s, c->points.n, sizeof(*v));

	for (size_t i = 0; i < c->points.n; i++) {
		v[i].t_ns = c->points.v[i].t_ns;
		v[i].live_bytes = c->points.v[i].live_bytes;
		v[i].live_blocks = c->points.v[i].live_blocks;
		v[i].alloc_calls = c->points.v[i].alloc_calls;
	}
	to->history = v;
	to->n_history = c->points.n;
}

/* How old a process was at a moment of the trace. */
static uint64_t age_at(const struct snap_process *p, uint64_t t_ns)
{
	uint64_t seen_ns = p->n_timeline ? p->timeline[0].t_ns : 0;

	return p->age_at_attach_ns + (t_ns > seen_ns ? t_ns - seen_ns : 0);
}

static bool resident_grows(const struct snap_process *p)
{
	struct rss_trend r = rss_trend__of(p);

	return r.grows && r.of == RSS_SUM;
}

/* Where it matters for a verdict on blocks. A timeline of an hour takes 70 us, and a process has thousands of sites. */
static uint64_t rss_grown_bytes(const struct snapshot *s, const struct snap_process *p)
{
	if (!(s->known & HAS_UNKNOWN_FREES) || !p->c.unknown_frees)
		return 0;
	if (!p->rss_judged)
		((struct snap_process *)p)->rss_judged = resident_grows(p) ? RSS_GROWS : RSS_DOES_NOT_GROW;
	return p->rss_judged == RSS_GROWS ? (uint64_t)MAX(rss_trend__change(p), 0) : 0;
}

/* What is known of a process or of a site; what becomes of its memory over time is its caller's. */
static struct evidence evidence_of(const struct snapshot *s, const struct snap_process *p, const struct counters *c,
				   uint64_t lifetime_sum_ns, const struct std_error *error, uint64_t leak_after_ns)
{
	bool lifetimes = s->known & HAS_LIFETIMES;

	return (struct evidence){
		.alloc_calls = c->alloc_calls,
		.free_calls = c->free_calls,
		.live_blocks = c->live_blocks,
		.lifetime_sum_ns = lifetime_sum_ns,
		.unknown_frees = s->known & HAS_UNKNOWN_FREES ? p->c.unknown_frees : 0,
		.process_blocks = p->c.live_blocks,
		.rss_grown_bytes = rss_grown_bytes(s, p),
		.leak_after_ns = leak_after_ns ? leak_after_ns : JUDGE_LEAK_AFTER_NS,
		.no_lifetimes = !lifetimes,
		.unseen_frees = !lifetimes,
		.estimated = s->estimated,
		.error_bytes = s->estimated ? error->live_bytes : 0,
		.error_blocks = s->estimated ? error->live_blocks : 0,
	};
}

static struct evidence evidence_of_site(const struct snapshot *s, const struct snap_site *site, uint64_t leak_after_ns)
{
	struct evidence e = evidence_of(s, &s->processes[site->process], &site->c, site->lifetime_sum_ns,
					&site->error, leak_after_ns);

	e.first_ns = site->first_ns;
	e.last_ns = site->last_ns;
	e.oldest_ns = site->oldest_at_most ? 0 : site->oldest_ns;
	e.looked_blocks = site->looked_blocks;
	e.unreached_blocks = site->unreached_blocks;
	return e;
}

void trends__site(const struct model *m, const struct cut *cut, const struct snapshot_info *info,
		  const struct course *c, struct snapshot *s, struct snap_site *to)
{
	const struct site_look *look = to->look;
	const struct snap_process *p = &s->processes[to->process];
	uint64_t now_ns = model__since_start(m, cut->now_ns);
	struct evidence e = evidence_of_site(s, to, info->leak_after_ns);

	e.end_ns = now_ns;
	if (look) {
		e.scans = look->scans;
		e.search_partial = look->partial;
		e.held = own_root(p, look->held);
	}
	if (!(s->known & HAS_LIVE_BYTES))
		to->since_baseline_bytes = 0;
	if (!(s->known & HAS_LIVE_BYTES) || !c || !c->points.n)
		return;
	e.points = c->points.v;
	e.n_points = c->points.n;
	/* what it was like when it ended, however long ago that is */
	if (p->ended) {
		e.end_ns = c->points.v[c->points.n - 1].t_ns;
		e.oldest_ns = !to->oldest_at_most && to->oldest_ns > now_ns - e.end_ns ? to->oldest_ns - (now_ns - e.end_ns) : 0;
	}
	e.process_age_ns = age_at(p, e.end_ns);
	copy_history(c, s, to);
	judge(s, &e, &to->trend);
	settle_rate(&to->trend);
}

void trends__row(struct snapshot *s, struct snap_site *row, uint64_t leak_after_ns)
{
	struct trend worst = row->trend;
	const struct snap_process *p = &s->processes[row->process];
	const struct snap_heap *heap = snapshot__heap_of(s, row->process);
	struct course c = {};
	struct evidence e = evidence_of_site(s, row, leak_after_ns);

	/* files do not say when calls were made: whether they became more is not known */
	e.no_lifetimes |= !row->n_history || !row->history[row->n_history - 1].alloc_calls;
	e.scans = heap && row->looked_blocks ? heap->unreached.scans : 0;
	e.search_partial = heap && snap_unreached__is_partial(&heap->unreached);
	e.held = own_root(p, row->held);
	course__of_timeline(&c, row->history, row->n_history);
	if (s->known & HAS_LIVE_BYTES && c.points.n) {
		e.points = c.points.v;
		e.n_points = c.points.n;
		e.end_ns = p->ended ? c.points.v[c.points.n - 1].t_ns : s->duration_ns;
		e.process_age_ns = age_at(p, e.end_ns);
		judge(s, &e, &row->trend);
		/*
		 * what one stack leaks, or grows by, may be little beside what the others of its line hold; that one grows
		 * while others drain is no growth, and that one is steady says nothing of the others
		 */
		if (verdict__is_alarm(worst.verdict) && (!row->trend.verdict || strcmp(worst.verdict, "growing") ||
							 worst.growth_bytes_per_s * 60 >= RSS_CREEP_BYTES))
			trend__worsen(&row->trend, &worst);
		settle_rate(&row->trend);
	}
	course__done(&c);
}

/* ---- processes */

struct party {			/* the sites of a process that have one verdict */
	uint64_t n, live_bytes, live_blocks, taken;	/* taken: counters__taken() */
	double growth;
};

struct sums {
	struct party leaks, suspects;
	uint64_t lifetime_sum_ns;
	int64_t since_baseline_bytes;
};

static void add_to(struct party *p, const struct snap_site *site)
{
	p->n++;
	p->live_bytes += site->c.live_bytes;
	p->live_blocks += site->c.live_blocks;
	p->taken += counters__taken(&site->c);
	p->growth += site->trend.growth_bytes_per_s;
}

static void add_up(const struct snapshot *s, struct sums *sums)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		struct sums *sum = &sums[site->process];
		const char *verdict = site->trend.verdict;

		sum->lifetime_sum_ns += site->lifetime_sum_ns;
		sum->since_baseline_bytes += site->since_baseline_bytes;
		if (verdict && !strcmp(verdict, "leak"))
			add_to(&sum->leaks, site);
		else if (verdict && !strcmp(verdict, "suspect"))
			add_to(&sum->suspects, site);
	}
}

/* What a process has of leaks is its verdict from 1% of what it holds on. */
static bool blames(struct snapshot *s, struct snap_process *p, const struct party *party, const char *verdict,
		   const char *does)
{
	char rate[FMT_MAX + 16] = "", blocks[FMT_MAX + 16] = "", text[160];

	if (!party->n || party->taken < counters__taken(&p->c) / 100)
		return false;
	/* blocks that no pointer reaches are lost whether or not it is known yet how fast they become more */
	if (party->growth * 60 >= 1)
		snprintf(rate, sizeof(rate), "+%s/min, ", BYTES((uint64_t)(party->growth * 60)));
	else if (party->taken > party->live_bytes)
		snprintf(blocks, sizeof(blocks), " in %s block%s", COUNT(party->live_blocks), party->live_blocks == 1 ? "" : "s");
	snprintf(text, sizeof(text), "%" PRIu64 " site%s %s, %s%s%s by now", party->n,
		 party->n == 1 ? "" : "s", does, rate, BYTES(party->live_bytes), blocks);
	p->trend.verdict = verdict;
	p->trend.why = snapshot__strdup(s, text);
	return true;
}

/* What resident memory did is part of every verdict: a process whose blocks are steady may grow by what is not probed. */
static void add_resident(struct snapshot *s, struct snap_process *p)
{
	struct rss_trend r = rss_trend__of(p);
	char words[RSS_TREND_MAX], text[320];

	if (!r.known)
		return;
	rss_trend__words(words, &r);
	if (verdict__is_alarm(p->trend.verdict)) {
		snprintf(text, sizeof(text), "%s; %s", p->trend.why, words);
	} else if (r.grows) {
		p->trend.verdict = "growing";
		snprintf(text, sizeof(text), "%s; live memory %s%s", words, s->estimated ? "~" : "", BYTES(p->c.live_bytes));
	} else if (rss_trend__may_grow(&r)) {
		p->trend.verdict = p->trend.why = NULL;
	} else if (p->trend.verdict) {
		snprintf(text, sizeof(text), "%s; %s", p->trend.why, words);
	}
	if (p->trend.verdict)
		p->trend.why = snapshot__strdup(s, text);
}

static void judge_process(const struct snapshot_info *info, struct snapshot *s, struct snap_process *p,
			  const struct sums *sums)
{
	struct course c = {};
	struct evidence e = evidence_of(s, p, &p->c, sums->lifetime_sum_ns, &p->error, info->leak_after_ns);

	if (!p->n_timeline)
		return;
	e.no_lifetimes = true;
	course__of_timeline(&c, p->timeline, p->n_timeline);
	e.points = c.points.v;
	e.n_points = c.points.n;
	e.first_ns = c.points.v[0].t_ns;
	e.end_ns = e.last_ns = c.points.v[c.points.n - 1].t_ns;
	e.process_age_ns = age_at(p, e.end_ns);
	judge(s, &e, &p->trend);
	/* the timeline ends before the last calls of free */
	if (verdict__is_alarm(p->trend.verdict) && rss_trend__of(p).freed)
		p->trend = (struct trend){ .verdict = "draining", .why = "it freed what it held before it ended" };
	if (!blames(s, p, &sums->leaks, "leak", sums->leaks.n == 1 ? "leaks" : "leak"))
		blames(s, p, &sums->suspects, "suspect", sums->suspects.n == 1 ? "is suspect" : "are suspect");
	add_resident(s, p);
	settle_rate(&p->trend);
	course__done(&c);
}

void trends__processes(const struct snapshot_info *info, struct snapshot *s)
{
	_cleanup_free_ struct sums *sums = NULL;

	if (!(s->known & HAS_LIVE_BYTES))
		return;
	sums = xcalloc(s->n_processes + 1, sizeof(*sums));
	add_up(s, sums);
	for (size_t i = 0; i < s->n_processes; i++) {
		struct snap_process *p = (struct snap_process *)&s->processes[i];

		p->since_baseline_bytes = sums[i].since_baseline_bytes;
		judge_process(info, s, p, &sums[i]);
	}
}
