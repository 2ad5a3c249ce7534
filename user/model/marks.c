// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the newest marks. What always holds: they are in the order of their time;
 * how many there were in all does not depend on how many are kept.
 */
#include "model/marks.h"

#include <errno.h>
#include <string.h>

#include "model/schema.h"
#include "util/parse.h"

void marks__add(struct marks *m, const struct snap_mark *row)
{
	struct snap_mark *slot;

	if (m->v.n < MARKS_MAX) {
		slot = vec_push(&m->v);
	} else {
		slot = &m->v.v[m->first];
		m->first = (m->first + 1) % MARKS_MAX;
	}
	*slot = *row;
	m->n_noted++;
	m->n_whole += row->whole;
}

void marks__done(struct marks *m)
{
	vec_done(&m->v);
}

/* n_processes: of one that is kept as part of a sum, or that was never reported. */
static size_t process_of(const struct snapshot *s, uint32_t life)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].id == life)
			return i;
	return s->n_processes;
}

unsigned int marks__known(const struct snapshot *s, const struct snap_mark *m)
{
	if (m->whole)
		return s->known | KNOWN_WHOLE;
	return recording__is_leak(&s->recording) ? s->known & ~HAS_LIVE_BYTES : s->known;
}

void marks__list(const struct marks *m, uint64_t n_seen, struct snapshot *s)
{
	struct snap_mark *rows = snapshot__alloc(s, m->v.n + 1, sizeof(*rows));

	s->marks = rows;
	s->n_marks = 0;
	for (size_t i = 0; i < m->v.n; i++) {
		const struct snap_mark *k = &m->v.v[(m->first + i) % m->v.n];
		size_t process = process_of(s, k->process);

		if (process == s->n_processes)
			continue;
		rows[s->n_marks] = *k;
		rows[s->n_marks].name = snapshot__strdup(s, k->name);
		rows[s->n_marks++].process = (uint32_t)process;
	}
	/* one that came after the cut may be noted already */
	s->n_marks_seen = MAX(n_seen, m->n_noted);
	s->n_marks_whole = m->n_whole;
}

/* ---- moments */

/* "handle#2" → where the number begins; NULL: it has none */
static const char *number_of(const char *text, size_t *ret_name_len)
{
	const char *at = strrchr(text, '#');

	if (at && at != text && at[1]) {
		*ret_name_len = (size_t)(at - text);
		return at + 1;
	}
	if (!strncmp(text, "mark:", 5) && text[5]) {
		*ret_name_len = 0;
		return text + 5;
	}
	return NULL;
}

bool marks__is_moment(const char *text)
{
	size_t len;
	uint64_t n;
	const char *number = number_of(text, &len);

	return (number && !parse_u64(number, 1, UINT32_MAX, &n)) || !parse_age(text, &n);
}

int marks__moment(const struct snapshot *s, const char *text, uint64_t *ret_ns, struct err *e)
{
	const struct snap_mark *found = NULL;
	const char *number;
	uint64_t n;
	size_t len = 0;

	if (!parse_age(text, ret_ns))
		return 0;
	number = number_of(text, &len);
	if (!number || parse_u64(number, 1, UINT32_MAX, &n))
		return err_set(e, -EINVAL, "--between %s: want an age, mark:N or NAME#N", text);
	if (!s->n_marks)
		return err_set(e, -EINVAL, "--between %s: this trace has no marks (--mark FUNC)", text);
	for (size_t i = 0; i < s->n_marks; i++) {
		const struct snap_mark *m = &s->marks[i];

		if (!len && strcmp(m->name, s->marks[0].name))
			return err_set(e, -EINVAL,
				       "--between %s: there are marks of several names: want %s#%s, %s#%s or the like",
				       text, s->marks[0].name, number, m->name, number);
		if (m->number == n && (!len || (strlen(m->name) == len && !memcmp(m->name, text, len))))
			found = m;
	}
	if (!found)
		return err_set(e, -EINVAL,
			       "--between %s: no such mark is in the file, which lists %s#%u to %s#%u", text,
			       s->marks[0].name, s->marks[0].number, s->marks[s->n_marks - 1].name,
			       s->marks[s->n_marks - 1].number);
	*ret_ns = found->t_ns;
	return 0;
}

/* ---- snapshots that were taken: in the order of their time, and no more than SNAPSHOT_MAX_TAKEN */

void taken__add(struct taken *t, uint64_t t_ns, uint32_t number, const char *why)
{
	char *words = why ? xstrdup(why) : NULL;
	struct snap_taken *slot;

	if (t->v.n < SNAPSHOT_MAX_TAKEN) {
		slot = vec_push(&t->v);
	} else {
		slot = &t->v.v[t->first];
		free((char *)slot->why);
		t->first = (t->first + 1) % SNAPSHOT_MAX_TAKEN;
	}
	*slot = (struct snap_taken){ .t_ns = t_ns, .number = number, .why = words };
}

void taken__done(struct taken *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		free((char *)t->v.v[i].why);
	vec_done(&t->v);
	t->first = 0;
}

void taken__list(const struct taken *t, struct snapshot *s)
{
	struct snap_taken *rows = snapshot__alloc(s, t->v.n + 1, sizeof(*rows));

	for (size_t i = 0; i < t->v.n; i++) {
		rows[i] = t->v.v[(t->first + i) % t->v.n];
		rows[i].why = snapshot__strdup(s, rows[i].why);
		/* --stop-on: one that was taken before the end was known shows the end */
		if (s->ended)
			rows[i].t_ns = MIN(rows[i].t_ns, s->duration_ns);
	}
	s->taken = rows;
	s->n_taken = t->v.n;
}
