// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how objects and arrays of the outermost object are read: all that tells
 * of the whole trace and is no process and no site. What always holds: a value
 * of another kind than json.c writes is an error.
 */
#include <errno.h>
#include <string.h>

#include "export/json_fields.h"
#include "util/util.h"

#define ROWS_MAX 100000
#define TOP(key, type, field) { key, type, offsetof(struct snapshot, field) }

static int read_values(struct reader *r, json_t *v, const struct field *fields, size_t n, const char *what)
{
	return reader__fields(r, v, r->s, fields, n, what);
}

int reader__tool(struct reader *r, json_t *v)
{
	static const struct field fields[] = { TOP("version", FIELD_STR, version) };

	return read_values(r, v, fields, ARRAY_SIZE(fields), "tool");
}

int reader__host(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		TOP("name", FIELD_STR, host), TOP("kernel", FIELD_STR, kernel), TOP("arch", FIELD_STR, arch),
	};

	return read_values(r, v, fields, ARRAY_SIZE(fields), "host");
}

int reader__stacks(struct reader *r, json_t *v)
{
	static const struct field walked = TOP("frames_walked", FIELD_U64, frames_walked);
	int err = read_values(r, v, &walked, 1, "stacks");

	for (unsigned int i = 0; i < SNAPSHOT_N_ENDS && !err; i++) {
		struct field f = { stack_end__name(i), FIELD_U64, offsetof(struct snapshot, stacks_by_end) + i * sizeof(uint64_t) };

		err = read_values(r, v, &f, 1, "stacks");
	}
	return err;
}

int reader__overhead(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		TOP("probe_hits", FIELD_U64, probe_hits),
		TOP("probe_ns_estimate", FIELD_U64, probe_ns_estimate),
		TOP("target_cpu_ns", FIELD_U64, target_cpu_ns),
		TOP("tool_cpu_ns", FIELD_U64, tool_cpu_ns),
	};

	return read_values(r, v, fields, ARRAY_SIZE(fields), "overhead");
}

int reader__scan(struct reader *r, json_t *v)
{
	static const struct field fields[] = { TOP("live_blocks", FIELD_U64, scan_blocks), TOP("live_bytes", FIELD_U64, scan_bytes) };

	r->s->scanned = true;
	return read_values(r, v, fields, ARRAY_SIZE(fields), "scan");
}

int reader__folded(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		TOP("processes", FIELD_U64, n_folded_processes), TOP("sites", FIELD_U64, n_folded_sites),
	};

	return read_values(r, v, fields, ARRAY_SIZE(fields), "folded");
}

int reader__hidden(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		TOP("by", FIELD_STR, hidden.by),
		TOP("sites", FIELD_U64, hidden.n_sites),
		TOP("alloc_calls", FIELD_U64, hidden.alloc_calls),
		TOP("alloc_bytes", FIELD_U64, hidden.alloc_bytes),
		TOP("live_blocks", FIELD_U64, hidden.live_blocks),
		TOP("live_bytes", FIELD_U64, hidden.live_bytes),
	};

	return read_values(r, v, fields, ARRAY_SIZE(fields), "hidden");
}

int reader__totals(struct reader *r, json_t *v)
{
	return reader__counters(r, v, &r->s->totals, &r->s->known, "totals") ?: reader__std_error(r, v, &r->s->error, "totals");
}

/* Names and what they mean are this version's; one of another version's speaks for itself. */
static int read_counters(struct reader *r, json_t *v, const struct snap_counter **ret, size_t *ret_n)
{
	struct snap_counter *c;
	const char *key;
	json_t *n;

	if (!json_is_object(v))
		return err_set(r->e, -EINVAL, "losses and edges: want an object");
	c = snapshot__alloc(r->s, json_object_size(v) + 1, sizeof(*c));
	*ret = c;
	json_object_foreach(v, key, n) {
		if (!json_is_integer(n) || json_integer_value(n) < 0)
			return err_set(r->e, -EINVAL, "losses and edges: want numbers");
		if (!strcmp(key, "total"))
			continue;
		c->name = reader__string(r, key);
		if (!c->name)
			return err_set(r->e, -ENOMEM, "out of memory");
		c->n = (uint64_t)json_integer_value(n);
		c->says = counter__says(c->name, c->n);
		c++;
	}
	*ret_n = (size_t)(c - *ret);
	return 0;
}

int reader__losses(struct reader *r, json_t *v)
{
	static const struct field total = TOP("total", FIELD_U64, losses_total);

	return read_values(r, v, &total, 1, "losses") ?: read_counters(r, v, &r->s->losses, &r->s->n_losses);
}

int reader__edges(struct reader *r, json_t *v)
{
	return read_counters(r, v, &r->s->edges, &r->s->n_edges);
}

int reader__modules(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		{ "path", FIELD_STR, offsetof(struct snap_module, path) },
		{ "build_id", FIELD_STR, offsetof(struct snap_module, build_id) },
	};
	size_t n = json_array_size(v);
	int err = 0;

	if (!json_is_array(v) || n > ROWS_MAX)
		return err_set(r->e, -EINVAL, "modules: want an array");
	for (size_t i = 0; i < n && !err; i++) {
		struct snap_module m = { .path = NULL };

		err = reader__fields(r, json_array_get(v, i), &m, fields, ARRAY_SIZE(fields), "a module");
		if (!err && !m.path)
			err = err_set(r->e, -EINVAL, "a module: path: want a string");
		if (!err)
			err = reader__add_module(r, m.path, m.build_id);
	}
	return err;
}
