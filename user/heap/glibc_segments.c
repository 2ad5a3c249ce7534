// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns where the memory of arenas lies: that of threads in heaps of 64 MiB, or of four huge pages, which are a list; that of the main arena behind
 * the program's break, and, where the break could not grow, in mappings that nothing lists.
 *
 * What always holds: segments do not overlap and lie in mappings; so all further work is bounded by what is mapped.
 */
#include "heap/glibc_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "util/sorted.h"

#define ARENA_NOT_CONTIGUOUS 2u
#define HEAP_INFO_MAX 0x80
#define HEAPS_MAX (1u << 20)
#define READS_MAX 20

struct heap_info {
	uint64_t arena, prev, size;
};

/* How long heaps of threads' arenas may be, to which they are aligned: without huge pages, and with those of 2 MiB, 32 MiB, 1 GiB, 64 KiB. */
static const uint64_t heap_limits[] = { 64ull << 20, 8ull << 20, 128ull << 20, 4ull << 30, 256ull << 10 };

COMPARATOR(by_start, struct segment, ORDER(a->start, b->start))

static bool is_mapped(const struct maps *m, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct mapping *at = maps__find(m, start);

		if (!at)
			return false;
		start = at->end;
	}
	return true;
}

static int push_segment(struct taking *k, struct segment s, struct err *e)
{
	if (s.start >= s.end || s.first < s.start || s.first > s.end || !is_mapped(&k->t->maps, s.start, s.end))
		return err_set(e, -EPROTO, "heap layout not recognised: a part of an arena is not mapped");
	*vec_push(&k->segments) = s;
	return 0;
}

/* ---- heaps of threads' arenas */

static uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static int say_heap(struct err *e, const char *what)
{
	return err_set(e, -EPROTO, "heap layout not recognised: %s", what);
}

/* The first one, which the arena itself is in. */
static uint64_t own_heap(const struct taking *k, const struct glibc_arena *a)
{
	return a->addr & ~(k->t->page_bytes - 1);
}

static bool is_heap(struct taking *k, const struct glibc_arena *a, uint64_t at, uint64_t limit, struct heap_info *ret)
{
	return !(at % limit) && target__read(k->t, at, ret, sizeof(*ret)) && ret->arena == a->addr && ret->size && ret->size <= limit &&
	       !(ret->size % k->t->page_bytes);
}

/* The last one, which top is in, shows how long they may be; 0: none does. */
static uint64_t find_limit(struct taking *k, const struct glibc_arena *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(heap_limits); i++) {
		uint64_t at = a->top & ~(heap_limits[i] - 1);
		struct heap_info h;

		if (is_heap(k, a, at, heap_limits[i], &h) && a->top - at < h.size)
			return heap_limits[i];
	}
	return 0;
}

static int push_heap(struct taking *k, uint32_t arena, uint64_t heap, const struct heap_info *h, struct err *e)
{
	const struct glibc_arena *a = &k->arenas.v[arena];
	/* the first one has the arena itself at its start */
	uint64_t head = heap == own_heap(k, a) ? a->addr + k->l->arena_bytes : heap + k->l->heap_info_bytes;

	return push_segment(k, (struct segment){
		.start = heap,
		.end = heap + h->size,
		.first = align_up(head, CHUNK_ALIGN),
		.top = a->top >= heap && a->top < heap + h->size ? a->top : 0,
		.arena = arena,
		.kind = SEGMENT_HEAP,
	}, e);
}

static int find_heaps(struct taking *k, uint32_t arena, struct err *e)
{
	struct glibc_arena *a = &k->arenas.v[arena];
	uint64_t limit = find_limit(k, a), heap = a->top & ~(limit - 1), own = own_heap(k, a), kept = 0, sum = 0;

	if (!limit || a->addr - own < sizeof(struct heap_info) || a->addr - own > HEAP_INFO_MAX)
		return say_heap(e, "an arena of a thread does not begin as one");
	k->l->heap_info_bytes = a->addr - own;
	for (uint32_t n = 0, power = 1; heap; n++) {
		struct heap_info h;
		int r;

		if (n == HEAPS_MAX || heap == kept || !is_heap(k, a, heap, limit, &h))
			return say_heap(e, "the memory of a thread's arena is no list of heaps");
		r = push_heap(k, arena, heap, &h, e);
		if (r)
			return r;
		sum += h.size;
		if (n == power) {
			kept = heap;
			power *= 2;
		}
		heap = h.prev;
	}
	return sum == a->system_mem ? 0 : say_heap(e, "the sizes of a thread's heaps do not add up to what libc has counted");
}

/* A running thread changes what is read here: once more, then. */
static int find_heaps_of(struct taking *k, uint32_t arena, struct err *e)
{
	_cleanup_err_ struct err last = {};
	size_t before = k->segments.n;
	int r = 0;

	for (int i = 0; i < READS_MAX; i++) {
		uint64_t hash = k->arenas.v[arena].hash;

		err_done(&last);
		r = find_heaps(k, arena, &last);
		/* one that is never as it should be is not one that changes */
		k->is_moving |= i && !r;
		if (r != -EPROTO)
			break;
		k->segments.n = before;
		r = target__refresh(k->t, e);
		if (r)
			return r;
		r = -EPROTO;
		if (!taking__reread_arena(k, &k->arenas.v[arena]))
			break;
		k->is_moving |= k->arenas.v[arena].hash != hash;
	}
	return r ? err_set(e, r, "%s", err_msg(&last)) : 0;
}

