// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of tables that only a page has (files/html/page/): places where
 * blocks were freed, what changed between two moments that its reader chose, and
 * functions, each with what it allocates itself and with what its callees do.
 * What is no field of the schema is made by the page's script, by the column's name.
 */
#include "present/columns.h"
#include "util/util.h"

static const struct column of_free_place[] = {
	{ "frees", "FREES", 7, .field = IS(free_site_fields, "calls") },
	{ "share", "SHARE", .width = 5 },
	{ "bytes", "BYTES", 9, .field = IS(free_site_fields, "bytes") },
	{ "cross", "OTHERS'", 7, .tip = "Of blocks that another thread allocated" },
	{ "lived", "LIVED", 6, .tip = "How long the blocks had lived, on average" },
	{ "threads", "THREADS", .left = true },
	{ "process", "PROCESS", .left = true },
	{ "site", "FREED AT", .left = true },
};
const struct columns free_place_columns = { of_free_place, ARRAY_SIZE(of_free_place) };

static const struct column of_change[] = {
	{ "change", "CHANGE", 10, .scaled = true },
	{ "share", "SHARE", .width = 5 },
	{ "from", "FROM", 9, .scaled = true },
	{ "to", "TO", 9, .scaled = true },
	{ "verdict", "VERDICT", 8, true, .tip = COLUMN_JUDGED },
	{ "process", "PROCESS", .left = true },
	{ "site", "SITE", .left = true },
};
const struct columns change_columns = { of_change, ARRAY_SIZE(of_change) };

#define LIVE (HAS_LIVE_BLOCKS | HAS_LIVE_BYTES)
#define SELF "Of the stacks that are named by it"
#define TOTAL "Of all stacks that it is in, each of them once"

/* those without TOTAL are what reports show of a function (present/sums.c) */
static const struct column of_function[] = {
	{ "live", "LIVE SELF", 9, .scaled = true, .tip = SELF, .field = IS(counter_fields, "live_bytes") },
	{ "share", "SHARE", .width = 5 },
	{ "live-total", "LIVE TOTAL", 10, .scaled = true, .needs = LIVE, .tip = TOTAL },
	{ "blocks", "BLOCKS SELF", 11, .scaled = true, .tip = SELF, .field = IS(counter_fields, "live_blocks") },
	{ "blocks-total", "BLOCKS TOTAL", 12, .scaled = true, .needs = LIVE, .tip = TOTAL },
	{ "calls", "CALLS SELF", 10, .scaled = true, .tip = SELF, .field = IS(counter_fields, "alloc_calls") },
	{ "calls-total", "CALLS TOTAL", 11, .scaled = true, .tip = TOTAL },
	{ "bytes", "BYTES", 9, .scaled = true, .tip = "Allocated, by the stacks that are named by it", .field = IS(counter_fields, "alloc_bytes") },
	{ "freed", "FREED", 5, .tip = SELF, .field = IS(counter_fields, "free_calls"), .over = IS(counter_fields, "alloc_calls") },
	{ "stacks", "STACKS", 7, .tip = "Those that are named by it" },
	{ "change", "Δ SELF", 10, .scaled = true, .needs = LIVE },
	{ "change-total", "Δ TOTAL", 10, .scaled = true, .needs = LIVE },
	{ "function", "FUNCTION", .left = true },
};
const struct columns function_columns = { of_function, ARRAY_SIZE(of_function) };
