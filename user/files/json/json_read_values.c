// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how objects and arrays of the outermost object are read: all that says
 * of the whole trace and is no process and no site. What always holds: a value
 * of another kind than json.c writes is an error.
 */
#include <errno.h>
#include <string.h>

#include "files/json/json_fields.h"
#include "util/util.h"

#define ROWS_MAX 100000
/* more than a trace lists */
#define MARKS_MAX 4096u
#define TOP(key, type, field) ROW(key, type, AT(snapshot, field))

static int read_values(struct reader *r, json_t *v, const struct field *fields, size_t n, const char *what)
{
	return reader__row(r, v, r->s, &(struct fields){ fields, n }, what);
}

int reader__tool(struct reader *r, json_t *v)
{
	static const struct field fields[] = { TOP("version", FIELD_STR, version) };

	return read_values(r, v, fields, ARRAY_SIZE(fields), "tool");
}

int reader__host(struct reader *r, json_t *v)
{
	return reader__row(r, v, r->s, &host_fields, "host");
}

int reader__stacks(struct reader *r, json_t *v)
{
	static const struct field walked = TOP("frames_walked", FIELD_U64, frames_walked);
	int err = read_values(r, v, &walked, 1, "stacks");

	for (unsigned int i = 0; i < SNAPSHOT_N_ENDS && !err; i++) {
		struct field f = ROW(stack_end__name(i), FIELD_U64,
				     AT(snapshot, stacks_by_end) + i * sizeof(uint64_t));

		err = read_values(r, v, &f, 1, "stacks");
	}
	return err;
}

int reader__overhead(struct reader *r, json_t *v)
{
	return reader__row(r, v, r->s, &overhead_fields, "overhead");
}

int reader__scan(struct reader *r, json_t *v)
{
	r->s->scanned = true;
	return reader__row(r, v, r->s, &scan_fields, "scan");
}

int reader__machine(struct reader *r, json_t *v)
{
	r->s->machine.known = true;
	r->s->machine.has_pressure = json_is_number(json_object_get(v, "pressure_some_pct"));
	return reader__row(r, v, &r->s->machine, &machine_fields, "machine");
}

int reader__cgroups(struct reader *r, json_t *v)
{
	size_t n = json_array_size(v);
	struct snap_cgroup *rows;
	int err = 0;

	if (!json_is_array(v) || n > ROWS_MAX)
		return err_set(r->e, -EINVAL, "cgroups: want an array of no more than %d", ROWS_MAX);
	rows = snapshot__alloc(r->s, n + 1, sizeof(*rows));
	for (size_t i = 0; i < n && !err; i++) {
		json_t *events = json_object_get(json_array_get(v, i), "events");

		err = reader__row(r, json_array_get(v, i), &rows[i], &cgroup_fields, "cgroups");
		if (!err && !rows[i].path)
			err = err_set(r->e, -EINVAL, "cgroups: path is missing");
		rows[i].has_events = events && !json_is_null(events);
		if (!err && rows[i].has_events)
			err = reader__row(r, events, &rows[i], &cgroup_event_fields, "cgroups: events");
	}
	r->s->cgroups = rows;
	r->s->n_cgroups = err ? 0 : n;
	return err;
}

int reader__folded(struct reader *r, json_t *v)
{
	return reader__row(r, v, r->s, &folded_fields, "folded");
}

int reader__hidden(struct reader *r, json_t *v)
{
	return reader__row(r, v, &r->s->hidden, &hidden_fields, "hidden");
}

int reader__older_unsure(struct reader *r, json_t *v)
{
	return reader__row(r, v, &r->s->older_unsure, &older_fields, "older_unsure");
}

int reader__totals(struct reader *r, json_t *v)
{
	/* where frees are counted they were seen, but in this mode */
	if (json_is_integer(json_object_get(v, "free_calls")) && !recording__is_leak(&r->s->recording))
		r->s->known |= HAS_LIFETIMES;
	return reader__counters(r, v, &r->s->totals, &r->s->known, "totals") ?:
		       reader__std_error(r, v, &r->s->error, "totals");
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
	size_t n = json_array_size(v);
	int err = 0;

	if (!json_is_array(v) || n > ROWS_MAX)
		return err_set(r->e, -EINVAL, "modules: want an array");
	for (size_t i = 0; i < n && !err; i++) {
		struct snap_module m = { .path = NULL };

		err = reader__row(r, json_array_get(v, i), &m, &module_fields, "a module");
		if (!err && !m.path)
			err = err_set(r->e, -EINVAL, "a module: path: want a string");
		if (!err)
			err = reader__add_module(r, m.path, m.build_id);
	}
	return err;
}

int reader__taken(struct reader *r, json_t *v)
{
	size_t n = json_array_size(v);
	struct snap_taken *to;
	int err = 0;

	if (!json_is_array(v) || n > ROWS_MAX)
		return err_set(r->e, -EINVAL, "snapshots: want an array");
	to = snapshot__alloc(r->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n && !err; i++)
		err = reader__row(r, json_array_get(v, i), &to[i], &taken_fields, "a snapshot");
	r->s->taken = to;
	r->s->n_taken = n;
	return err;
}

int reader__marks(struct reader *r, json_t *v)
{
	static const struct field whose = ROW("process", FIELD_U32, AT(snap_mark, process));
	size_t n = json_array_size(v);
	struct snap_mark *rows;
	int err = 0;

	if (json_is_null(v))
		return 0;
	if (!json_is_array(v) || n > MARKS_MAX)
		return err_set(r->e, -EINVAL, "marks: want an array of at most %u", MARKS_MAX);
	rows = snapshot__alloc(r->s, n + 1, sizeof(*rows));
	r->s->marks = rows;
	for (size_t i = 0; i < n && !err; i++) {
		err = reader__row(r, json_array_get(v, i), &rows[i], &mark_fields, "marks") ?:
		      reader__row(r, json_array_get(v, i), &rows[i], &(struct fields){ &whose, 1 }, "marks");
		if (!err && !rows[i].name)
			err = err_set(r->e, -EINVAL, "marks: one has no name");
	}
	r->s->n_marks = err ? 0 : n;
	return err;
}

/* What was an id becomes an index. A mark of no process is left out. */
void reader__settle_marks(struct reader *r)
{
	struct snap_mark *rows = (struct snap_mark *)r->s->marks;
	size_t kept = 0;

	for (size_t i = 0; i < r->s->n_marks; i++) {
		size_t p = 0;

		while (p < r->s->n_processes && r->s->processes[p].id != rows[i].process)
			p++;
		if (p == r->s->n_processes)
			continue;
		rows[kept] = rows[i];
		rows[kept++].process = (uint32_t)p;
	}
	r->s->n_marks = kept;
}
