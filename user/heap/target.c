// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which process's memory is read. What is read belongs to one program: pagemap was opened with its memory. Memory that
 * is kept is not gone, and is read by what was opened with it alone: the process's number may be another one's.
 */
#include "heap/target.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "process/keeper.h"
#include "process/process.h"
#include "util/parse.h"
#include "util/rights.h"

#define PAGES_AT_ONCE 512

static int say_gone(struct target *t, struct err *e)
{
	return err_set(e, -ESRCH, "process %d has ended, or become another program", (int)t->pid);
}

/* Who else could have refused, if not the kernel's usual rule. */
static int refuse(pid_t pid, struct err *e)
{
	_cleanup_free_ char *scope = NULL;
	int r = rights__refused(e, -EPERM, RIGHT_BIT(RIGHT_SYS_PTRACE), "this user may not read the memory of process %d", (int)pid);

	if (!right__held(RIGHT_SYS_PTRACE) && !read_small_file("/proc/sys/kernel/yama/ptrace_scope", &scope, NULL) && scope[0] > '0')
		err_hint(e, "kernel.yama.ptrace_scope is %c: one's own processes cannot be read either", scope[0]);
	return r;
}

/* Does the kernel let us read at all? Said now, rather than as a heap that is not there. */
static int try_read(struct target *t, struct err *e)
{
	for (size_t i = 0; i < t->maps.n; i++) {
		char byte;

		if (t->maps.v[i].read && memory__read(&t->memory, t->maps.v[i].start, &byte, 1))
			return 0;
		if (t->memory.failed == -EPERM || t->memory.failed == -EACCES)
			return refuse(t->pid, e);
		if (t->memory.failed == -ENOSYS)
			return err_set(e, -ENOSYS, "this kernel has no process_vm_readv: the heap cannot be read");
	}
	return memory__is_gone(&t->memory) ? say_gone(t, e) : 0;
}

/* What there is to do once its pages are open. Takes t. */
static int begin(struct target *t, struct target *ret, struct err *e)
{
	int r;

	page_runs__learn(t);
	r = target__refresh(t, e);
	/* where the kernel does not say, there are none */
	if (!r && t->runner)
		sharers__find(t->pid, &t->sharers);
	if (!r && !t->kept)
		r = try_read(t, e);
	if (r)
		target__done(t);
	else
		*ret = *t;
	return r;
}

