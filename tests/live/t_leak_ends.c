// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode leak: processes whose heap could not be read when they ended. What is not known of them is said. */
#include "lt.h"

#include "diary.h"
#include "../fixtures/diary.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Has it one descriptor, and is that one of a process's memory? */
static bool is_holder(pid_t pid)
{
	char path[64], link[sizeof(path) + 256], to[64] = "";
	unsigned int n = 0, n_mem = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		ssize_t len;

		if (e->d_name[0] == '.')
			continue;
		snprintf(link, sizeof(link), "%s/%s", path, e->d_name);
		len = readlink(link, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		n++;
		n_mem += len > 4 && !strcmp(to + len - 4, "/mem");
	}
	if (d)
		closedir(d);
	return n == 1 && n_mem == 1;
}

/* Who keeps the memory of the target past its end (user/process/keeper.h); 0: nobody does. */
static pid_t holder_of(pid_t pid)
{
	char path[64], *text, *at, *word;
	pid_t holder = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	text = read_all(path, NULL);
	for (at = text; (word = strsep(&at, " \n"));)
		if (*word && is_holder(atoi(word)))
			holder = atoi(word);
	free(text);
	return holder;
}

static uint64_t n_freed(const struct diary *d)
{
	uint64_t n = __atomic_load_n(&d->n, __ATOMIC_ACQUIRE);

	return n ? d->line[(n - 1) % DIARY_LINES].frees_done : 0;
}

/* It was read while it ran, and gave back more until it ended. Nobody kept its memory: what is called live may be any part of that. */
TEST(leak_of_one_whose_end_is_lost)
{
	const char *diary = in_dir(t, "diary");
	int watch = inotify_init1(IN_CLOEXEC);
	uint64_t live, left, freed;
	const struct diary *d;
	pid_t holder;
	json_t *root;
	struct fx f;
	struct mt m;

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start(t, &f, "diary", "--usable", "frees", "300000", "1", diary, NULL);
	d = diary__map(t, diary);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGUSR1);
	wait_json(t, watch, in_dir(t, "x.1.json"));
	child__kill(t, &m.c, SIGSTOP);
	want_state(t, m.c.pid, 'T');
	holder = holder_of(m.c.pid);
	if (!holder)
		skip(t, "this kernel keeps no memory past the end of its process");
	kill(holder, SIGKILL);
	freed = n_freed(d);
	for (int i = 0; i < 20000 && n_freed(d) < freed + 1000; i++)
		poll(NULL, 0, 1);
	if (n_freed(d) < freed + 1000)
		skip(t, "this machine is so busy that all was freed before the heap was read");
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
	child__kill(t, &m.c, SIGCONT);
	mt__stop(t, &m, 0, 0);
	root = load_json(t, in_dir(t, "x.json"));
	live = site_sum(t, root, process_of(t, root, f.c.pid, 0), "diary_here", "live_blocks");
	left = ledger__sum(&f.led, LED_ALLOC_CALLS) - ledger__sum(&f.led, LED_FREE_CALLS);
	want(t, live > left, "live blocks, wanted more than the %llu that there were: else this test says nothing", (unsigned long long)left);
	want_u64(t, root, "live_unsure_blocks", ju64(t, root, "totals.live_blocks"));
}

/* Its heap cannot be read; what another allocator has, whose frees are seen, is known all the same: while it runs, and when it has ended. */
TEST(leak_of_one_with_two_allocators)
{
	for (unsigned int ends = 0; ends < 2; ends++) {
		json_t *root, *p;
		uint64_t kept;
		struct fx f;
		struct mt m;

		fx__start(t, &f, "twolibcs", "own", NULL);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--sym", "malloc=own_alloc", "--sym", "free=own_free", "--json", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		if (ends)
			fx__quit(t, &f);
		root = mt__stop_json(t, &m, ends ? 0 : SIGINT, 0);
		if (!ends)
			fx__quit(t, &f);
		want_invariants(t, root);
		p = process_of(t, root, f.c.pid, 0);
		kept = site_sum(t, root, p, "own_here", "live_blocks");
		want_eq(t, "blocks of its own allocator", 500, kept);
		want_u64(t, p, "heaps_not_read", 1);
		want_u64(t, p, "live_unsure_blocks", ju64(t, p, "totals.live_blocks") - kept);
	}
}

