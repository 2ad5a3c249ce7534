// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a row becomes a cell: from a field of the schema, then by the column's own function. What
 * always holds: whether a field is known of a row is what its row of the schema says, as in files; what
 * is not known is "-" and NAN.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"
#include "model/marks.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/rows.h"
#include "util/util.h"

/* ---- what cells are made of */

void cell__unknown(struct cell *c)
{
	c->sort = NAN;
	c->text = "-";
}

void cell__bytes(struct cell *c, uint64_t n)
{
	c->sort = (double)n;
	c->text = fmt_bytes(c->buf, n);
}

void cell__count(struct cell *c, uint64_t n)
{
	c->sort = (double)n;
	c->text = fmt_count(c->buf, n);
}

void cell__duration(struct cell *c, uint64_t ns)
{
	c->sort = (double)ns;
	c->text = fmt_duration(c->buf, ns);
}

void cell__share(struct cell *c, uint64_t part, uint64_t whole)
{
	c->sort = (double)part;
	c->text = fmt_share(c->buf, part, whole);
}

void cell__change(struct cell *c, double bytes)
{
	c->sort = bytes;
	c->text = isnan(bytes) ? "-" : fmt_change(c->buf, bytes);
}

void cell__rate(struct cell *c, double per_second)
{
	c->sort = per_second;
	c->text = c->buf;
	if (isnan(per_second))
		c->text = "-";
	else if (per_second > 0 && per_second < 9.95)
		snprintf(c->buf, CELL_MAX, "%.1f", per_second);
	else
		fmt_count(c->buf, (uint64_t)(per_second + 0.5));
}

void cell__mark(struct cell *c)
{
	size_t len = strlen(c->text);

	/* nothing known is nothing estimated */
	if (!len || !strcmp(c->text, "-") || len + 2 > CELL_MAX)
		return;
	memmove(c->buf + 1, c->text, len + 1);
	c->buf[0] = '~';
	c->text = c->buf;
}

/* ---- fields */

/* Where the fields lie of what a row is about; NULL: it has none of them. */
static const void *part_of(const struct row_of *r, const struct fields *fields)
{
	const struct {
		const struct fields *fields;
		const void *at;
	} parts[] = {
		{ &process_fields, r->process }, { &mark_fields, r->mark }, { &class_fields, r->class }, { &type_fields, r->type },
		{ &arena_fields, r->arena }, { &part_fields, r->part }, { &root_fields, r->root }, { &block_fields, r->block },
		{ &move_fields, r->site ? &r->site->moves : NULL }, { &error_fields, r->site ? &r->site->error : NULL },
	};

	if (fields == &counter_fields)
		return r->site ? &r->site->c : r->thread ? &r->thread->c : r->tag ? &r->tag->sum.c : r->sum ? &r->sum->sum.c : &r->process->c;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].fields == fields)
			return parts[i].at;
	return r->site;
}

static unsigned int known_of(const struct row_of *r)
{
	if (r->mark)
		return marks__known(r->s, r->mark);
	if (r->heap)
		return heap__known(r->s, r->heap);
	return r->site ? site__known(r->s, r->site) : r->process ? process__known(r->s, r->process) : r->s->known;
}

/* What is read of a row. */
struct figure {
	const struct fields *fields;
	const struct field *field;
	const void *at;		/* the part of the row that has it */
	const struct field *over;	/* NULL: none */
	const void *over_at;
};

static struct figure read_figure(const struct column *c, const struct row_of *r)
{
	const struct field_ref *is = r->older && c->older ? c->older : c->field;
	struct figure f = { .fields = is->fields, .field = fields__find(is->fields, is->key), .at = part_of(r, is->fields) };

	if (c->over) {
		f.over = fields__find(c->over->fields, c->over->key);
		f.over_at = part_of(r, c->over->fields);
	}
	return f;
}

static bool is_known(const struct column *c, const struct row_of *r, const struct figure *f)
{
	if (!f->at || f->field->needs & ~known_of(r) || field__is_unread(f->fields, f->field, f->at) || (f->field->empty == EMPTY_IS_NULL && field__is_empty(f->field, f->at)))
		return false;
	if (c->any_age && r->older)
		return false;
	/* of blocks older than an age no error is kept */
	return c->error ? !r->older : f->over ? !field__is_empty(f->over, f->over_at) : !c->since || r->mark_before;
}

/* No double holds all of them. */
static uint64_t whole_number(const struct field *f, const void *at)
{
	return f->type == FIELD_U64 ? *(const uint64_t *)field__of(f, at) : (uint64_t)field__number(f, at);
}

static void show(struct cell *c, enum field_unit unit, uint64_t n, double signed_n)
{
	switch (unit) {
	case UNIT_BYTES:
		cell__bytes(c, n);
		break;
	case UNIT_CHANGE:
	case UNIT_GROWTH:
		cell__change(c, signed_n);
		break;
	case UNIT_NS:
		cell__duration(c, n);
		break;
	case UNIT_PER_S:
		cell__rate(c, signed_n);
		break;
	case UNIT_ID:
		snprintf(c->buf, CELL_MAX, "%d", (int)n);
		c->text = c->buf;
		break;
	default:
		cell__count(c, n);
	}
}

