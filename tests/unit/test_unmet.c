// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --overhead: a process that ran where no probes were, of which no window met a call. What it did is not known, and neither is the
 * error of any sum that it is in: in cuts, snapshots, files and on the screen.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "archive_made.h"
#include "budget/estimate.h"
#include "files/json/json_read.h"
#include "present/text/report.h"
#include "top_screen.h"
#include "written.h"

static void want_error(const struct std_error *e, double is)
{
	cr_expect_eq(e->alloc_calls, is);
	cr_expect_eq(e->alloc_bytes, is);
	cr_expect_eq(e->live_blocks, is);
	cr_expect_eq(e->live_bytes, is);
}

Test(unmet, what_ran_unseen_without_a_call_has_no_known_error)
{
	enum { RAN = 1, RESTED, SEEN, ENDED, SEEN_TO_ITS_END, NEW, N };
	struct cut_proc procs[N - 1];
	struct cut cut = { .procs = procs, .n_procs = N - 1 };
	struct estimate *es;
	const struct cut *whole;

	es = estimate__new(NULL, 1, N);
	for (uint32_t i = 1; i < N; i++)
		procs[i - 1] = (struct cut_proc){ .proc = i, .ended = i == ENDED || i == SEEN_TO_ITS_END };
	estimate__time(es, RAN, &(struct times){ .unseen = 1e6 });
	estimate__time(es, RESTED, &(struct times){});
	estimate__time(es, SEEN, &(struct times){ .seen = true });
	estimate__time(es, ENDED, &(struct times){});
	estimate__time(es, SEEN_TO_ITS_END, &(struct times){ .seen = true });
	estimate__stretch(es, 1, 2, &cut);
	estimate__note_ends(es, &cut, 2);
	whole = estimate__cut(es, &cut, 3);
	cr_assert_not_null(whole);
	want_error(&whole->procs[RAN - 1].var, INFINITY);
	want_error(&whole->procs[RESTED - 1].var, 0);
	want_error(&whole->procs[SEEN - 1].var, 0);
	/* it ran to end, and nobody has read its clock since */
	want_error(&whole->procs[ENDED - 1].var, INFINITY);
	want_error(&whole->procs[SEEN_TO_ITS_END - 1].var, 0);
	want_error(&whole->procs[NEW - 1].var, INFINITY);
	estimate__free(es);
}

static double calls_error(struct estimate *es, const struct cut *cut, bool unmet)
{
	const struct cut *whole = estimate__cut(es, cut, 9);
	const struct std_error *var;

	cr_assert_not_null(whole);
	var = &whole->procs[0].var;
	/* blocks that were not met may be larger than those that were */
	if (unmet)
		cr_expect_eq(var->alloc_bytes, INFINITY);
	else
		cr_expect_float_eq(var->alloc_bytes, var->alloc_calls * 64 * 64,
				   1e-6 * var->alloc_bytes);
	return sqrt(var->alloc_calls);
}

/*
 * Windows find the process running a tenth of the time. As long as it does so between them, the sum is known; a second of CPU time more
 * has room for 50 million calls of sites that no window has seen, which is two errors.
 */
Test(unmet, sites_that_were_not_met_are_in_the_error_of_the_sum)
{
	const struct times window = { .seen = true, .unseen = 1e8, .gap = 1e9, .speaks = 1e9, .busy = 0.1, .ran = 0.1,
				      .call = { .rate = 1e-6, .seen.own_ns = 1e6 } };
	struct snap_site site = { .proc = 1 };
	struct cut_proc proc = { .proc = 1 };
	struct cut cut = { .procs = &proc, .n_procs = 1, .sites = &site, .n_sites = 1 };
	struct estimate *es;

	es = estimate__new(NULL, 1, 2);
	for (uint64_t i = 1; i <= 8; i++) {
		site.c.alloc_calls += 10;
		site.c.alloc_bytes += 640;
		estimate__time(es, 1, &window);
		estimate__stretch(es, i, i + 1, &cut);
	}
	/* 1,000 calls in each gap */
	cr_expect_leq(calls_error(es, &cut, false), 8000 / 3.0);
	estimate__time(es, 1, &(struct times){ .unseen = 1.1e9, .gap = 1e9 });
	cr_expect_geq(2 * calls_error(es, &cut, true), 50e6 - 1);
	estimate__free(es);
}

