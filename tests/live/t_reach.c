// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What no pointer reaches: beside the fixture's own list of what it has lost, each block by its address. */
#include "actors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct known {
	char class[16];
	uint64_t addr, usable;
	int lost;
	int found;		/* as the tool says it: 1 direct, 2 indirect */
};

struct list {
	struct known *v;
	size_t n, n_lost;
};

static int by_addr(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Starts the fixture; what it knows of its blocks is in a file by the time that it is ready. */
static struct list start(struct test *t, struct fx *f, const char *how)
{
	const char *file = in_dir(t, "blocks");
	struct list l = {};
	char *text, *at;
	size_t n;

	fx__start(t, f, "reach", file, how, NULL);
	text = at = read_all(file, &n);
	must(t, text != NULL, "no list of blocks");
	l.v = calloc(n / 8 + 1, sizeof(*l.v));
	for (char *line; (line = strsep(&at, "\n")) && *line;) {
		struct known *k = &l.v[l.n++];
		unsigned long long addr, usable;

		must(t, sscanf(line, "%15s %llx %llu %d", k->class, &addr, &usable, &k->lost) == 4, "a block that makes no sense: %s", line);
		k->addr = addr;
		k->usable = usable;
		l.n_lost += k->lost;
	}
	must(t, l.n_lost > 2000, "%zu blocks are lost", l.n_lost);
	qsort(l.v, l.n, sizeof(*l.v), by_addr);
	free(text);
	return l;
}

static void run_tool(struct test *t, struct child *c, const struct fx *f, const char *option, const char *value)
{
	struct spawn s = { .argv = { fixture("reach-tool"), pid_arg(f->c.pid), option, value } };

	child__start(t, c, &s);
	want_eq(t, "exit of reach-tool", 0, child__wait(t, c));
}

/* All that is lost, and nothing else. */
static void want_lost(struct test *t, struct list *l, const char *out)
{
	char *text = strdup(out), *at = text, how[16];
	unsigned long long addr, usable;
	size_t n_false = 0, n_missed = 0;

	for (char *line; (line = strsep(&at, "\n")) && sscanf(line, "%llx %llu %15s", &addr, &usable, how) == 3;) {
		struct known key = { .addr = addr }, *k = bsearch(&key, l->v, l->n, sizeof(*l->v), by_addr);

		if (k) {
			want_eq(t, "usable size", k->usable, usable);
			k->found = strcmp(how, "direct") ? 2 : 1;
		}
		if ((!k || !k->lost) && n_false++ < 5)
			want(t, false, "called unreached: %llx, %llu bytes, %s", addr, usable, k ? k->class : "not listed");
	}
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].lost && !l->v[i].found && n_missed++ < 5)
			want(t, false, "lost, and not found: %llx, %s", (unsigned long long)l->v[i].addr, l->v[i].class);
	want_eq(t, "false alarms", 0, n_false);
	want_eq(t, "blocks that were missed", 0, n_missed);
	free(text);
}

/* Blocks of a class that nobody points to, lost or not. */
static void want_direct(struct test *t, const struct list *l, const char *class, size_t direct, size_t indirect)
{
	size_t n[3] = { 0 };

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].class, class))
			n[l->v[i].found]++;
	want_eq(t, class, direct, n[1]);
	want_eq(t, class, indirect, n[2]);
}

static void search_as(struct test *t, const char *how, const char *option, const char *value, const char *registers)
{
	struct child c;
	struct list l;
	struct fx f;

	l = start(t, &f, how);
	run_tool(t, &c, &f, option, value);
	want_lost(t, &l, c.outs.s);
	want_direct(t, &l, "single", 1000, 0);
	want_direct(t, &l, "list", 100, 900);
	/* of 50 circles one block each, but for the 25 that others point into */
	want_direct(t, &l, "cycle", 25, 225);
	want_direct(t, &l, "circled", 25, 0);
	want_direct(t, &l, "hangs", 0, 25);
	want(t, strstr(c.outs.s, registers) != NULL, "want %s", registers);
	fx__quit(t, &f);
	free(l.v);
}

