// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the kinds that were met in a process: one for each class, by its name, and one for each look of bytes. Blocks are
 * read in windows, the first CONTENT_HEAD_BYTES of each, and only pages that are there.
 *
 * What always holds: a word is looked up as a vtable once, as long as the process's modules stay where they are; there is
 * a bound on how many are.
 */
#include "heap/look.h"

#include <errno.h>
#include <string.h>

#include "elf/symtab.h"
#include "util/hash.h"
#include "util/text.h"

/* ---- by their vtables */

/*
 * Owns nothing beyond a call. The Itanium C++ ABI, which gcc and clang have in common:
 *
 *	object:   [0] → vtable
 *	vtable:   [-2] how far the object begins before this part of it   [-1] → typeinfo   [0...] functions
 *	typeinfo: [0] → vtable of the class of the typeinfo   [1] → name, mangled
 *
 * A typeinfo is an object too: its own class is one of three of the runtime's, whose names begin alike. So the way leads
 * through two vtables and ends in a text that nothing else has there, and a word that happens to look like a pointer is
 * not taken for an object. No symbols are needed. Without typeinfo (-fno-rtti) the symbol of the vtable has the name.
 */

#define WORD sizeof(uint64_t)
#define TYPEINFO_OF_TYPEINFO "N10__cxxabiv1"
#define VTABLE_SYMBOL "_ZTV"

/* The part of a module's memory that a pointer leads to. */
static bool read_words(struct modules *m, uint64_t addr, uint64_t words[2])
{
	return addr % WORD == 0 && modules__find(m, addr) && modules__read(m, addr, words, 2 * WORD);
}

/* Up to n - 1 bytes and a NUL; false: it is longer, or holds what no mangled name does. */
static bool read_name(struct modules *m, uint64_t addr, char *to, size_t n)
{
	uint64_t page_bytes = m->t->page_bytes;

	if (!modules__find(m, addr))
		return false;
	for (size_t at = 0, len; at < n; at += len) {
		len = MIN(n - at, page_bytes - (addr + at) % page_bytes);
		if (!modules__read(m, addr + at, to + at, len))
			return false;
		for (size_t i = at; i < at + len; i++) {
			if (!to[i])
				return i > 0;
			if (to[i] <= ' ' || to[i] > '~')
				return false;
		}
	}
	return false;
}

/* Is it a vtable of the runtime's own classes of typeinfo? */
static bool is_of_typeinfo(struct modules *m, uint64_t vp)
{
	char name[sizeof(TYPEINFO_OF_TYPEINFO) + 64];
	uint64_t head[2], info[2];

	return read_words(m, vp - 2 * WORD, head) && !head[0] && read_words(m, head[1], info) &&
	       read_name(m, info[1], name, sizeof(name)) &&
	       !strncmp(name, TYPEINFO_OF_TYPEINFO, strlen(TYPEINFO_OF_TYPEINFO));
}

/* What stands after a "... for " that the demangler puts in front. */
static bool demangled(const char *mangled, char buf[static DEMANGLE_OUT_MAX + 1])
{
	static const char *const fronts[] = { "typeinfo for ", "vtable for " };

	demangle(mangled, buf);
	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++)
		if (!strncmp(buf, fronts[i], strlen(fronts[i]))) {
			memmove(buf, buf + strlen(fronts[i]), strlen(buf) - strlen(fronts[i]) + 1);
			return buf[0];
		}
	return false;
}

static bool by_typeinfo(struct modules *m, uint64_t info_addr, char buf[static DEMANGLE_OUT_MAX + 1])
{
	static const char front[] = "_ZTI";
	char name[sizeof(front) + DEMANGLE_IN_MAX];
	uint64_t info[2];
	char *at = name + strlen(front);

	if (!read_words(m, info_addr, info) || !is_of_typeinfo(m, info[0]) ||
	    !read_name(m, info[1], at, sizeof(name) - strlen(front)))
		return false;
	/* a '*': classes of that name in other files are others; or the name of the runtime's own classes in libc++ */
	if (*at == '*')
		at++;
	at -= strlen(front);
	memcpy(at, front, strlen(front));
	return demangled(at, buf);
}

static bool by_symbol(struct modules *m, uint64_t vp, char buf[static DEMANGLE_OUT_MAX + 1])
{
	struct module *in = modules__find(m, vp);
	const struct variables *all = module__variables(m, in);
	const struct variable *v = variables__find(all, vp - 2 * WORD - in->bias);

	return v && !strncmp(variable__name(all, v), VTABLE_SYMBOL, strlen(VTABLE_SYMBOL)) &&
	       demangled(variable__name(all, v), buf);
}

/*
 * The name of the class whose objects begin with the word vp, into buf; false: that is no vtable, or nothing names it.
 * Bounded, whatever the process has there.
 */
