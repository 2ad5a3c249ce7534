// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a diff looks:
 *
 *	malloctrace diff  before.json -> after.json
 *	Shrank most: dictExpand (dict.c:180), by 2.5 MiB.
 *	Grew most: trackingRememberKey (tracking.c:212), by 1.5 MiB.
 *	live bytes 39.2 MiB -> 41.0 MiB: +1.8 MiB
 *	traced     30.0s -> 30.2s
 *	stacks     2 grew, 1 shrank, 1 new, 0 gone, 12 same
 *
 *	  CHANGE      BEFORE      AFTER  KIND    SITE
 *	+1.5 MiB    30.0 MiB   31.5 MiB  grew    trackingRememberKey  src/tracking.c:212
 *
 *	 1.   +1.5 MiB  grew    30.0 MiB ->  31.5 MiB
 *	     trackingRememberKey  src/tracking.c:212
 *
 * What always holds: the columns of the folded file, and the rows of the JSON,
 * add up to the sums of the two profiles. Folded lines that differ in their
 * modules alone are two lines: difffolded.pl and flamegraph.pl add them up.
 */
#include "files/diff_files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "files/export.h"
#include "files/export_parts.h"
#include "files/json/json_writer.h"
#include "present/caveats.h"
#include "model/heaps.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/telling.h"
#include "util/ids.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

/* "41.0 MiB", an estimate "~41.0 MiB" */
static const char *figure(const struct diff *d, const struct diff_opts *o, char buf[static FMT_MAX + 2], uint64_t n)
{
	snprintf(buf, FMT_MAX + 2, "%s%s", o->estimated ? "~" : "",
		 strcmp(d->metric->unit, "bytes") ? EXACT(n) : BYTES(n));
	return buf;
}

/* "+1.8 MiB", an estimate "+1.8 MiB ±1.2 MiB"; ±?: it is not known */
static const char *change(const struct diff *d, char buf[static 2 * FMT_MAX + 8], uint64_t before,
			  uint64_t after, double error)
{
	static const struct diff_opts plain;
	char a[FMT_MAX + 2], b[FMT_MAX + 2];
	int n;

	n = snprintf(buf, FMT_MAX + 4, "%s%s", after > before ? "+" : after < before ? "-" : "",
		     figure(d, &plain, a, after > before ? after - before : before - after));
	if (error > 0)
		snprintf(buf + n, FMT_MAX + 4, " ±%s",
			 isinf(error) ? "?" : figure(d, &plain, b, error < 9e18 ? (uint64_t)(error + 0.5) : UINT64_MAX));
	return buf;
}

#define SITE_LEAST 20

/* "+456.6 KiB", "-"; of a metric that is no size "+1,204" */
static const char *rate(const struct diff *d, const struct diff_opts *o, char buf[static 2 * FMT_MAX + 8], double per_s, bool sign)
{
	uint64_t n = (uint64_t)(fabs(per_s) + 0.5);

	if (isnan(per_s))
		return strcpy(buf, "-");
	if (!sign && per_s >= 0)
		return figure(d, o, buf, n);
	return change(d, buf, per_s < 0 ? n : 0, per_s < 0 ? 0 : n, 0);
}

/* name_cols: of the names, so that what stands beside them is below each other */
static char *site_words(const struct diff_row *r, size_t room, size_t name_cols)
{
	struct frame f = tellings__of(NULL, r->s, r->site);
	_cleanup_free_ char *whole = tellings__name(NULL, r->s, r->site), *name = name__shorten(whole, room);
	_cleanup_free_ char *where = f.place ? frame__where_short(&f, r->s->processes[r->site->process].exe, room / 2) : NULL;
	char *ret = NULL;

	if (where && *where && MAX(text_width(name), name_cols) + 2 + text_width(where) <= room)
		return xasprintf("%s%*s  %s", name, (int)(MAX(text_width(name), name_cols) - text_width(name)), "", where);
	if (where && *where && text_width(name) + 2 + text_width(where) <= room)
		return xasprintf("%s  %s", name, where);
	ret = name;
	name = NULL;
	return ret;
}

