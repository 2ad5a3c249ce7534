// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the free blocks that look as if they were in use: those in the caches of threads (tcaches) and in fast bins. A
 * tcache is a block itself, found by what it must be: each of its list heads is a chunk of its bin's size, and the second
 * word of all these is the same key (from 2.29 on; a random number from 2.34 on, before that the tcache's own address).
 *
 * What always holds: lists have an end, even those that turn into a ring while they are read. A list that was read
 * from a running process is believed only if all of it fits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/glibc_parts.h"

#define SMALL_BINS 64		/* of a tcache: one for each size, from CHUNK_MIN on */
#define LARGE_MIN 0x400
#define LARGE_MAX (1ull << 40)
#define LIST_MAX 65535		/* counts are 16 bits wide */
#define TCACHE_BYTES_MAX 1024
#define LEARN_CHUNKS 4096	/* of a segment: where tcaches usually are */
#define LEARN_TRIES 50
#define ROUNDS 4
#define LIST_TRIES 4
#define HEADS_WRONG 16		/* of a tcache that changed since the walk */
#define TRIED_AGAIN_MAX 4096	/* tcaches change; as many blocks that look like one are none */
#define STEPS_MIN 100000
#define TCACHE_COUNT 7		/* of blocks in a list, unless a tunable says otherwise */

const struct tcache_shape tcache_shapes[] = {
	{ 0x290, 64, 2, false },	/* 2.30 to 2.41 */
	{ 0x300, 76, 2, true },		/* 2.42 on */
	{ 0x250, 64, 1, false },	/* 2.26 to 2.29 */
};
const size_t n_tcache_shapes = ARRAY_SIZE(tcache_shapes);

static uint64_t word_at(const char *bytes, size_t off)
{
	uint64_t w;

	memcpy(&w, bytes + off, sizeof(w));
	return w;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(struct addresses *a)
{
	if (a->n)
		qsort(a->v, a->n, sizeof(*a->v), by_address);
}

/* Each once. */
static void unite(struct addresses *a)
{
	size_t n = 0;

	sort(a);
	for (size_t i = 0; i < a->n; i++)
		if (!n || a->v[i] != a->v[n - 1])
			a->v[n++] = a->v[i];
	a->n = n;
}

static bool has(const struct addresses *a, uint64_t addr)
{
	return a->n && bsearch(&addr, a->v, a->n, sizeof(*a->v), by_address);
}

/* ---- what a tcache looks like */

static size_t heads_off(const struct tcache_shape *s)
{
	return s->n_bins * s->count_bytes;
}

static size_t shape_bytes(const struct tcache_shape *s)
{
	return s->n_bins * (s->count_bytes + 8ul);
}

static unsigned int count_of(const char *bytes, const struct tcache_shape *s, unsigned int bin)
{
	uint16_t wide;

	if (s->count_bytes == 1)
		return (uint8_t)bytes[bin];
	memcpy(&wide, bytes + bin * sizeof(wide), sizeof(wide));
	return wide;
}

static uint64_t head_of(const char *bytes, const struct tcache_shape *s, unsigned int bin)
{
	return word_at(bytes, heads_off(s) + bin * 8ul);
}

const struct tcache_shape *tcache__shape_of(const struct glibc_layout *l, uint64_t chunk_bytes)
{
	for (size_t i = 0; i < n_tcache_shapes; i++) {
		const struct tcache_shape *s = &tcache_shapes[i];

		if ((!l->tcache || l->tcache == s) && chunk_bytes - s->chunk_bytes <= CHUNK_ALIGN)
			return s;
	}
	return NULL;
}

/* One that is empty cannot be told from zeros, but for the one that counts its room. */
static bool is_empty(const char *bytes, const struct tcache_shape *s)
{
	unsigned int room = count_of(bytes, s, 0);

	for (unsigned int i = 0; i < s->n_bins; i++)
		if (head_of(bytes, s, i) || (i < SMALL_BINS && count_of(bytes, s, i) != room))
			return false;
	return s->counts_room && room;
}

bool tcache__may_be(const char *bytes, const struct tcache_shape *s)
{
	bool any = false;

	for (unsigned int i = 0; i < s->n_bins; i++) {
		uint64_t head = head_of(bytes, s, i);

		if (head && (head % CHUNK_ALIGN || head < CHUNK_HEADER || head >> 56))
			return false;
		any |= head;
	}
	return any || is_empty(bytes, s);
}

/* Could a block be here? */
static bool is_ours(const struct taking *k, uint64_t addr)
{
	return taking__segment_of(k, addr) || taking__is_mapped(k, addr);
}

struct fit {
	unsigned int n_good, n_bad;
	uint64_t key;		/* that most of them have */
	bool empty;
};

static bool bin_takes(unsigned int bin, uint64_t chunk_bytes)
{
	return bin < SMALL_BINS ? chunk_bytes == CHUNK_MIN + bin * CHUNK_ALIGN : chunk_bytes >= LARGE_MIN && chunk_bytes < LARGE_MAX;
}

/*
 * By the walk, without a look at the process: most heads are blocks of their bin's size there. Nodes of trees have as many pointers
 * at the same places, and there may be millions of them.
 */
static bool heads_may_fit(const struct taking *k, const char *bytes, const struct tcache_shape *s)
{
	unsigned int n_good = 0, n_bad = 0;

	for (unsigned int i = 0; i < s->n_bins && n_bad <= HEADS_WRONG + 4 * n_good; i++) {
		uint64_t head = head_of(bytes, s, i);
		const struct heap_block *b = head ? census__find(k->c, head) : NULL;

		if (!head)
			continue;
		if (b && b->addr == head && bin_takes(i, b->usable + 8))
			n_good++;
		else
			n_bad++;
	}
	return n_bad <= HEADS_WRONG + 4 * n_good;
}

/* Of a running process some heads may have moved on between two reads. */
static struct fit fit_of(struct taking *k, uint64_t addr, const struct tcache_shape *s)
{
	char bytes[TCACHE_BYTES_MAX];
	uint64_t keys[128];
	struct fit f = {};
	unsigned int n = 0;

	if (target__read_present(k->t, addr, bytes, shape_bytes(s)) != shape_bytes(s) || !tcache__may_be(bytes, s))
		return f;
	/* a tcache that changes fast may fail here: only where there are more than there could be */
	if (k->maybe_tcaches.n > TRIED_AGAIN_MAX && !has(&k->l->known_tcaches, addr) && !heads_may_fit(k, bytes, s))
		return f;
	f.empty = is_empty(bytes, s);
	for (unsigned int i = 0; i < s->n_bins; i++) {
		uint64_t head = head_of(bytes, s, i), size, key;
		bool counted = s->counts_room || count_of(bytes, s, i);

		if (!head)
			f.n_bad += !s->counts_room && counted;
		else if (!is_ours(k, head))
			return (struct fit){};
		else if (counted && lines__word(k->lines, head - 8, &size) && bin_takes(i, size & ~CHUNK_FLAGS) &&
			 lines__word(k->lines, head + 8, &key))
			keys[n++] = key;
		else
			f.n_bad++;
	}
	for (unsigned int i = 0; i < n; i++) {
		unsigned int same = 0;

		for (unsigned int j = 0; j < n; j++)
			same += keys[j] == keys[i];
		if (same > f.n_good) {
			f.n_good = same;
			f.key = keys[i];
		}
	}
	f.n_bad += n - f.n_good;
	return f;
}

static bool has_key(const struct taking *k, uint64_t tcache, uint64_t word)
{
	return k->l->key_kind == KEY_UNKNOWN || word == (k->l->key_kind == KEY_RANDOM ? k->g->tcache_key : tcache);
}

static bool fits(const struct fit *f)
{
	return f->empty || (f->n_good && f->n_bad * 4 <= f->n_good);
}

/* With the key known, two heads that have it are no accident; and one that was a tcache before still is. */
static bool is_tcache(const struct taking *k, uint64_t addr, const struct fit *f)
{
	bool has_it = f->n_good && has_key(k, addr, f->key);

	if (k->l->key_kind == KEY_UNKNOWN)
		return fits(f);
	return f->empty || has(&k->l->known_tcaches, addr) || (has_it && (f->n_good > 1 || !f->n_bad));
}

/* The key that all have, or each its own address: never a number that a program would write. */
static void learn_from(struct taking *k, uint64_t addr, const struct tcache_shape *s, const struct fit *f)
{
	if (!f->n_good)
		return;
	if (f->key == addr) {
		k->l->key_kind = KEY_OWN_ADDRESS;
		k->g->tcache_key = 0;
	} else if (k->l->key_kind != KEY_OWN_ADDRESS && f->key >> 32) {
		k->l->key_kind = KEY_RANDOM;
		k->g->tcache_key = f->key;
	} else {
		return;
	}
	k->l->tcache = s;
}

bool taking__is_key(const struct taking *k, uint64_t word)
{
	if (k->l->key_kind == KEY_RANDOM)
		return word == k->g->tcache_key;
	return k->l->key_kind == KEY_OWN_ADDRESS && has(&k->l->known_tcaches, word);
}

void taking__learn_key(struct taking *k)
{
	for (size_t i = 0; i < k->segments.n && k->l->key_kind == KEY_UNKNOWN; i++) {
		const struct segment *s = &k->segments.v[i];
		uint64_t at = s->first, size;

		/* who calls asks again, and ends it */
		if (target__go_on(k->t, "reading the caches of the heap", 0))
			return;

		for (unsigned int n = 0; n < LEARN_CHUNKS && k->l->key_kind == KEY_UNKNOWN; n++, at += size & ~CHUNK_FLAGS) {
			const struct tcache_shape *shape;
			struct fit f;

			if (at + CHUNK_MIN > s->end || at == s->top || !lines__word(k->lines, at + 8, &size) ||
			    (size & ~CHUNK_FLAGS) < CHUNK_MIN || (size & ~CHUNK_FLAGS) > s->end - at)
				break;
			shape = tcache__shape_of(k->l, size & ~CHUNK_FLAGS);
			f = shape ? fit_of(k, at + CHUNK_HEADER, shape) : (struct fit){};
			/* several heads are no accident */
			if (f.n_good > 1 && !f.n_bad)
				learn_from(k, at + CHUNK_HEADER, shape, &f);
		}
	}
}

/* ---- which blocks are tcaches */

static const struct tcache_shape *shape_at(struct taking *k, uint64_t addr)
{
	uint64_t size;

	return lines__word(k->lines, addr - 8, &size) ? tcache__shape_of(k->l, size & ~CHUNK_FLAGS) : NULL;
}

/* Asked in turn, of things that take some microseconds each. */
static bool is_over(struct taking *k, size_t i)
{
	return !(i % 256) && target__go_on(k->t, "reading the caches of the heap", 1);
}

/* The kind that most list heads speak for. */
static int choose_shape(struct taking *k, struct err *e)
{
	uint64_t n_good[ARRAY_SIZE(tcache_shapes)] = {}, most = 0;

	for (size_t i = 0; i < k->maybe_tcaches.n; i++) {
		const struct tcache_shape *s = shape_at(k, k->maybe_tcaches.v[i]);
		struct fit f = s ? fit_of(k, k->maybe_tcaches.v[i], s) : (struct fit){};

		if (is_over(k, i))
			return err_set(e, -EINTR, "stopped");
		if (fits(&f))
			n_good[s - tcache_shapes] += f.n_good;
	}
	for (size_t i = 0; i < ARRAY_SIZE(n_good); i++)
		if (n_good[i] > most) {
			most = n_good[i];
			k->l->tcache = &tcache_shapes[i];
		}
	return 0;
}

/* An empty one is all zeros. The first block of an arena, of that size, is one: a thread begins with it. */
static int push_empty(struct taking *k, struct err *e)
{
	char bytes[TCACHE_BYTES_MAX], zeros[TCACHE_BYTES_MAX] = {};

	for (size_t i = 0; i < k->segments.n; i++) {
		uint64_t addr = k->segments.v[i].first + CHUNK_HEADER;
		const struct tcache_shape *s = shape_at(k, addr);

		if (s && !s->counts_room && target__read_present(k->t, addr, bytes, shape_bytes(s)) == shape_bytes(s) &&
		    !memcmp(bytes, zeros, shape_bytes(s)) && !push_address(&k->tcaches, addr))
			return NO_MEMORY(e);
	}
	sort(&k->tcaches);
	return 0;
}

static int find_tcaches(struct taking *k, struct err *e)
{
	int r = 0;

	k->tcaches.n = 0;
	if (!k->l->tcache)
		r = choose_shape(k, e);
	if (r || !k->l->tcache)
		return r ? r : push_empty(k, e);
	for (size_t i = 0; i < k->maybe_tcaches.n; i++) {
		uint64_t addr = k->maybe_tcaches.v[i];
		const struct tcache_shape *s = shape_at(k, addr);
		struct fit f = s ? fit_of(k, addr, s) : (struct fit){};

		if (is_over(k, i))
			return err_set(e, -EINTR, "stopped");
		if (!s || !is_tcache(k, addr, &f))
			continue;
		if (k->l->key_kind == KEY_UNKNOWN)
			learn_from(k, addr, s, &f);
		if (!push_address(&k->tcaches, addr))
			return NO_MEMORY(e);
	}
	return push_empty(k, e);
}

/* For the next census, and for keys that are a tcache's address. */
static int remember_tcaches(struct taking *k, struct err *e)
{
	k->l->known_tcaches.n = 0;
	for (size_t i = 0; i < k->tcaches.n; i++)
		if (!push_address(&k->l->known_tcaches, k->tcaches.v[i]))
			return NO_MEMORY(e);
	return 0;
}

/* ---- lists */

struct list {
	uint64_t head_at;	/* where its head stands */
	uint64_t head;		/* a block */
	unsigned int bin;
	uint64_t tcache;	/* 0: a fast bin */
	uint64_t n_max;
};

/* Bins of which a list did not hold. */
struct torn {
	uint64_t n;
	bool bins[128];		/* of tcaches and fast ones */
	bool fast[FAST_BINS_MAX];
};

#define FROM_FAST 1ull		/* addresses of blocks are aligned */

static bool could_be_next(struct taking *k, uint64_t addr)
{
	return !addr || (!(addr % CHUNK_ALIGN) && is_ours(k, addr));
}

/* Links are xored with where they stand from 2.32 on: whichever way leads to chunks. */
static void vote_on_links(struct taking *k, const struct list *l, int64_t *votes)
{
	uint64_t word;

	if (lines__word(k->lines, l->head, &word))
		*votes += could_be_next(k, word ^ l->head >> 12) - could_be_next(k, word);
}

static uint64_t next_of(const struct taking *k, uint64_t block, uint64_t word, bool fast)
{
	uint64_t next = k->l->links_mangled ? word ^ block >> 12 : word;

	/* those of fast bins lead to chunks */
	return fast && next ? next + CHUNK_HEADER : next;
}

/* All of a list, or -1: it does not hold. Brent: a list read while it changes can turn into a ring. */
static int64_t read_list(struct taking *k, const struct list *l, struct err *e)
{
	uint64_t at = l->head, kept = 0, size, word, key;
	size_t before = k->freed.n;
	uint64_t n = 0, power = 1;

	while (at) {
		bool fits;

		/* of lists that share blocks, or of which each was read many times */
		if (!k->list_steps_left--)
			return err_set(e, -EPROTO, "heap layout not recognised: the lists of its caches have more blocks than it has");
		fits = at != kept && !(at % CHUNK_ALIGN) && n < l->n_max && is_ours(k, at) &&
		       lines__word(k->lines, at - 8, &size) && lines__word(k->lines, at, &word) &&
		       bin_takes(l->bin, size & ~CHUNK_FLAGS) &&
		       (!l->tcache || (lines__word(k->lines, at + 8, &key) && has_key(k, l->tcache, key)));

		if (!fits) {
			k->freed.n = before;
			return -1;
		}
		if (!push_address(&k->freed, at | (l->tcache ? 0 : FROM_FAST)))
			return NO_MEMORY(e);
		if (!(n % 65536) && n && target__go_on(k->t, "reading the caches of the heap", 1))
			return err_set(e, -EINTR, "stopped");
		if (++n == power) {
			kept = at;
			power *= 2;
		}
		at = next_of(k, at, word, !l->tcache);
	}
	return n;
}

struct lists vec(struct list);

static int push_list(struct lists *to, struct list l, struct err *e)
{
	struct list *slot = vec_push(to);

	if (!slot)
		return NO_MEMORY(e);
	*slot = l;
	return 0;
}

/* Which lists there are now. */
static int gather_lists(struct taking *k, struct lists *to, struct err *e)
{
	const struct tcache_shape *s = k->l->tcache;
	char bytes[TCACHE_BYTES_MAX];
	int r = 0;

	to->n = 0;
	for (size_t i = 0; s && i < k->tcaches.n && !r; i++) {
		uint64_t addr = k->tcaches.v[i];

		if (target__read_present(k->t, addr, bytes, shape_bytes(s)) != shape_bytes(s))
			continue;
		for (unsigned int bin = 0; bin < s->n_bins && !r; bin++)
			if (head_of(bytes, s, bin))
				r = push_list(to, (struct list){ addr + heads_off(s) + bin * 8ul, head_of(bytes, s, bin), bin, addr, LIST_MAX }, e);
	}
	for (size_t i = 0; i < k->arenas.n && !r; i++) {
		struct glibc_arena *a = &k->arenas.v[i], now = *a;

		if (!taking__reread_arena(k, &now))
			continue;
		for (unsigned int bin = 0; bin < k->l->n_fast && !r; bin++)
			if (now.fast[bin])
				r = push_list(to, (struct list){ a->addr + k->l->fast_off + bin * 8ul, now.fast[bin] + CHUNK_HEADER, bin, 0, k->heap_bytes / CHUNK_MIN }, e);
	}
	return r;
}

static void learn_links(struct taking *k, const struct lists *all)
{
	int64_t votes = 0;

	for (size_t i = 0; i < all->n && !k->l->links_known; i++)
		vote_on_links(k, &all->v[i], &votes);
	if (!votes)
		return;
	k->l->links_mangled = votes > 0;
	k->l->links_known = true;
}

/* A list that changes faster than its lines are remembered: anew from its head, some times. */
static int64_t reread_list(struct taking *k, struct list l, struct err *e)
{
	int64_t n = -1;

	for (int i = 0; i < LIST_TRIES && n == -1; i++) {
		lines__forget(k->lines);
		if (!lines__word(k->lines, l.head_at, &l.head))
			return -1;
		l.head += l.head && !l.tcache ? CHUNK_HEADER : 0;
		n = read_list(k, &l, e);
	}
	return n;
}

/* Into k->freed. */
static int read_lists(struct taking *k, struct torn *ret, struct err *e)
{
	struct lists all = { 0 };
	int r;

	lines__forget(k->lines);
	unite(&k->freed);
	/* each list is read some times at most, if it changes */
	k->list_steps_left = STEPS_MIN + LIST_TRIES * (k->heap_bytes / CHUNK_MIN / 4 + k->c->blocks.n);
	r = gather_lists(k, &all, e);
	if (!r && !k->l->links_known)
		learn_links(k, &all);
	*ret = (struct torn){};
	for (size_t i = 0; i < all.n && !r; i++) {
		int64_t n = read_list(k, &all.v[i], e);

		if (n == -1 && !k->t->stopped)
			n = reread_list(k, all.v[i], e);
		if (n == -1) {
			ret->n++;
			ret->bins[all.v[i].bin] = true;
			if (!all.v[i].tcache)
				ret->fast[all.v[i].bin] = true;
		}
		r = n < -1 ? (int)n : 0;
		if (!(i % 64) && !r)
			r = target__go_on(k->t, "reading the caches of the heap", 1) ? err_set(e, -EINTR, "stopped") : 0;
	}
	vec_done(&all);
	return r;
}

/* ---- both together */

/* Blocks that have the key and were in no list: they moved meanwhile, or the key is one that was left behind. */
static int gather_unlisted(struct taking *k, struct addresses *to, struct err *e)
{
	size_t j = 0;

	to->n = 0;
	for (size_t i = 0; i < k->c->blocks.n; i++) {
		const struct heap_block *b = &k->c->blocks.v[i];

		if (!(b->flags & BLOCK_KEYED))
			continue;
		while (j < k->freed.n && (k->freed.v[j] & ~FROM_FAST) < b->addr)
			j++;
		if ((j == k->freed.n || (k->freed.v[j] & ~FROM_FAST) != b->addr) && !push_address(to, b->addr))
			return NO_MEMORY(e);
	}
	return 0;
}

static bool may_be_torn(struct taking *k, uint64_t addr, const struct torn *torn)
{
	uint64_t size, bin;

	if (!lines__word(k->lines, addr - 8, &size))
		return false;
	bin = ((size & ~CHUNK_FLAGS) - CHUNK_MIN) / CHUNK_ALIGN;
	if (bin < SMALL_BINS)
		return torn->bins[bin];
	for (bin = SMALL_BINS; bin < ARRAY_SIZE(torn->bins); bin++)
		if (torn->bins[bin])
			return true;
	return false;
}

/* Those stay that still have the key, and may be in a list that could not be read. */
static void drop_settled(struct taking *k, struct addresses *a, const struct torn *torn)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		uint64_t word;

		if (lines__word(k->lines, a->v[i] + 8, &word) && taking__is_key(k, word) && may_be_torn(k, a->v[i], torn))
			a->v[n++] = a->v[i];
	}
	a->n = n;
}

