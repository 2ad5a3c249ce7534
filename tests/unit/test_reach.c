// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which memory is a root, and which of the lost blocks are lost by themselves. */
#include <criterion/criterion.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fuse_made.h"
#include "heap/reach_parts.h"
#include "util/util.h"

/* ---- roots */

static struct roots look(const char *maps_text, struct target_thread *threads, size_t n, const struct heap_range *heap, size_t n_heap)
{
	struct census c = { .ranges = { (struct heap_range *)heap, n_heap, n_heap } };
	struct roots r = { .threads = threads, .n_threads = n };
	struct maps m;

	maps__parse(maps_text, strlen(maps_text), &m);
	roots__ranges(&r, &m, &c, &(struct heap_ranges){});
	maps__done(&m);
	r.threads = NULL;
	return r;
}

static void want_range(const struct root_range *r, uint64_t start, uint64_t end, enum root_area area)
{
	cr_assert_eq(r->start, start, "%llx", (unsigned long long)r->start);
	cr_assert_eq(r->end, end, "%llx", (unsigned long long)r->end);
	cr_assert_eq(r->area, area);
}

static void want_ranges(const struct roots *r, const struct root_range *want, size_t n)
{
	cr_assert_eq(r->ranges.n, n);
	for (size_t i = 0; i < n; i++)
		want_range(&r->ranges.v[i], want[i].start, want[i].end, want[i].area);
}

Test(roots, mappings)
{
	static const struct heap_range heap[] = { { 0x30000, 0x38000 }, { 0x39000, 0x3a000 }, { 0x70000, 0x71000 } };
	struct roots r = look("10000-14000 r-xp 00000000 fd:01 7 /bin/a\n"
			      "14000-15000 r--p 00004000 fd:01 7 /bin/a\n"
			      "15000-16000 rw-p 00005000 fd:01 7 /bin/a\n"
			      "16000-18000 rw-p 00000000 00:00 0 \n"
			      "2f000-40000 rw-p 00000000 00:00 0 [heap]\n"
			      "50000-51000 r--p 00000000 fd:01 9 /usr/lib/locale\n"
			      "60000-61000 rw-s 00000000 00:05 3 /dev/shm/x\n"
			      "62000-63000 r--p 00000000 00:00 0 \n"
			      "64000-65000 ---p 00000000 00:00 0 \n"
			      "66000-67000 r-xp 00000000 00:00 0 \n"
			      "70000-72000 rw-p 00000000 00:00 0 \n"
			      "80000-81000 rw-p 00000000 00:00 0 [stack]\n"
			      "90000-91000 r--p 00000000 00:00 0 [vvar]\n"
			      "91000-92000 r-xp 00000000 00:00 0 [vdso]\n",
			      NULL, 0, heap, ARRAY_SIZE(heap));
	static const struct root_range want[] = {
		{ 0x14000, 0x15000, AREA_MODULE, 0 }, { 0x15000, 0x16000, AREA_MODULE, 0 }, { 0x16000, 0x18000, AREA_MODULE, 0 },
		{ 0x2f000, 0x30000, AREA_MAPPING, 0 }, { 0x38000, 0x39000, AREA_MAPPING, 0 }, { 0x3a000, 0x40000, AREA_MAPPING, 0 },
		{ 0x60000, 0x61000, AREA_MAPPING, 0 }, { 0x62000, 0x63000, AREA_MAPPING, 0 },
		{ 0x66000, 0x67000, AREA_MAPPING, 0 }, { 0x71000, 0x72000, AREA_MAPPING, 0 },
		{ 0x80000, 0x81000, AREA_STACK, 0 },
	};

	want_ranges(&r, want, ARRAY_SIZE(want));
	cr_assert_eq(r.below.n, 0);
	roots__done(&r);
}

