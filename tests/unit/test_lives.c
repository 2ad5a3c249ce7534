// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What snapshots tell of lives: which there are, their threads, their timelines, their memory. */
#include <criterion/criterion.h>
#include <string.h>

#include "model_made.h"

#define MAX_THREADS 1024	/* ended ones that keep a row of their own */
#define MAX_POINTS 1024

/* Seen at its first instruction, and over before it was looked at: what it had then is not what it had. */
Test(lives, rss_of_one_that_nobody_looked_at)
{
	struct cut cut = { .now_ns = START };
	struct model *m = made__model();
	struct snap_process whole = { .proc = 5, .pid = 77, .rss_bytes = 12288 }, late = { .proc = 6, .pid = 78, .rss_bytes = 12288, .age_at_attach_ns = 1 };
	struct snapshot *s;

	model__add_life(m, &whole);
	model__add_life(m, &late);
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].rss_bytes, 12288, "it runs still");
	snapshot__free(s);
	model__process(m, 5)->ended = true;
	model__process(m, 6)->ended = true;
	model__process(m, 5)->most_rss_bytes = 50331648;
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].rss_bytes, 0);
	cr_expect_eq(s->processes[0].most_rss_bytes, 50331648);
	cr_expect_eq(s->processes[1].rss_bytes, 12288, "it was there before");
	snapshot__free(s);
	model__free(m);
}

Test(lives, lives_of_one_pid)
{
	struct snap_site sites[] = { { .proc = 5, .c = { ALLOCS(1, 10) } }, { .proc = 6, .c = { ALLOCS(2, 40) } } };
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = 2 };
	struct model *m = made__model();
	struct snap_process third = { .proc = 7, .pid = 77, .comm = "third", .exe = "/bin/third", .cgroup = "/c", .container = "id",
				   .unit = "u.service", .age_at_attach_ns = 12, .rss_bytes = 100 };
	struct snapshot *s;

	made__life(m, 5, 77, "first");
	model__set_rss(m, 5, 4096, 0, 0);
	model__process(m, 5)->ended = true;
	made__life(m, 6, 77, "second");
	model__add_life(m, &third);
	model__process(m, 1234)->ended = true;
	model__set_rss(m, 7, 300, 0, 0);
	model__set_rss(m, 5, 0, 0, 0);
	s = made__shot(m, &cut);
	cr_assert_eq(s->n_processes, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(s->processes[i].id, i + 1);
		cr_expect_eq(s->processes[i].pid, 77);
		cr_expect_eq(s->processes[i].ended, i == 0);
	}
	cr_expect_eq(s->processes[0].c.live_bytes, 10, "what it left stays");
	cr_expect_eq(s->processes[0].rss_bytes, 4096, "of an ended one, the last figure stays");
	cr_expect_eq(s->processes[1].c.live_bytes, 40);
	cr_expect_eq(s->sites[0].process, 0);
	cr_expect_eq(s->sites[1].process, 1);
	cr_expect_str_eq(s->processes[1].comm, "second");
	cr_expect_str_eq(s->processes[2].exe, "/bin/third");
	cr_expect_str_eq(s->processes[2].cgroup, "/c");
	cr_expect_str_eq(s->processes[2].container, "id");
	cr_expect_str_eq(s->processes[2].unit, "u.service");
	cr_expect_eq(s->processes[2].age_at_attach_ns, 12);
	cr_expect_eq(s->processes[2].rss_bytes, 300);
	cr_expect_eq(s->processes[2].rss_at_attach_bytes, 100);
	/* nothing in it is the model's */
	model__free(m);
	cr_expect_str_eq(s->processes[0].comm, "first");
	snapshot__free(s);
}

