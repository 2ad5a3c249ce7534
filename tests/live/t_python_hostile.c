// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What programs of Python, and programs that say they are, can do to malloctrace: say what is not so, lead it in circles, and never have
 * the same code twice. Each block is counted, nothing is shown that is not a name, and what could not be read is told.
 */
#include "python_truth.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Debian's, in whose file numbers and code are mapped alike. */
#define SYSTEM_PYTHON "/usr/bin/python3.11"

TEST(python_that_frees_code_in_a_number)
{
	struct spawn s = { .argv = { SYSTEM_PYTHON, fixture("python/liar.py") } };
	struct fx f;
	struct mt m;

	if (access(SYSTEM_PYTHON, X_OK))
		skip(t, "no " SYSTEM_PYTHON);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop_json(t, &m, SIGINT, 0);
	want(t, strstr(m.c.errs.s, "frames of Python are not shown"), "wanted to be told that its frames are not shown, got: %.300s", m.c.errs.s);
	fx__quit(t, &f);	/* 0: the number is what it was */
}

/* 20,000 codes that are the same are one, and take the room of one. */
TEST(python_same_code_again)
{
	struct spawn s = { .argv = { SYSTEM_PYTHON, fixture("python/again.py") } };
	uint64_t n_sites = 0, n_calls = 0;
	json_t *root, *site;
	struct fx f;
	struct mt m;
	size_t i;

	if (access(SYSTEM_PYTHON, X_OK))
		skip(t, "no " SYSTEM_PYTHON);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		if (ju64(t, site, "max_size") == 3001) {
			n_sites++;
			n_calls += ju64(t, site, "alloc_calls");
		}
	want_eq(t, "calls", 20000, n_calls);
	/* the first one is at an address where none was freed yet */
	want(t, n_sites <= 4, "sites, wanted no more than 4, got %lu", (unsigned long)n_sites);
	fx__quit(t, &f);
}

/* ---- interpreters that are none (fake_python.c) */

#define NOT_SHOWN "frames of Python are not shown"

enum group { FRAMES, TEXTS, RUNTIME, WITHHELD };

static const struct {
	enum group group;	/* what is wrong */
	const char *mode;
	const char *end;	/* of the stacks in the function that runs frames; NULL: any */
	int n_python;		/* frames of Python in them; -1: any */
	const char *name;	/* of the innermost one; NULL: any */
	const char *told;	/* on standard error; NULL: nothing of Python */
} fakes[] = {
	{ FRAMES, "honest", "whole", 2, "leaf", NULL },
	{ FRAMES, "itself", "depth", -1, "leaf", NULL },
	{ FRAMES, "each_other", "depth", -1, "leaf", NULL },
	{ RUNTIME, "states_in_a_ring", "unsure", 0, NULL, NULL },
	{ RUNTIME, "interpreters_in_a_ring", "whole", 2, "leaf", NULL },
	{ FRAMES, "frames_later", "whole", 2, "leaf", NULL },
	{ FRAMES, "unmapped_code", "whole", 2, "", NULL },
	{ FRAMES, "unmapped_frame", "unsure", 1, "leaf", NULL },
	{ FRAMES, "kernel_frame", "unsure", 1, "leaf", NULL },
	{ RUNTIME, "unmapped_state", "unsure", 0, NULL, NULL },
	{ FRAMES, "other_type", "whole", 2, "", NULL },
	{ TEXTS, "name_of_minus_one", "whole", 2, "", NULL },
	{ TEXTS, "name_of_2g", "whole", 2, "", NULL },
	{ TEXTS, "name_too_long", "whole", 2, "", NULL },
	{ TEXTS, "file_too_long", "whole", 2, "leaf", NULL },
	{ TEXTS, "name_of_wide_ones", "whole", 2, "", NULL },
	{ TEXTS, "lines_of_minus_one", "whole", 2, "leaf", NULL },
	{ TEXTS, "lines_of_2g", "whole", 2, "leaf", NULL },
	{ TEXTS, "unmapped_name", "whole", 2, "", NULL },
	{ RUNTIME, "dealloc_elsewhere", "whole", 0, NULL, NOT_SHOWN },
	{ RUNTIME, "dealloc_in_eval", "whole", 0, NULL, NOT_SHOWN },
	{ RUNTIME, "other_version", "whole", 0, NULL, NOT_SHOWN },
	{ RUNTIME, "no_version", "whole", 0, NULL, NOT_SHOWN },
	{ WITHHELD, "withheld", NULL, 0, NULL, NULL },
	{ RUNTIME, "garbage", NULL, 0, NULL, NULL },
	{ RUNTIME, "garbage_that_leads_on", NULL, -1, NULL, NULL },
};

static json_t *first_python(json_t *site)
{
	json_t *frame;
	size_t i;

	json_array_foreach(jget(site, "stack"), i, frame)
		if (is_python(frame))
			return frame;
	return NULL;
}

