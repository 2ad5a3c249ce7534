// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Finds the processes that several profiles have, and keeps each in one of them. A process is known by its boot, its pid,
 * its start and its program: exec makes another one of it. What always holds: rows that stand for several processes stay.
 */
#include "model/same_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/narrow.h"
#include "util/clock.h"
#include "util/ids.h"
#include "util/util.h"

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
