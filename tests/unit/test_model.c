// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Lives and hand-made cuts → snapshots: sums, places, threads, timelines, classes, losses. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "tracee.h"
#include "util/util.h"

#define START 1000000ull
#define FUNC_MALLOC 0
#define ALLOCS(n, bytes) .alloc_calls = n, .alloc_bytes = bytes
#define FREES(n, bytes) .free_calls = n, .free_bytes = bytes
#define MAX_THREADS 1024	/* ended ones that keep a row of their own */
#define MAX_POINTS 1024

static struct tracees tracees;	/* for the names of the functions alone */
static unsigned int n_located;

/* Addresses from 0x1000 are in one of two modules, loaded elsewhere in each process; below, in none. */
static void locate(uint32_t proc, uint64_t addr, struct address *ret, void *arg)
{
	static const char first, second;
	uint64_t in_process = addr & 0xffff;

	n_located++;
	*ret = (struct address){ .offset = addr };
	if (in_process < 0x1000)
		return;
	cr_assert_eq(addr >> 16, proc, "asked for an address of another process");
	ret->module = in_process < 0x8000 ? &first : &second;
	ret->handle = ret->module;
	ret->path = in_process < 0x8000 ? "/lib/first.so" : "/lib/second.so";
	ret->build_id = in_process < 0x8000 ? "f00d" : NULL;
	ret->offset = in_process & 0x7fff;
}

static const char *function(uint32_t func, void *arg)
{
	return tracees__function(func, &tracees);
}

static void thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	snprintf(buf, 32, "t-%d-%d", (int)pid, (int)tid);
}

static const struct model_calls calls = { locate, function, thread_comm, NULL };
static const struct snapshot_info info = { .version = "v", .kernel = "k", .arch = "a", .duration_ns = 7,
					   .mode = "full", .size = "requested", .observed_share = 1, .wall_now_ns = 99, .max_size = UINT64_MAX };

static struct model *new_model(void)
{
	struct model *m = model__new();

	cr_assert_not_null(m);
	model__begin(m, START, 50);
	if (!tracees.objects)
		cr_assert_eq(tracees__init(&tracees), 0);
	return m;
}

static void add_life(struct model *m, uint32_t proc, pid_t pid, const char *comm)
{
	cr_assert_eq(model__add_life(m, &(struct life_info){ .proc = proc, .pid = pid, .comm = comm, .rss_bytes = 4096 }), 0);
}

static struct snapshot *shot(struct model *m, const struct cut *cut)
{
	struct snapshot *s = model__snapshot(m, cut, &info, &calls);

	cr_assert_not_null(s);
	return s;
}

static void expect_same_six(const struct counters *a, const struct counters *b, const char *whose)
{
	cr_expect_eq(a->alloc_calls, b->alloc_calls, "%s alloc_calls", whose);
	cr_expect_eq(a->alloc_bytes, b->alloc_bytes, "%s alloc_bytes", whose);
	cr_expect_eq(a->free_calls, b->free_calls, "%s free_calls", whose);
	cr_expect_eq(a->free_bytes, b->free_bytes, "%s free_bytes", whose);
	cr_expect_eq(a->live_blocks, b->live_blocks, "%s live_blocks", whose);
	cr_expect_eq(a->live_bytes, b->live_bytes, "%s live_bytes", whose);
}

static void add_six(struct counters *sum, const struct counters *c)
{
	sum->alloc_calls += c->alloc_calls;
	sum->alloc_bytes += c->alloc_bytes;
	sum->free_calls += c->free_calls;
	sum->free_bytes += c->free_bytes;
	sum->live_blocks += c->live_blocks;
	sum->live_bytes += c->live_bytes;
}

