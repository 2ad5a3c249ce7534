// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mmap: what a program maps and unmaps itself, against its own account. */
#include "lt.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../bpf/abi.h"

static json_t *exact(struct test *t, const char *name, const char *what, const char *n, const char *more, unsigned int checks)
{
	struct fx f;
	json_t *root;

	if (!fixture_there(name))
		skip(t, "no fixture %s was built", name);
	fx__start(t, &f, name, what, n, NULL);
	root = trace(t, &f, 0, "--mmap", more, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &f);
	return root;
}

#define WITHOUT_STACKS (LED_ALL & ~LED_STACKS)

TEST(mmap_parts) { exact(t, "mappings", "parts", NULL, NULL, LED_ALL); }
TEST(mmap_fixed) { exact(t, "mappings", "fixed", NULL, NULL, LED_ALL); }
TEST(mmap_remap) { exact(t, "mappings", "remap", NULL, NULL, LED_ALL); }
TEST(mmap_breaks) { exact(t, "mappings", "breaks", NULL, NULL, LED_ALL); }
TEST(mmap_failures) { exact(t, "mappings", "failures", NULL, NULL, LED_ALL); }
TEST(mmap_allocator) { exact(t, "mappings", "allocator", NULL, NULL, LED_ALL); }
TEST(mmap_random) { exact(t, "mappings_any", "random", "20000", NULL, LED_ALL); }
TEST(mmap_threads) { exact(t, "mappings_any", "threads", "5000", NULL, LED_STACKS | LED_REALLOC); }

static const char *const whats[] = { "parts", "fixed", "remap", "breaks", "failures", "allocator" };

static void exact_all(struct test *t, const char *name, const char *more, unsigned int checks)
{
	for (unsigned int i = 0; i < sizeof(whats) / sizeof(*whats); i++)
		exact(t, name, whats[i], NULL, more, checks);
}

TEST(mmap_tables) { exact_all(t, "mappings.nofp", "--unwind=table", LED_ALL); }
TEST(mmap_plain_points) { exact_all(t, "mappings", "--points=plain", LED_ALL); }
TEST(mmap_static) { exact_all(t, "mappings.static", NULL, LED_ALL); }
TEST(mmap_musl) { exact_all(t, "mappings.musl", NULL, WITHOUT_STACKS); }
TEST(mmap_musl_static) { exact_all(t, "mappings.musl-static", NULL, WITHOUT_STACKS); }

/* What is mapped inside of a function, wherever it goes; what is mapped outside is nobody's, also when it changes inside. */
static void within(struct test *t, const char *name)
{
	json_t *root = exact(t, name, "scopes", "200", "--within=scope_map", LED_ALL);

	want(t, !strcmp(jstr(root, "within"), "scope_map"), "within, wanted scope_map, got '%s'", jstr(root, "within"));
	want_bool(t, root, "mmap", true);
}

TEST(mmap_within) { within(t, "mappings"); }
TEST(mmap_within_nofp) { within(t, "mappings.nofp"); }

/* Threads' stacks are the program's, but for an arena that the first free of a thread makes. */
static void stacks(struct test *t, const char *name)
{
	const uint64_t n = 20;
	uint64_t calls = 0, bytes = 0, least = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
	json_t *root, *p, *s;
	struct fx f;
	size_t i;

	if (!fixture_there(name))
		skip(t, "no fixture %s was built", name);
	fx__start(t, &f, name, "stacks", "20", NULL);
	root = trace(t, &f, 0, "--mmap", NULL);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, 0);
	for (uint64_t k = 0; k < n; k++)
		least += (1 << 20) + k * 16 * page;
	json_array_foreach(jget(root, "sites"), i, s) {
		if (strcmp(jstr(s, "function"), "mmap"))
			continue;
		calls += ju64(t, s, "alloc_calls");
		bytes += ju64(t, s, "alloc_bytes");
	}
	/* one for each, and one of the usual size; guards and the thread's own data come on top */
	want_eq(t, "what is mapped", n + 1, calls);
	want(t, bytes >= least, "bytes of stacks, wanted at least %llu, got %llu", (unsigned long long)least, (unsigned long long)bytes);
	fx__quit(t, &f);
}

