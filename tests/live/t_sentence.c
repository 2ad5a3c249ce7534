// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The first sentence of a report, about programs that know whether they grow and by which function
 * (tests/fixtures/sentences.c). Three kinds of sentence are wrong: an all-clear for a program that grows,
 * an alarm for one that does not, and an alarm that names another function first. How severe an alarm is
 * depends on how long the program was traced: each is accepted.
 */
#include "sentence.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TICKS "750"
#define AT_ONCE 4

enum answer {
	CALM,			/* nothing grows, or it is too early to know */
	NAMES,			/* the guilty function is named first */
	NOT_CALM,		/* it grows so unevenly that no sentence but an all-clear is wrong */
};

static const struct program {
	const char *name;
	enum answer answer;
	const char *guilty;	/* begins what the alarm is about */
	unsigned int checks;	/* of its ledger */
} programs[] = {
	{ "warm_up", CALM, NULL, LED_ALL },
	{ "lru", CALM, NULL, LED_ALL },
	{ "ttl", CALM, NULL, LED_ALL },
	{ "saw", CALM, NULL, LED_ALL },
	{ "pool", CALM, NULL, LED_ALL },
	{ "shrink", CALM, NULL, LED_ALL },
	{ "batch", CALM, NULL, LED_ALL },
	{ "start_up", CALM, NULL, LED_ALL },
	{ "handoff", CALM, NULL, LED_REALLOC },
	{ "beside_churn", NAMES, "ticket_here", LED_ALL },
	{ "forget", NAMES, "session_here", LED_ALL },
	{ "own_stacks", NAMES, "scattered_here", LED_ALL },
	{ "vector", NAMES, "vector_here", LED_ALL },
	{ "doubling", NOT_CALM, "vector_here", LED_ALL },
	{ "wrapper", NAMES, "load_config", LED_ALL },
	{ "map", NAMES, "RSS +", LED_ALL },
	{ "two_leaks", NAMES, "session_here", LED_ALL },
	{ "kept_and_leak", NAMES, "kept_here", LED_ALL },
	{ "late", NAMES, "late_here", LED_ALL },
	{ "thread_leak", NAMES, "thread_here", LED_REALLOC },
};
#define N_PROGRAMS (sizeof(programs) / sizeof(*programs))

struct run {
	const struct program *p;
	struct fx f;
	struct mt m;
};

static void begin(struct test *t, struct run *r, const struct program *p)
{
	r->p = p;
	fx__start(t, &r->f, "sentences", p->name, TICKS, NULL);
	mt__start(t, &r->m, "-p", pid_arg(r->f.c.pid), "--batch", "-o", in_dir(t, "%s.json", p->name), NULL);
}

/* The table above says what the program itself does. */
static void want_truth(struct test *t, const struct run *r)
{
	const struct ledger *l = &r->f.led;

	if (r->p->answer == CALM)
		want(t, ledger__note(t, l, "most_after") <= ledger__note(t, l, "most_before"),
		     "the table says that it does not grow, its ledger that it does");
	else
		want(t, ledger__note(t, l, "least_after") > ledger__note(t, l, "least_before"),
		     "the table says that it grows, its ledger that it does not");
}

static void want_sentence(struct test *t, const struct run *r, const char *sentence)
{
	const char *whom = sentence__about(sentence);

	want(t, *sentence, "no sentence at all");
	if (r->p->answer == CALM)
		want(t, !whom, "false alarm: %.300s", sentence);
	else
		want(t, !sentence__is_all_clear(sentence), "false all-clear: %.300s", sentence);
	if (r->p->answer == NAMES || (r->p->answer == NOT_CALM && whom))
		want(t, whom && !strncmp(whom, r->p->guilty, strlen(r->p->guilty)), "wanted %s, got: %.300s",
		     r->p->guilty, sentence);
}

static void end(struct test *t, struct run *r)
{
	const char *file = in_dir(t, "%s.json", r->p->name), *report;
	json_t *root;

	about(t, "%s: ", r->p->name);
	mt__stop(t, &r->m, 0, 0);
	root = load_json(t, file);
	want_ledger(t, root, process_of(t, root, r->f.c.pid, 0), &r->f.led, r->p->checks);
	json_decref(root);
	want_truth(t, r);
	report = report_of(t, file);
	want_sentence(t, r, sentence__find(report));
	want_one_screen(t, report);
	fx__quit(t, &r->f);
	about(t, "%s", "");
}

TEST_LIMIT(sentence_of_twenty_programs, 300)
{
	struct run r[AT_ONCE];

	for (size_t i = 0; i < N_PROGRAMS; i += AT_ONCE) {
		size_t n = N_PROGRAMS - i < AT_ONCE ? N_PROGRAMS - i : AT_ONCE;

		for (size_t k = 0; k < n; k++)
			begin(t, &r[k], &programs[i + k]);
		for (size_t k = 0; k < n; k++)
			mt__wait_attached(t, &r[k].m);
		for (size_t k = 0; k < n; k++)
			fx__send(t, &r[k].f, 'g');
		/* a trace that lasts longer than the work sees the program rest */
		for (size_t k = 0; k < n; k++) {
			fx__read_ledger(t, &r[k].f);
			child__kill(t, &r[k].m.c, SIGINT);
		}
		for (size_t k = 0; k < n; k++)
			end(t, &r[k]);
	}
}
