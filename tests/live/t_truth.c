// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Stacks against programs that know their own: tests/fixtures/truth. Chains of
 * functions are drawn by lot, in programs linked from objects that were compiled
 * in every way that matters, and each stack that is called whole has to be the
 * one that the program wrote down. What a stack that is not called whole looks
 * like is nobody's business here; but where tables say all about each function
 * of a chain, it has to be whole: calling everything unsure is no way out.
 *
 * At --scale above 100% (make oracle) more lots are drawn, and the figures are
 * told:
 *
 *   truth_mixed       743 stacks: whole 702 (94.5%), unsure 41, other 0; wrong 0; to be known 390, whole 390
 */
#include "chain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_SIZE 20000
#define MAX_CHAINS 4000
#define MAX_WORDS 160
#define MAX_PLACES 32
#define MAX_TOLD 5
#define DEPTH "256"		/* more than a chain has */
#define CHAINS "250"
#define PROGRAM_PART "/truth."

struct truth_chain {
	uint64_t n_calls, n_seen;
	bool known;
	const char *word[MAX_WORDS];
};

struct truth {
	struct truth_chain chain[MAX_CHAINS];
	uint64_t n_calls;
	struct {
		uint64_t offset;
		const char *path;
	} place[MAX_PLACES];
	unsigned int n_places;
	/* calls, by how their stacks ended */
	uint64_t n, whole, unsure, other, wrong, known, known_whole;
	unsigned int n_told, n_not_known;
};

/* ---- what the program wrote down */

static void parse_chain(struct test *t, struct truth *tr, char *line)
{
	char *rest = line, *word = strsep(&rest, " ");
	uint64_t size = strtoull(word, NULL, 10);
	struct truth_chain *c = &tr->chain[size - FIRST_SIZE];
	unsigned int n = 0;

	must(t, size >= FIRST_SIZE && size < FIRST_SIZE + MAX_CHAINS && rest, "a ledger that makes no sense: %.200s", line);
	c->n_calls = strtoull(strsep(&rest, " "), NULL, 10);
	c->known = *strsep(&rest, " ") == 'k';
	while ((word = strsep(&rest, " ")) && n < MAX_WORDS - 1)
		c->word[n++] = word;
	c->word[n] = NULL;
	must(t, n > 3 && n < MAX_WORDS - 1, "a chain of %u words", n);
	tr->n_calls += c->n_calls;
	tr->known += c->known ? c->n_calls : 0;
}

static struct truth *read_truth(struct test *t, const char *path)
{
	struct truth *tr = calloc(1, sizeof(*tr));
	char *rest = read_all(path, NULL), *line;

	must(t, tr && rest, "%s: %s", path, strerror(errno));
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (*line != '@') {
			parse_chain(t, tr, line);
		} else if (tr->n_places < MAX_PLACES) {
			tr->place[tr->n_places].offset = strtoull(line + 2, &line, 10);
			tr->place[tr->n_places++].path = line + 1;
		}
	}
	return tr;
}

/* ---- what the report says */

static void tell_wrong(struct test *t, struct truth *tr, json_t *s, const char *what, size_t at)
{
	tr->wrong += ju64(t, s, "alloc_calls");
	if (tr->n_told++ >= MAX_TOLD)
		return;
	printf("  %s: called whole, %s, frame %zu of %zu (sizes %lu to %lu): %s\n", t->name, what, at, json_array_size(jget(s, "stack")),
	       (unsigned long)ju64(t, s, "min_size"), (unsigned long)ju64(t, s, "max_size"), chain__draw(jget(s, "stack")));
}

static void judge_site(struct test *t, struct truth *tr, json_t *s)
{
	uint64_t low = ju64(t, s, "min_size"), high = ju64(t, s, "max_size"), n = ju64(t, s, "alloc_calls");
	const char *end = jstr(s, "end");
	bool whole = !strcmp(end, "whole");
	struct truth_chain *c;
	size_t at = 0;

	if (high < FIRST_SIZE || high >= FIRST_SIZE + MAX_CHAINS)
		return;
	tr->n += n;
	tr->whole += whole ? n : 0;
	tr->unsure += strcmp(end, "unsure") ? 0 : n;
	tr->other += !whole && strcmp(end, "unsure") ? n : 0;
	if (low != high) {
		/* no two chains are the same */
		if (whole)
			tell_wrong(t, tr, s, "several chains in one", 0);
		return;
	}
	c = &tr->chain[low - FIRST_SIZE];
	c->n_seen += n;
	if (!whole) {
		if (c->known && tr->n_not_known++ < MAX_TOLD)
			printf("  %s: could be whole, is %s: %s\n", t->name, end, chain__draw(jget(s, "stack")));
		return;
	}
	if (chain__fits(c->word, jget(s, "stack"), &at)) {
		tr->known_whole += c->known ? n : 0;
		return;
	}
	tell_wrong(t, tr, s, at < MAX_WORDS && c->word[at] ? c->word[at] : "more frames than there are", at);
}

