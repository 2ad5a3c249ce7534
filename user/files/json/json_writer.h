/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * JSON as a stream: what is written is never held in memory. Every value is
 * preceded by a key, or NULL inside an array. Output errors stay in the FILE.
 */
#ifndef MT_JSON_WRITER_H
#define MT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma;	/* something stands before the next value, in this object or array */
	bool newline;	/* the next value begins a line */
	int indent;	/* of such a line, in spaces */
	bool in_page;	/* inside an HTML script element: nothing in it ends that, and no blanks */
	bool terse;	/* no blanks, and no key whose value is null, false or a whole 0 */
};

void json__object(struct json *j, const char *key);
void json__object_end(struct json *j);
void json__array(struct json *j, const char *key);
void json__array_end(struct json *j);
void json__u64(struct json *j, const char *key, uint64_t n);
void json__i64(struct json *j, const char *key, int64_t n);
void json__double(struct json *j, const char *key, double d);	/* all digits it has; what is no number is null */
void json__bool(struct json *j, const char *key, bool b);
void json__null(struct json *j, const char *key);
void json__unknown(struct json *j, const char *key);	/* null, also where empty keys are left out */
void json__str(struct json *j, const char *key, const char *s);	/* NULL: null */
void json__hex(struct json *j, const char *key, uint64_t n);	/* a string, "0x1f" */
/* Half of a profile is numbers: a fifth of what printf takes. */
void digits__put(FILE *out, uint64_t n);
/* The next value, or the end of the object or array, is on a line of its own. */
void json__line(struct json *j, int indent);

/* ---- the profile as one value of a stream: a file of its own (json__write), or a part of the HTML report */

struct fields;
struct snapshot;
void json__document(struct json *j, const struct snapshot *s);
/* The keys of a row, without the braces. known: enum counter_bit and enum known_of_row. */
void json__row(struct json *j, const struct fields *fields, const void *row, unsigned int known);

#endif
