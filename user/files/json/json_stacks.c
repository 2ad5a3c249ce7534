// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how frames, stacks and modules are written and read. What always holds: a frame stands in
 * many stacks, and its text once in the file; frames that were inlined into each other have
 * numbers in a row, and are one place again when they are read, as is a place that many stacks
 * share.
 */
#include <errno.h>
#include <string.h>

#include "files/json/json_members.h"

/* Far beyond what malloctrace writes. */
#define LINES_MAX 256

/* ---- frames, written */

COMPARATOR(by_path, struct snap_module *const, strcmp((*a)->path, (*b)->path))

/* Which modules share their path with another one: containers, and files that were replaced. */
static bool *find_ambiguous(const struct snapshot *s)
{
	bool *ambiguous = xcalloc(s->n_modules + 1, sizeof(*ambiguous));
	const struct snap_module **v = xcalloc(s->n_modules + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_modules; i++)
		v[i] = &s->modules[i];
	qsort(v, s->n_modules, sizeof(*v), by_path);
	for (size_t i = 1; i < s->n_modules; i++)
		if (!by_path(&v[i - 1], &v[i]))
			ambiguous[v[i - 1] - s->modules] = ambiguous[v[i] - s->modules] = true;
	free(v);
	return ambiguous;
}

#define KNOWN_AMBIGUOUS (1u << 31)	/* of a frame: its module has its path in common with another one */

static const struct field frame_rows[] = {
	ROW("function", FIELD_STR, AT(json_frame, function), .empty = EMPTY_IS_ABSENT),
	ROW("module", FIELD_STR, AT(json_frame, module)),
	ROW("build_id", FIELD_STR, AT(json_frame, build_id), .needs = KNOWN_AMBIGUOUS, .empty = EMPTY_IS_ABSENT),
	ROW("offset", FIELD_ADDR, AT(json_frame, offset)),
	ROW("file", FIELD_STR, AT(json_frame, file), .empty = EMPTY_IS_ABSENT),
	ROW("dir", FIELD_STR, AT(json_frame, dir), .empty = EMPTY_IS_ABSENT),
	ROW("line", FIELD_U32, AT(json_frame, line), .empty = EMPTY_IS_ABSENT),
	ROW("inlined", FIELD_BOOL, AT(json_frame, inlined)),
	ROW("inlines_unknown", FIELD_BOOL, AT(json_frame, split), .empty = EMPTY_IS_ABSENT),
};
static const struct fields frame_fields = { .v = frame_rows, .n = ARRAY_SIZE(frame_rows) };

static void write_frame(struct writer *w, const struct frame *f)
{
	const struct line none = {}, *l = f->line ?: &none;
	bool ambiguous = f->module && w->ambiguous[f->place->module];
	struct json_frame row = { .function = l->function, .module = f->module, .offset = f->place->offset,
				  .file = l->file, .inlined = f->inlined, .split = l->split };

	if (ambiguous)
		row.build_id = w->s->modules[f->place->module].build_id;
	if (l->file) {
		row.dir = l->dir;
		row.line = l->line;
	}
	json__object(w->j, NULL);
	json__row(w->j, &frame_fields, &row, ambiguous ? KNOWN_AMBIGUOUS : 0);
	json__object_end(w->j);
}

void frames__done(struct writer *w)
{
	free(w->first);
	free(w->order);
	free(w->ambiguous);
}

static uint32_t first_of(struct writer *w, uint32_t place)
{
	if (!w->first[place]) {
		w->order[w->n_places++] = place;
		w->first[place] = (uint32_t)w->n_frames + 1;
		w->n_frames += place__n_frames(&w->s->places[place]);
	}
	return w->first[place] - 1;
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

	return ORDER(b->n, a->n) ?: ORDER(x->offset, y->offset) ?:
	       strcmp(place__frame(s, x, 0).module ?: "", place__frame(s, y, 0).module ?: "") ?: ORDER(a->place, b->place);
}

/* Frames that most sites have get the shortest numbers. */
static void number_by_use(struct writer *w)
{
	const struct snapshot *s = w->s;
	_cleanup_free_ struct use *v = xcalloc(s->n_places + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_places; i++)
		v[i].place = (uint32_t)i;
	for (size_t i = 0; i < s->n_sites; i++)
		for (uint32_t k = 0; k < s->sites[i].n_stack; k++)
			v[s->sites[i].stack[k]].n++;
	qsort_r(v, s->n_places, sizeof(*v), by_use, (void *)s);
	for (size_t i = 0; i < s->n_places && v[i].n; i++)
		first_of(w, v[i].place);
}

