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
#include <string.h>

#include "model/filter.h"
#include "present/text/report_parts.h"
#include "present/tree.h"
#include "util/hash.h"

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

static void add(struct report *r, struct chosen *c, const struct line *l, size_t site)
{
	const struct counters *n = &r->s->sites[site].c;
	uint64_t key = key_of(l);
	size_t at = (size_t)(uintptr_t)hash__get(&c->at, key);
	struct function *f = at ? &c->v.v[at - 1] : vec_push(&c->v);

	if (!at) {
		*f = (struct function){ .of = *l };
		hash__put(&c->at, key, (void *)(uintptr_t)c->v.n);
	}
	if (f->last_site != site + 1)
		f->weight += r->s->known & HAS_LIVE_BYTES ? n->live_bytes : n->alloc_bytes;
	f->last_site = site + 1;
}

static bool has_source(const struct line *l)
{
	return l && l->function && l->file && l->line;
}

static void choose(struct report *r, struct chosen *c, bool matching)
{
	for (size_t i = 0; i < r->s->n_sites; i++) {
		const struct snap_site *site = &r->s->sites[i];
		struct frame told = matching ? (struct frame){} : tellings__of(r->o->tellings, r->s, site);

		if (!matching && has_source(told.line))
			add(r, c, told.line, i);
		for (uint32_t k = 0; matching && k < site->n_stack; k++) {
			const struct place *p = &r->s->places[site->stack[k]];

			for (size_t n = 0; n < p->n_lines; n++)
				if (has_source(&p->lines[n]) && filter__names(r->o->filter, p->lines[n].function))
					add(r, c, &p->lines[n], i);
		}
	}
}

COMPARATOR(by_weight, struct function,
	   ORDER(b->weight, a->weight) ?: strcmp(a->of.function, b->of.function) ?: strcmp(a->of.file, b->of.file))

/* How wide the columns of a listing are, and what all of its lines begin with. */
struct shape {
	size_t live, blocks, calls, number, indent;
};

