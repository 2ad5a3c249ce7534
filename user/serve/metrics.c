// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which names have series of their own, and the totals of each.
 *
 * What always holds: a total never becomes less, also when a snapshot's sums do because processes have ended; a name that has a
 * series keeps it as long as it is there, so that `other` does not jump; what one name did is in one series. With --overhead and
 * --sample figures are estimates, which may become less: they are gauges, and their names end with _estimate.
 */
#include "serve/serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/ids.h"
#include "util/text.h"
#include "util/util.h"

#define FORGET_NS (600 * SECOND_NS)	/* a name of which none ran for so long leaves its series to others */
#define NAME_MAX_BYTES 200

enum total { ALLOCATIONS, ALLOCATED_BYTES, FREES, FREED_BYTES, N_TOTALS };

/* One name in one snapshot. */
struct row {
	const char *name;	/* the snapshot's */
	uint64_t now[N_TOTALS];
	uint64_t live_bytes, live_blocks, rss_bytes, n_processes;
	double growth;
	bool has_growth;
	bool met;		/* calls of one of them were met, or none could be missed: else nothing is known of what it did */
};

static const char *const verdicts[] = { "leak", "suspect", "growing" };

struct series {
	char *name;		/* owned; NULL: nobody's */
	uint64_t last[N_TOTALS], total[N_TOTALS];
	uint64_t seen_ns;	/* when one of them ran, or had done something; since the trace's start */
	struct row row;		/* of this snapshot */
	uint64_t sites[ARRAY_SIZE(verdicts)];
	bool here;
};

/* What names are of: a comm, a cgroup. */
struct family {
	const char *label;
	const char *(*name_of)(const struct snap_process *p);
	struct series v[METRICS_NAMES + 1];	/* the last one is `other` */
	uint64_t last[N_TOTALS];	/* of all names together */
};

/* Of many programs that have ended, one row, whose name counts them: it is nobody's. */
static const char *comm_of(const struct snap_process *p)
{
	return p->ended && p->n_members && (!p->exe || !*p->exe) ? "" : p->comm;
}

static const char *cgroup_of(const struct snap_process *p)
{
	return p->cgroup ? p->cgroup : "";
}

enum { BY_COMM, BY_CGROUP, N_FAMILIES };

struct metrics {
	struct family families[N_FAMILIES];
};

struct metrics *metrics__new(void)
{
	struct metrics *m = xcalloc(1, sizeof(*m));

	m->families[BY_COMM].label = "comm";
	m->families[BY_COMM].name_of = comm_of;
	m->families[BY_CGROUP].label = "cgroup";
	m->families[BY_CGROUP].name_of = cgroup_of;
	for (size_t i = 0; i < N_FAMILIES; i++) {
		struct series *other = &m->families[i].v[METRICS_NAMES];

		other->name = xstrdup(METRICS_OTHER);
	}
	return m;
}

void metrics__free(struct metrics *m)
{
	for (size_t i = 0; m && i < N_FAMILIES; i++)
		for (size_t k = 0; k <= METRICS_NAMES; k++)
			free(m->families[i].v[k].name);
	free(m);
}

/* ---- snapshot → rows, one for each name */

struct rows vec(struct row);

static void add_process(struct row *r, const struct snap_process *p)
{
	r->met |= !isinf(p->error.alloc_calls);
	r->now[ALLOCATIONS] += p->c.alloc_calls;
	r->now[ALLOCATED_BYTES] += p->c.alloc_bytes;
	r->now[FREES] += p->c.free_calls;
	r->now[FREED_BYTES] += p->c.free_bytes;
	/* what those held that have ended is nobody's memory any more */
	if (p->ended)
		return;
	r->n_processes += p->n_members ? p->n_members - p->n_ended : 1;
	r->live_bytes += process__running_bytes(p);
	r->live_blocks += p->c.live_blocks - MIN(process__ended_blocks(p), p->c.live_blocks);
	r->rss_bytes += p->rss_bytes;
	if (p->trend.known) {
		r->growth += p->trend.growth_bytes_per_s;
		r->has_growth = true;
	}
}

/* Which row each process is in; the caller's. */
static uint32_t *make_rows(const struct family *f, const struct snapshot *s, struct rows *rows)
{
	struct string_ids names = {};
	uint32_t *row_of = xcalloc(s->n_processes + 1, sizeof(*row_of));

	for (size_t i = 0; i < s->n_processes; i++) {
		const char *name = f->name_of(&s->processes[i]);

		string_ids__get(&names, name, &row_of[i]);
		if (row_of[i] == rows->n) {
			struct row *r = vec_push(rows);

			r->name = name;
		}
		add_process(&rows->v[row_of[i]], &s->processes[i]);
	}
	string_ids__done(&names);
	return row_of;
}

