// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --overhead: what it takes from the target, measured by the target; what it
 * says, held against the target's ledger. Figures are estimates, so they have
 * bounds: short tests have wide ones, `make bench-budget` runs the same for a
 * minute with those that are promised.
 */
#include "lt.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ull

static uint64_t long_seconds(void)
{
	const char *s = getenv("BUDGET_SECONDS");

	return s ? strtoull(s, NULL, 10) : 0;
}

static void need_minute(struct test *t)
{
	if (!long_seconds())
		skip(t, "takes a minute: make bench-budget");
}

/*
 * The fixture works meanwhile: time is what is measured here, nothing waits for something else to happen. busy: it is time of a CPU
 * that the fixture has, of which all is a share; a machine that has others to serve takes longer.
 */
static void let_pass(struct test *t, pid_t pid, uint64_t seconds, bool busy)
{
	struct timespec ts = { (time_t)seconds, 0 }, used;
	clockid_t clock;

	while (nanosleep(&ts, &ts))
		;
	if (!busy)
		return;
	must(t, !clock_getcpuclockid(pid, &clock), "no clock of process %d", pid);
	for (uint64_t had_ns = 0; had_ns < seconds * SECOND * 9 / 10; had_ns = (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec) {
		poll(NULL, 0, 100);
		must(t, !clock_gettime(clock, &used), "process %d has ended", pid);
	}
}

struct budget_run {
	struct ledger led;
	json_t *root, *process;
	uint64_t out_ns;	/* how long the kernel took to take the probes out, at most */
};

static uint64_t told_out_ns(const char *text)
{
	const char *line = strstr(text, "malloctrace: probes were detached at most ");
	double ms;

	return line && sscanf(line, "malloctrace: probes were detached at most %lf ms", &ms) == 1 ? (uint64_t)(ms * 1e6) : 0;
}

/* what: the fixture's arguments. Without malloctrace if pct is NULL. */
static struct budget_run run_of(struct test *t, const char *fixture, const char *pct, uint64_t seconds, const char *what, const char *arg, const char *arg2)
{
	struct budget_run r = { 0 };
	struct fx f;
	struct mt m;

	fx__start(t, &f, fixture, what, arg, arg2, NULL);
	if (pct) {
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "-v", "--overhead", pct, NULL);
		mt__wait_attached(t, &m);
	}
	fx__go(t, &f);
	let_pass(t, f.c.pid, seconds, !strncmp(what, "mix", 3));
	fx__go(t, &f);
	r.led = f.led;
	if (pct) {
		r.root = mt__stop_json(t, &m, SIGINT, 0);
		r.process = process_of(t, r.root, f.c.pid, 0);
		want_lossless(t, r.root);
		r.out_ns = told_out_ns(m.c.errs.s);
	}
	fx__quit(t, &f);
	return r;
}

static struct budget_run run(struct test *t, const char *pct, uint64_t seconds, const char *what, const char *arg, const char *arg2)
{
	return run_of(t, "budget", pct, seconds, what, arg, arg2);
}

static double cost_of_call(struct test *t, const struct ledger *l)
{
	return (double)ledger__note(t, l, "cpu_ns") / (double)ledger__sum(l, LED_ALLOC_CALLS);
}

static double jnum(json_t *j, const char *path)
{
	return json_number_value(jget(j, path));
}

static void want_within(struct test *t, const char *what, double truth, double got, double part)
{
	want(t, fabs(got - truth) <= truth * part, "%s: %.0f, wanted %.0f within %.0f%%", what, got, truth, part * 100);
}

/* What part of a CPU a loop has. */
static double cpu_to_have(struct test *t, const struct budget_run *loop)
{
	return (double)ledger__note(t, &loop->led, "cpu_ns") / ledger__note(t, &loop->led, "wall_ns");
}

/*
 * A window knows the pace of a loop by what is left of its time without traps: where these take so
 * many times as long as the calls, an error of a hundredth in their price is all of that, and the
 * standard error says so.
 */
#define TRAPS_MAX 40
#define PACE_VARIES 0.2

/*
 * CPU time per call, with probes part of the time and without, in turns. The
 * bare runs differ among each other: that is the noise.
 */
