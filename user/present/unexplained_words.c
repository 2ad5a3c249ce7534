// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how it is told that a process grew by what was not seen:
 *
 *	UNSEEN hider (1432) grew by 150.0 MiB, of which 20.0 MiB are explained by what was seen: at least 130.0 MiB
 *	       are in its heap without a call that was counted
 */
#include "present/unexplained_words.h"

#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define NAMED 3

const struct snap_process *unexplained__most(const struct snapshot *s)
{
	const struct snap_process *most = NULL;

	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].memory.unexplained_bytes > (most ? most->memory.unexplained_bytes : 0))
			most = &s->processes[i];
	return most;
}

const char *unexplained__words(const struct snap_process *p, char buf[static UNEXPLAINED_MAX])
{
	uint64_t grown = (uint64_t)(p->memory.heap_grown + p->memory.large_grown), n = p->memory.unexplained_bytes;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	snprintf(buf, UNEXPLAINED_MAX, "grew by %s, of which %s are explained by what was seen: at least %s are in its heap without a call that was counted",
		 fmt_bytes(a, grown), fmt_bytes(b, grown - MIN(n, grown)), fmt_bytes(c, n));
	return buf;
}

void report__unexplained_lines(struct report *r)
{
	char words[UNEXPLAINED_MAX];
	size_t told = 0;

	for (size_t i = 0; i < r->s->n_processes && told < NAMED; i++) {
		const struct snap_process *p = &r->s->processes[i];
		_cleanup_free_ char *owner = NULL;

		if (!p->memory.unexplained_bytes)
			continue;
		owner = report__owner(r, p, r->width);
		para__begin(&r->para, told++ ? "" : "UNSEEN", LABEL_WIDTH);
		para__item(&r->para, "%s %s", owner ? owner : "", unexplained__words(p, words));
		para__end(&r->para);
	}
}
