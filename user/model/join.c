// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what becomes of each field when profiles are put together. What always
 * holds: the sites of a process add up to it, and processes to the totals, if
 * they did before; what one of them does not know, the whole does not know.
 */
#include "model/join.h"

#include <errno.h>
#include <string.h>

#include "model/frees.h"
#include "model/heaps.h"
#include "model/merge.h"
#include "model/narrow.h"
#include "model/remap.h"
#include "model/schema.h"
#include "util/clock.h"
#include "util/ids.h"
#include "util/util.h"

bool snapshot__same_trace(const struct snapshot *a, const struct snapshot *b)
{
	const struct snap_process *pa = a->processes, *pb = b->processes;

	/* two looks at a heap are two moments, and nothing counts on from the first */
	if (snapshot__is_heap(a) || snapshot__is_heap(b))
		return false;
	return a->n_processes && b->n_processes && a->wall_start_ns == b->wall_start_ns &&
	       !strcmp(a->kernel, b->kernel) && a->recording.mode == b->recording.mode && pa->id == pb->id &&
	       pa->pid == pb->pid && !strcmp(pa->comm, pb->comm) && a->duration_ns <= b->duration_ns;
}

int snapshots__check_alike(const struct snapshot *sa, const struct snapshot *sb, const char *name_a,
			   const char *name_b, const char *verb, struct err *e)
{
	const struct recording *a = &sa->recording, *b = &sb->recording;

	if (snapshot__is_heap(sa) != snapshot__is_heap(sb))
		return err_set(e, -EINVAL, "%s and %s cannot be %s: one is what malloctrace heap found, the other a trace", name_a, name_b, verb);
	if (a->mode != b->mode)
		return err_set(e, -EINVAL, "%s and %s cannot be %s: --mode %s and --mode %s", name_a, name_b,
			       verb, mode__name(a->mode), mode__name(b->mode));
	if (a->size != b->size)
		return err_set(e, -EINVAL, "%s and %s cannot be %s: %s sizes and %s sizes", name_a, name_b,
			       verb, size__name(a->size), size__name(b->size));
	if (a->min_size != b->min_size || a->max_size != b->max_size)
		return err_set(e, -EINVAL,
			       "%s and %s cannot be %s: they recorded blocks of different sizes (--min-size, --max-size)",
			       name_a, name_b, verb);
	for (size_t i = 0; i < n_recording_flags; i++)
		if (recording__has(a, &recording_flags[i]) != recording__has(b, &recording_flags[i]))
			return err_set(e, -EINVAL, "%s and %s cannot be %s: one was recorded with %s", name_a,
				       name_b, verb, recording_flags[i].option);
	return 0;
}

/* What was recorded alike is the same in all: see above. */
static void join_conditions(struct snapshot *to, const struct snapshot *s)
{
	row__merge(&profile_whole, to, s, false);
	/* of two moments, or two machines, no one figure is */
	to->machine = (struct snap_machine){ .known = to->machine.known };
	to->known &= s->known;
	to->trigger = NULL;
	/* their times count from other moments */
	to->started_on = to->stopped_on = to->waiting_for = NULL;
}

/* By name, in the order in which they first appear. */
static void join_counters(struct snap_counter *to, size_t *n, const struct snap_counter *v, size_t n_v)
{
	for (size_t i = 0; i < n_v; i++) {
		size_t at = 0;

		while (at < *n && strcmp(to[at].name, v[i].name))
			at++;
		*n += at == *n;
		to[at].name = v[i].name;
		to[at].n += v[i].n;
		to[at].says = counter__says(v[i].name, to[at].n);
	}
}

struct tag_numbers {		/* of tags by what they are: (name, is it a thread's) */
	struct string_ids names;
	struct key_ids tags;
};

