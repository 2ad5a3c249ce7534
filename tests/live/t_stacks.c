// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Stacks, frame by frame: chains whose every function is known, in programs
 * built in every way that matters to unwinding, walked by each method.
 *
 * A chain is a list of words, one per frame from the allocation's caller on
 * (chain.h). A block's size tells which chain it belongs to.
 */
#include "chain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORDS 24

#ifdef __x86_64__
#define ARM64 0
#else
#define ARM64 1
#endif

/* what the C library puts below main, and below a thread's function */
#define BELOW_MAIN "main", "~__libc_start_call_main", "~__libc_start_main|__libc_start_main_impl|__libc_start_main@@GLIBC_2.34", "~_start"
#define BELOW_THREAD "~start_thread", "~thread_start|clone|__clone|clone3|__clone3"
#define SIGNAL_FRAME "~__kernel_rt_sigreturn|__restore_rt"

enum {
	BY_FP = 1,		/* frame pointers suffice, if the program has them */
	SHARED = 2,		/* not in a static program */
	FP_PROGRAM = 8,		/* only in a program that has frame pointers ... */
	NOFP_PROGRAM = 16,	/* ... or has none */
	GUESSED = 32,		/* through code without tables: right here, but not proven, and it says so */
};

struct chain {
	const char *name;
	uint64_t size;
	unsigned int flags;
	const char *word[MAX_WORDS];
};

static const struct chain chains[] = {
	{ "plain", 1001, BY_FP, { "alloc_here", "plain_4", "plain_3", "plain_2", "plain_1", BELOW_MAIN } },
	{ "recursion", 1002, BY_FP, { "alloc_here", "recurse*90", "chains", BELOW_MAIN } },
	{ "qsort", 1003, BY_FP, { "alloc_here", "compare", "+", "through_qsort", "chains", BELOW_MAIN } },
	{ "PLT", 1004, BY_FP | SHARED, { "alloc_here", "plt_inner", "plt_outer", "through_plt", "chains", BELOW_MAIN } },
	{ "one twin", 1013, BY_FP, { "alloc_here", "twin_below", "twin_a", BELOW_MAIN } },
	{ "the other", 1014, BY_FP, { "alloc_here", "twin_below", "twin_b", BELOW_MAIN } },
	{ "alloca", 1005, BY_FP, { "alloc_here", "with_alloca", "chains", BELOW_MAIN } },
	{ "large frame", 1006, BY_FP, { "alloc_here", "with_large_frame", "chains", BELOW_MAIN } },
	{ "signal", 1007, 0,
	  { "alloc_here", "on_signal", SIGNAL_FRAME, "compute_leaf", "compute", "in_signal", "chains", BELOW_MAIN } },
	{ "signal on a stack of its own", 1008, 0,
	  { "alloc_here", "on_signal", SIGNAL_FRAME, "compute_leaf", "compute", "in_signal", "chains", BELOW_MAIN } },
	{ "signal at a first instruction", 1015, 0, { "alloc_here", "on_stop", SIGNAL_FRAME, "stop_first", "in_stop", "chains", BELOW_MAIN } },
	{ "thread", 1009, BY_FP, { "alloc_here", "in_thread", "thread_first", BELOW_THREAD } },
	/* on arm64 a frame record does not tell where its caller's frame begins: without one there, that is the end */
	{ "assembly with a frame pointer", 1010, GUESSED | BY_FP | (ARM64 ? FP_PROGRAM : 0), { "alloc_here", "asm_fp", "through_asm_fp", "chains", BELOW_MAIN } },
	{ "assembly with a frame pointer, called without", 1010, GUESSED | (ARM64 ? NOFP_PROGRAM : FP_PROGRAM | NOFP_PROGRAM),
	  { "alloc_here", "asm_fp", "through_asm_fp" } },
	{ "assembly without", 1011, GUESSED | BY_FP, { "alloc_here", "asm_none" } },
	{ "code of no file", 1012, GUESSED | BY_FP | (ARM64 ? FP_PROGRAM : 0), { "alloc_here", "?", "through_jit", "chains", BELOW_MAIN } },
	{ "code of no file, called without", 1012, GUESSED | (ARM64 ? NOFP_PROGRAM : FP_PROGRAM | NOFP_PROGRAM),
	  { "alloc_here", "?", "through_jit" } },
};

