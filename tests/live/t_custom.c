// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Allocators of one's own, C++, and calls that never return. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static json_t *custom(struct test *t, const char *name, const char *what, const char *n, int want_exit, unsigned int checks)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, what, n, NULL);
	root = trace(t, &f, want_exit, "-O", fixture("liballoc.so"), "--sym", "malloc=my_alloc", "--sym", "calloc=my_calloc", "--sym",
		     "realloc=my_realloc", "--sym", "free=my_free", NULL);
	if (checks)
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &f);
	return root;
}

TEST(custom_nested_calls) { custom(t, "custom", "nested", "1000", 0, LED_ALL); }
TEST(custom_nested_calls_nofp) { custom(t, "custom.nofp", "nested", "1000", 0, LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK); }

/* After each jump come calls from deeper, equal and shallower places: all of them are seen. */
TEST(custom_longjmp)
{
	json_t *root = custom(t, "custom", "jumps", "100", 0, LED_ALL);

	want(t, ju64(t, root, "edges.abandoned") > 0, "edges.abandoned, wanted more than 0, got 0");
}

TEST(custom_longjmp_nofp) { custom(t, "custom.nofp", "jumps", "100", 0, LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK); }
TEST(custom_thread_exit) { custom(t, "custom", "dying", "5000", 0, LED_ALL & ~LED_ONLY & ~LED_PEAK); }

TEST(custom_missed_free)
{
	json_t *root = custom(t, "custom", "missed", "1", 3, 0), *p = jget(root, "processes[0]");

	want_u64(t, root, "losses.missed_free", 10);
	want_u64(t, p, "missed_frees", 10);
	want_u64(t, root, "losses.total", 10);
	want_u64(t, root, "totals.alloc_calls", 20);
	want_u64(t, root, "totals.live_blocks", 10);
	want_u64(t, root, "totals.live_bytes", 2000);
	want_eq(t, "live blocks of the overwritten site", 0, site_sum(t, root, p, "site_alloc", "live_blocks"));
	want_eq(t, "live blocks of the new site", 10, site_sum(t, root, p, "site_again", "live_blocks"));
}

TEST(custom_prefix)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "prefix", NULL);
	root = trace(t, &f, 0, "--prefix", "pre_", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* A function of --sym makes its file an allocator, also without a free; a name that is nowhere is told. */
TEST(custom_names)
{
	static const struct {
		const char *args[4];
		int status;	/* blocks whose frees nobody sees come again at the same address */
		const char *says;
	} cases[] = {
		{ { "--sym", "malloc=my_alloc" }, 3, NULL },
		{ { "--sym", "malloc=my_aloc" }, 0, "no mapped file defines my_aloc" },
		{ { "--sym", "malloc=my_alloc", "--sym", "free=my_fre" }, 3, "no mapped file defines my_fre" },
		{ { "--prefix", "my__" }, 0, "both a malloc and a free of that prefix" },
		{ { "--prefix", "_rjem_" }, 0, "both a malloc and a free of that prefix" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fx f;
		struct mt m;
		json_t *root;

		fx__start(t, &f, "custom", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", cases[i].args[0], cases[i].args[1], cases[i].args[2], cases[i].args[3], NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		root = mt__stop_json(t, &m, SIGINT, cases[i].status);
		if (!i)
			want(t, ju64(t, root, "losses.missed_free") > 0 && ju64(t, root, "totals.alloc_calls") > 0, "calls of my_alloc, wanted some");
		want(t, cases[i].says ? strstr(m.c.errs.s, cases[i].says) != NULL : !strstr(m.c.errs.s, "no mapped file"), "case %zu: stderr: %s", i, m.c.errs.s);
		json_decref(root);
		fx__quit(t, &f);
	}
}

/* An allocator that is loaded after the attachment is noticed and told. */
TEST(custom_loaded_late)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "life", "late", fixture("libpre.so"), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--prefix", "pre_", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: ", "libpre.so", patience_s(60));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP | LED_REALLOC);
	fx__quit(t, &f);
}

