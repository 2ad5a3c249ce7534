// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns these words. What always holds: what is not known is not said; names that nobody asked for are not missing. */
#include "present/caveats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/runtimes.h"
#include "present/figures.h"
#include "present/telling.h"
#include "util/clock.h"
#include "util/ids.h"
#include "util/parse.h"
#include "util/signals.h"
#include "util/text.h"
#include "util/util.h"

#define NAMED 3		/* programs that ended */
#define NAME_COLS 24
#define COST_ALL_PCT 90		/* an estimate of so much may be off by the rest */
#define CPU_LEAST_NS (100 * MS_NS)	/* the kernel tells it in ticks of 10 ms: of less, no share is known */

/* What a function writes; the caller's. */
struct text {
	char *v;
	size_t len;
	FILE *out;
};

static void begin(struct text *t)
{
	*t = (struct text){};
	t->out = text_stream__open(&t->v, &t->len);
}

static char *end(struct text *t)
{
	text_stream__close(t->out);
	return t->v;
}

char *machine__words(const struct snapshot *s)
{
	const struct snap_machine *m = &s->machine;
	struct text t;

	if (!m->total_bytes)
		return NULL;
	begin(&t);
	fprintf(t.out, "%s, %s available, %s free", BYTES(m->total_bytes), BYTES(m->available_bytes),
		BYTES(m->free_bytes));
	if (m->swap_bytes)
		fprintf(t.out, ", swap %s of %s used", BYTES(m->swap_bytes - MIN(m->swap_free_bytes, m->swap_bytes)), BYTES(m->swap_bytes));
	return end(&t);
}

/* ---- --overhead */

#define SHARE_SCALE 1000000

const char *observed__words(const struct snapshot *s, char buf[static 3 * FMT_MAX])
{
	snprintf(buf, 3 * FMT_MAX, "%s of the %s observed", SHARE((uint64_t)(s->observed_share * SHARE_SCALE), SHARE_SCALE),
		 s->n_selected ? "CPU time" : "time");
	return buf;
}

char *watched__words(const struct snapshot *s)
{
	if (!s->n_selected)
		return NULL;
	return xasprintf("%s process%s probed in turn, and the figures cover only these; %s run now",
			 EXACT(s->n_watched),
			 s->n_watched == 1 ? " was" : "es were", EXACT(s->n_selected));
}

const char *unmet__words(const struct snapshot *s)
{
	if (s->estimated && isinf(s->error.alloc_calls))
		return "? is not known: a process ran, and none of its calls was seen";
	if (s->estimated && isinf(s->error.alloc_bytes))
		return "±? is not known: calls that no window saw may have been for blocks of any size";
	return NULL;
}

/* An error of this share of live memory still tells what matters. */
#define PRECISE 0.25
#define LONGEST_S 3600		/* more than that is no advice */
#define LEAST_SAMPLE 4096
#define MOST_OVERHEAD 50

bool is_noise(const struct snapshot *s)
{
	return s->estimated && s->known & HAS_LIVE_BYTES && s->probe_hits && s->error.live_bytes > (double)s->totals.live_bytes;
}

/* "2 min", "40 s" */
static const char *about(char buf[static FMT_MAX], double seconds)
{
	unsigned int n = (unsigned int)seconds;

	if (n < 60)
		snprintf(buf, FMT_MAX, "%u s", (n / 10 + 1) * 10);
	else
		snprintf(buf, FMT_MAX, "%u min", n / 60 + 1);
	return buf;
}

char *noise__advice(const struct snapshot *s)
{
	/* the error of a mean: four times as many samples halve it */
	double error = s->totals.live_bytes ? s->error.live_bytes / (double)s->totals.live_bytes / PRECISE : INFINITY, more = error * error;
	double seconds = more * (double)s->duration_ns / SECOND_NS, sample = (double)s->recording.sample_bytes / more;
	bool ended = true;
	uint64_t bytes = LEAST_SAMPLE;
	char a[FMT_MAX];
	struct text t;

	begin(&t);
	for (size_t i = 0; i < s->n_processes; i++)
		ended &= s->processes[i].ended;
	if (!ended)
		fprintf(t.out, seconds < LONGEST_S ? "trace for about %s, or " : "trace longer, or ", about(a, MIN(seconds, LONGEST_S)));
	while (bytes * 2 <= sample)
		bytes *= 2;
	if (s->recording.overhead_pct > 0 && s->recording.overhead_pct * more <= MOST_OVERHEAD)
		fprintf(t.out, "use --overhead %.0f", ceil(s->recording.overhead_pct * more));
	/* a file does not say what the budget was */
	else if (s->recording.overhead_pct > 0 || !s->recording.sample_bytes)
		fprintf(t.out, "do without --overhead");
	else if (sample >= LEAST_SAMPLE)
		fprintf(t.out, "use --sample %" PRIu64 "K", bytes >> 10);
	else
		fprintf(t.out, "do without --sample");
	return end(&t);
}

