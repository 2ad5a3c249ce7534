// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what stands above a report's tables (drawn in report.c). What always
 * holds: a figure that was not recorded is not printed, and an estimated one
 * bears a mark and, where it is known, its standard error.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "model/runtimes.h"
#include "present/text/report_parts.h"

#define NS_PER_S 1000000000ll
#define FIGURE_MAX (2 * FMT_MAX)

static uint64_t whole(double d)
{
	return d >= 0x1p63 ? UINT64_MAX : d > 0 ? (uint64_t)(d + 0.5) : 0;
}

uint64_t report__n_processes(const struct report *r, bool ended)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->s->n_processes; i++)
		n += ended ? process__n_ended(r->s, &r->s->processes[i]) : process__n(r->s, &r->s->processes[i]);
	return n;
}

bool report__is_one(const struct report *r)
{
	return r->s->n_processes == 1 && r->s->processes->n_members < 2;
}

void report__title(struct report *r, const char *what)
{
	uint64_t ended = report__n_processes(r, true);
	_cleanup_free_ char *who = NULL;
	time_t now = r->s->wall_now_ns / NS_PER_S;
	char when[32] = "";
	struct tm tm;
	size_t pad;

	if (report__is_one(r)) {
		const struct snap_process *p = r->s->processes;

		who = xasprintf("%s  %s (%d)%s%s%s", what, p->comm, p->pid, p->ended ? " [" : "", DEATH(p),
				p->ended ? "]" : "");
	} else {
		who = xasprintf("%s  %s processes%s%s%s%s%s", what, EXACT(report__n_processes(r, false)), r->s->host ? " on " : "",
				r->s->host ? r->s->host : "", ended ? ", " : "", ended ? EXACT(ended) : "",
				ended ? " ended" : "");
	}
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	pad = text_width(who) + strlen(when) + 2 < r->width ? r->width - text_width(who) - strlen(when) : 2;
	if (r->width < REPORT_WIDTH && text_width(who) + pad + strlen(when) > r->width) {
		report__line(r, "%s", who);
		report__line(r, "%s", when);
		return;
	}
	fprintf(r->out, "%s%*s%s\n", who, (int)pad, "", when);
}

#define TAKEN_SHOWN 3

/* "at 9.0s (rss>2G: nginx (1432) has 2.1 GiB resident)": snapshots before this one, the newest of them. */
static void taken_line(struct report *r)
{
	size_t n = r->s->n_taken, first = n > TAKEN_SHOWN ? n - TAKEN_SHOWN : 0;

	if (!n)
		return;
	para__begin(&r->para, "earlier", LABEL_WIDTH + 1);
	para__item(&r->para, "snapshots: %s%s", EXACT(n), n >= SNAPSHOT_MAX_TAKEN ? " or more" : "");
	for (size_t i = first; i < n; i++) {
		const struct snap_taken *t = &r->s->taken[i];

		para__item(&r->para, "%sat %s%s%s%s", first && i == first ? "the last ones " : "", DURATION(t->t_ns), t->why ? " (" : "",
			   t->why ? t->why : "", t->why ? ")" : "");
	}
	para__end(&r->para);
}

/* What a look at the heap found that no trace of ours has seen. */
static void older_item(struct report *r)
{
	uint64_t blocks = 0, bytes = 0;
	bool unsure = false;
	size_t known = 0, of = 0;
	char some[64] = "";

	for (size_t i = 0; i < r->s->n_heaps; i++) {
		known += r->s->heaps[i].older_known;
		unsure |= r->s->heaps[i].older_unsure_blocks > 0;
		blocks += r->s->heaps[i].older_blocks;
		bytes += r->s->heaps[i].older_bytes;
	}
	for (size_t i = 0; i < r->s->n_processes; i++)
		of += process__n(r->s, &r->s->processes[i]) - process__n_ended(r->s, &r->s->processes[i]);
	if (known < of)
		snprintf(some, sizeof(some), " in %zu of %zu processes", known, of);
	if (known && blocks)
		para__item(&r->para, "%s%s in %s%s block%s%s %s older", unsure ? "~" : "", BYTES(bytes), unsure ? "~" : "", EXACT(blocks), plural(blocks), some,
			   blocks == 1 ? "is" : "are");
}

