// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The messages that a session gets while its loop runs: from the programs, from the ends of
 * processes, from new mappings. What always holds: a message of the programs is
 * read before later ones about the same process.
 */
#include <poll.h>
#include <signal.h>

#include "model/triggers.h"
#include "process/translator.h"
#include "trace/session.h"
#include "tracee/tracee.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/signals.h"

/*
 * What happens to the processes of a session, and what is done about it: deaths, and the
 * conditions of --when. What always holds: a snapshot for a death is taken after the last
 * message of the process, so all that it held is in it; none is taken while messages are being handled.
 */

/* /proc files that one check reads, 10 us each: where there are more processes, they have their turns. */
#define RSS_A_LOOK 512

/* ---- deaths */

static const char *mark_of(const struct session *s)
{
	return s->opts->recording.sample_bytes ? "~" : "";
}

/* "nginx (1432) was ended by SIGSEGV; it held 2.1 MiB in 1,204 blocks"; the caller's */
static char *death_words(struct session *s, const struct tracee_life *l, int sig, bool oom)
{
	const struct process *p = &l->tracee->process;
	char name[SIGNAL_NAME_MAX], a[FMT_MAX], b[FMT_MAX], held[3 * FMT_MAX] = "";
	bool counts = !s->budget && counters__of_mode(s->opts->recording.mode) & HAS_LIVE_BLOCKS;
	struct proc_now now;

	/* --start-on: what it held before is not known; --mode leak: nor is what it holds, until its heap was read once more */
	if (counts && !s->spots.waiting && !s->uses && collect__peek(s->collect, l->proc, true, &now))
		snprintf(held, sizeof(held), "; it held %s%s in %s%s block%s", mark_of(s),
			 fmt_bytes(a, now.live_bytes), mark_of(s), fmt_exact(b, now.live_blocks),
			 now.live_blocks == 1 ? "" : "s");
	return xasprintf("%s (%d) was %s%s%s", p->comm, (int)p->pid, oom ? "killed by the kernel: out of memory" : "ended by ",
			 oom ? "" : signal_name(sig, name), held);
}

static void died(struct session *s, const struct tracee_life *l, int sig, bool oom)
{
	_cleanup_free_ char *words = death_words(s, l, sig, oom);
	struct snap_process *row = model__process(s->model, l->proc);

	row->exit_signal = sig;
	row->oom_killed = oom;
	/* where every process is traced, many are ended on purpose */
	if (oom || signal_is_crash(sig) || s->selection.adopt != MT_ADOPT_ALL)
		say("%s", words);
	else
		say_verbose("%s", words);
	if (!s->triggers || s->spots.waiting)
		return;
	triggers__event(s->triggers, EVENT_KILLED, words, now_ns());
	if (oom)
		triggers__event(s->triggers, EVENT_OOM, words, now_ns());
}

static const struct tracee_life *life_of_pid(const struct session *s, pid_t pid)
{
	for (size_t i = s->tracees.v.n; i-- > 0;)
		if (s->tracees.v.v[i]->process.pid == pid)
			return tracee__life(s->tracees.v.v[i]);
	return NULL;
}

/* The kernel has chosen it. Mostly its end is still to come, and says so itself. */
static void chosen(struct session *s, const struct mt_event *ev)
{
	const struct tracee_life *l = ev->proc ? hash__get(&s->tracees.by_proc, ev->proc) :
						 life_of_pid(s, (pid_t)ev->pid);
	const struct snap_process *row;

	if (!l)
		return;
	say_verbose("%s (%d): the kernel is out of memory and kills it", l->tracee->process.comm, (int)ev->pid);
	row = model__process(s->model, l->proc);
	if (row->ended && row->exit_signal == SIGKILL)
		died(s, l, SIGKILL, true);
}

static void on_death(struct session *s, const struct mt_event *ev)
{
	const struct tracee_life *l = hash__get(&s->tracees.by_proc, ev->proc);
	int sig = ev->exit_code & 0x7f;

	if (ev->kind == MT_EV_OOM)
		chosen(s, ev);
	/* one that is chosen while it ends by itself was not killed */
	else if (l && sig)
		died(s, l, sig, ev->oom && sig == SIGKILL);
}

/* ---- --when */

/* Takes the snapshot that one of them requests, if any does; after messages. */
static void fire(struct session *s)
{
	_cleanup_free_ char *reasons = NULL;

	/* where the report comes next, it is the snapshot */
	if (!s->triggers || !s->attached || s->finishing ||
	    (!s->live && s->selection.adopt != MT_ADOPT_ALL && tracees__all_ended(&s->tracees)))
		return;
	reasons = triggers__reasons(s->triggers, now_ns(), false);
	if (!reasons)
		return;
	session__request(s, reasons, 0);
	session__serve_requests(s);
	triggers__taken(s->triggers, now_ns());
}

void session__tell_trigger(struct session *s, struct snapshot *snap)
{
	_cleanup_free_ char *reasons = s->triggers ? triggers__reasons(s->triggers, now_ns(), true) : NULL;

	if (reasons)
		snap->trigger = snapshot__strdup(snap, reasons);
}