static bool vtable__class(struct modules *m, uint64_t vp, char buf[static DEMANGLE_OUT_MAX + 1])
{
	uint64_t head[2];

	/* a block begins where its object does: any other part of it is further in */
	if (vp % WORD || !modules__find(m, vp) || !read_words(m, vp - 2 * WORD, head) || head[0])
		return false;
	return head[1] ? by_typeinfo(m, head[1], buf) : by_symbol(m, vp, buf);
}

/* ---- those of a process */

#define WINDOW_BYTES (256u << 10)
#define GAP_BYTES (16u << 10)	/* between two blocks: to read it is cheaper than another call */
#define WORDS_MAX (1u << 16)	/* that are looked up as vtables; 20 us each */

struct kinds {
	struct target *t;
	struct modules modules;
	struct objects *objects;
	uint64_t modules_sum;	/* of the mappings that modules and vtables are of */
	struct hash vtables;	/* word → struct kind, or &refused */
	struct hash classes;	/* by the name, which the pool has once */
	struct pool pool;	/* kinds and their names */
	const struct mapping *near;	/* that the last pointer led to */
	unsigned char *window;	/* owned */
	uint8_t *pages;		/* owned; enum target_page, of the window */
};

static const struct kind refused;
static const struct kind contents[N_CONTENTS] = {
	[CONTENT_ZEROS] = { "zeros", false },
	[CONTENT_TEXT] = { "text", false },
	[CONTENT_POINTERS] = { "pointers", false },
	[CONTENT_OTHER] = { "other", false },
};

struct kinds *kinds__new(struct target *t, struct objects *objects)
{
	struct kinds *k = xcalloc(1, sizeof(*k));

	k->t = t;
	k->objects = objects;
	pool__init(&k->pool);
	k->window = xmalloc(WINDOW_BYTES);
	k->pages = xmalloc(WINDOW_BYTES / t->page_bytes + 2);
	return k;
}

void kinds__free(struct kinds *k)
{
	if (!k)
		return;
	modules__done(&k->modules);
	hash__done(&k->vtables);
	hash__done(&k->classes);
	pool__done(&k->pool);
	free(k->window);
	free(k->pages);
	free(k);
}

/* ---- classes */

static const struct kind *class_named(struct kinds *k, const char *text)
{
	const char *name = pool__string(&k->pool, text);
	struct kind *kind = hash__get(&k->classes, (uintptr_t)name);

	if (kind)
		return kind;
	kind = pool__alloc(&k->pool, sizeof(*kind));
	*kind = (struct kind){ name, true };
	hash__put(&k->classes, (uintptr_t)name, kind);
	return kind;
}

/* The class of an object that begins with this word; NULL: it is none. */
static const struct kind *class_of(struct kinds *k, uint64_t word)
{
	char name[DEMANGLE_OUT_MAX + 1];
	const struct kind *kind;

	if (word % sizeof(word) || !modules__find(&k->modules, word))
		return NULL;
	kind = hash__get(&k->vtables, word);
	if (!kind) {
		/* of more than that, blocks go by their bytes */
		if (k->vtables.n >= WORDS_MAX)
			return NULL;
		kind = vtable__class(&k->modules, word, name) ? class_named(k, name) : &refused;
		hash__put(&k->vtables, word, (void *)kind);
	}
	return kind == &refused ? NULL : kind;
}

/* Libraries may have come or gone since the last look. */
static void renew(struct kinds *k)
{
	const struct maps *maps = &k->t->maps;
	uint64_t sum = 0;

	k->near = NULL;
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].ino)
			sum = hash__mix(hash__mix(sum, maps->v[i].start), hash__mix(maps->v[i].end, maps->v[i].ino));
	if (sum == k->modules_sum && k->modules.all.n)
		return;
	hash__done(&k->vtables);
	modules__done(&k->modules);
	k->modules_sum = sum;
	modules__init(&k->modules, k->t, k->objects);
}

/* ---- blocks */

static bool is_pointer(uint64_t word, void *arg)
{
	struct kinds *k = arg;

	if (k->near && word >= k->near->start && word < k->near->end)
		return true;
	if (word < k->t->page_bytes)
		return false;
	k->near = maps__find(&k->t->maps, word);
	return k->near;
}

static size_t head_of(const struct heap_block *b)
{
	return MIN((uint64_t)b->usable, (uint64_t)CONTENT_HEAD_BYTES);
}

struct window {
	uint64_t start, end;
	uint64_t first_page;	/* its address, of k->pages */
	bool whole;		/* all pages are there */
};

/* From the i-th block on. Returns how many blocks have their heads in it: at least one. */
static size_t read_window(struct kinds *k, const struct heap_block *const *blocks, size_t n, struct window *w)
{
	size_t taken = 1;

	*w = (struct window){ .start = blocks[0]->addr, .end = blocks[0]->addr + head_of(blocks[0]) };
	for (; taken < n; taken++) {
		const struct heap_block *b = blocks[taken];

		if (b->addr < w->end || b->addr - w->end > GAP_BYTES || b->addr + CONTENT_HEAD_BYTES - w->start > WINDOW_BYTES)
			break;
		w->end = b->addr + head_of(b);
	}
	w->first_page = w->start / k->t->page_bytes * k->t->page_bytes;
	w->whole = memory__read_present(&k->t->memory, w->start, k->window, w->end - w->start) == w->end - w->start;
	if (!w->whole)
		target__pages(k->t, w->first_page, (w->end - 1 - w->first_page) / k->t->page_bytes + 1, k->pages);
	return taken;
}