/* Before the stacks, what changed most, a line each: totals, or rates of traces that did not last as long. */
static void write_table(FILE *out, const struct diff *d, const struct diff_opts *o, size_t n)
{
	const char *per = d->rates ? "/s" : "";
	int width = o->estimated && !d->rates ? 20 : 12;
	char a[2 * FMT_MAX + 8], b[2 * FMT_MAX + 8], c[2 * FMT_MAX + 8], title[3][16];
	size_t used = (size_t)width + 2 * 13 + (d->rates ? 2 : 10), room = MAX(o->width, used + SITE_LEAST) - used, name_cols = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = tellings__name(NULL, d->rows.v[i].s, d->rows.v[i].site);

		if (text_width(name) <= room / 2)
			name_cols = MAX(name_cols, text_width(name));
	}
	snprintf(title[0], sizeof(title[0]), "CHANGE%s", per);
	snprintf(title[1], sizeof(title[1]), "BEFORE%s", per);
	snprintf(title[2], sizeof(title[2]), "AFTER%s", per);
	fprintf(out, "\n%*s %12s %12s  %s%s\n", width, title[0], title[1], title[2], d->rates ? "" : "KIND    ", "SITE");
	for (size_t i = 0; i < n; i++) {
		const struct diff_row *r = &d->rows.v[i];
		_cleanup_free_ char *site = site_words(r, room, name_cols);

		change(d, a, r->before, r->after, r->error);
		if (d->rates)
			fprintf(out, "%*s %12s %12s  %s\n", width, rate(d, o, a, r->after_per_s - r->before_per_s, true),
				rate(d, o, b, r->before_per_s, false), rate(d, o, c, r->after_per_s, false), site);
		else
			fprintf(out, "%*s %12s %12s  %-6s  %s\n", width + (int)(strlen(a) - text_width(a)), a,
				figure(d, o, b, r->before), figure(d, o, c, r->after), diff_kind__name(diff_row__kind(r)), site);
	}
}

static bool has_grown(const struct diff *d, const struct diff_row *r)
{
	enum diff_kind kind = diff_row__kind(r);

	if (d->rates)
		return r->after_per_s > r->before_per_s;
	return kind == DIFF_GREW || kind == DIFF_NEW;
}

static bool has_shrunk(const struct diff *d, const struct diff_row *r)
{
	enum diff_kind kind = diff_row__kind(r);

	return d->rates ? r->after_per_s < r->before_per_s : kind == DIFF_SHRANK || kind == DIFF_GONE;
}

/* Where rates are not known, or the change may be an error of the estimates. */
static bool may_have_grown(const struct diff *d)
{
	if (d->after > d->before)
		return true;
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *r = &d->rows.v[i];

		if (d->rates ? isnan(r->after_per_s - r->before_per_s) : diff_row__kind(r) == DIFF_UNSURE && r->after > r->before)
			return true;
	}
	return false;
}

/* "Grew most: issue_ticket (shop.cpp:12), by 1.5 MiB." */
static void write_most(FILE *out, const struct diff *d, const struct diff_opts *o, const struct diff_row *r,
		       const char *words)
{
	_cleanup_free_ char *name = tellings__name(NULL, r->s, r->site);
	struct frame f = tellings__of(NULL, r->s, r->site);
	double by = d->rates ? fabs(r->after_per_s - r->before_per_s) : fabs((double)r->after - (double)r->before);
	char a[2 * FMT_MAX + 8];

	fprintf(out, "%s most: %s", words, name);
	if (f.line && f.line->file && f.line->line)
		fprintf(out, " (%s:%u)", path_basename(f.line->file), f.line->line);
	fprintf(out, ", by %s%s.", figure(d, o, a, (uint64_t)(by + 0.5)), d->rates ? "/s" : "");
}

/* Sites with more blocks: where each takes few bytes or none, they may hold no more bytes. 0: none, or it is not known. */
static size_t n_with_more_blocks(const struct diff *d)
{
	struct diff blocks;
	size_t n;

	if (strcmp(d->metric->name, "live-bytes") || !(d->of_before->known & d->of_after->known & HAS_LIVE_BLOCKS))
		return 0;
	diff__init(&blocks, d->of_before, d->of_after, metric__find("live-blocks"));
	n = blocks.n_of_kind[DIFF_GREW] + blocks.n_of_kind[DIFF_NEW];
	diff__done(&blocks);
	return n;
}

