// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --by: what becomes one row, and that nothing is lost or counted twice on the way. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "model/ages.h"
#include "model/group.h"
#include "model/merge.h"
#include "promises.h"
#include "sample_snapshot.h"
#include "util/util.h"

#define S 1000000000ull
#define MS 1000000ull
#define KIB 1024ull
#define MIB (1024 * KIB)

static struct snapshot *grouped(const struct snapshot *s, const char *by)
{
	struct snapshot *g = snapshot__group(s, grouping__find(by));

	cr_assert_not_null(g);
	return g;
}

static const struct snap_process *group(const struct snapshot *g, const char *name)
{
	for (size_t i = 0; i < g->n_processes; i++)
		if (!strcmp(g->processes[i].comm, name))
			return &g->processes[i];
	cr_assert(false, "no group %s", name);
	abort();
}

static const struct snap_site *site_of(const struct snapshot *g, const struct snap_process *p, const char *function, uint32_t n_stack)
{
	const struct snap_site *ret = NULL;

	for (size_t i = 0; i < g->n_sites; i++) {
		const struct snap_site *s = &g->sites[i];

		if (&g->processes[s->process] != p || strcmp(s->function, function) || s->n_stack != n_stack)
			continue;
		cr_assert_null(ret, "%s: two sites", function);
		ret = s;
	}
	cr_assert_not_null(ret);
	return ret;
}

/* What grouping must not change, over all rows. */
struct all {
	uint64_t n[18];
	double var;
	uint64_t n_processes, n_threads, points_live, ended_blocks, ended_bytes;
};

static struct all sum_of(const struct snapshot *s)
{
	struct all a = {};

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *x = &s->sites[i];

		a.n[0] += x->at_peak_bytes;
		a.n[1] += x->lifetime_sum_ns;
		a.n[2] += x->older_blocks;
		a.n[3] += x->older_bytes;
		a.n[4] += x->cross_frees;
		a.n[5] += x->c.peak_bytes;
		a.n[6] += x->c.temp_calls + x->c.failed_calls + x->c.realloc_calls;
		a.var += x->error.live_bytes * x->error.live_bytes;
		for (size_t k = 0; k < x->n_ages; k++) {
			a.n[16] += x->ages[k].blocks;
			a.n[17] += x->ages[k].bytes * (1 + age__class(x->ages[k].from_ns));
		}
		a.points_live += x->n_history ? x->history[x->n_history - 1].live_bytes : 0;
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		a.n[7] += p->c.peak_bytes;
		a.n[8] += p->c.unknown_frees;
		a.n[9] += p->lost_blocks + p->lost_stacks;
		a.n[10] += p->growth.bytes[GROWTH_FAULT];
		a.n_processes += process__n(s, p);
		a.ended_blocks += process__ended_blocks(p);
		a.ended_bytes += process__ended_bytes(p);
		a.n_threads += p->n_threads;
		for (size_t k = 0; k < p->n_sizes; k++) {
			a.n[11] += p->sizes[k].alloc_calls;
			a.n[12] += p->sizes[k].live_blocks;
		}
		for (size_t k = 0; k < p->n_lifetimes; k++)
			a.n[13] += p->lifetimes[k].blocks;
		a.n[14] += p->n_timeline ? p->timeline[p->n_timeline - 1].live_bytes : 0;
		a.n[15] += p->n_timeline ? p->timeline[p->n_timeline - 1].alloc_calls : 0;
	}
	return a;
}

static void same_sums(const struct snapshot *a, const struct snapshot *b, const char *by)
{
	struct all sa = sum_of(a), sb = sum_of(b);

	for (size_t i = 0; i < ARRAY_SIZE(sa.n); i++)
		cr_assert_eq(sa.n[i], sb.n[i], "%s: sum %zu: %lu, %lu", by, i, (unsigned long)sa.n[i], (unsigned long)sb.n[i]);
	cr_assert_eq(sa.n_processes, sb.n_processes, "%s", by);
	cr_assert_eq(sa.ended_blocks, sb.ended_blocks, "%s", by);
	cr_assert_eq(sa.ended_bytes, sb.ended_bytes, "%s", by);
	cr_assert_eq(sa.n_threads, sb.n_threads, "%s", by);
	cr_assert_eq(sa.points_live, sb.points_live, "%s", by);
	cr_assert_lt(fabs(sa.var - sb.var), 1e-6 * (1 + sa.var), "%s", by);
	expect_same_six(&a->totals, &b->totals);
}

