// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Functions that began, ended or marked the trace: their part of the JSON profile, both ways. Owns nothing. */
#include <errno.h>

#include "export/json_fields.h"
#include "export/json_marks.h"

/* more than a trace lists */
#define MARKS_MAX 4096u

void json__marks(struct json *j, const struct snapshot *s)
{
	json__line(j, 2);
	json__str(j, "started_on", s->started_on);
	json__str(j, "stopped_on", s->stopped_on);
	json__str(j, "waiting_for", s->waiting_for);
	json__u64(j, "marks_seen", s->n_marks_seen);
	json__u64(j, "marks_whole", s->n_marks_whole);
	json__array(j, "marks");
	for (size_t i = 0; i < s->n_marks; i++) {
		const struct snap_mark *m = &s->marks[i];

		json__line(j, 4);
		json__object(j, NULL);
		json__str(j, "name", m->name);
		json__u64(j, "number", m->number);
		json__u64(j, "process", s->processes[m->process].id);
		json__u64(j, "tid", m->tid > 0 ? (uint64_t)m->tid : 0);
		json__u64(j, "t_ns", m->t_ns);
		if (s->known & HAS_LIVE_BYTES)
			json__u64(j, "live_bytes", m->live_bytes);
		else
			json__null(j, "live_bytes");
		json__bool(j, "whole", m->whole);
		if (m->whole) {
			json__u64(j, "alloc_calls", m->alloc_calls);
			json__u64(j, "alloc_bytes", m->alloc_bytes);
		}
		if (m->whole && s->known & HAS_LIVE_BYTES) {
			json__u64(j, "live_blocks", m->live_blocks);
			json__u64(j, "all_live_bytes", m->all_live_bytes);
		}
		json__object_end(j);
	}
	json__array_end(j);
}

#define MARK(key, type, f) { key, type, offsetof(struct snap_mark, f) }

static const struct field mark_fields[] = {
	MARK("name", FIELD_STR, name),
	MARK("number", FIELD_U32, number),
	MARK("process", FIELD_U32, process),
	MARK("tid", FIELD_INT, tid),
	MARK("t_ns", FIELD_U64, t_ns),
	MARK("live_bytes", FIELD_U64, live_bytes),
	MARK("whole", FIELD_BOOL, whole),
	MARK("alloc_calls", FIELD_U64, alloc_calls),
	MARK("alloc_bytes", FIELD_U64, alloc_bytes),
	MARK("live_blocks", FIELD_U64, live_blocks),
	MARK("all_live_bytes", FIELD_U64, all_live_bytes),
};

int reader__marks(struct reader *r, json_t *v)
{
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
		err = reader__fields(r, json_array_get(v, i), &rows[i], mark_fields, ARRAY_SIZE(mark_fields), "marks");
		if (!err && !rows[i].name)
			err = err_set(r->e, -EINVAL, "marks: one has no name");
	}
	r->s->n_marks = err ? 0 : n;
	return err;
}

/* Read before the processes are: what was an id becomes an index. A mark of nobody is left out. */
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
