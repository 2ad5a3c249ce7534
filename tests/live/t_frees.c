// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --free-stacks: where blocks are freed and by whom; and what realloc does to them. All against the program's own account. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The function whose call it was. */
static const char *caller(json_t *site)
{
	return jstr(site, "stack[0].function");
}

/* ---- frees */

struct sums {
	uint64_t calls, bytes, cross;
};

/* Over the rows of (allocating function, freeing function, thread); one of each may have several stacks. */
static struct sums sum_of(struct test *t, json_t *root, const char *from, const char *where, uint64_t tid)
{
	json_t *sites = jget(root, "sites"), *wheres = jget(root, "free_sites"), *row;
	struct sums sum = { 0 };
	size_t i;

	json_array_foreach(jget(root, "frees"), i, row) {
		if (strcmp(caller(json_array_get(sites, ju64(t, row, "site"))), from) ||
		    strcmp(caller(json_array_get(wheres, ju64(t, row, "where"))), where) || ju64(t, row, "tid") != tid)
			continue;
		sum.calls += ju64(t, row, "calls");
		sum.bytes += ju64(t, row, "bytes");
		sum.cross += ju64(t, row, "cross_calls");
	}
	return sum;
}

/* Each row of the program's account is there; returns the frees that it tells of. */
static uint64_t want_rows(struct test *t, json_t *root, const struct ledger *l)
{
	uint64_t n = 0, tid;

	for (unsigned int i = 0; i < l->n_notes; i++) {
		char from[32], where[32], kind;
		struct sums got;

		if (sscanf(l->note[i].key, "%31[a-z_0-9]>%31[a-z_0-9]@%" SCNu64 ".%c", from, where, &tid, &kind) != 4)
			continue;
		got = sum_of(t, root, from, where, tid);
		want_eq(t, l->note[i].key, l->note[i].v, kind == 'n' ? got.calls : kind == 'b' ? got.bytes : got.cross);
		n += kind == 'n' ? l->note[i].v : 0;
	}
	want(t, n > 0, "the program's account of its frees is empty");
	return n;
}

static uint64_t calls_in_rows(struct test *t, json_t *root)
{
	uint64_t calls = 0;
	json_t *row;
	size_t i;

	json_array_foreach(jget(root, "frees"), i, row)
		calls += ju64(t, row, "calls");
	return calls;
}

/* And there is no other. */
static void want_account(struct test *t, json_t *root, const struct ledger *l)
{
	want_eq(t, "frees in all rows", want_rows(t, root, l), calls_in_rows(t, root));
}

/* What a place did is the sum of its rows, and its function is the one that was called there. */
static void want_places(struct test *t, json_t *root)
{
	json_t *wheres = jget(root, "free_sites"), *row, *w;
	size_t i, k;

	json_array_foreach(wheres, i, w) {
		uint64_t calls = 0, bytes = 0;

		json_array_foreach(jget(root, "frees"), k, row) {
			if (ju64(t, row, "where") != i)
				continue;
			calls += ju64(t, row, "calls");
			bytes += ju64(t, row, "bytes");
		}
		want_u64(t, w, "calls", calls);
		want_u64(t, w, "bytes", bytes);
	}
}

static void want_functions(struct test *t, json_t *root)
{
	json_t *w;
	size_t i;

	json_array_foreach(jget(root, "free_sites"), i, w) {
		const char *wanted = !strncmp(caller(w), "free_", 5) ? "free" : "realloc";

		want(t, !strcmp(jstr(w, "function"), wanted), "%s: wanted %s, got '%s'", caller(w), wanted, jstr(w, "function"));
	}
}

static void want_moves(struct test *t, json_t *root, const struct ledger *l)
{
	static const char *const keys[] = { "calls", "moved_calls", "moved_bytes", "grown_calls", "grown_bytes", "shrunk_calls",
					    "doubled_calls", "longest" };
	unsigned int n_seen = 0;

	for (unsigned int i = 0; i < l->n_notes; i++) {
		char from[32], key[32];
		uint64_t got = 0;
		json_t *site;
		size_t k;

		if (sscanf(l->note[i].key, "%31[a-z].%31s", from, key) != 2)
			continue;
		json_array_foreach(jget(root, "sites"), k, site) {
			uint64_t v = strcmp(caller(site), from) || !jget(site, "moves") ? 0 : ju64(t, jget(site, "moves"), key);

			got = strcmp(key, "longest") ? got + v : v > got ? v : got;
		}
		want_eq(t, l->note[i].key, l->note[i].v, got);
		n_seen++;
	}
	want(t, n_seen && n_seen % (sizeof(keys) / sizeof(*keys)) == 0, "moves in the program's account, wanted 8 of each function, got %u", n_seen);
}

