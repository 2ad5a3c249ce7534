/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How tables of fields and members (schema.h) are written down. */
#ifndef MT_SCHEMA_ROWS_H
#define MT_SCHEMA_ROWS_H

#include "model/schema.h"
#include "util/util.h"

/* The key, the type, where it lies, and what else there is by name. */
#define ROW(its_key, its_type, its_offset, ...) { .key = its_key, .type = its_type, .offset = its_offset, __VA_ARGS__ }
#define AT(type, name) offsetof(struct type, name)
/* A table of such rows, which are name_rows[]. */
#define FIELDS(name, ...) FIELDS_OF(name, 0, __VA_ARGS__)
/* The same, of rows that say which of them are not known. */
#define FIELDS_OF(name, its_unread, ...) \
	static const struct field name##_rows[] = { __VA_ARGS__ }; \
	_Static_assert(!(its_unread) || ARRAY_SIZE(name##_rows) <= 64, "a bit for each"); \
	const struct fields name = { name##_rows, ARRAY_SIZE(name##_rows), its_unread }
#define OR_UNKNOWN .absent = ABSENT_IS_UNKNOWN

#define OR_ABSENT .empty = EMPTY_IS_ABSENT
#define OF_FIELDS(its_fields, ...) { .kind = MEMBER_FIELDS, .fields = its_fields, __VA_ARGS__ }
#define OBJECT(its_key, its_fields, ...) \
	{ .kind = MEMBER_OBJECT, .key = its_key, .fields = its_fields, __VA_ARGS__ }
#define ARRAY(its_kind, its_key, type, v, n, ...) \
	{ .kind = its_kind, .key = its_key, .offset = AT(type, v), .count = AT(type, n), \
	  .size = sizeof(*((struct type *)NULL)->v), \
	  .count_size = sizeof(((struct type *)NULL)->n), __VA_ARGS__ }
#define ROWS(its_key, its_fields, type, v, n, ...) \
	ARRAY(MEMBER_ROWS, its_key, type, v, n, .fields = its_fields, __VA_ARGS__)
#define STRINGS(its_key, type, v, n) ARRAY(MEMBER_STRINGS, its_key, type, v, n)
/* Far beyond what malloctrace writes: a site has at most 512 places. */
#define STACK(type, ...) \
	ARRAY(MEMBER_STACK, "stack", type, stack, n_stack, .max = 16384, __VA_ARGS__)
#define INDEX(its_key, type, name, its_table, ...) \
	{ .kind = MEMBER_INDEX, .key = its_key, .offset = AT(type, name), .table = its_table, \
	  __VA_ARGS__ }
#define PROCESS(type) INDEX("process", type, process, TABLE_PROCESSES)
#define MEAN(its_key, type, sum, n, ...) \
	{ .kind = MEMBER_MEAN, .key = its_key, .offset = AT(type, sum), .count = AT(type, n), \
	  __VA_ARGS__ }
#define OWN(its_own, its_key, ...) \
	{ .kind = MEMBER_OWN, .own = its_own, .key = its_key, __VA_ARGS__ }
#define STANDARD_ERROR(type) \
	OBJECT("standard_error", &error_fields, .offset = AT(type, error), OR_ABSENT, \
	       .needs = KNOWN_ERROR)
/* Members of a member, and fields that are nobody else's. */
#define MEMBERS(...) .members = (const struct member[]){ __VA_ARGS__, {} }
#define THESE(...) \
	(&(const struct fields){ .v = (const struct field[]){ __VA_ARGS__ }, \
				 .n = ARRAY_SIZE(((const struct field[]){ __VA_ARGS__ })) })
#define HEAPS_MAX 100000

#endif
