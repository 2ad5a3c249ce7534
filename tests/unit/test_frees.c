// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where blocks were freed and how realloc passed them on: in snapshots, what becomes of these, files and reports. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "collect/passes.h"
#include "files/export.h"
#include "files/json/json_read.h"
#include "golden.h"
#include "model/diff.h"
#include "model/filter.h"
#include "model/group.h"
#include "model/join.h"
#include "model/model.h"
#include "model/narrow.h"
#include "present/text/report.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

static void utc(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
}

TestSuite(frees, .init = utc);

static uint32_t site_of(const struct snapshot *s, uint32_t process, const char *function)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].process == process && !strcmp(s->sites[i].function, function))
			return (uint32_t)i;
	cr_assert_fail("no %s in process %u", function, process);
	return 0;
}

static struct snap_site free_site(uint32_t process, const char *function, uint64_t calls, uint64_t bytes, uint32_t n_stack, const uint32_t *stack)
{
	return (struct snap_site){
		.process = process, .function = function, .c = { .free_calls = calls, .free_bytes = bytes }, .n_stack = n_stack, .stack = stack,
	};
}

/* Two workers free the same stack's blocks in the same place, the third one in another copy of it; one more place of the first. */
static struct snapshot *sample(void)
{
	struct snapshot *s = sample__new(SAMPLE_MANY);
	uint32_t a = site_of(s, 2, "malloc"), b = site_of(s, 3, "malloc"), c = site_of(s, 0, "realloc");
	struct snap_site *w = snapshot__alloc(s, 4, sizeof(*w));
	struct snap_free *f = snapshot__alloc(s, 6, sizeof(*f));

	w[0] = free_site(2, "free", 4400, 4400 << 10, 2, s->sites[a].stack);
	w[1] = free_site(3, "free", 6000, 6000 << 10, 2, s->sites[b].stack);
	w[2] = free_site(2, "operator delete", 500, 500 << 10, 3, s->sites[a].stack);
	w[3] = free_site(0, "any", 936, 3 << 20, 0, NULL);
	f[0] = (struct snap_free){ a, 0, 2001, "worker-1", 3000, 3000 << 10, 100, 3000 * 8000000ull };
	f[1] = (struct snap_free){ a, 2, 2001, "worker-1", 500, 500 << 10, 0, 500 * 9000000ull };
	f[2] = (struct snap_free){ b, 1, 3001, "worker-1", 6000, 6000 << 10, 0, 6000 * 5000000ull };
	f[3] = (struct snap_free){ a, 0, 2002, NULL, 1300, 1300 << 10, 488, 1300 * 11000000ull };
	f[4] = (struct snap_free){ c, 3, 0, NULL, 936, 3 << 20, 0, 0 };
	f[5] = (struct snap_free){ a, 0, 2003, "worker-3", 100, 100 << 10, 0, 0 };
	s->recording.free_stacks = true;
	s->free_sites = w;
	s->n_free_sites = 4;
	s->frees = f;
	s->n_frees = 6;
	s->sites[c].moves = (struct mt_moves){ .calls = 936, .moved_calls = 700, .moved_bytes = 30 << 20, .grown_calls = 900,
						 .grown_bytes = 900 * 64, .shrunk_calls = 30, .doubled_calls = 6, .longest = 930 };
	return s;
}

static void expect_row(const struct snap_free *f, uint32_t site, uint32_t where, uint64_t calls)
{
	cr_expect_eq(f->site, site);
	cr_expect_eq(f->where, where);
	cr_expect_eq(f->calls, calls);
}

Test(frees, groups_put_the_same_places_together)
{
	struct snapshot *s = sample(), *g = snapshot__group(s, grouping__find("comm"));
	uint32_t site;

	cr_assert_not_null(g);
	cr_assert_eq(g->n_frees, 6);
	cr_assert_eq(g->n_free_sites, 3);
	site = g->frees[0].site;
	cr_expect_eq(g->frees[2].site, site, "the workers' sites are one");
	cr_expect_eq(g->sites[site].c.free_calls, 4900 + 6000 + 2999);
	expect_row(&g->frees[0], site, 0, 3000);
	expect_row(&g->frees[1], site, 1, 500);
	expect_row(&g->frees[2], site, 0, 6000);
	expect_row(&g->frees[4], site_of(g, 0, "realloc"), 2, 936);
	cr_expect_eq(g->free_sites[0].c.free_calls, 4400 + 6000);
	cr_expect_eq(g->free_sites[0].c.free_bytes, (4400 + 6000) << 10);
	cr_expect_eq(g->free_sites[0].process, g->sites[site].process);
	cr_expect_str_eq(g->free_sites[1].function, "operator delete");
	snapshot__free(g);
	snapshot__free(s);
}

