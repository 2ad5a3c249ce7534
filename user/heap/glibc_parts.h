/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the files of glibc's census share. Names are glibc's own (malloc/malloc.c): a chunk is a block with its
 * header; the size before it has flags in its low bits; whether a chunk is in use says its successor.
 *
 *	chunk →	| size of the previous one, if that is free | size, flags |
 *	block →	| what the program wrote; of free ones: links ...         |
 */
#ifndef MT_GLIBC_PARTS_H
#define MT_GLIBC_PARTS_H

#include "heap/census.h"
#include "util/sorted.h"

#define CHUNK_PREV_IN_USE 1ull
#define CHUNK_IS_MAPPED 2ull
#define CHUNK_FLAGS 7ull
#define CHUNK_HEADER 16		/* from a chunk to its block */
#define CHUNK_MIN 32
#define CHUNK_LIMIT (1ull << USABLE_BITS)	/* none has so much; a block of the census has no room for it */
#define CHUNK_ALIGN 16ull
#define FENCE_BYTES 16		/* a chunk of this size ends a segment */

#define N_BINS 127
#define BINS_BYTES (N_BINS * 16ull)
#define ARENA_NEXT (BINS_BYTES + 16)	/* from the bins on: behind the map of them */
#define ARENA_THREADS (ARENA_NEXT + 16)
#define ARENA_SYSTEM_MEM (ARENA_NEXT + 24)
#define ARENA_TAIL (ARENA_NEXT + 40)
#define FAST_BINS_MAX 10
#define ARENA_BYTES_MAX (160 + ARENA_TAIL)
#define ARENAS_MAX 65535

/* A block in the list that may be free: its second word is the key of tcaches. */
#define BLOCK_KEYED 0x80
/* Of a free block's address, which is aligned: it is in a fast bin, not in a tcache. */
#define FROM_FAST 1ull
/* ... its first word could be the link of a fast bin. */
#define BLOCK_LINKED 0x40

struct addresses vec(uint64_t);

static inline uint64_t word_at(const char *bytes, size_t off)
{
	uint64_t w;

	__builtin_memcpy(&w, bytes + off, sizeof(w));
	return w;
}

/* The book-keeping of a thread's cache. */
struct tcache_shape {
	uint64_t chunk_bytes;	/* of its chunk, or 16 more where the rest was too small to be one */
	unsigned int n_bins, count_bytes;
	bool counts_room;	/* what it counts is room that is left */
	bool may_lack_keys;	/* of some versions */
};
extern const struct tcache_shape tcache_shapes[];
extern const size_t n_tcache_shapes;

enum key_kind { KEY_UNKNOWN, KEY_RANDOM, KEY_OWN_ADDRESS };

struct glibc_layout {
	uint64_t fast_off;	/* of the fast bins in an arena */
	unsigned int n_fast;	/* 0: this libc has none */
	size_t arena_bytes;
	uint64_t module_start, module_end;	/* the writable memory in which main_arena lies */
	uint64_t sbrk_base_at;	/* where mp_ has it; 0: not found */
	unsigned int n_mmaps_off;	/* how far before */
	uint64_t heap_info_bytes;
	struct addresses known_tcaches;	/* by address, as of the last census */
	const struct tcache_shape *tcache;	/* NULL: none was met yet */
	enum key_kind key_kind;
	uint64_t n_threads;	/* when it had some last */
	int64_t votes_for_mangled;	/* of links in lists, less those against it; 0: none was seen yet */
};

struct glibc_arena {
	uint64_t addr, top, top_bytes, system_mem;
	uint64_t fast[FAST_BINS_MAX];
	uint32_t flags;
	uint64_t hash;		/* of all of it: did it change? */
};

enum segment_kind { SEGMENT_BRK, SEGMENT_HEAP, SEGMENT_MAPPED };

struct segment {
	uint64_t start, end;	/* all of it */
	uint64_t first;		/* its first chunk */
	uint64_t top;		/* of the arena, if that is in it; else 0 */
	uint32_t arena;
	enum segment_kind kind;
};

struct segments vec(struct segment);

