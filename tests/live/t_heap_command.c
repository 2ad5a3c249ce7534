// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* malloctrace heap: what it prints, writes and reads again; how it ends. */
#include "screen.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *class_of(struct test *t, json_t *heap, uint64_t usable)
{
	json_t *class;
	size_t i;

	json_array_foreach(jget(heap, "classes"), i, class)
		if (ju64(t, class, "usable") == usable)
			return class;
	want(t, false, "no blocks of %" PRIu64 " bytes", usable);
	return NULL;
}

static void want_class(struct test *t, json_t *heap, uint64_t usable, uint64_t blocks, uint64_t unreached)
{
	json_t *class = class_of(t, heap, usable);

	if (!class)
		return;
	want_eq(t, "blocks of a size", blocks, ju64(t, class, "blocks"));
	want_eq(t, "unreached of a size", unreached, ju64(t, class, "unreached_blocks"));
}

/* Sums of what is there twice. */
static void want_sums(struct test *t, json_t *heap)
{
	uint64_t blocks = 0, bytes = 0, free_bytes = 0, in_arenas = 0, resident = 0;
	json_t *row;
	size_t i;

	json_array_foreach(jget(heap, "classes"), i, row) {
		blocks += ju64(t, row, "blocks");
		bytes += ju64(t, row, "bytes");
	}
	want_eq(t, "blocks of all sizes", ju64(t, heap, "in_use.blocks"), blocks);
	want_eq(t, "bytes of all sizes", ju64(t, heap, "in_use.bytes"), bytes);
	json_array_foreach(jget(heap, "arenas"), i, row) {
		free_bytes += ju64(t, row, "free_bytes");
		in_arenas += ju64(t, row, "blocks");
	}
	want_eq(t, "free bytes of all arenas", ju64(t, heap, "free.bytes"), free_bytes);
	want_eq(t, "blocks of all arenas, and mapped ones", ju64(t, heap, "in_use.blocks"), in_arenas + ju64(t, heap, "mapped_blocks"));
	json_array_foreach(jget(heap, "parts"), i, row)
		resident += ju64(t, row, "resident_bytes");
	want_eq(t, "resident memory of all parts", ju64(t, heap, "rss_bytes"), resident);
}

static void want_running(struct test *t, pid_t pid)
{
	char path[64], *text;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = read_all(path, &n);
	must(t, text, "%s", path);
	want(t, strstr(text, "TracerPid:\t0\n") && !strstr(text, "State:\tt") && !strstr(text, "State:\tT"), "the target does not go on: %s", text);
	free(text);
}

/* Equal to the ledger, and the same again from the file. */
TEST(heap_command_ledger)
{
	const char *json = in_dir(t, "x.json"), *text = in_dir(t, "x.txt"), *again = in_dir(t, "y.txt");
	json_t *root, *heap, *root_of;
	char *one, *other;
	size_t n_one, n_other, i;
	bool held = false;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heaptrace", NULL);
	fx__go(t, &f);
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", pid_arg(f.c.pid), "--roots", "-o", json, "-o", text, NULL));
	want(t, strstr(m.c.outs.s, "Probably leaked, no pointer found in 3 scans: "), "%s", m.c.outs.s);
	root = load_json(t, json);
	heap = jget(root, "heap[0]");
	must(t, heap, "there is no heap in %s", json);
	want_eq(t, "pid", (uint64_t)f.c.pid, ju64(t, heap, "pid"));
	want_class(t, heap, ledger__note(t, &f.led, "old_held_usable"), ledger__note(t, &f.led, "old_held"), 0);
	want_class(t, heap, ledger__note(t, &f.led, "old_lost_usable"), ledger__note(t, &f.led, "old_lost"), ledger__note(t, &f.led, "old_lost"));
	want_eq(t, "unreached",
		ledger__note(t, &f.led, "lost") + ledger__note(t, &f.led, "in_lists") + ledger__note(t, &f.led, "half") + ledger__note(t, &f.led, "old_lost"),
		ju64(t, heap, "unreached.blocks"));
	want_sums(t, heap);
	json_array_foreach(jget(heap, "roots"), i, root_of)
		held |= !strcmp(jstr(root_of, "kind"), "global") && !strcmp(jstr(root_of, "name"), "old");
	want(t, held, "nothing is held through the variable 'old'");
	want(t, !jget(root, "sites") && !jget(root, "totals"), "there was no trace, and %s has figures of one", json);

	want_eq(t, "exit of report", 0, mt__run(t, &m, "report", json, "-q", "-o", again, NULL));
	one = read_all(text, &n_one);
	other = read_all(again, &n_other);
	want(t, one && other && n_one == n_other && !memcmp(one, other, n_one), "the file shows another report:\n%s\n%s", one, other);
	free(one);
	free(other);
	want_eq(t, "exit of diff", 0, mt__run(t, &m, "diff", json, json, "--fail-over", "0", NULL));
	want(t, strstr(m.c.outs.s, ": 0 B, 0 blocks"), "%s", m.c.outs.s);
	fx__quit(t, &f);
}

