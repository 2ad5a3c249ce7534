// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode growth: page faults, brk and mmap against a program's own account. */
#include "growth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frame 0, or behind libc's wrapper of a system call and what is inlined into it. */
static bool is_at(json_t *site, const char *function)
{
	return !strcmp(jstr(site, "stack[0].function"), function) || !strcmp(jstr(site, "stack[1].function"), function) ||
	       !strcmp(jstr(site, "stack[2].function"), function);
}

static uint64_t sum_at(struct test *t, json_t *root, json_t *process, const struct led_site *at, const char *counter)
{
	uint64_t sum = 0;
	json_t *s;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, s)
		if ((!process || ju64(t, s, "process") == ju64(t, process, "id")) && is_at(s, at->name) && !strcmp(jstr(s, "function"), at->func))
			sum += ju64(t, s, counter);
	return sum;
}

#define LARGEST_FAULT (2u << 20)

/* Equal, or told as a guess: then each of so many faults may be off by what the largest brings. */
static void want_bytes(struct test *t, json_t *root, json_t *process, const struct led_site *at)
{
	uint64_t wanted = at->v[LED_ALLOC_BYTES], got = sum_at(t, root, process, at, "alloc_bytes"), guessed = 0;
	char what[160];

	if (!strcmp(at->func, "page_fault"))
		guessed = sum_at(t, root, process, at, "guessed_calls");
	snprintf(what, sizeof(what), "%s alloc_bytes", at->name);
	if (!guessed)
		want_eq(t, what, wanted, got);
	else
		want(t, (got > wanted ? got - wanted : wanted - got) <= guessed * LARGEST_FAULT, "%s, wanted %llu, got %llu with %llu guesses", what,
		     (unsigned long long)wanted, (unsigned long long)got, (unsigned long long)guessed);
}

/* Guesses of all sites are those that are told beside them. */
static void want_guesses(struct test *t, json_t *root)
{
	uint64_t sum = 0;
	json_t *s;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, s)
		if (!strcmp(jstr(s, "function"), "page_fault"))
			sum += ju64(t, s, "guessed_calls");
	want_eq(t, "guessed_calls of all sites", ju64(t, root, "edges.size_guessed"), sum);
}

void want_grown(struct test *t, json_t *root, json_t *process, const struct ledger *l)
{
	char what[160];

	for (unsigned int i = 0; i < l->n; i++) {
		const struct led_site *s = &l->site[i];

		want_bytes(t, root, process, s);
		snprintf(what, sizeof(what), "%s alloc_calls", s->name);
		want_eq(t, what, s->v[LED_ALLOC_CALLS], sum_at(t, root, process, s, "alloc_calls"));
	}
}

static void want_growth(struct test *t, json_t *root, const struct ledger *l)
{
	static const char *const null_keys[] = { "free_calls", "free_bytes", "live_blocks", "live_bytes", "peak_bytes",
						 "realloc_calls", "temp_calls", "failed_calls", "unknown_frees" };

	want(t, !strcmp(jstr(root, "mode"), "growth"), "mode, wanted growth, got '%s'", jstr(root, "mode"));
	for (unsigned int i = 0; i < sizeof(null_keys) / sizeof(*null_keys); i++)
		want(t, json_is_null(jget(jget(root, "totals"), null_keys[i])), "totals.%s, wanted null", null_keys[i]);
	want_grown(t, root, NULL, l);
	want_guesses(t, root);
	want_lossless(t, root);
}

/* No site of the child's; every function is one of three; sites add up. */
static void want_sane(struct test *t, json_t *root, json_t *process)
{
	uint64_t by_kind[3][2] = { { 0 } };
	static const char *const kinds[3] = { "page_fault", "brk", "mmap" };
	json_t *s;
	size_t i;
	char key[64];

	json_array_foreach(jget(root, "sites"), i, s) {
		int k = 0;

		while (k < 3 && strcmp(jstr(s, "function"), kinds[k]))
			k++;
		if (!want(t, k < 3, "function, wanted page_fault, brk or mmap, got '%s'", jstr(s, "function")))
			continue;
		by_kind[k][0] += ju64(t, s, "alloc_calls");
		by_kind[k][1] += ju64(t, s, "alloc_bytes");
		want(t, !is_at(s, "child_here"), "a fault of the child, wanted none");
	}
	for (int k = 0; k < 3; k++) {
		snprintf(key, sizeof(key), "growth.%s_calls", kinds[k]);
		want_u64(t, process, key, by_kind[k][0]);
		snprintf(key, sizeof(key), "growth.%s_bytes", kinds[k]);
		want_u64(t, process, key, by_kind[k][1]);
	}
	want_u64(t, process, "totals.alloc_bytes", by_kind[0][1] + by_kind[1][1] + by_kind[2][1]);
}

static json_t *trace_growth(struct test *t, struct fx *f, const char *more)
{
	const char *path = in_dir(t, "growth.json");
	struct mt m;

	mt__start(t, &m, "-p", pid_arg(f->c.pid), "--mode", "growth", "-o", path, more, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	mt__stop(t, &m, SIGINT, 0);
	return load_json(t, path);
}

static void growth(struct test *t, const char *name, const char *more)
{
	char text[24];
	struct fx f;
	json_t *root;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)scaled(3000));
	fx__start(t, &f, name, text, NULL);
	root = trace_growth(t, &f, more);
	want_growth(t, root, &f.led);
	want_sane(t, root, process_of(t, root, f.c.pid, 0));
	fx__quit(t, &f);
}

