// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sentence that answers first, in reports and pages: about the process, then about the site.
 *
 *	Leak: issue_ticket (shop.cpp:12): none of its 25,492 blocks was freed, no pointer leads to them; +9.3 MiB/min.
 *	Also growing, and held by cache: remember (shop.cpp:17), +38.1 MiB/min.
 *	Leak: token_make (auth.c:31) holds 99.9% of live memory: 0 of 46,822 freed, +22.8 MiB/min for 28.0s; RSS +11.1 MiB in 29.0s
 *	Growing: RSS +75.0 MiB in 30.0s; live memory explains 1.0 MiB of it; anonymous memory outside of the heap grew by 74.0 MiB: ...
 *	Nothing grows: live memory 95.0 MiB, RSS +12.0 KiB in 2m00s
 *
 * sentences[] has each kind of sentence with the condition under which it may be said; the first that holds is said.
 * What always holds: the sentence is never better news than a figure below it. An all-clear asks every process, its resident
 * memory and its sites; where one of them does not answer, the sentence says what is missing.
 */
#include "present/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/heaps.h"
#include "model/merge.h"
#include "model/rss_trend.h"
#include "present/caveats.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/telling.h"
#include "util/clock.h"
#include "util/util.h"

#define CLEAR_PCT 95		/* of live memory must be known not to grow before that is said */
#define MATTERS_PCT 3		/* of its process's live memory or growth: a site with less is not named before the process */
#define SHORT_NS (60 * SECOND_NS)
#define RESTED_NS (2 * SECOND_NS)	/* less is no rest, but a moment between two rises */
#define ROSE_PART 10		/* live memory that is higher by one of so many parts of it rose */
#define ROSE_BYTES (64ull << 10)
#define RSS_ROSE_BYTES (128ull << 10)	/* of RSS: less comes by chance */
#define STARTS_WITH_BYTES (16ll << 20)	/* a program that starts maps libraries and their data: so much of RSS needs no explanation */

/* ---- the facts that sentences are made of */

static const struct alarm {
	const char *verdict, *begins, *also, *other, *others;
} alarms[] = {
	{ "leak", "Leak", "Also leaking", "leaks", "leak" },
	{ "suspect", "Perhaps a leak", "Perhaps also leaking", "is suspect", "are suspect" },
	{ "growing", "Growing", "Also growing", "grows", "grow" },
};

struct facts {
	const struct snapshot *s;
	const struct snap_process *process;	/* of those that grow, the one that matters most; NULL: none does */
	const struct snap_site *site;	/* that matters most: in it, or where no process grows in any; NULL: none does */
	const struct snap_site *also;	/* no pointer leads to site: the one that matters most of those that pointers may lead to; or NULL */
	struct rss_trend rss;	/* of process; of the only one where none grows */
	size_t n_growing;	/* processes that do */
	uint64_t live_bytes, steady_bytes;	/* of the sites that are shown */
	int64_t rss_change;	/* of all that are asked */
	uint64_t rss_span_ns;
	bool ended;		/* those that ended are asked, not those that run */
	bool rose;		/* resident memory rose, and does so no more */
	uint64_t rss_first;	/* resident memory of all that are asked, when the trace began */
	int64_t rss_slight;	/* changes of RSS that are not notable by themselves */
	bool unclear;		/* a process that matters has no verdict */
	bool rss_rising;	/* RSS rose, and may still do so */
	bool live_rising;	/* live memory of a process did */
	bool rss_unknown;	/* RSS of a process that matters was not read */
};

static const struct alarm *alarm_of(const char *verdict)
{
	for (size_t i = 0; i < ARRAY_SIZE(alarms) && verdict; i++)
		if (!strcmp(alarms[i].verdict, verdict))
			return &alarms[i];
	return NULL;
}

static bool is_calm(const char *verdict)
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
	return by_a != by_b ? by_a > by_b : a->c.live_bytes > b->c.live_bytes;
}

