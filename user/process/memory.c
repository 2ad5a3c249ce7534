// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a target's memory is read, and which pages are the kernel's zeros: memory that was read and never written has them. pagemap
 * says that they are there, but they belong to no process, and RSS does not count them. Their numbers are those of pages of our own
 * that were only read; to see them takes CAP_SYS_ADMIN.
 *
 * What always holds: only pages are read that pagemap said are there just before. What the target gives back between the two is all that can
 * be brought in. Only a page that two places of ours have in common is taken for one of zeros.
 */
#include "process/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "process/process.h"
#include "util/util.h"

#define ADDRESSES_END (1ull << 56)	/* of programs, on each architecture */
#define PIECES 512			/* read at once */
#define WINDOW_PAGES 512		/* that pagemap is asked for at once, */
#define GAP_PAGES 32			/* with what lies between two that are wanted: cheaper than another call */
#define HUGE_BYTES_MAX (1ull << 30)

static uint64_t page_size(void)
{
	static uint64_t bytes;

	if (!bytes)
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

/* ---- descriptors */

int memory__open(struct memory *m, pid_t runner)
{
	int mem, pagemap;

	if (m->mem)
		return 0;
	mem = process__open(runner, "mem", 0);
	if (mem < 0)
		return mem;
	pagemap = process__open(runner, "pagemap", 0);
	if (pagemap < 0) {
		close(mem);
		return pagemap;
	}
	*m = (struct memory){ .mem = mem, .pagemap = pagemap };
	return 0;
}

int memory__copy(const struct memory *from, struct memory *ret)
{
	struct memory m = { .mem = fcntl(from->mem, F_DUPFD_CLOEXEC, 0) };

	if (m.mem < 0)
		return -errno;
	m.pagemap = fcntl(from->pagemap, F_DUPFD_CLOEXEC, 0);
	if (m.pagemap < 0) {
		int err = -errno;

		close(m.mem);
		return err;
	}
	*ret = m;
	return 0;
}

void memory__close(struct memory *m)
{
	if (m->mem > 0)
		close(m->mem);
	if (m->pagemap > 0)
		close(m->pagemap);
	*m = (struct memory){};
}

/* ---- which pages are there */

ssize_t memory__page_words(const struct memory *m, uint64_t addr, uint64_t *words, size_t n)
{
	ssize_t got;

	if (addr >= ADDRESSES_END)
		return 0;
	got = pread(m->pagemap, words, n * sizeof(*words), (off_t)(addr / page_size() * sizeof(*words)));
	return got < 0 ? -errno : got / (ssize_t)sizeof(*words);
}

bool memory__is_gone(const struct memory *m)
{
	uint64_t word;

	return memory__page_words(m, 0, &word, 1) != 1;
}

struct window {			/* of pagemap */
	uint64_t first, n;	/* pages */
	uint64_t words[WINDOW_PAGES];
};

/* Pages from that of addr on, up to last. */
static void look(struct memory *m, struct window *w, uint64_t addr, uint64_t last)
{
	uint64_t page = addr / page_size();
	ssize_t got = memory__page_words(m, addr, w->words, MIN(last - page + 1, (uint64_t)WINDOW_PAGES));

	if (got < 0)
		m->failed = (int)got;
	w->first = page;
	w->n = MAX(got, 0);
}

/* 0: none that is known, so nothing is there */
static uint64_t word_of(const struct window *w, uint64_t page)
{
	return page - w->first < w->n ? w->words[page - w->first] : 0;
}

/* ---- reading */

/* As process_vm_readv(). */
static ssize_t read_mem(int mem, const struct iovec *here, const struct iovec *there, size_t n)
{
	ssize_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		ssize_t got = pread(mem, here[i].iov_base, here[i].iov_len, (off_t)(uintptr_t)there[i].iov_base);

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
static ssize_t read_some(struct memory *m, const struct iovec *here, const struct iovec *there, size_t n)
{
	ssize_t got = m->runner ? process_vm_readv(m->runner, here, n, there, n, 0) : read_mem(m->mem, here, there, n);

	if (got < 0 && errno == ESRCH && m->pid && m->runner && !memory__is_gone(m)) {
		pid_t runner = process__runner(m->pid);

		if (runner && runner != m->runner) {
			m->runner = runner;
			got = process_vm_readv(runner, here, n, there, n, 0);
		}
	}
	/* EFAULT: memory that it has given back; ESRCH: it has ended */
	if (got < 0 && errno != EFAULT && errno != ESRCH)
		m->failed = -errno;
	m->n_reads++;
	m->read_bytes += MAX(got, 0);
	return got;
}

struct pieces {
	struct iovec here[PIECES], there[PIECES];
	size_t n;
};

/* All of them; a page that went away meanwhile is zeros. Returns how many bytes were read. */
static size_t read_all(struct memory *m, struct pieces *p)
{
	struct iovec *here = p->here, *there = p->there;
	size_t at = 0, sum = 0;

	while (at < p->n) {
		ssize_t got = read_some(m, here + at, there + at, p->n - at);
		size_t done = MAX(got, 0), skipped;

		sum += done;
		while (at < p->n && done >= here[at].iov_len)
			done -= here[at++].iov_len;
		if (at == p->n)
			break;
		/* it stops at what cannot be read: that page is passed over; all of it, if nobody is there any more */
		skipped = page_size() - ((uintptr_t)there[at].iov_base + done) % page_size();
		if (got < 0 && errno != EFAULT)
			skipped = here[at].iov_len;
		skipped = MIN(skipped, here[at].iov_len - done);
		memset((char *)here[at].iov_base + done, 0, skipped);
		here[at].iov_base = (char *)here[at].iov_base + done + skipped;
		there[at].iov_base = (char *)there[at].iov_base + done + skipped;
		here[at].iov_len = there[at].iov_len -= done + skipped;
		at += !here[at].iov_len;
	}
	p->n = 0;
	return sum;
}

static void add(struct pieces *p, uint64_t addr, void *to, size_t n)
{
	p->there[p->n] = (struct iovec){ (void *)(uintptr_t)addr, n };
	p->here[p->n++] = (struct iovec){ to, n };
}

size_t memory__read(struct memory *m, uint64_t addr, void *to, size_t n)
{
	uint64_t bytes = page_size(), end = addr + n;
	size_t done = 0;
	struct window w;

	while (m->pagemap && done < n && addr < ADDRESSES_END && n <= ADDRESSES_END - addr) {
		uint64_t at = addr + done, page = at / bytes, stop = page;
		struct iovec here, there;
		ssize_t got;

		look(m, &w, at, (end - 1) / bytes);
		while (word_of(&w, stop) & PAGE_WORD_PRESENT)
			stop++;
		if (stop == page)
			break;
		here = (struct iovec){ (char *)to + done, MIN(stop * bytes, end) - at };
		there = (struct iovec){ (void *)(uintptr_t)at, here.iov_len };
		got = read_some(m, &here, &there, 1);
		done += MAX(got, 0);
		if (got < (ssize_t)here.iov_len)
			break;
	}
	return done;
}

/* [addr, end) lies in at most WINDOW_PAGES pages. */
static size_t read_window(struct memory *m, uint64_t addr, uint64_t end, char *to)
{
	uint64_t bytes = page_size(), last = (end - 1) / bytes;
	struct pieces p;
	struct window w;

	p.n = 0;		/* the rest would be 16 KiB to clear */
	look(m, &w, addr, last);
	for (uint64_t page = addr / bytes, next; page <= last; page = next) {
		uint64_t what = word_of(&w, page) & (PAGE_WORD_PRESENT | PAGE_WORD_SWAPPED), from = MAX(page * bytes, addr), until;

		for (next = page + 1; next <= last && (word_of(&w, next) & (PAGE_WORD_PRESENT | PAGE_WORD_SWAPPED)) == what; next++)
			;
		until = MIN(next * bytes, end);
		if (what & PAGE_WORD_PRESENT) {
			add(&p, from, to + (from - addr), until - from);
			continue;
		}
		memset(to + (from - addr), 0, until - from);
		m->swapped_bytes += what ? until - from : 0;
	}
	return read_all(m, &p);
}

size_t memory__read_present(struct memory *m, uint64_t addr, void *to, size_t n)
{
	uint64_t most = WINDOW_PAGES * page_size();
	size_t sum = 0, part;

	/* what is read in a process may be any number */
	if (addr >= ADDRESSES_END || n > ADDRESSES_END - addr) {
		memset(to, 0, n);
		return 0;
	}
	for (size_t at = 0; at < n; at += part) {
		part = MIN(n - at, most - (addr + at) % page_size());
		sum += read_window(m, addr + at, addr + at + part, (char *)to + at);
	}
	return sum;
}

/* The last page that is looked at together with the first of these addresses. */
static uint64_t last_of_window(const uint64_t *addrs, size_t n, size_t bytes)
{
	uint64_t first = addrs[0] / page_size(), last = (addrs[0] + bytes - 1) / page_size();

	for (size_t i = 1; i < n; i++) {
		uint64_t page = addrs[i] / page_size(), until = (addrs[i] + bytes - 1) / page_size();

		if (page < first || page > last + GAP_PAGES || until - first >= WINDOW_PAGES)
			break;
		last = MAX(last, until);
	}
	return last;
}

size_t memory__read_each(struct memory *m, const uint64_t *addrs, size_t n, void *to, size_t bytes)
{
	struct pieces p;
	struct window w;
	size_t sum = 0;

	p.n = w.n = 0;
	w.first = 0;
	memset(to, 0, n * bytes);
	for (size_t i = 0; i < n; i++) {
		uint64_t first = addrs[i] / page_size(), last = (addrs[i] + bytes - 1) / page_size();

		if (addrs[i] >= ADDRESSES_END)
			continue;
		if (first - w.first >= w.n || last - w.first >= w.n)
			look(m, &w, addrs[i], last_of_window(addrs + i, n - i, bytes));
		while (first < last && word_of(&w, first) & PAGE_WORD_PRESENT)
			first++;
		if (word_of(&w, first) & PAGE_WORD_PRESENT)
			add(&p, addrs[i], (char *)to + i * bytes, bytes);
		if (p.n == PIECES)
			sum += read_all(m, &p);
	}
	return sum + read_all(m, &p);
}

/* ---- pages of zeros */

static uint64_t pfn_of(const struct memory *own, const volatile char *p)
{
	uint64_t word;

	(void)*p;
	if (memory__page_words(own, (uintptr_t)p, &word, 1) != 1)
		return 0;
	return word & PAGE_WORD_PRESENT ? word & PAGE_WORD_PFN : 0;
}

/* The mapping stays: the huge one may go, and come back elsewhere, where no process maps it. */
static uint64_t common_pfn(const struct memory *own, uint64_t bytes, int advice)
{
	char *p = mmap(NULL, 3 * bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;
	uint64_t pfn = 0;

	if (p == MAP_FAILED)
		return 0;
	at = p + (bytes - (uintptr_t)p % bytes) % bytes;
	/* without huge pages in the kernel there is nothing to be advised */
	madvise(p, 3 * bytes, advice);
	pfn = pfn_of(own, at);
	if (!pfn || pfn != pfn_of(own, at + bytes)) {
		munmap(p, 3 * bytes);
		return 0;
	}
	return pfn;
}

static uint64_t huge_bytes(void)
{
	_cleanup_free_ char *text = NULL;
	uint64_t n;

	if (read_small_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &text, NULL))
		return 0;
	n = strtoull(text, NULL, 10);
	return n <= HUGE_BYTES_MAX && !(n & (n - 1)) ? n : 0;
}

static void learn(struct zero_pages *z)
{
	struct memory own = { .pagemap = process__open(getpid(), "pagemap", 0) };
	uint64_t page = page_size(), bytes = huge_bytes(), pfn;

	if (own.pagemap < 0)
		return;
	z->page = common_pfn(&own, page, MADV_NOHUGEPAGE);
	pfn = z->page && bytes > page ? common_pfn(&own, bytes, MADV_HUGEPAGE) : 0;
	/* where there are no huge ones it is the small one again */
	if (pfn && pfn != z->page && pfn % (bytes / page) == 0) {
		z->huge = pfn;
		z->n_huge = bytes / page;
	}
	memory__close(&own);
}

const struct zero_pages *zero_pages__get(void)
{
	static struct zero_pages z;
	static bool learnt;

	if (!learnt)
		learn(&z);
	learnt = true;
	return &z;
}