/* What became of them so far. */
static void list_whens(struct session *s, struct snapshot *snap, const struct mt_reached *mark)
{
	size_t n = s->triggers ? triggers__n(s->triggers) : 0;
	struct snap_when *v = snapshot__alloc(snap, n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = *triggers__when(s->triggers, i);
		v[i].text = snapshot__strdup(snap, v[i].text);
		v[i].why = snapshot__strdup(snap, v[i].why);
		v[i].last_ns -= MIN(v[i].last_ns, s->start_ns);
	}
	snap->whens = v;
	snap->n_whens = n;
}

static void look_at(struct session *s, struct tracee *p, unsigned int wanted, uint64_t at_ns)
{
	const struct tracee_life *life = tracee__life(p);
	struct proc_now now;
	struct look l = { .proc = life->proc };
	char who[64];

	if (!life->proc ||
	    !collect__peek(s->collect, life->proc,
			   wanted & (FIGURE_BIT(FIGURE_BLOCKS) | FIGURE_BIT(FIGURE_ALLOCS)), &now))
		return;
	snprintf(who, sizeof(who), "%.48s (%d)", p->process.comm, (int)p->process.pid);
	l.who = who;
	l.mark = mark_of(s);
	l.known = wanted;
	if (!session__knows_live_of(s, life->proc))
		l.known &= ~(FIGURE_BIT(FIGURE_LIVE) | FIGURE_BIT(FIGURE_BLOCKS));
	l.v[FIGURE_LIVE] = now.live_bytes;
	l.v[FIGURE_BLOCKS] = now.live_blocks;
	l.v[FIGURE_ALLOCS] = now.alloc_calls;
	if (wanted & FIGURE_BIT(FIGURE_RSS)) {
		l.v[FIGURE_RSS] = process__rss_bytes(p->process.pid);
		/* it is about to end */
		if (!l.v[FIGURE_RSS])
			l.known &= ~FIGURE_BIT(FIGURE_RSS);
	}
	triggers__look(s->triggers, &l, at_ns);
}

static void on_check(void *arg)
{
	struct session *s = arg;
	unsigned int wanted = triggers__figures(s->triggers);
	size_t n = s->tracees.v.n, first = n ? s->looked % n : 0, n_rss = 0;
	uint64_t at_ns = now_ns();

	/* --start-on: nothing was recorded yet */
	if (s->spots.waiting)
		return;
	for (size_t i = 0; i < n && wanted; i++) {
		struct tracee *p = s->tracees.v.v[(first + i) % n];
		bool has_turn = n_rss < RSS_A_LOOK;

		/* before its exec, a program of our own is a copy of malloctrace */
		if (p->ended || (p->own && p->lives.n < 2))
			continue;
		look_at(s, p, has_turn ? wanted : wanted & ~FIGURE_BIT(FIGURE_RSS), at_ns);
		n_rss++;
		if (n_rss == RSS_A_LOOK)
			s->looked = first + i + 1;
	}
	fire(s);
}

static int watch_triggers(struct session *s)
{
	const struct opts *o = s->opts;

	if (!o->whens.n)
		return 0;
	s->triggers = triggers__new(o->whens.v, o->whens.n, o->pause_ns);
	on_check(s);
	return loop__add_timer(s->loop, TRIGGERS_LOOK_NS, false, on_check, s);
}

static void triggers_done(struct session *s)
{
	triggers__free(s->triggers);
}

const struct session_module triggers_module = {
	.watch = watch_triggers,
	.on_snapshot = list_whens,
	.done = triggers_done,
};

/* ---- messages of the programs */

static void handle(struct session *s, const struct mt_event *ev)
{
	char comm[sizeof(ev->comm) + 1];

	if (ev->kind == MT_EV_THREAD_END || ev->kind == MT_EV_THREAD_RENAMED) {
		snprintf(comm, sizeof(comm), "%.16s", ev->comm);
		clean_name(comm);
		if (ev->kind == MT_EV_THREAD_END)
			model__thread_ended(s->model, ev->proc, ev->tid, comm, &ev->counts);
		else	/* --overhead estimates what a thread did as a whole */
			model__thread_renamed(s->model, ev->proc, ev->tid, comm,
					      recording__has_budget(&s->kernel->recording) ? NULL : &ev->counts);
		return;
	}
	if (ev->kind == MT_EV_EXIT || ev->kind == MT_EV_OOM)
		on_death(s, ev);
	if (ev->kind == MT_EV_EXEC && ev->exit_code & MT_EXEC_HELD && s->spawn && (pid_t)ev->pid == spawn__pid(s->spawn))
		s->held = true;
	if (s->tracees.probing->on_event(&s->tracees, ev, &s->failure))
		session__fail(s);
}

static void keep_event(const struct mt_event *ev, void *arg)
{
	struct session *s = arg;

	*vec_push(&s->events) = *(const struct mt_move *)ev;
}