/*
 * A thread that ends leaves keys behind in blocks that are given again: the lists say what is free. Where these change
 * faster than they are read, the key does.
 */
static int settle(struct taking *k, struct torn *torn, struct err *e)
{
	struct addresses left = { 0 };
	int r = gather_unlisted(k, &left, e);

	drop_settled(k, &left, torn);
	for (int i = 0; i < ROUNDS && left.n && !r; i++) {
		r = read_lists(k, torn, e);
		sort(&k->freed);
		if (!r)
			r = gather_unlisted(k, &left, e);
		drop_settled(k, &left, torn);
	}
	for (size_t i = 0; i < left.n && !r; i++)
		if (!push_address(&k->freed, left.v[i]))
			r = NO_MEMORY(e);
	k->n_unsettled += left.n;
	sort(&k->freed);
	vec_done(&left);
	return r;
}

/*
 * Blocks go from fast bins to bins or tcaches while nobody allocates or frees them. What was in a list before the walk or is in one after
 * it was free all the time, or has changed meanwhile.
 */
int taking__read_lists_before(struct taking *k, struct err *e)
{
	struct torn torn;

	k->freed.n = k->tcaches.n = 0;
	for (size_t i = 0; i < k->l->known_tcaches.n; i++)
		if (!push_address(&k->tcaches, k->l->known_tcaches.v[i]))
			return NO_MEMORY(e);
	return k->t->stopped ? 0 : read_lists(k, &torn, e);
}

