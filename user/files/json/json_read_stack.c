// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how frames and stacks are read.
 *
 * What always holds: frames that were inlined into each other are one place
 * again, and a place that many stacks share is one place.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/json/json_fields.h"
#include "util/parse.h"
#include "util/util.h"

/* Far beyond what malloctrace writes: a site has at most 512 places. */
#define STACK_MAX 16384
#define LINES_MAX 256
#define FRAMES_MAX 8000000

/* ---- modules */

/*
 * Where the index of a module is kept, -1: there is none yet. Strings are kept once: equal ones are
 * the same pointer.
 */
static int *module_of(struct reader *r, const char *path, const char *build_id)
{
	uint32_t id;
	bool is_new;

	if (key_ids__get(&r->module_ids, (struct key){ .a = (uintptr_t)path, .b = (uintptr_t)build_id }, &id, &is_new))
		return NULL;
	if (is_new) {
		int *v = vec_push(&r->module_of_id);

		if (!v)
			return NULL;
		*v = -1;
	}
	return &r->module_of_id.v[id];
}

int reader__add_module(struct reader *r, const char *path, const char *build_id)
{
	struct snap_module *m = vec_push(&r->modules);
	/* frames name a build id only where several files have the same path */
	const char *const ids[] = { NULL, build_id };

	if (!m)
		return err_set(r->e, -ENOMEM, "out of memory");
	*m = (struct snap_module){ .path = path, .build_id = build_id };
	for (size_t i = 0; i < (build_id ? 2 : 1); i++) {
		int *v = module_of(r, path, ids[i]);

		if (!v)
			return err_set(r->e, -ENOMEM, "out of memory");
		if (*v < 0)
			*v = (int)r->modules.n - 1;
	}
	return 0;
}

static int find_module(struct reader *r, const char *path, const char *build_id, int *ret)
{
	int *v, err = 0;

	*ret = -1;
	if (!path)
		return 0;
	v = module_of(r, path, build_id);
	if (!v)
		return err_set(r->e, -ENOMEM, "out of memory");
	/* one that "modules" does not list */
	if (*v < 0) {
		err = reader__add_module(r, path, build_id);
		v = module_of(r, path, build_id);
	}
	*ret = v ? *v : -1;
	return err;
}

/* ---- places */

static const struct field frame_rows[] = {
	ROW("function", FIELD_STR, AT(json_frame, function)),
	ROW("module", FIELD_STR, AT(json_frame, module)),
	ROW("build_id", FIELD_STR, AT(json_frame, build_id)),
	ROW("offset", FIELD_STR, AT(json_frame, offset)),
	ROW("file", FIELD_STR, AT(json_frame, file)),
	ROW("dir", FIELD_STR, AT(json_frame, dir)),
	ROW("line", FIELD_U32, AT(json_frame, line)),
	ROW("inlined", FIELD_BOOL, AT(json_frame, inlined)),
};
static const struct fields frame_fields = { frame_rows, ARRAY_SIZE(frame_rows) };

static int parse_hex(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	if (!s || s[0] != '0' || s[1] != 'x' || !s[2] || strlen(s) > 18)
		return -EINVAL;
	for (s += 2; *s; s++) {
		const char *digits = "0123456789abcdef",
			   *d = strchr(digits, *s >= 'A' && *s <= 'F' ? *s + 'a' - 'A' : *s);

		if (!d)
			return -EINVAL;
		n = n << 4 | (uint64_t)(d - digits);
	}
	*ret = n;
	return 0;
}

/* A frame that neither name nor source is known of is a place without lines. */
static bool has_line(const struct json_frame *f)
{
	return f->function || f->file;
}

/* The place of frames that lie at one address, the innermost first. */
static int place_of(struct reader *r, const struct json_frame *v, size_t n, uint32_t *ret)
{
	uint32_t chain = 0;
	struct place *p;
	uint64_t offset = 0;
	bool is_new;
	int module, err = find_module(r, v->module, v->build_id, &module);

	if (!err && parse_hex(v->offset, &offset))
		err = err_set(r->e, -EINVAL, "a frame: offset: want a string like \"0x1f\"");
	if (n == 1 && !has_line(v))
		n = 0;
	for (size_t i = 0; i < n && !err; i++) {
		struct key key = { .a = (uintptr_t)v[i].function, .b = (uintptr_t)v[i].file,
				   .c = (uint64_t)v[i].line << 32 ^ (uint64_t)chain << 1 ^ v[i].inlined };

		err = key_ids__get(&r->lines, key, &chain, NULL);
		chain++;
	}
	if (!err)
		err = key_ids__get(&r->places, (struct key){ (uint64_t)(module + 1), offset, chain }, ret, &is_new);
	if (err || !is_new)
		return err;
	p = vec_push(&r->place_list);
	if (!p)
		return -ENOMEM;
	*p = (struct place){ .module = module, .offset = offset, .resolved = true, .n_lines = (uint16_t)n };
	if (n) {
		struct line *lines = snapshot__alloc(r->s, n, sizeof(*lines));

		for (size_t i = 0; i < n; i++)
			lines[i] = (struct line){ v[i].function, v[i].file, v[i].line, i + 1 < n, v[i].dir };
		p->lines = lines;
	}
	return 0;
}