/* ---- the sample */

Test(group, workers_of_one_name_are_a_row)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g = grouped(s, "comm");
	const struct snap_process *p = group(g, "nginx");
	const struct snap_site *x = site_of(g, p, "malloc", 3);

	expect_promises(g);
	same_sums(s, g, "comm");
	cr_expect_str_eq(g->by, "comm");
	cr_expect_eq(g->n_processes, 7);
	cr_expect_eq(p->n_members, 3);
	cr_expect_eq(p->pid, 0);
	cr_expect_eq(p->id, 3);
	cr_expect_eq(p->container_pid, 0);
	cr_expect_str_eq(p->exe, "/usr/sbin/nginx");
	cr_expect_null(p->cgroup, "they have several");
	cr_expect_null(p->unit);
	cr_expect(!p->ended);
	cr_expect_eq(p->rss_bytes, 12 * MIB);
	cr_expect_eq(p->age_at_attach_ns, 3600 * S);
	cr_expect_eq(p->unseen_ns, 240 * MS);
	cr_expect_eq(p->c.peak_bytes, 1183 * KIB);
	cr_expect_eq(p->c.unknown_frees, 4);
	cr_expect_str_eq(p->trend.verdict, "leak");
	cr_expect_str_eq(p->trend.why, "in one of 3: +30.0 KiB/s for 20.0s, oldest 28.5s");
	cr_expect_eq(p->trend.growth_bytes_per_s, 31020);

	/* two paths, one build id: one site */
	cr_expect_eq(x->c.alloc_calls, 15000);
	cr_expect_eq(x->c.live_blocks, 1101);
	cr_expect_eq(x->c.live_bytes, 1101 * KIB);
	cr_expect_eq(x->c.temp_calls, 11990);
	cr_expect_eq(x->c.failed_calls, 1);
	cr_expect_eq(x->at_peak_bytes, 1182 * KIB);
	cr_expect(x->peak_at_most, "of several processes");
	cr_expect_eq(x->min_size, 512);
	cr_expect_eq(x->max_size, 4096);
	cr_expect_eq(x->first_ns, 500 * MS);
	cr_expect_eq(x->last_ns, 29500 * MS);
	cr_expect_eq(x->oldest_ns, 28500 * MS);
	cr_expect_eq(x->cross_frees, 588 + 1500 + 749);
	cr_expect_eq(x->end, 0, "one walk came to the end of the same frames");
	cr_expect_str_eq(x->trend.verdict, "leak");
	cr_expect_eq(x->trend.growth_bytes_per_s, 31020);
	cr_expect_eq(x->n_history, 3);
	cr_expect_eq(x->history[0].live_bytes, 410 * KIB);
	cr_expect_eq(x->history[1].live_bytes, 710 * KIB);
	cr_expect_eq(x->history[2].live_bytes, 1100 * KIB);

	cr_expect_eq(p->n_timeline, 3);
	cr_expect_eq(p->timeline[1].t_ns, 20 * S);
	cr_expect_eq(p->timeline[1].live_bytes, 710 * KIB);
	cr_expect_eq(p->timeline[1].alloc_calls, 5000);
	cr_expect_eq(p->timeline[2].rss_bytes, 9 * MIB);
	cr_expect_eq(p->n_sizes, 2);
	cr_expect_eq(p->sizes[0].below, 1024);
	cr_expect_eq(p->sizes[0].alloc_calls, 10);
	cr_expect_eq(p->sizes[1].alloc_calls, 8000);
	cr_expect_eq(p->sizes[1].live_blocks, 101);

	/* a group of one is that one */
	cr_expect_eq(group(g, "stress")->pid, 2100);
	cr_expect_eq(group(g, "stress")->n_members, 1);
	cr_expect_eq(group(g, "stress")->n_threads, 5);
	cr_expect_str_eq(group(g, "stress")->trend.why, "+2.5 MiB/s, half of it younger than 10.0s");
	cr_expect_eq(group(g, "redis-server")->peak_at_ns, 21300 * MS);
	cr_expect_eq(group(g, "(12 others that ended)")->n_members, 12);
	cr_expect_eq(group(g, "(12 others that ended)")->n_ended, 12);
	snapshot__free(g);
	snapshot__free(s);
}