/* Blocks that may be in a fast bin of which no look could be had: nothing else tells these from blocks in use. */
static uint64_t n_maybe_fast(const struct taking *k, const bool *torn)
{
	uint64_t n = 0;
	size_t j = 0;

	for (size_t i = 0; i < k->c->blocks.n; i++) {
		const struct heap_block *b = &k->c->blocks.v[i];
		uint64_t bin = (b->usable + 8 - CHUNK_MIN) / CHUNK_ALIGN;

		while (j < k->freed.n && (k->freed.v[j] & ~FROM_FAST) < b->addr)
			j++;
		n += bin < FAST_BINS_MAX && torn[bin] && !(b->flags & BLOCK_MAPPED) &&
		     (j == k->freed.n || (k->freed.v[j] & ~FROM_FAST) != b->addr);
	}
	return n;
}

/* The main thread's is the first block behind the break, and stays: if it is there, but is none, what it had is not known. */
static uint64_t n_in_lost_tcache(struct taking *k)
{
	for (size_t i = 0; i < k->segments.n; i++) {
		const struct segment *s = &k->segments.v[i];
		const struct tcache_shape *shape = s->kind == SEGMENT_BRK ? shape_at(k, s->first + CHUNK_HEADER) : NULL;

		if (shape && !shape->counts_room && !has(&k->tcaches, s->first + CHUNK_HEADER))
			return shape->n_bins * TCACHE_COUNT;
	}
	return 0;
}

