// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a stack looks as text:
 *
 *	std::vector<…>::push_back (inlined)   bits/stl_vector.h:1281
 *	Table::add(…)                         src/table.cc:88
 *	main                                  app+0x1184
 *	libc.so.6+0x27740
 *	… 9 more frames
 *	… the rest could not be walked: no frame pointer
 *
 * What always holds: a line is never wider than asked for; what must go first is
 * C++ parameters, then template arguments, then the middle of the name.
 */
#include "present/frames.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/merge.h"
#include "util/own_name.h"
#include "util/text.h"
#include "util/util.h"

#define ELLIPSIS "…"
#define INLINED " (inlined)"
#define NAME_COL_MAX 44	/* longer names push their own location to the right: one of them must not push all */
#define ROOM_MIN 35	/* below that, two columns make no sense and lines are too wide instead */

/* ---- short names */

/* The '<' of operator<, the '(' of operator() and the like open nothing. */
static size_t operator_len(const char *s, const char *start)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	if (strncmp(s, word, n) || (s > start && (isalnum((unsigned char)s[-1]) || s[-1] == '_')))
		return 0;
	if (!strncmp(s + n, "()", 2))
		return n + 2;
	return n + strspn(s + n, "<>=-!&|^~+*/%,");
}

/*
 * What stands between open and close, at the outermost level, gives way to "…".
 * A name that does not balance is left alone: it is no C++ name, or not whole.
 */
static char *fold_brackets(const char *name, char open, char close)
{
	static const char keep[] = "(anonymous namespace)";
	/* "<x>" may become "<…>", longer by two bytes than what it replaces, at most once every three bytes */
	char *ret = xmalloc(strlen(name) * 2 + 1), *to = ret;
	int depth = 0;

	for (const char *s = name; *s;) {
		size_t skip = operator_len(s, name);

		if (!skip && !strncmp(s, keep, sizeof(keep) - 1))
			skip = sizeof(keep) - 1;
		if (!skip && !strncmp(s, "->", 2))
			skip = 2;
		/* "leaf < caller": names of sites (telling.h) */
		if (!skip && !strncmp(s, " < ", 3))
			skip = 3;
		if (skip) {
			if (!depth)
				to = mempcpy(to, s, skip);
			s += skip;
			continue;
		}
		if (*s == close && --depth < 0)
			break;
		if (!depth)
			*to++ = *s;
		if (*s == open && !depth++ && s[1] != close)
			to = stpcpy(to, ELLIPSIS);
		s++;
	}
	*to = 0;
	if (!depth)
		return ret;
	free(ret);
	return xstrdup(name);
}

/* Of a qualified name, and of an address in a file, the end says more; of others, and of lists, the beginning. */
static char *cut_one_end(const char *name, size_t width)
{
	bool qualified = (strstr(name, "::") || strstr(name, "+0x")) && !strstr(name, " < ") && !strstr(name, ", ");

	if (text_width(name) <= width)
		return xstrdup(name);
	if (width < 2)
		return xstrdup(width ? ELLIPSIS : "");
	if (qualified)
		return xasprintf(ELLIPSIS "%s", name + text_tail(name, width - 1));
	return xasprintf("%.*s" ELLIPSIS, (int)text_head(name, width - 1), name);
}

char *name__shorten(const char *name, size_t width)
{
	_cleanup_free_ char *no_params = NULL, *no_args = NULL;

	if (text_width(name) <= width)
		return xstrdup(name);
	no_params = fold_brackets(name, '(', ')');
	if (text_width(no_params) <= width)
		return xstrdup(no_params);
	no_args = fold_brackets(no_params, '<', '>');
	return cut_one_end(no_args, width);
}

/* ---- the two columns of a frame */

const char *frame__function(const struct frame *f)
{
	return f->line && f->line->function && *f->line->function ? f->line->function : NULL;
}

static char *address(const struct frame *f)
{
	if (f->module)
		return xasprintf("%s+0x%" PRIx64, path_basename(f->module), f->place->offset);
	return xasprintf("0x%" PRIx64, f->place->offset);
}

