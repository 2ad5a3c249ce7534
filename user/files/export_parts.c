// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what several formats have in common: whose a stack is, its weights, notes, and numbers of functions. */
#include "files/export_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"
#include "model/runtimes.h"
#include "present/caveats.h"
#include "present/figures.h"
#include "util/parse.h"
#include "util/util.h"

/* ---- whose a stack is: names of roots and titles, the same in every format */

bool owner__has_process(const struct snapshot *s)
{
	const struct grouping *by = grouping__find(s->by);

	return by && by->group_of ? !by->is_all : s->n_processes > 1;
}

char *owner__process(const struct snapshot *s, const struct snap_process *p)
{
	if (snapshot__is_grouped(s) || p->pid <= 0)
		return xstrdup(p->comm);
	return xasprintf("%s-%d", p->comm, p->pid);
}

char *owner__thread(const struct snap_site *site)
{
	return xasprintf("%s-%d", site->thread ? site->thread : "thread", site->tid);
}

/* "redis-server (1432)", "nginx (40 processes)": of a snapshot with one row. The caller's. */
static char *title_of(const struct snap_process *p)
{
	if (p->n_members > 1)
		return xasprintf("%s (%u processes)", p->comm, p->n_members);
	return p->pid > 0 ? xasprintf("%s (%d)", p->comm, p->pid) : xstrdup(p->comm);
}

/* ---- weights of --mode growth: a site counts in one of the two kinds */

bool site__is_fault(const struct snap_site *s)
{
	return s->growth == GROWTH_FAULT;
}

bool site__is_mapped(const struct snap_site *s)
{
	return s->growth != GROWTH_FAULT;
}

static const struct metric growth_metrics[] = {
	METRIC("fault-bytes", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, .takes = site__is_fault),
	METRIC("mapped-bytes", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, .takes = site__is_mapped),
	METRIC("fault-calls", "calls", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, .takes = site__is_fault),
	METRIC("mapped-calls", "calls", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, .takes = site__is_mapped),
};

size_t weights__of(const struct snapshot *s, const struct metric *first, const struct metric *ret[static WEIGHTS_MAX])
{
	const struct metric *from = recording__is_growth(&s->recording) ? growth_metrics : metrics;
	size_t n_from = recording__is_growth(&s->recording) ? ARRAY_SIZE(growth_metrics) : n_metrics, n = 0;

	/* of growth the kind of figure that was requested comes first: bytes or calls */
	if (recording__is_growth(&s->recording) && first && !strcmp(first->unit, "calls"))
		first = &growth_metrics[2];
	else if (recording__is_growth(&s->recording))
		first = &growth_metrics[0];
	else if (!first)
		first = metric__preset(s->known);
	ret[n++] = first;
	for (size_t i = 0; i < n_from && n < WEIGHTS_MAX; i++)
		if (&from[i] != first && !(from[i].needs & ~s->known))
			ret[n++] = &from[i];
	return n;
}

uint64_t weights__sum(const struct snapshot *s, const struct metric *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		sum += metric__of(m, &s->sites[i]);
	return sum;
}

/* ---- the sentences that go with a profile: a loss that is not zero has one */

static void note(struct export_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct export_notes *notes, const char *fmt, ...)
{
	char **slot = vec_push(notes);
	va_list ap;

	va_start(ap, fmt);
	*slot = xvasprintf(fmt, ap);
	va_end(ap);
}

static void counters(struct export_notes *notes, const char *label, const struct snap_counter *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].n)
			note(notes, "%s: %s %s", label, EXACT(v[i].n), v[i].says);
}

