// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Answers about a file: of true ones malloctrace makes the same as if it had read the file itself, and what it makes of others can be used. */
#include <criterion/criterion.h>

#include "cli/reader_kinds.h"
#include "elf/apart.h"
#include "plan_made.h"
#include "probe/plan_apart.h"
#include "process/process.h"
#include "reader_played.h"

/* What a reader would answer. */
static void serve(enum reader_kind kind, const struct object *obj, const struct wire *more, struct wire *ret)
{
	wire_cleanup struct wire args = {};
	struct reader_request q = { .fd = obj ? dup(obj->fd) : -1 };

	if (obj)
		wire__string(&args, obj->path);
	if (more)
		wire__bytes(&args, more->v, more->n);
	q.in = wire__in(&args);
	cr_assert_eq(reader_kinds[kind](&q), 0);
	*ret = q.out;
}

/* A file of which all answers fit a socket: the loader, which every process has mapped. */
static struct object *loader(struct objects *objects)
{
	struct maps maps;
	struct object *obj = NULL;

	cr_assert_eq(maps__read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.n && !obj; i++)
		if (strstr(maps.v[i].path, "/ld-linux"))
			cr_assert_eq(objects__get_path(objects, maps.v[i].path, &obj, NULL), 0);
	maps__done(&maps);
	cr_assert_not_null(obj);
	return obj;
}

struct names {
	size_t n;
	uint64_t sum;
};

static int count_name(const struct object_symbol *s, void *arg)
{
	struct names *n = arg;

	n->n++;
	n->sum += s->value * 31 + s->size * 7 + strlen(s->name) + s->name[0];
	return 0;
}

/* Asks all that there is about one file, and lets the answers be used; whether they were true is of no interest. */
static void ask_about(enum reader_kind kind, struct object *obj, struct plan_of *p)
{
	struct names names = {};
	struct object again = *obj;
	struct variables v;
	struct plan plan;
	uint64_t *starts;
	struct cfi c;
	size_t n;

	switch (kind) {
	case READ_HEADERS:
		again.build_id = NULL;
		again.segments = NULL;
		again.n_segments = 0;
		cr_expect_eq(object_apart__read_headers(&again), 0);
		for (size_t i = 0; i < again.n_segments; i++)
			cr_expect_leq(again.segments[i].vaddr, again.segments[i].vaddr + again.segments[i].mem_size);
		if (again.build_id)
			cr_expect_leq(strlen(again.build_id), 2 * OBJECT_MAX_BUILD_ID_BYTES);
		free(again.build_id);
		free(again.segments);
		break;
	case READ_FUNCTIONS:
		cr_expect_eq(object_apart__each_function(obj, count_name, &names), 0);
		break;
	case READ_STARTS:
		cr_expect_eq(object_apart__function_starts(obj, &starts, &n), 0);
		for (size_t i = 1; i < n; i++)
			cr_expect_leq(starts[i - 1], starts[i]);
		free(starts);
		break;
	case READ_CFI:
		if (cfi_apart__compile(obj, NULL, 0, false, &c, NULL))
			break;
		for (size_t i = 1; i < c.n_rows; i++)
			cr_expect_lt(c.rows[i - 1].pc, c.rows[i].pc);
		cr_expect_eq(cfi__mark_starts(&c), 0);
		cfi__done(&c);
		break;
	case READ_VARIABLES:
		cr_expect_eq(variables_apart__read(obj, NULL, &v), 0);
		for (size_t i = 0; i < v.n; i++)
			cr_expect_lt(v.v[i].name + strlen(variable__name(&v, &v.v[i])), v.names_len);
		variables__done(&v);
		break;
	case READ_PLAN:
		cr_expect_eq(plan_apart__make(p->obj, &p->funcs, &wanted, false, &plan, NULL, NULL), 0);
		for (size_t i = 0; i < plan.n_points; i++) {
			uint64_t vaddr;

			cr_expect_lt(plan.points[i].func, p->funcs.n);
			cr_expect(object__offset_to_vaddr(p->obj, plan.points[i].offset, &vaddr) && object__is_code(p->obj, vaddr));
		}
		plan__done(&plan);
		break;
	default:
		break;
	}
}

static void put_plan_args(struct wire *w, const struct plan_of *p)
{
	wire__u64(w, false);
	wire__bytes(w, &wanted, sizeof(wanted));
	wire__u64(w, p->funcs.n_builtin);
	wire__u64(w, p->funcs.n);
	for (size_t i = 0; i < p->funcs.n; i++) {
		wire__bytes(w, &p->funcs.v[i], sizeof(p->funcs.v[i]));
		wire__string(w, p->funcs.v[i].name);
	}
}

static void answer(const struct wire *w)
{
	play_reader();
	say_frame(FRAME_DONE, 0, w->v, w->n);
}