int taking__read_caches(struct taking *k, struct err *e)
{
	struct torn torn = {};
	bool fast[FAST_BINS_MAX];
	int r = find_tcaches(k, e);

	/* none of them may be whole at the first look */
	for (int i = 0; i < LEARN_TRIES && !r && k->maybe_tcaches.n && k->maybe_tcaches.n < TRIED_AGAIN_MAX && !k->tcaches.n; i++) {
		lines__forget(k->lines);
		r = find_tcaches(k, e);
	}
	k->n_unsettled = 0;
	if (!r)
		r = remember_tcaches(k, e);
	if (!r)
		r = read_lists(k, &torn, e);
	k->n_torn = torn.n;
	memcpy(fast, torn.fast, sizeof(fast));
	/* what was torn in one look is whole in the next one, mostly: each finds some of them */
	for (int i = 0; i < ROUNDS && !r && torn.n; i++) {
		r = read_lists(k, &torn, e);
		for (size_t j = 0; j < ARRAY_SIZE(fast); j++)
			fast[j] &= torn.fast[j];
	}
	sort(&k->freed);
	if (!r)
		r = settle(k, &torn, e);
	if (!r)
		k->n_unsettled += n_maybe_fast(k, fast) + n_in_lost_tcache(k);
	return r;
}