Test(group, by_cgroup_and_by_nothing)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g = grouped(s, "cgroup"), *all = grouped(s, "none");

	expect_promises(g);
	expect_promises(all);
	same_sums(s, g, "cgroup");
	same_sums(s, all, "none");
	cr_expect_eq(g->n_processes, 5);
	cr_expect_eq(group(g, "/system.slice/nginx.service")->n_members, 2);
	cr_expect_str_eq(group(g, "/system.slice/nginx.service")->unit, "nginx.service");
	cr_expect_eq(group(g, "/docker/4f3c2b1a0011223344556677")->pid, 2003);
	cr_expect_eq(group(g, "/docker/4f3c2b1a0011223344556677")->container_pid, 7);
	cr_expect_eq(group(g, "(unknown cgroup)")->n_members, 15);
	cr_expect(group(g, "(unknown cgroup)")->ended);
	cr_expect_eq(all->n_processes, 1);
	cr_expect_eq(all->processes->n_members, 20);
	cr_expect_eq(all->processes->n_ended, 15);
	cr_expect_eq(all->processes->rss_bytes, 228 * MIB, "of those that run");
	cr_expect_eq(all->processes->peak_at_ns, 0);
	cr_expect_eq(site_of(all, all->processes, "calloc", 1)->c.alloc_calls, 10);
	/* sites without a stack, of two processes */
	cr_expect_eq(site_of(all, all->processes, "malloc", 0)->c.alloc_calls, 16);
	snapshot__free(g);
	snapshot__free(all);
	snapshot__free(s);
}

Test(group, programs_that_run_and_that_have_ended)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g, *later;
	struct snap_process *processes = (struct snap_process *)s->processes;
	uint32_t id, ended_id = 0;

	g = snapshot__group(s, &grouping_programs);
	expect_promises(g);
	same_sums(s, g, "programs");
	cr_expect_str_eq(g->by, "comm");
	cr_expect_eq(group(g, "nginx")->n_members, 3);
	id = group(g, "nginx")->id;

	/* one of the workers ends: it stands apart, and whoever looks at the others still finds them */
	for (size_t i = 0; i < s->n_processes; i++)
		if (!strcmp(processes[i].comm, "nginx") && processes[i].pid == 2001)
			processes[i].ended = true;
	later = snapshot__group(s, &grouping_programs);
	expect_promises(later);
	same_sums(s, later, "programs, of which one ended");
	for (size_t i = 0; i < later->n_processes; i++) {
		const struct snap_process *p = &later->processes[i];

		if (strcmp(p->comm, "nginx"))
			continue;
		cr_expect_eq(p->n_members, p->ended ? 1u : 2u);
		if (p->ended)
			ended_id = p->id;
		else
			cr_expect_eq(p->id, id, "the same row in every snapshot");
	}
	cr_expect(ended_id && ended_id != id);
	for (size_t i = 0; i < later->n_processes; i++)
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(later->processes[i].id, later->processes[k].id);
	snapshot__free(later);
	snapshot__free(g);
	snapshot__free(s);
}

/* n processes of one program, with a site each; those from `running` on have ended. */
static struct snapshot *crowd(size_t n, size_t running)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_process *v = snapshot__alloc(s, n, sizeof(*v));
	struct snap_site *sites = snapshot__alloc(s, n, sizeof(*sites));

	s->totals = (struct counters){};
	for (size_t i = 0; i < n; i++) {
		struct snap_thread *thread = snapshot__alloc(s, 1, sizeof(*thread));
		struct counters c = { .alloc_calls = i + 1, .alloc_bytes = 16 * (i + 1), .live_blocks = i + 1, .live_bytes = 16 * (i + 1), .peak_bytes = 16 * (i + 1) };

		*thread = (struct snap_thread){ .tid = 100 + (int)i, .comm = "cc1", .ended = i >= running, .c = c };
		sites[i] = s->sites[0];
		sites[i].process = i;
		sites[i].c = c;
		sites[i].n_history = sites[i].n_ages = 0;
		v[i] = (struct snap_process){ .id = i + 1, .pid = 100 + (int)i, .comm = "cc1", .exe = "/usr/lib/gcc/cc1", .ended = i >= running, .c = c,
					      .threads = thread, .n_threads = 1, .parent = i };
		counters__add(&s->totals, &c);
	}
	s->processes = v;
	s->n_processes = n;
	s->sites = sites;
	s->n_sites = n;
	return s;
}

