// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how values that stand in many places of the HTML report's data are
 * written. What always holds: a string is in the table once, and the counters
 * have one order everywhere.
 */
#include "export/html_parts.h"
#include "util/util.h"

int64_t html__number(struct html_strings *t, const char *s)
{
	uint32_t id = 0;

	if (!s)
		return -1;
	if (!t->err)
		t->err = string_ids__get(&t->ids, s, &id);
	return id;
}

void html__bound(struct json *j, uint64_t below)
{
	if (below == UINT64_MAX)
		json__null(j, NULL);
	else
		json__u64(j, NULL, below);
}

static const struct {
	const char *name;
	enum counter_bit bit;
} counter_names[] = {
	{ "alloc_calls", HAS_ALLOC_CALLS },	{ "alloc_bytes", HAS_ALLOC_BYTES },
	{ "free_calls", HAS_FREE_CALLS },	{ "free_bytes", HAS_FREE_BYTES },
	{ "live_blocks", HAS_LIVE_BLOCKS },	{ "live_bytes", HAS_LIVE_BYTES },
	{ "peak_bytes", HAS_PEAK_BYTES },	{ "realloc_calls", HAS_REALLOC_CALLS },
	{ "temp_calls", HAS_TEMP_CALLS },	{ "failed_calls", HAS_FAILED_CALLS },
	{ "unknown_frees", HAS_UNKNOWN_FREES },
};

void html__counters(struct json *j, const char *key, const struct counters *c)
{
	const uint64_t v[] = {
		c->alloc_calls, c->alloc_bytes, c->free_calls, c->free_bytes, c->live_blocks, c->live_bytes,
		c->peak_bytes, c->realloc_calls, c->temp_calls, c->failed_calls, c->unknown_frees,
	};

	_Static_assert(ARRAY_SIZE(v) == ARRAY_SIZE(counter_names), "one name each");
	json__array(j, key);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		json__u64(j, NULL, v[i]);
	json__array_end(j);
}

void html__counter_table(struct json *j, unsigned int known)
{
	json__line(j, 0);
	json__array(j, "counters");
	for (size_t i = 0; i < ARRAY_SIZE(counter_names); i++)
		json__str(j, NULL, counter_names[i].name);
	json__array_end(j);
	json__array(j, "known");
	for (size_t i = 0; i < ARRAY_SIZE(counter_names); i++)
		if (known & counter_names[i].bit)
			json__str(j, NULL, counter_names[i].name);
	json__array_end(j);
}