static void traced_line(struct report *r)
{
	const struct snapshot *s = r->s;

	para__begin(&r->para, "traced", LABEL_WIDTH);
	para__item(&r->para, "%s", DURATION(s->duration_ns));
	if (report__is_one(r) && s->processes->age_at_attach_ns)
		para__item(&r->para, "from %s after its start", DURATION(s->processes->age_at_attach_ns));
	else if (report__is_one(r))
		para__item(&r->para, "from its first instruction");
	if (s->paused_ns)
		para__item(&r->para, "nothing was recorded for %s of it, while an emulator (valgrind, qemu) ran", DURATION(s->paused_ns));
	if (s->n_left_out)
		para__item(&r->para, "%s process%s left out, which could not be inspected", EXACT(s->n_left_out), s->n_left_out == 1 ? "" : "es");
	if (s->n_unread)
		para__item(&r->para, "%s mapped file%s not read", EXACT(s->n_unread), plural(s->n_unread));
	if (s->combined)
		para__item(&r->para, "%s", s->combined);
	older_item(r);
	if (s->recording.max_size != UINT64_MAX)
		para__item(&r->para, "only blocks of %s to %s", BYTES(s->recording.min_size), BYTES(s->recording.max_size));
	else if (s->recording.min_size)
		para__item(&r->para, "only blocks of %s and more", BYTES(s->recording.min_size));
	if (s->recording.within)
		para__item(&r->para, "only inside of %s", s->recording.within);
	for (size_t i = 0; i < n_recording_flags; i++)
		if (recording__has(&s->recording, &recording_flags[i]))
			para__item(&r->para, "%s", recording_flags[i].of_one);
	if (s->baseline)
		para__item(&r->para, "baseline at %s", DURATION(s->baseline_ns));
	if (s->recording.size != SIZE_REQUESTED)
		para__item(&r->para, "%s sizes", size__name(s->recording.size));
	/* of an allocator whose usable sizes are not known */
	for (size_t i = 0; i < s->n_probes; i++)
		if (s->probes[i].size != s->recording.size)
			para__item(&r->para, "%s sizes of %s", size__name(s->probes[i].size), path_basename(s->probes[i].object));
	para__end(&r->para);
}

/* One screen shows no estimate that its error outweighs. */
static bool is_too_rough(const struct report *r)
{
	return r->o->brief && is_noise(r->s);
}

static void estimated_line(struct report *r)
{
	const struct snapshot *s = r->s;
	_cleanup_free_ char *watched = watched__words(s);
	char observed[3 * FMT_MAX];

	/* a share of the time says nothing of the share of the calls that were seen */
	if (!s->estimated || is_too_rough(r))
		return;
	para__begin(&r->para, "~", LABEL_WIDTH);
	if (s->recording.sample_bytes)
		para__item(&r->para, "estimated: one sample per %s on average", BYTES(s->recording.sample_bytes));
	if (s->observed_share < 1)
		para__item(&r->para, "%s%s", s->recording.sample_bytes ? "" : "estimated: ", observed__words(s, observed));
	if (watched)
		para__item(&r->para, "%s", watched);
	if (s->n_selected && s->machine_cpu_ns)
		para__item(&r->para, "they had %s of the CPU time that this machine used", SHARE(MIN(s->watched_cpu_ns, s->machine_cpu_ns), s->machine_cpu_ns));
	para__item(&r->para, "± is one standard error");
	if (unmet__words(s))
		para__item(&r->para, "%s", unmet__words(s));
	para__end(&r->para);
}

