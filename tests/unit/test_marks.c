// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/json/json_read.h"
#include "model/group.h"
#include "model/marks.h"
#include "written.h"

#define S 1000000000ull

static struct snapshot *made(const struct snap_process *processes, size_t n)
{
	struct snapshot *s = snapshot__new();

	cr_assert_not_null(s);
	s->version = s->kernel = s->arch = "";
	s->observed_share = 1;
	s->recording = (struct recording)RECORDING_PRESET;
	s->known = HAS_ALL;
	s->processes = processes;
	s->n_processes = n;
	s->duration_ns = 60 * S;
	return s;
}

static const struct snap_process two[] = {
	{ .id = 3, .pid = 100, .comm = "a", .exe = "/a" },
	{ .id = 7, .pid = 200, .comm = "b", .exe = "/b" },
};

/* More than there is room for: the newest stay, in order; all are counted. */
Test(marks, newest)
{
	struct marks m = {};
	struct snapshot *s = made(two, 2);

	for (uint32_t i = 1; i <= MARKS_MAX + 100; i++)
		marks__add(&m, &(struct snap_mark){ .name = "f", .process = 7, .number = i, .t_ns = i, .whole = i % 10 == 0 });
	marks__list(&m, 5000, s);
	cr_expect_eq(s->n_marks, MARKS_MAX);
	cr_expect_eq(s->marks[0].number, 101);
	cr_expect_eq(s->marks[MARKS_MAX - 1].number, MARKS_MAX + 100);
	for (size_t i = 1; i < s->n_marks; i++)
		cr_assert_eq(s->marks[i].number, s->marks[i - 1].number + 1);
	cr_expect_eq(s->marks[0].process, 1);
	cr_expect_eq(s->n_marks_seen, 5000);
	cr_expect_eq(s->n_marks_whole, (MARKS_MAX + 100) / 10);
	/* of a life that is nobody's row any more */
	marks__add(&m, &(struct snap_mark){ .name = "f", .process = 99, .number = 1 });
	marks__list(&m, 0, s);
	cr_expect_eq(s->n_marks, MARKS_MAX - 1);
	cr_expect_eq(s->n_marks_seen, MARKS_MAX + 101);
	snapshot__free(s);
	marks__done(&m);
}

static const struct snap_mark rows[] = {
	{ .name = "handle", .number = 1, .process = 0, .tid = 100, .t_ns = 2 * S, .live_bytes = 10, .whole = true, .alloc_calls = 1, .alloc_bytes = 20,
	  .live_blocks = 3, .all_live_bytes = 40 },
	{ .name = "handle", .number = 2, .process = 1, .tid = 201, .t_ns = 5 * S, .live_bytes = 11 },
	{ .name = "ns::f(int, int)", .number = 2, .process = 1, .tid = 201, .t_ns = 9 * S, .live_bytes = 12 },
};

static void expect_moment(const struct snapshot *s, const char *text, uint64_t want_ns, const char *says)
{
	_cleanup_err_ struct err e = {};
	uint64_t ns = 0;
	int err = marks__moment(s, text, &ns, &e);

	cr_expect_eq(err, says ? -EINVAL : 0, "%s: %s", text, err_msg(&e));
	cr_expect_eq(ns, want_ns, "%s", text);
	cr_expect(!says || strstr(err_msg(&e), says), "%s: %s", text, err_msg(&e));
}