/* Files have each process; of many that ended, one row. */
Test(group, many_that_ended_are_one)
{
	struct snapshot *few = crowd(17, 1), *many = crowd(20, 2), *g = snapshot__group(few, &grouping_crowd);

	cr_expect_eq(g->n_processes, 17, "16 that ended stay apart");
	cr_expect_eq(g->processes[16].pid, 116);
	cr_expect_eq(g->processes[16].n_members, 0);
	snapshot__free(g);

	g = snapshot__group(many, &grouping_crowd);
	expect_promises(g);
	cr_expect_str_eq(g->by, "process");
	cr_assert_eq(g->n_processes, 3);
	cr_expect_eq(g->n_sites, 3);
	for (size_t i = 0; i < 2; i++)
		cr_expect(g->processes[i].pid == 100 + (int)i && !g->processes[i].ended && !g->processes[i].n_members && g->processes[i].id == i + 1);
	cr_expect_eq(g->processes[2].pid, 0);
	cr_expect(g->processes[2].ended);
	cr_expect_str_eq(g->processes[2].exe, "/usr/lib/gcc/cc1");
	cr_expect_eq(g->processes[2].n_members, 18);
	cr_expect_eq(g->processes[2].n_ended, 18);
	cr_expect_eq(g->processes[2].c.alloc_calls, 207);
	cr_expect_eq(g->sites[2].c.live_bytes, 16 * 207);
	cr_assert_eq(g->processes[2].n_threads, 1);
	cr_expect_eq(g->processes[2].threads->stands_for, 18);
	cr_expect_eq(g->processes[2].threads->c.alloc_calls, 207);
	/* of a row that was merged, ids are those of the row */
	cr_expect_eq(g->processes[2].id, 3);
	cr_expect_eq(g->processes[1].parent, 1);
	snapshot__free(g);

	/* another program of the same name is another one */
	((struct snap_process *)many->processes)[19].exe = "/opt/cc1";
	g = snapshot__group(many, &grouping_crowd);
	cr_expect_eq(g->n_processes, 4);
	cr_expect_eq(g->processes[2].n_members, 17);
	snapshot__free(g);
	snapshot__free(few);
	snapshot__free(many);
}

Test(group, a_group_of_groups_is_the_same)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *by_comm = grouped(s, "comm"), *twice = grouped(by_comm, "none"),
			*once = grouped(s, "none");

	cr_expect_eq(twice->processes->n_members, once->processes->n_members);
	cr_expect_eq(twice->processes->n_ended, once->processes->n_ended);
	cr_expect_eq(twice->n_sites, once->n_sites);
	same_sums(once, twice, "comm, then none");
	snapshot__free(once);
	snapshot__free(twice);
	snapshot__free(by_comm);
	snapshot__free(s);
}

Test(group, each_process_stays_itself)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g = grouped(s, NULL);

	cr_expect_eq(g->n_processes, s->n_processes);
	cr_expect_eq(g->n_sites, s->n_sites);
	cr_expect_eq(g->processes, s->processes);
	cr_expect_null(grouping__find("beauty"));
	snapshot__free(g);
	snapshot__free(s);
}

Test(group, threads_get_their_names)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g;

	s->sites[0].tid = 1435;	/* of redis-server */
	s->sites[1].tid = 99;	/* of whom nothing is known */
	s->sites[14].tid = 2104;
	g = grouped(s, "thread");
	cr_expect_eq(g->n_sites, s->n_sites);
	cr_expect_str_eq(g->sites[0].thread, "bio_lazy_free");
	cr_expect_null(g->sites[1].thread);
	cr_expect_eq(g->sites[1].tid, 99);
	cr_expect_null(g->sites[2].thread);
	cr_expect_str_eq(g->sites[14].thread, "worker-13");
	snapshot__free(g);
	snapshot__free(s);
}

/* ---- what makes code the same */

