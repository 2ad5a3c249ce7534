// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Cuts, second by second → verdicts, histories and changes in a snapshot. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "util/util.h"

#define S 1000000000ull
#define START (1000 * S)
#define DAY (86400 * S)

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
	buf[0] = '\0';
}

static const struct model_calls calls = { locate, function, thread_comm, NULL };

/* Sites: 1 leaks, 2 is traffic, 3 was there from the start; 4 is of another process, and leaks. */
struct play {
	struct model *m;
	struct cut_site sites[4];
	struct cut_proc procs[2];
	struct cut cut;
};

static void play__begin(struct play *p)
{
	*p = (struct play){ .m = model__new() };
	cr_assert_not_null(p->m);
	model__begin(p->m, START, 0, 0);
	for (uint32_t i = 1; i <= 2; i++) {
		struct life_info info = { .proc = i, .pid = (pid_t)i * 10, .comm = "x", .age_at_attach_ns = DAY };

		cr_assert_eq(model__add_life(p->m, &info), 0);
		p->procs[i - 1] = (struct cut_proc){ .proc = i, .pid = i * 10 };
	}
	for (uint32_t i = 0; i < 4; i++)
		p->sites[i] = (struct cut_site){ .site = i + 1, .proc = i < 3 ? 1 : 2, .first_ns = START + i };
	p->sites[2].counts = (struct mt_counts){ .alloc_calls = 1, .alloc_bytes = 1 << 20 };
	p->sites[2].oldest_born_ns = p->sites[0].oldest_born_ns = p->sites[3].oldest_born_ns = START + 1;
	p->cut = (struct cut){ .now_ns = START, .sites = p->sites, .n_sites = 4, .procs = p->procs, .n_procs = 2 };
}

static void play__second(struct play *p)
{
	p->cut.now_ns += S;
	for (int i = 0; i < 4; i += 3) {
		p->sites[i].counts.alloc_calls += 10;
		p->sites[i].counts.alloc_bytes += 40960;
		p->sites[i].last_ns = p->cut.now_ns;
	}
	p->sites[1].counts.alloc_calls += 1000;
	p->sites[1].counts.alloc_bytes += 100000;
	p->sites[1].counts.free_calls = p->sites[1].counts.alloc_calls - 5;
	p->sites[1].counts.free_bytes = p->sites[1].counts.alloc_bytes - 500;
	p->sites[1].counts.lifetime_ns += 5000000;
	p->sites[1].last_ns = p->cut.now_ns;
	cr_assert_eq(model__note(p->m, &p->cut), 0);
}

static struct snapshot *play__shot(struct play *p, enum mt_mode mode)
{
	struct snapshot_info info = { .version = "v", .kernel = "k", .arch = "a", .recording = RECORDING_PRESET, .observed_share = 1, .duration_ns = 3600 * S };
	struct snapshot *s;

	info.recording.mode = mode;
	s = model__snapshot(p->m, &p->cut, &info, &calls);
	cr_assert_not_null(s);
	return s;
}

Test(trends, sites_and_processes)
{
	struct play p;
	struct snapshot *s;

	play__begin(&p);
	for (int i = 0; i < 60; i++)
		play__second(&p);
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_str_eq(s->sites[0].trend.verdict, "leak");
	cr_expect_str_eq(s->sites[0].trend.why, "0 of 600 freed, +2.3 MiB/min for 59.0s, oldest 1m00s");
	cr_expect(s->sites[0].trend.known);
	cr_expect_float_eq(s->sites[0].trend.growth_bytes_per_s, 40960, 1);
	cr_expect_str_eq(s->sites[1].trend.verdict, "steady");
	cr_expect_str_eq(s->sites[1].trend.why, "500 B for 59.0s");
	cr_expect_str_eq(s->sites[2].trend.verdict, "steady");
	cr_assert_eq(s->sites[0].n_history, 60);
	cr_expect_eq(s->sites[0].history[59].t_ns, 60 * S);
	cr_expect_eq(s->sites[0].history[59].live_bytes, 60 * 40960);
	cr_expect_eq(s->sites[0].history[9].live_bytes, 10 * 40960);
	cr_expect_str_eq(s->processes[0].trend.verdict, "leak");
	cr_expect_str_eq(s->processes[0].trend.why, "1 site leaks, +2.3 MiB/min, 2.3 MiB by now");
	cr_expect_float_eq(s->processes[0].trend.growth_bytes_per_s, 40960, 1);
	cr_expect_not(s->baseline);
	snapshot__free(s);
	model__free(p.m);
}

