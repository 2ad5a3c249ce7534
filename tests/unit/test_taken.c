// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The list of the snapshots that were taken before: kept, written, read, told. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files/json/json_read.h"
#include "model/join.h"
#include "model/marks.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

#define S 1000000000ull

Test(taken, the_newest_are_kept)
{
	struct snapshot *s = snapshot__new();
	struct taken t = {};

	taken__list(&t, s);
	cr_expect_eq(s->n_taken, 0);
	for (uint32_t i = 1; i <= SNAPSHOT_MAX_TAKEN + 10; i++) {
		char why[32];

		snprintf(why, sizeof(why), "live>%uM", i);
		taken__add(&t, i * S, i, i % 2 ? why : NULL);
	}
	s->ended = true;
	s->duration_ns = (SNAPSHOT_MAX_TAKEN + 9) * S;
	taken__list(&t, s);
	taken__done(&t);
	cr_assert_eq(s->n_taken, SNAPSHOT_MAX_TAKEN);
	/* --stop-on: it was taken before the end was known */
	cr_assert_eq(s->taken[s->n_taken - 1].t_ns, s->duration_ns);
	s->n_taken--;
	for (size_t i = 0; i < s->n_taken; i++) {
		cr_assert_eq(s->taken[i].number, i + 11);
		cr_assert_eq(s->taken[i].t_ns, (i + 11) * S);
		cr_assert_eq(!s->taken[i].why, i % 2);
	}
	cr_expect_str_eq(s->taken[0].why, "live>11M");
	snapshot__free(s);
}

Test(taken, is_in_profiles_and_comes_back)
{
	struct snapshot *s = sample__asked(), *again = NULL, *both = NULL;
	_cleanup_free_ char *json = NULL, *text = NULL;
	_cleanup_err_ struct err e = {};

	json = written__as(s, "json", NULL, NULL);
	cr_assert(strstr(json, "\"snapshots\": [\n    {\"t_ns\": 6000000000, \"number\": 1, \"trigger\": null},\n    {\"t_ns\": 12000000000,"), "%.2000s", json);
	cr_assert_eq(json_read__text(json, strlen(json), &again, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(again->n_taken, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(again->taken[i].t_ns, s->taken[i].t_ns);
		cr_expect_eq(again->taken[i].number, s->taken[i].number);
		cr_expect(!again->taken[i].why == !s->taken[i].why && (!s->taken[i].why || !strcmp(again->taken[i].why, s->taken[i].why)));
	}
	text = written__as(again, "text", NULL, NULL);
	cr_expect(strstr(text, "\nearlier snapshots: 3, at 6.0s, at 12.0s (mark reloadConfig #1),\n"), "%.600s", text);

	/* of two traces the moments are not comparable */
	cr_assert_eq(snapshot__join((struct snapshot *[]){ s, again }, (const char *[]){ "a", "b" }, 2, &both, &e), 0, "%s", err_msg(&e));
	cr_expect_eq(both->n_taken, 0);
	snapshot__free(both);
	snapshot__free(again);
	snapshot__free(s);
}

Test(taken, a_profile_that_lies_is_refused)
{
	static const char *const lies[] = { "{}", "[1]", "[{\"t_ns\":-1}]", "[{\"number\":4294967296}]", "[{\"trigger\":7}]" };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_free_ char *text = NULL;
		_cleanup_err_ struct err e = {};
		struct snapshot *s = NULL;

		cr_assert(asprintf(&text, "{\"schema\":\"malloctrace/1\",\"snapshots\":%s,\"totals\":{},\"losses\":{\"total\":0},\"processes\":[],\"sites\":[]}", lies[i]) > 0);
		cr_expect_eq(json_read__text(text, strlen(text), &s, &e), -EINVAL, "%s", lies[i]);
		snapshot__free(s);
	}
}
