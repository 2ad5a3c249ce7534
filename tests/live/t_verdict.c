// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Verdicts on a program of which the truth is known, and changes since a baseline.
 * A verdict takes time: how much has passed is decided by the fixture's clock and by
 * malloctrace's, nothing is timed here; only what cannot be mistaken within some
 * seconds is asked for.
 */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static json_t *site_at(struct test *t, json_t *root, const char *function)
{
	json_t *sites = jget(root, "sites");

	for (size_t i = 0; i < json_array_size(sites); i++)
		if (!strcmp(jstr(json_array_get(sites, i), "stack[0].function"), function))
			return json_array_get(sites, i);
	must(t, false, "no site %s", function);
	return NULL;
}

static void want_verdict(struct test *t, json_t *root, const char *function, const char *verdict)
{
	json_t *site = site_at(t, root, function);

	want(t, !strcmp(jstr(site, "verdict"), verdict), "%s: wanted %s, got '%s' (%s)", function, verdict,
	     jstr(site, "verdict"), jstr(site, "why"));
}

/* The history is of the site, and its last point is what the site holds at the end. */
static void want_history(struct test *t, json_t *root, const char *function)
{
	json_t *site = site_at(t, root, function), *history = jget(site, "history");
	size_t n = json_array_size(history);
	uint64_t before = 0;

	must(t, n >= 4, "%s: wanted some points, got %zu", function, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t t_ns = ju64(t, json_array_get(history, i), "t_ns");

		want(t, t_ns > before, "%s: points in order of time, got %" PRIu64 " after %" PRIu64, function, t_ns, before);
		before = t_ns;
	}
	want_eq(t, "the last point", ju64(t, site, "live_bytes"), ju64(t, json_array_get(history, n - 1), "live_bytes"));
}

