// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What rows are kept apart by (--by), and the views of processes and threads. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *number(uint64_t n)
{
	static char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return text;
}

/* Sites that another one has the function and the stack of. */
static unsigned int n_twice(json_t *root)
{
	json_t *sites = jget(root, "sites"), *a;
	unsigned int n = 0;
	size_t i;

	json_array_foreach(sites, i, a)
		for (size_t k = i + 1; k < json_array_size(sites); k++) {
			json_t *b = json_array_get(sites, k);

			n += !strcmp(jstr(a, "function"), jstr(b, "function")) && json_equal(jget(a, "stack"), jget(b, "stack"));
		}
	return n;
}

/* Two processes, each at addresses of its own, are one row, exact to the block. */
static void two_as_one(struct test *t, const char *by, const char *name)
{
	static const struct {
		const char *key;
		enum led_count which;
	} rows[] = {
		{ "totals.alloc_calls", LED_ALLOC_CALLS }, { "totals.alloc_bytes", LED_ALLOC_BYTES },
		{ "totals.free_calls", LED_FREE_CALLS },   { "totals.free_bytes", LED_FREE_BYTES },
		{ "totals.realloc_calls", LED_REALLOC_CALLS },
	};
	struct fx a, b;
	struct mt m;
	json_t *root, *p;
	char pids[40];

	fx__start(t, &a, "basic", "family", "100", NULL);
	fx__start(t, &b, "basic", "family", "70", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", a.c.pid, b.c.pid);
	mt__start(t, &m, "-p", pids, "--json", "--by", by, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	fx__go(t, &b);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_invariants(t, root);
	want_lossless(t, root);
	want_eq(t, "rows", 1, json_array_size(jget(root, "processes")));
	p = jget(root, "processes[0]");
	want(t, !strcmp(jstr(root, "by"), by), "by, wanted %s, got %s", by, jstr(root, "by"));
	want(t, json_is_null(jget(p, "pid")), "pid of a group, wanted null");
	want(t, !strcmp(jstr(p, "comm"), name), "comm, wanted %s, got %s", name, jstr(p, "comm"));
	want_u64(t, p, "members", 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		want_u64(t, p, rows[i].key, ledger__sum(&a.led, rows[i].which) + ledger__sum(&b.led, rows[i].which));
	for (unsigned int i = 0; i < a.led.n; i++) {
		const struct led_site *of_a = &a.led.site[i], *of_b = ledger__site(t, &b.led, of_a->name);

		want_eq(t, of_a->name, of_a->v[LED_ALLOC_CALLS] + of_b->v[LED_ALLOC_CALLS], site_sum(t, root, p, of_a->name, "alloc_calls"));
		want_eq(t, of_a->name, of_a->v[LED_FREE_BYTES] + of_b->v[LED_FREE_BYTES], site_sum(t, root, p, of_a->name, "free_bytes"));
	}
	/* the same code at other addresses is the same */
	want_eq(t, "sites that are there twice", 0, n_twice(root));
	fx__quit(t, &a);
	fx__quit(t, &b);
}

TEST(by_comm) { two_as_one(t, "comm", "basic"); }
TEST(by_none) { two_as_one(t, "none", "everything"); }

/* What the sites of a thread have allocated is what the thread has. */
TEST(by_thread)
{
	unsigned int n_with_sites = 0;
	struct fx f;
	json_t *root, *p, *thread;
	size_t i;

	fx__start(t, &f, "threads", "cross", number(scaled(20000)), "4", NULL);
	root = trace(t, &f, 0, "--by", "thread", NULL);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	json_array_foreach(jget(p, "threads"), i, thread) {
		uint64_t calls = 0, bytes = 0;
		json_t *site;
		size_t k;

		json_array_foreach(jget(root, "sites"), k, site) {
			if (json_integer_value(jget(site, "tid")) != (json_int_t)ju64(t, thread, "tid"))
				continue;
			calls += ju64(t, site, "alloc_calls");
			bytes += ju64(t, site, "alloc_bytes");
			want(t, !strcmp(jstr(site, "thread"), jstr(thread, "comm")), "thread, wanted %s, got %s", jstr(thread, "comm"),
			     jstr(site, "thread"));
		}
		n_with_sites += calls > 0;
		want_eq(t, "alloc_calls of a thread's sites", ju64(t, thread, "totals.alloc_calls"), calls);
		want_eq(t, "alloc_bytes of a thread's sites", ju64(t, thread, "totals.alloc_bytes"), bytes);
	}
	want(t, n_with_sites >= 4, "threads with sites of their own, wanted at least 4, got %u", n_with_sites);
	fx__quit(t, &f);
}

/* Two targets, without --view: who they are, then their stacks. */
TEST(view_processes_first)
{
	struct fx a, b;
	struct mt m;
	const char *table, *live;
	char pids[40], row[64];

	fx__start(t, &a, "basic", "leak", "10", NULL);
	fx__start(t, &b, "basic", "leak", "20", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", a.c.pid, b.c.pid);
	mt__start(t, &m, "-p", pids, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	fx__go(t, &b);
	mt__stop(t, &m, SIGINT, 0);
	table = strstr(m.c.outs.s, "\nPROCESSES by growth (2 of 2, 100% of live bytes)\n");
	live = strstr(m.c.outs.s, "\nSITES of the 2 processes");
	want(t, table && live && table < live, "the processes before what is live, wanted, got\n%s", m.c.outs.s);
	snprintf(row, sizeof(row), "malloctrace -p %d for the first process alone", b.c.pid);
	want(t, table && strstr(table, row), "how to look into the one that holds the most, wanted, got\n%s", m.c.outs.s);
	fx__quit(t, &a);
	fx__quit(t, &b);
}