void frames__init(struct writer *w)
{
	w->first = xcalloc(w->s->n_places + 1, sizeof(*w->first));
	w->order = xcalloc(w->s->n_places + 1, sizeof(*w->order));
	w->ambiguous = find_ambiguous(w->s);
	if (w->terse)
		number_by_use(w);
}

void json__frames(struct writer *w, const struct member *m)
{
	json__array(w->j, m->key);
	for (size_t i = 0; i < w->n_places; i++) {
		const struct place *p = &w->s->places[w->order[i]];

		for (size_t k = 0; k < place__n_frames(p); k++) {
			struct frame one = place__frame(w->s, p, k);

			json__line(w->j, m->row_line);
			write_frame(w, &one);
		}
	}
	json__array_end(w->j);
}

void json__stack(struct writer *w, const struct member *m, const void *row)
{
	const uint32_t *places = *(const uint32_t *const *)((const char *)row + m->offset);
	uint32_t n = *(const uint32_t *)((const char *)row + m->count);

	if (!n && m->empty == EMPTY_IS_ABSENT)
		return;
	json__str(w->j, "end", stack_end__name(m->end ? *((const uint8_t *)row + m->end) : 0));
	json__array(w->j, m->key);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = first_of(w, places[i]);

		for (size_t k = 0; k < place__n_frames(&w->s->places[places[i]]); k++)
			json__u64(w->j, NULL, first + k);
	}
	json__array_end(w->j);
}

/* ---- modules, read */

/*
 * Where the index of a module is kept, -1: there is none yet. Strings are kept once: equal ones are
 * the same pointer.
 */
static int *module_of(struct reader *r, const char *path, const char *build_id)
{
	uint32_t id;
	bool is_new;

	key_ids__get(&r->module_ids, (struct key){ .a = (uintptr_t)path, .b = (uintptr_t)build_id }, &id, &is_new);
	if (is_new)
		*vec_push(&r->module_of_id) = -1;
	return &r->module_of_id.v[id];
}

static void add_module(struct reader *r, const char *path, const char *build_id)
{
	struct snap_module *m = vec_push(&r->modules);
	/* frames name a build id only where several files have the same path */
	const char *const ids[] = { NULL, build_id };

	*m = (struct snap_module){ .path = path, .build_id = build_id };
	for (size_t i = 0; i < (build_id ? 2 : 1); i++) {
		int *v = module_of(r, path, ids[i]);

		if (*v < 0)
			*v = (int)r->modules.n - 1;
	}
}

static int find_module(struct reader *r, const char *path, const char *build_id)
{
	if (!path)
		return -1;
	/* one that "modules" does not list */
	if (*module_of(r, path, build_id) < 0)
		add_module(r, path, build_id);
	return *module_of(r, path, build_id);
}

int reader__modules(struct reader *r, const struct member *m, json_t *from, void *row)
{
	for (size_t i = 0; i < r->s->n_modules; i++) {
		if (!r->s->modules[i].path)
			return err_set(r->e, -EINVAL, "a module: path: want a string");
		add_module(r, r->s->modules[i].path, r->s->modules[i].build_id);
	}
	return 0;
}

/* ---- frames, read */

int reader__offset(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct json_frame *f = row;

	f->has_offset = json_is_string(json_object_get(from, m->key));
	return 0;
}

static const struct member frames = {
	.kind = MEMBER_FRAMES, .key = "frames", .what = "a frame", .fields = &frame_fields,
	MEMBERS(OWN(OWN_FRAME, "offset")), .size = sizeof(struct json_frame), .max = 8000000,
};