/* --view blocks: addresses of all blocks of a size, each once. */
TEST(heap_command_blocks)
{
	json_t *root, *block;
	uint64_t n = 0, usable, last = 0;
	bool was_lost = true;
	struct mt m;
	struct fx f;
	size_t i;

	fx__start(t, &f, "heaptrace", NULL);
	fx__go(t, &f);
	usable = ledger__note(t, &f.led, "old_lost_usable");
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", "--view", "blocks", "-T", "100000", "--json", NULL));
	root = json_loads(m.c.outs.s, 0, NULL);
	must(t, root, "no JSON: %.200s", m.c.outs.s);
	want_eq(t, "listed", ju64(t, root, "heap[0].blocks_of"), json_array_size(jget(root, "heap[0].blocks")));
	json_array_foreach(jget(root, "heap[0].blocks"), i, block) {
		uint64_t bytes = ju64(t, block, "bytes");
		bool lost = strcmp(jstr(block, "reach"), "reached");

		want(t, !last || was_lost > lost || (was_lost == lost && bytes <= last), "those without a pointer, then the largest, do not come first");
		was_lost = lost;
		last = bytes;
		n += bytes == usable && !strcmp(jstr(block, "reach"), "unreached");
	}
	want_eq(t, "lost blocks of a size", ledger__note(t, &f.led, "old_lost"), n);
	json_decref(root);
	fx__quit(t, &f);
}

TEST(heap_command_paused)
{
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heaptrace", NULL);
	fx__go(t, &f);
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--pause", "--json", NULL));
	root = json_loads(m.c.outs.s, 0, NULL);
	must(t, root, "no JSON: %.200s", m.c.outs.s);
	want(t, ju64(t, root, "heap[0].paused_ns"), "it was not stopped");
	want_u64(t, root, "heap[0].unsure_blocks", 0);
	want_running(t, f.c.pid);
	json_decref(root);
	fx__quit(t, &f);
}

/* A signal ends it between two reads, and the target goes on; paused or not. */
static void interrupted(struct test *t, const char *how, int sig)
{
	struct mt m;
	struct fx f;

	/* so many that it takes a while */
	fx__start(t, &f, "heaptrace", "many", "3000000", NULL);
	fx__go(t, &f);
	mt__start(t, &m, "heap", "-v", "-p", pid_arg(f.c.pid), "--reachable", how, NULL);
	child__wait_err(t, &m.c, "malloctrace: heaptrace (", "its heap is read", 10);
	child__kill(t, &m.c, sig);
	want_eq(t, "exit", 1, (uint64_t)child__wait_for(t, &m.c, 5));
	want(t, strstr(m.c.errs.s, "stopped before its heap was read"), "%s", m.c.errs.s);
	want(t, !m.c.outs.n, "figures of half a look: %s", m.c.outs.s);
	want_running(t, f.c.pid);
	fx__quit(t, &f);
}

TEST(heap_command_interrupted) { interrupted(t, NULL, SIGINT); }
TEST(heap_command_interrupted_paused) { interrupted(t, "--pause", SIGINT); }
TEST(heap_command_hung_up) { interrupted(t, "--pause", SIGHUP); }

