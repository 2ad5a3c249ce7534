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
#include "util/hash.h"
#include "util/text.h"
#include "util/util.h"

#define FUNCTIONS 3		/* without --filter and --top */
#define AROUND 4

/* Functions with what all their stacks weigh; only those that are shown are listed line by line. */
struct function {
	struct line of;
	uint64_t weight;
	size_t last_site;	/* + 1 */
};

struct chosen {
	struct vec(struct function) v;
	struct hash at;		/* of struct function: index + 1, by what names it */
};

static uint64_t key_of(const struct line *l)
{
	uint64_t h = hash__bytes(l->function, strlen(l->function));

	h = hash__mix(h, hash__bytes(l->file, strlen(l->file)));
	return hash__mix(h, l->dir ? hash__bytes(l->dir, strlen(l->dir)) : 0);
}

static int add(struct report *r, struct chosen *c, const struct line *l, size_t site)
{
	const struct counters *n = &r->s->sites[site].c;
	uint64_t key = key_of(l);
	size_t at = (size_t)(uintptr_t)hash__get(&c->at, key);
	struct function *f = at ? &c->v.v[at - 1] : vec_push(&c->v);

	if (!f)
		return -ENOMEM;
	if (!at) {
		*f = (struct function){ .of = *l };
		if (hash__put(&c->at, key, (void *)(uintptr_t)c->v.n))
			return -ENOMEM;
	}
	if (f->last_site != site + 1)
		f->weight += r->s->known & HAS_LIVE_BYTES ? n->live_bytes : n->alloc_bytes;
	f->last_site = site + 1;
	return 0;
}

static bool has_source(const struct line *l)
{
	return l && l->function && l->file && l->line;
}

static int choose(struct report *r, struct chosen *c, bool matching)
{
	int err = 0;

	for (size_t i = 0; i < r->s->n_sites && !err; i++) {
		const struct snap_site *site = &r->s->sites[i];
		struct frame told = matching ? (struct frame){} : tellings__of(r->o->tellings, r->s, site);

		if (!matching && has_source(told.line))
			err = add(r, c, told.line, i);
		for (uint32_t k = 0; matching && k < site->n_stack; k++) {
			const struct place *p = &r->s->places[site->stack[k]];

			for (size_t n = 0; n < p->n_lines && !err; n++)
				if (has_source(&p->lines[n]) && filter__names(r->o->filter, p->lines[n].function))
					err = add(r, c, &p->lines[n], i);
		}
	}
	return err;
}

static int by_weight(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return strcmp(a->of.function, b->of.function) ?: strcmp(a->of.file, b->of.file);
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
	if (!l->has_text) {
		para__begin(&r->para, "", 0);
		para__item(&r->para, "its source cannot be shown: %s%s%s: %s", l->of.dir ?: "", l->of.dir ? "/" : "", l->of.file,
			   l->why ? l->why : "it is not in the profile, and not here");
		para__end(&r->para);
	}
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

int report__source(struct report *r)
{
	bool matching = r->o->filter && r->o->filter->has_only;
	size_t most = r->o->top ? r->top : matching ? REPORT_TOP : FUNCTIONS, n;
	struct chosen c = {};
	char shown[FMT_OF_MAX];
	int err = choose(r, &c, matching);

	/* what was matched may be a file or a module */
	if (!err && matching && !c.v.n)
		err = choose(r, &c, false);
	if (!err && c.v.n) {
		qsort(c.v.v, c.v.n, sizeof(*c.v.v), by_weight);
		n = MIN(c.v.n, most);
		fprintf(r->out, "\nSOURCE by %s bytes (%s function%s)\n", r->s->known & HAS_LIVE_BYTES ? "live" : "alloc", fmt_of(shown, n, c.v.n), plural(c.v.n));
		for (size_t i = 0; i < n && !err; i++) {
			struct listing l;

			err = listing__init(&l, r->s, &c.v.v[i].of, AROUND, NULL, NULL);
			if (!err)
				put_listing(r, &l);
			listing__done(&l);
		}
	} else if (!err && r->s->hidden.n_sites && !r->s->n_sites) {
		fprintf(r->out, "\nSOURCE: no site is left by %s\n", r->s->hidden.by);
	} else if (!err) {
		fputs("\nSOURCE: no function of these stacks has a file and a line (no debug symbols?)\n", r->out);
	}
	vec_done(&c.v);
	hash__done(&c.at);
	return err;
}
