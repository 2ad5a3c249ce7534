// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how glibc's arenas are recognised, without symbols and versions. main_arena is what has 127 pairs of links,
 * each to itself or to a chunk that points back, and behind them a link that leads through all other arenas back to where the
 * struct begins. That also gives the offset of the links in the struct, which changed as members came and went.
 *
 * What always holds: nothing is believed that one look alone shows; every ring has an end.
 */
#include <errno.h>
#include <string.h>

#include "heap/glibc_parts.h"
#include "util/hash.h"

#define BINS_OFF_MIN 16
#define BINS_OFF_MAX 160
#define PIECE_BYTES (1ull << 20)
#define MODULE_BYTES_MAX (256ull << 20)	/* of writable data that is searched */
/* a running process may move some on between two reads */
#define WRONG_BINS_MAX 12
#define BIN_TRIES 4
#define LOWEST 4096			/* no address is below */
#define READS_MAX 20			/* of what changes while it is read */
#define WRONG_AT_ONCE_MAX 40		/* bins that moved since their page was read, at most */
#define PLACES_AT_ONCE 512		/* until it is asked whether to go on */
#define SEARCHES_MAX 8			/* of a mapping of one piece, in a process that runs */
#define THREADS_MAX (1ull << 22)	/* of any kernel */

static uint64_t word_of(struct target *t, uint64_t addr)
{
	uint64_t w = 0;

	return addr % sizeof(w) || memory__read_present(&t->memory, addr, &w, sizeof(w)) != sizeof(w) ? 0 : w;
}

/* ---- the main one */

/* Could these be the links of all bins? bytes are those at addr. Behind them is how many threads use the arena. */
static bool links_fit(const char *bytes, uint64_t addr)
{
	if (word_at(bytes, ARENA_THREADS) > THREADS_MAX)
		return false;
	for (unsigned int i = 0; i < N_BINS; i++) {
		uint64_t forth = word_at(bytes, 16 * i), back = word_at(bytes, 16 * i + 8), self = addr + 16 * i - 16;

		if (forth == self && back == self)
			continue;
		if (forth < LOWEST || back < LOWEST || forth % CHUNK_ALIGN || back % CHUNK_ALIGN)
			return false;
	}
	return true;
}

/* The first and the last chunk of a bin point back to it; the links are read anew, as they may move at any time. */
static bool bin_holds(struct target *t, uint64_t bin)
{
	uint64_t links[2], self = bin - 16;

	for (int i = 0; i < BIN_TRIES; i++) {
		if (!target__read(t, bin, links, sizeof(links)))
			return false;
		if ((links[0] == self && links[1] == self) || word_of(t, links[0] + 24) == self || word_of(t, links[1] + 16) == self)
			return true;
	}
	return false;
}

/* By what was read lately: tables of pointers look like bins in each of their words, and most are none by one look at a page. */
static bool links_may_hold(struct lines *l, const char *bytes, uint64_t addr)
{
	unsigned int n_wrong = 0;

	for (unsigned int i = 0; i < N_BINS && n_wrong <= WRONG_AT_ONCE_MAX; i++) {
		uint64_t forth = word_at(bytes, 16 * i), back = word_at(bytes, 16 * i + 8), self = addr + 16 * i - 16, w;

		if (forth == self && back == self)
			continue;
		n_wrong += !((lines__word(l, forth + 24, &w) && w == self) || (lines__word(l, back + 16, &w) && w == self));
	}
	return n_wrong <= WRONG_AT_ONCE_MAX;
}

static bool links_hold(struct target *t, const char *bytes, uint64_t addr)
{
	unsigned int n_wrong = 0;

	for (unsigned int i = 0; i < N_BINS && n_wrong <= WRONG_BINS_MAX; i++) {
		uint64_t self = addr + 16 * i - 16;

		if (word_at(bytes, 16 * i) != self || word_at(bytes, 16 * i + 8) != self)
			n_wrong += !bin_holds(t, addr + 16 * i);
	}
	return n_wrong <= WRONG_BINS_MAX;
}

/* Does the ring of arenas come back to one whose bins are at off? Brent: it may be a ring without it. */
static bool ring_closes(struct target *t, uint64_t bins, uint64_t off)
{
	uint64_t main = bins - off, at = word_of(t, bins + ARENA_NEXT), kept = at;

	for (uint32_t n = 1, power = 1; n <= ARENAS_MAX; n++) {
		if (at == main)
			return true;
		if (at < LOWEST || at % 8)
			return false;
		at = word_of(t, at + off + ARENA_NEXT);
		if (at == kept)
			return false;
		if (n == power) {
			kept = at;
			power *= 2;
		}
	}
	return false;
}

