// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Snapshots of a session: when one is taken, and what becomes of it. They are requested, and taken
 * one after the other. What always holds: a snapshot is taken while the target goes on; one that
 * fails ends the trace, but for one that a signal, a mark or a condition requested.
 */
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "model/heaps.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "process/process.h"
#include "reader/reader.h"
#include "trace/session.h"
#include "tracee/tracee.h"
#include "util/log.h"
#include "util/signals.h"

/* ---- where memory is */

/*
 * When a session reads where memory is: once a second it checks whether that is due, and for each
 * snapshot. Reading a huge process takes many slices; one that nothing waits for takes a slice at
 * each turn of the loop. What always holds: between two slices the messages of the programs are
 * read, so that their room does not run full; those that come while a snapshot is being made are
 * handled after it, in their order.
 */

/* The loop's next turn is ours, too. */
static void wake(struct session *s)
{
	if (s->memory_fd >= 0)
		eventfd_write(s->memory_fd, 1);
}

/* Messages are kept, not handled: what a snapshot is made of must not change meanwhile. */
static void meanwhile(void *arg)
{
	struct session *s = arg;

	/* after the end of the trace nothing comes any more that would be reported */
	if (!s->end_ns && session__keep_events(s))
		wake(s);
}

static void on_turn(void *arg)
{
	struct session *s = arg;
	eventfd_t n;

	eventfd_read(s->memory_fd, &n);
	/* what was kept, and what has come since */
	session__on_events(s);
	if (resident__go_on(&s->memory, &s->tracees))
		wake(s);
}

static int memory_init(struct session *s)
{
	s->memory.meanwhile = meanwhile;
	s->memory.arg = s;
	s->memory_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->memory_fd < 0 ? -errno : loop__add_fd(s->loop, s->memory_fd, on_turn, s);
}

/* now: all of it is read. Else: if it is due, a part; the rest in the turns of the loop. */
static void look_at_memory(struct session *s, const struct cut *cut, bool now)
{
	resident__look(&s->memory, &s->tracees, cut, now);
	if (s->memory.procs.n)
		wake(s);
}

static void look_each_second(struct session *s)
{
	/* also of processes that end before there is a report */
	if (!s->spots.waiting)
		look_at_memory(s, NULL, false);
}

/* The last snapshot shows this one. */
static void look_last_at_memory(struct session *s)
{
	resident__look_last(&s->memory, &s->tracees);
	/* a program that a target became meanwhile */
	if (s->events.n)
		session__read_events(s);
}

static void memory_done(struct session *s)
{
	resident__done(&s->memory);
	if (s->memory_fd >= 0)
		close(s->memory_fd);
	s->memory_fd = -1;
}

const struct session_module memory_module = {
	.init = memory_init,
	.on_second = look_each_second,
	.on_end = look_last_at_memory,
	.done = memory_done,
};

#define LOOK_NS (SECOND_NS / 300)	/* a second, for the oldest blocks in reports of intervals */

/* ---- cuts */

static void on_flipped(void *arg)
{
	session__let_heaps_go_on(arg, true);
}

static int cut(struct session *s, const struct cut_opts *asked, struct err *e)
{
	struct cut_opts opts = *asked, *how = &opts;
	int err;

	s->cut = NULL;
	session__use_heaps(s, how);
	if (!how->marked_ns) {
		session__note_cut(s);
		how->flipped = on_flipped;
		how->arg = s;
	}
	err = collect__cut(s->collect, how, &s->cut, e);
	/* a mark's is of before they stood still */
	if (err || how->marked_ns)
		session__let_heaps_go_on(s, false);
	if (!err)
		session__doubt_unread(s);
	/* code is reported before its first stack is there: else one that is in the cut would have the name of code that was at its address before */
	tracees__note_code(&s->tracees);
	/* after it: nothing that a snapshot has is later than its end */
	if (!how->marked_ns)
		s->cut_mono_ns = now_ns();
	if (!err && s->budget)
		s->cut = budget__estimate(s->budget, s->cut);
	return err;
}

