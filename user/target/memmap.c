// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how the memory of a process is looked at: /proc/PID/maps says what it has
 * mapped, /proc/PID/pagemap which pages of that are there. Not smaps: to write it the kernel
 * walks through each mapping in one go, 30 ms for a gigabyte, and whatever
 * the process wants to map meanwhile waits. Of pagemap it does 2 MiB at a time, and for far less.
 *
 * The text is read a piece at a time: a process may have sixty thousand mappings,
 * with names of its own choice, of which none is kept.
 *
 * A piece of a glibc arena begins at a multiple of 64 MiB and says itself how much of it
 * may be used; that has to be what the kernel says. No other mapping is taken for one.
 *
 * What always holds: a mapping is counted once, and as what its line says it
 * is; what nobody may touch (PROT_NONE) is not mapped memory here.
 */
#include "target/memmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target/process.h"
#include "util/util.h"

#define ARENA_BYTES (64ull << 20)
#define PIECE_BYTES (64 << 10)

/* ---- numbers; a line ends with a zero */

static bool take_hex(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;

	for (;; s++) {
		int digit = *s >= '0' && *s <= '9' ? *s - '0' : *s >= 'a' && *s <= 'f' ? *s - 'a' + 10 : -1;

		if (digit < 0)
			break;
		if (n >> 60)
			return false;
		n = n << 4 | (uint64_t)digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

/* ---- mappings */

/* Is it one piece, or several side by side, of an arena? *ret_first: of the arena's first piece. */
static bool is_arena(const struct memmap_parser *p, const struct memmap_mapping *m, bool *ret_first)
{
	struct memmap_heap_info info;

	if (!p->peek || m->start % ARENA_BYTES || !p->peek(m->start, &info, sizeof(info), p->arg))
		return false;
	*ret_first = info.arena > m->start && info.arena - m->start < ARENA_BYTES;
	return info.arena && info.size <= ARENA_BYTES && info.usable == MIN(m->end - m->start, ARENA_BYTES);
}

static void count(struct memmap_parser *p, const struct memmap_mapping *m)
{
	struct memmap *s = &p->sums;
	bool first = false;

	switch (m->kind) {
	case MEMMAP_NOTHING:
	case MEMMAP_FILE:
		break;
	case MEMMAP_STACK:
		s->stack_resident += p->resident(m->start, m->end, p->arg);
		break;
	case MEMMAP_ANON:
		if (!is_arena(p, m, &first)) {
			s->other_mapped += m->end - m->start;
			s->other_resident += p->resident(m->start, m->end, p->arg);
			break;
		}
		s->n_arenas += first;
		/* fallthrough */
	case MEMMAP_HEAP:
		s->heap_mapped += m->end - m->start;
		s->heap_resident += p->resident(m->start, m->end, p->arg);
		break;
	}
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* "aaaad5a40000-aaaad5a61000 rw-p 00000000 00:00 0                          [heap]" */
static bool take_line_of(const char *s, struct memmap_mapping *ret)
{
	struct memmap_mapping m = {};
	uint64_t ignored;
	const char *perms, *name;
	bool file = false;

	if (!take_hex(&s, &m.start) || *s++ != '-' || !take_hex(&s, &m.end) || *s++ != ' ' || m.start >= m.end)
		return false;
	perms = s;
	if (strlen(perms) < 5 || perms[4] != ' ')
		return false;
	s += 5;
	if (!take_hex(&s, &ignored) || *s++ != ' ' || !take_hex(&s, &ignored) || *s++ != ':' || !take_hex(&s, &ignored) || *s++ != ' ')
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		file |= *s != '0';
	name = s + strspn(s, " ");
	if (file)
		m.kind = MEMMAP_FILE;
	else if (starts(name, "[heap]"))
		m.kind = MEMMAP_HEAP;
	else if (starts(name, "[stack]"))
		m.kind = MEMMAP_STACK;
	else if ((!*name || starts(name, "[anon")) && strncmp(perms, "---", 3))
		m.kind = MEMMAP_ANON;
	else
		m.kind = MEMMAP_NOTHING;		/* the vdso and its like are nobody's memory */
	*ret = m;
	return true;
}

static void take_line(struct memmap_parser *p)
{
	struct memmap_mapping m;

	p->line[p->len] = 0;
	p->len = 0;
	if (!take_line_of(p->line, &m))
		return;
	count(p, &m);
	p->sums.n_mappings++;
}

void memmap_parser__feed(struct memmap_parser *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			take_line(p);
		else if (p->len < sizeof(p->line) - 1)
			p->line[p->len++] = text[i] ? text[i] : '?';
	}
}

void memmap_parser__end(struct memmap_parser *p)
{
	if (p->len)
		take_line(p);
}

/* ---- a process */

#define AT_ONCE 4096		/* words of pagemap */
#define PRESENT_BIT 63
#define PAGES_MAX (1ull << 20)	/* of one mapping, 80 ms; of a larger one, every so many pieces stand for all */

struct look {
	pid_t pid;
	int pagemap;
	uint64_t page_bytes;
};

static bool peek(uint64_t addr, void *to, size_t len, void *arg)
{
	const struct look *l = arg;
	struct iovec here = { to, len }, there = { (void *)(uintptr_t)addr, len };

	return process_vm_readv(l->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static uint64_t resident(uint64_t start, uint64_t end, void *arg)
{
	const struct look *l = arg;
	uint64_t n = (end - start) / l->page_bytes, first = start / l->page_bytes, looked = 0, there = 0, words[AT_ONCE];
	/* from one piece that is looked at to the next */
	uint64_t stride = AT_ONCE * (n / PAGES_MAX + 1);

	for (uint64_t at = 0; at < n; at += stride) {
		size_t want = MIN(n - at, (uint64_t)AT_ONCE);
		ssize_t got = pread(l->pagemap, words, want * sizeof(*words), (off_t)((first + at) * sizeof(*words)));

		if (got <= 0)
			break;
		for (size_t i = 0; i < (size_t)got / sizeof(*words); i++)
			there += words[i] >> PRESENT_BIT;
		looked += (size_t)got / sizeof(*words);
	}
	return looked ? (uint64_t)((unsigned __int128)there * n / looked) * l->page_bytes : 0;
}

static int read_maps(pid_t pid, struct memmap_parser *p)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t n;

	if (!piece)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((n = read(fd, piece, PIECE_BYTES)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			memmap_parser__feed(p, piece, (size_t)n);
	memmap_parser__end(p);
	return n < 0 ? -errno : 0;
}

int memmap__read(pid_t pid, struct memmap *ret)
{
	struct look l = { .pid = process__runner(pid), .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	struct memmap_parser p = { .peek = peek, .resident = resident, .arg = &l };
	_cleanup_close_ int fd = -1;
	uint64_t rss, sum;
	char path[64];
	int err;

	if (!l.pid)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)l.pid);
	l.pagemap = fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_maps(l.pid, &p);
	if (err)
		return err;
	rss = process__rss_bytes(pid);
	/* one that has ended has no mappings */
	if (!p.sums.n_mappings || !rss)
		return -ESRCH;
	sum = p.sums.heap_resident + p.sums.other_resident + p.sums.stack_resident;
	p.sums.file_resident = rss - MIN(sum, rss);
	*ret = p.sums;
	return 0;
}