Test(frees, what_is_hidden_is_not_freed_either)
{
	struct snapshot *s = sample(), *to;
	struct filter f;

	cr_assert_eq(filter__init(&f, NULL, "^malloc$", NULL, NULL), 0);
	to = snapshot__filter(s, &f);
	cr_assert_not_null(to);
	cr_assert_eq(to->n_frees, 1);
	cr_expect_str_eq(to->sites[to->frees[0].site].function, "realloc");
	cr_expect_eq(to->free_sites[to->frees[0].where].c.free_calls, 936);
	cr_expect_eq(to->free_sites[0].c.free_calls, 0, "its rows are gone");
	cr_expect_eq(to->sites[to->frees[0].site].moves.longest, 930);
	filter__done(&f);
	snapshot__free(to);
	snapshot__free(s);
}

/* Those of the processes that are left, and the places where they freed. */
Test(frees, of_one_process)
{
	struct snapshot *s = sample(), *to;

	to = snapshot__narrow(s, &(struct narrowing){ .pid = s->processes[2].pid });
	cr_assert_eq(to->n_processes, 1);
	cr_assert_eq(to->n_free_sites, 2);
	cr_assert_eq(to->n_frees, 4);
	for (size_t i = 0; i < to->n_free_sites; i++)
		cr_expect_eq(to->free_sites[i].process, 0);
	cr_expect_eq(to->free_sites[0].c.free_calls, 4400);
	cr_expect_str_eq(to->free_sites[1].function, "operator delete");
	cr_expect_eq(to->frees[1].where, 1);
	snapshot__free(to);
	snapshot__free(s);
}

Test(frees, profiles_that_are_joined)
{
	struct snapshot *v[] = { sample(), sample(), sample__new(0) }, *all;
	const char *const names[] = { "a", "b", "c" };
	size_t n_sites = v[0]->n_sites, n_places = v[0]->n_places;

	cr_assert_eq(snapshot__join(v, names, 2, &all, NULL), 0);
	cr_assert_eq(all->n_frees, 12);
	cr_assert_eq(all->n_free_sites, 8);
	expect_row(&all->frees[7], v[0]->frees[1].site + (uint32_t)n_sites, 4 + 2, 500);
	cr_expect_eq(all->free_sites[6].process, 2 + v[0]->n_processes);
	cr_expect_eq(all->free_sites[6].stack[1], v[0]->free_sites[2].stack[1] + n_places);
	snapshot__free(all);
	cr_assert_eq(snapshot__join(v, names, 3, &all, NULL), 0);
	cr_expect_not(all->recording.free_stacks, "of one it is not known");
	cr_expect_eq(all->n_frees, 0);
	snapshot__free(all);
	for (size_t i = 0; i < 3; i++)
		snapshot__free(v[i]);
}

Test(frees, a_diff_has_none)
{
	struct snapshot *a = sample__new(SAMPLE_MANY), *b = sample(), *d = diff__snapshot(a, b, "a.json");

	cr_assert_not_null(d);
	cr_expect_not(d->recording.free_stacks);
	cr_expect_eq(d->n_frees, 0);
	cr_expect_eq(d->sites[site_of(d, 0, "realloc")].moves.moved_calls, 700);
	snapshot__free(d);
	snapshot__free(a);
	snapshot__free(b);
}

/* ---- cut → snapshot */

static void locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	*ret = (struct address){ .offset = addr };
}

static const char *function(uint32_t func, void *arg)
{
	return func == 1 ? "malloc" : func == 2 ? "free" : "any";
}

static void thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	snprintf(buf, 32, "t%d", tid);
}

