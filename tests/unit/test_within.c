// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --within: where functions begin and end, in code made up here. */
#include "plan_made.h"
#include "probe/spots.h"

/* f returns, ends by jumping to g, and goes on in f.cold; other is nobody's business */
static const uint32_t code[] = {
	/* f, 0 */ 0xa9bf7bfd,		/* stp x29, x30, [sp, #-16]! */
	0xb4000060,			/* cbz x0, 16 */
	0xa8c17bfd,			/* ldp x29, x30, [sp], #16 */
	0xd65f03c0,			/* 12: ret */
	0xb4000081,			/* cbz x1, 32 */
	0xa8c17bfd,			/* ldp x29, x30, [sp], #16 */
	0x1400000a,			/* 24: b 64 */
	0xd503201f,
	0x14000004,			/* 32: b 48 */
	0xd503201f, 0xd503201f, 0xd503201f,
	/* f.cold, 48 */ 0xa8c17bfd,	/* ldp x29, x30, [sp], #16 */
	0xd65f03c0,			/* 52: ret */
	0xd503201f, 0xd503201f,
	/* g, 64 */ 0xd65f03c0,
	/* other, 68 */ 0xd65f03c0,
};

static void open_code(struct plan_of *p)
{
	struct maker k;
	struct made *m = (struct made *)k.file;

	make(&k, EM_AARCH64, ET_EXEC, code, sizeof(code));
	add(&k, "f", 0, 36, STB_GLOBAL, STT_FUNC);
	add(&k, "f.cold", 48, 8, STB_LOCAL, STT_FUNC);
	add(&k, "g", 64, 4, STB_GLOBAL, STT_FUNC);
	add(&k, "other", 68, 4, STB_GLOBAL, STT_FUNC);
	/* libelf is more exacting than our own reader */
	m->eh.e_ident[EI_VERSION] = EV_CURRENT;
	m->eh.e_version = EV_CURRENT;
	m->eh.e_ehsize = sizeof(m->eh);
	m->sh[1].sh_addralign = 8;
	open_made(p, &k, false);
}

static void look(struct plan_of *p, const char *const *names, struct spots *spots, struct within *ret)
{
	struct spot_points found = {};

	for (; *names; names++)
		cr_assert_eq(spots__add(spots, MT_SPOT_WITHIN_ENTER, "--within", *names, NULL), 0);
	cr_assert_eq(spots__find(spots, p->obj, NULL, &found, NULL), 0);
	cr_assert_eq(within__find(spots, p->obj, &found, ret, NULL), 0);
	vec_done(&found);
}

struct want {
	uint64_t at;
	enum mt_within_kind kind;
};

static void want_points(const struct within *w, const struct want *v, size_t n)
{
	cr_assert_eq(w->points.n, n, "%zu points, want %zu", w->points.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct spot_point *p = NULL;

		for (size_t k = 0; k < w->points.n; k++)
			if (w->points.v[k].offset == CODE_AT + v[i].at)
				p = &w->points.v[k];
		cr_assert_not_null(p, "a point at %llu", (unsigned long long)v[i].at);
		cr_expect_eq(MT_WITHIN_KIND(p->cookie), v[i].kind, "at %llu", (unsigned long long)v[i].at);
		cr_expect_eq(MT_WITHIN_VADDR(p->cookie), BASE + v[i].at);
	}
}

Test(within, every_way_out_has_its_point)
{
	static const struct want want[] = {
		{ 0, MT_WITHIN_ENTER }, { 12, MT_WITHIN_LEAVE }, { 24, MT_WITHIN_JUMP }, { 52, MT_WITHIN_LEAVE }, { 64, MT_WITHIN_LANDED },
	};
	struct spots spots = {};
	struct plan_of p;
	struct within w;

	open_code(&p);
	look(&p, (const char *const[]){ "f", NULL }, &spots, &w);
	cr_assert_eq(w.ranges.n, 2);
	cr_expect_eq(w.ranges.range[0].from, BASE);
	cr_expect_eq(w.ranges.range[0].to, BASE + 48);
	cr_expect_eq(w.ranges.range[1].from, BASE + 48);
	cr_expect_eq(w.ranges.range[1].to, BASE + 64);
	want_points(&w, want, ARRAY_SIZE(want));
	within__number(&w, 1000);
	cr_expect_eq(MT_WITHIN_LIST(w.points.v[0].cookie), 1000);
	want_points(&w, want, ARRAY_SIZE(want));
	within__done(&w);
	spots__done(&spots);
	close_plan(&p);
}

/* Where it jumps to is one of them, too: nothing is handed over. */
Test(within, one_that_leads_to_another)
{
	static const struct want want[] = {
		{ 0, MT_WITHIN_ENTER }, { 12, MT_WITHIN_LEAVE }, { 52, MT_WITHIN_LEAVE }, { 64, MT_WITHIN_ENTER },
	};
	struct spots spots = {};
	struct plan_of p;
	struct within w;

	open_code(&p);
	look(&p, (const char *const[]){ "f", "g", NULL }, &spots, &w);
	cr_expect_eq(w.ranges.n, 3);
	want_points(&w, want, ARRAY_SIZE(want));
	within__done(&w);
	spots__done(&spots);
	close_plan(&p);
}

Test(within, none_is_none)
{
	struct spots spots = {};
	struct plan_of p;
	struct within w;

	open_code(&p);
	look(&p, (const char *const[]){ "h", NULL }, &spots, &w);
	cr_expect_eq(w.ranges.n, 0);
	cr_expect_eq(w.points.n, 0);
	within__done(&w);
	spots__done(&spots);
	close_plan(&p);
}