/* The rows are in the order of their changes: where the largest is a loss, that comes first. */
static void write_sentence(FILE *out, const struct diff *d, const struct diff_opts *o)
{
	const struct diff_row *grown = vec_first(r, &d->rows, has_grown(d, r));
	size_t n = grown ? 0 : n_with_more_blocks(d);

	if (d->rows.n && has_shrunk(d, d->rows.v)) {
		write_most(out, d, o, d->rows.v, "Shrank");
		fputc('\n', out);
	}
	if (grown)
		write_most(out, d, o, grown, "Grew");
	else if (n && !may_have_grown(d))
		fprintf(out, "No site holds more bytes, but %zu hold%s more blocks (--metric live-blocks).", n, n == 1 ? "s" : "");
	else
		fputs(may_have_grown(d) ? "No site is known to have grown." : "Nothing grew.", out);
	fputc('\n', out);
}

static bool has_changed(const struct diff *d, const struct diff_row *r)
{
	return r->before != r->after || (d->rates && r->after_per_s != r->before_per_s && !isnan(r->after_per_s - r->before_per_s));
}

/* One that has names which the other one lacks has other stacks. */
static void write_inlines(FILE *out, const struct diff *d)
{
	_cleanup_free_ char *before = missing_names__of_inlines(d->of_before),
			    *after = missing_names__of_inlines(d->of_after);

	if (before)
		fprintf(out, "names       before: %s\n", before);
	if (after)
		fprintf(out, "names       after: %s\n", after);
}

static int write_text(FILE *out, const struct diff *d, const struct diff_opts *o)
{
	char a[FMT_MAX + 2], b[FMT_MAX + 2], c[2 * FMT_MAX + 8];
	size_t n = 0, changed = 0, name_width = 0;
	int cols = o->estimated ? 10 : 9;

	/* the largest change is the first */
	while (changed < d->rows.n && has_changed(d, &d->rows.v[changed]))
		changed++;
	n = MIN(changed, o->top);
	fprintf(out, "malloctrace diff  %s -> %s\n", o->before, o->after);
	write_sentence(out, d, o);
	fprintf(out, "%-11s %s -> %s: %s\n", d->metric->name, figure(d, o, a, d->before), figure(d, o, b, d->after),
		change(d, c, d->before, d->after, d->error));
	fprintf(out, "traced      %s -> %s%s\n", fmt_duration(a, d->of_before->duration_ns), fmt_duration(b, d->of_after->duration_ns),
		d->rates ? ": rates are compared" : "");
	fputs("stacks     ", out);
	for (enum diff_kind k = 0; k < N_DIFF_KINDS; k++)
		if (k != DIFF_UNSURE || o->estimated)
			fprintf(out, "%s %zu %s", k ? "," : "", d->n_of_kind[k], diff_kind__name(k));
	fputc('\n', out);
	if (o->depth)
		fprintf(out, "            compared by their innermost %" PRIu32 " frame%s: %s has no more (--depth)\n", o->depth, plural(o->depth), o->flat);
	if (o->estimated)
		fputs("~           estimated: ± is one standard error; unsure: the change is less than two of them\n", out);
	write_inlines(out, d);
	if (n)
		write_table(out, d, o, n);
	for (size_t i = 0; i < n; i++)
		name_width = MAX(name_width, frames__name_width(d->rows.v[i].s, d->rows.v[i].site));
	for (size_t i = 0; i < n; i++) {
		const struct diff_row *r = &d->rows.v[i];

		fprintf(out, "\n%2zu.  %10s  %-6s  %*s -> %*s\n", i + 1,
			change(d, c, r->before, r->after, r->error), diff_kind__name(diff_row__kind(r)), cols,
			figure(d, o, a, r->before), cols, figure(d, o, b, r->after));
		frames__write(out, r->s, r->site, 5, name_width, o->width);
	}
	if (changed > n)
		fprintf(out, "\n%zu more that changed less (-T N for more)\n", changed - n);
	if (changed && d->of_before->known & d->of_after->known & HAS_LIVE_BYTES)
		fputs("\nnext: -o diff.html for a flame graph of what changed\n", out);
	return 0;
}