Test(frees, of_a_cut)
{
	static const uint64_t frames[] = { 0x100, 0x200 };
	const struct model_calls calls = { locate, function, thread_comm, NULL, NULL };
	const struct snapshot_info info = { .base.recording = { .max_size = UINT64_MAX, .free_stacks = true }, .base.observed_share = 1 };
	struct snap_site sites[] = {
		{ .number = 9, .proc = 7, .func = 1, .c = { .alloc_calls = 1 } },	/* of a process that nobody knows */
		{ .number = 5, .proc = 3, .func = 1, .c = { .alloc_calls = 10, .alloc_bytes = 100, .free_calls = 9, .free_bytes = 90 },
		  .moves = { .calls = 4, .longest = 3 } },
	};
	struct snap_site wheres[] = {
		{ .number = 12, .proc = 3, .func = 2, .frames = frames, .n_frames = 2 },
		{ .number = 100, .proc = 3, .func = MT_MAX_FUNCS },
	};
	struct snap_free frees[] = {
		{ .site = 5, .where = 12, .tid = 31, .calls = 5, .bytes = 50, .cross_calls = 5, .lifetime_sum_ns = 10 },
		{ .site = 5, .where = 12, .tid = 32, .calls = 3, .bytes = 30 },
		{ .site = 5, .where = 100, .calls = 1, .bytes = 10 },
		{ .site = 9, .where = 12, .tid = 32, .calls = 77 },
	};
	struct cut_proc procs[] = { { .proc = 3, .pid = 30 } };
	struct cut_thread threads[] = { { .proc = 3, .tid = 31 } };
	struct cut cut = { .sites = sites, .n_sites = 2, .procs = procs, .n_procs = 1, .threads = threads, .n_threads = 1,
			   .frees = frees, .n_frees = 4, .wheres = wheres, .n_wheres = 2 };
	struct model *m = model__new();
	struct snapshot *s;

	model__add_life(m, &(struct snap_process){ .proc = 3, .pid = 30, .comm = "three" });
	s = model__snapshot(m, &cut, &info, &calls);
	cr_assert_not_null(s);
	cr_assert(s->recording.free_stacks && s->n_sites == 1 && s->n_frees == 3 && s->n_free_sites == 2);
	cr_expect_eq(s->sites[0].moves.longest, 3);
	expect_row(&s->frees[0], 0, 0, 5);
	expect_row(&s->frees[1], 0, 0, 3);
	expect_row(&s->frees[2], 0, 1, 1);
	cr_expect_str_eq(s->frees[0].thread, "t31");
	cr_expect_null(s->frees[1].thread, "a thread of which nothing is known");
	cr_expect_eq(s->frees[0].cross_calls, 5);
	cr_expect_eq(s->free_sites[0].c.free_calls, 8);
	cr_expect_eq(s->free_sites[0].c.free_bytes, 80);
	cr_expect_eq(s->free_sites[0].n_stack, 2);
	cr_expect_eq(s->places[s->free_sites[0].stack[1]].offset, 0x200);
	cr_expect_str_eq(s->free_sites[0].function, "free");
	cr_expect_str_eq(s->free_sites[1].function, "any");
	cr_expect_eq(s->free_sites[1].n_stack, 0);
	snapshot__free(s);
	model__free(m);
}

/* ---- the kernel's table → cut */

Test(frees, of_the_kernel_s_table)
{
	static const uint64_t words[] = { 0, 0x10, 0x20 };
	struct mt_site sites[8] = { [4] = { .hash = 77, .proc = 1, .func = 2, .stack = MT_STACK(1, 2, MT_END_DEPTH) } };
	struct mt_proc procs[2] = { [1] = { .number = 1 } };
	struct mt_link table[4] = {
		[1] = { .key = MT_LINK(3, 4, 4194304), .lifetime_ns = 50, .bank = { { 5, 500, 1 }, { 2, 20, 0 } } },
		[2] = { .key = MT_LINK(3, 7, 0), .bank = { { 0, 0, 0 }, { 9, 90, 0 } } },
		[3] = { .key = MT_LINK(8, 4, 1), .bank = { { 1, 1, 1 } } },	/* no such site */
	};
	struct tables t = { .sites = sites, .n_sites = 8, .procs = procs, .words = words, .links = table, .n_links = 4 };
	struct cut cut = {};
	struct links l;

	links__init(&l, &t);
	links__read(&l, 0, 6, &cut);
	cr_assert_eq(cut.n_frees, 1, "what was charged to the other bank is not in this cut");
	cr_expect(cut.frees[0].site == 3 && cut.frees[0].where == 4 && cut.frees[0].tid == 4194304);
	cr_expect(cut.frees[0].calls == 5 && cut.frees[0].bytes == 500 && cut.frees[0].cross_calls == 1 && cut.frees[0].lifetime_sum_ns == 50);
	cr_assert_eq(cut.n_wheres, 1);
	cr_expect(cut.wheres[0].proc == 1 && cut.wheres[0].func == 2 && cut.wheres[0].n_frames == 2 && cut.wheres[0].end == MT_END_DEPTH);
	cr_expect_eq(cut.wheres[0].frames[1], 0x20);
	/* the bank that was read goes on; the other one comes to rest */
	table[1].bank[0].calls = 1000;
	links__read(&l, 1, 6, &cut);
	cr_assert_eq(cut.n_frees, 2);
	cr_expect_eq(cut.frees[0].calls, 5 + 2);
	cr_expect_eq(cut.frees[1].calls, 9);
	cr_assert_eq(cut.n_wheres, 2);
	cr_expect(cut.wheres[1].number == 7 && cut.wheres[1].proc == 1 && cut.wheres[1].func == MT_MAX_FUNCS && !cut.wheres[1].n_frames);
	links__done(&l);
}

