// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a field of the schema becomes a cell. What always holds: whether it is
 * known of a row is what its row of the schema says, as in files; what is not
 * known is "-" and NAN.
 */
#include <math.h>
#include <string.h>

#include "model/group.h"
#include "model/marks.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/rows.h"
#include "util/util.h"

/* Where the fields lie of what a row is about. */
static const void *part_of(const struct row_of *r, const struct fields *fields)
{
	if (fields == &counter_fields)
		return r->site ? &r->site->c : r->thread ? &r->thread->c : r->tag ? &r->tag->sum.c : r->sum ? &r->sum->sum.c : &r->process->c;
	if (fields == &process_fields)
		return r->process;
	if (fields == &mark_fields)
		return r->mark;
	return fields == &move_fields ? (const void *)&r->site->moves : fields == &error_fields ? (const void *)&r->site->error : r->site;
}

static unsigned int known_of(const struct row_of *r)
{
	if (r->mark)
		return marks__known(r->s, r->mark);
	return r->site ? site__known(r->s, r->site) : r->process ? process__known(r->s, r->process) : r->s->known;
}

/* What is read of a row. */
struct figure {
	const struct field *field;
	const void *at;		/* the part of the row that has it */
	const struct field *over;	/* NULL: none */
	const void *over_at;
};

static struct figure read_figure(const struct column *c, const struct row_of *r)
{
	const struct field_ref *is = r->older && c->older ? c->older : c->field;
	struct figure f = { .field = fields__find(is->fields, is->key), .at = part_of(r, is->fields) };

	if (c->over) {
		f.over = fields__find(c->over->fields, c->over->key);
		f.over_at = part_of(r, c->over->fields);
	}
	return f;
}

static bool is_known(const struct column *c, const struct row_of *r, const struct figure *f)
{
	if (f->field->needs & ~known_of(r) || (f->field->empty == EMPTY_IS_NULL && field__is_empty(f->field, f->at)))
		return false;
	if (c->any_age && r->older)
		return false;
	/* of blocks older than an age no error is kept */
	return c->error ? !r->older : f->over ? !field__is_empty(f->over, f->over_at) : !c->since || r->mark_before;
}

double column__value(const struct column *c, const struct row_of *r)
{
	struct figure f;
	double n, over;

	if (c->value || !c->field)
		return c->value ? c->value(r) : NAN;
	f = read_figure(c, r);
	if (!is_known(c, r, &f))
		return NAN;
	n = field__number(f.field, f.at);
	if (c->since)
		return n - field__number(f.field, r->mark_before);
	if (f.over) {
		over = field__number(f.over, f.over_at);
		return over ? n / over : n;
	}
	/* of what only names something the lowest is first */
	return f.field->unit == UNIT_ID ? -n : n;
}

/* No double holds all of them. */
static uint64_t whole_number(const struct field *f, const void *at)
{
	return f->type == FIELD_U64 ? *(const uint64_t *)field__of(f, at) : (uint64_t)field__number(f, at);
}

static const char *show(enum field_unit unit, uint64_t n, double signed_n, char buf[static CELL_MAX])
{
	switch (unit) {
	case UNIT_BYTES:
		return fmt_bytes(buf, n);
	case UNIT_CHANGE:
	case UNIT_GROWTH:
		return fmt_change(buf, signed_n);
	case UNIT_NS:
		return fmt_duration(buf, n);
	case UNIT_PER_S:
		return show_rate(signed_n, buf);
	case UNIT_ID:
		snprintf(buf, CELL_MAX, "%d", (int)n);
		return buf;
	default:
		return fmt_count(buf, n);
	}
}

/* Nothing was met of a process that ran: that is no figure of what it did. */
static bool is_unmet(const struct column *c, const struct row_of *r)
{
	return c->scaled && r->process && !r->site && !r->thread && isinf(r->process->error.alloc_calls) && column__value(c, r) == 0;
}

const char *column__text(const struct column *c, const struct row_of *r, char buf[static CELL_MAX])
{
	struct figure f;
	enum field_unit unit;
	uint64_t n, over;

	if (is_unmet(c, r))
		return strcpy(buf, "?");
	if (c->format || !c->field)
		return c->format ? c->format(r, buf) : "";
	f = read_figure(c, r);
	if (f.field->type == FIELD_STR)
		return *(const char *const *)field__of(f.field, f.at) ?: "";
	unit = c->unit ? c->unit : f.field->unit;
	if (!is_known(c, r, &f))
		return unit == UNIT_ID ? "" : "-";
	over = f.over ? whole_number(f.over, f.over_at) : 0;
	if (c->error)
		return fmt_error(buf, field__number(f.field, f.at), over);
	n = whole_number(f.field, f.at);
	if (c->since)
		n -= whole_number(f.field, r->mark_before);
	if (f.over && !c->mean)
		return fmt_percent(buf, n, over);
	return show(unit, f.over ? n / over : n, column__value(c, r), buf);
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

bool column__is_name(const struct column *c)
{
	return !c->value && (!c->field || fields__find(c->field->fields, c->field->key)->type == FIELD_STR);
}

bool column__is_picture(const struct column *c)
{
	return !c->format && !c->field;
}

const struct column *columns__find(const struct columns *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].name, name))
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

const char *column__cell(const struct column *c, const struct row_of *r, char buf[static CELL_MAX])
{
	const char *text = column__text(c, r, buf);
	size_t len = strlen(text);

	/* nothing known is nothing estimated */
	if (!c->scaled || !r->s->estimated || !*text || !strcmp(text, "-") || len + 2 > CELL_MAX)
		return text;
	memmove(buf + 1, text, len + 1);
	buf[0] = '~';
	return buf;
}