/* ---- what probes cost */

double cost__pct(uint64_t probe_ns, uint64_t target_cpu_ns)
{
	return target_cpu_ns ? 100 * (double)MIN(probe_ns, target_cpu_ns) / (double)target_cpu_ns : 0;
}

/* Of many processes that end, the CPU time of the last second is not known of each. */
static bool is_cpu_known(const struct snapshot *s)
{
	uint64_t ended = 0;

	for (size_t i = 0; i < s->n_processes; i++)
		ended += s->processes[i].ended ? s->processes[i].probe_hits : 0;
	return s->n_processes == 1 ? s->target_cpu_ns >= CPU_LEAST_NS : ended < s->probe_hits / 2;
}

bool cost__can_be_bounded(const struct snapshot *s)
{
	const struct recording *r = &s->recording;

	return r->mode == MT_MODE_FULL && !recording__is_estimated(r) && !r->within && !r->free_stacks && !r->mmap && !s->n_marks;
}

char *cost__words(const struct snapshot *s)
{
	double pct = cost__pct(s->probe_ns_estimate, s->target_cpu_ns);
	bool one = s->n_processes == 1 && s->processes->n_members < 2;
	struct text t;

	if (pct < COST_SAID_PCT || !is_cpu_known(s))
		return NULL;
	begin(&t);
	if (pct > COST_ALL_PCT)
		fprintf(t.out, "took nearly all of %s CPU time", one ? "its" : "their");
	else
		fprintf(t.out, "took about %.0f%% of %s CPU time", pct, one ? "its" : "their");
	if (cost__can_be_bounded(s))
		fprintf(t.out, " (--overhead %d limits it)", COST_SAID_PCT);
	return end(&t);
}

/* ---- processes that have ended */

bool ended__sum(const struct snapshot *s, const struct snap_process *of, struct ended *ret)
{
	struct ended sum = {};
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		if (of && p != of)
			continue;
		n += process__n(s, p);
		sum.n += process__n_ended(s, p);
		sum.live_blocks += process__ended_blocks(p);
		sum.live_bytes += process__ended_bytes(p);
	}
	if (!(s->known & HAS_LIVE_BYTES) || !sum.n || sum.n >= n)
		return false;
	*ret = sum;
	return true;
}

struct program {
	const char *comm;
	uint64_t live_bytes;
};

COMPARATOR(by_bytes, struct program,
	   ORDER(b->live_bytes, a->live_bytes) ?: strcmp(a->comm, b->comm))

/* Those that held something, the most first; *ret_n of them. The caller's. */
static struct program *programs_of(const struct snapshot *s, size_t *ret_n)
{
	struct program *v = xcalloc(s->n_processes + 1, sizeof(*v));
	struct string_ids comms = {};
	size_t n = 0;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		uint32_t id;

		if (!process__ended_bytes(p))
			continue;
		string_ids__get(&comms, p->comm, &id);
		v[id].comm = p->comm;
		v[id].live_bytes += process__ended_bytes(p);
		n = comms.n;
	}
	string_ids__done(&comms);
	if (n)
		qsort(v, n, sizeof(*v), by_bytes);
	*ret_n = n;
	return v;
}

char *ended__words(const struct snapshot *s, const struct snap_process *of)
{
	const char *mark = s->estimated ? "~" : "";
	_cleanup_free_ struct program *v = NULL;
	struct ended sum;
	struct text t;
	size_t n;

	if (!ended__sum(s, of, &sum))
		return NULL;
	v = programs_of(s, &n);
	begin(&t);
	/* everything in one row has no name that says anything */
	n = s->n_processes > 1 && !of ? n : 0;
	fprintf(t.out, "%s, held %s%s at exit", EXACT(sum.n), mark, BYTES(sum.live_bytes));
	for (size_t i = 0; i < MIN(n, (size_t)NAMED); i++) {
		_cleanup_free_ char *name = text_shorten(v[i].comm, NAME_COLS);

		fprintf(t.out, "%s%s %s%s", i ? ", " : ": ", name, mark, BYTES(v[i].live_bytes));
	}
	if (n > NAMED)
		fprintf(t.out, " and %zu other%s", n - NAMED, plural(n - NAMED));
	return end(&t);
}

