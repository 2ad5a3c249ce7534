// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What happens to the processes of a session, and what is done about it: deaths, and the
 * conditions of --when. What always holds: a snapshot for a death is taken after the last
 * message of the process, so all that it held is in it; none is taken while messages are being handled.
 */
#include <errno.h>
#include <signal.h>

#include "model/triggers.h"
#include "trace/session_parts.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/signals.h"

/* /proc files that one check reads, 10 us each: where there are more processes, they have their turns. */
#define RSS_A_LOOK 512

/* ---- deaths */

static bool counts_blocks(const struct session *s)
{
	return !s->budget && counters__of_mode(s->opts->recording.mode) & HAS_LIVE_BLOCKS;
}

static const char *mark_of(const struct session *s)
{
	return s->opts->recording.sample_bytes ? "~" : "";
}

/* "nginx (1432) was ended by SIGSEGV; it held 2.1 MiB in 1,204 blocks"; the caller's */
static char *death_words(struct session *s, const struct tracee_life *l, int sig, bool oom)
{
	const struct process *p = &l->tracee->process;
	char name[SIGNAL_NAME_MAX], a[FMT_MAX], b[FMT_MAX], *text = NULL, held[3 * FMT_MAX] = "";
	struct proc_now now;

	/* --start-on: what it held before is not known; --mode leak: nor is what it holds, until its heap was read once more */
	if (counts_blocks(s) && !s->spots.waiting && !s->uses && collect__peek(s->collect, l->proc, true, &now))
		snprintf(held, sizeof(held), "; it held %s%s in %s%s block%s", mark_of(s),
			 fmt_bytes(a, now.live_bytes), mark_of(s), fmt_exact(b, now.live_blocks),
			 now.live_blocks == 1 ? "" : "s");
	if (asprintf(&text, "%s (%d) was %s%s%s", p->comm, (int)p->pid,
		     oom ? "killed by the kernel: out of memory" : "ended by ",
		     oom ? "" : signal_name(sig, name), held) < 0)
		return NULL;
	return text;
}

/* Where every process is traced, many are ended on purpose. */
static bool is_news(const struct session *s, int sig, bool oom)
{
	return oom || signal_is_crash(sig) || s->selection.adopt != MT_ADOPT_ALL;
}

static void died(struct session *s, const struct tracee_life *l, int sig, bool oom)
{
	_cleanup_free_ char *words = death_words(s, l, sig, oom);

	model__set_death(s->model, l->proc, sig, oom);
	if (!words)
		return;
	if (is_news(s, sig, oom))
		say("%s", words);
	else
		say_verbose("%s", words);
	if (s->triggers && !s->spots.waiting &&
	    (triggers__event(s->triggers, EVENT_KILLED, words, now_ns()) ||
	     (oom && triggers__event(s->triggers, EVENT_OOM, words, now_ns()))))
		say("out of memory: no snapshot is taken");
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

	if (!l)
		return;
	say_verbose("%s (%d): the kernel is out of memory and kills it", l->tracee->process.comm, (int)ev->pid);
	if (model__has_ended(s->model, l->proc) && model__exit_signal(s->model, l->proc) == SIGKILL)
		died(s, l, SIGKILL, true);
}

void session__on_death(struct session *s, const struct mt_event *ev)
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

static bool is_over(const struct session *s)
{
	return !s->live && s->selection.adopt != MT_ADOPT_ALL && tracees__all_ended(&s->tracees);
}

void session__fire(struct session *s)
{
	_cleanup_free_ char *reasons = NULL;

	/* where the report comes next, it is the snapshot */
	if (!s->triggers || !s->attached || s->finishing || is_over(s))
		return;
	reasons = triggers__reasons(s->triggers, now_ns(), false);
	if (!reasons)
		return;
	if (session__request(s, reasons, 0))
		return;
	session__serve_requests(s);
	triggers__taken(s->triggers, now_ns());
}

void session__tell_trigger(struct session *s, struct snapshot *snap)
{
	_cleanup_free_ char *reasons = s->triggers ? triggers__reasons(s->triggers, now_ns(), true) : NULL;

	if (reasons)
		snap->trigger = snapshot__strdup(snap, reasons);
}

void session__list_whens(const struct session *s, struct snapshot *snap)
{
	size_t n = s->triggers ? triggers__n(s->triggers) : 0;
	struct snap_when *v = snapshot__alloc(snap, n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		struct fired f = triggers__fired(s->triggers, i);

		v[i] = (struct snap_when){ .text = snapshot__strdup(snap, f.text),
					   .fired = f.n,
					   .why = snapshot__strdup(snap, f.why),
					   .last_ns = f.last_ns > s->start_ns ? f.last_ns - s->start_ns : 0 };
	}
	snap->whens = v;
	snap->n_whens = n;
}

static int look_at(struct session *s, struct tracee *p, unsigned int wanted, uint64_t at_ns)
{
	const struct tracee_life *life = tracee__life(p);
	struct proc_now now;
	struct look l = { .proc = life->proc };
	char who[64];

	if (!life->proc ||
	    !collect__peek(s->collect, life->proc,
			   wanted & (FIGURE_BIT(FIGURE_BLOCKS) | FIGURE_BIT(FIGURE_ALLOCS)), &now))
		return 0;
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
	return triggers__look(s->triggers, &l, at_ns);
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
		if (look_at(s, p, has_turn ? wanted : wanted & ~FIGURE_BIT(FIGURE_RSS), at_ns)) {
			say("out of memory: not all conditions of --when were checked");
			break;
		}
		n_rss++;
		if (n_rss == RSS_A_LOOK)
			s->looked = first + i + 1;
	}
	session__fire(s);
}

int session__watch_triggers(struct session *s)
{
	const struct opts *o = s->opts;

	if (!o->whens.n)
		return 0;
	s->triggers = triggers__new(o->whens.v, o->whens.n, o->pause_ns);
	if (!s->triggers)
		return -ENOMEM;
	on_check(s);
	return loop__add_timer(s->loop, TRIGGERS_LOOK_NS, false, on_check, s);
}
