// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns how a field looks in JSON, by its type. What always holds: json_fields.c reads what is written here. */
#include "files/json/json_rows.h"

#include <string.h>
#include <time.h>

#include "util/clock.h"

static void wall_time(struct json *j, const char *key, int64_t ns)
{
	time_t sec = ns / SECOND_NS - (ns % SECOND_NS < 0);
	int ms = (int)((ns - sec * SECOND_NS) / MS_NS);
	char date[40], text[48];
	struct tm tm;

	if (!gmtime_r(&sec, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm)) {
		json__null(j, key);
		return;
	}
	snprintf(text, sizeof(text), "%s.%03dZ", date, ms);
	json__str(j, key, text);
}

static void value(struct json *j, const struct field *f, const void *at)
{
	switch (f->type) {
	case FIELD_U64:
		json__u64(j, f->key, *(const uint64_t *)at);
		break;
	case FIELD_BOUND:
		if (*(const uint64_t *)at == UINT64_MAX)
			json__null(j, f->key);
		else
			json__u64(j, f->key, *(const uint64_t *)at);
		break;
	case FIELD_I64:
		json__i64(j, f->key, *(const int64_t *)at);
		break;
	case FIELD_U32:
		json__u64(j, f->key, *(const uint32_t *)at);
		break;
	case FIELD_INT:
		json__i64(j, f->key, *(const int *)at);
		break;
	case FIELD_DOUBLE:
	case FIELD_ERROR:
		json__double(j, f->key, *(const double *)at);
		break;
	case FIELD_BOOL:
		json__bool(j, f->key, *(const bool *)at);
		break;
	case FIELD_STR:
		json__str(j, f->key, *(const char *const *)at);
		break;
	case FIELD_ENUM:
		json__str(j, f->key, choices__name(f->choices, *(const unsigned int *)at));
		break;
	case FIELD_ADDR:
		json__hex(j, f->key, *(const uint64_t *)at);
		break;
	case FIELD_TIME:
		wall_time(j, f->key, *(const int64_t *)at);
		break;
	}
}

void json__row(struct json *j, const struct fields *fields, const void *row, unsigned int known)
{
	for (size_t i = 0; i < fields->n; i++) {
		const struct field *f = &fields->v[i];
		bool unknown = f->needs & ~known, empty = field__is_empty(f, row);

		if (f->line)
			json__line(j, f->line);
		if (f->empty == EMPTY_IS_ABSENT && (unknown || (empty && (!f->needs || f->type == FIELD_BOOL))))
			continue;
		if (unknown || (f->empty == EMPTY_IS_NULL && empty))
			json__null(j, f->key);
		else
			value(j, f, field__of(f, row));
	}
}

void json__object_of(struct json *j, const char *key, const struct fields *fields, const void *row, unsigned int known)
{
	json__object(j, key);
	json__row(j, fields, row, known);
	json__object_end(j);
}

void json__array_of(struct json *j, const char *key, int indent, const struct fields *fields,
		    const void *rows, size_t n, size_t size, unsigned int known)
{
	if (j->terse && !n)
		return;
	json__array(j, key);
	for (size_t i = 0; i < n; i++) {
		if (indent)
			json__line(j, indent);
		json__object_of(j, NULL, fields, (const char *)rows + i * size, known);
	}
	json__array_end(j);
}

void json__counters(struct json *j, const struct counters *c, unsigned int known, const struct std_error *error)
{
	json__row(j, &counter_fields, c, known);
	if (error)
		json__object_of(j, "standard_error", &error_fields, error, known);
}
