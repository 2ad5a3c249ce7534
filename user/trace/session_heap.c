// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Heap scans: how often, by whom, and what becomes of them. The last one follows the last raw snapshot, while probes still
 * record, so that it delays the report and not the end of the trace; a thread makes those of the live view, so that the
 * screen and the events of the programs are handled meanwhile.
 *
 * What always holds: one look at a time; what a cut's rows point to lives until the next cut.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "elf/object.h"
#include "heap/heap.h"
#include "model/heaps.h"
#include "model/schema.h"
#include "probe/kernel.h"
#include "reader/reader.h"
#include "trace/session.h"
#include "tracee/resident.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/signals.h"

/* Looks that nobody asked for take at most this part of a CPU. */
#define RARELY 50
#define QUICK_NS (SECOND_NS / 2)	/* a search that takes no longer is made again with each look */
#define PATIENCE_NS (SECOND_NS / 2)	/* before progress is shown */
#define STEP_NS (SECOND_NS / 10)
/* A scan that nobody asked for does not hold up the end of a trace: it may take so much CPU time, */
#define UNASKED_CPU_NS (SECOND_NS / 4)
#define UNASKED_BLOCKS (1u << 18)	/* and is not begun with more live blocks in the trace */
/*
 * The same of a search for pointers that nobody asked for: its time in all. It is given up as soon as
 * that cannot be enough. The list of blocks, which comes first, takes a quarter of it or less; and
 * the scans that follow the first one take as long as that, if it does not reach all blocks.
 */
#define SEARCH_CPU_NS SECOND_NS
#define SEARCH_BYTES (4ull << 30)	/* more is not read in that time */
#define SEARCH_READ_NS (2 * SECOND_NS)	/* after Ctrl-C, files are read for as long, also where a file system hangs */
/* Of a whole machine's processes, those that hold the most. */
#define MAX_PROCESSES 64

struct looked {
	uint32_t proc, id;	/* the life, in the kernel's tables and for good */
	pid_t pid;
	uint64_t looked_ns;	/* when the look ended, since the trace began */
	struct snapshot *strings;	/* owned: its arena holds what heap and sites have; else it is empty */
	struct snap_heap heap;
};

/* What was found: of each life once, by the last look at it. */
struct found {
	struct vec(struct looked) v;
	struct vec(struct site_look) sites;	/* by number */
};

struct subject {
	uint32_t proc, id;
	pid_t pid;
	bool inherits;		/* it was forked while it was traced: its heap has blocks that are its parent's, of any age */
};

struct heaps {
	struct session *s;
	struct objects *objects;	/* owned: one thread at a time uses it */
	struct target_calls calls;
	struct heap_wish wish;
	struct {			/* asked for while one is under way that finds out less: it comes next */
		struct heap_wish wish;
		void (*done)(void *arg);
		void *arg;
		bool is;
	} waiting;
	bool searched;			/* what nothing points to was searched for on request: later looks do so, too */
	struct vec(struct subject) subjects;	/* of the look under way */
	uint32_t proc;			/* the life that is being looked at */
	struct err failed;		/* owned: of the last look, why one came to nothing */
	struct found shown, next;	/* what rows have; what the next cut will have, if has_next */
	bool has_next;
	uint64_t began_ns, told_ns;	/* the one under way, and when its progress was last told */
	uint64_t took_ns, ended_ns;	/* the last one */
	uint64_t cpu_began_ns, cpu_end_ns;	/* of the thread, of one that nobody asked for; else 0 */
	bool too_long;		/* it was given up */
	bool unasked;		/* the search under way: it ends where it would have to stop the process */
	bool lacks_registers;	/* it did */
	uint64_t until_ns;	/* of the last one: when the raw snapshot was taken, on the programs' clock; else 0 */
	/* a look by a thread */
	pthread_t thread;
	bool running;
	bool last;		/* the one at the end of the trace */
	bool over;		/* atomic: it shall end */
	int done_fd;		/* readable: it has ended */
	void (*on_done)(void *arg);
	void *arg;
};

/* ---- one look */

static void found__done(struct found *f)
{
	for (size_t i = 0; i < f->v.n; i++)
		snapshot__free(f->v.v[i].strings);
	vec_done(&f->v);
	vec_done(&f->sites);
}

