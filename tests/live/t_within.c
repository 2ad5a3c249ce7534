// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --within: what functions and what they call allocate, exact to the block, however they are left. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SCOPES "--within", "scope_plain", "--within", "scope_rec", "--within", "scope_jump", "--within", "scope_tail", "--within", \
	"scope_wrap", "--within", "scope_sig", "--within", "scope_co"

static void scopes(struct test *t, const char *name, const char *how, const char *method, const char *also, unsigned int checks)
{
	char rounds[24];
	struct fx f;
	json_t *root, *p;

	snprintf(rounds, sizeof(rounds), "%llu", (unsigned long long)scaled(60));
	fx__start(t, &f, name, rounds, how, NULL);
	root = trace(t, &f, 0, SCOPES, "--unwind", method, also, NULL);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, checks);
	want(t, ledger__site(t, &f.led, "dispatch")->v[LED_ALLOC_CALLS] > 0, "blocks of a scope that ends in malloc, wanted some");
	want(t, !strncmp(jstr(root, "within"), "scope_plain, scope_rec, ", 24), "within, wanted the functions, got %s", jstr(root, "within"));
	want(t, json_is_null(jget(root, "totals.unknown_frees")), "unknown_frees, wanted null: blocks of outside are freed, too");
	fx__quit(t, &f);
}

TEST(within_scopes) { scopes(t, "within", NULL, "auto", NULL, LED_ONLY | LED_REALLOC | LED_PEAK | LED_TEMP); }
TEST(within_scopes_tables) { scopes(t, "within", NULL, "table", NULL, LED_ONLY | LED_REALLOC | LED_PEAK | LED_TEMP); }
TEST(within_scopes_nofp) { scopes(t, "within.nofp", NULL, "table", NULL, LED_ONLY | LED_REALLOC | LED_PEAK | LED_TEMP); }
/* Where blocks are freed is walked everywhere. */
TEST(within_free_stacks) { scopes(t, "within", NULL, "auto", "--free-stacks", LED_ONLY | LED_REALLOC | LED_PEAK | LED_TEMP); }
TEST(within_threads) { scopes(t, "within", "threads", "auto", NULL, LED_ONLY | LED_REALLOC); }

/* Where stacks are cut short, calls alone tell what is inside: one that never ends would take in all that comes after it. */
TEST(within_caught)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "within", "20", "catch", NULL);
	root = trace(t, &f, 0, "--within", "scope_outer", "--within", "scope_jump", "--depth", "3", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_REALLOC | LED_PEAK | LED_TEMP);
	want(t, ju64(t, root, "stacks.depth") > 0, "stacks that are cut short, wanted some");
	fx__quit(t, &f);
}

/* A function that is called and inlined: into one that runs already when the trace begins. */
static void inlined(struct test *t, const char *name, const char *method)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, "20", "inlined", NULL);
	root = trace(t, &f, 0, "--within", "scope_both", "--tag", "scope_both", "--unwind", method, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_REALLOC | LED_PEAK | LED_TEMP);
	want_eq(t, "calls inside", 40, ledger__site(t, &f.led, "take")->v[LED_ALLOC_CALLS]);
	want(t, json_is_null(jget(root, "tags[0].entered")), "calls of a function that is inlined somewhere, wanted null");
	fx__quit(t, &f);
}

/*
 * Where an inlined copy is mapped is asked of the kernel at each block: it does not know while
 * another trace puts probes into the same libc, and then the block is a loss.
 */
TEST_ALONE(within_inlined) { inlined(t, "within", "auto"); }
TEST_ALONE(within_inlined_tables) { inlined(t, "within.nofp", "table"); }

/* No instruction begins an inlined copy for certain: that its calls are not seen is reported and counted. */
TEST(within_inlined_mark)
{
	const char *out = in_dir(t, "out.json");
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "within", "10", "inlined", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, "--mark", "scope_both", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 3);
	root = load_json(t, out);
	want_u64(t, root, "marks_seen", 10);
	want_u64(t, root, "losses.unprobed_points", 1);
	want(t, strstr(m.c.errs.s, "--mark scope_both: 1 inlined copy in "), "the inlined copy, wanted, got\n%s", m.c.errs.s);
	fx__quit(t, &f);
}

/*
 * Where DWARF is in .dwo files, nobody knows of inlined copies: that is a loss, also if the
 * function has calls that are seen.
 */
static void split(struct test *t, const char *option)
{
	const char *out = in_dir(t, "out.json");
	char want_text[64];
	struct fx f;
	struct mt m;
	json_t *root;

	about(t, "%s: ", option);
	fx__start(t, &f, "within.split", "10", "inlined", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, option, "scope_both", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 3);
	root = load_json(t, out);
	want_u64(t, root, "losses.unprobed_points", 1);
	want_u64(t, root, "losses.total", 1);
	/* those of the copy that is called */
	if (!strcmp(option, "--mark"))
		want_u64(t, root, "marks_seen", 10);
	else
		want_u64(t, root, "totals.alloc_calls", 10);
	snprintf(want_text, sizeof(want_text), "%s scope_both: inlined copies in ", option);
	want(t, strstr(m.c.errs.s, want_text) && strstr(m.c.errs.s, "-gsplit-dwarf"),
	     "'%s', wanted, got\n%s", want_text, m.c.errs.s);
	fx__quit(t, &f);
}

