// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how stacks are read, which are nearly all of a profile. Few texts of
 * frames are different ones: Jansson parses each of them once.
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

static const struct field frame_fields[] = {
	{ "function", FIELD_STR, offsetof(struct json_frame, function) },
	{ "module", FIELD_STR, offsetof(struct json_frame, module) },
	{ "build_id", FIELD_STR, offsetof(struct json_frame, build_id) },
	{ "offset", FIELD_STR, offsetof(struct json_frame, offset) },
	{ "file", FIELD_STR, offsetof(struct json_frame, file) },
	{ "line", FIELD_U32, offsetof(struct json_frame, line) },
	{ "inlined", FIELD_BOOL, offsetof(struct json_frame, inlined) },
};

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
	struct frame_text *text;	/* of the only one in it; NULL: none that is kept */
	size_t n_run, n;
};

static int end_run(struct reader *r, struct stack_reader *k)
{
	uint32_t *place = k->n_run ? vec_push(&r->stack) : NULL;
	int err = 0;

	if (!k->n_run)
		return 0;
	if (!place)
		return err_set(r->e, -ENOMEM, "out of memory");
	if (k->n_run == 1 && k->text && k->text->place)
		*place = k->text->place - 1;
	else
		err = place_of(r, k->run, k->n_run, place);
	if (!err && k->n_run == 1 && k->text)
		k->text->place = *place + 1;
	k->n_run = 0;
	return err;
}

static int add_frame(struct reader *r, struct stack_reader *k, const struct json_frame *f, struct frame_text *text)
{
	if (++k->n > STACK_MAX)
		return err_set(r->e, -E2BIG, "stack: more than %d of them", STACK_MAX);
	k->run[k->n_run++] = *f;
	k->text = text;
	/* an inlined one belongs to the frame after it, which is at the same address */
	return f->inlined && k->n_run < LINES_MAX ? 0 : end_run(r, k);
}

static int finish(struct reader *r, struct stack_reader *k, struct snap_site *to)
{
	int err = end_run(r, k);
	uint32_t *stack;

	if (err || !r->stack.n)
		return err;
	stack = snapshot__alloc(r->s, r->stack.n, sizeof(*stack));
	memcpy(stack, r->stack.v, r->stack.n * sizeof(*stack));
	to->stack = stack;
	to->n_stack = (uint32_t)r->stack.n;
	return 0;
}

int reader__stack(struct reader *r, json_t *from, struct snap_site *to)
{
	struct stack_reader k = { .n = 0 };
	json_t *array;
	size_t n;
	int err = reader__array(r, from, "stack", STACK_MAX, &array, &n);

	if (err || !n)
		return err;
	r->stack.n = 0;
	for (size_t i = 0; i < n && !err; i++) {
		struct json_frame f = {};

		err = reader__fields(r, json_array_get(array, i), &f, frame_fields, ARRAY_SIZE(frame_fields), "a frame");
		if (!err)
			err = add_frame(r, &k, &f, NULL);
	}
	return err ? err : finish(r, &k, to);
}

/* ---- stacks that are not parsed yet */

/* Texts that collide are parsed each time: that costs time, and nothing else. */
static uint64_t hash(const char *at, size_t len)
{
	uint64_t h = len, word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, at, len);
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static int parse_frame(struct reader *r, const struct span *piece, struct json_frame *to)
{
	json_t *j = reader__parse(r, piece, "a frame");
	int err = j ? reader__fields(r, j, to, frame_fields, ARRAY_SIZE(frame_fields), "a frame") : -EINVAL;

	json_decref(j);
	return err;
}

static int read_frame(struct reader *r, struct stack_reader *k, const struct span *piece)
{
	size_t len = (size_t)(piece->end - piece->at);
	struct json_frame f = {};
	struct frame_text *text;
	uint32_t id;
	bool is_new;
	int err;

	if (key_ids__get(&r->frame_ids, (struct key){ .a = hash(piece->at, len), .b = len }, &id, &is_new) ||
	    (is_new && !vec_push(&r->frames)))
		return err_set(r->e, -ENOMEM, "out of memory");
	text = &r->frames.v[id];
	if (!is_new && !memcmp(text->at, piece->at, len))
		return add_frame(r, k, &text->frame, text);
	err = parse_frame(r, piece, &f);
	if (err || !is_new)
		return err ? err : add_frame(r, k, &f, NULL);
	*text = (struct frame_text){ .at = piece->at, .frame = f };
	return add_frame(r, k, &f, text);
}

/* The array at s, behind which s is then. */
static int read_frames(struct reader *r, struct span *s, struct snap_site *to)
{
	struct stack_reader k = { .n = 0 };
	bool first = true, bad = false;
	struct span piece;
	int err = 0;

	r->stack.n = 0;
	span__take(s, '[');
	while (!err && span__element(s, &first, &piece, &bad))
		err = read_frame(r, &k, &piece);
	if (!err && bad)
		err = err_set(r->e, -EINVAL, "stack: the array does not end");
	return err ? err : finish(r, &k, to);
}

/* Behind the colon of "stack", if that is an array. */
static bool find_stack(struct span *s)
{
	static const char name[] = "\"stack\"";
	struct span key, value, at;

	if (!span__take(s, '{'))
		return false;
	do {
		if (!span__value(s, &key) || !span__take(s, ':'))
			return false;
		at = *s;
		if ((size_t)(key.end - key.at) == strlen(name) && !memcmp(key.at, name, strlen(name)))
			return span__take(&at, '[');
	} while (span__value(s, &value) && span__take(s, ','));
	return false;
}

int reader__stack_text(struct reader *r, const struct span *piece, struct snap_site *to, int (*read)(struct reader *r, json_t *from, void *to),
		       void *arg)
{
	static const char none[] = "null";
	struct span s = *piece, rest;
	_cleanup_free_ char *text = NULL;
	const char *stack;
	json_t *j;
	int err;

	if (!find_stack(&s)) {
		rest = *piece;
	} else {
		stack = s.at;
		err = read_frames(r, &s, to);
		if (err)
			return err;
		/* the others are for Jansson */
		rest.at = text = malloc((size_t)(stack - piece->at) + strlen(none) + (size_t)(piece->end - s.at));
		if (!text)
			return err_set(r->e, -ENOMEM, "out of memory");
		rest.end = mempcpy(mempcpy(mempcpy(text, piece->at, (size_t)(stack - piece->at)), none, strlen(none)), s.at,
				   (size_t)(piece->end - s.at));
	}
	j = reader__parse(r, &rest, "sites");
	err = j ? read(r, j, arg) : -EINVAL;
	json_decref(j);
	return err;
}