/* Into a pipe that nobody reads: a signal ends it there, too. */
static void interrupted_while_it_writes(struct test *t, int sig)
{
	struct spawn s = { .argv = { lt_bin, "heap", "--view", "blocks", "-T", "100000", "--json" } };
	struct child c;
	struct fx f;

	fx__start(t, &f, "heaptrace", NULL);
	fx__go(t, &f);
	s.argv[7] = pid_arg(f.c.pid);
	child__start(t, &c, &s);
	/* all of it is more than a pipe holds */
	must(t, poll(&(struct pollfd){ .fd = c.out, .events = POLLIN }, 1, 20000) == 1, "nothing is written");
	child__kill(t, &c, sig);
	want_eq(t, "exit", 128 + (uint64_t)sig, (uint64_t)child__wait_for(t, &c, 5));
	want_running(t, f.c.pid);
	fx__quit(t, &f);
}

TEST(heap_command_interrupted_writing)
{
	interrupted_while_it_writes(t, SIGINT);
	interrupted_while_it_writes(t, SIGTERM);
	interrupted_while_it_writes(t, SIGHUP);
}

/* No figures where the layout is another one; the rest of resident memory is there. */
TEST(heap_command_other_allocator)
{
	const char *json = in_dir(t, "x.json");
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start_preloaded(t, &f, "libjemalloc.so.2", "heaptrace", NULL);
	fx__go(t, &f);
	want_eq(t, "exit", 1, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "-o", json, NULL));
	want(t, strstr(m.c.errs.s, "heaptrace ("), "%s", m.c.errs.s);
	want(t, !strstr(m.c.outs.s, "in use") && strstr(m.c.outs.s, "RESIDENT MEMORY"), "%s", m.c.outs.s);
	root = load_json(t, json);
	want(t, json_is_null(jget(root, "heap[0].in_use")) && *jstr(root, "heap[0].refused"), "figures of a heap that is not glibc's");
	/* what is not known is not nothing */
	want_eq(t, "exit of diff", 0, mt__run(t, &m, "diff", json, json, NULL));
	want_eq(t, "exit of diff --fail-over", 1, mt__run(t, &m, "diff", json, json, "--fail-over", "1G", NULL));
	want(t, strstr(m.c.errs.s, "--fail-over: what is in use is not known in ") && strstr(m.c.errs.s, ": heaptrace ("), "%s", m.c.errs.s);
	want(t, !m.c.outs.n, "%s", m.c.outs.s);
	fx__quit(t, &f);
}

/* Each of two C libraries has a heap: none of them passes for all of the process, neither alone nor in a trace. */
static void two_c_libraries(struct test *t, const char *how)
{
	const char *json = in_dir(t, "x.json"), *said = " has 2 C libraries, each with a heap of its own";
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "twolibcs", "--usable", how, in_dir(t, "copy.so"), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--reachable", "-o", json, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, json);
	want(t, strstr(jstr(root, "heap[0].refused") ?: "", said), "refused: %s", jstr(root, "heap[0].refused"));
	want(t, json_is_null(jget(root, "heap[0].in_use")) && json_is_null(jget(root, "heap[0].older")), "figures of one of two heaps");
	want_eq(t, "exit", 1, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", NULL));
	want(t, strstr(m.c.errs.s, said), "%s", m.c.errs.s);
	want(t, !strstr(m.c.outs.s, "in use") && !strstr(m.c.outs.s, "block is reachable") && strstr(m.c.outs.s, "RESIDENT MEMORY"), "%s", m.c.outs.s);
	fx__quit(t, &f);
}

TEST(heap_command_two_c_libraries) { two_c_libraries(t, NULL); }
/* Its file does not have libc's name. */
TEST(heap_command_copied_c_library) { two_c_libraries(t, "copied"); }

/* What looks like the arenas of another one, and leads nowhere, is not taken for nothing. */
TEST(heap_command_broken_c_library)
{
	struct mt m;
	struct fx f;

	fx__start(t, &f, "twolibcs", "broken", in_dir(t, "copy.so"), NULL);
	fx__go(t, &f);
	want_eq(t, "exit", 1, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), NULL));
	want(t, strstr(m.c.errs.s, "what looks like the arenas of another C library leads nowhere"),
	     "%s", m.c.errs.s);
	want(t, !strstr(m.c.outs.s, "in use") && strstr(m.c.outs.s, "RESIDENT MEMORY"),
	     "%s", m.c.outs.s);
	fx__quit(t, &f);
}

