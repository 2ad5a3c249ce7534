// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns --view source:
 *
 *	SOURCE by live bytes (1 of 1 function)
 *
 *	token_make, src/session.c, 7.8 MiB in 32,030 blocks, 32,030 calls
 *
 *	     LIVE  BLOCKS   CALLS  LINE
 *	                             41  static char *token_make(struct session *s)
 *	                             42  {
 *	  7.8 MiB  32,030  32,030    43          char *t = malloc(256);
 *
 * With --filter, the functions whose name it matches; else those that the heaviest sites are known by.
 * What always holds: figures are there also where the source is not.
 */
#include <errno.h>
#include <string.h>

#include "model/filter.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/listing.h"
#include "present/telling.h"
#include "present/text/report_parts.h"
#include "util/text.h"
#include "util/util.h"

#define FUNCTIONS 3		/* without --filter and --top */
#define AROUND 4

struct chosen {
	struct vec(struct listing) v;
};

static bool is_chosen(const struct chosen *c, const struct line *l)
{
	for (size_t i = 0; i < c->v.n; i++)
		if (listing__same(&c->v.v[i].of, l))
			return true;
	return false;
}

static int add(struct report *r, struct chosen *c, const struct line *l)
{
	struct listing *slot;

	if (!l || !l->function || !l->file || !l->line || is_chosen(c, l))
		return 0;
	slot = vec_push(&c->v);
	if (!slot)
		return -ENOMEM;
	return listing__init(slot, r->s, l, AROUND, NULL, NULL);
}

static int choose_matching(struct report *r, struct chosen *c)
{
	int err = 0;

	for (size_t i = 0; i < r->s->n_sites; i++)
		for (uint32_t k = 0; k < r->s->sites[i].n_stack; k++) {
			const struct place *p = &r->s->places[r->s->sites[i].stack[k]];

			for (size_t n = 0; n < p->n_lines && !err; n++)
				if (p->lines[n].function && filter__names(r->o->filter, p->lines[n].function))
					err = add(r, c, &p->lines[n]);
		}
	return err;
}

static int choose_telling(struct report *r, struct chosen *c, size_t most)
{
	struct rank k;
	int err = rank__init(&k, r->s, r->s->known & HAS_LIVE_BYTES ? VIEW_LIVE : VIEW_ALLOCS, r->o->sort, false, SIZE_MAX);

	for (size_t i = 0; i < k.n && !err && c->v.n < most; i++) {
		struct frame f = tellings__of(r->o->tellings, r->s, k.v[i]);

		err = add(r, c, f.line);
	}
	rank__done(&k);
	return err;
}

static uint64_t weight(const struct report *r, const struct listing *l)
{
	return r->s->known & HAS_LIVE_BYTES ? l->sum.live_bytes : l->sum.alloc_bytes;
}

/* How wide the columns of a listing are, and what all of its lines begin with. */
struct shape {
	size_t live, blocks, calls, number, indent;
};

static size_t digits(uint64_t n)
{
	char buf[FMT_MAX];

	return strlen(fmt_exact(buf, n));
}

static size_t blanks(const char *text)
{
	return strspn(text, " ");
}

static struct shape shape_of(const struct report *r, const struct listing *l)
{
	struct shape w = { .live = strlen("1023.9 KiB"), .calls = strlen("CALLS"), .number = strlen("LINE"), .indent = SIZE_MAX };

	if (r->s->known & HAS_LIVE_BYTES)
		w.blocks = strlen("BLOCKS");
	for (size_t i = 0; i < l->n; i++) {
		const struct listed_line *at = &l->v[i];

		if (w.blocks && at->calls)
			w.blocks = MAX(w.blocks, digits(at->c.live_blocks) + r->s->estimated);
		if (at->calls)
			w.calls = MAX(w.calls, digits(at->c.alloc_calls) + r->s->estimated);
		w.number = MAX(w.number, (size_t)snprintf(NULL, 0, "%u", at->number));
		if (at->text && *at->text)
			w.indent = MIN(w.indent, blanks(at->text));
	}
	return w;
}

static size_t put_cell(struct report *r, size_t width, bool is, uint64_t n, char *(*fmt)(char buf[static FMT_MAX], uint64_t n))
{
	char buf[FMT_MAX] = "";

	if (!width)
		return 0;
	return (size_t)fprintf(r->out, "%*s  ", (int)width, is && n ? report__mark_figure(r, fmt(buf, n)) : "");
}

static void put_line(struct report *r, const struct shape *w, const struct listed_line *l)
{
	const char *text = l->text && *l->text ? l->text + MIN(w->indent, blanks(l->text)) : "";
	bool live = r->s->known & HAS_LIVE_BYTES;
	size_t cols = put_cell(r, w->live, l->calls, live ? l->c.live_bytes : l->c.alloc_bytes, fmt_bytes), room;

	cols += put_cell(r, w->blocks, l->calls, l->c.live_blocks, fmt_exact);
	cols += put_cell(r, w->calls, l->calls, l->c.alloc_calls, fmt_exact);
	cols += (size_t)fprintf(r->out, "%*u", (int)w->number, l->number);
	room = r->width - cols - 2;
	if (text_width(text) > room)
		fprintf(r->out, "  %.*s…\n", (int)text_head(text, room - 1), text);
	else
		fprintf(r->out, "%s%s\n", *text ? "  " : "", text);
}

static void put_listing(struct report *r, const struct listing *l)
{
	bool live = r->s->known & HAS_LIVE_BYTES;
	struct shape w = shape_of(r, l);
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	fputc('\n', r->out);
	para__begin(&r->para, "", 0);
	para__item(&r->para, "%s", l->of.function);
	para__item(&r->para, "%s", l->of.file);
	if (live)
		para__item(&r->para, "%s%s in %s block%s", report__mark(r), fmt_bytes(a, l->sum.live_bytes), fmt_exact(b, l->sum.live_blocks), plural(l->sum.live_blocks));
	para__item(&r->para, "%s%s call%s", report__mark(r), fmt_exact(c, l->sum.alloc_calls), plural(l->sum.alloc_calls));
	para__end(&r->para);
	if (!l->has_text)
		fprintf(r->out, "its source was not found: %s%s%s\n", l->of.dir ?: "", l->of.dir ? "/" : "", l->of.file);
	if (l->newer)
		fputs("its source is newer than the program: lines may have moved\n", r->out);
	fprintf(r->out, "\n%*s  ", (int)w.live, live ? "LIVE" : "BYTES");
	if (w.blocks)
		fprintf(r->out, "%*s  ", (int)w.blocks, "BLOCKS");
	fprintf(r->out, "%*s  %*s\n", (int)w.calls, "CALLS", (int)w.number, "LINE");
	for (size_t i = 0; i < l->n; i++) {
		if (i && l->v[i].number != l->v[i - 1].number + 1)
			fprintf(r->out, "%*s\n", (int)(w.live + 2 + w.blocks + (w.blocks ? 2 : 0) + w.calls + 2 + w.number), "...");
		put_line(r, &w, &l->v[i]);
	}
}

static void write_all(struct report *r, struct chosen *c, size_t most)
{
	size_t n = MIN(c->v.n, most);
	char shown[FMT_OF_MAX];

	fprintf(r->out, "\nSOURCE by %s bytes (%s function%s)\n", r->s->known & HAS_LIVE_BYTES ? "live" : "alloc", fmt_of(shown, n, c->v.n), plural(c->v.n));
	/* a handful: the heaviest of those that are left, each time */
	for (size_t i = 0; i < n; i++) {
		struct listing *best = &c->v.v[i], swap = *best;

		for (size_t k = i + 1; k < c->v.n; k++)
			if (weight(r, &c->v.v[k]) > weight(r, best))
				best = &c->v.v[k];
		c->v.v[i] = *best;
		*best = swap;
		put_listing(r, &c->v.v[i]);
	}
}

int report__source(struct report *r)
{
	bool matching = r->o->filter && r->o->filter->has_only;
	size_t most = r->o->top ? r->top : matching ? REPORT_TOP : FUNCTIONS;
	struct chosen c = {};
	int err = matching ? choose_matching(r, &c) : 0;

	/* what was matched may be a file or a module */
	if (!err && !c.v.n)
		err = choose_telling(r, &c, most);
	if (!err && c.v.n)
		write_all(r, &c, most);
	else if (!err)
		fputs("\nSOURCE: no function of these stacks has a file and a line (no debug symbols?)\n", r->out);
	for (size_t i = 0; i < c.v.n; i++)
		listing__done(&c.v.v[i]);
	vec_done(&c.v);
	return err;
}