static void found__forget(struct found *f, uint32_t proc)
{
	for (size_t i = 0; i < f->sites.n; i++)
		if (f->sites.v[i].proc == proc)
			f->sites.v[i] = (struct site_look){};
	for (size_t i = 0; i < f->v.n; i++)
		if (f->v.v[i].proc == proc) {
			snapshot__free(f->v.v[i].strings);
			memmove(&f->v.v[i], &f->v.v[i + 1], (--f->v.n - i) * sizeof(*f->v.v));
			return;
		}
}

static struct site_look *found__site(struct found *f, uint32_t site)
{
	while (f->sites.n <= site)
		vec_push(&f->sites);
	return &f->sites.v[site];
}

/* What is newer takes the place of what was known of that life. */
static void found__take(struct found *to, struct found *from)
{
	for (size_t i = 0; i < from->v.n; i++) {
		found__forget(to, from->v.v[i].proc);
		if (to->v.n == MAX_PROCESSES)
			found__forget(to, to->v.v[0].proc);
		*vec_push(&to->v) = from->v.v[i];
		from->v.v[i].strings = NULL;
	}
	for (size_t i = 0; i < from->sites.n; i++)
		if (from->sites.v[i].blocks)
			*found__site(to, (uint32_t)i) = from->sites.v[i];
	found__done(from);
}

static void read_table(void *arg, struct traced_blocks *to, uint64_t *ret_now_ns)
{
	struct heaps *h = arg;

	collect__blocks(h->s->collect, h->proc, to, ret_now_ns);
}

static void keep_site(uint32_t site, const struct site_look *is, void *arg)
{
	struct heaps *h = arg;
	struct site_look *to = found__site(&h->next, site);

	*to = *is;
	to->proc = h->proc;
	to->looked_ns = kernel__clock_ns(h->s->kernel);
}

static bool is_complete(const struct session *s)
{
	const struct recording *r = &s->opts->recording;

	return !recording__is_partial(r) && !recording__is_estimated(r);
}

/* A scan that nobody asked for ends when its CPU time does. */
static bool is_out_of_time(struct heaps *h)
{
	h->too_long |= h->cpu_end_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) > h->cpu_end_ns;
	return h->too_long;
}

/* Nobody asked for a search that stops the process to read its registers. */
static int read_registers(pid_t pid, const struct sharers *others, struct mt_registers **ret, size_t *ret_n, void *arg, struct err *e)
{
	struct heaps *h = arg;
	int err = registers__read(pid, others, ret, ret_n, arg, e);

	if (!err || err == -ESRCH)
		return err;
	h->lacks_registers = true;
	return -EINTR;
}

static void report_no_search(const struct heaps *h, pid_t pid)
{
	if (h->lacks_registers)
		say_verbose("the heap was not searched for pointers: --reachable does so, and stops the process for a moment to read registers");
	else if (h->too_long)
		say("the heap was not searched for pointers, which takes over a second: use --reachable");
	else
		say("%d: its memory was not searched for pointers: the search was interrupted", (int)pid);
}

/* One that has ended, or may not be read, has none. */
static void look_at(struct heaps *h, const struct subject *who)
{
	const struct opts *o = h->s->opts;
	struct heap_opts how = {
		.reachable = h->wish.reachable,
		.roots = h->wish.roots,
		.pause = o->pause,
		.parts = h->wish.parts,
		.list = opts__n_blocks(o),
		.list_oldest = opts__oldest_blocks(o),
		.keeps_census = h->last,
		.registers = h->unasked ? read_registers : registers__read,
		.calls = &h->calls,
		.objects = h->objects,
		.traced = recording__is_estimated(&o->recording) ? NULL : read_table,
		.traced_all = is_complete(h->s) && !who->inherits,
		.until_ns = h->until_ns,
		.on_site = keep_site,
		.arg = h,
	};
	_cleanup_err_ struct err e = {};
	struct looked *to = vec_push(&h->next.v);
	int err;

	to->strings = snapshot__new();
	h->proc = to->proc = who->proc;
	to->id = who->id;
	to->pid = who->pid;
	err = heap__look(who->pid, &how, to->strings, &to->heap, &e);
	to->looked_ns = now_ns() - h->s->start_ns;
	/* what the report says of the end of the trace */
	to->heap.at_ns = h->until_ns && h->s->end_ns ? h->s->end_ns - h->s->start_ns : to->looked_ns;
	to->heap.sites_unknown = !how.traced;
	if (!err && to->heap.search_interrupted)
		report_no_search(h, who->pid);
	/* what nobody asked for need not be missed */
	if (h->unasked && (h->lacks_registers || h->too_long))
		to->heap.search_interrupted = false;
	if (!err)
		return;
	found__forget(&h->next, who->proc);
	err_done(&h->failed);
	err_set(&h->failed, err, "%s", err_msg(&e));
	/* look_unasked() says it */
	if (h->wish.reachable && !h->wish.silent && !h->unasked && !__atomic_load_n(&h->over, __ATOMIC_RELAXED))
		say("%d: its memory was not searched for pointers: %s", (int)who->pid,
		    err == -EINTR ? "the search was interrupted" : err == -ESRCH ? "the process has ended, or become another program" : err_msg(&e));
	else
		say_verbose("%d: no look at its memory: %s", (int)who->pid, err_msg(&e));
}