/* Processes are looked at first, then probed, then the trace begins. */
Test(lives, ages_are_those_at_the_begin)
{
	struct cut cut = { .now_ns = START };
	struct model *m = model__new();
	struct snap_process infos[] = {
		{ .proc = 1, .pid = 11, .comm = "old", .age_at_attach_ns = 500, .wall_started_ns = 1000, .started_ns = 100 },
		{ .proc = 2, .pid = 12, .comm = "own", .age_at_attach_ns = 0, .wall_started_ns = 1000, .started_ns = 100 },
		/* the wall clock was put back meanwhile */
		{ .proc = 3, .pid = 13, .comm = "later", .age_at_attach_ns = 500, .wall_started_ns = 9000, .started_ns = 300 },
		/* it was put forward */
		{ .proc = 4, .pid = 14, .comm = "before", .age_at_attach_ns = 500, .wall_started_ns = 3, .started_ns = 400 },
	};
	struct snapshot *s;

	for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
		model__add_life(m, &infos[i]);
	model__begin(m, START, 1900, 1000);
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].age_at_attach_ns, 900);
	cr_expect_eq(s->processes[1].age_at_attach_ns, 0, "from its first instruction");
	cr_expect_eq(s->processes[2].age_at_attach_ns, 700);
	cr_expect_eq(s->processes[3].age_at_attach_ns, 600);
	snapshot__free(s);
	model__free(m);
}

/* Also those that began while their probes were on their way, told before the trace begins or after. */
Test(lives, began_before_the_trace)
{
	struct cut cut = { .now_ns = START };
	struct model *m = model__new();
	struct snapshot *s;

	model__add_life(m, &(struct snap_process){ .proc = 1, .pid = 11, .comm = "told before", .began_ns = START - 7 });
	model__begin(m, START, 1900, 1000);
	model__add_life(m, &(struct snap_process){ .proc = 2, .pid = 12, .comm = "told after", .began_ns = START - 5 });
	model__add_life(m, &(struct snap_process){ .proc = 3, .pid = 13, .comm = "began after", .began_ns = START });
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].age_at_attach_ns, 7);
	cr_expect_eq(s->processes[1].age_at_attach_ns, 5);
	cr_expect_eq(s->processes[2].age_at_attach_ns, 0);
	snapshot__free(s);
	model__free(m);
}

Test(lives, threads)
{
	struct cut_thread live[] = {
		{ .proc = 1, .tid = 11, .c = { .alloc_calls = 1, .alloc_bytes = 2, .free_calls = 3, .free_bytes = 4, .realloc_calls = 5, .temp_calls = 6, .failed_calls = 7, .unknown_frees = 8 } },
		{ .proc = 2, .tid = 21, .c = { .alloc_calls = 9 } },
		{ .proc = 1, .tid = 12, .c = { .alloc_calls = 2 } },
	};
	struct cut cut = { .now_ns = START, .threads = live, .n_threads = ARRAY_SIZE(live) };
	struct model *m = made__model();
	const struct snap_thread *t;
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	made__life(m, 2, 20, "two");
	model__thread_ended(m, 1, 13, "gone", &(struct mt_thread_counts){ .alloc_calls = 100, .free_bytes = 5 });
	model__thread_ended(m, 8, 80, "nobody's", &(struct mt_thread_counts){ .alloc_calls = 1 });
	s = made__shot(m, &cut);
	cr_assert_eq(s->processes[0].n_threads, 3);
	cr_assert_eq(s->processes[1].n_threads, 1);
	t = s->processes[0].threads;
	cr_expect_eq(t[0].tid, 11);
	cr_expect_str_eq(t[0].comm, "t-10-11");
	cr_expect_not(t[0].ended);
	cr_expect_eq(t[0].c.alloc_calls, 1);
	cr_expect_eq(t[0].c.alloc_bytes, 2);
	cr_expect_eq(t[0].c.free_calls, 3);
	cr_expect_eq(t[0].c.free_bytes, 4);
	cr_expect_eq(t[0].c.realloc_calls, 5);
	cr_expect_eq(t[0].c.temp_calls, 6);
	cr_expect_eq(t[0].c.failed_calls, 7);
	cr_expect_eq(t[0].c.unknown_frees, 8);
	cr_expect_eq(t[1].tid, 12);
	cr_expect_eq(t[2].tid, 13);
	cr_expect(t[2].ended);
	cr_expect_str_eq(t[2].comm, "gone");
	cr_expect_eq(t[2].c.alloc_calls, 100);
	cr_expect_eq(t[2].c.free_bytes, 5);
	cr_expect_eq(s->processes[1].threads[0].tid, 21);
	snapshot__free(s);
	model__free(m);
}