TEST(reach_quiet) { search_as(t, "quiet", NULL, NULL, "registers read, but for 0 threads"); }
/* A thread that cannot be stopped: it is waited for once, not for long, and the registers of the others count all the same. */
TEST(reach_quiet_in_part)
{
	uint64_t stopped_ms;
	const char *at;
	struct child c;
	struct list l;
	struct fx f;

	l = start(t, &f, "vfork");
	run_tool(t, &c, &f, "--no-bpf", NULL);
	want_lost(t, &l, c.outs.s);
	want(t, strstr(c.outs.s, "registers stopped, but for 1 threads"), "%s", strstr(c.outs.s, "registers") ?: "nothing of registers");
	/* a second at the most, on a busy machine; it was one for each of five stops, and more */
	at = strstr(c.errs.s, " of CPU, ");
	while (at && strstr(at + 1, " of CPU, "))
		at = strstr(at + 1, " of CPU, ");
	must(t, at && sscanf(at, " of CPU, %" SCNu64, &stopped_ms) == 1, "%s", c.errs.s);
	want(t, stopped_ms < 2000, "stopped for %" PRIu64 " ms", stopped_ms);
	fx__quit(t, &f);
	free(l.v);
}
/* glibc's links in what is freed between two scans lead to the ends of blocks: no pointers to these. */
TEST(reach_freed_between_scans)
{
	struct spawn s = { .argv = { fixture("reach-tool"), NULL, "--wait" } };
	struct child c;
	struct list l;
	struct fx f;

	l = start(t, &f, "freed");
	s.argv[1] = pid_arg(f.c.pid);
	child__start(t, &c, &s);
	child__wait_out(t, &c, "again\n", 1);
	fx__send(t, &f, 'c');
	fx__wait_ready(t, &f);
	must(t, write(c.in, "c", 1) == 1, "reach-tool does not listen");
	want_eq(t, "exit of reach-tool", 0, child__wait(t, &c));
	want_lost(t, &l, strchr(c.outs.s, '\n') + 1);
	want(t, strstr(c.errs.s, "\n3 scans, "), "%s", c.errs.s);
	fx__quit(t, &f);
	free(l.v);
}

TEST(reach_signal_stack) { search_as(t, "signals", NULL, NULL, "registers read, but for 0 threads"); }
TEST(reach_signal_stack_paused) { search_as(t, "signals", "--pause", NULL, "registers read, but for 0 threads"); }
TEST(reach_headless) { search_as(t, "headless", NULL, NULL, "registers read, but for 0 threads"); }
TEST(reach_quiet_stopped) { search_as(t, "quiet", "--no-bpf", NULL, "registers stopped"); }
TEST_LIMIT(reach_moving, 400) { search_as(t, NULL, NULL, NULL, "registers read"); }
TEST_LIMIT(reach_moving_stopped, 400) { search_as(t, NULL, "--no-bpf", NULL, "registers stopped"); }
/* Nothing moves then: one scan is enough. */
TEST(reach_paused) { search_as(t, NULL, "--pause", NULL, "registers read"); }

/* Where the registers of a thread were not read, what they may hold is no more than perhaps leaked. */
TEST(reach_registers_in_part)
{
	/* root without BPF: threads are stopped for it */
	const struct actor actor = {
		.not_in_bounds = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN),
	};
	struct spawn s = {
		.argv = { lt_bin, "heap", "-p", NULL, "--reachable" },
		.become = become,
		.become_arg = &actor,
	};
	struct list l;
	struct mt m;
	struct fx f;

	l = start(t, &f, "vfork");
	s.argv[3] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	want_eq(t, "exit", 0, child__wait(t, &m.c));
	want(t, strstr(m.c.outs.s, "Perhaps leaked, ") && strstr(m.c.outs.s, "Registers of 1") &&
			!strstr(m.c.outs.s, "not searched"),
	     "%s%s", m.c.outs.s, m.c.errs.s);
	fx__quit(t, &f);
	free(l.v);
}

