// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the rules by which a frame is passed over. They judge the module, the
 * source file, or the function, by how it begins, ends, or is spelled; whoever
 * misses a wrapper adds a row.
 *
 * What always holds: the answer depends on the stack and its names alone, so a
 * row of the live view does not change its mind from one second to the next.
 */
#include "present/telling.h"

#include <string.h>

#include "util/util.h"

enum rule_of { OF_MODULE, OF_FUNCTION, OF_FILE };
enum rule_how { IS, BEGINS, ENDS, HAS };

static const struct rule {
	enum rule_of of;
	enum rule_how how;
	const char *text;
} rules[] = {
	/* C and C++ libraries, the loader; by the name of the file */
	{ OF_MODULE, BEGINS, "libc.so" },
	{ OF_MODULE, BEGINS, "libc-2." },
	{ OF_MODULE, BEGINS, "libc.musl" },
	{ OF_MODULE, BEGINS, "ld-" },
	{ OF_MODULE, BEGINS, "ld.so" },
	{ OF_MODULE, BEGINS, "libpthread" },
	{ OF_MODULE, BEGINS, "libm.so" },
	{ OF_MODULE, BEGINS, "libdl.so" },
	{ OF_MODULE, BEGINS, "libstdc++" },
	{ OF_MODULE, BEGINS, "libc++" },
	{ OF_MODULE, BEGINS, "libsupc++" },
	{ OF_MODULE, BEGINS, "libgcc_s" },
	{ OF_MODULE, BEGINS, "[vdso]" },
	/* allocators, and libraries whose business is containers */
	{ OF_MODULE, BEGINS, "libjemalloc" },
	{ OF_MODULE, BEGINS, "libtcmalloc" },
	{ OF_MODULE, BEGINS, "libmimalloc" },
	{ OF_MODULE, BEGINS, "libsnmalloc" },
	{ OF_MODULE, BEGINS, "libhoard" },
	{ OF_MODULE, BEGINS, "libglib-2" },
	{ OF_MODULE, BEGINS, "libapr-1" },
	{ OF_MODULE, BEGINS, "libtalloc" },

	/* headers of the C++ library, compiled into the program */
	{ OF_FILE, HAS, "/include/c++/" },
	{ OF_FILE, HAS, "/bits/stl_" },
	{ OF_FILE, HAS, "/ext/new_allocator" },
	/* Rust's own library */
	{ OF_FILE, HAS, "/library/alloc/src/" },
	{ OF_FILE, HAS, "/library/core/src/" },
	{ OF_FILE, HAS, "/library/std/src/" },

	{ OF_FUNCTION, BEGINS, "operator new" },
	{ OF_FUNCTION, BEGINS, "std::" },
	{ OF_FUNCTION, BEGINS, "__gnu_cxx::" },
	{ OF_FUNCTION, BEGINS, "__cxxabi" },
	{ OF_FUNCTION, BEGINS, "alloc::" },
	{ OF_FUNCTION, BEGINS, "<alloc::" },
	{ OF_FUNCTION, BEGINS, "core::" },
	{ OF_FUNCTION, BEGINS, "<core::" },
	{ OF_FUNCTION, BEGINS, "hashbrown::" },
	{ OF_FUNCTION, BEGINS, "__rust_" },
	{ OF_FUNCTION, BEGINS, "__rdl_" },
	{ OF_FUNCTION, BEGINS, "__rg_" },

	/* malloc itself, and whatever people call what they put around it: xmalloc, zmalloc, my_malloc */
	{ OF_FUNCTION, ENDS, "malloc" },
	{ OF_FUNCTION, ENDS, "mallocz" },
	{ OF_FUNCTION, ENDS, "calloc" },
	{ OF_FUNCTION, ENDS, "realloc" },
	{ OF_FUNCTION, ENDS, "reallocarray" },
	{ OF_FUNCTION, ENDS, "zalloc" },
	{ OF_FUNCTION, ENDS, "malloc0" },
	{ OF_FUNCTION, ENDS, "memalign" },
	{ OF_FUNCTION, ENDS, "aligned_alloc" },
	{ OF_FUNCTION, ENDS, "strdup" },
	{ OF_FUNCTION, ENDS, "strndup" },
	{ OF_FUNCTION, ENDS, "memdup" },
	{ OF_FUNCTION, ENDS, "asprintf" },
	{ OF_FUNCTION, BEGINS, "g_malloc" },
	{ OF_FUNCTION, BEGINS, "g_try_malloc" },
	{ OF_FUNCTION, BEGINS, "g_realloc" },
	{ OF_FUNCTION, BEGINS, "g_slice_" },
	{ OF_FUNCTION, BEGINS, "zmalloc_" },
	{ OF_FUNCTION, BEGINS, "ztrymalloc" },
	{ OF_FUNCTION, BEGINS, "ztrycalloc" },
	{ OF_FUNCTION, BEGINS, "ztryrealloc" },
	{ OF_FUNCTION, BEGINS, "zmalloc" },
	{ OF_FUNCTION, BEGINS, "zcalloc" },
	{ OF_FUNCTION, BEGINS, "zrealloc" },
	{ OF_FUNCTION, BEGINS, "ngx_alloc" },
	{ OF_FUNCTION, BEGINS, "ngx_palloc" },
	{ OF_FUNCTION, BEGINS, "ngx_pnalloc" },
	{ OF_FUNCTION, BEGINS, "ngx_pcalloc" },
	{ OF_FUNCTION, BEGINS, "apr_palloc" },
	{ OF_FUNCTION, BEGINS, "apr_allocator" },
	{ OF_FUNCTION, BEGINS, "allocator_alloc" },
	{ OF_FUNCTION, BEGINS, "talloc_" },
	{ OF_FUNCTION, BEGINS, "_talloc" },
	{ OF_FUNCTION, BEGINS, "__talloc" },
	{ OF_FUNCTION, BEGINS, "AllocSet" },
	{ OF_FUNCTION, BEGINS, "MemoryContextAlloc" },
	{ OF_FUNCTION, BEGINS, "palloc" },
	{ OF_FUNCTION, BEGINS, "repalloc" },
	{ OF_FUNCTION, BEGINS, "CRYPTO_" },
	{ OF_FUNCTION, BEGINS, "sqlite3MemMalloc" },
	{ OF_FUNCTION, BEGINS, "sqlite3MemRealloc" },
	{ OF_FUNCTION, BEGINS, "sqlite3Malloc" },
	{ OF_FUNCTION, BEGINS, "sqlite3DbMalloc" },
	{ OF_FUNCTION, BEGINS, "sqlite3DbRealloc" },
	{ OF_FUNCTION, IS, "mallocWithAlarm" },
	{ OF_FUNCTION, IS, "dbMallocRawFinish" },
	{ OF_FUNCTION, BEGINS, "PyMem_" },
	{ OF_FUNCTION, BEGINS, "_PyMem_" },
	{ OF_FUNCTION, BEGINS, "PyObject_Malloc" },
	{ OF_FUNCTION, BEGINS, "PyObject_Calloc" },
	{ OF_FUNCTION, BEGINS, "PyObject_Realloc" },
	{ OF_FUNCTION, BEGINS, "_PyObject_Malloc" },
	{ OF_FUNCTION, BEGINS, "_PyObject_Calloc" },
	{ OF_FUNCTION, BEGINS, "_PyObject_Realloc" },
	{ OF_FUNCTION, BEGINS, "pymalloc_" },
	{ OF_FUNCTION, BEGINS, "je_" },
	{ OF_FUNCTION, BEGINS, "mi_" },
	{ OF_FUNCTION, BEGINS, "tc_" },
	/* and around free */
	{ OF_FUNCTION, BEGINS, "operator delete" },
	{ OF_FUNCTION, IS, "free" },
	{ OF_FUNCTION, IS, "cfree" },
	{ OF_FUNCTION, IS, "xfree" },
	{ OF_FUNCTION, IS, "zfree" },
	{ OF_FUNCTION, IS, "g_free" },
	{ OF_FUNCTION, IS, "pfree" },
	{ OF_FUNCTION, IS, "ngx_free" },
	{ OF_FUNCTION, IS, "my_free" },
	{ OF_FUNCTION, IS, "sqlite3_free" },
	{ OF_FUNCTION, IS, "sqlite3MemFree" },
	{ OF_FUNCTION, IS, "sqlite3DbFree" },
	/* where a program's own code begins: what is left if nothing else was found */
	{ OF_FUNCTION, IS, "_start" },
	{ OF_FUNCTION, IS, "start_thread" },
};

