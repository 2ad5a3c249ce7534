// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the images. Those of a pid are in the order in which they began; all but the first begin with an exec.
 * What a process maps and how often it execs before anyone claims it is its own affair: both are bounded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracee/images.h"

#define KEEP_NS (3 * SECOND_NS)
#define MAX_MAPPINGS 1024	/* of one image */
#define MAX_IMAGES 64		/* of one pid */

void image__free(struct image *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->maps.n; k++)
		free(i->maps.v[k].map.path);
	vec_done(&i->maps);
	free(i);
}

/* Takes the first one out. */
static struct image *shift(struct images *s, pid_t pid)
{
	struct image *i = hash__get(&s->by_pid, pid);

	if (i && i->next)
		hash__put(&s->by_pid, pid, i->next);	/* there already: takes no memory */
	else
		hash__remove(&s->by_pid, pid);
	return i;
}

void images__forget_before(struct images *s, pid_t pid, uint64_t t_ns)
{
	struct image *i;

	while ((i = hash__get(&s->by_pid, pid)) && i->t_ns < t_ns)
		image__free(shift(s, pid));
}

void images__done(struct images *s)
{
	for (size_t i = 0; i < s->by_pid.room; i++)
		for (struct image *k = s->by_pid.slots[i].value, *next; k; k = next) {
			next = k->next;
			image__free(k);
		}
	hash__done(&s->by_pid);
}

int images__begin(struct images *s, pid_t pid, bool exec, uint64_t t_ns)
{
	struct image *i = calloc(1, sizeof(*i)), *last = hash__get(&s->by_pid, pid);
	size_t n = 1;

	if (!i)
		return -ENOMEM;
	*i = (struct image){ .pid = pid, .exec = exec, .t_ns = t_ns };
	for (; last && last->next; last = last->next)
		n++;
	if (!last && hash__put(&s->by_pid, pid, i)) {
		free(i);
		return -ENOMEM;
	}
	if (last)
		last->next = i;
	/* what is mapped now belongs to none but the last */
	if (last && n >= MAX_IMAGES)
		image__free(shift(s, pid));
	return 0;
}

int images__add(struct images *s, const struct watch_record *r)
{
	struct image *i = hash__get(&s->by_pid, r->pid);
	struct told_mapping *slot;

	while (i && i->next)
		i = i->next;
	if (!i)
		return -ENOENT;
	if (i->maps.n >= MAX_MAPPINGS)
		return 0;
	slot = vec_push(&i->maps);
	if (!slot)
		return -ENOMEM;
	*slot = (struct told_mapping){ r->map, r->t_ns };
	slot->map.path = strdup(r->map.path);
	if (slot->map.path)
		return 0;
	i->maps.n--;
	return -ENOMEM;
}

static struct image *claim_exec(struct images *s, pid_t pid, uint64_t t_ns)
{
	struct image *found = NULL, *i;

	for (i = hash__get(&s->by_pid, pid); i && i->t_ns <= t_ns; i = i->next)
		found = i->exec ? i : found;
	while ((i = hash__get(&s->by_pid, pid)) && i->t_ns <= t_ns) {
		shift(s, pid);
		if (i == found)
			return i;
		image__free(i);	/* what was mapped before the exec is gone */
	}
	return NULL;
}

struct image *images__claim(struct images *s, pid_t pid, bool exec, uint64_t t_ns)
{
	struct image *i = hash__get(&s->by_pid, pid);

	if (exec)
		return claim_exec(s, pid, t_ns);
	return i && !i->exec ? shift(s, pid) : NULL;
}

struct image *images__claim_before(struct images *s, pid_t pid, uint64_t t_ns)
{
	struct image *i = hash__get(&s->by_pid, pid);

	return i && (!i->exec || i->t_ns < t_ns) ? shift(s, pid) : NULL;
}

void images__drop_old(struct images *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->by_pid.room; i++) {
		struct image *k;

		/* another one may move up; what moves past the end is met the next time */
		while ((k = s->by_pid.slots[i].value) && k->t_ns + KEEP_NS < now_ns)
			images__forget_before(s, k->pid, now_ns - KEEP_NS);
	}
}