/* By id of a process: is it one of these programs? */
static bool *ours(json_t *root, size_t *ret_n)
{
	size_t i, n = 0;
	bool *is_ours;
	json_t *p;

	json_array_foreach(jget(root, "processes"), i, p)
		n = (size_t)json_integer_value(jget(p, "id")) >= n ? (size_t)json_integer_value(jget(p, "id")) + 1 : n;
	is_ours = calloc(n + 1, sizeof(*is_ours));
	json_array_foreach(jget(root, "processes"), i, p)
		is_ours[json_integer_value(jget(p, "id"))] = strstr(jstr(p, "exe"), PROGRAM_PART);
	*ret_n = n;
	return is_ours;
}

enum {
	ALL_KNOWN = 1,		/* where tables say all, all must be whole */
	UNSEEN = 2,		/* of a file that is new to the trace some calls are not seen, which is told */
};

static void judge(struct test *t, json_t *root, struct truth *tr, unsigned int flags)
{
	size_t i, n;
	bool *is_ours = ours(root, &n);
	json_t *s;

	json_array_foreach(jget(root, "sites"), i, s)
		if (ju64(t, s, "process") < n && is_ours[ju64(t, s, "process")])
			judge_site(t, tr, s);
	free(is_ours);
	if (!(flags & UNSEEN))
		want_eq(t, "calls of all chains", tr->n_calls, tr->n);
	want(t, tr->n > 0 && tr->n <= tr->n_calls, "calls of all chains, wanted up to %lu, got %lu", (unsigned long)tr->n_calls, (unsigned long)tr->n);
	want_eq(t, "wrong stacks among those called whole", 0, tr->wrong);
	if (flags & ALL_KNOWN)
		want_eq(t, "whole stacks, where tables say all", tr->known, tr->known_whole);
	if (lt_scale_pct > 100)
		printf("  %-24s %8lu stacks: whole %lu (%.1f%%), unsure %lu, other %lu; WRONG %lu; to be known %lu, whole %lu\n", t->name,
		       (unsigned long)tr->n, (unsigned long)tr->whole, tr->n ? 100.0 * (double)tr->whole / (double)tr->n : 0,
		       (unsigned long)tr->unsure, (unsigned long)tr->other, (unsigned long)tr->wrong, (unsigned long)tr->known,
		       (unsigned long)tr->known_whole);
	free(tr);
}

/* ---- one program, from its first chain to its last */

static const char *seed(unsigned int i)
{
	static char text[16];

	snprintf(text, sizeof(text), "%u", i + 1);
	return text;
}

static void run(struct test *t, const char *program, const char *method)
{
	for (unsigned int i = 0; i < scaled(1); i++) {
		const char *path = in_dir(t, "%s.%u", program, i);
		struct fx f;
		json_t *root;

		fx__start(t, &f, program, path, seed(i), CHAINS, "run", NULL);
		root = trace(t, &f, 0, "--depth", DEPTH, "--unwind", method, NULL);
		judge(t, root, read_truth(t, path), ALL_KNOWN);
		json_decref(root);
		fx__quit(t, &f);
	}
}

TEST(truth_records) { run(t, "truth.records", "auto"); }
TEST(truth_mixed) { run(t, "truth.mixed", "auto"); }
TEST(truth_mixed_table) { run(t, "truth.mixed", "table"); }
TEST(truth_nofp) { run(t, "truth.nofp", "auto"); }
TEST(truth_holes) { run(t, "truth.holes", "auto"); }
TEST(truth_static) { run(t, "truth.static", "auto"); }
TEST(truth_static_few) { run(t, "truth.few", "auto"); }
TEST(truth_static_few_records) { run(t, "truth.few-records", "auto"); }
TEST(truth_static_holes) { run(t, "truth.static-holes", "auto"); }

/* ---- code that comes and goes */

/* Of chains without a function of no file all must be whole, however much code there was meanwhile. */
static void jit(struct test *t, const char *follow)
{
	const char *path = in_dir(t, "jit");
	struct fx f;
	json_t *root;

	fx__start(t, &f, "truth.mixed", path, "1", lt_scale_pct > 100 ? "1000" : "300", "jit", NULL);
	root = trace(t, &f, 0, "--depth", DEPTH, follow, NULL);
	judge(t, root, read_truth(t, path), ALL_KNOWN);
	fx__quit(t, &f);
}

