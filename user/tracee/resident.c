// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns when the memory of processes is read, and what is read of it. That takes
 * the longer the more of it there is: so the time that it took decides how
 * often it is done, and of many processes those are read that hold the most; and it
 * is done in slices, between which the session does what else there is to do.
 *
 * What always holds: memory of a target is read, never written; what is read there
 * is believed only where it makes sense. No slice is longer than MEMMAP_SLICE_PAGES of work, and what
 * the kernel is queried for at once.
 */
#include "tracee/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/memory.h"
#include "process/process.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"
#include "util/sorted.h"
#include "util/util.h"

#define PAUSE_NS (5 * SECOND_NS)	/* between two readings at the least, */
#define PAUSE_SHARE 250			/* and so many times what the last one took */
#define PROCESSES_MAX 16
#define LOOK_NS (SECOND_NS / 10)	/* of many processes, no more than that */
#define HEADERS 512			/* read at once */
#define HEADERS_A_SLICE 16384

/* ---- headers of glibc's chunks: the word before a block */

#define CHUNK_FLAGS 7ull
#define CHUNK_IS_MAPPED 2ull		/* it has a mapping of its own */
#define CHUNK_HEADER 8
/*
 * A chunk may be larger than what was requested: what is left of one that was cut is too small to
 * be another, or nothing cuts it.
 */
#define SLACK_BYTES 4096
#define SLACK_MAPPED (4ull << 20)

void resident__size_blocks(const struct cut_block *v, const uint64_t *headers, size_t n, struct snap_memory *sum)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t chunk = headers[i] & ~CHUNK_FLAGS, size = v[i].size;
		bool mapped = headers[i] & CHUNK_IS_MAPPED;

		if (size > INT64_MAX / 4 || chunk < size + CHUNK_HEADER ||
		    chunk - size > (mapped ? SLACK_MAPPED : size + SLACK_BYTES)) {
			sum->sized_all = false;
			continue;
		}
		sum->sized_all &= v[i].stands_for == 1;
		sum->sized_blocks++;
		sum->sized_requested += size * v[i].stands_for;
		sum->sized_usable += chunk * v[i].stands_for;
		sum->sized_apart += mapped ? chunk * v[i].stands_for : 0;
	}
}

