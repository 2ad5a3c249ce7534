// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What a session does at places that the user named: --start-on, --stop-on, --mark.
 * The programs act at the instant of the call (bpf/spots.bpf.h), and report it; what is
 * left to do is done here, with the time that they report.
 *
 * A mark that found no other one at work has flipped the banks: its cut is ours to
 * read, before any other. What always holds: as long as a mark's cut is not read,
 * none other is taken; each mark is counted, and is listed as long as it is among the newest.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "trace/session.h"
#include "tracee/tracee.h"
#include "util/log.h"

static const struct {
	enum mt_spot_kind kind;
	const char *option;
	size_t field;		/* of struct opts: names */
} asked[] = {
	{ MT_SPOT_START, "--start-on", offsetof(struct opts, start_on) },
	{ MT_SPOT_STOP, "--stop-on", offsetof(struct opts, stop_on) },
	{ MT_SPOT_MARK, "--mark", offsetof(struct opts, marks) },
	{ MT_SPOT_WITHIN_ENTER, "--within", offsetof(struct opts, withins) },
	{ MT_SPOT_TAG, "--tag", offsetof(struct opts, tags) },
};

int session__ask_spots(struct session *s, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		const struct strings *names = (const void *)((const char *)s->opts + asked[i].field);

		for (size_t k = 0; k < names->n && !err; k++)
			if (asked[i].kind != MT_SPOT_TAG || strcmp(names->v[k], TAG_THREAD))
				err = spots__add(&s->tracees.spots, asked[i].kind, asked[i].option, names->v[k], e);
	}
	return err;
}

static const char *name_of(const struct session *s, uint32_t spot)
{
	return spot && spot <= s->tracees.spots.n ? s->tracees.spots.v[spot - 1].text : "?";
}

static const char *comm_of(const struct session *s, uint32_t proc)
{
	const struct tracee_life *l = hash__get(&s->tracees.by_proc, proc);

	return l ? l->tracee->process.comm : "?";
}

/* ---- begin and end */

void session__await_start(struct session *s)
{
	s->spots.waiting = spots__first(&s->tracees.spots, MT_SPOT_START) != NULL;
	if (s->spots.waiting)
		kernel__wait_for_start(s->kernel);
	else
		kernel__freeze(s->kernel, false);
	if (!s->spots.waiting)
		tracees__begin_paused(&s->tracees);
}

static void say_waiting(const struct session *s)
{
	const struct spots *v = &s->tracees.spots;

	for (size_t i = 0; i < v->n && s->spots.waiting; i++)
		if (v->v[i].kind == MT_SPOT_START)
			say("waiting for %s", v->v[i].text);
}

static void on_start(struct session *s)
{
	struct mt_spot at;
	uint32_t spot = s->spots.waiting ? kernel__begun_by(s->kernel, &at) : 0;
	int err;

	if (!spot)
		return;
	s->spots.waiting = false;
	s->spots.started_by = spot;
	s->start_ns = at.mono_ns;
	tracees__sample(&s->tracees, true);
	tracees__count_cpu_from_now(&s->tracees);
	resident__begin(&s->memory, &s->tracees);
	model__begin(s->model, at.clock_ns, wall_ns() - (int64_t)(now_ns() - at.mono_ns), at.mono_ns);
	say("%s was called by %s (%d): the trace begins", name_of(s, spot), comm_of(s, at.proc), (int)at.pid);
	err = session__start_timers(s);
	if (err) {
		err_set(&s->failure, err, "event loop: %s", strerror(-err));
		session__fail(s);
	}
}

void session__note_stop(struct session *s)
{
	struct mt_spot at;
	uint32_t spot = kernel__spots_fd(s->kernel) < 0 || s->spots.stopped_by ? 0 : kernel__stopped_by(s->kernel, &at);

	if (!spot)
		return;
	s->spots.stopped_by = spot;
	s->end_ns = at.mono_ns;
	s->kernel->frozen_ns = at.clock_ns;
	say("%s was called by %s (%d): the trace ends", name_of(s, spot), comm_of(s, at.proc), (int)at.pid);
	loop__stop(s->loop);
}

/* ---- marks */