/* A C library that a static program has loaded allocates after the program's own heap was read. */
TEST(heap_command_later_c_library)
{
	const char *said = " has 2 C libraries, each with a heap of its own";
	struct fx f, tool;
	char line[256];

	fx__start(t, &f, "twolibcs.static", "later", NULL);
	fx__start(t, &tool, "heap-tool", "twice", pid_arg(f.c.pid), NULL);
	fx__go(t, &f);
	fx__send(t, &tool, 'c');
	fx__line(t, &tool, line, sizeof(line));
	want(t, strstr(line, said), "%s", line);
	fx__quit(t, &f);
	child__kill(t, &tool.c, SIGKILL);
}

/* Links that were overwritten, in a process that rests: nothing came or went, and no stop would help. */
TEST(heap_command_damaged)
{
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heapliar", "fast-link", NULL);
	/* it said that it is ready, and then waits for a word: that takes a moment */
	want_state(t, f.c.pid, 'S');
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", pid_arg(f.c.pid), NULL));
	want(t, strstr(m.c.outs.s, "unsure nothing ran while it was read") && !strstr(m.c.outs.s, "--pause") && !strstr(m.c.outs.s, "came or went"), "%s", m.c.outs.s);
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", pid_arg(f.c.pid), "--json", NULL));
	root = json_loads(m.c.outs.s, 0, NULL);
	want(t, json_is_true(jget(root, "heap[0].rested")) && ju64(t, root, "heap[0].unsure_blocks"), "%.2000s", m.c.outs.s);
	json_decref(root);
	child__kill(t, &f.c, SIGKILL);
}

/* Memory of others that looks like blocks is no damage, though it is not sure which of them are blocks. */
TEST(heap_command_strangers_are_no_damage)
{
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "heapledger", in_dir(t, "ledger"), "1", "2000", "mapped", "strangers", NULL);
	want_state(t, f.c.pid, 'S');
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", pid_arg(f.c.pid), "--json", NULL));
	root = json_loads(m.c.outs.s, 0, NULL);
	want_eq(t, "unsure", 24, ju64(t, root, "heap[0].unsure_blocks"));
	want(t, !json_is_true(jget(root, "heap[0].rested")), "it is called damaged");
	json_decref(root);
	fx__quit(t, &f);
}

/* On a screen the reason stands there once, with what to do about it. */
TEST(heap_command_says_why_once)
{
	struct screen s = {};
	char line[1024], *seen;

	fx__start_preloaded(t, &s.fx, "libjemalloc.so.2", "heaptrace", NULL);
	fx__go(t, &s.fx);
	snprintf(line, sizeof(line), "LC_ALL=C.UTF-8 %s heap -p %d; echo EXIT $?; exec cat", lt_bin, (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "40", line);
	COMES("EXIT 1", "next: malloctrace -p ", "!--reachable", "!malloctrace doctor");
	seen = look(t, &s);
	want(t, strstr(seen, "jemalloc") && !strstr(seen, "malloctrace: heaptrace ("), "%s", seen);
	free(seen);
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}

/* Of several of a name: nothing is advised that it would refuse. */
TEST(heap_command_ambiguous)
{
	struct fx f, other;
	struct mt m;

	fx__start(t, &f, "heaptrace", NULL);
	fx__start(t, &other, "heaptrace", NULL);
	want_eq(t, "exit", 2, mt__run(t, &m, "heap", "heaptrace", NULL));
	want(t, strstr(m.c.errs.s, "processes match; give pids:") && strstr(m.c.errs.s, pid_arg(f.c.pid)), "%s", m.c.errs.s);
	want(t, !strstr(m.c.errs.s, "--comm"), "%s", m.c.errs.s);
	fx__quit(t, &f);
	fx__quit(t, &other);
}

TEST(heap_command_refusals)
{
	struct mt m;

	want_eq(t, "no target", 2, mt__run(t, &m, "heap", NULL));
	want(t, strstr(m.c.errs.s, "usage: malloctrace heap"), "%s", m.c.errs.s);
	want_eq(t, "no such process", 1, mt__run(t, &m, "heap", "4194303", NULL));
	want_eq(t, "no such name", 1, mt__run(t, &m, "heap", "no-process-is-called-so", NULL));
	want(t, !strstr(m.c.errs.s, "--comm"), "%s", m.c.errs.s);
	want_eq(t, "a file that cannot be written", 1, mt__run(t, &m, "heap", "1", "-o", "/nowhere/x.json", NULL));
	want(t, strstr(m.c.errs.s, "/nowhere"), "%s", m.c.errs.s);
}