static void show_figure(const struct column *c, const struct row_of *r, const struct figure *f, enum field_unit unit, struct cell *ret)
{
	uint64_t n = whole_number(f->field, f->at), over = f->over ? whole_number(f->over, f->over_at) : 0;
	double number = field__number(f->field, f->at), whole = f->over ? field__number(f->over, f->over_at) : 0;

	if (c->since) {
		n -= whole_number(f->field, r->mark_before);
		number -= field__number(f->field, r->mark_before);
	}
	if (c->error)
		ret->text = fmt_error(ret->buf, number, over);
	else if (f->over && !c->mean)
		ret->text = fmt_percent(ret->buf, n, over);
	else
		show(ret, unit, f->over ? n / over : n, number);
	/* of what only names something the lowest is first */
	ret->sort = f->over && whole ? number / whole : unit == UNIT_ID ? -number : number;
}

static void field_cell(const struct column *c, const struct row_of *r, struct cell *ret)
{
	struct figure f = read_figure(c, r);
	enum field_unit unit = c->unit ? c->unit : f.field->unit;

	if (f.field->type == FIELD_STR)
		ret->text = *(const char *const *)field__of(f.field, f.at) ?: "";
	else if (f.field->type == FIELD_ENUM)
		ret->text = choices__name(f.field->choices, *(const unsigned int *)field__of(f.field, f.at));
	else if (!is_known(c, r, &f))
		ret->text = unit == UNIT_ID ? "" : "-";
	else
		show_figure(c, r, &f, unit, ret);
}

/* ---- columns */

/* No call was seen of a process that ran: that is no figure of what it did. */
static bool is_unmet(const struct column *c, const struct row_of *r)
{
	return c->scaled && r->process && !r->site && !r->thread && isinf(r->process->error.alloc_calls);
}

void column__cell(const struct column *c, const struct row_of *r, struct cell *ret)
{
	ret->sort = NAN;
	ret->text = "";
	ret->tone = TONE_PLAIN;
	if (c->field)
		field_cell(c, r, ret);
	if (c->cell)
		c->cell(r, ret);
	if (is_unmet(c, r) && ret->sort == 0)
		ret->text = strcpy(ret->buf, "?");
}

void column__marked_cell(const struct column *c, const struct row_of *r, struct cell *ret)
{
	column__cell(c, r, ret);
	if (c->scaled && r->s->estimated)
		cell__mark(ret);
}

unsigned int column__needs(const struct column *c)
{
	const struct field_ref *const refs[] = { c->field, c->over };
	unsigned int needs = c->needs;

	for (size_t i = 0; i < ARRAY_SIZE(refs); i++)
		if (refs[i])
			needs |= fields__find(refs[i]->fields, refs[i]->key)->needs & HAS_ANY;
	return needs;
}

const struct column *columns__find(const struct columns *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(*c->v[i].as ? c->v[i].as : c->v[i].name, name))
			return &c->v[i];
	return NULL;
}

const char *column__title(const struct column *c, const struct snapshot *s)
{
	const struct grouping *by = c->groups ? grouping__find(s->by) : NULL;

	return by && by->title ? by->title : c->title;
}

bool column__holds(const struct column *c, const struct snapshot *s)
{
	return !(column__needs(c) & ~s->known) && (!c->without || c->without & ~s->known);
}

/* ---- columns that a view chooses, and how many of them fit */

/* The number behind a sign of a column's entry. */
static unsigned int number_at(const char *entry, size_t len, char sign)
{
	const char *at = memchr(entry, sign, len);
	unsigned int n = 0;

	for (at = at ? at + 1 : entry + len; at < entry + len && *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (unsigned int)(*at - '0');
	return n;
}

static bool choose(const struct columns *from, const char *entry, size_t len, struct column *ret)
{
	size_t as_len = strcspn(entry, "=:/@ "), name_at = entry[as_len] == '=' ? as_len + 1 : 0;
	_cleanup_free_ char *name = xstrndup(entry + name_at, strcspn(entry + name_at, ":/@ "));
	const struct column *is = columns__find(from, name);
	unsigned int width = number_at(entry, len, ':');

	if (!is)
		return false;
	*ret = *is;
	snprintf(ret->as, sizeof(ret->as), "%.*s", (int)as_len, entry);
	ret->width = width ? width : is->width;
	ret->drop = number_at(entry, len, '/');
	ret->from_cols = number_at(entry, len, '@');
	return true;
}

struct columns columns__choose(const struct columns *from, const char *list)
{
	struct column *v = xcalloc(strlen(list) / 2 + 1, sizeof(*v));
	size_t n = 0, len;

	for (; *list; list += len + strspn(list + len, " ")) {
		len = strcspn(list, " ");
		n += choose(from, list, len, &v[n]);
	}
	return (struct columns){ v, n };
}

size_t columns__width(const struct columns *c, const size_t *widths, size_t gap)
{
	size_t width = 0;

	for (size_t k = 0; k < c->n; k++)
		if (widths[k])
			width += widths[k] + (width ? gap : 0);
	return width;
}

bool columns__drop(const struct columns *c, size_t *widths, unsigned int least)
{
	size_t which = c->n;

	for (size_t k = 0; k < c->n; k++)
		if (widths[k] && c->v[k].drop >= least && (which == c->n || c->v[k].drop > c->v[which].drop))
			which = k;
	if (which == c->n)
		return false;
	widths[which] = 0;
	return true;
}