Test(model, sites_processes_and_totals_agree)
{
	struct cut_site sites[] = {
		{ .proc = 3, .counts = { ALLOCS(10, 1000), FREES(4, 300), .temp_calls = 1, .realloc_calls = 2, .failed_calls = 3,
			       .lifetime_ns = 77 },
		  .peak_bytes = 900, .at_peak_bytes = 800, .min_size = 8, .max_size = 200 },
		{ .proc = 9, .func = 1, .counts = { ALLOCS(7, 70), FREES(7, 70), .temp_calls = 7 }, .min_size = 10, .max_size = 10 },
		{ .proc = 3, .func = 2, .counts = { ALLOCS(1, 1ull << 40), .realloc_calls = 1 } },
		{ .proc = 3, .counts = { .failed_calls = 5 }, .min_size = 123 },
	};
	struct cut_proc procs[] = {
		{ .proc = 9, .pid = 90, .unknown_frees = 6, .peak_bytes = 70, .peak_ns = START + 5, .probe_hits = 100 },
		{ .proc = 3, .pid = 30, .unknown_frees = 2, .peak_bytes = 1000, .peak_ns = START + 44, .probe_hits = 1 },
	};
	struct cut_thread threads[] = { { .proc = 3, .tid = 30, .probe_hits = 20 } };
	struct cut cut = { .now_ns = START + 500, .sites = sites, .n_sites = ARRAY_SIZE(sites), .procs = procs,
			   .n_procs = ARRAY_SIZE(procs), .threads = threads, .n_threads = 1 };
	struct counters total = {};
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 3, 30, "three");
	add_life(m, 9, 90, "nine");
	s = shot(m, &cut);
	cr_assert_eq(s->n_sites, 4);
	cr_assert_eq(s->n_processes, 2);
	for (size_t p = 0; p < s->n_processes; p++) {
		struct counters sum = {};

		for (size_t i = 0; i < s->n_sites; i++)
			if (s->sites[i].process == p)
				add_six(&sum, &s->sites[i].c);
		expect_same_six(&sum, &s->processes[p].c, s->processes[p].comm);
		add_six(&total, &sum);
	}
	expect_same_six(&total, &s->totals, "totals");
	cr_expect_eq(s->totals.alloc_calls, 18);
	cr_expect_eq(s->totals.live_bytes, 700 + (1ull << 40));
	cr_expect_eq(s->totals.live_blocks, 7);

	cr_expect_eq(s->processes[0].pid, 30);
	cr_expect_eq(s->processes[0].c.unknown_frees, 2);
	cr_expect_eq(s->processes[0].c.realloc_calls, 3);
	cr_expect_eq(s->processes[0].c.failed_calls, 8);
	cr_expect_eq(s->processes[0].c.peak_bytes, 1000);
	cr_expect_eq(s->processes[0].peak_at_ns, 44);
	cr_expect_eq(s->processes[1].c.temp_calls, 7);
	cr_expect_eq(s->processes[1].c.live_blocks, 0);
	cr_expect_eq(s->totals.unknown_frees, 8);
	cr_expect_eq(s->totals.peak_bytes, 1070);
	cr_expect_eq(s->probe_hits, 121);

	cr_expect_eq(s->sites[0].at_peak_bytes, 800);
	cr_expect_eq(s->sites[0].c.peak_bytes, 900);
	cr_expect_eq(s->sites[0].lifetime_sum_ns, 77);
	cr_expect_eq(s->sites[0].min_size, 8);
	cr_expect_eq(s->sites[3].min_size, 0, "no allocation, no smallest one");
	cr_expect_str_eq(s->sites[0].function, "malloc");

	cr_expect_str_eq(s->version, "v");
	cr_expect_str_eq(s->mode, "full");
	cr_expect_eq(s->duration_ns, 7);
	cr_expect_eq(s->wall_start_ns, 50);
	cr_expect_eq(s->wall_now_ns, 99);
	snapshot__free(s);
	model__free(m);
}