static void want_cheap(struct test *t, uint64_t seconds, unsigned int rounds, double calls_within, double share)
{
	double loss = 0, least = INFINITY, most = 0, bare = 0, held_up = 0;

	for (unsigned int i = 0; i <= rounds; i++) {
		struct budget_run b = run(t, NULL, 1, "loop", NULL, NULL), r;
		double cost = cost_of_call(t, &b.led), part, traps, had = cpu_to_have(t, &b), truth, told, error;

		/* forks of others hold up the kernel's removal of breakpoints: in seconds that does not average out */
		if (had < 0.6 && seconds < 30)
			skip(t, "the machine is too busy: a loop has %.0f%% of a CPU", had * 100);

		least = fmin(least, cost);
		most = fmax(most, cost);
		bare += cost / (rounds + 1);
		if (i == rounds)
			break;
		r = run(t, "5", seconds, "loop", NULL, NULL);
		part = 1 - cost / cost_of_call(t, &r.led);
		loss += part / rounds;
		want(t, jnum(r.root, "observed_share") > share, "observed_share %g, wanted more than %g",
		     jnum(r.root, "observed_share"), share);
		want_bool(t, r.root, "estimated", true);
		want(t, ju64(t, r.root, "overhead.probe_ns_estimate") > 0, "no estimate of what the probes took");
		/* but for the while that the kernel takes to take the probes out */
		held_up = fmax(held_up, (double)ledger__note(t, &r.led, "longest_slow_ns") - r.out_ns);
		truth = ledger__sum(&r.led, LED_ALLOC_CALLS);
		told = jnum(r.root, "totals.alloc_calls");
		error = jnum(r.root, "totals.standard_error.alloc_calls");
		traps = 2 * jnum(r.root, "overhead.probe_ns_estimate") / jnum(r.root, "overhead.probe_hits") / cost;
		printf("# loop: loss %.2f%%, observed %.2f%%, alloc_calls %.3f of the truth, standard error %.3f, a trap takes %.0f calls, "
		       "longest hold-up %.1f ms, probes were out after %.1f ms\n", part * 100, jnum(r.root, "observed_share") * 100, told / truth,
		       error / truth, traps, ledger__note(t, &r.led, "longest_slow_ns") / 1e6, r.out_ns / 1e6);
		want(t, fabs(told - truth) <= 3 * error, "alloc_calls: %.0f ± %.0f, wanted %.0f", told, error, truth);
		if (traps < TRAPS_MAX)
			want_within(t, "alloc_calls", truth, told, calls_within);
	}
	/* CPU time in which the loop ran at a fraction of its pace, in one piece; some machines have no pace */
	if ((most - least) / bare < PACE_VARIES)
		want(t, held_up < SECOND / 4, "held up for %.0f ns", held_up);
	else
		printf("# bare runs differ by %.0f%%: hold-ups are not looked at\n", (most - least) / bare * 100);
	want(t, loss < 0.05 + (most - least) / bare, "a loop of malloc and free lost %.2f%% of its throughput; bare runs differ by %.2f%%",
	     loss * 100, (most - least) / bare * 100);
}

/* a few seconds hold a few windows, and on a busy machine a few of those are lost */
TEST_ALONE(budget_loop) { want_cheap(t, 4, 2, 0.6, 0.003); }

TEST_AS(budget_minute_loop, .limit_s = 400, .alone = true)
{
	need_minute(t);
	want_cheap(t, long_seconds(), 1, 0.2, 0.01);
}

/* Who lives within the budget is seen whole: nothing is estimated, every figure is exact. */
TEST_ALONE(budget_is_enough)
{
	struct budget_run r = run(t, "20", 2, "light", NULL, NULL);

	want_bool(t, r.root, "estimated", false);
	want(t, jnum(r.root, "observed_share") == 1, "observed_share %g", jnum(r.root, "observed_share"));
	want_ledger(t, r.root, r.process, &r.led, 0);
	json_decref(r.root);
}

/*
 * Bursts after sleep: the budget of a quiet second is small, and a burst must not be held up, but for the while that the kernel
 * takes to take the probes out (about a tenth of a second, more where others fork).
 */