static void read_headers(struct memory *from, const struct cut_block *v, size_t n, struct snap_memory *sum)
{
	uint64_t at[HEADERS], headers[HEADERS];

	for (size_t i = 0; i < n; i++)
		at[i] = v[i].addr - CHUNK_HEADER;
	memory__read_each(from, at, n, headers, sizeof(*headers));
	resident__size_blocks(v, headers, n, sum);
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

bool resident__is_glibc(const struct tracees *t, const struct tracee *p)
{
	const struct space *space = &tracee__life(p)->space;
	bool glibc = false;

	/* by what it maps: whose the probes are makes no difference */
	for (size_t i = 0; i < space->n; i++) {
		const struct object *obj = space->v[i].object;
		const struct known_file *k = obj ? tracees__known_file(t, obj) : NULL;

		if (!k || !k->plan.n_funcs)
			continue;
		if (plan__has_usable(&k->plan))
			return false;
		if (k->plan.family && !strcmp(k->plan.family, "glibc"))
			glibc = true;
		else if (!starts(path_basename(k->plan.object->path), "libstdc++.so") &&
			 !starts(path_basename(k->plan.object->path), "libc++"))
			return false;
	}
	return glibc;
}

/* Blocks are sorted by process. */
static size_t first_of(const struct cut *cut, uint32_t proc)
{
	return sorted__count(b, cut->blocks, cut->n_blocks, b->proc < proc);
}

static uint64_t live_blocks(const struct cut *cut, uint32_t proc)
{
	uint64_t n = 0;

	for (size_t i = 0; i < cut->n_sites; i++)
		if (cut->sites[i].proc == proc)
			n += cut->sites[i].c.alloc_calls - cut->sites[i].c.free_calls;
	return n;
}

static void in_between(const struct resident_looks *m)
{
	if (m->meanwhile)
		m->meanwhile(m->arg);
}

static void size_all(const struct resident_looks *m, const struct tracees *t, const struct tracee *p,
		     const struct cut *cut, struct snap_memory *sum)
{
	uint32_t proc = tracee__life(p)->proc;
	size_t from = first_of(cut, proc), to = first_of(cut, proc + 1);
	_cleanup_memory_ struct memory memory = { .runner = process__runner(p->process.pid) };

	if (from == to || !memory.runner || !resident__is_glibc(t, p))
		return;
	memory.pagemap = process__open(memory.runner, "pagemap", 0);
	if (memory.pagemap < 0)
		return;
	/* where the programs go on meanwhile, blocks that came within the last tick may be among them */
	sum->sized_all = to - from <= live_blocks(cut, proc);
	for (size_t n, done = 0; from < to; from += n, done += n) {
		if (done && done % HEADERS_A_SLICE == 0)
			in_between(m);
		n = MIN(to - from, (size_t)HEADERS);
		read_headers(&memory, cut->blocks + from, n, sum);
	}
	if (!sum->sized_blocks)
		sum->sized_all = false;
}

/* ---- mappings */

static struct snap_memory memory_of(const struct tracees *t, const struct memmap *s)
{
	return (struct snap_memory){
		.known = true,
		.seen_ns = model__since_start(t->model, kernel__clock_ns(t->kernel)),
		.rss_bytes = s->rss_bytes,
		.heap_mapped = s->heap_mapped,
		.heap_resident = s->heap.bytes,
		.heap_estimated = s->heap.estimated,
		.large_mapped = s->other_mapped,
		.large_resident = s->other.bytes,
		.large_estimated = s->other.estimated,
		.file_resident = s->file_resident,
		.shmem_resident = s->shmem_resident,
		.stack_resident = s->stack.bytes,
		.n_arenas = s->n_arenas,
	};
}

static void drop(struct resident_looks *m)
{
	memmap_look__free(m->look);
	m->look = NULL;
	m->procs.n = m->at = m->n_slices = 0;
	m->spent_ns = 0;
	m->most_pages = 0;
}

/* Those that hold the most come first. */
static void list(struct resident_looks *m, const struct tracees *t)
{
	size_t n;
	_cleanup_free_ struct tracee **v = tracees__by_live_bytes(t, &n);

	drop(m);
	for (size_t i = 0; i < MIN(n, (size_t)PROCESSES_MAX); i++)
		*vec_push(&m->procs) = tracee__life(v[i])->proc;
}

/* The life is over, or another one has begun: NULL. */
static struct tracee *tracee_of(const struct tracees *t, uint32_t proc)
{
	const struct tracee_life *l = hash__get(&t->by_proc, proc);

	return l && !l->tracee->ended && tracee__life(l->tracee) == l ? l->tracee : NULL;
}

typedef void report_fn(struct resident_looks *m, struct tracees *t, struct tracee *p, struct snap_memory *is,
		       const struct cut *cut);

static void report_first(struct resident_looks *m, struct tracees *t, struct tracee *p,
			 struct snap_memory *is, const struct cut *cut)
{
	model__set_first_memory(t->model, tracee__life(p)->proc, is);
}

static void report_now(struct resident_looks *m, struct tracees *t, struct tracee *p, struct snap_memory *is,
		       const struct cut *cut)
{
	if (cut && cut->blocks)
		size_all(m, t, p, cut, is);
	model__set_memory(t->model, tracee__life(p)->proc, is);
}

/* Without figures of blocks: which of them live is known after the end. */
static void report_last(struct resident_looks *m, struct tracees *t, struct tracee *p, struct snap_memory *is,
			const struct cut *cut)
{
	model__set_memory(t->model, tracee__life(p)->proc, is);
	*vec_push(&m->last) = tracee__life(p)->proc;
}

/* As far as *pages go. */
static void look_at(struct resident_looks *m, struct tracees *t, const struct cut *cut, report_fn *tell, int64_t *pages)
{
	struct tracee *p = tracee_of(t, m->procs.v[m->at]);
	struct snap_memory is = { .known = true };
	struct memmap s;
	int err = p ? 0 : -ESRCH;

	/* a program that has not begun has none */
	if (p && p->own && p->lives.n < 2) {
		if (tell == report_first)
			tell(m, t, p, &is, cut);
		err = -ESRCH;
	}
	if (!err && !m->look)
		err = memmap_look__new(p->process.pid, &m->look);
	if (!err && memmap_look__go_on(m->look, pages))
		return;
	if (!err && !memmap_look__end(m->look, &s)) {
		is = memory_of(t, &s);
		tell(m, t, p, &is, cut);
	}
	memmap_look__free(m->look);
	m->look = NULL;
	m->at++;
	*pages -= MEMMAP_MAPPING_PAGES;
}

/* True: there is more. */
static bool slice(struct resident_looks *m, struct tracees *t, const struct cut *cut, report_fn *tell)
{
	uint64_t began_ns = now_ns();
	int64_t pages = MEMMAP_SLICE_PAGES;

	while (m->at < m->procs.n && pages > 0)
		look_at(m, t, cut, tell, &pages);
	m->n_slices++;
	m->most_pages = MAX(m->most_pages, MEMMAP_SLICE_PAGES - pages);
	m->spent_ns += now_ns() - began_ns;
	/* one is read whatever it takes */
	if (!m->look && m->at && m->spent_ns > LOOK_NS)
		m->at = m->procs.n;
	return m->at < m->procs.n;
}

static void looked(struct resident_looks *m)
{
	m->next_ns = now_ns() + MAX(PAUSE_NS, PAUSE_SHARE * m->spent_ns);
	if (m->procs.n)
		say_verbose("memory of %zu process%s read: %.1f ms, %zu slice%s of at most %lld pages",
			    m->procs.n, m->procs.n == 1 ? "" : "es", m->spent_ns / 1e6, m->n_slices,
			    m->n_slices == 1 ? "" : "s", (long long)m->most_pages);
	drop(m);
}

void resident__begin(struct resident_looks *m, struct tracees *t)
{
	/* of those that come and go, most were not there */
	if (tracees__are_shared(t))
		return;
	list(m, t);
	while (m->procs.n && slice(m, t, NULL, report_first))
		in_between(m);
	drop(m);
}

void resident__look(struct resident_looks *m, struct tracees *t, const struct cut *cut, bool now)
{
	if (!now && (m->procs.n || now_ns() < m->next_ns))
		return;
	list(m, t);
	if (!now) {
		if (!slice(m, t, cut, report_now))
			looked(m);
		return;
	}
	while (slice(m, t, cut, report_now))
		in_between(m);
	looked(m);
}

bool resident__go_on(struct resident_looks *m, struct tracees *t)
{
	if (!m->procs.n)
		return false;
	if (slice(m, t, NULL, report_now))
		return true;
	looked(m);
	return false;
}

void resident__look_last(struct resident_looks *m, struct tracees *t)
{
	uint64_t began_ns = now_ns();

	list(m, t);
	m->last.n = 0;
	while (slice(m, t, NULL, report_last) && now_ns() - began_ns < LOOK_NS)
		in_between(m);
}

void resident__end(struct resident_looks *m, struct tracees *t, const struct cut *cut)
{
	while (m->at < m->procs.n && slice(m, t, NULL, report_last))
		in_between(m);
	looked(m);
	for (size_t i = 0; cut->blocks && i < m->last.n; i++) {
		const struct tracee *p = tracee_of(t, m->last.v[i]);
		struct snap_memory is = model__process(t->model, m->last.v[i])->memory;

		if (!p || !is.known)
			continue;
		size_all(m, t, p, cut, &is);
		model__set_memory(t->model, m->last.v[i], &is);
	}
}

void resident__done(struct resident_looks *m)
{
	drop(m);
	vec_done(&m->last);
	vec_done(&m->procs);
}

/* ---- mappings, and what of them is there */

/*
 * Owns how the memory of a process is read: /proc/PID/maps says what it has
 * mapped, /proc/PID/pagemap which pages of that are there. Not smaps: to write it the kernel
 * walks through each mapping in one go, 30 ms for a gigabyte, and whatever
 * the process wants to map meanwhile waits. Of pagemap it does 2 MiB at a time, and for far less.
 *
 * A piece of a glibc arena begins at a multiple of 64 MiB and says itself how much of it
 * may be used; that has to be what the kernel says. No other mapping is taken for one.
 *
 * What always holds: a mapping is counted once, and as what its line says it
 * is; what may not be accessed (PROT_NONE) is not mapped memory here.
 */

#define ARENA_BYTES (64ull << 20)

/* Is it one piece, or several side by side, of an arena? *ret_first: of the arena's first piece. */
static bool is_arena(const struct memmap_parser *p, const struct mapping *m, bool *ret_first)
{
	struct memmap_heap_info info;

	if (!p->peek || m->start % ARENA_BYTES || !p->peek(m->start, &info, sizeof(info), p->arg))
		return false;
	*ret_first = info.arena > m->start && info.arena - m->start < ARENA_BYTES;
	return info.arena && info.size <= ARENA_BYTES && info.usable == MIN(m->end - m->start, ARENA_BYTES);
}

void memmap_parser__take(struct memmap_parser *p, const struct mapping *m)
{
	bool is_anon = (!*m->path || starts(m->path, "[anon")) && (m->read || m->write || m->exec), first = false;
	struct memmap *s = &p->sums;

	s->n_mappings++;
	/* a file's */
	if (m->ino)
		return;
	if (starts(m->path, "[stack]")) {
		p->resident(m->start, m->end, &s->stack, p->arg);
	} else if (starts(m->path, "[heap]") || (is_anon && is_arena(p, m, &first))) {
		s->n_arenas += first;
		s->heap_mapped += m->end - m->start;
		p->resident(m->start, m->end, &s->heap, p->arg);
	} else if (is_anon) {
		s->other_mapped += m->end - m->start;
		p->resident(m->start, m->end, &s->other, p->arg);
	}
	/* the vdso and its like are no memory of the process */
}

/* ---- a process */

#define AT_ONCE 4096		/* words of pagemap */
#define PAGES_MAX (1ull << 20)	/* of one mapping, 80 ms; of a larger one, every so many pieces stand for all */

struct range {			/* of a mapping, in pages */
	uint64_t first, n, at, looked, there;
	struct memmap_resident *to;
};

struct memmap_look {
	pid_t pid;
	struct memory memory;
	uint64_t page_bytes;
	const struct zero_pages *zeros;
	struct memmap_parser parser;
	struct maps maps;
	size_t at;		/* those before it are done with, but for the range */
	struct range range;	/* of the last one; n 0: none */
};

static bool peek(uint64_t addr, void *to, size_t len, void *arg)
{
	struct memmap_look *l = arg;

	return memory__read(&l->memory, addr, to, len) == len;
}

static void note_range(uint64_t start, uint64_t end, struct memmap_resident *to, void *arg)
{
	struct memmap_look *l = arg;

	l->range = (struct range){ .first = start / l->page_bytes, .n = (end - start) / l->page_bytes, .to = to };
}

/* A piece of a mapping. Returns its pages, at least 1. */
static uint64_t read_range(struct memmap_look *l, struct range *r)
{
	/* from one piece that is read to the next */
	uint64_t stride = AT_ONCE * ((r->n + PAGES_MAX - 1) / PAGES_MAX), words[AT_ONCE];
	size_t want = MIN(r->n - r->at, (uint64_t)AT_ONCE), n;
	ssize_t got = want ? memory__page_words(&l->memory, (r->first + r->at) * l->page_bytes, words, want) : 0;

	n = MAX(got, 0);
	for (size_t i = 0; i < n; i++)
		r->there += zero_pages__is_memory(l->zeros, words[i]);
	r->looked += n;
	r->at += MIN(stride, r->n - r->at);
	if (!n || r->at == r->n) {
		if (r->looked)
			r->to->bytes += (uint64_t)((unsigned __int128)r->there * r->n / r->looked) * l->page_bytes;
		r->to->estimated |= r->n > PAGES_MAX;
		r->n = 0;
	}
	return MAX(n, (size_t)1);
}

int memmap_look__new(pid_t pid, struct memmap_look **ret)
{
	struct memmap_look *l = xcalloc(1, sizeof(*l));
	int err;

	l->pid = pid;
	l->memory.runner = process__runner(pid);
	l->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	/* before we may be read ourselves */
	l->zeros = zero_pages__get();
	l->parser = (struct memmap_parser){ .peek = peek, .resident = note_range, .arg = l };
	l->memory.pagemap = l->memory.runner ? process__open(l->memory.runner, "pagemap", 0) : -ESRCH;
	err = l->memory.pagemap < 0 ? l->memory.pagemap : maps__read(l->memory.runner, &l->maps, NULL);
	if (err) {
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
	maps__done(&l->maps);
	memory__close(&l->memory);
	free(l);
}

bool memmap_look__go_on(struct memmap_look *l, int64_t *pages)
{
	while (*pages > 0 && (l->range.n || l->at < l->maps.n)) {
		if (l->range.n) {
			*pages -= (int64_t)read_range(l, &l->range);
		} else {
			memmap_parser__take(&l->parser, &l->maps.v[l->at++]);
			*pages -= MEMMAP_MAPPING_PAGES;
		}
	}
	return l->range.n || l->at < l->maps.n;
}

int memmap_look__end(struct memmap_look *l, struct memmap *ret)
{
	struct memmap *s = &l->parser.sums;
	uint64_t sum = s->heap.bytes + s->other.bytes + s->stack.bytes;
	struct process_use use = process__use(l->pid);

	s->rss_bytes = use.rss_bytes;
	/* one that has ended has no mappings */
	if (!s->n_mappings || !s->rss_bytes)
		return -ESRCH;
	s->file_resident = s->rss_bytes - MIN(sum, s->rss_bytes);
	s->shmem_resident = MIN(use.shmem_bytes, s->file_resident);
	*ret = *s;
	return 0;
}
