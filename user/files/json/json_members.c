// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how tables of members are walked. What always holds: what is written by a table is read
 * by it; rows and strings that were read are in the snapshot's memory.
 */
#include <errno.h>
#include <string.h>

#include "files/json/json_members.h"

/* Far beyond what malloctrace writes: a process keeps a few thousand points. */
#define ROWS_MAX 1000000

/* ---- writing */

void json__u64_or_null(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json__u64(j, key, n);
	else
		json__null(j, key);
}

static bool is_there(const struct member *m, const char *row, unsigned int known)
{
	static const char none[sizeof(uint64_t)];

	return !(m->needs & ~known) && (!m->flag || *(const bool *)(row + m->flag)) &&
	       (!m->any || memcmp(row + m->any, none, sizeof(none)));
}

static void write_object(struct writer *w, const struct member *of, const char *key,
			 const void *row, unsigned int known)
{
	json__object(w->j, key);
	json__members(w, of, row, known);
	json__object_end(w->j);
}

static void write_rows(struct writer *w, const struct member *m, const char *rows, size_t n,
		       unsigned int known)
{
	struct json *j = w->j;
	bool was_terse = j->terse;

	if (j->terse && !n)
		return;
	json__array(j, m->key);
	j->terse |= m->terse && w->terse;
	for (size_t i = 0; i < n; i++, rows += m->size) {
		if (m->skips && m->skips(rows))
			continue;
		if (m->row_line)
			json__line(j, m->row_line);
		write_object(w, m, NULL, rows, m->known ? m->known(w->s, rows, known) : known);
	}
	j->terse = was_terse;
	json__array_end(j);
}

static void write_strings(struct json *j, const struct member *m, const char *const *v, size_t n)
{
	json__array(j, m->key);
	for (size_t i = 0; i < n; i++)
		json__str(j, NULL, v[i]);
	json__array_end(j);
}

static void write_index(struct writer *w, const struct member *m, uint32_t index)
{
	bool plus = m->none == INDEX_PLUS_1;

	if (m->table == TABLE_PROCESSES)
		json__u64(w->j, m->key, w->s->processes[index].id);
	else
		json__u64_or_null(w->j, m->key, !plus || index, index - plus);
}

/* A sum is not in the file; the mean is what all readers want. */
static void write_mean(struct writer *w, const struct member *m, uint64_t sum, uint64_t n)
{
	json__u64_or_null(w->j, m->key, n, n ? sum / n : 0);
}

static void write_there(struct writer *w, const struct member *m, const void *row,
			unsigned int known)
{
	const void *at = (const char *)row + m->offset;

	if (json_owns[m->own].write) {
		json_owns[m->own].write(w, m, row);
		return;
	}
	switch (m->kind) {
	case MEMBER_FIELDS:
		json__row(w->j, m->fields, at, known);
		break;
	case MEMBER_OBJECT:
		write_object(w, m, m->key, at, known);
		break;
	case MEMBER_POINTER:
		write_object(w, m, m->key, *(const void *const *)at, known);
		break;
	case MEMBER_ROWS:
		write_rows(w, m, *(const char *const *)at, member__count(m, row), known);
		break;
	case MEMBER_STRINGS:
		write_strings(w->j, m, *(const char *const *const *)at, member__count(m, row));
		break;
	case MEMBER_INDEX:
		write_index(w, m, *(const uint32_t *)at);
		break;
	case MEMBER_MEAN:
		write_mean(w, m, *(const uint64_t *)at,
			   *(const uint64_t *)((const char *)row + m->count));
		break;
	case MEMBER_STACK:
		json__stack(w, m, row);
		break;
	case MEMBER_FRAMES:
		json__frames(w, m);
		break;
	default:
		break;
	}
}

void json__members(struct writer *w, const struct member *of, const void *row, unsigned int known)
{
	if (of->fields)
		json__row(w->j, of->fields, row, known);
	for (const struct member *m = of->members; m && m->kind; m++) {
		bool there = is_there(m, row, known);

		if (!there && m->empty == EMPTY_IS_ABSENT)
			continue;
		if (m->line)
			json__line(w->j, m->line);
		if (there)
			write_there(w, m, row, known);
		else
			json__null(w->j, m->key);
	}
}

/* ---- reading */

bool json_value__is_there(json_t *v)
{
	return v && !json_is_null(v);
}

int reader__array(struct reader *r, json_t *v, const struct member *m, size_t *ret_n)
{
	size_t max = m->max ? m->max : ROWS_MAX;

	*ret_n = 0;
	if (!json_value__is_there(v))
		return 0;
	if (!json_is_array(v))
		return err_set(r->e, -EINVAL, "%s: want an array", m->key);
	*ret_n = json_array_size(v);
	return *ret_n > max ? err_set(r->e, -E2BIG, "%s: more than %zu of them", m->key, max) : 0;
}

