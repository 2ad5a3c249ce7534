// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * How long the live view takes from a key to the new screen, and from a snapshot to
 * it: bench/keys SITES. Medians and the longest, by key; the terminal is not in it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../tests/unit/sample_snapshot.h"
#include "present/top/top.h"
#include "util/util.h"

#define ROUNDS 15
#define ROWS 50
#define COLS 160

static const struct {
	const char *what;
	int keys[12];		/* up to a 0 */
} steps[] = {
	{ "down", { TOP_KEY_DOWN } },
	{ "page down", { TOP_KEY_PAGE_DOWN } },
	{ "another view: allocs", { '2' } },
	{ "another view: peak", { '3' } },
	{ "another view: processes", { '4' } },
	{ "another view: threads", { '5' } },
	{ "back to leaks", { '1' } },
	{ "another order", { 's' } },
	{ "tree", { 't' } },
	{ "out of the tree", { 't' } },
	{ "the stack of a row", { TOP_KEY_ENTER } },
	{ "out of it", { TOP_KEY_ESC } },
	{ "a letter of a filter", { '/', 'f' } },
	{ "the filter", { TOP_KEY_ENTER } },
	{ "no filter", { '/', TOP_KEY_BACKSPACE, TOP_KEY_ENTER } },
};

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void tell(const char *what, uint64_t *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), by_time);
	printf("  %-28s %8.2f ms   at most %8.2f ms\n", what, ns[ROUNDS / 2] / 1e6, ns[ROUNDS - 1] / 1e6);
}

int main(int argc, char **argv)
{
	size_t n_sites = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	struct top_opts o = { .suffix = ".html", .suffixes = ".html", .interval_ns = 1000000000 };
	static uint64_t ns[ARRAY_SIZE(steps)][ROUNDS], update_ns[ROUNDS];
	struct top *t = top__new(&o);
	struct grid g = {};

	if (!n_sites)
		return 1;
	grid__resize(&g, ROWS, COLS);
	for (size_t round = 0; round < ROUNDS; round++) {
		struct snapshot *s = sample__big(n_sites);
		uint64_t start = now_ns();

		top__update(t, s);
		top__draw(t, &g);
		update_ns[round] = now_ns() - start;
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
			start = now_ns();
			for (size_t k = 0; k < ARRAY_SIZE(steps[i].keys) && steps[i].keys[k]; k++)
				top__key(t, steps[i].keys[k]);
			top__draw(t, &g);
			ns[i][round] = now_ns() - start;
		}
	}
	printf("%zu sites, a screen of %d x %d\n", n_sites, COLS, ROWS);
	tell("a new snapshot", update_ns);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		tell(steps[i].what, ns[i]);
	grid__done(&g);
	top__free(t);
	return 0;
}