/* ---- stacks */

static int push_place(struct reader *r, uint32_t place)
{
	uint32_t *slot = vec_push(&r->stack);

	if (!slot)
		return err_set(r->e, -ENOMEM, "out of memory");
	*slot = place;
	return 0;
}

static int read_frame(struct reader *r, json_t *from, void *to)
{
	return reader__row(r, from, to, &frame_fields, "a frame");
}

/*
 * "malloctrace/2": numbers of frames. Those that were inlined have numbers in a row, up to the frame that they
 * are in: the place that begins with a frame is always the same one.
 */
static int read_number(struct reader *r, json_t *array, size_t *at)
{
	json_int_t first = json_integer_value(json_array_get(array, *at));
	struct json_frame run[LINES_MAX];
	struct known_frame *known;
	uint32_t place;
	size_t n = 0;
	int err;

	if (first < 0 || (uint64_t)first >= r->n_frames)
		return err_set(r->e, -EINVAL, "stack: there is no frame %lld", (long long)first);
	known = &r->frames[first];
	do {
		json_t *v = json_array_get(array, *at + n);

		if (!json_is_integer(v) || json_integer_value(v) != first + (json_int_t)n ||
		    (uint64_t)first + n >= r->n_frames)
			return err_set(r->e, -EINVAL, "stack: after an inlined frame comes the next one");
		run[n] = known[n].frame;
	} while (known[n++].frame.inlined && n < LINES_MAX);
	*at += n;
	if (known->place)
		return push_place(r, known->place - 1);
	err = place_of(r, run, n, &place);
	if (err)
		return err == -ENOMEM ? err_set(r->e, err, "out of memory") : err;
	known->place = place + 1;
	return push_place(r, place);
}

/* "malloctrace/1" had the frames themselves in each stack. */
static int read_frames(struct reader *r, json_t *array, size_t n_array, size_t *at)
{
	struct json_frame run[LINES_MAX] = {};
	uint32_t place;
	size_t n = 0;
	int err;

	do {
		err = read_frame(r, json_array_get(array, (*at)++), &run[n]);
		if (err)
			return err;
		/* an inlined one belongs to the frame after it, which is at the same address */
	} while (run[n++].inlined && n < LINES_MAX && *at < n_array);
	err = place_of(r, run, n, &place);
	return err == -ENOMEM ? err_set(r->e, err, "out of memory") : err ? err : push_place(r, place);
}

int reader__stack(struct reader *r, json_t *from, uint32_t *ret_n, const uint32_t **ret)
{
	uint32_t *stack;
	json_t *array;
	size_t n, at = 0;
	int err = reader__array(r, from, "stack", STACK_MAX, &array, &n);

	r->stack.n = 0;
	while (at < n && !err)
		err = json_is_integer(json_array_get(array, at)) ? read_number(r, array, &at) :
								   read_frames(r, array, n, &at);
	if (err || !r->stack.n)
		return err;
	stack = snapshot__alloc(r->s, r->stack.n, sizeof(*stack));
	memcpy(stack, r->stack.v, r->stack.n * sizeof(*stack));
	*ret = stack;
	*ret_n = (uint32_t)r->stack.n;
	return 0;
}

int reader__frames(struct reader *r, const struct span *frames)
{
	int err = reader__count(r, *frames, "frames", FRAMES_MAX, &r->n_frames);

	if (err || !r->n_frames)
		return err;
	r->frames = calloc(r->n_frames, sizeof(*r->frames));
	if (!r->frames)
		return err_set(r->e, -ENOMEM, "out of memory");
	return reader__elements(r, *frames, "frames", read_frame, r->frames, sizeof(*r->frames));
}