/* ---- rows → series */

COMPARATOR(by_weight, struct row *const,
	   ORDER((*b)->live_bytes, (*a)->live_bytes) ?:
	   ORDER((*b)->now[ALLOCATED_BYTES], (*a)->now[ALLOCATED_BYTES]) ?:
	   strcmp((*a)->name, (*b)->name))

static struct series *series_of(struct family *f, const char *name)
{
	return array_first(one, f->v, METRICS_NAMES, one->name && !strcmp(one->name, name));
}

/* One of its own, or that of a name that is no more; only who runs may take that. */
static struct series *new_series(struct family *f, const struct row *r, uint64_t now)
{
	struct series *best = NULL;

	for (size_t i = 0; i < METRICS_NAMES && (!best || best->name); i++) {
		struct series *x = &f->v[i];

		if (!x->name || (r->n_processes && !x->row.n_processes && now - x->seen_ns >= FORGET_NS && (!best || x->seen_ns < best->seen_ns)))
			best = x;
	}
	if (!best)
		return NULL;
	free(best->name);
	*best = (struct series){ .name = xstrdup(r->name) };
	return best;
}

static void advance(uint64_t *total, uint64_t *last, uint64_t now)
{
	*total += now > *last ? now - *last : 0;
	*last = now;
}

static void add_row(struct row *sum, const struct row *r)
{
	for (size_t i = 0; i < N_TOTALS; i++)
		sum->now[i] += r->now[i];
	sum->live_bytes += r->live_bytes;
	sum->live_blocks += r->live_blocks;
	sum->rss_bytes += r->rss_bytes;
	sum->n_processes += r->n_processes;
	sum->growth += r->growth;
	sum->has_growth |= r->has_growth;
	sum->met |= r->met;
}

/* What is none of the named ones' is `other`'s: of all that was done since the last time, the rest. */
static void settle_other(struct family *f, const uint64_t all[N_TOTALS], const uint64_t named[N_TOTALS])
{
	struct series *other = &f->v[METRICS_NAMES];

	for (size_t i = 0; i < N_TOTALS; i++) {
		uint64_t done = 0;

		advance(&done, &f->last[i], all[i]);
		other->total[i] += done > named[i] ? done - named[i] : 0;
	}
	other->here = true;
}

static void assign(struct family *f, struct rows *rows, const struct snapshot *s, struct series **series_of_row)
{
	_cleanup_free_ const struct row **order = xcalloc(rows->n + 1, sizeof(*order));
	uint64_t all[N_TOTALS] = {}, named[N_TOTALS] = {};

	for (size_t i = 0; i <= METRICS_NAMES; i++) {
		f->v[i].here = false;
		f->v[i].row = (struct row){};
		memset(f->v[i].sites, 0, sizeof(f->v[i].sites));
	}
	for (size_t i = 0; i < rows->n; i++) {
		struct series *x = series_of(f, rows->v[i].name);

		order[i] = &rows->v[i];
		for (size_t k = 0; k < N_TOTALS; k++)
			all[k] += rows->v[i].now[k];
		/* nobody takes the series of who runs */
		if (x)
			x->row.n_processes = rows->v[i].n_processes;
	}
	qsort(order, rows->n, sizeof(*order), by_weight);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *r = order[i];
		struct series *x = series_of(f, r->name);

		if (!x && *r->name && strcmp(r->name, METRICS_OTHER))
			x = new_series(f, r, s->duration_ns);
		series_of_row[r - rows->v] = x ? x : &f->v[METRICS_NAMES];
		if (!x) {
			add_row(&f->v[METRICS_NAMES].row, r);
			continue;
		}
		x->here = true;
		x->row = *r;
		if (r->n_processes)
			x->seen_ns = s->duration_ns;
		for (size_t k = 0; k < N_TOTALS; k++) {
			uint64_t before = x->total[k];

			advance(&x->total[k], &x->last[k], r->now[k]);
			named[k] += x->total[k] - before;
			if (x->total[k] != before)
				x->seen_ns = s->duration_ns;
		}
	}
	settle_other(f, all, named);
}

static void count_sites(const struct snapshot *s, const uint32_t *row_of, struct series *const *series_of_row)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		const char *verdict = s->sites[i].trend.verdict;

		if (s->processes[s->sites[i].process].ended)
			continue;
		for (size_t k = 0; verdict && k < ARRAY_SIZE(verdicts); k++)
			if (!strcmp(verdict, verdicts[k]))
				series_of_row[row_of[s->sites[i].process]]->sites[k]++;
	}
}