TEST_ALONE(budget_burst)
{
	struct budget_run r = run(t, "5", 6, "burst", NULL, NULL);

	want(t, r.out_ns > 0, "how long it took to take the probes out, wanted on stderr");
	want(t, ledger__note(t, &r.led, "longest_slow_ns") < SECOND * 3 / 20 + r.out_ns, "held up for %lu ns, the probes were out after %lu",
	     ledger__note(t, &r.led, "longest_slow_ns"), r.out_ns);
	want(t, jnum(r.root, "observed_share") > 0.003, "observed_share %g, wanted more than 0.003", jnum(r.root, "observed_share"));
	json_decref(r.root);
}

/* Is a site's figure the truth, within `within` of it and so many standard errors? */
static void want_near(struct test *t, const struct budget_run *r, const char *site, const char *counter, double truth, double within,
		      double errors)
{
	double got = site_sum(t, r->root, r->process, site, counter), error = 0;
	json_t *sites = jget(r->root, "sites"), *row;
	size_t i;

	json_array_foreach(sites, i, row)
		if (!strcmp(jstr(row, "stack[0].function"), site))
			error += pow(json_number_value(json_object_get(json_object_get(row, "standard_error"), counter)), 2);
	error = sqrt(error);
	printf("# %s: %s %.2f of the truth, standard error %.2f\n", site, counter, got / truth, error / truth);
	want(t, fabs(got - truth) <= truth * within + errors * error, "%s: %s %.0f ± %.0f, wanted %.0f within %.0f%%", site, counter, got,
	     error, truth, within * 100);
}

static double led_live_bytes(struct test *t, const struct budget_run *r, const char *site)
{
	const struct led_site *s = ledger__site(t, &r->led, site);

	return (double)(s->v[LED_ALLOC_BYTES] - s->v[LED_FREE_BYTES]);
}

/*
 * One block in a hundred leaks, others are held for a while, the rest is churn:
 * what leaks is found, what is held is no leak.
 */
TEST_AS(budget_minute_leak, .limit_s = 400, .alone = true)
{
	struct budget_run r;
	double leaked, held, churned;

	need_minute(t);
	r = run(t, "5", long_seconds(), "mix", "10000", NULL);
	leaked = site_sum(t, r.root, r.process, "leak_here", "live_bytes");
	held = site_sum(t, r.root, r.process, "hold_here", "live_bytes");
	churned = site_sum(t, r.root, r.process, "churn_here", "live_bytes");
	printf("# mix: observed %.2f%%, held %.2f of the truth\n", jnum(r.root, "observed_share") * 100,
	       held / led_live_bytes(t, &r, "hold_here"));
	want_near(t, &r, "leak_here", "live_bytes", led_live_bytes(t, &r, "leak_here"), 0.2, 0);
	want_within(t, "alloc_calls", ledger__sum(&r.led, LED_ALLOC_CALLS), ju64(t, r.root, "totals.alloc_calls"), 0.2);
	want(t, leaked > held && leaked > churned, "the leak is not the first: %.0f bytes, held %.0f, churn %.0f", leaked, held, churned);
	want(t, jnum(r.root, "observed_share") > 0.01, "observed_share %g", jnum(r.root, "observed_share"));
	json_decref(r.root);
}

/* Seconds are not enough to know it well, but what is said must be true within its error. */
TEST_AS(budget_leak, .limit_s = 900, .alone = true)
{
	struct budget_run r = run(t, "5", 10, "mix", "2000", NULL);

	want_near(t, &r, "leak_here", "live_bytes", led_live_bytes(t, &r, "leak_here"), 0.3, 3);
	want_near(t, &r, "churn_here", "alloc_calls", ledger__site(t, &r.led, "churn_here")->v[LED_ALLOC_CALLS], 0.3, 3);
	want(t, site_sum(t, r.root, r.process, "leak_here", "live_bytes") >
			site_sum(t, r.root, r.process, "churn_here", "live_bytes"), "churn is held for a leak");
	want(t, jnum(r.root, "observed_share") > 0.003, "observed_share %g", jnum(r.root, "observed_share"));
	json_decref(r.root);
}