static int write_folded(FILE *out, const struct diff *d, const struct diff_opts *o)
{
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *r = &d->rows.v[i];

		if (r->site->growth != GROWTH_NONE)
			fprintf(out, "%s;", growth__name(r->site->growth));
		if (!r->site->n_stack)
			fputs("[no stack]", out);
		for (uint32_t k = r->site->n_stack; k--;) {
			const struct place *p = &r->s->places[r->site->stack[k]];

			for (size_t l = place__n_frames(p); l--;) {
				struct frame f = place__frame(r->s, p, l);

				_cleanup_free_ char *text = folded__frame(&f);

				fprintf(out, "%s%s", text, k || l ? ";" : "");
			}
		}
		fprintf(out, " %" PRIu64 " %" PRIu64 "\n", r->before, r->after);
	}
	return 0;
}

static void json_row(struct json *j, const struct diff_row *r)
{
	json__line(j, 4);
	json__object(j, NULL);
	json__str(j, "change", diff_kind__name(diff_row__kind(r)));
	json__u64(j, "before", r->before);
	json__u64(j, "after", r->after);
	json__i64(j, "delta", (int64_t)(r->after - r->before));
	if (r->error > 0)
		json__double(j, "standard_error", r->error);
	json__array(j, "stack");
	for (uint32_t k = 0; k < r->site->n_stack; k++) {
		const struct place *p = &r->s->places[r->site->stack[k]];

		for (size_t l = 0; l < place__n_frames(p); l++) {
			struct frame f = place__frame(r->s, p, l);

			json__object(j, NULL);
			if (f.line && f.line->function)
				json__str(j, "function", f.line->function);
			else
				json__hex(j, "offset", f.place->offset);
			json__str(j, "module", f.module);
			if (f.line && f.line->split)
				json__bool(j, "inlines_unknown", true);
			json__object_end(j);
		}
	}
	json__array_end(j);
	json__object_end(j);
}

static int write_json(FILE *out, const struct diff *d, const struct diff_opts *o)
{
	struct json j = { .out = out };

	json__object(&j, NULL);
	json__line(&j, 2);
	json__str(&j, "schema", "malloctrace-diff/1");
	json__str(&j, "metric", d->metric->name);
	json__bool(&j, "estimated", o->estimated);
	if (o->depth)
		json__u64(&j, "depth", o->depth);
	json__line(&j, 2);
	json__u64(&j, "before", d->before);
	json__u64(&j, "after", d->after);
	json__i64(&j, "delta", (int64_t)(d->after - d->before));
	json__u64(&j, "before_duration_ns", d->of_before->duration_ns);
	json__u64(&j, "after_duration_ns", d->of_after->duration_ns);
	if (o->estimated)
		json__double(&j, "standard_error", d->error);
	json__line(&j, 2);
	json__object(&j, "stacks");
	for (enum diff_kind k = 0; k < N_DIFF_KINDS; k++)
		json__u64(&j, diff_kind__name(k), d->n_of_kind[k]);
	json__object_end(&j);
	json__line(&j, 2);
	json__array(&j, "rows");
	for (size_t i = 0; i < d->rows.n; i++)
		json_row(&j, &d->rows.v[i]);
	json__array_end(&j);
	json__line(&j, 0);
	json__object_end(&j);
	fputc('\n', out);
	return 0;
}

static int write_html(FILE *out, const struct diff *d, const struct diff_opts *o)
{
	struct snapshot *s = diff__snapshot(d->of_before, d->of_after, o->before);
	struct export_compared both = { d->of_before, d->of_after, o->before, o->after };
	_cleanup_err_ struct err e = {};
	int err = html__write(out, s, &(struct export_opts){ .metric = d->metric, .compared = &both }, &e);

	snapshot__free(s);
	/* the caller that closes the file sees that, and why */
	return err == -EIO ? 0 : err;
}

