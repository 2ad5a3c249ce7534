// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what all questions about objects have in common: which file, and which other files go with it; and the question what a file
 * says: headers, symbols, unwind rows, variables.
 */
#include <errno.h>

#include "elf/apart.h"
#include "elf/cfi_parts.h"
#include "elf/debugfile.h"
#include "util/log.h"

#define NAME_BYTES_MAX (1u << 20)
#define WORDS_MAX 1023		/* of an error's sentence */

/* ---- any question */

static int on_wish(struct wire_in *wish, void *arg)
{
	const struct apart *a = arg;

	return debugfile__grant(wish, a->obj, a->debug_dir, a->debuginfod);
}

void apart__done(struct apart *a)
{
	wire__done(&a->answer);
}

int apart__ask(struct apart *a, const void *args, void *ret, struct err *e)
{
	wire_cleanup struct wire sent = {};
	const char *said;
	struct wire_in in;
	int err;

	a->call = (struct reader_call){
		.kind = a->about->kind,
		.reader = a->reader,
		.path = a->obj ? a->obj->path : a->path,
		.fd = a->obj ? a->obj->fd : a->fd,
		.in_figures = a->for_probes && !(a->obj && a->obj->unprobed),
		.args = &sent,
		.on_wish = a->obj ? on_wish : NULL,
		.arg = a,
	};
	wire__string(&sent, a->call.path);
	wire__put(&sent, a->about->args, args);
	err = reader__ask(&a->call, &a->answer);
	in = wire__in(&a->answer);
	if (!err && wire_in__get(&in, a->about->answer, ret)) {
		if (wire_in__is_over(&in))
			return 0;
		return apart__distrust(a, ret);
	}
	wire_type__clear(a->about->answer, ret);
	if (!err)
		return reader__distrust(&a->call);
	if (err == READER_LOST || err == -EINTR)
		return err;
	said = wire_in__string(&in, WORDS_MAX);
	if (said)
		clean_name((char *)said);
	return err_set(e, err, "%s", said ? said : strerror(-err));
}

int apart__distrust(struct apart *a, void *ret)
{
	wire_type__done(a->about->answer, ret);
	return reader__distrust(&a->call);
}

int apart__refuse(struct apart *a, struct object *obj, void *ret)
{
	bool told = obj->changed;

	if (!object__look_for_change(obj))
		return apart__distrust(a, ret);
	if (!told)
		say("%s was written to while it was read: what processes that run its old code allocate is not seen", obj->path);
	wire_type__done(a->about->answer, ret);
	return READER_LOST;
}

struct object *apart__object(struct reader_request *q)
{
	struct object *obj = q->path && q->fd >= 0 ? object__over(q->fd, q->path) : NULL;

	q->fd = -1;
	return obj;
}

/* ---- what a file says */

static const struct wire_field request_fields[] = {
	WIRE_UPTO(struct file_request, part, N_FILE_PARTS - 1),
	WIRE_BOOL(struct file_request, calls_only),
	WIRE_NAME(struct file_request, name, NAME_BYTES_MAX),
	WIRE_ANY(struct file_request, vaddr),
};

static const struct wire_type request_type = WIRE_TYPE(struct file_request, request_fields);

static const struct wire_field part_fields[] = {
	WIRE_ANY(struct object_part, vaddr),
	WIRE_UPTO(struct object_part, file_off, INT64_MAX),
	WIRE_ANY(struct object_part, file_size),
};

static const struct wire_type part_type = WIRE_TYPE(struct object_part, part_fields);

static const struct wire_field segment_fields[] = {
	WIRE_ANY(struct object_segment, vaddr),
	WIRE_ANY(struct object_segment, file_off),
	WIRE_ANY(struct object_segment, file_size),
	WIRE_ANY(struct object_segment, mem_size),
	WIRE_BOOL(struct object_segment, exec),
	WIRE_BOOL(struct object_segment, write),
};