/* The same site frees 99 of 100 blocks: the rest piles up, and only the rest. */
TEST_AS(budget_minute_leak_amid_churn, .limit_s = 400, .alone = true)
{
	struct budget_run r;
	const struct led_site *churn;
	double truth, got;

	need_minute(t);
	r = run(t, "5", long_seconds(), "mix-leak", "10000", NULL);
	churn = ledger__site(t, &r.led, "churn_here");
	truth = churn->v[LED_ALLOC_BYTES] - churn->v[LED_FREE_BYTES];
	got = site_sum(t, r.root, r.process, "churn_here", "live_bytes");
	printf("# mix-leak: observed %.2f%%, leaked %.2f of the truth\n", jnum(r.root, "observed_share") * 100, got / truth);
	want_within(t, "bytes leaked", truth, got, 0.25);
	json_decref(r.root);
}

/* ---- courses: what is said of them is true within its error, whatever they are */

struct course {
	const char *args[3];
	const char *sites[6];
	double useful;		/* how large an error may be, as a part of the truth, where a hundredth of the time is seen; 0: any */
};

/* Those that are kept are never freed; of the others nothing stays. */
static bool is_kept(const char *site)
{
	return strstr(site, "keep_here") != NULL;
}

static double error_of(const struct budget_run *r, const char *site, const char *counter)
{
	json_t *sites = jget(r->root, "sites"), *row;
	double sum = 0;
	size_t i;

	json_array_foreach(sites, i, row)
		if (!strcmp(jstr(row, "stack[0].function"), site) && jnum(row, "process") == jnum(r->process, "id"))
			sum += pow(json_number_value(json_object_get(json_object_get(row, "standard_error"), counter)), 2);
	return sqrt(sum);
}

static void want_site(struct test *t, const struct budget_run *r, const struct course *c, double useful, const char *site)
{
	double truth = (double)ledger__site(t, &r->led, site)->v[LED_ALLOC_CALLS], error = error_of(r, site, "alloc_calls");
	double told = (double)site_sum(t, r->root, r->process, site, "alloc_calls");

	printf("# %s %s %s, %s: observed %.1f%%, %.0f told of %.0f (%.2f), standard error %.2f\n", c->args[0], c->args[1] ? c->args[1] : "",
	       c->args[2] ? c->args[2] : "", site, jnum(r->root, "observed_share") * 100, told, truth, told / truth, error / truth);
	want(t, fabs(told - truth) <= 4 * error, "%s of %s: %.0f ± %.0f, wanted %.0f", site, c->args[0], told, error, truth);
	if (useful && jnum(r->root, "observed_share") > 0.01)
		want(t, error < useful * truth, "%s of %s: %.0f ± %.0f, which says little", site, c->args[0], told, error);
	truth -= (double)ledger__site(t, &r->led, site)->v[LED_FREE_CALLS];
	told = (double)site_sum(t, r->root, r->process, site, "live_blocks");
	error = error_of(r, site, "live_blocks");
	printf("#   %.0f live told of %.0f, standard error %.0f\n", told, truth, error);
	want(t, fabs(told - truth) <= 4 * error, "%s of %s: %.0f ± %.0f live, wanted %.0f", site, c->args[0], told, error, truth);
	if (is_kept(site))
		want_eq(t, "frees of blocks that are never freed", 0, site_sum(t, r->root, r->process, site, "free_calls"));
}

/* Of all sites together. null: it is not known. */
static double error_of_sum(const struct budget_run *r, const char *counter)
{
	json_t *error = json_object_get(jget(r->root, "totals.standard_error"), counter);

	return json_is_null(error) ? INFINITY : json_number_value(error);
}

/* All sites together, too. */
static void want_sum(struct test *t, const struct budget_run *r, const struct course *c)
{
	double truth = (double)ledger__sum(&r->led, LED_ALLOC_CALLS), told = jnum(r->root, "totals.alloc_calls");
	double error = error_of_sum(r, "alloc_calls");

	want(t, fabs(told - truth) <= 4 * error, "%s, all sites: %.0f ± %.0f, wanted %.0f", c->args[0], told, error, truth);
}

