// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --events: a line for each call, as it happens (bpf/calls.bpf.h). Owns the calls that were
 * read and have no line yet, the words of sites, and the text that is not written yet.
 *
 * What always holds: a call is read from the ring before the number of its site is
 * given to another one. Numbers are given back of processes that have ended and whose
 * programs are all over, so by then what they reported is in the ring, and
 * session__settle_calls() reads it first. So a stack is never another's.
 *
 * What the programs reported about processes, and what these map, is read between the
 * calls and their names: a call of a process comes after the message that it began.
 *
 * The loop never waits for whoever reads the lines. What does not fit into a pipe waits here, up
 * to a limit; beyond that it stays in the ring, and when that is full the programs
 * count what they leave out, and the lines show where. Only session__settle_calls() must read it
 * all the same: what it reads beyond a limit of its own is counted, and has no line either.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "present/text/call_lines.h"
#include "trace/session.h"
#include "util/parse.h"

#define READ_NS (25 * MS_NS)	/* how late a line may be */
#define AT_ONCE 16384		/* calls that are kept, */
#define AT_MOST 8		/* and how often in a turn of the loop */
#define KEPT_MAX (AT_ONCE * AT_MOST)	/* calls that have no line yet */
#define WAITING_MAX (4u << 20)	/* bytes that are not written yet */
#define NAMES_NS SECOND_NS	/* after which names that may change are looked up again */
/* what a pipe that can be written to takes without waiting */
#define CHUNK 4096

/* The words of a site. Those of a number that has been given back stay until the lines that need them are made. */
struct call_site {
	uint32_t proc;
	char *words;		/* owned */
	bool hidden;		/* by --filter and its like */
	bool fixed;		/* it will have no other names */
	uint64_t looked_ns;
};

struct kept_call {
	struct mt_told c;
	const struct call_site *site, *where;	/* NULL: not looked up yet, or there is none */
	bool named;
	bool foreign;		/* of a process that was not selected */
	uint64_t n_dropped;	/* before it, as of struct calls */
};

struct calls {
	struct call_lines lines;
	struct vec(struct kept_call) kept;
	struct hash sites;	/* of struct call_site, by number; of frees without one, by FREE_KEY() */
	struct vec(struct call_site *) old;	/* no longer found by their number */
	FILE *out;		/* into text */
	char *text;
	size_t size, at;	/* at: written so far */
	int64_t wall_offset_ns;	/* added to CLOCK_MONOTONIC */
	uint64_t n_shown, n_hidden, n_lost;
	uint64_t n_dropped, n_dropped_told;	/* read, and not kept: KEPT_MAX */
	size_t n_read;		/* in this turn */
	bool gone;		/* nobody reads the lines any more */
};

#define FREE_KEY(func) (1ull << 32 | (func))

/* ---- text */

static void reader_left(struct session *s)
{
	s->calls->gone = true;
	kernel__end_calls(s->kernel);
	loop__stop(s->loop);
}

/* Whoever reads as slowly as lines come never has it all. */
static void forget_written(struct calls *c)
{
	if (c->at < WAITING_MAX)
		return;
	c->size -= c->at;
	memmove(c->text, c->text + c->at, c->size);
	c->at = 0;
	fseeko(c->out, (off_t)c->size, SEEK_SET);
}

/* All that is there; wait: whoever reads it is waited for. */
static void write_out(struct session *s, bool wait)
{
	struct calls *c = s->calls;

	fflush(c->out);
	while (!c->gone && c->at < c->size) {
		struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t n;

		if (!wait && (poll(&p, 1, 0) != 1 || !(p.revents & (POLLOUT | POLLERR)))) {
			forget_written(c);
			return;
		}
		n = write(STDOUT_FILENO, c->text + c->at, MIN(c->size - c->at, CHUNK));
		if (n >= 0)
			c->at += n;
		else if (errno == EPIPE)
			reader_left(s);
		else if (errno == EAGAIN && wait)
			poll(&p, 1, -1);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR) {
			err_set(&s->failure, -errno, "--events: cannot write: %s", strerror(errno));
			reader_left(s);
		}
	}
	rewind(c->out);
	c->size = c->at = 0;
}

/* ---- names */

/* A snapshot of one stack. *ret_fixed: these places will have no other names. */
static struct snapshot *stack_snapshot(struct session *s, const struct snap_site *row, uint32_t func, bool *ret_fixed)
{
	struct snapshot *snap = snapshot__new();
	struct snap_module *modules;
	uint32_t *stack;

	*ret_fixed = true;
	snap->places = snapshot__alloc(snap, row->n_frames + 1, sizeof(*snap->places));
	modules = snapshot__alloc(snap, row->n_frames + 1, sizeof(*modules));
	stack = snapshot__alloc(snap, row->n_frames + 1, sizeof(*stack));
	for (uint32_t i = 0; i < row->n_frames; i++) {
		struct address a = {};

		tracees__locate(row->proc, row->frames[i], row->met_ns, &a, &s->tracees);
		*ret_fixed &= a.fixed;
		modules[i] = (struct snap_module){ a.path, a.build_id, a.handle };
		snap->places[i] = (struct place){ .module = a.module ? (int)i : -1, .offset = a.offset };
		stack[i] = i;
	}
	snap->n_places = snap->n_modules = row->n_frames;
	snap->modules = modules;
	snap->sites = snapshot__alloc(snap, 1, sizeof(*snap->sites));
	snap->n_sites = 1;
	*snap->sites = (struct snap_site){
		.function = tracees__function(func, &s->tracees), .n_stack = row->n_frames, .stack = stack, .end = row->end,
	};
	return snap;
}