/* A thread has a row for each name; its messages have what it did so far, under all of them. */
Test(lives, threads_are_renamed)
{
	struct cut_thread live = { .proc = 1, .tid = 11, .c = { .alloc_calls = 163, .alloc_bytes = 1630 } };
	struct cut_proc row = { .proc = 1, .pid = 10, .n_untold = 1, .untold = { .alloc_calls = 9 } };
	struct cut cut = { .now_ns = START, .threads = &live, .n_threads = 1, .procs = &row, .n_procs = 1 };
	const struct { const char *comm; uint64_t calls; } at[] = { { "loading", 100 }, { "serving", 150 }, { "t-10-11", 160 }, { "serving", 161 } };
	const struct { const char *comm; uint64_t calls; bool ended; } wanted[] = {
		{ "t-10-11", 12, false }, { "loading", 100, false }, { "serving", 51, false }, { "was", 4, true }, { "(more that ended)", 5, true } };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		model__thread_renamed(m, 1, 11, at[i].comm, &(struct mt_thread_counts){ .alloc_calls = at[i].calls, .alloc_bytes = at[i].calls * 10 });
	/* one that ended when there was no room for a message */
	model__thread_renamed(m, 1, 12, "was", &(struct mt_thread_counts){ .alloc_calls = 4 });
	s = made__shot(m, &cut);
	cr_assert_eq(s->processes[0].n_threads, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct snap_thread *t = &s->processes[0].threads[i];

		cr_expect_str_eq(t->comm, wanted[i].comm);
		cr_expect_eq(t->c.alloc_calls, wanted[i].calls, "%s: %lu", t->comm, (unsigned long)t->c.alloc_calls);
		cr_expect_eq(t->ended, wanted[i].ended);
	}
	snapshot__free(s);

	/* it ends; another thread has its tid later */
	model__thread_ended(m, 1, 11, "t-10-11", &(struct mt_thread_counts){ .alloc_calls = 163, .alloc_bytes = 1630 });
	live.c = (struct counters){ .alloc_calls = 2 };
	s = made__shot(m, &cut);
	cr_assert_eq(s->processes[0].n_threads, 6);
	cr_expect_eq(s->processes[0].threads[0].c.alloc_calls, 2);
	cr_expect_eq(s->processes[0].threads[2].c.alloc_calls, 100);
	cr_expect(s->processes[0].threads[2].ended);
	cr_expect_eq(s->processes[0].threads[4].c.alloc_calls, 12);
	snapshot__free(s);
	model__free(m);
}

/* Beyond a bound, what a thread does is under its last name, and that is counted. */
Test(lives, names_of_threads_are_bounded)
{
	struct cut_thread live = { .proc = 1, .tid = 11, .c = { .alloc_calls = 1001 } };
	struct cut cut = { .now_ns = START, .threads = &live, .n_threads = 1 };
	struct model *m = made__model();
	uint64_t sum = 0;
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	for (unsigned int i = 1; i <= 1000; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "request-%u", i);
		model__thread_renamed(m, 1, 11, comm, &(struct mt_thread_counts){ .alloc_calls = i });
	}
	s = made__shot(m, &cut);
	cr_assert_eq(s->processes[0].n_threads, 65);
	for (size_t i = 0; i < 65; i++)
		sum += s->processes[0].threads[i].c.alloc_calls;
	cr_expect_eq(sum, 1001);
	cr_expect_eq(s->processes[0].threads[0].c.alloc_calls, 937);
	sum = 0;
	for (size_t i = 0; i < s->n_edges; i++)
		sum += strcmp(s->edges[i].name, "renamed_unkept") ? 0 : s->edges[i].n;
	cr_expect_eq(sum, 936);
	snapshot__free(s);
	model__free(m);
}

/* Threads of which the programs had no room to tell are part of the same row, also when their process has left the tables. */
Test(lives, threads_end_untold)
{
	const struct mt_thread_counts c = { 1, 10, 2, 20, 3, 4, 5, 6 };
	struct cut_proc row = { .proc = 1, .pid = 10, .n_untold = 5, .untold = { .alloc_calls = 50, .alloc_bytes = 500, .free_calls = 60, .free_bytes = 600, .realloc_calls = 7, .temp_calls = 8, .failed_calls = 9, .unknown_frees = 11 } };
	struct cut cut = { .now_ns = START, .procs = &row, .n_procs = 1 };
	struct model *m = made__model();
	const struct snap_thread *more;
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	model__thread_ended(m, 1, 100, "told", &c);
	s = made__shot(m, &cut);
	cr_assert_eq(s->processes[0].n_threads, 2);
	more = &s->processes[0].threads[1];
	cr_expect_str_eq(more->comm, "(more that ended)");
	cr_expect_eq(more->stands_for, 5);
	cr_expect_eq(more->c.alloc_calls, 50);
	cr_expect_eq(more->c.alloc_bytes, 500);
	cr_expect_eq(more->c.free_calls, 60);
	cr_expect_eq(more->c.free_bytes, 600);
	cr_expect_eq(more->c.realloc_calls, 7);
	cr_expect_eq(more->c.temp_calls, 8);
	cr_expect_eq(more->c.failed_calls, 9);
	snapshot__free(s);
	model__free(m);
}

