// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what `report` and `diff` do with files. What always holds: privileges
 * that malloctrace may have been given are gone before the first file is
 * opened; what is shown goes through the same code as at the end of a trace.
 */
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "files/diff_files.h"
#include "files/json/json_read.h"
#include "files/outfile.h"
#include "model/ages.h"
#include "model/heaps.h"
#include "model/join.h"
#include "model/marks.h"
#include "present/views.h"
#include "trace/output.h"
#include "util/err.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/util.h"

struct profiles {
	struct snapshot **v;	/* owned, and their rows */
	const char **names;
	size_t n;
	struct snapshot **parts;	/* of each its processes that are in no other one: v[i], NULL, or owned */
	struct snapshot *all;	/* of v or parts, or made of all of them */
	bool all_is_own;
};

static void done(struct profiles *p)
{
	if (p->all_is_own)
		snapshot__free(p->all);
	for (size_t i = 0; i < p->n; i++) {
		if (p->parts && p->parts[i] != p->v[i])
			snapshot__free(p->parts[i]);
		snapshot__free(p->v[i]);
	}
	free(p->parts);
	free(p->v);
	free(p->names);
	*p = (struct profiles){};
}

/*
 * A trace's snapshots count from its start: of several, the last one has it
 * all. False: s is of a trace that is not there yet.
 */
static bool add_to_trace(struct profiles *p, struct snapshot *s, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		bool earlier = snapshot__same_trace(s, p->v[i]), later = !earlier && snapshot__same_trace(p->v[i], s);

		if (!earlier && !later)
			continue;
		say("%s: left out, because %s is from the same trace and at least as recent",
		    earlier ? name : p->names[i], earlier ? p->names[i] : name);
		snapshot__free(earlier ? s : p->v[i]);
		if (later) {
			p->v[i] = s;
			p->names[i] = name;
		}
		return true;
	}
	return false;
}

static int add(struct profiles *p, const char *path, struct err *e)
{
	struct snapshot *s;
	uint64_t began_ns = now_ns();
	int err = json_read__file(path, &s, e);

	if (err)
		return err;
	say_verbose("%s: %zu sites, read in %.0f ms", path, s->n_sites, (now_ns() - began_ns) / 1e6);
	if (!add_to_trace(p, s, path)) {
		p->v[p->n] = s;
		p->names[p->n++] = path;
	}
	return 0;
}

static int combine(struct profiles *p, struct err *e)
{
	_cleanup_free_ const char **names = xcalloc(p->n, sizeof(*names));
	_cleanup_free_ struct snapshot **v = xcalloc(p->n, sizeof(*v));
	_cleanup_free_ char *says = NULL;
	size_t n = 0;
	int err = 0;

	for (size_t i = 1; i < p->n && !err; i++)
		err = snapshots__check_alike(p->v[0], p->v[i], p->names[0], p->names[i], "combined", e);
	if (err)
		return err;
	p->parts = xcalloc(p->n, sizeof(*p->parts));
	memcpy(p->parts, p->v, p->n * sizeof(*p->parts));
	says = snapshots__drop_repeats(p->parts, p->names, p->n);
	for (size_t i = 0; i < p->n; i++)
		if (p->parts[i]) {
			names[n] = p->names[i];
			v[n++] = p->parts[i];
		}
	p->all = v[0];
	err = n > 1 ? snapshot__join(v, names, n, &p->all, e) : 0;
	p->all_is_own = n > 1 && !err;
	if (!err && says)
		p->all->combined = snapshot__strdup(p->all, says);
	return err;
}

static int read_all(struct profiles *p, const struct opts *o, struct err *e)
{
	int err = 0;

	p->v = xcalloc(o->files.n + 1, sizeof(*p->v));
	p->names = xcalloc(o->files.n + 1, sizeof(*p->names));
	for (size_t i = 0; i < o->files.n && !err; i++)
		err = add(p, o->files.v[i], e);
	if (err)
		return err;
	if (p->n > 1)
		return combine(p, e);
	p->all = p->v[0];
	return 0;
}

static bool is_by_thread(const struct snapshot *s)
{
	return !s->n_sites || array_first(x, s->sites, s->n_sites, x->tid);
}