static size_t digits(uint64_t n)
{
	return strlen(EXACT(n));
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

	fputc('\n', r->out);
	para__begin(&r->para, "", 0);
	para__item(&r->para, "%s", l->of.function);
	para__item(&r->para, "%s", l->of.file);
	if (live)
		para__item(&r->para, "%s%s in %s block%s", report__mark(r), BYTES(l->sum.live_bytes), EXACT(l->sum.live_blocks), plural(l->sum.live_blocks));
	para__item(&r->para, "%s%s call%s", report__mark(r), EXACT(l->sum.alloc_calls), plural(l->sum.alloc_calls));
	para__end(&r->para);
	if (!l->has_text)
		report__line(r, "its source cannot be shown: %s%s%s: %s", l->of.dir ?: "", l->of.dir ? "/" : "", l->of.file,
			   l->why ? l->why : "it is not in the profile, and not here");
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

void report__source(struct report *r)
{
	bool matching = r->o->filter && r->o->filter->has_only;
	size_t most = r->o->top ? r->top : matching ? REPORT_TOP : FUNCTIONS, n;
	struct chosen c = {};

	choose(r, &c, matching);
	/* what was matched may be a file or a module */
	if (matching && !c.v.n)
		choose(r, &c, false);
	if (c.v.n) {
		qsort(c.v.v, c.v.n, sizeof(*c.v.v), by_weight);
		n = MIN(c.v.n, most);
		fprintf(r->out, "\nSOURCE by %s bytes (%s function%s)\n", r->s->known & HAS_LIVE_BYTES ? "live" : "alloc", OUT_OF(n, c.v.n), plural(c.v.n));
		for (size_t i = 0; i < n; i++) {
			struct listing l;

			listing__init(&l, r->s, &c.v.v[i].of, AROUND, NULL, NULL);
			put_listing(r, &l);
			listing__done(&l);
		}
	} else if (r->s->hidden.n_sites && !r->s->n_sites) {
		fprintf(r->out, "\nSOURCE: no site is left by %s\n", r->s->hidden.by);
	} else {
		fputs("\nSOURCE: no function of these stacks has a file and a line (no debug symbols?)\n", r->out);
	}
	vec_done(&c.v);
	hash__done(&c.at);
}

/* ---- --view tree */

/*
 * Owns --view tree:
 *
 *	TREE of live bytes, callers first (41.1 MiB)
 *
 *	 39.2 MiB   100%  all
 *	 38.0 MiB  96.9%    redis-server (1432)
 *	 31.0 MiB  79.0%      _start                    redis-server+0x45130
 *	 31.0 MiB  79.0%        __libc_start_call_main  libc.so.6+0x27740
 *	 31.0 MiB  79.0%        main                    src/server.c:7280
 *	  1.4 KiB  <0.1%    3 places below 0.5%
 *
 * What always holds: what stands below a line and one step to the right adds up
 * to it, but for what ends there; a function that is all there is below another
 * is not moved to the right, so that a stack of a hundred frames can be read.
 */

#define INDENT_MAX 30
#define NAME_COLUMNS 34

struct printer {
	struct report *r;
	struct tree *t;
	uint64_t whole, floor;
	double threshold_pct;
};

static const char *figure(const struct printer *p, char buf[static FMT_MAX], uint64_t n)
{
	if (strcmp(p->t->o.metric->unit, "bytes"))
		fmt_count(buf, n);
	else
		fmt_bytes(buf, n);
	return report__mark_figure(p->r, buf);
}

/* The columns it printed. */
static int put_figures(struct printer *p, uint64_t weight, size_t indent)
{
	char a[FMT_MAX];

	return fprintf(p->r->out, "%*s  %5s  %*s", 9 + p->r->s->estimated, figure(p, a, weight), SHARE(weight, p->whole),
		       (int)MIN(2 * indent, (size_t)INDENT_MAX), "");
}

static void put_node(struct printer *p, uint32_t node, size_t indent)
{
	size_t cols = (size_t)put_figures(p, p->t->v[node].weight, indent), room = p->r->width - cols;
	_cleanup_free_ char *name = tree__name(p->t, node), *shown = NULL, *where = NULL;

	shown = name__shorten(name, room);
	fputs(shown, p->r->out);
	/* the place in the source, where there is room for it */
	if (text_width(shown) + 8 < room) {
		size_t gap = text_width(shown) < NAME_COLUMNS && room > NAME_COLUMNS + 20 ? NAME_COLUMNS - text_width(shown) : 2;

		where = tree__where(p->t, node, room - text_width(shown) - gap);
		if (*where && text_width(where) + gap + text_width(shown) <= room)
			fprintf(p->r->out, "%*s%s", (int)gap, "", where);
	}
	fputc('\n', p->r->out);
}

static void put_below(struct printer *p, uint32_t node, size_t indent, bool has_siblings)
{
	uint32_t first, n, n_shown = 0;
	uint64_t folded = 0;
	size_t deeper;

	tree__expand(p->t, node);
	first = p->t->v[node].first_child;
	n = p->t->v[node].n_children;
	while (n_shown < n && p->t->v[first + n_shown].weight >= p->floor)
		n_shown++;
	for (uint32_t i = n_shown; i < n; i++)
		folded += p->t->v[first + i].weight;
	/* a step to the right only where ways part, and below those that parted */
	deeper = indent + (n > 1 || has_siblings || !p->t->v[node].depth);
	for (uint32_t i = 0; i < n_shown; i++) {
		put_node(p, first + i, deeper);
		put_below(p, first + i, deeper, n > 1);
	}
	if (n > n_shown) {
		put_figures(p, folded, deeper);
		fprintf(p->r->out, "%u place%s below %.4g%%\n", n - n_shown, plural(n - n_shown), p->threshold_pct);
	}
}

static bool is_resident(const struct snap_site *site, void *arg)
{
	return site->growth == GROWTH_FAULT;
}

static bool is_mapped(const struct snap_site *site, void *arg)
{
	return site->growth != GROWTH_FAULT;
}

static void put_tree(struct report *r, const char *of, bool (*keep)(const struct snap_site *site, void *arg))
{
	const struct metric *metric = r->o->metric ? r->o->metric : metric__preset(r->s->known);
	struct tree_opts how = {
		.order = r->o->callees ? TREE_CALLEES : TREE_CALLERS,
		.metric = metric,
		.processes = r->s->n_processes > 1,
		.keep = keep,
	};
	struct printer p = { .r = r, .threshold_pct = r->o->threshold_pct };
	char a[FMT_MAX];
	struct tree t;

	tree__init(&t, r->s, &how);
	p.t = &t;
	p.whole = t.v[0].weight;
	p.floor = MAX((uint64_t)(p.whole * p.threshold_pct / 100), 1u);
	fprintf(r->out, "\nTREE of %s%s, %s first (%s)\n", of, METRIC_WORDS(metric), r->o->callees ? "callees" : "callers", figure(&p, a, p.whole));
	if (p.whole) {
		fputc('\n', r->out);
		put_figures(&p, p.whole, 0);
		fputs("all\n", r->out);
		put_below(&p, 0, 0, false);
	}
	tree__done(&t);
}

void report__tree(struct report *r)
{
	if (!recording__is_growth(&r->s->recording)) {
		put_tree(r, "", NULL);
		return;
	}
	/* the two are never in one sum */
	put_tree(r, "resident memory, ", is_resident);
	put_tree(r, "mapped memory, ", is_mapped);
}
