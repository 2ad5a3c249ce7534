// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Objects of up to 512 bytes: their arenas, which --mmap sees, and they themselves, where Python was started for it. */
#include "python_truth.h"

#include <string.h>

/* Each arena belongs to the line that made its allocator map it, and ends when that gives it back. */
TEST(python_arenas)
{
	struct spawn s = { .argv = { python(t), fixture("python/arenas.py") } };
	uint64_t n_calls = 0, n_bytes = 0, n_frees = 0, bytes;
	json_t *root, *site;
	struct fx f;
	size_t i;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, "--mmap", NULL);
	bytes = ledger__note(t, &f.led, "arena_bytes");
	json_array_foreach(jget(root, "sites"), i, site) {
		if (strcmp(jstr(site, "function"), "mmap") || !has_python_frame(site, "grow"))
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

#define NO_NOTICE "Python takes no notice of PYTHONMALLOC"

/* From its start on, each of them: Python's own allocator is out of the way. Not with -I or -E, which tell it to take no notice. */
TEST(python_objects)
{
	static const char program[] = "def make(n):\n return [object() for _ in range(n)]\nkept = make(5000)\n";
	uint64_t n = 0;
	json_t *root, *site;
	struct mt m;
	size_t i;

	mt__start(t, &m, "--json", "--python-objects", "--", python(t), "-S", "-c", program, NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		if (has_python_frame(site, "make") && ju64(t, site, "max_size") == 16)
			n += ju64(t, site, "alloc_calls");
	want_eq(t, "objects of 16 bytes", 5000, n);
	want(t, !strstr(m.c.errs.s, NO_NOTICE), "wanted no word of -I, got: %.300s", m.c.errs.s);
}

TEST(python_objects_of_an_isolated_one)
{
	static const struct {
		const char *option;
		bool told;
	} lines[] = {
		{ "-SI", true }, { "-E", true }, { "-XI", false }, { "-S", false },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct mt m;

		mt__start(t, &m, "--json", "--python-objects", "--", python(t), lines[i].option, "-c", "0", "-I", NULL);
		mt__stop_json(t, &m, 0, 0);
		want_eq(t, lines[i].option, lines[i].told, strstr(m.c.errs.s, NO_NOTICE) != NULL);
	}
}