/* Files side by side: of one it is known by its code that it is a module, wherever that lies among its parts. */
Test(roots, modules)
{
	struct roots r = look("10000-11000 rw-p 00000000 fd:01 7 /bin/a\n"
			      "11000-12000 rw-p 00001000 fd:01 7 /bin/a\n"
			      "12000-13000 r-xp 00002000 fd:01 7 /bin/a\n"
			      "13000-14000 rw-p 00000000 fd:01 8 /data\n"
			      "14000-15000 rw-p 00001000 fd:01 8 /data\n"
			      "15000-16000 rw-p 00000000 00:00 0 \n"
			      "16000-17000 r-xp 00000000 fd:01 9 /lib/b\n"
			      "17000-18000 rw-p 00001000 fd:01 9 /lib/b\n"
			      "18000-19000 rw-p 00000000 00:00 0 \n"
			      "20000-21000 rw-p 00000000 00:00 0 \n",
			      NULL, 0, NULL, 0);
	static const struct root_range want[] = {
		{ 0x10000, 0x11000, AREA_MODULE, 0 }, { 0x11000, 0x12000, AREA_MODULE, 0 }, { 0x17000, 0x18000, AREA_MODULE, 0 },
		{ 0x18000, 0x19000, AREA_MODULE, 0 }, { 0x13000, 0x14000, AREA_MAPPING, 0 }, { 0x14000, 0x15000, AREA_MAPPING, 0 },
		{ 0x15000, 0x16000, AREA_MAPPING, 0 }, { 0x20000, 0x21000, AREA_MAPPING, 0 },
	};

	cr_assert_eq(r.ranges.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		want_range(&r.ranges.v[i], want[i].start, want[i].end, want[i].area);
	roots__done(&r);
}

/* Only what is known to be a stack, and nothing else, is cut at its stack pointer. */
Test(roots, stacks)
{
	struct target_thread threads[] = {
		{ .tid = 1, .sp = 0x90800, .tp = 0x1000 },	/* the first thread: [stack] */
		{ .tid = 2, .sp = 0x24000, .tp = 0x28f00 },	/* a guard below, its storage above */
		{ .tid = 3, .sp = 0, .tp = 0x38f00 },		/* runs */
		{ .tid = 4, .sp = 0x44000, .tp = 0x48f00 },	/* no guard: who knows what else is there */
		{ .tid = 5, .sp = 0x53000, .tp = 0x58f00 },	/* two in one mapping */
		{ .tid = 6, .sp = 0x52000, .tp = 0x55f00 },
		{ .tid = 7, .sp = 0x62000, .tp = 0x1000 },	/* a stack of the program's own making */
		{ .tid = 8, .sp = 0x70010, .tp = 0x78f00 },	/* to the very end */
	};
	struct roots r = look("1f000-20000 ---p 00000000 00:00 0 \n"
			      "20000-29000 rw-p 00000000 00:00 0 \n"
			      "2f000-30000 ---p 00000000 00:00 0 \n"
			      "30000-39000 rw-p 00000000 00:00 0 \n"
			      "40000-49000 rw-p 00000000 00:00 0 \n"
			      "4f000-50000 ---p 00000000 00:00 0 \n"
			      "50000-59000 rw-p 00000000 00:00 0 \n"
			      "60000-69000 rw-p 00000000 00:00 0 \n"
			      "6f000-70000 ---p 00000000 00:00 0 \n"
			      "70000-79000 rw-p 00000000 00:00 0 \n"
			      "90000-91000 rw-p 00000000 00:00 0 [stack]\n",
			      threads, ARRAY_SIZE(threads), NULL, 0);
	static const struct root_range want[] = {
		{ 0x23f80, 0x29000, AREA_STACK, 0 }, { 0x30000, 0x39000, AREA_STACK, 0 }, { 0x40000, 0x49000, AREA_STACK, 0 },
		{ 0x50000, 0x59000, AREA_STACK, 0 }, { 0x60000, 0x69000, AREA_STACK, 0 }, { 0x70000, 0x79000, AREA_STACK, 0 },
		{ 0x90780, 0x91000, AREA_STACK, 0 },
	};

	want_ranges(&r, want, ARRAY_SIZE(want));
	cr_assert_eq(r.below.n, 3);
	want_range(&r.below.v[0], 0x20000, 0x23f80, AREA_STACK);
	cr_assert_eq(r.below.v[0].thread, 1);
	want_range(&r.below.v[1], 0x70000, 0x70000, AREA_STACK);
	want_range(&r.below.v[2], 0x90000, 0x90780, AREA_STACK);
	cr_assert_eq(r.below.v[2].thread, 0);
	roots__done(&r);
}

/* A memfd when the mappings were read, now a file whose file system does not answer. */
Test(roots, memory_that_became_a_file, .timeout = 60)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int memory = memfd_create("data", MFD_CLOEXEC), fd;
	struct target t = { .runner = getpid(), .page_bytes = page };
	struct search s = { .t = &t, .files_left = 1 << 20 };
	const struct mapping *m;
	struct fuse_made f;
	struct maps maps;
	pid_t pid;
	void *p;

	fuse_made__begin(&f);
	cr_assert(memory >= 0 && !ftruncate(memory, (off_t)page));
	p = mmap(NULL, page, PROT_READ, MAP_SHARED, memory, 0);
	cr_assert(p != MAP_FAILED && !maps__read(getpid(), &maps, NULL));
	m = maps__find(&maps, (uintptr_t)p);
	cr_expect(file_pages__are_rewritten(&s, m, false), "it is younger than the program");
	fd = open(f.file, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(mmap(p, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0), p);
	pid = fork();
	if (!pid)
		_exit(!file_pages__are_rewritten(&s, m, true) ||
		      file_pages__are_rewritten(&s, m, false));
	fuse_made__end_after(&f, pid);
	maps__done(&maps);
}

Test(roots, kept)
{
	struct roots r = {};

	roots__parse_kept(&r,
		       "pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:     ffffa0001234  pos:0 ino:61af sdev:7\n"
		       "tfd:        6 events:       19 data:                7  pos:0 ino:61af sdev:7\n"
		       "tfd: 7 events: 0 data: 0\ndata:",
		       "data:", KEPT_FOR_EPOLL);
	cr_assert_eq(r.words.n, 2);
	cr_assert_eq(r.words.v[0].value, 0xffffa0001234);
	cr_assert_eq(r.words.v[1].value, 7);
	roots__done(&r);
	roots__parse_kept(&r, "ID: 0\nsignal: 60/00007fff86e452a8\nnotify: signal/pid.2634\nClockID: 0\n", "/", KEPT_FOR_TIMER);
	cr_assert_eq(r.words.n, 1);
	cr_assert_eq(r.words.v[0].value, 0x7fff86e452a8);
	roots__done(&r);
}

/* What is dropped, because it is too much, is known to have been. */
Test(roots, more_is_kept_than_is_taken)
{
	static const char line[] = "data: 10\n";
	const size_t n = 1 << 20, len = sizeof(line) - 1;
	_cleanup_free_ char *text = malloc(n * len + 1);
	struct roots r = {};

	for (size_t i = 0; i < n; i++)
		memcpy(text + i * len, line, len + 1);
	roots__parse_kept(&r, text, "data:", KEPT_FOR_EPOLL);
	cr_expect_eq(r.words.n, n);
	cr_expect(!r.kept_in_part);
	roots__parse_kept(&r, line, "data:", KEPT_FOR_EPOLL);
	cr_expect_eq(r.words.n, n);
	cr_expect(r.kept_in_part);
	roots__done(&r);
}

static int no_registers(pid_t pid, const struct sharers *others, struct mt_registers **ret,
			size_t *ret_n, void *arg, struct err *e)
{
	*ret = NULL;
	*ret_n = 0;
	return 0;
}

static int look_at_self(const struct target_calls *calls, struct roots *ret)
{
	const struct reach_opts o = { .registers = no_registers };
	const struct census c = {};
	struct target t = {};
	struct search s = {};
	struct err e = {};
	int err;

	cr_assert_eq(target__open(getpid(), calls, &t, &e), 0, "%s", err_msg(&e));
	search__init(&s, &t);
	err = roots__look(ret, &s, &c, &o, &e);
	search__done(&s);
	target__done(&t);
	err_done(&e);
	return err;
}

static bool ends_at_zero(void *arg)
{
	int *left = arg;

	return !*left || !--*left;
}

/* There may be half a million, in each of thousands of processes. */
Test(roots, interrupted_among_descriptors)
{
	int left = 100;
	const struct target_calls calls = { .is_over = ends_at_zero, .arg = &left };
	struct roots r = {};

	for (int i = 0; i < 200; i++)
		cr_assert_geq(dup(0), 0);
	cr_expect_eq(look_at_self(&calls, &r), -EINTR);
	roots__done(&r);
}

#define KEPT 0x123456789abcull

static char sibling_stacks[2][64 * 1024] __attribute__((aligned(16)));

__attribute__((noreturn)) static int wait_here(void *arg __attribute__((unused)))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* One has the same table of descriptors as we, another one a copy of it. */
Test(roots, each_table_of_descriptors_once)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = KEPT };
	int epoll = epoll_create1(EPOLL_CLOEXEC), any[2], n = 0;
	pid_t siblings[2];
	struct roots r = {};

	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0))
		cr_skip_test("skipped: this kernel has no kcmp");
	cr_assert(epoll >= 0 && !pipe(any) && !epoll_ctl(epoll, EPOLL_CTL_ADD, any[0], &e));
	for (int i = 0; i < 2; i++) {
		siblings[i] = clone(wait_here, sibling_stacks[i] + sizeof(sibling_stacks[i]),
				    CLONE_VM | (i ? 0 : CLONE_FILES) | SIGCHLD, NULL);
		cr_assert_gt(siblings[i], 0);
	}
	cr_assert_eq(look_at_self(NULL, &r), 0);
	for (size_t i = 0; i < r.words.n; i++)
		n += r.words.v[i].value == KEPT;
	cr_expect_eq(n, 2);
	cr_expect(!r.kept_in_part);
	roots__done(&r);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(kill(siblings[i], SIGKILL), 0);
		cr_assert_eq(waitpid(siblings[i], NULL, 0), siblings[i]);
	}
}

