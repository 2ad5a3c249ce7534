// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * When a session reads where memory is: once a second it checks whether that is due, and for each
 * snapshot. Reading a huge process takes many slices; one that nothing waits for takes a slice at
 * each turn of the loop. What always holds: between two slices the messages of the programs are
 * read, so that their room does not run full; those that come while a snapshot is being made are
 * handled after it, in their order.
 */
#include <errno.h>
#include <sys/eventfd.h>

#include "trace/session_parts.h"

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

int session__watch_memory(struct session *s)
{
	s->memory.meanwhile = meanwhile;
	s->memory.arg = s;
	s->memory_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->memory_fd < 0 ? -errno : loop__add_fd(s->loop, s->memory_fd, on_turn, s);
}

void session__look_at_memory(struct session *s, const struct cut *cut, bool now)
{
	resident__look(&s->memory, &s->tracees, cut, now);
	if (s->memory.procs.n)
		wake(s);
}

void session__look_last_at_memory(struct session *s)
{
	resident__look_last(&s->memory, &s->tracees);
	/* a program that a target became meanwhile */
	if (s->events.n)
		session__read_events(s);
}

void session__memory_done(struct session *s)
{
	resident__done(&s->memory);
	if (s->memory_fd >= 0)
		close(s->memory_fd);
	s->memory_fd = -1;
}