/* ---- C++ */

static void cxx_forms(struct test *t, const char *library)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, library, "cxx", "forms");
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_TEMP | LED_REALLOC | LED_PEAK);
	fx__quit(t, &f);
}

TEST(cxx_glibc) { cxx_forms(t, NULL); }
TEST(cxx_jemalloc) { cxx_forms(t, "libjemalloc.so.2"); }
TEST(cxx_tcmalloc) { cxx_forms(t, "libtcmalloc_minimal.so.4"); }
TEST(cxx_mimalloc) { cxx_forms(t, "libmimalloc.so.2.0"); }

/* Each refusal is a failed call, and each exception a block of its own, that came and went. */
static void want_failures(struct test *t, json_t *root, json_t *p, const struct fx *f)
{
	static const char *const where[] = { "throws_here", "refused_here" };

	want_eq(t, "calls refused", 100, ledger__note(t, &f->led, "refused"));
	want_eq(t, "exceptions under throws_here", 100, site_sum(t, root, p, "throws_here", "alloc_calls"));
	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
		want_eq(t, where[i], 100, site_sum(t, root, p, where[i], "failed_calls"));
		want_eq(t, where[i], site_sum(t, root, p, where[i], "alloc_calls"), site_sum(t, root, p, where[i], "free_calls"));
	}
	want_u64(t, root, "totals.failed_calls", 200);
	want_u64(t, root, "totals.unknown_frees", 0);
	want_u64(t, root, "edges.abandoned", 0);
	want_u64(t, root, "edges.return_only", 0);
	want_u64(t, root, "edges.own_frees", 0);
}

/*
 * operator new leaves by an exception: the program must catch it as it does
 * untraced. An allocator that ends the program itself at this point (mimalloc
 * built as C) must do so in the same way.
 */
static void cxx_throws(struct test *t, const char *name, const char *library)
{
	struct fx bare, f;
	struct mt m;
	json_t *root, *p;
	int bare_end;

	fx__start_preloaded(t, &bare, library, name, "throw");
	fx__send(t, &bare, 'g');
	bare_end = child__wait(t, &bare.c);
	fx__start_preloaded(t, &f, library, name, "throw");
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	if (bare_end) {
		fx__send(t, &f, 'g');
		want_eq(t, "the program's end, as without a trace", (uint64_t)bare_end, (uint64_t)child__wait(t, &f.c));
		root = mt__stop_json(t, &m, 0, 0);
		want_bool(t, root, "processes[0].ended", true);
		return;
	}
	fx__go(t, &f);
	want_eq(t, "exceptions caught", 100, ledger__note(t, &f.led, "caught"));
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, LED_TEMP);
	want_eq(t, "live blocks", 50, ju64(t, p, "totals.live_blocks"));
	want_failures(t, root, p, &f);
	fx__quit(t, &f);
}

TEST(cxx_throws_glibc) { cxx_throws(t, "cxx", NULL); }
TEST(cxx_throws_jemalloc) { cxx_throws(t, "cxx", "libjemalloc.so.2"); }
TEST(cxx_throws_tcmalloc) { cxx_throws(t, "cxx", "libtcmalloc_minimal.so.4"); }
TEST(cxx_throws_mimalloc) { cxx_throws(t, "cxx", "libmimalloc.so.2.0"); }
TEST(cxx_throws_static) { cxx_throws(t, "cxx.static", NULL); }

/* A call that threw and went on all the same was told as failed, and its block is told as unseen. */
TEST(cxx_throws_handled)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "cxx.static", "handled", NULL);
	root = trace(t, &f, 3, NULL);
	want_eq(t, "exceptions of the handler", 10, ledger__note(t, &f.led, "handled"));
	want_u64(t, root, "losses.missed_return", 10);
	want_u64(t, root, "losses.total", 10);
	fx__quit(t, &f);
}