/* ---- direct, indirect: "abc" are blocks, "ab" in pairs is who points to whom, '!' before a block: it has left */

static void judge(const char *pairs, const char *left, const char *want)
{
	struct candidates c = {};
	uint8_t to[26];
	size_t n = strlen(want);

	c.left = calloc(n + 1, 1);
	c.edges.first = calloc(n + 1, sizeof(uint32_t));
	for (size_t i = 0; i < n; i++) {
		cr_assert(vec_push(&c.blocks));
		c.left[i] = strchr(left, 'a' + (int)i) != NULL;
		c.edges.first[i] = c.edges.to.n;
		for (const char *p = pairs; *p; p += 2)
			if (p[0] == 'a' + (int)i)
				*(uint32_t *)vec_push(&c.edges.to) = p[1] - 'a';
	}
	c.edges.first[n] = c.edges.to.n;
	candidates__judge(&c, to);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(to[i], want[i] == 'D' ? UNREACHED : want[i] == 'i' ? UNREACHED_INDIRECT : REACHED, "%s: %c", pairs, 'a' + (int)i);
	candidates__done(&c);
}

Test(reach, direct)
{
	judge("", "", "D");
	judge("", "", "DDD");
	judge("abbc", "", "Dii");
	judge("cbba", "", "iiD");
	judge("bcab", "", "Dii");
	/* circles */
	judge("abba", "", "Di");
	judge("abbcca", "", "Dii");
	judge("abbccadc", "", "iiiD");	/* d points into it */
	judge("abbccadb", "", "iiiD");
	judge("abbaccdd", "", "DiDD");
	judge("abbacddcac", "", "Diii");	/* one circle into another */
	judge("abbacddcda", "", "iiDi");
	judge("abbaacbc", "", "Dii");
	/* a diamond, and something that two point to */
	judge("abacbdcd", "", "Diii");
	judge("acbc", "", "DDi");
	/* those that left count for nothing */
	judge("abbc", "a", ".Di");
	judge("abba", "b", "D.");
}
