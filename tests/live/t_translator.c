// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Programs that run others by translating their code: a breakpoint would end what they run. */
#include "lt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define VALGRIND "/usr/bin/valgrind"

static void need_valgrind(struct test *t)
{
	if (access(VALGRIND, X_OK))
		skip(t, "no valgrind here");
}

static void step(struct test *t, struct fx *f, char what)
{
	fx__send(t, f, what);
	fx__read_ledger(t, f);
}

static void start_valgrind(struct test *t, struct fx *v)
{
	struct spawn how = { .argv = { VALGRIND, "-q", "--tool=none", fixture("basic"), "leak", "10" } };

	fx__start_as(t, v, &how);
}

static void wait_back(struct test *t, struct mt *m)
{
	child__wait_err(t, &m->c, "malloctrace: the emulator (valgrind, qemu) exited", "probes are attached again", 20);
}

/* unseen: for a while; what it did meanwhile is in none of its figures */
static void want_life(struct test *t, json_t *p, uint64_t allocs, uint64_t frees, uint64_t unknown, bool ended)
{
	want_u64(t, p, "totals.alloc_calls", allocs);
	want_u64(t, p, "totals.free_calls", frees);
	want_u64(t, p, "totals.live_blocks", allocs - frees);
	want_u64(t, p, "totals.unknown_frees", unknown);
	want_bool(t, p, "ended", ended);
	want(t, json_integer_value(jget(p, "unseen_ns")) > 0, "unseen_ns, wanted more than 0");
}

/*
 * It begins during a trace: it ends well, nothing is recorded meanwhile, and then the trace goes on. What a process has freed unseen
 * is not live for ever: it was its former life's.
 */
TEST_ALONE(translator_begins)
{
	struct fx f, gone, v;
	json_t *root, *p;
	struct mt m;

	need_valgrind(t);
	fx__start(t, &f, "when", NULL);
	fx__start(t, &gone, "when", NULL);
	mt__start(t, &m, "--comm", "when", "--json", NULL);
	mt__wait_attached(t, &m);
	step(t, &f, 's');
	step(t, &gone, 's');
	start_valgrind(t, &v);
	child__wait_err(t, &m.c, "malloctrace: valgrind", "nothing is recorded until it exits", 20);
	/* freed, and a block that is freed when it is seen again; one that ends unseen */
	step(t, &f, 'f');
	step(t, &f, 'l');
	step(t, &gone, 'f');
	fx__quit(t, &gone);
	fx__go(t, &v);
	fx__quit(t, &v);
	wait_back(t, &m);
	step(t, &f, 'c');
	step(t, &f, 's');
	step(t, &f, 'f');
	step(t, &f, 's');
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_invariants(t, root);
	want(t, json_integer_value(jget(root, "paused_ns")) > 0, "paused_ns, wanted more than 0");
	want_life(t, process_of(t, root, f.c.pid, 0), 1000, 0, 0, true);
	want_life(t, process_of(t, root, f.c.pid, 1), 22000, 21000, 1, false);
	want_life(t, process_of(t, root, gone.c.pid, 0), 1000, 0, 0, true);
	p = process_of(t, root, f.c.pid, 1);
	want(t, json_integer_value(jget(p, "age_at_attach_ns")) > 0, "age_at_attach_ns of the second life, wanted more than 0");
	fx__quit(t, &f);
}

/* It runs already: the trace begins, and waits for its end; -p PID cannot. */
TEST_ALONE(translator_runs)
{
	json_t *root;
	struct fx f, v;
	struct mt m;

	need_valgrind(t);
	fx__start(t, &f, "when", NULL);
	start_valgrind(t, &v);
	mt__start(t, &m, "--comm", "when", "--json", NULL);
	mt__wait_attached(t, &m);
	step(t, &f, 's');
	want_eq(t, "exit status of -p", 1, (uint64_t)mt__run(t, &(struct mt){}, "-p", pid_arg(v.c.pid), "-d", "1", NULL));
	fx__go(t, &v);
	fx__quit(t, &v);
	wait_back(t, &m);
	step(t, &f, 's');
	step(t, &f, 'f');
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_life(t, process_of(t, root, f.c.pid, 0), 1000, 1000, 1000, false);
	fx__quit(t, &f);
}

/* Of all processes: one translator after the other, and a trace that ends while one runs. */
TEST_ALONE(translator_series)
{
	struct spawn how = { .argv = { VALGRIND, "-q", "--tool=none", fixture("basic"), "--auto", in_dir(t, "ledger"), "leak", "10" } };
	struct child v;
	struct fx last;
	json_t *root;
	struct mt m;

	need_valgrind(t);
	mt__start(t, &m, "-a", "--json", NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 3; i++) {
		child__start(t, &v, &how);
		want_eq(t, "the exit status under valgrind", 0, (uint64_t)child__wait(t, &v));
	}
	wait_back(t, &m);
	start_valgrind(t, &last);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, json_integer_value(jget(root, "paused_ns")) > 0, "paused_ns, wanted more than 0");
	fx__go(t, &last);
	fx__quit(t, &last);
}

/* A program of our own that becomes one. */
TEST_ALONE(translator_command)
{
	struct mt m;

	need_valgrind(t);
	want_eq(t, "exit status", 0,
		(uint64_t)mt__run(t, &m, "--", VALGRIND, "-q", "--tool=none", fixture("basic"), "--auto", in_dir(t, "ledger"), "leak",
				  "10", NULL));
}

/* Anybody may call a program so: that alone keeps no trace waiting, however often. */
TEST_ALONE(translator_by_name_alone)
{
	const char *fake = in_dir(t, "box64");
	struct fx f, fakes[4];
	json_t *root;
	struct mt m;

	copy_file(t, fixture("basic"), fake);
	must(t, !chown(fake, 65534, 65534), "chown %s", fake);
	fx__start(t, &f, "when", NULL);
	mt__start(t, &m, "--comm", "when", "--json", NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 3; i++) {
		fx__start_as(t, &fakes[i], &(struct spawn){ .argv = { fake, "leak", "10" }, .uid = 65534 });
		child__wait_err(t, &m.c, "malloctrace: box64", "nothing is recorded until it exits", patience_s(30));
		child__wait_err(t, &m.c, "malloctrace: process", "does not wait for it", patience_s(30));
		wait_back(t, &m);	/* while it runs */
	}
	/* from now on it is known what such names are worth: nothing is missed */
	fx__start_as(t, &fakes[3], &(struct spawn){ .argv = { fake, "leak", "10" }, .uid = 65534 });
	step(t, &f, 's');
	step(t, &f, 'f');
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want(t, json_integer_value(jget(root, "paused_ns")) > 0, "paused_ns, wanted more than 0");
	want_life(t, process_of(t, root, f.c.pid, 0), 1000, 1000, 0, false);
	for (int i = 0; i < 4; i++) {
		fx__go(t, &fakes[i]);
		fx__quit(t, &fakes[i]);
	}
	fx__quit(t, &f);
}