/* ---- matching */

static json_t *site_of_size(json_t *root, uint64_t size)
{
	json_t *s;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, s)
		if (json_integer_value(jget(s, "min_size")) == (json_int_t)size && json_integer_value(jget(s, "max_size")) == (json_int_t)size)
			return s;
	return NULL;
}

static bool want_chain(struct test *t, json_t *root, const char *name, uint64_t size, const char *const *words)
{
	json_t *s = site_of_size(root, size), *stack = jget(s, "stack");
	size_t at;
	bool ok;

	if (!want(t, s != NULL, "%s: a site with blocks of %lu bytes, wanted one, got none", name, (unsigned long)size))
		return false;
	ok = chain__fits(words, stack, &at);
	return want(t, ok, "%s: frame %zu of %zu is not the wanted one: %s", name, at, json_array_size(stack), chain__draw(stack));
}

static void want_ends(struct test *t, json_t *root, uint64_t n_unsure, uint64_t n_deep)
{
	uint64_t n = json_array_size(jget(root, "sites"));

	want_u64(t, root, "stacks.whole", n - n_unsure - n_deep);
	want_u64(t, root, "stacks.unsure", n_unsure);
	want_u64(t, root, "stacks.depth", n_deep);
	want_u64(t, root, "stacks.no_rule", 0);
	want_u64(t, root, "stacks.unreadable", 0);
}

static const char *end_of(json_t *root, uint64_t size)
{
	return jstr(site_of_size(root, size), "end");
}

/* ---- every chain, in programs of each kind */

enum { HAS_FP = 1, IS_STATIC = 2, COUNTED = 4 };

/* Returns how many of them are not known to be whole. */
static uint64_t want_chains(struct test *t, json_t *root, unsigned int kind, const char *method)
{
	uint64_t n_unsure = 0;

	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++) {
		const struct chain *c = &chains[i];

		if ((c->flags & SHARED && kind & IS_STATIC) || (c->flags & FP_PROGRAM && !(kind & HAS_FP)) ||
		    (c->flags & NOFP_PROGRAM && kind & HAS_FP))
			continue;
		n_unsure += !!(c->flags & GUESSED);
		/* frame pointers alone: wrong where they do not lead, but never said to be whole there */
		if (!strcmp(method, "fp") && !(c->flags & BY_FP)) {
			want(t, !strcmp(end_of(root, c->size), "unsure"), "%s: end, wanted unsure, got %s", c->name, end_of(root, c->size));
			n_unsure++;
			continue;
		}
		want_chain(t, root, c->name, c->size, c->word);
		want(t, !strcmp(end_of(root, c->size), c->flags & GUESSED ? "unsure" : "whole"), "%s: end, wanted %s, got %s", c->name,
		     c->flags & GUESSED ? "unsure" : "whole", end_of(root, c->size));
	}
	return n_unsure;
}

static void all_chains(struct test *t, const char *program, unsigned int kind, const char *method)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, program, "chains", NULL);
	root = trace(t, &f, 0, "--unwind", method, kind & COUNTED ? "--mode" : NULL, "count", NULL);
	want_ends(t, root, want_chains(t, root, kind, method), 0);
	want_eq(t, "blocks", ledger__sum(&f.led, LED_ALLOC_CALLS),
		site_sum(t, root, process_of(t, root, f.c.pid, 0), "alloc_here", "alloc_calls"));
	fx__quit(t, &f);
}

