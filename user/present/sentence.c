// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sentence that answers first, in reports and pages: about the process, then about the site.
 *
 *	Leak: issue_ticket (shop.cpp:12): none of its 25,492 blocks was freed, no pointer leads to them; +9.3 MiB/min.
 *	Also growing, and held by cache: remember (shop.cpp:17), +38.1 MiB/min.
 *	Leak: token_make (auth.c:31) holds 99.9% of live memory: 0 of 46,822 freed, +22.8 MiB/min for 28.0s; RSS +11.1 MiB in 29.0s
 *	Growing: RSS +75.0 MiB in 30.0s; live memory explains 1.0 MiB of it; anonymous memory outside of the heap grew by 74.0 MiB: ...
 *	Nothing grows: live memory 95.0 MiB, RSS +12.0 KiB in 2m00s
 *	Nothing grows except a small site that leaks, with 0.3% of live memory; live memory 95.0 MiB, RSS and swap unchanged in 2m00s
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
#include "present/caveats.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/sentence_facts.h"
#include "present/telling.h"
#include "util/clock.h"
#include "util/util.h"

#define CLEAR_PCT 95		/* of live memory must be known not to grow before that is said */
#define SHORT_NS (60 * SECOND_NS)
#define RESTED_NS (2 * SECOND_NS)	/* less is no rest, but a moment between two rises */
#define STARTS_WITH_BYTES (16ll << 20)	/* a program that starts maps libraries and their data: so much of RSS needs no explanation */

/* ---- clauses */

#define RSS_WORDS(r) rss_trend__words((char[RSS_TREND_MAX]){}, r)

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
	_cleanup_free_ char *own = xstrndup(name, strlen(name) - (site__is_arena(site) ? strlen(ARENAS_OF) : 0));
	_cleanup_free_ char *fits = name__shorten(own, w->name_width);
	const struct frame frame = tellings__of(w->tellings, f->s, site);

	say(w, "%s", fits);
	if (frame.line && frame.line->file && frame.line->line)
		say(w, " (%s:%u)", path_basename(frame.line->file), frame.line->line);
	if (f->s->n_processes > 1 && f->process != &f->s->processes[site->process])
		say(w, " in %s", PROCESS_NAME(f->s, &f->s->processes[site->process]));
}

static void say_site_name(struct words *w, const struct facts *f)
{
	say_name_of(w, f, f->site);
}

/* Who needs a new arena maps it; the objects in it may be another's. */
static void say_share(struct words *w, const struct facts *f, const struct snap_site *site, const struct counters *whole, const char *of)
{
	bool arena = site__is_arena(site), bytes = site->c.live_bytes || !site->c.live_blocks;

	say_name_of(w, f, site);
	say(w, " %s %s of %s%s%s", arena ? "mapped" : "holds",
	    bytes ? SHARE(site->c.live_bytes, whole->live_bytes) : SHARE(site->c.live_blocks, whole->live_blocks),
	    bytes ? "" : "the blocks of ", of,
	    arena ? ", in arenas of small objects" : "");
}

/* "; +9.3 MiB/min" */
static void say_rate(struct words *w, const struct facts *f, const struct snap_site *site, const char *before)
{
	double per_min = site->trend.known ? site->trend.growth_bytes_per_s * 60 : 0;
	bool hourly = per_min < 10;

	if (per_min * 60 >= 1)
		say(w, "%s%s+%s/%s", before, mark(f), BYTES((uint64_t)(hourly ? per_min * 60 : per_min)), hourly ? "h" : "min");
}

/* The verdict may have said it already. */
static void say_pointers(struct words *w, const struct facts *f)
{
	const struct snap_site *site = f->site;

	if (!site__was_searched(f->s, site) || site->trend.why_unreached ||
	    (site->trend.why && strstr(site->trend.why, "reachable")))
		return;
	if (site->unreached_blocks)
		say(w, ", no pointer to %s of %s blocks", EXACT(site->unreached_blocks), EXACT(site->looked_blocks));
	else if (site->looked_blocks < site->c.live_blocks)
		say(w, ", pointers lead to all %s that were searched", EXACT(site->looked_blocks));
	else
		say(w, ", pointers lead to all of them");
}