static uint64_t n_marks(const struct session *s, const struct cut *cut)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->tracees.spots.n; i++)
		if (s->tracees.spots.v[i].kind == MT_SPOT_MARK)
			n += cut->spot_hits[s->tracees.spots.v[i].number];
	return n;
}

/* Of the process: --mode leak has no sum of it in the kernel. */
static uint64_t live_then(const struct session *s, const struct mt_reached *r, const struct snapshot *whole)
{
	uint32_t id = model__process(s->model, r->proc)->id;
	const struct snap_process *p = whole ? array_first(x, whole->processes, whole->n_processes, x->id == id) : NULL;

	return p ? p->c.live_bytes : 0;
}

static void note(struct session *s, const struct mt_reached *r, const struct snapshot *whole)
{
	struct snap_mark row = {
		.name = name_of(s, r->spot),
		.process = model__process(s->model, r->proc)->id,
		.number = (uint32_t)r->number,
		.tid = (int)r->tid,
		.t_ns = model__since_start(s->model, r->clock_ns),
		.live_bytes = recording__is_leak(&s->opts->recording) ? live_then(s, r, whole) : kernel__bytes(s->kernel, r->live_bytes),
		.whole = whole != NULL,
	};

	if (whole) {
		row.alloc_calls = whole->totals.alloc_calls;
		row.alloc_bytes = whole->totals.alloc_bytes;
		row.live_blocks = whole->totals.live_blocks;
		row.all_live_bytes = whole->totals.live_bytes;
		row.heap_read_at_ns = whole->reading.at_ns;
		row.unsure_blocks = whole->reading.unsure_blocks;
	}
	marks__add(&s->spots.marks, &row);
}

/* Marks, and what began and ended the trace. */
static void list_spots(struct session *s, struct snapshot *snap, const struct mt_reached *mark)
{
	const struct spot *start = spots__first(&s->tracees.spots, MT_SPOT_START);

	if (mark)
		note(s, mark, snap);
	marks__list(&s->spots.marks, s->cut ? n_marks(s, s->cut) : 0, snap);
	if (s->spots.waiting)
		snap->waiting_for = snapshot__strdup(snap, start->text);
	if (s->spots.started_by)
		snap->started_on = snapshot__strdup(snap, name_of(s, s->spots.started_by));
	if (s->spots.stopped_by)
		snap->stopped_on = snapshot__strdup(snap, name_of(s, s->spots.stopped_by));
}

/* "mark handle #3"; the caller's */
static char *reason_of(const struct session *s, const struct mt_reached *r)
{
	return xasprintf("mark %s #%llu", name_of(s, r->spot), (unsigned long long)r->number);
}

/* Its cut waits to be read, whatever becomes of the snapshot. */
static void on_whole_mark(struct session *s, const struct mt_reached *r, bool hold)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *reason = reason_of(s, r);
	struct snapshot *snap = session__take_at(s, r, hold, &e);

	if (!snap)
		note(s, r, NULL);
	session__put_out(s, snap, reason, &e);
}

/*
 * It came while another cut was being taken. If that was ours, a snapshot follows
 * as soon as may be; where marks come faster than snapshots are taken, they are counted.
 */
static void on_other_mark(struct session *s, const struct mt_reached *r)
{
	_cleanup_free_ char *reason = reason_of(s, r);

	note(s, r, NULL);
	if (r->owner == MT_CUT_READER && s->spots.late_ns < r->mono_ns && !s->finishing) {
		s->spots.late_ns = now_ns();
		session__request(s, reason, r->mono_ns);
		return;
	}
	if (!s->spots.n_missed++)
		say("%s is called faster than snapshots are taken: all calls are counted, but not each has a snapshot or is listed",
		    name_of(s, r->spot));
}

static void keep(const struct mt_reached *r, void *arg)
{
	struct session *s = arg;

	*vec_push(&s->spots.queue) = *r;
}

