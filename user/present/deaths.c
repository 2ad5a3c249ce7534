// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how ends are told:
 *
 *	died   killed by the kernel: out of memory, it held 38.0 MiB in 31,744 blocks
 *	died   stress (2100) by SIGKILL: out of memory, worker (1501) by SIGSEGV, 3 more by signals
 *
 * What always holds: nothing is said of processes that ended by themselves. A row of
 * several processes tells of none of them: each has its own end.
 */
#include "present/deaths.h"

#include <string.h>

#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/signals.h"
#include "util/text.h"
#include "util/util.h"

#define NAMED 3		/* in the line of several processes */
#define WORD_COLS 8	/* of a verdict's column */

const char *death__words(const struct snap_process *p, char buf[static DEATH_MAX])
{
	char name[SIGNAL_NAME_MAX];

	if (!p->ended)
		return "";
	if (p->oom_killed)
		return "killed: out of memory";
	if (!p->exit_signal)
		return "ended";
	snprintf(buf, DEATH_MAX, "ended by %s", signal_name(p->exit_signal, name));
	return buf;
}

const char *death__word(const struct snap_process *p, char buf[static DEATH_MAX])
{
	const char *name;

	if (p->oom_killed)
		return "OOM";
	if (!p->exit_signal)
		return "ended";
	name = signal_name(p->exit_signal, buf);
	return strlen(name) <= WORD_COLS ? name : "killed";
}

/* Who is named first: victims of the kernel, then those that held the most. */
static bool comes_before(const struct snap_process *a, const struct snap_process *b)
{
	if (a->oom_killed != b->oom_killed)
		return a->oom_killed;
	return a->c.live_bytes > b->c.live_bytes;
}

static bool died(const struct snap_process *p)
{
	return p->ended && p->exit_signal > 0;
}

static void single_line(struct report *r, const struct snap_process *p)
{
	char name[SIGNAL_NAME_MAX];

	para__begin(&r->para, "died", LABEL_WIDTH);
	if (p->oom_killed)
		para__item(&r->para, "killed by the kernel: out of memory");
	else
		para__item(&r->para, "by %s", signal_name(p->exit_signal, name));
	if (r->s->known & HAS_LIVE_BYTES)
		para__item(&r->para, "it held %s%s in %s%s block%s", report__mark(r), BYTES(p->c.live_bytes), report__mark(r),
			   EXACT(p->c.live_blocks), plural(p->c.live_blocks));
	para__end(&r->para);
}

void report__died_line(struct report *r)
{
	const struct snap_process *named[NAMED] = {};
	char name[SIGNAL_NAME_MAX];
	size_t n = 0, n_named;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		const struct snap_process *p = &r->s->processes[i];

		if (!died(p))
			continue;
		n++;
		for (size_t k = 0; k < NAMED; k++) {
			const struct snap_process *other = named[k];

			if (other && !comes_before(p, other))
				continue;
			named[k] = p;
			p = other;
			if (!p)
				break;
		}
	}
	if (!n)
		return;
	if (r->s->n_processes == 1) {
		single_line(r, r->s->processes);
		return;
	}
	n_named = MIN(n, NAMED);
	para__begin(&r->para, "died", LABEL_WIDTH);
	for (size_t k = 0; k < n_named; k++) {
		_cleanup_free_ char *who = text_shorten(named[k]->comm, 24);

		para__item(&r->para, "%s (%d) by %s%s", who, (int)named[k]->pid, signal_name(named[k]->exit_signal, name),
			   named[k]->oom_killed ? ": out of memory" : "");
	}
	if (n > n_named)
		para__item(&r->para, "%s more by signals", EXACT(n - n_named));
	para__end(&r->para);
}