static bool fits(const struct rule *r, const char *s, size_t len)
{
	size_t n = strlen(r->text);

	switch (r->how) {
	case IS:
		return len == n && !memcmp(s, r->text, n);
	case BEGINS:
		return len >= n && !memcmp(s, r->text, n);
	case ENDS:
		return len >= n && !memcmp(s + len - n, r->text, n);
	case HAS:
		return memmem(s, len, r->text, n);
	}
	return false;
}

static bool any(enum rule_of of, const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].of == of && fits(&rules[i], s, len))
			return true;
	return false;
}

/*
 * A demangled name without what stands around it: "void std::vector<int>::push(int)"
 * has its return type before it if it is a template, and parameters behind it.
 */
static const char *bare(const char *name, size_t *ret_len)
{
	const char *from = name, *s;
	int depth = 0;

	/* "operator new(unsigned long)" has a blank of its own */
	if (!strncmp(name, "operator ", 9)) {
		*ret_len = strcspn(name, "(");
		return name;
	}
	for (s = name; *s; s++) {
		if (*s == '<')
			depth++;
		else if (*s == '>' && depth)
			depth--;
		else if (*s == '(' && !depth && s > from)
			break;
		else if (*s == ' ' && !depth)
			from = s + 1;
	}
	*ret_len = s - from;
	return from;
}