/* Bins that lead nowhere are no bins, but for those that lead to themselves: nothing else has many of these. */
#define EMPTY_BINS_MIN 8

static unsigned int n_empty_bins(const char *bytes, uint64_t addr)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < N_BINS; i++)
		n += word_at(bytes, 16 * i) == addr + 16 * i - 16 && word_at(bytes, 16 * i + 8) == addr + 16 * i - 16;
	return n;
}

/* A place to look at: of what was read at addr. */
struct place {
	struct target *t;
	struct lines *lines;
	const char *bytes;
	uint64_t addr;
};

/*
 * -ENOENT: it is not. -EAGAIN: what its links lead to does not lead back, but may have moved on.
 * -EPROTO: it looks so, but its links, or the ring of arenas, do not lead back to it.
 */
static int is_main_arena(const struct place *p, uint64_t *ret_off)
{
	struct target *t = p->t;
	const char *bytes = p->bytes;
	uint64_t addr = p->addr;

	if (!links_fit(bytes, addr))
		return -ENOENT;
	if (!links_may_hold(p->lines, bytes, addr) || !links_hold(t, bytes, addr))
		return n_empty_bins(bytes, addr) >= EMPTY_BINS_MIN ? -EPROTO : -EAGAIN;
	for (uint64_t off = BINS_OFF_MIN; off <= BINS_OFF_MAX; off += 8)
		if (ring_closes(t, addr, off)) {
			*ret_off = off;
			return 0;
		}
	return -EPROTO;
}

/* The one that says more. */
static int worse(int a, int b)
{
	return a == -EPROTO || b == -ENOENT ? a : b;
}

/* -ENOENT: it is not in this mapping; -EAGAIN, -EPROTO: as of a place in it */
static int search_mapping(struct target *t, struct lines *lines, const struct mapping *m, char *buf, struct glibc *g)
{
	uint64_t end = MIN(m->end, m->start + MODULE_BYTES_MAX);
	int found = -ENOENT;

	for (uint64_t at = m->start; at + ARENA_TAIL <= end; at += PIECE_BYTES) {
		size_t n = MIN(PIECE_BYTES + ARENA_TAIL, end - at);

		lines__forget(lines);
		if (!memory__read_present(&t->memory, at, buf, n) && !target__go_on(t, "looking for the heap", 0))
			continue;
		for (size_t off = 0; off + ARENA_TAIL <= n && off < PIECE_BYTES; off += 8) {
			struct place p = { t, lines, buf + off, at + off };
			int r;

			if (!(off % (PLACES_AT_ONCE * 8)) && target__go_on(t, "looking for the heap", 0))
				return -EINTR;
			r = is_main_arena(&p, &g->bins_off);
			if (!r) {
				g->main_arena = at + off - g->bins_off;
				return 0;
			}
			found = worse(found, r);
		}
	}
	return found;
}

/*
 * Whoever searches may lose the CPU between the read of the bins and the look at what they lead to: then all have moved on, and
 * they look like no bins. The next search is as likely as the first to be left in peace.
 * What still looks like no bins then is none: -ENOENT.
 */
static int search_again(struct target *t, struct lines *lines, const struct mapping *m, char *buf, struct glibc *g)
{
	int n = !t->stopped && m->end - m->start <= PIECE_BYTES ? SEARCHES_MAX : 1, r;

	do {
		r = search_mapping(t, lines, m, buf, g);
	} while ((r == -EAGAIN || r == -EPROTO) && --n);
	return r == -EAGAIN ? -ENOENT : r;
}

static bool is_libc(const struct mapping *m)
{
	const char *name = path_basename(m->path);

	return !strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7);
}

static bool may_have_arena(const struct mapping *m)
{
	return m->read && m->write && !m->shared && m->ino;
}

/* Of what is searched of it. */
static uint64_t swapped_bytes(struct target *t, const struct mapping *m)
{
	uint64_t end = MIN(m->end, m->start + MODULE_BYTES_MAX), sum = 0;
	struct page_runs runs = { .t = t, .at = m->start, .end = end };

	for (struct page_run run; page_runs__next(&runs, &run) > 0;)
		sum += run.is == RUN_SWAPPED ? run.end - run.start : 0;
	return sum;
}

