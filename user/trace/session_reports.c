// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Snapshots of a session: when one is taken, and what becomes of it. What always
 * holds: a snapshot is taken while the target goes on; one that fails ends the
 * trace, but for a file that was asked for by a signal.
 */
#include <errno.h>
#include <time.h>

#include "probe/codes.h"
#include "trace/session_parts.h"
#include "tracee/tracee_standing.h"
#include "util/log.h"

#define LOOK_NS (SECOND_NS / 300)	/* a second, for the oldest blocks in reports of intervals */

int64_t session__wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * (int64_t)SECOND_NS + t.tv_nsec;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * SECOND_NS + t.tv_nsec;
}

int session__take_cut(struct session *s, const struct cut_opts *how, struct err *e)
{
	struct cut_opts exactly = *how;
	int err;

	if (s->spots.at_mark && !s->spots.is_read) {
		exactly.marked_ns = s->spots.at_mark->clock_ns;
		exactly.hold = s->spots.hold;
		s->spots.is_read = true;
	}
	if (!exactly.marked_ns && collect__is_marked(s->collect)) {
		err = s->spots.in_haste ? -EBUSY : session__yield_to_mark(s);
		if (err)
			return err_set(e, err, "a mark's snapshot cannot be read");
	}
	s->cut = NULL;
	err = collect__cut(s->collect, &exactly, &s->cut, e);
	while (err == -EBUSY && !s->spots.in_haste && !session__yield_to_mark(s))
		err = collect__cut(s->collect, &exactly, &s->cut, e);
	if (!err && s->budget)
		s->cut = budget__estimate(s->budget, s->cut);
	return err;
}

/* ages: exact ones, from a scan of the block table, whose cost grows with the live blocks. */
struct snapshot *session__take(struct session *s, bool last, bool ages, struct err *e)
{
	const struct opts *o = s->opts;
	struct cut_opts how = { .scan = ages && !session__is_growth(o), .older_ns = o->older_ns,
				.ages = output__has_age_classes(&s->output),
				.blocks = !s->kernel->sample_bytes && !s->budget };
	uint64_t began_ns = now_ns(), began_cpu_ns = own_cpu_ns();
	struct model_calls calls = { tracees__locate, tracees__function, tracees__thread_comm, &s->tracees };
	struct snapshot_info info = {
		.mode = o->mode,
		.size = tracees__size(&s->tracees),
		.sample_bytes = o->sample_bytes,
		.observed_share = 1,
		.version = VERSION,
		.kernel = s->uname.release,
		.arch = s->uname.machine,
		.host = s->uname.nodename,
		.duration_ns = (last ? s->end_ns : s->spots.waiting ? s->start_ns : s->spots.at_mark ? s->spots.at_mark->mono_ns : now_ns()) -
			       s->start_ns,
		.wall_now_ns = session__wall_ns(),
		.ended = last,
		.partial = o->withins.n > 0,
		.partial_sizes = o->min_size > 0 || o->max_size != UINT64_MAX,
		.mmap = o->mmap,
		.min_size = o->min_size,
		.max_size = o->max_size,
		.older_ns = o->older_ns,
		.tool_cpu_ns = own_cpu_ns(),
		.unit_ns = s->kernel->born_unit_ns,
		.leak_after_ns = o->leak_after_ns,
		.free_stacks = o->free_stacks,
	};
	struct snapshot *snap;
	const struct cut *cut;

