// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Lives that left the kernel's tables: what snapshots tell of them, what is folded first, and that sums stay. */
#include "archive_made.h"

static const struct snap_site *site_with(const struct snapshot *s, uint32_t process, uint64_t alloc_calls)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].process == process && s->sites[i].c.alloc_calls == alloc_calls)
			return &s->sites[i];
	return NULL;
}

Test(archive, a_life_is_told_as_before)
{
	struct snap_site sites[] = { site(1, 1, 0, 10, 4), site(2, 1, 1, 7, 0), site(3, 2, 0, 5, 5) };
	struct cut_proc procs[] = {
		{ .proc = 1, .pid = 11, .ended = 1, .unknown_frees = 4, .peak_bytes = 90, .peak_ns = START + 9, .probe_hits = 77,
		  .lost_blocks = 3, .lost_stacks = 2, .hist.size_allocs[4] = 17, .hist.size_frees[4] = 13, .hist.lifetimes[9] = 13 },
		{ .proc = 2, .pid = 22, .peak_bytes = 50 },
	};
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 3, .procs = procs, .n_procs = 2, .scanned = true };
	struct mt_thread_counts thread = { .alloc_calls = 17 };
	struct model *m = new_model(0, 0);
	const struct snap_process *p, *q;
	const struct snap_site *was, *is;
	struct snapshot *before, *after;
	const uint32_t leaving = 1;

	add_life(m, 1, 11);
	add_life(m, 2, 22);
	model__thread_ended(m, 1, 11, "main", &thread);
	model__process(m, 1)->ended = true;
	model__note(m, &cut);
	before = shot(m, &cut);
	model__archive(m, &leaving, 1, &cut, 1, &calls);
	after = shot(m, &cut);
	expect_same(before, after);
	expect_promises(after);
	snapshot__free(after);

	/* its number and its site are another's now */
	sites[0] = site(1, 4097, 0, 2, 1);
	sites[1] = sites[2];
	procs[0] = (struct cut_proc){ .proc = 4097, .pid = 33 };
	cut.n_sites = 2;
	info.mappings = 2;
	add_life(m, 4097, 33);
	after = shot(m, &cut);
	cr_expect_eq(after->totals.alloc_calls, before->totals.alloc_calls + 2);
	expect_promises(after);
	cr_assert_eq(after->n_processes, 3);
	p = &after->processes[0];
	q = &before->processes[0];
	cr_expect_eq(p->pid, 11);
	cr_expect_eq(p->id, q->id);
	cr_expect_str_eq(p->comm, "life");
	cr_expect_str_eq(p->exe, "/bin/life");
	cr_expect(p->ended);
	cr_expect_eq(p->c.unknown_frees, 4);
	cr_expect_eq(p->c.peak_bytes, 90);
	cr_expect_eq(p->peak_at_ns, 9);
	cr_expect_eq(p->lost_blocks, 3);
	cr_expect_eq(p->lost_stacks, 2);
	cr_assert_eq(p->n_sizes, 1);
	cr_expect_eq(p->sizes[0].live_blocks, 4);
	cr_assert_eq(p->n_lifetimes, 1);
	cr_assert_eq(p->n_threads, 1);
	cr_expect_eq(p->threads[0].c.alloc_calls, 17);
	cr_expect_eq(p->n_timeline, q->n_timeline);
	was = site_with(before, 0, 10);
	is = site_with(after, 0, 10);
	cr_assert(was && is);
	cr_expect_eq(is->n_stack, FRAMES);
	for (int i = 0; i < FRAMES; i++) {
		const struct place *at = &after->places[is->stack[i]];

		cr_expect_eq(at->offset, 10 + (uint64_t)i);
		cr_expect_str_eq(after->modules[at->module].path, "/one");
		cr_expect_str_eq(after->modules[at->module].build_id, "b1d");
		cr_expect_eq(after->modules[at->module].handle, &handles[1]);
	}
	cr_expect_eq(is->oldest_ns, was->oldest_ns);
	cr_expect_eq(is->first_ns, was->first_ns);
	cr_expect_eq(is->at_peak_bytes, 40);
	cr_expect_eq(is->min_size, 1);
	cr_expect_eq(is->max_size, 1001);
	cr_expect_eq(is->cross_frees, 1);
	cr_expect_str_eq(site_with(after, 0, 7)->function, "calloc");
	cr_expect_eq(n_kept[1], 1, "one reference to its file");
	cr_expect_eq(n_kept[2], 0);
	snapshot__free(before);
	snapshot__free(after);
	model__free(m);
	cr_expect_eq(n_kept[1], 0);
	info.mappings = 1;
}