Test(frees, rows_of_the_dead_are_given_back)
{
	struct mt_site sites[8] = { [3] = { .proc = 1 }, [4] = { .proc = 2 } };
	struct mt_proc procs[3] = { [1] = { .number = 1 }, [2] = { .number = 2 } };
	struct mt_link table[8] = {
		[0] = { .key = MT_LINK(4, 4, 9), .bank = { { 1, 10, 0 } } },
		[1] = { .key = MT_LINK(3, 3, 5), .lifetime_ns = 50, .bank = { { 5, 500, 1 }, { 2, 20, 0 } } },
		[2] = { .key = MT_LINK(4, 4, 7), .bank = { { 3, 30, 0 } } },
		[4] = { .key = MT_LINK(3, 6, 0), .bank = { { 7, 70, 0 } } },
		[5] = { .key = MT_LINK(6, 3, 5), .bank = { { 8, 80, 0 } } },	/* blocks of the spare site of slot 1 */
	};
	uint64_t used = 5;
	struct tables t = { .sites = sites, .n_sites = 8, .procs = procs, .links = table, .n_links = 8, .links_used = (volatile __u64 *)&used };
	struct sweep sweep = { .dead = { [1] = 1 } };
	struct cut cut = {};
	struct links l;

	links__init(&l, &t);
	links__read(&l, 0, 5, &cut);
	cr_assert_eq(cut.n_frees, 5);
	links__release(&l, 5, &sweep);
	cr_expect_eq(used, 2);
	cr_expect_eq(table[1].key, MT_LINK_GONE, "a search for the one behind it goes on");
	cr_expect(!table[1].lifetime_ns && !table[1].bank[0].calls && !table[1].bank[1].bytes);
	cr_expect_eq(table[4].key, 0, "behind it nothing is left");
	cr_expect_eq(table[5].key, 0);
	links__read(&l, 1, 5, &cut);
	cr_assert_eq(cut.n_frees, 2, "also what a bank held when it came to rest is forgotten");
	cr_expect(cut.frees[0].tid == 9 && cut.frees[1].tid == 7 && cut.frees[1].calls == 3);
	/* another process gets the place */
	table[1] = (struct mt_link){ .key = MT_LINK(4, 4, 8), .bank = { { 0, 0, 0 }, { 6, 60, 0 } } };
	links__read(&l, 1, 5, &cut);
	cr_assert_eq(cut.n_frees, 3);
	cr_expect_eq(cut.frees[1].calls, 6);
	/* with the last one, all places are as new */
	sweep.dead[2] = 2;
	links__release(&l, 5, &sweep);
	for (int i = 0; i < 8; i++)
		cr_expect_eq(table[i].key, 0, "%d", i);
	links__done(&l);
}

/* ---- files */

