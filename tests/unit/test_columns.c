// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Columns: what they show, whatever the figures are; how a table fits. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "present/columns.h"
#include "present/figures.h"
#include "present/rows.h"
#include "sample_snapshot.h"
#include "util/text.h"
#include "util/util.h"

#define S 1000000000ull

static const char *cell(const struct columns *c, const char *name, const struct row_of *r)
{
	static struct cell ret;
	const struct column *col = columns__find(c, name);

	cr_assert_not_null(col, "%s", name);
	column__marked_cell(col, r, &ret);
	return ret.text;
}

static const struct columns *const tables[] = { &process_columns, &thread_columns, &site_columns };

Test(columns, have_names_of_their_own)
{
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			const struct column *c = &tables[t]->v[i];

			cr_expect_eq(columns__find(tables[t], c->name), c, "%s twice", c->name);
			cr_expect(!c->width || strlen(c->title) <= c->width, "%s", c->title);
			cr_expect(c->width || c->left, "%s: a name is aligned to the left", c->name);
		}
	cr_expect_null(columns__find(&process_columns, "beauty"));
}

/* A column takes what it shows from the schema: the row that it names is there, and has a unit. */
Test(columns, name_fields_that_there_are)
{
	static const struct columns *const all[] = { &process_columns, &thread_columns, &site_columns, &tag_columns,
						     &mark_columns,    &when_columns,	&sum_columns };

	for (size_t t = 0; t < ARRAY_SIZE(all); t++)
		for (size_t i = 0; i < all[t]->n; i++) {
			const struct column *c = &all[t]->v[i];
			const struct field_ref *const refs[] = { c->field, c->older, c->over };

			for (size_t k = 0; k < ARRAY_SIZE(refs); k++) {
				const struct field *f = refs[k] ? fields__find(refs[k]->fields, refs[k]->key) : NULL;

				cr_assert(!refs[k] || f, "%s: %s", c->name, refs[k] ? refs[k]->key : "");
				cr_expect(!f || f->unit || f->type == FIELD_STR || c->error, "%s has no unit", f ? f->key : "");
			}
			cr_expect(!c->over || c->over->fields != &error_fields, "%s", c->name);
		}
}

/* So does what sites are weighed by. */
Test(columns, metrics_are_fields)
{
	for (size_t i = 0; i < n_metrics; i++) {
		const struct field *counter = fields__find(&counter_fields, metrics[i].key), *f = counter ?: fields__find(&site_fields, metrics[i].key);

		cr_assert_not_null(f, "%s", metrics[i].name);
		cr_expect_eq(f->needs & HAS_ANY, metrics[i].needs, "%s", metrics[i].name);
		cr_expect_eq(f->offset + (counter ? offsetof(struct snap_site, c) : 0), metrics[i].at, "%s", metrics[i].name);
	}
}