static void frees(struct test *t, const char *name, const char *what, uint64_t n, const char *n_threads, const char *unwind)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, what, number_arg(n), n_threads, NULL);
	root = trace(t, &f, 0, "--free-stacks", "--unwind", unwind, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	want_account(t, root, &f.led);
	want_places(t, root);
	want_functions(t, root);
	want_moves(t, root, &f.led);
	fx__quit(t, &f);
}

TEST(frees_one_thread) { frees(t, "frees", "one", scaled(20000), NULL, "auto"); }
TEST(frees_by_tables) { frees(t, "frees.nofp", "one", scaled(5000), NULL, "table"); }
TEST(frees_of_others) { frees(t, "frees", "threads", scaled(20000), "4", "auto"); }

/*
 * operator delete. Some allocators have it among their functions; glibc has not, and libstdc++'s passes the block on to free.
 * Either way it is one free.
 */
static void deletes(struct test *t, const char *library)
{
	uint64_t n_deleted = 0, n_freed = 0;
	json_t *root, *row;
	struct fx f;
	size_t i;

	fx__start_preloaded(t, &f, library, "cxx", "forms");
	root = trace(t, &f, 0, "--free-stacks", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_REALLOC);
	want_places(t, root);
	json_array_foreach(jget(root, "frees"), i, row) {
		json_t *w = json_array_get(jget(root, "free_sites"), ju64(t, row, "where"));
		const char *called = jstr(w, "function");
		bool deleted = !strncmp(called, "operator delete", 15);

		if (!deleted)
			n_freed += ju64(t, row, "calls");
		else
			n_deleted += ju64(t, row, "calls");
		want(t, !deleted || !strcmp(caller(w), "forms"), "%s, wanted a call by forms, got one by '%s'", called, caller(w));
	}
	/* 200 sizes: seventeen blocks of new; three of malloc's kin; one that realloc takes, of which half are given back */
	want_eq(t, "freed by operator delete", library ? 200 * 17 : 0, n_deleted);
	want_eq(t, "freed otherwise", (library ? 0 : 200 * 17) + 200 * 3 + 200 + 100, n_freed);
	fx__quit(t, &f);
}

TEST(frees_by_operator_delete_glibc) { deletes(t, NULL); }
TEST(frees_by_operator_delete_jemalloc) { deletes(t, "libjemalloc.so.2"); }

