// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which blocks are the caches of threads (tcaches). A tcache is a block itself, found by what it must be: each of its list heads
 * is a chunk of its bin's size, and the second word of all these is the same key (from 2.29 on; a random number from 2.34
 * on, before that the tcache's own address).
 */
#include <errno.h>
#include <string.h>

#include "heap/glibc_parts.h"

#define LARGE_MIN 0x400
#define FIT_TRIES 4
#define LEARN_CHUNKS 4096	/* of a segment: where tcaches usually are */
#define KEY_WINDOW 65536ul
#define LIBC_DATA_MAX (64ul << 20)	/* in which its variables are searched for */
#define HEADS_WRONG 16		/* of a tcache that changed since the walk */
#define MAPPED_AT_ONCE 16

const struct tcache_shape tcache_shapes[] = {
	{ 0x290, 64, 2, false, false },	/* 2.30 to 2.41 */
	{ 0x300, 76, 2, true, false },	/* 2.42 on */
	{ 0x250, 64, 1, false, true },	/* 2.26 to 2.29 */
};
const size_t n_tcache_shapes = ARRAY_SIZE(tcache_shapes);

COMPARATOR(by_address, uint64_t, ORDER(*a, *b))

void addresses__sort(struct addresses *a)
{
	vec_sort(a, by_address);
}

/* Each once. */
void addresses__unite(struct addresses *a)
{
	size_t n = 0;

	addresses__sort(a);
	for (size_t i = 0; i < a->n; i++)
		if (!n || a->v[i] != a->v[n - 1])
			a->v[n++] = a->v[i];
	a->n = n;
}

bool addresses__has(const struct addresses *a, uint64_t addr)
{
	return a->n && bsearch(&addr, a->v, a->n, sizeof(*a->v), by_address);
}

/* ---- what a tcache looks like */

size_t tcache__heads_off(const struct tcache_shape *s)
{
	return s->n_bins * s->count_bytes;
}

size_t tcache__bytes(const struct tcache_shape *s)
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

uint64_t tcache__head(const char *bytes, const struct tcache_shape *s, unsigned int bin)
{
	return word_at(bytes, tcache__heads_off(s) + bin * 8ul);
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
		if (tcache__head(bytes, s, i) || (i < SMALL_BINS && count_of(bytes, s, i) != room))
			return false;
	return s->counts_room && room;
}

bool tcache__may_be(const char *bytes, const struct tcache_shape *s)
{
	bool any = false;

	for (unsigned int i = 0; i < s->n_bins; i++) {
		uint64_t head = tcache__head(bytes, s, i);

		if (head && (head % CHUNK_ALIGN || head < CHUNK_HEADER || head >> 56))
			return false;
		any |= head;
	}
	return any || is_empty(bytes, s);
}

/* Could a block be here? */
bool taking__has_block(const struct taking *k, uint64_t addr)
{
	return taking__segment_of(k, addr) || taking__is_mapped(k, addr);
}

struct fit {
	unsigned int n_good, n_bad;
	uint64_t key;		/* that most of them have */
	bool empty;
};

bool bin__takes(unsigned int bin, uint64_t chunk_bytes)
{
	return bin < SMALL_BINS ? chunk_bytes == CHUNK_MIN + bin * CHUNK_ALIGN : chunk_bytes >= LARGE_MIN && chunk_bytes < CHUNK_LIMIT;
}

/*
 * By the walk, without a look at the process: most heads are blocks of their bin's size there. Nodes of trees have as many pointers
 * at the same places, and there may be millions of them.
 */
