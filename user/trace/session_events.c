// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The messages that a session gets while its loop runs: from the programs, from the ends of
 * processes, from new mappings. What always holds: a message of the programs is
 * read before later ones about the same process.
 */
#include <errno.h>
#include <poll.h>

#include "process/translator.h"
#include "trace/session_parts.h"
#include "tracee/tracee_pause.h"
#include "util/log.h"
#include "util/signals.h"

/* ---- messages of the programs */

static void handle(struct session *s, const struct mt_event *ev)
{
	char comm[sizeof(ev->comm) + 1];

	if (ev->kind == MT_EV_THREAD_END) {
		snprintf(comm, sizeof(comm), "%.16s", ev->comm);
		clean_name(comm);
		model__thread_ended(s->model, ev->proc, ev->tid, comm, &ev->counts);
		return;
	}
	if (ev->kind == MT_EV_EXIT || ev->kind == MT_EV_OOM)
		session__on_death(s, ev);
	if (ev->kind == MT_EV_EXEC && ev->exit_code & MT_EXEC_HELD && s->spawn && (pid_t)ev->pid == spawn__pid(s->spawn))
		s->held = true;
	if (s->tracees.probing->on_event(&s->tracees, ev, &s->failure))
		session__fail(s);
}

void session__on_kernel_event(const struct mt_event *ev, void *arg)
{
	handle(arg, ev);
	/* while many are read, the tables may run full */
	session__make_room(arg);
}

static void keep_event(const struct mt_event *ev, void *arg)
{
	struct session *s = arg;
	struct mt_move *slot = vec_push(&s->events);

	if (slot)
		*slot = *(const struct mt_move *)ev;
	else
		session__on_kernel_event(ev, s);	/* out of turn is better than not at all */
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
		session__on_kernel_event(&s->events.v[i].ev, s);
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
	say("%s (%d) has started, which runs programs by translating their code: breakpoints would kill them, so the trace ends here",
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
	session__fire(arg);
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
		model__life_ended(s->model, tracee__life(p)->proc);
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