TEST_ALONE(verdicts)
{
	static const char *const sites[] = { "leak_here", "forget_here", "traffic_here", "queue_here", "drain_here", "start_here" };
	struct fx f;
	json_t *root;

	fx__start(t, &f, "verdict", "560", NULL);
	root = trace(t, &f, 0, "--leak-after", "1s", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_verdict(t, root, "leak_here", "leak");
	want_verdict(t, root, "forget_here", "leak");
	want_verdict(t, root, "traffic_here", "steady");
	want_verdict(t, root, "start_here", "steady");
	want_verdict(t, root, "queue_here", "growing");
	want_verdict(t, root, "drain_here", "draining");
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		want_history(t, root, sites[i]);
	want(t, !strcmp(jstr(root, "processes[0].verdict"), "leak"), "the process, wanted leak, got '%s'",
	     jstr(root, "processes[0].verdict"));
	want(t, strstr(jstr(site_at(t, root, "leak_here"), "why"), "0 of ") != NULL, "why, wanted '0 of ...', got '%s'",
	     jstr(site_at(t, root, "leak_here"), "why"));
	fx__quit(t, &f);
}

/* As it is without being asked: some seconds are enough for a suspicion, not for more; and what has just begun is new. */
TEST_ALONE(verdicts_take_time)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "verdict", "560", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__send(t, &f, 'n');
	fx__read_ledger(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_verdict(t, root, "leak_here", "suspect");
	want_verdict(t, root, "forget_here", "suspect");
	want_verdict(t, root, "traffic_here", "steady");
	want_verdict(t, root, "late_here", "new");
	fx__quit(t, &f);
}

/* Nothing is said of what was seen for a moment. */
TEST_ALONE(no_verdict_at_once)
{
	struct fx f;
	json_t *root, *sites;

	/* five seconds are no moment any more: where a fifth of one took so long, it is tried again */
	do {
		fx__start(t, &f, "verdict", "20", NULL);
		root = trace(t, &f, 0, NULL);
		fx__quit(t, &f);
	} while (ju64(t, root, "duration_ns") > 3000000000);
	sites = jget(root, "sites");
	want(t, json_array_size(sites) >= 6, "sites, wanted 6, got %zu", json_array_size(sites));
	for (size_t i = 0; i < json_array_size(sites); i++)
		want(t, json_is_null(jget(json_array_get(sites, i), "verdict")) && json_is_null(jget(json_array_get(sites, i), "why")),
		     "wanted no verdict, got '%s'", jstr(json_array_get(sites, i), "verdict"));
	want(t, json_is_null(jget(root, "processes[0].verdict")), "the process, wanted no verdict, got '%s'",
	     jstr(root, "processes[0].verdict"));
}

/* ---- courses of which the truth is known, in four parts of 5.5 seconds; the truth after each */

#define N_PARTS 4
#define PART_TICKS "550"
#define LEAK_AFTER "3s"
#define LEAK_AFTER_NS 3000000000ull

static const char *const sets[] = { "leaks", "healthy", "old" };
#define N_SETS (sizeof(sets) / sizeof(*sets))

/*
 * After 5.5, 11, 16.5 and 22 seconds. NULL: between two verdicts, and either is right. "suspect*": of a process that
 * is not younger than three times --leak-after by then, a leak. "!": neither a leak nor suspect, whatever else.
 */
static const struct {
	unsigned int set;
	const char *site;	/* NULL: the process */
	const char *verdict[N_PARTS];
} truth[] = {
	{ 0, "leak_here", { "suspect*", "leak", "leak", "leak" } },
	{ 0, "forget_here", { NULL, NULL, "leak", "leak" } },
	{ 0, "late_leak_here", { "steady", "steady", NULL, "leak" } },
	{ 0, NULL, { "suspect*", "leak", "leak", "leak" } },
	{ 1, "start_here", { "steady", "steady", "steady", "steady" } },
	{ 1, "warm_here", { "!", "growing", "steady", "steady" } },
	{ 1, "cache_here", { "suspect*", NULL, "steady", "steady" } },
	{ 1, "pool_here", { "!", "!", "steady", "steady" } },
	{ 1, "slow_pool_here", { NULL, "!", "!", "steady" } },
	{ 1, "backlog_here", { "growing", NULL, NULL, "draining" } },
	{ 1, "burst_here", { "growing", NULL, "steady", "steady" } },
	{ 1, "crowd_here", { NULL, "growing", "growing", "growing" } },
	{ 1, NULL, { NULL, "!", "!", "!" } },
	/* it frees as many older blocks as it allocates */
	{ 2, "full_cache_here", { "!", "!", NULL, "steady" } },
};

static void want_truth(struct test *t, json_t *root, const struct fx *f, unsigned int part)
{
	for (size_t i = 0; i < sizeof(truth) / sizeof(*truth); i++) {
		json_t *process = process_of(t, root, f[truth[i].set].c.pid, 0);
		json_t *who = truth[i].site ? site_at(t, root, truth[i].site) : process;
		const char *wanted = truth[i].verdict[part], *got = jstr(who, "verdict"), *why = jstr(who, "why");
		uint64_t age_ns = ju64(t, process, "age_at_attach_ns") + ju64(t, root, "duration_ns");

		if (!wanted)
			continue;
		if (!strcmp(wanted, "suspect*"))
			wanted = age_ns < 3 * LEAK_AFTER_NS ? "suspect" : "leak";
		if (!strcmp(wanted, "!"))
			want(t, strcmp(got, "leak") && strcmp(got, "suspect"), "%s, part %u: wanted no alarm, got '%s' (%s)",
			     truth[i].site ?: sets[truth[i].set], part + 1, got, why);
		else
			want(t, !strcmp(got, wanted), "%s, part %u: wanted %s, got '%s' (%s)", truth[i].site ?: sets[truth[i].set],
			     part + 1, wanted, got, why);
	}
}

TEST_ALONE(verdicts_on_courses)
{
	struct fx f[N_SETS];
	struct mt m;
	char pids[40];

	for (size_t i = 0; i < N_SETS; i++)
		fx__start(t, &f[i], "courses", sets[i], PART_TICKS, NULL);
	snprintf(pids, sizeof(pids), "%d,%d,%d", f[0].c.pid, f[1].c.pid, f[2].c.pid);
	mt__start(t, &m, "-p", pids, "--batch", "-o", in_dir(t, "x.json"), "--leak-after", LEAK_AFTER, NULL);
	mt__wait_attached(t, &m);
	for (unsigned int part = 0; part < N_PARTS; part++) {
		char line[32];
		json_t *root;

		for (size_t i = 0; i < N_SETS; i++)
			fx__send(t, &f[i], 'g');
		for (size_t i = 0; i < N_SETS; i++)
			fx__read_ledger(t, &f[i]);
		snprintf(line, sizeof(line), "snapshot %u written", part + 1);
		child__kill(t, &m.c, SIGUSR1);
		child__wait_err(t, &m.c, "malloctrace:", line, patience_s(60));
		root = load_json(t, in_dir(t, "x.%u.json", part + 1));
		want_invariants(t, root);
		want_lossless(t, root);
		for (size_t i = 0; i < N_SETS; i++)
			want_ledger(t, root, process_of(t, root, f[i].c.pid, 0), &f[i].led, LED_STACKS | LED_TEMP | LED_PEAK | LED_REALLOC);
		want_truth(t, root, f, part);
		json_decref(root);
	}
	mt__stop(t, &m, SIGINT, 0);
	for (size_t i = 0; i < N_SETS; i++)
		fx__quit(t, &f[i]);
}

/* ---- a baseline */

static int64_t held(struct test *t, const struct ledger *l, const char *site)
{
	const struct led_site *s = ledger__site(t, l, site);

	return (int64_t)(s->v[LED_ALLOC_BYTES] - s->v[LED_FREE_BYTES]);
}

/* Since SIGUSR2, every site has changed by what its own ledger says, to the byte. */
TEST_ALONE(baseline)
{
	static const char *const sites[] = { "leak_here", "forget_here", "traffic_here", "queue_here", "drain_here", "start_here" };
	struct ledger then;
	struct fx f;
	struct mt m;
	json_t *root;
	int64_t sum = 0;

	fx__start(t, &f, "verdict", "20", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	then = f.led;
	child__kill(t, &m.c, SIGUSR2);
	child__wait_err(t, &m.c, "malloctrace: baseline set", NULL, patience_s(60));
	fx__go(t, &f);
	fx__send(t, &f, 'n');
	fx__read_ledger(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want(t, ju64(t, root, "baseline_ns") > 0, "baseline_ns, wanted more than 0");
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
		int64_t wanted = held(t, &f.led, sites[i]) - held(t, &then, sites[i]);
		int64_t got = json_integer_value(jget(site_at(t, root, sites[i]), "since_baseline_bytes"));

		want(t, got == wanted, "%s: wanted %" PRId64 ", got %" PRId64, sites[i], wanted, got);
		sum += wanted;
	}
	want_eq(t, "late_here since_baseline_bytes", 4096,
		(uint64_t)json_integer_value(jget(site_at(t, root, "late_here"), "since_baseline_bytes")));
	sum += 4096;
	want(t, json_integer_value(jget(root, "processes[0].since_baseline_bytes")) == sum, "the process: wanted %" PRId64 ", got %lld",
	     sum, (long long)json_integer_value(jget(root, "processes[0].since_baseline_bytes")));
	fx__quit(t, &f);
}

/* ---- the first sentence is never better news than what the program did */

/* Whether it is a leak, suspect or growing is a matter of seconds: that it grows is not. */
static const struct {
	const char *how, *wanted;
	bool grows;
} answers[] = {
	{ "scattered", ": scattered_here (", true },
	{ "mapped", "Growing: RSS +", true },
	{ "trickle", ": kept_here (", true },
	{ "calm", "Nothing grows", false },
};
#define N_ANSWERS (sizeof(answers) / sizeof(*answers))

static bool is_alarm(const char *verdict)
{
	return !strcmp(verdict, "leak") || !strcmp(verdict, "suspect") || !strcmp(verdict, "growing");
}

/* The report of a file, in one line. */
static const char *report_of(struct test *t, struct mt *m, const char *file)
{
	must(t, mt__run(t, m, "report", file, NULL) == 0, "report %s: %s", file, m->c.errs.s);
	for (char *at = m->c.outs.s; (at = strchr(at, '\n'));)
		*at = ' ';
	return m->c.outs.s;
}

TEST(sentence_of_what_grows)
{
	struct fx f[N_ANSWERS];
	struct mt m[N_ANSWERS], again;

	for (size_t i = 0; i < N_ANSWERS; i++) {
		fx__start(t, &f[i], "allclear", answers[i].how, "700", NULL);
		mt__start(t, &m[i], "-p", pid_arg(f[i].c.pid), "--batch", "--leak-after", "2s", "-o", in_dir(t, "%s.json", answers[i].how), NULL);
	}
	for (size_t i = 0; i < N_ANSWERS; i++)
		mt__wait_attached(t, &m[i]);
	for (size_t i = 0; i < N_ANSWERS; i++)
		fx__send(t, &f[i], 'g');
	/* a trace that lasts longer than the work sees the program rest */
	for (size_t i = 0; i < N_ANSWERS; i++) {
		fx__read_ledger(t, &f[i]);
		child__kill(t, &m[i].c, SIGINT);
	}
	for (size_t i = 0; i < N_ANSWERS; i++) {
		const char *how = answers[i].how, *file = in_dir(t, "%s.json", how), *report, *verdict, *why;
		json_t *root;

		mt__stop(t, &m[i], 0, 0);
		root = load_json(t, file);
		want_ledger(t, root, process_of(t, root, f[i].c.pid, 0), &f[i].led, LED_ALL);
		verdict = jstr(root, "processes[0].verdict");
		why = jstr(root, "processes[0].why");
		want(t, answers[i].grows ? is_alarm(verdict) : !strcmp(verdict, "steady"), "%s: got '%s' (%s)", how, verdict, why);
		want(t, strstr(why, "RSS ") != NULL, "%s: wanted RSS in '%s'", how, why);
		report = report_of(t, &again, file);
		want(t, strstr(report, answers[i].wanted) && !strstr(report, "Nothing grows") == answers[i].grows, "%s: wanted '%s', got %.600s", how,
		     answers[i].wanted, report);
		json_decref(root);
		fx__quit(t, &f[i]);
	}
}
