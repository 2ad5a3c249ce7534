// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the numbers of functions, and what stands at the root of a stack. What
 * always holds: two functions of the same name in two modules have two numbers,
 * and no stack is empty.
 */
#include "files/functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/owner.h"
#include "util/util.h"

static void add(struct functions *f, const char *name, const char *module, const char *file, uint32_t *ret)
{
	uint32_t ids[3];
	struct function *v;
	bool is_new;

	string_ids__get(&f->strings, name, &ids[0]);
	string_ids__get(&f->strings, module, &ids[1]);
	string_ids__get(&f->strings, file, &ids[2]);
	key_ids__get(&f->keys, (struct key){ ids[0], ids[1], ids[2] }, ret, &is_new);
	if (!is_new)
		return;
	v = vec_push(f);
	*v = (struct function){ name, module, file };
}

/* A name of our own making, which must not be mistaken for a function of a module. */
static void add_made(struct functions *f, const char *module, uint32_t *ret, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void add_made(struct functions *f, const char *module, uint32_t *ret, const char *fmt, ...)
{
	char **slot = vec_push(&f->made);
	va_list ap;

	va_start(ap, fmt);
	*slot = xvasprintf(fmt, ap);
	va_end(ap);
	add(f, *slot, module, NULL, ret);
}

static void add_frame(struct functions *f, const struct frame *frame, struct stack_frame *ret)
{
	const struct line *l = frame->line;

	ret->line = l ? l->line : 0;
	if (l && l->function && *l->function)
		add(f, l->function, frame->module, l->file, &ret->function);
	else if (frame->module)
		add_made(f, frame->module, &ret->function, "%s+0x%" PRIx64, path_basename(frame->module),
			 frame->place->offset);
	else
		add_made(f, NULL, &ret->function, "0x%" PRIx64, frame->place->offset);
}

/* name: taken over */
static void add_owner(struct functions *f, char *name, uint32_t *ret)
{
	*vec_push(&f->made) = name;
	add(f, name, NULL, NULL, ret);
}

static void add_roots(struct functions *f)
{
	const struct snapshot *s = f->s;

	f->of_process = xcalloc(s->n_processes + 1, sizeof(*f->of_process));
	f->of_thread = xcalloc(s->n_sites + 1, sizeof(*f->of_thread));
	for (size_t i = 0; owner__has_process(s) && i < s->n_processes; i++)
		add_owner(f, owner__process(s, &s->processes[i]), &f->of_process[i]);
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].tid)
			add_owner(f, owner__thread(&s->sites[i]), &f->of_thread[i]);
	for (enum growth_kind k = GROWTH_FAULT; recording__is_growth(&s->recording) && k < GROWTH_N_KINDS; k++)
		add(f, growth__name(k), NULL, NULL, &f->of_growth[k]);
	add(f, NO_STACK_NAME, NULL, NULL, &f->no_stack);
	add(f, EVICTED_NAME, NULL, NULL, &f->evicted);
}

void functions__init(struct functions *f, const struct snapshot *s)
{
	size_t n_frames = 0;

	*f = (struct functions){ .s = s };
	for (size_t i = 0; i < s->n_places; i++)
		n_frames += place__n_frames(&s->places[i]);
	f->first = xcalloc(s->n_places + 1, sizeof(*f->first));
	f->of_frame = xcalloc(n_frames + 1, sizeof(*f->of_frame));
	if (n_frames > UINT32_MAX)
		xmalloc__end_of(SIZE_MAX);
	add_roots(f);
	n_frames = 0;
	for (size_t i = 0; i < s->n_places; i++) {
		f->first[i] = (uint32_t)n_frames;
		for (size_t k = 0; k < place__n_frames(&s->places[i]); k++) {
			struct frame frame = place__frame(s, &s->places[i], k);

			f->of_frame[n_frames].place = (uint32_t)i;
			add_frame(f, &frame, &f->of_frame[n_frames++]);
		}
	}
	for (size_t i = 0; i < s->n_sites; i++)
		f->max_frames = MAX(f->max_frames, site__n_frames(s, &s->sites[i]));
	f->max_frames += FUNCTIONS_MAX_ROOTS;
}

void functions__done(struct functions *f)
{
	for (size_t i = 0; i < f->made.n; i++)
		free(f->made.v[i]);
	vec_done(&f->made);
	vec_done(f);
	free(f->first);
	free(f->of_frame);
	free(f->of_process);
	free(f->of_thread);
	string_ids__done(&f->strings);
	key_ids__done(&f->keys);
	*f = (struct functions){};
}

size_t functions__stack(const struct functions *f, const struct snap_site *site, struct stack_frame *buf)
{
	const struct snapshot *s = f->s;
	size_t n = 0;

	if (owner__has_process(s))
		buf[n++] = (struct stack_frame){ f->of_process[site->process], 0, NO_PLACE };
	if (site->tid)
		buf[n++] = (struct stack_frame){ f->of_thread[site - s->sites], 0, NO_PLACE };
	if (site->growth != GROWTH_NONE)
		buf[n++] = (struct stack_frame){ f->of_growth[site->growth], 0, NO_PLACE };
	if (!site->n_stack)
		buf[n++] = (struct stack_frame){ site->evicted_stacks ? f->evicted : f->no_stack, 0, NO_PLACE };
	for (uint32_t i = site->n_stack; i--;) {
		uint32_t place = site->stack[i];

		for (size_t k = place__n_frames(&s->places[place]); k--;)
			buf[n++] = f->of_frame[f->first[place] + k];
	}
	return n;
}
