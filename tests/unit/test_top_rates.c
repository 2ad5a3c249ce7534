// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Rates of the live view where figures go from row to row: those of an interval that was seen, or none. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "model/group.h"
#include "present/top/top_parts.h"
#include "top_screen.h"

/* What is not named in a table of these is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* A process and the calls that it has made; each allocates at one place of the same program. */
struct did {
	const char *comm;
	uint32_t id;
	uint64_t calls;
	bool ended;
	uint64_t live_bytes, rss_bytes;
	bool blind;
};

static struct snapshot *bases[8];	/* what grouped snapshots are made of */
static size_t n_bases;

static void begin_rates(void)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };

	t = top__new(&o);
	grid__resize(&g, 24, 160);
}

static void end_rates(void)
{
	end();
	for (size_t i = 0; i < n_bases; i++)
		snapshot__free(bases[i]);
	n_bases = 0;
}

TestSuite(top_rates, .init = begin_rates, .fini = end_rates);

static struct snapshot *made(unsigned int seconds, const struct did *v, size_t n)
{
	static const struct line line = { .function = "work" };
	static const uint32_t stack[] = { 0 };
	struct snapshot *s = snapshot__new();
	struct snap_process *p = snapshot__alloc(s, n, sizeof(*p));
	struct snap_site *sites = snapshot__alloc(s, n, sizeof(*sites));
	struct snap_module *module = snapshot__alloc(s, 1, sizeof(*module));
	struct place *place = snapshot__alloc(s, 1, sizeof(*place));

	*module = (struct snap_module){ .path = "/usr/bin/app" };
	*place = (struct place){ .offset = 16, .resolved = true, .n_lines = 1, .lines = &line };
	for (size_t i = 0; i < n; i++) {
		p[i] = (struct snap_process){ .id = v[i].id, .pid = (int)(100 + v[i].id), .comm = v[i].comm, .exe = "/usr/bin/app", .ended = v[i].ended, .blind.is = v[i].blind, .rss_bytes = v[i].rss_bytes, .c.alloc_calls = v[i].calls,
					      .c.live_bytes = v[i].live_bytes };
		sites[i] = (struct snap_site){ .process = i, .function = "malloc", .stack = stack, .n_stack = 1, .c.alloc_calls = v[i].calls };
		s->totals.alloc_calls += v[i].calls;
		s->totals.live_bytes += v[i].live_bytes;
	}
	s->modules = module;
	s->places = place;
	s->processes = p;
	s->sites = sites;
	s->n_modules = s->n_places = 1;
	s->n_processes = s->n_sites = n;
	s->known = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES | HAS_FREE_CALLS | HAS_LIVE_BYTES | HAS_LIVE_BLOCKS;
	s->observed_share = 1;
	s->duration_ns = seconds * MADE_SECOND;
	return s;
}

/* What happens at this second, in these rows. */
static void at(unsigned int seconds, const struct grouping *by, const struct did *v, size_t n)
{
	struct snapshot *s = made(seconds, v, n);

	if (grouping__changes(by)) {
		bases[n_bases++] = s;
		s = snapshot__group(s, by);
	}
	top__update(t, s);
	top__draw(t, &g);
}

#define AT(seconds, by, ...) at(seconds, by, (struct did[]){ __VA_ARGS__ }, sizeof((struct did[]){ __VA_ARGS__ }) / sizeof(struct did))

static void wants(const char *comm, bool ended, double calls)
{
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct top_row *r = &t->rows.v[i];

		if (strcmp(r->of.process->comm, comm) || r->of.process->ended != ended)
			continue;
		cr_expect(isnan(calls) ? isnan(r->of.rates.calls) : r->of.rates.calls == calls, "%s: %f, wanted %f", comm, r->of.rates.calls, calls);
		return;
	}
	cr_assert(false, "no row of %s", comm);
}

/* The key p: rows of another kind were not there a second ago. */
Test(top_rates, rows_of_another_kind_have_none_at_first)
{
	const struct grouping *programs = &grouping_programs, *processes = &grouping_crowd;

	AT(10, programs, { "led", 1, 100000, false }, { "led", 2, 200000, false });
	key('4');
	AT(11, programs, { "led", 1, 100400, false }, { "led", 2, 200300, false });
	says("calls     700/s alloc");
	wants("led", false, 700);
	AT(12, processes, { "led", 1, 100800, false }, { "led", 2, 200600, false });
	says("calls         - alloc");
	wants("led", false, NAN);
	AT(13, processes, { "led", 1, 101200, false }, { "led", 2, 201000, false });
	says("calls     800/s alloc");
	wants("led", false, 400);
	AT(14, programs, { "led", 1, 101600, false }, { "led", 2, 201000, false });
	says("calls         - alloc");
	wants("led", false, NAN);
}

/* Nor have these a pid, or a time at which they began. */
Test(top_rates, rows_of_several_say_how_many_they_are)
{
	AT(10, &grouping_programs, { "led", 1, .blind = true }, { "led", 2, .blind = true });
	says("led (2 processes), 2 running  traced 10.0s");
	says("led (2 processes): no allocation seen until it ended");
	says_not("(0)");
	says_not(" up ");
	says_not("first instruction");
	AT(11, &grouping_crowd, { "led", 1, .blind = true }, { "led", 2, .blind = true });
	says("led (101): no allocation seen ");
}