Test(frees, are_read_back)
{
	_cleanup_err_ struct err e = {}, e2 = {};
	_cleanup_free_ char *json = NULL, *json2 = NULL;
	struct snapshot *s = sample(), *again = NULL;
	size_t len, len2;
	char *row;

	json = written__as(s, "json", NULL, &len);
	cr_assert_eq(json_read__text(json, len, &again, &e), 0, "%s", err_msg(&e));
	cr_expect(again->recording.free_stacks);
	json2 = written__as(again, "json", NULL, &len2);
	cr_expect_str_eq(strstr(json2, "\"free_sites\""), strstr(json, "\"free_sites\""));
	cr_expect(strstr(json, "\"moves\": {\"calls\": 936, \"moved_calls\": 700, \"moved_bytes\": 31457280, \"grown_calls\": 900, \"grown_bytes\": 57600, "
			       "\"shrunk_calls\": 30, \"doubled_calls\": 6, \"longest\": 930}"));
	cr_expect_eq(again->sites[site_of(again, 0, "realloc")].moves.grown_bytes, 57600);
	cr_expect(strstr(json, "\"tid\": null, \"thread\": null, \"calls\": 936"));
	/* a row that names nothing */
	row = strstr(json, "\"where\": 3");
	cr_assert_not_null(row);
	row[strlen("\"where\": ")] = '4';
	cr_expect_eq(json_read__text(json, len, &again, &e2), -EINVAL);
	cr_expect_str_eq(err_msg(&e2), "frees, element 5: frees: where: want the number of a free site");
	snapshot__free(s);
	snapshot__free(again);
}

/* ---- reports */

static void check(const char *name, const struct snapshot *s, const struct report_opts *o)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	text = written__as(s, "text", &(struct export_opts){ .report = *o }, &len);
	golden__check(name, text, len);
}

/* A file may say so. */
Test(frees, realloc_that_added_nothing)
{
	struct snapshot *s = sample();
	_cleanup_free_ char *text = NULL;
	size_t len;

	s->sites[site_of(s, 0, "realloc")].moves = (struct mt_moves){ .calls = 9, .moved_calls = 1, .moved_bytes = 9, .grown_calls = 4 };
	text = written__as(s, "text", &(struct export_opts){ .report = { .views = VIEW_ALLOCS, .top = 1 } }, &len);
	cr_expect_not_null(strstr(text, "9 B copied"));
	snapshot__free(s);
}

/* Beside the moves in the kernel's record: in files and sums, and said where there are any. */
Test(frees, calls_of_zero_bytes)
{
	const struct report_opts allocs = { .views = VIEW_ALLOCS, .top = 40, .width = 120 };
	struct snapshot *s = sample(), *again, *by_comm;
	_cleanup_free_ char *text = NULL, *none = NULL;
	uint64_t sum = 0, most = 0;

	none = written__as(s, "text", &(struct export_opts){ .report = allocs }, NULL);
	cr_expect_null(strstr(none, "zero bytes"));
	s->sites[site_of(s, 2, "malloc")].rare.zero_calls = 1204;
	s->sites[site_of(s, 3, "malloc")].rare.zero_calls = 2;
	s->sites[site_of(s, 0, "realloc")].rare.zero_calls = 1;
	again = written__read_back(s);
	by_comm = snapshot__group(again, grouping__find("comm"));
	for (size_t i = 0; i < by_comm->n_sites; i++) {
		sum += by_comm->sites[i].rare.zero_calls;
		most = MAX(most, by_comm->sites[i].rare.zero_calls);
	}
	cr_expect_eq(sum, 1207);
	cr_expect_eq(most, 1206, "one stack of two processes");
	text = written__as(by_comm, "text", &(struct export_opts){ .report = allocs }, NULL);
	cr_expect(strstr(text, "1,206 calls of zero bytes"), "%s", text);
	cr_expect(strstr(text, "1 call of zero bytes"), "%s", text);
	snapshot__free(by_comm);
	snapshot__free(again);
	snapshot__free(s);
}

Test(frees, looks)
{
	struct snapshot *s = sample(), *without = sample__new(0);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	check("report-frees-80.txt", s, &(struct report_opts){ .views = VIEW_FREES, .top = 8 });
	check("report-frees-120.txt", s, &(struct report_opts){ .views = VIEW_FREES, .width = 120, .top = 8 });
	check("report-realloc-80.txt", s, &(struct report_opts){ .views = VIEW_ALLOCS, .top = 1 });
	cr_expect_eq(report__write(out, without, &(struct report_opts){ .views = VIEW_FREES }), -EINVAL, "it was not recorded");
	fclose(out);
	free(text);
	snapshot__free(s);
	snapshot__free(without);
}