static void want_course(struct test *t, const struct course *c, const char *pct, uint64_t seconds)
{
	struct budget_run r = run_of(t, "budget_courses", pct, seconds, c->args[0], c->args[1], c->args[2]), loop;
	double useful = c->useful;

	/* a few seconds have a few windows: what they say is true, and may be little */
	if (seconds < 10)
		useful = 0;
	/* beside others there are fewer looks, and what they cost is less well known */
	if (useful) {
		loop = run(t, NULL, 1, "loop", NULL, NULL);
		useful = cpu_to_have(t, &loop) > 0.9 ? useful : 0;
		if (!useful)
			printf("# a loop has %.0f%% of a CPU: how large errors are is not looked at\n", cpu_to_have(t, &loop) * 100);
	}

	if (jnum(r.root, "observed_share") < 1)
		want_sum(t, &r, c);
	if (jnum(r.root, "observed_share") < 1)
		for (size_t i = 0; i < sizeof(c->sites) / sizeof(*c->sites) && c->sites[i]; i++)
			want_site(t, &r, c, useful, c->sites[i]);
	else
		want_ledger(t, r.root, r.process, &r.led, 0);
	json_decref(r.root);
}

static const struct course steady[] = {
	{ { "steady", "2000" }, { "steady_here", "keep_here" }, 0.25 },
	{ { "sleepy", "500" }, { "sleepy_here", "sleepy_keep_here" }, 20 },
	{ { "steady", "100000" }, { "steady_here", "keep_here" }, 0.25 },
};
static const struct course clusters[] = {
	{ { "cluster", "10", "50" }, { "pair_here", "keep_here" }, 0.25 },
	{ { "cluster", "100", "500" }, { "pair_here", "keep_here" }, 0.5 },
	{ { "cluster", "1000", "3000" }, { "pair_here" }, 20 },
};
static const struct course bursts[] = {
	{ { "burst", "400000", "200" }, { "burst_here" }, 20 },
	{ { "burst-sleep", "400000", "200" }, { "burst_here" }, 20 },
	{ { "burst", "1000000", "1000" }, { "burst_here" }, 20 },
	{ { "burst", "100000", "100" }, { "burst_here" }, 20 },
};
static const struct course phases[] = {
	{ { "phases", "500" }, { "pair_here", "keep_here" }, 20 },
	{ { "threads" }, { "steady_here", "keep_here", "sleepy_here", "sleepy_keep_here", "burst_here" }, 20 },
};

/* What lived on when it was no longer called is seen in no look. */
static const struct course rings[] = {
	{ { "ring", "20000", "2000" }, { "ring_here" }, 0 },
	{ { "ring", "100", "2000" }, { "ring_here" }, 0 },
};

/* And of what came at once when the trace began, and never again, looks see nothing. */
static const struct course loads[] = {
	{ { "load", "300000", "10" }, { "keep_here", "pair_here" }, 0 },
	{ { "load", "20000", "10" }, { "keep_here", "pair_here" }, 0 },
};

static const struct {
	const struct course *v;
	size_t n;
} families[] = { { steady, 3 }, { clusters, 3 }, { bursts, 4 }, { phases, 2 }, { rings, 2 }, { loads, 2 } };

TEST_ALONE(budget_sleepy) { want_course(t, &steady[1], "1", 5); }
TEST_ALONE(budget_steady) { want_course(t, &steady[0], "5", 5); }
TEST_ALONE(budget_steady_few) { want_course(t, &steady[2], "1", 5); }
TEST_ALONE(budget_clusters) { want_course(t, &clusters[0], "5", 5); }
TEST_ALONE(budget_clusters_of_hundreds) { want_course(t, &clusters[1], "1", 5); }
TEST_ALONE(budget_bursts) { want_course(t, &bursts[0], "5", 5); }
TEST_ALONE(budget_phases) { want_course(t, &phases[0], "5", 5); }
TEST_ALONE(budget_ring_that_stops) { want_course(t, &rings[0], "5", 5); }
TEST_ALONE(budget_load_at_first) { want_course(t, &loads[0], "5", 5); }
TEST_ALONE(budget_threads) { want_course(t, &phases[1], "5", 5); }

