// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the rules by which a frame is passed over. They judge the module, the
 * source file, or the function, by how it begins, ends, or is spelled; whoever
 * misses a wrapper adds a row.
 *
 * What always holds: which frame it is depends on the stack and its names alone, so a
 * row of the live view does not change its mind from one second to the next. What is added to the name where
 * sites would be alike depends on these others, too (alike.c).
 */
#include "present/telling.h"

#include <string.h>

#include "model/runtimes.h"
#include "present/frames.h"
#include "util/own_name.h"
#include "util/hash.h"
#include "util/util.h"

enum rule_of { OF_MODULE, OF_FUNCTION, OF_FILE };
enum rule_how { IS, BEGINS, ENDS, HAS };

static const struct rule {
	enum rule_of of;
	enum rule_how how;
	const char *texts[64];	/* as many as there are */
} rules[] = {
	/* C and C++ libraries, the loader; by the name of the file */
	{ OF_MODULE, BEGINS, { "libc.so", "libc-2.", "libc.musl", "ld-", "ld.so", "libpthread",
	  "libm.so", "libdl.so", "libstdc++", "libc++", "libsupc++", "libgcc_s", "[vdso]" } },
	/* allocators, and libraries whose business is containers */
	{ OF_MODULE, BEGINS, { "libjemalloc", "libtcmalloc", "libmimalloc", "libsnmalloc",
	  "libhoard", "libglib-2", "libapr-1", "libtalloc" } },
	/* headers of the C++ library, compiled into the program; Rust's own library */
	{ OF_FILE, HAS, { "/include/c++/", "/bits/stl_", "/ext/new_allocator",
	  "/library/alloc/src/", "/library/core/src/", "/library/std/src/" } },
	/* functions of the C++ and Rust libraries: own_name.c; a class's own; an assignment is what its caller does */
	{ OF_FUNCTION, BEGINS, { "operator new", "__rust_", "__rdl_", "__rg_", "__cxa_allocate",
	  "operator delete" } },
	{ OF_FUNCTION, ENDS, { "::operator new", "::operator new[]", "::operator=" } },
	/* malloc itself, and whatever people call what they put around it: xmalloc, zmalloc, my_malloc */
	{ OF_FUNCTION, ENDS, { "malloc", "mallocz", "calloc", "realloc", "reallocarray", "zalloc",
	  "malloc0", "memalign", "aligned_alloc", "strdup", "strndup", "memdup", "asprintf" } },
	{ OF_FUNCTION, BEGINS, { "g_malloc", "g_try_malloc", "g_realloc", "g_slice_", "zmalloc_",
	  "ztrymalloc", "ztrycalloc", "ztryrealloc", "zmalloc", "zcalloc", "zrealloc", "ngx_alloc",
	  "ngx_palloc", "ngx_pnalloc", "ngx_pcalloc", "apr_palloc", "apr_allocator",
	  "allocator_alloc", "talloc_", "_talloc", "__talloc", "AllocSet", "MemoryContextAlloc",
	  "palloc", "repalloc", "CRYPTO_", "sqlite3MemMalloc", "sqlite3MemRealloc", "sqlite3Malloc",
	  "sqlite3DbMalloc", "sqlite3DbRealloc", "PyMem_", "_PyMem_", "PyObject_Malloc",
	  "PyObject_Calloc", "PyObject_Realloc", "_PyObject_Malloc", "_PyObject_Calloc",
	  "_PyObject_Realloc", "pymalloc_", "je_", "_mi_", "mi_heap_", "mi_new", "mi_malloc",
	  "mi_free", "tc_new", "tc_malloc", "tc_free" } },
	/* redis's strings */
	{ OF_FUNCTION, BEGINS, { "sdsnew", "_sdsnew", "sdstrynew", "sdscat", "sdsgrowzero",
	  "sdsResize", "sdsMakeRoomFor", "_sdsMakeRoomFor" } },
	{ OF_FUNCTION, IS, { "sdsdup", "mallocWithAlarm", "dbMallocRawFinish" } },
	/* and around free */
	{ OF_FUNCTION, IS, { "free", "cfree", "xfree", "zfree", "g_free", "pfree", "ngx_free",
	  "my_free", "sqlite3_free", "sqlite3MemFree", "sqlite3DbFree" } },
	/* where a program's own code begins: what is left if nothing else was found */
	{ OF_FUNCTION, IS, { "_start", "start_thread" } },
};

