// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the kinds that were met in a process: one for each class, by its name, and one for each look of bytes. Blocks are
 * read in windows, the first CONTENT_HEAD_BYTES of each, and only pages that are there.
 *
 * What always holds: a word is looked up as a vtable once, as long as the process's modules stay where they are; there is
 * a bound on how many are.
 */
#include "heap/kinds.h"

#include <errno.h>
#include <string.h>

#include "elf/pool.h"
#include "heap/target_parts.h"
#include "heap/vtable.h"
#include "util/hash.h"

#define WINDOW_BYTES (256u << 10)
#define GAP_BYTES (16u << 10)	/* between two blocks: to read it is cheaper than another call */
#define WORDS_MAX (1u << 16)	/* that are looked up as vtables; 20 us each */

struct kinds {
	struct target *t;
	struct modules modules;
	struct objects *objects;
	uint64_t modules_sum;	/* of the mappings that modules and vtables are of */
	struct hash vtables;	/* word → struct kind, or &refused */
	struct hash classes;	/* by the hash of the name */
	struct pool pool;	/* kinds and their names */
	const struct mapping *near;	/* that the last pointer led to */
	unsigned char *window;	/* owned */
	uint8_t *pages;		/* owned; enum target_page, of the window */
	uint64_t n_unresolved;
};

static const struct kind refused;
static const struct kind contents[N_CONTENTS] = {
	[CONTENT_ZEROS] = { "zeros", false },
	[CONTENT_TEXT] = { "text", false },
	[CONTENT_POINTERS] = { "pointers", false },
	[CONTENT_OTHER] = { "other", false },
};

int kinds__new(struct target *t, struct objects *objects, struct kinds **ret, struct err *e)
{
	struct kinds *k = calloc(1, sizeof(*k));

	if (!k)
		return err_set(e, -ENOMEM, "no memory for the types of blocks");
	k->t = t;
	k->objects = objects;
	pool__init(&k->pool);
	k->window = malloc(WINDOW_BYTES);
	k->pages = malloc(WINDOW_BYTES / t->page_bytes + 2);
	if (!k->window || !k->pages) {
		kinds__free(k);
		return err_set(e, -ENOMEM, "no memory for the types of blocks");
	}
	*ret = k;
	return 0;
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

uint64_t kinds__n_unresolved(const struct kinds *k)
{
	return k->n_unresolved;
}

/* ---- classes */

static bool is_named(const void *value, const void *want)
{
	return !strcmp(((const struct kind *)value)->name, want);
}

/* NULL: no memory. */
static const struct kind *class_named(struct kinds *k, const char *name)
{
	uint64_t hash = hash__string(name);
	struct kind *kind = hash__find(&k->classes, hash, is_named, name);

	if (kind)
		return kind;
	kind = pool__alloc(&k->pool, sizeof(*kind));
	*kind = (struct kind){ pool__string(&k->pool, name), true };
	return hash__add(&k->classes, hash, kind) ? NULL : kind;
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
		if (k->vtables.n >= WORDS_MAX) {
			k->n_unresolved++;
			return NULL;
		}
		kind = vtable__class(&k->modules, word, name) ? class_named(k, name) : &refused;
		if (!kind || hash__put(&k->vtables, word, (void *)kind))
			return NULL;
	}
	return kind == &refused ? NULL : kind;
}

/* Libraries may have come or gone since the last look. */
static int renew(struct kinds *k, struct err *e)
{
	const struct maps *maps = &k->t->maps;
	uint64_t sum = 0;

	k->near = NULL;
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].ino)
			sum = hash__mix(hash__mix(sum, maps->v[i].start), hash__mix(maps->v[i].end, maps->v[i].ino));
	if (sum == k->modules_sum && k->modules.all.n)
		return 0;
	hash__done(&k->vtables);
	modules__done(&k->modules);
	k->modules_sum = sum;
	return modules__init(&k->modules, k->t, k->objects) ? err_set(e, -ENOMEM, "no memory for the types of blocks") : 0;
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
	w->whole = target__read_present(k->t, w->start, k->window, w->end - w->start) == w->end - w->start;
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
	int r = renew(k, e);

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
	if (!r && target__is_gone(k->t))
		r = err_set(e, -ESRCH, "process %d has ended, or become another program", (int)k->t->pid);
	return r;
}