/* Every figure at its largest, at its smallest, and at what fills its column. */
Test(columns, are_as_wide_as_they_say)
{
	static const uint64_t figures[] = { 0, 1, 9, 999, 1000, 1023, 1024, 99999, 100000, 999949, 999950, 1048575, 1073741823,
					    1ull << 40, UINT64_MAX / 2, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		for (size_t k = 0; k < ARRAY_SIZE(figures); k++) {
			uint64_t n = figures[i], m = figures[k];
			struct counters c = { n, m, m, n, n, m, n, n, m, n, n };
			static const struct snap_process none[2];
			struct snapshot s = { .known = HAS_ALL, .duration_ns = m, .processes = none, .n_processes = 2, .estimated = i % 2 };
			struct snap_process p = {
				.comm = "c", .pid = 4194304, .container_pid = 4194304, .c = c, .rss_bytes = n, .age_at_attach_ns = n,
				.n_members = (uint32_t)n, .trend = { "draining", "why", i % 3 ? (double)n : -(double)n, true, false },
			};
			struct snap_site site = { .function = "malloc", .c = c, .oldest_ns = n, .at_peak_bytes = m, .cross_frees = n,
						  .trend = p.trend };
			struct thread_row thread = { .tid = 4194304, .name = "t", .n_threads = (uint32_t)n, .c = c };
			struct row_of rows[] = { { .s = &s, .process = &p }, { .s = &s, .process = &p, .thread = &thread },
						 { .s = &s, .process = &p, .site = &site } };

			for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
				for (size_t j = 0; j < tables[t]->n; j++) {
					const struct column *col = &tables[t]->v[j];
					struct cell cell;

					column__marked_cell(col, &rows[t], &cell);
					if (col->width)
						cr_assert_leq(text_width(cell.text), col->width + (col->scaled && s.estimated),
							      "%s: '%s'", col->name, cell.text);
				}
		}
}

Test(columns, tell_a_process)
{
	struct snap_point line[] = { { .t_ns = 1 * S, .live_bytes = 1000 }, { .t_ns = 2 * S, .live_bytes = 9 }, { .t_ns = 5 * S, .live_bytes = 5096 } };
	struct snap_process p = { .pid = 7, .comm = "x", .cgroup = "/a.slice/b.scope", .rss_bytes = 2048, .age_at_attach_ns = 60 * S,
				  .c = { .alloc_calls = 50, .alloc_bytes = 5120 }, .timeline = line, .n_timeline = 3 };
	struct snapshot s = { .known = HAS_ALL, .duration_ns = 10 * S, .wall_now_ns = 1000 * S };
	struct row_of r = { .s = &s, .process = &p };
	struct cell growth;

	cr_expect_str_eq(cell(&process_columns, "growth", &r), "+1.0 KiB");
	cr_expect_str_eq(cell(&process_columns, "calls-rate", &r), "5.0");
	cr_expect_str_eq(cell(&process_columns, "bytes-rate", &r), "512 B");
	cr_expect_str_eq(cell(&process_columns, "age", &r), "1m10s");
	cr_expect_str_eq(cell(&process_columns, "where", &r), "b.scope");
	cr_expect_str_eq(cell(&process_columns, "verdict", &r), "-");
	cr_expect_str_eq(cell(&process_columns, "container-pid", &r), "");
	p.container = "0123456789abcdef0123";
	cr_expect_str_eq(cell(&process_columns, "where", &r), "0123456789ab");
	p.unit = "b.service";
	cr_expect_str_eq(cell(&process_columns, "where", &r), "b");
	/* it began while the trace went on: rates are over its own time */
	p.wall_started_ns = 995 * S;
	cr_expect_str_eq(cell(&process_columns, "calls-rate", &r), "10");
	cr_expect_str_eq(cell(&process_columns, "age", &r), "5.0s");
	p.trend = (struct trend){ "draining", "why", -2048, true, false };
	cr_expect_str_eq(cell(&process_columns, "growth", &r), "-2.0 KiB");
	s.estimated = true;
	cr_expect_str_eq(cell(&process_columns, "growth", &r), "~-2.0 KiB");
	cr_expect_str_eq(cell(&process_columns, "rss", &r), "2.0 KiB");
	p.ended = true;
	cr_expect_str_eq(cell(&process_columns, "growth", &r), "-");
	cr_expect_str_eq(cell(&process_columns, "calls-rate", &r), "-");
	cr_expect_str_eq(cell(&process_columns, "age", &r), "-");
	cr_expect_str_eq(cell(&process_columns, "verdict", &r), "ended");
	column__cell(columns__find(&process_columns, "growth"), &r, &growth);
	cr_expect(isnan(growth.sort));
}

Test(columns, only_of_what_is_recorded)
{
	struct snapshot s = { .known = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES };

	cr_expect(!column__holds(columns__find(&process_columns, "live"), &s));
	cr_expect(column__holds(columns__find(&process_columns, "bytes"), &s));
	s.known = HAS_ALL;
	cr_expect(column__holds(columns__find(&process_columns, "live"), &s));
	cr_expect(!column__holds(columns__find(&process_columns, "bytes"), &s), "live tells more");
}

Test(columns, a_table_fits_and_says_the_most_important)
{
	struct snapshot *s = sample__new(0);
	struct row_of rows[] = { { .s = s, .process = &s->processes[0] }, { .s = s, .process = &s->processes[1] } };

	for (size_t width = 60; width < 200; width += 7) {
		_cleanup_free_ char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		columns__write(out, &process_columns, rows, 2, width, false);
		fclose(out);
		cr_expect(strstr(text, "LIVE") && strstr(text, "1432") && strstr(text, "38.0 MiB") && strstr(text, "redis"), "%s", text);
		cr_expect(!strstr(text, "NSPID"), "nobody has one");
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			cr_expect_leq(text_width(line), width, "%zu: %s", width, line);
			cr_expect_neq(line[strlen(line) - 1], ' ');
		}
	}
	snapshot__free(s);
}

/* In a pipe, names are whole however narrow it is said to be; figures that matter least may go. */
Test(columns, a_table_in_a_pipe_cuts_no_name)
{
	struct snapshot *s = sample__new(0);
	struct row_of rows[] = { { .s = s, .process = &s->processes[0] }, { .s = s, .process = &s->processes[1] } };
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	columns__write(out, &process_columns, rows, 2, 40, true);
	fclose(out);
	cr_expect(strstr(text, s->processes[0].comm) && strstr(text, s->processes[1].comm), "%s", text);
	cr_expect_null(strstr(text, "…"), "%s", text);
	snapshot__free(s);
}

/* ---- threads */