TEST(stacks_auto) { all_chains(t, "stacks", HAS_FP, "auto"); }
TEST(stacks_table) { all_chains(t, "stacks", HAS_FP, "table"); }
TEST(stacks_nofp_auto) { all_chains(t, "stacks.nofp", 0, "auto"); }
TEST(stacks_nofp_table) { all_chains(t, "stacks.nofp", 0, "table"); }
TEST(stacks_static_auto) { all_chains(t, "stacks.static", IS_STATIC, "auto"); }
TEST(stacks_static_table) { all_chains(t, "stacks.static", IS_STATIC, "table"); }
TEST(stacks_static_pie_auto) { all_chains(t, "stacks.static-pie", IS_STATIC | HAS_FP, "auto"); }
TEST(stacks_static_pie_table) { all_chains(t, "stacks.static-pie", IS_STATIC | HAS_FP, "table"); }
/* At entries, where the function that was called may have made its own record already. */
TEST(stacks_at_entries)
{
	all_chains(t, "stacks", HAS_FP | COUNTED, "auto");
	all_chains(t, "stacks", HAS_FP | COUNTED, "table");
	all_chains(t, "stacks.nofp", COUNTED, "auto");
	all_chains(t, "stacks.static", IS_STATIC | COUNTED, "auto");
}

TEST(stacks_stripped_auto) { all_chains(t, "stacks.stripped", 0, "auto"); }
TEST(stacks_stripped_table) { all_chains(t, "stacks.stripped", 0, "table"); }

/* One file has more rules than there is room for: that is told of it, and others have theirs. */
TEST(stacks_beside_many_rules)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, fixture("librules.so"), "stacks.nofp", "chains");
	root = trace(t, &f, 3, "--unwind", "table", NULL);
	want_chains(t, root, 0, "table");
	want_u64(t, root, "losses.total", 1);
	want_u64(t, root, "losses.unwind_full", 1);
	fx__quit(t, &f);
}

/* Signed return addresses; a machine that cannot sign still has their rules in the tables. */
TEST(stacks_pac)
{
	all_chains(t, "stacks.pac", HAS_FP, "auto");
	all_chains(t, "stacks.pac", HAS_FP, "table");
}

TEST(stacks_pac_nofp)
{
	all_chains(t, "stacks.pac-nofp", 0, "auto");
	all_chains(t, "stacks.pac-nofp", 0, "table");
}

/* By frame pointers alone, where the whole machine's code has them. */
TEST(stacks_fp)
{
	if (!ARM64)
		skip(t, "the C library here keeps no frame pointers");
	all_chains(t, "stacks", HAS_FP, "fp");
	all_chains(t, "stacks.static-pie", HAS_FP | IS_STATIC, "fp");
}

/* ---- a little code without frame pointers, in a program of which nearly all has them; and what leads them astray */

static void mixed(struct test *t, const char *program, const char *method)
{
	static const struct {
		uint64_t size;
		const char *name, *end, *word[MAX_WORDS];
	} wanted[] = {
		{ 1001, "ten functions", "whole", { "plain_leaf", "m_8", "m_7", "m_6", "m_5", "m_4", "m_3", "m_2", "m_1", BELOW_MAIN } },
		{ 1002, "called at once", "whole", { "plain_leaf", "twice_below", "twice", BELOW_MAIN } },
		{ 1003, "called by the same instruction, with one between", "whole", { "plain_leaf", "twice_below", "twice_between", "twice", BELOW_MAIN } },
		{ 1004, "a forged record", "whole", { "plain_leaf", "liar_record", "through_liar", BELOW_MAIN } },
		{ 1005, "a stack of its own", "unsure", { "plain_leaf", "apart" } },
	};
	struct fx f;
	json_t *root;

	fx__start(t, &f, program, NULL);
	root = trace(t, &f, 0, "--unwind", method, NULL);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		want(t, !strcmp(end_of(root, wanted[i].size), wanted[i].end), "%s: end, wanted %s, got %s", wanted[i].name, wanted[i].end,
		     end_of(root, wanted[i].size));
		want_chain(t, root, wanted[i].name, wanted[i].size, wanted[i].word);
	}
	want_ends(t, root, 1, 0);
	want_eq(t, "blocks", ledger__sum(&f.led, LED_ALLOC_CALLS),
		site_sum(t, root, process_of(t, root, f.c.pid, 0), "plain_leaf", "alloc_calls"));
	fx__quit(t, &f);
}