static void set_code(struct snapshot *s, struct snap_module a, struct snap_module b)
{
	struct snap_module *m = snapshot__alloc(s, 2, sizeof(*m));

	m[0] = a;
	m[1] = b;
	s->modules = m;
	s->n_modules = 2;
}

Test(group, code_is_told_by_build_id_then_by_path)
{
	static const struct {
		struct snap_module a, b;
		size_t n_sites;
		const char *what;
	} rows[] = {
		{ { "/x", "01", NULL }, { "/x", "02", NULL }, 2, "another file at the same path" },
		{ { "/x", "01", NULL }, { "/y", "01", NULL }, 1, "one file at two paths" },
		{ { "/x", NULL, NULL }, { "/x", NULL, NULL }, 1, "no build id, one path" },
		{ { "/x", NULL, NULL }, { "/y", NULL, NULL }, 2, "no build id, two paths" },
		{ { "/x", "01", NULL }, { "/x", NULL, NULL }, 2, "one of them has none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct snapshot *s = snapshot__new(), *g;
		struct snap_process procs[] = { { .id = 1, .pid = 1, .comm = "w" }, { .id = 2, .pid = 2, .comm = "w" } };
		struct place places[] = { { .module = 0, .offset = 16 }, { .module = 1, .offset = 16 }, { .module = 1, .offset = 32 } };
		uint32_t stacks[] = { 0, 1, 2 };
		struct snap_site sites[] = { { .process = 0, .function = "malloc", .n_stack = 1, .stack = &stacks[0] },
					     { .process = 1, .function = "malloc", .n_stack = 1, .stack = &stacks[1] },
					     { .process = 1, .function = "malloc", .n_stack = 1, .stack = &stacks[2] } };

		s->processes = procs;
		s->n_processes = 2;
		s->places = places;
		s->n_places = 3;
		s->sites = sites;
		s->n_sites = 3;
		set_code(s, rows[i].a, rows[i].b);
		g = grouped(s, "comm");
		cr_expect_eq(g->n_sites, rows[i].n_sites + 1, "%s", rows[i].what);
		snapshot__free(g);
		snapshot__free(s);
	}
}

/* ---- any snapshot */

static unsigned int seed;

static uint64_t any(uint64_t below)
{
	return (((uint64_t)rand_r(&seed) << 31) ^ rand_r(&seed)) % below;
}

static struct counters any_counters(void)
{
	struct counters c = { .alloc_calls = any(1u << 30), .alloc_bytes = any(1ull << 40) };

	c.free_calls = any(c.alloc_calls + 1);
	c.free_bytes = any(c.alloc_bytes + 1);
	c.live_blocks = c.alloc_calls - c.free_calls;
	c.live_bytes = c.alloc_bytes - c.free_bytes;
	c.peak_bytes = c.live_bytes + any(1000);
	c.realloc_calls = any(100);
	c.temp_calls = any(100);
	c.failed_calls = any(3);
	return c;
}

static const struct snap_point *any_points(struct snapshot *s, size_t n)
{
	struct snap_point *p = snapshot__alloc(s, n + 1, sizeof(*p));
	uint64_t t = 0;

	for (size_t i = 0; i < n; i++) {
		t += any(3) * S + 1 + any(S);
		p[i] = (struct snap_point){ t, any(1 << 30), any(1 << 20), any(1 << 20), any(1 << 30), any(1 << 30), any(1 << 30) };
	}
	return p;
}

static const char *any_name(const char *const *v, size_t n)
{
	size_t i = any(n);

	return v[i];
}

static void any_hists(struct snapshot *s, struct snap_process *p)
{
	struct snap_size *sizes = snapshot__alloc(s, 70, sizeof(*sizes));
	struct snap_lifetime *lives = snapshot__alloc(s, 70, sizeof(*lives));

	p->sizes = sizes;
	p->lifetimes = lives;
	for (int i = 0; i < 64; i++) {
		uint64_t below = i < 63 ? 1ull << i : UINT64_MAX;

		if (any(3) == 0)
			sizes[p->n_sizes++] = (struct snap_size){ below, any(1000), any(1000) };
		if (any(3) == 0)
			lives[p->n_lifetimes++] = (struct snap_lifetime){ below, any(1000) };
	}
}

static struct snapshot *any_snapshot(size_t n_processes, size_t n_sites, size_t n_points)
{
	static const char *const comms[] = { "a", "b", "nginx", "postgres", "a" }, *const cgroups[] = { "/x", "/y", NULL, "/x/z" };
	static const char *const functions[] = { "malloc", "calloc", "realloc" }, *const verdicts[] = { NULL, "leak", "steady" };
	struct snapshot *s = snapshot__new();
	struct snap_process *procs = snapshot__alloc(s, n_processes + 1, sizeof(*procs));
	struct snap_module *modules = snapshot__alloc(s, 6, sizeof(*modules));

	for (int i = 0; i < 6; i++)
		modules[i] = (struct snap_module){ .path = i % 2 ? "/lib/x" : "/lib/y", .build_id = i < 2 ? NULL : i < 4 ? "01" : "02" };
	s->modules = modules;
	s->n_modules = 6;
	s->n_places = 300;
	s->places = snapshot__alloc(s, s->n_places, sizeof(*s->places));
	for (size_t i = 0; i < s->n_places; i++)
		s->places[i] = (struct place){ .module = (int)any(7) - 1, .offset = any(40) };
	s->known = HAS_ALL;
	s->duration_ns = 60 * S;
	s->processes = procs;
	s->n_processes = n_processes;
	for (size_t i = 0; i < n_processes; i++) {
		procs[i] = (struct snap_process){
			.id = i + 1, .pid = 1 + (int)any(100000), .comm = any_name(comms, ARRAY_SIZE(comms)), .exe = "/bin/x",
			.cgroup = any_name(cgroups, ARRAY_SIZE(cgroups)), .ended = any(2), .lost_blocks = any(5), .rss_bytes = any(1 << 30),
			.trend = { any_name(verdicts, 3), NULL, 1, any(2), false }, .n_timeline = any(n_points + 1),
			.c = { .unknown_frees = any(100) }, .growth = { .bytes = { 0, any(1000), 0, 0 } },
		};
		procs[i].c.peak_bytes = any(1 << 30);
		procs[i].timeline = any_points(s, procs[i].n_timeline);
		any_hists(s, &procs[i]);
	}
	s->sites = snapshot__alloc(s, n_sites + 1, sizeof(*s->sites));
	s->n_sites = n_processes ? n_sites : 0;
	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &s->sites[i];
		uint32_t n = (uint32_t)any(6), *stack = snapshot__alloc(s, n + 1, sizeof(*stack));
		uint32_t process = (uint32_t)any(n_processes);

		for (uint32_t k = 0; k < n; k++)
			stack[k] = (uint32_t)any(any(2) ? 8 : s->n_places);
		*site = (struct snap_site){
			.process = process, .function = any_name(functions, 3), .c = any_counters(), .at_peak_bytes = any(1 << 20),
			.lifetime_sum_ns = any(1 << 30), .older_blocks = any(9), .older_bytes = any(99), .cross_frees = any(7),
			.error = { any(100), any(100), any(100), any(100) }, .n_stack = n, .stack = stack, .end = (uint8_t)any(4),
			.n_history = any(n_points + 1), .trend = { any_name(verdicts, 3), "because", 1, true, false },
		};
		site->history = any_points(s, site->n_history);
		ages__build_range(s, any(1 << 20), any(1 << 30), 1 + any(99), any(9999), site);
		add_six(&procs[process].c, &site->c);
		add_six(&s->totals, &site->c);
	}
	return s;
}