Test(archive, numbers_that_nobody_knows)
{
	struct snap_site sites[] = { site(1, 5, 0, 10, 4) };
	struct cut_proc procs[] = { { .proc = 5, .pid = 11, .ended = 3 } };
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 1, .procs = procs, .n_procs = 1 };
	const uint32_t leaving[] = { 5, 9, 0, MT_PROC_NUMBERS, UINT32_MAX };
	struct model *m = new_model(0, 0);
	struct snapshot *s;

	model__archive(m, leaving, ARRAY_SIZE(leaving), &cut, 1, &calls);
	s = shot(m, &cut);
	cr_expect_eq(s->n_processes, 0, "one that was thrown out is in no report");
	cr_expect_eq(s->totals.alloc_calls, 0);
	cr_expect_eq(n_kept[5], 0);
	snapshot__free(s);
	model__free(m);
}

/* Sites of which nothing is live go first, those with the fewest bytes allocated before the others. */
Test(archive, the_smallest_sites_are_folded_first)
{
	struct snap_site sites[16];
	struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 }, { .proc = 2, .pid = 22, .ended = 1 } };
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 16, .procs = procs, .n_procs = 2 };
	const uint32_t leaving[] = { 1, 2 };
	struct model *m = new_model(100, 14);
	struct snapshot *before, *after;
	const struct snap_site *bare;

	/* 1 to 6 have nothing live, of two functions; 7 to 16 have little live, and little was allocated */
	for (uint32_t i = 1; i <= 6; i++)
		sites[i - 1] = site(i, 1, i % 2, 1000 * i * i, 0);
	for (uint32_t i = 7; i <= 16; i++)
		sites[i - 1] = site(i, i % 2 + 1, 0, i, 1);
	add_life(m, 1, 11);
	add_life(m, 2, 22);
	before = shot(m, &cut);
	model__archive(m, leaving, 2, &cut, 1, &calls);
	cut.n_sites = 0;
	after = shot(m, &cut);
	expect_same(before, after);
	expect_promises(after);
	cr_expect_eq(after->n_processes, 2);
	cr_expect_eq(after->n_folded_processes, 0);
	/* down to 13 (an eighth less): 1 and 2 become the rows without a stack, 3, 4 and 5 are added to them */
	cr_expect_eq(after->n_sites, 13);
	cr_expect_eq(after->n_folded_sites, 5);
	bare = site_with(after, 0, 1000 + 9000 + 25000);
	cr_assert_not_null(bare);
	cr_expect_eq(bare->n_stack, 0);
	cr_expect_str_eq(bare->function, "calloc");
	cr_expect_eq(bare->c.temp_calls, 3);
	cr_expect_eq(bare->min_size, 1);
	cr_expect_eq(bare->max_size, 1005);
	cr_expect_eq(bare->first_ns, 1);
	cr_expect_eq(bare->last_ns, 499);
	bare = site_with(after, 0, 4000 + 16000);
	cr_assert_not_null(bare);
	cr_expect_str_eq(bare->function, "malloc");
	cr_assert_not_null(site_with(after, 0, 36000));
	cr_expect_eq(site_with(after, 0, 36000)->n_stack, FRAMES, "the largest of them keeps its stack");
	for (uint32_t i = 7; i <= 16; i++)
		cr_expect_eq(site_with(after, i % 2, i)->n_stack, FRAMES, "something is live: %u", i);
	snapshot__free(before);
	snapshot__free(after);
	model__free(m);
}

