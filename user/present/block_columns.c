// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the columns of live blocks (--view blocks). What always holds: what is not known, or not so, is "-". */
#include <inttypes.h>
#include <math.h>

#include "present/columns.h"
#include "present/telling.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

static double address(const struct row_of *r)
{
	return -(double)r->block->addr;
}

static const char *show_address(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%#" PRIx64, r->block->addr);
	return buf;
}

static double size(const struct row_of *r)
{
	return (double)r->block->bytes;
}

/* All digits: it is typed again in a debugger. */
static const char *show_size(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_exact(buf, r->block->bytes);
}

/* Of a trace that leaves blocks out, one without a site may be older than it, or was not recorded. */
static bool is_older(const struct row_of *r)
{
	return !r->block->site && r->heap && r->heap->older_known;
}

static double age(const struct row_of *r)
{
	return r->block->age_ns ? (double)r->block->age_ns : NAN;
}

static const char *show_age(const struct row_of *r, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	if (r->block->age_ns)
		return fmt_duration(buf, r->block->age_ns);
	if (!is_older(r))
		return "-";
	snprintf(buf, CELL_MAX, ">%s", fmt_duration(a, r->s->duration_ns));
	return buf;
}

static double tid(const struct row_of *r)
{
	return r->block->tid ? -(double)r->block->tid : NAN;
}

static const char *show_tid(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%d", r->block->tid);
	return r->block->tid ? buf : "-";
}

static bool is_lost(const struct row_of *r)
{
	return r->block->reach == REACH_UNREACHED || r->block->reach == REACH_INDIRECT;
}

/* The words of the sentence above it; what a pointer was found to has none. */
static const char *show_unreached(const struct row_of *r, char buf[static CELL_MAX])
{
	return !is_lost(r) ? "-" : r->block->reach == REACH_INDIRECT ? "indirect" : "direct";
}

static enum tone unreached_tone(const struct row_of *r)
{
	return is_lost(r) ? TONE_BAD : TONE_DIM;
}

static const char *show_type(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->block->type ? r->block->type : "-";
}

static const char *show_site(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct column *site = columns__find(&site_columns, "site");

	/* of no trace there are no sites */
	if (!r->site)
		return is_older(r) ? "[older]" : r->s->known & HAS_ALL ? "-" : "";
	return site->format(r, buf);
}

static const struct column of_block[] = {
	{ "address", "ADDRESS", 18, .value = address, .format = show_address },
	{ "size", "BYTES", 19, .value = size, .format = show_size },
	{ "age", "AGE", 7, .value = age, .format = show_age },
	{ "tid", "TID", 7, .value = tid, .format = show_tid },
	{ "unreached", "UNREACHED", 9, true, .format = show_unreached, .tone = unreached_tone },
	{ "type", "TYPE", 0, true, .code = true, .format = show_type },
	{ "site", "SITE", 0, true, .code = true, .format = show_site },
};
const struct columns block_columns = { of_block, ARRAY_SIZE(of_block) };