/* What a process did all its life is not what the row did that it ends in. */
Test(top_rates, who_ends_takes_no_rate_along)
{
	const struct grouping *programs = &grouping_programs;

	AT(10, programs, { "cc1", 1, 5000, false }, { "cc1", 2, 7000, false }, { "sh", 3, 100, false });
	key('4');
	AT(11, programs, { "cc1", 1, 5200, true }, { "cc1", 2, 7100, false }, { "sh", 3, 100, false });
	says("calls     300/s alloc");
	wants("cc1", true, NAN);
	wants("cc1", false, 300);
	wants("sh", false, 0);
	key('2');
	cr_expect_eq(t->rows.n, 3);
	for (size_t i = 0; i < t->rows.n; i++)
		cr_expect(isnan(t->rows.v[i].of.rates.calls) == !strcmp(t->rows.v[i].of.process->comm, "cc1"));
	key('4');
	AT(12, programs, { "cc1", 1, 5200, true }, { "cc1", 2, 7150, false }, { "sh", 3, 100, false });
	says("calls      50/s alloc");
	wants("cc1", true, 0);
	wants("cc1", false, 50);
	/* none is left that runs */
	AT(13, programs, { "cc1", 1, 5200, true }, { "cc1", 2, 7200, true }, { "sh", 3, 110, false });
	says("calls      60/s alloc");
	wants("cc1", true, NAN);
}

/* Functions: of all processes that are in sight, whatever became of them. */
Test(top_rates, functions_of_who_ended_have_none_until_it_is_seen_again)
{
	const struct grouping *programs = &grouping_programs;

	AT(10, programs, { "cc1", 1, 5000, false }, { "cc1", 2, 7000, false });
	key('g');
	AT(11, programs, { "cc1", 1, 5200, true }, { "cc1", 2, 7100, false });
	cr_assert_eq(t->rows.n, 1);
	cr_expect(isnan(t->rows.v[0].of.rates.calls));
	AT(12, programs, { "cc1", 1, 5200, true }, { "cc1", 2, 7150, false });
	cr_assert_eq(t->rows.n, 1);
	cr_expect_eq(t->rows.v[0].of.rates.calls, 50);
}

/* RSS of all is what those have that are there, whoever came and went since. */
Test(top_rates, of_rss_is_what_all_did)
{
	AT(10, &groupings[0], { "led", 1, 0, false, 0, 2 << 20 });
	AT(11, &groupings[0], { "led", 1, 0, false, 0, 3 << 20 }, { "led", 2, 0, false, 0, 196 << 20 });
	says("RSS  199.0 MiB +197.0 MiB/s");
	AT(12, &groupings[0], { "led", 1, 0, false, 0, 3 << 20 }, { "led", 2, 0, true, 0, 196 << 20 });
	says("RSS    3.0 MiB -196.0 MiB/s");
}

/* What processes held that have ended is told apart from what is held, as long as others run. */
Test(top_rates, what_ended_processes_held_is_apart)
{
	AT(10, &groupings[0], { "led", 1, 0, false, 2 << 20 }, { "led", 2, 0, false, 39 << 20 });
	says("live   41.0 MiB");
	says_not("ended");
	AT(11, &groupings[0], { "led", 1, 0, false, 3 << 20 }, { "led", 2, 0, true, 39 << 20 });
	says("live    3.0 MiB  -38.0 MiB/s");
	says("ended 1, held 39.0 MiB at exit: led 39.0 MiB");
	AT(12, &groupings[0], { "led", 1, 0, false, 4 << 20 }, { "led", 2, 0, true, 39 << 20 });
	says("live    4.0 MiB   +1.0 MiB/s");
	/* there is nothing else any more */
	AT(13, &groupings[0], { "led", 1, 0, true, 4 << 20 }, { "led", 2, 0, true, 39 << 20 });
	says("live   43.0 MiB        0 B/s");
	AT(14, &groupings[0], { "led", 1, 0, true, 4 << 20 }, { "led", 2, 0, true, 39 << 20 }, { "led", 3, 0, false, 1 << 20 });
	says("live    1.0 MiB   +1.0 MiB/s");
	says("ended 2, held 43.0 MiB at exit: led 43.0 MiB");
}

/* The same in a row of them all. */
Test(top_rates, what_ended_processes_held_is_apart_in_one_row)
{
	const struct grouping *comms = grouping__find("comm");

	AT(10, comms, { "led", 1, 0, false, 2 << 20 }, { "led", 2, 0, true, 39 << 20 });
	AT(11, comms, { "led", 1, 0, false, 3 << 20 }, { "led", 2, 0, true, 39 << 20 });
	says("live    3.0 MiB   +1.0 MiB/s");
	says("ended 1, held 39.0 MiB at exit");
}

/* Stacks that gave up their room are told of together: what they did before is no call of now. */
Test(top_rates, what_was_evicted_has_none)
{
	struct snapshot *s = made(11, (struct did[]){ { "led", 1, 5200, false } }, 1);

	AT(10, &groupings[0], { "led", 1, 5000, false });
	((struct snap_site *)s->sites)[0].n_stack = 0;
	((struct snap_site *)s->sites)[0].evicted_stacks = 3;
	key('2');
	top__update(t, s);
	cr_assert_eq(t->rows.n, 1);
	cr_expect(isnan(t->rows.v[0].of.rates.calls));
}