/* Children that have come and gone before malloctrace hears of them. */
TEST(leak_of_children_that_were_not_met)
{
	uint64_t unsure = 0;
	json_t *root, *p;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start(t, &f, "ends", "children", "7", NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--mode", "leak", "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	want_state(t, m.c.pid, 'T');
	fx__go(t, &f);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_eq(t, "processes", 8, json_array_size(jget(root, "processes")));
	want_u64(t, root, "heaps_not_read", 7);
	want_invariants(t, root);
	json_array_foreach(jget(root, "processes"), i, p) {
		bool is_child = ju64(t, p, "pid") != (uint64_t)f.c.pid;

		want(t, !is_child == !jget(p, "heaps_not_read"), "process %zu: heaps_not_read, wanted it of each child, and of none else", i);
		want(t, !is_child || ju64(t, p, "live_unsure_blocks") == ju64(t, p, "totals.live_blocks"), "process %zu: live_unsure_blocks, wanted all that are live", i);
		unsure += is_child ? ju64(t, p, "live_unsure_blocks") : 0;
	}
	want(t, unsure > 0 && ju64(t, root, "live_unsure_blocks") == unsure, "live_unsure_blocks, wanted those of the children, %" PRIu64 ", got %" PRIu64, unsure,
	     ju64(t, root, "live_unsure_blocks"));
	fx__quit(t, &f);
	must(t, !json_dump_file(root, in_dir(t, "x.json"), 0), "x.json cannot be written");
	mt__run(t, &m, "report", in_dir(t, "x.json"), "--view", "processes", NULL);
	want(t, strstr(m.c.outs.s, "not read: 7 heaps, of "), "the table of processes, wanted that in it, got: %.900s", m.c.outs.s);
	/* of the one that was read, nothing is unsure */
	mt__run(t, &m, "report", in_dir(t, "x.json"), "--view", "processes", "-p", pid_arg(f.c.pid), NULL);
	want(t, !strstr(m.c.outs.s, "not read") && !strstr(m.c.outs.s, "freed"), "the one that was read alone, wanted no doubt, got: %.900s", m.c.outs.s);
}

/* ---- a process that becomes another program: the heap of the one before is read at its end, and that of the new one from then on */

static void execs(struct test *t, const char *how, const char *follow)
{
	json_t *root, *old, *new;
	struct ledger first;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "life", "--usable", how, fixture("basic"), "--usable", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--json", follow, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	first = f.led;
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);		/* it is another program now */
	if (strcmp(how, "exec") && !follow)
		child__wait_err(t, &m.c, "malloctrace: ", "they were attached again", 10);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	old = process_of(t, root, f.c.pid, 0);
	new = process_of(t, root, f.c.pid, 1);
	want_bool(t, old, "ended", true);
	/* libc has a block of the thread's */
	want_ledger(t, root, old, &first, LED_REALLOC);
	want_ledger(t, root, new, &f.led, LED_REALLOC);
	want(t, !jget(root, "heaps_not_read") && !jget(root, "live_unsure_blocks"), "heaps_not_read and live_unsure_blocks, wanted none, got %lld and %lld",
	     (long long)json_integer_value(jget(root, "heaps_not_read")), (long long)json_integer_value(jget(root, "live_unsure_blocks")));
	fx__quit(t, &f);
}

TEST(leak_exec) { execs(t, "exec", NULL); }
TEST(leak_exec_followed) { execs(t, "exec", "-f"); }
TEST(leak_exec_by_thread) { execs(t, "exec-by-thread", NULL); }
TEST(leak_exec_by_thread_followed) { execs(t, "exec-by-thread", "-f"); }

/* At the first instruction of a program nothing of it is in memory yet but its stack: it is kept from there on, and read at its end. */
static void command_execs(struct test *t, const char *how, const char *follow)
{
	const char *paths[2] = { in_dir(t, "first"), in_dir(t, "second") };
	struct ledger l[2];
	json_t *root;
	struct mt m;

	mt__start(t, &m, "--mode", "leak", "--json", follow, "--", fixture("life"), "--auto", paths[0], "--usable", how, fixture("basic"), "--auto", paths[1], "--usable", "family",
		  NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	must(t, json_array_size(jget(root, "processes")) == 2, "processes, wanted 2, got %zu", json_array_size(jget(root, "processes")));
	want(t, !jget(root, "heaps_not_read") && !jget(root, "live_unsure_blocks"), "heaps_not_read and live_unsure_blocks, wanted none, got %lld and %lld",
	     (long long)json_integer_value(jget(root, "heaps_not_read")), (long long)json_integer_value(jget(root, "live_unsure_blocks")));
	for (int i = 0; i < 2; i++) {
		char *text = read_all(paths[i], NULL);

		must(t, text && ledger__parse(&l[i], text), "the program left no ledger in %s", paths[i]);
		free(text);
		want_ledger(t, root, jget(root, i ? "processes[1]" : "processes[0]"), &l[i], LED_REALLOC);
	}
}

TEST(leak_command_execs) { command_execs(t, "exec", "--no-source"); }
TEST(leak_command_execs_followed) { command_execs(t, "exec", "-f"); }