int session__take_cut(struct session *s, const struct cut_opts *how, enum patience patience, struct err *e)
{
	int err;

	do {
		_cleanup_err_ struct err why = {};

		err = !collect__is_marked(s->collect) ? 0 : patience == URGENT ? -EBUSY : session__yield_to_marks(s);
		if (err) {
			session__let_heaps_go_on(s, false);
			return err_set(e, err, "a mark's snapshot cannot be read");
		}
		err = cut(s, how, &why);
		/* a mark came first: its snapshot, then another attempt */
		if (err && (err != -EBUSY || patience == URGENT))
			return err_set(e, err, "%s", err_msg(&why));
	} while (err);
	return 0;
}

static struct cut_opts how_to_cut(const struct session *s, bool ages)
{
	return (struct cut_opts){ .scan = ages && !recording__is_growth(&s->opts->recording), .older_ns = s->opts->recording.older_ns,
				  .ages = output__has_age_classes(&s->output),
				  .blocks = !recording__is_estimated(&s->opts->recording) };
}

/* ---- from the last cut to a snapshot */

struct making {
	bool last, ages;
	const struct mt_reached *mark;	/* whose cut it was; NULL: no mark's */
	uint64_t began_ns, began_cpu_ns;
};

static struct making begin_making(struct session *s, bool last, bool ages, const struct mt_reached *mark)
{
	struct making m = { last, ages, mark, now_ns(), clock_ns(CLOCK_PROCESS_CPUTIME_ID) };

	tracees__sample(&s->tracees, false);
	return m;
}

static uint64_t duration_ns(const struct session *s, const struct making *m)
{
	uint64_t now_ns = s->spots.waiting ? s->start_ns : s->cut_mono_ns;

	/* what is taken after the end shows the end */
	return (s->end_ns && (m->last || now_ns > s->end_ns) ? s->end_ns : now_ns) - s->start_ns;
}

static struct snapshot_info info_of(const struct session *s, const struct making *m)
{
	const struct opts *o = s->opts;
	struct recording recording = o->recording;
	struct heap_reading reading = session__last_reading(s, m->mark);
	struct scouted scouted = s->tracees.scout ? scout__sums(&s->tracees) : (struct scouted){};

	recording.size = tracees__size(&s->tracees);
	recording.arenas = s->tracees.saw_arenas;
	return (struct snapshot_info){
		.base.recording = recording,
		.base.observed_share = s->budget ? budget__observed_share(s->budget) : 1,
		.base.n_selected = scouted.selected,
		.base.n_watched = scouted.ever,
		.base.watched_cpu_ns = s->tracees.scout ? tracees__cpu_ns(&s->tracees) : 0,
		.base.machine_cpu_ns = scouted.machine_cpu_ns,
		.base.probe_ns_estimate = s->budget ? budget__spent_ns(s->budget) : 0,
		.hit_ns = s->budget ? 0 : price__hit_ns(s->kernel),
		.base.version = VERSION,
		.base.kernel = s->uname.release,
		.base.arch = s->uname.machine,
		.base.host = s->uname.nodename,
		.base.boot_id = s->boot_id,
		.base.duration_ns = duration_ns(s, m),
		.base.paused_ns = tracees__paused_ns(&s->tracees),
		.base.n_unfollowed = s->selection.adopt == MT_ADOPT_NONE ? kernel__n_forked(s->kernel) : 0,
		.base.n_left_out = tracees__n_left_out(&s->tracees),
		.base.n_unread = readers__n_unread(),
		.n_codes_unkept = s->tracees.n_codes_unkept,
		.base.reading = reading,
		.base.wall_now_ns = wall_ns(),
		.base.ended = m->last || s->end_ns,
		.base.target_cpu_ns = tracees__cpu_ns(&s->tracees),
		.base.tool_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.unit_ns = s->kernel->born_unit_ns,
		.leak_after_ns = o->leak_after_ns,
		.mappings = s->tracees.n_changes,
		.unwind_full = unwind__n_full(s->unwind),
		.codes_full = codes__n_full(s->kernel->codes),
		.n_unprobed = tracees__n_unprobed(&s->tracees),
	};
}

