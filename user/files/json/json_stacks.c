// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how stacks are written, and the rows of --free-stacks. What always holds: a
 * frame stands in many stacks, and its text once in the file; frames that were
 * inlined into each other have numbers in a row.
 */
#include <errno.h>
#include <string.h>

#include "files/json/json_parts.h"
#include "files/json/json_rows.h"
#include "util/util.h"

/* ---- frames */

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
		if (f->line->dir)
			json__str(j, "dir", f->line->dir);
		if (f->line->line)
			json__u64(j, "line", f->line->line);
	}
	json__bool(j, "inlined", f->inlined);
	json__object_end(j);
}

int frame_numbers__init(struct frame_numbers *f, const struct snapshot *s)
{
	*f = (struct frame_numbers){ .s = s, .first = calloc(s->n_places + 1, sizeof(*f->first)), .order = calloc(s->n_places + 1, sizeof(*f->order)) };
	return f->first && f->order ? find_ambiguous(s, &f->ambiguous) : -ENOMEM;
}

void frame_numbers__done(struct frame_numbers *f)
{
	free(f->first);
	free(f->order);
	free(f->ambiguous);
}

static uint32_t first_of(struct frame_numbers *f, uint32_t place)
{
	if (!f->first[place]) {
		f->order[f->n_places++] = place;
		f->first[place] = (uint32_t)f->n_frames + 1;
		f->n_frames += place__n_frames(&f->s->places[place]);
	}
	return f->first[place] - 1;
}

struct use {
	uint32_t place, n;
};

/* Of those that are used alike, the order is that of the code, not of arrival. */
static int by_use(const void *pa, const void *pb, void *arg)
{
	const struct use *a = pa, *b = pb;
	const struct snapshot *s = arg;
	const struct place *x = &s->places[a->place], *y = &s->places[b->place];
	const char *mx, *my;
	int d;

	if (a->n != b->n)
		return a->n < b->n ? 1 : -1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	mx = place__frame(s, x, 0).module;
	my = place__frame(s, y, 0).module;
	d = strcmp(mx ? mx : "", my ? my : "");
	return d ? d : a->place < b->place ? -1 : 1;
}

int frame_numbers__by_use(struct frame_numbers *f)
{
	const struct snapshot *s = f->s;
	_cleanup_free_ struct use *v = calloc(s->n_places + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_places; i++)
		v[i].place = (uint32_t)i;
	for (size_t i = 0; i < s->n_sites; i++)
		for (uint32_t k = 0; k < s->sites[i].n_stack; k++)
			v[s->sites[i].stack[k]].n++;
	qsort_r(v, s->n_places, sizeof(*v), by_use, (void *)s);
	for (size_t i = 0; i < s->n_places && v[i].n; i++)
		first_of(f, v[i].place);
	return 0;
}

void json__frames(struct json *j, const struct frame_numbers *f)
{
	json__line(j, 2);
	json__array(j, "frames");
	for (size_t i = 0; i < f->n_places; i++) {
		const struct place *p = &f->s->places[f->order[i]];

		for (size_t k = 0; k < place__n_frames(p); k++) {
			struct frame one = place__frame(f->s, p, k);

			json__line(j, 4);
			frame(j, f->s, &one, f->ambiguous);
		}
	}
	json__array_end(j);
}

void json__stack(struct json *j, uint8_t end, const uint32_t *places, uint32_t n, struct frame_numbers *frames)
{
	json__str(j, "end", stack_end__name(end));
	json__array(j, "stack");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = first_of(frames, places[i]);

		for (size_t k = 0; k < place__n_frames(&frames->s->places[places[i]]); k++)
			json__u64(j, NULL, first + k);
	}
	json__array_end(j);
}

/* ---- what sites and free sites have in common */

void json__process_of(struct json *j, const struct snapshot *s, uint32_t process)
{
	const struct snap_process *p = &s->processes[process];

	json__u64(j, "process", p->id);
	if (p->pid > 0)
		json__u64(j, "pid", (uint64_t)p->pid);
	else
		json__null(j, "pid");
}

void json__mean(struct json *j, uint64_t calls, uint64_t sum_ns)
{
	if (calls)
		json__u64(j, "lifetime_mean_ns", sum_ns / calls);
	else
		json__null(j, "lifetime_mean_ns");
}

/* ---- --free-stacks: places where blocks were freed; "frees" has their numbers, from 0 on */

void json__frees(struct json *j, const struct snapshot *s, struct frame_numbers *frames)
{
	json__line(j, 2);
	json__array(j, "free_sites");
	for (size_t i = 0; i < s->n_free_sites; i++) {
		const struct snap_free_site *w = &s->free_sites[i];

		json__line(j, 4);
		json__object(j, NULL);
		json__process_of(j, s, w->process);
		json__row(j, &free_site_fields, w, s->known);
		json__stack(j, w->end, w->stack, w->n_stack, frames);
		json__object_end(j);
	}
	json__array_end(j);
	json__line(j, 2);
	json__array(j, "frees");
	for (size_t i = 0; i < s->n_frees; i++) {
		json__line(j, 4);
		json__object(j, NULL);
		json__row(j, &free_fields, &s->frees[i], s->known);
		json__mean(j, s->frees[i].calls, s->frees[i].lifetime_sum_ns);
		json__object_end(j);
	}
	json__array_end(j);
}