static void look_at_all(struct heaps *h)
{
	h->began_ns = now_ns();
	found__done(&h->next);
	err_done(&h->failed);
	h->failed = (struct err){};
	for (size_t i = 0; i < h->subjects.n && !__atomic_load_n(&h->over, __ATOMIC_RELAXED); i++)
		look_at(h, &h->subjects.v[i]);
	h->ended_ns = now_ns();
	h->took_ns = h->ended_ns - h->began_ns;
	h->has_next = true;
}

static bool is_wished(const struct heaps *h, const struct tracee *p)
{
	if (!p->lives.n || tracee__life(p)->closed)
		return false;
	return !h->wish.process || model__process(h->s->model, tracee__life(p)->proc)->id == h->wish.process;
}

/* Those that live, at this moment. */
static void list_subjects(struct heaps *h)
{
	size_t n_live, n = 0;
	_cleanup_free_ struct tracee **v = tracees__by_live_bytes(&h->s->tracees, &n_live);

	for (size_t i = 0; i < n_live; i++)
		if (is_wished(h, v[i]))
			v[n++] = v[i];
	if (n > MAX_PROCESSES && h->wish.reachable)
		say("of %zu processes, the memory of %d is searched: those that hold the most", n, MAX_PROCESSES);
	h->subjects.n = 0;
	for (size_t i = 0; i < n && i < MAX_PROCESSES; i++)
		*vec_push(&h->subjects) = (struct subject){ tracee__life(v[i])->proc, model__process(h->s->model, tracee__life(v[i])->proc)->id,
							    v[i]->process.pid, v[i]->parent_proc && v[i]->lives.n == 1 };
}

/* ---- by a thread */

static bool is_called_off(void *arg)
{
	struct heaps *h = arg;

	return __atomic_load_n(&h->over, __ATOMIC_RELAXED);
}

/* Of what takes a while, and not too often. */
static void tell_progress(const char *what, double part, void *arg)
{
	struct heaps *h = arg;
	uint64_t now = now_ns();

	if (now - h->began_ns < PATIENCE_NS || now - h->told_ns < STEP_NS)
		return;
	h->told_ns = now;
	if (h->wish.reachable && !strncmp(what, "searching", strlen("searching")))
		say_progress("searching the heap for pointers ... %.0f%%", part * 100);
	else
		say_progress("%s ... %.0f%%", what, part * 100);
}

static void *run(void *arg)
{
	struct heaps *h = arg;

	look_at_all(h);
	say_progress(NULL);
	eventfd_write(h->done_fd, 1);
	return NULL;
}

static void on_done(void *arg)
{
	struct heaps *h = arg;
	eventfd_t n;

	if (eventfd_read(h->done_fd, &n) || !h->running)
		return;
	pthread_join(h->thread, NULL);
	h->running = false;
	h->searched |= h->wish.reachable && h->next.v.n;
	if (h->on_done)
		h->on_done(h->arg);
	if (h->waiting.is) {
		h->waiting.is = false;
		if (session__begin_heap_look(h->s, &h->waiting.wish, h->waiting.done, h->waiting.arg))
			h->waiting.done(h->waiting.arg);
	}
}

