// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Code of Python that takes the place of other code while nobody looks: probes are out for a while, and where the interpreter
 * frees code is not seen. No name may be that of code that was there before.
 */
#include "python_truth.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define VALGRIND "/usr/bin/valgrind"
#define HEIRS "python/heirs.py"

/* All probes are out when it returns, until the fixture quits. */
static void begin_pause(struct test *t, struct mt *m, struct fx *v)
{
	struct spawn how = { .argv = { VALGRIND, "-q", "--tool=none", fixture("basic"), "leak", "10" } };

	fx__start_as(t, v, &how);
	child__wait_err(t, &m->c, "malloctrace: valgrind", "nothing is recorded until it exits", 20);
}

static void end_pause(struct test *t, struct mt *m, struct fx *v)
{
	fx__go(t, v);
	fx__quit(t, v);
	child__wait_err(t, &m->c, "malloctrace: the emulator (valgrind, qemu) exited", "probes are attached again", 20);
}

/* That there were heirs: else it says nothing. */
static void want_reused(struct test *t, pid_t pid, uint64_t least)
{
	struct truth tr = read_truth(t, pid);
	uint64_t n = ju64(t, tr.root, "code_reused");

	want(t, n >= least, "code objects where there was another one before, wanted %lu at least, got %lu", (unsigned long)least, (unsigned long)n);
}

/* option, arg: NULL: none */
static void heirs(struct test *t, const char *option, const char *arg, size_t n_lives)
{
	json_t *root, *process;
	size_t i, n = 0;
	struct fx f, v;
	struct mt m;

	if (access(VALGRIND, X_OK))
		skip(t, "no valgrind here");
	start_python(t, &f, python(t), HEIRS, NULL);
	mt__start(t, &m, "--comm", "heirs", "--json", option, arg, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	begin_pause(t, &m, &v);
	fx__go(t, &f);
	end_pause(t, &m, &v);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_truth(t, root, f.c.pid, MERGED);
	want_reused(t, f.c.pid, 600);	/* of 20 places 61 times */
	json_array_foreach(jget(root, "processes"), i, process)
		n += ju64(t, process, "pid") == (uint64_t)f.c.pid;
	want_eq(t, "lives", n_lives, n);
	fx__quit(t, &f);
}

/* What it held is not known any more, and so begins another life; code is freed in that one, too. */
TEST_ALONE(python_heirs_unseen) { heirs(t, NULL, NULL, 2); }
/* Of one that holds nothing, as far as is recorded, the life goes on, and with it what was known of its code. */
TEST_ALONE(python_heirs_unseen_of_one_life) { heirs(t, "--mode", "count", 1); }

/* Windows of --overhead: what is seen is a part, and each of it under its own name. */
TEST(python_heirs_between_windows)
{
	json_t *root, *site;
	struct truth tr;
	struct fx f;
	struct mt m;
	size_t i, k, n = 0;

	start_python(t, &f, python(t), HEIRS, "250", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--overhead", "5", NULL);
	mt__wait_attached(t, &m);
	for (int step = 0; step < 3; step++)
		fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	tr = read_truth(t, f.c.pid);
	json_array_foreach(jget(root, "sites"), i, site) {
		json_t *truth = truth_of(t, &tr, site, &k);

		if (!truth)
			continue;
		want(t, has_python_frame(site, jstr(truth, "frames[0][0]")), "blocks of %s, wanted under its name: %.300s", jstr(truth, "frames[0][0]"),
		     chain__draw(jget(site, "stack")));
		n++;
	}
	want(t, n, "sites with a tag, wanted some");
	want_reused(t, f.c.pid, 2500);
	fx__quit(t, &f);
}