/* libc's own counters. */
struct glibc_sums {
	bool known;
	uint32_t n_mmaps;
	uint64_t mmapped_mem, sbrk_base;
};

/* Words of the target, a line at a time, for walks along links. */
struct lines;

struct window {
	uint64_t start, end;
	char *bytes;
};

/* A census under way. */
struct taking {
	struct target *t;
	struct glibc *g;
	struct glibc_layout *l;
	struct census *c;
	struct lines *lines;
	struct window window;
	struct vec(struct glibc_arena) arenas;
	struct segments segments;	/* by address */
	struct addresses maybe_tcaches, tcaches;	/* blocks, by address */
	struct addresses maybe_empty;	/* of those with a mapping of their own, by address: as long as a tcache is, and all zeros */
	size_t n_lost_mapped;	/* of those with a mapping of their own: may be tcaches, and could not be made out */
	struct addresses freed;	/* blocks that are in caches and fast bins */
	struct addresses linked;	/* numbers of blocks in use whose first word could be the link of a fast bin */
	struct vec(struct heap_block) mapped;	/* by address */
	struct vec(struct heap_range) mapped_ranges;
	uint64_t mapped_bytes, swapped_bytes, passed_over_bytes;	/* of these mappings; not read among them */
	bool mapped_moving, mapped_less, mapped_thorough;
	struct glibc_sums sums;
	uint64_t heap_bytes, walked_bytes;	/* for the progress */
	uint64_t chain_bytes_left;	/* of work on chains that may lead nowhere */
	uint64_t list_steps_left;	/* of lists that are read now */
	struct heap_ranges foreign;	/* between the main arena's parts: not the allocator's */
	struct heap_ranges gaps;	/* these, and what no chain of blocks could be made of: blocks of which nothing is known */
	/* signs that it changes while it is read */
	uint64_t n_breaks, n_torn, n_unsettled;
	bool is_moving;
	uint64_t patience_us;	/* that is left to wait for threads which were interrupted within malloc */
	uint64_t n_mapped_unsure;
	size_t n_inside;	/* of one that is stopped: threads within the allocator */
	uint64_t n_on_the_way;	/* blocks that its threads may have taken out of lists */
	uint64_t not_libcs[64];	/* words that are no keys of tcaches */
	size_t n_not_libcs;
};

struct lines *lines__new(struct target *t);
void lines__free(struct lines *l);
void lines__forget(struct lines *l);	/* what comes is read anew */
/* Of an aligned address whose page is there; else false. */
bool lines__word(struct lines *l, uint64_t addr, uint64_t *ret);

/* glibc_arena.c */
int glibc__find(struct target *t, struct glibc *g, struct err *e);
size_t glibc__count(const struct target *t);	/* C libraries that are loaded: dlmopen and LD_AUDIT load more than one */
/*
 * Is there a main arena beside the one that was found: of a copy without libc's name, or of a
 * program that is linked with a libc and loads another? 1 or 0; -EPROTO: what looks like one leads
 * nowhere, or changes too fast; -EINTR. *ret_swapped: bytes on the disk, where there may be one.
 */
int glibc__has_another(struct target *t, const struct glibc *g, uint64_t *ret_swapped);
bool glibc__has_traces(const struct target *t);	/* of a heap: libc, and memory behind the break */
int taking__read_arenas(struct taking *k, struct err *e);
bool taking__reread_arena(struct taking *k, struct glibc_arena *a);
bool taking__read_sums(struct taking *k, struct glibc_sums *ret);

/* glibc_segments.c */
int taking__find_segments(struct taking *k, struct err *e);
const struct segment *taking__segment_of(const struct taking *k, uint64_t addr);
/* Of a stopped process: lets it go on for some milliseconds, until no thread is within the allocator; k->n_inside still are. */
int taking__wait_outside(struct taking *k, struct err *e);
/* Could a block be one of a fast bin, by its first word? */
bool taking__may_be_linked(const struct taking *k, uint64_t addr, uint64_t chunk_bytes, uint64_t word);
/* k->n_on_the_way of the blocks in use may be none, because threads have them in hand. */
void taking__count_on_the_way(struct taking *k);

