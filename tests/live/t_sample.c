// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --sample: estimates against the fixture's ledger, over fixed seeds. For each
 * site and figure: the mean over the seeds is as near to the truth as its own
 * error allows, and the spread of the estimates is what their standard errors
 * claim. Tolerance comes from the errors themselves: four of them for a mean
 * (one run in 16,000 would fail by chance), and for the spread bounds that a
 * chi-square of N_SEEDS degrees leaves once in more than 10,000.
 */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_SEEDS 24
#define SAMPLE "64K"
#define SPREAD_MIN 0.22		/* chi-square(24) below 5.3: p < 1e-5 */
#define SPREAD_MAX 2.9		/* above 69: p < 1e-5 for normal estimates; those of few samples have longer tails */

enum { CALLS, BYTES, BLOCKS, LIVE, N_FIGURES };
static const char *const figures[N_FIGURES] = { "alloc_calls", "alloc_bytes", "live_blocks", "live_bytes" };

static double truth(const struct led_site *s, int figure)
{
	const uint64_t v[N_FIGURES] = { s->v[LED_ALLOC_CALLS], s->v[LED_ALLOC_BYTES], s->v[LED_ALLOC_CALLS] - s->v[LED_FREE_CALLS],
					s->v[LED_ALLOC_BYTES] - s->v[LED_FREE_BYTES] };

	return (double)v[figure];
}

static double jerror(struct test *t, json_t *j, const char *figure)
{
	json_t *v = jget(jget(j, "standard_error"), figure);

	want(t, json_is_number(v) && json_number_value(v) >= 0, "standard_error.%s, wanted a number, not negative", figure);
	return json_is_number(v) ? json_number_value(v) : 0;
}

struct estimate {
	double sum, sum_var, sum_square;	/* of estimates, of claimed variances, of squared distances from the truth */
};

static void add(struct estimate *e, double x, double var, double true_value)
{
	e->sum += x;
	e->sum_var += var;
	e->sum_square += (x - true_value) * (x - true_value);
}

/* A site's figures, over all its stacks (one here). A site of which nothing was sampled is not there: 0. */
static void look(struct test *t, json_t *root, json_t *process, const char *site, double x[N_FIGURES], double error[N_FIGURES],
		 int n_figures)
{
	uint64_t id = ju64(t, process, "id");
	json_t *s;
	size_t k;

	memset(x, 0, N_FIGURES * sizeof(*x));
	memset(error, 0, N_FIGURES * sizeof(*error));
	json_array_foreach(jget(root, "sites"), k, s) {
		if (ju64(t, s, "process") != id || strcmp(jstr(s, "stack[0].function"), site))
			continue;
		for (int i = 0; i < n_figures; i++) {
			x[i] += (double)ju64(t, s, figures[i]);
			error[i] += jerror(t, s, figures[i]);
		}
	}
}

