// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which counters a mode knows, and the errors of those that were estimated: hand-made cuts → snapshots. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "present/views.h"
#include "util/util.h"

static void locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	*ret = (struct address){ .offset = addr };
}

static const char *function(uint32_t func, void *arg)
{
	return "malloc";
}

static void thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	strcpy(buf, "thread");
}

static const struct model_calls calls = { locate, function, thread_comm, NULL };

static struct snapshot *shot(const struct cut *cut, const struct snapshot_info *info)
{
	struct model *m = model__new();
	struct snapshot *s;

	cr_assert_not_null(m);
	model__begin(m, 1, 1, 1);
	for (uint32_t i = 1; i <= 2; i++)
		model__add_life(m, &(struct snap_process){ .proc = i, .pid = 100 + (pid_t)i, .comm = "p" });
	s = model__snapshot(m, cut, info, &calls);
	cr_assert_not_null(s);
	model__free(m);
	return s;
}

static unsigned int known(enum mt_mode mode, uint64_t sample_bytes, double observed_share, bool partial_sizes)
{
	struct snapshot_info info = { .base.recording = { .mode = mode, .sample_bytes = sample_bytes, .min_size = partial_sizes, .max_size = UINT64_MAX },
				      .base.observed_share = observed_share };
	struct snapshot *s = shot(&(struct cut){}, &info);
	unsigned int ret = s->known;

	cr_expect_eq(s->estimated, sample_bytes || observed_share < 1);
	snapshot__free(s);
	return ret;
}

Test(estimates, what_each_mode_knows)
{
	cr_expect_eq(known(MT_MODE_FULL, 0, 1, false), HAS_ALL);
	cr_expect_eq(known(MT_MODE_FULL, 0, 1, true), HAS_ALL & ~HAS_UNKNOWN_FREES);
	cr_expect_eq(known(MT_MODE_FULL, 4096, 1, false), HAS_ALL & ~HAS_UNKNOWN_FREES);
	cr_expect_eq(known(MT_MODE_FULL, 0, 0.25, false), HAS_ALL & ~(HAS_UNKNOWN_FREES | HAS_PEAK_BYTES));
	cr_expect_eq(known(MT_MODE_COUNT, 0, 1, false), HAS_ALLOC_CALLS | HAS_ALLOC_BYTES | HAS_REALLOC_CALLS);
	cr_expect_eq(known(MT_MODE_COUNT, 1, 1, false), HAS_ALLOC_CALLS | HAS_ALLOC_BYTES | HAS_REALLOC_CALLS);
	cr_expect_eq(known(MT_MODE_GROWTH, 0, 1, false), HAS_ALLOC_CALLS | HAS_ALLOC_BYTES);
}

Test(estimates, views_and_weights_that_hold)
{
	unsigned int count = counters__of_mode(MT_MODE_COUNT);

	cr_expect_eq(views__of(HAS_ALL), VIEW_LIVE | VIEW_ALLOCS | VIEW_PROCESSES | VIEW_THREADS | VIEW_TREE | VIEW_TAGS | VIEW_PEAK | VIEW_TEMPORARY |
					 VIEW_SIZES | VIEW_LIFETIMES | VIEW_FUNCTIONS | VIEW_FILES | VIEW_MODULES | VIEW_SOURCE);
	cr_expect_eq(views__of(count), VIEW_ALLOCS | VIEW_PROCESSES | VIEW_THREADS | VIEW_TREE | VIEW_TAGS | VIEW_SIZES | VIEW_FUNCTIONS | VIEW_FILES | VIEW_MODULES | VIEW_SOURCE);
	cr_expect_eq(views__of(counters__of_mode(MT_MODE_GROWTH)), VIEW_ALLOCS | VIEW_PROCESSES | VIEW_THREADS | VIEW_TREE | VIEW_TAGS | VIEW_FUNCTIONS | VIEW_FILES | VIEW_MODULES | VIEW_SOURCE);
	cr_expect_str_eq(metric__preset(HAS_ALL)->name, "live-bytes");
	cr_expect_str_eq(metric__preset(count)->name, "alloc-bytes");
	for (size_t i = 0; i < n_metrics; i++) {
		bool holds = !strncmp(metrics[i].name, "alloc-", 6);

		cr_expect_eq(!(metrics[i].needs & ~count), holds, "%s", metrics[i].name);
	}
}