char *unfollowed__words(const struct snapshot *s)
{
	bool one = s->n_processes == 1 && s->processes->n_members < 2;
	uint64_t n = s->n_unfollowed;

	return n ? xasprintf("%s started %s process%s that %s not traced: add -f", one ? s->processes->comm : "The targets", EXACT(n), n == 1 ? "" : "es",
			     n == 1 ? "was" : "were") : NULL;
}

/* ---- --mode leak */

/* The words for how, and how well, it is known what is live in --mode leak. */

/* "; frees of libjemalloc.so.2 are probed, as its blocks cannot be told from outside" */
static bool say_probed(const struct snapshot *s, FILE *out, const char *before)
{
	const char *name = NULL;
	size_t n_more = 0;

	for (size_t i = 0; i < s->n_probes; i++) {
		if (s->probes[i].frees_probed && !name)
			name = path_basename(s->probes[i].object);
		else
			n_more += s->probes[i].frees_probed;
	}
	if (name)
		fprintf(out, "%sfrees of %.64s%s are probed as in full mode, because %s blocks cannot be told from outside", before,
			name, n_more ? " and others" : "", n_more ? "their" : "its");
	return name;
}

/*
 * "; exact; the process was stopped for 3ms", "; not exact", "; not exact, though processes were stopped, for 101ms at most". Of what was asked to
 * be exact, each report says whether it is.
 */
static void say_stop(const struct snapshot *s, FILE *out)
{
	const struct heap_reading *h = &s->reading;
	bool several = s->n_processes > 1 || (s->n_processes && s->processes[0].n_members > 1), exact = !h->unsure_blocks && !h->n_unread;
	const char *how = !h->exact_asked ? "" : exact ? "exact; " : "not exact, though ";

	if (h->paused_ns)
		fprintf(out, "; %s%s stopped%s for %s%s", how,
			several ? "processes were" : "the process was", several ? "," : "",
			DURATION(h->paused_ns), several ? " at most" : "");
	else if (h->exact_asked)
		fprintf(out, "; %sexact", exact ? "" : "not ");
}

char *reading__words(const struct snapshot *s)
{
	const struct heap_reading *h = &s->reading;
	uint64_t ago_ns = s->duration_ns > h->at_ns ? s->duration_ns - h->at_ns : 0;
	/* of those that were not read, at any time */
	const char *since = h->n_unread ? "" : " since";
	struct text t;

	if (!recording__is_leak(&s->recording))
		return NULL;
	begin(&t);
	/* where glibc has no heap there is nothing to be read */
	if (!h->at_ns && !h->n_unread && say_probed(s, t.out, ""))
		return end(&t);
	if (!h->at_ns)
		fputs("not read: of glibc's blocks, only those whose address came again count as freed", t.out);
	else
		fprintf(t.out, "read in %s", DURATION(h->took_ns));
	if (h->at_ns && ago_ns >= MS_NS)
		fprintf(t.out, ", %s before this report", DURATION(ago_ns));
	if (h->at_ns)
		say_stop(s, t.out);
	if (h->at_ns && h->n_unread)
		fprintf(t.out, "; not read of %s process%s: what %s freed may count as live",
			EXACT(h->n_unread), h->n_unread == 1 ? "" : "es",
			h->n_unread == 1 ? "it" : "they");
	/* where nothing was read, that was said */
	if (h->at_ns && h->unsure_blocks && h->unsure_blocks >= s->totals.live_blocks)
		fprintf(t.out, "; any of the blocks that count as live may have been freed%s", since);
	else if (h->unsure_blocks && h->unsure_blocks < s->totals.live_blocks)
		fprintf(t.out, "; up to %s block%s that %s freed%s may still count as live",
			EXACT(h->unsure_blocks), plural(h->unsure_blocks),
			h->unsure_blocks == 1 ? "was" : "were", since);
	say_probed(s, t.out, "; ");
	return end(&t);
}