TEST_ALONE(truth_jit) { jit(t, NULL); }
TEST_ALONE(truth_jit_follow) { jit(t, "-f"); }

static void plugins(struct test *t, const char *program, const char *follow)
{
	const char *path = in_dir(t, "plugins"), *rounds = lt_scale_pct > 100 ? "20" : "2";
	uint64_t n_loads;
	struct fx f;
	json_t *root;

	fx__start(t, &f, program, path, "1", "100", "plugins", rounds, fixture("libtruth_p0.so"), fixture("libtruth_p1.so"),
		  fixture("libtruth_p2.so"), fixture("libtruth_p3.so"), NULL);
	root = trace(t, &f, 0, "--depth", DEPTH, follow, NULL);
	n_loads = ledger__note(t, &f.led, "loads");
	want(t, ledger__note(t, &f.led, "same_place") > n_loads / 2, "libraries at the place of the last one, wanted most of %lu, got %lu",
	     (unsigned long)n_loads, (unsigned long)ledger__note(t, &f.led, "same_place"));
	judge(t, root, read_truth(t, path), ALL_KNOWN);
	fx__quit(t, &f);
}

TEST_ALONE(truth_plugins) { plugins(t, "truth.records", NULL); }
TEST_ALONE(truth_plugins_mixed) { plugins(t, "truth.mixed", NULL); }
TEST_ALONE(truth_plugins_follow) { plugins(t, "truth.mixed", "-f"); }

/* ---- programs that come and go */

/* Many short programs without frame pointers; selected by what, the name is that of the child. */
static void storm(struct test *t, const char *host, const char *child, const char *how, unsigned int flags)
{
	const char *path = in_dir(t, "storm"), *times = lt_scale_pct > 100 ? "300" : "40", *name = strrchr(fixture(child), '/') + 1;
	bool follow = !strcmp(how, "-f"), comm = !strcmp(how, "--comm");
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, host, path, "1", "20", "storm", times, fixture(child), NULL);
	mt__start(t, &m, how, follow ? "-p" : comm ? name : "--json", follow ? pid_arg(f.c.pid) : "--json", "--json", "--depth", DEPTH, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGINT);
	/* of others on a busy machine things may be lost */
	child__wait(t, &m.c);
	root = with_frames(json_loads(m.c.outs.s, JSON_REJECT_DUPLICATES, NULL));
	must(t, root != NULL, "standard output is no JSON; stderr: %.400s", m.c.errs.s);
	judge(t, root, read_truth(t, path), flags);
	fx__quit(t, &f);
}

TEST_ALONE(truth_storm_follow) { storm(t, "truth.records", "truth.nofp", "-f", 0); }
TEST_ALONE(truth_storm_comm) { storm(t, "truth.records", "truth.nofp", "--comm", 0); }
TEST_ALONE(truth_storm_all) { storm(t, "truth.records", "truth.mixed", "-a", 0); }
TEST_ALONE(truth_storm_static) { storm(t, "truth.records", "truth.static", "-f", UNSEEN); }

/* ---- another tracer's return probes, on the allocator and all along the chains */

static void other_tracer(struct test *t, const char *program)
{
	const char *path = in_dir(t, "%s", program);
	uint64_t hits, n_hit = 0;
	int fd[MAX_PLACES];
	struct truth *tr;
	struct fx f;
	json_t *root;

	fx__start(t, &f, program, path, "1", "100", "run", NULL);
	tr = read_truth(t, path);
	for (unsigned int i = 0; i < tr->n_places; i++)
		fd[i] = other_uretprobe(t, tr->place[i].path, tr->place[i].offset, f.c.pid);
	root = trace(t, &f, 0, "--depth", DEPTH, NULL);
	for (unsigned int i = 0; i < tr->n_places; i++) {
		must(t, read(fd[i], &hits, sizeof(hits)) == sizeof(hits), "read: %s", strerror(errno));
		n_hit += hits > 0;
		close(fd[i]);
	}
	want(t, n_hit >= tr->n_places / 2, "functions that the other tracer saw, wanted most of %u, got %lu", tr->n_places, (unsigned long)n_hit);
	judge(t, root, tr, ALL_KNOWN);
	fx__quit(t, &f);
}

TEST(truth_other_tracer) { other_tracer(t, "truth.records"); }
TEST(truth_other_tracer_mixed) { other_tracer(t, "truth.mixed"); }
TEST(truth_other_tracer_static) { other_tracer(t, "truth.static"); }
TEST(truth_other_tracer_few) { other_tracer(t, "truth.few-records"); }
