// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns how the list of earlier snapshots is written and read. */
#include "export/json_taken.h"

#include <errno.h>

#define TAKEN_IN_FILE_MAX 100000

void json__taken(struct json *j, const struct snapshot *s)
{
	if (!s->n_taken)
		return;
	json__line(j, 2);
	json__array(j, "snapshots");
	for (size_t i = 0; i < s->n_taken; i++) {
		json__line(j, 4);
		json__object(j, NULL);
		json__u64(j, "t_ns", s->taken[i].t_ns);
		json__u64(j, "number", s->taken[i].number);
		json__str(j, "trigger", s->taken[i].why);
		json__object_end(j);
	}
	json__array_end(j);
}

int reader__taken(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		{ "t_ns", FIELD_U64, offsetof(struct snap_taken, t_ns) },
		{ "number", FIELD_U32, offsetof(struct snap_taken, number) },
		{ "trigger", FIELD_STR, offsetof(struct snap_taken, why) },
	};
	size_t n = json_array_size(v);
	struct snap_taken *to;
	int err = 0;

	if (!json_is_array(v) || n > TAKEN_IN_FILE_MAX)
		return err_set(r->e, -EINVAL, "snapshots: want an array");
	to = snapshot__alloc(r->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n && !err; i++)
		err = reader__fields(r, json_array_get(v, i), &to[i], fields, ARRAY_SIZE(fields), "a snapshot");
	r->s->taken = to;
	r->s->n_taken = n;
	return err;
}
