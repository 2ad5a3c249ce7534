// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Functions and probes of this very program, found by their names. */
#include <criterion/criterion.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "probe/spots.h"
#include "tests/fixtures/usdt.h"

static volatile int sink;

#define FUNCTION(name, label)							\
	__attribute__((noinline, used)) void name(void) __asm__(label);		\
	void name(void)								\
	{									\
		sink++;								\
	}

static __attribute__((noinline, used)) void spots_static(void)
{
	sink++;
}

FUNCTION(spots_plain, "spots_plain")
FUNCTION(spots_copy, "spots_copied.constprop.0")
FUNCTION(spots_copy2, "spots_copied.isra.0")
FUNCTION(spots_cold, "spots_copied.cold")
FUNCTION(spots_method, "_ZN5spots1C6methodEi")
FUNCTION(spots_method2, "_ZN5spots1C6methodEc")
FUNCTION(spots_rust, "_ZN5spots4rust17h0123456789abcdefE")

USDT_SEMAPHORE(spots_semaphore);

static __attribute__((noinline, used)) void spots_probes(void)
{
	USDT("spots", "plain", "0");
	USDT("spots", "counted", "spots_semaphore");
	USDT("spots", "twice", "0");
	sink++;
	USDT("spots", "twice", "0");
}

static struct objects *objects;
static struct object *self;
static uint64_t base;

static int find_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	base = info->dlpi_addr;
	return 1;
}

static void setup(void)
{
	objects = objects__new();
	cr_assert_not_null(objects);
	cr_assert_eq(objects__get_path(objects, "/proc/self/exe", &self, NULL), 0);
	dl_iterate_phdr(find_base, NULL);
	spots_static();
	spots_probes();
}

static void teardown(void)
{
	object__put(self);
	objects__free(objects);
}

TestSuite(spots, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t offset_of(const volatile void *p)
{
	uint64_t offset = 0;

	cr_assert(object__vaddr_to_offset(self, (uint64_t)p - base, &offset));
	return offset;
}

static struct spot_points find(struct spots *s)
{
	struct spot_points p = {};
	struct err e = {};

	cr_assert_eq(spots__find(s, self, "/nonexistent", &p, &e), 0, "%s", err_msg(&e));
	return p;
}

static struct spot_points find_one(const char *text)
{
	struct spots s = {};
	struct spot_points p;

	cr_assert_eq(spots__add(&s, MT_SPOT_MARK, "--mark", text, NULL), 0, "%s", text);
	p = find(&s);
	cr_expect_eq(s.v[0].n_points, p.n, "%s", text);
	for (size_t i = 0; i < p.n; i++)
		cr_expect_eq(p.v[i].cookie, 1);
	spots__done(&s);
	return p;
}

static bool has(const struct spot_points *p, const volatile void *at)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].offset == offset_of(at))
			return true;
	return false;
}

static void expect(const char *text, size_t n, const volatile void *a, const volatile void *b)
{
	struct spot_points p = find_one(text);

	cr_expect_eq(p.n, n, "%s: %zu", text, p.n);
	cr_expect(!a || has(&p, a), "%s", text);
	cr_expect(!b || has(&p, b), "%s", text);
	vec_done(&p);
}

Test(spots, functions)
{
	expect("spots_static", 1, spots_static, NULL);
	expect("spots_plain", 1, spots_plain, NULL);
	expect("spots_copied", 2, spots_copy, spots_copy2);
	expect("spots_copied.cold", 1, spots_cold, NULL);
	expect("spots_copied.isra.0", 1, spots_copy2, NULL);
	expect("spots::C::method", 2, spots_method, spots_method2);
	expect("spots::C::method(int)", 1, spots_method, NULL);
	expect("_ZN5spots1C6methodEc", 1, spots_method2, NULL);
	expect("C::method", 0, NULL, NULL);
	expect("spots::rust", 1, spots_rust, NULL);
	expect("spots_nowhere", 0, NULL, NULL);
	expect("unit-test:spots_plain", 0, NULL, NULL);
	expect("unit-tests:spots_plain", 1, spots_plain, NULL);
	expect("libc.so.6:spots_plain", 0, NULL, NULL);
	expect("/proc/self/exe:spots_plain", 1, spots_plain, NULL);
	/* a function only: data is none */
	expect("spots_semaphore", 0, NULL, NULL);
}

Test(spots, probes)
{
	struct spot_points p = find_one("spots:counted");

	cr_assert_eq(p.n, 1);
	cr_expect_eq(p.v[0].counter, offset_of(&spots_semaphore));
	vec_done(&p);
	p = find_one("spots:plain");
	cr_assert_eq(p.n, 1);
	cr_expect_eq(p.v[0].counter, 0);
	vec_done(&p);
	expect("spots:twice", 2, NULL, NULL);
	expect("unit-tests:spots:twice", 2, NULL, NULL);
	expect("other:spots:twice", 0, NULL, NULL);
	expect("twice", 0, NULL, NULL);
}

/* One instruction may be several of them: the trace begins before what is counted, and ends behind it. */
Test(spots, several_at_one_place)
{
	static const enum mt_spot_kind kinds[] = { MT_SPOT_STOP, MT_SPOT_MARK, MT_SPOT_START, MT_SPOT_TAG };
	struct spots s = {};
	struct spot_points p;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		cr_assert_eq(spots__add(&s, kinds[i], "--x", "spots_plain", NULL), 0);
	cr_assert_eq(spots__add(&s, MT_SPOT_MARK, "--mark", "spots_plain", NULL), 0);
	cr_expect_eq(s.n, 4, "the same twice is one");
	p = find(&s);
	cr_assert_eq(p.n, 1);
	cr_expect_eq(p.v[0].cookie, 0x01020403, "%lx", (long)p.v[0].cookie);
	vec_done(&p);
	spots__done(&s);
}

Test(spots, too_many)
{
	static const char *const same[] = { "spots::C::method", "spots::C::method(int)", "_ZN5spots1C6methodEi", "unit-tests:spots::C::method" };
	struct spots s = {};
	struct spot_points p = {};
	struct err e = {};
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		cr_assert_eq(spots__add(&s, MT_SPOT_MARK, "--mark", same[i], NULL), 0);
		cr_assert_eq(spots__add(&s, MT_SPOT_TAG, "--tag", same[i], NULL), 0);
	}
	cr_expect_eq(spots__find(&s, self, NULL, &p, &e), -E2BIG);
	cr_expect(strstr(err_msg(&e), "no more than 7"), "%s", err_msg(&e));
	err_done(&e);
	for (size_t i = s.n; i < MT_MAX_SPOTS - 1; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		cr_assert_eq(spots__add(&s, MT_SPOT_TAG, "--tag", name, NULL), 0);
	}
	cr_expect_eq(spots__add(&s, MT_SPOT_TAG, "--tag", "one_more", &e), -E2BIG);
	err_done(&e);
	spots__done(&s);
}

Test(spots, no_names)
{
	static const char *const bad[] = { "", ":f", "f:", "a:b:c:d", "a::b:" };
	struct spots s = {};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {};

		cr_expect_eq(spots__add(&s, MT_SPOT_MARK, "--mark", bad[i], &e), -EINVAL, "%s", bad[i]);
		cr_expect(strstr(err_msg(&e), "want FUNC, BINARY:FUNC"), "%s", err_msg(&e));
		err_done(&e);
	}
	cr_expect_eq(s.n, 0);
	spots__done(&s);
}
