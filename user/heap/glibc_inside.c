// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the threads of a stopped process that are within the allocator. What such a thread takes from a list or puts
 * into one is in no list meanwhile, and looks as if it were in use: one block, or, where fast bins are emptied, all
 * of a list. So it goes on for a moment, until all threads are elsewhere; else that is told as unsure.
 *
 * Not seen: a thread that is in a signal's handler which interrupted the allocator.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "heap/glibc_cache.h"

#define TRIES 16
#define GO_ON_NS 1000000
#define BLOCKS_ON_THE_WAY 2	/* of a thread: one that realloc gives back, one that it gives */

/* ---- which threads are there */

static bool is_memory_call(int64_t call)
{
	return call == SYS_brk || call == SYS_mmap || call == SYS_munmap || call == SYS_mremap || call == SYS_madvise || call == SYS_mprotect;
}

/* The code of the allocator, or an instruction of it that a uprobe has moved. */
static bool is_allocators_code(const struct taking *k, uint64_t pc)
{
	const struct mapping *data = maps__find(&k->t->maps, k->g->main_arena), *code = maps__find(&k->t->maps, pc);

	if (!data || !code)
		return true;
	return !strcmp(code->path, "[uprobes]") || (code->ino == data->ino && code->dev_major == data->dev_major && code->dev_minor == data->dev_minor);
}

static bool is_inside(const struct taking *k, const struct target_thread *t)
{
	/* in any other call nothing is on its way: one that waits for an arena has not begun */
	return !t->n_regs || is_memory_call(t->syscall) || (t->syscall == NO_SYSCALL && is_allocators_code(k, t->pc));
}

/* The word of an arena's lock is its first. */
static bool is_locked(const struct taking *k)
{
	uint32_t lock;

	for (size_t i = 0; i < k->arenas.n; i++)
		if (!target__read(k->t, k->arenas.v[i].addr, &lock, sizeof(lock)) || lock)
			return true;
	return false;
}

static int count_inside(struct taking *k, struct err *e)
{
	struct target_thread *all;
	size_t n;
	int r = taking__read_arenas(k, e);

	if (!r)
		r = target__registers(k->t, &all, &n, e);
	if (r)
		return r;
	k->n_inside = 0;
	for (size_t i = 0; i < n; i++)
		k->n_inside += is_inside(k, &all[i]);
	/* whoever holds it may be in a handler */
	if (!k->n_inside && is_locked(k))
		k->n_inside = 1;
	free(all);
	return 0;
}

int taking__wait_outside(struct taking *k, struct err *e)
{
	int r = count_inside(k, e);

	for (int i = 0; i < TRIES && k->n_inside && !r; i++) {
		if (target__go_on(k->t, "waiting for threads within malloc", 0))
			return err_set(e, -EINTR, "stopped");
		r = target__pause_later(k->t, GO_ON_NS, e);
		if (!r)
			r = target__refresh(k->t, e);
		if (!r)
			r = count_inside(k, e);
	}
	return r;
}

/* ---- what they may have */

/* Is it linked as blocks of fast bins are, or the last of such a list? Only lists that are taken apart just now have these. */
static bool may_be_linked(struct taking *k, const struct heap_block *b)
{
	const struct heap_block *next;
	uint64_t word;

	if (b->flags & BLOCK_MAPPED || (b->usable + 8 - CHUNK_MIN) / CHUNK_ALIGN >= FAST_BINS_MAX || !lines__word(k->lines, b->addr, &word))
		return false;
	word = k->l->links_mangled ? word ^ b->addr >> 12 : word;
	if (!word || word % CHUNK_ALIGN)
		return false;
	next = census__find(k->c, word + CHUNK_HEADER);
	return next && next->addr == word + CHUNK_HEADER && next->usable == b->usable;
}

uint64_t taking__n_inside_unsure(struct taking *k)
{
	uint64_t n = 0;

	if (!k->n_inside)
		return 0;
	lines__forget(k->lines);
	for (size_t i = 0; i < k->c->blocks.n && k->l->n_fast; i++)
		n += may_be_linked(k, &k->c->blocks.v[i]);
	/* the last one of a list has no link */
	return (uint64_t)k->n_inside * BLOCKS_ON_THE_WAY + n + !!n;
}