const char *reading__mark_words(const struct snapshot *s)
{
	bool any_read = false, any_unread = false;

	for (size_t i = 0; i < s->n_marks; i++) {
		any_read |= s->marks[i].heap_read_at_ns > 0;
		any_unread |= !s->marks[i].heap_read_at_ns && s->marks[i].unsure_blocks;
	}
	if (any_read && any_unread)
		return "live figures of a mark are of the last reading of the heap before it; where there was none, only blocks whose address came again count as freed";
	return any_read ? "live figures of a mark are of the last reading of the heap before it" :
	       any_unread ? "no heap was read before a mark: of what was allocated until then, only blocks whose address came again count as freed" : NULL;
}

/* ---- processes of which nothing was seen, or less than explains their growth */

size_t blind__n(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_processes; i++)
		n += s->processes[i].blind.is && !s->processes[i].blind.idle;
	return n;
}

const struct snap_process *blind__first(const struct snapshot *s)
{
	const struct snap_process *found = NULL;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		if (p->blind.is && !p->blind.idle && (!found || p->blind.grown_bytes > found->blind.grown_bytes))
			found = p;
	}
	return found;
}

const char *blind__ran(const struct snap_process *p, char buf[static BLIND_MAX])
{
	const struct snap_blind *d = &p->blind;
	bool grew = d->grown_bytes >= 1 << 20;

	if (d->cpu_ns)
		snprintf(buf, BLIND_MAX, " in %s of CPU time%s%s", DURATION(d->cpu_ns), grew ? ", in which it grew by " : "",
			 grew ? BYTES((uint64_t)d->grown_bytes) : "");
	else if (grew)
		snprintf(buf, BLIND_MAX, " while it grew by %s", BYTES((uint64_t)d->grown_bytes));
	else
		snprintf(buf, BLIND_MAX, " until it ended");
	return buf;
}

const struct snap_process *unexplained__most(const struct snapshot *s)
{
	const struct snap_process *most = NULL;

	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].memory.unexplained_bytes > (most ? most->memory.unexplained_bytes : 0))
			most = &s->processes[i];
	return most;
}

const char *unexplained__words(const struct snap_process *p, char buf[static UNEXPLAINED_MAX])
{
	uint64_t grown = (uint64_t)(p->memory.heap_grown + p->memory.large_grown), n = p->memory.unexplained_bytes;

	snprintf(buf, UNEXPLAINED_MAX, "grew by %s, and the calls that were seen explain %s of it: at least %s of its heap came from unseen calls",
		 BYTES(grown), BYTES(grown - MIN(n, grown)), BYTES(n));
	return buf;
}

/* ---- how processes ended */

#define WORD_COLS 8	/* of a verdict's column */

const char *death__words(const struct snap_process *p, char buf[static DEATH_MAX])
{
	char name[SIGNAL_NAME_MAX];

	if (!p->ended)
		return "";
	if (p->oom_killed)
		return "killed: out of memory";
	if (!p->exit_signal)
		return "ended";
	snprintf(buf, DEATH_MAX, "ended by %s", signal_name(p->exit_signal, name));
	return buf;
}

const char *death__word(const struct snap_process *p, char buf[static DEATH_MAX])
{
	const char *name;

	if (p->oom_killed)
		return "OOM";
	if (!p->exit_signal)
		return "ended";
	name = signal_name(p->exit_signal, buf);
	return strlen(name) <= WORD_COLS ? name : "killed";
}

/* ---- names that are missing */

#define FRAMES_MIN 4		/* fewer say nothing about the whole */

static bool is_looked_up(const struct snapshot *s, const struct snap_site *site)
{
	for (uint32_t i = 0; i < site->n_stack; i++)
		if (!s->places[site->stack[i]].resolved)
			return false;
	return true;
}

/* A frame of the program or a library of its own, by its module's number; -1: of what every program has, or of no file. */
static int file_of(const struct snapshot *s, const struct place *p)
{
	struct frame f = place__frame(s, p, place__n_frames(p) - 1);

	return f.module && *f.module == '/' && frame__is_telling(&f) ? p->module : -1;
}

static bool has_name(const struct place *p)
{
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].function && *p->lines[i].function)
			return true;
	return false;
}

static void take_most(const struct snapshot *s, uint64_t *by_file, struct missing_names *m)
{
	for (;;) {
		size_t most = 0;

		for (size_t i = 1; i < s->n_modules; i++)
			if (by_file[i] > by_file[most])
				most = i;
		if (!s->n_modules || !by_file[most])
			return;
		if (m->n_files < MISSING_FILES)
			m->files[m->n_files++] = &s->modules[most];
		else
			m->n_more++;
		by_file[most] = 0;
	}
}

