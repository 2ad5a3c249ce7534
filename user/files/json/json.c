// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the JSON profile, schema "malloctrace/2": a line for each key of
 * the whole, for each process, site and frame, so that a profile can be read by
 * eye and compared by diff. What it has, and in which order, is in model/schema_whole.c.
 *
 * What always holds: every key of the schema is there; one without meaning is
 * null. Keys may be added, never renamed: scripts depend on them. Of a profile of
 * so many sites that nobody reads it by eye, sites have no keys that are empty.
 */
#include <errno.h>

#include "files/export.h"
#include "files/json/json_members.h"
#include "model/heaps.h"

void json__document(struct json *j, const struct snapshot *s)
{
	__attribute__((cleanup(frames__done))) struct writer w = { .j = j, .s = s };
	unsigned int known = s->known | (s->baseline ? KNOWN_BASELINE : 0) |
			     (s->estimated ? KNOWN_ERROR : 0);

	/* a page reads its own */
	w.terse = s->n_sites > JSON_FULL_SITES && !j->in_page;
	frames__init(&w);
	json__object(j, NULL);
	json__members(&w, snapshot__is_heap(s) ? &profile_of_heap : &profile_whole, s, known);
	json__line(j, 0);
	json__object_end(j);
}

int json__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct json j = { .out = out };

	json__document(&j, s);
	fputc('\n', out);
	return ferror(out) ? err_set(e, -EIO, "cannot write JSON") : 0;
}