/* The place of frames that lie at one address, the innermost first. */
static uint32_t place_of(struct reader *r, const struct json_frame *v, size_t n)
{
	int module = find_module(r, v->module, v->build_id);
	uint32_t chain = 0, place;
	struct line *lines;
	struct key at;
	bool is_new;

	/* a frame that neither name nor source is known of is a place without lines */
	if (n == 1 && !v->function && !v->file)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		struct key key = { .a = (uintptr_t)v[i].function, .b = (uintptr_t)v[i].file,
				   .c = (uint64_t)v[i].line << 32 ^ (uint64_t)chain << 2 ^
					(uint64_t)v[i].split << 1 ^ v[i].inlined };

		key_ids__get(&r->lines, key, &chain, NULL);
		chain++;
	}
	at = (struct key){ (uint64_t)(module + 1), v->offset, chain };
	key_ids__get(&r->places, at, &place, &is_new);
	if (!is_new)
		return place;
	lines = n ? snapshot__alloc(r->s, n, sizeof(*lines)) : NULL;
	for (size_t i = 0; i < n; i++)
		lines[i] = (struct line){ .function = v[i].function, .file = v[i].file,
					  .line = v[i].line, .inlined = i + 1 < n, .dir = v[i].dir,
					  .split = v[i].split };
	*vec_push(&r->place_list) = (struct place){
		.module = module, .offset = v->offset, .resolved = true, .n_lines = (uint16_t)n, .lines = lines,
	};
	return place;
}

/* ---- stacks, read */

static int push_place(struct reader *r, struct json_frame *run, size_t n)
{
	if (!run->has_offset)
		return err_set(r->e, -EINVAL, "a frame: offset: want a string like \"0x1f\"");
	if (!run->place)
		run->place = place_of(r, run, n) + 1;
	*vec_push(&r->stack) = run->place - 1;
	return 0;
}

/*
 * "malloctrace/2": numbers of frames. Those that were inlined have numbers in a row, up to the frame that they
 * are in: the place that begins with a frame is always the same one.
 */
static int read_number(struct reader *r, json_t *array, size_t *at)
{
	json_int_t first = json_integer_value(json_array_get(array, *at));
	struct json_frame *run;
	size_t n = 0;

	if (first < 0 || (uint64_t)first >= r->n_frames)
		return err_set(r->e, -EINVAL, "stack: there is no frame %lld", (long long)first);
	run = &r->frames[first];
	do {
		json_t *v = json_array_get(array, *at + n);

		if (!json_is_integer(v) || json_integer_value(v) != first + (json_int_t)n ||
		    (uint64_t)first + n >= r->n_frames)
			return err_set(r->e, -EINVAL, "stack: after an inlined frame comes the next one");
	} while (run[n++].inlined && n < LINES_MAX);
	*at += n;
	return push_place(r, run, n);
}

/* "malloctrace/1" had the frames themselves in each stack. */
static int read_frames(struct reader *r, json_t *array, size_t n_array, size_t *at)
{
	struct json_frame run[LINES_MAX] = {};
	size_t n = 0;

	do {
		int err = reader__members(r, json_array_get(array, (*at)++), &frames, &run[n]);

		if (err)
			return err;
		/* an inlined one belongs to the frame after it, which is at the same address */
	} while (run[n++].inlined && n < LINES_MAX && *at < n_array);
	return push_place(r, run, n);
}

static int read_end(struct reader *r, json_t *from, uint8_t *ret)
{
	const char *name = json_string_value(json_object_get(from, "end"));

	for (unsigned int i = 0; name && i < SNAPSHOT_N_ENDS; i++)
		if (!strcmp(name, stack_end__name(i))) {
			*ret = (uint8_t)i;
			return 0;
		}
	return name ? err_set(r->e, -EINVAL, "a site: end: want a way in which stacks end") : 0;
}

int reader__stack(struct reader *r, const struct member *m, json_t *from, void *row)
{
	json_t *array = json_object_get(from, m->key);
	uint32_t *stack;
	size_t n, at = 0;
	int err = m->end ? read_end(r, from, (uint8_t *)row + m->end) : 0;

	err = err ?: reader__array(r, array, m, &n);
	r->stack.n = 0;
	while (!err && at < n)
		err = json_is_integer(json_array_get(array, at)) ? read_number(r, array, &at) :
								   read_frames(r, array, n, &at);
	if (err || !r->stack.n)
		return err;
	stack = snapshot__alloc(r->s, r->stack.n, sizeof(*stack));
	memcpy(stack, r->stack.v, r->stack.n * sizeof(*stack));
	*(const void **)((char *)row + m->offset) = stack;
	*(uint32_t *)((char *)row + m->count) = (uint32_t)r->stack.n;
	return 0;
}

int reader__frames(struct reader *r)
{
	const struct span *piece = reader__piece(r, frames.key);
	int err = piece ? reader__count(r, *piece, &frames, &r->n_frames) : 0;

	if (err || !r->n_frames)
		return err;
	r->frames = xcalloc(r->n_frames, sizeof(*r->frames));
	return reader__elements(r, *piece, &frames, r->frames);
}
