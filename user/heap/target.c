// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how the memory of a process is read, and at which pace. What is read belongs to one program: pagemap was
 * opened with its memory, and gives nothing any more once that is gone, be it by exit or exec. Memory that is kept is not gone, and is read by
 * what was opened with it alone: the process's number may be another one's.
 *
 * What always holds: pages are read that pagemap said are there just before. What the target gives back between
 * the two is all that a look can bring in.
 */
#include "heap/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "heap/page_runs.h"
#include "heap/target_parts.h"
#include "process/keeper.h"
#include "process/memmap.h"
#include "process/process.h"
#include "util/parse.h"
#include "util/rights.h"

#define PRESENT_BIT 63
#define SWAPPED_BIT 62
#define PAGES_AT_ONCE 512
#define ADDRESSES_END (1ull << 56)	/* of programs, on each architecture */
#define NAP_NS MS_NS		/* shorter ones cost more than they give back */
#define NAP_MAX_NS (5 * MS_NS)	/* between two questions whether it is over */

static bool is_gone(struct target *t)
{
	uint64_t entry;

	return pread(t->pagemap, &entry, sizeof(entry), 0) != sizeof(entry);
}

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
		struct iovec here = { &(char){ 0 }, 1 }, there = { (void *)(uintptr_t)t->maps.v[i].start, 1 };
		uint8_t page;

		target__pages(t, t->maps.v[i].start, 1, &page);
		if (!t->maps.v[i].read || page != PAGE_PRESENT)
			continue;
		if (process_vm_readv(t->runner, &here, 1, &there, 1, 0) == 1)
			return 0;
		if (errno == EPERM || errno == EACCES)
			return refuse(t->pid, e);
		if (errno == ENOSYS)
			return err_set(e, -ENOSYS, "this kernel has no process_vm_readv: the heap cannot be read");
	}
	return is_gone(t) ? say_gone(t, e) : 0;
}

int target__open(pid_t pid, const struct target_calls *calls, struct target *ret, struct err *e)
{
	struct target t = { .pid = pid, .calls = calls, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	int r;

	t.runner = process__runner(pid);
	if (!t.runner)
		return err_set(e, -ESRCH, "no process %d, or it has ended", (int)pid);
	t.pagemap = memmap__open_pages(t.runner);
	if (t.pagemap == -EACCES || t.pagemap == -EPERM)
		return refuse(pid, e);
	if (t.pagemap < 0)
		return err_set(e, t.pagemap, "pages of process %d: %s", (int)pid, strerror(-t.pagemap));
	page_runs__learn(&t);
	r = target__refresh(&t, e);
	if (!r)
		r = try_read(&t, e);
	if (r) {
		target__done(&t);
		return r;
	}
	*ret = t;
	return 0;
}

int target__open_kept(struct keeping *k, const struct target_calls *calls, struct target *ret, struct err *e)
{
	struct target t = { .pid = keeping__pid(k), .kept = k, .calls = calls, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	int r;

	t.pagemap = fcntl(keeping__pagemap(k), F_DUPFD_CLOEXEC, 0);
	if (t.pagemap < 0)
		return err_set(e, -errno, "pages of process %d: %s", (int)t.pid, strerror(errno));
	page_runs__learn(&t);
	r = target__refresh(&t, e);
	if (r) {
		target__done(&t);
		return r;
	}
	*ret = t;
	return 0;
}

void target__done(struct target *t)
{
	if (!t || !t->pid)
		return;
	target__resume(t);
	if (t->pagemap >= 0)
		close(t->pagemap);
	maps__done(&t->maps);
	*t = (struct target){ .pagemap = -1 };
}

int target__refresh(struct target *t, struct err *e)
{
	struct maps maps;
	pid_t runner = t->kept ? keeping__runner(t->kept) : process__runner(t->pid);
	int r;

	if ((!runner && !t->kept) || is_gone(t))
		return say_gone(t, e);
	t->runner = runner;
	r = t->kept ? keeping__maps(t->kept, &maps, e) : maps__read(runner, &maps, e);
	if (r)
		return r;
	/* between the question and its answer */
	if (is_gone(t)) {
		maps__done(&maps);
		return say_gone(t, e);
	}
	maps__done(&t->maps);
	t->maps = maps;
	return 0;
}

bool target__is_gone(struct target *t)
{
	return is_gone(t);
}

void target__note_untold(struct target *t, int err)
{
	if (err_is_want(err))
		t->failed = err;
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
static uint64_t switches_of(struct target *t, const char *tid)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *at, *line;
	uint64_t sum = 0, n;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)t->pid, tid);
	if (read_small_file(path, &text, NULL))
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

uint64_t target__runs(struct target *t)
{
	uint64_t sum = 0, tid;
	struct dirent *d;
	char path[64];
	size_t n = 0;
	DIR *tasks;

	if (!t->runner)
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	tasks = opendir(path);
	while (tasks && (d = readdir(tasks))) {
		uint64_t switches = 0;

		if (parse_u64(d->d_name, 1, INT32_MAX, &tid))
			continue;
		if (n++ < RESTING_MAX)
			switches = switches_of(t, d->d_name);
		if (!switches) {
			n = 0;
			break;
		}
		sum += tid * TID_WEIGHT * switches;
	}
	if (tasks)
		closedir(tasks);
	return n ? MAX(sum, 1ull) : 0;
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

static enum target_page page_of(uint64_t entry)
{
	if (entry >> PRESENT_BIT & 1)
		return PAGE_PRESENT;
	return entry >> SWAPPED_BIT & 1 ? PAGE_SWAPPED : PAGE_ABSENT;
}

void target__pages(struct target *t, uint64_t start, size_t n_pages, uint8_t *to)
{
	uint64_t entries[PAGES_AT_ONCE], first = start / t->page_bytes;

	memset(to, PAGE_ABSENT, n_pages);
	if (start >= ADDRESSES_END)
		return;
	for (size_t at = 0; at < n_pages; at += PAGES_AT_ONCE) {
		size_t n = MIN(n_pages - at, (size_t)PAGES_AT_ONCE);
		ssize_t got = pread(t->pagemap, entries, n * sizeof(*entries), (off_t)((first + at) * sizeof(*entries)));

		if (got < 0)
			t->failed = -errno;
		for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*entries); i++)
			to[at + i] = page_of(entries[i]);
	}
}