Test(model, nothing_at_all)
{
	struct cut cut = { .now_ns = START };
	struct model *m = new_model();
	struct snapshot *s = shot(m, &cut);

	cr_expect_eq(s->n_processes, 0);
	cr_expect_eq(s->n_sites, 0);
	cr_expect_eq(s->n_places, 0);
	cr_expect_eq(s->totals.alloc_calls, 0);
	cr_expect_eq(s->losses_total, 0);
	snapshot__free(s);
	add_life(m, 1, 10, NULL);
	s = shot(m, &cut);
	cr_assert_eq(s->n_processes, 1, "a life without a row of the kernel's is there, empty");
	cr_expect_str_eq(s->processes[0].comm, "");
	cr_expect_str_eq(s->processes[0].exe, "");
	cr_expect_null(s->processes[0].cgroup);
	cr_expect_null(s->processes[0].container);
	cr_expect_eq(s->processes[0].n_threads, 0);
	cr_expect_eq(s->processes[0].n_timeline, 0);
	snapshot__free(s);
	model__free(m);
	model__free(NULL);
}

/* What no life is known of is in no process and so in no total either: sums must agree. */
Test(model, sites_of_unknown_processes)
{
	struct cut_site sites[] = {
		{ .proc = 2, .counts = { ALLOCS(5, 50) }, .scan_blocks = 5, .scan_bytes = 50 },
		{ .proc = 1, .counts = { ALLOCS(1, 8) }, .scan_blocks = 1, .scan_bytes = 8 },
		{ .proc = 0, .counts = { ALLOCS(3, 30) } },
		{ .proc = UINT32_MAX, .counts = { ALLOCS(4, 40) } },
	};
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = ARRAY_SIZE(sites), .scanned = true };
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	add_life(m, 4, 40, "four");
	s = shot(m, &cut);
	cr_assert_eq(s->n_sites, 1);
	cr_expect_eq(s->sites[0].c.alloc_bytes, 8);
	cr_expect_eq(s->totals.alloc_bytes, 8);
	cr_expect_eq(s->scan_blocks, 1);
	cr_expect_eq(s->scan_bytes, 8);
	snapshot__free(s);
	model__free(m);
}

Test(model, spare_site)
{
	const uint64_t frames[] = { 0x11000 };
	struct cut_site sites[] = {
		{ .proc = 1, .func = MT_MAX_FUNCS, .counts = { ALLOCS(2, 64) }, .end = MT_END_NO_RULE },
		{ .proc = 1, .func = FUNC_MALLOC, .counts = { ALLOCS(1, 1) }, .frames = frames, .n_frames = 1, .end = MT_END_DEPTH },
		{ .proc = 1, .func = FUNC_MALLOC, .counts = { ALLOCS(1, 1) }, .frames = frames, .n_frames = 1, .end = 200 },
	};
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = ARRAY_SIZE(sites) };
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	s = shot(m, &cut);
	cr_assert_eq(s->n_sites, 3);
	cr_expect_str_eq(s->sites[0].function, "any");
	cr_expect_eq(s->sites[0].n_stack, 0);
	cr_expect_eq(s->sites[0].c.live_bytes, 64);
	cr_expect_str_eq(s->sites[1].function, "malloc");
	cr_expect_eq(s->sites[1].n_stack, 1);
	cr_expect_eq(s->stacks_by_end[MT_END_DEPTH], 1);
	cr_expect_eq(s->stacks_by_end[MT_END_WHOLE], 0);
	cr_expect_eq(s->stacks_by_end[MT_END_NO_RULE], 1, "an empty stack is none; an end that is no end counts here");
	snapshot__free(s);
	model__free(m);
}