static void named(const char *const *names, size_t n, const char *want)
{
	struct snap_thread threads[8] = {};
	struct snap_process p = { .pid = 1, .comm = "x", .threads = threads, .n_threads = n };
	struct snapshot s = { .known = HAS_ALL, .processes = &p, .n_processes = 1 };
	struct thread_rows t;
	size_t len = 0;
	char *got = NULL;
	FILE *out = open_memstream(&got, &len);

	for (size_t i = 0; i < n; i++)
		threads[i] = (struct snap_thread){ .tid = (int)i + 1, .comm = names[i], .c = { .alloc_calls = 100 - i } };
	thread_rows__init(&t, &s, NULL);
	cr_assert_eq(t.n_members, n);
	for (size_t i = 0; i < t.n; i++)
		fprintf(out, "%s%s:%u", i ? " " : "", t.v[i].name, t.v[i].n_threads);
	fclose(out);
	cr_expect_str_eq(got, want);
	thread_rows__done(&t);
	free(got);
}

#define NAMED(want, ...) \
	named((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), want)

Test(threads, names_that_differ_in_numbers_are_a_row)
{
	NAMED("main:1", "main");
	NAMED("worker-*:3 main:1", "worker-1", "worker-22", "main", "worker-3");
	NAMED("worker-1:1 pool-1:1", "worker-1", "pool-1");
	NAMED("python3:3", "python3", "python3", "python3");
	NAMED("py3-w*:2", "py3-w1", "py3-w10");
	NAMED("*x*:2", "1x2", "2x3");
	NAMED("1x*:2", "1x2", "1x3");
	NAMED("*:2", "7", "12");
	/* a star of its own is no number */
	NAMED("a*:1 a1:1", "a*", "a1");
	/* gone before they were asked: the first is the process's own */
	NAMED("?:2 x:1", "", "", "");
}

Test(threads, add_up_by_row_and_stay_apart_by_process)
{
	struct snapshot *s = sample__new(SAMPLE_MANY);
	const struct thread_row *workers = NULL;
	struct thread_rows t;
	uint64_t calls = 0;

	thread_rows__init(&t, s, NULL);
	cr_expect_eq(t.n_members, 7);
	for (size_t i = 0; i < t.n; i++) {
		if (!strcmp(t.v[i].name, "worker-*"))
			workers = &t.v[i];
		for (size_t k = 0; k < t.v[i].n_threads; k++)
			calls += t.v[i].members[k].c.alloc_calls;
		if (i)
			cr_expect_geq(t.v[i - 1].c.alloc_calls, t.v[i].c.alloc_calls);
	}
	cr_expect_eq(calls, 2193888 + 12 + 20 + 300000 + 250000 + 349980);
	cr_assert_not_null(workers);
	cr_expect_eq(workers->n_threads, 3);
	cr_expect_eq(workers->n_ended, 1);
	cr_expect_eq(workers->tid, 0);
	cr_expect_eq(workers->c.alloc_calls, 899980);
	cr_expect_eq(workers->members[0].tid, 2104, "the busiest first");
	cr_expect(workers->members[0].member);
	thread_rows__done(&t);
	snapshot__free(s);
}

/* Of a part of the block table that has not been looked at for a while all that is known is how old its blocks are at most. */
Test(columns, an_age_that_is_a_bound_says_so)
{
	struct snap_site site = { .oldest_ns = 14000000000ull };
	char buf[FMT_MAX];

	cr_expect_str_eq(fmt_oldest(buf, &site), "14.0s");
	site.oldest_at_most = true;
	cr_expect_str_eq(fmt_oldest(buf, &site), "<14.0s");
	site.oldest_ns = 3599000000000ull;
	cr_expect_leq(strlen(fmt_oldest(buf, &site)), 7);
}

Test(columns, where_a_process_runs)
{
	static const struct {
		struct snap_process p;
		const char *where;
	} t[] = {
		{ { .cgroup = "/a/b", .container = "4f3c2b1a0011223344556677", .pod = "shop/cart-0", .unit = "x.service" }, "x" },
		{ { .cgroup = "/a/b", .container = "4f3c2b1a0011223344556677", .pod = "shop/cart-0" }, "shop/cart-0" },
		{ { .cgroup = "/a/b", .container = "4f3c2b1a0011223344556677" }, "4f3c2b1a0011" },
		{ { .cgroup = "/a/b", .container = "a-name-of-LXC-is-not-cut" }, "a-name-of-LXC-is-not-cut" },
		{ { .cgroup = "/a/b" }, "b" },
		/* a number that an engine gave; not a word that could be one */
		{ { .cgroup = "/a/6c638ded83b5f944f532327d8d46703f" }, "6c638ded83b5" },
		{ { .cgroup = "/a/facade" }, "facade" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char buf[CELL_MAX];

		cr_expect_str_eq(process__where(&t[i].p, buf), t[i].where);
	}
}
