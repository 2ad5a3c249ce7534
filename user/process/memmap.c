// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how the memory of a process is read: /proc/PID/maps says what it has
 * mapped, /proc/PID/pagemap which pages of that are there. Not smaps: to write it the kernel
 * walks through each mapping in one go, 30 ms for a gigabyte, and whatever
 * the process wants to map meanwhile waits. Of pagemap it does 2 MiB at a time, and for far less.
 *
 * The text is read a piece at a time: a process may have sixty thousand mappings,
 * with names of its own choice, of which none is kept. What is resident of the mappings
 * of a piece is read before the next one is read, as far as a slice goes.
 *
 * A piece of a glibc arena begins at a multiple of 64 MiB and says itself how much of it
 * may be used; that has to be what the kernel says. No other mapping is taken for one.
 *
 * What always holds: a mapping is counted once, and as what its line says it
 * is; what may not be accessed (PROT_NONE) is not mapped memory here.
 */
#include "process/memmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/peek.h"
#include "process/process.h"
#include "process/zero_pages.h"
#include "util/util.h"

#define ARENA_BYTES (64ull << 20)
#define PIECE_BYTES (8 << 10)		/* of maps, at most 170 lines */

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
		p->resident(m->start, m->end, &s->stack, p->arg);
		break;
	case MEMMAP_ANON:
		if (!is_arena(p, m, &first)) {
			s->other_mapped += m->end - m->start;
			p->resident(m->start, m->end, &s->other, p->arg);
			break;
		}
		s->n_arenas += first;
		/* fallthrough */
	case MEMMAP_HEAP:
		s->heap_mapped += m->end - m->start;
		p->resident(m->start, m->end, &s->heap, p->arg);
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
	if (!take_hex(&s, &ignored) || *s++ != ' ' || !take_hex(&s, &ignored) || *s++ != ':' ||
	    !take_hex(&s, &ignored) || *s++ != ' ')
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
		m.kind = MEMMAP_NOTHING;		/* the vdso and its like are no memory of the process */
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
#define INFO_WORDS (sizeof(struct memmap_heap_info) / sizeof(uint64_t))
#define PAGES_MAX (1ull << 20)	/* of one mapping, 80 ms; of a larger one, every so many pieces stand for all */

struct range {			/* of a mapping, in pages */
	uint64_t first, n, at, looked, there;
	struct memmap_resident *to;
};

struct memmap_look {
	pid_t pid, runner;
	int maps, pagemap;
	uint64_t page_bytes;
	const struct zero_pages *zeros;
	bool text_ended;
	int err;		/* of what cannot return one itself */
	struct memmap_parser parser;
	struct vec(struct range) ranges;	/* of the piece of text that was read last */
	size_t at;		/* those before it are done with */
	char piece[PIECE_BYTES];
};

static bool peek(uint64_t addr, void *to, size_t len, void *arg)
{
	const struct memmap_look *l = arg;
	const struct peek from = { l->runner, l->pagemap };
	uint64_t at[INFO_WORDS], words[INFO_WORDS];

	if (len != sizeof(words))
		return false;
	for (size_t i = 0; i < INFO_WORDS; i++)
		at[i] = addr + i * sizeof(*words);
	if (peek__words(&from, at, words, INFO_WORDS) != INFO_WORDS)
		return false;
	memcpy(to, words, len);
	return true;
}

static void note_range(uint64_t start, uint64_t end, struct memmap_resident *to, void *arg)
{
	struct memmap_look *l = arg;
	struct range *r = vec_push(&l->ranges);

	if (r)
		*r = (struct range){ .first = start / l->page_bytes, .n = (end - start) / l->page_bytes, .to = to };
	else
		l->err = -ENOMEM;
}

static void range_done(struct memmap_look *l, const struct range *r)
{
	if (r->looked)
		r->to->bytes += (uint64_t)((unsigned __int128)r->there * r->n / r->looked) * l->page_bytes;
	r->to->estimated |= r->n > PAGES_MAX;
	l->at++;
}