static bool fits(enum rule_how how, const char *text, const char *s, size_t len)
{
	size_t n;

	/* most rules end here: this is asked of every frame */
	if (!len || (how != HAS && how != ENDS && *s != *text))
		return false;
	n = strlen(text);
	if (how == HAS)
		return memmem(s, len, text, n);
	return len >= n && (how != IS || len == n) && !memcmp(how == ENDS ? s + len - n : s, text, n);
}

static bool any(enum rule_of of, const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		for (const char *const *text = rules[i].texts; rules[i].of == of && *text; text++)
			if (fits(rules[i].how, *text, s, len))
				return true;
	return false;
}

bool frame__is_telling(const struct frame *f)
{
	const char *base = f->module ? path_basename(f->module) : NULL, *function = frame__function(f);
	struct own_name own;

	if (!base || any(OF_MODULE, base, strlen(base)))
		return false;
	/* a function that has a name is known by it: where what was inlined is not known, its lines are those of a header */
	if (!function)
		return !f->line || !f->line->file || !any(OF_FILE, f->line->file, strlen(f->line->file));
	own = own_name__of(function);
	return !own_name__is_library(&own) && !any(OF_FUNCTION, own.s, own.len);
}

/* Where a frame is: its place in the stack, its number among those that were inlined there, and among all. */
struct telling_at {
	uint32_t place;		/* 1 + index into the stack; 0: not looked for yet */
	uint32_t inlined, number;
	uint64_t key;		/* alike__key(); 0: not looked for yet */
	char *name;		/* owned; NULL: not made yet */
	bool plain;		/* too many are called the same: it is not told apart from them */
};

/* Numbers of sites by process, then by key: those that are alike stand together. Of most processes no key is ever asked for. */
struct telling_order {
	uint32_t *v;		/* owned; NULL: not made yet */
};

/*
 * A named frame says more than "libfoo.so+0x1184" before it. But what main() does is all that a program does; and a
 * program's own code is not what a library does that called it back.
 */
static bool stands_for(const struct frame *named, const struct frame *unnamed)
{
	if (!strcmp(frame__function(named), "main"))
		return false;
	return named->module == unnamed->module || !strcmp(named->module, unnamed->module) || strstr(path_basename(unnamed->module), ".so");
}

/* How much a frame says; the first of the most telling ones is taken. */
enum worth { NOTHING, LIBRARY_NAME, LIBRARY_LAMBDA, TELLING_PLACE, TELLING_NAME, PYTHON_NAME };

/* A line of Python says more to those who wrote it than what it is done by. */
static enum worth most_of(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_modules; i++)
		if (is_python_module(s->modules[i].path))
			return PYTHON_NAME;
	return TELLING_NAME;
}

static enum worth worth_of(const struct frame *f)
{
	const char *function = frame__function(f);
	struct own_name own;

	if (function && is_python_module(f->module))
		return PYTHON_NAME;
	if (frame__is_telling(f))
		return function ? TELLING_NAME : TELLING_PLACE;
	own = own_name__of(function ?: "");
	/* by its name: malloc, operator new, and what is put around them */
	if (!function || any(OF_FUNCTION, own.s, own.len))
		return NOTHING;
	return own_name__lambda(function).s ? LIBRARY_LAMBDA : LIBRARY_NAME;
}

#define SHORT_PREFIX 4		/* "ngx_malloc", "my_realloc" */

/*
 * A wrapper by its ending that says what it is for, too: "session_realloc". Above it there may be nothing but main, which says
 * less.
 */
static bool is_own_wrapper(const struct frame *f)
{
	const char *base = f->module ? path_basename(f->module) : NULL, *function = frame__function(f);
	struct own_name own;

	if (!base || !function || any(OF_MODULE, base, strlen(base)))
		return false;
	own = own_name__of(function);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		for (const char *const *text = rules[i].texts; rules[i].of == OF_FUNCTION && rules[i].how == ENDS && *text; text++)
			if (own.len > strlen(*text) + SHORT_PREFIX && fits(ENDS, *text, own.s, own.len))
				return !own_name__is_library(&own);
	return false;
}

