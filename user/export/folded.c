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
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/export.h"
#include "export/owner.h"
#include "util/util.h"

struct folded_line {
	char *stack;	/* owned */
	uint64_t weight;
};

struct folded_lines vec(struct folded_line);

static void put_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		unsigned char c = *name;

		fputc(c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : c, out);
	}
}

static void put_frame(FILE *out, const struct frame *f)
{
	if (f->line && f->line->function && *f->line->function) {
		put_name(out, f->line->function);
		return;
	}
	if (f->module) {
		put_name(out, path_basename(f->module));
		fputc('+', out);
	}
	fprintf(out, "0x%" PRIx64, f->place->offset);
}

static int put_owner(FILE *out, const struct snapshot *s, const struct snap_site *site)
{
	_cleanup_free_ char *process = NULL, *thread = NULL;

	if (owner__has_process(s)) {
		process = owner__process(s, &s->processes[site->process]);
		if (!process)
			return -ENOMEM;
		put_name(out, process);
		fputc(';', out);
	}
	if (site->tid) {
		thread = owner__thread(site);
		if (!thread)
			return -ENOMEM;
		put_name(out, thread);
		fputc(';', out);
	}
	return 0;
}

static int fold(const struct snapshot *s, const struct snap_site *site, char **ret)
{
	char *stack = NULL;
	size_t len;
	FILE *out = open_memstream(&stack, &len);
	bool failed;
	int err;

	if (!out)
		return -errno;
	err = put_owner(out, s, site);
	if (s->growth) {
		put_name(out, site->function);
		fputc(';', out);
	}
	if (!site->n_stack)
		fputs("[no stack]", out);
	for (uint32_t i = site->n_stack; i--;) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = place__n_frames(p); k--;) {
			struct frame f = place__frame(s, p, k);

			put_frame(out, &f);
			if (i || k)
				fputc(';', out);
		}
	}
	failed = ferror(out);
	if (fclose(out) || failed || err) {
		free(stack);
		return -ENOMEM;
	}
	*ret = stack;
	return 0;
}

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct folded_line *)a)->stack, ((const struct folded_line *)b)->stack);
}

static int collect(struct folded_lines *lines, const struct snapshot *s, const struct metric *metric)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = metric->of(&s->sites[i]);
		struct folded_line *line;
		int err;

		if (!weight)
			continue;
		line = vec_push(lines);
		if (!line)
			return -ENOMEM;
		line->weight = weight;
		err = fold(s, &s->sites[i], &line->stack);
		if (err)
			return err;
	}
	return 0;
}

int folded__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	const struct metric *metric = o && o->metric ? o->metric : metric__preset(s->known);
	struct folded_lines lines = {};
	int err = collect(&lines, s, metric);

	if (!err && lines.n)
		qsort(lines.v, lines.n, sizeof(*lines.v), by_stack);
	for (size_t i = 0, next; !err && i < lines.n; i = next) {
		uint64_t weight = lines.v[i].weight;

		for (next = i + 1; next < lines.n && !by_stack(&lines.v[i], &lines.v[next]); next++)
			weight += lines.v[next].weight;
		fprintf(out, "%s %" PRIu64 "\n", lines.v[i].stack, weight);
	}
	for (size_t i = 0; i < lines.n; i++)
		free(lines.v[i].stack);
	vec_done(&lines);
	if (!err && ferror(out))
		err = -EIO;
	return err ? err_set(e, err, "folded stacks") : 0;
}
