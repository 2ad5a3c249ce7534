// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a piece of the text becomes a tree, and an array's elements pieces.
 * What always holds: no tree is made of more than PIECE_MAX_BYTES.
 */
#include <errno.h>
#include <stdio.h>

#include "files/json/json_fields.h"
#include "util/util.h"

#define PIECE_MAX_BYTES (64u << 20)

json_t *reader__parse(struct reader *r, const struct span *piece, const char *what)
{
	json_error_t error;
	json_t *j;

	if ((size_t)(piece->end - piece->at) > PIECE_MAX_BYTES) {
		err_set(r->e, -E2BIG, "%s: is larger than anything that malloctrace writes", what);
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

int reader__count(struct reader *r, struct span array, const char *key, size_t max, size_t *ret)
{
	bool first = true, bad;
	struct span piece;

	*ret = 0;
	if (!array.at)
		return 0;
	if (!span__take(&array, '['))
		return err_set(r->e, -EINVAL, "%s: want an array", key);
	while (span__element(&array, &first, &piece, &bad))
		if (++*ret > max)
			return err_set(r->e, -E2BIG, "%s: more than %zu of them", key, max);
	return bad ? err_set(r->e, -EINVAL, "%s: the array does not end", key) : 0;
}

int reader__elements(struct reader *r, struct span array, const char *key,
		     int (*read)(struct reader *r, json_t *from, void *to), void *v, size_t size)
{
	bool first = true, bad;
	struct span piece;
	size_t n = 0;
	int err = 0;

	if (!array.at)
		return 0;
	span__take(&array, '[');
	while (!err && span__element(&array, &first, &piece, &bad)) {
		json_t *j = reader__parse(r, &piece, key);

		err = j ? read(r, j, (char *)v + n * size) : -EINVAL;
		json_decref(j);
		n++;
		if (err)
			err = err_wrap(r->e, err, "%s, element %zu", key, n);
	}
	return err;
}