/* Hundreds of thousands of stacks go through the same few places: what a frame says is looked for once. */
struct frame_worth {
	bool known : 1, own_wrapper : 1;
	uint8_t worth : 6;	/* enum worth */
};

static struct frame_worth judge(const struct frame *f)
{
	enum worth worth = worth_of(f);

	return (struct frame_worth){ .known = true, .own_wrapper = worth == NOTHING && is_own_wrapper(f), .worth = worth };
}

static struct frame_worth judge_once(const struct tellings *t, const struct snapshot *s, uint32_t place, uint32_t inlined)
{
	/* what was judged by its name is not judged so in the next snapshot before it has that name */
	bool kept = t && t->s == s && s->places[place].resolved && t->worths && t->first[place] + inlined < t->first[place + 1];
	struct frame_worth *w = kept ? &t->worths[t->first[place] + inlined] : NULL;
	struct frame f;

	if (w && w->known)
		return *w;
	f = place__frame(s, &s->places[place], inlined);
	if (w)
		return *w = judge(&f);
	return judge(&f);
}

bool tellings__settles(const struct tellings *t, const struct snapshot *s, uint32_t place)
{
	enum worth enough = t && t->s == s ? (enum worth)t->enough : most_of(s);

	for (uint32_t k = 0; k < place__n_frames(&s->places[place]); k++)
		if (judge_once(t, s, place, k).worth >= enough)
			return true;
	return false;
}

static struct telling_at find(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	struct telling_at best = { .place = 1 }, wrapper = {};
	enum worth most = NOTHING, enough = t && t->s == s ? (enum worth)t->enough : most_of(s);
	struct frame first = {};	/* without a name, of the program */
	uint32_t number = 0;

	for (uint32_t i = 0; i < site->n_stack && most < enough; i++) {
		const struct place *p = &s->places[site->stack[i]];
		uint32_t n = place__n_frames(p);

		for (uint32_t k = 0; k < n && most < enough; k++, number++) {
			struct frame_worth w = judge_once(t, s, site->stack[i], k);
			struct frame f;

			if (w.own_wrapper)
				wrapper = (struct telling_at){ .place = i + 1, .inlined = k, .number = number };
			if (w.worth <= most)
				continue;
			f = place__frame(s, p, k);
			if (wrapper.place && w.worth == TELLING_NAME && !strcmp(frame__function(&f), "main"))
				return wrapper;
			if (most == TELLING_PLACE && w.worth == TELLING_NAME && !stands_for(&f, &first))
				continue;
			if (w.worth == TELLING_PLACE)
				first = f;
			most = w.worth;
			best = (struct telling_at){ .place = i + 1, .inlined = k, .number = number };
		}
	}
	return best;
}

/* ---- each once */

static void drop_names(struct tellings *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].name);
	t->n = 0;
	if (t->order) {
		free(t->order->v);
		t->order->v = NULL;
	}
}

/* Of all that names depend on, but for the names of places: which stacks there are, and in which order. */
static uint64_t fingerprint(const struct snapshot *s)
{
	uint64_t h = hash__mix(s->n_sites, s->n_places);

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		h = hash__mix(h, (uint64_t)site->process << 32 | (uint32_t)site->tid);
		h = hash__mix(h, site->thread ? hash__string(site->thread) : 0);
		h = hash__mix(h, site->function ? hash__bytes(site->function, strlen(site->function)) : 0);
		h = hash__mix(h, hash__bytes(site->stack, site->n_stack * sizeof(*site->stack)));
	}
	for (size_t i = 0; i < s->n_places; i++)
		h = hash__mix(h, s->places[i].offset + ((uint64_t)(uint32_t)s->places[i].module << 48));
	for (size_t i = 0; i < s->n_modules; i++)
		h = hash__mix(h, hash__bytes(s->modules[i].path, strlen(s->modules[i].path)));
	return h;
}