/* Each once. A function's calls are known if they are in all profiles that have it as a tag. */
static void join_tag(struct snapshot *to, struct tag_numbers *numbers, const struct snap_tag *t, uint32_t *ret)
{
	struct snap_tag *tags = (struct snap_tag *)to->tags;
	uint32_t name, at;
	bool is_new;

	string_ids__get(&numbers->names, t->name, &name);
	key_ids__get(&numbers->tags, (struct key){ name, t->thread, 0 }, &at, &is_new);
	if (is_new)
		tags[to->n_tags++] = *t;
	else if (tags[at].entered == UINT64_MAX || t->entered == UINT64_MAX)
		tags[at].entered = UINT64_MAX;
	else
		tags[at].entered += t->entered;
	*ret = at;
}

/* By number of s: what it is in `to`. */
static const uint32_t *join_tags(struct snapshot *to, struct tag_numbers *numbers,
				 const struct snapshot *s)
{
	uint32_t *number = snapshot__alloc(to, s->n_tags + 1, sizeof(*number));

	for (size_t i = 0; i < s->n_tags; i++)
		join_tag(to, numbers, &s->tags[i], &number[i]);
	return number;
}

static uint32_t new_id(const struct snapshot *s, uint32_t id, uint32_t base)
{
	for (size_t i = 0; id && i < s->n_processes; i++)
		if (s->processes[i].id == id)
			return base + (uint32_t)i + 1;
	return 0;
}

static void *rows_of(const struct snapshot *s, const struct member *m)
{
	return *(void **)((char *)s + m->offset);
}

/* A list without rows, and with room for those of all. */
static void make_room(struct snapshot *to, size_t v, size_t n, size_t n_rows, size_t size)
{
	*(void **)((char *)to + v) = snapshot__alloc(to, n_rows + 1, size);
	*(size_t *)((char *)to + n) = 0;
}

static void make_rooms(struct snapshot *to, struct snapshot *const *v, size_t n)
{
	size_t n_losses = 0, n_edges = 0;

	for (enum profile_table t = TABLE_NONE + 1; t < N_TABLES; t++) {
		const struct member *m = table__member(t);
		size_t n_rows = 0;

		for (size_t i = 0; i < n; i++)
			n_rows += member__count(m, v[i]);
		make_room(to, m->offset, m->count, n_rows, m->size);
	}
	for (size_t i = 0; i < n; i++) {
		n_losses += v[i]->n_losses;
		n_edges += v[i]->n_edges;
	}
	make_room(to, offsetof(struct snapshot, losses), offsetof(struct snapshot, n_losses),
		  n_losses, sizeof(*to->losses));
	make_room(to, offsetof(struct snapshot, edges), offsetof(struct snapshot, n_edges), n_edges,
		  sizeof(*to->edges));
}

/* Rows of most lists are put one after the other. */
static void append_rows(struct snapshot *to, const struct snapshot *s, const struct remap *map)
{
	size_t n;

	for (enum profile_table t = TABLE_NONE + 1; t < N_TABLES; t++) {
		const struct member *m = table__member(t);
		const void *from = t == TABLE_HEAPS ? heaps__named(to, s) : rows_of(s, m);
		char *v = (char *)rows_of(to, m) + map->base[t] * m->size;

		if (m->apart)
			continue;
		n = rows__remap(to, t, from, member__count(m, s), v, map, NULL);
		member__set_count(m, to, map->base[t] + n);
	}
}

static void join_one(struct snapshot *to, struct tag_numbers *numbers, const struct snapshot *s)
{
	struct remap map = { .of[TABLE_TAGS] = join_tags(to, numbers, s) };

	for (enum profile_table t = TABLE_NONE + 1; t < N_TABLES; t++)
		map.base[t] = (uint32_t)member__count(table__member(t), to);
	append_rows(to, s, &map);
	for (size_t i = map.base[TABLE_PROCESSES]; i < to->n_processes; i++) {
		struct snap_process *p = (struct snap_process *)&to->processes[i];

		p->id = (uint32_t)i + 1;
		p->parent = new_id(s, p->parent, map.base[TABLE_PROCESSES]);
	}
	for (size_t i = map.base[TABLE_SITES]; i < to->n_sites && !to->recording.older_ns; i++)
		to->sites[i].older_blocks = to->sites[i].older_bytes = 0;
	join_counters((struct snap_counter *)to->losses, &to->n_losses, s->losses, s->n_losses);
	join_counters((struct snap_counter *)to->edges, &to->n_edges, s->edges, s->n_edges);
}