static json_t *sampled(struct test *t, struct fx *f, const char *threads, unsigned int seed, bool free_all, const char *mode)
{
	static char env[64];
	struct spawn s = { .argv = { lt_bin, "--json", "--sample", SAMPLE, "--mode", mode, "-p" }, .env = { env } };
	struct mt m;
	json_t *root;

	fx__start(t, f, "sample", threads, NULL);
	s.argv[7] = pid_arg(f->c.pid);
	snprintf(env, sizeof(env), "MALLOCTRACE_SEED=%u", seed);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	if (free_all)
		fx__go(t, f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	fx__quit(t, f);
	want_bool(t, root, "estimated", true);
	want_u64(t, root, "sample_bytes", 65536);
	want(t, json_is_null(jget(root, "totals.unknown_frees")), "totals.unknown_frees, wanted null");
	want_lossless(t, root);
	return root;
}

static bool is_large(const struct led_site *s)
{
	return s->v[LED_MIN_SIZE] >= 65536;
}

/* Nobody can know that no small blocks were passed over: three samples more are in each error, of the smallest blocks. */
static double passed_over(const char *figure, double sample_bytes)
{
	double one = strstr(figure, "bytes") ? sample_bytes : sample_bytes / 16;

	return 3 * one * one;
}

/* The square of an error without that: what the spread over many seeds must be. */
static double own_square(const char *figure, double error, double sample_bytes)
{
	double square = error * error - passed_over(figure, sample_bytes);

	return square > 0 ? square : 0;
}

/* All of its blocks are recorded: there is nothing else in the error. */
static void want_passed_over(struct test *t, const char *site, const char *figure, double error)
{
	double square = error * error / passed_over(figure, 65536);

	want(t, square > 0.999 && square < 1.001, "%s standard_error.%s, wanted that of three samples, got %g", site, figure, error);
}

static void judge(struct test *t, const char *site, const char *figure, const struct estimate *e, double true_value)
{
	double mean = e->sum / N_SEEDS, spread = e->sum_square / e->sum_var, off = mean - true_value, var;

	must(t, e->sum_var > 0, "%s %s: a standard error, wanted more than 0", site, figure);
	/* of the mean; a variance is estimated from the same few blocks and is too small when they are too few: as for the true number */
	var = e->sum_var / N_SEEDS / N_SEEDS * (true_value / mean);
	/* squares, so that no root is needed */
	want(t, off * off <= 16 * var, "%s %s: mean over %d seeds, wanted %.0f, got %.0f, (off / error)^2 %.1f", site, figure, N_SEEDS,
	     true_value, mean, off * off / var);
	want(t, spread >= SPREAD_MIN && spread <= SPREAD_MAX,
	     "%s %s: squared distances from the truth over claimed variances, wanted about 1, got %.2f", site, figure, spread);
	if (getenv("LIVE_TESTS_TELL"))
		printf("  %-12s %-11s true %12.0f mean %12.0f spread %.2f\n", site, figure, true_value, mean, spread);
}

static void unbiased(struct test *t, const char *mode, int n_figures)
{
	struct estimate all[LED_MAX_SITES][N_FIGURES] = { 0 }, totals[N_FIGURES] = { 0 };
	double total_true[N_FIGURES] = { 0 };
	struct ledger led = { 0 };

	for (unsigned int seed = 1; seed <= N_SEEDS; seed++) {
		struct fx f;
		json_t *root = sampled(t, &f, NULL, seed, false, mode), *p = process_of(t, root, f.c.pid, 0);

		led = f.led;
		memset(total_true, 0, sizeof(total_true));
		for (unsigned int i = 0; i < led.n; i++) {
			double x[N_FIGURES], error[N_FIGURES];

			look(t, root, p, led.site[i].name, x, error, n_figures);
			for (int k = 0; k < n_figures; k++) {
				double true_value = truth(&led.site[i], k);

				total_true[k] += true_value;
				add(&all[i][k], x[k], own_square(figures[k], error[k], 65536), true_value);
				if (!is_large(&led.site[i]))
					continue;
				want(t, x[k] == true_value, "seed %u: %s %s, wanted exactly %.0f, got %.0f", seed, led.site[i].name,
				     figures[k], true_value, x[k]);
				want_passed_over(t, led.site[i].name, figures[k], error[k]);
			}
		}
		for (int k = 0; k < n_figures; k++)
			add(&totals[k], (double)ju64(t, jget(p, "totals"), figures[k]),
			    own_square(figures[k], jerror(t, jget(p, "totals"), figures[k]), 65536), total_true[k]);
		json_decref(root);
	}
	for (int k = 0; k < n_figures; k++) {
		for (unsigned int i = 0; i < led.n; i++)
			if (!is_large(&led.site[i]))
				judge(t, led.site[i].name, figures[k], &all[i][k], truth(&led.site[i], k));
		judge(t, "totals", figures[k], &totals[k], total_true[k]);
	}
}

TEST(sample_is_unbiased) { unbiased(t, "full", N_FIGURES); }
TEST(sample_is_unbiased_in_count) { unbiased(t, "count", 2); }

/* A recorded block's free is always seen, whoever frees it. */
static void freed_all(struct test *t, const char *threads)
{
	for (unsigned int seed = 1; seed <= 3; seed++) {
		struct fx f;
		json_t *root = sampled(t, &f, threads, seed, true, "full"), *s;
		size_t k;

		want_u64(t, root, "totals.live_blocks", 0);
		want_u64(t, root, "totals.live_bytes", 0);
		want(t, ju64(t, root, "totals.alloc_calls") > 0, "totals.alloc_calls, wanted more than 0");
		json_array_foreach(jget(root, "sites"), k, s) {
			want_u64(t, s, "live_blocks", 0);
			want_u64(t, s, "live_bytes", 0);
			want_passed_over(t, "a site of no blocks", "live_bytes", jerror(t, s, "live_bytes"));
		}
		json_decref(root);
	}
}

TEST(sample_frees_are_matched) { freed_all(t, NULL); }
TEST(sample_frees_are_matched_across_threads) { freed_all(t, "4"); }

/* Each thread has a countdown of its own. */
TEST(sample_threads)
{
	struct fx f;
	json_t *root = sampled(t, &f, "8", 7, false, "full"), *p = process_of(t, root, f.c.pid, 0);

	for (unsigned int i = 0; i < f.led.n; i++)
		for (int k = 0; k < N_FIGURES; k++) {
			double x[N_FIGURES], error[N_FIGURES], off;

			look(t, root, p, f.led.site[i].name, x, error, N_FIGURES);
			off = x[k] - truth(&f.led.site[i], k);
			want(t, off * off <= 25 * error[k] * error[k], "%s %s, wanted %.0f within five errors of %.0f, got %.0f",
			     f.led.site[i].name, figures[k], truth(&f.led.site[i], k), error[k], x[k]);
		}
}

/* ---- processes that come and go */

static const struct way {
	const char *args[4];
	const char *n;		/* so many by posix_spawn, and as many by vfork and exec */
} ways[] = {
	{ { "-a", "--depth", "8" }, "30" },
	{ { "--comm", "mt-sampled" }, "30" },
	{ { "--cgroup" }, "30" },
	{ { "-f", "-p" }, "140" },	/* so many that the room of those that ended is used again */
};

#define N_WAYS (sizeof(ways) / sizeof(*ways))
#define FEW_BYTES 4096.0
#define FEW "4K"

/* What all of them have done, by site. */
static unsigned int sum_ledgers(struct test *t, const char *dir, struct ledger *sum)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned int n = 0;

	must(t, d != NULL, "%s: %s", dir, strerror(errno));
	memset(sum, 0, sizeof(*sum));
	while ((entry = readdir(d))) {
		struct ledger l;
		char *text;

		if (entry->d_name[0] == '.')
			continue;
		text = read_all(in_dir(t, "ledgers/%s", entry->d_name), NULL);
		must(t, text && ledger__parse(&l, text), "a ledger that makes no sense: %s", entry->d_name);
		for (unsigned int i = 0; i < l.n; i++) {
			unsigned int k = 0;

			while (k < sum->n && strcmp(sum->site[k].name, l.site[i].name))
				k++;
			if (k == sum->n)
				sum->site[sum->n++] = l.site[i];
			else
				for (int v = 0; v < LED_N; v++)
					sum->site[k].v[v] += l.site[i].v[v];
		}
		free(text);
		n++;
	}
	closedir(d);
	return n;
}

