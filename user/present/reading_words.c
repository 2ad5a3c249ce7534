// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the words for how, and how well, it is known what is live in --mode leak. */
#include "present/reading_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/parse.h"
#include "util/util.h"

#define WORDS_MAX 512

char *reading__words(const struct snapshot *s)
{
	const struct heap_reading *h = &s->reading;
	uint64_t ago_ns = s->duration_ns > h->at_ns ? s->duration_ns - h->at_ns : 0;
	char text[WORDS_MAX], a[FMT_MAX], *words = NULL;
	int n;

	if (!recording__is_leak(&s->recording))
		return NULL;
	if (!h->at_ns)
		n = snprintf(text, sizeof(text), "not read: of glibc's blocks, only those whose address came again count as freed");
	else
		n = snprintf(text, sizeof(text), "read in %s", fmt_duration(a, h->took_ns));
	if (h->at_ns && ago_ns >= MS_NS)
		n += snprintf(text + n, sizeof(text) - n, ", %s before this report", fmt_duration(a, ago_ns));
	if (h->paused_ns)
		n += snprintf(text + n, sizeof(text) - n, "; the process was stopped for %s", fmt_duration(a, h->paused_ns));
	if (h->at_ns && h->n_unread)
		n += snprintf(text + n, sizeof(text) - n, "; not read of %s process%s: what %s freed may count as live", fmt_exact(a, h->n_unread),
			      h->n_unread == 1 ? "" : "es", h->n_unread == 1 ? "it" : "they");
	if (h->unsure_blocks)
		snprintf(text + n, sizeof(text) - n, "; up to about %s block%s that %s freed since may still count as live", fmt_exact(a, h->unsure_blocks),
			 h->unsure_blocks == 1 ? "" : "s", h->unsure_blocks == 1 ? "was" : "were");
	return asprintf(&words, "%s", text) < 0 ? NULL : words;
}
