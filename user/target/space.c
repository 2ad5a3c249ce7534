// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns one reference per range with a file. Ranges are never removed; where two overlap, the newer one is right. */
#include <errno.h>
#include <string.h>

#include "target/space.h"
#include "util/util.h"

/* A process can map as much as it likes, again and again: what goes beyond this has no names. */
#define MAX_RANGES 65536

static bool known(const struct space *s, const struct mapping *m)
{
	for (size_t i = s->n; i-- > 0;) {
		const struct space_range *r = &s->v[i];

		if (r->start >= m->end || m->start >= r->end)
			continue;
		/* the newest that overlaps decides; a change of file at the same place is new */
		return r->start == m->start && r->end == m->end && r->file_off == m->file_off &&
		       (r->object ? m->ino == r->object->ino : !strcmp(r->label, m->path));
	}
	return false;
}

int space__refresh(struct space *s, struct objects *objects, pid_t pid, size_t *ret_new, struct err *e)
{
	struct maps maps = {};
	int err = maps__read(pid, &maps, e);

	*ret_new = 0;
	if (err)
		return err;
	for (size_t i = 0; i < maps.n && s->n < MAX_RANGES; i++) {
		const struct mapping *m = &maps.v[i];
		struct space_range *r;

		if (!m->exec || known(s, m))
			continue;
		r = vec_push(s);
		if (!r) {
			err = err_set(e, -ENOMEM, "out of memory");
			break;
		}
		r->start = m->start;
		r->end = m->end;
		r->file_off = m->file_off;
		r->label = strdup(m->path);
		if (r->label)
			clean_name(r->label);
		if (m->ino)
			objects__get(objects, pid, m, &r->object, NULL);
		(*ret_new)++;
	}
	maps__done(&maps);
	return err;
}

const struct space_range *space__find(const struct space *s, uint64_t addr)
{
	for (size_t i = s->n; i-- > 0;)
		if (addr >= s->v[i].start && addr < s->v[i].end)
			return &s->v[i];
	return NULL;
}

void space__done(struct space *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].object)
			object__put(s->v[i].object);
		free(s->v[i].label);
	}
	vec_done(s);
}