Test(lives, many_threads_end)
{
	const struct mt_thread_counts c = { 1, 10, 2, 20, 3, 4, 5, 6 };
	struct cut cut = { .now_ns = START };
	struct model *m = made__model();
	const struct snap_process *p;
	const struct snap_thread *more;
	struct snapshot *s;
	uint64_t calls_made = 0;

	made__life(m, 1, 10, "one");
	for (int i = 0; i < MAX_THREADS; i++)
		model__thread_ended(m, 1, 100 + i, "a name that is longer than any thread's may be", &c);
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].n_threads, MAX_THREADS, "each has its row");
	cr_expect_str_neq(s->processes[0].threads[MAX_THREADS - 1].comm, "(more that ended)");
	snapshot__free(s);
	for (int i = 0; i < 7; i++)
		model__thread_ended(m, 1, 9000 + i, "late", &c);
	s = made__shot(m, &cut);
	p = &s->processes[0];
	cr_assert_eq(p->n_threads, MAX_THREADS + 1);
	more = &p->threads[MAX_THREADS];
	cr_expect_str_eq(more->comm, "(more that ended)");
	cr_expect(more->ended);
	cr_expect_eq(more->stands_for, 7);
	cr_expect_eq(more->c.alloc_calls, 7);
	cr_expect_eq(more->c.alloc_bytes, 70);
	cr_expect_eq(more->c.free_calls, 14);
	cr_expect_eq(more->c.free_bytes, 140);
	cr_expect_eq(more->c.realloc_calls, 21);
	cr_expect_eq(more->c.temp_calls, 28);
	cr_expect_eq(more->c.failed_calls, 35);
	cr_expect_eq(more->c.unknown_frees, 42);
	for (size_t i = 0; i < p->n_threads; i++)
		calls_made += p->threads[i].c.alloc_calls;
	cr_expect_eq(calls_made, MAX_THREADS + 7);
	snapshot__free(s);
	model__free(m);
}

/* --mode leak: of two processes one could not be read. */
Test(lives, no_point_without_live_figures)
{
	struct snap_site sites[] = { { .number = 1, .proc = 1, .c = { ALLOCS(5, 320) } }, { .number = 2, .proc = 2, .c = { ALLOCS(7, 448) } } };
	struct cut_proc procs[] = { { .proc = 1, .pid = 10, .live_unknown = true }, { .proc = 2, .pid = 20 } };
	struct cut cut = { .sites = sites, .n_sites = 2, .procs = procs, .n_procs = 2 };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	made__life(m, 2, 20, "two");
	for (uint64_t i = 1; i <= 3; i++) {
		cut.now_ns = START + 1000 * i;
		model__note(m, &cut);
	}
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].n_timeline, 0);
	cr_expect_eq(s->processes[1].n_timeline, 3);
	for (size_t i = 0; i < s->n_sites; i++)
		cr_expect_eq(s->sites[i].n_history > 0, s->sites[i].process == 1, "a site of the process at %u", s->sites[i].process);
	snapshot__free(s);
	model__free(m);
}

