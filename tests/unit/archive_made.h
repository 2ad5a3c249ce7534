/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A model whose lives are archived, for tests: processes with a file each, sites of known sums, and who holds which file. */
#ifndef MT_ARCHIVE_MADE_H
#define MT_ARCHIVE_MADE_H

#include <criterion/criterion.h>
#include <string.h>

#include "model/life.h"
#include "model/model.h"
#include "promises.h"
#include "util/util.h"

#define START 1000ull
#define FRAMES 4

static struct snapshot_info info = { .base.recording = RECORDING_PRESET, .base.version = "v", .base.kernel = "k", .base.arch = "a", .base.duration_ns = 3600000000000,
				     .base.observed_share = 1, .mappings = 1 };
static uint64_t frames[512][FRAMES];	/* by site number */
static int n_kept[8];			/* by handle */
static size_t n_located;
static char handles[8];

/* Each process has a file of its own, at a thousand times its number. */
static void locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	static const char *const paths[] = { "/zero", "/one", "/two", "/three", "/four", "/five", "/six", "/seven" };

	n_located++;
	*ret = (struct address){ .module = &handles[proc % 8], .handle = &handles[proc % 8], .path = paths[proc % 8],
				 .build_id = "b1d", .offset = addr - 1000 * (proc % 8), .fixed = true };
}

static const char *function(uint32_t func, void *arg)
{
	return func == MT_MAX_FUNCS ? "any" : func ? "calloc" : "malloc";
}

static void thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	strcpy(buf, "t");
}

static const struct model_calls calls = { locate, function, thread_comm, NULL, NULL };

static void keep(const void *handle)
{
	n_kept[(const char *)handle - handles]++;
}

static void let_go(const void *handle)
{
	n_kept[(const char *)handle - handles]--;
}

static inline struct model *new_model(size_t lives, size_t sites)
{
	const struct module_calls modules = { keep, let_go };
	struct model *m = model__new();

	cr_assert_not_null(m);
	model__begin(m, START, 50, 50);
	model__keep_modules(m, &modules);
	if (lives)
		m->archive.limits = (struct archive_limits){ .lives = lives, .sites = sites, .frames = sites * FRAMES, .points = 100 };
	return m;
}

static inline void add_life(struct model *m, uint32_t proc, pid_t pid)
{
	model__add_life(m, &(struct snap_process){ .proc = proc, .pid = pid, .comm = "life", .exe = "/bin/life" });
}

/* A site of which so much was allocated, and so much of that is live: blocks of 10 bytes. */
static inline struct snap_site site(uint32_t number, uint32_t proc, uint32_t func, uint64_t allocated, uint64_t live)
{
	for (int i = 0; i < FRAMES; i++)
		frames[number][i] = 1000 * (proc % 8) + number * 10 + (uint64_t)i;
	return (struct snap_site){
		.number = number, .proc = proc, .func = func, .hash = number, .frames = frames[number], .n_frames = FRAMES,
		.c = { .alloc_calls = allocated, .alloc_bytes = allocated * 10, .free_calls = allocated - live,
		       .free_bytes = (allocated - live) * 10, .temp_calls = 1, .realloc_calls = 2, .failed_calls = 3,
		       .peak_bytes = allocated * 10 },
		.lifetime_sum_ns = 7, .at_peak_bytes = live * 10, .min_size = number, .max_size = 1000 + number,
		.first_ns = START + number, .last_ns = START + 500 - number, .oldest_born_ns = live ? START + number : 0,
		.scan_blocks = live, .scan_bytes = live * 10, .cross_frees = 1,
	};
}

static inline struct snapshot *shot(struct model *m, const struct cut *cut)
{
	struct snapshot *s = model__snapshot(m, cut, &info, &calls);

	cr_assert_not_null(s);
	return s;
}

/* What must be the same before and after anything is archived or folded. */
static inline void expect_same(const struct snapshot *a, const struct snapshot *b)
{
	const struct counters *x = &a->totals, *y = &b->totals;

	cr_expect_eq(x->alloc_calls, y->alloc_calls);
	cr_expect_eq(x->alloc_bytes, y->alloc_bytes);
	cr_expect_eq(x->free_calls, y->free_calls);
	cr_expect_eq(x->free_bytes, y->free_bytes);
	cr_expect_eq(x->live_blocks, y->live_blocks);
	cr_expect_eq(x->live_bytes, y->live_bytes);
	cr_expect_eq(x->realloc_calls, y->realloc_calls);
	cr_expect_eq(x->temp_calls, y->temp_calls);
	cr_expect_eq(x->failed_calls, y->failed_calls);
	cr_expect_eq(x->unknown_frees, y->unknown_frees);
	cr_expect_eq(x->peak_bytes, y->peak_bytes);
	cr_expect_eq(a->scan_blocks, b->scan_blocks);
	cr_expect_eq(a->scan_bytes, b->scan_bytes);
	cr_expect_eq(a->probe_hits, b->probe_hits);
}

#endif