/* What the session and the model keep of a raw snapshot: once. */
static void note(struct session *s, const struct making *m)
{
	const struct cut *cut = s->cut;

	session__note_stop(s);
	/* marks may be many */
	if (m->last)
		resident__end(&s->memory, &s->tracees, cut);
	else
		look_at_memory(s, cut, m->ages && !m->mark);
	if (!s->spots.waiting && session__knows_live(s))
		model__note(s->model, cut);
	/* at the end that was done before probes went */
	if (!m->last && !m->mark)
		session__bound_uses(s);
	session__note_unsure(s, m->mark);
}

/* Of a trace of all processes: the machine's memory, now. */
static void put_machine(struct snapshot *s)
{
	struct meminfo m;

	meminfo__read(&m);
	s->machine = (struct snap_machine){
		.known = true,
		.total_bytes = m.total_bytes,
		.available_bytes = m.available_bytes,
		.free_bytes = m.free_bytes,
		.swap_bytes = m.swap_bytes,
		.swap_free_bytes = m.swap_free_bytes,
	};
	for (size_t i = 0; i < s->n_processes; i++)
		s->machine.rss_bytes += s->processes[i].ended ? 0 : s->processes[i].rss_bytes;
}

static struct snapshot *build(struct session *s, const struct making *m)
{
	struct model_calls calls = tracees__model_calls(&s->tracees);
	struct snapshot_info info = info_of(s, m);
	const struct cut *cut = s->cut;
	struct snapshot *snap = model__snapshot(s->model, cut, &info, &calls);

	tracees__list_probes(&s->tracees, snap);
	/* where nothing was recorded, or page faults are, there is nothing to be missed */
	if (!s->spots.waiting && !recording__is_growth(&s->opts->recording) && info.base.observed_share > 0 && !s->tracees.scout)
		tracees__tell_blind(&s->tracees, snap, recording__is_partial(&info.base.recording));
	if (s->opts->all)
		put_machine(snap);
	session__on_snapshot(s, snap, m->mark);
	snapshot__find_unexplained(snap);
	taken__list(&s->taken, snap);
	s->cut_ns = now_ns();
	return snap;
}

/* The one that is shown: a search that nobody asked for has another one made before. */
static struct snapshot *build_shown(struct session *s, const struct making *m)
{
	struct snapshot *snap = build(s, m);

	say_verbose("snapshot of %zu sites%s: %.1f ms, %.1f of them of CPU time", snap->n_sites,
		    m->ages ? " with ages" : "", (s->cut_ns - m->began_ns) / 1e6,
		    (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - m->began_cpu_ns) / 1e6);
	return snap;
}

static struct snapshot *make(struct session *s, const struct making *m)
{
	note(s, m);
	return build_shown(s, m);
}

struct snapshot *session__take(struct session *s, bool ages, struct err *e)
{
	struct making m = begin_making(s, false, ages, NULL);
	struct cut_opts how = how_to_cut(s, ages);

	session__read_uses(s, READ_FOR_SNAPSHOT);
	return session__take_cut(s, &how, MAY_WAIT, e) ? NULL : make(s, &m);
}

struct snapshot *session__take_last(struct session *s, struct err *e)
{
	struct making m = begin_making(s, true, true, NULL);
	struct cut_opts how = how_to_cut(s, true);
	struct snapshot *so_far = NULL;

	session__read_uses(s, READ_FOR_SNAPSHOT);
	if (session__take_cut(s, &how, MAY_WAIT, e))
		return NULL;
	note(s, &m);
	if (s->scans_last) {
		if (session__may_search_unasked(s))
			so_far = build(s, &m);
		session__scan_last(s, so_far);
		snapshot__free(so_far);
	}
	return build_shown(s, &m);
}

