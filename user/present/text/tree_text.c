// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
#include <errno.h>
#include <string.h>

#include "present/figures.h"
#include "present/frames.h"
#include "present/text/report_parts.h"
#include "present/tree.h"
#include "util/text.h"
#include "util/util.h"

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
	char a[FMT_MAX], b[FMT_MAX];

	return fprintf(p->r->out, "%*s  %5s  %*s", 9 + p->r->s->estimated, figure(p, a, weight), fmt_share(b, weight, p->whole),
		       (int)MIN(2 * indent, (size_t)INDENT_MAX), "");
}

static int put_node(struct printer *p, uint32_t node, size_t indent)
{
	size_t cols = (size_t)put_figures(p, p->t->v[node].weight, indent), room = p->r->width - cols;
	_cleanup_free_ char *name = tree__name(p->t, node), *shown = NULL, *where = NULL;

	if (!name)
		return -ENOMEM;
	shown = name__shorten(name, room);
	if (!shown)
		return -ENOMEM;
	fputs(shown, p->r->out);
	/* the place in the source, where there is room for it */
	if (text_width(shown) + 8 < room) {
		size_t gap = text_width(shown) < NAME_COLUMNS && room > NAME_COLUMNS + 20 ? NAME_COLUMNS - text_width(shown) : 2;

		where = tree__where(p->t, node, room - text_width(shown) - gap);
		if (!where)
			return -ENOMEM;
		if (*where && text_width(where) + gap + text_width(shown) <= room)
			fprintf(p->r->out, "%*s%s", (int)gap, "", where);
	}
	fputc('\n', p->r->out);
	return 0;
}

static int put_below(struct printer *p, uint32_t node, size_t indent, bool has_siblings)
{
	uint32_t first, n, n_shown = 0;
	uint64_t folded = 0;
	size_t deeper;
	int err = tree__expand(p->t, node);

	if (err)
		return err;
	first = p->t->v[node].first_child;
	n = p->t->v[node].n_children;
	while (n_shown < n && p->t->v[first + n_shown].weight >= p->floor)
		n_shown++;
	for (uint32_t i = n_shown; i < n; i++)
		folded += p->t->v[first + i].weight;
	/* a step to the right only where ways part, and below those that parted */
	deeper = indent + (n > 1 || has_siblings || !p->t->v[node].depth);
	for (uint32_t i = 0; i < n_shown && !err; i++) {
		err = put_node(p, first + i, deeper);
		if (!err)
			err = put_below(p, first + i, deeper, n > 1);
	}
	if (n > n_shown && !err) {
		put_figures(p, folded, deeper);
		fprintf(p->r->out, "%u place%s below %.4g%%\n", n - n_shown, n - n_shown == 1 ? "" : "s", p->threshold_pct);
	}
	return err;
}

static bool is_resident(const struct snap_site *site, void *arg)
{
	return site->growth == GROWTH_FAULT;
}

static bool is_mapped(const struct snap_site *site, void *arg)
{
	return site->growth != GROWTH_FAULT;
}

static int put_tree(struct report *r, const char *of, bool (*keep)(const struct snap_site *site, void *arg))
{
	const struct metric *metric = r->o->metric ? r->o->metric : metric__preset(r->s->known);
	struct tree_opts how = {
		.order = r->o->callees ? TREE_CALLEES : TREE_CALLERS,
		.metric = metric,
		.processes = r->s->n_processes > 1,
		.keep = keep,
	};
	struct printer p = { .r = r, .threshold_pct = r->o->threshold_pct };
	char words[FMT_MAX], a[FMT_MAX];
	struct tree t;
	int err = tree__init(&t, r->s, &how);

	if (err)
		return err;
	p.t = &t;
	p.whole = t.v[0].weight;
	p.floor = MAX((uint64_t)(p.whole * p.threshold_pct / 100), 1u);
	report__metric_words(words, metric);
	fprintf(r->out, "\nTREE of %s%s, %s first (%s)\n", of, words, r->o->callees ? "callees" : "callers", figure(&p, a, p.whole));
	if (p.whole) {
		fputc('\n', r->out);
		put_figures(&p, p.whole, 0);
		fputs("all\n", r->out);
		err = put_below(&p, 0, 0, false);
	}
	tree__done(&t);
	return err;
}

int report__tree(struct report *r)
{
	int err;

	if (!recording__is_growth(&r->s->recording))
		return put_tree(r, "", NULL);
	/* the two are never in one sum */
	err = put_tree(r, "resident memory, ", is_resident);
	return err ? err : put_tree(r, "mapped memory, ", is_mapped);
}
