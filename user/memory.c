// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns when the memory of processes is looked at, and what is read of it. That takes
 * the longer the more of it there is: so the time that it took decides how
 * often it is done, and of many processes those are looked at that hold the most.
 *
 * What always holds: memory of a target is read, never written; what is read there
 * is believed only where it makes sense.
 */
#include "memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "target/memmap.h"
#include "util/log.h"

#define SECOND_NS 1000000000ull
#define PAUSE_NS (5 * SECOND_NS)	/* between two looks at the least, */
#define PAUSE_SHARE 250			/* and so many times what the last one took */
#define PROCESSES_MAX 16
#define LOOK_NS (SECOND_NS / 10)	/* of many processes, no more than that */
#define HEADERS 512			/* read at once */

/* ---- headers of glibc's chunks: the word before a block */

#define CHUNK_FLAGS 7ull
#define CHUNK_IS_MAPPED 2ull		/* it has a mapping of its own */
#define CHUNK_HEADER 8
/* A chunk may be larger than what was asked for: what is left of one that was cut is too small to be another, or nobody cuts it. */
#define SLACK_BYTES 4096
#define SLACK_MAPPED (4ull << 20)

void memory__size_blocks(const struct cut_block *v, const uint64_t *headers, size_t n, struct snap_memory *sum)
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

static void read_headers(pid_t pid, const struct cut_block *v, size_t n, struct snap_memory *sum)
{
	uint64_t headers[HEADERS] = {};
	struct iovec there[HEADERS];
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		there[i] = (struct iovec){ (void *)(uintptr_t)(v[i].addr - CHUNK_HEADER), sizeof(*headers) };
	while (at < n) {
		struct iovec here = { headers + at, (n - at) * sizeof(*headers) };
		ssize_t got = process_vm_readv(pid, &here, 1, there + at, n - at, 0);

		if (got < 0 && errno != EFAULT)
			break;
		at += got > 0 ? (size_t)got / sizeof(*headers) : 0;
		/* it stops at what cannot be read */
		if (at < n)
			headers[at++] = 0;
	}
	memory__size_blocks(v, headers, n, sum);
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Are all its blocks glibc's, and their sizes those that were asked for? C++ libraries call malloc. */
static bool is_glibc(const struct tracees *t, const struct tracee *p)
{
	bool glibc = false;

	for (size_t i = 0; i < p->examined.n; i++) {
		const struct known_plan *k = hash__get(&t->plan_of, (uint64_t)(uintptr_t)p->examined.v[i]);

		if (!k || !k->plan.n_funcs)
			continue;
		for (size_t f = 0; f < k->plan.n_funcs; f++)
			if (k->plan.funcs[f].usable)
				return false;
		if (k->plan.family && !strcmp(k->plan.family, "glibc"))
			glibc = true;
		else if (!starts(path_basename(k->plan.object->path), "libstdc++.so") && !starts(path_basename(k->plan.object->path), "libc++"))
			return false;
	}
	return glibc;
}

/* Blocks are sorted by process. */
static size_t first_of(const struct cut *cut, uint32_t proc)
{
	size_t lo = 0, hi = cut->n_blocks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cut->blocks[mid].proc < proc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void size_all(const struct tracees *t, const struct tracee *p, const struct cut *cut, struct snap_memory *sum)
{
	uint32_t proc = tracee__life(p)->proc;
	size_t from = first_of(cut, proc), to = first_of(cut, proc + 1);
	pid_t runner = process__runner(p->process.pid);

	if (from == to || !runner || !is_glibc(t, p))
		return;
	sum->sized_all = true;
	for (size_t n; from < to; from += n) {
		n = MIN(to - from, (size_t)HEADERS);
		read_headers(runner, cut->blocks + from, n, sum);
	}
	if (!sum->sized_blocks)
		sum->sized_all = false;
}

/* ---- mappings */

static int read_memory(pid_t pid, struct snap_memory *ret)
{
	struct memmap s;
	int err = memmap__read(pid, &s);

	if (err)
		return err;
	*ret = (struct snap_memory){
		.known = true,
		.heap_mapped = s.heap_mapped,
		.heap_resident = s.heap_resident,
		.large_mapped = s.other_mapped,
		.large_resident = s.other_resident,
		.file_resident = s.file_resident,
		.stack_resident = s.stack_resident,
		.n_arenas = s.n_arenas,
	};
	return 0;
}

void memory__begin(struct tracees *t)
{
	uint64_t began_ns = now_ns();

	for (size_t i = 0; i < t->v.n && i < PROCESSES_MAX && now_ns() - began_ns < LOOK_NS; i++) {
		struct snap_memory m = { .known = true };

		/* a program that has not begun has none */
		if (!t->v.v[i]->ended && ((t->v.v[i]->own && t->v.v[i]->lives.n < 2) || !read_memory(t->v.v[i]->process.pid, &m)))
			model__set_first_memory(t->model, tracee__life(t->v.v[i])->proc, &m);
	}
}

static int by_live_bytes(const void *x, const void *y)
{
	const struct tracee *a = *(const struct tracee *const *)x, *b = *(const struct tracee *const *)y;

	return a->live_bytes < b->live_bytes ? 1 : a->live_bytes > b->live_bytes ? -1 : 0;
}

void memory__look(struct memory_looks *m, struct tracees *t, const struct cut *cut, bool now)
{
	uint64_t began_ns = now_ns(), took_ns;
	_cleanup_free_ struct tracee **v = NULL;
	size_t n = 0;

	if (!now && began_ns < m->next_ns)
		return;
	v = calloc(t->v.n + 1, sizeof(*v));
	for (size_t i = 0; v && i < t->v.n; i++)
		if (!t->v.v[i]->ended)
			v[n++] = t->v.v[i];
	if (n > 1)
		qsort(v, n, sizeof(*v), by_live_bytes);
	for (size_t i = 0; i < MIN(n, (size_t)PROCESSES_MAX) && (!i || now_ns() - began_ns < LOOK_NS); i++) {
		struct snap_memory is;

		if (read_memory(v[i]->process.pid, &is))
			continue;
		if (cut && cut->blocks)
			size_all(t, v[i], cut, &is);
		model__set_memory(t->model, tracee__life(v[i])->proc, &is);
	}
	took_ns = now_ns() - began_ns;
	m->next_ns = now_ns() + MAX(PAUSE_NS, PAUSE_SHARE * took_ns);
	if (n)
		say_verbose("memory of %zu process%s looked at: %.1f ms", MIN(n, (size_t)PROCESSES_MAX), n == 1 ? "" : "es", took_ns / 1e6);
}
