// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Objects of up to 512 bytes: their arenas, which are recorded unasked and with --mmap, and they themselves, where Python was started for it. */
#include "python_truth.h"

#include <string.h>

/* Each arena belongs to the line that made its allocator map it, and ends when that gives it back. */
static void want_arenas(struct test *t, const char *option, const char *function)
{
	struct spawn s = { .argv = { python(t), fixture("python/arenas.py") } };
	uint64_t n_calls = 0, n_bytes = 0, n_frees = 0, bytes;
	json_t *root, *site;
	struct fx f;
	size_t i;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, option, NULL);
	bytes = ledger__note(t, &f.led, "arena_bytes");
	json_array_foreach(jget(root, "sites"), i, site) {
		if (strcmp(jstr(site, "function"), function) || !has_python_frame(site, "grow"))
			continue;
		want_u64(t, site, "min_size", bytes);
		want_u64(t, site, "max_size", bytes);
		n_calls += ju64(t, site, "alloc_calls");
		n_bytes += ju64(t, site, "alloc_bytes");
		n_frees += ju64(t, site, "free_calls");
	}
	want(t, ledger__note(t, &f.led, "arenas") > 5, "arenas, wanted more than 5: the test says too little");
	want_eq(t, "arenas", ledger__note(t, &f.led, "arenas"), n_calls);
	want_eq(t, "their bytes", ledger__note(t, &f.led, "arenas") * bytes, n_bytes);
	want_eq(t, "arenas that were given back", ledger__note(t, &f.led, "given_back"), n_frees);
	fx__quit(t, &f);
}

TEST(python_arenas)
{
	want_arenas(t, "--mmap", "mmap");
}

/* They are most of what a Python program keeps: without an option they are recorded, alone of all mappings. */
TEST(python_arenas_unasked)
{
	want_arenas(t, NULL, "arena");
}

/* From its start on, each of them: Python's own allocator is out of the way. */
TEST(python_every_object)
{
	static const char program[] = "def make(n):\n return [object() for _ in range(n)]\nkept = make(5000)\n";
	uint64_t n = 0;
	json_t *root, *site;
	struct mt m;
	size_t i;

	mt__start(t, &m, "--json", "--", "/usr/bin/env", "PYTHONMALLOC=malloc", python(t), "-S", "-c", program, NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		if (has_python_frame(site, "make") && ju64(t, site, "max_size") == 16)
			n += ju64(t, site, "alloc_calls");
	want_eq(t, "objects of 16 bytes", 5000, n);
}
