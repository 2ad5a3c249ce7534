// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Programs that change the rights of their own code, or write over it: what is mapped from a file stays known, and no stack
 * is called whole that goes through code which need not be what the file has.
 */
#include "chain.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_BYTES 700
#define BELOW_MAIN "main", "~__libc_start_call_main", "~__libc_start_main|__libc_start_main_impl|__libc_start_main@@GLIBC_2.34", "~_start"

static const char *const words[] = { "alloc_here", "patched", "through_patched", "calls", BELOW_MAIN, NULL };
static const char *const later_words[] = { "alloc_here", "patched", "through_patched", "calls_later", BELOW_MAIN, NULL };

/* A snapshot was written, and another one: malloctrace has handled in between what the kernel had told it before. */
static void wait_until_looked(struct test *t, struct mt *m, const char *name, unsigned int *n)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (unsigned int i = 0; i < 2; i++) {
		const char *path = in_dir(t, "%s.%u.json", name, ++*n);
		json_t *root;

		child__kill(t, &m->c, SIGUSR1);
		for (root = NULL; !root; nanosleep(&ms, NULL))
			root = with_frames(json_load_file(path, 0, NULL));
		json_decref(root);
	}
}

/* Three rounds; after each malloctrace has heard of what was done. */
static json_t *rounds(struct test *t, struct fx *f, const char *program, const char *way, const char *method)
{
	const char *path = in_dir(t, "%s-%s-%s.json", program, way, method);
	unsigned int n = 0;
	char name[64];
	json_t *root;
	struct mt m;

	snprintf(name, sizeof(name), "%s-%s-%s", program, way, method);
	fx__start(t, f, program, way, NULL);
	mt__start(t, &m, "-p", pid_arg(f->c.pid), "--unwind", method, "--batch", "-o", path, NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 3; i++) {
		fx__go(t, f);
		wait_until_looked(t, &m, name, &n);
	}
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, path);
	want_lossless(t, root);
	return root;
}

static void want_one_site(struct test *t, json_t *root, uint64_t size, uint64_t calls, const char *const *chain)
{
	uint64_t n_rows = 0;
	json_t *site;
	size_t i, at;

	json_array_foreach(jget(root, "sites"), i, site) {
		if (ju64(t, site, "min_size") != size)
			continue;
		n_rows++;
		want_eq(t, "calls", calls, ju64(t, site, "alloc_calls"));
		want(t, !strcmp(jstr(site, "end"), "whole"), "end: wanted whole, got %s", jstr(site, "end"));
		want(t, chain__fits(chain, jget(site, "stack"), &at), "frame %zu is not the wanted one: %s", at, chain__draw(jget(site, "stack")));
	}
	want_eq(t, "sites", 1, n_rows);
}

/* One site before and after, with all of its names; and so is what is first met afterwards. */
static void rights(struct test *t, const char *program, const char *method)
{
	struct fx f;
	json_t *root = rounds(t, &f, program, "rights", method);
	uint64_t calls = ledger__note(t, &f.led, "calls");

	want_one_site(t, root, FIRST_BYTES, 3 * calls, words);
	want_one_site(t, root, FIRST_BYTES + 1, 2 * calls, later_words);
	fx__quit(t, &f);
}

TEST(code_rights)
{
	rights(t, "patched", "auto");
	rights(t, "patched", "table");
}

TEST(code_rights_nofp) { rights(t, "patched.nofp", "auto"); }

/*
 * Whole before; from then on neither at once nor later; and still known by file and name. first: the first round of what was
 * written over. The rounds that follow may be one site, and others it is of none before.
 */
static void written_over(struct test *t, const char *program, const char *way, const char *method, uint64_t first)
{
	struct fx f;
	json_t *root = rounds(t, &f, program, way, method), *site;
	uint64_t n_whole = 0, n_unsure = 0;
	size_t i, at;

	json_array_foreach(jget(root, "sites"), i, site) {
		json_t *stack = jget(site, "stack");
		uint64_t least = ju64(t, site, "min_size"), most = ju64(t, site, "max_size");
		bool before = least < FIRST_BYTES + first;
		bool whole = !strcmp(jstr(site, "end"), "whole");

		if (least < FIRST_BYTES || most > FIRST_BYTES + 2)
			continue;
		*(before ? &n_whole : &n_unsure) += ju64(t, site, "alloc_calls");
		want(t, whole == before, "%s, %s, %s, %lu to %lu bytes: end: wanted %s, got %s: %s", program, way, method, (unsigned long)least,
		     (unsigned long)most, before ? "whole" : "another", jstr(site, "end"), chain__draw(stack));
		want(t, !before || (most == least && chain__fits(words, stack, &at)), "before: not the wanted stack: %s", chain__draw(stack));
		want(t, !strcmp(jstr(json_array_get(stack, 0), "function"), "alloc_here") && !strcmp(jstr(json_array_get(stack, 1), "function"), "patched"),
		     "wanted alloc_here < patched, got %s", chain__draw(stack));
	}
	want_eq(t, "calls before", first * ledger__note(t, &f.led, "calls"), n_whole);
	want_eq(t, "calls from then on", (3 - first) * ledger__note(t, &f.led, "calls"), n_unsure);
	fx__quit(t, &f);
}

TEST(code_patched)
{
	written_over(t, "patched", "rwx", "auto", 1);
	written_over(t, "patched", "rwx", "table", 1);
}

TEST(code_patched_nofp) { written_over(t, "patched.nofp", "rwx", "auto", 1); }

/* No record tells that it was writable for a moment. */
TEST(code_patched_unseen)
{
	written_over(t, "patched", "rw", "auto", 1);
	written_over(t, "patched", "rw", "table", 1);
}

TEST(code_patched_before_attach)
{
	written_over(t, "patched", "before", "auto", 0);
	written_over(t, "patched", "before", "table", 0);
}