Test(marks, moments)
{
	struct snapshot *s = made(two, 2);

	expect_moment(s, "mark:1", 0, "has no marks");
	s->marks = rows;
	s->n_marks = 2;
	expect_moment(s, "10s", 10 * S, NULL);
	expect_moment(s, "mark:1", 2 * S, NULL);
	expect_moment(s, "mark:2", 5 * S, NULL);
	expect_moment(s, "handle#2", 5 * S, NULL);
	expect_moment(s, "mark:3", 0, "lists handle#1 to handle#2");
	expect_moment(s, "handl#2", 0, "no such mark");
	s->n_marks = 3;
	expect_moment(s, "mark:1", 0, "want handle#1, ns::f(int, int)#1");
	expect_moment(s, "ns::f(int, int)#2", 9 * S, NULL);
	expect_moment(s, "handle#2", 5 * S, NULL);
	cr_expect(marks__is_moment("mark:1") && marks__is_moment("f#1") && marks__is_moment("5m") && marks__is_moment("0"));
	cr_expect(!marks__is_moment("mark:") && !marks__is_moment("mark:0") && !marks__is_moment("#1") && !marks__is_moment("f#x") &&
		  !marks__is_moment("") && !marks__is_moment("mark:99999999999"));
	snapshot__free(s);
}

Test(marks, json)
{
	struct snapshot *s = made(two, 2), *back;

	s->marks = rows;
	s->n_marks = 3;
	s->n_marks_seen = 1000;
	s->n_marks_whole = 30;
	s->started_on = "begin";
	s->stopped_on = "end";
	s->waiting_for = "begin";
	back = written__read_back(s);
	cr_assert_eq(back->n_marks, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct snap_mark *a = &rows[i], *b = &back->marks[i];

		cr_expect_str_eq(a->name, b->name);
		cr_expect(a->number == b->number && a->process == b->process && a->tid == b->tid && a->t_ns == b->t_ns && a->live_bytes == b->live_bytes &&
			  a->whole == b->whole && a->alloc_calls == b->alloc_calls && a->alloc_bytes == b->alloc_bytes &&
			  a->live_blocks == b->live_blocks && a->all_live_bytes == b->all_live_bytes);
	}
	cr_expect_eq(back->n_marks_seen, 1000);
	cr_expect_eq(back->n_marks_whole, 30);
	cr_expect_str_eq(back->started_on, "begin");
	cr_expect_str_eq(back->stopped_on, "end");
	cr_expect_str_eq(back->waiting_for, "begin");
	snapshot__free(back);
	snapshot__free(s);
}

Test(marks, json_that_lies)
{
	static const struct {
		const char *marks;
		int err;
		size_t n;
	} cases[] = {
		{ "[{\"name\": \"f\", \"number\": 1, \"process\": 99, \"tid\": 1, \"t_ns\": 0}]", 0, 0 },
		{ "[{\"number\": 1}]", -EINVAL, 0 },
		{ "[{\"name\": 3}]", -EINVAL, 0 },
		{ "{}", -EINVAL, 0 },
		{ "[1]", -EINVAL, 0 },
		{ "null", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct snapshot *s = NULL;
		struct err e = {};
		char text[512];
		int err;

		snprintf(text, sizeof(text), "{\"schema\": \"malloctrace/1\", \"marks\": %s}", cases[i].marks);
		err = json_read__text(text, strlen(text), &s, &e);
		cr_expect_eq(err, cases[i].err, "%s: %s", cases[i].marks, err_msg(&e));
		cr_expect(err || s->n_marks == cases[i].n);
		snapshot__free(s);
		err_done(&e);
	}
}

/* Groups of processes: a mark goes with the group that its process is in. */
Test(marks, groups)
{
	struct snapshot *s = made(two, 2), *by;

	s->marks = rows;
	s->n_marks = 3;
	by = snapshot__group(s, grouping__find("comm"));
	cr_assert_not_null(by);
	cr_assert_eq(by->n_marks, 3);
	cr_expect_str_eq(by->processes[by->marks[0].process].comm, "a");
	cr_expect_str_eq(by->processes[by->marks[1].process].comm, "b");
	snapshot__free(by);
	by = snapshot__group(s, grouping__find("none"));
	cr_assert_not_null(by);
	cr_expect_eq(by->marks[2].process, 0);
	snapshot__free(by);
	snapshot__free(s);
}