TEST(growth_exact) { growth(t, "growth", NULL); }
TEST(growth_exact_tables) { growth(t, "growth", "--unwind=table"); }
TEST(growth_exact_nofp) { growth(t, "growth.nofp", NULL); }

/* The page that the kernel adds for our own probes is no growth of the target's. */
TEST(growth_not_our_own_page)
{
	uint64_t page, at;
	json_t *root, *s;
	struct fx f;
	size_t i;

	fx__start(t, &f, "growth", "10", NULL);
	root = trace_growth(t, &f, NULL);
	page = ledger__note(t, &f.led, "probes_page");
	if (!page)
		skip(t, "this kernel carries out all probed instructions without such a page");
	json_array_foreach(jget(root, "sites"), i, s) {
		at = strtoull(jstr(s, "stack[0].offset"), NULL, 16);
		want(t, strcmp(jstr(s, "function"), "page_fault") || *jstr(s, "stack[0].module") || at < page || at - page > 65536,
		     "faults in the page of probes, wanted none, got %llu", (unsigned long long)ju64(t, s, "alloc_calls"));
	}
	fx__quit(t, &f);
}

/* The faults account for what the process became larger by, but for what it gave back. */
TEST(growth_explains_rss)
{
	json_t *root, *p;
	uint64_t faults;
	int64_t change;
	struct fx f;

	fx__start(t, &f, "growth", "2000", NULL);
	root = trace_growth(t, &f, NULL);
	p = process_of(t, root, f.c.pid, 0);
	faults = ju64(t, p, "growth.page_fault_bytes");
	change = json_integer_value(jget(p, "growth.rss_change_bytes"));
	want(t, change > 0, "growth.rss_change_bytes, wanted more than 0, got %lld", (long long)change);
	/* threads give most of their stacks back when they end; the trace's last look at RSS comes after its end */
	want(t, faults * 100 >= (uint64_t)change * 99 && faults * 90 <= (uint64_t)change * 100,
	     "growth.page_fault_bytes, wanted about %lld, got %llu", (long long)change, (unsigned long long)faults);
	fx__quit(t, &f);
}

/* A program of our own, from its first instruction. */
TEST(growth_command)
{
	const char *ledger = in_dir(t, "ledger"), *path = in_dir(t, "growth.json");
	struct ledger led;
	json_t *root;
	struct mt m;
	char *text;

	mt__start(t, &m, "--mode", "growth", "-o", path, "--", fixture("growth"), "--auto", ledger, "500", NULL);
	mt__stop(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&led, text), "no ledger in %s", ledger);
	free(text);
	root = load_json(t, path);
	want_growth(t, root, &led);
}

/* A program without an allocator to be found is traced all the same. */
TEST(growth_without_libc)
{
	struct spawn s = { .argv = { fixture("nolibc") } };
	const char *path = in_dir(t, "growth.json");
	struct child c;
	struct mt m;

	child__start(t, &c, &s);
	mt__start(t, &m, "-p", pid_arg(c.pid), "--mode", "growth", "-o", path, NULL);
	mt__wait_attached(t, &m);
	mt__stop(t, &m, SIGINT, 0);
	want(t, !strcmp(jstr(load_json(t, path), "mode"), "growth"), "mode, wanted growth");
	child__kill(t, &c, SIGKILL);
	child__wait(t, &c);
}

TEST(growth_report)
{
	const char *path = in_dir(t, "growth.folded");
	char *folded;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "growth", "500", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "growth", "-o", path, "-T", "50", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "\nRESIDENT by bytes") != NULL, "a table RESIDENT, wanted, got\n%s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "\nMAPPED by bytes") != NULL, "a table MAPPED, wanted, got\n%s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "LIVE by") == NULL && strstr(m.c.outs.s, "LIVE:") == NULL, "a table LIVE, wanted none");
	want(t, strstr(m.c.outs.s, " by page faults") != NULL, "what RSS grew by, wanted, got\n%s", m.c.outs.s);
	folded = read_all(path, NULL);
	must(t, folded != NULL, "no %s", path);
	want(t, strstr(folded, "page_fault;") != NULL && strstr(folded, ";main;grow_by_pages;touch_here 2048000\n") != NULL,
	     "touch_here in the folded stacks, wanted, got\n%s", folded);
	free(folded);
	fx__quit(t, &f);
}

TEST(growth_refuses)
{
	static const char *const with[][2] = { { "--min-size", "1" }, { "--size", "usable" }, { "--view", "leaks" }, { "--older", "1s" },
					       { "--max-live", "9" }, { "--sym", "malloc=x" }, { "--metric", "live-bytes" } };
	struct mt m;

	for (unsigned int i = 0; i < sizeof(with) / sizeof(*with); i++) {
		want_eq(t, with[i][0], 2, (uint64_t)mt__run(t, &m, "-p", "1", "--mode", "growth", with[i][0], with[i][1], NULL));
		want(t, strstr(m.c.errs.s, with[i][0]) && (strstr(m.c.errs.s, "--mode growth") || !strcmp(with[i][0], "--size")),
		     "%s and --mode growth in the message, wanted, got '%s'", with[i][0], m.c.errs.s);
	}
}
