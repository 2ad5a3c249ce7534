// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Hand-made cuts → snapshots: sums, places, classes, losses, ages. */
#include <criterion/criterion.h>
#include <string.h>

#include "model_made.h"
#include "promises.h"

#define FUNC_MALLOC 0

Test(model, sites_processes_and_totals_agree)
{
	struct snap_site sites[] = {
		{ .proc = 3, .c = { ALLOCS(10, 1000), FREES(4, 300), .temp_calls = 1, .realloc_calls = 2, .failed_calls = 3,
			 .peak_bytes = 900 },
		  .lifetime_sum_ns = 77, .at_peak_bytes = 800, .min_size = 8, .max_size = 200 },
		{ .proc = 9, .func = 1, .c = { ALLOCS(7, 70), FREES(7, 70), .temp_calls = 7 }, .min_size = 10, .max_size = 10 },
		{ .proc = 3, .func = 2, .c = { ALLOCS(1, 1ull << 40), .realloc_calls = 1 } },
		{ .proc = 3, .c = { .failed_calls = 5 }, .min_size = 123 },
	};
	struct cut_proc procs[] = {
		{ .proc = 9, .pid = 90, .unknown_frees = 6, .peak_bytes = 70, .peak_ns = START + 5, .probe_hits = 100 },
		{ .proc = 3, .pid = 30, .unknown_frees = 2, .peak_bytes = 1000, .peak_ns = START + 44, .probe_hits = 1 },
	};
	struct cut_thread threads[] = { { .proc = 3, .tid = 30, .probe_hits = 20 } };
	struct cut cut = { .now_ns = START + 500, .sites = sites, .n_sites = ARRAY_SIZE(sites), .procs = procs,
			   .n_procs = ARRAY_SIZE(procs), .threads = threads, .n_threads = 1 };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 3, 30, "three");
	made__life(m, 9, 90, "nine");
	s = made__shot(m, &cut);
	cr_assert_eq(s->n_sites, 4);
	cr_assert_eq(s->n_processes, 2);
	expect_promises(s);
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
	cr_expect_eq(s->recording.mode, MT_MODE_FULL);
	cr_expect_eq(s->duration_ns, 7000000000);
	cr_expect_eq(s->wall_start_ns, 50);
	cr_expect_eq(s->wall_now_ns, 99);
	snapshot__free(s);
	model__free(m);
}

Test(model, nothing_at_all)
{
	struct cut cut = { .now_ns = START };
	struct model *m = made__model();
	struct snapshot *s = made__shot(m, &cut);

	cr_expect_eq(s->n_processes, 0);
	cr_expect_eq(s->n_sites, 0);
	cr_expect_eq(s->n_places, 0);
	cr_expect_eq(s->totals.alloc_calls, 0);
	cr_expect_eq(s->losses_total, 0);
	snapshot__free(s);
	made__life(m, 1, 10, NULL);
	s = made__shot(m, &cut);
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
	struct snap_site sites[] = {
		{ .proc = 2, .c = { ALLOCS(5, 50) }, .scan_blocks = 5, .scan_bytes = 50 },
		{ .proc = 1, .c = { ALLOCS(1, 8) }, .scan_blocks = 1, .scan_bytes = 8 },
		{ .proc = 0, .c = { ALLOCS(3, 30) } },
		{ .proc = UINT32_MAX, .c = { ALLOCS(4, 40) } },
	};
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = ARRAY_SIZE(sites), .scanned = true };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	made__life(m, 4, 40, "four");
	s = made__shot(m, &cut);
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
	struct snap_site sites[] = {
		{ .proc = 1, .func = MT_MAX_FUNCS, .c = { ALLOCS(2, 64) }, .end = MT_END_NO_RULE },
		{ .proc = 1, .func = FUNC_MALLOC, .c = { ALLOCS(1, 1) }, .frames = frames, .n_frames = 1, .end = MT_END_DEPTH },
		{ .proc = 1, .func = FUNC_MALLOC, .c = { ALLOCS(1, 1) }, .frames = frames, .n_frames = 1, .end = 200 },
	};
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = ARRAY_SIZE(sites) };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	s = made__shot(m, &cut);
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

Test(model, each_place_once)
{
	/* first.so+0x1234 and second.so+0x1234 in both; an address in no module, the same in both processes */
	const uint64_t one[] = { 0x11234, 0x19234, 0x42, 0x11234 }, two[] = { 0x21234, 0x29234, 0x42, 0x21235 };
	struct snap_site sites[] = {
		{ .proc = 1, .c = { ALLOCS(1, 1) }, .frames = one, .n_frames = 4 },
		{ .proc = 2, .c = { ALLOCS(1, 1) }, .frames = two, .n_frames = 4 },
		{ .proc = 1, .func = 1, .c = { ALLOCS(1, 1) }, .frames = one, .n_frames = 2 },
	};
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = 3 };
	const uint32_t *a, *b, *c;
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	made__life(m, 2, 20, "two");
	s = made__shot(m, &cut);
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
	cr_expect_eq(made_located, 7, "each address of a process once");
	snapshot__free(s);
	model__free(m);
}