int session__begin_heap_look(struct session *s, const struct heap_wish *wish, void (*done)(void *arg), void *arg)
{
	struct heaps *h = s->heaps;
	sigset_t all, before;
	int err;

	if (!h)
		return -ENOTSUP;
	if (h->running) {
		/* the same, or less than what is on its way */
		if (h->waiting.is || (!h->wish.silent && h->wish.reachable >= wish->reachable))
			return -EBUSY;
		h->waiting.wish = *wish;
		h->waiting.done = done;
		h->waiting.arg = arg;
		h->waiting.is = true;
		return 0;
	}
	h->wish = *wish;
	/* what was found by a search does not go away with the next look */
	if (h->searched && h->took_ns <= QUICK_NS)
		h->wish.reachable = h->wish.roots = true;
	h->calls = (struct target_calls){ .is_over = is_called_off, .progress = wish->silent ? NULL : tell_progress, .arg = h };
	h->on_done = done;
	h->arg = arg;
	h->over = h->has_next = h->last = false;
	list_subjects(h);
	/* signals are the loop's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	h->running = !err;
	return -err;
}

const char *session__heap_look_failed(const struct session *s)
{
	const struct heaps *h = s->heaps;

	if (!h || (h->has_next && h->next.v.n) || h->failed.code == -EINTR)
		return NULL;
	return h->failed.code ? err_msg(&h->failed) : "no process that is traced is left";
}

/* What is shared among many is looked at on request alone. */
bool session__heap_look_is_due(const struct session *s)
{
	const struct heaps *h = s->heaps;

	/* what took long to find stays, until somebody asks again */
	if (h && h->searched && h->took_ns > QUICK_NS)
		return false;
	return h && !h->running && !tracees__are_shared(&s->tracees) && is_complete(s) && (!h->ended_ns || now_ns() - h->ended_ns > MAX(10 * SECOND_NS, h->took_ns * RARELY));
}

static void call_off(struct heaps *h)
{
	if (!h->running)
		return;
	__atomic_store_n(&h->over, true, __ATOMIC_RELAXED);
	readers__hurry(true);
	pthread_join(h->thread, NULL);
	readers__hurry(false);
	h->running = h->waiting.is = false;
	/* what is half done is no look */
	h->has_next = false;
}

void session__call_off_heap_look(struct session *s)
{
	if (s->heaps)
		call_off(s->heaps);
}

/* ---- at the end of the trace */

/* The first Ctrl-C has ended the trace: another one ends this. Messages are kept. */
static bool is_interrupted(void *arg)
{
	struct heaps *h = arg;

	session__keep_events(h->s);
	return signal_asks_for_end();
}

static bool is_asked_for(const struct opts *o)
{
	return o->reachable || o->views & (VIEW_BLOCKS | VIEW_HEAP);
}

static bool is_too_long(void *arg)
{
	struct heaps *h = arg;

	return is_interrupted(h) || is_out_of_time(h);
}

/* Of those that are scanned. */
static uint64_t n_live_blocks(const struct heaps *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->subjects.n; i++) {
		struct proc_now now = {};

		if (collect__peek(h->s->collect, h->subjects.v[i].proc, true, &now))
			sum += now.live_blocks;
	}
	return sum;
}

/* Does a search that nobody asked for decide? */
static bool searches_unasked(const struct heaps *h, const struct snapshot *so_far)
{
	const struct tracees *t = &h->s->tracees;
	const struct tracee *p = h->subjects.n == 1 ? tracees__find(t, h->subjects.v->pid) : NULL;

	return p && so_far && snapshot__needs_search(so_far) && resident__is_glibc(t, p);
}

/* Of one process: each scan reads all of it. */
static bool is_too_large(const struct heaps *h)
{
	_cleanup_free_ char *status = NULL;

	return !process__file(h->subjects.v->pid, "status", &status) &&
	       bytes_of_line(status, "RssAnon:") > SEARCH_BYTES;
}

/* From the first scan on a search has all of its time; after it no more than half may be spent. */
static void pace(const char *what, double part, void *arg)
{
	struct heaps *h = arg;
	uint64_t spent_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - h->cpu_began_ns;

	if (!strncmp(what, "searching", strlen("searching")) && !h->too_long)
		h->cpu_end_ns = h->cpu_began_ns + SEARCH_CPU_NS;
	h->too_long |= !strcmp(what, REACH_AGAIN) && part < 0.5 && spent_ns > SEARCH_CPU_NS / 2;
	tell_progress(what, part, arg);
}