/* Where there is a libc, it is in it; in programs that were linked with it, in the program itself. */
static int search_all(struct target *t, struct lines *lines, char *buf, struct glibc *g)
{
	struct glibc_layout *l = g->layout;
	uint64_t swapped = 0;
	int found = -ENOENT;

	for (int others = 0; others < 2; others++) {
		for (size_t i = 0; i < t->maps.n; i++) {
			const struct mapping *m = &t->maps.v[i];
			int r;

			if (!may_have_arena(m) || is_libc(m) != !others)
				continue;
			r = search_again(t, lines, m, buf, g);
			l->module_start = m->start;
			l->module_end = m->end;
			if (!r || r == -EINTR)
				return r;
			swapped += r == -ENOENT ? swapped_bytes(t, m) : 0;
			found = worse(found, r);
		}
		/* one that is found elsewhere would be another libc's */
		if (!others && swapped)
			return -ENODATA;
	}
	return found;
}

static int search(struct target *t, struct glibc *g, struct err *e)
{
	_cleanup_free_ char *buf = xmalloc(PIECE_BYTES + ARENA_TAIL);
	struct lines *lines = lines__new(t);
	int r = search_all(t, lines, buf, g);

	lines__free(lines);
	if (r == -ENODATA)
		return err_set(e, -EPROTO,
			       "heap layout not recognised: data of libc is swapped out, and with it perhaps what it keeps of its arenas");
	if (r == -EPROTO)
		return err_set(e, r, "heap layout not recognised: the lists of its free blocks, or that of its arenas, lead nowhere");
	return r == -EINTR ? err_set(e, r, "stopped") : r;
}

int glibc__has_another(struct target *t, const struct glibc *g, uint64_t *ret_swapped)
{
	_cleanup_free_ char *buf = xmalloc(PIECE_BYTES + ARENA_TAIL);
	struct lines *lines = lines__new(t);
	struct glibc other = {};
	int found = -ENOENT;

	for (size_t i = 0; i < t->maps.n && found && found != -EINTR; i++) {
		const struct mapping *m = &t->maps.v[i];
		int r;

		if (!may_have_arena(m) || (m->start <= g->main_arena && g->main_arena < m->end))
			continue;
		r = search_again(t, lines, m, buf, &other);
		*ret_swapped += r == -ENOENT ? swapped_bytes(t, m) : 0;
		found = !r || r == -EINTR ? r : worse(found, r);
	}
	lines__free(lines);
	return !found ? 1 : found == -ENOENT ? 0 : found;
}

/* A tool that reads libc's symbols maps the file without code: that is no second libc. */
size_t glibc__count(const struct target *t)
{
	bool begun = false;
	size_t n = 0;

	for (size_t i = 0; i < t->maps.n; i++) {
		const struct mapping *m = &t->maps.v[i];

		if (!is_libc(m))
			continue;
		begun |= !m->file_off;
		n += begun && m->exec;
		begun &= !m->exec;
	}
	return n;
}

/* Has it memory that libc's allocator alone takes? */
bool glibc__has_traces(const struct target *t)
{
	bool libc = false, brk = false;

	for (size_t i = 0; i < t->maps.n; i++) {
		libc |= is_libc(&t->maps.v[i]);
		brk |= is_brk(&t->maps.v[i]);
	}
	return libc && brk;
}

/* ---- mp_: counters of mapped blocks, and where the main arena began */

/*
 *	int hp_flags;		from 2.35 on
 *	int n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
 *	size_t mmapped_mem, max_mmapped_mem;
 *	char *sbrk_base;
 */
static const unsigned int n_mmaps_offs[] = { 36, 32 };
#define SUMS_BYTES 40
#define N_MMAPS_MAX_DEFAULT 65536

static bool counters_fit(const char *at, unsigned int off, uint64_t page_bytes, bool strict)
{
	uint64_t bytes = word_at(at, -16), most = word_at(at, -8);
	int32_t n[4];

	memcpy(n, at - off, sizeof(n));
	/* in 2.43, each time that such a block is moved adds 16 bytes too many */
	if (bytes > most || bytes % CHUNK_ALIGN || most % CHUNK_ALIGN || n[0] < 0 || n[0] > n[2] || n[3] < 0 || n[3] > 1)
		return false;
	if (!n[0] != !bytes || !n[2] != !most || bytes / page_bytes < (uint64_t)n[0])
		return false;
	return n[1] >= N_MMAPS_MAX_DEFAULT || (!strict && n[1] >= 0);
}

/* Where the break could never grow, it is a mapping's start, or NULL: then only usual counters will do. */
static bool base_fits(struct target *t, uint64_t base, bool is_break)
{
	const struct mapping *m = base ? maps__find(&t->maps, base) : NULL;

	if (is_break)
		return m && is_brk(m);
	return m ? is_anon(m) && !(base % t->page_bytes) : !base;
}

