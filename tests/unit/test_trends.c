// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Cuts, second by second → verdicts, histories and changes in a snapshot. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/merge.h"
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
	struct snap_site sites[4];
	struct cut_proc procs[2];
	struct cut cut;
};

static void play__begin(struct play *p)
{
	*p = (struct play){ .m = model__new() };
	cr_assert_not_null(p->m);
	model__begin(p->m, START, 0, 0);
	for (uint32_t i = 1; i <= 2; i++) {
		struct snap_process info = { .proc = i, .pid = (pid_t)i * 10, .comm = "x", .age_at_attach_ns = DAY };

		model__add_life(p->m, &info);
		p->procs[i - 1] = (struct cut_proc){ .proc = i, .pid = i * 10 };
	}
	for (uint32_t i = 0; i < 4; i++)
		p->sites[i] = (struct snap_site){ .number = i + 1, .proc = i < 3 ? 1 : 2, .first_ns = START + i };
	p->sites[2].c = (struct counters){ .alloc_calls = 1, .alloc_bytes = 1 << 20 };
	p->sites[2].oldest_born_ns = p->sites[0].oldest_born_ns = p->sites[3].oldest_born_ns = START + 1;
	p->cut = (struct cut){ .now_ns = START, .sites = p->sites, .n_sites = 4, .procs = p->procs, .n_procs = 2 };
}

static void play__second(struct play *p)
{
	p->cut.now_ns += S;
	for (int i = 0; i < 4; i += 3) {
		p->sites[i].c.alloc_calls += 10;
		p->sites[i].c.alloc_bytes += 40960;
		p->sites[i].last_ns = p->cut.now_ns;
	}
	p->sites[1].c.alloc_calls += 1000;
	p->sites[1].c.alloc_bytes += 100000;
	p->sites[1].c.free_calls = p->sites[1].c.alloc_calls - 5;
	p->sites[1].c.free_bytes = p->sites[1].c.alloc_bytes - 500;
	p->sites[1].lifetime_sum_ns += 5000000;
	p->sites[1].last_ns = p->cut.now_ns;
	model__note(p->m, &p->cut);
}

static struct snapshot *play__shot(struct play *p, enum mt_mode mode)
{
	struct snapshot_info info = { .base.version = "v", .base.kernel = "k", .base.arch = "a", .base.recording = RECORDING_PRESET, .base.observed_share = 1, .base.duration_ns = 3600 * S };
	struct snapshot *s;

