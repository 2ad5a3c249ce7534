// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the share of each variable in a module's data. A page that several have in common is split by bytes, and what no
 * symbol claims is the module's: so the sum of all is the pages that are there.
 */
#include <errno.h>

#include "elf/demangle.h"
#include "heap/parts_inner.h"
#include "util/sorted.h"

/* The first that ends behind an address. */
static size_t first_behind(const struct variables *all, uint64_t vaddr)
{
	return sorted__count(one, all->v, all->n, one->end <= vaddr);
}

int part_globals__count(struct part_globals *g, struct parts *p, struct module *m, uint64_t start, uint64_t end, bool swapped)
{
	const struct variables *all = module__variables(&p->modules, m);
	uint64_t *to;

	*(swapped ? &g->swapped_bytes : &g->resident_bytes) += end - start;
	if (!all->n)
		return 0;
	if (!g->resident) {
		g->resident = calloc(all->n, sizeof(*g->resident));
		g->swapped = calloc(all->n, sizeof(*g->swapped));
		if (!g->resident || !g->swapped)
			return -ENOMEM;
	}
	to = swapped ? g->swapped : g->resident;
	start -= m->bias;
	end -= m->bias;
	for (size_t i = first_behind(all, start); i < all->n && all->v[i].start < end; i++)
		to[i] += MIN(end, all->v[i].end) - MAX(start, all->v[i].start);
	return 0;
}

/* Numbers of variables, the most resident first. */
static int by_resident(const void *pa, const void *pb, void *arg)
{
	const uint64_t *resident = arg, a = resident[*(const size_t *)pa], b = resident[*(const size_t *)pb];

	return a > b ? -1 : a < b ? 1 : *(const size_t *)pa < *(const size_t *)pb ? -1 : 1;
}

static int put_variable(struct part_globals *g, struct parts *p, struct module *m, size_t i, bool listed, struct part_rows *to)
{
	const struct variable *v = &m->variables.v[i];
	struct snap_part *row = &to->rest[PART_GLOBAL];
	char name[DEMANGLE_OUT_MAX + 1];

	if (listed) {
		size_t at;

		demangle(variable__name(&m->variables, v), name);
		at = part_rows__add(to, PART_GLOBAL, pool__string(&p->pool, name), m->path);
		if (at == SIZE_MAX)
			return -ENOMEM;
		row = &to->all.v[at];
	}
	row->mapped_bytes += v->end - v->start;
	row->resident_bytes += g->resident[i];
	row->swapped_bytes += g->swapped[i];
	g->mapped_bytes -= MIN(v->end - v->start, g->mapped_bytes);
	g->resident_bytes -= g->resident[i];
	g->swapped_bytes -= g->swapped[i];
	return 0;
}

int part_globals__put(struct part_globals *g, struct parts *p, struct module *m, struct part_rows *to)
{
	_cleanup_free_ size_t *order = NULL;
	struct snap_part *row;
	size_t n = 0, at;

	if (!g->mapped_bytes)
		return 0;
	if (g->resident && m->variables.n) {
		order = calloc(m->variables.n, sizeof(*order));
		if (!order)
			return -ENOMEM;
		for (size_t i = 0; i < m->variables.n; i++)
			if (g->resident[i] || g->swapped[i])
				order[n++] = i;
		qsort_r(order, n, sizeof(*order), by_resident, g->resident);
		for (size_t i = 0; i < n; i++)
			if (put_variable(g, p, m, order[i], i < PART_ROWS_MAX, to))
				return -ENOMEM;
	}
	at = part_rows__get(to, PART_GLOBAL, pool__string(&p->pool, n ? "(other data)" : "(data)"), m->path);
	if (at == SIZE_MAX)
		return -ENOMEM;
	row = &to->all.v[at];
	row->mapped_bytes += g->mapped_bytes;
	row->resident_bytes += g->resident_bytes;
	row->swapped_bytes += g->swapped_bytes;
	return 0;
}

void part_globals__done(struct part_globals *g)
{
	free(g->resident);
	free(g->swapped);
	*g = (struct part_globals){};
}