static void read_spots(struct session *s, bool hold)
{
	if (kernel__spots_fd(s->kernel) < 0)
		return;
	kernel__read_spots(s->kernel, keep, s);
	on_start(s);
	for (size_t i = 0; i < s->spots.queue.n; i++) {
		const struct mt_reached *r = &s->spots.queue.v[i];

		if (r->number && r->owner == MT_CUT_IDLE)
			on_whole_mark(s, r, hold);
		else if (r->number)
			on_other_mark(s, r);
	}
	s->spots.queue.n = 0;
	session__note_stop(s);
}

static void on_spots(void *arg)
{
	struct session *s = arg;

	/* which process the mark is of is reported elsewhere, and before */
	session__read_events(s);
	read_spots(s, false);
}

/* A mark's message follows its claim at once, unless its thread lost the CPU in between. */
#define MESSAGE_MS 1
#define MESSAGE_TRIES 5000

int session__yield_to_marks(struct session *s)
{
	if (kernel__spots_fd(s->kernel) < 0)
		return -EBUSY;
	for (int i = 0; i < MESSAGE_TRIES && collect__is_marked(s->collect); i++) {
		read_spots(s, true);
		if (collect__is_marked(s->collect))
			/* not the ring's fd: it is readable as soon as there is to be a message */
			poll(NULL, 0, MESSAGE_MS);
	}
	return collect__is_marked(s->collect) ? -EBUSY : 0;
}

static int watch(struct session *s)
{
	int fd = kernel__spots_fd(s->kernel);

	return fd < 0 ? 0 : loop__add_fd(s->loop, fd, on_spots, s);
}

/* What was reported is handled, and nothing begins any more. */
static void on_end(struct session *s)
{
	if (kernel__spots_fd(s->kernel) < 0)
		return;
	read_spots(s, false);
	if (s->spots.waiting && kernel__wait_no_more(s->kernel)) {
		if (!s->end_ns)
			s->end_ns = now_ns();
		/* nothing was recorded, for no time */
		s->start_ns = s->end_ns;
		say("%s was not called: nothing was recorded", spots__first(&s->tracees.spots, MT_SPOT_START)->text);
	} else {
		read_spots(s, false);
	}
}

static void done(struct session *s)
{
	marks__done(&s->spots.marks);
	vec_done(&s->spots.queue);
}

/* ---- tags and scopes */

/*
 * Tags and scopes of a session: calls of tags are counted where the functions begin. What
 * always holds: a snapshot has the calls of the same instant as its allocations;
 * a function that is inlined somewhere
 * has calls that are not known.
 */

/* Nothing could be recorded: not because nothing was allocated. */
static void report_uncalled(const struct session *s, const struct cut *cut)
{
	for (size_t i = 0; i < s->tracees.spots.n; i++) {
		const struct spot *spot = &s->tracees.spots.v[i];

		if (spot->kind == MT_SPOT_WITHIN_ENTER && spot->n_points && !spot->n_inlined &&
		    !spot->n_unsearched && !cut->spot_hits[spot->number])
			say("--within %s: was not called during the trace; calls that began before the trace are not seen",
			    spot->text);
	}
}

static void put_tags(const struct session *s, const struct cut *cut, struct snapshot *snap)
{
	const struct spots *spots = &s->tracees.spots;
	struct snap_tag *tags = snapshot__alloc(snap, spots->n + 1, sizeof(*tags));

	snap->tags = tags;
	snap->n_tags = 0;
	if (snap->ended)
		report_uncalled(s, cut);
	for (size_t i = 0; i < spots->n; i++) {
		const struct spot *spot = &spots->v[i];
		/* where probes come and go, allocations are estimated, calls are not */
		bool known =
			spot->n_points && !spot->n_inlined && !spot->n_unsearched && !s->budget;

		if (spot->kind == MT_SPOT_TAG)
			tags[snap->n_tags++] = (struct snap_tag){ .name = snapshot__strdup(snap, spot->text),
								  .entered = known ? cut->spot_hits[spot->number] : UINT64_MAX };
	}
}

static void on_snapshot(struct session *s, struct snapshot *snap, const struct mt_reached *mark)
{
	put_tags(s, s->cut, snap);
	list_spots(s, snap, mark);
}

const struct session_module spots_module = {
	.watch = watch,
	.on_attached = say_waiting,
	.on_snapshot = on_snapshot,
	.on_end = on_end,
	.done = done,
};
