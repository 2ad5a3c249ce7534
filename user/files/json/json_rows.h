/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Rows of the schema as JSON objects. */
#ifndef MT_JSON_ROWS_H
#define MT_JSON_ROWS_H

#include "files/json/json_writer.h"
#include "model/schema.h"

/* The keys of a row, without the braces. known: enum counter_bit and enum known_of_row. */
void json__row(struct json *j, const struct fields *fields, const void *row, unsigned int known);
/* An object of nothing else. */
void json__object_of(struct json *j, const char *key, const struct fields *fields, const void *row, unsigned int known);
/* An array of such; indent 0: all in one line. */
void json__array_of(struct json *j, const char *key, int indent, const struct fields *fields,
		    const void *rows, size_t n, size_t size, unsigned int known);
/* COUNTERS; error NULL: these are counted, or nothing is known about their error. */
void json__counters(struct json *j, const struct counters *c, unsigned int known, const struct std_error *error);

#endif