/* "39.2 MiB", or estimated "~39.2 MiB ±1.1 MiB"; ±?: see unmet__words() */
static const char *bytes_of(struct report *r, char buf[static FIGURE_MAX], uint64_t bytes, double error)
{
	char a[FMT_MAX];

	fmt_bytes(a, bytes);
	if (r->s->estimated && error > 0)
		snprintf(buf, FIGURE_MAX, "~%s ±%s", a, isinf(error) ? "?" : BYTES(whole(error)));
	else
		snprintf(buf, FIGURE_MAX, "%s%s", report__mark(r), a);
	return buf;
}

/* "33,338", or estimated "~33,338 ±410"; the digits that an estimate has not are not shown */
static const char *count_of(struct report *r, char buf[static FIGURE_MAX], uint64_t n, double error)
{
	if (r->s->estimated)
		snprintf(buf, FIGURE_MAX, "~%s ±%s", COUNT(n), isinf(error) ? "?" : COUNT(whole(error)));
	else
		snprintf(buf, FIGURE_MAX, "%s", EXACT(n));
	return buf;
}

static void live_line(struct report *r)
{
	const struct snapshot *s = r->s;
	char a[FIGURE_MAX], b[FIGURE_MAX];
	struct ended past;	/* the next line has it */
	uint64_t bytes = s->totals.live_bytes, blocks = s->totals.live_blocks, rss = 0, swap = 0, hugetlb = 0;
	bool ended = true;

	if (ended__sum(s, NULL, &past)) {
		bytes -= MIN(past.live_bytes, bytes);
		blocks -= MIN(past.live_blocks, blocks);
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		/* of a process that has ended, RSS is history; a single one's is still worth telling */
		if (!p->ended || report__is_one(r)) {
			rss += p->rss_bytes;
			swap += p->swap_bytes;
			hugetlb += p->hugetlb_bytes;
		}
		ended &= p->ended;
	}
	para__begin(&r->para, "live", LABEL_WIDTH);
	if (is_too_rough(r))
		para__item(&r->para, "not known (too few samples)");
	else if (s->known & HAS_LIVE_BYTES)
		para__item(&r->para, "%s in %s block%s", bytes_of(r, a, bytes, s->error.live_bytes), count_of(r, b, blocks, s->error.live_blocks),
			   plural(blocks));
	else
		para__item(&r->para, "not recorded (--mode %s)", mode__name(s->recording.mode));
	if (is_too_rough(r))
		;
	else if (s->known & HAS_PEAK_BYTES && report__is_one(r))
		para__item(&r->para, "peak %s%s%s", bytes_of(r, a, s->totals.peak_bytes, s->error.peak_bytes), s->totals.peak_bytes ? " at " : "",
			   s->totals.peak_bytes ? DURATION(s->processes->peak_at_ns) : "");
	else if (s->known & HAS_PEAK_BYTES)
		/* of several processes it is a sum that no instant need have seen */
		para__item(&r->para, "peak at most %s", bytes_of(r, a, s->totals.peak_bytes, s->error.peak_bytes));
	if (rss)
		para__item(&r->para, "RSS %s%s", ended ? "was " : "", fmt_bytes(a, rss));
	if (report__is_one(r) && s->processes->most_rss_bytes)
		para__item(&r->para, "%s %s", rss ? "at most" : "RSS was at most",
			   fmt_bytes(a, s->processes->most_rss_bytes));
	if (swap)
		para__item(&r->para, "swap %s%s", ended ? "was " : "", fmt_bytes(a, swap));
	if (hugetlb)
		para__item(&r->para, "huge pages %s%s", ended ? "were " : "", fmt_bytes(a, hugetlb));
	/* else that is in the line of calls, which one screen has no room for */
	if (r->o->brief && s->known & HAS_FAILED_CALLS && s->totals.failed_calls)
		para__item(&r->para, "%s failed call%s", fmt_exact(a, s->totals.failed_calls), plural(s->totals.failed_calls));
	para__end(&r->para);
}

