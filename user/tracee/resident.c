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
#include <string.h>
#include <unistd.h>

#include "process/memmap.h"
#include "process/peek.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"
#include "util/sorted.h"

#define PAUSE_NS (5 * SECOND_NS)	/* between two readings at the least, */
#define PAUSE_SHARE 250			/* and so many times what the last one took */
#define PROCESSES_MAX 16
#define LOOK_NS (SECOND_NS / 10)	/* of many processes, no more than that */
#define HEADERS PEEK_MAX		/* read at once */
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

static void read_headers(const struct peek *from, const struct cut_block *v, size_t n, struct snap_memory *sum)
{
	uint64_t at[HEADERS], headers[HEADERS];

	for (size_t i = 0; i < n; i++)
		at[i] = v[i].addr - CHUNK_HEADER;
	peek__words(from, at, headers, n);
	resident__size_blocks(v, headers, n, sum);
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Are all its blocks glibc's, and their sizes those that were requested? C++ libraries call malloc. */
static bool is_glibc(const struct tracees *t, const struct tracee *p)
{
	const struct space *space = &tracee__life(p)->space;
	bool glibc = false;

	/* by what it maps: whose the probes are makes no difference */
	for (size_t i = 0; i < space->n; i++) {
		const struct object *obj = space->v[i].object;
		const struct known_file *k = obj ? tracees__known_file(t, obj) : NULL;

		if (!k || !k->plan.n_funcs)
			continue;
		for (size_t f = 0; f < k->plan.n_funcs; f++)
			if (k->plan.funcs[f].usable)
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
	struct peek peek = { .runner = process__runner(p->process.pid) };

	if (from == to || !peek.runner || !is_glibc(t, p))
		return;
	peek.pagemap = memmap__open_pages(peek.runner);
	if (peek.pagemap < 0)
		return;
	sum->sized_all = true;
	for (size_t n, done = 0; from < to; from += n, done += n) {
		if (done && done % HEADERS_A_SLICE == 0)
			in_between(m);
		n = MIN(to - from, (size_t)HEADERS);
		read_headers(&peek, cut->blocks + from, n, sum);
	}
	close(peek.pagemap);
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
		.stack_resident = s->stack.bytes,
		.n_arenas = s->n_arenas,
	};
}

static int by_live_bytes(const void *x, const void *y)
{
	const struct tracee *a = *(const struct tracee *const *)x, *b = *(const struct tracee *const *)y;

	return a->live_bytes < b->live_bytes ? 1 : a->live_bytes > b->live_bytes ? -1 : 0;
}

static void drop(struct resident_looks *m)
{
	memmap_look__free(m->look);
	m->look = NULL;
	m->procs.n = m->at = m->n_slices = 0;
	m->spent_ns = 0;
	m->most_pages = 0;
}

/* Those that hold the most come first. Without memory for the list nothing is read. */
static void list(struct resident_looks *m, const struct tracees *t)
{
	_cleanup_free_ struct tracee **v = calloc(t->v.n + 1, sizeof(*v));
	size_t n = 0;

	drop(m);
	for (size_t i = 0; v && i < t->v.n; i++)
		if (!t->v.v[i]->ended)
			v[n++] = t->v.v[i];
	if (n > 1)
		qsort(v, n, sizeof(*v), by_live_bytes);
	for (size_t i = 0; i < MIN(n, (size_t)PROCESSES_MAX); i++) {
		uint32_t *slot = vec_push(&m->procs);

		if (slot)
			*slot = tracee__life(v[i])->proc;
	}
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
	uint32_t *slot = vec_push(&m->last);

	model__set_memory(t->model, tracee__life(p)->proc, is);
	if (slot)
		*slot = tracee__life(p)->proc;
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
	if (!err)
		err = memmap_look__go_on(m->look, pages);
	if (err > 0)
		return;
	if (!err && !memmap_look__end(m->look, &s)) {
		is = memory_of(t, &s);
		tell(m, t, p, &is, cut);
	}
	memmap_look__free(m->look);
	m->look = NULL;
	m->at++;
	*pages -= MEMMAP_LINE_PAGES;
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
		const struct snap_memory *seen = p ? model__memory(t->model, m->last.v[i]) : NULL;
		struct snap_memory is;

		if (!seen)
			continue;
		is = *seen;
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