static void say_resident(struct words *w, const struct facts *f, const char *before)
{

	if (f->rss.known)
		say(w, "%s%s", before, RSS_WORDS(&f->rss));
}

/* Other sites, of the same verdict or a worse one; other processes. */
static void say_others(struct words *w, const struct facts *f)
{
	const struct alarm *own = alarm__of(f->site ? f->site->trend.verdict : f->process->trend.verdict) ?: &alarms[N_ALARMS - 1];
	bool ended = f->site ? f->s->processes[f->site->process].ended : f->ended;

	for (const struct alarm *at = alarms; at <= own; at++) {
		size_t n = 0;

		for (size_t i = 0; i < f->s->n_sites; i++) {
			const struct snap_site *site = &f->s->sites[i];

			n += site != f->site && site != f->also && f->s->processes[site->process].ended == ended && facts__shows(f, site) &&
			     alarm__of(site->trend.verdict) == at;
		}
		if (n)
			say(w, "; %s %ssite%s%s %s", EXACT(n), f->site && at == own ? "more " : "", n == 1 ? "" : "s", f->site ? "" : n == 1 ? " in another process" : " in other processes", n == 1 ? at->other : at->others);
	}
	if (f->n_growing > 1)
		say(w, "; %s more process%s", EXACT(f->n_growing - 1), f->n_growing == 2 ? " grows" : "es grow");
}

/* "issue_ticket (shop.cpp:12) leaks", or "a small site leaks": which one that is does not matter */
static void say_site_beside(struct words *w, const struct facts *f)
{
	if (facts__names_site(f))
		say_site_name(w, f);
	else
		say(w, "a small site");
	say(w, " %s", alarm__of_site(f->site)->other);
}

/* At the end of a sentence about something else: "; issue_ticket (shop.cpp:12) leaks; 2 more sites leak" */
static void say_sites_beside(struct words *w, const struct facts *f)
{
	if (f->site) {
		say(w, "; ");
		say_site_beside(w, f);
	}
	if (f->site || f->process)
		say_others(w, f);
}

/* glibc's: the command that reads it says what of it is free. */
static bool has_readable_heap(const struct facts *f)
{
	const struct snap_heap *h = snapshot__heap_of(f->s, (uint32_t)(f->process - f->s->processes));

	return !f->process->ended && f->process->pid > 0 && (h ? !h->refused && !h->other_allocator : f->process->memory.sized_blocks > 0);
}

/*
 * Which part of its memory a process grew by that is not live memory, and the command that goes on:
 *
 *	; the heap grew by 74.0 MiB: malloctrace heap -p 1432 shows how much of it is free
 */
static void say_rest(struct words *w, const struct facts *f)
{
	const struct snap_process *p = f->process;
	const struct snap_memory *m = &p->memory;
	_cleanup_free_ char *heap = xasprintf("malloctrace heap -p %d shows how much of it is free", p->pid);
	const char *touches = "--mode growth shows which code touches it", *maps = f->s->recording.mmap ? touches : "--mmap shows which code maps it";
	const struct {
		bool known;
		int64_t bytes;
		const char *what, *next;
	} parts[] = {
		{ m->grown_known, m->large_grown, "anonymous memory outside of the heap", maps },
		{ m->grown_known, m->heap_grown, "the heap", has_readable_heap(f) ? heap : touches },
		{ m->grown_known, m->shmem_grown, "shared memory", touches },
		{ m->grown_known, m->file_grown - m->shmem_grown, "what is resident of mapped files", touches },
		{ true, (int64_t)(p->swap_bytes - p->swap_at_attach_bytes), "its memory in swap", touches },
		{ true, (int64_t)(p->hugetlb_bytes - p->hugetlb_at_attach_bytes), "its memory in huge pages", maps },
	};
	size_t most = 0;

	for (size_t i = 1; i < ARRAY_SIZE(parts); i++)
		if (parts[i].known && (!parts[most].known || parts[i].bytes > parts[most].bytes))
			most = i;
	if (!parts[most].known || parts[most].bytes <= 0 || f->rss.of == RSS_PAGE_TABLES)
		say(w, "; %s", touches);
	else
		say(w, "; %s grew by %s: %s", parts[most].what, BYTES((uint64_t)parts[most].bytes), parts[most].next);
}