bool missing_names__find(const struct snapshot *s, struct missing_names *ret)
{
	_cleanup_free_ uint64_t *by_file = xcalloc(s->n_modules + 1, sizeof(*by_file));
	_cleanup_free_ uint64_t *frames = xcalloc(s->n_places + 1, sizeof(*frames));	/* by place: in how many stacks it is */
	struct missing_names m = { .what = "frames" };

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint32_t n = is_looked_up(s, site) ? site->n_stack : 0;

		for (uint32_t k = 0; k < n; k++)
			frames[site->stack[k]]++;
	}
	for (size_t i = 0; i < s->n_places; i++) {
		int file = frames[i] ? file_of(s, &s->places[i]) : -1;

		if (file < 0)
			continue;
		m.n_frames += frames[i];
		if (has_name(&s->places[i]))
			continue;
		m.n_unnamed += frames[i];
		by_file[file] += frames[i];
	}
	if (m.n_frames < FRAMES_MIN || m.n_unnamed * 2 < m.n_frames)
		return false;
	take_most(s, by_file, &m);
	*ret = m;
	return true;
}

char *missing_names__words(const struct missing_names *m, const char *install, bool debuginfod, bool traced)
{
	struct text t;

	begin(&t);
	fprintf(t.out, "%s of the program's %s have no name (", PERCENT(m->n_unnamed, m->n_frames), m->what);
	for (size_t i = 0; i < m->n_files; i++)
		fprintf(t.out, "%s%s", i ? ", " : "", path_basename(m->files[i]->path));
	if (m->n_more)
		fprintf(t.out, " and %zu more", m->n_more);
	if (!traced)
		fputs("): trace where their debug symbols are installed, or with --debuginfod", t.out);
	else
		fprintf(t.out, "): install %s%s", install ?: "their debug symbols, or do not strip them", debuginfod ? "" : ", or try --debuginfod");
	return end(&t);
}

static bool is_nameless_python(const struct snapshot *s, const struct place *p)
{
	/* that of code which was reported is not missing as long as nobody has looked it up */
	return p->module >= 0 && (size_t)p->module < s->n_modules && is_python_module(s->modules[p->module].path) &&
	       (p->resolved || !PYTHON_IS_KNOWN(p->offset)) && !has_name(p);
}

/* Stacks that have none of Python's frames, though they ran it. */
static char *no_room_words(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_edges; i++)
		if (!strcmp(s->edges[i].name, "python_unnamed") && s->edges[i].n)
			return xasprintf("%s %s", EXACT(s->edges[i].n), counter__says(s->edges[i].name, s->edges[i].n));
	return NULL;
}

char *missing_names__of_python(const struct snapshot *s)
{
	uint64_t n_stacks = 0, n_nameless = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint32_t k = 0;

		while (k < site->n_stack && !is_nameless_python(s, &s->places[site->stack[k]]))
			k++;
		n_stacks += site->n_stack > 0;
		n_nameless += k < site->n_stack;
	}
	if (!n_nameless)
		return no_room_words(s);
	return xasprintf("%s of %s stacks %s Python frames without a name, which could not be read when the code ran, or not be stored",
			 EXACT(n_nameless), EXACT(n_stacks), n_nameless == 1 ? "has" : "have");
}

static bool is_split(const struct place *p)
{
	return p->n_lines && p->lines[0].split;
}

char *missing_names__of_inlines(const struct snapshot *s)
{
	_cleanup_free_ bool *counted = xcalloc(s->n_modules + 1, sizeof(*counted));
	const char *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->n_places; i++) {
		const struct place *p = &s->places[i];

		if (!is_split(p) || p->module < 0 || (size_t)p->module >= s->n_modules ||
		    counted[p->module])
			continue;
		counted[p->module] = true;
		first = first ?: path_basename(s->modules[p->module].path);
		n++;
	}
	if (n < 2)
		return n ? xasprintf(
				   "functions inlined in %s are not shown: its .dwo files (-gsplit-dwarf) are not read",
				   first)
			 : NULL;
	return xasprintf(
		"functions inlined in %s and %zu other file%s are not shown: their .dwo files (-gsplit-dwarf) are not read",
		first, n - 1, plural(n - 1));
}