/* Of each site three samples more may have been passed over, of the smallest blocks. */
Test(estimates, what_sampling_passed_over_is_in_the_error)
{
	struct snap_site sites[] = {
		{ .proc = 1, .c = { .alloc_calls = 10, .alloc_bytes = 160 }, .var = { 22 * 22, 0, 0, 0, 0 } },
		{ .proc = 1, .c = { .alloc_calls = 1, .alloc_bytes = 6400 } },
	};
	struct cut cut = { .now_ns = 5, .sites = sites, .n_sites = ARRAY_SIZE(sites) };
	struct snapshot_info info = { .base.recording = { .sample_bytes = 64, .max_size = UINT64_MAX }, .base.observed_share = 1 };
	struct snapshot *s = shot(&cut, &info);

	cr_assert_eq(s->n_sites, 2);
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct std_error *e = &s->sites[i].error;

		/* 64 bytes are four of 16 */
		cr_expect_float_eq(e->alloc_calls, s->sites[i].c.alloc_calls == 10 ? sqrt(22 * 22 + 3 * 4 * 4) : sqrt(3 * 4 * 4), 1e-9);
		cr_expect_float_eq(e->live_blocks, sqrt(3 * 4 * 4), 1e-9);
		cr_expect_float_eq(e->alloc_bytes, sqrt(3 * 64 * 64), 1e-9);
		cr_expect_float_eq(e->live_bytes, sqrt(3 * 64 * 64), 1e-9);
	}
	cr_expect_float_eq(s->error.alloc_calls, sqrt(22 * 22 + 3 * 4 * 4), 1e-9);
	cr_expect_float_eq(s->processes[0].error.live_bytes, sqrt(3 * 64 * 64), 1e-9);
	snapshot__free(s);
}

/* 3-4-5 triangles: errors of one process add up at right angles, and so do those of both. */
Test(estimates, errors_add_up_as_variances)
{
	struct snap_site sites[] = {
		{ .proc = 1, .c = { .alloc_calls = 10, .alloc_bytes = 1000 }, .var = { 9, 900, 1, 100, 0 } },
		{ .proc = 1, .c = { .alloc_calls = 20, .alloc_bytes = 2000 }, .var = { 16, 1600, 0, 0, 0 } },
		{ .proc = 2, .c = { .alloc_calls = 30, .alloc_bytes = 3000 }, .var = { 144, 14400, 3, 300, 0 } },
		/* of a process that nobody knows: in no sum */
		{ .proc = 7, .c = { .alloc_calls = 1, .alloc_bytes = 1 }, .var = { 1e9, 1e9, 1e9, 1e9, 0 } },
	};
	struct cut cut = { .now_ns = 5, .sites = sites, .n_sites = ARRAY_SIZE(sites) };
	struct snapshot_info info = { .base.recording = { .sample_bytes = 1, .max_size = UINT64_MAX }, .base.observed_share = 0.5 };
	struct snapshot *s = shot(&cut, &info);

	cr_assert_eq(s->n_sites, 3);
	cr_expect_eq(s->sites[0].error.alloc_calls, 3);
	cr_expect_eq(s->sites[0].error.alloc_bytes, 30);
	cr_expect_eq(s->sites[0].error.live_blocks, 1);
	cr_expect_eq(s->sites[0].error.live_bytes, 10);
	cr_expect_eq(s->sites[1].error.live_bytes, 0);
	cr_expect_eq(s->processes[0].error.alloc_calls, 5);
	cr_expect_eq(s->processes[0].error.alloc_bytes, 50);
	cr_expect_eq(s->processes[1].error.alloc_calls, 12);
	cr_expect_eq(s->error.alloc_calls, 13);
	cr_expect_eq(s->error.alloc_bytes, 130);
	cr_expect_eq(s->error.live_blocks, 2);
	cr_expect_eq(s->error.live_bytes, 20);
	cr_expect_eq(s->totals.alloc_calls, 60);
	snapshot__free(s);
}

/* By a clock that ticks each 4 ms, a lifetime of one tick is anything below two; of none, below one. */
Test(estimates, lifetimes_are_known_to_a_tick)
{
	struct cut_proc procs[] = { { .proc = 1, .hist.lifetimes = { [0] = 3, [22] = 2, [23] = 1 } } };
	struct cut cut = { .now_ns = 5, .procs = procs, .n_procs = 1 };
	struct snapshot_info info = { .base.recording = RECORDING_PRESET, .base.observed_share = 1, .unit_ns = 4000000 };
	struct snapshot *s = shot(&cut, &info);
	const struct snap_process *p = &s->processes[0];

	cr_assert_eq(p->n_lifetimes, 3);
	cr_expect_eq(p->lifetimes[0].below_ns, 4000000);
	cr_expect_eq(p->lifetimes[1].below_ns, 8000000);
	cr_expect_eq(p->lifetimes[2].below_ns, 12000000);
	snapshot__free(s);
	info.unit_ns = 1;
	s = shot(&cut, &info);
	cr_expect_eq(s->processes[0].lifetimes[1].below_ns, 1 << 22);
	snapshot__free(s);
}