static void find_sums(struct target *t, struct glibc_layout *l, const char *bytes, size_t n)
{
	/* the surest sign first: a break, and counters that nobody has set */
	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < ARRAY_SIZE(n_mmaps_offs); i++)
			for (size_t off = SUMS_BYTES; off + 8 <= n; off += 8) {
				if (!base_fits(t, word_at(bytes, off), pass < 2) ||
				    !counters_fit(bytes + off, n_mmaps_offs[i], t->page_bytes, pass != 1))
					continue;
				l->sbrk_base_at = l->module_start + off;
				l->n_mmaps_off = n_mmaps_offs[i];
				return;
			}
}

bool taking__read_sums(struct taking *k, struct glibc_sums *ret)
{
	const struct glibc_layout *l = k->l;
	char bytes[SUMS_BYTES + 8];

	*ret = (struct glibc_sums){};
	if (!l->sbrk_base_at || !target__read(k->t, l->sbrk_base_at - SUMS_BYTES, bytes, sizeof(bytes)))
		return false;
	memcpy(&ret->n_mmaps, bytes + SUMS_BYTES - l->n_mmaps_off, sizeof(ret->n_mmaps));
	ret->mmapped_mem = word_at(bytes, SUMS_BYTES - 16);
	ret->sbrk_base = word_at(bytes, SUMS_BYTES);
	ret->known = true;
	return true;
}

int glibc__find(struct target *t, struct glibc *g, struct err *e)
{
	struct glibc_layout *l = g->layout;
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	int r;

	if (g->main_arena && ring_closes(t, g->main_arena + g->bins_off, g->bins_off))
		return 0;
	g->main_arena = 0;
	vec_done(&l->known_tcaches);
	*l = (struct glibc_layout){};
	r = search(t, g, e);
	if (r)
		return r;
	l->arena_bytes = g->bins_off + ARENA_TAIL;
	/* they end where top begins; a libc without room for them has none */
	if (g->bins_off >= 16 + FAST_BINS_MAX * 8) {
		l->n_fast = FAST_BINS_MAX;
		l->fast_off = g->bins_off - 16 - FAST_BINS_MAX * 8;
	}
	n = MIN(l->module_end - l->module_start, MODULE_BYTES_MAX);
	bytes = xmalloc(n);
	memory__read_present(&t->memory, l->module_start, bytes, n);
	find_sums(t, l, bytes, n);
	return 0;
}

/* ---- all of them */

static bool read_arena(struct taking *k, uint64_t addr, struct glibc_arena *ret, uint64_t *ret_next)
{
	uint64_t bins = k->g->bins_off, top_size = 0;
	char bytes[ARENA_BYTES_MAX];

	if (addr % 8 || memory__read_present(&k->t->memory, addr, bytes, k->l->arena_bytes) != k->l->arena_bytes)
		return false;
	*ret = (struct glibc_arena){
		.addr = addr,
		.top = word_at(bytes, bins - 16),
		.system_mem = word_at(bytes, bins + ARENA_SYSTEM_MEM),
	};
	memcpy(&ret->flags, bytes + 4, sizeof(ret->flags));
	memcpy(ret->fast, bytes + k->l->fast_off, k->l->n_fast * sizeof(*ret->fast));
	top_size = word_of(k->t, ret->top + 8);
	ret->top_bytes = top_size & ~CHUNK_FLAGS;
	ret->hash = hash__bytes(bytes, k->l->arena_bytes);
	*ret_next = word_at(bytes, bins + ARENA_NEXT);
	return true;
}

bool taking__reread_arena(struct taking *k, struct glibc_arena *a)
{
	uint64_t next;

	return read_arena(k, a->addr, a, &next);
}

static int read_ring(struct taking *k, struct err *e)
{
	uint64_t at = k->g->main_arena, kept = 0;

	k->arenas.n = 0;
	for (uint32_t n = 0, power = 1; n < ARENAS_MAX; n++) {
		struct glibc_arena *a = vec_push(&k->arenas);

		if (!read_arena(k, at, a, &at))
			return err_set(e, -EPROTO, "heap layout not recognised: one of its arenas cannot be read");
		if (at == k->g->main_arena)
			return 0;
		if (at == kept)
			break;
		if (n == power) {
			kept = at;
			power *= 2;
		}
	}
	return err_set(e, -EPROTO, "heap layout not recognised: the list of its arenas has no end");
}

int taking__read_arenas(struct taking *k, struct err *e)
{
	_cleanup_err_ struct err first = {};
	int r = 0;

	/* a thread that has its first arena just now */
	for (int i = 0; i < READS_MAX; i++) {
		err_done(&first);
		r = read_ring(k, &first);
		if (r != -EPROTO)
			break;
	}
	return r ? err_set(e, r, "%s", err_msg(&first)) : 0;
}