static bool heads_may_fit(const struct taking *k, const char *bytes, const struct tcache_shape *s)
{
	unsigned int n_good = 0, n_bad = 0;

	for (unsigned int i = 0; i < s->n_bins && n_bad <= HEADS_WRONG + 4 * n_good; i++) {
		uint64_t head = tcache__head(bytes, s, i);
		const struct heap_block *b = head ? census__find(k->c, head) : NULL;

		if (!head)
			continue;
		if (b && b->addr == head && bin__takes(i, b->usable + 8))
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

	if (memory__read_present(&k->t->memory, addr, bytes, tcache__bytes(s)) != tcache__bytes(s) || !tcache__may_be(bytes, s))
		return f;
	/* a tcache that changes fast may fail here: only where there are more than there could be */
	if (k->maybe_tcaches.n > TRIED_AGAIN_MAX && !addresses__has(&k->l->known_tcaches, addr) && !heads_may_fit(k, bytes, s))
		return f;
	f.empty = is_empty(bytes, s);
	for (unsigned int i = 0; i < s->n_bins; i++) {
		uint64_t head = tcache__head(bytes, s, i), size, key;
		bool counted = s->counts_room || count_of(bytes, s, i);

		if (!head)
			f.n_bad += !s->counts_room && counted;
		else if (!taking__has_block(k, head) && k->l->key_kind == KEY_UNKNOWN)
			return (struct fit){};
		else if (counted && lines__word(k->lines, head - 8, &size) && bin__takes(i, size & ~CHUNK_FLAGS) &&
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

bool taking__has_key(const struct taking *k, uint64_t tcache, uint64_t word)
{
	return k->l->key_kind == KEY_UNKNOWN || word == (k->l->key_kind == KEY_RANDOM ? k->g->tcache_key : tcache);
}

static bool fits(const struct fit *f)
{
	return f->empty || (f->n_good && f->n_bad * 4 <= f->n_good);
}

/* Where libc's variables end: what is initialised lies in main_arena's mapping, the rest in an anonymous one that follows. */
static uint64_t end_of_data(const struct taking *k)
{
	const struct mapping *m = maps__find(&k->t->maps, k->l->module_end);

	return m && m->start == k->l->module_end && is_anon(m) ? m->end : k->l->module_end;
}

static bool has_word(struct taking *k, uint64_t start, uint64_t end, uint64_t word)
{
	_cleanup_free_ char *bytes = xmalloc(KEY_WINDOW);
	uint64_t n = 0;

	/* in a static program libc's are the last ones */
	for (uint64_t at = end; at > start; at -= n) {
		n = MIN(KEY_WINDOW, at - start);
		if (!memory__read_present(&k->t->memory, at - n, bytes, n))
			continue;
		for (size_t off = 0; off + sizeof(word) <= n; off += sizeof(word))
			if (word_at(bytes, off) == word)
				return true;
	}
	return false;
}

/*
 * A random key is a variable of libc's. Blocks of a program may look like a tcache otherwise: counts, and pointers to blocks whose
 * sizes go up as those of bins do. What is no key is remembered, and so many are looked for and no more.
 */
static bool is_libcs_word(struct taking *k, uint64_t key)
{
	uint64_t end = end_of_data(k);

	for (size_t i = 0; i < k->n_not_libcs; i++)
		if (k->not_libcs[i] == key)
			return false;
	if (k->n_not_libcs == ARRAY_SIZE(k->not_libcs))
		return false;
	if (has_word(k, MAX(k->l->module_start, end - MIN(end, LIBC_DATA_MAX)), end, key))
		return true;
	k->not_libcs[k->n_not_libcs++] = key;
	return false;
}

/* Before 2.29 there were none; then a tcache's own address, and from 2.34 on a random number. */
static bool may_be_key(struct taking *k, uint64_t addr, const struct tcache_shape *s, uint64_t key)
{
	return key == addr || s->may_lack_keys || (key >> 32 && is_libcs_word(k, key));
}

/* With the key known, two heads that have it are no accident; and one that was a tcache before still is. */
static bool is_tcache(struct taking *k, uint64_t addr, const struct tcache_shape *s, const struct fit *f)
{
	bool has_it = f->n_good && taking__has_key(k, addr, f->key);

	if (k->l->key_kind == KEY_UNKNOWN)
		return f->empty || (fits(f) && may_be_key(k, addr, s, f->key));
	return f->empty || addresses__has(&k->l->known_tcaches, addr) || (has_it && (f->n_good > 1 || !f->n_bad));
}

/* The key that all have, or each its own address. */
static void learn_from(struct taking *k, uint64_t addr, const struct tcache_shape *s, const struct fit *f)
{
	if (!f->n_good)
		return;
	if (f->key == addr) {
		k->l->key_kind = KEY_OWN_ADDRESS;
		k->g->tcache_key = 0;
	} else if (k->l->key_kind != KEY_OWN_ADDRESS && f->key >> 32 && is_libcs_word(k, f->key)) {
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
	return k->l->key_kind == KEY_OWN_ADDRESS && addresses__has(&k->l->known_tcaches, word);
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

static uint64_t in_pages(const struct taking *k, uint64_t bytes)
{
	return (bytes + k->t->page_bytes - 1) & ~(k->t->page_bytes - 1);
}

/* One with a mapping of its own (glibc.malloc.mmap_threshold) is as long as that, whatever its kind: the first that it may be, from `from` on. */
static const struct tcache_shape *shape_of_mapped(const struct taking *k, uint64_t addr, uint64_t size, size_t from)
{
	for (size_t i = from; i < n_tcache_shapes; i++) {
		const struct tcache_shape *s = &tcache_shapes[i];

		if ((!k->l->tcache || k->l->tcache == s) && !((addr - CHUNK_HEADER) % k->t->page_bytes) &&
		    in_pages(k, size & ~CHUNK_FLAGS) == in_pages(k, s->chunk_bytes + CHUNK_HEADER))
			return s;
	}
	return NULL;
}

static const struct tcache_shape *next_shape_at(struct taking *k, uint64_t addr, const struct tcache_shape *last)
{
	size_t from = last ? last - tcache_shapes + 1 : 0;
	uint64_t size;

	if (!lines__word(k->lines, addr - 8, &size))
		return NULL;
	if (size & CHUNK_IS_MAPPED)
		return shape_of_mapped(k, addr, size, from);
	return last ? NULL : tcache__shape_of(k->l, size & ~CHUNK_FLAGS);
}

const struct tcache_shape *taking__shape_at(struct taking *k, uint64_t addr)
{
	return next_shape_at(k, addr, NULL);
}

/* Asked in turn, of things that take some microseconds each. */
static bool is_over(struct taking *k, size_t i)
{
	return !(i % 256) && target__go_on(k->t, "reading the caches of the heap", 1);
}

/* Of n mapped blocks, those that may be one, by what they have in them. */
static void note_maybe_mapped(struct taking *k, const uint64_t *addrs, size_t n)
{
	static const char zeros[TCACHE_BYTES_MAX];
	char bytes[MAPPED_AT_ONCE][TCACHE_BYTES_MAX];

	memory__read_each(&k->t->memory, addrs, n, bytes, sizeof(*bytes));
	for (size_t i = 0; i < n; i++) {
		const struct tcache_shape *first = taking__shape_at(k, addrs[i]), *s = first;

		while (s && !tcache__may_be(bytes[i], s))
			s = next_shape_at(k, addrs[i], s);
		if (s)
			*vec_push(&k->maybe_tcaches) = addrs[i];
		else if (first && !memcmp(bytes[i], zeros, tcache__bytes(first)))
			*vec_push(&k->maybe_empty) = addrs[i];
	}
}

int taking__note_mapped_tcaches(struct taking *k, struct err *e)
{
	uint64_t addrs[MAPPED_AT_ONCE];
	size_t n = 0;

	k->maybe_empty.n = 0;
	for (size_t i = 0; i < k->mapped.n; i++) {
		const struct heap_block *b = &k->mapped.v[i];

		if (is_over(k, i))
			return err_set(e, -EINTR, "stopped");
		/* nearly all are longer: of these nothing is read */
		if (b->usable + CHUNK_HEADER <= in_pages(k, TCACHE_BYTES_MAX + CHUNK_HEADER) && taking__shape_at(k, b->addr))
			addrs[n++] = b->addr;
		if (n < MAPPED_AT_ONCE && i + 1 < k->mapped.n)
			continue;
		note_maybe_mapped(k, addrs, n);
		n = 0;
	}
	return 0;
}

/* The kind that most list heads speak for. */
static int choose_shape(struct taking *k)
{
	uint64_t n_good[ARRAY_SIZE(tcache_shapes)] = {}, most = 0;

	for (size_t i = 0; i < k->maybe_tcaches.n; i++) {
		uint64_t addr = k->maybe_tcaches.v[i];

		if (is_over(k, i))
			return -EINTR;
		for (const struct tcache_shape *s = NULL; (s = next_shape_at(k, addr, s));) {
			struct fit f = fit_of(k, addr, s);

			if (fits(&f) && may_be_key(k, addr, s, f.key))
				n_good[s - tcache_shapes] += f.n_good;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(n_good); i++)
		if (n_good[i] > most) {
			most = n_good[i];
			k->l->tcache = &tcache_shapes[i];
		}
	return 0;
}

/* An empty one is all zeros. The first block of an arena, of that size, is one: a thread begins with it. */
static void push_empty(struct taking *k)
{
	char bytes[TCACHE_BYTES_MAX], zeros[TCACHE_BYTES_MAX] = {};

	for (size_t i = 0; i < k->segments.n; i++) {
		uint64_t addr = k->segments.v[i].first + CHUNK_HEADER;
		const struct tcache_shape *s = taking__shape_at(k, addr);

		if (s && !s->counts_room && memory__read_present(&k->t->memory, addr, bytes, tcache__bytes(s)) == tcache__bytes(s) &&
		    !memcmp(bytes, zeros, tcache__bytes(s)))
			*vec_push(&k->tcaches) = addr;
	}
	addresses__sort(&k->tcaches);
}

/*
 * Of a running process, what its heads lead to may be older than they are, or newer: then all of it is read anew. With the
 * key known, heads in memory that came after the segments were read are no reason against it.
 */
static struct fit find_fit(struct taking *k, uint64_t addr, const struct tcache_shape *s)
{
	struct fit f = fit_of(k, addr, s);

	for (int i = 0; i < FIT_TRIES && !k->t->stopped && k->l->key_kind != KEY_UNKNOWN && k->maybe_tcaches.n < TRIED_AGAIN_MAX && f.n_bad && !is_tcache(k, addr, s, &f); i++) {
		lines__forget(k->lines);
		f = fit_of(k, addr, s);
	}
	return f;
}

int taking__find_tcaches(struct taking *k, struct err *e)
{
	k->tcaches.n = k->n_lost_mapped = 0;
	if (!k->l->tcache && choose_shape(k))
		return err_set(e, -EINTR, "stopped");
	if (!k->l->tcache) {
		for (size_t i = 0; i < k->maybe_tcaches.n; i++)
			k->n_lost_mapped += taking__is_mapped(k, k->maybe_tcaches.v[i]);
		push_empty(k);
		return 0;
	}
	for (size_t i = 0; i < k->maybe_tcaches.n; i++) {
		uint64_t addr = k->maybe_tcaches.v[i];
		const struct tcache_shape *s = taking__shape_at(k, addr);
		struct fit f = s ? find_fit(k, addr, s) : (struct fit){};

		if (is_over(k, i))
			return err_set(e, -EINTR, "stopped");
		if (!s || !is_tcache(k, addr, s, &f)) {
			k->n_lost_mapped += f.n_good && taking__has_key(k, addr, f.key) && taking__is_mapped(k, addr);
			continue;
		}
		if (k->l->key_kind == KEY_UNKNOWN)
			learn_from(k, addr, s, &f);
		*vec_push(&k->tcaches) = addr;
	}
	push_empty(k);
	return 0;
}

/* For the next census, and for keys that are a tcache's address. */
void taking__remember_tcaches(struct taking *k)
{
	k->l->known_tcaches.n = 0;
	for (size_t i = 0; i < k->tcaches.n; i++)
		*vec_push(&k->l->known_tcaches) = k->tcaches.v[i];
}
