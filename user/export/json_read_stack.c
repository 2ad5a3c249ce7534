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

#include "export/json_fields.h"
#include "util/parse.h"
#include "util/util.h"

/* Far beyond what malloctrace writes: a site has at most 512 places. */
#define STACK_MAX 16384
#define LINES_MAX 256
#define FRAMES_MAX 8000000

/* ---- modules */

/* Where the index of a module is kept, -1: there is none yet. Strings are kept once: equal ones are the same pointer. */
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
	ROW("function", FIELD_STR, offsetof(struct json_frame, function)),
	ROW("module", FIELD_STR, offsetof(struct json_frame, module)),
	ROW("build_id", FIELD_STR, offsetof(struct json_frame, build_id)),
	ROW("offset", FIELD_STR, offsetof(struct json_frame, offset)),
	ROW("file", FIELD_STR, offsetof(struct json_frame, file)),
	ROW("line", FIELD_U32, offsetof(struct json_frame, line)),
	ROW("inlined", FIELD_BOOL, offsetof(struct json_frame, inlined)),
};
static const struct fields frame_fields = { frame_rows, ARRAY_SIZE(frame_rows) };

static int parse_hex(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	if (!s || s[0] != '0' || s[1] != 'x' || !s[2] || strlen(s) > 18)
		return -EINVAL;
	for (s += 2; *s; s++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, *s >= 'A' && *s <= 'F' ? *s + 'a' - 'A' : *s);

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
			lines[i] = (struct line){ v[i].function, v[i].file, v[i].line, i + 1 < n };
		p->lines = lines;
	}
	return 0;
}

/* ---- stacks */

struct stack_reader {
	struct json_frame run[LINES_MAX];	/* frames of one address, as far as they were read */
	struct known_frame *only;	/* the only one in it; NULL: none that is kept */
	size_t n_run;
};

static int end_run(struct reader *r, struct stack_reader *k)
{
	uint32_t *place = k->n_run ? vec_push(&r->stack) : NULL;
	int err = 0;

	if (!k->n_run)
		return 0;
	if (!place)
		return err_set(r->e, -ENOMEM, "out of memory");
	if (k->n_run == 1 && k->only && k->only->place)
		*place = k->only->place - 1;
	else
		err = place_of(r, k->run, k->n_run, place);
	if (!err && k->n_run == 1 && k->only)
		k->only->place = *place + 1;
	k->n_run = 0;
	return err;
}

static int add_frame(struct reader *r, struct stack_reader *k, const struct json_frame *f, struct known_frame *known)
{
	k->run[k->n_run++] = *f;
	k->only = known;
	/* an inlined one belongs to the frame after it, which is at the same address */
	return f->inlined && k->n_run < LINES_MAX ? 0 : end_run(r, k);
}

static int read_frame(struct reader *r, json_t *from, void *to)
{
	return reader__row(r, from, to, &frame_fields, "a frame");
}

/* "malloctrace/1" had the frames themselves in each stack, "malloctrace/2" has their numbers. */
static int read_one(struct reader *r, struct stack_reader *k, json_t *v)
{
	struct json_frame f = {};
	int err;

	if (json_is_integer(v)) {
		json_int_t n = json_integer_value(v);

		if (n < 0 || (uint64_t)n >= r->n_frames)
			return err_set(r->e, -EINVAL, "stack: there is no frame %lld", (long long)n);
		return add_frame(r, k, &r->frames[n].frame, &r->frames[n]);
	}
	err = read_frame(r, v, &f);
	return err ? err : add_frame(r, k, &f, NULL);
}

int reader__stack(struct reader *r, json_t *from, uint32_t *ret_n, const uint32_t **ret)
{
	struct stack_reader k = { .n_run = 0 };
	uint32_t *stack;
	json_t *array;
	size_t n;
	int err = reader__array(r, from, "stack", STACK_MAX, &array, &n);

	r->stack.n = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = read_one(r, &k, json_array_get(array, i));
	if (!err)
		err = end_run(r, &k);
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