TEST(stacks_mixed)
{
	mixed(t, "mixed", "auto");
	mixed(t, "mixed.nofp", "auto");
	mixed(t, "mixed.nofp-static", "auto");
	mixed(t, "mixed.nofp-static", "table");
}

/* ---- depth */

/* depth NULL: the default, at which it is cut. */
static void deep(struct test *t, const char *program, const char *method, const char *depth)
{
	static const char *const at_200[] = { "alloc_here", "recurse*200", BELOW_MAIN, NULL };
	static const char *const at_400[] = { "alloc_here", "recurse*400", BELOW_MAIN, NULL };
	static const char *const cut_127[] = { "alloc_here", "recurse*126", NULL };
	struct fx f;
	json_t *root;

	fx__start(t, &f, program, "deep", "200", depth ? "400" : NULL, NULL);
	root = trace(t, &f, 0, "--unwind", method, depth ? "--depth" : NULL, depth, NULL);
	want_chain(t, root, "200 deep", 2002, depth ? at_200 : cut_127);
	if (depth)
		want_chain(t, root, "400 deep", 2003, at_400);
	want_ends(t, root, 0, depth ? 0 : 1);
	fx__quit(t, &f);
}

TEST(stacks_deep_default)
{
	deep(t, "stacks", "auto", NULL);
	deep(t, "stacks", "table", NULL);
	deep(t, "stacks.nofp", "auto", NULL);
}

TEST(stacks_deep_512)
{
	deep(t, "stacks", "auto", "512");
	deep(t, "stacks", "table", "512");
	deep(t, "stacks.nofp", "auto", "512");
	deep(t, "stacks.static", "auto", "512");
}

/* ---- return addresses that are a function's first */

static const char *const by_hand_words[] = { "alloc_here", "in_coroutine", "ends_plain" };
static const char *const made_words[] = { "alloc_here", "leaves", "calls_last", "calls_out", BELOW_MAIN, NULL };

/* Nobody calls with such a return address but a function whose last instruction is a call: what was put there by hand is not proven. */
static void by_hand(struct test *t, const char *program, const char *method)
{
	struct fx f;
	json_t *root, *stack;

	fx__start(t, &f, program, NULL);
	root = trace(t, &f, 0, "--unwind", method, NULL);
	for (uint64_t size = 801; size <= 803; size++)
		want_eq(t, "calls", ledger__note(t, &f.led, "calls"), ju64(t, site_of_size(root, size), "alloc_calls"));
	/* by frame pointers alone the names are those of the functions before */
	stack = jget(site_of_size(root, 801), "stack");
	for (size_t i = 0; i < 3 && strcmp(method, "fp"); i++)
		want(t, !strcmp(jstr(json_array_get(stack, i), "function"), by_hand_words[i]), "%s, %s: frame %zu: wanted %s, got %s", program, method, i,
		     by_hand_words[i], chain__draw(stack));
	for (uint64_t size = 801; size <= 802; size++)
		want(t, !strcmp(end_of(root, size), "unsure"), "%s, %s: end of what was made by hand (%lu), wanted unsure, got %s: %s", program, method,
		     (unsigned long)size, end_of(root, size), chain__draw(jget(site_of_size(root, size), "stack")));
	if (strcmp(method, "fp")) {
		want_chain(t, root, "a call that was made", 803, made_words);
		want(t, !strcmp(end_of(root, 803), "whole"), "%s, %s: end of a call that was made, wanted whole, got %s", program, method, end_of(root, 803));
	}
	fx__quit(t, &f);
}