Test(model, lives_of_one_pid)
{
	struct cut_site sites[] = { { .proc = 5, .counts = { ALLOCS(1, 10) } }, { .proc = 6, .counts = { ALLOCS(2, 40) } } };
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = 2 };
	struct model *m = new_model();
	struct life_info third = { .proc = 7, .pid = 77, .comm = "third", .exe = "/bin/third", .cgroup = "/c", .container = "id",
				   .unit = "u.service", .age_at_attach_ns = 12, .rss_bytes = 100 };
	struct snapshot *s;

	add_life(m, 5, 77, "first");
	model__life_ended(m, 5);
	add_life(m, 6, 77, "second");
	cr_assert_eq(model__add_life(m, &third), 0);
	model__life_ended(m, 1234);
	model__set_rss(m, 7, 300);
	model__set_rss(m, 5, 0);
	s = shot(m, &cut);
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
Test(model, ages_are_those_at_the_begin)
{
	struct cut cut = { .now_ns = START };
	struct model *m = model__new();
	struct life_info infos[] = {
		{ .proc = 1, .pid = 11, .comm = "old", .age_at_attach_ns = 500, .wall_started_ns = 1000 },
		{ .proc = 2, .pid = 12, .comm = "own", .age_at_attach_ns = 0, .wall_started_ns = 1000 },
		/* the wall clock was put back meanwhile */
		{ .proc = 3, .pid = 13, .comm = "later", .age_at_attach_ns = 500, .wall_started_ns = 9000 },
	};
	struct snapshot *s;

	for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
		cr_assert_eq(model__add_life(m, &infos[i]), 0);
	model__begin(m, START, 1900);
	s = shot(m, &cut);
	cr_expect_eq(s->processes[0].age_at_attach_ns, 900);
	cr_expect_eq(s->processes[1].age_at_attach_ns, 0, "from its first instruction");
	cr_expect_eq(s->processes[2].age_at_attach_ns, 500);
	snapshot__free(s);
	model__free(m);
}

