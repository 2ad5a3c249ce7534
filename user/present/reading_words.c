// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the words for how, and how well, it is known what is live in --mode leak. */
#include "present/reading_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/parse.h"
#include "util/util.h"

#define WORDS_MAX 640

/* "; frees of libjemalloc.so.2 are probed, as its blocks cannot be told from outside" */
static int add_probed(const struct snapshot *s, char *text, int at, bool is_first)
{
	const char *name = NULL;
	size_t n_more = 0;

	for (size_t i = 0; i < s->n_probes; i++) {
		if (s->probes[i].frees_probed && !name)
			name = path_basename(s->probes[i].object);
		else
			n_more += s->probes[i].frees_probed;
	}
	if (!name)
		return at;
	return at + snprintf(text + at, WORDS_MAX - at, "%sfrees of %.64s%s are probed as in full mode, because %s blocks cannot be told from outside", is_first ? "" : "; ",
			     name, n_more ? " and others" : "", n_more ? "their" : "its");
}

/*
 * "; exact; the process was stopped for 3ms", "; not exact", "; not exact, though processes were stopped, for 101ms at most". Of what was asked to
 * be exact, each report says whether it is.
 */
static int add_stop(const struct snapshot *s, char *text, int at)
{
	const struct heap_reading *h = &s->reading;
	bool several = s->n_processes > 1 || (s->n_processes && s->processes[0].n_members > 1), exact = !h->unsure_blocks && !h->n_unread;
	const char *how = !h->exact_asked ? "" : exact ? "exact; " : "not exact, though ";
	char a[FMT_MAX];

	if (h->paused_ns)
		return at + snprintf(text + at, WORDS_MAX - at, "; %s%s stopped%s for %s%s", how, several ? "processes were" : "the process was", several ? "," : "",
				     fmt_duration(a, h->paused_ns), several ? " at most" : "");
	if (h->exact_asked)
		return at + snprintf(text + at, WORDS_MAX - at, "; %sexact", exact ? "" : "not ");
	return at;
}

char *reading__words(const struct snapshot *s)
{
	const struct heap_reading *h = &s->reading;
	uint64_t ago_ns = s->duration_ns > h->at_ns ? s->duration_ns - h->at_ns : 0;
	/* of those that were not read, at any time */
	const char *since = h->n_unread ? "" : " since";
	char text[WORDS_MAX] = "", a[FMT_MAX], *words = NULL;
	int n;

	if (!recording__is_leak(&s->recording))
		return NULL;
	/* where glibc has no heap there is nothing to be read */
	if (!h->at_ns && !h->n_unread && add_probed(s, text, 0, true))
		return asprintf(&words, "%s", text) < 0 ? NULL : words;
	if (!h->at_ns)
		n = snprintf(text, sizeof(text), "not read: of glibc's blocks, only those whose address came again count as freed");
	else
		n = snprintf(text, sizeof(text), "read in %s", fmt_duration(a, h->took_ns));
	if (h->at_ns && ago_ns >= MS_NS)
		n += snprintf(text + n, sizeof(text) - n, ", %s before this report", fmt_duration(a, ago_ns));
	if (h->at_ns)
		n = add_stop(s, text, n);
	if (h->at_ns && h->n_unread)
		n += snprintf(text + n, sizeof(text) - n, "; not read of %s process%s: what %s freed may count as live", fmt_exact(a, h->n_unread),
			      h->n_unread == 1 ? "" : "es", h->n_unread == 1 ? "it" : "they");
	/* where nothing was read, that was said */
	if (h->at_ns && h->unsure_blocks && h->unsure_blocks >= s->totals.live_blocks)
		n += snprintf(text + n, sizeof(text) - n, "; any of the blocks that count as live may have been freed%s", since);
	else if (h->unsure_blocks && h->unsure_blocks < s->totals.live_blocks)
		n += snprintf(text + n, sizeof(text) - n, "; up to %s block%s that %s freed%s may still count as live", fmt_exact(a, h->unsure_blocks),
			      h->unsure_blocks == 1 ? "" : "s", h->unsure_blocks == 1 ? "was" : "were", since);
	add_probed(s, text, n, false);
	return asprintf(&words, "%s", text) < 0 ? NULL : words;
}

const char *reading__mark_words(const struct snapshot *s)
{
	bool any_read = false, any_unread = false;

	for (size_t i = 0; i < s->n_marks; i++) {
		any_read |= s->marks[i].heap_read_at_ns > 0;
		any_unread |= !s->marks[i].heap_read_at_ns && s->marks[i].unsure_blocks;
	}
	if (any_read && any_unread)
		return "live figures of a mark are of the last reading of the heap before it; where there was none, only blocks whose address came again count as freed";
	return any_read ? "live figures of a mark are of the last reading of the heap before it" :
	       any_unread ? "no heap was read before a mark: of what was allocated until then, only blocks whose address came again count as freed" : NULL;
}
