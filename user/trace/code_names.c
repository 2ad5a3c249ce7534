// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the look at a process's code for functions without names: their beginnings are known from the unwind tables, which a stripped
 * file has as well. What always holds: of a large file some functions stand for all, so that the answer comes at once.
 */
#include "trace/code_names.h"

#include <stdlib.h>

#include "names/packages.h"
#include "names/sym.h"
#include "present/missing_names.h"
#include "present/telling.h"
#include "util/util.h"

#define ASKED 256		/* functions of a file */
#define FILES_MAX 64

struct file {
	struct snap_module module;
	size_t n_asked, n_unnamed;
};

/* Named by its file alone: is it the program's own, and not what every program has? */
static bool is_own(const struct object *obj)
{
	return frame__is_telling(&(struct frame){ .module = obj->path });
}

/* Of ASKED that lie at equal distances; of all, if there are no more. */
static uint64_t nth(const uint64_t *starts, size_t n, size_t i)
{
	return starts[n > ASKED ? i * n / ASKED : i];
}

static struct file ask(struct sym *sym, struct object *obj)
{
	struct file f = { .module = { .path = obj->path, .handle = obj } };
	_cleanup_free_ uint64_t *starts = NULL;
	size_t n = 0;

	if (object__function_starts(obj, &starts, &n))
		return f;
	for (size_t i = 0; i < MIN(n, (size_t)ASKED); i++)
		sym__expect(sym, obj, nth(starts, n, i) + 1);
	for (size_t i = 0; i < MIN(n, (size_t)ASKED); i++) {
		const struct line *lines;
		size_t n_lines = sym__resolve(sym, obj, nth(starts, n, i) + 1, &lines);

		f.n_asked++;
		f.n_unnamed += !lines[n_lines - 1].function;
	}
	return f;
}

static bool is_known(const struct file *v, size_t n, const struct object *obj)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].module.handle == obj)
			return true;
	return false;
}

static size_t ask_all(const struct space *space, struct sym *sym, struct file *v)
{
	size_t n = 0;

	for (size_t i = 0; i < space->n && n < FILES_MAX; i++) {
		struct object *obj = space->v[i].object;

		if (obj && !space->v[i].gone && obj->is_elf && is_own(obj) && !is_known(v, n, obj))
			v[n++] = ask(sym, obj);
	}
	return n;
}

static int most_first(const void *pa, const void *pb)
{
	const struct file *a = pa, *b = pb;

	return (a->n_unnamed < b->n_unnamed) - (a->n_unnamed > b->n_unnamed);
}

char *code_names__missing(const struct space *space, bool local)
{
	struct sym *sym = sym__new(&(struct sym_opts){ .no_inlines = true, .no_source = true });
	_cleanup_free_ struct file *v = calloc(FILES_MAX, sizeof(*v));
	_cleanup_free_ char *install = NULL;
	struct missing_names m = { .what = "functions" };
	const char *paths[MISSING_FILES];
	char *ret = NULL;
	size_t n = sym && v ? ask_all(space, sym, v) : 0;

	if (n)
		qsort(v, n, sizeof(*v), most_first);
	for (size_t i = 0; i < n; i++) {
		m.n_frames += v[i].n_asked;
		m.n_unnamed += v[i].n_unnamed;
		if (v[i].n_unnamed && m.n_files < MISSING_FILES) {
			paths[m.n_files] = v[i].module.path;
			local &= object__is_here(v[i].module.handle);
			m.files[m.n_files++] = &v[i].module;
		} else if (v[i].n_unnamed) {
			m.n_more++;
		}
	}
	if (m.n_frames && m.n_unnamed * 2 >= m.n_frames) {
		install = local ? packages__debug("", paths, m.n_files) : NULL;
		ret = missing_names__words(&m, install, false, true);
	}
	sym__free(sym);
	return ret;
}