/* ---- the sentences */

static bool is_unexplained(const struct facts *f)
{
	uint64_t explained = f->process ? facts__explained_bytes(f) : 0;

	if (!f->process || !f->rss.grows)
		return false;
	if (f->process->ended && !f->process->age_at_attach_ns && f->rss.change_bytes - (int64_t)explained < STARTS_WITH_BYTES)
		return false;
	return is_noise(f->s) || f->rss.change_bytes - (int64_t)explained > f->rss.change_bytes / 2;
}

static void say_unexplained(struct words *w, const struct facts *f)
{
	const struct alarm *verdict = alarm__of(f->process->trend.verdict);

	say(w, f->process->ended ? "Grew before it ended: " : "Growing: ");
	if (f->s->n_processes > 1)
		say(w, "%s: ", PROCESS_NAME(f->s, f->process));
	say(w, "%s; ", RSS_WORDS(&f->rss));
	if (is_noise(f->s)) {
		_cleanup_free_ char *advice = noise__advice(f->s);

		say(w, "too few samples to say how much of it is live memory: %s", advice);
		return;
	}
	say(w, "live memory explains %s%s of it", mark(f), BYTES(facts__explained_bytes(f)));
	say_rest(w, f);
	if (f->site && facts__names_site(f)) {
		say(w, "; in live memory ");
		say_site_name(w, f);
		say(w, ": %s, %s", f->site->trend.verdict ?: "growing", f->site->trend.why ?: "most of the growth");
	} else if (f->site) {
		say(w, "; in live memory ");
		say_site_beside(w, f);
	} else if (verdict && verdict != &alarms[N_ALARMS - 1]) {
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

	if (site->c.alloc_calls == 1)
		say(w, "its only block was not freed, no pointer leads to it");
	else if (!site->c.free_calls)
		say(w, "none of its %s blocks was freed, no pointer leads to ", EXACT(site->c.alloc_calls));
	else
		say(w, "%s of its %s blocks are live, no pointer leads to ", EXACT(site->c.live_blocks), EXACT(site->c.alloc_calls));
	if (site->c.alloc_calls == 1)
		return;
	if (all && site->looked_blocks >= site->c.live_blocks)
		say(w, "them");
	else if (all)
		say(w, "the %s that were searched", EXACT(site->looked_blocks));
	else
		say(w, "%s of them", EXACT(site->unreached_blocks));
}

/* A second sentence is about what grows and is not lost: a cache. */
static void say_lost_site(struct words *w, const struct facts *f)
{
	const struct snap_root *held = f->also ? f->also->held : NULL;

	say(w, "%s: ", alarm__of_site(f->site)->begins);
	say_site_name(w, f);
	say(w, ": ");
	say_lost(w, f->site);
	say_rate(w, f, f->site, "; ");
	if (f->rss.change_bytes < 0)
		say_resident(w, f, "; ");
	say_others(w, f);
	if (!f->also)
		return;
	say(w, ".\n%s", alarm__of_site(f->also)->also);
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
	const struct counters *whole = one ? &f->s->totals : &f->s->processes[f->site->process].c;

	say(w, "%s: ", alarm__of_site(f->site)->begins);
	say_share(w, f, f->site, whole, one ? "live memory" : "its live memory");
	if (f->site->trend.why)
		say(w, ": %s", f->site->trend.why);
	else
		say_rate(w, f, f->site, ": ");
	say_pointers(w, f);
	if (f->process)
		say_resident(w, f, "; ");
	say_others(w, f);
}

/* It grows, and no site of it has such a verdict: that which holds most of it, or that its blocks come from many sites. */
static void say_holder(struct words *w, const struct facts *f)
{
	const struct snap_site *most = facts__holder(f, f->process);
	/* what is allocated at once and filled later grows in RSS alone */
	bool calm = most && verdict__is_calm(most->trend.verdict) && most->c.live_bytes < f->process->c.live_bytes / 10 * 9;

	if (most && !facts__explains_growth(f, most))
		most = NULL;
	/* what an ended process has freed no site has */
	if (f->process->c.live_bytes && (!most || calm))
		say(w, "; no %s grows", f->s->hidden.by || f->s->recording.older_ns ? "site shown" : "single site");
	if (!most)
		return;
	say(w, "; ");
	say_share(w, f, most, &f->process->c, "its live memory");
	say(w, "%s%s", calm ? ", " : "", calm ? most->trend.verdict : "");
}

/* Of several processes the one that grows most; of one, whose blocks may each have a stack of their own: no site grows. */
static void say_process(struct words *w, const struct facts *f)
{
	const struct alarm *alarm = alarm__of(f->process->trend.verdict) ?: &alarms[N_ALARMS - 1];
	const char *why = f->process->trend.why;

	say(w, "%s: %s", f->process->ended && !verdict__is_alarm(f->process->trend.verdict) ? "Grew before it ended" : alarm->begins,
	    PROCESS_NAME(f->s, f->process));
	/* of files from before RSS was part of it */
	if (f->rss.grows && !verdict__is_alarm(f->process->trend.verdict))
		why = RSS_WORDS(&f->rss);
	say(w, ": %s", why ? why : "");
	if (f->s->n_processes > 1 && !(why && strstr(why, rss_trend__name(&f->rss))))
		say_resident(w, f, why && *why ? "; " : "");
	if (!f->site)
		say_holder(w, f);
	say_sites_beside(w, f);
}

/* What RSS of all that are asked did. */
static void say_rss(struct words *w, const struct facts *f, const char *before)
{
	if (f->all.known)
		say(w, "%s%s", before, RSS_WORDS(&f->all));
}

static void say_figures(struct words *w, const struct facts *f)
{
	say(w, "%s %s%s", f->s->hidden.by ? "the sites shown hold" : "live memory", mark(f), BYTES(f->live_bytes));
	if (!f->live_bytes && f->live_blocks)
		say(w, " in %s%s block%s", mark(f), EXACT(f->live_blocks), plural(f->live_blocks));
	say_rss(w, f, ", ");
}

static bool is_one(const struct facts *f)
{
	return f->s->n_processes == 1 && f->s->processes->n_members < 2;
}

static void say_empty(struct words *w, const struct facts *f)
{

	say(w, "No process was traced: none matched that this user may trace");
	if (f->s->n_left_out)
		say(w, "; %s could not be inspected", EXACT(f->s->n_left_out));
}

static void say_blind(struct words *w, const struct facts *f)
{
	say(w, "No allocation was seen");
	say_rss(w, f, "; ");
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
	return f->steady_bytes * 100 >= f->live_bytes * CLEAR_PCT && f->steady_taken * 100 >= f->taken * CLEAR_PCT;
}

/* Each form of "nothing grows" asks this. */
static bool is_clear(const struct facts *f)
{
	return !f->unclear && !f->unsettled && !f->rss_rising && !f->live_rising && !f->rss_unknown && is_mostly_steady(f) && !f->s->losses_total && !is_of_a_part(f);
}

static void say_clear(struct words *w, const struct facts *f)
{
	/* it grew at first, or goes up and down */
	bool one = is_one(f), rested = f->rose && (!one || f->rss.rest_ns >= RESTED_NS || f->rss.freed);
	uint64_t lost_blocks = 0, lost_bytes = 0;

	say(w, "Nothing grows%s", rested ? " any more" : "");
	/* too small to be named: one that stands out has a sentence of its own */
	if (f->site) {
		say(w, " except a small site that %s, with %s of live memory", alarm__of_site(f->site)->other,
		    SHARE(f->site->c.live_bytes, f->s->totals.live_bytes));
		say_others(w, f);
	}
	say(w, "%s", f->site ? "; " : ": ");
	say_figures(w, f);
	if (f->rose && one && f->rss.freed)
		say(w, ", freed before it ended");
	else if (f->rose && one && rested)
		say(w, ", none of it in the last %s", DURATION(f->rss.rest_ns));
	else if (f->rose && one)
		say(w, ", as high as it was before");
	for (size_t i = 0; i < f->s->n_heaps; i++) {
		lost_blocks += f->s->heaps[i].unreached.blocks;
		lost_bytes += f->s->heaps[i].unreached.bytes;
	}
	if (lost_blocks)
		say(w, "; but no pointer leads to %s block%s (%s)", EXACT(lost_blocks), lost_blocks == 1 ? "" : "s", BYTES(lost_bytes));
	if (f->s->n_left_out)
		say(w, "; %s process%s could not be inspected", EXACT(f->s->n_left_out), f->s->n_left_out == 1 ? "" : "es");
	if (f->s->n_unfollowed)
		say(w, "; %s child process%s not traced", EXACT(f->s->n_unfollowed), f->s->n_unfollowed == 1 ? "" : "es");
}

static void say_nothing(struct words *w, const struct facts *f)
{
	const char *what = is_of_a_part(f) ? "recorded" : "allocated while traced";

	if (counters__taken(&f->s->totals))
		say(w, f->s->hidden.by ? "The sites shown hold no live memory" : "The running processes hold no live memory");
	else if (((f->rss.freed && is_one(f)) || (f->ended && f->s->totals.alloc_calls)) && !is_of_a_part(f)) {
		say(w, "The process%s freed all live memory before %s ended: ", is_one(f) ? "" : "es", is_one(f) ? "it" : "they");
		say_figures(w, f);
	} else if (is_clear(f)) {
		say_clear(w, f);
	} else {
		say(w, f->s->totals.alloc_calls ? "Everything %s was freed: " : "Nothing was %s: ", what);
		say_figures(w, f);
	}
}

/*
 * What a program does not free before it ends is what people look for; whether it grew is another
 * question.
 */
static bool is_left(const struct facts *f)
{
	return f->ended && (f->live_bytes || f->live_blocks) && !f->s->hidden.by && !f->s->estimated &&
	       !f->s->losses_total && !is_of_a_part(f) && !f->s->reading.n_unread &&
	       !f->s->reading.unsure_blocks;
}

/*
 * Not freed at exit: 1.0 MiB in 2,150 blocks, 976.6 KiB of it in 2,000 blocks of
 * issue (finite.cpp:5); RSS +3.4 MiB in 24.9s
 */
static void say_left(struct words *w, const struct facts *f)
{
	const struct snap_process *most_live = f->s->processes;
	const struct counters *c = &f->s->totals;
	const struct snap_site *most;
	uint64_t n_holding = 0;

	for (size_t i = 0; i < f->s->n_processes; i++) {
		const struct snap_process *p = &f->s->processes[i];

		if (counters__taken(&p->c) > counters__taken(&most_live->c))
			most_live = p;
		n_holding += counters__taken(&p->c) ? MAX(p->n_members, 1u) : 0;
	}
	most = facts__holder(f, most_live);
	say(w, "Not freed at exit: %s in %s block%s", BYTES(c->live_bytes), EXACT(c->live_blocks),
	    c->live_blocks == 1 ? "" : "s");
	if (n_holding > 1)
		say(w, " of %s processes", EXACT(n_holding));
	if (most) {
		say(w, ", %s of it in %s block%s of ", BYTES(most->c.live_bytes), EXACT(most->c.live_blocks),
		    most->c.live_blocks == 1 ? "" : "s");
		say_name_of(w, f, most);
	}
	if (is_one(f))
		say_resident(w, f, "; ");
}

static void say_early(struct words *w, const struct facts *f)
{

	say(w, f->ended ? "Too short to tell: " : "Too early to tell: ");
	if (!f->all.known || f->ended)
		say(w, f->ended ? "ended after %s of tracing, " : "traced for %s, ", DURATION(f->s->duration_ns));
	say_figures(w, f);
	say_sites_beside(w, f);
	/* of what has ended, no trace can be longer */
	if (!f->ended)
		say(w, "; trace longer (-d 2m)");
}

static void say_imprecise(struct words *w, const struct facts *f)
{
	_cleanup_free_ char *advice = noise__advice(f->s);

	say(w, "Too few samples for figures: %s", advice);
	say_rss(w, f, "; ");
}

static void say_unclear(struct words *w, const struct facts *f)
{
	uint64_t rest = f->live_bytes - MIN(f->steady_bytes, f->live_bytes);
	bool in_bytes = f->steady_bytes * 100 < f->live_bytes * CLEAR_PCT;

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
		say(w, "%s of live memory is not known to be steady",
		    in_bytes ? SHARE(rest, f->live_bytes) : SHARE(f->taken - f->steady_taken, f->taken));
	else if (f->hidden.known)
		say(w, "%s, and may still rise", RSS_WORDS(&f->hidden));
	else if (f->rss_rising)
		say(w, "%s %s", rss_trend__name(&f->all), f->all.change_bytes < 0 ? "fell, and rises again" : "rose, and may still rise");
	else if (f->live_rising)
		say(w, "live memory rose in the second half of the trace");
	else if (f->unsettled) {
		say_name_of(w, f, f->unsettled);
		say(w, " has no verdict yet");
		say_rate(w, f, f->unsettled, ", ");
	}
	else if (f->rss_unknown)
		say(w, "RSS was not read");
	else
		say(w, "the sites are steady, the process as a whole has no verdict yet");
	say(w, "; ");
	say_figures(w, f);
	say_sites_beside(w, f);
}

static void say_first(struct words *w, const struct facts *f)
{
	const struct snapshot *s = f->s;
	bool nothing = !f->live_bytes && !f->live_blocks && !f->rss_rising && !s->losses_total;
	/* more samples are another matter */
	bool early = s->duration_ns < SHORT_NS && !s->estimated && !s->losses_total && !recording__is_partial(&s->recording);
	const struct {
		bool holds;
		void (*say)(struct words *w, const struct facts *f);
	} sentences[] = {
		{ !s->n_processes && !s->totals.alloc_calls && !s->hidden.by, say_empty },
		{ is_unexplained(f), say_unexplained },	/* RSS grows, by less than half of it live memory */
		{ facts__has_site(f) && f->site->trend.why_unreached, say_lost_site },	/* no pointer leads to blocks of a site that matters */
		{ facts__has_site(f), say_site },	/* a site leaks, is suspect or grows */
		{ f->process, say_process },	/* a process does: one of several, or no site stands out */
		{ is_noise(s), say_imprecise },	/* estimates are less than their error */
		{ !s->totals.alloc_calls && !s->totals.live_bytes && blind__n(s), say_blind },	/* the allocator of what ran is not known, or was not called */
		{ nothing, say_nothing },
		{ is_left(f), say_left },	/* a program that ended and had not freed everything */
		{ is_clear(f), say_clear },	/* processes, their RSS and their sites are steady, except sites that hardly matter */
		{ early, say_early },
		{ true, say_unclear },
	};
	size_t at = 0;

	while (!sentences[at].holds)
		at++;
	sentences[at].say(w, f);
}

char *sentence__of(const struct snapshot *s, const struct tellings *t, size_t name_width)
{
	struct facts f = facts__of(s);
	struct words w = { .tellings = t, .name_width = name_width };
	char *text = NULL;
	size_t len = 0;

	if (!(s->known & HAS_LIVE_BYTES))
		return NULL;
	w.out = text_stream__open(&text, &len);
	say_first(&w, &f);
	text_stream__close(w.out);
	if (len)
		return text;
	free(text);
	return NULL;
}

bool sentence__is_unexplained(const struct snapshot *s)
{
	struct facts f = facts__of(s);

	return s->known & HAS_LIVE_BYTES && is_unexplained(&f);
}

const struct snap_site *sentence__site(const struct snapshot *s)
{
	struct facts f = facts__of(s);

	return facts__names_site(&f) ? f.site : NULL;
}
