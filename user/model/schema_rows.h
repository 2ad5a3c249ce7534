/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How tables of fields (schema.h) are written down. */
#ifndef MT_SCHEMA_ROWS_H
#define MT_SCHEMA_ROWS_H

#include "model/schema.h"
#include "util/util.h"

/* The key, the type, where it lies, and what else there is by name. */
#define ROW(its_key, its_type, its_offset, ...) { .key = its_key, .type = its_type, .offset = its_offset, __VA_ARGS__ }
#define AT(type, name) offsetof(struct type, name)
/* A table of such rows, which are name_rows[]. */
#define FIELDS(name, ...) \
	static const struct field name##_rows[] = { __VA_ARGS__ }; \
	const struct fields name = { name##_rows, ARRAY_SIZE(name##_rows) }

#endif