static void calls_line(struct report *r)
{
	const struct counters *c = &r->s->totals;
	unsigned int known = r->s->known;
	char a[FIGURE_MAX], b[FIGURE_MAX];

	para__begin(&r->para, "calls", LABEL_WIDTH);
	/* where calls that failed cannot be told apart, not every call was an allocation */
	para__item(&r->para, "%s allocation%s%s (%s)", count_of(r, a, c->alloc_calls, r->s->error.alloc_calls),
		   known & HAS_FAILED_CALLS ? "" : " call", plural(c->alloc_calls),
		   bytes_of(r, b, c->alloc_bytes, r->s->error.alloc_bytes));
	if (known & HAS_FREE_CALLS)
		para__item(&r->para, "%s%s free%s (%s%s)", report__mark(r), r->s->estimated ? COUNT(c->free_calls) : EXACT(c->free_calls),
			   plural(c->free_calls), report__mark(r), BYTES(c->free_bytes));
	if (known & HAS_UNKNOWN_FREES && c->unknown_frees)
		para__item(&r->para, "%s free%s of blocks older than the trace", fmt_exact(a, c->unknown_frees),
			   plural(c->unknown_frees));
	if (known & HAS_FAILED_CALLS && c->failed_calls)
		para__item(&r->para, "%s failed call%s", fmt_exact(a, c->failed_calls), plural(c->failed_calls));
	para__end(&r->para);
}

static void stacks_line(struct report *r)
{
	uint64_t early = 0, all;
	size_t kinds = 0;

	for (size_t i = 1; i < SNAPSHOT_N_ENDS; i++) {
		early += r->s->stacks_by_end[i];
		kinds += r->s->stacks_by_end[i] > 0;
	}
	all = early + r->s->stacks_by_end[0];
	para__begin(&r->para, "stacks", LABEL_WIDTH);
	for (size_t i = 1, told = 0; i < SNAPSHOT_N_ENDS; i++) {
		uint64_t n = r->s->stacks_by_end[i];
		char lead[3 * FMT_MAX] = "", count[FMT_MAX + 4] = "";

		if (!n)
			continue;
		if (!told++)
			snprintf(lead, sizeof(lead), "%s of %s truncated%s", EXACT(early), EXACT(all), i == MT_END_UNSURE ? " " : ": ");
		if (kinds > 1)
			snprintf(count, sizeof(count), " (%s)", EXACT(n));
		para__item(&r->para, "%s%s%s", lead, stack_end__says(i), count);
	}
	para__end(&r->para);
}

static bool has_arenas(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (site__is_arena(&s->sites[i]))
			return true;
	return false;
}

static void runtime_lines(struct report *r)
{
	const struct runtime *t;

	for (size_t i = 0; (t = runtime__of_snapshot(r->s, i)); i++) {
		_cleanup_free_ char *words = runtime__words(t, r->s);
		bool by_arenas = r->s->recording.arenas && !strcmp(t->name, "python");

		/* with PYTHONMALLOC=malloc there are none */
		if (by_arenas && !has_arenas(r->s))
			continue;
		if (by_arenas)
			report__item(r, t->name, LABEL_WIDTH,
				     "[arenas] hold objects of up to 512 bytes (PYTHONMALLOC=malloc shows each)");
		else if (r->o->brief)
			report__item(r, t->name, LABEL_WIDTH, "not seen: %s", t->unseen);
		else
			report__item(r, t->name, LABEL_WIDTH, "%s", words ? words : t->unseen);
	}
}

/* Those whose library was met only when they ran already, and those that went on while probes were out. */
static void unseen_line(struct report *r)
{
	uint64_t n = 0, longest_ns = 0;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		n += r->s->processes[i].unseen_ns > 0;
		longest_ns = MAX(longest_ns, r->s->processes[i].unseen_ns);
	}
	if (!n)
		return;
	report__item(r, "unseen", LABEL_WIDTH, "%s %s ran for %s%s %s", EXACT(n),
		   snapshot__is_grouped(r->s) ? n == 1 ? "row" : "rows" : n == 1 ? "process" : "processes",
		   n == 1 ? "" : "up to ", DURATION(longest_ns), r->s->paused_ns ? "without probes" : "before the allocator was probed");
}