Test(lives, timeline_is_thinned_out)
{
	struct snap_site sites[] = { { .proc = 1 }, { .proc = 2, .c = { ALLOCS(1000000, 1) } } };
	struct cut cut = { .sites = sites, .n_sites = 2 };
	struct model *m = made__model();
	bool was_full = false;

	made__life(m, 1, 10, "one");
	for (uint64_t i = 0; i < 10 * MAX_POINTS; i++) {
		cut.now_ns = START + 3 + 1000 * i;
		sites[0].c = (struct counters){ ALLOCS(i + 5, 64 * i + 320), FREES(5, 320) };
		model__set_rss(m, 1, 4096 + i, 0, 0);
		model__note(m, &cut);
		if (i % 97 && i != MAX_POINTS - 1 && i != MAX_POINTS)
			continue;

		struct snapshot *s = made__shot(m, &cut);
		const struct snap_process *p = &s->processes[0];
		uint64_t step = p->n_timeline > 1 ? p->timeline[1].t_ns - p->timeline[0].t_ns : 0;

		cr_assert_gt(p->n_timeline, 0);
		cr_assert_leq(p->n_timeline, MAX_POINTS);
		was_full |= p->n_timeline == MAX_POINTS;
		if (i >= MAX_POINTS)
			cr_assert_gt(p->n_timeline, MAX_POINTS / 2 - 1, "no more than every second one goes");
		for (size_t k = 0; k < p->n_timeline; k++) {
			const struct snap_point *at = &p->timeline[k];
			uint64_t n = (at->t_ns - 3) / 1000;

			cr_assert_eq(at->t_ns, 3 + k * step, "the first is kept, the rest evenly spaced");
			cr_assert_eq(at->live_blocks, n);
			cr_assert_eq(at->live_bytes, 64 * n);
			cr_assert_eq(at->alloc_calls, n + 5);
			cr_assert_eq(at->rss_bytes, 4096 + n);
		}
		snapshot__free(s);
	}
	cr_expect(was_full);
	model__free(m);
}

Test(lives, timeline_of_an_ended_life)
{
	struct cut cut = { .now_ns = START + 1 };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	made__life(m, 2, 20, "short");
	model__process(m, 2)->ended = true;
	model__note(m, &cut);
	model__process(m, 1)->ended = true;
	cut.now_ns += 10;
	model__note(m, &cut);
	s = made__shot(m, &cut);
	cr_assert_eq(s->processes[0].n_timeline, 1, "no point after its end");
	cr_assert_eq(s->processes[1].n_timeline, 1, "but one at least");
	cr_expect_eq(s->processes[0].timeline[0].t_ns, 1);
	snapshot__free(s);
	model__free(m);
}

/* Growth counts from what was first told; of one that has ended the last look stays, and no later one is believed. */
Test(lives, memory_of_a_life)
{
	struct cut_proc procs[] = { { .proc = 1 }, { .proc = 2 } };
	struct cut cut = { .now_ns = START + 100, .procs = procs, .n_procs = 2 };
	const struct snap_memory first = { .known = true, .heap_resident = 100, .large_resident = 50, .file_resident = 7, .large_estimated = true };
	const struct snap_memory now = { .known = true, .seen_ns = 90, .heap_resident = 130, .large_resident = 40, .file_resident = 7, .n_arenas = 2 };
	const struct snap_memory later = { .known = true, .seen_ns = 95, .heap_resident = 1 };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	made__life(m, 2, 20, "two");
	model__set_first_memory(m, 1, &first);
	s = made__shot(m, &cut);
	cr_expect_not(s->processes[0].memory.known);
	snapshot__free(s);
	model__set_memory(m, 1, &now);
	model__set_memory(m, 2, &now);
	model__set_memory(m, 77, &now);
	s = made__shot(m, &cut);
	cr_expect(s->processes[0].memory.known);
	cr_expect_eq(s->processes[0].memory.n_arenas, 2);
	cr_expect(s->processes[0].memory.grown_known);
	cr_expect_eq(s->processes[0].memory.heap_grown, 30);
	cr_expect_eq(s->processes[0].memory.large_grown, -10);
	cr_expect_eq(s->processes[0].memory.file_grown, 0);
	cr_expect(s->processes[0].memory.large_estimated, "from what it grew is an estimate");
	cr_expect_not(s->processes[0].memory.heap_estimated);
	cr_expect_not(s->processes[1].memory.large_estimated);
	cr_expect(s->processes[1].memory.known);
	cr_expect_not(s->processes[1].memory.grown_known, "it was not looked at first");
	snapshot__free(s);
	model__process(m, 1)->ended = true;
	model__set_memory(m, 1, &later);
	s = made__shot(m, &cut);
	cr_expect(s->processes[0].ended);
	cr_expect(s->processes[0].memory.known);
	cr_expect_eq(s->processes[0].memory.seen_ns, 90);
	cr_expect_eq(s->processes[0].memory.heap_resident, 130);
	snapshot__free(s);
	model__free(m);
}