void export_notes__init(struct export_notes *notes, const struct snapshot *s)
{
	_cleanup_free_ char *watched = watched__words(s), *reading = reading__words(s);
	const struct runtime *r;
	char observed[3 * FMT_MAX], words[UNEXPLAINED_MAX];

	*notes = (struct export_notes){};
	note(notes, "malloctrace %s, --mode %s, %s sizes, traced for %s", s->version,
	    mode__name(s->recording.mode), size__name(s->recording.size),
	    DURATION(s->duration_ns));
	if (s->paused_ns)
		note(notes, "nothing was recorded for %s of it, while an emulator (valgrind, qemu) ran", DURATION(s->paused_ns));
	if (s->n_unfollowed)
		note(notes, "processes that the targets started, not traced (-f traces them): %s", EXACT(s->n_unfollowed));
	if (s->n_left_out)
		note(notes, "%s process%s left out, which could not be inspected", EXACT(s->n_left_out), s->n_left_out == 1 ? "" : "es");
	if (s->n_unread)
		note(notes, "%s mapped file%s not read", EXACT(s->n_unread), plural(s->n_unread));
	if (s->combined)
		note(notes, "%s", s->combined);
	if (reading)
		note(notes, "heap %s", reading);
	if (s->recording.sample_bytes)
		note(notes, "estimated: one sample per %s on average", BYTES(s->recording.sample_bytes));
	if (s->observed_share < 1)
		note(notes, "estimated: %s", observed__words(s, observed));
	if (watched)
		note(notes, "%s", watched);
	if (unmet__words(s))
		note(notes, "%s", unmet__words(s));
	for (size_t i = 0; i < n_recording_flags; i++)
		if (recording__has(&s->recording, &recording_flags[i]))
			note(notes, "%s: %s", recording_flags[i].option, recording_flags[i].of_all);
	if (s->recording.max_size != UINT64_MAX)
		note(notes, "only blocks of %llu to %llu bytes", (unsigned long long)s->recording.min_size,
		    (unsigned long long)s->recording.max_size);
	else if (s->recording.min_size)
		note(notes, "only blocks of %llu bytes and more", (unsigned long long)s->recording.min_size);
	if (s->recording.within)
		note(notes, "only inside of %s", s->recording.within);
	if (s->hidden.by)
		note(notes, "hidden (%s): %s of %zu sites", s->hidden.by, EXACT(s->hidden.n_sites),
		    s->n_sites + (size_t)s->hidden.n_sites);
	for (size_t i = 0; (r = runtime__of_snapshot(s, i)); i++) {
		_cleanup_free_ char *says = runtime__words(r, s);

		note(notes, "%s: %s", r->title, says);
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		if (p->blind.is && !p->blind.idle)
			note(notes, "BLIND: no allocation call was seen in %s (%d); probed: %s%s%s", p->comm,
			    (int)p->pid, p->blind.probed ? p->blind.probed : "-",
			    p->blind.candidates ? "; possible allocator: " : "",
			    p->blind.candidates ? p->blind.candidates : "");
		if (p->memory.unexplained_bytes)
			note(notes, "UNSEEN: %s (%d) %s", p->comm, (int)p->pid, unexplained__words(p, words));
	}
	counters(notes, "LOST", s->losses, s->n_losses);
	counters(notes, "edge", s->edges, s->n_edges);
}

void export_notes__done(struct export_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		free(notes->v[i]);
	vec_done(notes);
}

char *export_notes__title(const struct snapshot *s)
{
	_cleanup_free_ char *who = s->n_processes == 1 ? title_of(s->processes) : NULL;
	struct export_notes notes = {};
	char *text = NULL;
	size_t len;
	FILE *out = text_stream__open(&text, &len);

	export_notes__init(&notes, s);
	if (who)
		fputs(who, out);
	else
		fprintf(out, "%zu processes", s->n_processes);
	for (size_t i = 0; i < notes.n; i++)
		fprintf(out, "; %s", notes.v[i]);
	text_stream__close(out);
	export_notes__done(&notes);
	return text;
}

/* ---- numbers of functions */

/*
 * What stands at the root of a stack is no function. What always
 * holds: two functions of the same name in two modules have two numbers,
 * and no stack is empty.
 */

static void add(struct functions *f, const char *name, const char *module, const char *file, uint32_t *ret)
{
	uint32_t ids[3];
	struct function *v;
	bool is_new;

	string_ids__get(&f->strings, name, &ids[0]);
	string_ids__get(&f->strings, module, &ids[1]);
	string_ids__get(&f->strings, file, &ids[2]);
	key_ids__get(&f->keys, (struct key){ ids[0], ids[1], ids[2] }, ret, &is_new);
	if (!is_new)
		return;
	v = vec_push(f);
	*v = (struct function){ name, module, file };
}