/* ---- reading */

/* As process_vm_readv(). */
static ssize_t read_kept(struct target *t, const struct iovec *here, const struct iovec *there, size_t n)
{
	ssize_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		ssize_t got = pread(keeping__mem(t->kept), here[i].iov_base, here[i].iov_len, (off_t)(uintptr_t)there[i].iov_base);

		sum += MAX(got, 0);
		if (got < (ssize_t)here[i].iov_len) {
			/* it was let go; or EIO: what is not there */
			errno = !got ? ESRCH : got < 0 && errno != EIO ? errno : EFAULT;
			break;
		}
	}
	return sum ? sum : -1;
}

/* As much as there is from the first of them on; a thread that has ended meanwhile is replaced. */
static ssize_t read_vec(struct target *t, const struct iovec *here, const struct iovec *there, size_t n)
{
	ssize_t got = t->kept ? read_kept(t, here, there, n) : process_vm_readv(t->runner, here, n, there, n, 0);

	if (got < 0 && errno == ESRCH && !t->kept && !is_gone(t)) {
		pid_t runner = process__runner(t->pid);

		if (runner && runner != t->runner) {
			t->runner = runner;
			got = process_vm_readv(runner, here, n, there, n, 0);
		}
	}
	/* EFAULT: memory that it has given back; ESRCH: it has ended */
	if (got < 0 && errno != EFAULT && errno != ESRCH)
		t->failed = -errno;
	t->n_reads++;
	t->read_bytes += got > 0 ? (uint64_t)got : 0;
	return got;
}

/* A page that is not there may be one that nobody ever fills (userfaultfd, a file of a dead server): a read would not return. */
bool target__read(struct target *t, uint64_t addr, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)addr, n };

	for (uint64_t page = addr / t->page_bytes; page * t->page_bytes < addr + n; page++) {
		uint8_t what;

		target__pages(t, page * t->page_bytes, 1, &what);
		if (what != PAGE_PRESENT)
			return false;
	}
	return read_vec(t, &here, &there, 1) == (ssize_t)n;
}