bool frame__is_telling(const struct frame *f)
{
	const char *base = f->module ? path_basename(f->module) : NULL, *name;
	size_t len;

	if (!base || any(OF_MODULE, base, strlen(base)))
		return false;
	if (!f->line)
		return true;
	if (f->line->file && any(OF_FILE, f->line->file, strlen(f->line->file)))
		return false;
	if (!f->line->function)
		return true;
	name = bare(f->line->function, &len);
	return !any(OF_FUNCTION, name, len);
}

/* Where a frame is: its place in the stack, its number among those that were inlined there, and among all. */
struct telling_at {
	uint32_t place;		/* 1 + index into the stack; 0: not looked for yet */
	uint32_t inlined, number;
};

static struct telling_at find(const struct snapshot *s, const struct snap_site *site)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (uint32_t k = 0; k < place__n_frames(p); k++, number++) {
			struct frame f = place__frame(s, p, k);

			if (frame__is_telling(&f))
				return (struct telling_at){ i + 1, k, number };
		}
	}
	return (struct telling_at){ .place = 1 };
}

/* ---- each once */

void tellings__begin(struct tellings *t, const struct snapshot *s)
{
	if (s->n_sites > t->room) {
		free(t->v);
		t->v = calloc(s->n_sites, sizeof(*t->v));
		t->room = t->v ? s->n_sites : 0;
	} else if (t->v) {
		memset(t->v, 0, s->n_sites * sizeof(*t->v));
	}
	t->s = s;
}

void tellings__done(struct tellings *t)
{
	free(t->v);
	*t = (struct tellings){};
}

static struct telling_at at_of(const struct tellings *t, const struct snapshot *s, const struct snap_site *site)
{
	bool kept = t && t->v && t->s == s && site >= s->sites && site < s->sites + s->n_sites;
	struct telling_at *at = kept ? &t->v[site - s->sites] : NULL;

	if (at && !at->place)
		*at = find(s, site);
	return at ? *at : find(s, site);
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

const char *telling__name(const struct frame *f)
{
	return f->line && f->line->function ? f->line->function : f->module ? path_basename(f->module) : f->place ? "" : "[no stack]";
}