/* Nothing in it wraps around: what is added up later need not mind that. */
static bool is_segment(const void *record)
{
	const struct object_segment *s = record;

	return s->vaddr <= UINT64_MAX - s->mem_size && s->vaddr <= UINT64_MAX - s->file_size && s->file_off <= UINT64_MAX - s->file_size;
}

static const struct wire_type segment_type = WIRE_TYPE(struct object_segment, segment_fields, is_segment);

static const struct wire_field headers_fields[] = {
	WIRE_ANY(struct object, machine),
	WIRE_BOOL(struct object, is_elf),
	WIRE_BOOL(struct object, is_64),
	WIRE_BOOL(struct object, is_exec),
	WIRE_ANY(struct object, tls_bytes),
	WIRE_ANY(struct object, build_id_off),
	WIRE_OWN(struct object, build_id, 2 * OBJECT_MAX_BUILD_ID_BYTES),
	WIRE_PLAIN_VEC(struct object, sections),
	WIRE_PART(struct object, dynamic, &part_type),
	WIRE_PART(struct object, eh_frame_hdr, &part_type),
	WIRE_LIST(struct object, segments, n_segments, &segment_type),
};

static bool are_headers(const void *record)
{
	const struct object *obj = record;
	const char *id = obj->build_id;

	return obj->sections.n <= OBJECT_MAX_SECTION_BYTES && (!obj->sections.n || !obj->sections.v[obj->sections.n - 1]) &&
	       (!id || (*id && strlen(id) % 2 == 0 && strspn(id, "0123456789abcdef") == strlen(id)));
}

static const struct wire_type headers_type = WIRE_TYPE(struct object, headers_fields, are_headers);

static const struct wire_field cfi_fields[] = {
	WIRE_ANY(struct cfi, machine),
	WIRE_RAW(struct cfi, stats),
	WIRE_PLAIN_VEC(struct cfi, rules),
	WIRE_PLAIN(struct cfi, rows, n_rows),
	WIRE_PLAIN_VEC(struct cfi, starts),
};

static bool is_rule(const struct mt_rule *r)
{
	return r->cfa <= MT_CFA_UNSUPPORTED && r->ra <= MT_SAVED_UNSUPPORTED && r->fp <= MT_SAVED_UNSUPPORTED && r->record <= 1 && !r->pad2;
}

/* What looks rows up goes by their order, and by the last one. */
static bool is_cfi(const void *record)
{
	const struct cfi *c = record;
	bool is = c->n_rows <= 2 + (size_t)CFI_MAX_ROWS && (c->rules.n ? c->rules.v[0].cfa == MT_CFA_NONE : !c->n_rows && !c->starts.n);

	for (size_t i = 0; i < c->rules.n && is; i++)
		is = is_rule(&c->rules.v[i]);
	for (size_t i = 0; i < c->n_rows && is; i++)
		is = c->rows[i].rule < c->rules.n && !c->rows[i].flags && (!i || c->rows[i].pc > c->rows[i - 1].pc);
	for (size_t i = 0; i < c->starts.n && is; i++)
		is = c->starts.v[i].after_call <= 1 && (!i || c->starts.v[i].pc > c->starts.v[i - 1].pc);
	return is && (!c->n_rows || cfi__rule(c, &c->rows[c->n_rows - 1])->cfa == MT_CFA_NONE);
}

static const struct wire_type cfi_type = WIRE_TYPE(struct cfi, cfi_fields, is_cfi);

static const struct wire_field variables_fields[] = {
	{ WIRE_MANY(WIRE_ARRAY, struct variables, v, n), .room_at = offsetof(struct variables, room) },
	WIRE_PLAIN_VEC(struct variables, names),
};

/* What other code goes by: by address, none overlaps another, and each name ends. */
static bool are_variables(const void *record)
{
	const struct variables *all = record;
	bool are = !all->n || (all->names.n && !all->names.v[all->names.n - 1]);

	for (size_t i = 0; i < all->n && are; i++)
		are = all->v[i].name < all->names.n && all->v[i].start < all->v[i].end && (!i || all->v[i].start >= all->v[i - 1].end);
	return are;
}

