// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns when missing names are worth a word, and that word. What always holds: it is said of what was looked up; names that
 * nobody asked for are not missing.
 */
#include "present/missing_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/runtimes.h"
#include "present/figures.h"
#include "present/telling.h"
#include "util/parse.h"
#include "util/util.h"

#define FRAMES_MIN 4		/* fewer say nothing about the whole */

static bool is_looked_up(const struct snapshot *s, const struct snap_site *site)
{
	for (uint32_t i = 0; i < site->n_stack; i++)
		if (!s->places[site->stack[i]].resolved)
			return false;
	return true;
}

/* A frame of the program or a library of its own, by its module's number; -1: of what every program has, or of no file. */
static int file_of(const struct snapshot *s, const struct place *p)
{
	struct frame f = place__frame(s, p, place__n_frames(p) - 1);

	return f.module && *f.module == '/' && frame__is_telling(&f) ? p->module : -1;
}

static bool has_name(const struct place *p)
{
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].function && *p->lines[i].function)
			return true;
	return false;
}

static void take_most(const struct snapshot *s, uint64_t *by_file, struct missing_names *m)
{
	for (;;) {
		size_t most = 0;

		for (size_t i = 1; i < s->n_modules; i++)
			if (by_file[i] > by_file[most])
				most = i;
		if (!s->n_modules || !by_file[most])
			return;
		if (m->n_files < MISSING_FILES)
			m->files[m->n_files++] = &s->modules[most];
		else
			m->n_more++;
		by_file[most] = 0;
	}
}

bool missing_names__find(const struct snapshot *s, struct missing_names *ret)
{
	_cleanup_free_ uint64_t *by_file = xcalloc(s->n_modules + 1, sizeof(*by_file));
	_cleanup_free_ uint64_t *frames = xcalloc(s->n_places + 1, sizeof(*frames));	/* by place: in how many stacks it is */
	struct missing_names m = { .what = "frames" };

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint32_t n = is_looked_up(s, site) ? site->n_stack : 0;

		for (uint32_t k = 0; k < n; k++)
			frames[site->stack[k]]++;
	}
	for (size_t i = 0; i < s->n_places; i++) {
		int file = frames[i] ? file_of(s, &s->places[i]) : -1;

		if (file < 0)
			continue;
		m.n_frames += frames[i];
		if (has_name(&s->places[i]))
			continue;
		m.n_unnamed += frames[i];
		by_file[file] += frames[i];
	}
	if (m.n_frames < FRAMES_MIN || m.n_unnamed * 2 < m.n_frames)
		return false;
	take_most(s, by_file, &m);
	*ret = m;
	return true;
}

char *missing_names__words(const struct missing_names *m, const char *install, bool debuginfod, bool traced)
{
	char *ret = NULL;
	size_t len = 0;
	FILE *out = text_stream__open(&ret, &len);

	fprintf(out, "%s of the program's %s have no name (", PERCENT(m->n_unnamed, m->n_frames), m->what);
	for (size_t i = 0; i < m->n_files; i++)
		fprintf(out, "%s%s", i ? ", " : "", path_basename(m->files[i]->path));
	if (m->n_more)
		fprintf(out, " and %zu more", m->n_more);
	if (!traced)
		fputs("): trace where their debug symbols are installed, or with --debuginfod", out);
	else if (install)
		fprintf(out, "): install %s%s", install, debuginfod ? "" : ", or try --debuginfod");
	else
		fprintf(out, "): install their debug symbols, or do not strip them%s", debuginfod ? "" : ", or try --debuginfod");
	text_stream__close(out);
	return ret;
}

static bool is_nameless_python(const struct snapshot *s, const struct place *p)
{
	/* that of code which was reported is not missing as long as nobody has looked it up */
	return p->module >= 0 && (size_t)p->module < s->n_modules && is_python_module(s->modules[p->module].path) &&
	       (p->resolved || !PYTHON_IS_KNOWN(p->offset)) && !has_name(p);
}

/* Stacks that have none of Python's frames, though they ran it. */
static char *no_room_words(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_edges; i++)
		if (!strcmp(s->edges[i].name, "python_unnamed") && s->edges[i].n)
			return xasprintf("%s %s", EXACT(s->edges[i].n), counter__says(s->edges[i].name, s->edges[i].n));
	return NULL;
}

char *missing_names__of_python(const struct snapshot *s)
{
	uint64_t n_stacks = 0, n_nameless = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint32_t k = 0;

		while (k < site->n_stack && !is_nameless_python(s, &s->places[site->stack[k]]))
			k++;
		n_stacks += site->n_stack > 0;
		n_nameless += k < site->n_stack;
	}
	if (!n_nameless)
		return no_room_words(s);
	return xasprintf("%s of %s stacks %s Python frames without a name, which could not be read when the code ran, or not be stored",
			 EXACT(n_nameless), EXACT(n_stacks), n_nameless == 1 ? "has" : "have");
}
