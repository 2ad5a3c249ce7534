// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns folded stacks, `root;...;leaf N`: what flamegraph.pl and its like read.
 *
 * What always holds: no name adds a frame or a line of its own, lines are
 * sorted and no two have the same stack, and the weights add up to the sites'.
 * Sites that differ only in the allocation function fall together: it is no
 * frame. With --mode growth it is the root: resident memory and address space
 * are two graphs, side by side.
 */
#include "files/export_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/export.h"
#include "util/util.h"

struct folded_line {
	char *stack;	/* owned */
	uint64_t weight;
};

struct folded_lines vec(struct folded_line);

/* Of each place, made once: there are many more frames than places. */
struct texts {
	char **v;	/* owned, each */
	size_t *len;
	size_t n;
};

/* ---- texts */

static char *clean(char *text)
{
	for (char *c = text; c && *c; c++)
		*c = *c == ';' ? ':' : (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
	return text;
}

char *folded__frame(const struct frame *f)
{
	/* of scripts each file has its "main" and its "<module>" */
	if (f->line && f->line->function && *f->line->function)
		return clean(frame__origin(f) == f->module ? xstrdup(f->line->function) :
							     xasprintf("%s (%s)", f->line->function, path_tail(frame__origin(f))));
	if (f->module)
		return clean(xasprintf("%s+0x%" PRIx64, path_basename(f->module), f->place->offset));
	return xasprintf("0x%" PRIx64, f->place->offset);
}

/* The frames of a place, the outermost first. */
static char *place_text(const struct snapshot *s, const struct place *p)
{
	char *text = NULL;

	for (size_t k = place__n_frames(p); k--;) {
		struct frame f = place__frame(s, p, k);
		_cleanup_free_ char *frame = folded__frame(&f), *before = text;

		text = xasprintf("%s%s%s", before ? before : "", before ? ";" : "", frame);
	}
	return text;
}

static void init_texts(struct texts *t, const struct snapshot *s)
{
	t->n = s->n_places;
	t->v = xcalloc(t->n + 1, sizeof(*t->v));
	t->len = xcalloc(t->n + 1, sizeof(*t->len));
	for (size_t i = 0; i < t->n; i++) {
		t->v[i] = place_text(s, &s->places[i]);
		t->len[i] = strlen(t->v[i]);
	}
}

/* What stands before a stack, with a ';' after each: whose it is, and the kind of growth. */
static char *root_text(const struct snapshot *s, const struct snap_site *site)
{
	_cleanup_free_ char *process = owner__has_process(s) ? clean(owner__process(s, &s->processes[site->process])) : NULL;
	_cleanup_free_ char *thread = site->tid ? clean(owner__thread(site)) : NULL;
	_cleanup_free_ char *growth = recording__is_growth(&s->recording) ? clean(xstrdup(site->function)) : NULL;

	return xasprintf("%s%s%s%s%s%s", process ? process : "", process ? ";" : "", thread ? thread : "", thread ? ";" : "",
			 growth ? growth : "", growth ? ";" : "");
}

static char *fold(const struct texts *t, const struct snapshot *s, const struct snap_site *site)
{
	_cleanup_free_ char *root = root_text(s, site);
	size_t len = strlen(root), size = len + sizeof("[no stack]");
	char *text, *to;

	for (uint32_t i = 0; i < site->n_stack; i++)
		size += t->len[site->stack[i]] + 1;
	text = to = xmalloc(size);
	to = mempcpy(to, root, len);
	if (!site->n_stack)
		to = stpcpy(to, "[no stack]");
	for (uint32_t i = site->n_stack; i--;) {
		to = mempcpy(to, t->v[site->stack[i]], t->len[site->stack[i]]);
		if (i)
			*to++ = ';';
	}
	*to = '\0';
	return text;
}

/* ---- lines */

COMPARATOR(by_stack, struct folded_line, strcmp(a->stack, b->stack))

static void collect(struct folded_lines *lines, const struct texts *t, const struct snapshot *s,
		   const struct metric *metric)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = metric__of(metric, &s->sites[i]);
		struct folded_line *line;

		if (!weight)
			continue;
		line = vec_push(lines);
		line->weight = weight;
		line->stack = fold(t, s, &s->sites[i]);
	}
}

int folded__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	const struct metric *metric = o && o->metric ? o->metric : metric__preset(s->known);
	struct folded_lines lines = {};
	struct texts t = {};

	init_texts(&t, s);
	collect(&lines, &t, s, metric);
	vec_sort(&lines, by_stack);
	for (size_t i = 0, next; i < lines.n; i = next) {
		uint64_t weight = lines.v[i].weight;

		for (next = i + 1; next < lines.n && !by_stack(&lines.v[i], &lines.v[next]); next++)
			weight += lines.v[next].weight;
		fputs(lines.v[i].stack, out);
		fprintf(out, " %" PRIu64 "\n", weight);
	}
	for (size_t i = 0; i < lines.n; i++)
		free(lines.v[i].stack);
	vec_done(&lines);
	for (size_t i = 0; i < t.n; i++)
		free(t.v[i]);
	free(t.v);
	free(t.len);
	return ferror(out) ? err_set(e, -EIO, "cannot write the folded stacks: %s", strerror(EIO)) : 0;
}
