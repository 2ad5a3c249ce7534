// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a JSON profile is read. Jansson knows JSON, but makes a tree of what
 * it reads, twenty times as large as the text; so the text is cut into the
 * values of the outermost object and the elements of its arrays first, and each
 * of these pieces is a tree for as long as it is read. A piece is all that the
 * cutting knows: where strings and brackets end.
 *
 * What always holds: every piece is checked by Jansson, no tree is made of more
 * than PIECE_MAX_BYTES, and no file, however made, needs more memory than some
 * twenty times its size.
 */
#include "files/json/json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "files/json/json_members.h"
#include "util/util.h"

#define FILE_MAX_BYTES (1ull << 30)
#define PIECE_MAX_BYTES (64u << 20)
#define TOO_LARGE "is larger than anything that malloctrace writes"

/* ---- where values begin and end: nothing outside of the text is read */

static void skip_space(struct span *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
}

static bool take(struct span *s, char c)
{
	skip_space(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* After the closing quote; false: there is none. */
static bool skip_string(struct span *s)
{
	const char *quote, *before;

	for (s->at++; (quote = memchr(s->at, '"', (size_t)(s->end - s->at))); s->at = quote + 1) {
		/* the opening quote is no backslash either */
		for (before = quote; before[-1] == '\\'; before--)
			;
		if ((quote - before) % 2)
			continue;
		s->at = quote + 1;
		return true;
	}
	s->at = s->end;
	return false;
}

/* The value at s, whatever it is. Brackets are counted, not matched: Jansson will see. */
static bool take_value(struct span *s, struct span *ret)
{
	/* all but a few bytes mean nothing here */
	static const bool means[UCHAR_MAX + 1] = { ['"'] = true, [','] = true, ['{'] = true, ['['] = true, ['}'] = true, [']'] = true };
	size_t depth = 0;

	skip_space(s);
	ret->at = s->at;
	while (s->at < s->end) {
		char c = *s->at;

		if (!means[(unsigned char)c]) {
			s->at++;
			continue;
		}
		if (c == '"') {
			if (!skip_string(s))
				return false;
			if (!depth)
				break;
			continue;
		}
		if (!depth && (c == ',' || c == '}' || c == ']'))
			break;
		s->at++;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && !--depth)
			break;
	}
	ret->end = s->at;
	return !depth && ret->end > ret->at;
}

/*
 * The next element of an array whose '[' was taken. False: there is none; *ret_bad says whether
 * there should be one.
 */
static bool take_element(struct span *s, bool *first, struct span *ret, bool *ret_bad)
{
	*ret_bad = false;
	if (take(s, ']'))
		return false;
	*ret_bad = (!*first && !take(s, ',')) || !take_value(s, ret);
	*first = false;
	return !*ret_bad;
}

/* ---- pieces */

/* NULL: it is no JSON. */
static json_t *parse(struct reader *r, const struct span *piece, const char *what)
{
	json_error_t error;
	json_t *j;

	if ((size_t)(piece->end - piece->at) > PIECE_MAX_BYTES) {
		err_set(r->e, -E2BIG, "%s: " TOO_LARGE, what);
		return NULL;
	}
	j = json_loadb(piece->at, (size_t)(piece->end - piece->at), JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	if (!j) {
		char text[sizeof(error.text)];

		snprintf(text, sizeof(text), "%s", error.text);
		clean_name(text);
		err_set(r->e, -EINVAL, "%s: %s", what, text);
	}
	return j;
}

int reader__count(struct reader *r, struct span array, const struct member *m, size_t *ret)
{
	bool first = true, bad;
	struct span piece;

	*ret = 0;
	if (!array.at)
		return 0;
	if (!take(&array, '['))
		return err_set(r->e, -EINVAL, "%s: want an array", m->key);
	while (take_element(&array, &first, &piece, &bad))
		if (++*ret > m->max)
			return err_set(r->e, -E2BIG, "%s: more than %zu of them", m->key, m->max);
	return bad ? err_set(r->e, -EINVAL, "%s: the array does not end", m->key) : 0;
}

int reader__elements(struct reader *r, struct span array, const struct member *m, void *v)
{
	bool first = true, bad;
	struct span piece;
	size_t n = 0;
	int err = 0;

	take(&array, '[');
	while (!err && take_element(&array, &first, &piece, &bad)) {
		json_t *j = parse(r, &piece, m->key);

		err = j ? reader__members(r, j, m, (char *)v + n * m->size) : -EINVAL;
		json_decref(j);
		n++;
		if (err)
			err = err_wrap(r->e, err, "%s, element %zu", m->key, n);
	}
	return err;
}

const struct span *reader__piece(struct reader *r, const char *key)
{
	for (size_t i = 0; i < r->pieces.n; i++)
		if (!strcmp(r->pieces.v[i].key, key))
			return &r->pieces.v[i].text;
	return NULL;
}

/* ---- the outermost object */

static bool is_key(const struct span *key, const char *name)
{
	return (size_t)(key->end - key->at) == strlen(name) + 2 && !memcmp(key->at + 1, name, strlen(name));
}

/* The key, and the member that it is of; NULL: it is not known here. */
static const char *find_key(const struct span *key, const struct member **ret)
{
	for (const struct member *m = profile_whole.members; m->kind; m++) {
		*ret = m;
		if (m->key && is_key(key, m->key))
			return m->key;
		for (size_t i = 0; m->kind == MEMBER_FIELDS && i < m->fields->n; i++)
			if (is_key(key, m->fields->v[i].key))
				return m->fields->v[i].key;
	}
	return NULL;
}

static int add_value(struct reader *r, const char *key, const struct member *m,
		     const struct span *value)
{
	bool is_list = m->kind == MEMBER_ROWS || m->kind == MEMBER_FRAMES;
	json_t *v;

	if (json_object_get(r->whole, key) || reader__piece(r, key))
		return err_set(r->e, -EINVAL, "the key \"%s\" appears twice", key);
	if (is_list && !(m->empty == EMPTY_IS_NULL && *value->at == 'n')) {
		*vec_push(&r->pieces) = (struct piece){ key, *value };
		return 0;
	}
	v = parse(r, value, key);
	return v ? json_object_set_new(r->whole, key, v) : -EINVAL;
}

static int cut_up(struct reader *r, struct span all)
{
	bool first = true;

	if (!take(&all, '{'))
		return err_set(r->e, -EINVAL, "this is not a JSON object");
	while (!take(&all, '}')) {
		struct span quoted, value;
		const struct member *m;
		const char *key;
		int err;

		if ((!first && !take(&all, ',')) || !take_value(&all, &quoted) || *quoted.at != '"' ||
		    !take(&all, ':') || !take_value(&all, &value))
			return err_set(r->e, -EINVAL, "the JSON object is incomplete or malformed");
		first = false;
		key = find_key(&quoted, &m);
		err = key ? add_value(r, key, m, &value) : 0;
		if (err)
			return err;
	}
	skip_space(&all);
	return all.at == all.end ? 0 : err_set(r->e, -EINVAL, "something follows the JSON object");
}

static int read_all(struct reader *r, struct span all)
{
	struct snapshot *s = r->s;
	int err = cut_up(r, all) ?: reader__frames(r) ?:
		  reader__members(r, r->whole, &profile_whole, s);

	if (err)
		return err;
	s->baseline = s->baseline_ns != UINT64_MAX;
	if (!s->baseline)
		s->baseline_ns = 0;
	s->places = snapshot__copy(s, r->place_list.v, r->place_list.n, sizeof(*s->places));
	s->n_places = r->place_list.n;
	s->modules = snapshot__copy(s, r->modules.v, r->modules.n, sizeof(*s->modules));
	s->n_modules = r->modules.n;
	return 0;
}

int json_read__text(const char *text, size_t len, struct snapshot **ret, struct err *e)
{
	struct reader r = { .s = snapshot__new(), .e = e };
	int err;

	/* Jansson goes on with what it has when it gets no memory: names lose letters, and worse */
	json_set_alloc_funcs(xmalloc, free);
	r.s->version = r.s->kernel = r.s->arch = "";
	r.s->recording = (struct recording){ .max_size = UINT64_MAX };
	r.s->observed_share = 1;
	r.s->baseline_ns = UINT64_MAX;
	r.whole = json_object();
	err = read_all(&r, (struct span){ text, text + len });
	json_decref(r.whole);
	vec_done(&r.pieces);
	string_ids__done(&r.strings);
	key_ids__done(&r.process_ids);
	key_ids__done(&r.lines);
	key_ids__done(&r.places);
	key_ids__done(&r.module_ids);
	vec_done(&r.place_list);
	vec_done(&r.modules);
	vec_done(&r.module_of_id);
	key_ids__done(&r.tag_ids);
	vec_done(&r.tag_of_id);
	free(r.frames);
	vec_done(&r.stack);
	if (err)
		snapshot__free(r.s);
	else
		*ret = r.s;
	return err;
}

/* ---- files */

int json_read__file(const char *path, struct snapshot **ret, struct err *e)
{
	bool is_stdin = !strcmp(path, "-");
	_cleanup_close_ int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) :
					    open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int err;

	if (fd < 0) {
		err = -errno;
		return err_set(e, err, "%s: %s", path, strerror(-err));
	}
	err = read_fd_upto(fd, FILE_MAX_BYTES, &text, &len);
	if (err)
		err_set(e, err, "%s", err == -EFBIG ? TOO_LARGE : strerror(-err));
	else
		err = json_read__text(text, len, ret, e);
	return err ? err_wrap(e, err, "%s", is_stdin ? "standard input" : path) : 0;
}