static void folded_line(struct report *r)
{
	para__begin(&r->para, "folded", LABEL_WIDTH);
	if (r->s->n_folded_processes)
		para__item(&r->para, "%s process%s that ended %s one row", EXACT(r->s->n_folded_processes),
			   r->s->n_folded_processes == 1 ? "" : "es", r->s->n_folded_processes == 1 ? "is" : "are");
	if (r->s->n_folded_sites)
		para__item(&r->para, "%s stack%s without live memory, or of ended processes: %s sums are in rows " EVICTED_NAME,
			   EXACT(r->s->n_folded_sites), plural(r->s->n_folded_sites), r->s->n_folded_sites == 1 ? "its" : "their");
	para__end(&r->para);
}

/* "7 of 9 sites (--hide), 31.0 MiB live (81.6%) in 31,744 blocks, 31,744 allocations (31.0 MiB)" */
static void part_line(struct report *r, const char *label, size_t n, const char *by, const struct counters *part, uint64_t live_bytes)
{
	para__begin(&r->para, label, LABEL_WIDTH);
	para__item(&r->para, "%s of %s sites%s%s%s", EXACT(n), EXACT(r->s->n_sites + r->s->hidden.n_sites), *by ? " (" : "", by, *by ? ")" : "");
	if (r->s->known & HAS_LIVE_BYTES)
		para__item(&r->para, "%s%s live (%s) in %s%s block%s", report__mark(r), BYTES(part->live_bytes),
			   SHARE(part->live_bytes, live_bytes), report__mark(r), EXACT(part->live_blocks), plural(part->live_blocks));
	if (!recording__is_growth(&r->s->recording))
		para__item(&r->para, "%s%s allocation%s (%s%s)", report__mark(r), EXACT(part->alloc_calls), plural(part->alloc_calls),
			   report__mark(r), BYTES(part->alloc_bytes));
	para__end(&r->para);
}

/* What is above these lines is of all sites, what is below of those that are shown. */
static void hidden_line(struct report *r)
{
	const struct snap_hidden *h = &r->s->hidden;
	struct counters hidden = { .live_bytes = h->live_bytes, .live_blocks = h->live_blocks, .alloc_calls = h->alloc_calls, .alloc_bytes = h->alloc_bytes };
	struct counters shown = {};

	if (!h->by)
		return;
	for (size_t i = 0; i < r->s->n_sites; i++)
		counters__add(&shown, &r->s->sites[i].c);
	part_line(r, "hidden", h->n_sites, h->by, &hidden, hidden.live_bytes + shown.live_bytes);
	part_line(r, "shown", r->s->n_sites, "", &shown, hidden.live_bytes + shown.live_bytes);
}

static void words_line(struct report *r, const char *label, char *words)
{
	if (words)
		report__item(r, label, LABEL_WIDTH, "%s", words);
	free(words);
}

/* ---- names that are missing */

/*
 * The line of the header that says that names are missing, and where they would come from:
 *
 *	names  72% of the program's frames have no name (nginx, libssl.so.3): install nginx-dbgsym libssl3-dbgsym, or try --debuginfod
 *	names  12 of 5,794 stacks have frames of Python without a name: it could not be read when its code ran, or not be kept
 */

static void names_lines(struct report *r)
{
	struct missing_names m;

	/* what is known of the machine was said with the options */
	if (r->o->missing_names)
		words_line(r, "names", xstrdup(r->o->missing_names));
	else if (missing_names__find(r->s, &m))
		words_line(r, "names", missing_names__words(&m, NULL, false, false));
	words_line(r, "names", missing_names__of_python(r->s));
	words_line(r, "names", missing_names__of_inlines(r->s));
}

