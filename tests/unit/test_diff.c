// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Two profiles compared: rows by stack, whatever the addresses are. */
#include <criterion/criterion.h>
#include <string.h>

#include "files/diff_files.h"
#include "golden.h"
#include "sample_snapshot.h"

/* The same program after it was built anew: other addresses, another pid; one stack grew, one shrank, one is new, one gone. */
static struct snapshot *later(unsigned int what)
{
	struct snapshot *s = sample__new(what);

	for (size_t i = 0; i < s->n_places; i++)
		if (s->places[i].n_lines)
			s->places[i].offset += 0x1000;
	s->sites[0].c.live_bytes += 1 << 20;	/* trackingRememberKey */
	s->sites[1].c.live_bytes -= 1 << 20;	/* _dictExpand */
	s->sites[4].c.live_bytes = 0;		/* without a stack */
	s->sites[5].c.live_bytes = 77;		/* main, by posix_memalign */
	return s;
}

static void check(const char *format, unsigned int what, const char *golden)
{
	struct snapshot *a = sample__new(what), *b = later(what);
	struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 10, .width = 80, .estimated = a->estimated };
	char *text = NULL;
	struct diff d;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diff__init(&d, a, b, metric__find("live-bytes"));
	cr_assert_eq(diff_format__find(format)->write(out, &d, &o), 0);
	fclose(out);
	golden__check(golden, text, len);
	free(text);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

Test(diff, looks)
{
	check("text", 0, "diff.txt");
	check("text", SAMPLE_ESTIMATED, "diff-estimated.txt");
	check("folded", 0, "diff.folded");
	check("json", 0, "diff.json");
	cr_assert_null(diff_format__find("pprof"));
}

/* The same leak in a trace that lasts twice as long holds twice as much, and does not grow faster. */
Test(diff, compares_rates_of_traces_that_did_not_last_as_long)
{
	static const char *const metrics_of[] = { "live-bytes", "alloc-calls" };

	for (size_t i = 0; i < ARRAY_SIZE(metrics_of); i++) {
		struct snapshot *a = sample__new(SAMPLE_SINGLE), *b = sample__new(SAMPLE_SINGLE);
		struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 10, .width = 80 };
		char *text = NULL;
		struct diff d;
		size_t len;
		FILE *out;

		b->duration_ns = 2 * a->duration_ns;
		for (size_t k = 0; k < b->n_sites; k++) {
			a->sites[k].trend.known = b->sites[k].trend.known = true;
			a->sites[k].trend.growth_bytes_per_s = b->sites[k].trend.growth_bytes_per_s = k ? 0 : 1 << 20;
			b->sites[k].c.live_bytes *= 2;
			b->sites[k].c.alloc_calls *= k == 1 ? 4 : 2;
		}
		b->sites[1].trend.growth_bytes_per_s = 4096;
		diff__init(&d, a, b, metric__find(metrics_of[i]));
		cr_expect(d.rates);
		cr_expect_str_eq(d.rows.v[0].s->places[d.rows.v[0].site->stack[0]].lines[0].function, "_dictExpand");
		out = open_memstream(&text, &len);
		cr_assert_eq(diff_format__find("text")->write(out, &d, &o), 0);
		fclose(out);
		cr_expect(strstr(text, "\ntraced      30.0s -> 1m00s: rates are compared\n"), "%s", text);
		cr_expect(strstr(text, i ? "\nGrew most: _dictExpand (dict.c:180), by 2,040/s.\n" : "\nGrew most: _dictExpand (dict.c:180), by 4.0 KiB/s.\n"), "%s", text);
		cr_expect(strstr(text, i ? "\n      +2,040        2,040        4,080  _dictExpand" : "\n    +4.0 KiB          0 B      4.0 KiB  _dictExpand"), "%s", text);
		free(text);
		diff__done(&d);
		snapshot__free(a);
		snapshot__free(b);
	}
}

