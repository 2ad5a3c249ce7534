// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the keys of a file that was probed. */
#include "files/json/json_probes.h"

#include <errno.h>
#include <string.h>

#include "util/util.h"

#define ROWS_MAX 100000

void json__probe(struct json *j, const struct snapshot *s, const struct snap_probe *p)
{
	json__object(j, NULL);
	json__str(j, "object", p->object);
	json__str(j, "build_id", p->build_id);
	/* an allocator whose usable sizes are not known, among others */
	if (p->size != s->recording.size)
		json__str(j, "size", size__name(p->size));
	/* in other modes they are, or are not, of all files */
	if (p->frees_probed)
		json__bool(j, "frees_probed", true);
	json__array(j, "functions");
	for (size_t i = 0; i < p->n_functions; i++)
		json__str(j, NULL, p->functions[i]);
	json__array_end(j);
	json__object_end(j);
}

static int read_probe(struct reader *r, json_t *v, struct snap_probe *to)
{
	const char **names;
	json_t *functions;
	size_t n;
	int err;

	to->object = "";
	to->size = r->s->recording.size;
	err = reader__row(r, v, to, &probe_fields, "a probe") ?:
	      reader__array(r, v, "functions", ROWS_MAX, &functions, &n);
	if (err)
		return err;
	names = snapshot__alloc(r->s, n + 1, sizeof(*names));
	for (size_t i = 0; i < n; i++) {
		const char *name = json_string_value(json_array_get(functions, i));

		names[i] = name ? reader__string(r, name) : NULL;
		if (!names[i])
			return err_set(r->e, -EINVAL, "a probe: functions: want strings");
	}
	to->functions = names;
	to->n_functions = n;
	return 0;
}

int reader__probes(struct reader *r, json_t *v)
{
	size_t n = json_array_size(v);
	struct snap_probe *to;
	int err = 0;

	if (!json_is_array(v) || n > ROWS_MAX)
		return err_set(r->e, -EINVAL, "probes: want an array");
	to = snapshot__alloc(r->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n && !err; i++)
		err = read_probe(r, json_array_get(v, i), &to[i]);
	r->s->probes = to;
	r->s->n_probes = n;
	return err;
}