TEST(mmap_thread_stacks) { stacks(t, "mappings_any"); }
TEST(mmap_thread_stacks_musl) { stacks(t, "mappings_any.musl"); }

/* With sizes that were set aside, a mapping is whole pages; and entries of malloc are needed, to know what it maps. */
static void usable(struct test *t, const char *what)
{
	struct spawn s = { .argv = { fixture("mappings"), "--usable", what } };
	json_t *root;
	struct fx f;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, "--mmap", "--size", "usable", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

TEST(mmap_usable)
{
	for (unsigned int i = 0; i < sizeof(whats) / sizeof(*whats); i++)
		usable(t, whats[i]);
}

/* Nothing of it is there without the option. */
TEST(mmap_not_asked)
{
	json_t *root, *s;
	struct fx f;
	size_t i;

	fx__start(t, &f, "mappings", "allocator", NULL);
	root = trace(t, &f, 0, NULL);
	want(t, !jget(root, "mmap"), "mmap, wanted no such key");
	json_array_foreach(jget(root, "sites"), i, s)
		want(t, strcmp(jstr(s, "function"), "mmap") && strcmp(jstr(s, "function"), "brk"), "function, got '%s'", jstr(s, "function"));
	json_array_foreach(jget(root, "probes[0].functions"), i, s)
		want(t, strcmp(json_string_value(s), "mmap") && strcmp(json_string_value(s), "munmap"), "a probe on '%s', wanted none",
		     json_string_value(s));
	fx__quit(t, &f);
}

/* No room: what is lost is counted, and leaves no phantom when it is unmapped. */
TEST(mmap_full)
{
	const uint64_t n = 5000;
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "mappings_any", "many", "5000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--mmap", "--max-live", "1000", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__go(t, &f);		/* all of them unmapped at once */
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, ju64(t, root, "losses.live_full") > 0, "losses.live_full, wanted more than 0, got 0");
	want_eq(t, "alloc_calls + losses.live_full", n, ju64(t, root, "totals.alloc_calls") + ju64(t, root, "losses.live_full"));
	want_u64(t, root, "losses.total", ju64(t, root, "losses.live_full"));
	want_u64(t, root, "totals.live_blocks", 0);
	want_u64(t, root, "totals.live_bytes", 0);
	want_scan(t, root);
	fx__quit(t, &f);
}

/* Many, and one call that takes all of them away. */
TEST(mmap_many)
{
	const uint64_t n = scaled(60000);
	char text[24];
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	fx__start(t, &f, "mappings_any", "many", text, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--mmap", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace:", "snapshot 1 written", patience_s(60));
	root = load_json(t, in_dir(t, "x.1.json"));
	want_u64(t, root, "totals.live_blocks", n);
	want_bool(t, root, "mmap", true);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/*
 * Left by longjmp out of a signal handler, again and again: nothing is stuck, nothing stays behind. Each mmap that was begun
 * counts or was left; a signal just before or behind it may make one of the other.
 */
TEST(mmap_interrupted)
{
	const uint64_t n = 100;
	uint64_t begun, ended, calls, left;
	json_t *root, *p;
	struct fx f;

	fx__start(t, &f, "mappings_any", "interrupted", "100", NULL);
	root = trace(t, &f, 0, "--mmap", NULL);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, LED_STACKS);
	want_u64(t, p, "totals.live_bytes", ledger__sum(&f.led, LED_ALLOC_BYTES) - ledger__sum(&f.led, LED_FREE_BYTES));
	want_u64(t, p, "totals.live_blocks", 1);
	begun = ledger__note(t, &f.led, "mmap_begun");
	ended = ledger__note(t, &f.led, "mmap_ended");
	calls = ju64(t, p, "totals.alloc_calls") - ledger__sum(&f.led, LED_ALLOC_CALLS);
	left = ju64(t, root, "edges.abandoned");
	want(t, calls >= ended && ended >= 20 * n, "calls of mmap, wanted at least %llu, got %llu", (unsigned long long)ended,
	     (unsigned long long)calls);
	want(t, left >= ledger__note(t, &f.led, "mmap_left") && left >= n, "calls of mmap that were left, wanted at least %llu, got %llu",
	     (unsigned long long)ledger__note(t, &f.led, "mmap_left"), (unsigned long long)left);
	want(t, calls + left <= begun, "calls of mmap and those that were left, wanted at most %llu, got %llu + %llu",
	     (unsigned long long)begun, (unsigned long long)calls, (unsigned long long)left);
	fx__quit(t, &f);
}