/* Too many lives: those with the least live bytes become one row, whatever they allocated. */
Test(archive, lives_with_the_least_live_are_folded)
{
	struct snap_site sites[40];
	struct cut_proc procs[20];
	struct cut cut = { .now_ns = START + 900, .sites = sites, .procs = procs };
	struct model *m = new_model(16, 1000);
	struct mt_thread_counts thread = { .alloc_calls = 1 };
	struct snapshot *before, *after;
	const struct snap_process *others = NULL;
	uint32_t leaving[20];

	for (uint32_t i = 0; i < 20; i++) {
		uint32_t proc = i + 1;

		/* the later, the less is live, and the more was allocated */
		sites[cut.n_sites] = site(cut.n_sites, proc, 0, 1000 + i, 100 - i);
		cut.n_sites++;
		sites[cut.n_sites] = site(cut.n_sites, proc, 1, 500 * i + 1, 0);
		cut.n_sites++;
		procs[cut.n_procs++] = (struct cut_proc){ .proc = proc, .pid = (pid_t)(100 + i), .ended = 1, .unknown_frees = 2,
							  .peak_bytes = 10, .probe_hits = 5, .missed_frees = 3, .hist.size_allocs[4] = 1 };
		add_life(m, proc, (pid_t)(100 + i));
		model__thread_ended(m, proc, 1, "x", &thread);
		leaving[i] = proc;
	}
	model__note(m, &cut);
	before = shot(m, &cut);
	model__archive(m, leaving, 20, &cut, 1, &calls);
	cut.n_sites = cut.n_procs = 0;
	after = shot(m, &cut);
	expect_same(before, after);
	expect_promises(after);
	/* 14 are left of 20: the first ones; and a row for the others */
	cr_expect_eq(after->n_folded_processes, 6);
	cr_assert_eq(after->n_processes, 15);
	for (size_t i = 0; i < after->n_processes; i++) {
		const struct snap_process *p = &after->processes[i];

		if (p->pid)
			cr_expect_lt(p->pid, 114);
		else
			others = p;
	}
	cr_assert_not_null(others);
	cr_expect_str_eq(others->comm, "(6 others that ended)");
	cr_expect(others->ended);
	cr_expect_eq(others->id, 21);
	cr_expect_eq(others->n_members, 6);
	cr_expect_eq(others->c.live_blocks, 86 + 85 + 84 + 83 + 82 + 81);
	cr_expect_eq(others->c.unknown_frees, 12);
	cr_expect_eq(others->c.peak_bytes, 60);
	cr_expect_eq(others->missed_frees, 18);
	cr_expect_eq(others->sizes[0].alloc_calls, 6);
	cr_assert_eq(others->n_threads, 1);
	cr_expect_eq(others->threads[0].c.alloc_calls, 6);
	for (size_t i = 0; i < after->n_sites; i++)
		if (after->sites[i].process == others - after->processes)
			cr_expect(!after->sites[i].n_stack && after->sites[i].peak_at_most);
		else
			cr_expect_not(after->sites[i].peak_at_most);
	snapshot__free(after);

	/* more of them are added to the same row */
	for (uint32_t i = 0; i < 3; i++) {
		sites[i] = site(i, 100 + i, 0, 1, 1);
		procs[i] = (struct cut_proc){ .proc = 100 + i, .pid = (pid_t)(200 + i), .ended = 1 };
		add_life(m, 100 + i, (pid_t)(200 + i));
		leaving[i] = 100 + i;
	}
	cut.n_sites = cut.n_procs = 3;
	model__archive(m, leaving, 3, &cut, 1, &calls);
	cut.n_sites = cut.n_procs = 0;
	after = shot(m, &cut);
	expect_promises(after);
	cr_expect_eq(after->totals.alloc_calls, before->totals.alloc_calls + 3);
	cr_expect_eq(after->n_folded_processes, 9);
	cr_expect_eq(after->n_processes, 15);
	snapshot__free(after);
	snapshot__free(before);
	model__free(m);
	for (size_t i = 0; i < ARRAY_SIZE(n_kept); i++)
		cr_expect_eq(n_kept[i], 0);
}