static void take(struct family *f, const struct snapshot *s)
{
	struct rows rows = {};
	_cleanup_free_ uint32_t *row_of = make_rows(f, s, &rows);
	_cleanup_free_ struct series **series_of_row = xcalloc(rows.n, sizeof(*series_of_row));

	assign(f, &rows, s, series_of_row);
	count_sites(s, row_of, series_of_row);
	/* names are the snapshot's: those of series are their own */
	vec_done(&rows);
}

/* ---- series → text */

/*
 * Whatever a process calls itself, as what a reader takes: backslash, quote and newline are escaped, what is no UTF-8 is replaced.
 * One byte that is wrong, or two series of one name, would cost the whole answer: what is changed or cut has a number behind it
 * by which it differs from others.
 */
static void put_label(FILE *out, const char *value)
{
	const char *at = value;
	bool changed = false;

	while (*at && at - value < NAME_MAX_BYTES) {
		uint32_t c;
		size_t n = utf8__decode(at, &c);

		if (!n)
			fputc('?', out);
		else if (*at == '\n')
			fputs("\\n", out);
		else
			fprintf(out, "%s%.*s", *at == '\\' || *at == '"' ? "\\" : "", (int)n, at);
		changed |= !n;
		at += n ? n : 1;
	}
	if (*at || changed)
		fprintf(out, "~%016llx", (unsigned long long)hash__string(value));
}

static void put_head(FILE *out, const char *name, const char *suffix, const char *type, const char *help)
{
	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix, type);
}

static void put_u64(FILE *out, const char *name, const char *type, const char *help, uint64_t v)
{
	put_head(out, name, "", type, help);
	fprintf(out, "%s %llu\n", name, (unsigned long long)v);
}

static void put_double(FILE *out, const char *name, const char *type, const char *help, double v)
{
	put_head(out, name, "", type, help);
	fprintf(out, "%s %.15g\n", name, v);
}

/* A column of a family. */
struct column {
	const char *name;	/* between malloctrace_LABEL_ and the suffix */
	unsigned int needs;	/* enum counter_bit */
	bool exact;		/* never an estimate */
	bool growth;		/* left out where a row has none */
	size_t figure;		/* in struct row; 0: it is `total`, or what that is now if it is an estimate */
	size_t total;
	const char *help;
};

static const struct column columns[] = {
	{ "live_bytes", HAS_LIVE_BYTES, .figure = offsetof(struct row, live_bytes), .help = "Bytes that are allocated and not freed, of processes that run." },
	{ "live_blocks", HAS_LIVE_BLOCKS, .figure = offsetof(struct row, live_blocks), .help = "Blocks that are allocated and not freed, of processes that run." },
	{ "allocations", HAS_ALLOC_CALLS, .total = ALLOCATIONS, .help = "Calls of malloc and its kin." },
	{ "allocated_bytes", HAS_ALLOC_BYTES, .total = ALLOCATED_BYTES, .help = "Bytes that these calls asked for." },
	{ "frees", HAS_FREE_CALLS, .total = FREES, .help = "Blocks that were freed." },
	{ "freed_bytes", HAS_FREE_BYTES, .total = FREED_BYTES, .help = "Bytes of blocks that were freed." },
	{ "growth_bytes_per_second", HAS_LIVE_BYTES, .growth = true, .help = "How fast live bytes grow, by the judgement of the last minutes." },
	{ "resident_memory_bytes", 0, .exact = true, .figure = offsetof(struct row, rss_bytes), .help = "Resident memory of processes that run." },
	{ "processes", 0, .exact = true, .figure = offsetof(struct row, n_processes), .help = "Traced processes that run." },
};

static void put_column(FILE *out, const struct family *f, const struct column *c, const struct snapshot *s)
{
	bool estimated = s->estimated && !c->exact, total = !c->figure && !c->growth && !estimated;
	char name[96];

	if (c->needs & ~s->known)
		return;
	snprintf(name, sizeof(name), "malloctrace_%s_%s%s", f->label, c->name, total ? "_total" : estimated ? "_estimate" : "");
	put_head(out, name, "", total ? "counter" : "gauge", c->help);
	for (size_t i = 0; i <= METRICS_NAMES; i++) {
		const struct series *x = &f->v[i];
		const uint64_t *n = c->figure ? (const uint64_t *)((const char *)&x->row + c->figure) :
						&(estimated ? x->row.now : x->total)[c->total];

		if (!x->name || !x->here || (estimated && !x->row.met) || (c->growth && !x->row.has_growth))
			continue;
		fprintf(out, "%s{%s=\"", name, f->label);
		put_label(out, x->name);
		fprintf(out, "\"} %.17g\n", c->growth ? x->row.growth : (double)*n);
	}
}