/* glibc_walk.c */
/* Is a segment one from its first chunk to top or a fence? Where it ends. */
bool chain__ends(struct taking *k, const struct segment *s, uint64_t *ret_end);
int taking__walk(struct taking *k, const struct segment *s, struct err *e);
int taking__check_chunks(struct taking *k, struct err *e);

/* glibc_tcache.c, glibc_cache.c */
/* Could a block be a tcache, by what it has in it? Cheap: most blocks of that size are not. */
bool tcache__may_be(const char *bytes, const struct tcache_shape *s);
const struct tcache_shape *tcache__shape_of(const struct glibc_layout *l, uint64_t chunk_bytes);
/* After the walk: of the blocks that have a mapping of their own, those that may be one. */
int taking__note_mapped_tcaches(struct taking *k, struct err *e);
/* Before the walk: the key, if a tcache is where they usually are. */
void taking__learn_key(struct taking *k);
bool taking__is_key(const struct taking *k, uint64_t word);
int taking__read_lists_before(struct taking *k, struct err *e);
int taking__read_caches(struct taking *k, struct err *e);
/* At most so many blocks are in tcaches that could not be made out. moving: it changes while it is read. */
uint64_t taking__n_in_lost_tcaches(struct taking *k, bool moving);
/* Where the word that stands at at, in a free block, leads to. */
uint64_t taking__link_of(const struct taking *k, uint64_t at, uint64_t word);

/* glibc_mapped.c */
int taking__find_mapped(struct taking *k, struct err *e);
bool taking__is_mapped(const struct taking *k, uint64_t addr);	/* the block of one */

/* Memory of no file; with glibc.malloc.hugetlb=2 of one that has none but its huge pages. */
static inline bool is_nobodys(const struct mapping *m)
{
	if (m->ino)
		return !m->shared && !__builtin_strncmp(m->path, "/anon_hugepage", 14);
	return !m->shared && (!m->path[0] || !__builtin_strncmp(m->path, "[anon", 5));
}

static inline bool is_anon(const struct mapping *m)
{
	return m->read && m->write && is_nobodys(m);
}

/* A program may have made some of it read-only. */
static inline bool is_brk(const struct mapping *m)
{
	return !m->shared && !__builtin_strcmp(m->path, "[heap]");
}

/* Where the memory ends that this is a part of: madvise, mlock and mprotect make several mappings of one. */
static inline uint64_t anon_end(const struct maps *maps, const struct mapping *m)
{
	uint64_t end = m->end;

	for (m++; m < maps->v + maps->n && m->start == end && is_nobodys(m); m++)
		end = m->end;
	return end;
}

/* What glibc_tcache.c (which blocks are caches) and glibc_cache.c (which blocks are in them) share. */

#define SMALL_BINS 64		/* of a tcache: one for each size, from CHUNK_MIN on */
#define TCACHE_BYTES_MAX 1024
#define TRIED_AGAIN_MAX 4096	/* tcaches change; as many blocks that look like one are none */

/* Of taking.freed, from *at on: the entry of this block; NULL: it is not free. */
#define freed__meet(k, at, addr) sorted__meet(one_, (k)->freed.v, (k)->freed.n, at, *one_ & ~FROM_FAST, addr)

void addresses__sort(struct addresses *a);
void addresses__unite(struct addresses *a);	/* each once, by address */
bool addresses__has(const struct addresses *a, uint64_t addr);	/* of sorted ones */

size_t tcache__heads_off(const struct tcache_shape *s);
size_t tcache__bytes(const struct tcache_shape *s);
uint64_t tcache__head(const char *bytes, const struct tcache_shape *s, unsigned int bin);
bool bin__takes(unsigned int bin, uint64_t chunk_bytes);
bool taking__has_block(const struct taking *k, uint64_t addr);	/* could one be here? */
bool taking__has_key(const struct taking *k, uint64_t tcache, uint64_t word);
const struct tcache_shape *taking__shape_at(struct taking *k, uint64_t addr);	/* by the size of a block; NULL: it is none */
int taking__find_tcaches(struct taking *k, struct err *e);	/* among those that the walk has noted */
void taking__remember_tcaches(struct taking *k);

#endif