/* Nothing is shown, weighed or sorted by what was not recorded. */
static int check(struct snapshot *s, const struct opts *o, struct err *e)
{
	const struct metric *metric = metric__find(o->metric), *sort = o->sort ? rank__key(o->sort) : NULL;
	char lasted[FMT_MAX];

	if (o->views & VIEW_HEAP && !s->n_heaps)
		return err_set(e, -EINVAL, "--view heap: no heap was looked at (malloctrace heap, or a trace with --reachable)");
	if (o->views & VIEW_BLOCKS & ~views__in(s))
		return err_set(e, -EINVAL, "--view blocks: no blocks were listed (record with --view blocks)");
	if (snapshot__is_heap(s) && (o->filter || o->hide || o->suppressions || o->sort || o->metric))
		return err_set(e, -EINVAL, "%s: of call stacks, and nothing was traced: this is what malloctrace heap found",
			       o->filter ? "--filter" : o->hide ? "--hide" : o->suppressions ? "--suppressions" : o->sort ? "--sort" : "--metric");
	if (snapshot__is_heap(s) && o->views & ~views__in(s))
		return err_set(e, -EINVAL, "--view: nothing was traced, this is what malloctrace heap found: --view heap or blocks");
	if (o->views & ~views__in(s) & ~VIEW_FREES)
		return err_set(e, -EINVAL, "--view: what it shows was not recorded (--mode %s)",
			       mode__name(s->recording.mode));
	if (o->views & VIEW_FREES && !s->recording.free_stacks)
		return err_set(e, -EINVAL, "--view frees: frees were not recorded (trace with --free-stacks)");
	if (((metric && metric->needs & HAS_UNREACHED) || (sort && sort->needs & HAS_UNREACHED)) && !(s->known & HAS_UNREACHED))
		return err_set(e, -EINVAL, "--%s %s: pointers to blocks were not searched for (trace with --reachable)",
			       metric && metric->needs & HAS_UNREACHED ? "metric" : "sort", metric && metric->needs & HAS_UNREACHED ? o->metric : o->sort);
	if (metric && metric->needs & ~s->known)
		return err_set(e, -EINVAL, "--metric %s: was not recorded (--mode %s)", o->metric,
			       mode__name(s->recording.mode));
	if (sort && sort->needs & ~s->known)
		return err_set(e, -EINVAL, "--sort %s: was not recorded (--mode %s)", o->sort,
			       mode__name(s->recording.mode));
	if (o->between && !(s->known & HAS_LIVE_BYTES))
		return err_set(e, -EINVAL, "--between: live bytes were not recorded (--mode %s)",
			       mode__name(s->recording.mode));
	if (o->between_to_ns && o->between_from_ns >= s->duration_ns)
		return err_set(e, -EINVAL, "--between: the trace lasted only %s", fmt_duration(lasted, s->duration_ns));
	for (size_t i = 0; i < o->tags.n; i++)
		if (!strcmp(o->tags.v[i], TAG_THREAD) && !is_by_thread(s))
			return err_set(e, -EINVAL,
				       "--tag thread: the trace did not separate threads (record with --by thread or --tag thread)");
	for (size_t i = 0; i < o->outputs.n; i++) {
		const struct export_format *f = export__find_by_name(opts__output_format(o, o->outputs.v[i]));

		if (f && snapshot__is_heap(s) && !f->carries_heaps)
			return err_set(e, -EINVAL, "-o %s: nothing was traced, and what malloctrace heap found is written as text, json or html", o->outputs.v[i]);
		if (f && f->needs & ~s->known)
			return err_set(e, -EINVAL, "-o %s: what %s shows was not recorded (--mode %s)",
				       o->outputs.v[i], f->name, mode__name(s->recording.mode));
	}
	return 0;
}

