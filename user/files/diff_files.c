// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a diff looks:
 *
 *	malloctrace diff  before.json -> after.json
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

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "files/export.h"
#include "files/folded.h"
#include "files/json/json_writer.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/telling.h"
#include "util/parse.h"
#include "util/text.h"

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

static char *site_words(const struct diff_row *r, size_t room)
{
	struct frame f = tellings__of(NULL, r->s, r->site);
	_cleanup_free_ char *whole = tellings__name(NULL, r->s, r->site), *name = name__shorten(whole, room);
	_cleanup_free_ char *where = f.place ? frame__where_short(&f, r->s->processes[r->site->process].exe, room / 2) : NULL;
	char *ret = NULL;

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
	size_t used = (size_t)width + 2 * 13 + (d->rates ? 2 : 10);

	snprintf(title[0], sizeof(title[0]), "CHANGE%s", per);
	snprintf(title[1], sizeof(title[1]), "BEFORE%s", per);
	snprintf(title[2], sizeof(title[2]), "AFTER%s", per);
	fprintf(out, "\n%*s %12s %12s  %s%s\n", width, title[0], title[1], title[2], d->rates ? "" : "KIND    ", "SITE");
	for (size_t i = 0; i < n; i++) {
		const struct diff_row *r = &d->rows.v[i];
		_cleanup_free_ char *site = site_words(r, MAX(o->width, used + SITE_LEAST) - used);

		change(d, a, r->before, r->after, r->error);
		if (d->rates)
			fprintf(out, "%*s %12s %12s  %s\n", width, rate(d, o, a, r->after_per_s - r->before_per_s, true),
				rate(d, o, b, r->before_per_s, false), rate(d, o, c, r->after_per_s, false), site);
		else
			fprintf(out, "%*s %12s %12s  %-6s  %s\n", width + (int)(strlen(a) - text_width(a)), a,
				figure(d, o, b, r->before), figure(d, o, c, r->after), diff_kind__name(diff_row__kind(r)), site);
	}
}

static bool has_changed(const struct diff *d, const struct diff_row *r)
{
	return r->before != r->after || (d->rates && r->after_per_s != r->before_per_s && !isnan(r->after_per_s - r->before_per_s));
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