const struct diff_format *diff_format__find(const char *name)
{
	static const struct diff_format formats[] = {
		{ "text", write_text, 0 },
		{ "folded", write_folded, 0 },
		{ "json", write_json, 0 },
		{ "html", write_html, HAS_LIVE_BYTES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* ---- two looks at a heap */

/*
 * What is said of two looks at a heap:
 *
 *	malloctrace diff  before.json -> after.json
 *
 *	redis-server (1432)
 *	in use      64.6 MiB -> 74.8 MiB: +10.2 MiB, +10,032 blocks
 *	free        20.6 MiB -> 10.1 MiB: -10.5 MiB
 *	unreached   2.3 MiB -> 2.6 MiB: +271.0 KiB, +1,050 blocks
 *
 *	     CHANGE    BLOCKS     BEFORE ->     AFTER  SIZE
 *	   +1.0 MiB   +10,000    5.3 MiB ->   6.3 MiB  56
 *
 * What always holds: heaps are compared with those of the same process, or of one of the same name; what is in one file
 * alone is said to be.
 */

#define NAME_INDENT 60	/* the columns before a name, and "estimated" behind it */

struct change {
	const char *name;	/* of a type; NULL: of a size */
	const struct snap_class *size;
	bool estimated;
	uint64_t blocks[2], bytes[2];
};

struct changes {
	struct change *v;	/* as ids numbers them */
	size_t n, room;
	struct string_ids names;	/* of types */
	struct key_ids sizes;
};

/* ---- figures */

static const char *count_change(char buf[static CELL_MAX], uint64_t before, uint64_t after)
{
	snprintf(buf, CELL_MAX, "%s%s", after > before ? "+" : after < before ? "-" : "", EXACT(after > before ? after - before : before - after));
	return buf;
}

static const char *bytes_change(char buf[static CELL_MAX], uint64_t before, uint64_t after)
{
	return fmt_change(buf, (double)after - (double)before);
}

static void line(FILE *out, const char *what, uint64_t before, uint64_t after, const uint64_t *blocks)
{
	char c[CELL_MAX], d[CELL_MAX];

	fprintf(out, "%-11s %s -> %s: %s", what, BYTES(before), BYTES(after), bytes_change(c, before, after));
	if (blocks)
		fprintf(out, ", %s blocks", count_change(d, blocks[0], blocks[1]));
	fputc('\n', out);
}

/* ---- rows */

static void add_change(struct changes *c, size_t side, const char *name, const struct snap_class *size, bool estimated, uint64_t blocks, uint64_t bytes)
{
	uint32_t at;

	if (name)
		string_ids__get(&c->names, name, &at);
	else
		key_ids__get(&c->sizes, (struct key){ .a = size->usable, .b = size->below }, &at, NULL);
	if (at == c->n)
		vec_push(c);
	c->v[at].name = name;
	c->v[at].size = c->v[at].size ? c->v[at].size : size;
	c->v[at].estimated |= estimated;
	c->v[at].blocks[side] += blocks;
	c->v[at].bytes[side] += bytes;
}

static void changes__done(struct changes *c)
{
	vec_done(c);
	string_ids__done(&c->names);
	key_ids__done(&c->sizes);
}

static uint64_t weight(const struct change *c)
{
	return c->bytes[1] > c->bytes[0] ? c->bytes[1] - c->bytes[0] : c->bytes[0] - c->bytes[1];
}

/* The most first; then as they stood. */
COMPARATOR(by_change, struct change,
	   ORDER(weight(b), weight(a)) ?: (a->name ? strcmp(a->name, b->name) : ORDER(a->size->usable, b->size->usable)))

static void table(FILE *out, struct changes *c, const char *title, const struct diff_opts *o)
{
	size_t n = 0, shown;

	vec_sort(c, by_change);
	while (n < c->n && weight(&c->v[n]))
		n++;
	if (!n)
		return;
	shown = MIN(n, o->top);
	fprintf(out, "\n    CHANGE     BLOCKS     BEFORE ->     AFTER  %s\n", title);
	for (size_t i = 0; i < shown; i++) {
		const struct change *v = &c->v[i];
		char change[CELL_MAX], count[CELL_MAX], size[CELL_MAX];
		_cleanup_free_ char *name = name__shorten(v->name ? v->name : heap__size_words(size, v->size), o->width - NAME_INDENT);

		fprintf(out, "%10s %10s  %9s -> %9s  %s%s\n", bytes_change(change, v->bytes[0], v->bytes[1]), count_change(count, v->blocks[0], v->blocks[1]),
			BYTES(v->bytes[0]), BYTES(v->bytes[1]), name ? name : "", v->estimated ? " (estimated)" : "");
	}
	if (n > shown)
		fprintf(out, "%zu more that changed less (-T N for more)\n", n - shown);
}

static void tables(FILE *out, const struct snap_heap *const pair[2], const struct diff_opts *o)
{
	struct changes sizes = {}, types = {};

	for (size_t side = 0; side < 2; side++) {
		const struct snap_heap *h = pair[side];

		for (size_t i = 0; i < h->n_classes; i++)
			add_change(&sizes, side, NULL, &h->classes[i], false, h->classes[i].blocks, h->classes[i].bytes);
		for (size_t i = 0; i < h->n_types; i++)
			add_change(&types, side, h->types[i].name, NULL, h->types[i].estimated, h->types[i].blocks, h->types[i].bytes);
	}
	table(out, &sizes, "SIZE", o);
	table(out, &types, "TYPE", o);
	changes__done(&sizes);
	changes__done(&types);
}

/* ---- heaps */

static void write_pair(FILE *out, const struct snapshot *s, const struct snap_heap *a, const struct snap_heap *b, const struct diff_opts *o)
{
	const struct snap_heap *pair[] = { a, b };

	fprintf(out, "\n%s (%d)\n", heap__comm(s, b), (int)heap__pid(s, b));
	if (a->refused || b->refused) {
		fprintf(out, "%s: %s\n", a->refused ? "before" : "after", a->refused ? a->refused : b->refused);
		line(out, "RSS", a->rss_bytes, b->rss_bytes, NULL);
		return;
	}
	line(out, "in use", a->bytes, b->bytes, (uint64_t[]){ a->blocks, b->blocks });
	line(out, "free", a->free_bytes, b->free_bytes, NULL);
	if (a->rss_bytes && b->rss_bytes)
		line(out, "RSS", a->rss_bytes, b->rss_bytes, NULL);
	if (heap__was_searched(a) && heap__was_searched(b))
		line(out, "unreached", a->unreached.bytes, b->unreached.bytes, (uint64_t[]){ a->unreached.blocks, b->unreached.blocks });
	tables(out, pair, o);
}

/* Which is compared with which: the same process, or one of its name that nobody else is left for. */
struct pairs {
	const struct snapshot *before, *after;
	const struct snap_heap **of;	/* of each heap of after; NULL: there is none */
	bool *used;			/* of each heap of before */
};

static const struct snap_heap *find(const struct pairs *p, const struct snap_heap *h, bool by_pid)
{
	for (size_t i = 0; i < p->before->n_heaps; i++) {
		const struct snap_heap *b = &p->before->heaps[i];

		if (!p->used[i] && !strcmp(heap__comm(p->before, b), heap__comm(p->after, h)) && (!by_pid || heap__pid(p->before, b) == heap__pid(p->after, h)))
			return b;
	}
	return NULL;
}

/* All that are the same before any that has only the name: a new process does not take an old one's. */
static void make_pairs(struct pairs *p)
{
	for (int by_pid = 1; by_pid >= 0; by_pid--)
		for (size_t i = 0; i < p->after->n_heaps; i++) {
			if (p->of[i])
				continue;
			p->of[i] = find(p, &p->after->heaps[i], by_pid);
			/* of one process each, that is what was meant */
			if (!p->of[i] && !by_pid && p->before->n_heaps == 1 && p->after->n_heaps == 1)
				p->of[i] = &p->before->heaps[0];
			if (p->of[i])
				p->used[p->of[i] - p->before->heaps] = true;
		}
}

static void write_alone(FILE *out, const struct snapshot *s, const struct snap_heap *h, const char *file)
{
	fprintf(out, "\n%s (%d)\nonly in %s\n", heap__comm(s, h), (int)heap__pid(s, h), file);
}

void heap_diff__write(FILE *out, const struct snapshot *before, const struct snapshot *after, const struct diff_opts *o)
{
	_cleanup_free_ const struct snap_heap **of = xcalloc(after->n_heaps + 1, sizeof(*of));
	_cleanup_free_ bool *used = xcalloc(before->n_heaps + 1, sizeof(*used));
	struct pairs pairs = { before, after, of, used };

	make_pairs(&pairs);
	fprintf(out, "malloctrace diff  %s -> %s\n", o->before, o->after);
	for (size_t i = 0; i < after->n_heaps; i++)
		if (of[i])
			write_pair(out, after, of[i], &after->heaps[i], o);
		else
			write_alone(out, after, &after->heaps[i], o->after);
	for (size_t i = 0; i < before->n_heaps; i++)
		if (!used[i])
			write_alone(out, before, &before->heaps[i], o->before);
}

const struct snap_heap *heap_diff__unknown(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		if (s->heaps[i].refused)
			return &s->heaps[i];
	return NULL;
}

uint64_t heap_diff__in_use(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_heaps; i++)
		sum += s->heaps[i].bytes;
	return sum;
}