/* Pieces that are there, in turn; a page that went away meanwhile is zeros. */
static size_t read_pieces(struct target *t, struct iovec *here, struct iovec *there, size_t n)
{
	size_t at = 0, sum = 0;

	while (at < n) {
		ssize_t got = read_vec(t, here + at, there + at, n - at);
		size_t done = got > 0 ? (size_t)got : 0, skipped;

		sum += done;
		while (at < n && done >= here[at].iov_len)
			done -= here[at++].iov_len;
		if (at == n)
			break;
		/* it stops at what cannot be read: that page is passed over; all of it, if nobody is there any more */
		skipped = t->page_bytes - ((uintptr_t)there[at].iov_base + done) % t->page_bytes;
		if (got < 0 && errno != EFAULT)
			skipped = here[at].iov_len;
		skipped = MIN(skipped, here[at].iov_len - done);
		memset((char *)here[at].iov_base + done, 0, skipped);
		here[at].iov_base = (char *)here[at].iov_base + done + skipped;
		there[at].iov_base = (char *)there[at].iov_base + done + skipped;
		here[at].iov_len = there[at].iov_len -= done + skipped;
		at += !here[at].iov_len;
	}
	return sum;
}

/* [addr, addr + n) lies in at most PAGES_AT_ONCE pages. */
static size_t read_some(struct target *t, uint64_t addr, char *to, size_t n)
{
	uint64_t page = t->page_bytes, first = addr / page * page;
	size_t n_pages = (addr + n - first + page - 1) / page, n_pieces = 0;
	struct iovec here[PAGES_AT_ONCE], there[PAGES_AT_ONCE];
	uint8_t pages[PAGES_AT_ONCE];

	target__pages(t, first, n_pages, pages);
	for (size_t i = 0, j; i < n_pages; i = j) {
		uint64_t from = MAX(first + i * page, addr), until;

		for (j = i + 1; j < n_pages && pages[j] == pages[i]; j++)
			;
		until = MIN(first + j * page, addr + n);
		if (pages[i] == PAGE_PRESENT) {
			there[n_pieces] = (struct iovec){ (void *)(uintptr_t)from, until - from };
			here[n_pieces++] = (struct iovec){ to + (from - addr), until - from };
			continue;
		}
		memset(to + (from - addr), 0, until - from);
		t->swapped_bytes += pages[i] == PAGE_SWAPPED ? until - from : 0;
	}
	return read_pieces(t, here, there, n_pieces);
}

void target__read_heads(struct target *t, const uint64_t *addrs, size_t n, void *to, size_t bytes)
{
	struct iovec here[PAGES_AT_ONCE], there[PAGES_AT_ONCE];

	for (size_t at = 0, part; at < n; at += part) {
		part = MIN(n - at, (size_t)PAGES_AT_ONCE);
		for (size_t i = 0; i < part; i++) {
			there[i] = (struct iovec){ (void *)(uintptr_t)addrs[at + i], bytes };
			here[i] = (struct iovec){ (char *)to + (at + i) * bytes, bytes };
		}
		read_pieces(t, here, there, part);
	}
}

static void rest(struct target *t)
{
	while (t->debt_ns >= NAP_NS) {
		uint64_t nap = MIN(t->debt_ns, (uint64_t)NAP_MAX_NS), before = now_ns(), slept;

		nanosleep(&(struct timespec){ .tv_nsec = (long)nap }, NULL);
		slept = now_ns() - before;
		t->debt_ns -= MIN(slept, t->debt_ns);
		if (target__is_over(t))
			t->debt_ns = 0;
	}
}

size_t target__read_present(struct target *t, uint64_t addr, void *to, size_t n)
{
	bool paced = t->pace > 0 && t->pace < 1 && !t->stopped;
	uint64_t began = paced ? now_ns() : 0;
	size_t sum = 0, part;

	/* what is read in a process may be any number */
	if (addr >= ADDRESSES_END || n > ADDRESSES_END - addr) {
		memset(to, 0, n);
		return 0;
	}
	for (size_t at = 0; at < n; at += part) {
		uint64_t here = addr + at, left = PAGES_AT_ONCE * t->page_bytes - here % t->page_bytes;

		part = MIN(n - at, left);
		sum += read_some(t, here, (char *)to + at, part);
	}
	if (paced) {
		t->debt_ns += (uint64_t)((double)(now_ns() - began) * (1 / t->pace - 1));
		rest(t);
	}
	return sum;
}
