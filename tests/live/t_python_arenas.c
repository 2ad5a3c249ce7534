// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Objects of up to 512 bytes: their arenas, which are recorded unasked and with --mmap, and they themselves, where Python was started for it. */
#include "python_truth.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void want_all_arenas(struct test *t, json_t *root, const struct ledger *l)
{
	uint64_t n_calls = 0, n_bytes = 0;
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (!strcmp(jstr(site, "function"), "arena")) {
			n_calls += ju64(t, site, "alloc_calls");
			n_bytes += ju64(t, site, "alloc_bytes");
		}
	want(t, ledger__note(t, l, "arenas") > 5,
	     "arenas, wanted more than 5: the test says too little");
	want_eq(t, "arenas", ledger__note(t, l, "arenas"), n_calls);
	want_eq(t, "their bytes", ledger__note(t, l, "arenas") * ledger__note(t, l, "arena_bytes"),
		n_bytes);
}

/*
 * Python has other names, and is started by others: what a process maps tells it, not what was
 * typed.
 */
TEST(python_arenas_of_commands)
{
	const char *py = python(t), *app = in_dir(t, "app"), *led = in_dir(t, "ledger"),
		   *arenas = fixture("python/arenas.py"), *out = in_dir(t, "out.json");
	const char *const lines[] = { py, "/usr/bin/env python3" };
	char shell[1024];

	must(t, !chmod(t->dir, 0777), "%s cannot be given to others", t->dir);
	snprintf(shell, sizeof(shell), "exec %s %s --auto %s", py, arenas, led);
	for (size_t i = 0; i < 4; i++) {
		struct ledger l = {};
		struct mt m;
		FILE *f = fopen(app, "w");
		char *text;

		must(t, f, "%s cannot be written", app);
		fprintf(f, "#!%s\nimport runpy, sys\nsys.path.insert(0, '%.*s')\n", lines[i % 2],
			(int)(strrchr(arenas, '/') - arenas), arenas);
		fprintf(f, "runpy.run_path('%s', run_name='__main__')\n", arenas);
		must(t, !fclose(f) && !chmod(app, 0755), "%s cannot be written", app);
		about(t, "%zu: ", i);
		if (i < 2)
			want_eq(t, "exit", 0,
				(uint64_t)mt__run(t, &m, "-q", "-o", out, "--", app, "--auto", led,
						  NULL));
		else if (i == 2)
			want_eq(t, "exit", 0,
				(uint64_t)mt__run(t, &m, "-q", "-o", out, "--", "/usr/bin/env", py,
						  arenas, "--auto", led, NULL));
		else
			want_eq(t, "exit", 0,
				(uint64_t)mt__run(t, &m, "-q", "-o", out, "--", "/bin/sh", "-c",
						  shell, NULL));
		text = read_all(led, NULL);
		must(t, text && ledger__parse(&l, text), "the ledger, wanted, got\n%s",
		     text ? text : "nothing");
		want_all_arenas(t, load_json(t, out), &l);
		must(t, !unlink(led), "%s is not there", led);
	}
}

/*
 * Of several processes, those that run Python have arenas; the other one maps memory of the same
 * size.
 */
TEST(python_arenas_of_several)
{
	struct spawn s = { .argv = { python(t), fixture("python/arenas.py") } };
	struct fx f, other;
	json_t *root, *site;
	uint64_t n = 0;
	char pids[40];
	struct mt m;
	size_t i;

	fx__start_as(t, &f, &s);
	fx__start(t, &other, "mappings_any", "arenas", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", (int)other.c.pid, (int)f.c.pid);
	mt__start(t, &m, "-p", pids, "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &other);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		if (!strcmp(jstr(site, "function"), "arena")) {
			want_u64(t, site, "pid", (uint64_t)f.c.pid);
			n += has_python_frame(site, "grow") ? ju64(t, site, "alloc_calls") : 0;
		}
	want_eq(t, "arenas", ledger__note(t, &f.led, "arenas"), n);
	fx__quit(t, &f);
	fx__quit(t, &other);
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
