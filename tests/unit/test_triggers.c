// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --when: what is understood, and when a condition tells. Time is made up here. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "model/snapshot.h"
#include "model/triggers.h"
#include "present/caveats.h"
#include "util/signals.h"
#include "util/util.h"

#define S 1000000000ull
#define MS 1000000ull
#define MIB (1ull << 20)

Test(triggers, conditions)
{
	static const struct {
		const char *text;
		uint64_t limit, per_ns;
		unsigned int needs;
	} t[] = {
		{ "rss>2G", 2ull << 30, 0, 0 },
		{ "rss > 2.5 G", 0, 0, 0 },	/* no: a size is one word */
		{ "rss > 1.5G", 3ull << 29, 0, 0 },
		{ "live>100", 100, 0, HAS_LIVE_BYTES },
		{ "blocks>1M", MIB, 0, HAS_LIVE_BLOCKS },
		{ "growth>10M/min", 10 * MIB, 60 * S, HAS_LIVE_BYTES },
		{ "growth>10M/m", 10 * MIB, 60 * S, HAS_LIVE_BYTES },
		{ "growth > 1K / s", 1024, S, HAS_LIVE_BYTES },
		{ "rss-growth>1G/h", 1ull << 30, 3600 * S, 0 },
		{ "allocs>100K/s", 100 * 1024, S, HAS_ALLOC_CALLS | HAS_REALLOC_CALLS },
		{ "killed", 0, 0, 0 },
		{ "oom", 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct condition c = {};

		if (i == 1) {
			cr_expect_eq(condition__parse(t[i].text, &c, NULL), -EINVAL, "%s", t[i].text);
			continue;
		}
		cr_assert_eq(condition__parse(t[i].text, &c, NULL), 0, "%s", t[i].text);
		cr_expect_eq(c.limit, t[i].limit, "%s: %llu", t[i].text, (unsigned long long)c.limit);
		cr_expect_eq(c.per_ns, t[i].per_ns, "%s", t[i].text);
		cr_expect_eq(condition__needs(&c), t[i].needs, "%s", t[i].text);
		cr_expect_eq(c.text, t[i].text);
	}
}

Test(triggers, what_is_no_condition)
{
	static const char *const t[][2] = {
		{ "", "want rss, live, blocks, growth, rss-growth or allocs with > and a limit, killed, or oom" },
		{ "rs>2G", "want rss, live, blocks, growth, rss-growth or allocs with > and a limit, killed, or oom" },
		{ "rss", "want a size, such as rss>2G" },
		{ "rss>", "want a size, such as rss>2G" },
		{ "rss<2G", "want rss, live, blocks, growth, rss-growth or allocs with > and a limit, killed, or oom" },
		{ "rss>=2G", "want a size, such as rss>2G" },
		{ "rss>2parsecs", "want a size, such as rss>2G" },
		{ "rss>2G/s", "want a size, such as rss>2G" },
		{ "rss>99999999999999999999", "want a size, such as rss>2G" },
		{ "blocks>x", "want a number, such as blocks>1M" },
		{ "growth>10M", "want a size by s, min or h, such as growth>10M/min" },
		{ "growth>10M/", "want a size by s, min or h, such as growth>10M/min" },
		{ "growth>10M/day", "want a size by s, min or h, such as growth>10M/min" },
		{ "growth>/s", "want a size by s, min or h, such as growth>10M/min" },
		{ "allocs>5", "want a number by s, min or h, such as allocs>100K/s" },
		{ "killed>1", "want nothing after killed" },
		{ "oom now", "want nothing after oom" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_err_ struct err e = {};
		struct condition c;

		cr_expect_eq(condition__parse(t[i][0], &c, &e), -EINVAL, "%s", t[i][0]);
		cr_expect_str_eq(err_msg(&e), t[i][1], "%s: %s", t[i][0], err_msg(&e));
	}
}

static void look(struct triggers *t, uint32_t proc, enum figure figure, uint64_t v, uint64_t now_ns)
{
	struct look l = { .proc = proc, .who = proc == 1 ? "a (11)" : "b (22)", .mark = "", .known = FIGURE_BIT(figure) };

	l.v[figure] = v;
	triggers__look(t, &l, now_ns);
}

/* NULL: no snapshot is asked for now. Else it is taken. */
#define EXPECT(t, now_ns, want)										\
	do {												\
		_cleanup_free_ char *got = triggers__reasons(t, now_ns, false);				\
													\
		if (want)										\
			cr_expect(got && !strcmp(got, (want) ?: ""), "wanted '%s', got '%s'", (want) ?: "", got ?: "");	\
		else											\
			cr_expect_null(got, "%s", got);							\
		if (got)										\
			triggers__taken(t, now_ns);							\
	} while (0)

static const char *const nothing;

Test(triggers, a_size_tells_once)
{
	static const char *const texts[] = { "live>10M" };
	struct triggers *t = triggers__new(texts, 1, 0);

	cr_expect_eq(triggers__figures(t), FIGURE_BIT(FIGURE_LIVE));
	look(t, 1, FIGURE_LIVE, 10 * MIB, 1 * S);
	EXPECT(t, 1 * S, nothing);
	look(t, 1, FIGURE_LIVE, 10 * MIB + 1, 2 * S);
	EXPECT(t, 2 * S, "live>10M: a (11) holds 10.0 MiB");
	look(t, 1, FIGURE_LIVE, 20 * MIB, 3 * S);
	EXPECT(t, 3 * S, nothing);
	look(t, 1, FIGURE_LIVE, 20 * MIB + 2, 4 * S);
	EXPECT(t, 4 * S, "live>10M: a (11) holds 20.0 MiB");
	look(t, 1, FIGURE_LIVE, 39 * MIB, 5 * S);
	EXPECT(t, 5 * S, nothing);
	/* another process is another matter */
	look(t, 2, FIGURE_LIVE, 11 * MIB, 5 * S);
	EXPECT(t, 5 * S, "live>10M: b (22) holds 11.0 MiB");
	look(t, 1, FIGURE_LIVE, 10 * MIB, 6 * S);
	look(t, 1, FIGURE_LIVE, 11 * MIB, 7 * S);
	EXPECT(t, 7 * S, "live>10M: a (11) holds 11.0 MiB");
	/* the number is a new process's */
	triggers__forget(t, 1);
	triggers__forget(t, 1);
	look(t, 1, FIGURE_LIVE, 11 * MIB, 8 * S);
	EXPECT(t, 8 * S, "live>10M: a (11) holds 11.0 MiB");
	/* what is not known is not looked at */
	look(t, 2, FIGURE_RSS, 0, 9 * S);
	look(t, 2, FIGURE_LIVE, 12 * MIB, 9 * S);
	EXPECT(t, 9 * S, nothing);
	triggers__free(t);
}

Test(triggers, several_at_once_are_one_snapshot)
{
	static const char *const texts[] = { "rss>1M", "blocks>5" };
	struct triggers *t = triggers__new(texts, 2, 0);
	/* what is sampled bears a mark */
	struct look l = { .proc = 1, .who = "a (11)", .mark = "~", .known = FIGURE_BIT(FIGURE_RSS) | FIGURE_BIT(FIGURE_BLOCKS),
			  .v = { [FIGURE_RSS] = 3 * MIB, [FIGURE_BLOCKS] = 1234 } };

	triggers__look(t, &l, S);
	look(t, 2, FIGURE_RSS, 2 * MIB, S);
	EXPECT(t, S, "rss>1M: a (11) has 3.0 MiB resident; blocks>5: a (11) holds ~1,234 blocks; rss>1M: b (22) has 2.0 MiB resident");
	for (uint32_t i = 3; i < 10; i++)
		look(t, i, FIGURE_RSS, 2 * MIB, S);
	EXPECT(t, S, "rss>1M: b (22) has 2.0 MiB resident; rss>1M: b (22) has 2.0 MiB resident; rss>1M: b (22) has 2.0 MiB resident; "
		     "rss>1M: b (22) has 2.0 MiB resident; and 3 more");
	triggers__free(t);
}

Test(triggers, pause)
{
	static const char *const texts[] = { "rss>1M", "killed" };
	struct triggers *t = triggers__new(texts, 2, 10 * S);
	_cleanup_free_ char *last = NULL;

	look(t, 1, FIGURE_RSS, 2 * MIB, 1 * S);
	EXPECT(t, 1 * S, "rss>1M: a (11) has 2.0 MiB resident");
	/* passed within the pause, and not any more behind it */
	look(t, 2, FIGURE_RSS, 2 * MIB, 2 * S);
	look(t, 2, FIGURE_RSS, 1 * MIB, 11 * S);
	EXPECT(t, 11 * S, nothing);
	/* still passed behind it */
	look(t, 1, FIGURE_RSS, 1 * MIB, 12 * S);
	look(t, 1, FIGURE_RSS, 3 * MIB, 13 * S);
	EXPECT(t, 13 * S, "rss>1M: a (11) has 3.0 MiB resident");
	look(t, 2, FIGURE_RSS, 2 * MIB, 14 * S);
	EXPECT(t, 14 * S, nothing);
	/* what happened is told later */
	triggers__event(t, EVENT_OOM, "b died", 15 * S);
	triggers__event(t, EVENT_KILLED, "b died", 15 * S);
	EXPECT(t, 15 * S, nothing);
	look(t, 2, FIGURE_RSS, 2 * MIB, 23 * S);
	EXPECT(t, 23 * S, "killed: b died; rss>1M: b (22) has 2.0 MiB resident");
	/* at the latest in the last report */
	triggers__event(t, EVENT_KILLED, "c died", 24 * S);
	EXPECT(t, 24 * S, nothing);
	last = triggers__reasons(t, 24 * S, true);
	cr_expect_str_eq(last, "killed: c died");
	triggers__free(t);
}

Test(triggers, what_became_of_each)
{
	static const char *const texts[] = { "rss>1M", "killed", "rss>9M" };
	struct triggers *t = triggers__new(texts, 3, 0);
	const struct snap_when *f;

	cr_assert_eq(triggers__n(t), 3);
	f = triggers__when(t, 0);
	cr_expect_str_eq(f->text, "rss>1M");
	cr_expect(!f->fired && !f->last_ns && !f->why);
	look(t, 1, FIGURE_RSS, 2 * MIB, 1 * S);
	look(t, 2, FIGURE_RSS, 3 * MIB, 4 * S);
	triggers__event(t, EVENT_KILLED, "c died", 5 * S);
	f = triggers__when(t, 0);
	cr_expect(f->fired == 2 && f->last_ns == 4 * S);
	cr_expect_str_eq(f->why, "b (22) has 3.0 MiB resident");
	f = triggers__when(t, 1);
	cr_expect(f->fired == 1 && f->last_ns == 5 * S);
	cr_expect_str_eq(f->why, "c died");
	f = triggers__when(t, 2);
	cr_expect(!f->fired && !f->why);
	triggers__free(t);
}

/* A look each 250 ms; what grows by `step` from v on with each of n. Where it told first, -1: nowhere. */
static int grow(struct triggers *t, enum figure figure, uint64_t v, uint64_t step, int n, uint64_t from_ns)
{
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *got = NULL;

		look(t, 1, figure, v + (uint64_t)i * step, from_ns + (uint64_t)i * 250 * MS);
		got = triggers__reasons(t, from_ns + (uint64_t)i * 250 * MS, false);
		if (got)
			return i;
	}
	return -1;
}

Test(triggers, a_rate_is_for_its_time)
{
	static const char *const per_min[] = { "rss-growth>10M/min" }, *const per_s[] = { "rss-growth>1M/s" };
	struct triggers *t = triggers__new(per_min, 1, 0);

	/* 160 KiB a second for 200 seconds: 9.4 MiB a minute */
	cr_expect_eq(grow(t, FIGURE_RSS, 50 * MIB, 40 << 10, 800, 1 * S), -1);
	triggers__free(t);
	/* 200 KiB a second: 11.7 MiB a minute; more than 10 MiB have come together after 51.2 s */
	t = triggers__new(per_min, 1, 0);
	cr_expect_eq(grow(t, FIGURE_RSS, 50 * MIB, 50 << 10, 800, 1 * S), 205);
	triggers__free(t);
	/* a jump tells at once, and what shrinks does not */
	t = triggers__new(per_min, 1, 0);
	look(t, 1, FIGURE_RSS, 50 * MIB, 1 * S);
	look(t, 1, FIGURE_RSS, 20 * MIB, 2 * S);
	EXPECT(t, 2 * S, nothing);
	look(t, 1, FIGURE_RSS, 61 * MIB, 3 * S);
	EXPECT(t, 3 * S, "rss-growth>10M/min: a (11) has 11.0 MiB more resident than 2.0s ago");
	/* it goes on: told once, until it was at rest */
	look(t, 1, FIGURE_RSS, 90 * MIB, 4 * S);
	EXPECT(t, 4 * S, nothing);
	look(t, 1, FIGURE_RSS, 90 * MIB, 70 * S);
	/* nobody had looked for a minute: 11 MiB in 71 seconds are less than that in a minute */
	look(t, 1, FIGURE_RSS, 101 * MIB, 75 * S);
	EXPECT(t, 75 * S, nothing);
	look(t, 1, FIGURE_RSS, 110 * MIB, 76 * S);
	EXPECT(t, 76 * S, "rss-growth>10M/min: a (11) has 20.0 MiB more resident than 1m12s ago");
	triggers__free(t);
	t = triggers__new(per_s, 1, 0);
	cr_expect_eq(grow(t, FIGURE_RSS, 50 * MIB, 255 << 10, 800, 1 * S), -1);
	triggers__free(t);
	t = triggers__new(per_s, 1, 0);
	cr_expect_eq(grow(t, FIGURE_RSS, 50 * MIB, 257 << 10, 800, 1 * S), 4);
	triggers__free(t);
}

/* What is counted began with nothing: the first look can tell. */
Test(triggers, counts_begin_at_zero)
{
	static const char *const texts[] = { "growth>1M/s", "allocs>1000/min" };
	struct triggers *t = triggers__new(texts, 2, 0);

	look(t, 1, FIGURE_LIVE, 2 * MIB, 5 * S);
	EXPECT(t, 5 * S, "growth>1M/s: a (11) holds 2.0 MiB more than 250ms ago");
	look(t, 1, FIGURE_ALLOCS, 1000, 5 * S);
	EXPECT(t, 5 * S, nothing);
	look(t, 1, FIGURE_ALLOCS, 1001, 6 * S);
	EXPECT(t, 6 * S, "allocs>1000/min: a (11) made 1,001 allocations in 1.3s");
	triggers__free(t);
}

Test(triggers, names_of_signals)
{
	char buf[SIGNAL_NAME_MAX];

	cr_expect_str_eq(signal_name(SIGSEGV, buf), "SIGSEGV");
	cr_expect_str_eq(signal_name(SIGVTALRM, buf), "SIGVTALRM");
	cr_expect_str_eq(signal_name(SIGRTMIN + 3, buf), "SIGRTMIN+3");
	cr_expect_str_eq(signal_name(12345, buf), "signal 12345");
	cr_expect_str_eq(signal_name(-1, buf), "signal -1");
	cr_expect(signal_is_crash(SIGABRT));
	cr_expect_not(signal_is_crash(SIGKILL));
}

Test(triggers, words_for_an_end)
{
	static const struct {
		struct snap_process p;
		const char *words, *word;
	} t[] = {
		{ { .ended = true }, "ended", "ended" },
		{ { .ended = true, .exit_signal = SIGSEGV }, "ended by SIGSEGV", "SIGSEGV" },
		{ { .ended = true, .exit_signal = SIGVTALRM }, "ended by SIGVTALRM", "killed" },
		{ { .ended = true, .exit_signal = SIGKILL, .oom_killed = true }, "killed: out of memory", "OOM" },
	};
	char buf[DEATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		cr_expect_str_eq(death__words(&t[i].p, buf), t[i].words);
		cr_expect_str_eq(death__word(&t[i].p, buf), t[i].word);
	}
	cr_expect_str_eq(death__words(&(struct snap_process){ .exit_signal = 9 }, buf), "");
}
