// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what threads within the allocator have in hand. What such a thread takes from a list or puts into one is in no
 * list meanwhile, and looks as if it were in use: one block, or, where fast bins are emptied, all of a list. A process that is
 * stopped goes on for a moment, until all threads are elsewhere; of others, and where that fails, it is told as unsure.
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

/* Where fast bins are emptied, a thread takes all of a list at once, and may be interrupted then for long. */
static bool could_be_chunk(const struct taking *k, uint64_t addr)
{
	return addr && !(addr % CHUNK_ALIGN) && taking__segment_of(k, addr);
}

bool taking__may_be_linked(const struct taking *k, uint64_t addr, uint64_t chunk_bytes, uint64_t word)
{
	if (!k->l->n_fast || (chunk_bytes - CHUNK_MIN) / CHUNK_ALIGN >= FAST_BINS_MAX)
		return false;
	if (k->l->votes_for_mangled)
		return could_be_chunk(k, taking__link_of(k, addr, word));
	return could_be_chunk(k, word) || could_be_chunk(k, word ^ addr >> 12);
}

/* The block to which it is linked: one of its size, which is in no list either. NULL: none. */
static const struct heap_block *next_of(struct taking *k, const struct heap_block *b)
{
	const struct heap_block *next;
	uint64_t word, addr;

	if (!lines__word(k->lines, b->addr, &word))
		return NULL;
	addr = taking__link_of(k, b->addr, word) + CHUNK_HEADER;
	next = census__find(k->c, addr);
	return next && next->addr == addr && next->usable == b->usable ? next : NULL;
}

static uint64_t n_linked(struct taking *k)
{
	uint64_t n = 0;

	lines__forget(k->lines);
	for (size_t i = 0; i < k->linked.n; i++) {
		const struct heap_block *blocks = k->c->blocks.v, *next = next_of(k, &blocks[k->linked.v[i]]);

		/* who takes the census asks again, and ends it */
		if (!(i % 65536) && target__go_on(k->t, "reading the caches of the heap", 1))
			break;
		/* the last of a list has no link */
		n += next ? 1 + !addresses__has(&k->linked, next - blocks) : 0;
	}
	return n;
}

void taking__count_on_the_way(struct taking *k)
{
	bool moving = k->n_inside || (k->is_moving && !k->t->stopped);

	k->n_on_the_way = k->n_inside * BLOCKS_ON_THE_WAY + (moving ? n_linked(k) : 0) + taking__n_in_lost_tcaches(k, moving);
}