Test(group, keeps_its_promises_whatever_the_snapshot)
{
	for (int round = 0; round < 60; round++) {
		struct snapshot *s;

		seed = 1 + round;
		s = any_snapshot(any(30), any(400), round % 3 ? 10 : 0);
		expect_promises(s);
		for (size_t i = 0; i < n_groupings; i++) {
			struct snapshot *g = grouped(s, groupings[i].name);

			expect_promises(g);
			same_sums(s, g, groupings[i].name);
			for (size_t k = 0; k < g->n_processes; k++)
				for (size_t p = 1; p < g->processes[k].n_timeline; p++)
					cr_assert_lt(g->processes[k].timeline[p - 1].t_ns, g->processes[k].timeline[p].t_ns);
			snapshot__free(g);
		}
		snapshot__free(s);
	}
}

/* No two of its sites are the same, by the plain way of looking at each pair. */
Test(group, leaves_no_two_alike)
{
	struct snapshot *s, *g;

	seed = 7;
	s = any_snapshot(20, 1500, 3);
	g = grouped(s, "comm");
	cr_assert_lt(g->n_sites, s->n_sites - 100);
	for (size_t i = 0; i < g->n_sites; i++)
		for (size_t k = i + 1; k < g->n_sites; k++) {
			const struct snap_site *a = &g->sites[i], *b = &g->sites[k];
			bool same = a->process == b->process && !strcmp(a->function, b->function) && a->n_stack == b->n_stack;

			for (uint32_t n = 0; same && n < a->n_stack; n++) {
				const struct place *pa = &g->places[a->stack[n]], *pb = &g->places[b->stack[n]];
				const struct snap_module *ma = pa->module < 0 ? NULL : &g->modules[pa->module];
				const struct snap_module *mb = pb->module < 0 ? NULL : &g->modules[pb->module];

				same = pa->offset == pb->offset && !ma == !mb;
				if (same && ma)
					same = ma->build_id && mb->build_id ? !strcmp(ma->build_id, mb->build_id) :
									      !ma->build_id && !mb->build_id && !strcmp(ma->path, mb->path);
			}
			cr_assert(!same, "%zu and %zu", i, k);
		}
	snapshot__free(g);
	snapshot__free(s);
}