/* A table of 64 rows: first threads are not told apart any more, then frees find no room, which is counted. */
TEST(frees_find_no_room)
{
	uint64_t calls = 0, in_rows = 0, nameless = 0, lost;
	json_t *root, *row;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start(t, &f, "frees", "full", number_arg(scaled(5000)), "4", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--free-stacks", "--max-stacks", "16", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	lost = ju64(t, root, "losses.frees_full");
	want_eq(t, "losses in all", lost, ju64(t, root, "losses.total"));
	want(t, lost > 0, "frees that found no room, wanted some, got none");
	json_array_foreach(jget(root, "sites"), i, row)
		calls += ju64(t, row, "free_calls");
	json_array_foreach(jget(root, "frees"), i, row) {
		in_rows += ju64(t, row, "calls");
		nameless += json_is_null(jget(row, "tid"));
	}
	want_eq(t, "frees in the ledger", ledger__sum(&f.led, LED_FREE_CALLS), calls);
	want_eq(t, "frees in rows, and those that found no room", calls, in_rows + lost);
	want_eq(t, "rows", 64, json_array_size(jget(root, "frees")));
	want_eq(t, "rows in which threads are not told apart", 16, nameless);
	fx__quit(t, &f);
}

/* Two processes as one: the same places are one, rows stay those of their threads. */
TEST(frees_of_two_processes)
{
	struct fx a, b;
	struct mt m;
	char pids[40];
	json_t *root;

	fx__start(t, &a, "frees", "one", number_arg(scaled(3000)), NULL);
	fx__start(t, &b, "frees", "one", number_arg(scaled(5000)), NULL);
	snprintf(pids, sizeof(pids), "%d,%d", a.c.pid, b.c.pid);
	mt__start(t, &m, "-p", pids, "--json", "--free-stacks", "--by", "none", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &a);
	fx__go(t, &b);
	fx__quit(t, &a);	/* one of them has ended by then */
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_eq(t, "frees in all rows", want_rows(t, root, &a.led) + want_rows(t, root, &b.led), calls_in_rows(t, root));
	/* free_0, free_1, grow and vanish: each of them in one place of the program, and the same in both */
	want_eq(t, "places", 4, json_array_size(jget(root, "free_sites")));
	want_places(t, root);
	fx__quit(t, &b);
}

/* Snapshots while two threads are at it: in each the rows add up, which want_invariants() looks at. */
TEST(frees_under_load)
{
	struct period p = { .s = 1.2 };
	size_t n_rows = 0;
	struct fx f;
	struct mt m;

	do {
		period__begin(&p);
		fx__start(t, &f, "threads", "churn", number_arg(100), "2", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "--free-stacks", "-o", in_dir(t, "%d-%%n.json", f.c.pid), period__arg(&p, 6),
			  "6", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);	/* both threads have freed */
		period__worked(&p);
		mt__stop(t, &m, 0, 0);
		for (int i = 1; i <= 6; i++) {
			json_t *root = load_json(t, in_dir(t, "%d-%d.json", f.c.pid, i));

			want_invariants(t, root);
			want_lossless(t, root);
			n_rows = json_array_size(jget(root, "frees"));
			json_decref(root);
		}
		fx__send(t, &f, 's');
		fx__read_ledger(t, &f);
		fx__quit(t, &f);
	} while (period__was_short(&p));
	want(t, n_rows >= 2, "rows in the last one, wanted one for each thread, got %zu", n_rows);
}

/* At each mark: who had freed whose blocks where, at that instant, though the program goes on freeing at once. */
TEST(frees_at_marks)
{
	enum { N = 12 };
	unsigned int n_whole = 0;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "frees", "marks", number_arg(scaled(300)), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", in_dir(t, "m.json"), "--free-stacks", "--mark", "marked_here", NULL);
	mt__wait_attached(t, &m);
	for (unsigned int i = 1; i <= N; i++) {
		char line[64];
		json_t *root;

		fx__go(t, &f);
		snprintf(line, sizeof(line), "mark marked_here #%u", i);
		child__wait_err(t, &m.c, "malloctrace: mark", line, patience_s(20));
		root = load_json(t, in_dir(t, "m.%u.json", i));
		/* also of one that came late the rows of each site add up to its frees */
		want_invariants(t, root);
		want_lossless(t, root);
		want_places(t, root);
		/* once in a while a mark comes while another cut is taken */
		if (strstr(jstr(root, "trigger"), "later"))
			continue;
		n_whole++;
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
		want_account(t, root, &f.led);
		want_functions(t, root);
	}
	want(t, n_whole > 0, "marks with a snapshot of their own instant, wanted some");
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
}

/* ---- realloc */

static void moves(struct test *t, const char *name, const char *extra)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, "moves", number_arg(scaled(2000)), NULL);
	root = trace(t, &f, 0, extra, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	want_moves(t, root, &f.led);
	want_eq(t, "step.grown_calls", scaled(2000), ledger__note(t, &f.led, "step.grown_calls"));
	want_eq(t, "twice.longest", scaled(2000) + 10, ledger__note(t, &f.led, "twice.longest"));
	want(t, !extra || jget(root, "frees"), "--free-stacks, wanted frees");
	fx__quit(t, &f);
}

TEST(realloc_moves) { moves(t, "frees", NULL); }
TEST(realloc_moves_with_free_stacks) { moves(t, "frees", "--free-stacks"); }

/* ---- what is read back and shown */

TEST(frees_are_read_back)
{
	const char *path = in_dir(t, "a.json");
	struct fx f;
	struct mt m;
	uint64_t n_moves = 0;
	json_t *a, *b, *site;
	size_t i;

	fx__start(t, &f, "frees", "one", number_arg(scaled(2000)), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--free-stacks", "-o", path, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want_eq(t, "exit status of report", 0, (uint64_t)mt__run(t, &m, "report", path, "--json", NULL));
	a = load_json(t, path);
	b = with_frames(json_loads(m.c.outs.s, 0, NULL));
	want(t, b && json_equal(jget(a, "frees"), jget(b, "frees")), "frees, wanted the same again");
	want(t, b && json_equal(jget(a, "free_sites"), jget(b, "free_sites")), "free_sites, wanted the same again");
	json_array_foreach(jget(a, "sites"), i, site)
		if (jget(site, "moves")) {
			want(t, json_equal(jget(site, "moves"), jget(json_array_get(jget(b, "sites"), i), "moves")), "moves, wanted the same again");
			n_moves++;
		}
	want_eq(t, "sites with moves", 1, n_moves);
	want_eq(t, "exit status of report --by none", 0, (uint64_t)mt__run(t, &m, "report", path, path, "--by", "none", "--json", NULL));
	want_invariants(t, with_frames(json_loads(m.c.outs.s, 0, NULL)));
	want_eq(t, "exit status of report --view frees", 0, (uint64_t)mt__run(t, &m, "report", path, "--view", "frees,allocs", NULL));
	want(t, strstr(m.c.outs.s, "\nFREES by freed calls (3 of 3 sites, 100% of frees)\n") && strstr(m.c.outs.s, "free_1 ") &&
	     strstr(m.c.outs.s, "\nREALLOC by moved bytes (1 of 1 site, 100% of bytes)\n"), "the report, wanted FREES and REALLOC, got:\n%s", m.c.outs.s);
	fx__quit(t, &f);
}