/* Pages that were never touched are zeros; those on the disk are not known. */
static bool is_known(const struct kinds *k, const struct window *w, const struct heap_block *b)
{
	uint64_t page_bytes = k->t->page_bytes;

	if (w->whole)
		return true;
	if (!maps__find(&k->t->maps, b->addr))
		return false;
	for (uint64_t at = b->addr / page_bytes; at <= (b->addr + head_of(b) - 1) / page_bytes; at++)
		if (k->pages[at - w->first_page / page_bytes] == PAGE_SWAPPED)
			return false;
	return true;
}

static const struct kind *kind_of(struct kinds *k, const void *bytes, size_t n)
{
	const struct kind *class = NULL;
	uint64_t word;

	if (n >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		class = class_of(k, word);
	}
	return class ? class : &contents[content__of(bytes, n, is_pointer, k)];
}

int kinds__look(struct kinds *k, const struct heap_block *const *blocks, size_t n, const struct kind **to, struct err *e)
{
	int r = 0;

	renew(k);
	for (size_t i = 0, taken; i < n && !r; i += taken) {
		struct window w;

		taken = read_window(k, blocks + i, n - i, &w);
		for (size_t j = i; j < i + taken; j++)
			to[j] = is_known(k, &w, blocks[j]) ?
					kind_of(k, k->window + (blocks[j]->addr - w.start), head_of(blocks[j])) : NULL;
		r = target__go_on(k->t, "types", (double)(i + taken) / (double)n);
		if (r)
			err_set(e, r, "the search for types was ended");
	}
	/* what is not there any more would be zeros */
	if (!r && memory__is_gone(&k->t->memory))
		r = err_set(e, -ESRCH, "process %d has ended, or become another program", (int)k->t->pid);
	return r;
}

/* ---- by their bytes */

/*
 * Owns what bytes look like. A guess, and a coarse one on purpose: blocks are recycled, so that behind what a program
 * wrote there may be what it wrote before.
 */

#define TEXT_MIN 4		/* characters; less may be a number */

static bool is_zero(const unsigned char *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* How many bytes from the start are text: ASCII, or more of UTF-8. The end may cut a character. */
static size_t text_run(const unsigned char *p, size_t n, size_t *ret_chars)
{
	size_t at = 0, len;

	for (*ret_chars = 0; at < n; at += len, (*ret_chars)++) {
		unsigned int cols;
		uint32_t c;

		len = 1;
		if (p[at] < 0x80) {
			if ((p[at] < ' ' || p[at] == 0x7f) && p[at] != '\n' && p[at] != '\r' && p[at] != '\t')
				break;
			continue;
		}
		len = text_next((const char *)p + at, n - at, &c, &cols);
		if (len < 2)
			break;
	}
	return at;
}

static size_t count_set(const unsigned char *p, size_t n)
{
	size_t n_set = 0;

	for (size_t i = 0; i < n; i++)
		n_set += p[i] != 0;
	return n_set;
}

/*
 * Are n_wanted bytes of it text, in pieces that are long enough each? Strings one after the other, and those behind the
 * header of a string, as redis and many others have them.
 */
static bool has_text(const unsigned char *p, size_t n, size_t n_wanted)
{
	size_t in_text = 0, run, chars;

	for (size_t at = 0; at < n; at += run + 1) {
		run = text_run(p + at, n - at, &chars);
		if (chars >= TEXT_MIN)
			in_text += run;
	}
	return in_text && in_text >= n_wanted;
}

enum content content__of(const void *bytes, size_t n, bool (*is_pointer)(uint64_t word, void *arg), void *arg)
{
	unsigned char rest[CONTENT_HEAD_BYTES];	/* without pointers: their bytes may be letters, too */
	size_t n_words = 0, n_pointers = 0;
	uint64_t word;

	n = MIN(n, sizeof(rest));
	if (is_zero(bytes, n))
		return CONTENT_ZEROS;
	memcpy(rest, bytes, n);
	for (size_t at = 0; at + sizeof(word) <= n; at += sizeof(word)) {
		memcpy(&word, rest + at, sizeof(word));
		n_words += word != 0;
		if (!word || !is_pointer(word, arg))
			continue;
		n_pointers++;
		memset(rest + at, 0, sizeof(word));
	}
	if (has_text(rest, n, (count_set(bytes, n) + 1) / 2))
		return CONTENT_TEXT;
	/* with lengths, flags and counts beside them */
	return n_pointers && 4 * n_pointers >= n_words ? CONTENT_POINTERS : CONTENT_OTHER;
}
