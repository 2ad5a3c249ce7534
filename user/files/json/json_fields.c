// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a value of a key may be. What always holds: strings are clean, and
 * each is kept once; a number is in the range of its field.
 */
#include "files/json/json_fields.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "util/util.h"


const char *reader__string(struct reader *r, const char *str)
{
	size_t n = r->strings.n;
	_cleanup_free_ char *clean = strdup(str);
	uint32_t id;

	if (!clean)
		return NULL;
	clean_name(clean);
	if (string_ids__get(&r->strings, clean, &id))
		return NULL;
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

static int digits(const char *s, size_t n, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		*ret = *ret * 10 + s[i] - '0';
	}
	return 0;
}

/* "2026-11-14T23:58:32.125Z", as json.c writes it */
static int read_time(const char *s, int64_t *ret_ns)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	struct tm tm = {};
	int ms;

	if (!s || strlen(s) != sizeof(form) - 1)
		return -EINVAL;
	for (size_t i = 0; form[i]; i++)
		if (form[i] != 'd' && s[i] != form[i])
			return -EINVAL;
	if (digits(s, 4, &tm.tm_year) || digits(s + 5, 2, &tm.tm_mon) || digits(s + 8, 2, &tm.tm_mday) ||
	    digits(s + 11, 2, &tm.tm_hour) || digits(s + 14, 2, &tm.tm_min) || digits(s + 17, 2, &tm.tm_sec) ||
	    digits(s + 20, 3, &ms))
		return -EINVAL;
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
	const char *name = json_string_value(v), *clean;

	if (!name)
		return bad(r, what, f->key, "a string");
	if (choices__find(f->choices, name, to))
		return 0;
	clean = reader__string(r, name);
	return clean ? err_set(r->e, -EINVAL, "%s: this version does not know --%s %s", f->key, f->key, clean) :
		       err_set(r->e, -ENOMEM, "out of memory");
}

/* "0x5581a2c0", as json__hex() writes it */
static int read_addr(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	if (!s || strncmp(s, "0x", 2) || !s[2] || strlen(s) > 18)
		return -EINVAL;
	for (s += 2; *s; s++) {
		if (!isxdigit((unsigned char)*s))
			return -EINVAL;
		n = n << 4 | (uint64_t)(isdigit((unsigned char)*s) ? *s - '0' : (*s | 0x20) - 'a' + 10);
	}
	*ret = n;
	return 0;
}

static int read_one(struct reader *r, json_t *v, const struct field *f, void *to, const char *what)
{
	switch (f->type) {
	case FIELD_STR:
		if (!json_is_string(v))
			return bad(r, what, f->key, "a string");
		*(const char **)to = reader__string(r, json_string_value(v));
		return *(const char **)to ? 0 : err_set(r->e, -ENOMEM, "out of memory");
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
	}
	return err;
}

int reader__counters(struct reader *r, json_t *from, struct counters *to, unsigned int *ret_known, const char *what)
{
	int err = reader__row(r, from, to, &counter_fields, what);

	for (size_t i = 0; !err && ret_known && i < counter_fields.n; i++)
		if (json_is_integer(json_object_get(from, counter_fields.v[i].key)))
			*ret_known |= counter_fields.v[i].needs;
	return err;
}

int reader__std_error(struct reader *r, json_t *from, struct std_error *to, const char *what)
{
	json_t *v = json_object_get(from, "standard_error");

	return v && !json_is_null(v) ? reader__row(r, v, to, &error_fields, what) : 0;
}

int reader__array(struct reader *r, json_t *from, const char *key, size_t max, json_t **ret, size_t *ret_n)
{
	json_t *v = json_object_get(from, key);

	*ret = v;
	*ret_n = 0;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_array(v))
		return err_set(r->e, -EINVAL, "%s: want an array", key);
	*ret_n = json_array_size(v);
	return *ret_n > max ? err_set(r->e, -E2BIG, "%s: more than %zu of them", key, max) : 0;
}