int snapshot__join(struct snapshot *const *v, const char *const *names, size_t n, struct snapshot **ret, struct err *e)
{
	struct tag_numbers numbers = {};
	size_t n_places = 0, n_sites = 0;
	struct snapshot *to;
	int err = 0;

	for (size_t i = 1; i < n && !err; i++)
		err = snapshots__check_alike(v[0], v[i], names[0], names[i], "combined", e);
	for (size_t i = 0; i < n; i++) {
		n_places += v[i]->n_places;
		n_sites += v[i]->n_sites;
	}
	if (!err && (n_places > INT32_MAX || n_sites > UINT32_MAX))
		err = err_set(e, -E2BIG, "the profiles together are too large to combine");
	if (err)
		return err;
	to = snapshot__like(v[0]);
	for (size_t i = 1; i < n; i++)
		join_conditions(to, v[i]);
	make_rooms(to, v, n);
	for (size_t i = 0; i < n; i++)
		join_one(to, &numbers, v[i]);
	/* nor do their moments */
	if (n > 1)
		to->n_taken = to->n_marks = 0;
	string_ids__done(&numbers.names);
	key_ids__done(&numbers.tags);
	/* of some of them it is not known where blocks were freed: rows of the others would seem to be all */
	if (!to->recording.free_stacks)
		frees__drop(to);
	snapshot__set_heaps(to, to->heaps, to->n_heaps);
	*ret = to;
	return 0;
}

/*
 * ---- processes that several profiles have: each is kept in one of them. A process is known by its boot, its pid, its start and its
 * program: exec makes another one of it. What always holds: rows that stand for several processes stay.
 */

/* Profiles without start_ticks have the wall time of a start, which is read a moment after the age of the process. */
#define STARTED_WITHIN_NS (1 * SECOND_NS)

struct row {			/* of a process */
	uint32_t number;	/* of its pid and its program */
	uint32_t file;
	size_t index;
};

struct repeats {
	struct snapshot **v;
	const char *const *names;
	size_t n, n_rows;
	struct row *rows;
	bool **left_out;	/* by file and index */
	size_t n_processes;	/* that are in several files */
	const struct snap_process *process;	/* the last of these, and the files that it is in, or some of them */
	uint32_t kept, dropped;
	bool same_time;
	bool unknown;		/* two files of one boot, and one has rows that stand for several processes */
};

static bool same_boot(const struct snapshot *a, const struct snapshot *b)
{
	if (a->boot_id && b->boot_id)
		return !strcmp(a->boot_id, b->boot_id);
	return !strcmp(a->host ?: "", b->host ?: "") && !strcmp(a->kernel, b->kernel);
}

static bool same_start(const struct snap_process *a, const struct snap_process *b)
{
	int64_t apart = a->wall_started_ns - b->wall_started_ns;

	if (a->start_ticks && b->start_ticks)
		return a->start_ticks == b->start_ticks;
	return a->wall_started_ns && b->wall_started_ns && apart <= STARTED_WITHIN_NS && -apart <= STARTED_WITHIN_NS;
}

static bool same_process(const struct repeats *r, const struct row *a, const struct row *b)
{
	const struct snapshot *sa = r->v[a->file], *sb = r->v[b->file];

	return a->file != b->file && same_boot(sa, sb) && same_start(&sa->processes[a->index], &sb->processes[b->index]);
}

static bool at_the_same_time(const struct snapshot *a, const struct snapshot *b)
{
	return a->wall_start_ns < b->wall_now_ns && b->wall_start_ns < a->wall_now_ns;
}

static bool is_better(const struct snapshot *a, const struct snapshot *than)
{
	return at_the_same_time(a, than) ? a->duration_ns > than->duration_ns : a->wall_now_ns > than->wall_now_ns;
}

COMPARATOR(by_number, struct row, ORDER(a->number, b->number) ?: ORDER(a->file, b->file) ?: ORDER(a->index, b->index))

