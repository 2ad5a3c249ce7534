// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Tables made by hand: which processes may leave them, which stacks give up their room, and what a row says of a site. */
#include <criterion/criterion.h>

#include "collect/recycle.h"
#include "malloctrace.skel.h"
#include "util/util.h"

#define N_SITES 100
#define NOW (100 * SECOND_NS)

static struct malloctrace_bpf__bss bss;
static struct malloctrace_bpf skel = { .bss = &bss };
static struct kernel kernel = {
	.skel = &skel,
	.recording = RECORDING_PRESET,
	.sizes = { .n_sites = N_SITES, .n_procs = 8, .n_shards = 1, .n_rare = 1, .n_ages = 1, .max_stacks = 8 },
};
static struct mt_site sites[N_SITES + 8];
static struct mt_counts counts[(N_SITES + 8) * 2];
static struct memory memory[N_SITES + 8];
static struct mt_proc procs[8];
static struct proc_memory proc_memory[8];
static struct evicted_rows rows[8];
static uint8_t state[N_SITES];
static uint64_t words[8], place[8];

static struct collect made(void)
{
	return (struct collect){
		.kernel = &kernel,
		.tables = { .sites = sites, .n_sites = N_SITES + 8, .counts = counts, .procs = procs, .words = words, .index = place, .n_index = 8,
			    .overflow_fd = -1, .born_unit_ns = 1 },
		.sites = memory, .procs = proc_memory, .evict = { .rows = rows, .state = state }, .cut.now_ns = NOW,
	};
}

static void put(uint32_t site, uint64_t idle_ns, uint64_t allocs, uint64_t frees)
{
	sites[site] = (struct mt_site){ .hash = site, .stack = MT_STACK(1, 0, 0), .proc = 1, .last_ns = NOW - idle_ns };
	counts[site * 2] = (struct mt_counts){ .alloc_calls = allocs, .alloc_bytes = allocs * 10, .free_calls = frees, .free_bytes = frees * 10 };
	memory[site].bank[0] = counts[site * 2];
	bss.mt_sites_used = MAX(bss.mt_sites_used, site);
}

static bool may_leave(uint32_t proc, uint32_t ended, uint64_t ago_ns, void *arg)
{
	return true;
}

/* A program that began before the first cut that saw the end may charge something to it still. */
Test(recycle, who_ended_is_swept_after_two_cuts)
{
	const struct leave_calls calls = { may_leave, NULL };
	struct cut_proc ended = { .proc = 1, .ended = 1 };
	struct collect c = made();
	const uint32_t *leaving;
	size_t n;

	sweep__init(&c.sweep, &c.tables);
	c.cut.procs = &ended;
	c.cut.n_procs = 1;
	for (uint32_t n_cuts = 0; n_cuts < 3; n_cuts++) {
		proc_memory[1].n_ended_cuts = n_cuts;
		collect__sweep(&c, SECOND_NS, 0, &calls, &leaving, &n);
		cr_expect_eq(c.leaving.n, n_cuts == 2, "after %u cuts", n_cuts);
	}
	vec_done(&c.leaving);
	sweep__done(&c.sweep);
}

static void expect_evicted(uint64_t in_use, bool second, bool fifth)
{
	struct collect c = made();
	bool any;

	memset(state, 0, sizeof(state));
	bss.mt_sites_in_use = in_use;
	put(1, 2 * SECOND_NS, 5, 5);
	put(2, SECOND_NS / 2, 5, 5);
	put(3, SECOND_NS / 10, 5, 5);
	put(4, 2 * SECOND_NS, 5, 4);
	collect__evict(&c, &any);
	cr_expect_eq(any, second || fifth);
	cr_expect_eq(state[1], second ? EVICT_CHOSEN : EVICT_NOT);
	cr_expect_eq(state[2], fifth ? EVICT_CHOSEN : EVICT_NOT);
	cr_expect_eq(state[3], EVICT_NOT, "it was used a moment ago");
	cr_expect_eq(state[4], EVICT_NOT, "it holds something");
	vec_done(&c.evict.sites);
	vec_done(&c.evict.procs);
}

Test(recycle, stacks_are_given_up_that_were_idle)
{
	expect_evicted(8, false, false);
	expect_evicted(9, true, false);
	/* room is nearly gone */
	expect_evicted(90, true, true);
}

/* Frees by other threads are in no bank: those since the cut are left out. */
Test(recycle, no_more_frees_by_others_than_frees)
{
	struct collect c = made();

	put(1, 0, 5, 3);
	sites[1].cross_frees = 4;
	put(2, 0, 5, 3);
	sites[2].cross_frees = 2;
	cut_rows__read_sites(&c, 0);
	cr_assert_eq(c.cut.n_sites, 2);
	cr_expect_eq(c.cut.sites[0].cross_frees, 3);
	cr_expect_eq(c.cut.sites[1].cross_frees, 2);
	free(c.cut.sites);
}