static void free_old(struct calls *c)
{
	for (size_t i = 0; i < c->old.n; i++) {
		free(c->old.v[i]->words);
		free(c->old.v[i]);
	}
	c->old.n = 0;
}

/* From now on the number may be another's. */
static void forget_site(struct calls *c, uint64_t key)
{
	struct call_site *site = hash__remove(&c->sites, key);

	if (site)
		*vec_push(&c->old) = site;
}

/* key: of the table; row: its stack. */
static const struct call_site *name_site(struct session *s, uint64_t key, const struct snap_site *row, uint32_t func)
{
	struct calls *c = s->calls;
	struct call_site *site = hash__get(&c->sites, key);
	struct snapshot *snap;
	uint64_t now = now_ns();

	if (site && site->proc == row->proc && (site->fixed || now - site->looked_ns < NAMES_NS))
		return site;
	if (site)
		forget_site(c, key);
	site = xcalloc(1, sizeof(*site));
	snap = stack_snapshot(s, row, func, &site->fixed);
	site->proc = row->proc;
	site->looked_ns = now;
	site->hidden = !output__name_stack(&s->output, snap, CALL_LINE_FRAMES);
	site->words = call_line__site(snap, snap->sites);
	snapshot__free(snap);
	hash__put(&c->sites, key, site);
	return site;
}

static const struct call_site *site_of(struct session *s, uint32_t number, uint32_t proc)
{
	/* never to be seen: see above; but no stack is better than another's */
	static const struct call_site gone = { .words = "[stack gone]" };
	struct snap_site row;

	if (!number)
		return NULL;
	return collect__stack(s->collect, number, proc, &row) ? name_site(s, number, &row, row.func) : &gone;
}

static void name_call(struct session *s, struct kept_call *k)
{
	uint32_t func = MT_TOLD_FUNC(k->c.what), where = MT_TOLD_WHERE(k->c.what);

	if (k->named)
		return;
	k->named = true;
	k->foreign = kernel__was_dropped(s->kernel, k->c.proc);
	if (k->foreign)
		return;
	/* a free without a block has no stack, but --filter may name the function */
	if (MT_TOLD_KIND(k->c.what) == MT_TOLD_UNKNOWN)
		k->site = name_site(s, FREE_KEY(func), &(struct snap_site){}, func);
	else
		k->site = site_of(s, MT_TOLD_SITE(k->c.what), k->c.proc);
	if (where)
		k->where = site_of(s, where, k->c.proc);
}

/* ---- lines */

static void show_gaps(struct session *s, uint64_t n_lost, uint64_t n_dropped)
{
	struct calls *c = s->calls;

	if (n_lost > c->n_lost) {
		call_lines__gap(c->out, n_lost - c->n_lost, "the ring was full");
		c->n_lost = n_lost;
	}
	if (n_dropped > c->n_dropped_told) {
		call_lines__gap(c->out, n_dropped - c->n_dropped_told, "too many wait for whoever reads these lines");
		c->n_dropped_told = n_dropped;
	}
}

static void show(struct session *s, const struct kept_call *k)
{
	struct calls *c = s->calls;
	enum mt_told_kind kind = MT_TOLD_KIND(k->c.what);
	char comm[sizeof(k->c.comm) + 1];

	show_gaps(s, k->c.n_lost, k->n_dropped);
	if (k->foreign)
		return;
	if (k->site && k->site->hidden) {
		c->n_hidden++;
		return;
	}
	memcpy(comm, k->c.comm, sizeof(k->c.comm));
	comm[sizeof(k->c.comm)] = '\0';
	clean_name(comm);
	call_lines__put(&c->lines,
			&(struct call_line){
				.wall_ns = (int64_t)k->c.t_ns + c->wall_offset_ns,
				.pid = (pid_t)k->c.pid,
				.tid = (pid_t)k->c.tid,
				.thread = comm,
				.kind = kind,
				.function = kind == MT_TOLD_UNSEEN ? NULL : tracees__function(MT_TOLD_FUNC(k->c.what), &s->tracees),
				.size = k->c.size,
				.addr = k->c.addr,
				.lived_ns = k->c.lived_ns,
				.site = kind == MT_TOLD_UNKNOWN || !k->site ? NULL : k->site->words,
				.where = k->where ? k->where->words : NULL,
			},
			c->out);
	c->n_shown++;
}

/* The first n of those that were kept. */
static void show_kept(struct session *s, size_t n)
{
	struct calls *c = s->calls;

	for (size_t i = 0; i < n; i++) {
		name_call(s, &c->kept.v[i]);
		show(s, &c->kept.v[i]);
	}
	c->kept.n -= n;
	if (c->kept.n) {
		memmove(c->kept.v, c->kept.v + n, c->kept.n * sizeof(*c->kept.v));
		return;
	}
	free_old(c);
}