/* Sites of many small lives, one of each function: lives are folded until the rows that are left have room. */
Test(archive, lives_are_folded_where_their_sites_cannot_be)
{
	struct snap_site sites[20];
	struct cut_proc procs[10];
	struct cut cut = { .now_ns = START + 900, .sites = sites, .procs = procs };
	struct model *m = new_model(100, 14);
	struct snapshot *before, *after;
	uint32_t leaving[10];

	for (uint32_t i = 0; i < 10; i++) {
		leaving[i] = i + 1;
		sites[cut.n_sites] = site(cut.n_sites, i + 1, 0, 1000, 100 - i);
		cut.n_sites++;
		sites[cut.n_sites] = site(cut.n_sites, i + 1, 1, 1000, 0);
		cut.n_sites++;
		procs[cut.n_procs++] = (struct cut_proc){ .proc = i + 1, .pid = (pid_t)(100 + i), .ended = 1 };
		add_life(m, i + 1, (pid_t)(100 + i));
	}
	before = shot(m, &cut);
	model__archive(m, leaving, 10, &cut, 1, &calls);
	cut.n_sites = cut.n_procs = 0;
	after = shot(m, &cut);
	expect_same(before, after);
	expect_promises(after);
	cr_expect_leq(after->n_sites, 14);
	cr_expect_eq(after->n_folded_processes, 5);
	cr_expect_eq(after->n_processes, 6);
	for (size_t i = 0; i < after->n_processes; i++)
		cr_expect_lt(after->processes[i].pid, 105, "those that hold the most are rows of their own");
	snapshot__free(before);
	snapshot__free(after);
	model__free(m);
}

/* One life with more live stacks than there is room for: those with the least live bytes go. */
Test(archive, one_large_life_keeps_its_largest_sites)
{
	struct snap_site sites[32];
	struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 } };
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 32, .procs = procs, .n_procs = 1 };
	const uint32_t leaving = 1;
	struct model *m = new_model(16, 16);
	struct snapshot *before, *after;

	for (uint32_t i = 0; i < 32; i++)
		sites[i] = site(i + 1, 1, 0, 1000 + i, 1 + i * 7 % 32);
	add_life(m, 1, 11);
	before = shot(m, &cut);
	model__archive(m, &leaving, 1, &cut, 1, &calls);
	cut.n_sites = 0;
	after = shot(m, &cut);
	expect_same(before, after);
	expect_promises(after);
	cr_assert_eq(after->n_processes, 1);
	cr_expect_eq(after->n_folded_processes, 0);
	cr_assert_eq(after->n_sites, 14);
	cr_expect_eq(after->n_folded_sites, 19);
	for (size_t i = 0; i < after->n_sites; i++)
		if (after->sites[i].n_stack)
			cr_expect_gt(after->sites[i].c.live_blocks, 19);
	snapshot__free(before);
	snapshot__free(after);
	model__free(m);
}

/* Most of what compilers leave holds nothing, and would be folded: to find its places takes longer than the next one takes to start. */
Test(archive, what_would_be_folded_is_not_located)
{
	static struct snap_site sites[400];
	struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 } };
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 400, .procs = procs, .n_procs = 1 };
	const uint32_t leaving = 1;
	struct model *m = new_model(16, 16);
	struct snapshot *after;
	uint64_t calls_before = 0, calls_after = 0;

	for (uint32_t i = 0; i < 400; i++) {
		sites[i] = site(i + 1, 1, i % 2, 1000 + i, i % 100 ? 0 : 1);
		calls_before += 1000 + i;
	}
	add_life(m, 1, 11);
	n_located = 0;
	model__archive(m, &leaving, 1, &cut, 1, &calls);
	cr_expect_leq(n_located, (16 + 4) * FRAMES);
	cut.n_sites = 0;
	after = shot(m, &cut);
	expect_promises(after);
	for (size_t i = 0; i < after->n_sites; i++)
		calls_after += after->sites[i].c.alloc_calls;
	cr_expect_eq(calls_after, calls_before);
	for (uint32_t i = 0; i < 400; i += 100)
		cr_expect_eq(site_with(after, 0, 1000 + i)->n_stack, FRAMES, "something is live: %u", i);
	cr_expect_eq(site_with(after, 0, 1399)->n_stack, FRAMES, "the largest keeps its stack");
	cr_expect_eq(after->n_sites + after->n_folded_sites, 400 + 2);
	snapshot__free(after);
	model__free(m);
}