static bool stands_out(const struct facts *f, const struct snap_site *site)
{
	const struct snap_process *p = &f->s->processes[site->process];

	if (site->c.live_bytes >= p->c.live_bytes / 100 * MATTERS_PCT)
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

static const struct alarm *alarm_of_site(const struct snap_site *site)
{
	return alarm_of(site->trend.verdict) ?: &alarms[ARRAY_SIZE(alarms) - 1];
}

/* Of one process, or of all that are asked (p NULL); but not one that no pointer leads to if held. */
static const struct snap_site *worst_site(const struct facts *f, const struct snap_process *p, bool held)
{
	const struct snap_site *worst = NULL;

	for (size_t i = 0; i < f->s->n_sites; i++) {
		const struct snap_site *site = &f->s->sites[i];
		const struct snap_process *its = &f->s->processes[site->process];
		bool out;

		if ((p ? its != p : !is_asked(f, its)) || !site->c.live_bytes || (held && site->trend.why_unreached))
			continue;
		/* one that is in no table, for its blocks are younger than was asked for */
		if (f->s->recording.older_ns && !site->older_bytes)
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
	return f->s->n_processes > 1 && p->c.live_bytes <= f->s->totals.live_bytes / 100 && r->change_bytes < (int64_t)r->notable_bytes;
}

/* Is it notably higher than it was at any time in the first half? */
static bool live_rose_late(const struct snap_process *p)
{
	const struct snap_point *v = p->timeline, *last = v + p->n_timeline - 1;
	uint64_t most_before = 0, middle_ns;

	if (p->ended || p->n_timeline < 2)
		return false;
	middle_ns = (v->t_ns + last->t_ns) / 2;
	for (; v < last && v->t_ns <= middle_ns; v++)
		most_before = MAX(most_before, v->live_bytes);
	return last->live_bytes > most_before + MAX(last->live_bytes / ROSE_PART, ROSE_BYTES);
}

static void ask_process(struct facts *f, const struct snap_process *p)
{
	struct rss_trend r = rss_trend__of(p);
	int64_t notable = (int64_t)r.notable_bytes;

	f->rss_change += r.change_bytes;
	f->rss_first += p->rss_at_attach_bytes;
	/* one that shrinks hides little of what others add */
	if (r.change_bytes < notable)
		f->rss_slight += MAX(r.change_bytes, -notable);
	f->rss_span_ns = MAX(f->rss_span_ns, r.span_ns);
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
	f->live_rising |= live_rose_late(p) && !is_small(f, p, &r);
	f->rss_unknown |= !r.known && !is_small(f, p, &r);
	f->unclear |= !is_calm(p->trend.verdict) && !is_small(f, p, &r);
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
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		bool asked = is_asked(&f, p);

		if (asked)
			ask_process(&f, p);
		/* what others held is not what these hold */
		f.live_bytes -= MIN(!asked ? p->c.live_bytes : ended ? 0 : p->ended_live_bytes, f.live_bytes);
	}
	if (s->hidden.by)
		f.live_bytes = snapshot__sites_bytes(s);
	f.rss_rising |= f.rss_slight >= (int64_t)rss_trend__notable(f.rss_first);
	for (size_t i = 0; i < s->n_sites; i++)
		if (is_calm(s->sites[i].trend.verdict) && is_asked(&f, &s->processes[s->sites[i].process]))
			f.steady_bytes += s->sites[i].c.live_bytes;
	choose_site(&f);
	return f;
}

/* Of several processes the sentence is about the one that grows most, and about no site of one that is small. */
static bool has_site(const struct facts *f)
{
	const struct snap_process *p = f->site ? &f->s->processes[f->site->process] : NULL;
	struct rss_trend r = p ? rss_trend__of(p) : (struct rss_trend){};

	if (!p || (f->process && f->s->n_processes > 1) || is_small(f, p, &r))
		return false;
	return stands_out(f, f->site);
}

static bool is_alarming(const struct facts *f)
{
	return f->process || has_site(f);
}

/* Those that run; those that ended where none runs, or where only they give cause to worry. */
static struct facts facts_of(const struct snapshot *s)
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
static uint64_t explained_bytes(const struct facts *f)
{
	uint64_t live = MAX(f->rss.live_bytes, f->process->memory.sized_usable);

	return MIN(live, (uint64_t)MAX(f->rss.change_bytes, 0));
}

/* ---- clauses */

struct words {
	FILE *out;
	const struct tellings *tellings;
	size_t name_width;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(w->out, fmt, ap);
	va_end(ap);
}

static const char *mark(const struct facts *f)
{
	return f->s->estimated ? "~" : "";
}

/* "issue_ticket (shop.cpp:12)" */
static void say_name_of(struct words *w, const struct facts *f, const struct snap_site *site)
{
	_cleanup_free_ char *name = tellings__name(w->tellings, f->s, site);
	_cleanup_free_ char *own = name ? xstrndup(name, strlen(name) - (site__is_arena(site) ? strlen(ARENAS_OF) : 0)) : NULL;
	_cleanup_free_ char *fits = own ? name__shorten(own, w->name_width) : NULL;
	const struct frame frame = tellings__of(w->tellings, f->s, site);
	char owner[PROCESS_NAME_MAX];

	say(w, "%s", fits ? fits : "");
	if (frame.line && frame.line->file && frame.line->line)
		say(w, " (%s:%u)", path_basename(frame.line->file), frame.line->line);
	if (f->s->n_processes > 1 && f->process != &f->s->processes[site->process])
		say(w, " in %s", process__name(f->s, &f->s->processes[site->process], owner));
}

static void say_site_name(struct words *w, const struct facts *f)
{
	say_name_of(w, f, f->site);
}

/* "; +9.3 MiB/min" */
static void say_rate(struct words *w, const struct facts *f, const struct snap_site *site, const char *before)
{
	double per_min = site->trend.known ? site->trend.growth_bytes_per_s * 60 : 0;
	bool hourly = per_min < 10;
	char a[FMT_MAX];

	if (per_min * 60 >= 1)
		say(w, "%s%s+%s/%s", before, mark(f), fmt_bytes(a, (uint64_t)(hourly ? per_min * 60 : per_min)), hourly ? "h" : "min");
}

/* The verdict may have said it already. */
static void say_pointers(struct words *w, const struct facts *f)
{
	const struct snap_site *site = f->site;
	char a[FMT_MAX], b[FMT_MAX];

	if (!site__was_searched(f->s, site) || site->trend.why_unreached ||
	    (site->trend.why && strstr(site->trend.why, "reachable")))
		return;
	if (site->unreached_blocks)
		say(w, ", no pointer to %s of %s blocks", fmt_exact(a, site->unreached_blocks), fmt_exact(b, site->looked_blocks));
	else if (site->looked_blocks < site->c.live_blocks)
		say(w, ", pointers lead to all %s that were searched", fmt_exact(a, site->looked_blocks));
	else
		say(w, ", pointers lead to all of them");
}

static void say_resident(struct words *w, const struct facts *f, const char *before)
{
	char a[RSS_TREND_MAX];

	if (f->rss.known)
		say(w, "%s%s", before, rss_trend__words(a, &f->rss));
}

/* Other sites, of the same verdict or a worse one; other processes. */
static void say_others(struct words *w, const struct facts *f)
{
	const struct alarm *own = alarm_of(f->site ? f->site->trend.verdict : f->process->trend.verdict) ?: &alarms[ARRAY_SIZE(alarms) - 1];
	bool ended = f->site ? f->s->processes[f->site->process].ended : f->ended;
	char a[FMT_MAX];

	for (const struct alarm *at = alarms; at <= own; at++) {
		size_t n = 0;

		for (size_t i = 0; i < f->s->n_sites; i++) {
			const struct snap_site *site = &f->s->sites[i];

			n += site != f->site && site != f->also && f->s->processes[site->process].ended == ended && site->c.live_bytes && alarm_of(site->trend.verdict) == at;
		}
		if (n)
			say(w, "; %s %ssite%s%s %s", fmt_exact(a, n), f->site && at == own ? "more " : "", n == 1 ? "" : "s", f->site ? "" : n == 1 ? " in another process" : " in other processes", n == 1 ? at->other : at->others);
	}
	if (f->n_growing > 1)
		say(w, "; %s more process%s", fmt_exact(a, f->n_growing - 1), f->n_growing == 2 ? " grows" : "es grow");
}

/* At the end of a sentence about something else: "; issue_ticket (shop.cpp:12) leaks; 2 more sites leak" */
static void say_sites_beside(struct words *w, const struct facts *f)
{
	if (f->site) {
		say(w, "; ");
		say_site_name(w, f);
		say(w, " %s", alarm_of_site(f->site)->other);
	}
	if (f->site || f->process)
		say_others(w, f);
}

/* What a process grew by that is not live memory, and the command that goes on. */
static void say_rest(struct words *w, const struct facts *f)
{
	const struct snap_memory *m = &f->process->memory;
	bool mmap = f->s->recording.mmap, python = f->process->runtime && !strcmp(f->process->runtime, "python");
	char a[FMT_MAX];
	const struct {
		int64_t bytes;
		const char *what, *means, *next;
	} parts[] = {
		{ m->large_grown, "anonymous memory outside of the heap", python ? "most likely Python's arenas of small objects" : "large blocks from before the trace, its own mappings, thread stacks, or an allocator that is not probed",
		  mmap ? "--mode growth shows which code touches it" : "--mmap shows which code maps it" },
		{ m->heap_grown, "the heap", "freed memory that the allocator keeps, fragmentation, or calls that were not seen",
		  f->process->ended ? NULL : "malloctrace heap -p PID shows which" },
		{ m->file_grown, "mapped files or shared memory", "the kernel can take back most pages of files, not shared memory", "--mode growth shows which code touches them" },
	};
	size_t most = 0;

	for (size_t i = 1; i < ARRAY_SIZE(parts); i++)
		if (parts[i].bytes > parts[most].bytes)
			most = i;
	if (!m->known || !m->grown_known || parts[most].bytes <= 0)
		say(w, "; --mode growth shows which code it comes from");
	else
		say(w, "; %s grew by %s (%s)%s%s", parts[most].what, fmt_bytes(a, (uint64_t)parts[most].bytes), parts[most].means,
		    parts[most].next ? ": " : "", parts[most].next ?: "");
}

/* ---- the sentences */

static bool is_imprecise(const struct facts *f)
{
	return is_noise(f->s);
}

static bool is_unexplained(const struct facts *f)
{
	uint64_t explained = f->process ? explained_bytes(f) : 0;

	if (!f->process || !f->rss.grows)
		return false;
	if (f->process->ended && !f->process->age_at_attach_ns && f->rss.change_bytes - (int64_t)explained < STARTS_WITH_BYTES)
		return false;
	return is_imprecise(f) || f->rss.change_bytes - (int64_t)explained > f->rss.change_bytes / 2;
}

static void say_unexplained(struct words *w, const struct facts *f)
{
	const struct alarm *verdict = alarm_of(f->process->trend.verdict);
	char a[FMT_MAX], owner[PROCESS_NAME_MAX], words[RSS_TREND_MAX];

	say(w, f->process->ended ? "Grew before it ended: " : "Growing: ");
	if (f->s->n_processes > 1)
		say(w, "%s: ", process__name(f->s, f->process, owner));
	say(w, "%s; ", rss_trend__words(words, &f->rss));
	if (is_imprecise(f)) {
		_cleanup_free_ char *advice = noise__advice(f->s);

		say(w, "too few samples to say how much of it is live memory: %s", advice ? advice : "");
		return;
	}
	say(w, "live memory explains %s%s of it", mark(f), fmt_bytes(a, explained_bytes(f)));
	say_rest(w, f);
	if (f->site) {
		say(w, "; in live memory ");
		say_site_name(w, f);
		say(w, ": %s, %s", f->site->trend.verdict ?: "growing", f->site->trend.why ?: "most of the growth");
	} else if (verdict && verdict != &alarms[ARRAY_SIZE(alarms) - 1]) {
		say(w, "; its live memory as a whole %s", verdict->other);
	}
	say_others(w, f);
}

/* Where the ABI tag of a C++ variable begins, cache[abi:cxx11]: it says nothing to a reader. */
static size_t abi_tag(const char *name)
{
	const char *tag = strstr(name, "[abi:");

	return tag ? (size_t)(tag - name) : strlen(name);
}

/* Of how many blocks it is known that no pointer leads to them. */
static void say_lost(struct words *w, const struct snap_site *site)
{
	bool all = site->unreached_blocks >= site->looked_blocks;
	char a[FMT_MAX], b[FMT_MAX];

	if (site->c.alloc_calls == 1)
		say(w, "its only block was not freed, no pointer leads to it");
	else if (!site->c.free_calls)
		say(w, "none of its %s blocks was freed, no pointer leads to ", fmt_exact(a, site->c.alloc_calls));
	else
		say(w, "%s of its %s blocks are live, no pointer leads to ", fmt_exact(a, site->c.live_blocks), fmt_exact(b, site->c.alloc_calls));
	if (site->c.alloc_calls == 1)
		return;
	if (all && site->looked_blocks >= site->c.live_blocks)
		say(w, "them");
	else if (all)
		say(w, "the %s that were searched", fmt_exact(a, site->looked_blocks));
	else
		say(w, "%s of them", fmt_exact(a, site->unreached_blocks));
}

static bool has_lost_site(const struct facts *f)
{
	return has_site(f) && f->site->trend.why_unreached;
}

/* A second sentence is about what grows and is not lost: a cache. */
static void say_lost_site(struct words *w, const struct facts *f)
{
	const struct snap_root *held = f->also ? f->also->held : NULL;

	say(w, "%s: ", alarm_of_site(f->site)->begins);
	say_site_name(w, f);
	say(w, ": ");
	say_lost(w, f->site);
	say_rate(w, f, f->site, "; ");
	if (f->rss.change_bytes < 0)
		say_resident(w, f, "; ");
	say_others(w, f);
	if (!f->also)
		return;
	say(w, ".\n%s", alarm_of_site(f->also)->also);
	/* "(data)" of a file is no name */
	if (held && held->name && held->name[0] != '(')
		say(w, ", and held by %s%.*s", root_kind__before(held->kind), (int)MIN(abi_tag(held->name), w->name_width), held->name);
	say(w, ": ");
	say_name_of(w, f, f->also);
	say_rate(w, f, f->also, ", ");
	say(w, ".");
}

static void say_site(struct words *w, const struct facts *f)
{
	/* among many processes, a share of all says little of the one that grows */
	bool one = f->s->n_processes == 1;
	uint64_t whole = one ? f->s->totals.live_bytes : f->s->processes[f->site->process].c.live_bytes;
	char share[FMT_MAX];

	say(w, "%s: ", alarm_of_site(f->site)->begins);
	say_site_name(w, f);
	say(w, " holds %s of %slive memory%s", fmt_share(share, f->site->c.live_bytes, whole), one ? "" : "its ",
	    site__is_arena(f->site) ? ", in arenas of small objects" : "");
	if (f->site->trend.why)
		say(w, ": %s", f->site->trend.why);
	else
		say_rate(w, f, f->site, ": ");
	say_pointers(w, f);
	if (f->process)
		say_resident(w, f, "; ");
	say_others(w, f);
}

static bool has_process(const struct facts *f)
{
	return f->process;
}

/* NULL: none holds half of it. */
static const struct snap_site *holder(const struct facts *f, const struct snap_process *p)
{
	const struct snap_site *most = NULL;

	for (size_t i = 0; i < f->s->n_sites; i++) {
		const struct snap_site *site = &f->s->sites[i];

		/* one that is in no table, for its blocks are younger than was asked for */
		if (f->s->recording.older_ns && !site->older_bytes)
			continue;
		if (&f->s->processes[site->process] == p && (!most || site->c.live_bytes > most->c.live_bytes))
			most = site;
	}
	return most && most->c.live_bytes && most->c.live_bytes >= p->c.live_bytes / 2 ? most : NULL;
}

/* It grows, and no site of it has such a verdict: that which holds most of it, or that its blocks come from many sites. */
static void say_holder(struct words *w, const struct facts *f)
{
	const struct snap_site *most = holder(f, f->process);
	/* what is allocated at once and filled later grows in RSS alone */
	bool calm = most && is_calm(most->trend.verdict) && most->c.live_bytes < f->process->c.live_bytes / 10 * 9;
	char share[FMT_MAX];

	if (!most || calm)
		say(w, "; no %s grows", f->s->hidden.by ? "site shown" : "single site");
	if (!most)
		return;
	say(w, "; ");
	say_name_of(w, f, most);
	say(w, " holds %s of its live memory%s%s", fmt_share(share, most->c.live_bytes, f->process->c.live_bytes), calm ? ", " : "",
	    calm ? most->trend.verdict : "");
}

/* Of several processes the one that grows most; of one, whose blocks may each have a stack of their own: no site grows. */
static void say_process(struct words *w, const struct facts *f)
{
	const struct alarm *alarm = alarm_of(f->process->trend.verdict) ?: &alarms[ARRAY_SIZE(alarms) - 1];
	char owner[PROCESS_NAME_MAX], words[RSS_TREND_MAX];
	const char *why = f->process->trend.why;

	say(w, "%s: %s", f->process->ended && !verdict__is_alarm(f->process->trend.verdict) ? "Grew before it ended" : alarm->begins,
	    process__name(f->s, f->process, owner));
	/* of files from before RSS was part of it */
	if (f->rss.grows && !verdict__is_alarm(f->process->trend.verdict))
		why = rss_trend__words(words, &f->rss);
	say(w, ": %s", why ? why : "");
	if (f->s->n_processes > 1 && !(why && strstr(why, "RSS ")))
		say_resident(w, f, why && *why ? "; " : "");
	if (!f->site)
		say_holder(w, f);
	say_sites_beside(w, f);
}

static void say_figures(struct words *w, const struct facts *f)
{
	struct rss_trend all = { .known = f->rss_span_ns, .change_bytes = f->rss_change, .span_ns = f->rss_span_ns };
	char a[FMT_MAX], words[RSS_TREND_MAX];

	say(w, "%s %s%s", f->s->hidden.by ? "the sites shown hold" : "live memory", mark(f), fmt_bytes(a, f->live_bytes));
	if (all.known)
		say(w, ", %s", rss_trend__words(words, &all));
}

static bool is_one(const struct facts *f)
{
	return f->s->n_processes == 1 && f->s->processes->n_members < 2;
}

static bool is_empty(const struct facts *f)
{
	return !f->s->n_processes && !f->s->totals.alloc_calls && !f->s->hidden.by;
}

static void say_empty(struct words *w, const struct facts *f)
{
	char a[FMT_MAX];

	say(w, "No process was traced: none was seen that was asked for and may be traced");
	if (f->s->n_left_out)
		say(w, "; %s could not be inspected", fmt_exact(a, f->s->n_left_out));
}

static bool is_blind(const struct facts *f)
{
	return !f->s->totals.alloc_calls && !f->s->totals.live_bytes && blind__n(f->s);
}

static void say_blind(struct words *w, const struct facts *f)
{
	struct rss_trend all = { .known = f->rss_span_ns, .change_bytes = f->rss_change, .span_ns = f->rss_span_ns };
	char words[RSS_TREND_MAX];

	say(w, "No allocation was seen");
	if (all.known)
		say(w, "; %s", rss_trend__words(words, &all));
}

static bool is_nothing(const struct facts *f)
{
	return !f->live_bytes && !f->rss_rising && !f->s->losses_total;
}

static bool leaves_processes_out(const struct snapshot *s)
{
	return s->n_watched < s->n_selected;
}

/* What was not recorded may be live, or may never have been freed. */
static bool is_of_a_part(const struct facts *f)
{
	return recording__is_partial(&f->s->recording) || leaves_processes_out(f->s);
}

static bool is_mostly_steady(const struct facts *f)
{
	return f->steady_bytes * 100 >= f->live_bytes * CLEAR_PCT;
}

/* Each form of "nothing grows" asks this. */
static bool is_clear(const struct facts *f)
{
	return !f->unclear && !f->rss_rising && !f->live_rising && !f->rss_unknown && is_mostly_steady(f) && !f->s->losses_total && !is_of_a_part(f);
}

static void say_clear(struct words *w, const struct facts *f)
{
	/* it grew at first, or goes up and down */
	bool one = is_one(f), rested = f->rose && (!one || f->rss.rest_ns >= RESTED_NS || f->rss.freed);
	uint64_t lost_blocks = 0, lost_bytes = 0;
	char a[FMT_MAX], b[FMT_MAX];

	say(w, "Nothing grows%s", rested ? " any more" : "");
	if (f->site) {
		say(w, " except ");
		say_site_name(w, f);
		say(w, " with %s of live memory: %s, %s", fmt_share(a, f->site->c.live_bytes, f->s->totals.live_bytes),
		    f->site->trend.verdict ?: "growing", f->site->trend.why ?: "most of the growth");
		say_others(w, f);
	}
	say(w, "%s", f->site ? "; " : ": ");
	say_figures(w, f);
	if (f->rose && one && f->rss.freed)
		say(w, ", freed before it ended");
	else if (f->rose && one && rested)
		say(w, ", none of it in the last %s", fmt_duration(a, f->rss.rest_ns));
	else if (f->rose && one)
		say(w, ", as high as it was before");
	for (size_t i = 0; i < f->s->n_heaps; i++) {
		lost_blocks += f->s->heaps[i].unreached.blocks;
		lost_bytes += f->s->heaps[i].unreached.bytes;
	}
	if (lost_blocks)
		say(w, "; but no pointer leads to %s block%s (%s)", fmt_exact(a, lost_blocks), lost_blocks == 1 ? "" : "s", fmt_bytes(b, lost_bytes));
	if (f->s->n_left_out)
		say(w, "; %s process%s could not be inspected", fmt_exact(a, f->s->n_left_out), f->s->n_left_out == 1 ? "" : "es");
	if (f->s->n_unfollowed)
		say(w, "; %s process%s it started %s not traced", fmt_exact(a, f->s->n_unfollowed),
		    f->s->n_unfollowed == 1 ? "" : "es", f->s->n_unfollowed == 1 ? "was" : "were");
}

static void say_nothing(struct words *w, const struct facts *f)
{
	const char *what = is_of_a_part(f) ? "recorded" : "allocated while traced";

	if (f->s->totals.live_bytes)
		say(w, f->s->hidden.by ? "The sites shown hold no live memory" : "The processes that run hold no live memory");
	else if ((f->rss.freed || (f->ended && f->s->totals.alloc_calls)) && is_one(f) &&
		 !is_of_a_part(f)) {
		say(w, "The process freed all live memory before it ended: ");
		say_figures(w, f);
	} else if (is_clear(f)) {
		say_clear(w, f);
	} else {
		say(w, f->s->totals.alloc_calls ? "Everything %s was freed: " : "Nothing was %s: ", what);
		say_figures(w, f);
	}
}

/* What a program does not free before it ends is what people look for; whether it grew is another question. */
static bool is_left(const struct facts *f)
{
	return f->ended && is_one(f) && f->live_bytes && !f->s->hidden.by && !f->s->estimated && !f->s->losses_total && !is_of_a_part(f) &&
	       !f->s->reading.n_unread && !f->s->reading.unsure_blocks;
}

/* Not freed at exit: 1.0 MiB in 2,150 blocks, 976.6 KiB of it in 2,000 blocks of issue (finite.cpp:5); RSS +3.4 MiB in 24.9s */
static void say_left(struct words *w, const struct facts *f)
{
	const struct snap_site *most = holder(f, f->s->processes);
	const struct counters *c = &f->s->totals;
	char a[FMT_MAX], b[FMT_MAX];

	say(w, "Not freed at exit: %s in %s block%s", fmt_bytes(a, c->live_bytes), fmt_exact(b, c->live_blocks), c->live_blocks == 1 ? "" : "s");
	if (most) {
		say(w, ", %s of it in %s block%s of ", fmt_bytes(a, most->c.live_bytes), fmt_exact(b, most->c.live_blocks), most->c.live_blocks == 1 ? "" : "s");
		say_name_of(w, f, most);
	}
	say_resident(w, f, "; ");
}

/* More samples are another matter. */
static bool is_early(const struct facts *f)
{
	return f->s->duration_ns < SHORT_NS && !f->s->estimated && !f->s->losses_total &&
	       !recording__is_partial(&f->s->recording);
}

static void say_early(struct words *w, const struct facts *f)
{
	char a[FMT_MAX];

	say(w, f->ended ? "Too short to tell: " : "Too early to tell: ");
	if (!f->rss_span_ns || f->ended)
		say(w, f->ended ? "ended after %s of tracing, " : "traced for %s, ", fmt_duration(a, f->s->duration_ns));
	say_figures(w, f);
	say_sites_beside(w, f);
	/* of what has ended, no trace can be longer */
	if (!f->ended)
		say(w, "; trace longer (-d 2m)");
}

static void say_imprecise(struct words *w, const struct facts *f)
{
	_cleanup_free_ char *advice = noise__advice(f->s);

	struct rss_trend all = { .known = f->rss_span_ns, .change_bytes = f->rss_change, .span_ns = f->rss_span_ns };
	char words[RSS_TREND_MAX];

	say(w, "Too few samples for figures: %s", advice ? advice : "");
	if (all.known)
		say(w, "; %s", rss_trend__words(words, &all));
}

static bool holds_always(const struct facts *f)
{
	return true;
}

static void say_unclear(struct words *w, const struct facts *f)
{
	uint64_t rest = f->live_bytes - MIN(f->steady_bytes, f->live_bytes);
	char a[FMT_MAX];

	say(w, "Not clear whether memory grows: ");
	if (f->s->losses_total)
		say(w, "the trace has losses");
	else if (recording__is_partial(&f->s->recording))
		say(w, "not all blocks were recorded");
	else if (leaves_processes_out(f->s))
		say(w, "not all processes were watched");
	else if (!is_mostly_steady(f) && f->s->estimated)
		say(w, "too few samples");
	else if (!is_mostly_steady(f))
		say(w, "%s of live memory is not known to be steady", fmt_share(a, rest, f->live_bytes));
	else if (f->rss_rising)
		say(w, f->rss_change < 0 ? "RSS fell, and rises again" : "RSS rose, and may still rise");
	else if (f->live_rising)
		say(w, "live memory rose in the second half of the trace");
	else if (f->rss_unknown)
		say(w, "RSS was not read");
	else
		say(w, "the sites are steady, the process as a whole has no verdict yet");
	say(w, "; ");
	say_figures(w, f);
	say_sites_beside(w, f);
}

static const struct sentence {
	bool (*holds)(const struct facts *f);
	void (*say)(struct words *w, const struct facts *f);
} sentences[] = {
	{ is_empty, say_empty },
	{ is_unexplained, say_unexplained },	/* RSS grows, by less than half of it live memory */
	{ has_lost_site, say_lost_site },	/* no pointer leads to blocks of a site that matters */
	{ has_site, say_site },			/* a site leaks, is suspect or grows */
	{ has_process, say_process },		/* a process does: one of several, or no site stands out */
	{ is_imprecise, say_imprecise },	/* estimates are less than their error */
	{ is_blind, say_blind },		/* the allocator of what ran is not known, or was not called */
	{ is_nothing, say_nothing },
	{ is_left, say_left },			/* a program that ended and had not freed everything */
	{ is_clear, say_clear },		/* processes, their RSS and their sites are steady, except sites that hardly matter */
	{ is_early, say_early },
	{ holds_always, say_unclear },
};

static const struct sentence *choose(const struct facts *f)
{
	const struct sentence *at = sentences;

	while (!at->holds(f))
		at++;
	return at;
}

char *sentence__of(const struct snapshot *s, const struct tellings *t, size_t name_width)
{
	struct facts f = facts_of(s);
	struct words w = { .tellings = t, .name_width = name_width };
	char *text = NULL;
	size_t len = 0;

	if (!(s->known & HAS_LIVE_BYTES))
		return NULL;
	w.out = text_stream__open(&text, &len);
	choose(&f)->say(&w, &f);
	text_stream__close(w.out);
	if (len)
		return text;
	free(text);
	return NULL;
}

bool sentence__is_unexplained(const struct snapshot *s)
{
	struct facts f = facts_of(s);

	return s->known & HAS_LIVE_BYTES && is_unexplained(&f);
}

const struct snap_site *sentence__site(const struct snapshot *s)
{
	return facts_of(s).site;
}