static void want_fake(struct test *t, size_t nth, json_t *root, const struct mt *m)
{
	const char *mode = fakes[nth].mode;
	uint64_t n_inside = 0, n_outside = 0;
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site) {
		uint64_t size = ju64(t, site, "max_size");
		json_t *first = first_python(site);

		n_outside += size == 3003 ? ju64(t, site, "alloc_calls") : 0;
		if (size != 3001)
			continue;
		n_inside += ju64(t, site, "alloc_calls");
		want(t, fakes[nth].n_python < 0 || count_frames(site, is_python) == (size_t)fakes[nth].n_python, "%s: wanted %d frames of Python: %.300s", mode,
		     fakes[nth].n_python, chain__draw(jget(site, "stack")));
		want(t, !fakes[nth].end || !strcmp(jstr(site, "end"), fakes[nth].end), "%s: a stack that is '%s', wanted '%s': %.300s", mode, jstr(site, "end"),
		     fakes[nth].end, chain__draw(jget(site, "stack")));
		want(t, !fakes[nth].name || (first && !strcmp(jstr(first, "function"), fakes[nth].name)), "%s: wanted the innermost frame of Python called '%s', got '%s'",
		     mode, fakes[nth].name ?: "", first ? jstr(first, "function") : "none");
	}
	want(t, n_inside == 1000 && n_outside == 1000, "%s: %lu and %lu blocks, wanted 1,000 of each", mode, (unsigned long)n_inside, (unsigned long)n_outside);
	if (fakes[nth].name)
		want(t, !*fakes[nth].name == (ju64(t, root, "edges.python_unnamed") > 0), "%s: frames without a name, counted %lu", mode,
		     (unsigned long)ju64(t, root, "edges.python_unnamed"));
	want(t, !strstr(m->c.outs.s, "SSSS"), "%s: what lies behind a text is shown", mode);
	want(t, fakes[nth].told ? strstr(m->c.errs.s, fakes[nth].told) != NULL : !strstr(m->c.errs.s, NOT_SHOWN), "%s: wanted to be told '%s', got: %.300s", mode,
	     fakes[nth].told ?: "nothing", m->c.errs.s);
}

static void want_fakes(struct test *t, enum group group)
{
	const char *program = in_dir(t, "python3.11");

	copy_file(t, fixture("fake_python"), program);
	for (size_t i = 0; i < sizeof(fakes) / sizeof(*fakes); i++) {
		struct spawn s = { .argv = { program, fakes[i].mode } };
		json_t *root;
		struct fx f;
		struct mt m;

		if (fakes[i].group != group)
			continue;
		fx__start_as(t, &f, &s);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		root = mt__stop_json(t, &m, SIGINT, 0);
		want_lossless(t, root);
		want_fake(t, i, root, &m);
		fx__quit(t, &f);
	}
}

/* The same with --python only: what has no frames of Python has the others. */
TEST(python_only_of_wrong_ones)
{
	static const struct {
		const char *mode, *end;
		bool eval;	/* is the function that runs frames among them? */
	} ones[] = {
		{ "honest", "whole", false },
		{ "itself", "depth", false },
		{ "states_in_a_ring", "unsure", true },
		{ "unmapped_state", "unsure", true },
	};
	const char *program = in_dir(t, "python3.11");

	copy_file(t, fixture("fake_python"), program);
	for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); i++) {
		struct spawn s = { .argv = { program, ones[i].mode } };
		uint64_t n_inside = 0;
		json_t *root, *site;
		struct fx f;
		struct mt m;
		size_t k;

		fx__start_as(t, &f, &s);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--python", "only", "--json", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		root = mt__stop_json(t, &m, SIGINT, 0);
		want_lossless(t, root);
		json_array_foreach(jget(root, "sites"), k, site) {
			if (ju64(t, site, "max_size") != 3001)
				continue;
			n_inside += ju64(t, site, "alloc_calls");
			want(t, !strcmp(jstr(site, "end"), ones[i].end) && !!strstr(chain__draw(jget(site, "stack")), "_PyEval_EvalFrameDefault") == ones[i].eval,
			     "%s: a stack that is '%s', wanted '%s' %s the function that runs frames: %.300s", ones[i].mode, jstr(site, "end"), ones[i].end,
			     ones[i].eval ? "with" : "without", chain__draw(jget(site, "stack")));
		}
		want_eq(t, ones[i].mode, 1000, n_inside);
		fx__quit(t, &f);
	}
}

TEST(python_with_wrong_frames) { want_fakes(t, FRAMES); }
TEST(python_with_wrong_texts) { want_fakes(t, TEXTS); }
TEST(python_with_wrong_runtime) { want_fakes(t, RUNTIME); }
TEST(python_with_withheld_runtime) { want_fakes(t, WITHHELD); }

/* The symbols alone make no Python: a program with another name is not asked. */
TEST(python_by_symbols_alone)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "fake_python", "honest", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_u64(t, root, "totals.alloc_calls", 2000);
	want(t, !json_object_get(process_of(t, root, f.c.pid, 0), "runtime"), "runtime, wanted none");
	fx__quit(t, &f);
}

/* A process that has ended takes no room of others where addresses of freed code are kept. */
TEST(python_that_frees_much_code)
{
	const char *program = in_dir(t, "python3.11");
	struct spawn s = { .argv = { program, "much_freed" } };
	uint64_t n_inside = 0;
	json_t *root, *site;
	struct fx f;
	struct mt m;
	size_t i;

	copy_file(t, fixture("fake_python"), program);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-f", "-v", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	/* the child may end while they are gone through: then those that come after are forgotten, and that is room enough */
	child__wait_err(t, &m.c, "malloctrace: addresses of freed code of Python: ", " of processes that ended forgotten", patience_s(60));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	json_array_foreach(jget(root, "sites"), i, site)
		if (ju64(t, site, "max_size") == 3001 && has_python_frame(site, "leaf"))
			n_inside += ju64(t, site, "alloc_calls");
	want_eq(t, "blocks with a frame of Python", 1000, n_inside);
	fx__quit(t, &f);
}