static const struct wire_type variables_type = WIRE_TYPE(struct variables, variables_fields, are_variables);

static const struct wire_field answer_fields[] = {
	WIRE_PART(struct file_answer, headers, &headers_type),
	WIRE_PLAIN_VEC(struct file_answer, functions),
	WIRE_PLAIN_VEC(struct file_answer, names),
	WIRE_PLAIN_VEC(struct file_answer, starts),
	WIRE_PART(struct file_answer, cfi, &cfi_type),
	WIRE_PART(struct file_answer, variables, &variables_type),
	WIRE_BOOL(struct file_answer, has),
	WIRE_ANY(struct file_answer, address),
	WIRE_OWN(struct file_answer, name, DEMANGLE_OUT_MAX),
};

static bool is_answer(const void *record)
{
	const struct file_answer *a = record;
	bool is = !a->functions.n || (a->names.n && !a->names.v[a->names.n - 1]);

	for (size_t i = 0; i < a->functions.n && is; i++)
		is = a->functions.v[i].name < a->names.n;
	for (size_t i = 1; i < a->starts.n && is; i++)
		is = a->starts.v[i] >= a->starts.v[i - 1];
	return is;
}

static const struct wire_type answer_type = WIRE_TYPE(struct file_answer, answer_fields, is_answer);

/* ---- in the sandbox */

static int add_function(const struct object_symbol *s, void *arg)
{
	struct file_answer *to = arg;

	*vec_push(&to->functions) = (struct file_function){ s->value, s->size, to->names.n, s->ifunc, s->local };
	vec_append(&to->names, s->name, strlen(s->name) + 1);
	return 0;
}

static int serve_object(const struct file_request *of, struct object *obj, struct file_answer *to, struct err *e)
{
	switch (of->part) {
	case FILE_HEADERS:
		to->headers = *obj;
		obj->build_id = NULL;
		obj->segments = NULL;
		obj->sections = (__typeof__(obj->sections)){};
		return 0;
	case FILE_FUNCTIONS:
		object__for_each_function(obj, add_function, to);
		return 0;
	case FILE_STARTS:
		object__function_starts(obj, &to->starts.v, &to->starts.n);
		return 0;
	case FILE_CFI:
		return cfi__compile(obj, of->calls_only, &to->cfi, e);
	case FILE_VARIABLES:
		variables__read(obj, NULL, &to->variables);
		return 0;
	case FILE_ADDRESS:
		to->has = object__initial_address(obj, of->vaddr, &to->address);
		return 0;
	case FILE_INLINED:
		to->has = of->name && defined__may_be_inlined(obj, NULL, of->name);
		return 0;
	default:
		return -EINVAL;
	}
}

static int serve(struct reader_request *q, const void *args, void *ret)
{
	const struct file_request *of = args;
	struct file_answer *to = ret;
	char buf[DEMANGLE_OUT_MAX + 1];
	struct object *obj;
	int err;

	if (of->part == FILE_DEMANGLED) {
		if (!of->name)
			return -EINVAL;
		demangle(of->name, buf);
		to->name = xstrdup(buf);
		return 0;
	}
	obj = apart__object(q);
	err = obj ? serve_object(of, obj, to, &q->e) : -EINVAL;
	object__put(obj);
	return err;
}

const struct reader_question file_question = { READ_FILE, &request_type, &answer_type, serve };

/* ---- in malloctrace */

void file_answer__done(struct file_answer *got)
{
	wire_type__done(&answer_type, got);
}

bool file__asks(struct apart about, struct file_request what, struct file_answer *ret, struct err *e)
{
	if (!readers__are_apart())
		return false;
	about.about = &file_question;
	ret->err = apart__ask(&about, &what, ret, e);
	apart__done(&about);
	return true;
}

bool object__is_lost(const struct object *obj)
{
	return readers__has_lost(obj->fd);
}
