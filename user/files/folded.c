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
#include "files/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/export.h"
#include "files/owner.h"
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
	char *text;
	int n;

	if (f->line && f->line->function && *f->line->function) {
		/* of scripts each file has its "main" and its "<module>" */
		n = frame__origin(f) == f->module ? asprintf(&text, "%s", f->line->function) :
						    asprintf(&text, "%s (%s)", f->line->function, path_tail(frame__origin(f)));
		return n < 0 ? NULL : clean(text);
	}
	if (f->module)
		n = asprintf(&text, "%s+0x%" PRIx64, path_basename(f->module), f->place->offset);
	else
		n = asprintf(&text, "0x%" PRIx64, f->place->offset);
	return n < 0 ? NULL : clean(text);
}

/* The frames of a place, the outermost first. */
static int place_text(const struct snapshot *s, const struct place *p, char **ret)
{
	for (size_t k = place__n_frames(p); k--;) {
		struct frame f = place__frame(s, p, k);
		_cleanup_free_ char *frame = folded__frame(&f), *before = *ret;

		*ret = NULL;
		if (!frame || asprintf(ret, "%s%s%s", before ? before : "", before ? ";" : "", frame) < 0) {
			*ret = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

static int init_texts(struct texts *t, const struct snapshot *s)
{
	int err = 0;

	t->n = s->n_places;
	t->v = calloc(t->n + 1, sizeof(*t->v));
	t->len = calloc(t->n + 1, sizeof(*t->len));
	if (!t->v || !t->len)
		return -ENOMEM;
	for (size_t i = 0; i < t->n && !err; i++) {
		err = place_text(s, &s->places[i], &t->v[i]);
		t->len[i] = err ? 0 : strlen(t->v[i]);
	}
	return err;
}

static void done_texts(struct texts *t)
{
	for (size_t i = 0; t->v && i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	free(t->len);
}

/* What stands before a stack, with a ';' after each: whose it is, and the kind of growth. */
static char *root_text(const struct snapshot *s, const struct snap_site *site)
{
	_cleanup_free_ char *process = NULL, *thread = NULL, *growth = NULL;
	char *text;

	if (owner__has_process(s) && !(process = clean(owner__process(s, &s->processes[site->process]))))
		return NULL;
	if (site->tid && !(thread = clean(owner__thread(site))))
		return NULL;
	if (recording__is_growth(&s->recording) && !(growth = clean(strdup(site->function))))
		return NULL;
	if (asprintf(&text, "%s%s%s%s%s%s", process ? process : "", process ? ";" : "", thread ? thread : "",
		     thread ? ";" : "", growth ? growth : "", growth ? ";" : "") < 0)
		return NULL;
	return text;
}

static int fold(const struct texts *t, const struct snapshot *s, const struct snap_site *site, char **ret)
{
	_cleanup_free_ char *root = root_text(s, site);
	size_t len = root ? strlen(root) : 0, size = len + sizeof("[no stack]");
	char *to;

	for (uint32_t i = 0; i < site->n_stack; i++)
		size += t->len[site->stack[i]] + 1;
	*ret = to = root ? malloc(size) : NULL;
	if (!to)
		return -ENOMEM;
	to = mempcpy(to, root, len);
	if (!site->n_stack)
		to = stpcpy(to, "[no stack]");
	for (uint32_t i = site->n_stack; i--;) {
		to = mempcpy(to, t->v[site->stack[i]], t->len[site->stack[i]]);
		if (i)
			*to++ = ';';
	}
	*to = '\0';
	return 0;
}

/* ---- lines */

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct folded_line *)a)->stack, ((const struct folded_line *)b)->stack);
}

static int collect(struct folded_lines *lines, const struct texts *t, const struct snapshot *s,
		   const struct metric *metric)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = metric__of(metric, &s->sites[i]);
		struct folded_line *line;
		int err;

		if (!weight)
			continue;
		line = vec_push(lines);
		if (!line)
			return -ENOMEM;
		line->weight = weight;
		err = fold(t, s, &s->sites[i], &line->stack);
		if (err)
			return err;
	}
	return 0;
}

int folded__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	const struct metric *metric = o && o->metric ? o->metric : metric__preset(s->known);
	struct folded_lines lines = {};
	struct texts t = {};
	int err = init_texts(&t, s);

	if (!err)
		err = collect(&lines, &t, s, metric);
	if (!err && lines.n)
		qsort(lines.v, lines.n, sizeof(*lines.v), by_stack);
	for (size_t i = 0, next; !err && i < lines.n; i = next) {
		uint64_t weight = lines.v[i].weight;

		for (next = i + 1; next < lines.n && !by_stack(&lines.v[i], &lines.v[next]); next++)
			weight += lines.v[next].weight;
		fputs(lines.v[i].stack, out);
		fprintf(out, " %" PRIu64 "\n", weight);
	}
	for (size_t i = 0; i < lines.n; i++)
		free(lines.v[i].stack);
	vec_done(&lines);
	done_texts(&t);
	if (!err && ferror(out))
		err = -EIO;
	return err ? err_set(e, err, "cannot write the folded stacks: %s", strerror(-err)) : 0;
}
