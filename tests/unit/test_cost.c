// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What the probes take of the targets' CPU time, in words and in the live view's header. */
#include <criterion/criterion.h>

#include "present/caveats.h"
#include "top_screen.h"
#include "util/clock.h"
#include "util/util.h"

static struct snapshot made(uint64_t probe_ms, uint64_t cpu_ms)
{
	static const struct snap_process alone = { .comm = "busy", .pid = 7, .probe_hits = 1000 };

	return (struct snapshot){ .processes = &alone, .n_processes = 1, .recording.mode = MT_MODE_FULL,
				  .probe_hits = 1000, .probe_ns_estimate = probe_ms * MS_NS, .target_cpu_ns = cpu_ms * MS_NS };
}

Test(cost, is_said_from_five_percent_on)
{
	static const struct {
		uint64_t probe_ms, cpu_ms;
		const char *words;
	} t[] = {
		{ 310, 1000, "took about 31% of its CPU time (--overhead 5 limits it)" },
		{ 50, 1000, "took about 5% of its CPU time (--overhead 5 limits it)" },
		{ 49, 1000, NULL },
		{ 0, 1000, NULL },	/* not measured */
		{ 950, 1000, "took nearly all of its CPU time (--overhead 5 limits it)" },
		{ 1100, 1000, "took nearly all of its CPU time (--overhead 5 limits it)" },
		{ 31, 90, NULL },	/* so few ticks are no clock */
		{ 10, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot s = made(t[i].probe_ms, t[i].cpu_ms);
		_cleanup_free_ char *words = cost__words(&s);

		if (t[i].words)
			cr_expect_str_eq(words ? words : "", t[i].words);
		else
			cr_expect_null(words, "%s", words);
	}
}

/* An option that cannot be combined with what was recorded is no advice. */
Test(cost, advice_is_given_where_it_can_be_followed)
{
	struct snapshot s = made(310, 1000);
	_cleanup_free_ char *sampled = NULL, *leak = NULL, *within = NULL;

	s.recording.sample_bytes = 65536;
	sampled = cost__words(&s);
	cr_expect_str_eq(sampled, "took about 31% of its CPU time");
	s.recording.sample_bytes = 0;
	s.recording.mode = MT_MODE_LEAK;
	leak = cost__words(&s);
	cr_expect_str_eq(leak, "took about 31% of its CPU time");
	s.recording.mode = MT_MODE_FULL;
	s.recording.within = "handle";
	within = cost__words(&s);
	cr_expect_str_eq(within, "took about 31% of its CPU time");
}

Test(cost, of_many_the_share_is_known_while_most_of_them_run)
{
	const struct snap_process v[] = { { .comm = "a", .pid = 7, .probe_hits = 600 }, { .comm = "b", .pid = 8, .probe_hits = 400, .ended = true } };
	struct snapshot s = made(310, 1000);
	_cleanup_free_ char *running = NULL, *ended = NULL;

	s.processes = v;
	s.n_processes = 2;
	running = cost__words(&s);
	cr_expect_str_eq(running, "took about 31% of their CPU time (--overhead 5 limits it)");
	s.probe_hits = 700;
	ended = cost__words(&s);
	cr_expect_null(ended);
}

static struct snapshot *sample_at(unsigned int seconds_ago, uint64_t probe_ms)
{
	struct snapshot *s = made__sample(SAMPLE_SINGLE, seconds_ago);

	s->target_cpu_ns = (12 - seconds_ago) * SECOND_NS;
	s->probe_ns_estimate = probe_ms * MS_NS;
	return s;
}

/* Of the last second; the advice where there is room. */
Test(cost, the_live_view_says_it_beside_the_calls)
{
	begin(SAMPLE_SINGLE);
	top__update(t, sample_at(1, 1000));
	top__update(t, sample_at(0, 1310));
	top__draw(t, &g);
	says("cost   ~31% CPU (--overhead 5 limits it)");
	grid__resize(&g, 24, 80);
	top__draw(t, &g);
	says("cost   ~31% CPU");
	says_not("limits it");
	top__update(t, sample_at(1, 1000));
	top__update(t, sample_at(0, 1042));
	grid__resize(&g, 24, 120);
	top__draw(t, &g);
	says("cost  ~4.2% CPU   malloctrace");
	end();
}