static void put_family(FILE *out, const struct family *f, const struct snapshot *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		put_column(out, f, &columns[i], s);
	if (!(s->known & HAS_LIVE_BYTES))
		return;
	fprintf(out, "# HELP malloctrace_%s_sites Call stacks by what is thought of them: leak, suspect, growing.\n# TYPE malloctrace_%s_sites gauge\n",
		f->label, f->label);
	for (size_t i = 0; i <= METRICS_NAMES; i++)
		for (size_t k = 0; f->v[i].name && f->v[i].here && k < ARRAY_SIZE(verdicts); k++) {
			fprintf(out, "malloctrace_%s_sites{%s=\"", f->label, f->label);
			put_label(out, f->v[i].name);
			fprintf(out, "\",verdict=\"%s\"} %llu\n", verdicts[k], (unsigned long long)f->v[i].sites[k]);
		}
}

static void put_conditions(FILE *out, const struct snapshot *s, const struct metrics_own *own)
{
	if (!s->n_whens)
		return;
	put_head(out, "malloctrace_condition_fired", "_total", "counter", "How often a condition of --when held, and a profile was written.");
	for (size_t i = 0; i < s->n_whens; i++) {
		fputs("malloctrace_condition_fired_total{condition=\"", out);
		put_label(out, s->whens[i].text);
		fprintf(out, "\"} %llu\n", (unsigned long long)s->whens[i].fired);
	}
	put_u64(out, "malloctrace_profiles", "gauge", "Files that conditions of --when have written and --keep has left.", own->n_kept);
	put_u64(out, "malloctrace_profile_bytes", "gauge", "What they have together.", own->profile_bytes);
	if (!own->n_profiles)
		return;
	put_head(out, "malloctrace_profile", "_info", "gauge", "A profile that a condition has written, and that is still there.");
	for (size_t i = 0; i < own->n_profiles; i++) {
		fputs("malloctrace_profile_info{file=\"", out);
		put_label(out, own->profiles[i]);
		fputs("\"} 1\n", out);
	}
}

static void put_own(FILE *out, const struct snapshot *s, const struct metrics_own *own)
{
	uint64_t n_running = 0;

	for (size_t i = 0; i < s->n_processes; i++)
		n_running += !s->processes[i].ended;
	put_head(out, "malloctrace_build", "_info", "gauge", "The version that runs.");
	fprintf(out, "malloctrace_build_info{version=\"%s\",mode=\"%s\"} 1\n", s->version, mode__name(s->recording.mode));
	put_double(out, "malloctrace_start_time_seconds", "gauge", "When the trace began, since 1970; totals count from there.", (double)s->wall_start_ns / 1e9);
	put_double(out, "malloctrace_observed_ratio", "gauge", "The share of the time that processes were observed in; below 1 with a budget.", s->observed_share);
	put_double(out, "malloctrace_probe_cpu_ratio", "gauge", "The share of the processes' CPU time that probes took, as far as it is measured.",
		   s->target_cpu_ns ? (double)s->probe_ns_estimate / (double)s->target_cpu_ns : 0);
	put_u64(out, "malloctrace_probe_hits_total", "counter", "How often a probe was hit.", own->probe_hits);
	put_double(out, "malloctrace_cpu_seconds_total", "counter", "CPU time of the process that traces; readers and what speaks HTTP are not in it.", (double)s->tool_cpu_ns / 1e9);
	put_u64(out, "malloctrace_processes", "gauge", "Traced processes that run.", n_running);
	put_u64(out, "malloctrace_sites", "gauge", "Call stacks that are known.", s->n_sites);
	put_double(out, "malloctrace_scrape_duration_seconds", "gauge", "What it took to take the snapshot of this scrape.", (double)own->snapshot_ns / 1e9);
	put_u64(out, "malloctrace_requests_total", "counter", "Requests that were answered.", own->n_requests);
}

void metrics__write(struct metrics *m, FILE *out, const struct snapshot *s, const struct metrics_own *own)
{
	for (size_t i = 0; i < N_FAMILIES; i++)
		take(&m->families[i], s);
	for (size_t i = 0; i < N_FAMILIES; i++)
		put_family(out, &m->families[i], s);
	put_head(out, "malloctrace_losses", "_total", "counter", "What was missed, by kind: figures may lack so much.");
	for (size_t i = 0; i < s->n_losses; i++)
		fprintf(out, "malloctrace_losses_total{kind=\"%s\"} %llu\n", s->losses[i].name, (unsigned long long)s->losses[i].n);
	put_conditions(out, s, own);
	put_own(out, s, own);
}