/* Lost at once: how fast it becomes more is not known, and nothing is said of it. */
Test(trends, a_rate_that_is_not_known_is_left_out)
{
	const struct site_look most = { .scans = 3 };
	struct play p;
	struct snapshot *s;

	play__begin(&p);
	play__second(&p);
	p.sites[0].look = (struct cut_look){ .most = &most, .blocks = 10, .unreached_blocks = 10 };
	p.sites[2].counts = (struct mt_counts){};
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_str_eq(s->sites[0].trend.verdict, "leak");
	cr_expect_str_eq(s->processes[0].trend.verdict, "leak");
	cr_expect_str_eq(s->processes[0].trend.why, "1 site leaks, 40.0 KiB by now");
	snapshot__free(s);
	model__free(p.m);
}

/* Years later, the verdict on an ended process is the one of its end. */
Test(trends, an_ended_process)
{
	struct play p;
	struct snapshot *s;

	play__begin(&p);
	for (int i = 0; i < 60; i++)
		play__second(&p);
	model__life_ended(p.m, 2);
	p.procs[1].ended = 1;
	for (int i = 0; i < 600; i++) {
		struct mt_counts then = p.sites[3].counts;

		play__second(&p);
		p.sites[3].counts = then;
	}
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_eq(s->sites[3].n_history, 60);
	cr_expect_str_eq(s->sites[3].trend.verdict, "leak");
	cr_expect_str_eq(s->sites[3].trend.why, "0 of 600 freed, +2.3 MiB/min for 59.0s, oldest 1m00s");
	cr_expect_str_eq(s->processes[1].trend.verdict, "leak");
	snapshot__free(s);
	model__free(p.m);
}

Test(trends, what_is_not_recorded_is_not_judged)
{
	struct play p;
	struct snapshot *s;

	play__begin(&p);
	for (int i = 0; i < 60; i++)
		play__second(&p);
	s = play__shot(&p, MT_MODE_COUNT);
	for (size_t i = 0; i < s->n_sites; i++) {
		cr_expect_null(s->sites[i].trend.verdict);
		cr_expect_not(s->sites[i].trend.known);
		cr_expect_eq(s->sites[i].n_history, 0);
	}
	cr_expect_null(s->processes[0].trend.verdict);
	snapshot__free(s);
	model__free(p.m);
}

Test(trends, changes_since_a_baseline)
{
	struct play p;
	struct snapshot *s;

	play__begin(&p);
	for (int i = 0; i < 10; i++)
		play__second(&p);
	p.cut.n_sites = 3;	/* the fourth is not there yet */
	cr_assert_eq(model__set_baseline(p.m, &p.cut), 0);
	p.cut.n_sites = 4;
	for (int i = 0; i < 5; i++)
		play__second(&p);
	p.sites[2].counts.free_calls = 1;
	p.sites[2].counts.free_bytes = 1 << 20;
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect(s->baseline);
	cr_expect_eq(s->baseline_ns, 10 * S);
	cr_expect_eq(s->sites[0].since_baseline_bytes, 5 * 40960);
	cr_expect_eq(s->sites[1].since_baseline_bytes, 0);
	cr_expect_eq(s->sites[2].since_baseline_bytes, -(1 << 20));
	cr_expect_eq(s->sites[3].since_baseline_bytes, 15 * 40960);
	cr_expect_eq(s->processes[0].since_baseline_bytes, 5 * 40960 - (1 << 20));
	cr_expect_eq(s->processes[1].since_baseline_bytes, 15 * 40960);
	snapshot__free(s);

	/* the number is another site's now: all that it holds is new */
	p.sites[0].first_ns = START + 12 * S;
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_eq(s->sites[0].since_baseline_bytes, 15 * 40960);
	snapshot__free(s);

	/* a second one takes the place of the first */
	cr_assert_eq(model__set_baseline(p.m, &p.cut), 0);
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_eq(s->baseline_ns, 15 * S);
	for (size_t i = 0; i < s->n_sites; i++)
		cr_expect_eq(s->sites[i].since_baseline_bytes, 0);
	snapshot__free(s);
	model__free(p.m);
}