int reader__rows(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct span *piece = from == r->whole ? reader__piece(r, m->key) : NULL;
	json_t *array = json_object_get(from, m->key);
	size_t n;
	char *v;
	int err = piece ? reader__count(r, *piece, m, &n) : reader__array(r, array, m, &n);

	if (err)
		return err;
	v = snapshot__alloc(r->s, n + 1, m->size);
	*(const void **)((char *)row + m->offset) = v;
	member__set_count(m, row, n);
	if (piece) {
		r->terse = m->terse && n > JSON_FULL_SITES;
		err = reader__elements(r, *piece, m, v);
		r->terse = false;
		return err;
	}
	for (size_t i = 0; i < n && !err; i++)
		err = reader__members(r, json_array_get(array, i), m, v + i * m->size);
	return err;
}

static int read_strings(struct reader *r, const struct member *m, json_t *array, void *row,
			const char *what)
{
	const char **v;
	size_t n;
	int err = reader__array(r, array, m, &n);

	if (err)
		return err;
	v = snapshot__alloc(r->s, n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(array, i));

		v[i] = text ? reader__string(r, text) : NULL;
		if (!v[i])
			return err_set(r->e, -EINVAL, "%s: %s: want strings", what, m->key);
	}
	*(const void **)((char *)row + m->offset) = v;
	member__set_count(m, row, n);
	return 0;
}

static int read_process(struct reader *r, const struct member *m, json_t *v, uint32_t *to)
{
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return err_set(r->e, -EINVAL, "a site: process: want the id of a process");
	if (!key_ids__find(&r->process_ids, (struct key){ .a = (uint64_t)json_integer_value(v) },
			   to))
		return err_set(r->e, -EINVAL, "a site: process: no process has the id %lld",
			       (long long)json_integer_value(v));
	return 0;
}

/* It is of a list that was read before. */
static int read_index(struct reader *r, const struct member *m, json_t *v, uint32_t *to,
		      const char *what)
{
	const struct member *list = table__member(m->table);
	bool plus = m->none == INDEX_PLUS_1;

	if (m->table == TABLE_PROCESSES)
		return read_process(r, m, v, to);
	if (plus && !json_value__is_there(v))
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    (uint64_t)json_integer_value(v) >= member__count(list, r->s))
		return err_set(r->e, -EINVAL, "%s: %s: want the number of %s", what, m->key,
			       list->what);
	*to = (uint32_t)json_integer_value(v) + plus;
	return 0;
}

static int read_mean(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct field mean = ROW(m->key, FIELD_U64, m->offset);
	uint64_t *sum = (uint64_t *)((char *)row + m->offset);
	int err = reader__row(r, from, row, &(struct fields){ .v = &mean, .n = 1 }, "a site");

	if (__builtin_mul_overflow(*sum, *(const uint64_t *)((const char *)row + m->count), sum))
		*sum = UINT64_MAX;
	return err;
}

static int read_member(struct reader *r, const struct member *m, json_t *from, void *row,
		       const char *what)
{
	json_t *v = m->key ? json_object_get(from, m->key) : NULL;
	bool is_piece = from == r->whole && m->key && reader__piece(r, m->key);
	bool there = is_piece || json_value__is_there(v);
	void *at = (char *)row + m->offset;

	if (m->flag)
		*(bool *)((char *)row + m->flag) = there;
	if (json_owns[m->own].read)
		return json_owns[m->own].read(r, m, from, row);
	switch (m->kind) {
	case MEMBER_FIELDS:
		return reader__row(r, from, at, m->fields, what);
	case MEMBER_POINTER:
		if (!there)
			return 0;
		*(const void **)at = snapshot__alloc(r->s, 1, m->size);
		return reader__members(r, v, m, *(void **)at);
	case MEMBER_OBJECT:
		/* null is written only of what may not be there */
		if (!v || (!there && (m->needs || m->flag || m->any)))
			return 0;
		return reader__members(r, v, m, at);
	case MEMBER_ROWS:
		return reader__rows(r, m, from, row);
	case MEMBER_STRINGS:
		return read_strings(r, m, v, row, what);
	case MEMBER_INDEX:
		return read_index(r, m, v, at, what);
	case MEMBER_MEAN:
		return read_mean(r, m, from, row);
	case MEMBER_STACK:
		return reader__stack(r, m, from, row);
	default:
		return 0;
	}
}

int reader__members(struct reader *r, json_t *from, const struct member *of, void *row)
{
	const char *what = of->what ? of->what : of->key;
	int err = 0;

	if (!json_is_object(from))
		return err_set(r->e, -EINVAL, "%s: want an object", what);
	if (of->fields)
		err = reader__row(r, from, row, of->fields, what);
	for (const struct member *m = of->members; m && m->kind && !err; m++)
		err = read_member(r, m, from, row, what);
	return err;
}