/* The same as if it had been read here. */
Test(reader, true_answers)
{
	struct objects *objects = objects__new();
	struct object *obj = loader(objects), again = *obj;
	struct names here = {}, apart = {};
	struct wire answers[N_READER_KINDS] = {}, no = {};
	struct plan_of p;
	struct plan plan;
	struct cfi c, d;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	cr_assert_eq(object__for_each_function(obj, count_name, &here, NULL), 0);
	cr_assert_eq(cfi__compile(obj, false, &c, NULL), 0);
	cr_assert_gt(here.n, 2);
	wire__u64(&no, false);
	serve(READ_HEADERS, obj, NULL, &answers[READ_HEADERS]);
	serve(READ_FUNCTIONS, obj, NULL, &answers[READ_FUNCTIONS]);
	serve(READ_CFI, obj, &no, &answers[READ_CFI]);
	no.n = 0;
	put_plan_args(&no, &p);
	serve(READ_PLAN, p.obj, &no, &answers[READ_PLAN]);

	readers__set_apart(on_lost);
	answer(&answers[READ_HEADERS]);
	again.segments = NULL;
	again.n_segments = 0;
	again.build_id = NULL;
	cr_expect_eq(object_apart__read_headers(&again), 0);
	cr_expect_eq(again.n_segments, obj->n_segments);
	for (size_t i = 0; i < obj->n_segments; i++)
		cr_expect(again.segments[i].vaddr == obj->segments[i].vaddr && again.segments[i].file_size == obj->segments[i].file_size &&
			  again.segments[i].exec == obj->segments[i].exec && again.segments[i].write == obj->segments[i].write);
	cr_expect_str_eq(again.build_id, obj->build_id);
	cr_expect_eq(again.dynamic.vaddr, obj->dynamic.vaddr);
	answer(&answers[READ_FUNCTIONS]);
	cr_expect_eq(object_apart__each_function(obj, count_name, &apart), 0);
	cr_expect_eq(apart.n, here.n);
	cr_expect_eq(apart.sum, here.sum);
	answer(&answers[READ_CFI]);
	cr_assert_eq(cfi_apart__compile(obj, NULL, 0, false, &d, NULL), 0);
	cr_expect_eq(d.n_rows, c.n_rows);
	for (size_t i = 0; i < c.n_rows; i++)
		cr_expect(c.rows[i].pc == d.rows[i].pc && !memcmp(&c.rows[i].rule, &d.rows[i].rule, sizeof(c.rows[i].rule)));
	cr_expect_eq(d.starts.n, c.starts.n);
	cr_expect_eq(memcmp(&c.stats, &d.stats, sizeof(c.stats)), 0);
	answer(&answers[READ_PLAN]);
	cr_assert_eq(plan_apart__make(p.obj, &p.funcs, &wanted, false, &plan, NULL, NULL), 0);
	cr_expect_gt(plan.n_points, 20);
	cr_expect_eq(plan.n_points, p.plan.n_points);
	cr_expect_eq(plan.n_funcs, p.plan.n_funcs);
	cr_expect_str_eq(plan.family, "glibc");
	for (size_t i = 0; i < plan.n_points; i++)
		cr_expect(plan.points[i].offset == p.plan.points[i].offset && plan.points[i].how == p.plan.points[i].how &&
			  plan.points[i].sp_delta == p.plan.points[i].sp_delta);
	for (size_t i = 0; i < plan.n_funcs; i++)
		cr_expect_str_eq(plan.funcs[i].why, p.plan.funcs[i].why);
	cr_expect_eq(n_told, 0, "%s", told);
}

/* What there was no time for is no file without anything in it: it is read when it is asked for again. */
Test(reader, headers_later)
{
	struct objects *objects = objects__new();
	struct object *obj = loader(objects), again = *obj;
	struct wire headers = {};

	serve(READ_HEADERS, obj, NULL, &headers);
	again.segments = NULL;
	again.n_segments = 0;
	again.build_id = NULL;
	again.is_elf = false;
	readers__set_apart(on_lost);
	readers__end_at(1);
	cr_expect_eq(object_apart__read_headers(&again), -EINTR);
	readers__end_at(0);
	answer(&headers);
	cr_expect_eq(object_apart__read_headers(&again), 0);
	cr_expect(again.is_elf);
	cr_expect_eq(again.n_segments, obj->n_segments);
	cr_expect_eq(n_told, 0, "%s", told);
}

/* A byte of a true answer is another one, or its end is missing: whatever is made of it can be used. */
Test(reader, false_answers, .timeout = 120)
{
	static const enum reader_kind kinds[] = { READ_HEADERS, READ_FUNCTIONS, READ_STARTS, READ_CFI, READ_VARIABLES, READ_PLAN };
	struct objects *objects = objects__new();
	struct object *obj = loader(objects);
	struct wire answers[ARRAY_SIZE(kinds)] = {};
	wire_cleanup struct wire no = {}, plan_args = {};
	struct plan_of p;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	put_plan_args(&plan_args, &p);
	wire__u64(&no, false);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		serve(kinds[i], kinds[i] == READ_PLAN ? p.obj : obj, kinds[i] == READ_CFI ? &no : kinds[i] == READ_PLAN ? &plan_args : NULL,
		      &answers[i]);
	srand(1);
	readers__set_apart(NULL);
	for (unsigned int turn = 0; turn < 6000; turn++) {
		size_t i = turn % ARRAY_SIZE(kinds), at = (size_t)rand() % answers[i].n, len = answers[i].n;
		unsigned char was = answers[i].v[at];

		/* numbers at the edge first, then anything */
		answers[i].v[at] = turn & 1 ? (unsigned char)rand() : turn & 2 ? 0xff : 0;
		if (turn % 7 == 0)
			answers[i].n = at;
		answer(&answers[i]);
		/* a file that was lost once would not be asked for again */
		close(obj->fd);
		obj->fd = memfd_create("again", 0);
		close(p.obj->fd);
		p.obj->fd = memfd_create("again", 0);
		ask_about(kinds[i], obj, &p);
		answers[i].v[at] = was;
		answers[i].n = len;
	}
}