Test(model, threads)
{
	struct cut_thread live[] = {
		{ .proc = 1, .tid = 11, .counts = { 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ .proc = 2, .tid = 21, .counts = { .alloc_calls = 9 } },
		{ .proc = 1, .tid = 12, .counts = { .alloc_calls = 2 } },
	};
	struct cut cut = { .now_ns = START, .threads = live, .n_threads = ARRAY_SIZE(live) };
	struct model *m = new_model();
	const struct snap_thread *t;
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	add_life(m, 2, 20, "two");
	cr_assert_eq(model__thread_ended(m, 1, 13, "gone", &(struct mt_thread_counts){ .alloc_calls = 100, .free_bytes = 5 }), 0);
	cr_assert_eq(model__thread_ended(m, 8, 80, "nobody's", &(struct mt_thread_counts){ .alloc_calls = 1 }), 0);
	s = shot(m, &cut);
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

Test(model, many_threads_end)
{
	const struct mt_thread_counts c = { 1, 10, 2, 20, 3, 4, 5, 6 };
	struct cut cut = { .now_ns = START };
	struct model *m = new_model();
	const struct snap_process *p;
	const struct snap_thread *more;
	struct snapshot *s;
	uint64_t calls_made = 0;

	add_life(m, 1, 10, "one");
	for (int i = 0; i < MAX_THREADS; i++)
		cr_assert_eq(model__thread_ended(m, 1, 100 + i, "a name that is longer than any thread's may be", &c), 0);
	s = shot(m, &cut);
	cr_expect_eq(s->processes[0].n_threads, MAX_THREADS, "each has its row");
	cr_expect_str_neq(s->processes[0].threads[MAX_THREADS - 1].comm, "(more that ended)");
	snapshot__free(s);
	for (int i = 0; i < 7; i++)
		cr_assert_eq(model__thread_ended(m, 1, 9000 + i, "late", &c), 0);
	s = shot(m, &cut);
	p = &s->processes[0];
	cr_assert_eq(p->n_threads, MAX_THREADS + 1);
	more = &p->threads[MAX_THREADS];
	cr_expect_str_eq(more->comm, "(more that ended)");
	cr_expect(more->ended);
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

Test(model, timeline_is_thinned_out)
{
	struct cut_site sites[] = { { .proc = 1 }, { .proc = 2, .counts = { ALLOCS(1000000, 1) } } };
	struct cut cut = { .sites = sites, .n_sites = 2 };
	struct model *m = new_model();
	bool was_full = false;

	add_life(m, 1, 10, "one");
	for (uint64_t i = 0; i < 10 * MAX_POINTS; i++) {
		cut.now_ns = START + 3 + 1000 * i;
		sites[0].counts = (struct mt_counts){ ALLOCS(i + 5, 64 * i + 320), FREES(5, 320) };
		model__set_rss(m, 1, 4096 + i);
		cr_assert_eq(model__note(m, &cut), 0);
		if (i % 97 && i != MAX_POINTS - 1 && i != MAX_POINTS)
			continue;

		struct snapshot *s = shot(m, &cut);
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

Test(model, timeline_of_an_ended_life)
{
	struct cut cut = { .now_ns = START + 1 };
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	add_life(m, 2, 20, "short");
	model__life_ended(m, 2);
	model__note(m, &cut);
	model__life_ended(m, 1);
	cut.now_ns += 10;
	model__note(m, &cut);
	s = shot(m, &cut);
	cr_assert_eq(s->processes[0].n_timeline, 1, "no point after its end");
	cr_assert_eq(s->processes[1].n_timeline, 1, "but one at least");
	cr_expect_eq(s->processes[0].timeline[0].t_ns, 1);
	snapshot__free(s);
	model__free(m);
}

Test(model, each_place_once)
{
	/* first.so+0x1234 and second.so+0x1234 in both; an address in no module, the same in both processes */
	const uint64_t one[] = { 0x11234, 0x19234, 0x42, 0x11234 }, two[] = { 0x21234, 0x29234, 0x42, 0x21235 };
	struct cut_site sites[] = {
		{ .proc = 1, .counts = { ALLOCS(1, 1) }, .frames = one, .n_frames = 4 },
		{ .proc = 2, .counts = { ALLOCS(1, 1) }, .frames = two, .n_frames = 4 },
		{ .proc = 1, .func = 1, .counts = { ALLOCS(1, 1) }, .frames = one, .n_frames = 2 },
	};
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = 3 };
	const uint32_t *a, *b, *c;
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	add_life(m, 2, 20, "two");
	s = shot(m, &cut);
	cr_assert_eq(s->n_sites, 3);
	a = s->sites[0].stack;
	b = s->sites[1].stack;
	c = s->sites[2].stack;
	cr_expect_eq(s->sites[0].n_stack, 4);
	cr_expect_eq(s->sites[2].n_stack, 2);
	cr_expect_eq(a[0], b[0]);
	cr_expect_eq(a[0], a[3]);
	cr_expect_eq(a[0], c[0]);
	cr_expect_eq(a[1], b[1]);
	cr_expect_neq(a[0], a[1], "the same offset of another module");
	cr_expect_neq(b[3], b[0], "another offset");
	cr_assert_eq(s->n_places, 4);
	cr_assert_eq(s->n_modules, 2);
	cr_expect_eq(s->places[a[0]].offset, 0x1234);
	cr_expect_str_eq(s->modules[s->places[a[0]].module].path, "/lib/first.so");
	cr_expect_str_eq(s->modules[s->places[a[0]].module].build_id, "f00d");
	cr_expect_not_null(s->modules[s->places[a[0]].module].handle);
	cr_expect_str_eq(s->modules[s->places[a[1]].module].path, "/lib/second.so");
	cr_expect_null(s->modules[s->places[a[1]].module].build_id);
	cr_expect_eq(s->places[a[2]].module, -1);
	cr_expect_eq(s->places[a[2]].offset, 0x42);
	cr_expect_not(s->places[a[0]].resolved);
	cr_expect_eq(n_located, 7, "each address of a process once");
	snapshot__free(s);
	model__free(m);
}

Test(model, classes)
{
	struct cut_proc proc = { .proc = 1 };
	struct cut cut = { .now_ns = START, .procs = &proc, .n_procs = 1 };
	struct model *m = new_model();
	const struct snap_process *p;
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	proc.hist.size_allocs[0] = 1;
	proc.hist.size_allocs[7] = 12;
	proc.hist.size_frees[7] = 5;
	proc.hist.size_allocs[46] = 2;
	proc.hist.size_allocs[MT_N_CLASSES - 1] = 3;
	proc.hist.size_frees[MT_N_CLASSES - 1] = 3;
	proc.hist.lifetimes[22] = 4;
	proc.hist.lifetimes[MT_N_CLASSES - 1] = 6;
	s = shot(m, &cut);
	p = &s->processes[0];
	cr_assert_eq(p->n_sizes, 4, "empty ones are left out");
	cr_expect_eq(p->sizes[0].below, 1);
	cr_expect_eq(p->sizes[0].live_blocks, 1);
	cr_expect_eq(p->sizes[1].below, 128);
	cr_expect_eq(p->sizes[1].alloc_calls, 12);
	cr_expect_eq(p->sizes[1].live_blocks, 7);
	cr_expect_eq(p->sizes[2].below, 1ull << 46);
	cr_expect_eq(p->sizes[3].below, UINT64_MAX);
	cr_expect_eq(p->sizes[3].alloc_calls, 3);
	cr_expect_eq(p->sizes[3].live_blocks, 0);
	cr_assert_eq(p->n_lifetimes, 2);
	cr_expect_eq(p->lifetimes[0].below_ns, 1ull << 22);
	cr_expect_eq(p->lifetimes[0].blocks, 4);
	cr_expect_eq(p->lifetimes[1].below_ns, UINT64_MAX);
	cr_expect_eq(p->lifetimes[1].blocks, 6);
	snapshot__free(s);
	model__free(m);
}

static uint64_t counter(const struct snap_counter *c, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].name, name))
			return c[i].n;
	cr_assert_fail("no counter '%s'", name);
	return 0;
}

Test(model, losses_and_edges)
{
	struct cut cut = { .now_ns = START, .missed_hits = 1ull << 32, .n_inside = 1ull << 33 };
	struct snapshot_info last = info;
	struct model *m = new_model();
	uint64_t sum = 0;
	struct snapshot *s;

	for (size_t i = 0; i < MT_N_COUNTERS; i++)
		cut.counters[i] = 1ull << i;
	s = shot(m, &cut);
	cr_assert_eq(s->n_losses, MT_N_LOSSES + 2);
	cr_assert_eq(s->n_edges, MT_N_COUNTERS - MT_N_LOSSES + 1);
	for (size_t i = 0; i < s->n_losses; i++) {
		cr_expect_gt(strlen(s->losses[i].says), 0);
		sum += s->losses[i].n;
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(s->losses[i].name, s->losses[k].name);
	}
	cr_expect_eq(s->losses_total, sum);
	cr_expect_eq(s->losses_total, (1ull << MT_N_LOSSES) - 1 + (1ull << 32), "edges are no losses");
	cr_expect_eq(counter(s->losses, s->n_losses, "live_full"), 1ull << MT_LOST_LIVE_FULL);
	cr_expect_eq(counter(s->losses, s->n_losses, "process_full"), 1ull << MT_LOST_PROCESS_FULL);
	cr_expect_eq(counter(s->losses, s->n_losses, "missed_return"), 1ull << MT_LOST_MISSED_RETURN);
	cr_expect_eq(counter(s->losses, s->n_losses, "missed_hits"), 1ull << 32);
	cr_expect_eq(counter(s->edges, s->n_edges, "return_only"), 1ull << MT_EDGE_RETURN_ONLY);
	cr_expect_eq(counter(s->edges, s->n_edges, "abandoned"), 1ull << MT_EDGE_ABANDONED);
	cr_expect_eq(counter(s->edges, s->n_edges, "died_inside"), 1ull << MT_EDGE_DIED_INSIDE);
	cr_expect_eq(counter(s->edges, s->n_edges, "inside_at_end"), 0, "it goes on");
	snapshot__free(s);
	last.ended = true;
	s = model__snapshot(m, &cut, &last, &calls);
	cr_assert_not_null(s);
	cr_expect(s->ended);
	cr_expect_eq(counter(s->edges, s->n_edges, "inside_at_end"), 1ull << 33);
	cr_expect_eq(s->losses_total, sum);
	snapshot__free(s);
	model__free(m);
}

/* Growth counts from what was first told; of one that has ended nothing is told any more. */
Test(model, memory_of_a_life)
{
	struct cut_proc procs[] = { { .proc = 1 }, { .proc = 2 } };
	struct cut cut = { .now_ns = START + 100, .procs = procs, .n_procs = 2 };
	const struct snap_memory first = { .known = true, .heap_resident = 100, .large_resident = 50, .file_resident = 7 };
	const struct snap_memory now = { .known = true, .heap_resident = 130, .large_resident = 40, .file_resident = 7, .n_arenas = 2 };
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	add_life(m, 2, 20, "two");
	model__set_first_memory(m, 1, &first);
	s = shot(m, &cut);
	cr_expect_not(s->processes[0].memory.known);
	snapshot__free(s);
	model__set_memory(m, 1, &now);
	model__set_memory(m, 2, &now);
	model__set_memory(m, 77, &now);
	s = shot(m, &cut);
	cr_expect(s->processes[0].memory.known);
	cr_expect_eq(s->processes[0].memory.n_arenas, 2);
	cr_expect(s->processes[0].memory.grown_known);
	cr_expect_eq(s->processes[0].memory.heap_grown, 30);
	cr_expect_eq(s->processes[0].memory.large_grown, -10);
	cr_expect_eq(s->processes[0].memory.file_grown, 0);
	cr_expect(s->processes[1].memory.known);
	cr_expect_not(s->processes[1].memory.grown_known, "it was not looked at first");
	snapshot__free(s);
	model__life_ended(m, 1);
	s = shot(m, &cut);
	cr_expect_not(s->processes[0].memory.known);
	snapshot__free(s);
	model__free(m);
}

Test(model, ages_and_times)
{
	struct cut_site sites[] = {
		{ .proc = 1, .counts = { ALLOCS(3, 30) }, .first_ns = START - 10, .last_ns = START + 20, .oldest_born_ns = START - 500,
		  .older_blocks = 2, .older_bytes = 20, .scan_blocks = 3, .scan_bytes = 30 },
		{ .proc = 1, .counts = { ALLOCS(1, 5), FREES(1, 5) }, .first_ns = START + 7, .last_ns = 0, .oldest_born_ns = 0 },
		{ .proc = 1, .counts = { ALLOCS(1, 5) }, .oldest_born_ns = START + 101, .scan_blocks = 1, .scan_bytes = 5 },
	};
	struct cut_proc proc = { .proc = 1, .peak_bytes = 35, .peak_ns = START - 1 };
	struct cut cut = { .now_ns = START + 100, .sites = sites, .n_sites = 3, .procs = &proc, .n_procs = 1, .scanned = true };
	struct model *m = new_model();
	struct snapshot *s;

	add_life(m, 1, 10, "one");
	s = shot(m, &cut);
	cr_expect(s->scanned);
	cr_expect_eq(s->sites[0].first_ns, 0, "before the start");
	cr_expect_eq(s->sites[0].last_ns, 20);
	cr_expect_eq(s->sites[0].oldest_ns, 600);
	cr_expect_eq(s->sites[0].older_blocks, 2);
	cr_expect_eq(s->sites[0].older_bytes, 20);
	cr_expect_eq(s->sites[1].first_ns, 7);
	cr_expect_eq(s->sites[1].last_ns, 0);
	cr_expect_eq(s->sites[1].oldest_ns, 0, "no live block");
	cr_expect_eq(s->sites[2].oldest_ns, 0, "born after the cut's time");
	cr_expect_eq(s->processes[0].peak_at_ns, 0, "before the start");
	cr_expect_eq(s->scan_blocks, 4);
	cr_expect_eq(s->scan_bytes, 35);
	snapshot__free(s);

	cut.scanned = false;
	proc.peak_bytes = 0;
	proc.peak_ns = START + 9;
	s = shot(m, &cut);
	cr_expect_not(s->scanned);
	cr_expect_eq(s->sites[0].oldest_ns, 600, "what the cut knows without a scan");
	cr_expect_eq(s->processes[0].peak_at_ns, 0, "no peak, no time");
	snapshot__free(s);
	model__free(m);
}

/* Below 0x8000 is code that stays; above, code that may get a name later. */
static void locate_fixed(uint32_t proc, uint64_t addr, struct address *ret, void *arg)
{
	locate(proc, addr, ret, arg);
	ret->fixed = (addr & 0xffff) < 0x8000;
}

Test(model, what_is_known_is_not_located_again)
{
	static const uint64_t one[] = { 0x11000, 0x12000, 0x12000 }, two[] = { 0x12000, 0x19000 }, three[] = { 0x13000 };
	struct cut_site sites[] = {
		{ .site = 7, .proc = 1, .counts = { ALLOCS(1, 1) }, .frames = one, .n_frames = 3 },
		{ .site = 2, .proc = 1, .counts = { ALLOCS(1, 1) }, .frames = two, .n_frames = 2 },
		{ .site = 9, .proc = 1, .counts = { ALLOCS(1, 1) }, .frames = three, .n_frames = 1 },
	};
	struct cut_proc proc = { .proc = 1 };
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = 2, .procs = &proc, .n_procs = 1 };
	struct model_calls fixed = calls;
	struct snapshot_info with = info;
	struct model *m = new_model();
	struct snapshot *first, *s;

	fixed.locate = locate_fixed;
	with.mappings = 10;
	add_life(m, 1, 10, "one");
	n_located = 0;
	first = model__snapshot(m, &cut, &with, &fixed);
	cr_assert_not_null(first);
	cr_expect_eq(n_located, 3);

	n_located = 0;
	cut.n_sites = 3;
	s = model__snapshot(m, &cut, &with, &fixed);
	cr_assert_not_null(s);
	cr_expect_eq(n_located, 2, "the new one, and the one that may have moved");
	cr_expect_eq(s->n_places, 4);
	cr_expect_eq(first->n_places, 3, "a snapshot does not change");
	cr_expect_eq(s->sites[0].n_stack, 3);
	cr_expect_eq(s->places[s->sites[0].stack[0]].offset, 0x1000);
	cr_expect_eq(s->places[s->sites[0].stack[1]].offset, 0x2000);
	cr_expect_eq(s->sites[0].stack[1], s->sites[0].stack[2]);
	cr_expect_eq(s->sites[0].stack[1], s->sites[1].stack[0]);
	cr_expect_eq(s->places[s->sites[1].stack[1]].offset, 0x1000);
	cr_expect_str_eq(s->modules[s->places[s->sites[1].stack[1]].module].path, "/lib/second.so");
	cr_expect_eq(s->places[s->sites[2].stack[0]].offset, 0x3000);
	snapshot__free(s);

	n_located = 0;
	with.mappings = 11;
	s = model__snapshot(m, &cut, &with, &fixed);
	cr_assert_not_null(s);
	cr_expect_eq(n_located, 4, "something was mapped: all of it once more");
	cr_expect_eq(s->n_places, 4);
	cr_expect_eq(s->n_modules, 2);
	cr_expect_eq(s->places[s->sites[0].stack[1]].offset, 0x2000);
	model__free(m);

	/* both outlive the model */
	cr_expect_eq(first->places[first->sites[1].stack[1]].offset, 0x1000);
	cr_expect_str_eq(first->modules[first->places[first->sites[0].stack[0]].module].path, "/lib/first.so");
	snapshot__free(first);
	snapshot__free(s);
}