struct snapshot *session__take_at(struct session *s, const struct mt_reached *mark, bool hold, struct err *e)
{
	struct making m = begin_making(s, false, true, mark);
	struct cut_opts how = how_to_cut(s, true);

	how.marked_ns = mark->clock_ns;
	how.hold = hold;
	s->cut_mono_ns = mark->mono_ns;
	return cut(s, &how, e) ? NULL : make(s, &m);
}

struct snapshot *session__take_or_skip(struct session *s, bool ages)
{
	struct snapshot *snap = session__take(s, ages, &s->failure);

	/* a mark's thread has been kept from the CPU for seconds: the next one will do */
	if (!snap && s->failure.code == -EBUSY) {
		say("a report was skipped: %s", err_msg(&s->failure));
		err_done(&s->failure);
		s->failure = (struct err){};
	}
	return snap;
}

/* ---- output, which may block: a pipe that is not read */

static void begin_output(struct session *s, sigset_t *before)
{
	/* a screen must be restored, and its keys end the trace */
	if (!s->live)
		signals__begin_report(before);
	session__flush_calls(s);
}

static void end_output(struct session *s, const sigset_t *before)
{
	if (s->live)
		return;
	sigprocmask(SIG_SETMASK, before, NULL);
	if (signals__end_ns()) {
		s->interrupted = true;
		loop__stop(s->loop);
	}
}

/* ---- requests */

void session__put_out(struct session *s, struct snapshot *snap, const char *reason, struct err *e)
{
	const char *lead = reason ? reason : "", *colon = reason ? ": " : "";
	sigset_t before;

	begin_output(s, &before);
	if (snap) {
		snap->trigger = snapshot__strdup(snap, reason);
		taken__add(&s->taken, snap->duration_ns, output__has_files(&s->output) ? s->n_usr1 + 1 : 0, reason);
	}
	/* where there is nothing to write to, the user who sent a signal is told so all the same */
	if (snap && reason && !output__has_files(&s->output)) {
		say("%s", reason);
		if (!s->live && output__print(&s->output, snap, &s->failure))
			session__fail(s);
	} else if (!snap || output__write_files(&s->output, snap, ++s->n_usr1, false, e)) {
		/* a full disk now may have room again later: the trace goes on */
		say("%s%ssnapshot: %s", lead, colon, err_msg(e));
	} else {
		say("%s%ssnapshot %u written", lead, colon, s->n_usr1);
	}
	end_output(s, &before);
	snapshot__free(snap);
}

static void serve(struct session *s, const struct snapshot_request *r)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *late = NULL;

	if (r->late_since_ns)
		late = xasprintf("%s, %.1f ms later", r->reason, (now_ns() - r->late_since_ns) / 1e6);
	session__read_uses(s, READ_NOW | READ_FOR_SNAPSHOT);
	session__put_out(s, session__take(s, true, &e), late ? late : r->reason, &e);
}

void session__serve_requests(struct session *s)
{
	/* those that are made meanwhile have the next turn of the loop */
	for (size_t n = s->requests.n; n; n--) {
		struct snapshot_request r = s->requests.v[0];

		s->requests.n--;
		memmove(s->requests.v, s->requests.v + 1, s->requests.n * sizeof(r));
		serve(s, &r);
		free(r.reason);
	}
	if (s->requests.n)
		eventfd_write(s->requests_fd, 1);
}

void session__request(struct session *s, const char *reason, uint64_t late_since_ns)
{
	*vec_push(&s->requests) = (struct snapshot_request){ reason ? xstrdup(reason) : NULL, late_since_ns };
	eventfd_write(s->requests_fd, 1);
}