/* Of two processes one is known; both leave the tables, and become one row. */
Test(unmet, sums_do_not_know_it_either)
{
	struct cut_proc procs[] = { { .proc = 1, .var = { 9, 900, 4, 400, 0 } }, { .proc = 2, .var = { INFINITY, INFINITY, INFINITY, INFINITY, 0 } } };
	struct cut cut = { .now_ns = START + 5, .procs = procs, .n_procs = 2 };
	struct snapshot_info of = info;
	struct model *m = new_model(8, 8);
	struct snapshot *s;

	of.base.observed_share = 0.5;
	for (uint32_t i = 1; i <= 2; i++)
		model__add_life(m, &(struct snap_process){ .proc = i, .pid = (pid_t)i, .comm = "p", .exe = "/p" });
	for (int archived = 0; archived < 2; archived++) {
		s = model__snapshot(m, &cut, &of, &calls);
		cr_assert_eq(s->n_processes, 2);
		cr_expect_eq(s->processes[0].error.alloc_calls, 3);
		cr_expect_eq(s->processes[0].error.live_bytes, 20);
		cr_expect_eq(s->processes[1].error.alloc_calls, INFINITY);
		cr_expect_eq(s->processes[1].error.live_bytes, INFINITY);
		cr_expect_eq(s->error.alloc_calls, INFINITY);
		cr_expect_eq(s->error.alloc_bytes, INFINITY);
		cr_expect_eq(s->error.live_blocks, INFINITY);
		cr_expect_eq(s->error.live_bytes, INFINITY);
		snapshot__free(s);
		if (!archived)
			model__archive(m, (uint32_t[]){ 1, 2 }, 2, &cut, 1, &calls);
		cut.n_procs = 0;
	}
	m->archive.limits.lives = 0;
	archive__fold(m);
	s = model__snapshot(m, &cut, &of, &calls);
	cr_assert_eq(s->n_processes, 1);
	cr_expect_eq(s->processes[0].error.alloc_calls, INFINITY);
	cr_expect_eq(s->error.live_bytes, INFINITY);
	snapshot__free(s);
	model__free(m);
}

/* ---- what is said of it */

/* app (101) made ten calls, give or take three; burst (102) is not known. */
static struct snapshot *two(void)
{
	struct snapshot *s = snapshot__new();
	struct snap_process *p = snapshot__alloc(s, 2, sizeof(*p));

	p[0] = (struct snap_process){ .id = 1, .pid = 101, .comm = "app", .exe = "/app", .error = { 3, 30, 2, 20, 0 },
				      .c = { .alloc_calls = 10, .alloc_bytes = 100, .live_blocks = 5, .live_bytes = 50 } };
	p[1] = (struct snap_process){ .id = 2, .pid = 102, .comm = "burst", .exe = "/burst", .error = { INFINITY, INFINITY, INFINITY, INFINITY, 0 } };
	s->processes = p;
	s->n_processes = 2;
	s->totals = p[0].c;
	s->error = p[1].error;
	s->recording = (struct recording)RECORDING_PRESET;
	s->version = s->kernel = s->arch = "v";
	s->observed_share = 0.01;
	s->estimated = true;
	s->known = counters__known(&s->recording, s->observed_share);
	s->duration_ns = 1000000000;
	return s;
}

Test(unmet, files_have_null)
{
	struct snapshot *s = two(), *again = written__read_back(s);

	cr_expect_eq(again->processes[0].error.alloc_calls, 3);
	cr_expect_eq(again->processes[1].error.alloc_calls, INFINITY);
	cr_expect_eq(again->processes[1].error.live_bytes, INFINITY);
	cr_expect_eq(again->error.live_blocks, INFINITY);
	written__check_same(s, again, "json", "unmet");
	written__check_same(s, again, "text", "unmet");
	snapshot__free(s);
	snapshot__free(again);
}

Test(unmet, text_has_a_question_mark)
{
	_cleanup_free_ char *text = NULL;
	struct snapshot *s = two();
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(report__write(out, s, &(struct report_opts){ .width = 160 }), 0);
	fclose(out);
	cr_expect_not_null(strstr(text, "~50 B ±? in ~5 ±? blocks"), "%s", text);
	cr_expect_not_null(strstr(text, "~10 ±? allocations (~100 B ±?)"), "%s", text);
	cr_expect_not_null(strstr(text, "? is not known: a process ran, and none of its calls was seen"), "%s", text);
	/* its own row, too: bytes and blocks, calls and bytes a second */
	cr_expect_not_null(strstr(text, "   ~?      ~?       ~?       ~?  1.0s  102  burst\n"), "%s", text);
	snapshot__free(s);
}

Test(unmet, the_live_view_has_one_too)
{
	t = top__new(&(struct top_opts){ .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND });
	grid__resize(&g, 24, 160);
	top__update(t, two());
	top__draw(t, &g);
	says("? is not known: a process ran, and none of its calls was seen");
	key('4');
	for (int i = 0; i < g.rows; i++)
		cr_expect_eq(strstr(row(i), "~?") != NULL, strstr(row(i), "burst") != NULL, "%s", row(i));
	end();
}
