// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of marks (--mark) and of conditions (--when). What always holds: a
 * mark's figures are those since the mark before it that has figures, too.
 */
#include <math.h>

#include "present/columns.h"
#include "util/parse.h"
#include "util/util.h"

#define LIVE (HAS_LIVE_BYTES | HAS_LIVE_BLOCKS)

/* ---- marks */

static double since_then(const struct row_of *r)
{
	return (double)r->mark->t_ns;
}

static const char *show_since_then(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_duration(buf, r->s->duration_ns - MIN(r->mark->t_ns, r->s->duration_ns));
}

static double number(const struct row_of *r)
{
	return r->mark->number;
}

static const char *show_number(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_count(buf, r->mark->number);
}

static double since(const struct row_of *r)
{
	return r->mark_before ? (double)(r->mark->t_ns - r->mark_before->t_ns) : NAN;
}

static const char *show_since(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->mark_before ? fmt_duration(buf, r->mark->t_ns - r->mark_before->t_ns) : "-";
}

static double allocs(const struct row_of *r)
{
	return r->mark_before ? (double)(r->mark->alloc_calls - r->mark_before->alloc_calls) : NAN;
}

static const char *show_allocs(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->mark_before ? fmt_count(buf, r->mark->alloc_calls - r->mark_before->alloc_calls) : "-";
}

static double bytes(const struct row_of *r)
{
	return r->mark_before ? (double)(r->mark->alloc_bytes - r->mark_before->alloc_bytes) : NAN;
}

static const char *show_bytes(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->mark_before ? fmt_bytes(buf, r->mark->alloc_bytes - r->mark_before->alloc_bytes) : "-";
}

static double change(const struct row_of *r)
{
	return r->mark_before ? (double)r->mark->all_live_bytes - (double)r->mark_before->all_live_bytes : NAN;
}

static const char *show_change(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->mark_before ? fmt_change(buf, change(r)) : "-";
}

static double live(const struct row_of *r)
{
	return (double)r->mark->live_bytes;
}

static const char *show_live(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_bytes(buf, r->mark->live_bytes);
}

static const char *show_process(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%.40s (%d)", r->process->comm, (int)r->process->pid);
	return buf;
}

static const char *show_mark(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->mark->name;
}

static const struct column of_mark[] = {
	{ "time", "AGO", 7, .value = since_then, .format = show_since_then },
	{ "number", "#", 7, .value = number, .format = show_number },
	{ "since", "SINCE", 7, .value = since, .format = show_since },
	{ "allocs", "ALLOCS", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .value = allocs, .format = show_allocs },
	{ "bytes", "BYTES", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .value = bytes, .format = show_bytes },
	{ "change", "LIVE Δ", 10, .scaled = true, .needs = LIVE, .value = change, .format = show_change },
	{ "live", "LIVE", 9, .scaled = true, .needs = LIVE, .value = live, .format = show_live },
	{ "process", "PROCESS", 22, true, .format = show_process },
	{ "mark", "MARK", 14, true, .format = show_mark },
};
const struct columns mark_columns = { of_mark, ARRAY_SIZE(of_mark) };

/* ---- conditions */

static double fired(const struct row_of *r)
{
	return (double)r->when->fired;
}

static const char *show_fired(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_count(buf, r->when->fired);
}

static double last(const struct row_of *r)
{
	return r->when->fired ? (double)r->when->last_ns : NAN;
}

static const char *show_last(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->when->fired ? fmt_duration(buf, r->s->duration_ns - MIN(r->when->last_ns, r->s->duration_ns)) : "-";
}

static const char *show_condition(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->when->text;
}

static const char *show_why(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->when->why ? r->when->why : "not met yet";
}

static enum tone fired_tone(const struct row_of *r)
{
	return r->when->fired ? TONE_WARN : TONE_DIM;
}

static const struct column of_when[] = {
	{ "fired", "FIRED", 7, .value = fired, .format = show_fired, .tone = fired_tone },
	{ "last", "LAST", 7, .value = last, .format = show_last, .tone = fired_tone },
	{ "condition", "CONDITION", 20, true, .format = show_condition },
	{ "why", "WHAT IT SAID", 0, true, .format = show_why },
};
const struct columns when_columns = { of_when, ARRAY_SIZE(of_when) };
