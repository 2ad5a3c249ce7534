/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The JSON profile as one value of a JSON stream: a file of its own (json__write), or a part of the HTML report. */
#ifndef MT_JSON_H
#define MT_JSON_H

#include "files/json/json_writer.h"
#include "model/schema.h"

void json__document(struct json *j, const struct snapshot *s);
/* The keys of a row, without the braces. known: enum counter_bit and enum known_of_row. */
void json__row(struct json *j, const struct fields *fields, const void *row, unsigned int known);

#endif