/* After a few seconds nothing is known of growth: then what is live is compared, not unknown rates. */
Test(diff, compares_no_rates_that_are_not_known)
{
	struct snapshot *a = sample__new(SAMPLE_SINGLE), *b = sample__new(SAMPLE_SINGLE);
	struct diff d;

	b->duration_ns = 2 * a->duration_ns;
	for (size_t k = 0; k < a->n_sites; k++)
		a->sites[k].trend.known = b->sites[k].trend.known = false;
	b->sites[0].c.live_bytes += 4096;
	diff__init(&d, a, b, metric__find("live-bytes"));
	cr_expect(!d.rates);
	cr_expect_eq(d.rows.v[0].after - d.rows.v[0].before, 4096);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

/* What a fix has freed comes before the little that grew beside it. */
Test(diff, begins_with_the_largest_change)
{
	struct snapshot *a = sample__new(SAMPLE_SINGLE), *b = sample__new(SAMPLE_SINGLE);
	struct diff_opts o = { .before = "a.json", .after = "b.json", .top = 10, .width = 80 };
	_cleanup_free_ char *text = NULL;
	struct diff d;
	size_t len;
	FILE *out;

	a->sites[0].c.live_bytes += 8192;
	b->sites[1].c.live_bytes += 4096;
	diff__init(&d, a, b, metric__find("live-bytes"));
	out = open_memstream(&text, &len);
	cr_assert_eq(diff_format__find("text")->write(out, &d, &o), 0);
	fclose(out);
	cr_expect(strstr(text, "\nShrank most: raxGenericInsert (rax.c:494), by 8.0 KiB.\n"
			       "Grew most: _dictExpand (dict.c:180), by 4.0 KiB.\n"), "%s", text);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

Test(diff, every_kind_of_change)
{
	struct snapshot *a = sample__new(0), *b = later(0);
	uint64_t before = 0, after = 0;
	struct diff d;

	diff__init(&d, a, b, metric__find("live-bytes"));
	cr_assert_eq(d.n_of_kind[DIFF_GREW], 1);
	cr_assert_eq(d.n_of_kind[DIFF_SHRANK], 1);
	cr_assert_eq(d.n_of_kind[DIFF_NEW], 1);
	cr_assert_eq(d.n_of_kind[DIFF_GONE], 1);
	for (size_t i = 0; i < d.rows.n; i++) {
		before += d.rows.v[i].before;
		after += d.rows.v[i].after;
	}
	cr_assert(before == d.before && after == d.after);
	cr_assert_eq(d.before, a->totals.live_bytes);
	cr_assert_eq(d.after, a->totals.live_bytes - 1200 + 77);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

/* What changed by less than its errors may not have changed. */
Test(diff, estimates_that_say_too_little)
{
	struct snapshot *a = sample__new(SAMPLE_ESTIMATED), *b = later(SAMPLE_ESTIMATED);
	struct diff d;

	a->sites[0].error.live_bytes = b->sites[0].error.live_bytes = 300 << 10;	/* together 424 KiB, of 1 MiB */
	a->sites[1].error.live_bytes = b->sites[1].error.live_bytes = 400 << 10;	/* 566 KiB */
	diff__init(&d, a, b, metric__find("live-bytes"));
	for (size_t i = 0; i < d.rows.n; i++)
		if (d.rows.v[i].site == &b->sites[0])
			cr_expect_eq(diff_row__kind(&d.rows.v[i]), DIFF_GREW);
		else if (d.rows.v[i].site == &b->sites[1])
			cr_expect_eq(diff_row__kind(&d.rows.v[i]), DIFF_UNSURE);
	cr_expect_eq(d.n_of_kind[DIFF_GREW], 1);
	cr_expect_eq(d.n_of_kind[DIFF_SHRANK], 0);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

/* Sites of malloc(0) hold no bytes, however many blocks they hold. */
Test(diff, more_blocks_and_no_more_bytes)
{
	struct snapshot *a = sample__new(0), *b = sample__new(0);
	struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 10, .width = 80 };
	_cleanup_free_ char *text = NULL;
	struct diff d;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	b->sites[0].c.live_blocks += 5000;
	diff__init(&d, a, b, metric__find("live-bytes"));
	cr_assert_eq(diff_format__find("text")->write(out, &d, &o), 0);
	fclose(out);
	cr_expect(strstr(text, "\nNo site holds more bytes, but 1 holds more blocks (--metric live-blocks).\n"), "%s", text);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

Test(diff, with_itself_nothing_changed)
{
	struct snapshot *a = sample__new(0);
	struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 10, .width = 80 };
	_cleanup_free_ char *text = NULL;
	struct diff same;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diff__init(&same, a, a, metric__find("live-bytes"));
	cr_assert_eq(diff_format__find("text")->write(out, &same, &o), 0);
	fclose(out);
	cr_expect(strstr(text, "\nNothing grew.\n") && !strstr(text, "next:"), "%s", text);
	diff__done(&same);

	for (size_t m = 0; m < n_metrics; m++) {
		struct diff d;

		diff__init(&d, a, a, &metrics[m]);
		cr_assert_eq(d.n_of_kind[DIFF_SAME], d.rows.n);
		diff__done(&d);
	}
	snapshot__free(a);
}

/* ---- as a snapshot with a baseline */

static int64_t change_of(const struct snapshot *s, const char *function, uint64_t *ret_live)
{
	for (size_t i = 0; i < s->n_sites; i++)
		for (uint32_t k = 0; k < s->sites[i].n_stack && s->sites[i].since_baseline_bytes; k++) {
			const struct place *p = &s->places[s->sites[i].stack[k]];

			for (size_t l = 0; l < place__n_frames(p); l++) {
				struct frame f = place__frame(s, p, l);

				if (f.line && f.line->function && !strcmp(f.line->function, function)) {
					*ret_live = s->sites[i].c.live_bytes;
					return s->sites[i].since_baseline_bytes;
				}
			}
		}
	return 0;
}

static void check_sums(const struct snapshot *a, const struct snapshot *b, const struct snapshot *s)
{
	int64_t was = 0, is = 0, change = 0, of_processes = 0;
	uint64_t calls = 0;

	for (size_t i = 0; i < a->n_sites; i++)
		was += a->sites[i].c.live_bytes;
	for (size_t i = 0; i < b->n_sites; i++)
		calls += b->sites[i].c.alloc_calls;
	for (size_t i = 0; i < s->n_sites; i++) {
		is += s->sites[i].c.live_bytes;
		change += s->sites[i].since_baseline_bytes;
		calls -= s->sites[i].c.alloc_calls;
		cr_assert_lt(s->sites[i].process, s->n_processes);
		for (uint32_t k = 0; k < s->sites[i].n_stack; k++) {
			cr_assert_lt(s->sites[i].stack[k], s->n_places);
			cr_assert_lt(s->places[s->sites[i].stack[k]].module, (int)s->n_modules);
		}
	}
	for (size_t i = 0; i < s->n_processes; i++)
		of_processes += s->processes[i].since_baseline_bytes;
	cr_assert_eq(is - change, was);
	cr_assert_eq(calls, 0);
	cr_assert_eq(of_processes, (int64_t)b->totals.live_bytes - (int64_t)a->totals.live_bytes);
	cr_assert(s->baseline && !strcmp(s->baseline_name, "before.json"));
}

Test(diff, as_a_snapshot_with_a_baseline)
{
	struct snapshot *a = sample__new(0), *b = later(0), *s = diff__snapshot(a, b, "before.json");
	uint64_t live = 0;

	cr_assert_not_null(s);
	check_sums(a, b, s);
	cr_assert_eq(change_of(s, "trackingRememberKey", &live), 1 << 20);
	cr_assert_eq(live, b->sites[0].c.live_bytes);
	cr_assert_eq(change_of(s, "_dictExpand", &live), -(1 << 20));
	snapshot__free(s);
	snapshot__free(a);
	snapshot__free(b);
}

/* Of the one nothing is left: every stack, and every process, is there with nothing but its change. */
Test(diff, all_of_it_is_gone)
{
	struct snapshot *a = sample__new(0), *b = sample__new(SAMPLE_EMPTY), *s = diff__snapshot(a, b, "before.json");
	size_t held;
	struct diff d;

	cr_assert_not_null(s);
	check_sums(a, b, s);
	diff__init(&d, a, b, metric__find("live-bytes"));
	held = d.n_of_kind[DIFF_GONE];
	diff__done(&d);
	cr_assert_gt(held, 0);
	for (size_t i = 0; i < s->n_sites; i++) {
		cr_assert_eq(s->sites[i].c.live_bytes, 0);
		held -= s->sites[i].since_baseline_bytes < 0;
	}
	cr_assert_eq(held, 0);
	snapshot__free(s);
	s = diff__snapshot(b, a, "before.json");
	check_sums(b, a, s);
	snapshot__free(s);
	snapshot__free(a);
	snapshot__free(b);
}

/* Another file of the same name, built anew: no module and no stack is there twice. */
Test(diff, one_row_for_functions_of_the_same_name)
{
	struct snapshot *a = sample__new(SAMPLE_SINGLE), *b = sample__new(SAMPLE_SINGLE), *s;
	struct snap_site twice = b->sites[0];

	b->sites[1].n_stack = twice.n_stack;
	b->sites[1].stack = twice.stack;
	b->sites[1].growth = twice.growth;
	s = diff__snapshot(a, b, "before.json");
	cr_assert_not_null(s);
	check_sums(a, b, s);
	cr_assert_eq(s->sites[0].c.live_bytes, twice.c.live_bytes + b->sites[1].c.live_bytes);
	cr_assert_eq(s->n_modules, b->n_modules);
	snapshot__free(s);
	snapshot__free(a);
	snapshot__free(b);
}

Test(diff, html_names_its_baseline)
{
	struct snapshot *a = sample__new(0), *b = later(0);
	struct diff_opts o = { .before = "<before>.json", .after = "after.json" };
	char *text = NULL;
	struct diff d;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diff__init(&d, a, b, metric__find("live-bytes"));
	cr_assert_eq(diff_format__find("html")->write(out, &d, &o), 0);
	fclose(out);
	cr_assert_not_null(strstr(text, "\"baseline_name\":\"\\u003cbefore\\u003e.json\""));
	cr_assert_null(strstr(text, "<before>"));
	free(text);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}