char *frame__name(const struct frame *f)
{
	return frame__function(f) ? xstrdup(f->line->function) : address(f);
}

char *frame__own_name(const struct frame *f)
{
	return frame__function(f) ? own_name__shown(f->line->function) : address(f);
}

char *frame__where(const struct frame *f, size_t width)
{
	char *ret = NULL;

	if (!f->line || !f->line->file)
		return frame__function(f) ? address(f) : xstrdup("");
	for (int whole = 1; whole >= 0; whole--) {
		const char *file = whole ? path_tail(f->line->file) : path_basename(f->line->file);

		ret = f->line->line ? xasprintf("%s:%u", file, f->line->line) : xstrdup(file);
		if (!whole || text_width(ret) <= width)
			break;
		free(ret);
	}
	return ret;
}

char *frame__where_short(const struct frame *f, const char *exe, size_t width)
{
	if (f->line && f->line->file)
		return frame__where(f, width);
	if (!frame__function(f) || !f->module || (exe && !strcmp(exe, f->module)) ||
	    !strstr(path_basename(f->module), ".so"))
		return xstrdup("");
	return xstrdup(path_basename(f->module));
}

/* ---- stacks */

/* Is the frame at this number among those that are shown of a stack of n? */
static bool is_shown(size_t at, size_t n)
{
	return n <= STACK_MAX || at < STACK_HEAD || at >= n - STACK_TAIL;
}

size_t frames__name_width(const struct snapshot *s, const struct snap_site *site)
{
	size_t n = site__n_frames(s, site), at = 0, widest = 0;

	for (uint32_t i = 0; i < site->n_stack; i++)
		for (size_t k = 0; k < place__n_frames(&s->places[site->stack[i]]); k++) {
			struct frame f = place__frame(s, &s->places[site->stack[i]], k);

			/* a frame without a second column may run into it */
			if (is_shown(at++, n) && frame__function(&f))
				widest = MAX(widest,
					     text_width(f.line->function) + (f.inlined ? sizeof(INLINED) - 1 : 0));
		}
	return widest;
}

struct print {
	FILE *out;
	size_t indent;
	size_t name_col;	/* where the second column begins, unless the name is longer and there is room */
	size_t room;		/* for both columns */
};

static void print_one(const struct print *p, const struct frame *f)
{
	size_t room = p->room, used, at_col;
	const char *mark = f->inlined ? INLINED : "";
	_cleanup_free_ char *name = frame__name(f), *at = frame__where(f, room - p->name_col - 2),
		*name_shown = NULL, *at_shown = NULL;

	/* a wide location may begin before its column, as far as the name leaves room */
	at_shown = text_shorten(at, room - 2 - MIN(text_width(name) + strlen(mark), p->name_col));
	at_col = MIN(p->name_col + 2, room - text_width(at_shown));
	if (*at_shown)
		room -= 2 + text_width(at_shown);
	name_shown = name__shorten(name, room - strlen(mark));
	fprintf(p->out, "%*s%s%s", (int)p->indent, "", name_shown, mark);
	used = text_width(name_shown) + strlen(mark);
	if (*at_shown)
		fprintf(p->out, "%*s%s", at_col > used + 2 ? (int)(at_col - used) : 2, "", at_shown);
	fputc('\n', p->out);
}

void frames__write(FILE *out, const struct snapshot *s, const struct snap_site *site, size_t indent, size_t name_width,
		   size_t width)
{
	size_t room = MAX(width, indent + ROOM_MIN) - indent, n = site__n_frames(s, site), at = 0;
	struct print p = { out, indent, MIN(name_width, MIN(room * 4 / 7, (size_t)NAME_COL_MAX)), room };

	if (!site->n_stack) {
		fprintf(out, "%*s%s\n", (int)indent, "", site__no_stack(site));
		return;
	}
	for (uint32_t i = 0; i < site->n_stack; i++)
		for (size_t k = 0; k < place__n_frames(&s->places[site->stack[i]]); k++, at++) {
			struct frame f = place__frame(s, &s->places[site->stack[i]], k);

			if (is_shown(at, n))
				print_one(&p, &f);
			else if (at == STACK_HEAD)
				fprintf(out, "%*s… %zu more frames\n", (int)indent, "", n - STACK_HEAD - STACK_TAIL);
		}
	if (site->end)
		fprintf(out, "%*s… truncated: %s\n", (int)indent, "", site__end_says(s, site));
}