/* A name of our own making, which must not be mistaken for a function of a module. */
static void add_made(struct functions *f, const char *module, uint32_t *ret, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void add_made(struct functions *f, const char *module, uint32_t *ret, const char *fmt, ...)
{
	char **slot = vec_push(&f->made);
	va_list ap;

	va_start(ap, fmt);
	*slot = xvasprintf(fmt, ap);
	va_end(ap);
	add(f, *slot, module, NULL, ret);
}

static void add_frame(struct functions *f, const struct frame *frame, struct stack_frame *ret)
{
	const struct line *l = frame->line;

	ret->line = l ? l->line : 0;
	if (l && l->function && *l->function)
		add(f, l->function, frame->module, l->file, &ret->function);
	else if (frame->module)
		add_made(f, frame->module, &ret->function, "%s+0x%" PRIx64, path_basename(frame->module),
			 frame->place->offset);
	else
		add_made(f, NULL, &ret->function, "0x%" PRIx64, frame->place->offset);
}

/* name: taken over */
static void add_owner(struct functions *f, char *name, uint32_t *ret)
{
	*vec_push(&f->made) = name;
	add(f, name, NULL, NULL, ret);
}

static void add_roots(struct functions *f)
{
	const struct snapshot *s = f->s;

	f->of_process = xcalloc(s->n_processes + 1, sizeof(*f->of_process));
	f->of_thread = xcalloc(s->n_sites + 1, sizeof(*f->of_thread));
	for (size_t i = 0; owner__has_process(s) && i < s->n_processes; i++)
		add_owner(f, owner__process(s, &s->processes[i]), &f->of_process[i]);
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].tid)
			add_owner(f, owner__thread(&s->sites[i]), &f->of_thread[i]);
	for (enum growth_kind k = GROWTH_FAULT; recording__is_growth(&s->recording) && k < GROWTH_N_KINDS; k++)
		add(f, growth__name(k), NULL, NULL, &f->of_growth[k]);
	add(f, NO_STACK_NAME, NULL, NULL, &f->no_stack);
	add(f, EVICTED_NAME, NULL, NULL, &f->evicted);
}

void functions__init(struct functions *f, const struct snapshot *s)
{
	size_t n_frames = 0;

	*f = (struct functions){ .s = s };
	for (size_t i = 0; i < s->n_places; i++)
		n_frames += place__n_frames(&s->places[i]);
	f->first = xcalloc(s->n_places + 1, sizeof(*f->first));
	f->of_frame = xcalloc(n_frames + 1, sizeof(*f->of_frame));
	if (n_frames > UINT32_MAX)
		xmalloc__end_of(SIZE_MAX);
	add_roots(f);
	n_frames = 0;
	for (size_t i = 0; i < s->n_places; i++) {
		f->first[i] = (uint32_t)n_frames;
		for (size_t k = 0; k < place__n_frames(&s->places[i]); k++) {
			struct frame frame = place__frame(s, &s->places[i], k);

			f->of_frame[n_frames].place = (uint32_t)i;
			add_frame(f, &frame, &f->of_frame[n_frames++]);
		}
	}
	for (size_t i = 0; i < s->n_sites; i++)
		f->max_frames = MAX(f->max_frames, site__n_frames(s, &s->sites[i]));
	f->max_frames += FUNCTIONS_MAX_ROOTS;
}

void functions__done(struct functions *f)
{
	for (size_t i = 0; i < f->made.n; i++)
		free(f->made.v[i]);
	vec_done(&f->made);
	vec_done(f);
	free(f->first);
	free(f->of_frame);
	free(f->of_process);
	free(f->of_thread);
	string_ids__done(&f->strings);
	key_ids__done(&f->keys);
	*f = (struct functions){};
}

size_t functions__stack(const struct functions *f, const struct snap_site *site, struct stack_frame *buf)
{
	const struct snapshot *s = f->s;
	size_t n = 0;

	if (owner__has_process(s))
		buf[n++] = (struct stack_frame){ f->of_process[site->process], 0, NO_PLACE };
	if (site->tid)
		buf[n++] = (struct stack_frame){ f->of_thread[site - s->sites], 0, NO_PLACE };
	if (site->growth != GROWTH_NONE)
		buf[n++] = (struct stack_frame){ f->of_growth[site->growth], 0, NO_PLACE };
	if (!site->n_stack)
		buf[n++] = (struct stack_frame){ site->evicted_stacks ? f->evicted : f->no_stack, 0, NO_PLACE };
	for (uint32_t i = site->n_stack; i--;) {
		uint32_t place = site->stack[i];

		for (size_t k = place__n_frames(&s->places[place]); k--;)
			buf[n++] = f->of_frame[f->first[place] + k];
	}
	return n;
}