TEST(stacks_by_hand)
{
	by_hand(t, "byhand", "auto");
	by_hand(t, "byhand", "table");
	by_hand(t, "byhand", "fp");
}

TEST(stacks_by_hand_nofp)
{
	by_hand(t, "byhand.nofp", "auto");
	by_hand(t, "byhand.nofp", "table");
}

/* ---- a library that comes while the program is traced */

/* Allocations whose stack is as it should be. */
static uint64_t n_right(json_t *root, const char *const *words)
{
	uint64_t n = 0;
	json_t *s;
	size_t i, at;

	json_array_foreach(jget(root, "sites"), i, s)
		n += chain__fits(words, jget(s, "stack"), &at) ? (uint64_t)json_integer_value(jget(s, "alloc_calls")) : 0;
	return n;
}

/*
 * The tables follow as soon as malloctrace has heard of the mapping: each round
 * allocates once and looks, until a stack is right; from then on all must be.
 */
static void late(struct test *t, const char *program, const char *library, const char *method)
{
	static const char *const words[] = { "alloc_here", "late_inner", "late_outer", "through_late", BELOW_MAIN, NULL };
	const struct timespec ms = { 0, 1000000 };
	unsigned int right = 0;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, program, "late", fixture(library), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--unwind", method, "--batch", "-o", in_dir(t, "%s-%s-%s.json", program, library, method), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);		/* it is open now */
	for (unsigned int round = 1; round <= 100 && right < 5; round++) {
		const char *path = in_dir(t, "%s-%s-%s.%u.json", program, library, method, round);
		uint64_t n;

		fx__go(t, &f);
		child__kill(t, &m.c, SIGUSR1);
		for (root = NULL; !root; nanosleep(&ms, NULL))
			root = with_frames(json_load_file(path, 0, NULL));
		n = n_right(root, words);
		want(t, !right || n == right + 1, "%s in %s, %s: a stack was right, the next one is not (%s)", library, program, method, path);
		right = (unsigned int)n;
		json_decref(root);
	}
	want(t, right >= 5, "%s in %s, %s: right stacks, wanted 5, got %u in 100 rounds", library, program, method, right);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
}

TEST(stacks_late_library)
{
	late(t, "stacks", "libstacks.so", "auto");
	late(t, "stacks.nofp", "libstacks.nofp.so", "auto");
	late(t, "stacks", "libstacks.nofp.so", "table");
}

/* It has no frame pointers in a process that was walked by them so far. */
TEST(stacks_late_library_changes_method) { late(t, "stacks", "libstacks.nofp.so", "auto"); }

/* ---- another tracer's return probe in the middle of the chain */

#define N_PENDING 6

/* where: the function that the other tracer's probe is on, of the program's own file. */
static void pending(struct test *t, const char *program, const char *where, uint64_t n_hits, const char *method)
{
	uint64_t hits = 0;
	struct fx f;
	struct mt m;
	json_t *root;
	int fd;

	fx__start(t, &f, program, "place", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--unwind", method, "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fd = other_uretprobe(t, fixture(program), ledger__note(t, &f.led, where), f.c.pid);
	fx__go(t, &f);
	must(t, read(fd, &hits, sizeof(hits)) == sizeof(hits), "read: %s", strerror(errno));
	want_eq(t, "hits of the other tracer's probe", n_hits, hits);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++)
		if (chains[i].size == 1001 || chains[i].size == 1013 || chains[i].size == 1014) {
			want_chain(t, root, chains[i].name, chains[i].size, chains[i].word);
			want_u64(t, site_of_size(root, chains[i].size), "alloc_calls", N_PENDING);
		}
	want_ends(t, root, 0, 0);
	close(fd);
	fx__quit(t, &f);
}

TEST(stacks_pending_uretprobe)
{
	pending(t, "stacks", "plain_2", N_PENDING, "table");
	pending(t, "stacks.nofp", "plain_2", N_PENDING, "auto");
	pending(t, "stacks.static", "plain_2", N_PENDING, "table");
}