int target__open(pid_t pid, const struct target_calls *calls, struct target *ret, struct err *e)
{
	struct target t = { .pid = pid, .memory.pid = pid, .calls = calls, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	int r;

	t.runner = process__runner(pid);
	if (!t.runner)
		return err_set(e, -ESRCH, "no process %d, or it has ended", (int)pid);
	r = process__open(t.runner, "pagemap", 0);
	if (r == -EACCES || r == -EPERM)
		return refuse(pid, e);
	if (r < 0)
		return err_set(e, r, "pages of process %d: %s", (int)pid, strerror(-r));
	t.memory.pagemap = r;
	return begin(&t, ret, e);
}

int target__open_kept(struct keeping *k, const struct target_calls *calls, struct target *ret, struct err *e)
{
	struct target t = { .pid = keeping__pid(k), .kept = k, .calls = calls, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	int r = memory__copy(keeping__memory(k), &t.memory);

	return r ? err_set(e, r, "pages of process %d: %s", (int)t.pid, strerror(-r)) : begin(&t, ret, e);
}

void target__done(struct target *t)
{
	if (!t || !t->pid)
		return;
	target__resume(t);
	memory__close(&t->memory);
	maps__done(&t->maps);
	sharers__done(&t->sharers);
	*t = (struct target){};
}

int target__refresh(struct target *t, struct err *e)
{
	struct maps maps;
	pid_t runner = t->kept ? keeping__runner(t->kept) : process__runner(t->pid);
	int r;

	if ((!runner && !t->kept) || memory__is_gone(&t->memory))
		return say_gone(t, e);
	t->runner = runner;
	t->memory.runner = t->kept ? 0 : runner;
	r = t->kept ? keeping__maps(t->kept, &maps, e) : maps__read(runner, &maps, e);
	if (r)
		return r;
	/* between the question and its answer */
	if (memory__is_gone(&t->memory)) {
		maps__done(&maps);
		return say_gone(t, e);
	}
	maps__done(&t->maps);
	t->maps = maps;
	return 0;
}

void target__note_untold(struct target *t, int err)
{
	if (err_is_want(err))
		t->memory.failed = err;
}

bool target__is_over(const struct target *t)
{
	return t->calls && t->calls->is_over && t->calls->is_over(t->calls->arg);
}

int target__go_on(struct target *t, const char *what, double part)
{
	const struct target_calls *c = t->calls;

	if (target__is_over(t))
		return -EINTR;
	if (c && c->progress)
		c->progress(what, part, c->arg);
	return 0;
}

/* ---- does it rest? */

#define RESTING_MAX 64		/* threads: of more, it takes too long to ask each */

/* How often a thread has left a processor; 0: it is on one, or waits for one, or it is not known. */
static uint64_t switches_of(pid_t tid)
{
	_cleanup_free_ char *text = NULL;
	uint64_t sum = 0, n;
	char *at, *line;

	if (process__file(tid, "status", &text))
		return 0;
	for (at = text; (line = strsep(&at, "\n"));) {
		char *value = strchr(line, '\t');

		if (!strncmp(line, "State:\tR", 8))
			return 0;
		if (value && strstr(line, "voluntary_ctxt_switches:") && !parse_u64(value + 1, 0, UINT64_MAX, &n))
			sum += n;
	}
	return sum;
}

/* Weighed by its number: one thread that ends and another one that begins do not make up for each other. */
#define TID_WEIGHT 0x9e3779b97f4a7c15ull

/* False: one of the threads of this process runs, or there are too many to ask. */
static bool add_runs(pid_t pid, size_t *n, uint64_t *sum)
{
	_cleanup_pids_ struct pids threads = pids__of_threads(pid);
	bool rests = true;
	pid_t tid;

	while (rests && (tid = pids__next(&threads))) {
		uint64_t switches = (*n)++ < RESTING_MAX ? switches_of(tid) : 0;

		rests = switches;
		*sum += (uint64_t)tid * TID_WEIGHT * switches;
	}
	return rests;
}

uint64_t target__runs(struct target *t)
{
	uint64_t sum = 0;
	size_t n = 0;

	if (!t->runner)
		return 1;
	for (size_t i = 0; target__pid_at(t, i); i++)
		if (!add_runs(target__pid_at(t, i), &n, &sum))
			return 0;
	return n ? MAX(sum, 1ull) : 0;
}

pid_t target__pid_at(const struct target *t, size_t i)
{
	return !i ? t->pid : i <= t->sharers.n ? t->sharers.v[i - 1] : 0;
}

uint64_t target__n_threads(const struct target *t)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	/* a link for each directory in it, and two for itself */
	return t->runner && !stat(path, &st) && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

/* ---- pages */

void target__pages(struct target *t, uint64_t start, size_t n_pages, uint8_t *to)
{
	uint64_t words[PAGES_AT_ONCE];

	memset(to, PAGE_ABSENT, n_pages);
	for (size_t at = 0; at < n_pages; at += PAGES_AT_ONCE) {
		ssize_t got = memory__page_words(&t->memory, start + at * t->page_bytes, words, MIN(n_pages - at, (size_t)PAGES_AT_ONCE));

		if (got < 0)
			t->memory.failed = (int)got;
		for (ssize_t i = 0; i < got; i++)
			to[at + i] = words[i] & PAGE_WORD_PRESENT ? PAGE_PRESENT :
				     words[i] & PAGE_WORD_SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT;
	}
}

/* ---- reading */

bool target__read(struct target *t, uint64_t addr, void *to, size_t n)
{
	return memory__read(&t->memory, addr, to, n) == n;
}

/* ---- runs of pages */

/*
 * Owns how resident pages are found. From 6.7 on the kernel lists runs of them (PAGEMAP_SCAN): it passes over what was never
 * touched, be it terabytes, and says which are its own zeros. Before that each page's word of pagemap is read, and
 * there is a bound on how many are of pages that are not there: those that are there cost more by far, whoever asks for them.
 *
 * What always holds: the kernel holds the lock of the address space for a fraction of a millisecond at a time.
 */

#define WORDS_AT_ONCE 512
/* Words of pages that are not there, 10 ns each: */
#define ABSENT_MAX (1ull << 27)		/* in all: 512 GiB of pages of 4 KiB; */
#define ABSENT_OF_RANGE (1ull << 26)	/* of one range, so that others are looked at, too; */
#define ABSENT_ALWAYS (1ull << 18)	/* of any range: so much is only a few milliseconds */
#define FOUND_AT_ONCE (1u << 14)	/* pages */
#define READ_AT_ONCE 512		/* of those that are going to be read, before they go away */

/* linux/fs.h, which may be older than that */
struct scan_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN _IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT (1 << 3)
#define SCAN_SWAPPED (1 << 4)
#define SCAN_ZERO (1 << 5)
#define SCAN_GUARD (1 << 8)		/* from 6.15 on */

/* Is it there, and with guards? */
void page_runs__learn(struct target *t)
{
	static const uint64_t masks[] = { SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO | SCAN_GUARD, SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO };
	const uint64_t page = t->page_bytes;

	page_runs__begin(t);
	t->scan_mask = 0;
	/* for the tests: as kernels before 6.7 */
	if (!strcmp(getenv("MALLOCTRACE_PAGES") ?: "", "words"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(masks) && !t->scan_mask; i++) {
		struct scan_region region;
		struct scan_arg a = { .size = sizeof(a), .start = page, .end = 2 * page, .vec = (uintptr_t)&region, .vec_len = 1,
				      .category_anyof_mask = SCAN_PRESENT, .return_mask = masks[i] };

		if (ioctl(t->memory.pagemap, SCAN, &a) >= 0)
			t->scan_mask = masks[i];
	}
}

bool page_runs__passes_over(const struct target *t)
{
	return t->scan_mask;
}

void page_runs__begin(struct target *t)
{
	t->absent_left = ABSENT_MAX;
	t->passed_over_bytes = 0;
}

static void learn_run(struct page_runs *r, uint64_t start, uint64_t end, enum run is)
{
	r->known[r->n_known++] = (struct page_run){ start, end, is };
}

static void learn_by_scan(struct page_runs *r, uint64_t start, uint64_t end, uint64_t n_pages)
{
	struct scan_region regions[PAGE_RUNS_KNOWN] = {};	/* valgrind does not know that the call writes to it */
	struct scan_arg a = { .size = sizeof(a), .start = start, .end = end, .vec = (uintptr_t)regions, .vec_len = PAGE_RUNS_KNOWN,
			      .max_pages = n_pages, .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED, .return_mask = r->t->scan_mask };
	int n = ioctl(r->t->memory.pagemap, SCAN, &a);

	if (n < 0)
		r->t->memory.failed = -errno;
	/* all of the process is gone */
	r->known_until = n < 0 || a.walk_end <= start ? end : a.walk_end;
	for (int i = 0; i < n; i++)
		if (!(regions[i].categories & (SCAN_ZERO | SCAN_GUARD)))
			learn_run(r, regions[i].start, regions[i].end, regions[i].categories & SCAN_PRESENT ? RUN_RESIDENT : RUN_SWAPPED);
}

/* False: nothing of it is in memory. */
static bool run_of(const struct zero_pages *zeros, uint64_t word, enum run *ret)
{
	if (word & PAGE_WORD_PRESENT) {
		*ret = word & (PAGE_WORD_FILE | PAGE_WORD_EXCLUSIVE | PAGE_WORD_PFN) ? RUN_RESIDENT : RUN_UNSURE;
		return zero_pages__is_memory(zeros, word);
	}
	*ret = RUN_SWAPPED;
	return word & PAGE_WORD_SWAPPED && !(word & PAGE_WORD_GUARD);
}

static void learn_by_words(struct page_runs *r, uint64_t start, uint64_t end)
{
	const struct zero_pages *zeros = zero_pages__get();
	uint64_t page = r->t->page_bytes, words[WORDS_AT_ONCE];
	size_t n = MIN((end - start) / page, (uint64_t)WORDS_AT_ONCE), i, j;
	ssize_t got = memory__page_words(&r->t->memory, start, words, n);
	uint64_t n_absent = 0;

	r->known_until = end;
	if (got < 0)
		r->t->memory.failed = (int)got;
	if (got <= 0)
		return;
	n = (size_t)got;
	for (i = 0; i < n && r->n_known < PAGE_RUNS_KNOWN; i = j) {
		enum run is, next;
		bool there = run_of(zeros, words[i], &is);

		for (j = i + 1; j < n && run_of(zeros, words[j], &next) == there && (!there || next == is); j++)
			;
		if (there)
			learn_run(r, start + i * page, start + j * page, is);
		else
			n_absent += j - i;
	}
	r->known_until = start + i * page;
	r->n_absent += n_absent;
	r->t->absent_left -= MIN(n_absent, r->t->absent_left);
}

/* What is known next of it: at most so many pages are there. */
static int learn(struct page_runs *r, uint64_t n_pages)
{
	uint64_t page = r->t->page_bytes, start = r->at / page * page, end = (r->end + page - 1) / page * page;

	r->n_known = r->next = 0;
	if (target__is_over(r->t))
		return -EINTR;
	if (r->t->scan_mask) {
		learn_by_scan(r, start, end, n_pages);
		return 0;
	}
	if (r->n_absent > (r->t->absent_left ? ABSENT_OF_RANGE : ABSENT_ALWAYS)) {
		r->t->passed_over_bytes += r->end - r->at;
		r->at = r->end;
		return -E2BIG;
	}
	learn_by_words(r, start, end);
	return 0;
}

/* The run at r->at, or the first one behind it. */
static int look(struct page_runs *r, uint64_t n_pages, struct page_run *ret)
{
	uint64_t page = r->t->page_bytes;
	int err;

	for (;;) {
		for (; r->next < r->n_known; r->next++) {
			*ret = r->known[r->next];
			ret->start = MAX(ret->start, r->at / page * page);
			if (ret->start < MIN(ret->end, r->end))
				return 1;
		}
		r->at = MAX(r->at, r->known_until);
		if (r->at >= r->end)
			return 0;
		err = learn(r, n_pages);
		if (err)
			return err;
	}
}

int page_runs__next(struct page_runs *r, struct page_run *ret)
{
	int found = look(r, FOUND_AT_ONCE, ret);

	if (found > 0)
		r->at = ret->end;
	return found;
}

bool page_runs__next_page(struct page_runs *r, uint64_t *ret)
{
	struct page_run run;

	while (look(r, READ_AT_ONCE, &run) > 0) {
		if (run.is == RUN_SWAPPED) {
			r->swapped_bytes += run.end - run.start;
			r->at = run.end;
			continue;
		}
		*ret = run.start;
		r->at = run.start + r->t->page_bytes;
		return true;
	}
	return false;
}

uint64_t page_runs__resident(struct target *t, uint64_t start, uint64_t end)
{
	uint64_t page = t->page_bytes, sum = 0;
	struct page_runs runs = { .t = t, .at = (start + page - 1) & ~(page - 1), .end = end & ~(page - 1) };

	for (struct page_run run; page_runs__next(&runs, &run) > 0;)
		sum += run.is == RUN_SWAPPED ? 0 : run.end - run.start;
	return sum;
}
