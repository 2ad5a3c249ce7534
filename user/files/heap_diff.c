// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is said of two looks at a heap:
 *
 *	malloctrace diff  before.json -> after.json
 *
 *	redis-server (1432)
 *	in use      64.6 MiB -> 74.8 MiB: +10.2 MiB, +10,032 blocks
 *	free        20.6 MiB -> 10.1 MiB: -10.5 MiB
 *	unreached   2.3 MiB -> 2.6 MiB: +271.0 KiB, +1,050 blocks
 *
 *	     CHANGE    BLOCKS     BEFORE ->     AFTER  SIZE
 *	   +1.0 MiB   +10,000    5.3 MiB ->   6.3 MiB  56
 *
 * What always holds: heaps are compared with those of the same process, or of one of the same name; what is in one file
 * alone is said to be.
 */
#include "files/heap_diff.h"

#include <errno.h>
#include <string.h>

#include "model/heaps.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/heap_words.h"
#include "util/ids.h"
#include "util/parse.h"
#include "util/util.h"

#define NAME_INDENT 60	/* the columns before a name, and "estimated" behind it */

struct change {
	const char *name;	/* of a type; NULL: of a size */
	const struct snap_class *size;
	bool estimated;
	uint64_t blocks[2], bytes[2];
};

struct changes {
	struct change *v;	/* as ids numbers them */
	size_t n, room;
	struct string_ids names;	/* of types */
	struct key_ids sizes;
};

/* ---- figures */

static const char *count_change(char buf[static CELL_MAX], uint64_t before, uint64_t after)
{
	snprintf(buf, CELL_MAX, "%s%s", after > before ? "+" : after < before ? "-" : "", EXACT(after > before ? after - before : before - after));
	return buf;
}

static const char *bytes_change(char buf[static CELL_MAX], uint64_t before, uint64_t after)
{
	return fmt_change(buf, (double)after - (double)before);
}

static void line(FILE *out, const char *what, uint64_t before, uint64_t after, const uint64_t *blocks)
{
	char c[CELL_MAX], d[CELL_MAX];

	fprintf(out, "%-11s %s -> %s: %s", what, BYTES(before), BYTES(after), bytes_change(c, before, after));
	if (blocks)
		fprintf(out, ", %s blocks", count_change(d, blocks[0], blocks[1]));
	fputc('\n', out);
}

/* ---- rows */

static void add(struct changes *c, size_t side, const char *name, const struct snap_class *size, bool estimated, uint64_t blocks, uint64_t bytes)
{
	uint32_t at;

	if (name)
		string_ids__get(&c->names, name, &at);
	else
		key_ids__get(&c->sizes, (struct key){ .a = size->usable, .b = size->below }, &at, NULL);
	if (at == c->n)
		vec_push(c);
	c->v[at].name = name;
	c->v[at].size = c->v[at].size ? c->v[at].size : size;
	c->v[at].estimated |= estimated;
	c->v[at].blocks[side] += blocks;
	c->v[at].bytes[side] += bytes;
}

static void changes__done(struct changes *c)
{
	vec_done(c);
	string_ids__done(&c->names);
	key_ids__done(&c->sizes);
}

static uint64_t weight(const struct change *c)
{
	return c->bytes[1] > c->bytes[0] ? c->bytes[1] - c->bytes[0] : c->bytes[0] - c->bytes[1];
}

/* The most first; then as they stood. */
static int by_change(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;

	if (weight(a) != weight(b))
		return weight(a) < weight(b) ? 1 : -1;
	return a->name ? strcmp(a->name, b->name) : a->size->usable < b->size->usable ? -1 : 1;
}

static void table(FILE *out, struct changes *c, const char *title, const struct diff_opts *o)
{
	size_t n = 0, shown;

	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_change);
	while (n < c->n && weight(&c->v[n]))
		n++;
	if (!n)
		return;
	shown = MIN(n, o->top);
	fprintf(out, "\n    CHANGE     BLOCKS     BEFORE ->     AFTER  %s\n", title);
	for (size_t i = 0; i < shown; i++) {
		const struct change *v = &c->v[i];
		char change[CELL_MAX], count[CELL_MAX], size[CELL_MAX];
		_cleanup_free_ char *name = name__shorten(v->name ? v->name : heap__size_words(size, v->size), o->width - NAME_INDENT);

		fprintf(out, "%10s %10s  %9s -> %9s  %s%s\n", bytes_change(change, v->bytes[0], v->bytes[1]), count_change(count, v->blocks[0], v->blocks[1]),
			BYTES(v->bytes[0]), BYTES(v->bytes[1]), name ? name : "", v->estimated ? " (estimated)" : "");
	}
	if (n > shown)
		fprintf(out, "%zu more that changed less (-T N for more)\n", n - shown);
}

