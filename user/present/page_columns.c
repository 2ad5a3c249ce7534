// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of tables that only a page has (files/html/page/): places where
 * blocks were freed, and what changed between two moments that its reader chose.
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