static json_t *sample_many(struct test *t, const struct way *w, unsigned int seed, const char *cgroup, struct ledger *ret)
{
	static char env[64];
	const char *dir = ledgers(t), *program = in_dir(t, "mt-sampled");
	struct spawn s = { .argv = { lt_bin, "--json", "--sample", FEW, w->args[0], w->args[1], w->args[2] }, .env = { env } };
	struct spawn what = { .argv = { program, dir, "spawn", w->n } };
	bool follows = !strcmp(w->args[0], "-f");
	struct mt m;
	struct fx f;
	json_t *root;

	remove_tree(dir);
	ledgers(t);
	snprintf(env, sizeof(env), "MALLOCTRACE_SEED=%u", seed);
	if (!strcmp(w->args[0], "--cgroup")) {
		s.argv[5] = cgroup;
		what.become = enter_cgroup;
		what.become_arg = cgroup;
	}
	if (follows) {
		fx__start_as(t, &f, &what);
		s.argv[6] = pid_arg(f.c.pid);
	}
	/* each has its own error: those of rows of several have a floor for each, which own_square() takes off once */
	for (size_t i = 1; i < sizeof(s.argv) / sizeof(*s.argv); i++)
		if (!s.argv[i] || !*s.argv[i]) {
			s.argv[i] = "--by";
			s.argv[i + 1] = "process";
			s.argv[i + 2] = NULL;
			break;
		}
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	if (!follows)
		fx__start_as(t, &f, &what);
	fx__send(t, &f, 'g');
	fx__quit(t, &f);
	root = stop_group(t, &m, follows ? 0 : SIGINT);
	want_eq(t, "ledgers", 2 * strtoul(w->n, NULL, 10) + 1, sum_ledgers(t, dir, ret));
	return root;
}

