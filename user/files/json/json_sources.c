// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the keys of lines of source files. */
#include "files/json/json_sources.h"

#include <errno.h>

#include "files/json/json_rows.h"
#include "util/util.h"

#define RANGES_MAX 1000000
#define LINES_MAX 1000000

void json__sources(struct json *j, const struct snapshot *s)
{
	json__line(j, 2);
	json__array(j, "sources");
	for (size_t i = 0; i < s->n_sources; i++) {
		if (!s->sources[i].n)
			continue;
		json__line(j, 4);
		json__object(j, NULL);
		json__row(j, &source_fields, &s->sources[i], s->known);
		json__array(j, "lines");
		for (uint32_t k = 0; k < s->sources[i].n; k++)
			json__str(j, NULL, s->sources[i].text[k]);
		json__array_end(j);
		json__object_end(j);
	}
	json__array_end(j);
}

static int read_source(struct reader *r, json_t *v, struct snap_source *to)
{
	const char **text;
	json_t *lines;
	size_t n;
	int err = reader__row(r, v, to, &source_fields, "a source") ?: reader__array(r, v, "lines", LINES_MAX, &lines, &n);

	if (err)
		return err;
	if (!to->file || !to->from || to->from > UINT32_MAX - LINES_MAX)
		return err_set(r->e, -EINVAL, "a source: want a file, and the number of its first line");
	text = snapshot__alloc(r->s, n + 1, sizeof(*text));
	for (size_t i = 0; i < n; i++) {
		const char *line = json_string_value(json_array_get(lines, i));

		text[i] = line ? reader__string(r, line) : NULL;
		if (!text[i])
			return err_set(r->e, -EINVAL, "a source: lines: want strings");
	}
	to->text = text;
	to->n = (uint32_t)n;
	return 0;
}

int reader__sources(struct reader *r, json_t *v)
{
	size_t n = json_array_size(v);
	struct snap_source *to;
	int err = 0;

	if (!json_is_array(v) || n > RANGES_MAX)
		return err_set(r->e, -EINVAL, "sources: want an array");
	to = snapshot__alloc(r->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n && !err; i++)
		err = read_source(r, json_array_get(v, i), &to[i]);
	r->s->sources = to;
	r->s->n_sources = n;
	return err;
}