/* ---- the main arena */

static uint64_t end_of_break(const struct taking *k, uint64_t from)
{
	const struct mapping *m = maps__find(&k->t->maps, from);
	uint64_t end = 0;

	for (; m && m < k->t->maps.v + k->t->maps.n && is_brk(m) && (!end || m->start == end); m++)
		end = m->end;
	return end;
}

static int find_break(struct taking *k, struct err *e)
{
	const struct glibc_arena *a = &k->arenas.v[0];
	uint64_t base = k->sums.sbrk_base, end = base ? end_of_break(k, base) : 0;
	struct segment s = { .start = base, .first = align_up(base, CHUNK_ALIGN), .end = end, .kind = SEGMENT_BRK };

	if (!end)
		return 0;
	if (a->top >= base && a->top < end) {
		s.top = a->top;
		s.end = MIN(end, a->top + a->top_bytes);
	}
	return push_segment(k, s, e);
}

/* A part of the main arena that has a mapping of its own: chunks up to a fence, or to top. */
static bool is_mapped_part(struct taking *k, struct segment *s)
{
	const struct glibc_arena *a = &k->arenas.v[0];
	uint64_t size;

	if (!lines__word(k->lines, s->start + 8, &size) || size % CHUNK_ALIGN != CHUNK_PREV_IN_USE)
		return false;
	if (a->top >= s->start && a->top < s->end)
		s->top = a->top;
	return chain__ends(k, s, &s->end);
}

static int find_parts_in(struct taking *k, const struct mapping *m, struct segments *to, struct err *e)
{
	struct page_runs pages = { .t = k->t, .at = m->start, .end = m->end };
	uint64_t at, end = anon_end(&k->t->maps, m);

	/* a part that began in the mapping before */
	if (to->n)
		pages.at = MAX(pages.at, align_up(to->v[to->n - 1].end, k->t->page_bytes));

	while (page_runs__next_page(&pages, &at)) {
		struct segment s = { .start = at, .first = at, .end = end, .kind = SEGMENT_MAPPED };
		const struct segment *known = taking__segment_of(k, at);

		if (target__go_on(k->t, "looking for the heap", 0))
			return err_set(e, -EINTR, "stopped");
		if (known) {
			pages.at = MAX(pages.at, align_up(known->end, k->t->page_bytes));
			continue;
		}
		if (!is_mapped_part(k, &s))
			continue;
		*vec_push(to) = s;
		pages.at = MAX(pages.at, align_up(s.end, k->t->page_bytes));
	}
	return 0;
}

static int find_mapped_parts(struct taking *k, struct err *e)
{
	struct segments found = { 0 };
	int r = 0;

	for (size_t i = 0; i < k->t->maps.n; i++)
		k->chain_bytes_left += is_anon(&k->t->maps.v[i]) ? 4 * (k->t->maps.v[i].end - k->t->maps.v[i].start) : 0;
	page_runs__begin(k->t);
	for (size_t i = 0; i < k->t->maps.n && !r; i++)
		if (is_anon(&k->t->maps.v[i]))
			r = find_parts_in(k, &k->t->maps.v[i], &found, e);
	for (size_t i = 0; i < found.n && !r; i++)
		r = push_segment(k, found.v[i], e);
	vec_done(&found);
	return r;
}

/* ---- all */

static int sort(struct taking *k, struct err *e)
{
	vec_sort(&k->segments, by_start);
	for (size_t i = 1; i < k->segments.n; i++)
		if (k->segments.v[i].start < k->segments.v[i - 1].end)
			return say_heap(e, "two parts of it overlap");
	return 0;
}

const struct segment *taking__segment_of(const struct taking *k, uint64_t addr)
{
	return sorted__range_of(k->segments.v, k->segments.n, addr);
}

int taking__find_segments(struct taking *k, struct err *e)
{
	const struct glibc_arena *a = &k->arenas.v[0];
	int r = 0;

	k->segments.n = 0;
	for (uint32_t i = 1; i < k->arenas.n && !r; i++)
		r = find_heaps_of(k, i, e);
	if (!r)
		r = find_break(k, e);
	if (!r)
		r = sort(k, e);
	if (!r && a->system_mem && (a->flags & ARENA_NOT_CONTIGUOUS || !taking__segment_of(k, a->top))) {
		r = find_mapped_parts(k, e);
		if (!r)
			r = sort(k, e);
	}
	for (size_t i = 0; i < k->segments.n; i++)
		k->heap_bytes += k->segments.v[i].end - k->segments.v[i].start;
	return r;
}

/* ---- threads inside of the allocator */

/*
 * Owns what threads within the allocator have in hand. What such a thread takes from a list or puts into one is in no
 * list meanwhile, and looks as if it were in use: one block, or, where fast bins are emptied, all of a list. A process that is
 * stopped goes on for a moment, until all threads are elsewhere; of others, and where that fails, it is told as unsure.
 *
 * Not seen: a thread that is in a signal's handler which interrupted the allocator.
 */

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