/* The same promise of all of them together: who starts later, its children, and those whose room is another's by now. */
TEST_ALONE(sample_processes_that_come_and_go)
{
	static const unsigned int n_seeds = N_SEEDS / N_WAYS;
	struct estimate all[2][N_FIGURES] = { 0 };
	static const char *const sites[2] = { "work_here", "keep_here" };
	double sum_true[2][N_FIGURES] = { 0 };
	const char *cgroup = make_cgroup(t);

	copy_file(t, fixture("group"), in_dir(t, "mt-sampled"));
	must(t, !chmod(in_dir(t, "mt-sampled"), 0755), "chmod");
	for (unsigned int run = 0; run < N_SEEDS; run++) {
		struct ledger led;
		json_t *root = sample_many(t, &ways[run / n_seeds], run + 200, cgroup, &led), *s;
		size_t k;

		for (int i = 0; i < 2; i++)
			for (int figure = 0; figure < N_FIGURES; figure++) {
				double true_value = truth(ledger__site(t, &led, sites[i]), figure), x = 0, var = 0;

				json_array_foreach(jget(root, "sites"), k, s) {
					if (strcmp(jstr(s, "stack[0].function"), sites[i]))
						continue;
					x += (double)ju64(t, s, figures[figure]);
					var += own_square(figures[figure], jerror(t, s, figures[figure]), FEW_BYTES);
				}
				add(&all[i][figure], x, var, true_value);
				sum_true[i][figure] += true_value;
			}
		json_decref(root);
	}
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
	/* all that work_here makes is freed */
	for (int figure = 0; figure < N_FIGURES; figure++) {
		if (figure == CALLS || figure == BYTES)
			judge(t, sites[0], figures[figure], &all[0][figure], sum_true[0][figure] / N_SEEDS);
		else
			want_eq(t, "work_here that is live", 0, (uint64_t)all[0][figure].sum);
		judge(t, sites[1], figures[figure], &all[1][figure], sum_true[1][figure] / N_SEEDS);
	}
}

/* Every block is as large as a sample: all are recorded, and the figures are those of no sampling. */
TEST(sample_of_one_byte_is_everything)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "reallocs", NULL);
	root = trace(t, &f, 0, "--sample", "1", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL & ~LED_ONLY);
	want_eq(t, "a standard error", 0, jerror(t, jget(root, "totals"), "alloc_bytes") > 0);
	fx__quit(t, &f);
}

TEST(sample_text)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "sample", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--sample", SAMPLE, "--full", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "estimated: one sample per 64.0 KiB on average"), "how it was estimated, wanted in: %.600s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "live   ~") && strstr(m.c.outs.s, "calls  ~"), "marked figures, wanted in: %.600s", m.c.outs.s);
	/* two of its four largest blocks stay, and are known exactly */
	want(t, strstr(m.c.outs.s, ".    ~8.0 MiB   ±1%  "), "a row of 8 MiB that three samples more may belong to, wanted in: %.900s", m.c.outs.s);
	want(t, !strstr(m.c.outs.s, "older than the trace"), "no unknown frees, wanted in: %.600s", m.c.outs.s);
	fx__quit(t, &f);
}