/* On malloc itself: what it returns to is known to the kernel alone. */
TEST(stacks_pending_first)
{
	pending(t, "stacks.static", "malloc", 3 * N_PENDING, "auto");
	pending(t, "stacks.static-pie", "malloc", 3 * N_PENDING, "auto");
	pending(t, "stacks.static-pie", "malloc", 3 * N_PENDING, "table");
}

TEST(stacks_pending_uretprobe_fp)
{
	if (!ARM64)
		skip(t, "the C library here keeps no frame pointers");
	pending(t, "stacks", "plain_2", N_PENDING, "fp");
	pending(t, "stacks.static-pie", "malloc", 3 * N_PENDING, "fp");
}

/* ---- C++ */

static void want_line(struct test *t, const struct fx *f, json_t *frame, const char *function, const char *note, bool inlined)
{
	const char *file = strrchr(jstr(frame, "file"), '/');

	want(t, chain__one_of(function, jstr(frame, "function")), "an inlined frame, wanted %s, got '%s'", function, jstr(frame, "function"));
	want(t, !strcmp(file ? file + 1 : jstr(frame, "file"), "stacks_cxx.cc"), "%s: file, wanted stacks_cxx.cc, got '%s'", function,
	     jstr(frame, "file"));
	want_u64(t, frame, "line", ledger__note(t, &f->led, note));
	want_bool(t, frame, "inlined", inlined);
}

static void cxx_chains(struct test *t, const char *program, const char *method)
{
	static const char *const catching[] = { "alloc_here", "catches", BELOW_MAIN, NULL };
	static const char *const cleaning[] = { "alloc_here", "guard::~guard", "guarded", "unwinds", BELOW_MAIN, NULL };
	static const char *const inlined[] = { "alloc_here", "adder<7>::inner", "adder<7>::outer", "has_inlined", BELOW_MAIN, NULL };
	static const char *const throwing[] = { "__cxa_allocate_exception", "throws*3", "catches", BELOW_MAIN, NULL };
	static const char *const throwing_guarded[] = { "__cxa_allocate_exception", "throws", "guarded", "unwinds", BELOW_MAIN, NULL };
	unsigned int n_throwing = 0, n_guarded = 0;
	struct fx f;
	json_t *root, *s;
	size_t i, at;

	fx__start(t, &f, program, NULL);
	root = trace(t, &f, 0, "--unwind", method, NULL);
	want_chain(t, root, "in a catch block", 1001, catching);
	want_chain(t, root, "in a destructor while an exception passes", 1002, cleaning);
	if (want_chain(t, root, "inlined templates", 1003, inlined)) {
		json_t *stack = jget(site_of_size(root, 1003), "stack");

		want_line(t, &f, json_array_get(stack, 1), "adder<7>::inner", "line_inner", true);
		want_line(t, &f, json_array_get(stack, 2), "adder<7>::outer", "line_outer", true);
		want_line(t, &f, json_array_get(stack, 3), "has_inlined", "line_caller", false);
	}
	json_array_foreach(jget(root, "sites"), i, s) {
		n_throwing += chain__fits(throwing, jget(s, "stack"), &at);
		n_guarded += chain__fits(throwing_guarded, jget(s, "stack"), &at);
	}
	want_eq(t, "stacks of the exception's own block", 1, n_throwing);
	want_eq(t, "stacks of the block of the exception that passes a destructor", 1, n_guarded);
	want_ends(t, root, 0, 0);
	fx__quit(t, &f);
}

TEST(stacks_cxx)
{
	cxx_chains(t, "stacks_cxx", "auto");
	cxx_chains(t, "stacks_cxx", "table");
}

TEST(stacks_cxx_nofp)
{
	cxx_chains(t, "stacks_cxx.nofp", "auto");
	cxx_chains(t, "stacks_cxx.nofp", "table");
}