/* A process may start a thread per request: those that did the most are kept one by one. */
Test(archive, threads_are_bounded)
{
	struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 } };
	struct cut cut = { .now_ns = START + 900, .procs = procs, .n_procs = 1 };
	const uint32_t leaving = 1;
	struct model *m = new_model(0, 0);
	uint64_t sum = 0;
	struct snapshot *s;

	add_life(m, 1, 11);
	for (int i = 0; i < 300; i++) {
		struct mt_thread_counts t = { .alloc_calls = 1, .alloc_bytes = (uint64_t)(i * 7 % 300) };

		model__thread_ended(m, 1, i + 1, "x", &t);
	}
	model__archive(m, &leaving, 1, &cut, 1, &calls);
	s = shot(m, &cut);
	cr_assert_eq(s->processes[0].n_threads, 65);
	for (size_t i = 0; i < 65; i++) {
		sum += s->processes[0].threads[i].c.alloc_calls;
		if (i < 64)
			cr_expect_geq(s->processes[0].threads[i].c.alloc_bytes, 236);
	}
	cr_expect_eq(sum, 300);
	snapshot__free(s);
	model__free(m);
}

/* --older: what was alive when its process ended is older than anything, some day. */
Test(archive, blocks_of_the_dead_grow_older)
{
	struct snap_site sites[] = { site(1, 1, 0, 10, 4) };
	struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 } };
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 1, .procs = procs, .n_procs = 1, .scanned = true };
	const uint32_t leaving = 1;
	struct model *m = new_model(0, 0);
	struct snapshot *s;

	sites[0].older_blocks = 1;
	sites[0].older_bytes = 10;
	info.base.recording.older_ns = 1000;
	add_life(m, 1, 11);
	model__archive(m, &leaving, 1, &cut, 1, &calls);
	cut.n_sites = 0;
	s = shot(m, &cut);
	cr_expect_eq(s->sites[0].older_blocks, 1, "as it was found");
	snapshot__free(s);
	/* its last block was allocated at 499 */
	cut.now_ns = START + 1499;
	s = shot(m, &cut);
	cr_expect_eq(s->sites[0].older_blocks, 4);
	cr_expect_eq(s->sites[0].older_bytes, 40);
	cr_expect_eq(s->sites[0].n_ages, 0, "nobody asked");
	snapshot__free(s);
	/* how old each of them is was not kept, but all are between the first and the last */
	cut.has_ages = true;
	cut.now_ns = START + 20000;
	s = shot(m, &cut);
	cr_assert_eq(s->sites[0].n_ages, 1);
	cr_expect_eq(s->sites[0].ages[0].blocks, 4);
	cr_expect_eq(s->sites[0].ages[0].bytes, 40);
	cr_expect_leq(s->sites[0].ages[0].from_ns, 19501);
	cr_expect_gt(s->sites[0].ages[0].below_ns, 19501);
	snapshot__free(s);
	model__free(m);
	info.base.recording.older_ns = 0;
}

/* The timelines of many lives share a bound. */
Test(archive, timelines_shrink)
{
	struct cut cut = { .now_ns = START };
	struct model *m = new_model(0, 0);
	size_t n = 0;

	add_life(m, 1, 1);
	for (int i = 0; i < 1000; i++) {
		cut.now_ns += 10;
		model__note(m, &cut);
	}
	cr_expect_eq(m->lives.v[0]->timeline.n, 1000);
	for (uint32_t i = 2; i <= 4000; i++)
		add_life(m, i, (pid_t)i);
	for (int i = 0; i < 200; i++) {
		cut.now_ns += 10;
		model__note(m, &cut);
	}
	for (size_t i = 0; i < m->lives.n; i++) {
		const struct life *l = m->lives.v[i];

		n += l->timeline.n;
		cr_expect_geq(l->timeline.n, 16);
		for (size_t k = 1; k < l->timeline.n; k++)
			cr_expect_lt(l->timeline.v[k - 1].t_ns, l->timeline.v[k].t_ns);
	}
	cr_expect_leq(n, 256 * 1024);
	model__free(m);
}
