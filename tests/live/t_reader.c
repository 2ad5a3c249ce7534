// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What malloctrace does with its own time: snapshots without scans, probes that go all at once, both kinds of links. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lt.h"

/* ---- links */

static bool has_multi(struct test *t)
{
	struct mt m;

	mt__run(t, &m, "doctor", "-v", NULL);
	return strstr(m.c.outs.s, "uprobe_multi links") != NULL;
}

/* On kernels that have better ones, perf events still are exact. */
TEST(perf_links)
{
	struct spawn s = { .env = { "MALLOCTRACE_LINKS=perf" } };
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	s.argv[0] = lt_bin;
	s.argv[1] = "doctor";
	s.argv[2] = "-v";
	mt__start_v(t, &m, &s);
	child__wait(t, &m.c);
	want(t, strstr(m.c.outs.s, "perf events, one per point") != NULL, "doctor, wanted perf events: %.900s", m.c.outs.s);

	s = (struct spawn){ .argv = { lt_bin, "-p", pid_arg(f.c.pid), "--json" }, .env = { "MALLOCTRACE_LINKS=perf" } };
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

#define N_TARGETS 8

/* Milliseconds from the end of the trace of n processes to the last probe's end, as it says itself. */
static double detach_ms(struct test *t, const struct fx *f, unsigned int n)
{
	char pids[N_TARGETS * 12] = "";
	const char *says;
	struct mt m;
	double ms = 0;

	for (unsigned int i = 0; i < n; i++)
		snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), "%s%d", i ? "," : "", (int)f[i].c.pid);
	mt__start(t, &m, "-p", pids, "-v", "--batch", NULL);
	for (unsigned int i = 0; i < n; i++)
		mt__wait_attached(t, &m);
	mt__stop(t, &m, SIGINT, 0);
	says = strstr(m.c.errs.s, "malloctrace: detached in ");
	must(t, says && sscanf(says, "malloctrace: detached in %lf ms", &ms) == 1, "no word of detaching: %.900s", m.c.errs.s);
	return ms;
}

/*
 * One process after the other would take as many times longer; most of the time
 * of closing a link is spent waiting, and they wait together. The best of some
 * attempts each: whoever else computes here only adds.
 */
TEST_ALONE(detach_at_once)
{
	struct fx f[N_TARGETS];
	double one = 1e9, all = 1e9;

	if (!has_multi(t))
		skip(t, "the kernel closes perf events one after the other");
	for (unsigned int i = 0; i < N_TARGETS; i++)
		fx__start(t, &f[i], "basic", "leak", "10", NULL);
	for (unsigned int i = 0; i < 5; i++) {
		double ms = detach_ms(t, f, 1);

		one = ms < one ? ms : one;
		ms = detach_ms(t, f, N_TARGETS);
		all = ms < all ? ms : all;
	}
	want(t, all < one * N_TARGETS / 2, "to let %d processes go, wanted less than %d times the %.1f ms of one, got %.1f ms", N_TARGETS,
	     N_TARGETS / 2, one, all);
}

/* Perf events take the kernel a tenth of a second each to give back: the report is there before. */
TEST(report_before_links_are_back)
{
	const char *written, *detached;
	struct spawn s;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "family", NULL);
	s = (struct spawn){ .argv = { lt_bin, "-p", pid_arg(f.c.pid), "-v", "--batch" }, .env = { "MALLOCTRACE_LINKS=perf" } };
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	written = strstr(m.c.errs.s, "malloctrace: -: written in ");
	detached = strstr(m.c.errs.s, "malloctrace: detached in ");
	want(t, written && detached && written < detached, "stderr, wanted the report before the last link is back, got: %.1500s", m.c.errs.s);
	fx__quit(t, &f);
}

/* ---- scans */

static unsigned int count_of(const char *text, const char *word)
{
	unsigned int n = 0;

	for (const char *p = text; (p = strstr(p, word)); p++)
		n++;
	return n;
}

TEST(scans_only_where_ages_are_asked_for)
{
	static const struct {
		const char *extra[2];
		unsigned int without, with;
	} rows[] = {
		{ { NULL }, 1, 1 },
		{ { "--older", "1ms" }, 0, 2 },
		{ { "--json" }, 0, 2 },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fx f;
		struct mt m;
		unsigned int with;

		fx__start(t, &f, "basic", "leak", "10", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "1", "2", "-v", rows[i].extra[0], rows[i].extra[1], NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, 0, 0);
		with = count_of(m.c.errs.s, "sites with ages: ");
		want_eq(t, "snapshots with ages", rows[i].with, with);
		want_eq(t, "snapshots without", rows[i].without, count_of(m.c.errs.s, "malloctrace: snapshot of ") - with);
		fx__quit(t, &f);
	}
}

/* "950ms", "3.9s"; "<3.9s", which is a bound; 0: something else. */
static double seconds(const char *s)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "m", 60 } };
	char *end;
	double n;

	s += strspn(s, " <");
	n = strtod(s, &end);

	for (unsigned int i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strncmp(end, units[i].unit, strlen(units[i].unit)))
			return n * units[i].seconds;
	return 0;
}

/* At rest the table of an interval, which has not seen all blocks at once, tells the same birth as the last one, which has. */
TEST(oldest_without_a_scan)
{
	double born[8], first = 0;
	struct period period = { .s = 3 };	/* of four: two reports are compared */
	unsigned int n = 0;
	struct fx f;
	struct mt m;

	do {
		period__begin(&period);
		fx__start(t, &f, "basic", "sizes", NULL);	/* every second block is freed; the first one stays */
		mt__start(t, &m, "-p", pid_arg(f.c.pid), period__arg(&period, 3), "4", "--view", "leaks", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		period__worked(&period);
		mt__stop(t, &m, 0, 0);
		fx__quit(t, &f);
	} while (period__was_short(&period));
	for (const char *p = m.c.outs.s; (p = strstr(p, "\ntraced ")) && n < 8; p++) {
		const char *next = strstr(p + 1, "\ntraced "), *oldest = strstr(p, " oldest ");

		/* nothing was allocated yet */
		if (!oldest || (next && oldest > next))
			continue;
		born[n++] = seconds(p + 8) - seconds(oldest + 8);
	}
	want(t, n >= 2, "wanted reports that tell the oldest block, got %u: %.600s", n, m.c.outs.s);
	for (unsigned int i = 0; i < n; i++) {
		first = i ? first : born[i];
		/* both figures have one decimal */
		want(t, born[i] - first < 0.25 && first - born[i] < 0.25, "report %u: the oldest block born at %.1f s, wanted %.1f", i, born[i],
		     first);
	}
}