static void report_not_read(const struct heaps *h, bool too_many, bool search)
{
	if (too_many)
		say("the heap was not read, because the trace has over %u live blocks: --reachable reads it and searches it for pointers", UNASKED_BLOCKS);
	else if (h->failed.code == -EINTR && signal_asks_for_end())
		say("the heap was not read: a signal ended the scan");
	else if (h->failed.code == -EINTR)
		say("the heap was not read, which takes over %s of CPU time: %s", DURATION(UNASKED_CPU_NS),
		    search ? "--reachable reads it and searches it for pointers" : "--view heap reads it");
}

/* The scan is given up where it takes too long: then nothing of it is shown. */
static void look_unasked(struct heaps *h, const struct snapshot *so_far)
{
	bool too_many = n_live_blocks(h) > UNASKED_BLOCKS;
	bool decides = !too_many && searches_unasked(h, so_far), search = decides && !is_too_large(h);

	h->wish.reachable = h->wish.roots = h->unasked = search;
	/* names of the variables that hold blocks are read after the search */
	if (search && h->s->interrupted)
		readers__end_at(now_ns() + SEARCH_READ_NS);
	h->cpu_began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	h->cpu_end_ns = h->cpu_began_ns + UNASKED_CPU_NS;
	h->calls.is_over = is_too_long;
	h->calls.progress = pace;
	if (!too_many)
		look_at_all(h);
	report_not_read(h, too_many, decides);
	if (decides && !search && !h->failed.code)
		say("the heap was not searched for pointers, which takes over a second: use --reachable");
}

static bool is_wanted(const struct session *s)
{
	const struct opts *o = s->opts;

	/* what came after the trace would be taken for what was there before it */
	if (!s->heaps || s->end_ns || tracees__all_ended(&s->tracees))
		return false;
	/* what was asked for; else where the targets are few and all is recorded */
	return is_asked_for(o) || (!tracees__are_shared(&s->tracees) && is_complete(s));
}

/* Is the heap scanned once more when the trace ends? Reports why not, where it was asked for. */
static void on_end(struct session *s)
{
	struct heaps *h = s->heaps;

	if (!h)
		return;
	call_off(h);
	if (!is_wanted(s)) {
		if (s->opts->reachable || h->searched)
			say("the memory was not searched for pointers: %s", tracees__all_ended(&s->tracees) ? "every process has ended, and its memory with it (-d ends a trace before)" :
									    "the trace ended before, and what was allocated since is not known");
		return;
	}
	/* what was searched on request is not searched again where that takes long: the last search stands, with its time */
	s->scans_last = s->opts->reachable || !h->searched || h->took_ns <= QUICK_NS;
}

bool session__may_search_unasked(const struct session *s)
{
	const struct opts *o = s->opts;

	return !o->no_reachable && !is_asked_for(o) && !s->heaps->searched && is_complete(s) && output__is_read(&s->output);
}

void session__scan_last(struct session *s, const struct snapshot *so_far)
{
	const struct opts *o = s->opts;
	struct heaps *h = s->heaps;

	h->wish = (struct heap_wish){ .reachable = o->reachable || h->searched, .roots = o->roots || h->searched, .parts = true };
	h->calls = (struct target_calls){ .is_over = is_interrupted, .progress = tell_progress, .arg = h };
	h->last = true;
	h->over = false;
	h->until_ns = s->cut->now_ns;
	list_subjects(h);
	if (is_asked_for(o) || h->wish.reachable)
		look_at_all(h);
	else
		look_unasked(h, so_far);
	say_progress(NULL);
	if (!h->has_next)
		return;
	found__take(&h->shown, &h->next);
	h->has_next = false;
	collect__put_looks(s->collect, h->shown.sites.v, h->shown.sites.n);
}

/* ---- into cuts and snapshots */

/* One that has become another program meanwhile: the memory may have been that one's. */
static void drop_other_programs(struct heaps *h)
{
	for (size_t i = 0; i < h->next.v.n; i++) {
		const struct looked *l = &h->next.v.v[i];
		const struct tracee *p = tracees__find(&h->s->tracees, l->pid);

		if (p && !p->ended && p->lives.n && tracee__life(p)->proc != l->proc)
			found__forget(&h->next, h->next.v.v[i--].proc);
	}
}

