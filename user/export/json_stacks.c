// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how stacks are written, which are nearly all of a profile, and the rows of
 * --free-stacks. What always holds: a place stands in many stacks, and its text is
 * made once.
 */
#include <errno.h>
#include <string.h>

#include "export/json_parts.h"
#include "util/util.h"

static void u64_or_null(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json__u64(j, key, n);
	else
		json__null(j, key);
}

static int by_path(const void *a, const void *b)
{
	const struct snap_module *const *ma = a, *const *mb = b;

	return strcmp((*ma)->path, (*mb)->path);
}

/* Which modules share their path with another one: containers, and files that were replaced. */
static int find_ambiguous(const struct snapshot *s, bool **ret)
{
	bool *ambiguous = calloc(s->n_modules + 1, sizeof(*ambiguous));
	const struct snap_module **v = calloc(s->n_modules + 1, sizeof(*v));

	if (!ambiguous || !v) {
		free(ambiguous);
		free(v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->n_modules; i++)
		v[i] = &s->modules[i];
	qsort(v, s->n_modules, sizeof(*v), by_path);
	for (size_t i = 1; i < s->n_modules; i++)
		if (!by_path(&v[i - 1], &v[i]))
			ambiguous[v[i - 1] - s->modules] = ambiguous[v[i] - s->modules] = true;
	free(v);
	*ret = ambiguous;
	return 0;
}

static void frame(struct json *j, const struct snapshot *s, const struct frame *f, const bool *ambiguous)
{
	json__object(j, NULL);
	if (f->line && f->line->function)
		json__str(j, "function", f->line->function);
	json__str(j, "module", f->module);
	if (f->module && ambiguous[f->place->module])
		json__str(j, "build_id", s->modules[f->place->module].build_id);
	json__hex(j, "offset", f->place->offset);
	if (f->line && f->line->file) {
		json__str(j, "file", f->line->file);
		if (f->line->line)
			json__u64(j, "line", f->line->line);
	}
	json__bool(j, "inlined", f->inlined);
	json__object_end(j);
}

void place_texts__done(struct place_texts *t)
{
	for (size_t i = 0; t->v && i < t->s->n_places; i++)
		free(t->v[i]);
	free(t->v);
	free(t->ambiguous);
}

int place_texts__init(struct place_texts *t, const struct snapshot *s)
{
	*t = (struct place_texts){ .s = s, .v = calloc(s->n_places + 1, sizeof(*t->v)) };
	return t->v ? find_ambiguous(s, &t->ambiguous) : -ENOMEM;
}

/* Its frames, the first one without a comma before it; NULL without memory. */
static const char *place_text(struct place_texts *t, uint32_t i)
{
	const struct place *place = &t->s->places[i];
	struct json j = {};
	size_t len;

	if (t->v[i])
		return t->v[i];
	j.out = open_memstream(&t->v[i], &len);
	if (!j.out)
		return NULL;
	for (size_t k = 0; k < place__n_frames(place); k++) {
		struct frame f = place__frame(t->s, place, k);

		frame(&j, t->s, &f, t->ambiguous);
	}
	if (!fclose(j.out))
		return t->v[i];
	free(t->v[i]);
	t->v[i] = NULL;
	return NULL;
}

int json__stack(struct json *j, uint8_t end, const uint32_t *places, uint32_t n, struct place_texts *texts)
{
	json__str(j, "end", stack_end__name(end));
	json__array(j, "stack");
	for (uint32_t i = 0; i < n; i++) {
		const char *text = place_text(texts, places[i]);

		if (!text)
			return -ENOMEM;
		json__raw(j, NULL, text);
	}
	json__array_end(j);
	json__object_end(j);
	return 0;
}

/* --free-stacks: a place where blocks were freed; "frees" has their numbers, from 0 on. */
static int free_site(struct json *j, const struct snapshot *s, const struct snap_free_site *w, struct place_texts *texts)
{
	const struct snap_process *p = &s->processes[w->process];

	json__line(j, 4);
	json__object(j, NULL);
	json__u64(j, "process", p->id);
	u64_or_null(j, "pid", p->pid > 0, (uint64_t)p->pid);
	json__str(j, "function", w->function);
	json__u64(j, "calls", w->calls);
	json__u64(j, "bytes", w->bytes);
	return json__stack(j, w->end, w->stack, w->n_stack, texts);
}

static void free_row(struct json *j, const struct snap_free *f)
{
	json__line(j, 4);
	json__object(j, NULL);
	json__u64(j, "site", f->site);
	json__u64(j, "where", f->where);
	u64_or_null(j, "tid", f->tid > 0, (uint64_t)f->tid);
	json__str(j, "thread", f->thread);
	json__u64(j, "calls", f->calls);
	json__u64(j, "bytes", f->bytes);
	json__u64(j, "cross_calls", f->cross_calls);
	u64_or_null(j, "lifetime_mean_ns", f->calls, f->calls ? f->lifetime_sum_ns / f->calls : 0);
	json__object_end(j);
}

int json__frees(struct json *j, const struct snapshot *s, struct place_texts *texts)
{
	int err = 0;

	json__line(j, 2);
	json__array(j, "free_sites");
	for (size_t i = 0; i < s->n_free_sites && !err; i++)
		err = free_site(j, s, &s->free_sites[i], texts);
	json__array_end(j);
	json__line(j, 2);
	json__array(j, "frees");
	for (size_t i = 0; i < s->n_frees; i++)
		free_row(j, &s->frees[i]);
	json__array_end(j);
	return err;
}