/* ---- reading */

static bool keep(const struct mt_told *told, void *arg)
{
	struct calls *c = arg;
	bool full = c->kept.n >= KEPT_MAX;

	if (full)
		c->n_dropped++;
	else if (!c->gone)
		*vec_push(&c->kept) = (struct kept_call){ .c = *told, .n_dropped = c->n_dropped };
	return ++c->n_read < AT_ONCE;
}

static size_t read_ring(struct session *s)
{
	s->calls->n_read = 0;
	kernel__read_calls(s->kernel, keep, s->calls);
	return s->calls->n_read;
}

static void on_calls(void *arg)
{
	struct session *s = arg;
	struct calls *c = s->calls;
	struct pollfd p = { .fd = STDOUT_FILENO };

	/* `| head` has seen enough, though there is no line to find that out by */
	if (!c->gone && poll(&p, 1, 0) == 1 && p.revents & POLLERR)
		reader_left(s);
	write_out(s, false);
	for (int i = 0; i < AT_MOST && !c->gone && c->size - c->at <= WAITING_MAX; i++) {
		/* what waits already comes first: nothing is read that could not be kept */
		bool more = c->kept.n > KEPT_MAX - AT_ONCE || read_ring(s) == AT_ONCE;
		size_t n = MIN(c->kept.n, (size_t)AT_ONCE);

		if (!n)
			break;
		session__on_watch(s);
		/* calls that were read meanwhile, to make room, may be of processes whose messages were not */
		show_kept(s, n);
		write_out(s, false);
		if (!more && !c->kept.n)
			break;
	}
}

void session__settle_calls(struct session *s, const uint32_t *procs, size_t n)
{
	struct calls *c = s->calls;

	if (!c)
		return;
	while (read_ring(s) == AT_ONCE)
		;
	for (size_t i = 0; i < c->kept.n; i++)
		for (size_t k = 0; k < n; k++)
			if (c->kept.v[i].c.proc == procs[k])
				name_call(s, &c->kept.v[i]);
	for (size_t i = 0; i < c->sites.room; i++) {
		const struct call_site *site = c->sites.slots[i].value;

		for (size_t k = 0; site && k < n; k++)
			if (site->proc == procs[k]) {
				forget_site(c, c->sites.slots[i].key);
				/* another one may have taken its place in the table */
				i--;
				break;
			}
	}
}

/* ---- begin and end */

static int init(struct session *s)
{
	struct calls *c;

	if (!s->opts->events)
		return 0;
	s->calls = c = xcalloc(1, sizeof(*c));
	c->out = text_stream__open(&c->text, &c->size);
	c->lines.pids = s->opts->pids.n > 1 || s->selection.adopt;
	c->wall_offset_ns = wall_ns() - (int64_t)now_ns();
	call_lines__header(&c->lines, c->out);
	return 0;
}

static int watch(struct session *s)
{
	return s->calls ? loop__add_timer(s->loop, READ_NS, false, on_calls, s) : 0;
}

void session__flush_calls(struct session *s)
{
	if (s->calls)
		write_out(s, true);
}

/* 12,345 events shown, 1,204 lost: the ring was full, 12 hidden by --filter */
static void sum_up(struct session *s)
{
	struct calls *c = s->calls;
	char n[FMT_MAX];

	fprintf(c->out, "%s event%s shown", fmt_exact(n, c->n_shown), c->n_shown == 1 ? "" : "s");
	if (s->opts->recording.sample_bytes)
		fputs(" of those that were sampled", c->out);
	if (c->n_lost)
		fprintf(c->out, "; %s lost: the ring was full", fmt_exact(n, c->n_lost));
	if (c->n_dropped)
		fprintf(c->out, "; %s lost: these lines were read too slowly", fmt_exact(n, c->n_dropped));
	if (c->n_hidden)
		fprintf(c->out, "; %s hidden by --filter, --hide or --suppressions", fmt_exact(n, c->n_hidden));
	fputs(output__prints(&s->output) ? "\n\n" : "\n", c->out);
}

void session__end_calls(struct session *s)
{
	if (!s->calls)
		return;
	do {
		show_kept(s, s->calls->kept.n);
		read_ring(s);
	} while (s->calls->n_read);
	show_gaps(s, kernel__lost_calls(s->kernel), s->calls->n_dropped);
	sum_up(s);
	write_out(s, true);
}

static void done(struct session *s)
{
	struct calls *c = s->calls;

	if (!c)
		return;
	for (size_t i = 0; i < c->sites.room; i++)
		if (c->sites.slots[i].value)
			*vec_push(&c->old) = c->sites.slots[i].value;
	hash__done(&c->sites);
	free_old(c);
	vec_done(&c->old);
	vec_done(&c->kept);
	if (c->out)
		text_stream__close(c->out);
	free(c->text);
	free(c);
	s->calls = NULL;
}

const struct session_module calls_module = { .init = init, .watch = watch, .done = done };
