// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the sentences that go with a profile. What always holds: a loss that is not zero has one. */
#include "files/notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "files/owner.h"
#include "model/runtimes.h"
#include "present/machine_words.h"
#include "present/reading_words.h"
#include "present/unexplained_words.h"
#include "util/parse.h"
#include "util/util.h"

static int add(struct export_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int add(struct export_notes *notes, const char *fmt, ...)
{
	char **slot = vec_push(notes);
	va_list ap;

	if (!slot)
		return -ENOMEM;
	va_start(ap, fmt);
	*slot = vformat(fmt, ap);
	va_end(ap);
	if (*slot)
		return 0;
	notes->n--;
	return -ENOMEM;
}

static int counters(struct export_notes *notes, const char *label, const struct snap_counter *v, size_t n)
{
	char a[FMT_MAX];
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		if (v[i].n)
			err = add(notes, "%s: %s %s", label, fmt_exact(a, v[i].n), v[i].says);
	return err;
}

int export_notes__init(struct export_notes *notes, const struct snapshot *s)
{
	_cleanup_free_ char *watched = watched__words(s), *reading = reading__words(s);
	const struct runtime *r;
	char a[FMT_MAX], observed[3 * FMT_MAX], words[UNEXPLAINED_MAX];
	int err;

	*notes = (struct export_notes){};
	err = add(notes, "malloctrace %s, --mode %s, %s sizes, traced for %s", s->version,
		  mode__name(s->recording.mode), size__name(s->recording.size),
		  fmt_duration(a, s->duration_ns));
	if (!err && s->paused_ns)
		err = add(notes, "nothing was seen for %s of it, while a program ran that translates code", fmt_duration(a, s->paused_ns));
	if (!err && s->n_left_out)
		err = add(notes, "%s processes and programs left out that the user may not look into", fmt_exact(a, s->n_left_out));
	if (!err && s->n_unread)
		err = add(notes, "%s mapped file%s not read", fmt_exact(a, s->n_unread), s->n_unread == 1 ? "" : "s");
	if (!err && reading)
		err = add(notes, "heap %s", reading);
	if (!err && s->recording.sample_bytes)
		err = add(notes, "estimated: one sample per %s on average", fmt_bytes(a, s->recording.sample_bytes));
	if (!err && s->observed_share < 1)
		err = add(notes, "estimated: %s", observed__words(s, observed));
	if (!err && watched)
		err = add(notes, "%s", watched);
	if (!err && unmet__words(s))
		err = add(notes, "%s", unmet__words(s));
	for (size_t i = 0; i < n_recording_flags && !err; i++)
		if (recording__has(&s->recording, &recording_flags[i]))
			err = add(notes, "%s: %s", recording_flags[i].option, recording_flags[i].of_all);
	if (!err && s->recording.max_size != UINT64_MAX)
		err = add(notes, "only blocks of %llu to %llu bytes", (unsigned long long)s->recording.min_size,
			  (unsigned long long)s->recording.max_size);
	else if (!err && s->recording.min_size)
		err = add(notes, "only blocks of %llu bytes and more", (unsigned long long)s->recording.min_size);
	if (!err && s->recording.within)
		err = add(notes, "only inside of %s", s->recording.within);
	if (!err && s->hidden.by)
		err = add(notes, "hidden (%s): %s of %zu sites", s->hidden.by, fmt_exact(a, s->hidden.n_sites),
			  s->n_sites + (size_t)s->hidden.n_sites);
	for (size_t i = 0; (r = runtime__of_snapshot(s, i)) && !err; i++) {
		_cleanup_free_ char *says = runtime__words(r, s);

		err = says ? add(notes, "%s: %s", r->title, says) : -ENOMEM;
	}
	for (size_t i = 0; i < s->n_processes && !err; i++) {
		const struct snap_process *p = &s->processes[i];

		if (p->blind.is && !p->blind.idle)
			err = add(notes, "BLIND: no call was seen of %s (%d); probed: %s%s%s", p->comm,
				  (int)p->pid, p->blind.probed ? p->blind.probed : "-",
				  p->blind.candidates ? "; what else looks like an allocator: " : "",
				  p->blind.candidates ? p->blind.candidates : "");
		if (!err && p->memory.unexplained_bytes)
			err = add(notes, "UNSEEN: %s (%d) %s", p->comm, (int)p->pid, unexplained__words(p, words));
	}
	if (!err)
		err = counters(notes, "LOST", s->losses, s->n_losses);
	return err ? err : counters(notes, "edge", s->edges, s->n_edges);
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
	int err = export_notes__init(&notes, s);
	FILE *out = err ? NULL : open_memstream(&text, &len);

	if (out && s->n_processes == 1)
		fputs(who ? who : "", out);
	else if (out)
		fprintf(out, "%zu processes", s->n_processes);
	for (size_t i = 0; out && i < notes.n; i++)
		fprintf(out, "; %s", notes.v[i]);
	if (out && fclose(out)) {
		free(text);
		text = NULL;
	}
	export_notes__done(&notes);
	return text;
}