static void tables(FILE *out, const struct snap_heap *const pair[2], const struct diff_opts *o)
{
	struct changes sizes = {}, types = {};

	for (size_t side = 0; side < 2; side++) {
		const struct snap_heap *h = pair[side];

		for (size_t i = 0; i < h->n_classes; i++)
			add(&sizes, side, NULL, &h->classes[i], false, h->classes[i].blocks, h->classes[i].bytes);
		for (size_t i = 0; i < h->n_types; i++)
			add(&types, side, h->types[i].name, NULL, h->types[i].estimated, h->types[i].blocks, h->types[i].bytes);
	}
	table(out, &sizes, "SIZE", o);
	table(out, &types, "TYPE", o);
	changes__done(&sizes);
	changes__done(&types);
}

/* ---- heaps */

static void write_pair(FILE *out, const struct snapshot *s, const struct snap_heap *a, const struct snap_heap *b, const struct diff_opts *o)
{
	const struct snap_heap *pair[] = { a, b };

	fprintf(out, "\n%s (%d)\n", heap__comm(s, b), (int)heap__pid(s, b));
	if (a->refused || b->refused) {
		fprintf(out, "%s: %s\n", a->refused ? "before" : "after", a->refused ? a->refused : b->refused);
		line(out, "RSS", a->rss_bytes, b->rss_bytes, NULL);
		return;
	}
	line(out, "in use", a->bytes, b->bytes, (uint64_t[]){ a->blocks, b->blocks });
	line(out, "free", a->free_bytes, b->free_bytes, NULL);
	if (a->rss_bytes && b->rss_bytes)
		line(out, "RSS", a->rss_bytes, b->rss_bytes, NULL);
	if (heap__was_searched(a) && heap__was_searched(b))
		line(out, "unreached", a->unreached.bytes, b->unreached.bytes, (uint64_t[]){ a->unreached.blocks, b->unreached.blocks });
	tables(out, pair, o);
}

/* Which is compared with which: the same process, or one of its name that nobody else is left for. */
struct pairs {
	const struct snapshot *before, *after;
	const struct snap_heap **of;	/* of each heap of after; NULL: there is none */
	bool *used;			/* of each heap of before */
};

static const struct snap_heap *find(const struct pairs *p, const struct snap_heap *h, bool by_pid)
{
	for (size_t i = 0; i < p->before->n_heaps; i++) {
		const struct snap_heap *b = &p->before->heaps[i];

		if (!p->used[i] && !strcmp(heap__comm(p->before, b), heap__comm(p->after, h)) && (!by_pid || heap__pid(p->before, b) == heap__pid(p->after, h)))
			return b;
	}
	return NULL;
}

/* All that are the same before any that has only the name: a new process does not take an old one's. */
static void make_pairs(struct pairs *p)
{
	for (int by_pid = 1; by_pid >= 0; by_pid--)
		for (size_t i = 0; i < p->after->n_heaps; i++) {
			if (p->of[i])
				continue;
			p->of[i] = find(p, &p->after->heaps[i], by_pid);
			/* of one process each, that is what was meant */
			if (!p->of[i] && !by_pid && p->before->n_heaps == 1 && p->after->n_heaps == 1)
				p->of[i] = &p->before->heaps[0];
			if (p->of[i])
				p->used[p->of[i] - p->before->heaps] = true;
		}
}

static void write_alone(FILE *out, const struct snapshot *s, const struct snap_heap *h, const char *file)
{
	fprintf(out, "\n%s (%d)\nonly in %s\n", heap__comm(s, h), (int)heap__pid(s, h), file);
}

void heap_diff__write(FILE *out, const struct snapshot *before, const struct snapshot *after, const struct diff_opts *o)
{
	_cleanup_free_ const struct snap_heap **of = xcalloc(after->n_heaps + 1, sizeof(*of));
	_cleanup_free_ bool *used = xcalloc(before->n_heaps + 1, sizeof(*used));
	struct pairs pairs = { before, after, of, used };

	make_pairs(&pairs);
	fprintf(out, "malloctrace diff  %s -> %s\n", o->before, o->after);
	for (size_t i = 0; i < after->n_heaps; i++)
		if (of[i])
			write_pair(out, after, of[i], &after->heaps[i], o);
		else
			write_alone(out, after, &after->heaps[i], o->after);
	for (size_t i = 0; i < before->n_heaps; i++)
		if (!used[i])
			write_alone(out, before, &before->heaps[i], o->before);
}

const struct snap_heap *heap_diff__unknown(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		if (s->heaps[i].refused)
			return &s->heaps[i];
	return NULL;
}

uint64_t heap_diff__in_use(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_heaps; i++)
		sum += s->heaps[i].bytes;
	return sum;
}