static void list_rows(struct repeats *r)
{
	struct string_ids programs = {};
	struct key_ids processes = {};
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i]->n_processes;
	r->rows = xcalloc(n + 1, sizeof(*r->rows));
	for (uint32_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->v[i]->n_processes; k++) {
			const struct snap_process *p = &r->v[i]->processes[k];
			struct row *row = &r->rows[r->n_rows];
			uint32_t program;

			if (!p->pid || p->n_members > 1)
				continue;
			string_ids__get(&programs, p->exe, &program);
			key_ids__get(&processes, (struct key){ (uint64_t)p->pid, program, 0 }, &row->number, NULL);
			row->file = i;
			row->index = k;
			r->n_rows++;
		}
	string_ids__done(&programs);
	key_ids__done(&processes);
	qsort(r->rows, r->n_rows, sizeof(*r->rows), by_number);
}

/* Of the rows from..to, which have a pid and a program in common, those that are the same process as `one`. */
static void keep_one(struct repeats *r, size_t one, size_t to)
{
	uint32_t kept = r->rows[one].file;
	bool any = false;

	for (size_t i = one + 1; i < to; i++)
		if (same_process(r, &r->rows[one], &r->rows[i]) && is_better(r->v[r->rows[i].file], r->v[kept]))
			kept = r->rows[i].file;
	for (size_t i = one; i < to; i++) {
		const struct row *row = &r->rows[i];

		if ((i != one && !same_process(r, &r->rows[one], row)) || row->file == kept || r->left_out[row->file][row->index])
			continue;
		r->left_out[row->file][row->index] = any = true;
		r->process = &r->v[row->file]->processes[row->index];
		r->same_time = at_the_same_time(r->v[row->file], r->v[kept]);
		r->kept = kept;
		r->dropped = row->file;
	}
	r->n_processes += any;
}

static bool has_sums(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].n_members > 1)
			return true;
	return false;
}

static void find(struct repeats *r)
{
	for (size_t from = 0, to; from < r->n_rows; from = to) {
		for (to = from; to < r->n_rows && r->rows[to].number == r->rows[from].number;)
			to++;
		for (size_t i = from; i < to; i++)
			if (!r->left_out[r->rows[i].file][r->rows[i].index])
				keep_one(r, i, to);
	}
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->n && has_sums(r->v[i]); k++)
			r->unknown |= i != k && same_boot(r->v[i], r->v[k]);
}

static void narrow(struct repeats *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct snapshot *s = r->v[i];
		size_t n = 0;

		for (size_t k = 0; k < s->n_processes; k++)
			n += r->left_out[i][k];
		if (!n)
			continue;
		r->v[i] = n == s->n_processes ? NULL : snapshot__narrow(s, &(struct narrowing){ .left_out = r->left_out[i] });
	}
}

static char *in_words(const struct repeats *r)
{
	if (r->n_processes == 1)
		return xasprintf("%s (%d) is in %s and %s, and counts once: %s %s", r->process->comm, (int)r->process->pid, r->names[r->dropped],
			     r->names[r->kept], r->names[r->kept],
			     r->same_time ? "traced it at the same time, at least as long" : "is later (malloctrace diff compares the two)");
	if (r->n_processes)
		return xasprintf("%zu processes are in several files, and each counts once: in the file that traced it for longer, or later", r->n_processes);
	return r->unknown ? xstrdup("some rows stand for several processes: one that is in several files counts more than once") : NULL;
}

char *snapshots__drop_repeats(struct snapshot **v, const char *const *names, size_t n)
{
	struct repeats r = { .v = v, .names = names, .n = n, .left_out = xcalloc(n + 1, sizeof(*r.left_out)) };
	char *says;

	list_rows(&r);
	for (size_t i = 0; i < n; i++)
		r.left_out[i] = xcalloc(v[i]->n_processes + 1, sizeof(**r.left_out));
	find(&r);
	says = in_words(&r);
	narrow(&r);
	for (size_t i = 0; i < n; i++)
		free(r.left_out[i]);
	free(r.left_out);
	free(r.rows);
	return says;
}
