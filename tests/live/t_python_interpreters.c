// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Interpreters inside of others: the frames of a thread go on where the inner one was called. */
#include "python_truth.h"

#include <signal.h>
#include <string.h>

#define MAIN "main", "<module>"
#define THREAD "thread", "Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"

/* Functions of Python, the innermost first, of blocks of this size. */
static const struct {
	uint64_t size;
	const char *functions[12];
} wanted[] = {
	{ 70001, { "held", "inner", "<module>", "run", MAIN } },
	{ 70003, { "inner", "<module>", "run", MAIN } },
	{ 70005, { "held", "inner", "<module>", "run", THREAD } },
	{ 70007, { "inner", "<module>", "run", THREAD } },
	{ 70009, { "outer", MAIN } },
};

static uint64_t want_site(struct test *t, json_t *site, const char *const *functions)
{
	json_t *frame;
	size_t i, n = 0;

	json_array_foreach(jget(site, "stack"), i, frame) {
		if (!is_python(frame))
			continue;
		if (!want(t, functions[n] && !strcmp(functions[n], jstr(frame, "function")), "frame %zu of Python, wanted %s: %.600s", n, functions[n] ?: "no more",
			  chain__draw(jget(site, "stack"))))
			return 0;
		n++;
	}
	want(t, !functions[n], "wanted %s after %zu frames of Python: %.600s", functions[n], n, chain__draw(jget(site, "stack")));
	want(t, !count_frames(site, is_eval) && !strcmp(jstr(site, "end"), "whole"), "wanted a whole stack, without frames of the interpreter, got one that is '%s': %.600s",
	     jstr(site, "end"), chain__draw(jget(site, "stack")));
	return ju64(t, site, "alloc_calls");
}

TEST(python_interpreters)
{
	struct spawn s = { .argv = { python(t), fixture("python/interpreters.py") } };
	json_t *root, *site;
	struct fx f;
	size_t i;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, NULL);
	for (size_t k = 0; k < sizeof(wanted) / sizeof(*wanted); k++) {
		uint64_t n = 0;

		json_array_foreach(jget(root, "sites"), i, site)
			if (ju64(t, site, "max_size") == wanted[k].size)
				n += want_site(t, site, wanted[k].functions);
		want(t, n == 10, "%lu blocks of %lu bytes, wanted 10", (unsigned long)n, (unsigned long)wanted[k].size);
	}
	fx__quit(t, &f);
}