/* Marks are moments that the file knows. */
static int between_marks(const struct opts *o, struct snapshot *s, struct report_opts *how, struct err *e)
{
	_cleanup_free_ char *from = NULL, *names = NULL;
	const char *to;
	int err;

	if (!o->between || o->between_to_ns)
		return 0;
	to = o->between + o->between_comma + 1;
	from = xstrndup(o->between, o->between_comma);
	names = xasprintf("%s and %s", from, to);
	err = marks__moment(s, from, &how->between_from_ns, e) ?: marks__moment(s, to, &how->between_to_ns, e);
	if (!err && how->between_from_ns >= how->between_to_ns)
		err = err_set(e, -EINVAL,
			      "--between %s: want two moments, the earlier one first; these are at %.3f s and %.3f s",
			      o->between, how->between_from_ns / 1e9, how->between_to_ns / 1e9);
	how->between_names = snapshot__strdup(s, names);
	return err;
}

int profiles__report(const struct opts *o, int *ret_status, struct err *e)
{
	struct profiles p = {};
	struct output out = {};
	int err = rights__give_up(e);

	signal(SIGPIPE, SIG_IGN);
	if (!err)
		err = output__init(&out, o, e);
	if (!err)
		err = read_all(&p, o, e);
	if (!err)
		err = check(p.all, o, e) ?: between_marks(o, p.all, &out.export.report, e);
	if (!err)
		err = output__write_last(&out, p.all, e);
	if (!err)
		*ret_status = p.all->losses_total ? EXIT_LOSSES : 0;
	output__done(&out);
	done(&p);
	return err;
}

/* ---- diff */

static int write_diff(const struct diff *d, const struct diff_opts *how, const char *path, const char *format,
		      struct err *e)
{
	const struct diff_format *f = diff_format__find(format);
	struct outfile out;
	int err = outfile__open(&out, path, e);

	if (err)
		return err;
	err = f->write(out.f, d, how);
	if (!err)
		return outfile__commit(&out, e);
	outfile__abort(&out);
	return err_set(e, err, "cannot write %s: %s", outfile__name(path), strerror(-err));
}

static int write_diffs(const struct diff *d, const struct diff_opts *how, const struct opts *o, struct err *e)
{
	bool printed = false;
	int err = 0;

	for (size_t i = 0; i < o->outputs.n && !err; i++) {
		err = write_diff(d, how, o->outputs.v[i], opts__output_format(o, o->outputs.v[i]), e);
		printed |= !strcmp(o->outputs.v[i], "-");
	}
	if (!err && !printed && (!o->outputs.n || o->verbosity != LOG_QUIET))
		err = write_diff(d, how, "-", "text", e);
	if (err == -EPIPE) {
		err_done(e);
		return 0;
	}
	return err;
}

static int check_diff(const struct opts *o, const struct snapshot *a, const struct snapshot *b,
		      const struct metric *m, struct err *e)
{
	int err = snapshots__check_alike(a, b, o->files.v[0], o->files.v[1], "compared", e);

	if (err)
		return err;
	if (strcmp(a->recording.within ?: "", b->recording.within ?: ""))
		return err_set(e, -EINVAL, "%s and %s cannot be compared: one was recorded %s%s, the other %s%s", o->files.v[0], o->files.v[1],
			       a->recording.within ? "only inside of " : "everywhere", a->recording.within ?: "", b->recording.within ? "only inside of " : "everywhere",
			       b->recording.within ?: "");
	if (strcmp(a->hidden.by ?: "", b->hidden.by ?: ""))
		return err_set(e, -EINVAL,
			       "%s and %s cannot be compared: sites were left out of one of them (%s)",
			       o->files.v[0], o->files.v[1], a->hidden.by ?: b->hidden.by);
	if (m->needs & ~(a->known & b->known))
		return err_set(e, -EINVAL, "--metric %s: was not recorded (--mode %s)", m->name,
			       mode__name(a->recording.mode));
	if (o->fail_over != UINT64_MAX && !(a->known & b->known & HAS_LIVE_BYTES))
		return err_set(e, -EINVAL, "--fail-over: live bytes were not recorded (--mode %s)",
			       mode__name(a->recording.mode));
	for (size_t i = 0; i < o->outputs.n; i++) {
		const struct diff_format *f = diff_format__find(opts__output_format(o, o->outputs.v[i]));

		if (!f)
			return err_set(e, -EINVAL, "-o %s: diff writes text, json, folded and html", o->outputs.v[i]);
		if (f->needs & ~(a->known & b->known))
			return err_set(e, -EINVAL, "-o %s: what %s shows was not recorded (--mode %s)",
				       o->outputs.v[i], f->name, mode__name(a->recording.mode));
	}
	return 0;
}

