// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how fields look in JSON, by their types, and what a value of a key may be. What always
 * holds: what is written here is read here; strings that were read are clean, and each is kept
 * once; a number is in the range of its field.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "files/json/json_members.h"
#include "util/clock.h"

/* ---- writing */

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
		json__u64_or_null(j, f->key, *(const uint64_t *)at != UINT64_MAX, *(const uint64_t *)at);
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
		bool unread = field__is_unread(fields, f, row), empty = field__is_empty(f, row);
		bool unknown = f->needs & ~known || unread;

		if (f->line)
			json__line(j, f->line);
		if (f->empty == EMPTY_IS_ABSENT && (unknown || (empty && (!f->needs || f->type == FIELD_BOOL))))
			continue;
		/* where empty keys are left out no key is a 0 */
		if (unread)
			json__unknown(j, f->key);
		else if (unknown || (f->empty == EMPTY_IS_NULL && empty))
			json__null(j, f->key);
		else
			value(j, f, field__of(f, row));
	}
}

/* ---- reading */

const char *reader__string(struct reader *r, const char *str)
{
	size_t n = r->strings.n;
	_cleanup_free_ char *clean = xstrdup(str);
	uint32_t id;

	clean_name(clean);
	string_ids__get(&r->strings, clean, &id);
	if (r->strings.n > n)
		r->strings.v[id] = snapshot__strdup(r->s, clean);
	return r->strings.v[id];
}

static int bad(struct reader *r, const char *what, const char *key, const char *want)
{
	return err_set(r->e, -EINVAL, "%s: %s: want %s", what, key, want);
}

static int read_number(struct reader *r, json_t *v, const struct field *f, void *to, const char *what)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v))
		return bad(r, what, f->key, "a whole number");
	if (f->type != FIELD_INT && f->type != FIELD_I64 && n < 0)
		return bad(r, what, f->key, "a number that is not below 0");
	if ((f->type == FIELD_U32 && n > UINT32_MAX) || (f->type == FIELD_INT && (n > INT_MAX || n < INT_MIN)))
		return bad(r, what, f->key, "a smaller number");
	if (f->type == FIELD_U32)
		*(uint32_t *)to = (uint32_t)n;
	else if (f->type == FIELD_INT)
		*(int *)to = (int)n;
	else
		*(uint64_t *)to = (uint64_t)n;
	return 0;
}

/* "2026-11-14T23:58:32.125Z" */
static int read_time(const char *s, int64_t *ret_ns)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	struct tm tm = {};
	int ms = 0;

	if (!s || strlen(s) != sizeof(form) - 1)
		return -EINVAL;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
			return -EINVAL;
	sscanf(s, "%d-%d-%dT%d:%d:%d.%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
	       &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms);
	/* nanoseconds reach from 1678 to 2262 */
	if (tm.tm_year < 1700 || tm.tm_year > 2200)
		return -ERANGE;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret_ns = timegm(&tm) * SECOND_NS + ms * MS_NS;
	return 0;
}

/* Of another version, which knows of more. */
static int read_enum(struct reader *r, json_t *v, const struct field *f, unsigned int *to, const char *what)
{
	const char *name = json_string_value(v);

	if (!name)
		return bad(r, what, f->key, "a string");
	if (choices__find(f->choices, name, to))
		return 0;
	return err_set(r->e, -EINVAL, "%s: this version does not know --%s %s", f->key, f->key, reader__string(r, name));
}

/* "0x5581a2c0", as json__hex() writes it */
static int read_addr(const char *s, uint64_t *ret)
{
	if (!s || strncmp(s, "0x", 2) || !s[2] || strlen(s) > 18 ||
	    s[2 + strspn(s + 2, "0123456789abcdefABCDEF")])
		return -EINVAL;
	*ret = strtoull(s + 2, NULL, 16);
	return 0;
}

static int read_one(struct reader *r, json_t *v, const struct field *f, void *to, const char *what)
{
	switch (f->type) {
	case FIELD_STR:
		if (!json_is_string(v))
			return bad(r, what, f->key, "a string");
		*(const char **)to = reader__string(r, json_string_value(v));
		return 0;
	case FIELD_ENUM:
		return read_enum(r, v, f, to, what);
	case FIELD_BOOL:
		if (!json_is_boolean(v))
			return bad(r, what, f->key, "true or false");
		*(bool *)to = json_is_true(v);
		return 0;
	case FIELD_DOUBLE:
	case FIELD_ERROR:
		if (!json_is_number(v))
			return bad(r, what, f->key, "a number");
		*(double *)to = json_number_value(v);
		return 0;
	case FIELD_ADDR:
		return read_addr(json_string_value(v), to) ? bad(r, what, f->key, "an address like \"0x5581a2c0\"") : 0;
	case FIELD_TIME:
		return read_time(json_string_value(v), to) ? bad(r, what, f->key, "a time like \"2026-11-14T23:58:32.125Z\"") : 0;
	default:
		return read_number(r, v, f, to, what);
	}
}

int reader__row(struct reader *r, json_t *from, void *to, const struct fields *fields, const char *what)
{
	int err = 0;

	if (!json_is_object(from))
		return err_set(r->e, -EINVAL, "%s: want an object", what);
	for (size_t i = 0; i < fields->n && !err; i++) {
		const struct field *f = &fields->v[i];
		json_t *v = json_object_get(from, f->key);
		void *at = (char *)to + f->offset;

		if (v && !json_is_null(v))
			err = read_one(r, v, f, at, what);
		else if (f->type == FIELD_BOUND)
			*(uint64_t *)at = UINT64_MAX;
		/* without a key: a file of a version that did not know it */
		else if (f->type == FIELD_ERROR)
			*(double *)at = INFINITY;
		else if (f->missing)
			*(const char **)at = f->missing;
		else if (v || !r->terse)
			field__set_unread(fields, f, to);
	}
	return err;
}