bool session__keep_events(struct session *s)
{
	kernel__read_events(s->kernel, keep_event, s);
	return s->events.n > 0;
}

/*
 * On a machine that starts programs faster than they can be read, there are always more messages:
 * the end of the trace must not wait for them. What was reported by then is handled, but nothing
 * more is recorded.
 */
static void end_in_time(struct session *s)
{
	/* --mode leak: its heaps are read first, so the loop ends in its own time; few processes are traced then */
	if (s->uses)
		return;
	/* while the start is waited for, nothing is recorded, and its call would go on with that */
	if (s->end_ns || !s->start_ns || s->spots.waiting ||
	    !(signal_asks_for_end() || (s->due_ns && now_ns() >= s->due_ns)))
		return;
	s->end_ns = now_ns();
	kernel__freeze(s->kernel, true);
	loop__stop(s->loop);
}

/* In their turn. No snapshot is taken meanwhile, so none is kept. */
static void handle_kept(struct session *s)
{
	for (size_t i = 0; i < s->events.n; i++) {
		if (i % 16 == 15)
			end_in_time(s);
		handle(s, &s->events.v[i].ev);
		/* while many are read, the tables may run full */
		session__make_room(s);
	}
	s->events.n = 0;
}

/*
 * A program that translates code has begun, and has not got to what it runs yet, which takes it a tenth of a second at
 * least: shared probes are out in a hundredth. Of one in no pid namespace of ours it would not be known when it has ended,
 * and --overhead has its own order of probes.
 */
static void spare(struct session *s, const struct watch_record *r, const char *name)
{
	pid_t pid = r->pid;

	if (s->end_ns)
		return;
	if (pid > 0 && !s->budget) {
		tracees__pause_for(&s->tracees, pid, name, translator__is_installed(r->map.path, r->map.ino));
		return;
	}
	s->cut_short = true;
	s->end_ns = now_ns();
	kernel__freeze(s->kernel, true);
	tracees__detach(&s->tracees);
	say("%s (%d), an emulator, has started: breakpoints would kill the program that it runs, so the trace ends here",
	    name, (int)pid);
	loop__stop(s->loop);
}

static void on_record(const struct watch_record *r, void *arg)
{
	struct session *s = arg;
	const char *translator = r->kind == WATCH_MAPPED && tracees__are_shared(&s->tracees) ? translator__of(r->map.path) : NULL;

	if (translator)
		spare(s, r, translator);
	if (s->tracees.probing->on_record(&s->tracees, r, &s->failure))
		session__fail(s);
}

void session__read_records(struct session *s)
{
	if (s->watch)
		watch__read(s->watch, on_record, s);
}

static void settle(struct session *s)
{
	if (s->tracees.probing->settle(&s->tracees, &s->failure))
		session__fail(s);
}

void session__read_events(struct session *s)
{
	bool records_first = s->tracees.probing->records_first;
	uint64_t began_ns = now_ns();

	/*
	 * records are read after the messages, so that none is missing that a message builds upon,
	 * and handled before them
	 */
	session__keep_events(s);
	if (records_first)
		session__read_records(s);
	handle_kept(s);
	if (records_first)
		settle(s);
	/* all that was reported before is known: from here on it goes as with every exec of CMD */
	if (s->held) {
		s->held = false;
		spawn__catch(s->spawn);
	}
	session__follow_uses(s);
	s->recycle.told_ns = began_ns;
	/* others may come, unless it is only the children of some that are waited for */
	if (s->selection.adopt != MT_ADOPT_ALL && tracees__all_ended(&s->tracees))
		session__over(s);
}

void session__on_events(void *arg)
{
	session__read_events(arg);
	fire(arg);
}

/* A pidfd is readable: that process ended. Its own message says so too, if it was not lost. */
void session__on_pidfd(void *arg)
{
	struct session *s = arg;

	session__read_events(s);
	for (size_t i = 0; i < s->tracees.v.n; i++) {
		struct tracee *p = s->tracees.v.v[i];
		struct pollfd poll_fd = { .fd = p->process.pidfd, .events = POLLIN };

		if (p->process.pidfd < 0 || poll(&poll_fd, 1, 0) <= 0)
			continue;
		tracee__end(&s->tracees, p);
		model__process(s->model, tracee__life(p)->proc)->ended = true;
		loop__remove_fd(s->loop, p->process.pidfd);
		close(p->process.pidfd);
		p->process.pidfd = -1;
	}
	if (s->selection.adopt != MT_ADOPT_ALL && tracees__all_ended(&s->tracees))
		session__over(s);
}

void session__on_writes(void *arg)
{
	struct session *s = arg;
	const struct object *obj;

	session__read_events(s);	/* a process that has ended has nothing mapped any more */
	while ((obj = writes__next(s->writes)))
		tracees__on_written(&s->tracees, obj);
}

void session__on_watch(void *arg)
{
	struct session *s = arg;

	session__read_events(s);
	if (s->tracees.probing->records_first)
		return;
	session__read_records(s);
	settle(s);
}