TEST(mmap_forks)
{
	json_t *root, *p;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct fx f;

	fx__start(t, &f, "mappings", "forks", NULL);
	root = trace(t, &f, 0, "--mmap", "-f", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	p = process_of(t, root, (pid_t)ledger__note(t, &f.led, "child"), 0);
	want_u64(t, p, "totals.alloc_calls", 1);
	want_u64(t, p, "totals.alloc_bytes", 3 * page);
	want_u64(t, p, "totals.free_bytes", page);
	want_u64(t, p, "totals.live_blocks", 1);
	want_u64(t, p, "totals.unknown_frees", 0);
	fx__quit(t, &f);
	/* the parent alone */
	exact(t, "mappings", "forks", NULL, NULL, LED_ALL);
	exact(t, "mappings", "vforks", NULL, "-f", LED_ALL);
}

TEST(mmap_execs)
{
	struct ledger first;
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "mappings", "exec", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mmap", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	first = f.led;
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &first, LED_ALL);
	/* what its second life mapped before it said so is in its figures, too: the room, the older one */
	want_ledger(t, root, process_of(t, root, f.c.pid, 1), &f.led, 0);
	fx__quit(t, &f);
}

/* More lives than there is room for, of a program that waits at each exec: what they mapped goes with them, and nothing is lost. */
TEST(mmap_lives)
{
	enum { PER_LIFE = 30, OF_MAIN = 2 };
	const uint64_t n = 150, all = n * (PER_LIFE + OF_MAIN);
	char text[24];
	json_t *root;
	struct mt m;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	/* the overflow map, where mappings are, has room for 1,024 */
	mt__start(t, &m, "--mmap", "--json", "--max-live", "4096", "--", fixture("mappings_any"), "lives", text, "go on", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_eq(t, "lives", n, json_array_size(jget(root, "processes")));
	want_u64(t, root, "totals.alloc_calls", all);
	want_u64(t, root, "totals.live_blocks", all);
	want_u64(t, root, "totals.free_calls", 0);
	want_u64(t, root, "totals.free_bytes", n * PER_LIFE * (uint64_t)sysconf(_SC_PAGESIZE));
}

/* Allocators that are preloaded: what they map is not the program's either. */
static void preloaded(struct test *t, const char *library)
{
	static const char *const some[] = { "allocator", "parts", "remap" };

	for (unsigned int i = 0; i < sizeof(some) / sizeof(*some); i++) {
		json_t *root;
		struct fx f;

		fx__start_preloaded(t, &f, library, "mappings", some[i]);
		root = trace(t, &f, 0, "--mmap", NULL);
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_TEMP | LED_REALLOC | LED_PEAK);
		fx__quit(t, &f);
	}
}

TEST(mmap_jemalloc) { preloaded(t, "libjemalloc.so.2"); }
TEST(mmap_tcmalloc) { preloaded(t, "libtcmalloc_minimal.so.4"); }
TEST(mmap_mimalloc) { preloaded(t, "libmimalloc.so.2.0"); }

/* A program of our own, from its first instruction: what its loader maps is not its own. */
TEST(mmap_command)
{
	const char *ledger = in_dir(t, "ledger"), *path = in_dir(t, "x.json");
	struct ledger led;
	json_t *root, *s;
	struct mt m;
	char *text;
	size_t i;

	mt__start(t, &m, "--mmap", "-o", path, "--", fixture("mappings"), "--auto", ledger, "fixed", NULL);
	mt__stop(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&led, text), "no ledger in %s", ledger);
	free(text);
	root = load_json(t, path);
	want_invariants(t, root);
	want_lossless(t, root);
	want_ledger(t, root, jget(root, "processes[0]"), &led, LED_STACKS);
	json_array_foreach(jget(root, "sites"), i, s)
		want(t, site_sum(t, root, jget(root, "processes[0]"), "main", "alloc_calls") == ju64(t, root, "totals.alloc_calls"),
		     "all of it below main, wanted");
}