	info.base.recording.mode = mode;
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

/* A reader knows the variables of the program, not those of libraries or of an interpreter. */
Test(trends, only_variables_of_the_program_hold_by_name)
{
	static const struct {
		enum root_kind kind;
		const char *name, *module, *runtime, *why;
	} t[] = {
		{ ROOT_GLOBAL, "sessions", "/srv/bin/server", NULL, "all reachable through sessions, +2.3 MiB/min for 59.0s, 0 of 600 freed" },
		{ ROOT_GLOBAL, "handlers", "/usr/lib/libx.so", NULL, "all reachable, +2.3 MiB/min for 59.0s, 0 of 600 freed" },
		{ ROOT_GLOBAL, "PyBool_Type", "/srv/bin/server", "python", "all reachable, +2.3 MiB/min for 59.0s, 0 of 600 freed" },
		{ ROOT_MAPPING, "anonymous memory", NULL, NULL, "all reachable, +2.3 MiB/min for 59.0s, 0 of 600 freed" },
		{ ROOT_STACK, "server", NULL, NULL, "all reachable, +2.3 MiB/min for 59.0s, 0 of 600 freed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snap_root root = { .kind = t[i].kind, .name = t[i].name, .module = t[i].module, .blocks = 600, .bytes = 600 * 4096 };
		struct site_look most = { .scans = 3, .held = &root };
		struct snap_process info = { .proc = 1, .pid = 10, .comm = "server",
					     .exe = i % 2 ? "/srv/bin/server" : "/srv/bin/server (deleted)", .age_at_attach_ns = DAY };
		struct play p;
		struct snapshot *s;

		play__begin(&p);
		model__free(p.m);
		p.m = model__new();
		model__begin(p.m, START, 0, 0);
		model__add_life(p.m, &info);
		if (t[i].runtime)
			model__process(p.m, 1)->runtime = t[i].runtime;
		p.cut.n_sites = p.cut.n_procs = 1;
		for (int k = 0; k < 60; k++)
			play__second(&p);
		p.sites[0].look = &most;
		p.sites[0].looked_blocks = 600;
		s = play__shot(&p, MT_MODE_FULL);
		cr_expect_str_eq(s->sites[0].trend.why ?: "none", t[i].why, "%zu: %s", i, s->sites[0].trend.why);
		snapshot__free(s);
		model__free(p.m);
	}
}

/* A cache that fills for 8 s and is emptied, cut off while it fills. */
Test(trends, a_saw_tooth_has_no_rate)
{
	struct play p;
	struct snapshot *s;

	for (int seconds = 40; seconds < 56; seconds++) {
		play__begin(&p);
		p.cut.n_sites = p.cut.n_procs = 1;
		for (int i = 0; i < seconds; i++) {
			struct counters *c = &p.sites[0].c;

			play__second(&p);
			if (i % 8 == 7) {
				c->free_calls = c->alloc_calls;
				c->free_bytes = c->alloc_bytes;
				model__note(p.m, &p.cut);
			}
		}
		s = play__shot(&p, MT_MODE_FULL);
		for (int k = 0; k < 2; k++) {
			const struct trend *t = k ? &s->processes[0].trend : &s->sites[0].trend;

			if (t->verdict && !strcmp(t->verdict, "steady"))
				cr_expect_float_eq(t->growth_bytes_per_s, 0, 0, "%d s: %s, %.0f/s", seconds, t->why, t->growth_bytes_per_s);
			cr_expect(!verdict__is_alarm(t->verdict), "%d s: %s (%s)", seconds, t->verdict, t->why);
		}
		snapshot__free(s);
		model__free(p.m);
	}
}

/* Lost at once: how fast it becomes more is not known, and nothing is said of it. */
Test(trends, a_rate_that_is_not_known_is_left_out)
{
	struct site_look most = { .scans = 3 };
	struct play p;
	struct snapshot *s;

	play__begin(&p);
	play__second(&p);
	p.sites[0].look = &most;
	p.sites[0].looked_blocks = p.sites[0].unreached_blocks = 10;
	p.sites[2].c = (struct counters){};
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_str_eq(s->sites[0].trend.verdict, "leak");
	cr_expect_str_eq(s->processes[0].trend.verdict, "leak");
	cr_expect_str_eq(s->processes[0].trend.why, "1 site leaks, 40.0 KiB by now");
	snapshot__free(s);
	/* not where a pointer may lie in memory that was not searched */
	most.partial = true;
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_str_eq(s->sites[0].trend.verdict, "suspect");
	snapshot__free(s);
	model__free(p.m);
}

/* Of a process whose blocks are steady: what its resident memory does. */
static struct snapshot *steady_with_rss(struct play *p, uint64_t (*rss_of)(int second), int seconds)
{
	cr_assert_not_null((*p = (struct play){ .m = model__new() }).m);
	model__begin(p->m, START, 0, 0);
	model__add_life(p->m, &(struct snap_process){ .proc = 1, .pid = 10, .comm = "x", .age_at_attach_ns = DAY, .rss_bytes = rss_of(0) });
	p->procs[0] = (struct cut_proc){ .proc = 1, .pid = 10 };
	p->sites[0] = (struct snap_site){ .number = 1, .proc = 1, .first_ns = START, .c = { .alloc_calls = 1, .alloc_bytes = 1 << 20 } };
	p->cut = (struct cut){ .now_ns = START, .sites = p->sites, .n_sites = 1, .procs = p->procs, .n_procs = 1 };
	for (int i = 1; i <= seconds; i++) {
		p->cut.now_ns += S;
		model__set_rss(p->m, 1, rss_of(i), 0, 0);
		model__note(p->m, &p->cut);
	}
	return play__shot(p, MT_MODE_FULL);
}

#define MIB (1ull << 20)

static uint64_t flat(int t)
{
	return 100 * MIB + t % 3 * 4096;
}

static uint64_t climbing(int t)
{
	return 100 * MIB + (uint64_t)t * 2560 * 1024;
}

/* a tenth of a thousandth a second: less than a MiB by the end */
static uint64_t creeping(int t)
{
	return 100 * MIB + (uint64_t)t * 10 * 1024;
}

static uint64_t doubled(int t)
{
	return t < 5 ? 100 * MIB : 200 * MIB;
}

static uint64_t by_steps(int t)
{
	return 1000 * MIB + (uint64_t)(t / 20) * 10 * MIB;
}

static uint64_t sawing(int t)
{
	return 100 * MIB + (uint64_t)(t % 10) * MIB;
}

Test(trends, resident_memory_is_part_of_the_verdict)
{
	static const struct {
		uint64_t (*rss_of)(int second);
		const char *verdict, *why;
	} rows[] = {
		{ flat, "steady", "1.0 MiB for 59.0s; RSS unchanged in 1m00s" },
		{ climbing, "growing", "RSS +150.0 MiB in 1m00s; live memory 1.0 MiB" },
		{ creeping, "growing", "RSS +600.0 KiB in 1m00s; live memory 1.0 MiB" },
		{ doubled, "steady", "1.0 MiB for 59.0s; RSS +100.0 MiB in 1m00s" },
		{ by_steps, "growing", "RSS +30.0 MiB in 1m00s; live memory 1.0 MiB" },
		{ sawing, "steady", "1.0 MiB for 59.0s; RSS unchanged in 1m00s" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play p;
		struct snapshot *s = steady_with_rss(&p, rows[i].rss_of, 60);
		const struct trend *t = &s->processes[0].trend;

		cr_expect_str_eq(t->verdict ?: "(none)", rows[i].verdict, "%zu: %s (%s)", i, t->verdict ?: "none", t->why ?: "");
		cr_expect_str_eq(t->why ?: "", rows[i].why, "%zu: %s", i, t->why ?: "");
		cr_expect_str_eq(s->sites[0].trend.verdict, "steady", "the site holds what it held");
		snapshot__free(s);
		model__free(p.m);
	}
}

/* It rose by a notable amount a moment ago, once: nobody knows what that is. */
static uint64_t stepped_late(int t)
{
	return t < 55 ? 100 * MIB : 100 * MIB + 300 * 1024;
}

Test(trends, resident_memory_that_rose_a_moment_ago)
{
	struct play p;
	struct snapshot *s = steady_with_rss(&p, stepped_late, 60);

	cr_expect_str_eq(s->processes[0].trend.verdict, "steady", "too little to matter");
	snapshot__free(s);
	model__free(p.m);
	/* three seconds are too few for any verdict */
	s = steady_with_rss(&p, climbing, 3);
	cr_expect_null(s->processes[0].trend.verdict);
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
	model__process(p.m, 2)->ended = true;
	p.procs[1].ended = 1;
	for (int i = 0; i < 600; i++) {
		struct counters then = p.sites[3].c;

		play__second(&p);
		p.sites[3].c = then;
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
	model__set_baseline(p.m, &p.cut);
	p.cut.n_sites = 4;
	for (int i = 0; i < 5; i++)
		play__second(&p);
	p.sites[2].c.free_calls = 1;
	p.sites[2].c.free_bytes = 1 << 20;
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
	model__set_baseline(p.m, &p.cut);
	s = play__shot(&p, MT_MODE_FULL);
	cr_expect_eq(s->baseline_ns, 15 * S);
	for (size_t i = 0; i < s->n_sites; i++)
		cr_expect_eq(s->sites[i].since_baseline_bytes, 0);
	snapshot__free(s);
	model__free(p.m);
}

/* ---- what it takes */

#define N_SITES 20000
#define N_SECONDS 1024

static double seconds_of_snapshot(const struct play *p)
{
	struct snapshot_info info = { .base.version = "v", .base.kernel = "k", .base.arch = "a", .base.recording = RECORDING_PRESET, .base.observed_share = 1, .base.duration_ns = N_SECONDS * S };
	uint64_t began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct snapshot *s = model__snapshot(p->m, &p->cut, &info, &calls);

	cr_assert_eq(s->n_sites, N_SITES);
	snapshot__free(s);
	return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns) / 1e9;
}

/* What all of a process holds is the same for the first of its sites. */
Test(trends, frees_of_older_blocks_are_compared_with_all_of_the_process)
{
	struct snapshot_info info = { .base.version = "v", .base.kernel = "k", .base.arch = "a", .base.recording = RECORDING_PRESET, .base.observed_share = 1,
				      .base.duration_ns = 60 * S };
	struct snap_site sites[2] = { { .number = 1, .proc = 3, .first_ns = START }, { .number = 2, .proc = 3, .first_ns = START } };
	struct cut_proc proc = { .proc = 3, .pid = 30, .unknown_frees = 7000 };
	struct snapshot *s;
	struct play p;

	play__begin(&p);
	model__add_life(p.m, &(struct snap_process){ .proc = 3, .pid = 30, .comm = "x", .age_at_attach_ns = DAY, .rss_bytes = 100 << 20 });
	p.cut.procs = &proc;
	p.cut.n_procs = 1;
	p.cut.sites = sites;
	p.cut.n_sites = 2;
	sites[1].c = (struct counters){ .alloc_calls = 200000, .alloc_bytes = 12800000 };
	for (int i = 0; i < 60; i++) {
		p.cut.now_ns += S;
		sites[0].c.alloc_calls += 100;
		sites[0].c.alloc_bytes += 6400;
		sites[0].last_ns = p.cut.now_ns;
		model__set_rss(p.m, 3, 100 << 20, 0, 0);
		model__note(p.m, &p.cut);
	}
	s = model__snapshot(p.m, &p.cut, &info, &calls);
	cr_assert_str_eq(s->sites[0].trend.verdict ?: "(none)", "suspect");
	snapshot__free(s);
	model__free(p.m);
}

/* What the memory of a process did is asked by each of its sites, and judged once. */
Test(trends, resident_memory_is_judged_once)
{
	struct snap_site *sites = calloc(N_SITES, sizeof(*sites));
	struct cut_proc proc = { .proc = 3, .pid = 30 };
	double without, with;
	struct play p;

	play__begin(&p);
	model__add_life(p.m, &(struct snap_process){ .proc = 3, .pid = 30, .comm = "x", .age_at_attach_ns = DAY, .rss_bytes = 100 << 20 });
	p.cut.procs = &proc;
	p.cut.n_procs = 1;
	for (uint32_t i = 0; i < N_SITES; i++)
		sites[i] = (struct snap_site){ .number = i + 1, .proc = 3, .first_ns = START, .c = { .alloc_calls = 1, .alloc_bytes = 100 } };
	p.cut.sites = sites;
	p.cut.n_sites = 1;
	for (uint64_t i = 0; i < N_SECONDS; i++) {
		p.cut.now_ns += S;
		model__set_rss(p.m, 3, (100 << 20) + i * 200000, 0, 0);
		model__note(p.m, &p.cut);
	}
	p.cut.n_sites = N_SITES;
	without = seconds_of_snapshot(&p);
	proc.unknown_frees = 1000;
	with = seconds_of_snapshot(&p);
	cr_expect_lt(with, 3 * without + 0.1, "%.3f s, %.3f s where there are unknown frees", without, with);
	model__free(p.m);
	free(sites);
}
