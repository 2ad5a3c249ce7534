// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the sentences that go with a profile. What always holds: a loss that is not zero has one. */
#include "files/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "files/owner.h"
#include "model/runtimes.h"
#include "present/blind.h"
#include "present/figures.h"
#include "present/machine_words.h"
#include "util/parse.h"
#include "util/util.h"

static void add(struct export_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct export_notes *notes, const char *fmt, ...)
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
			add(notes, "%s: %s %s", label, EXACT(v[i].n), v[i].says);
}

void export_notes__init(struct export_notes *notes, const struct snapshot *s)
{
	_cleanup_free_ char *watched = watched__words(s), *reading = reading__words(s);
	const struct runtime *r;
	char observed[3 * FMT_MAX], words[UNEXPLAINED_MAX];

	*notes = (struct export_notes){};
	add(notes, "malloctrace %s, --mode %s, %s sizes, traced for %s", s->version,
	    mode__name(s->recording.mode), size__name(s->recording.size),
	    DURATION(s->duration_ns));
	if (s->paused_ns)
		add(notes, "nothing was recorded for %s of it, while an emulator (valgrind, qemu) ran", DURATION(s->paused_ns));
	if (s->n_unfollowed)
		add(notes, "processes that the targets started, not traced (-f traces them): %s", EXACT(s->n_unfollowed));
	if (s->n_left_out)
		add(notes, "%s process%s left out, which could not be inspected", EXACT(s->n_left_out), s->n_left_out == 1 ? "" : "es");
	if (s->n_unread)
		add(notes, "%s mapped file%s not read", EXACT(s->n_unread), plural(s->n_unread));
	if (s->combined)
		add(notes, "%s", s->combined);
	if (reading)
		add(notes, "heap %s", reading);
	if (s->recording.sample_bytes)
		add(notes, "estimated: one sample per %s on average", BYTES(s->recording.sample_bytes));
	if (s->observed_share < 1)
		add(notes, "estimated: %s", observed__words(s, observed));
	if (watched)
		add(notes, "%s", watched);
	if (unmet__words(s))
		add(notes, "%s", unmet__words(s));
	for (size_t i = 0; i < n_recording_flags; i++)
		if (recording__has(&s->recording, &recording_flags[i]))
			add(notes, "%s: %s", recording_flags[i].option, recording_flags[i].of_all);
	if (s->recording.max_size != UINT64_MAX)
		add(notes, "only blocks of %llu to %llu bytes", (unsigned long long)s->recording.min_size,
		    (unsigned long long)s->recording.max_size);
	else if (s->recording.min_size)
		add(notes, "only blocks of %llu bytes and more", (unsigned long long)s->recording.min_size);
	if (s->recording.within)
		add(notes, "only inside of %s", s->recording.within);
	if (s->hidden.by)
		add(notes, "hidden (%s): %s of %zu sites", s->hidden.by, EXACT(s->hidden.n_sites),
		    s->n_sites + (size_t)s->hidden.n_sites);
	for (size_t i = 0; (r = runtime__of_snapshot(s, i)); i++) {
		_cleanup_free_ char *says = runtime__words(r, s);

		add(notes, "%s: %s", r->title, says);
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		if (p->blind.is && !p->blind.idle)
			add(notes, "BLIND: no allocation call was seen in %s (%d); probed: %s%s%s", p->comm,
			    (int)p->pid, p->blind.probed ? p->blind.probed : "-",
			    p->blind.candidates ? "; possible allocator: " : "",
			    p->blind.candidates ? p->blind.candidates : "");
		if (p->memory.unexplained_bytes)
			add(notes, "UNSEEN: %s (%d) %s", p->comm, (int)p->pid, unexplained__words(p, words));
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
	_cleanup_free_ char *who = s->n_processes == 1 ? owner__title(s->processes) : NULL;
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