TEST(within_split_dwarf) { split(t, "--within"); }
TEST(within_split_dwarf_mark) { split(t, "--mark"); }

/*
 * No call tells of an inlined copy, and a stack that is cut short does not, either: what may be
 * inside is counted.
 */
TEST_ALONE(within_inlined_unsure)
{
	static const char *const options[][2] = { { "--depth", "1" },
						  { "--within", "scope_both" } };
	uint64_t n_calls[2], n_inside[2];

	for (size_t i = 0; i < 2; i++) {
		struct fx f;
		struct mt m;
		json_t *root;

		fx__start(t, &f, "within", "20", "inlined", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--depth", "1", options[i][0],
			  options[i][1], NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		root = mt__stop_json(t, &m, SIGINT, i ? 3 : 0);
		n_calls[i] = ju64(t, root, "totals.alloc_calls");
		n_inside[i] = ledger__site(t, &f.led, "take")->v[LED_ALLOC_CALLS];
		if (i) {
			want_u64(t, root, "losses.within_unsure", n_calls[0] - n_calls[1]);
			want_u64(t, root, "losses.total", n_calls[0] - n_calls[1]);
		}
		fx__quit(t, &f);
	}
	/* those of the copy that is called */
	want_eq(t, "calls that are surely inside", n_inside[1] / 2, n_calls[1]);
	want(t, n_calls[0] > n_inside[0], "calls outside, wanted some");
}

/* Exceptions; a function that is named as C++ names it; and calls alone. */
static void exceptions(struct test *t, const char *mode, unsigned int checks)
{
	const struct led_site *site;
	struct fx f;
	json_t *root, *p;

	fx__start(t, &f, "within_cxx", "500", NULL);
	root = trace(t, &f, 0, "--within", "within_cxx:table::insert", "--mode", mode, NULL);
	p = process_of(t, root, f.c.pid, 0);
	site = ledger__site(t, &f.led, "take_in");
	want_eq(t, "calls inside", site->v[LED_ALLOC_CALLS], site_sum(t, root, p, "take_in(unsigned long)", "alloc_calls"));
	want_eq(t, "bytes inside", site->v[LED_ALLOC_BYTES], site_sum(t, root, p, "take_in(unsigned long)", "alloc_bytes"));
	if (checks)
		want_eq(t, "frees inside and outside", site->v[LED_FREE_CALLS], site_sum(t, root, p, "take_in(unsigned long)", "free_calls"));
	want_eq(t, "calls outside", 0, site_sum(t, root, p, "take_out(unsigned long)", "alloc_calls"));
	/* what exceptions themselves take is inside: they are thrown there */
	want_eq(t, "all calls", ju64(t, p, "totals.alloc_calls"), site_sum(t, root, p, "table::insert(unsigned long)", "alloc_calls"));
	fx__quit(t, &f);
}

TEST(within_exceptions) { exceptions(t, "full", 1); }
TEST(within_exceptions_count) { exceptions(t, "count", 0); }

/* From its first instruction; a function of a library that is loaded later; processes that come and go. */
TEST(within_of_a_program)
{
	const char *out = in_dir(t, "out.json"), *all = in_dir(t, "all.json"), *led = in_dir(t, "ledger");
	struct fx f = {};
	struct mt m;
	json_t *root;
	char *text;
	size_t n;

	want_eq(t, "exit", 0, mt__run(t, &m, "-o", out, "-q", SCOPES, "--", fixture("within"), "--auto", led, "20", NULL));
	text = read_all(led, &n);
	must(t, text && ledger__parse(&f.led, text), "the ledger, wanted, got\n%s", text ? text : "nothing");
	root = load_json(t, out);
	want_invariants(t, root);
	want_ledger(t, root, jget(root, "processes[0]"), &f.led, LED_ONLY | LED_REALLOC | LED_PEAK);
	/* not to be compared with what was recorded everywhere */
	want_eq(t, "exit of a trace without it", 0, mt__run(t, &m, "-o", all, "-q", "--", fixture("within"), "--auto", led, "20", NULL));
	want_eq(t, "exit of diff", 1, mt__run(t, &m, "diff", out, all, NULL));
	want(t, strstr(m.c.errs.s, "cannot be compared: one was recorded only inside of scope_plain"), "why not, wanted, got\n%s", m.c.errs.s);
	want_eq(t, "exit of -f", 0, mt__run(t, &m, "-f", "-o", out, "-q", SCOPES, "--", fixture("within"), "--auto", led, "20", NULL));
	want_ledger(t, load_json(t, out), jget(load_json(t, out), "processes[0]"), &f.led, LED_ONLY | LED_REALLOC | LED_PEAK);
}

TEST(within_says_what_is_wrong)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "within", "1", NULL);
	want_eq(t, "exit", 1, mt__run(t, &m, "-p", pid_arg(f.c.pid), "--within", "scope_plane", NULL));
	want(t, strstr(m.c.errs.s, "--within scope_plane: no such function"), "what was not found, wanted, got\n%s", m.c.errs.s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--within", "other_sig", NULL);
	mt__wait_attached(t, &m);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "only inside of other_sig"), "what is recorded, wanted in the header, got\n%s", m.c.outs.s);
	want(t, strstr(m.c.errs.s, "--within other_sig: was not called"), "that nothing could be, wanted, got\n%s", m.c.errs.s);
	fx__quit(t, &f);
}