Test(model, classes)
{
	struct cut_proc proc = { .proc = 1 };
	struct cut cut = { .now_ns = START, .procs = &proc, .n_procs = 1 };
	struct model *m = made__model();
	const struct snap_process *p;
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	proc.hist.size_allocs[0] = 1;
	proc.hist.size_allocs[7] = 12;
	proc.hist.size_frees[7] = 5;
	proc.hist.size_allocs[46] = 2;
	proc.hist.size_allocs[MT_N_CLASSES - 1] = 3;
	proc.hist.size_frees[MT_N_CLASSES - 1] = 3;
	proc.hist.lifetimes[22] = 4;
	proc.hist.lifetimes[MT_N_CLASSES - 1] = 6;
	s = made__shot(m, &cut);
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
	struct snapshot_info last = made_info;
	struct model *m = made__model();
	uint64_t sum = 0;
	struct snapshot *s;

	for (size_t i = 0; i < MT_N_COUNTERS; i++)
		cut.counters[i] = 1ull << i;
	last.codes_full = 7;
	last.base.n_unread = 2;
	s = model__snapshot(m, &cut, &last, &made_calls);
	cr_assert_not_null(s);
	cr_expect_eq(counter(s->losses, s->n_losses, "codes_full"), 7);
	cr_expect_eq(counter(s->losses, s->n_losses, "unread_file"), 2);
	sum = 0;
	snapshot__free(s);
	last.codes_full = 0;
	last.base.n_unread = 0;
	s = made__shot(m, &cut);
	cr_assert_eq(s->n_losses, MT_N_LOSSES + 5);
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
	last.base.ended = true;
	s = model__snapshot(m, &cut, &last, &made_calls);
	cr_assert_not_null(s);
	cr_expect(s->ended);
	cr_expect_eq(counter(s->edges, s->n_edges, "inside_at_end"), 1ull << 33);
	cr_expect_eq(s->losses_total, sum);
	snapshot__free(s);
	model__free(m);
}

Test(model, ages_and_times)
{
	struct snap_site sites[] = {
		{ .proc = 1, .c = { ALLOCS(3, 30) }, .first_ns = START - 10, .last_ns = START + 20, .oldest_born_ns = START - 500,
		  .older_blocks = 2, .older_bytes = 20, .scan_blocks = 3, .scan_bytes = 30 },
		{ .proc = 1, .c = { ALLOCS(1, 5), FREES(1, 5) }, .first_ns = START + 7, .last_ns = 0, .oldest_born_ns = 0 },
		{ .proc = 1, .c = { ALLOCS(1, 5) }, .oldest_born_ns = START + 101, .scan_blocks = 1, .scan_bytes = 5 },
	};
	struct cut_proc proc = { .proc = 1, .peak_bytes = 35, .peak_ns = START - 1 };
	struct cut cut = { .now_ns = START + 100, .sites = sites, .n_sites = 3, .procs = &proc, .n_procs = 1, .scanned = true };
	struct model *m = made__model();
	struct snapshot *s;

	made__life(m, 1, 10, "one");
	s = made__shot(m, &cut);
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
	s = made__shot(m, &cut);
	cr_expect_not(s->scanned);
	cr_expect_eq(s->sites[0].oldest_ns, 600, "what the cut knows without a scan");
	cr_expect_eq(s->processes[0].peak_at_ns, 0, "no peak, no time");
	snapshot__free(s);

	/* a clock that goes by ticks may be ahead of the instant at which the trace ended */
	proc.peak_bytes = 35;
	proc.peak_ns = sites[0].last_ns = START + made_info.base.duration_ns + 4000000;
	s = made__shot(m, &cut);
	cr_expect_eq(s->processes[0].peak_at_ns, s->duration_ns);
	cr_expect_eq(s->sites[0].last_ns, s->duration_ns);
	snapshot__free(s);
	model__free(m);
}

/* Below 0x8000 is code that stays; above, code that may get a name later. */
static void locate_fixed(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	made__locate(proc, addr, t_ns, ret, arg);
	ret->fixed = (addr & 0xffff) < 0x8000;
}

Test(model, what_is_known_is_not_located_again)
{
	static const uint64_t one[] = { 0x11000, 0x12000, 0x12000 }, two[] = { 0x12000, 0x19000 }, three[] = { 0x13000 };
	struct snap_site sites[] = {
		{ .number = 7, .proc = 1, .c = { ALLOCS(1, 1) }, .frames = one, .n_frames = 3 },
		{ .number = 2, .proc = 1, .c = { ALLOCS(1, 1) }, .frames = two, .n_frames = 2 },
		{ .number = 9, .proc = 1, .c = { ALLOCS(1, 1) }, .frames = three, .n_frames = 1 },
	};
	struct cut_proc proc = { .proc = 1 };
	struct cut cut = { .now_ns = START, .sites = sites, .n_sites = 2, .procs = &proc, .n_procs = 1 };
	struct model_calls fixed = made_calls;
	struct snapshot_info with = made_info;
	struct model *m = made__model();
	struct snapshot *first, *s;

	fixed.locate = locate_fixed;
	with.mappings = 10;
	made__life(m, 1, 10, "one");
	made_located = 0;
	first = model__snapshot(m, &cut, &with, &fixed);
	cr_assert_not_null(first);
	cr_expect_eq(made_located, 3);

	made_located = 0;
	cut.n_sites = 3;
	s = model__snapshot(m, &cut, &with, &fixed);
	cr_assert_not_null(s);
	cr_expect_eq(made_located, 2, "the new one, and the one that may have moved");
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

	made_located = 0;
	with.mappings = 11;
	s = model__snapshot(m, &cut, &with, &fixed);
	cr_assert_not_null(s);
	cr_expect_eq(made_located, 4, "something was mapped: all of it once more");
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
