// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of marks (--mark) and of conditions (--when). What always holds: a
 * mark's figures are those since the mark before it that has figures, too.
 */
#include <math.h>

#include "present/columns.h"
#include "util/parse.h"
#include "util/util.h"

#define MARK(key) IS(mark_fields, key)
#define SINCE "Since the mark before"

/* ---- marks */

FIGURE(since_then, (double)r->mark->t_ns,
       fmt_duration(buf, r->s->duration_ns - MIN(r->mark->t_ns, r->s->duration_ns)))

static const char *show_process(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%.40s (%d)", r->process->comm, (int)r->process->pid);
	return buf;
}

static const struct column of_mark[] = {
	{ "time", "AGO", 7, .label = "At", .field = MARK("t_ns"), .value = since_then, .format = show_since_then },
	{ "number", "#", 7, .field = MARK("number") },
	{ "since", "SINCE", 7, .since = true, .field = MARK("t_ns") },
	{ "allocs", "ALLOCS", 7, .scaled = true, .label = "Allocations", .tip = SINCE, .since = true, .field = MARK("alloc_calls") },
	{ "bytes", "BYTES", 9, .scaled = true, .tip = SINCE, .since = true, .field = MARK("alloc_bytes") },
	{ "change", "LIVE Δ", 10, .scaled = true, .label = "Δ live", .tip = SINCE, .since = true, .unit = UNIT_CHANGE, .field = MARK("all_live_bytes") },
	{ "live", "LIVE", 9, .scaled = true, .tip = "Of its process", .field = MARK("live_bytes") },
	{ "tid", "TID", 7, .label = "TID", .field = MARK("tid") },
	{ "compare", "", 7, true, .label = "Since the one before" },
	{ "process", "PROCESS", 22, true, .groups = true, .format = show_process },
	{ "mark", "MARK", 14, true, .field = MARK("name") },
};
const struct columns mark_columns = { of_mark, ARRAY_SIZE(of_mark) };

/* ---- conditions */

FIGURE(fired, (double)r->when->fired, fmt_count(buf, r->when->fired))
FIGURE(last, r->when->fired ? (double)r->when->last_ns : NAN,
       r->when->fired ? fmt_duration(buf, r->s->duration_ns - MIN(r->when->last_ns, r->s->duration_ns)) : "-")

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