/* ---- functions that began, ended or marked the trace */

/*
 * What a report's header tells of functions that began, ended or marked the trace:
 *
 *	began  when serve was called
 *	ended  when done was called
 *	marks  handle 1,204 times, flush 3 times, 12 snapshots of 1,207 calls
 */

#define MARKS_NAMED 3

/* The last of a name has the number of them all. */
static bool is_last(const struct snapshot *s, size_t i)
{
	for (size_t k = i + 1; k < s->n_marks; k++)
		if (!strcmp(s->marks[k].name, s->marks[i].name))
			return false;
	return true;
}

static void marks_line(struct report *r)
{
	const struct snapshot *s = r->s;
	uint64_t n_listed = 0;
	size_t told = 0;

	if (!s->n_marks_seen)
		return;
	for (size_t i = 0; i < s->n_marks; i++)
		n_listed += is_last(s, i) ? s->marks[i].number : 0;
	para__begin(&r->para, "marks", LABEL_WIDTH);
	for (size_t i = 0; i < s->n_marks && told < MARKS_NAMED; i++)
		if (is_last(s, i)) {
			_cleanup_free_ char *name = name__shorten(s->marks[i].name, r->width / 2);

			/* faster than they can be told one by one, the last that is listed is not the last that was counted */
			if (n_listed == s->n_marks_seen)
				para__item(&r->para, "%s %s time%s", name, EXACT(s->marks[i].number), plural(s->marks[i].number));
			else
				para__item(&r->para, "%s", name);
			told++;
		}
	if (s->n_marks_whole == s->n_marks_seen)
		para__item(&r->para, "a snapshot of each");
	else
		para__item(&r->para, "%s snapshot%s of %s call%s", EXACT(s->n_marks_whole), plural(s->n_marks_whole),
			   EXACT(s->n_marks_seen), plural(s->n_marks_seen));
	para__end(&r->para);
}

static void spot_lines(struct report *r)
{
	const struct {
		const char *label, *name, *says;
	} lines[] = {
		{ "began", r->s->waiting_for, "not yet: %s has not been called, nothing was recorded" },
		{ "began", r->s->started_on, "when %s was called" },
		{ "ended", r->s->stopped_on, "when %s was called" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].name)
			report__item(r, lines[i].label, LABEL_WIDTH, lines[i].says, lines[i].name);
	marks_line(r);
}

void report__header(struct report *r)
{
	_cleanup_free_ char *unfollowed = unfollowed__words(r->s);

	report__title(r, "malloctrace");
	/* what made this report be written, if it was not its time */
	if (r->s->trigger)
		report__item(r, "why", LABEL_WIDTH, "%s", r->s->trigger);
	taken_line(r);
	report__died_line(r);
	spot_lines(r);
	traced_line(r);
	if (unfollowed)
		report__line(r, "%s", unfollowed);
	estimated_line(r);
	/* --mode leak: what the figures of live blocks go by */
	words_line(r, "heap", reading__words(r->s));
	report__verdict_line(r);
	if (r->o->brief)
		report__heap_sentences(r);
	if (recording__is_growth(&r->s->recording)) {
		report__growth_lines(r);
	} else {
		live_line(r);
		words_line(r, "ended", ended__words(r->s, NULL));
		if (!r->o->brief) {
			report__memory_lines(r);
			calls_line(r);
		}
	}
	words_line(r, "probes", cost__words(r->s));
	words_line(r, "memory", machine__words(r->s));
	if (!report__is_many(r))
		stacks_line(r);
	names_lines(r);
	if (!r->o->brief)
		report__edge_lines(r);
	runtime_lines(r);
	if (!report__is_many(r)) {
		unseen_line(r);
		folded_line(r);
	}
	report__blind_lines(r);
	report__unexplained_lines(r);
	report__losses(r);
	hidden_line(r);
}