/*
 * Is a place called otherwise than when names were made? A JIT's list names code later, or anew. One that has not been looked up
 * yet in this snapshot says nothing.
 */
static bool is_renamed(const struct tellings *t, const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_places; i++)
		if (s->places[i].resolved && s->places[i].lines != t->lines[i])
			return true;
	return false;
}

static void remember_lines(struct tellings *t, const struct snapshot *s)
{
	free(t->lines);
	t->lines = xcalloc(s->n_places + 1, sizeof(*t->lines));
	for (size_t i = 0; i < s->n_places; i++)
		t->lines[i] = s->places[i].resolved ? s->places[i].lines : NULL;
}

/* Room for what each frame says. */
static void forget_worths(struct tellings *t, const struct snapshot *s)
{
	size_t n = 0;

	free(t->worths);
	free(t->first);
	t->worths = NULL;
	t->first = xcalloc(s->n_places + 1, sizeof(*t->first));
	for (size_t i = 0; i < s->n_places; i++) {
		t->first[i] = (uint32_t)n;
		n += place__n_frames(&s->places[i]);
	}
	t->first[s->n_places] = (uint32_t)n;
	t->worths = xcalloc(n + 1, sizeof(*t->worths));
}

void tellings__begin(struct tellings *t, const struct snapshot *s)
{
	uint64_t print = fingerprint(s);

	t->enough = most_of(s);
	/* the next snapshot of a program that makes no new stacks */
	if (t->n && t->n == s->n_sites && t->print == print && t->lines && !is_renamed(t, s)) {
		t->s = s;
		return;
	}
	drop_names(t);
	t->print = print;
	remember_lines(t, s);
	forget_worths(t, s);
	if (s->n_sites > t->room) {
		free(t->v);
		t->v = xcalloc(s->n_sites, sizeof(*t->v));
		t->room = s->n_sites;
	} else if (t->v) {
		memset(t->v, 0, s->n_sites * sizeof(*t->v));
	}
	if (!t->order)
		t->order = xcalloc(1, sizeof(*t->order));
	t->n = s->n_sites;
	t->s = s;
}

void tellings__done(struct tellings *t)
{
	drop_names(t);
	free(t->v);
	free(t->order);
	free(t->lines);
	free(t->worths);
	free(t->first);
	*t = (struct tellings){};
}

static struct telling_at *kept(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	bool is = t && t->s == s && site >= s->sites && site < s->sites + t->n;

	return is ? &t->v[site - s->sites] : NULL;
}

static struct telling_at at_of(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	struct telling_at *at = kept(t, s, site);

	if (at && !at->place)
		*at = find(t, s, site);
	return at ? *at : find(t, s, site);
}

struct frame tellings__of(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	struct telling_at at = at_of(t, s, site);

	return site->n_stack ? place__frame(s, &s->places[site->stack[at.place - 1]], at.inlined) : (struct frame){};
}

size_t tellings__number(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	return at_of(t, s, site).number;
}

/* ---- names */

char *telling__name(const struct frame *f)
{
	struct own_name lambda = f->place && frame__function(f) && !frame__is_telling(f) ? own_name__lambda(frame__function(f)) : (struct own_name){};
	_cleanup_free_ char *callable = lambda.s ? xstrndup(lambda.s, lambda.len) : NULL;

	if (callable)
		return own_name__shown(callable);
	return f->place ? frame__own_name(f) : xstrdup(NO_STACK_NAME);
}

static bool is_before(const struct tellings *t, uint32_t i, uint32_t process, uint64_t key)
{
	uint32_t own = t->s->sites[i].process;

	return own != process ? own < process : t->v[i].key < key;
}

static int in_order(const void *pa, const void *pb, void *arg)
{
	const struct tellings *t = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (is_before(t, a, t->s->sites[b].process, t->v[b].key))
		return -1;
	return is_before(t, b, t->s->sites[a].process, t->v[a].key) ? 1 : (a > b) - (a < b);
}

static void sort(const struct tellings *t, size_t from, size_t to)
{
	qsort_r(t->order->v + from, to - from, sizeof(*t->order->v), in_order, (void *)t);
}

