// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where blocks were freed, of lives that left the kernel's tables: rows of frees are told as before, and add up whatever is folded. */
#include "archive_made.h"

#define WHERE(number) (200 + (number))

/* Each site's blocks are freed by two threads in a place of its own, and by one more in one that all sites of the process share. */
static size_t free_rows(const struct snap_site *sites, size_t n, struct snap_site *wheres, size_t *ret_wheres, struct snap_free *frees)
{
	size_t n_frees = 0;

	*ret_wheres = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t shared = WHERE(sites[i].proc), own = WHERE(20 + sites[i].number);

		if (!i || sites[i - 1].proc != sites[i].proc)
			wheres[(*ret_wheres)++] = site(shared, sites[i].proc, 1, 0, 0);
		wheres[(*ret_wheres)++] = site(own, sites[i].proc, 1, 0, 0);
		frees[n_frees++] = (struct snap_free){ sites[i].number, own, 71, NULL, 1, 10, 1, 5 };
		frees[n_frees++] = (struct snap_free){ sites[i].number, own, 72, NULL, 2, 20, 0, 6 };
		frees[n_frees++] = (struct snap_free){ sites[i].number, shared, 73, NULL, sites[i].c.free_calls - 3, sites[i].c.free_bytes - 30, 0, 7 };
	}
	return n_frees;
}

/* Over the rows of each site are its frees; each row names a place of the same process, whose sums are those of its rows. */
static void expect_frees(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t n_calls = 0, bytes = 0;

		for (size_t k = 0; k < s->n_frees; k++)
			if (s->frees[k].site == i) {
				n_calls += s->frees[k].calls;
				bytes += s->frees[k].bytes;
				cr_assert_lt(s->frees[k].where, s->n_free_sites);
				cr_expect_eq(s->free_sites[s->frees[k].where].process, s->sites[i].process);
			}
		cr_expect_eq(n_calls, s->sites[i].c.free_calls, "site %zu", i);
		cr_expect_eq(bytes, s->sites[i].c.free_bytes, "site %zu", i);
	}
	for (size_t i = 0; i < s->n_free_sites; i++)
		sum += s->free_sites[i].c.free_calls;
	cr_expect_eq(sum, s->totals.free_calls);
}

Test(archive_frees, where_blocks_were_freed_is_told_as_before)
{
	struct snap_site sites[] = { site(1, 1, 0, 10, 4), site(2, 1, 1, 7, 0), site(3, 2, 0, 15, 5) }, wheres[8];
	struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 }, { .proc = 2, .pid = 22 } };
	struct snap_free frees[16];
	struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 3, .procs = procs, .n_procs = 2, .wheres = wheres, .frees = frees };
	struct mt_thread_counts thread = { .alloc_calls = 17 };
	struct model *m = new_model(0, 0);
	const uint32_t leaving = 1;
	struct snapshot *before, *after;

	cut.n_frees = free_rows(sites, 3, wheres, &cut.n_wheres, frees);
	info.base.recording.free_stacks = true;
	add_life(m, 1, 11);
	add_life(m, 2, 22);
	model__thread_ended(m, 1, 72, "second", &thread);
	before = shot(m, &cut);
	expect_frees(before);
	model__archive(m, &leaving, 1, &cut, 1, &calls);
	/* its numbers are others' now */
	sites[0] = site(1, 2, 1, 100, 0);
	sites[1] = sites[2];
	procs[0] = procs[1];
	cut.n_sites = 2;
	cut.n_procs = 1;
	sites[0].proc = 2;
	cut.n_frees = free_rows(sites, 2, wheres, &cut.n_wheres, frees);
	after = shot(m, &cut);
	expect_frees(after);
	cr_expect_eq(after->n_frees, before->n_frees + 3);
	cr_expect_eq(after->n_free_sites, before->n_free_sites + 1);
	for (size_t i = 0; i < after->n_frees; i++) {
		const struct snap_free *f = &after->frees[i];
		const struct snap_site *w = &after->free_sites[f->where];

		if (after->sites[f->site].process)
			continue;
		cr_expect_eq(w->n_stack, FRAMES);
		cr_expect_str_eq(after->modules[after->places[w->stack[0]].module].path, "/one");
		cr_expect_str_eq(w->function, "calloc");
		if (f->tid == 72)
			cr_expect(f->thread && !strcmp(f->thread, "second") && f->calls == 2 && f->lifetime_sum_ns == 6);
		else
			cr_expect(f->tid == 71 ? f->cross_calls == 1 : f->tid == 73);
	}
	snapshot__free(before);
	snapshot__free(after);
	model__free(m);
	info.base.recording.free_stacks = false;
	cr_expect_eq(n_kept[1], 0, "all places are let go");
}

/* Whatever is folded, the rows of each site are its frees. */
Test(archive_frees, what_is_folded_was_freed_all_the_same)
{
	static const struct {
		size_t lives, sites, frees, frames;
		bool has_stacks;	/* of frees: some are there still */
	} limits[] = {
		{ 100, 100, 1000, 1000, true },	/* enough for all */
		{ 100, 100, 24, 1000, true },	/* frees of the life that holds the least go first */
		{ 100, 12, 1000, 1000, true },	/* and places of frees are as many as sites */
		{ 100, 5, 4, 1000, false },		/* sites, too */
		{ 1, 100, 1000, 1000, true },	/* lives: all but one */
		{ 2, 4, 1000, 12, false },
	};

	info.base.recording.free_stacks = true;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct model *m = new_model(limits[i].lives, limits[i].sites);
		struct snap_site sites[9], wheres[24];
		struct snap_free frees[27];
		struct cut_proc procs[] = { { .proc = 1, .pid = 11, .ended = 1 }, { .proc = 2, .pid = 22, .ended = 1 } };
		struct cut cut = { .now_ns = START + 900, .sites = sites, .n_sites = 9, .procs = procs, .n_procs = 2, .wheres = wheres,
				   .frees = frees };
		const uint32_t leaving[] = { 1, 2 };
		struct snapshot *before, *after;
		bool has_stacks = false;

		m->archive.limits.frees = limits[i].frees;
		m->archive.limits.frames = limits[i].frames;
		for (uint32_t k = 0; k < 9; k++)
			sites[k] = site(k + 1, k < 4 ? 1 : 2, k % 2, 10 + k, k < 4 ? k % 2 : 5);
		cut.n_frees = free_rows(sites, 9, wheres, &cut.n_wheres, frees);
		add_life(m, 1, 11);
		add_life(m, 2, 22);
		before = shot(m, &cut);
		expect_frees(before);
		model__archive(m, leaving, 2, &cut, 1, &calls);
		cr_expect_leq(m->archive.n_frees, MAX(limits[i].frees, m->archive.n_sites), "case %zu", i);
		cut.n_sites = cut.n_procs = cut.n_wheres = cut.n_frees = 0;
		after = shot(m, &cut);
		expect_same(before, after);
		expect_promises(after);
		expect_frees(after);
		cr_expect_eq(after->n_frees, m->archive.n_frees);
		cr_expect_eq(after->n_free_sites, m->archive.n_wheres);
		for (size_t k = 0; k < after->n_free_sites; k++)
			has_stacks |= after->free_sites[k].n_stack > 0;
		cr_expect_eq(has_stacks, limits[i].has_stacks, "case %zu", i);
		snapshot__free(before);
		snapshot__free(after);
		model__free(m);
		cr_expect(!n_kept[1] && !n_kept[2], "case %zu", i);
	}
	info.base.recording.free_stacks = false;
}