/* A report made later says that mappings are in it. */
TEST(mmap_report)
{
	const char *path = in_dir(t, "x.json");
	struct fx f;
	struct mt m;

	fx__start(t, &f, "mappings", "parts", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mmap", "-o", path, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "with what it maps itself") != NULL, "that mappings count, wanted in the header, got\n%s", m.c.outs.s);
	want_eq(t, "report", 0, (uint64_t)mt__run(t, &m, "report", path, NULL));
	want(t, strstr(m.c.outs.s, "with what it maps itself") != NULL, "that mappings count, wanted in the header, got\n%s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "reserve_here") != NULL, "a site that maps, wanted, got\n%s", m.c.outs.s);
	fx__quit(t, &f);
}

TEST(mmap_refuses)
{
	static const char *const with[][2] = { { "--mode", "count" }, { "--mode", "growth" }, { "--sample", "64K" }, { "--overhead", "5" } };
	struct mt m;

	for (unsigned int i = 0; i < sizeof(with) / sizeof(*with); i++) {
		want_eq(t, with[i][1], 2, (uint64_t)mt__run(t, &m, "-p", "1", "--mmap", with[i][0], with[i][1], NULL));
		want(t, strstr(m.c.errs.s, with[i][0]) && strstr(m.c.errs.s, "--mmap"), "both options in the message, wanted, got '%s'",
		     m.c.errs.s);
	}
}

/* ---- a lock that is held for good */

static int bpf_call(int cmd, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

/* The map of this name that a process has open; -1: there is none. */
static int map_of(pid_t pid, const char *name)
{
	char path[300], *text;
	DIR *dir;
	struct dirent *d;
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	while (dir && found < 0 && (d = readdir(dir))) {
		struct bpf_map_info info = { 0 };
		union bpf_attr attr = { 0 };
		char *id;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, d->d_name);
		text = read_all(path, NULL);
		id = text ? strstr(text, "map_id:") : NULL;
		attr.map_id = id ? (__u32)strtoul(id + 7, NULL, 10) : 0;
		free(text);
		fd = id ? bpf_call(BPF_MAP_GET_FD_BY_ID, &attr) : -1;
		if (fd < 0)
			continue;
		attr = (union bpf_attr){ .info = { .bpf_fd = (__u32)fd, .info_len = sizeof(info), .info = (uintptr_t)&info } };
		if (!bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr) && !strcmp(info.name, name))
			found = fd;
		else
			close(fd);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void set_locks(struct test *t, int fd, uint32_t value)
{
	for (uint32_t slot = 1; slot < 16; slot++) {
		struct mt_mapped m;
		union bpf_attr attr = { 0 };

		attr.map_fd = (__u32)fd;
		attr.key = (uintptr_t)&slot;
		attr.value = (uintptr_t)&m;
		must(t, !bpf_call(BPF_MAP_LOOKUP_ELEM, &attr), "no slot %u of the table of mappings", slot);
		m.lock = value;
		must(t, !bpf_call(BPF_MAP_UPDATE_ELEM, &attr), "slot %u of the table of mappings cannot be changed", slot);
	}
}

/* As if a thread were switched off for good in the middle of a change: who waits gives up, and what it did is counted as lost. */
TEST(mmap_busy)
{
	json_t *root;
	struct fx f;
	struct mt m;
	int fd;

	fx__start(t, &f, "mappings", "failures", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--mmap", NULL);
	mt__wait_attached(t, &m);
	fd = map_of(m.c.pid, "mapped");
	must(t, fd >= 0, "no table of mappings in malloctrace");
	set_locks(t, fd, 1);
	fx__go(t, &f);
	set_locks(t, fd, 0);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, ju64(t, root, "losses.mapping_busy") > 0, "losses.mapping_busy, wanted more than 0, got 0");
	want_u64(t, root, "totals.alloc_calls", 0);
	want_u64(t, root, "totals.live_bytes", 0);
	want_scan(t, root);
	close(fd);
	fx__quit(t, &f);
}