Test(group, a_whole_machine)
{
	struct snapshot *s, *g;

	seed = 3;
	s = any_snapshot(2000, 20000, 60);
	g = grouped(s, "none");
	expect_promises(g);
	same_sums(s, g, "none");
	cr_expect_eq(g->processes->n_members, 2000);
	snapshot__free(g);
	snapshot__free(s);
}

/* ---- the course of time */

Test(group, courses_add_up_at_each_moment)
{
	static const struct snap_point a[] = { { 10, 100, 1, 5, 1000 }, { 30, 50, 2, 9, 2000 } };
	static const struct snap_point b[] = { { 20, 7, 3, 1, 300 }, { 30, 9, 4, 2, 400 }, { 40, 1, 5, 3, 500 } };
	struct timeline v[] = { { a, 2, true }, { b, 3, false }, {} };
	struct snapshot *s = snapshot__new();
	const struct snap_point *p = NULL;
	size_t n = 0;

	timelines__add_up(s, v, 3, &p, &n);
	cr_assert_eq(n, 4);
	cr_expect_eq(p[0].live_bytes, 100);
	cr_expect_eq(p[1].t_ns, 20);
	cr_expect_eq(p[1].live_bytes, 107);
	cr_expect_eq(p[2].live_bytes, 59);
	cr_expect_eq(p[2].rss_bytes, 2400);
	/* a has ended: what it had not freed stays, its RSS is gone */
	cr_expect_eq(p[3].live_bytes, 51);
	cr_expect_eq(p[3].alloc_calls, 12);
	cr_expect_eq(p[3].rss_bytes, 500);
	snapshot__free(s);
}

Test(group, courses_are_bounded)
{
	struct snapshot *s = snapshot__new();
	struct snap_point *a = snapshot__alloc(s, 3000, sizeof(*a)), *b = snapshot__alloc(s, 3000, sizeof(*b));
	struct timeline v[] = { { a, 3000, false }, { b, 3000, false } };
	const struct snap_point *p = NULL;
	size_t n = 0;

	for (uint64_t i = 0; i < 3000; i++) {
		a[i] = (struct snap_point){ .t_ns = 1 + 2 * i, .live_bytes = i };
		b[i] = (struct snap_point){ .t_ns = 2 + 2 * i, .live_bytes = 5 * i };
	}
	timelines__add_up(s, v, 2, &p, &n);
	cr_expect_leq(n, TIMELINE_MAX);
	cr_expect_geq(n, TIMELINE_MAX / 2);
	cr_expect_eq(p[n - 1].t_ns, 6000);
	cr_expect_eq(p[n - 1].live_bytes, 6 * 2999);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(p[i].live_bytes, (p[i].t_ns - 1) / 2 + (p[i].t_ns >= 2 ? (p[i].t_ns - 2) / 2 * 5 : 0), "at %lu", p[i].t_ns);
	snapshot__free(s);
}
