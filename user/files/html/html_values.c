// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how values that stand in many places of the HTML report's data are
 * written. What always holds: a string is in the table once, and the counters
 * have one order everywhere.
 */
#include "files/html/html_parts.h"
#include "model/schema.h"
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

void html__counters(struct json *j, const char *key, const struct counters *c)
{
	json__array(j, key);
	for (size_t i = 0; i < counter_fields.n; i++)
		json__u64(j, NULL, *(const uint64_t *)field__of(&counter_fields.v[i], c));
	json__array_end(j);
}

void html__counter_table(struct json *j, unsigned int known)
{
	json__line(j, 0);
	json__array(j, "counters");
	for (size_t i = 0; i < counter_fields.n; i++)
		json__str(j, NULL, counter_fields.v[i].key);
	json__array_end(j);
	json__array(j, "known");
	for (size_t i = 0; i < counter_fields.n; i++)
		if (known & counter_fields.v[i].needs)
			json__str(j, NULL, counter_fields.v[i].key);
	json__array_end(j);
}