/* All of them, for longer. */
TEST_AS(budget_minute_courses, .limit_s = 3600, .alone = true)
{
	static const char *const pcts[] = { "1", "5" };

	need_minute(t);
	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
			for (size_t k = 0; k < families[i].n; k++)
				want_course(t, &families[i].v[k], pcts[p], long_seconds() / 2);
}

static bool is_covered(struct budget_run *r, const char *name, const char *counter,
		       enum led_count of)
{
	double truth = (double)ledger__sum(&r->led, of),
	       told = jnum(jget(r->root, "totals"), counter), error = error_of_sum(r, counter);

	printf("# %s: %s %.0f told of %.0f, %.1f standard errors of %.2f of it\n", name, counter,
	       told, truth, fabs(told - truth) / error, error / truth);
	return fabs(told - truth) <= 2 * error;
}

/* Two standard errors cover the sums of programs that allocate in bursts, in 19 of 20 runs. */
TEST_AS(budget_minute_totals_of_bursts, .limit_s = 1200, .alone = true)
{
	unsigned int missed[2] = { 0 }, n = (unsigned int)scaled(20);

	need_minute(t);
	for (unsigned int i = 0; i < n; i++) {
		const struct course *c = &bursts[i % 4];
		struct budget_run r =
			run_of(t, "budget_courses", "5", 5, c->args[0], c->args[1], c->args[2]);

		missed[0] += !is_covered(&r, c->args[0], "alloc_calls", LED_ALLOC_CALLS);
		missed[1] += !is_covered(&r, c->args[0], "alloc_bytes", LED_ALLOC_BYTES);
		json_decref(r.root);
	}
	printf("# beyond two standard errors: calls %u, bytes %u of %u\n", missed[0], missed[1], n);
	for (int i = 0; i < 2; i++)
		want(t, missed[i] * 20 <= (n > 20 ? n : 20),
		     "%s: %u of %u runs beyond two standard errors", i ? "bytes" : "calls",
		     missed[i], n);
}

/*
 * Processes that are looked at by turns: what is said of each is true within its error. The one that has nothing to do with them
 * costs them nothing, and is drawn now and then.
 */
static void want_turns(struct test *t, const struct course *const *c, size_t n, const char *pct, uint64_t seconds)
{
	const char *const all[] = { "--json", "-v", "-f", "--overhead", pct };
	struct spawn s = { .argv = { lt_bin } };
	size_t n_args = 1;
	struct fx f[4];
	struct mt m;
	json_t *root;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		s.argv[n_args++] = all[i];
	for (size_t i = 0; i < n; i++) {
		fx__start(t, &f[i], "budget_courses", c[i]->args[0], c[i]->args[1], c[i]->args[2], NULL);
		s.argv[n_args++] = "-p";
		s.argv[n_args++] = number_arg((uint64_t)f[i].c.pid);
	}
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	for (size_t i = 0; i < n; i++)
		fx__go(t, &f[i]);
	let_pass(t, f[0].c.pid, seconds, false);
	for (size_t i = 0; i < n; i++)
		fx__go(t, &f[i]);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	for (size_t i = 0; i < n; i++) {
		struct budget_run r = { .led = f[i].led, .root = root, .process = process_of(t, root, f[i].c.pid, 0) };

		for (size_t k = 0; k < sizeof(c[i]->sites) / sizeof(*c[i]->sites) && c[i]->sites[k]; k++)
			want_site(t, &r, c[i], 0, c[i]->sites[k]);
		fx__quit(t, &f[i]);
	}
	json_decref(root);
}

TEST_ALONE(budget_turns)
{
	want_turns(t, (const struct course *const[]){ &steady[2], &clusters[0], &steady[1] }, 3, "5", 8);
}

TEST_ALONE(budget_turns_of_threads)
{
	want_turns(t, (const struct course *const[]){ &phases[1], &steady[0] }, 2, "5", 8);
}

TEST_ALONE(budget_usage)
{
	static const char *const bad[] = { "0", "51", "-1", "5%", "x", "" };
	struct mt m;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		want_eq(t, "exit status", 2, mt__run(t, &m, "-p", "1", "--overhead", bad[i], NULL));
		want(t, strstr(m.c.errs.s, "want percent from 0.1 to 50") != NULL, "--overhead '%s': %s", bad[i], m.c.errs.s);
	}
}