/* A piece of a mapping. Returns its pages, at least 1. */
static uint64_t read_range(struct memmap_look *l, struct range *r)
{
	/* from one piece that is read to the next */
	uint64_t stride = AT_ONCE * ((r->n + PAGES_MAX - 1) / PAGES_MAX), words[AT_ONCE];
	size_t want = MIN(r->n - r->at, (uint64_t)AT_ONCE), n;
	ssize_t got = want ? pread(l->pagemap, words, want * sizeof(*words), (off_t)((r->first + r->at) * sizeof(*words))) : 0;

	n = got > 0 ? (size_t)got / sizeof(*words) : 0;
	for (size_t i = 0; i < n; i++)
		r->there += zero_pages__is_memory(l->zeros, words[i]);
	r->looked += n;
	r->at += MIN(stride, r->n - r->at);
	if (!n || r->at == r->n)
		range_done(l, r);
	return MAX(n, (size_t)1);
}

/* The next piece of the text; its lines are the next ranges. Returns what that is as work. */
static uint64_t read_text(struct memmap_look *l)
{
	size_t had = l->parser.sums.n_mappings;
	ssize_t n;

	l->ranges.n = l->at = 0;
	do
		n = read(l->maps, l->piece, sizeof(l->piece));
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		memmap_parser__feed(&l->parser, l->piece, (size_t)n);
	} else {
		memmap_parser__end(&l->parser);
		l->text_ended = true;
		if (n < 0)
			l->err = -errno;
	}
	return 1 + MEMMAP_LINE_PAGES * (l->parser.sums.n_mappings - had);
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int memmap__open_pages(pid_t runner)
{
	return open_of(runner, "pagemap");
}

int memmap_look__new(pid_t pid, struct memmap_look **ret)
{
	struct memmap_look *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->pid = pid;
	l->runner = process__runner(pid);
	l->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	/* before we may be read ourselves */
	l->zeros = zero_pages__get();
	l->parser = (struct memmap_parser){ .peek = peek, .resident = note_range, .arg = l };
	l->pagemap = l->runner ? memmap__open_pages(l->runner) : -ESRCH;
	l->maps = l->pagemap >= 0 ? open_of(l->runner, "maps") : l->pagemap;
	if (l->maps < 0) {
		err = l->maps;
		memmap_look__free(l);
		return err;
	}
	*ret = l;
	return 0;
}

void memmap_look__free(struct memmap_look *l)
{
	if (!l)
		return;
	if (l->maps >= 0)
		close(l->maps);
	if (l->pagemap >= 0)
		close(l->pagemap);
	vec_done(&l->ranges);
	free(l);
}

int memmap_look__go_on(struct memmap_look *l, int64_t *pages)
{
	while (*pages > 0 && !l->err) {
		if (l->at < l->ranges.n)
			*pages -= (int64_t)read_range(l, &l->ranges.v[l->at]);
		else if (!l->text_ended)
			*pages -= (int64_t)read_text(l);
		else
			return 0;
	}
	return l->err ? l->err : 1;
}

int memmap_look__end(struct memmap_look *l, struct memmap *ret)
{
	struct memmap *s = &l->parser.sums;
	uint64_t sum = s->heap.bytes + s->other.bytes + s->stack.bytes;

	s->rss_bytes = process__rss_bytes(l->pid);
	/* one that has ended has no mappings */
	if (!s->n_mappings || !s->rss_bytes)
		return -ESRCH;
	s->file_resident = s->rss_bytes - MIN(sum, s->rss_bytes);
	*ret = *s;
	return 0;
}

int memmap__read(pid_t pid, struct memmap *ret)
{
	struct memmap_look *l = NULL;
	int64_t all = INT64_MAX;
	int err = memmap_look__new(pid, &l);

	if (!err)
		err = memmap_look__go_on(l, &all);
	if (!err)
		err = memmap_look__end(l, ret);
	memmap_look__free(l);
	return err;
}