/* ---- lines of source files */

/*
 * Which line of a source file is charged with what. What always holds: a line has what the stacks allocated that go
 * through it, so lines of one function need not add up to it: recursion goes through several.
 */

struct work {
	struct vec(struct listed_line) v;	/* with calls; in no order */
	struct vec(uint32_t) seen;	/* lines of the stack at hand */
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Do two lines belong to one listing? */
static bool is_same(const struct line *a, const struct line *b)
{
	return same_text(a->function, b->function) && same_text(a->file, b->file) && same_text(a->dir, b->dir);
}

static void charge(struct work *w, uint32_t number, const struct counters *c)
{
	struct listed_line *to = NULL;
	uint32_t *seen;

	for (size_t i = 0; i < w->seen.n; i++)
		if (w->seen.v[i] == number)
			return;
	seen = vec_push(&w->seen);
	for (size_t i = 0; i < w->v.n && !to; i++)
		if (w->v.v[i].number == number)
			to = &w->v.v[i];
	if (!to) {
		to = vec_push(&w->v);
		*to = (struct listed_line){ .number = number, .calls = true };
	}
	*seen = number;
	counters__add(&to->c, c);
}

static void charge_site(struct work *w, struct listing *l, const struct snapshot *s, const struct snap_site *site)
{
	w->seen.n = 0;
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < p->n_lines; k++)
			if (p->lines[k].line && is_same(&p->lines[k], &l->of))
				charge(w, p->lines[k].line, &site->c);
	}
	if (w->seen.n)
		counters__add(&l->sum, &site->c);
}

COMPARATOR(by_number, struct listed_line, ORDER(a->number, b->number))

static void list(struct listing *l, const struct snapshot *s, const struct work *w, uint32_t around)
{
	struct vec(struct listed_line) all = {};
	uint32_t last = 0;

	for (size_t i = 0; i < w->v.n; i++) {
		const struct listed_line *at = &w->v.v[i];
		uint32_t next = i + 1 < w->v.n ? w->v.v[i + 1].number : UINT32_MAX;
		uint32_t from = at->number > around ? at->number - around : 1, to = (uint32_t)MIN((uint64_t)at->number + around, next - 1);

		for (uint32_t n = MAX(from, last + 1); n <= to; n++) {
			const char *text = snapshot__source_line(s, &l->of, n);
			struct listed_line *slot = text || n == at->number ? vec_push(&all) : NULL;

			l->has_text |= text != NULL;
			if (slot)
				*slot = n == at->number ? *at : (struct listed_line){ .number = n };
			if (slot)
				slot->text = text;
		}
		last = to;
	}
	l->v = all.v;
	l->n = all.n;
}

void listing__init(struct listing *l, const struct snapshot *s, const struct line *of, uint32_t around,
		  bool (*takes)(void *arg, const struct snap_site *site), void *arg)
{
	struct work w = {};

	*l = (struct listing){ .of = *of };
	for (size_t i = 0; i < s->n_sites; i++)
		if (!takes || takes(arg, &s->sites[i]))
			charge_site(&w, l, s, &s->sites[i]);
	if (w.v.n)
		qsort(w.v.v, w.v.n, sizeof(*w.v.v), by_number);
	list(l, s, &w, around);
	for (size_t i = 0; i < s->n_sources; i++)
		if (snap_source__is_of(&s->sources[i], of)) {
			l->newer |= s->sources[i].newer;
			l->why = s->sources[i].why ? s->sources[i].why : l->why;
		}
	vec_done(&w.v);
	vec_done(&w.seen);
}

void listing__done(struct listing *l)
{
	free(l->v);
	*l = (struct listing){};
}