/* With roots each block that is held has one, and the variable that holds the lists has them all. */
TEST(reach_roots)
{
	uint64_t held = 0;
	struct child c;
	struct list l;
	struct fx f;

	l = start(t, &f, "quiet");
	run_tool(t, &c, &f, "--roots", NULL);
	want_lost(t, &l, c.outs.s);
	for (const char *at = strstr(c.outs.s, "\nroot "); at; at = strstr(at + 1, "\nroot ")) {
		unsigned long long addr, blocks;
		int tid;

		must(t, sscanf(at, "\nroot %llx %d %llu", &addr, &tid, &blocks) == 3, "a root that makes no sense");
		held += blocks;
	}
	/* libc has a few of its own, among them one for each thread */
	want(t, held >= l.n - l.n_lost && held < l.n - l.n_lost + 40, "%zu blocks are held, %llu have roots", l.n - l.n_lost,
	     (unsigned long long)held);
	fx__quit(t, &f);
	free(l.v);
}

/* The same as users see it: sums, and who holds what. */
TEST(reach_command)
{
	static const struct {
		const char *name;
		uint64_t blocks;
	} held[] = { { "lists", 4 * 16 * (15000 / 16) }, { "(the kernel: epoll)", 100 }, { "(the kernel: timers)", 10 } };
	json_t *root, *heap, *holder;
	struct list l;
	struct mt m;
	struct fx f;
	size_t i;

	l = start(t, &f, "quiet");
	must(t, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", "--roots", "--json", NULL) == 0, "heap fails: %s", m.c.errs.s);
	root = json_loads(m.c.outs.s, 0, NULL);
	heap = jget(root, "heap[0]");
	want_eq(t, "unreached blocks", l.n_lost, ju64(t, heap, "unreached.blocks"));
	want_eq(t, "of these direct", 1000 + 100 + 25 + 25 + 200, ju64(t, heap, "unreached.direct_blocks"));
	want(t, !strcmp(jstr(heap, "unreached.registers"), "read"), "registers: %s", jstr(heap, "unreached.registers"));
	for (size_t k = 0; k < sizeof(held) / sizeof(*held); k++) {
		bool seen = false;

		json_array_foreach(jget(heap, "roots"), i, holder)
			if (!strcmp(jstr(holder, "name"), held[k].name) && (seen = true))
				want_u64(t, holder, "blocks", held[k].blocks);
		want(t, seen, "nothing is held by %s", held[k].name);
	}
	fx__quit(t, &f);
	free(l.v);
}

static uint64_t held_by(struct test *t, json_t *root, const char *kind)
{
	uint64_t sum = 0;
	json_t *holder;
	size_t i;

	json_array_foreach(jget(root, "heap[0].roots"), i, holder)
		sum += strcmp(jstr(holder, "kind"), kind) ? 0 : ju64(t, holder, "blocks");
	return sum;
}

/* A thread-local variable is a variable: a stack that points into the middle of its list does not take that from it. */
static void thread_locals(struct test *t, bool is_contained)
{
	static const char *const hows[] = { "quiet", "locals" };
	uint64_t by_stacks[2], by_threads[2];

	for (int i = 0; i < 2; i++) {
		struct list l;
		json_t *root;
		struct mt m;
		struct fx f;

		/* the fixture is the first process of the namespace; what comes next is outside again */
		if (is_contained)
			must(t, !unshare(CLONE_NEWPID), "unshare: %s", strerror(errno));
		l = start(t, &f, hows[i]);
		if (is_contained)
			must(t, !setns(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), CLONE_NEWPID),
			     "setns: %s", strerror(errno));
		must(t, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--roots", "--json", NULL) == 0, "heap fails: %s", m.c.errs.s);
		root = json_loads(m.c.outs.s, 0, NULL);
		want_eq(t, "unreached blocks", l.n_lost, ju64(t, root, "heap[0].unreached.blocks"));
		by_stacks[i] = held_by(t, root, "stack");
		by_threads[i] = held_by(t, root, "thread");
		json_decref(root);
		fx__quit(t, &f);
		free(l.v);
	}
	want_eq(t, "held by stacks", by_stacks[0], by_stacks[1]);
	/* those of two threads; libc has blocks of its own for the second of them */
	want(t, by_threads[1] >= by_threads[0] + 2000 && by_threads[1] < by_threads[0] + 2010, "held by threads: %" PRIu64 ", without lists %" PRIu64,
	     by_threads[1], by_threads[0]);
}

TEST(reach_thread_locals) { thread_locals(t, false); }
/* Of a process in a container libc knows the numbers that its threads have there. */
TEST(reach_thread_locals_contained) { thread_locals(t, true); }

static json_t *look(struct test *t, struct mt *m, const struct fx *f, const char *option, const char *env)
{
	struct spawn s = { .argv = { lt_bin, "heap", "-p", pid_arg(f->c.pid), "--json", "-q", "--pause", option }, .env = { env } };
	json_t *root;

	mt__start_v(t, m, &s);
	must(t, child__wait(t, &m->c) == 0, "heap fails: %s", m->c.errs.s);
	root = json_loads(m->c.outs.s, 0, NULL);
	must(t, root != NULL, "no JSON: %.200s", m->c.outs.s);
	return root;
}

static double cpu_of_children(void)
{
	struct rusage use;

	getrusage(RUSAGE_CHILDREN, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* What it takes to look at a fixture; the ledger must be met. */
static double look_at(struct test *t, const char *how, const char *option, uint64_t *ret_blocks)
{
	double before, spent;
	struct list l;
	json_t *root;
	struct mt m;
	struct fx f;

	l = start(t, &f, how);
	before = cpu_of_children();
	root = look(t, &m, &f, option, NULL);
	spent = cpu_of_children() - before;
	*ret_blocks = ju64(t, root, "heap[0].in_use.blocks");
	want_u64(t, root, "heap[0].skipped.passed_over_bytes", 0);
	if (option) {
		want_u64(t, root, "heap[0].unreached.blocks", l.n_lost);
		want_u64(t, root, "heap[0].unreached.passed_over_bytes", 0);
	}
	json_decref(root);
	fx__quit(t, &f);
	free(l.v);
	return spent;
}

/* Does the kernel list runs of pages (PAGEMAP_SCAN)? */
static bool lists_pages(void)
{
	uint64_t region[3], arg[12] = { [0] = sizeof(arg), [2] = 65536, [3] = 131072, [5] = (uintptr_t)region, [6] = 1, [10] = 8, [11] = 8 };
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool does = ioctl(fd, _IOWR('f', 16, arg), arg) >= 0;

	close(fd);
	return does;
}

/* Pages of shared memory that the kernel has unmapped hold pointers as before, and are not mapped again. */
TEST(reach_unmapped) { search_as(t, "unmapped", NULL, NULL, "registers read"); }
/* So do pages of a file that was written to while the program ran, privately mapped or read-only. */
TEST(reach_private) { search_as(t, "private", NULL, NULL, "registers read"); }

/* So it is with those of a file. Where its file system does not let its page cache be read without a wait, the report says so. */
TEST(reach_unmapped_file)
{
	uint64_t unread, unreached;
	struct list l;
	json_t *root;
	struct mt m;
	struct fx f;

	l = start(t, &f, "unmapped_file");
	root = look(t, &m, &f, "--reachable", NULL);
	unreached = ju64(t, root, "heap[0].unreached.blocks");
	unread = jget(root, "heap[0].unreached.unread_shared_bytes") ? ju64(t, root, "heap[0].unreached.unread_shared_bytes") : 0;
	want(t, unreached == l.n_lost + (unread ? 100 : 0), "%" PRIu64 " of %zu blocks are unreached, %" PRIu64 " bytes were not read", unreached, l.n_lost, unread);
	json_decref(root);
	fx__quit(t, &f);
	free(l.v);
}

/* What another process with the same memory has of the kernel. */
TEST(reach_sibling) { search_as(t, "sibling", NULL, NULL, "registers read, but for 0 threads"); }

/* Nobody can read what the kernel has of a request under way: what only that points to is no more than perhaps leaked. */
static void want_perhaps(struct test *t, const char *how)
{
	struct list l;
	struct mt m;
	struct fx f;

	l = start(t, &f, how);
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", NULL));
	want(t, strstr(m.c.outs.s, "Perhaps leaked, ") && strstr(m.c.outs.s, "asynchronous I/O"),
	     "%s: %s", how, m.c.outs.s);
	fx__quit(t, &f);
	free(l.v);
}

TEST(reach_aio)
{
	struct list l;
	struct mt m;
	struct fx f;

	want_perhaps(t, "aio");
	l = start(t, &f, "quiet");
	want_eq(t, "exit", 0, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", NULL));
	want(t, strstr(m.c.outs.s, "Probably leaked, ") && !strstr(m.c.outs.s, "asynchronous I/O"), "%s", m.c.outs.s);
	fx__quit(t, &f);
	free(l.v);
}

/* A ring is seen by its mapping, and by a descriptor of any process that shares the memory. */
TEST(reach_uring)
{
	struct io_uring_params p = {};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p);

	if (fd < 0)
		skip(t, "no io_uring: %s", strerror(errno));
	close(fd);
	want_perhaps(t, "uring");
	want_perhaps(t, "sibling_uring");
}

/* 20 TiB that are mapped, and 100 pages of them that are there, and have the only pointers to 100 blocks: it takes no longer than without. */
TEST_AS(reach_vast, .alone = true, .limit_s = 200)
{
	static const char *const options[] = { NULL, "--reachable" };

	if (!lists_pages())
		skip(t, "this kernel tells of pages one by one");
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		uint64_t blocks, more;
		double without = look_at(t, "quiet", options[i], &blocks), with = look_at(t, "vast", options[i], &more);

		want_eq(t, "blocks", blocks + 100, more);
		want(t, with < 4 * without, "heap %s: %.3f s of CPU time with 20 TiB, %.3f s without", options[i] ? options[i] : "", with, without);
	}
	/* each block by its address; and with several scans */
	search_as(t, "vast", NULL, NULL, "registers read");
}

/* Kernels before 6.7 have each page's word alone, and so much is too many of them: that is said, and what is near is found. */
TEST_LIMIT(reach_vast_by_words, 200)
{
	uint64_t unreached, passed_over;
	struct list l;
	json_t *root;
	struct mt m;
	struct fx f;

	l = start(t, &f, "vast");
	root = look(t, &m, &f, "--reachable", "MALLOCTRACE_PAGES=words");
	unreached = ju64(t, root, "heap[0].unreached.blocks");
	passed_over = ju64(t, root, "heap[0].unreached.passed_over_bytes");
	want(t, passed_over > 19ull << 40 && passed_over < 20ull << 40, "%llu bytes were not looked at", (unsigned long long)passed_over);
	/* one in 42 GiB, of which the first 256 were looked at */
	want_eq(t, "unreached, and what only far pages point to", l.n_lost + 100 - 7, unreached);
	/* all blocks with a mapping of their own were found, as libc's count says */
	want_u64(t, root, "heap[0].skipped.passed_over_bytes", 0);
	want_u64(t, root, "heap[0].unsure_blocks", 0);
	json_decref(root);
	fx__quit(t, &f);
	free(l.v);
}

/* Interrupted while pointers are searched for: all that was found before is there, and what takes no search. */
TEST(reach_interrupted)
{
	unsigned long long whole[6], part[6];
	struct list l;
	struct fx f;

	l = start(t, &f, "quiet");
	for (int i = 0; i < 2; i++) {
		struct spawn s = { .argv = { fixture("heap-tool"), "look", pid_arg(f.c.pid), i ? "interrupted" : NULL } };
		unsigned long long *v = i ? part : whole;
		struct child c;

		child__start(t, &c, &s);
		must(t, child__wait(t, &c) == 0 && sscanf(c.outs.s, "blocks %llu\nbytes %llu\nolder %llu\nclasses %llu\nscans %llu\ninterrupted %llu", v, v + 1, v + 2, v + 3, v + 4, v + 5) == 6,
		     "%s%s", c.outs.s, c.errs.s);
	}
	want(t, whole[0] > l.n, "%llu blocks of more than %zu", whole[0], l.n);
	want(t, whole[2] >= l.n, "%llu are older of %zu", whole[2], l.n);
	want_eq(t, "blocks", whole[0], part[0]);
	want_eq(t, "bytes", whole[1], part[1]);
	want_eq(t, "older", whole[2], part[2]);
	want_eq(t, "sizes", whole[3], part[3]);
	want_eq(t, "scans of a whole search", 3, whole[4]);
	want_eq(t, "scans", 0, part[4]);
	want_eq(t, "a whole search was interrupted", 0, whole[5]);
	want_eq(t, "interrupted", 1, part[5]);
	fx__quit(t, &f);
	free(l.v);
}

/* "KEY VALUE" in what heap-tool has said. */
static unsigned long long said(struct test *t, const struct child *c, const char *key)
{
	const char *at = strstr(c->outs.s, key);

	must(t, at, "heap-tool says nothing of %s: %s%s", key, c->outs.s, c->errs.s);
	return strtoull(at + strlen(key), NULL, 10);
}

/*
 * A whole look at memory that is kept, of a process that is no more: all that it had, and what it had lost. What registers and epolls held
 * went with them, and that is said.
 */
TEST(reach_kept)
{
	static const char *const same[] = { "blocks ", "\nbytes ", "\nolder ", "\nclasses ", "\nheap " };
	struct fx f, kept;
	struct child before;
	struct list l;

	l = start(t, &f, "quiet");
	fx__start(t, &kept, "heap-tool", "look", pid_arg(f.c.pid), "kept", NULL);
	child__start(t, &before, &(struct spawn){ .argv = { fixture("heap-tool"), "look", pid_arg(f.c.pid) } });
	must(t, !child__wait(t, &before), "%s", before.errs.s);
	fx__quit(t, &f);
	fx__send(t, &kept, 'c');
	must(t, !child__wait(t, &kept.c), "%s", kept.c.errs.s);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		want_eq(t, same[i], said(t, &before, same[i]), said(t, &kept.c, same[i]));
	want_eq(t, "unreached, of one that runs", l.n_lost, said(t, &before, "\nunreached "));
	want(t, said(t, &kept.c, "\nunreached ") >= l.n_lost, "only %llu are unreached", said(t, &kept.c, "\nunreached "));
	want_eq(t, "scans", 1, said(t, &kept.c, "\nscans "));
	want(t, strstr(kept.c.outs.s, "registers not read"), "%s", kept.c.outs.s);
	free(l.v);
}

/* It ends while it is read: the tool says so, and ends as well. */
TEST(reach_target_ends)
{
	struct spawn s = { .argv = { fixture("reach-tool"), NULL, "--gap", "100000" } };
	struct child c;
	struct list l;
	struct fx f;

	l = start(t, &f, "quiet");
	s.argv[1] = pid_arg(f.c.pid);
	child__start(t, &c, &s);
	child__wait_err(t, &c, "census:", NULL, patience_s(10));
	child__kill(t, &f.c, SIGKILL);
	want_eq(t, "exit of reach-tool", 1, child__wait(t, &c));
	free(l.v);
}

/* Each table is read at another moment than the other: what moved between the two would be in none. */
TEST_LIMIT(reach_tables, 300)
{
	struct fx f;

	fx__start(t, &f, "tables", number_arg(scaled(300000)), "15000", NULL);
	fx__send(t, &f, 'c');
	for (int i = 0; i < 5; i++) {
		json_t *root;
		struct mt m;

		must(t, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", "--json", NULL) == 0, "heap fails: %s", m.c.errs.s);
		root = json_loads(m.c.outs.s, 0, NULL);
		want_eq(t, "unreached blocks", 100, ju64(t, jget(root, "heap[0]"), "unreached.blocks"));
		json_decref(root);
	}
	child__kill(t, &f.c, SIGKILL);
}