/* The first in order that is not before. */
static size_t find_in_order(const struct tellings *t, uint32_t process, uint64_t key)
{
	size_t from = 0, to = t->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (is_before(t, t->order->v[mid], process, key))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static void make_order(const struct tellings *t)
{
	if (t->order->v)
		return;
	t->order->v = xcalloc(t->n + 1, sizeof(*t->order->v));
	for (size_t i = 0; i < t->n; i++)
		t->order->v[i] = (uint32_t)i;
	sort(t, 0, t->n);
}

/* Keys of all sites of a process. */
static void look_for_keys(const struct tellings *t, uint32_t process)
{
	size_t from = find_in_order(t, process, 0), to = find_in_order(t, process + 1, 0);

	for (size_t i = from; i < to; i++) {
		const struct snap_site *site = &t->s->sites[t->order->v[i]];
		struct frame f = tellings__of(t, t->s, site);

		t->v[t->order->v[i]].key = alike__key(site, &f);
	}
	sort(t, from, to);
}

/*
 * A compiler has thousands of sites that are called the same, and to tell them apart takes seconds: that is done for those that
 * hold or allocate the most.
 */
#define MANY_ALIKE 256

static int by_weight_down(const void *pa, const void *pb, void *arg)
{
	const struct tellings *t = arg;
	const struct snap_site *a = &t->s->sites[*(const uint32_t *)pa], *b = &t->s->sites[*(const uint32_t *)pb];

	return ORDER(b->c.live_bytes, a->c.live_bytes) ?: ORDER(b->c.alloc_bytes, a->c.alloc_bytes) ?: ORDER(a, b);
}

/* name is owned, or NULL; so is what comes back. */
static char *with_kind(const struct snap_site *site, char *name)
{
	char *ret;

	if (!name || !site__is_arena(site))
		return name;
	ret = xasprintf("%s" ARENAS_OF, name);
	free(name);
	return ret;
}

static char *plain_name(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	struct frame f = tellings__of(t, s, site);

	return with_kind(site, site->n_stack ? telling__name(&f) : xstrdup(site__no_stack(site)));
}

/* Those that are alike get their names at once. */
static void name_alike(const struct tellings *t, const struct snap_site *site)
{
	const struct telling_at *at = &t->v[site - t->s->sites];
	_cleanup_free_ struct alike_site *v = NULL;
	size_t from, n = 0;

	make_order(t);
	if (!at->key)
		look_for_keys(t, site->process);
	from = find_in_order(t, site->process, at->key);
	while (from + n < t->n && !is_before(t, (uint32_t)(site - t->s->sites), t->s->sites[t->order->v[from + n]].process,
					     t->v[t->order->v[from + n]].key))
		n++;
	if (n > MANY_ALIKE) {
		/* of one key: their order is nobody's concern */
		qsort_r(t->order->v + from, n, sizeof(*t->order->v), by_weight_down, (void *)t);
		for (size_t i = MANY_ALIKE; i < n; i++)
			t->v[t->order->v[from + i]].plain = true;
		n = MANY_ALIKE;
	}
	v = n > 1 ? xcalloc(n, sizeof(*v)) : NULL;
	if (!v)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct snap_site *one = &t->s->sites[t->order->v[from + i]];

		v[i] = (struct alike_site){ .site = one, .at = tellings__number(t, t->s, one), .frame = tellings__of(t, t->s, one) };
	}
	alike__tell_apart(t->s, v, n);
	for (size_t i = 0; i < n; i++) {
		char **name = &t->v[t->order->v[from + i]].name;

		free(*name);
		*name = with_kind(v[i].site, v[i].name);
	}
}

const char *tellings__kept_name(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	struct telling_at *at = kept(t, s, site);

	if (at && !at->name && !at->plain)
		name_alike(t, site);
	if (at && !at->name)
		at->name = plain_name(t, s, site);
	return at ? at->name : NULL;
}

char *tellings__name(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	const char *kept = tellings__kept_name(t, s, site);

	return kept ? xstrdup(kept) : plain_name(t, s, site);
}