void session__use_heaps(struct session *s, struct cut_opts *how)
{
	struct heaps *h = s->heaps;

	if (!h)
		return;
	if (h->has_next && !h->running) {
		drop_other_programs(h);
		found__take(&h->shown, &h->next);
		h->has_next = false;
	}
	how->looks = h->shown.sites.v;
	how->n_looks = h->shown.sites.n;
}

/* From the kernel's number of a site to its row. A number that was given to another site since is none. */
static void number_blocks(const struct snapshot *snap, uint32_t process, uint64_t looked_ns, struct snap_heap *h)
{
	struct snap_block *v = (struct snap_block *)h->list;
	_cleanup_free_ uint32_t *rows = NULL;
	uint32_t n = 0;

	for (size_t i = 0; i < h->n_list; i++)
		n = MAX(n, v[i].site + 1);
	rows = xcalloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < snap->n_sites; i++)
		if (snap->sites[i].process == process && snap->sites[i].number + 1 < n && snap->sites[i].first_ns <= looked_ns)
			rows[snap->sites[i].number + 1] = (uint32_t)i + 1;
	for (size_t i = 0; i < h->n_list; i++)
		v[i].site = rows[v[i].site];
}

/* --mmap: who made the anonymous mappings. */
static void put_stacks(const struct session *s, const struct snapshot *snap, uint32_t proc, struct snap_heap *h)
{
	struct snap_part *v = (struct snap_part *)h->parts;

	for (size_t i = 0; i < h->n_parts && recording__has_mappings(&s->tracees.want.recording); i++) {
		uint32_t site = v[i].addr ? collect__mapping_site(s->collect, proc, v[i].addr, v[i].addr + v[i].mapped_bytes) : 0;

		for (size_t k = 0; k < snap->n_sites && site; k++)
			if (snap->sites[k].process == h->process && snap->sites[k].number == site) {
				v[i].stack = snap->sites[k].stack;
				v[i].n_stack = snap->sites[k].n_stack;
				break;
			}
	}
}

bool session__is_looking(const struct session *s)
{
	return s->heaps && s->heaps->running;
}

static void on_snapshot(struct session *s, struct snapshot *snap, const struct mt_reached *mark)
{
	const struct heaps *h = s->heaps;
	struct snap_heap *v;
	size_t n = 0;

	if (!h || !h->shown.v.n)
		return;
	v = snapshot__alloc(snap, h->shown.v.n, sizeof(*v));
	for (size_t i = 0; i < h->shown.v.n; i++) {
		uint32_t id = h->shown.v.v[i].id;
		const struct snap_process *p = id ? array_first(x, snap->processes, snap->n_processes, x->id == id) :
						    NULL;
		struct snap_heap *to = &v[n];

		if (!p)
			continue;
		n++;
		*to = h->shown.v.v[i].heap;
		row__own(snap, table__member(TABLE_HEAPS), to);
		to->process = (uint32_t)(p - snap->processes);
		/* blocks that found no room in the table look as if they were older */
		to->older_unsure_blocks += p->lost_blocks;
		number_blocks(snap, to->process, h->shown.v.v[i].looked_ns, to);
		put_stacks(s, snap, h->shown.v.v[i].proc, to);
	}
	snapshot__set_heaps(snap, v, n);
}

/* ---- begin and end */

static int init(struct session *s)
{
	struct heaps *h;

	if (s->opts->recording.mode != MT_MODE_FULL)
		return 0;
	h = s->heaps = xcalloc(1, sizeof(*h));
	h->s = s;
	h->objects = objects__new();
	h->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->done_fd < 0)
		return -errno;
	objects__without_probes(h->objects);
	return loop__add_fd(s->loop, h->done_fd, on_done, h);
}

static void heaps_done(struct session *s)
{
	struct heaps *h = s->heaps;

	if (!h)
		return;
	call_off(h);
	found__done(&h->shown);
	found__done(&h->next);
	vec_done(&h->subjects);
	err_done(&h->failed);
	objects__free(h->objects);
	registers__close();
	if (h->done_fd >= 0)
		close(h->done_fd);
	free(h);
	s->heaps = NULL;
}

const struct session_module heaps_module = {
	.init = init,
	.on_snapshot = on_snapshot,
	.on_end = on_end,
	.done = heaps_done,
};
