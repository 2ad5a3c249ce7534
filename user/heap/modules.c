// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which module an address belongs to. A module is a row of mappings of one file, one of which may be executed; what
 * is mapped of a file without that is data. A file that was loaded twice is two modules.
 *
 * What always holds: modules are by address and do not overlap; nothing of a file is read before it is wanted.
 */
#include "heap/parts.h"

#include <string.h>

#include "util/sorted.h"

#define GAP_MAX 3		/* mappings without a name, among those of a module */

static bool is_nameless(const struct mapping *m)
{
	return !m->ino && !m->path[0];
}

/* How many mappings from the i-th on are one module's: its file's, in the order of the file, with .bss between them. */
static size_t row_of(const struct maps *maps, size_t i)
{
	const struct mapping *last = &maps->v[i];
	size_t n = 1;

	for (size_t j = i + 1; j < maps->n && j - i - n < GAP_MAX; j++) {
		const struct mapping *m = &maps->v[j];

		if (is_nameless(m))
			continue;
		if (!mapping__is_same_file(m, last) || m->file_off < last->file_off)
			break;
		last = m;
		n = j - i + 1;
	}
	return n;
}

static void add_row(struct modules *all, const struct maps *maps, size_t i, size_t n)
{
	struct module *m;
	const struct mapping *code = NULL;

	for (size_t j = i; j < i + n && !code; j++)
		if (maps->v[j].exec && maps->v[j].ino && !maps->v[j].shared)
			code = &maps->v[j];
	if (!code)
		return;
	m = vec_push(&all->all);
	m->start = maps->v[i].start;
	m->end = maps->v[i + n - 1].end;
	m->code = *code;
	m->code.path = NULL;
	m->path = xstrdup(code->path);
	clean_name(m->path);
	/* .bss is anonymous memory behind the file's */
	if (i + n < maps->n && is_nameless(&maps->v[i + n]) && maps->v[i + n].start == m->end && maps->v[i + n].write)
		m->end = maps->v[i + n].end;
}

void modules__init(struct modules *m, struct target *t, struct objects *objects)
{
	*m = (struct modules){ .t = t, .objects = objects };
	for (size_t i = 0, n; i < t->maps.n; i += n) {
		n = t->maps.v[i].ino ? row_of(&t->maps, i) : 1;
		if (t->maps.v[i].ino)
			add_row(m, &t->maps, i, n);
	}
}

void modules__done(struct modules *m)
{
	for (size_t i = 0; i < m->all.n; i++) {
		struct module *one = &m->all.v[i];

		object__put(one->obj);
		variables__done(&one->variables);
		free(one->path);
	}
	vec_done(&m->all);
}

struct module *modules__find(const struct modules *m, uint64_t addr)
{
	return sorted__range_of(m->all.v, m->all.n, addr);
}

/* Pages are mapped whole: a mapping begins somewhat before its segment. */
static bool find_bias(struct module *m, uint64_t page_bytes)
{
	for (size_t i = 0; i < m->obj->n_segments; i++) {
		const struct object_segment *s = &m->obj->segments[i];

		if (!s->exec || m->code.file_off < s->file_off / page_bytes * page_bytes ||
		    m->code.file_off >= s->file_off + s->file_size)
			continue;
		m->bias = m->code.start - (s->vaddr + (m->code.file_off - s->file_off));
		return true;
	}
	return false;
}

static void tell_unread(const struct modules *all, const struct module *m, int err)
{
	const struct target_calls *c = all->t->calls;

	if (err_is_want(err) && c && c->unread)
		c->unread(m->path, strerror(-err), c->arg);
}

bool module__open(struct modules *all, struct module *m)
{
	struct mapping named = m->code;
	int err;

	if (m->opened)
		return m->obj;
	m->opened = true;
	named.path = m->path;
	if (!all->objects)
		return false;
	for (size_t i = 0; i < all->t->maps.n; i++)
		if (all->t->maps.v[i].start == m->code.start)
			named.path = all->t->maps.v[i].path;
	err = objects__get(all->objects, all->t->runner, &named, &m->obj, NULL);
	/* of a process that has ended: what it has in common with us is found by its name, as of mappings that the kernel has told of */
	if (err && !all->t->runner) {
		named.recorded = true;
		err = objects__get(all->objects, 0, &named, &m->obj, NULL);
	}
	if (err) {
		tell_unread(all, m, err);
		m->obj = NULL;
		return false;
	}
	if (!m->obj->is_elf || !find_bias(m, all->t->page_bytes)) {
		object__put(m->obj);
		m->obj = NULL;
		return false;
	}
	return true;
}

const struct variables *module__variables(struct modules *all, struct module *m)
{
	if (!m->has_variables && module__open(all, m))
		variables__read(m->obj, NULL, &m->variables);
	m->has_variables = true;
	return &m->variables;
}

/* Within a page. */
static bool read_piece(struct modules *all, uint64_t addr, void *to, size_t n)
{
	const struct mapping *m;
	struct module *in;
	uint8_t state;

	if (memory__read_present(&all->t->memory, addr, to, n) == n)
		return true;
	target__pages(all->t, addr / all->t->page_bytes * all->t->page_bytes, 1, &state);
	m = maps__find(&all->t->maps, addr);
	in = modules__find(all, addr);
	return state == PAGE_ABSENT && m && in && mapping__is_same_file(m, &in->code) && module__open(all, in) &&
	       !object__read_at(in->obj, m->file_off + (addr - m->start), to, n);
}

bool modules__read(struct modules *m, uint64_t addr, void *to, size_t n)
{
	uint64_t page_bytes = m->t->page_bytes;

	if (addr + n < addr)
		return false;
	for (size_t at = 0, len; at < n; at += len) {
		len = MIN(n - at, page_bytes - (addr + at) % page_bytes);
		if (!read_piece(m, addr + at, (char *)to + at, len))
			return false;
	}
	return true;
}