	tracees__sample(&s->tracees, false);
	info.target_cpu_ns = tracees__cpu_ns(&s->tracees);
	if (session__take_cut(s, &how, e))
		return NULL;
	cut = s->cut;
	/* marks may be many */
	if (last)
		resident__end(&s->memory, &s->tracees, cut);
	else
		session__look_at_memory(s, cut, ages && !s->spots.at_mark);
	if (s->budget) {
		info.observed_share = budget__observed_share(s->budget);
		info.probe_ns_estimate = budget__spent_ns(s->budget);
	}
	if (!s->spots.waiting)
		model__note(s->model, cut);
	info.mappings = tracees__n_mappings(&s->tracees);
	info.unwind_full = unwind__n_full(s->unwind);
	info.codes_full = codes__n_full(s->kernel->codes);
	info.n_unprobed = tracees__n_unprobed(&s->tracees);
	snap = model__snapshot(s->model, cut, &info, &calls);
	if (!snap || tracees__list_probes(&s->tracees, snap)) {
		snapshot__free(snap);
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	/* where nothing was recorded, or page faults are, there is nothing to be missed */
	if (!s->spots.waiting && !session__is_growth(o) && info.observed_share > 0)
		tracees__tell_blind(&s->tracees, snap, info.partial || info.partial_sizes);
	session__put_tags(s, cut, snap);
	taken__list(&s->taken, snap);
	session__list_whens(s, snap);
	session__tell_spots(s, snap);
	s->cut_ns = now_ns();
	say_verbose("snapshot of %zu sites%s: %.1f ms, %.1f of them of CPU time", snap->n_sites, ages ? " with ages" : "",
		    (s->cut_ns - began_ns) / 1e6, (own_cpu_ns() - began_cpu_ns) / 1e6);
	return snap;
}

/* Do the reports of intervals need exact ages? A table of the top rows does not. */
static bool intervals_need_ages(const struct session *s)
{
	return s->opts->older_ns || output__carries_ages(&s->output) || output__has_series(&s->output);
}

void session__on_second(void *arg)
{
	struct session *s = arg;
	struct cut_opts how = { .older_ns = s->opts->older_ns };

	session__read_events(s);
	s->tracees.probing->on_second(&s->tracees, s->watch);
	if ((s->opts->interval_ns || s->live) && !intervals_need_ages(s))
		collect__look(s->collect, LOOK_NS);
	/* a report may just have noted the course of things */
	if (now_ns() - s->cut_ns >= SECOND_NS / 2) {
		tracees__sample(&s->tracees, false);
		if (!session__take_cut(s, &how, NULL) && !s->spots.waiting)
			model__note(s->model, s->cut);
	}
	/* also of processes that end before there is a report */
	if (!s->spots.waiting)
		session__look_at_memory(s, NULL, false);
	session__recycle(s);
	/* with a budget they come and go */
	if (!s->budget)
		tracees__look_at_probes(&s->tracees, false);
}

/* A full disk now may have room again later: the trace goes on. */
static void write_series(struct session *s, struct snapshot *snap)
{
	_cleanup_err_ struct err e = {};

	if (output__write_series(&s->output, snap, &e))
		say("snapshot: %s", err_msg(&e));
}

void session__on_interval(void *arg)
{
	struct session *s = arg;
	struct snapshot *snap;

	/* the last one is taken at the end of the trace */
	if (s->opts->count && s->n_reports + 1 >= s->opts->count) {
		loop__stop(s->loop);
		return;
	}
	snap = session__take(s, false, intervals_need_ages(s), &s->failure);
	/* a mark's thread has been kept from the CPU for seconds: the next one will do */
	if (!snap && s->failure.code == -EBUSY) {
		say("a report was left out: %s", err_msg(&s->failure));
		err_done(&s->failure);
		return;
	}
	/* also where nobody reads any more: no failure is noted then, and the trace ends */
	if (!snap || (output__prints(&s->output) && output__print(&s->output, snap, &s->failure)))
		session__fail(s);
	if (snap && output__has_series(&s->output))
		write_series(s, snap);
	s->n_reports++;
	snapshot__free(snap);
}

void session__snapshot_for(struct session *s, const char *reason)
{
	const char *lead = reason ? reason : "", *colon = reason ? ": " : "";
	_cleanup_err_ struct err e = {};
	struct snapshot *snap = session__take(s, false, true, &e);

	if (snap)
		snap->trigger = snapshot__strdup(snap, reason);
	if (snap)
		taken__add(&s->taken, snap->duration_ns, output__has_files(&s->output) ? s->n_usr1 + 1 : 0, reason);
	/* where there is nothing to write to, who asked by a signal is told so all the same */
	if (snap && reason && !output__has_files(&s->output)) {
		say("%s", reason);
		if (!s->live && output__print(&s->output, snap, &s->failure))
			session__fail(s);
	} else if (!snap || output__write_files(&s->output, snap, ++s->n_usr1, &e)) {
		/* a full disk now may have room again later: the trace goes on */
		say("%s%ssnapshot: %s", lead, colon, err_msg(&e));
	} else {
		say("%s%ssnapshot %u written", lead, colon, s->n_usr1);
	}
	snapshot__free(snap);
}

void session__set_baseline(struct session *s)
{
	_cleanup_err_ struct err e = {};
	struct cut_opts how = {};

	if (session__take_cut(s, &how, &e))
		say("baseline: %s", err_msg(&e));
	else if (model__set_baseline(s->model, s->cut))
		say("baseline: out of memory");
	else
		say("baseline set: changes count from now on");
}