/* A sum that a heap is missing from is no sum. */
static int check_sums(const struct opts *o, const struct snapshot *const v[2], struct err *e)
{
	for (size_t i = 0; o->fail_over != UINT64_MAX && i < 2; i++) {
		const struct snap_heap *h = heap_diff__unknown(v[i]);

		if (h)
			return err_set(e, -EINVAL, "--fail-over: what is in use is not known in %s: %s (%d): %s", o->files.v[i], heap__comm(v[i], h),
				       (int)heap__pid(v[i], h), h->refused);
	}
	return 0;
}

/* Two looks at heaps: there are no stacks to compare. */
static int compare_heaps(const struct opts *o, const struct snapshot *a, const struct snapshot *b, const struct diff_opts *how, int *ret_status, struct err *e)
{
	uint64_t was = heap_diff__in_use(a), is = heap_diff__in_use(b);
	const char *path = o->outputs.n ? o->outputs.v[0] : "-";
	struct outfile out;
	int err;

	for (size_t i = 0; i < o->outputs.n; i++)
		if (strcmp(opts__output_format(o, o->outputs.v[i]), "text"))
			return err_set(e, -EINVAL, "-o %s: two files of malloctrace heap are compared as text", o->outputs.v[i]);
	if (o->outputs.n > 1 || o->metric)
		return err_set(e, -EINVAL, "%s: two files of malloctrace heap are compared by size and type, in one text", o->metric ? "--metric" : "-o");
	err = check_sums(o, (const struct snapshot *const[]){ a, b }, e) ?: outfile__open(&out, path, e);
	if (err)
		return err;
	heap_diff__write(out.f, a, b, how);
	err = outfile__commit(&out, e);
	*ret_status = o->fail_over != UINT64_MAX && is > was && is - was > o->fail_over ? EXIT_FAIL_OVER : 0;
	if (err == -EPIPE) {
		err_done(e);
		return 0;
	}
	return err;
}

static int compare(const struct opts *o, struct snapshot *a, struct snapshot *b, int *ret_status, struct err *e)
{
	const struct metric *m = o->metric ? metric__find(o->metric) : metric__preset(a->known & b->known);
	struct diff_opts how = {
		.before = o->files.v[0], .after = o->files.v[1], .top = o->top ? o->top : REPORT_TOP, .width = REPORT_WIDTH,
		.estimated = a->estimated || b->estimated,
	};
	uint64_t was = snapshot__sites_bytes(a), is = snapshot__sites_bytes(b);
	bool first_is_flat;
	struct diff d;
	int err;

	if (snapshot__is_heap(a) && snapshot__is_heap(b))
		return compare_heaps(o, a, b, &how, ret_status, e);
	err = check_diff(o, a, b, m, e);
	if (err)
		return err;
	how.depth = snapshots__even_depth(a, b, &first_is_flat);
	how.flat = o->files.v[first_is_flat ? 0 : 1];
	diff__init(&d, a, b, m);
	err = write_diffs(&d, &how, o, e);
	diff__done(&d);
	if (!err)
		*ret_status = o->fail_over != UINT64_MAX && is > was && is - was > o->fail_over ? EXIT_FAIL_OVER : 0;
	return err;
}

int profiles__diff(const struct opts *o, int *ret_status, struct err *e)
{
	struct snapshot *v[2] = {}, *shown[2] = {};
	struct filter filter = {};
	int err = rights__give_up(e);

	signal(SIGPIPE, SIG_IGN);
	if (!err)
		err = filter__init(&filter, o->filter, o->hide, o->suppressions, e);
	for (size_t i = 0; i < 2 && !err; i++) {
		err = json_read__file(o->files.v[i], &v[i], e);
		if (err)
			break;
		shown[i] = filter__any(&filter) ? snapshot__filter(v[i], &filter) : v[i];
	}
	if (!err)
		err = compare(o, shown[0], shown[1], ret_status, e);
	for (size_t i = 0; i < 2; i++) {
		if (shown[i] != v[i])
			snapshot__free(shown[i]);
		snapshot__free(v[i]);
	}
	filter__done(&filter);
	return err;
}