static void on_requests(void *arg)
{
	struct session *s = arg;
	eventfd_t n;

	eventfd_read(s->requests_fd, &n);
	session__serve_requests(s);
}

static int requests_init(struct session *s)
{
	s->requests_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->requests_fd < 0 ? -errno : loop__add_fd(s->loop, s->requests_fd, on_requests, s);
}

/* What was late up to then does not take from the time of what comes next. */
static void serve_last(struct session *s)
{
	session__serve_requests(s);
	session__bound_last_reading(s);
}

static void requests_done(struct session *s)
{
	for (size_t i = 0; i < s->requests.n; i++)
		free(s->requests.v[i].reason);
	vec_done(&s->requests);
	if (s->requests_fd >= 0)
		close(s->requests_fd);
	s->requests_fd = -1;
}

/* ---- at every second, at every interval */

/* Do the reports of intervals need exact ages? A table of the top rows does not. */
static bool intervals_need_ages(const struct session *s)
{
	return s->opts->recording.older_ns || s->output.to_stdout->carries_ages || opts__has_series(s->opts);
}

/* A point for the trends, unless a report has just added one. */
static void note_trends(void *arg)
{
	struct session *s = arg;
	struct cut_opts how = { .older_ns = s->opts->recording.older_ns };

	if (now_ns() - s->cut_ns < SECOND_NS / 2)
		return;
	tracees__sample(&s->tracees, false);
	session__read_uses(s, 0);
	if (!session__take_cut(s, &how, MAY_WAIT, NULL) && !s->spots.waiting && session__knows_live(s))
		model__note(s->model, s->cut);
}

/*
 * Where in its second a point is taken: multiples of the golden ratio, within the first half. A program that fills and flushes
 * memory in almost a second would seem to grow if all points were a second apart: each finds it a little fuller.
 */
static uint64_t note_delay_ns(struct session *s)
{
	double turns = (double)s->n_seconds++ * 0.6180339887498949;

	return (uint64_t)((turns - (double)(uint64_t)turns) * SECOND_NS * 0.5);
}

static void on_second(struct session *s)
{
	uint64_t delay_ns = note_delay_ns(s);

	if ((s->opts->interval_ns || s->live) && !intervals_need_ages(s))
		collect__look(s->collect, LOOK_NS);
	if (!delay_ns || loop__add_timer(s->loop, delay_ns, true, note_trends, s))
		note_trends(s);
}

const struct session_module requests_module = {
	.init = requests_init,
	.on_second = on_second,
	.on_end = serve_last,
	.done = requests_done,
};

void session__on_interval(void *arg)
{
	struct session *s = arg;
	_cleanup_err_ struct err e = {};
	struct snapshot *snap;
	sigset_t before;

	/* the last one is taken at the end of the trace */
	if (s->opts->count && s->n_reports + 1 >= s->opts->count) {
		loop__stop(s->loop);
		return;
	}
	snap = session__take_or_skip(s, intervals_need_ages(s));
	if (!snap && !s->failure.code)
		return;
	begin_output(s, &before);
	/* also where nothing reads the output any more: no failure is noted then, and the trace ends */
	if (!snap || (output__prints(&s->output) && output__print(&s->output, snap, &s->failure)))
		session__fail(s);
	/* a full disk now may have room again later: the trace goes on */
	if (snap && opts__has_series(s->opts) && output__write_files(&s->output, snap, 0, true, &e))
		say("snapshot: %s", err_msg(&e));
	end_output(s, &before);
	s->n_reports++;
	snapshot__free(snap);
}

void session__set_baseline(struct session *s)
{
	_cleanup_err_ struct err e = {};
	struct cut_opts how = {};

	session__read_uses(s, READ_NOW | READ_FOR_SNAPSHOT);
	if (session__take_cut(s, &how, MAY_WAIT, &e)) {
		say("baseline: %s", err_msg(&e));
		return;
	}
	model__set_baseline(s->model, s->cut);
	say("baseline set: changes count from now on");
}
